/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next test: the one that is expected to tell most about the leading causes for what it
 * costs. A test names what each outcome points to; if the true cause is among those, its outcome
 * is seen nine times in ten, otherwise any outcome or none.
 */
#include <math.h>
#include <string.h>

#include "reason/reason-private.h"

#define LEADERS 5
#define RELIABLE 0.9
#define OWN_TIME_S 30 /* what it takes a person to start any test at all */
#define MAX_TESTS 4

static void outcome_free(gpointer data)
{
    CtOutcome *o = data;
    g_free(o->cause);
    g_free(o->when);
    g_free(o);
}

void ct_next_test_free(gpointer data)
{
    CtNextTest *t = data;
    if (!t)
        return;
    g_free(t->test);
    g_free(t->run);
    g_free(t->say);
    g_ptr_array_unref(t->outcomes);
    g_free(t);
}

CtNextTest *ct_next_test_new(const char *test, const char *run, const char *say, double cost_s)
{
    CtNextTest *t = g_new0(CtNextTest, 1);
    t->test = g_strdup(test);
    t->run = g_strdup(run);
    t->say = g_strdup(say);
    t->cost_s = cost_s;
    t->outcomes = g_ptr_array_new_with_free_func(outcome_free);
    return t;
}

static CtNextTest *copy(const CtNextTest *t)
{
    CtNextTest *c = ct_next_test_new(t->test, t->run, t->say, t->cost_s);
    c->gain = t->gain;
    for (guint i = 0; i < t->outcomes->len; i++) {
        const CtOutcome *from = g_ptr_array_index(t->outcomes, i);
        CtOutcome *o = g_new0(CtOutcome, 1);
        o->cause = g_strdup(from->cause);
        o->when = g_strdup(from->when);
        g_ptr_array_add(c->outcomes, o);
    }
    return c;
}

/* ---- gain ---- */

/* Outcomes of a test as the causes they point to, each once. */
static GPtrArray *distinct_outcomes(const CtNextTest *t)
{
    GPtrArray *all = g_ptr_array_new();
    for (guint i = 0; i < t->outcomes->len; i++) {
        char *cause = ((CtOutcome *)g_ptr_array_index(t->outcomes, i))->cause;
        if (!g_ptr_array_find_with_equal_func(all, cause, g_str_equal, NULL))
            g_ptr_array_add(all, cause);
    }
    return all;
}

static double seen_if(const char *cause, GPtrArray *outcomes, guint outcome)
{
    guint index, n = outcomes->len + 1; /* and "none of these" */
    if (!g_ptr_array_find_with_equal_func(outcomes, cause, g_str_equal, &index))
        return outcome == outcomes->len ? 0.5 : 0.5 / (n - 1);
    return outcome == index ? RELIABLE : (1 - RELIABLE) / (n - 1);
}

/* Mutual information in bits between the leading causes and the outcome. */
static double expected_gain(const GPtrArray *leaders, const CtNextTest *t)
{
    g_autoptr(GPtrArray) outcomes = distinct_outcomes(t);
    double bits = 0, total = 0;
    if (outcomes->len == 0)
        return 0;
    for (guint i = 0; i < leaders->len; i++)
        total += ((CtHypothesis *)g_ptr_array_index(leaders, i))->probability;
    for (guint o = 0; total > 0 && o <= outcomes->len; o++) {
        double p_outcome = 0;
        for (guint i = 0; i < leaders->len; i++) {
            const CtHypothesis *h = g_ptr_array_index(leaders, i);
            p_outcome += h->probability / total * seen_if(h->cause, outcomes, o);
        }
        for (guint i = 0; i < leaders->len; i++) {
            const CtHypothesis *h = g_ptr_array_index(leaders, i);
            double joint = h->probability / total * seen_if(h->cause, outcomes, o);
            if (joint > 0)
                bits += joint * log2(seen_if(h->cause, outcomes, o) / p_outcome);
        }
    }
    return MAX(bits, 0);
}

/* What was given already tells nothing new, however cheap it is to get again. */
static int by_gain_for_cost(gconstpointer a, gconstpointer b)
{
    const CtNextTest *x = *(CtNextTest *const *)a, *y = *(CtNextTest *const *)b;
    if (x->given != y->given)
        return x->given ? 1 : -1;
    double gx = (x->gain + 0.01) / (x->cost_s + OWN_TIME_S);
    double gy = (y->gain + 0.01) / (y->cost_s + OWN_TIME_S);
    if (gx != gy)
        return gx > gy ? -1 : 1;
    return strcmp(x->test, y->test);
}

