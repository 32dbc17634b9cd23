/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as prompts show them, GPU names, and snapshots that span sections. */
#include "parse/common/scan.h"

#include <string.h>

/* Words of a command line for recognition, not for execution: quotes and shell punctuation only
 * separate. */
static CtStr next_word(CtStr *rest)
{
    static const char separators[] = " \t\"'`;|&()<>{}";
    CtStr s = *rest;
    while (s.n && memchr(separators, s.p[0], sizeof(separators)))
        s = ct_str_from(s, 1);
    gsize n = 0;
    while (n < s.n && !memchr(separators, s.p[n], sizeof(separators)))
        n++;
    *rest = ct_str_from(s, n);
    return ct_str_head(s, n);
}

gboolean ct_command_runs(const char *command, const char *program)
{
    CtStr rest = ct_str_of(command);
    gsize n = strlen(program);
    for (CtStr w = next_word(&rest); w.n; w = next_word(&rest)) {
        if (!ct_str_ends(w, program))
            continue;
        if (w.n == n || w.p[w.n - n - 1] == '/')
            return TRUE;
    }
    return FALSE;
}

gboolean ct_command_word(const char *command, const char *word)
{
    CtStr rest = ct_str_of(command);
    for (CtStr w = next_word(&rest); w.n; w = next_word(&rest))
        if (ct_str_eq(w, word))
            return TRUE;
    return FALSE;
}

gboolean ct_command_option(const char *command, const char *option, CtStr *value)
{
    CtStr rest = ct_str_of(command);
    gsize n = strlen(option);
    for (CtStr w = next_word(&rest); w.n; w = next_word(&rest)) {
        if (!ct_str_starts(w, option))
            continue;
        if (w.n == n) {
            *value = next_word(&rest);
            return value->n > 0;
        }
        if (w.p[n] == '=') {
            *value = ct_str_from(w, n + 1);
            return TRUE;
        }
    }
    return FALSE;
}

/* ---- GPUs ---- */

static gboolean hex_field(CtStr *rest, gsize most, gsize *out_n)
{
    gsize n = 0;
    while (n < rest->n && n < most && g_ascii_isxdigit(rest->p[n]))
        n++;
    *out_n = n;
    *rest = ct_str_from(*rest, n);
    return n > 0;
}

gboolean ct_pci_normalise(CtStr s, char out[CT_PCI_SIZE])
{
    s = ct_str_strip(s);
    if (ct_str_istarts(s, "PCI:"))
        s = ct_str_from(s, 4);
    const char *field[3];
    gsize length[3], count = 0;
    CtStr rest = s;
    while (count < 3) {
        field[count] = rest.p;
        if (!hex_field(&rest, 8, &length[count]))
            return FALSE;
        count++;
        if (!rest.n || rest.p[0] != ':')
            break;
        rest = ct_str_from(rest, 1);
    }
    if (rest.n && rest.p[0] == '.')
        rest = ct_str_from(rest, MIN((gsize)2, rest.n));
    if (rest.n || count < 2 || length[count - 1] > 2 || length[count - 2] > 2)
        return FALSE;
    char domain[9] = "0000";
    if (count == 3)
        g_snprintf(domain, sizeof(domain), "%.*s", (int)MIN(length[0], (gsize)8), field[0]);
    gint64 number = (gint64)g_ascii_strtoull(domain, NULL, 16);
    g_snprintf(out, CT_PCI_SIZE, "%04x:%02x:%02x.0", (unsigned)number,
               (unsigned)g_ascii_strtoull(field[count - 2], NULL, 16),
               (unsigned)g_ascii_strtoull(field[count - 1], NULL, 16));
    return TRUE;
}

void ct_emit_gpu_names(CtEmit *emit, const char *subject, CtStr pci, CtStr uuid)
{
    char normal[CT_PCI_SIZE];
    if (ct_pci_normalise(pci, normal)) {
        ct_emit_alias(emit, subject, normal);
        ct_emit_alias(emit, subject, CT_STR_BUF(ct_str_strip(pci)));
    }
    if (ct_str_starts(uuid, "GPU-") || ct_str_starts(uuid, "MIG-"))
        ct_emit_alias(emit, subject, CT_STR_BUF(uuid));
}

/* ---- snapshots ---- */

