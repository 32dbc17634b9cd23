/* SPDX-License-Identifier: Apache-2.0 */
#include "reason/plan.h"

#include <string.h>

#include "base/error.h"

#define PLAN_PREFIX "plan-" /* of the checks */

/* What people write, and the SELECT (key, value) that turns the number into facts. */
static const struct {
    const char *prefix, *sql;
} forms[] = {
#define BOARD                                                                                      \
    "SELECT 'plan.l4t', l4t, 'plan.jetpack', jetpack, 'plan.cuda', cuda, 'plan.cudnn', cudnn, "    \
    "'plan.tensorrt', tensorrt, 'plan.kernel', kernel FROM compat_jetson_release WHERE "
#define NEWEST " ORDER BY date DESC, l4t DESC LIMIT 1"
    {"jetpack", BOARD "jetpack = ?1 OR jetpack = ?1 || '.0'" NEWEST},
    {"jp", BOARD "jetpack = ?1 OR jetpack = ?1 || '.0'" NEWEST},
    {"l4t", BOARD "l4t = ?1 OR l4t = ?1 || '.0'" NEWEST},
    {"r", BOARD "l4t = ?1 OR l4t = ?1 || '.0'" NEWEST},
    {"cuda", "SELECT 'plan.cuda', cuda FROM compat_cuda_toolkit WHERE cuda = ?1 LIMIT 1"},
    {"driver", "SELECT 'plan.driver', ?1, 'plan.cuda-of-driver', max_cuda FROM compat_driver_branch "
               "WHERE platform = 'server' AND branch = CAST(CAST(?1 AS INTEGER) AS TEXT) LIMIT 1"},
};

static gint64 add_section(CtEvidence *ev, const char *release)
{
    gint64 source = ct_evidence_add_source(
        ev, &(CtSourceRow){.path = "plan", .format = "plan", .status = CT_OK});
    g_autofree char *title = g_strdup_printf("moving to %s", release);
    return ct_evidence_add_section(ev, &(CtSectionRow){.source = source,
                                                       .first_line = 1,
                                                       .last_line = 1,
                                                       .title = title,
                                                       .parser = "plan",
                                                       .scope = "claimed",
                                                       .status = CT_OK,
                                                       .clock_offset_ns = CT_NONE});
}

static gboolean has_fact(CtEvidence *ev, const char *keys)
{
    g_autofree char *sql = g_strdup_printf("SELECT 1 FROM fact WHERE key IN (%s) LIMIT 1", keys);
    sqlite3_stmt *st = NULL;
    gboolean found = sqlite3_prepare_v2(ct_evidence_db(ev), sql, -1, &st, NULL) == SQLITE_OK &&
                     sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return found;
}

/* Of a release for a Jetson the parts say nothing about another machine: that it is none suffices. */
static gboolean is_foreign(CtEvidence *ev, const char *key)
{
    return strcmp(key, "plan.l4t") == 0 && has_fact(ev, "'host.arch'") &&
           !has_fact(ev, "'host.jetson', 'host.chip', 'version.l4t'");
}

static void add_facts(CtEvidence *ev, sqlite3_stmt *st, const char *release)
{
    gint64 section = add_section(ev, release);
    CtFactRow row = {.section = section, .line = 1, .status = CT_OK, .text = release};
    row.key = "plan.release";
    row.value = release;
    ct_evidence_add_fact(ev, &row);
    for (int i = 0; i + 1 < sqlite3_column_count(st); i += 2) {
        if (sqlite3_column_type(st, i + 1) == SQLITE_NULL)
            continue;
        row.key = (const char *)sqlite3_column_text(st, i);
        row.value = (const char *)sqlite3_column_text(st, i + 1);
        ct_evidence_add_fact(ev, &row);
        if (is_foreign(ev, row.key))
            break;
    }
}

gboolean ct_plan_add(CtEvidence *ev, const CtKb *kb, const char *release, GError **error)
{
    g_autofree char *low = g_strstrip(g_ascii_strdown(release, -1));
    gboolean found = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(forms) && !found; i++) {
        sqlite3_stmt *st = NULL;
        if (!g_str_has_prefix(low, forms[i].prefix))
            continue;
        const char *number = low + strlen(forms[i].prefix);
        number += strspn(number, " -_r");
        if (!g_ascii_isdigit(*number) ||
            sqlite3_prepare_v2(ct_kb_db(kb), forms[i].sql, -1, &st, NULL) != SQLITE_OK)
            continue;
        sqlite3_bind_text(st, 1, number, -1, SQLITE_TRANSIENT);
        found = sqlite3_step(st) == SQLITE_ROW;
        if (found)
            add_facts(ev, st, release);
        sqlite3_finalize(st);
    }
    if (!found)
        g_set_error(error, CT_ERROR, CT_ERROR_USAGE,
                    "%s: no such release is known; write jp6.2, l4t-r36.4.3, cuda-13.0 or "
                    "driver-580",
                    release);
    return found;
}

void ct_plan_only(CtCheckList *list)
{
    memset(list->count, 0, sizeof list->count);
    list->no_device = FALSE;
    for (guint i = list->lines->len; i-- > 0;) {
        const CtCheckLine *l = g_ptr_array_index(list->lines, i);
        if (g_str_has_prefix(l->id, PLAN_PREFIX))
            list->count[l->state]++;
        else
            g_ptr_array_remove_index(list->lines, i);
    }
}