/* ---- reading ---- */

static void read_outcomes(CtReason *r, CtNextTest *t, const char *cause)
{
    sqlite3_stmt *st =
        ct_prepare(ct_kb_db(r->kb), "SELECT points_to, when_en, when_zh FROM next_outcome "
                                    "WHERE cause = ? AND test = ? ORDER BY rowid");
    sqlite3_bind_text(st, 1, cause, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(st, 2, t->test, -1, SQLITE_TRANSIENT);
    while (sqlite3_step(st) == SQLITE_ROW) {
        CtOutcome *o = g_new0(CtOutcome, 1);
        o->cause = g_strdup(ct_column(st, 0));
        o->when = g_strdup(ct_column(st, r->zh && *ct_column(st, 2) ? 2 : 1));
        g_ptr_array_add(t->outcomes, o);
    }
    sqlite3_finalize(st);
}

static void read_tests(CtReason *r, CtHypothesis *h)
{
    sqlite3_stmt *st = ct_prepare(ct_kb_db(r->kb), "SELECT test, run, cost_s, say_en, say_zh "
                                                   "FROM next_test WHERE cause = ? ORDER BY ord");
    sqlite3_bind_text(st, 1, h->cause, -1, SQLITE_TRANSIENT);
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *run = ct_column(st, 1);
        CtNextTest *t = ct_next_test_new(ct_column(st, 0), *run ? run : NULL,
                                         ct_column(st, r->zh && *ct_column(st, 4) ? 4 : 3),
                                         sqlite3_column_double(st, 2));
        read_outcomes(r, t, h->cause);
        g_ptr_array_add(h->next, t);
    }
    sqlite3_finalize(st);
}

/* ---- sharing ---- */

static gboolean points_to(const CtNextTest *t, const char *cause)
{
    for (guint i = 0; i < t->outcomes->len; i++)
        if (strcmp(((CtOutcome *)g_ptr_array_index(t->outcomes, i))->cause, cause) == 0)
            return TRUE;
    return FALSE;
}

static gboolean has_test(const CtHypothesis *h, const CtNextTest *t)
{
    for (guint i = 0; i < h->next->len; i++) {
        const CtNextTest *o = g_ptr_array_index(h->next, i);
        if (strcmp(o->test, t->test) == 0 || (t->run && g_strcmp0(o->run, t->run) == 0))
            return TRUE;
    }
    return FALSE;
}

/* A test of another leader that has an outcome for this cause separates the two as well. Those of
 * `unknown` ask for everything, because nothing is known: here something is. */
static void borrow_tests(CtHypothesis *h, const GPtrArray *leaders)
{
    for (guint i = 0; i < leaders->len; i++) {
        const CtHypothesis *o = g_ptr_array_index(leaders, i);
        guint own = strcmp(o->cause, "unknown") == 0 ? 0 : o->n_own_tests;
        for (guint k = 0; o != h && k < MIN(own, o->next->len); k++) {
            const CtNextTest *t = g_ptr_array_index(o->next, k);
            if (points_to(t, h->cause) && !has_test(h, t))
                g_ptr_array_add(h->next, copy(t));
        }
    }
}

/* ---- what was given already ---- */

/* Commands whose output the evidence may hold, by its coverage. The first that fits decides. */
static const struct {
    const char *words, *coverage; /* words of the command, in order */
} SHOWN_BY[] = {
    {"dmesg", "kernel-log"},
    {"journalctl -k", "kernel-log"},
    {"nvidia-smi -q -d ECC", "gpu-ecc"},
    {"nvidia-smi -q -d PERFORMANCE", "gpu-clocks"},
    {"nvidia-smi -q -d CLOCK", "gpu-clocks"},
    {"compute-sanitizer --leak-check", "sanitizer-leak"},
    {"compute-sanitizer <", "sanitizer"},
    {"tegrastats", "tegrastats"},
    {"lspci", "pci-list"},
    {"lsmod", "modules"},
    {"free", "host-memory"},
    {"nvidia-smi --query-compute-apps", "gpu-processes"},
    {"nvidia-smi -q -d MEMORY", "gpu-state"},
    {"ldd", "loader"},
    {"ldconfig -p", "loader"},
    {"env", "environment"},
    {"printenv", "environment"},
    {"echo $", "environment"},
    {"docker inspect", "container"},
    {"dkms status", "dkms"},
};

