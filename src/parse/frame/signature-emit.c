/* SPDX-License-Identifier: Apache-2.0 */
/* What a matched signature says, as a row. */
#include "parse/frame/signatures-private.h"

#include <string.h>

#include "parse/frame/json-line.h"

typedef struct {
    char *code, *name, *message, *gpu, *subject, *pid, *rank, *value;
    GString *detail;
} Fields;

static void fields_clear(Fields *f)
{
    g_free(f->code);
    g_free(f->name);
    g_free(f->message);
    g_free(f->gpu);
    g_free(f->subject);
    g_free(f->pid);
    g_free(f->rank);
    g_free(f->value);
    if (f->detail)
        g_string_free(f->detail, TRUE);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fields, fields_clear)

static gboolean in_detail(const GString *detail, const char *key)
{
    g_autofree char *quoted = g_strdup_printf("\"%s\":", key);
    return detail->len > 0 && strstr(detail->str, quoted) != NULL;
}

static void add_detail(Fields *f, const char *key, const char *value)
{
    double number;
    if (!f->detail)
        f->detail = g_string_new("{");
    else if (in_detail(f->detail, key))
        return;
    if (f->detail->len > 1)
        g_string_append_c(f->detail, ',');
    ct_json_append_string(f->detail, key, -1);
    g_string_append_c(f->detail, ':');
    gsize len = strlen(value);
    if ((g_str_has_suffix(key, "_bytes") && ct_text_bytes(value, len, NULL, &number)) ||
        (g_str_has_suffix(key, "_ns") && ct_text_duration(value, len, NULL, &number))) {
        char buf[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_formatd(buf, sizeof buf, "%.0f", number);
        g_string_append(f->detail, buf);
        return;
    }
    ct_json_append_string(f->detail, value, (gssize)len);
}

static char **slot_of(Fields *f, SigField field)
{
    switch (field) {
    case FIELD_CODE:
        return &f->code;
    case FIELD_NAME:
        return &f->name;
    case FIELD_MESSAGE:
        return &f->message;
    case FIELD_GPU:
        return &f->gpu;
    case FIELD_SUBJECT:
        return &f->subject;
    case FIELD_PID:
        return &f->pid;
    case FIELD_RANK:
        return &f->rank;
    case FIELD_VALUE:
        return &f->value;
    case FIELD_DETAIL:
        break;
    }
    return NULL;
}

/* The first to come stays: captures are entered before constants. */
static void set_field(Fields *f, const SigCapture *c, char *value)
{
    char **slot = slot_of(f, c->field);
    if (!slot)
        add_detail(f, c->key, value);
    else if (!*slot)
        *slot = g_steal_pointer(&value);
    g_free(value);
}

static void collect(const Signature *sig, const CtLine *line, const PCRE2_SIZE *ovector,
                    guint n_groups, Fields *f)
{
    for (guint i = 0; i < sig->captures->len; i++) {
        const SigCapture *c = &g_array_index(sig->captures, SigCapture, i);
        if (c->value || c->group >= n_groups || ovector[2 * c->group] == PCRE2_UNSET)
            continue;
        PCRE2_SIZE from = ovector[2 * c->group], to = ovector[2 * c->group + 1];
        if (to > from && to <= line->len)
            set_field(f, c, ct_text_strip(line->text + from, to - from));
    }
    for (guint i = 0; i < sig->captures->len; i++) {
        const SigCapture *c = &g_array_index(sig->captures, SigCapture, i);
        if (c->value)
            set_field(f, c, g_strdup(c->value));
    }
}

static gboolean integer(const char *text, gint64 *out)
{
    char *end;
    gsize len = strlen(text);
    if (ct_text_int(text, len, out))
        return TRUE;
    if (len < 3 || len > 18 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
        return FALSE;
    guint64 v = g_ascii_strtoull(text + 2, &end, 16);
    if (*end || v > G_MAXINT64)
        return FALSE;
    *out = (gint64)v;
    return TRUE;
}

/* Completes number and name of an error from whatever of number, name and text the line has. */
static void resolve(const CtSignatures *sigs, const Signature *sig, Fields *f, gint64 *code,
                    gboolean *has_code)
{
    *has_code = f->code && integer(f->code, code);
    if (!sig->family || !sigs->kb)
        return;
    if (!*has_code && f->name)
        *has_code = ct_kb_code_number(sigs->kb, sig->family, f->name, code);
    if (!*has_code && f->message) {
        *has_code = ct_kb_code_number(sigs->kb, sig->family, f->message, code);
        gsize len = strlen(f->message);
        if (!*has_code && len > 1 && strchr(".!\"'", f->message[len - 1])) {
            f->message[len - 1] = '\0';
            *has_code = ct_kb_code_number(sigs->kb, sig->family, f->message, code);
        }
    }
    const char *name = *has_code ? ct_kb_code_name(sigs->kb, sig->family, *code) : NULL;
    if (name) {
        g_free(f->name);
        f->name = g_strdup(name);
    }
}

static char *canonical_gpu(char *gpu)
{
    char *better = gpu ? ct_text_gpu(gpu, strlen(gpu)) : NULL;
    if (!better)
        return gpu;
    g_free(gpu);
    return better;
}

static void emit_fact(const Signature *sig, CtEmit *emit, const CtLine *line, const Fields *f)
{
    const char *value = f->value ? f->value : f->name ? f->name : f->code;
    double number;
    if (!value)
        return;
    /* "550.120" is a version, not a quantity. */
    gboolean word = g_str_has_prefix(sig->kind, "version.") ||
                    g_str_has_prefix(sig->kind, "package.") || g_str_has_prefix(sig->kind, "env.");
    if (!word && ct_text_double(value, strlen(value), &number))
        ct_emit_number(emit, line, f->subject, sig->kind, number, value);
    else
        ct_emit_fact(emit, line, f->subject, sig->kind, value);
}

void ct_signature_emit(CtSignatures *sigs, const Signature *sig, CtEmit *emit, const CtLine *line,
                       const PCRE2_SIZE *ovector, guint n_groups)
{
    g_auto(Fields) f = {0};
    collect(sig, line, ovector, n_groups, &f);
    if (sig->is_fact) {
        emit_fact(sig, emit, line, &f);
        return;
    }
    CtEventRow row = {.kind = sig->kind, .severity = sig->severity};
    resolve(sigs, sig, &f, &row.code, &row.has_code);
    f.gpu = canonical_gpu(f.gpu);
    /* The text of a code that no table knows is still worth keeping. */
    if (f.message && (!row.has_code || !sig->family))
        add_detail(&f, "message", f.message);
    if (f.value)
        add_detail(&f, "value", f.value);
    if (f.detail)
        g_string_append_c(f.detail, '}');
    row.name = f.name;
    row.subject = f.subject;
    row.gpu = f.gpu;
    row.has_pid = f.pid && integer(f.pid, &row.pid);
    row.has_rank = f.rank && integer(f.rank, &row.rank);
    row.detail = f.detail ? f.detail->str : NULL;
    ct_emit_event(emit, line, row);
}
