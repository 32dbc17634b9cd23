/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/baseline.h"

#include <string.h>

#define MAX_ROWS 400

/* Volatile facts (temperatures, used memory, clocks of the moment) are no part of a known-good
 * state, so a chapter names what it holds. */
static const struct {
    CtMsg title;
    const char *where;
} chapters[] = {
    {CT_MSG_BASELINE_MACHINE,
     "key IN ('host.model','host.module','host.chip','host.arch','host.cpu.count','host.cpu.model',"
     "'host.memory.total','version.os','version.kernel','version.bios','version.l4t',"
     "'version.jetpack','container.running-in')"},
    {CT_MSG_BASELINE_GPUS,
     "key IN ('gpu.name','gpu.pci','gpu.pci-id','gpu.vbios','gpu.gsp-firmware','gpu.memory.total',"
     "'gpu.ecc.mode','gpu.mig.mode','gpu.compute-mode','gpu.persistence','gpu.kernel-driver',"
     "'gpu.pcie.link.width.max','gpu.pcie.link.width.current','gpu.pcie.link.gen.max',"
     "'gpu.power.limit.current','gpu.power.limit.default','gpu.iommu-group','numa.gpu')"},
    {CT_MSG_BASELINE_VERSIONS, "key GLOB 'version.*' OR key GLOB 'driver.*' OR key GLOB 'library.*'"},
    {CT_MSG_BASELINE_POWER,
     "key GLOB 'power.mode*' OR key IN ('jetson-clocks','gpu.clock.sm.max','cpu.governor')"},
    {CT_MSG_BASELINE_SYSTEM,
     "key GLOB 'module.*' OR key GLOB 'module-param.*' OR key GLOB 'device-node-mode.*' OR key GLOB "
     "'limit.*' OR key GLOB 'cgroup.*.max' OR key IN ('shm.size','cgroup.cpu.quota','kernel.iommu',"
     "'pci.acs','disk.size','swap.size','zram.size') OR key GLOB 'docker.*' OR key GLOB 'cdi.*' OR "
     "key GLOB 'daemon.*' OR key GLOB 'service.*' OR key GLOB 'schedule.*'"},
    {CT_MSG_BASELINE_ENVIRONMENT, "key GLOB 'env.*'"},
    {CT_MSG_BASELINE_PACKAGES, "key GLOB 'package.*'"},
};

/* A bar would end the cell, a line break the table. */
static void cell(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
    for (const char *p = valid; *p; p++) {
        if (*p == '|')
            g_string_append(out, "\\|");
        else
            g_string_append_c(out, (guchar)*p < 32 ? ' ' : *p);
    }
}

static void chapter(GString *out, CtEvidence *ev, const char *title, const char *where, CtLang lang)
{
    sqlite3_stmt *st = NULL;
    guint n = 0;
    g_autofree char *sql = g_strdup_printf(
        "SELECT DISTINCT key, coalesce(subject,''), coalesce(value,status) FROM fact WHERE (%s) "
        "ORDER BY key, 2 LIMIT %d", where, MAX_ROWS);
    if (sqlite3_prepare_v2(ct_evidence_db(ev), sql, -1, &st, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(st) == SQLITE_ROW) {
        if (n++ == 0)
            g_string_append_printf(out, "\n## %s\n\n| %s | %s | %s |\n| --- | --- | --- |\n", title,
                                   ct_msg(lang, CT_MSG_BASELINE_KEY), ct_msg(lang, CT_MSG_BASELINE_OF),
                                   ct_msg(lang, CT_MSG_BASELINE_VALUE));
        for (int i = 0; i < 3; i++) {
            g_string_append(out, i ? " | " : "| ");
            cell(out, (const char *)sqlite3_column_text(st, i));
        }
        g_string_append(out, " |\n");
    }
    sqlite3_finalize(st);
}

char *ct_baseline_page(CtEvidence *ev, CtLang lang)
{
    GString *out = g_string_new(NULL);
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *when = g_date_time_format(now, "%Y-%m-%d %H:%M UTC");
    g_autofree char *head = ct_msgf(lang, CT_MSG_BASELINE_HEAD, when, NULL);
    g_string_append_printf(out, "# %s\n\n%s\n", ct_msg(lang, CT_MSG_BASELINE_TITLE), head);
    for (gsize i = 0; i < G_N_ELEMENTS(chapters); i++)
        chapter(out, ev, ct_msg(lang, chapters[i].title), chapters[i].where, lang);
    return g_string_free(out, FALSE);
}
