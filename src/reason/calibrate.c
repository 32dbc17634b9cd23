/* SPDX-License-Identifier: Apache-2.0 */
#include "reason/calibrate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kb/yaml-tree.h"
#include "reason/incident.h"
#include "reason/narrow.h"
#include "reason/reason-private.h"

#define MAX_CASES 10000u
#define MAX_DEPTH 3u
#define MAX_TRUTH_BYTES (1024 * 1024)
#define LEAST_T 0.3
#define MOST_T 5.0
#define STEPS_T 60
#define LEAST_P 0.001    /* one wrong answer must not decide the fit alone */
#define PRIOR_WIDTH 0.25 /* of ln T around 0: few cases move the temperature little */

/* What is known of a case before any temperature: scores, caps, and which answers are right. */
typedef struct {
    CtCalibrationCase *result; /* borrowed */
    CtStake *stakes;           /* the last is unknown */
    gboolean *right;
    char **causes, **layers;
    guint n;
    char *layer;      /* of the truth (nullable) */
    gboolean nothing; /* cause: none */
} Judged;

/* ---- truth.yaml ---- */

typedef struct {
    char *cause, *layer;
    GPtrArray *accept;
} Truth;

static void truth_clear(Truth *t)
{
    g_free(t->cause);
    g_free(t->layer);
    if (t->accept)
        g_ptr_array_unref(t->accept);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Truth, truth_clear)

static void read_accept(const CtYaml *root, Truth *t)
{
    const CtYaml *accept = ct_yaml_get(root, "accept");
    t->accept = g_ptr_array_new_with_free_func(g_free);
    if (accept && accept->type == CT_YAML_SCALAR)
        g_ptr_array_add(t->accept, g_strdup(accept->text));
    for (guint i = 0; accept && accept->type == CT_YAML_LIST && i < accept->items->len; i++) {
        const CtYaml *item = g_ptr_array_index(accept->items, i);
        if (item->type == CT_YAML_SCALAR)
            g_ptr_array_add(t->accept, g_strdup(item->text));
    }
    if (t->accept->len == 0)
        g_ptr_array_add(t->accept, g_strdup(t->cause));
}

static gboolean read_truth(const char *path, Truth *t, GError **error)
{
    g_autofree char *data = NULL, *message = NULL;
    gsize len;
    guint line = 0, column = 0;
    if (!g_file_get_contents(path, &data, &len, error))
        return FALSE;
    g_autoptr(CtYaml) root =
        len <= MAX_TRUTH_BYTES ? ct_yaml_load(data, len, &line, &column, &message) : NULL;
    const CtYaml *cause = root ? ct_yaml_get(root, "cause") : NULL;
    const CtYaml *layer = root ? ct_yaml_get(root, "layer") : NULL;
    if (!cause || cause->type != CT_YAML_SCALAR) {
        g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s:%u: %s", path, line,
                    message ? message : "`cause` is missing");
        return FALSE;
    }
    t->cause = g_strdup(cause->text);
    if (layer && layer->type == CT_YAML_SCALAR)
        t->layer = g_strdup(layer->text);
    read_accept(root, t);
    return TRUE;
}

/* ---- running the cases ---- */

static int by_text(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What stands beside evidence and is none. */
static gboolean is_description(const char *name)
{
    static const char *const names[] = {CT_TRUTH_FILE, "expect.yaml", "source.md"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(name, names[i]) == 0)
            return TRUE;
    return FALSE;
}

/* Entries of a folder as full paths, sorted; without descriptions. (transfer full) */
static GPtrArray *entries(const char *folder, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, error);
    if (!dir)
        return NULL;
    GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(dir)) && all->len < MAX_CASES;)
        if (!is_description(name))
            g_ptr_array_add(all, g_build_filename(folder, name, NULL));
    g_ptr_array_sort(all, by_text);
    return all;
}

