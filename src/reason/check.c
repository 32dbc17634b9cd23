/* SPDX-License-Identifier: Apache-2.0 */
#include "reason/check.h"

#include <string.h>

#include "base/error.h"
#include "reason/reason-private.h"

/* Net decibans of its own rules that a cause needs before its check fails, or warns. */
#define FAIL_AT 8.0
#define WARN_AT 6.0

static void line_free(gpointer data)
{
    CtCheckLine *l = data;
    g_free(l->id);
    g_free(l->layer);
    g_free(l->title);
    g_free(l->text);
    g_free(l->cause);
    g_free(l->fix);
    g_free(l->run);
    g_ptr_array_unref(l->evidence);
    g_free(l);
}

void ct_check_free(CtCheckList *list)
{
    g_ptr_array_unref(list->lines);
    g_free(list);
}

const char *ct_check_state_name(CtCheckState state)
{
    static const char *const names[] = {"pass", "warn", "fail", "unknown"};
    return names[state];
}

const CtCheckLine *ct_check_first(const CtCheckList *list)
{
    static const CtCheckState order[] = {CT_CHECK_FAIL, CT_CHECK_WARN};
    for (gsize k = 0; k < G_N_ELEMENTS(order); k++)
        for (guint i = 0; i < list->lines->len; i++) {
            const CtCheckLine *l = g_ptr_array_index(list->lines, i);
            if (l->state == order[k])
                return l;
        }
    return NULL;
}

/* ---- causes of the diagnosis ---- */

/* What speaks for a cause by itself, without the prior that makes rare ones rarer. */
static double net_evidence(const CtHypothesis *h)
{
    double sum = 0;
    const GPtrArray *lists[] = {h->for_, h->against};
    for (gsize l = 0; l < G_N_ELEMENTS(lists); l++)
        for (guint i = 0; i < lists[l]->len; i++)
            sum += ((const CtCitation *)g_ptr_array_index(lists[l], i))->counted;
    return sum;
}

static const CtHypothesis *hypothesis_of(const CtDiagnosis *d, const char *cause)
{
    const GPtrArray *lists[] = {d->hypotheses, d->consequences};
    for (gsize l = 0; l < G_N_ELEMENTS(lists); l++)
        for (guint i = 0; i < lists[l]->len; i++) {
            const CtHypothesis *h = g_ptr_array_index(lists[l], i);
            if (strcmp(h->cause, cause) == 0)
                return h;
        }
    return NULL;
}

/* The cause of the list with the most evidence. */
static const CtHypothesis *strongest(const CtDiagnosis *d, const char *causes, double *out_net)
{
    const CtHypothesis *best = NULL;
    g_auto(GStrv) ids = g_strsplit(causes, ",", -1);
    for (char **id = ids; *id; id++) {
        const CtHypothesis *h = **id ? hypothesis_of(d, *id) : NULL;
        double net = h ? net_evidence(h) : 0;
        if (h && h->for_->len && (!best || net > *out_net)) {
            best = h;
            *out_net = net;
        }
    }
    return best;
}

static CtCitation *copy_citation(const CtCitation *c)
{
    CtCitation *copy = g_new0(CtCitation, 1);
    *copy = *c;
    copy->source = g_strdup(c->source);
    copy->text = g_strdup(c->text);
    copy->quote = g_strdup(c->quote);
    copy->rule = g_strdup(c->rule);
    copy->group = g_strdup(c->group);
    return copy;
}

/* Whether the log of this event goes on with a later start of the kernel. */
static gboolean before_last_boot(CtReason *r, gint64 event)
{
    sqlite3_stmt *st = ct_prepare(
        r->db, "SELECT 1 FROM event e JOIN section s ON s.id = e.section "
               "JOIN section l ON l.source = s.source JOIN fact k ON k.section = l.id "
               "WHERE e.id = ? AND k.key = 'version.kernel' AND k.line > e.line LIMIT 1");
    sqlite3_bind_int64(st, 1, event);
    gboolean found = sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return found;
}

