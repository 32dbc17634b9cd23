/* SPDX-License-Identifier: Apache-2.0 */
/* Are these the same numbers; if not, where does it begin and why? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/compare-print.h"

typedef enum { FORM_TEXT, FORM_JSON, FORM_MARKDOWN, FORM_HTML, FORM_CSV } Form;

typedef struct {
    char *atol, *rtol, *rule, *dtype, *shape, *layout, *map, *onnx, *save, *trt, *format, *lang;
    gboolean full, exact, first_bad, runs, by_order, json, csv, all, force;
    int top_k;
    Form form;
    CtLang language;
} Options;

static gboolean tolerance(const char *name, const char *text, gboolean *has, double *out, int *code)
{
    if (!text)
        return TRUE;
    char *end;
    *out = g_ascii_strtod(text, &end);
    if (end == text || *end || !(*out >= 0) || isinf(*out)) {
        *code = ct_cli_usage("compare", "--%s %s: not a number of 0 or more", name, text);
        return FALSE;
    }
    return *has = TRUE;
}

static gboolean read_shape(const char *text, CtReadOptions *o, int *code)
{
    if (!text)
        return TRUE;
    g_auto(GStrv) parts = g_strsplit_set(text, "x,", -1);
    for (guint i = 0; parts[i]; i++) {
        guint64 v;
        if (i >= CT_TENSOR_MAX_RANK ||
            !g_ascii_string_to_unsigned(parts[i], 10, 0, (guint64)1 << 48, &v, NULL)) {
            *code = ct_cli_usage("compare", "--shape %s: write it like 1x3x224x224", text);
            return FALSE;
        }
        o->dims[o->rank++] = (gint64)v;
    }
    return o->has_shape = TRUE;
}

/* Lines "reference test", separated by a tab, an equals sign, an arrow or blanks. */
static GHashTable *read_map(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, error))
        return NULL;
    GHashTable *map = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        char *line = g_strstrip(lines[i]);
        gsize cut = strcspn(line, "\t= ");
        if (*line == '#' || !line[cut])
            continue;
        const char *to = line + cut + strspn(line + cut, "\t=-> ");
        if (*to)
            g_hash_table_insert(map, g_strndup(line, cut), g_strdup(to));
    }
    return map;
}

static gboolean settings(Options *opt, CtReadOptions *read, CtStepOptions *o, int *code)
{
    o->compare.full = opt->full || opt->exact;
    o->compare.exact = opt->exact;
    o->compare.top_k = (guint)CLAMP(opt->top_k, 0, 64);
    o->by_order = opt->by_order;
    if (opt->trt && !(g_ascii_isdigit(*opt->trt) && atoi(opt->trt) > 0 && atoi(opt->trt) < 100)) {
        *code = ct_cli_usage("compare", "--trt %s: write a version like 10.3 or 11", opt->trt);
        return FALSE;
    }
    if (!tolerance("atol", opt->atol, &o->compare.has_atol, &o->compare.atol, code) ||
        !tolerance("rtol", opt->rtol, &o->compare.has_rtol, &o->compare.rtol, code) ||
        !read_shape(opt->shape, read, code))
        return FALSE;
    if (opt->rule && g_str_equal(opt->rule, "polygraphy")) {
        o->compare.rule = CT_RULE_EITHER;
    } else if (opt->rule && !g_str_equal(opt->rule, "numpy") &&
               !g_str_equal(opt->rule, "trtexec")) {
        *code = ct_cli_usage("compare", "--rule %s: known are numpy, trtexec and polygraphy",
                             opt->rule);
        return FALSE;
    }
    if (opt->dtype && !(read->has_dtype = ct_dtype_parse(opt->dtype, &read->dtype))) {
        *code = ct_cli_usage("compare", "--dtype %s is not known (fp32, fp16, bf16, int8 ...)",
                             opt->dtype);
        return FALSE;
    }
    if (opt->layout) { /* REF:TEST, or the test's alone */
        char *colon = strchr(opt->layout, ':');
        if (colon)
            *colon = '\0';
        o->ref_layout = colon ? opt->layout : NULL;
        o->test_layout = colon ? colon + 1 : opt->layout;
    }
    g_autoptr(GError) error = NULL;
    if (opt->map && !(o->map = read_map(opt->map, &error))) {
        *code = ct_cli_fail("compare", error);
        return FALSE;
    }
    return TRUE;
}

static CtTensorSet *open_set(const char *path, const CtReadOptions *read, int *code)
{
    g_autoptr(GError) error = NULL;
    CtTensorSet *set = ct_tensor_set_open(path, read, &error);
    if (!set)
        *code = ct_cli_fail("compare", error);
    for (guint i = 0; set && i < set->notes->len; i++)
        ct_cli_note("%s", (char *)set->notes->pdata[i]);
    return set;
}

/* Saves what was found as a case; FALSE with *code when that fails. */
static gboolean save(const Options *opt, CtEvidence *ev, int *code)
{
    g_autoptr(GError) error = NULL;
    if (ct_evidence_save(ev, opt->save, opt->force, &error))
        return TRUE;
    *code = ct_cli_fail("compare", error);
    return FALSE;
}