/* Folders with a truth, at most `depth` levels below. A case holds no other case. */
static void find_cases(const char *folder, guint depth, GPtrArray *out)
{
    g_autofree char *truth = g_build_filename(folder, CT_TRUTH_FILE, NULL);
    if (g_file_test(truth, G_FILE_TEST_EXISTS)) {
        g_ptr_array_add(out, g_strdup(folder));
        return;
    }
    g_autoptr(GPtrArray) below = depth ? entries(folder, NULL) : NULL;
    for (guint i = 0; below && i < below->len && out->len < MAX_CASES; i++) {
        const char *path = g_ptr_array_index(below, i);
        if (g_file_test(path, G_FILE_TEST_IS_DIR) && !g_file_test(path, G_FILE_TEST_IS_SYMLINK))
            find_cases(path, depth - 1, out);
    }
}

/* The incidents of a case, as diagnose finds them. */
static GPtrArray *diagnose_case(const char *folder, const CtKb *kb, CtCalibrateLoad load,
                                gpointer user, GError **error)
{
    g_autoptr(GPtrArray) files = entries(folder, error);
    if (!files)
        return NULL;
    g_ptr_array_add(files, NULL);
    g_autoptr(CtEvidence) ev = load((char **)files->pdata, user, error);
    GPtrArray *incidents = ev ? ct_diagnose_incidents(ev, kb, "en", NULL, error) : NULL;
    if (incidents)
        ct_narrow_end(ev);
    return incidents;
}

static gboolean is_right(const Truth *t, const char *cause)
{
    if (strcmp(t->cause, "none") == 0)
        return strcmp(cause, "unknown") == 0;
    return g_ptr_array_find_with_equal_func(t->accept, cause, g_str_equal, NULL);
}

static Judged *judged_new(const CtDiagnosis *d, const Truth *t, CtCalibrationCase *result)
{
    Judged *j = g_new0(Judged, 1);
    const GPtrArray *all = d->hypotheses;
    j->result = result;
    j->nothing = strcmp(t->cause, "none") == 0;
    j->layer = g_strdup(t->layer);
    j->stakes = g_new0(CtStake, all->len);
    j->right = g_new0(gboolean, all->len);
    j->causes = g_new0(char *, all->len + 1);
    j->layers = g_new0(char *, all->len + 1);
    for (guint pass = 0; pass < 2; pass++)
        for (guint i = 0; i < all->len; i++) {
            const CtHypothesis *h = g_ptr_array_index(all, i);
            if ((strcmp(h->cause, "unknown") == 0) != (pass == 1))
                continue;
            j->stakes[j->n] = (CtStake){.score = h->score, .cap = h->cap};
            j->right[j->n] = is_right(t, h->cause);
            j->causes[j->n] = g_strdup(h->cause);
            j->layers[j->n++] = g_strdup(h->layer);
        }
    return j;
}

static void judged_free(gpointer data)
{
    Judged *j = data;
    g_free(j->stakes);
    g_free(j->right);
    g_strfreev(j->causes);
    g_strfreev(j->layers);
    g_free(j->layer);
    g_free(j);
}

static char *topic_of(const CtKb *kb, const char *cause)
{
    sqlite3_stmt *st = ct_prepare(ct_kb_db(kb), "SELECT topic FROM cause WHERE id = ?");
    sqlite3_bind_text(st, 1, cause, -1, SQLITE_STATIC);
    char *topic = sqlite3_step(st) == SQLITE_ROW ? g_strdup(ct_column(st, 0)) : NULL;
    sqlite3_finalize(st);
    return topic;
}

static void run_case(CtCalibration *c, GPtrArray *judged, const char *folder, const CtKb *kb,
                     CtCalibrateLoad load, gpointer user)
{
    g_auto(Truth) truth = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(folder, CT_TRUTH_FILE, NULL);
    CtCalibrationCase *result = g_new0(CtCalibrationCase, 1);
    result->name = g_path_get_basename(folder);
    g_ptr_array_add(c->cases, result);
    g_autoptr(GPtrArray) incidents = NULL;
    if (read_truth(path, &truth, &error))
        incidents = diagnose_case(folder, kb, load, user, &error);
    result->want = g_strdup(truth.cause ? truth.cause : "?");
    if (!incidents) {
        result->error = g_strdup(error->message);
        c->failed++;
        return;
    }
    const CtIncident *shown = g_ptr_array_index(incidents, 0);
    result->topic = topic_of(kb, result->want);
    g_ptr_array_add(judged, judged_new(shown->diagnosis, &truth, result));
}

/* ---- fitting ---- */