/* Nothing but lines of the log from before the last start speaks for the cause. */
static gboolean of_earlier_boot(CtReason *r, const CtHypothesis *h)
{
    for (guint i = 0; i < h->for_->len; i++) {
        const CtCitation *c = g_ptr_array_index(h->for_, i);
        if (g_strcmp0(c->tab, "event") != 0 || !before_last_boot(r, c->row))
            return FALSE;
    }
    return TRUE;
}

static gboolean take_cause(CtReason *r, CtCheckLine *line, const CtDiagnosis *d, const char *causes,
                           CtCheckState at_most)
{
    double net = 0;
    const CtHypothesis *h = strongest(d, causes, &net);
    if (!h || net < WARN_AT)
        return FALSE;
    const CtCitation *first = g_ptr_array_index(h->for_, 0);
    line->state = at_most == CT_CHECK_FAIL && net >= FAIL_AT ? CT_CHECK_FAIL : CT_CHECK_WARN;
    line->cause = g_strdup(h->cause);
    line->text = g_strdup(first->text);
    if (of_earlier_boot(r, h)) {
        line->state = CT_CHECK_WARN;
        g_free(line->text);
        line->text = g_strconcat(ct_lang(r, "in an earlier boot: ", "上次启动期间："), first->text, NULL);
    }
    line->fix = h->fix->len ? g_strdup(g_ptr_array_index(h->fix, 0)) : NULL;
    for (guint i = 0; i < h->for_->len && i < CT_ROWS_PER_RULE; i++)
        g_ptr_array_add(line->evidence, copy_citation(g_ptr_array_index(h->for_, i)));
    return TRUE;
}

/* ---- conditions of the check itself ---- */

static CtCheckState state_of(const char *level)
{
    return strcmp(level, "fail") == 0 ? CT_CHECK_FAIL
           : strcmp(level, "warn") == 0 ? CT_CHECK_WARN
                                        : CT_CHECK_PASS;
}

/* The first condition that holds and is worse than what the line has. */
static void take_conditions(CtReason *r, CtCheckLine *line, sqlite3_stmt *rules)
{
    sqlite3_reset(rules);
    sqlite3_bind_text(rules, 1, line->id, -1, SQLITE_TRANSIENT);
    while (sqlite3_step(rules) == SQLITE_ROW) {
        CtCheckState level = state_of(ct_column(rules, 0));
        if (line->text && level <= line->state)
            continue;
        const char *say = ct_lang(r, ct_column(rules, 3), ct_column(rules, 4));
        g_autoptr(GPtrArray) rows = ct_rule_rows(r, line->id, ct_column(rules, 1),
                                                 ct_column(rules, 2), say);
        if (!rows->len)
            continue;
        const CtCitation *first = g_ptr_array_index(rows, 0);
        g_free(line->text);
        g_clear_pointer(&line->cause, g_free);
        g_clear_pointer(&line->fix, g_free);
        g_clear_pointer(&line->run, g_free);
        g_ptr_array_set_size(line->evidence, 0);
        line->state = level;
        line->text = g_strdup(first->text ? first->text : say);
        const char *fix = ct_lang(r, ct_column(rules, 5), ct_column(rules, 6));
        line->fix = *fix ? g_strdup(fix) : NULL;
        line->run = *ct_column(rules, 7) ? g_strdup(ct_column(rules, 7)) : NULL;
        for (guint i = 0; i < rows->len; i++)
            g_ptr_array_add(line->evidence, copy_citation(g_ptr_array_index(rows, i)));
    }
}

/* ---- one check ---- */

/* A value that could not be read tells nothing: asked for and refused is not looked at. */
static gboolean were_read(CtReason *r, const char *needs)
{
    g_auto(GStrv) list = g_strsplit(needs, ",", -1);
    gboolean all = TRUE;
    for (char **n = list; all && *n; n++) {
        const char *need = g_strstrip(*n);
        if (!g_str_has_prefix(need, "fact:"))
            continue;
        sqlite3_stmt *st = ct_prepare(r->db, "SELECT 1 FROM fact WHERE key GLOB ? AND status NOT "
                                             "IN ('failed', 'denied', 'timeout') LIMIT 1");
        sqlite3_bind_text(st, 1, need + strlen("fact:"), -1, SQLITE_TRANSIENT);
        all = sqlite3_step(st) == SQLITE_ROW;
        sqlite3_finalize(st);
    }
    return all;
}

