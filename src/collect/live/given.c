/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copied tree may hold, at its top or in cutriage-live/, the output of commands as plain files:
 * nvidia-smi-q.txt, dmesg.txt, docker-info.txt. They stand for what cannot be copied.
 */
#include <string.h>

#include "collect/live/live.h"

#define MAX_GIVEN ((gsize)2 * 1024 * 1024)

static const char *command_of(const char *name)
{
    static const struct {
        const char *begin, *command;
    } known[] = {
        {"nvidia-smi-q-x", "nvidia-smi -q -x"}, {"nvidia-smi-q", "nvidia-smi -q"},
        {"nvidia-smi-topo", "nvidia-smi topo -m"}, {"nvidia-smi-L", "nvidia-smi -L"},
        {"nvidia-smi", "nvidia-smi"},           {"dmesg", "dmesg"},
        {"docker-info", "docker info"},         {"tegrastats", "tegrastats"},
        {"lspci", "lspci -vv"},                 {"env", "env"},
        {"systemctl", "systemctl status"},      {"ldconfig", "ldconfig -p"},
        {"df", "df -k"},                        {"ulimit", "ulimit -a"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        if (g_str_has_prefix(name, known[i].begin))
            return known[i].command;
    return NULL;
}

static void folder(CtLive *live, const char *path)
{
    static const char *const ends[] = {".txt", ".log", ".xml", ".json", ".csv", ".out"};
    g_autoptr(GPtrArray) names = ct_live_list(live, path, NULL);
    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        gboolean text = command_of(name) != NULL;
        for (gsize k = 0; k < G_N_ELEMENTS(ends); k++)
            text |= g_str_has_suffix(name, ends[k]) != 0;
        g_autofree char *full = g_build_filename(path, name, NULL);
        struct stat st;
        if (!text || ct_live_stat(live, full, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        g_autofree char *bytes = NULL;
        gsize len;
        CtStatus status = ct_live_read(live, full, MAX_GIVEN, &bytes, &len);
        if (bytes) {
            ct_live_begin(live, full, command_of(name));
            ct_live_write(live, bytes, len);
            ct_live_end(live, status, NULL);
        } else {
            ct_live_missing(live, full, command_of(name), status, NULL);
        }
    }
}

static void run(CtLive *live)
{
    if (!ct_live_sysroot(live))
        return;
    folder(live, "/");
    folder(live, "/cutriage-live");
}

const CtCollector ct_collector_given = {
    .id = "given",
    .layer = "platform",
    .title = "outputs of commands that a copied tree holds",
    .run = run,
};
