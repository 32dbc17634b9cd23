/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensor of the test belongs to which of the reference, and the comparison of each pair. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/steps.h"

static const char *const faults[CT_N_FAULTS] = {
    [CT_FAULT_NONE] = "none",
    [CT_FAULT_OVERFLOW] = "overflow",
    [CT_FAULT_UNDERFLOW] = "underflow",
    [CT_FAULT_ABSORPTION] = "absorption",
    [CT_FAULT_SATURATION] = "saturation",
    [CT_FAULT_COARSE_SCALE] = "coarse-scale",
    [CT_FAULT_CANCELLATION] = "cancellation",
    [CT_FAULT_SOFTMAX_NORM] = "softmax-norm",
    [CT_FAULT_MASK] = "mask",
    [CT_FAULT_EPS] = "eps",
    [CT_FAULT_LAYOUT] = "layout",
    [CT_FAULT_CHANNELS] = "channel-order",
    [CT_FAULT_SCALE] = "scale",
    [CT_FAULT_SHIFT] = "shift",
    [CT_FAULT_PERMUTED] = "permuted",
    [CT_FAULT_UNDEFINED] = "undefined-operation",
    [CT_FAULT_NAN_INPUT] = "nan-input",
    [CT_FAULT_NAN_WEIGHT] = "nan-weight",
    [CT_FAULT_CONSTANT] = "constant",
    [CT_FAULT_TYPE] = "type-precision",
    [CT_FAULT_TF32] = "tf32",
    [CT_FAULT_RACE] = "race",
    [CT_FAULT_UNKNOWN] = "unknown",
};

const char *ct_fault_id(CtFault fault)
{
    return faults[fault];
}

static void both(char **out_en, char **out_zh, const char *en, const char *zh, va_list args)
    G_GNUC_PRINTF(3, 0) __attribute__((format(printf, 4, 0)));

static void both(char **out_en, char **out_zh, const char *en, const char *zh, va_list args)
{
    va_list again;
    va_copy(again, args);
    *out_en = g_strdup_vprintf(en, args);
    *out_zh = g_strdup_vprintf(zh, again);
    va_end(again);
}

void ct_why_set(CtWhy *out, CtFault fault, double share, double value, const char *en,
                const char *zh, ...)
{
    va_list args;
    va_start(args, zh);
    *out = (CtWhy){.fault = fault, .share = share, .value = value};
    both(&out->text, &out->text_zh, en, zh, args);
    va_end(args);
}

void ct_steps_note(CtSteps *s, const char *en, const char *zh, ...)
{
    char *note, *note_zh;
    va_list args;
    va_start(args, zh);
    both(&note, &note_zh, en, zh, args);
    va_end(args);
    g_ptr_array_add(s->notes, note);
    g_ptr_array_add(s->notes_zh, note_zh);
}

static void step_free(gpointer data)
{
    CtStep *s = data;
    g_free(s->name);
    g_free(s->shape);
    g_free(s->node);
    g_free(s->types);
    g_free(s->problem);
    g_free(s->first_at);
    g_free(s->worst_at);
    g_free(s->op);
    g_free(s->near);
    g_free(s->why.text);
    g_free(s->why.text_zh);
    if (s->inputs)
        g_array_unref(s->inputs);
    g_free(s);
}

void ct_steps_free(CtSteps *s)
{
    if (!s)
        return;
    g_ptr_array_unref(s->steps);
    g_ptr_array_unref(s->notes);
    g_ptr_array_unref(s->notes_zh);
    g_ptr_array_unref(s->extra);
    g_free(s);
}

static CtSteps *steps_new(void)
{
    CtSteps *s = g_new0(CtSteps, 1);
    s->steps = g_ptr_array_new_with_free_func(step_free);
    s->notes = g_ptr_array_new_with_free_func(g_free);
    s->notes_zh = g_ptr_array_new_with_free_func(g_free);
    s->extra = g_ptr_array_new_with_free_func(g_free);
    s->first_bad = -1;
    return s;
}

/* Frameworks and exporters change separators and case, and dumps add endings. */
char *ct_plain_name(const char *name)
{
    g_autofree char *low = g_ascii_strdown(name, -1);
    static const char *const endings[] = {"_to_float", "_to_int8", ":0"};
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_str_has_suffix(low, endings[i]))
            low[strlen(low) - strlen(endings[i])] = '\0';
    GString *out = g_string_new(NULL);
    for (const char *p = low; *p; p++)
        if (g_ascii_isalnum(*p))
            g_string_append_c(out, *p);
        else if (out->len && out->str[out->len - 1] != '_')
            g_string_append_c(out, '_');
    if (out->len && out->str[out->len - 1] == '_')
        g_string_truncate(out, out->len - 1);
    return g_string_free(out, FALSE);
}

