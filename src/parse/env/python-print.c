/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/env/python-print.h"

#include <string.h>

#include "parse/env/version-scan.h"

#define MAX_PRINTS 16
#define MAX_ARGUMENTS 16

struct CtPythonPrint {
    char *text;
    CtStr argument[MAX_PRINTS][MAX_ARGUMENTS];
    guint n_arguments[MAX_PRINTS];
    guint prints, next;
};

/* Offset of the bracket that closes the one before the text; -1 when it is missing. */
static gssize closing(CtStr s)
{
    int depth = 1;
    char quote = 0;
    for (gsize i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (quote) {
            if (c == quote)
                quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (strchr("([{", c)) {
            depth++;
        } else if (strchr(")]}", c) && --depth == 0) {
            return (gssize)i;
        }
    }
    return -1;
}

static void split_arguments(CtPythonPrint *print, CtStr s)
{
    guint p = print->prints++;
    int depth = 0;
    gsize start = 0;
    for (gsize i = 0; i <= s.n && print->n_arguments[p] < MAX_ARGUMENTS; i++) {
        if (i < s.n && strchr("([{", s.p[i]))
            depth++;
        else if (i < s.n && strchr(")]}", s.p[i]))
            depth--;
        if (i == s.n || (s.p[i] == ',' && depth == 0)) {
            CtStr a = ct_str_strip(ct_str_head(ct_str_from(s, start), i - start));
            if (a.n)
                print->argument[p][print->n_arguments[p]++] = a;
            start = i + 1;
        }
    }
}

CtPythonPrint *ct_python_print_new(const char *command)
{
    if (!command || !strstr(command, "print(") || !ct_str_has(ct_str_of(command), "import"))
        return NULL;
    CtPythonPrint *print = g_new0(CtPythonPrint, 1);
    print->text = g_strdup(command);
    CtStr rest = ct_str_of(print->text);
    gssize at;
    while (print->prints < MAX_PRINTS && (at = ct_str_find(rest, "print(")) >= 0) {
        rest = ct_str_from(rest, (gsize)at + 6);
        gssize end = closing(rest);
        if (end < 0)
            break;
        split_arguments(print, ct_str_head(rest, (gsize)end));
        rest = ct_str_from(rest, (gsize)end);
    }
    return print;
}

void ct_python_print_free(CtPythonPrint *print)
{
    if (!print)
        return;
    g_free(print->text);
    g_free(print);
}

/* One printed value: a bracketed group or a word. */
static CtStr value_at(CtStr *rest)
{
    CtStr s = ct_str_strip(*rest);
    if (s.n && strchr("([{", s.p[0])) {
        gssize end = closing(ct_str_from(s, 1));
        if (end >= 0) {
            *rest = ct_str_from(s, (gsize)end + 2);
            return ct_str_head(s, (gsize)end + 2);
        }
    }
    *rest = s;
    return ct_str_token(rest);
}

static void emit_value(CtEmit *emit, const CtLine *line, CtStr expression, CtStr value)
{
    gint64 n;
    char text[64];
    if (ct_str_eq(expression, "torch.version.cuda")) {
        ct_emit_text(emit, line, NULL, "version.torch.cuda", value);
    } else if (ct_str_has(expression, "cudnn.version()")) {
        if (ct_str_uint(value, &n) && ct_version_of_int("version.cudnn", n, text))
            ct_emit_fact(emit, line, NULL, "version.cudnn", text);
    } else if (ct_str_has(expression, "nccl.version()")) {
        gsize k = 0; /* (2, 19, 3) */
        for (gsize i = 0; i < value.n && k < sizeof(text) - 1; i++)
            if (g_ascii_isdigit(value.p[i]))
                text[k++] = value.p[i];
            else if (value.p[i] == ',')
                text[k++] = '.';
        text[k] = '\0';
        ct_emit_fact(emit, line, NULL, "version.nccl", text);
    } else if (ct_str_has(expression, "cuda.is_available()")) {
        ct_emit_text(emit, line, NULL, "torch.cuda.available", value);
    } else if (ct_str_has(expression, "device_count()")) {
        if (ct_str_uint(value, &n))
            ct_emit_number(emit, line, NULL, "gpu.visible-count", (double)n, CT_STR_BUF(value));
    } else if (ct_str_has(expression, "get_device_capability(")) {
        double major, minor;
        CtStr rest = ct_str_from(value, 1);
        if (ct_str_take_number(&rest, &major)) {
            rest = ct_str_strip(ct_str_from(rest, 1));
            if (ct_str_take_number(&rest, &minor)) {
                g_snprintf(text, sizeof(text), "%.0f.%.0f", major, minor);
                ct_emit_fact(emit, line, "gpu:0", "gpu.compute-capability", text);
            }
        }
    } else if (ct_str_has(expression, "get_arch_list()")) {
        g_autofree char *list = ct_str_dup(ct_str_head(value, 600));
        GString *plain = g_string_new(NULL);
        for (char *p = list; *p; p++)
            if (g_ascii_isalnum(*p) || *p == '_')
                g_string_append_c(plain, *p);
            else if (*p == ',')
                g_string_append_c(plain, ' ');
        ct_emit_fact(emit, line, NULL, "torch.arch-list", plain->str);
        g_string_free(plain, TRUE);
    } else if (ct_str_has(expression, "get_device_name(")) {
        ct_emit_text(emit, line, "gpu:0", "gpu.name", value);
    } else if (ct_str_ends(expression, ".__version__")) {
        CtStr module = ct_str_head(expression, expression.n - 12);
        static const struct {
            const char *module, *key;
        } modules[] = {
            {"torch", "version.torch"},           {"tensorrt", "version.tensorrt"},
            {"trt", "version.tensorrt"},          {"onnxruntime", "version.onnxruntime"},
            {"ort", "version.onnxruntime"},       {"tensorflow", "version.tensorflow"},
            {"tf", "version.tensorflow"},         {"cv2", "version.opencv"},
            {"numpy", "version.numpy"},           {"np", "version.numpy"},
            {"torchvision", "version.torchvision"}, {"onnx", "version.onnx"},
            {"vllm", "version.vllm"},             {"transformers", "version.transformers"},
        };
        for (gsize i = 0; i < G_N_ELEMENTS(modules); i++)
            if (ct_str_eq(module, modules[i].module))
                ct_emit_version(emit, line, NULL, modules[i].key, value);
    }
}

gboolean ct_python_print_line(CtPythonPrint *print, CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_str(line);
    if (print->next >= print->prints || ct_str_starts(rest, "Traceback") ||
        ct_str_has(rest, "Warning") || ct_str_has(rest, "warn"))
        return FALSE;
    guint p = print->next++;
    for (guint i = 0; i < print->n_arguments[p] && rest.n; i++) {
        CtStr expression = print->argument[p][i];
        gboolean last = i + 1 == print->n_arguments[p];
        gboolean text = strchr("'\"f", expression.p[0]) && memchr(expression.p, '"', expression.n);
        if (text || expression.p[0] == '\'')
            return ct_scan_versions(emit, line, ct_line_str(line), NULL), TRUE;
        CtStr value = last && ct_str_has(expression, "get_device_name(") ? ct_str_strip(rest)
                                                                        : value_at(&rest);
        emit_value(emit, line, expression, value);
    }
    return TRUE;
}
