/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that run by the clock: cron, systemd timers, logrotate. One line each: what and when. */
#include <string.h>

#include "collect/live/live.h"

#define MAX_JOBS 400u

/* "m h dom mon dow [user] command" and "@daily command"; variables and comments are no jobs. */
static void crontab(CtLive *live, const char *path, guint *n)
{
    g_autofree char *text = NULL;
    CtStatus status = ct_live_read(live, path, 131072, &text, NULL);
    if (!text) {
        if (status == CT_DENIED)
            ct_live_printf(live, "grep: %s: Permission denied\n", path);
        return;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", 2000);
    for (guint i = 0; lines[i] && *n < MAX_JOBS; i++) {
        const char *line = g_strstrip(lines[i]);
        if (*line != '@' && *line != '*' && !g_ascii_isdigit(*line))
            continue;
        ct_live_printf(live, "%s: %.300s\n", path, line);
        (*n)++;
    }
}

static void cron(CtLive *live)
{
    static const char *const periods[] = {"hourly", "daily", "weekly", "monthly"};
    static const char *const tables[] = {"/etc/crontab", "/etc/anacrontab", "/etc/cron.d/*",
                                         "/var/spool/cron/crontabs/*", "/var/spool/cron/*"};
    guint n = 0;
    ct_live_begin(live, "/etc/cron", "grep -rsH . /etc/crontab /etc/cron.d /var/spool/cron");
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++) {
        g_autoptr(GPtrArray) all = ct_live_glob(live, tables[i]);
        for (guint k = 0; k < all->len; k++)
            crontab(live, g_ptr_array_index(all, k), &n);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(periods); i++) {
        g_autofree char *folder = g_strconcat("/etc/cron.", periods[i], NULL);
        g_autoptr(GPtrArray) names = ct_live_list(live, folder, NULL);
        for (guint k = 0; k < names->len && n < MAX_JOBS; k++, n++)
            ct_live_printf(live, "%s: @%s %s\n", folder, periods[i],
                           (char *)g_ptr_array_index(names, k));
    }
    ct_live_end(live, CT_OK, NULL);
}

/* Only timers that are turned on: their names are links in timers.target.wants. */
static void timers(CtLive *live)
{
    static const char *const folders[] = {"/etc/systemd/system", "/lib/systemd/system",
                                          "/usr/lib/systemd/system", "/run/systemd/system"};
    static const char *const keys[] = {"OnCalendar=", "OnBootSec=", "OnUnitActiveSec=",
                                       "OnStartupSec=", "RandomizedDelaySec="};
    g_autoptr(GPtrArray) names =
        ct_live_list(live, "/etc/systemd/system/timers.target.wants", NULL);
    ct_live_begin(live, "/etc/systemd/system/timers.target.wants",
                  "grep -sH ^On /lib/systemd/system/*.timer");
    for (guint i = 0; i < names->len && i < MAX_JOBS; i++) {
        g_autofree char *text = NULL;
        for (gsize k = 0; k < G_N_ELEMENTS(folders) && !text; k++) {
            g_autofree char *path =
                g_build_filename(folders[k], g_ptr_array_index(names, i), NULL);
            ct_live_read(live, path, 65536, &text, NULL);
        }
        g_auto(GStrv) lines = text ? g_strsplit(text, "\n", 400) : NULL;
        for (guint k = 0; lines && lines[k]; k++)
            for (gsize m = 0; m < G_N_ELEMENTS(keys); m++)
                if (g_str_has_prefix(lines[k], keys[m]))
                    ct_live_printf(live, "/etc/systemd/system/timers.target.wants/%s: %s\n",
                                   (char *)g_ptr_array_index(names, i), g_strstrip(lines[k]));
    }
    ct_live_end(live, CT_OK, NULL);
}

static void rotation(CtLive *live)
{
    static const char *const words[] = {"hourly", "daily", "weekly", "monthly", "size",
                                        "maxsize", "copytruncate"};
    g_autoptr(GPtrArray) files = ct_live_glob(live, "/etc/logrotate.d/*");
    g_ptr_array_insert(files, 0, g_strdup("/etc/logrotate.conf"));
    ct_live_begin(live, "/etc/logrotate.d", "grep -sHE 'hourly|daily|weekly|size' /etc/logrotate.d/*");
    for (guint i = 0; i < files->len && i < MAX_JOBS; i++) {
        g_autofree char *text = NULL;
        ct_live_read(live, g_ptr_array_index(files, i), 65536, &text, NULL);
        g_auto(GStrv) lines = text ? g_strsplit(text, "\n", 1000) : NULL;
        for (guint k = 0; lines && lines[k]; k++) {
            const char *line = g_strstrip(lines[k]);
            for (gsize m = 0; m < G_N_ELEMENTS(words); m++)
                if (g_str_has_prefix(line, words[m]))
                    ct_live_printf(live, "%s: %.100s\n", (char *)g_ptr_array_index(files, i), line);
        }
    }
    ct_live_end(live, CT_OK, NULL);
}

static void run(CtLive *live)
{
    CtStatus status;
    g_autoptr(GPtrArray) tables = ct_live_list(live, "/var/spool/cron/crontabs", &status);
    cron(live);
    if (status == CT_DENIED && !tables->len)
        ct_live_missing(live, "/var/spool/cron/crontabs", "sudo crontab -l -u USER", CT_DENIED,
                        "jobs of users are for root");
    timers(live);
    rotation(live);
}

const CtCollector ct_collector_jobs = {
    .id = "jobs",
    .layer = "platform",
    .title = "scheduled jobs",
    .run = run,
};