/* Minus log of the probability of a right answer. */
static double loss(const Judged *j, double temperature)
{
    double right = 0;
    ct_probabilities(j->stakes, j->n, temperature);
    for (guint i = 0; i < j->n; i++)
        right += j->right[i] ? j->stakes[i].probability : 0;
    return -log(MAX(right, LEAST_P));
}

static double temperature_at(guint step)
{
    return LEAST_T * pow(MOST_T / LEAST_T, (double)step / (STEPS_T - 1));
}

/* The temperature that is best for the summed losses, with a prior around 1: cases that all come
 * out right would otherwise make the program as sure as it can be. */
static double best_temperature(const double *sums)
{
    guint best = 0;
    double least = 0;
    for (guint s = 0; s < STEPS_T; s++) {
        double distance = log(temperature_at(s)) / PRIOR_WIDTH;
        double total = sums[s] + distance * distance / 2;
        if (s == 0 || total < least) {
            best = s;
            least = total;
        }
    }
    return temperature_at(best);
}

/* ---- judging ---- */

static guint ranked(const Judged *j, guint rank)
{
    gboolean taken[64] = {FALSE};
    guint best = 0;
    for (guint r = 0; r <= rank; r++) {
        gboolean found = FALSE;
        for (guint i = 0; i < MIN(j->n, G_N_ELEMENTS(taken)); i++) {
            if (taken[i] || (found && j->stakes[i].probability <= j->stakes[best].probability))
                continue;
            best = i;
            found = TRUE;
        }
        taken[best] = TRUE;
    }
    return best;
}

static double brier(const Judged *j, guint first, gboolean right)
{
    /* Of a healthy case the strongest cause named is wrong, however it ranks. */
    if (j->nothing) {
        double named = 0;
        for (guint i = 0; i + 1 < j->n; i++)
            named = MAX(named, j->stakes[i].probability);
        return named * named;
    }
    double p = j->stakes[first].probability;
    return right ? (1 - p) * (1 - p) : p * p;
}

static void judge(Judged *j, double temperature)
{
    CtCalibrationCase *r = j->result;
    ct_probabilities(j->stakes, j->n, temperature);
    guint first = ranked(j, 0);
    r->temperature = temperature;
    r->got = g_strdup(j->causes[first]);
    r->probability = j->stakes[first].probability;
    r->top1 = r->top3 = j->right[first];
    for (guint k = 1; k < MIN(3, j->n); k++)
        r->top3 = r->top3 || j->right[ranked(j, k)];
    r->layer = j->nothing ? r->top1 : g_strcmp0(j->layers[first], j->layer) == 0;
    for (guint i = 0; i + 1 < j->n; i++) {
        double p = j->stakes[i].probability;
        r->confidently_wrong = r->confidently_wrong || (!j->right[i] && p >= 0.8);
        if (!j->right[i] && p > r->rival_probability) {
            r->rival_probability = p;
            g_free(r->rival);
            r->rival = g_strdup(j->causes[i]);
        }
    }
    r->brier = brier(j, first, r->top1);
}

static void count_bin(CtCalibration *c, const Judged *j)
{
    guint best = 0;
    if (j->n < 2)
        return;
    for (guint i = 1; i + 1 < j->n; i++)
        if (j->stakes[i].probability > j->stakes[best].probability)
            best = i;
    double p = j->stakes[best].probability;
    CtCalibrationBin *bin =
        &c->bins[MIN((guint)(p * CT_CALIBRATION_BINS), CT_CALIBRATION_BINS - 1)];
    bin->n++;
    bin->hits += j->right[best];
    bin->mean += p;
}

static double brier_at(Judged *j, double temperature)
{
    ct_probabilities(j->stakes, j->n, temperature);
    guint first = ranked(j, 0);
    return brier(j, first, j->right[first]);
}