/* Names -> queue of items, since a name may come once for each iteration. */
static GHashTable *index_of(const CtTensorSet *set, gboolean plain)
{
    GHashTable *h =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    for (guint i = 0; i < set->items->len; i++) {
        CtTensorItem *item = set->items->pdata[i];
        char *key = plain ? ct_plain_name(item->name) : g_strdup(item->name);
        GPtrArray *list = g_hash_table_lookup(h, key);
        if (!list) {
            list = g_ptr_array_new();
            g_hash_table_insert(h, g_strdup(key), list);
        }
        g_free(key);
        g_ptr_array_add(list, item);
    }
    return h;
}

static CtTensorItem *take(GHashTable *index, const char *key, GHashTable *used)
{
    GPtrArray *list = g_hash_table_lookup(index, key);
    for (guint i = 0; list && i < list->len; i++)
        if (g_hash_table_add(used, list->pdata[i]))
            return list->pdata[i];
    return NULL;
}

static guint distance(const char *a, const char *b)
{
    gsize n = MIN(strlen(a), 80u), m = MIN(strlen(b), 80u);
    guint row[81];
    for (gsize j = 0; j <= m; j++)
        row[j] = (guint)j;
    for (gsize i = 1; i <= n; i++) {
        guint diagonal = row[0];
        row[0] = (guint)i;
        for (gsize j = 1; j <= m; j++) {
            guint above = row[j];
            row[j] = MIN(MIN(above, row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[m];
}

static const char *nearest(const CtTensorSet *test, GHashTable *used, const char *name)
{
    const char *best = NULL;
    guint least = G_MAXUINT;
    for (guint i = 0; i < test->items->len && i < 5000; i++) {
        const CtTensorItem *item = test->items->pdata[i];
        if (g_hash_table_contains(used, item))
            continue;
        guint d = distance(name, item->name);
        if (d < least) {
            least = d;
            best = item->name;
        }
    }
    return best && least <= MAX(strlen(name), strlen(best)) / 2 ? best : NULL;
}

static CtStep *add_step(CtSteps *s, const CtTensorItem *ref, const CtTensorItem *test)
{
    CtStep *step = g_new0(CtStep, 1);
    const CtTensorItem *named = ref ? ref : test;
    step->name = g_strdup(named->name);
    step->ref = ref;
    step->test = test;
    g_ptr_array_add(s->steps, step);
    return step;
}

static void pair_all(CtSteps *s, const CtTensorSet *ref, const CtTensorSet *test,
                     const CtStepOptions *o)
{
    g_autoptr(GHashTable) exact = index_of(test, FALSE), plain = index_of(test, TRUE);
    g_autoptr(GHashTable) used = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < ref->items->len; i++) {
        const CtTensorItem *item = ref->items->pdata[i];
        const char *mapped = o->map ? g_hash_table_lookup(o->map, item->name) : NULL;
        add_step(s, item, take(exact, mapped ? mapped : item->name, used));
    }
    for (guint i = 0; i < s->steps->len; i++) {
        CtStep *step = s->steps->pdata[i];
        if (step->test)
            continue;
        g_autofree char *key = ct_plain_name(step->name);
        step->test = take(plain, key, used);
    }
    guint next = 0;
    gboolean lone = ref->items->len == 1 && test->items->len == 1;
    for (guint i = 0; (o->by_order || lone) && i < s->steps->len; i++) {
        CtStep *step = s->steps->pdata[i];
        while (!step->test && next < test->items->len) {
            CtTensorItem *item = test->items->pdata[next++];
            if (!g_hash_table_add(used, item))
                continue;
            step->test = item;
            if (lone)
                ct_steps_note(s, "'%s' is compared with '%s', the only one there",
                              "“%s”与“%s”比较，因为只有这一个", step->name, item->name);
        }
    }
    for (guint i = 0; i < s->steps->len; i++) {
        CtStep *step = s->steps->pdata[i];
        const char *near = step->test ? NULL : nearest(test, used, step->name);
        step->near = g_strdup(near);
        if (!step->test)
            step->problem = near
                                ? g_strdup_printf("missing in the test (nearest: '%s'; --map pairs "
                                                  "names)",
                                                  near)
                                : g_strdup("missing in the test");
    }
    for (guint i = 0; i < test->items->len; i++)
        if (!g_hash_table_contains(used, test->items->pdata[i]))
            g_ptr_array_add(s->extra, g_strdup(((CtTensorItem *)test->items->pdata[i])->name));
}

static gboolean apply_layout(CtTensor **t, const char *layout, const CtTensor *other,
                             GError **error)
{
    if (!layout)
        return TRUE;
    gint64 channels = other && other->rank >= 3 ? other->dims[other->rank > 3 ? 1 : 0] : 0;
    CtTensor *turned = ct_tensor_from_layout(*t, layout, channels, error);
    if (!turned)
        return FALSE;
    ct_tensor_free(*t);
    *t = turned;
    return TRUE;
}

gboolean ct_step_load(const CtStep *step, const CtStepOptions *o, CtTensor **ref, CtTensor **test,
                      GError **error)
{
    *ref = step->ref ? ct_tensor_item_load(step->ref, error) : NULL;
    if (step->ref && !*ref)
        return FALSE;
    *test = step->test ? ct_tensor_item_load(step->test, error) : NULL;
    gboolean ok = *test || !step->test;
    ok = ok && (!*ref || apply_layout(ref, o->ref_layout, NULL, error));
    ok = ok && (!*test || apply_layout(test, o->test_layout, *ref, error));
    if (!ok) {
        g_clear_pointer(ref, ct_tensor_free);
        g_clear_pointer(test, ct_tensor_free);
    }
    return ok;
}

/* Few different values, all multiples of one step: a quantised tensor that was widened. */
static gboolean is_grid(const CtTensor *t)
{
    float seen[257];
    guint n = 0;
    guint64 step = MAX(t->n / 4096, (guint64)1);
    if (t->n < 1024)
        return FALSE;
    for (guint64 i = 0; i < t->n; i += step) {
        float f;
        ct_tensor_to_f32(t, i, 1, &f);
        guint a = 0;
        while (a < n && seen[a] != f)
            a++;
        if (a == n && (n == 256 || !isfinite(f)))
            return FALSE;
        if (a == n)
            seen[n++] = f;
    }
    float unit = INFINITY;
    for (guint i = 0; i < n; i++)
        if (seen[i] != 0)
            unit = MIN(unit, fabsf(seen[i]));
    int exponent;
    if (frexpf(unit, &exponent) == 0.5f && unit < 1e-6f) /* subnormal halves are such a grid too */
        return FALSE;
    guint whole = 0;
    for (guint i = 0; i < n; i++)
        whole += fabsf(seen[i] / unit - rintf(seen[i] / unit)) < 0.02f;
    return n > 8 && whole == n;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Some scale makes numbers of `bits` digits of all levels but the smallest, which are subnormal. */
static gboolean on_fp8_grid(const float *level, guint n, int bits)
{
    for (int m = 1 << (bits - 1); m < 1 << bits; m++) {
        float unit = level[n - 1] / (float)m;
        guint good = 0, asked = 0;
        for (guint i = n / 4; i < n; i++) {
            int e;
            float digits = ldexpf(frexpf(level[i] / unit * 1.0001f, &e), bits);
            good += fabsf(digits - rintf(digits)) < 0.003f * digits;
            asked++;
        }
        if (good == asked)
            return TRUE;
    }
    return FALSE;
}

/* Levels whose distance grows with their size: FP8 with a scale, written as a wider type. */
static CtDtype scaled_fp8(const CtTensor *t)
{
    float seen[129];
    guint n = 0;
    guint64 step = MAX(t->n / 4096, (guint64)1);
    for (guint64 i = 0; t->n >= 1024 && i < t->n; i += step) {
        float f;
        ct_tensor_to_f32(t, i, 1, &f);
        f = fabsf(f);
        guint a = 0;
        while (a < n && fabsf(seen[a] - f) > 2e-3f * f)
            a++;
        if (a == n && (n == 128 || !isfinite(f)))
            return CT_N_DTYPES;
        if (a == n)
            seen[n++] = f;
    }
    if (n < 40)
        return CT_N_DTYPES;
    qsort(seen, n, sizeof *seen, by_value);
    /* What is left when halves cancel has few digits too, and binary ones: unscaled e4m3 ends at
     * 2^-9, and no cancellation leaves a scale that is not a power of two. */
    gboolean binary = TRUE;
    for (guint i = 0; i < n && binary; i++) {
        int e;
        float digits = ldexpf(frexpf(seen[i], &e), 4);
        binary = digits == rintf(digits);
    }
    if (binary && seen[seen[0] == 0] < 0x1p-9f)
        return CT_N_DTYPES;
    return on_fp8_grid(seen, n, 4) ? CT_F8_E4M3 : on_fp8_grid(seen, n, 3) ? CT_F8_E5M2 : CT_N_DTYPES;
}

CtDtype ct_effective_dtype(const CtTensor *t)
{
    if (t->dtype == CT_F32 || t->dtype == CT_F16 || t->dtype == CT_BF16) {
        CtDtype small = scaled_fp8(t);
        if (small != CT_N_DTYPES)
            return small;
    }
    if (t->dtype != CT_F32 || t->n == 0)
        return t->dtype;
    if (is_grid(t))
        return CT_I8;
    gboolean half = TRUE, brain = TRUE;
    guint64 step = MAX(t->n / 4096, (guint64)1);
    guint useful = 0;
    for (guint64 i = 0; i < t->n && (half || brain); i += step) {
        float f;
        ct_tensor_to_f32(t, i, 1, &f);
        guint32 bits;
        memcpy(&bits, &f, sizeof bits);
        if (!isfinite(f) || f == 0)
            continue;
        useful += f != rintf(f) || fabsf(f) > 2048;
        brain = brain && (bits & 0xffff) == 0;
        /* Multiples of 2^-24 with 11 bits. */
        float a = fabsf(f);
        int e;
        frexpf(a, &e);
        float unit = ldexpf(1, MAX(e - 11, -24));
        half = half && a <= 65504 && a / unit == rintf(a / unit);
    }
    if (useful < 8)
        return CT_N_DTYPES;
    return half ? CT_F16 : brain ? CT_BF16 : CT_F32;
}

typedef struct {
    CtStep *step;
    const CtStepOptions *o;
    GError *error;
    gboolean ok;
} Job;

static void compare_step(gpointer data)
{
    Job *j = data;
    g_autoptr(CtTensor) ref = NULL, test = NULL;
    if (!ct_step_load(j->step, j->o, &ref, &test, &j->error))
        return;
    CtStep *s = j->step;
    s->shape = ct_tensor_shape(ref);
    s->types = ref->dtype == test->dtype ? g_strdup(ct_dtype_name(ref->dtype))
                                         : g_strdup_printf("%s/%s", ct_dtype_name(ref->dtype),
                                                           ct_dtype_name(test->dtype));
    CtStepOptions o = *j->o;
    guint digits = MAX(s->ref->digits, s->test->digits);
    if (digits && !o.compare.has_rtol) { /* printed numbers are no better than their digits */
        o.compare.has_rtol = TRUE;
        o.compare.rtol = 10 * pow(10, -(double)digits);
    }
    j->ok = ct_compare(ref, test, &o.compare, &s->c, &j->error);
    if (!j->ok)
        return;
    s->effective = ct_effective_dtype(test);
    s->untold = s->effective == CT_N_DTYPES;
    if (s->untold)
        s->effective = test->dtype;
    double eps = ct_dtype_eps(s->effective);
    s->reduced = eps >= 0x1p-10 || (eps == 0 && ct_dtype_is_float(ref->dtype));
    if (s->c.first >= 0)
        s->first_at = ct_tensor_index(ref, (guint64)s->c.first);
    if (s->c.worst_abs >= 0)
        s->worst_at = ct_tensor_index(ref, (guint64)s->c.worst_abs);
}

CtSteps *ct_steps_compare(const CtTensorSet *ref, const CtTensorSet *test, const CtStepOptions *o)
{
    CtSteps *s = steps_new();
    s->unordered = ref->unordered;
    pair_all(s, ref, test, o);
    for (guint i = 0; i < s->steps->len; i++) {
        CtStep *step = s->steps->pdata[i];
        if (!step->test) {
            s->n_failed++;
            continue;
        }
        Job job = {step, o, NULL, FALSE};
        GError *error = NULL;
        if (!ct_bytes_guard(compare_step, &job, &error) || !job.ok) {
            step->problem = g_strdup(error ? error->message : job.error->message);
            s->n_failed++;
        } else {
            step->compared = TRUE;
            s->n_compared++;
            s->n_failed += !step->c.pass;
        }
        g_clear_error(&job.error);
        g_clear_error(&error);
    }
    return s;
}

CtSteps *ct_steps_scan(const CtTensorSet *test)
{
    CtSteps *s = steps_new();
    s->unordered = test->unordered;
    for (guint i = 0; i < test->items->len; i++)
        add_step(s, NULL, test->items->pdata[i]);
    return s;
}