/* `needs` is alternatives; the last of them names what to ask for. */
static gboolean is_known(CtReason *r, const char *needs)
{
    g_auto(GStrv) all = g_strsplit(needs, ";", -1);
    for (char **n = all; *n; n++)
        if (**n && ct_presence_has(r, *n) && were_read(r, *n))
            return TRUE;
    return FALSE;
}

/* What the person would have to give. */
static char *wanted(CtReason *r, const char *needs)
{
    g_auto(GStrv) all = g_strsplit(needs, ";", -1);
    for (char **n = all; *n; n++) {
        g_auto(GStrv) parts = g_strsplit(*n, ",", -1); /* all of them together */
        for (char **p = parts; *p; p++)
            if (g_str_has_prefix(*p, "coverage:") && !ct_presence_has(r, *p))
                return ct_missing_sentence(r, *p + strlen("coverage:"), CT_NOT_LOOKED);
    }
    return g_strdup(ct_lang(r, "what was looked at does not tell", "现有信息无法判断"));
}

/* The collector that would have shown what this check needs and gave no answer; NULL when all did:
 * what it had told before it ended is not enough to say that all is well. (transfer full) */
static char *silent_collector(CtReason *r, const char *needs)
{
    static const struct {
        const char *collector, *kind, *whole; /* what is of no use when it was cut */
    } shows[] = {
        {"packages", "packages", "/var/lib/dpkg/status"},
        {"libraries", "loader", "libraries"},
        {"devices", "device-nodes", NULL},
        {"modules", "modules", "/proc/modules"},
        {"kernel-log", "kernel-log", NULL},
        {"pci", "pci-list", NULL},
        {"memory", "host-memory", NULL},
        {"environment", "environment", NULL},
    };
    sqlite3_stmt *st = ct_prepare(r->db, "SELECT path, status FROM source WHERE format = 'live' "
                                         "AND status IN ('timeout', 'failed', 'truncated')");
    char *silent = NULL;
    while (!silent && sqlite3_step(st) == SQLITE_ROW)
        for (gsize i = 0; i < G_N_ELEMENTS(shows) && !silent; i++) {
            g_autofree char *kind = g_strconcat("coverage:", shows[i].kind, NULL);
            g_autofree char *path = g_strconcat("live:", shows[i].collector, NULL);
            gboolean cut = strcmp(ct_column(st, 1), "truncated") == 0;
            const char *lost = cut ? shows[i].whole : path;
            gboolean same = strcmp(ct_column(st, 0), lost ? lost : "") == 0 ||
                            (!cut && g_strcmp0(ct_column(st, 0), shows[i].whole) == 0);
            if (same && strstr(needs, kind))
                silent = g_strdup(shows[i].collector);
        }
    sqlite3_finalize(st);
    return silent;
}

static gboolean has_any(CtReason *r, const char *list)
{
    g_auto(GStrv) all = g_strsplit(list, ",", -1);
    for (char **n = all; *n; n++)
        if (**n && ct_presence_has(r, *n))
            return TRUE;
    return FALSE;
}

static gboolean applies(CtReason *r, const char *with, const char *without)
{
    return (!*with || has_any(r, with)) && !has_any(r, without);
}