static gboolean print_sheet(const Options *opt, const CtSheet *sheet)
{
    if (opt->form == FORM_TEXT)
        return ct_compare_print_sheet(sheet);
    g_autofree char *text =
        opt->form == FORM_HTML ? ct_sheet_html(sheet) : ct_sheet_markdown(sheet);
    return ct_cli_print(text, CT_EXIT_NOTHING) == CT_EXIT_NOTHING;
}

static int exit_code(gboolean written, gboolean passed)
{
    return !written ? CT_EXIT_FAILED : passed ? CT_EXIT_NOTHING : CT_EXIT_FOUND;
}

static gboolean choose_form(Options *o, int *code)
{
    static const char *const names[] = {"text", "json", "md", "html", "csv", NULL};
    const char *asked = o->format ? o->format : o->json ? "json" : o->csv ? "csv" : "text";
    if ((o->json && !g_str_equal(asked, "json")) || (o->csv && !g_str_equal(asked, "csv")) ||
        (o->json && o->csv)) {
        *code = ct_cli_usage("compare", "--json, --csv and --format exclude each other");
        return FALSE;
    }
    for (int i = 0; names[i]; i++)
        if (g_str_equal(asked, names[i])) {
            o->form = (Form)i;
            return TRUE;
        }
    *code = ct_cli_usage("compare", "--format %s: known are text, json, md, html and csv", asked);
    return FALSE;
}

static int compare_runs(const Options *opt, const CtReadOptions *read, int argc, char **argv)
{
    int code = 0;
    g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func((GDestroyNotify)ct_tensor_set_free);
    for (int i = 1; i < argc; i++) {
        CtTensorSet *set = open_set(argv[i], read, &code);
        if (!set)
            return code;
        g_ptr_array_add(sets, set);
    }
    g_autoptr(GError) error = NULL;
    if (opt->onnx && !ct_tensor_set_order(sets->pdata[0], opt->onnx, &error))
        return ct_cli_fail("compare", error);
    g_autoptr(CtRuns) runs = ct_runs_compare(sets, &error);
    if (!runs)
        return ct_cli_fail("compare", error);
    g_autoptr(CtEvidence) ev = opt->save ? ct_evidence_new(&error) : NULL;
    if (ev) {
        ct_compare_evidence_runs(runs, ev);
        if (!save(opt, ev, &code))
            return code;
    }
    gboolean ok;
    if (opt->form == FORM_JSON) {
        ok = ct_compare_print_json_runs(runs);
    } else if (opt->form == FORM_CSV) {
        ok = ct_compare_print_csv_runs(runs);
    } else {
        g_autoptr(CtSheet) sheet = ct_compare_sheet_runs(runs, opt->all, opt->language);
        ok = print_sheet(opt, sheet);
    }
    return exit_code(ok, !runs->n_differ && !runs->n_missing);
}

static int finish(const Options *opt, CtSteps *s, const CtComparePrint *p, CtStepOptions *o)
{
    g_autoptr(GError) error = NULL;
    int code = 0;
    if (opt->onnx && !ct_steps_use_graph(s, opt->onnx, &error))
        return ct_cli_fail("compare", error);
    if (p->first_bad || opt->save)
        ct_locate(s, o);
    g_autoptr(CtEvidence) ev = opt->save ? ct_evidence_new(&error) : NULL;
    if (ev) {
        ct_compare_evidence(s, p, ev);
        if (!save(opt, ev, &code))
            return code;
    }
    gboolean ok;
    if (opt->form == FORM_JSON) {
        ok = ct_compare_print_json(s, p);
    } else if (opt->form == FORM_CSV) {
        ok = ct_compare_print_csv(s);
    } else {
        g_autoptr(CtSheet) sheet = ct_compare_sheet(s, p);
        ok = print_sheet(opt, sheet);
    }
    return exit_code(ok, ct_compare_passed(s, p));
}

static int compare(const Options *opt, const CtReadOptions *read, CtStepOptions *o, int argc,
                   char **argv)
{
    int code = 0;
    CtComparePrint p = {.test = argv[argc - 1],
                        .first_bad = opt->first_bad || opt->onnx,
                        .all = opt->all,
                        .full = o->compare.full,
                        .rule = o->compare.rule,
                        .lang = opt->language,
                        .trt = opt->trt ? atoi(opt->trt) : 0};
    g_autoptr(CtTensorSet) test = open_set(p.test, read, &code);
    if (!test)
        return code;
    if (argc == 2) {
        g_autoptr(CtSteps) s = ct_steps_scan(test);
        return finish(opt, s, &p, o);
    }
    p.ref = argv[1];
    g_autoptr(CtTensorSet) ref = open_set(p.ref, read, &code);
    if (!ref)
        return code;
    g_autoptr(CtSteps) s = ct_steps_compare(ref, test, o);
    return finish(opt, s, &p, o);
}

