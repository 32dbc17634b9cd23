/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/mounts: the size of /dev/shm, file systems that became read-only, what a container runtime
 * mounted into a container. */
#include <string.h>

#include "parse/common/scan.h"

static gpointer begin(CtEmit *emit)
{
    return emit;
}

static gboolean option(CtStr options, const char *name, CtStr *value)
{
    gsize n = strlen(name);
    while (options.n) {
        CtStr one = ct_str_field(&options, ',');
        if (ct_str_starts(one, name) && (one.n == n || one.p[n] == '=')) {
            *value = ct_str_from(one, MIN(n + 1, one.n));
            return TRUE;
        }
    }
    return FALSE;
}

static void shared_memory(CtEmit *emit, const CtLine *line, CtStr options)
{
    CtStr size;
    double bytes;
    if (!option(options, "size", &size) || !size.n)
        return;
    gboolean kilo = size.p[size.n - 1] == 'k' || size.p[size.n - 1] == 'K';
    gboolean mega = size.p[size.n - 1] == 'm', giga = size.p[size.n - 1] == 'g';
    CtStr digits = kilo || mega || giga ? ct_str_head(size, size.n - 1) : size;
    if (ct_str_number(digits, &bytes))
        ct_emit_number(emit, line, NULL, "shm.size",
                       bytes * (kilo ? 1024.0 : mega ? 1048576.0 : giga ? 1073741824.0 : 1),
                       CT_STR_BUF(size));
}

/* ".../libcuda.so.535.161.08": the driver that the runtime put into the container. */
static void driver_library(CtEmit *emit, const CtLine *line, CtStr target)
{
    static const char *const names[] = {"libcuda.so.", "libnvidia-ml.so.",
                                        "libnvidia-ptxjitcompiler.so."};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        gssize at = ct_str_find(target, names[i]);
        if (at < 0)
            continue;
        CtStr version = ct_str_from(target, (gsize)at + strlen(names[i]));
        if (version.n > 4 && g_ascii_isdigit(version.p[0]) && memchr(version.p, '.', version.n))
            ct_emit_text(emit, line, CT_STR_BUF(target), "container.driver-library", version);
    }
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    CtStr rest = ct_line_str(line), device = ct_str_token(&rest), target = ct_str_token(&rest);
    CtStr type = ct_str_token(&rest), options = ct_str_token(&rest), value;
    if (!options.n || target.p[0] != '/')
        return;
    if (ct_str_eq(target, "/dev/shm"))
        shared_memory(emit, line, options);
    if (ct_str_eq(device, "shm") || (ct_str_eq(type, "overlay") && ct_str_eq(target, "/")))
        ct_emit_fact(emit, line, NULL, "container.running-in", "yes");
    static const char *const disks[] = {"ext4", "ext3", "xfs", "btrfs", "f2fs"};
    for (gsize i = 0; i < G_N_ELEMENTS(disks); i++)
        if (ct_str_eq(type, disks[i]) && option(options, "ro", &value) && !ct_str_has(target, ".so"))
            ct_emit_fact(emit, line, CT_STR_BUF(target), "disk.read-only", "yes");
    if (ct_str_has(target, ".so."))
        driver_library(emit, line, target);
}

static void finish(gpointer state, CtEmit *emit)
{
    ct_emit_coverage(emit, "mounts", NULL);
}

static int sniff(const CtSniff *sniff)
{
    guint good = 0, lines = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr rest = ct_sniff_line(sniff, i);
        if (!rest.n)
            continue;
        lines++;
        ct_str_token(&rest);
        CtStr target = ct_str_token(&rest), type = ct_str_token(&rest), options = ct_str_token(&rest);
        good += target.n && target.p[0] == '/' && type.n && options.n &&
                (ct_str_starts(options, "rw") || ct_str_starts(options, "ro")) && ct_str_ends(rest, "0");
    }
    if (good && sniff->command && strstr(sniff->command, "mounts"))
        return 90;
    return lines && good == lines ? 85 : 0;
}

const CtParser ct_parser_mounts = {
    .id = "mounts",
    .summary = "mounted file systems",
    .doc = "/proc/mounts: size of /dev/shm, read-only disks, the overlay of a container and the "
           "driver libraries that a container runtime mounted into it.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
