/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of inputs and outputs that a program writes into its log. */
#include <string.h>

#include "parse/common/scan.h"

#define MAX_FACTS 200u
#define MAX_AXES 12u

typedef struct {
    GHashTable *seen; /* subject|key|value */
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return st;
}

/* "(1, 3, 640, 640)", "[8,3,224,224]", "torch.Size([8, 3])", "1x3x640x640", "[-1,3]", "(1,)" at the
 * start of the text; axes end up as "[1,3,640,640]". FALSE when it is no shape. */
static gboolean take_shape(CtStr s, char *out, gsize size)
{
    gsize n = 0, at = 0;
    guint axes = 0;
    gboolean bracket = FALSE;
    static const char *const prefixes[] = {"torch.Size(", "TensorShape(", "Dims(", "(", "["};
    for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (ct_str_starts(s, prefixes[i])) {
            s = ct_str_from(s, strlen(prefixes[i]));
            bracket = TRUE;
        }
    n = g_strlcpy(out, "[", size);
    while (at < s.n && axes < MAX_AXES) {
        gsize from = at;
        at += s.p[at] == '-';
        while (at < s.n && g_ascii_isdigit(s.p[at]))
            at++;
        gsize len = at - from;
        if (!len || len > 10 || (len == 1 && s.p[from] == '-') || n + len + 3 > size)
            break;
        n += (gsize)g_snprintf(out + n, size - n, "%s%.*s", axes ? "," : "", (int)len, s.p + from);
        axes++;
        gsize before = at;
        while (at < s.n && s.p[at] == ' ')
            at++;
        if (at < s.n && (s.p[at] == ',' || s.p[at] == 'x' || s.p[at] == '*'))
            at++;
        else {
            at = before;
            break;
        }
        while (at < s.n && s.p[at] == ' ')
            at++;
    }
    g_strlcat(out, "]", size);
    gboolean closed = at < s.n && (s.p[at] == ')' || s.p[at] == ']');
    return bracket ? closed && axes : axes >= 2;
}

/* What stands between the word that announces a shape and the shape: " = ", ": ", " is ". */
static CtStr skip_words(CtStr s)
{
    static const char *const words[] = {"s ", "of ", "is ", "are ", "got ", "=", ":", " ", "'", "\""};
    for (gboolean again = TRUE; again;) {
        again = FALSE;
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
            if (ct_str_starts(s, words[i])) {
                s = ct_str_from(s, strlen(words[i]));
                again = TRUE;
            }
    }
    return s;
}

/* The tensor: in quotes, behind "binding for", or the word behind "input". */
static gboolean name_of(CtStr s, CtStr *name)
{
    if ((ct_str_between(s, "'", "'", name) || ct_str_between(s, "\"", "\"", name) ||
         ct_str_between(s, "binding for ", " ", name)) &&
        name->n && name->n < 100 && !memchr(name->p, ' ', name->n))
        return TRUE;
    gssize at = ct_str_ifind(s, "put ");
    CtStr rest = at < 0 ? ct_str("", 0) : ct_str_from(s, (gsize)at + 4);
    *name = ct_str_token(&rest);
    while (name->n && strchr(":,=", name->p[name->n - 1]))
        name->n--;
    return name->n > 0 && name->n < 100 && !ct_str_istarts(*name, "shape") &&
           !ct_str_istarts(*name, "tensor") && !ct_str_istarts(*name, "dim") &&
           !ct_str_istarts(*name, "size") && g_ascii_isalpha(name->p[0]);
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    static const char *const words[] = {"with dimensions", "shape", "torch.Size", "dimensions",
                                        "got "};
    State *st = state;
    CtStr s = ct_line_str(line), name;
    gboolean output = ct_str_ifind(s, "output") >= 0, input = ct_str_ifind(s, "input") >= 0;
    char shape[160], subject[128] = "";
    if (input == output) /* of neither, or of both: no telling which */
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        CtStr rest = s;
        for (gssize at; (at = ct_str_ifind(rest, words[i])) >= 0;) {
            gboolean itself = strcmp(words[i], "torch.Size") == 0;
            CtStr head = ct_str_head(s, (gsize)(rest.p - s.p) + (gsize)at);
            rest = ct_str_from(rest, (gsize)at + (itself ? 0 : strlen(words[i])));
            CtStr value = itself ? rest : skip_words(rest);
            if (itself)
                rest = ct_str_from(rest, 1);
            if (!take_shape(value, shape, sizeof shape))
                continue;
            if (name_of(head, &name))
                g_snprintf(subject, sizeof subject, "input:%.*s", (int)name.n, name.p);
            const char *key = output ? "output.shape" : "input.shape";
            g_autofree char *id = g_strdup_printf("%s|%s|%s", subject, key, shape);
            if (g_hash_table_size(st->seen) < MAX_FACTS &&
                g_hash_table_add(st->seen, g_steal_pointer(&id)))
                ct_emit_fact(emit, line, *subject ? subject : NULL, key, shape);
            return;
        }
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    g_hash_table_unref(st->seen);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    return 0; /* only reads along */
}

static const char *const anchors[] = {"with dimensions", "torch.Size(", "input shape",
                                      "Input shape", "input_shape", "output shape", "output_shape",
                                      "shape for input", "shape of input",
                                      "shape=(", "shape=[", "shape: (", "shape: [", NULL};

const CtParser ct_parser_input_shapes = {
    .id = "input-shapes",
    .summary = "shapes of inputs in logs",
    .doc = "Lines of any log that say which shape an input or output has (trtexec's bindings, "
           "torch.Size, shape=(1, 3, 640, 640), Triton's complaints): input.shape and "
           "output.shape, each different shape once.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .anchors = anchors,
};