static gboolean begins_with_words(const char *command, const char *words)
{
    g_auto(GStrv) want = g_strsplit(words, " ", -1);
    const char *at = command;
    for (guint i = 0; want[i]; i++) {
        const char *found = strstr(at, want[i]);
        if (!found || (i == 0 && found != command))
            return FALSE;
        at = found + strlen(want[i]);
        if (i == 0 && *at && *at != ' ')
            return FALSE;
    }
    return TRUE;
}

static gboolean covers(CtReason *r, const char *kind)
{
    sqlite3_stmt *st = ct_prepare(r->db, "SELECT 1 FROM coverage WHERE kind = ? LIMIT 1");
    sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
    gboolean found = sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return found;
}

/* Without sudo, and without what only shows or keeps its output. */
static char *plain_command(const char *run)
{
    g_autofree char *copy = g_strdup(run);
    const char *begin = g_strstrip(copy);
    while (g_str_has_prefix(begin, "sudo "))
        begin += 5;
    char *end = strpbrk((char *)begin, "|>");
    /* "<the program>" is a placeholder and no redirection. */
    if (end && *end == '>' && strchr(begin, '<') && strchr(begin, '<') < end)
        end = strchr(end + 1, '|');
    if (end)
        *end = '\0';
    return g_strstrip(g_strdup(begin));
}

/* What goes on for a while shows more than the state of a moment. */
static gboolean goes_on(const char *plain)
{
    return strstr(plain, " -s ") || strstr(plain, " -l ") || g_str_has_prefix(plain, "watch ");
}

static gboolean was_run(CtReason *r, const char *plain)
{
    gboolean same = FALSE;
    if (strchr(plain, '<') || strlen(plain) < 3)
        return FALSE;
    sqlite3_stmt *st =
        ct_prepare(r->db, "SELECT command FROM section WHERE command IS NOT NULL LIMIT 2000");
    while (!same && sqlite3_step(st) == SQLITE_ROW) {
        g_autofree char *had = plain_command(ct_column(st, 0));
        same = had && strcmp(had, plain) == 0;
    }
    sqlite3_finalize(st);
    return same;
}

static gboolean part_was_given(CtReason *r, const char *part)
{
    g_autofree char *plain = plain_command(part);
    /* The log at hand has been read. */
    if (g_str_has_prefix(plain, "grep ") && strstr(part, "<log>"))
        return TRUE;
    for (guint i = 0; i < G_N_ELEMENTS(SHOWN_BY); i++)
        if (begins_with_words(plain, SHOWN_BY[i].words) && covers(r, SHOWN_BY[i].coverage))
            return !goes_on(plain);
    return was_run(r, plain);
}

static gboolean was_given(CtReason *r, const CtNextTest *t)
{
    gboolean given = t->run && *t->run;
    g_auto(GStrv) parts = g_strsplit(given ? t->run : "", ";", -1);
    for (char **p = parts; given && *p; p++)
        given = !strstr(*p, "&&") && (!*g_strstrip(*p) || part_was_given(r, *p));
    return given;
}

void ct_next_tests(CtReason *r)
{
    GPtrArray *all = r->out->hypotheses;
    g_autoptr(GPtrArray) leaders = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++) {
        CtHypothesis *h = g_ptr_array_index(all, i);
        read_tests(r, h);
        h->n_own_tests = h->next->len;
        if (leaders->len < LEADERS)
            g_ptr_array_add(leaders, h);
    }
    for (guint i = 0; i < leaders->len; i++)
        borrow_tests(g_ptr_array_index(leaders, i), leaders);
    for (guint i = 0; i < all->len; i++) {
        CtHypothesis *h = g_ptr_array_index(all, i);
        for (guint k = 0; k < h->next->len; k++) {
            CtNextTest *t = g_ptr_array_index(h->next, k);
            t->given = was_given(r, t);
            if (t->outcomes->len)
                t->gain = expected_gain(leaders, t);
        }
        g_ptr_array_sort(h->next, by_gain_for_cost);
        if (h->next->len > MAX_TESTS)
            g_ptr_array_set_size(h->next, MAX_TESTS);
    }
}