gboolean ct_line_only_time(const CtLine *line, gint64 *out)
{
    CtStr s = ct_str_strip(ct_line_row(line));
    gsize used;
    gboolean no_year;
    gint64 t;
    while (s.n && strchr("=#-*> ", s.p[0]))
        s = ct_str_from(s, 1);
    while (s.n && strchr("=#-*< ", s.p[s.n - 1]))
        s.n--;
    if (s.n < 8 || s.n > 48 || !ct_text_time(s.p, s.n, &t, &used, &no_year) || used < s.n)
        return FALSE;
    *out = t;
    return TRUE;
}

/* A date that stands by itself above the section ("date; nvidia-smi"). */
static gint64 time_above(sqlite3 *db, gint64 section)
{
    sqlite3_stmt *st = NULL;
    gint64 t = CT_TIME_UNKNOWN;
    if (sqlite3_prepare_v2(db,
                           "SELECT c.t1_ns FROM section s JOIN section p ON p.source = s.source "
                           "AND p.id = s.id - 1 AND p.last_line = s.first_line - 1 "
                           "AND p.first_line >= p.last_line - 1 "
                           "JOIN coverage c ON c.section = p.id WHERE s.id = ? AND "
                           "p.clock = 'wall' AND c.t1_ns IS NOT NULL LIMIT 1",
                           -1, &st, NULL) != SQLITE_OK)
        return t;
    sqlite3_bind_int64(st, 1, section);
    if (sqlite3_step(st) == SQLITE_ROW)
        t = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return t;
}

gint64 ct_section_time(CtEmit *emit)
{
    sqlite3_stmt *st = NULL;
    gint64 t = CT_TIME_UNKNOWN;
    sqlite3 *db = ct_evidence_db(ct_emit_evidence(emit));
    if (sqlite3_prepare_v2(db, "SELECT title FROM section WHERE id=?", -1, &st, NULL) != SQLITE_OK)
        return t;
    sqlite3_bind_int64(st, 1, ct_emit_section(emit));
    if (sqlite3_step(st) == SQLITE_ROW) {
        CtStr title = ct_str_strip(ct_str_of((const char *)sqlite3_column_text(st, 0)));
        gint64 found;
        gsize used;
        gboolean no_year;
        /* The stamp may stand after a word: "== sample 3 at 2023-08-30 10:15:05". */
        for (gsize i = 0; i < title.n && i < 80; i++) {
            gboolean word_start = i == 0 || !g_ascii_isalnum(title.p[i - 1]);
            if (word_start && ct_text_time(title.p + i, title.n - i, &found, &used, &no_year)) {
                t = found;
                break;
            }
        }
    }
    sqlite3_finalize(st);
    if (t == CT_TIME_UNKNOWN)
        t = time_above(db, ct_emit_section(emit));
    return t;
}

static gboolean same_source(CtEvidence *ev, gint64 a, gint64 b)
{
    sqlite3_stmt *st = NULL;
    gboolean same = FALSE;
    if (a == b)
        return TRUE;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT a.source = b.source AND a.scope = b.scope FROM section a, "
                           "section b WHERE a.id=? AND b.id=?",
                           -1, &st, NULL) != SQLITE_OK)
        return FALSE;
    sqlite3_bind_int64(st, 1, a);
    sqlite3_bind_int64(st, 2, b);
    if (sqlite3_step(st) == SQLITE_ROW)
        same = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    return same;
}

void ct_emit_snapshot(CtEmit *emit, const CtLine *line, const char *subject, const char *metric,
                      const char *unit, gint64 t_ns, double value)
{
    CtEvidence *ev = ct_emit_evidence(emit);
    gint64 section = ct_emit_section(emit);
    /* Series are few per source; looking from the end finds the last section first. */
    guint n = ct_evidence_n_series(ev);
    for (guint i = n, seen = 0; i > 0 && seen < 512; i--, seen++) {
        CtSeriesView v = ct_evidence_series_at(ev, i - 1);
        if (g_strcmp0(v.metric, metric) || g_strcmp0(v.subject, subject) ||
            g_strcmp0(v.unit, unit))
            continue;
        if (!same_source(ev, v.section, section))
            continue;
        ct_series_add(ct_evidence_series(ev, v.section, subject, metric, unit), t_ns, value,
                      line ? line->number : 0);
        return;
    }
    ct_emit_sample(emit, line, subject, metric, unit, t_ns, value);
}