static CtCheckLine *one(CtReason *r, const CtDiagnosis *d, sqlite3_stmt *item, sqlite3_stmt *rules)
{
    CtCheckLine *line = g_new0(CtCheckLine, 1);
    const char *needs = ct_column(item, 6);
    line->id = g_strdup(ct_column(item, 0));
    line->layer = g_strdup(ct_column(item, 1));
    line->title = g_strdup(ct_lang(r, ct_column(item, 2), ct_column(item, 3)));
    line->evidence = g_ptr_array_new_with_free_func(ct_citation_free);
    line->state = CT_CHECK_PASS;
    if (!take_cause(r, line, d, ct_column(item, 7), CT_CHECK_FAIL))
        take_cause(r, line, d, ct_column(item, 8), CT_CHECK_WARN);
    take_conditions(r, line, rules);
    if (line->text)
        return line;
    gboolean known = is_known(r, needs);
    g_autofree char *silent = silent_collector(r, needs);
    if (silent) {
        line->state = CT_CHECK_UNKNOWN;
        line->text = g_strdup_printf(ct_lang(r, "the collector '%s' gave no full answer",
                                             "采集器“%s”未给出完整结果"), silent);
        return line;
    }
    line->state = known ? CT_CHECK_PASS : CT_CHECK_UNKNOWN;
    line->text = known ? g_strdup(ct_lang(r, ct_column(item, 9), ct_column(item, 10)))
                       : wanted(r, needs);
    return line;
}

/* Somebody looked at the devices and none is NVIDIA's. */
static gboolean without_device(CtReason *r)
{
    static const char *const signs[] = {"fact:gpu.name",      "fact:gpu.uuid", "fact:module.nvidia*",
                                        "fact:module.nvgpu",  "fact:host.jetson",
                                        "fact:module.nouveau", "fact:pci.gpu*", "fact:host.wsl",
                                        "fact:device-node.nvidia*", "event:nvml-error"};
    for (gsize i = 0; i < G_N_ELEMENTS(signs); i++)
        if (ct_presence_has(r, signs[i]))
            return FALSE;
    /* A library of the driver belongs to a device, and one that fails or hangs is no "none". */
    sqlite3_stmt *st = ct_prepare(
        r->db, "SELECT count(*), sum(number > 0), EXISTS (SELECT 1 FROM source WHERE format = "
               "'live' AND path IN ('nvml', 'live:nvml') AND status IN ('ok', 'partial', 'failed', "
               "'timeout', 'denied')), EXISTS (SELECT 1 FROM fact WHERE key = 'file.soname' AND "
               "value GLOB 'libnvidia-ml.so*') FROM fact WHERE key = 'gpu.pci-count'");
    sqlite3_step(st);
    gboolean none = sqlite3_column_int(st, 0) > 0 && sqlite3_column_int(st, 1) == 0 &&
                    !sqlite3_column_int(st, 2) && !sqlite3_column_int(st, 3);
    sqlite3_finalize(st);
    return none;
}

static void run(CtReason *r, const CtDiagnosis *d, CtCheckList *list)
{
    sqlite3_stmt *item = ct_prepare(ct_kb_db(r->kb),
                                    "SELECT id, layer, title_en, title_zh, applies, unless, needs, "
                                    "fail, warn, pass_en, pass_zh FROM check_item ORDER BY ord");
    sqlite3_stmt *rules = ct_prepare(ct_kb_db(r->kb),
                                     "SELECT level, sql, needs, say_en, say_zh, fix_en, fix_zh, "
                                     "run FROM check_rule WHERE item = ? ORDER BY ord");
    ct_presence_read(r);
    list->no_device = without_device(r);
    ct_sql_read_only(r->db, TRUE); /* checks may come from a folder of the user */
    while (item && rules && sqlite3_step(item) == SQLITE_ROW) {
        if (!applies(r, ct_column(item, 4), ct_column(item, 5)))
            continue;
        CtCheckLine *line = one(r, d, item, rules);
        list->count[line->state]++;
        g_ptr_array_add(list->lines, line);
    }
    ct_sql_read_only(r->db, FALSE);
    sqlite3_finalize(item);
    sqlite3_finalize(rules);
}

CtCheckList *ct_check(CtEvidence *ev, const CtKb *kb, const CtDiagnosis *d, const char *lang,
                      GError **error)
{
    CtReason r = {0};
    if (!ct_reason_open(&r, ev, kb, lang, error))
        return NULL;
    CtCheckList *list = g_new0(CtCheckList, 1);
    list->lines = g_ptr_array_new_with_free_func(line_free);
    run(&r, d, list);
    ct_reason_close(&r);
    return list;
}