static void options_clear(Options *o)
{
    char *const owned[] = {o->atol, o->rtol, o->rule, o->dtype, o->shape,  o->layout,
                           o->map,  o->onnx, o->save, o->trt,   o->format, o->lang};
    for (gsize i = 0; i < G_N_ELEMENTS(owned); i++)
        g_free(owned[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static int run(int argc, char **argv)
{
    g_auto(Options) opt = {0};
    int code = 0;
    const GOptionEntry entries[] = {
        {"atol", 0, 0, G_OPTION_ARG_STRING, &opt.atol, "Absolute tolerance (default: by type)",
         "X"},
        {"rtol", 0, 0, G_OPTION_ARG_STRING, &opt.rtol, "Relative tolerance", "X"},
        {"rule", 0, 0, G_OPTION_ARG_STRING, &opt.rule, "numpy (default), trtexec, polygraphy",
         "RULE"},
        {"first-bad", 0, 0, G_OPTION_ARG_NONE, &opt.first_bad,
         "Find the tensor where it begins, and why", NULL},
        {"onnx", 0, 0, G_OPTION_ARG_FILENAME, &opt.onnx,
         "Order and operations from a model or layer JSON", "FILE"},
        {"trt", 0, 0, G_OPTION_ARG_STRING, &opt.trt,
         "Version of TensorRT that remedies are for (10.3, 11)", "VERSION"},
        {"runs", 0, 0, G_OPTION_ARG_NONE, &opt.runs, "All PATHs are runs of the same thing", NULL},
        {"full", 0, 0, G_OPTION_ARG_NONE, &opt.full, "Quantiles, channels, largest values too",
         NULL},
        {"exact", 0, 0, G_OPTION_ARG_NONE, &opt.exact, "--full with exact quantiles", NULL},
        {"top-k", 0, 0, G_OPTION_ARG_INT, &opt.top_k, "How many largest values (5)", "K"},
        {"layout", 0, 0, G_OPTION_ARG_STRING, &opt.layout,
         "Of the test, or REF:TEST: nchw, nhwc, "
         "chw32",
         "L"},
        {"dtype", 0, 0, G_OPTION_ARG_STRING, &opt.dtype, "Type of raw files", "TYPE"},
        {"shape", 0, 0, G_OPTION_ARG_STRING, &opt.shape, "Shape of raw files, 1x3x8x8", "SHAPE"},
        {"map", 0, 0, G_OPTION_ARG_FILENAME, &opt.map, "Lines 'reference test' that pair names",
         "FILE"},
        {"by-order", 0, 0, G_OPTION_ARG_NONE, &opt.by_order, "Pair the rest by their order", NULL},
        {"all", 0, 0, G_OPTION_ARG_NONE, &opt.all, "Show every tensor", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &opt.json, "The same as --format json", NULL},
        {"csv", 0, 0, G_OPTION_ARG_NONE, &opt.csv, "The same as --format csv", NULL},
        {"format", 0, 0, G_OPTION_ARG_STRING, &opt.format, "text (default), json, md, html or csv",
         "FORM"},
        {"lang", 0, 0, G_OPTION_ARG_STRING, &opt.lang, "Language: en or zh (default: the locale's)",
         "LANG"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &opt.save, "Save the results as a case", "CASE"},
        {"force", 0, 0, G_OPTION_ARG_NONE, &opt.force, "Overwrite the case", NULL},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "compare",
        .args = "REF TEST",
        .summary = "Compares tensors of a reference and a test: files or folders of npy, npz,\n"
                   "safetensors, Polygraphy or trtexec JSON, PyTorch, ONNX tensors, raw bytes.",
        .examples = "  cutriage compare ref.npz test.npz\n"
                    "  cutriage compare --first-bad fp32/ fp16/\n"
                    "  cutriage compare --first-bad --onnx model.onnx ref.json trt.json\n"
                    "  cutriage compare --first-bad dump/\n"
                    "  cutriage compare --runs run1/ run2/ run3/\n"
                    "  cutriage compare --format html ref.npz test.npz > numbers.html\n",
        .notes = "Exit code: 0 equal within tolerance, 1 different, 2 usage, 4 failed. NaN never\n"
                 "passes; a tensor that is missing or cannot be read fails the comparison.",
        .entries = entries,
    };
    if (!ct_cli_options(&help, &argc, &argv, &code))
        return code;
    if (!choose_form(&opt, &code) || !ct_cli_lang("compare", opt.lang, &opt.language, &code) ||
        !ct_cli_output_is_free("compare", opt.save, opt.force, &code))
        return code;
    if (opt.runs ? argc < 3 : argc != 3 && !(argc == 2 && opt.first_bad))
        return ct_cli_usage("compare", "%s",
                            opt.runs    ? "--runs needs two or more paths"
                            : argc == 2 ? "one path alone needs --first-bad"
                                        : "give a reference and a test");
    CtReadOptions read = {0};
    CtStepOptions o = {0};
    if (settings(&opt, &read, &o, &code))
        code =
            opt.runs ? compare_runs(&opt, &read, argc, argv) : compare(&opt, &read, &o, argc, argv);
    if (o.map)
        g_hash_table_unref(o.map);
    return code;
}

const CtVerb ct_verb_compare = {
    .name = "compare",
    .step = "isolate",
    .summary = "Compare tensors, find the first bad one and why",
    .run = run,
};