static void fit(CtCalibration *c, GPtrArray *judged)
{
    double sums[STEPS_T] = {0}, others[STEPS_T];
    c->n = judged->len;
    g_autofree double *losses = g_new(double, (gsize)judged->len *STEPS_T);
    for (guint i = 0; i < judged->len; i++)
        for (guint s = 0; s < STEPS_T; s++)
            sums[s] += losses[i * STEPS_T + s] =
                loss(g_ptr_array_index(judged, i), temperature_at(s));
    c->temperature = best_temperature(sums);
    for (guint i = 0; i < judged->len; i++) {
        Judged *j = g_ptr_array_index(judged, i);
        c->brier_now += brier_at(j, c->temperature_now) / c->n;
        for (guint s = 0; s < STEPS_T; s++)
            others[s] = sums[s] - losses[i * STEPS_T + s];
        judge(j, judged->len > 1 ? best_temperature(others) : c->temperature);
        count_bin(c, j);
        c->brier += j->result->brier / c->n;
        c->top1 += (double)j->result->top1 / c->n;
        c->top3 += (double)j->result->top3 / c->n;
        c->layer += (double)j->result->layer / c->n;
        c->confidently_wrong += (double)j->result->confidently_wrong / c->n;
    }
    for (guint b = 0; b < CT_CALIBRATION_BINS; b++)
        if (c->bins[b].n)
            c->bins[b].mean /= c->bins[b].n;
}

/* ---- whole ---- */

static void case_free(gpointer data)
{
    CtCalibrationCase *r = data;
    g_free(r->name);
    g_free(r->want);
    g_free(r->got);
    g_free(r->topic);
    g_free(r->rival);
    g_free(r->error);
    g_free(r);
}

void ct_calibration_free(CtCalibration *c)
{
    if (!c)
        return;
    g_ptr_array_unref(c->cases);
    g_free(c);
}

CtCalibration *ct_calibrate(const char *folder, const CtKb *kb, CtCalibrateLoad load, gpointer user,
                            GError **error)
{
    g_autoptr(GDir) readable = g_dir_open(folder, 0, error);
    if (!readable)
        return NULL;
    g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(g_free);
    find_cases(folder, MAX_DEPTH, folders);
    g_autoptr(CtCalibration) c = g_new0(CtCalibration, 1);
    c->cases = g_ptr_array_new_with_free_func(case_free);
    c->temperature_now = ct_temperature(kb);
    g_autoptr(GPtrArray) judged = g_ptr_array_new_with_free_func(judged_free);
    for (guint i = 0; i < folders->len; i++)
        run_case(c, judged, g_ptr_array_index(folders, i), kb, load, user);
    if (judged->len == 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_NOT_FOUND,
                    "%s: no case that can be judged (a case is a folder with a " CT_TRUTH_FILE
                    "); %u failed",
                    folder, c->failed);
        return NULL;
    }
    fit(c, judged);
    return g_steal_pointer(&c);
}

char *ct_calibration_text(const CtCalibration *c)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < c->cases->len; i++) {
        const CtCalibrationCase *r = g_ptr_array_index(c->cases, i);
        if (r->error)
            g_string_append_printf(out, "fail %-40s %s\n", r->name, r->error);
        else
            g_string_append_printf(out, "%-4s %-40s want %-32s got %-32s %.2f%s\n",
                                   r->top1   ? "ok"
                                   : r->top3 ? "3"
                                             : "miss",
                                   r->name, r->want, r->got, r->probability,
                                   r->confidently_wrong ? "  CONFIDENTLY WRONG" : "");
    }
    g_string_append(out, "\nsaid        right\n");
    for (guint b = 0; b < CT_CALIBRATION_BINS; b++)
        if (c->bins[b].n)
            g_string_append_printf(out, "%4.0f %%  %3u of %3u (%.0f %%)\n", c->bins[b].mean * 100,
                                   c->bins[b].hits, c->bins[b].n,
                                   100.0 * c->bins[b].hits / c->bins[b].n);
    g_string_append_printf(out,
                           "\ncases %u  failed %u  top-1 %.3f  top-3 %.3f  layer %.3f  "
                           "confidently wrong %.3f\nBrier %.4f leaving one out, %.4f with the "
                           "present temperature %.2f\nbest temperature %.2f\n",
                           c->n, c->failed, c->top1, c->top3, c->layer, c->confidently_wrong,
                           c->brier, c->brier_now, c->temperature_now, c->temperature);
    return g_string_free(out, FALSE);
}

char *ct_calibration_tsv(const CtCalibration *c)
{
    return g_strdup_printf("key\tvalue\ntemperature\t%.3f\ncases\t%u\nbrier\t%.4f\n",
                           c->temperature, c->n, c->brier);
}
