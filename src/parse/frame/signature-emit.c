/* SPDX-License-Identifier: Apache-2.0 */
/* What a matched signature says, as a row. */
#include "parse/frame/signatures-private.h"

#include <string.h>

#include "parse/frame/json-line.h"
#include "parse/frame/quoted.h"

#define MAX_CAPTURE ((gsize)2000)
#define MAX_CODES 4096u /* texts that are remembered */

/* Strings live in the arena of the signatures, until the next match. */
typedef struct {
    char *code, *name, *message, *gpu, *subject, *pid, *rank, *value;
    GString *detail; /* an open JSON object; empty when there is nothing */
} Fields;

static char *keep(CtSignatures *sigs, const char *text, gsize len)
{
    while (len > 0 && (guchar)*text <= ' ') {
        text++;
        len--;
    }
    while (len > 0 && (guchar)text[len - 1] <= ' ')
        len--;
    len = MIN(len, MAX_CAPTURE);
    if (sigs->arena_used + len + 1 > sizeof sigs->arena)
        return NULL;
    char *copy = sigs->arena + sigs->arena_used;
    memcpy(copy, text, len);
    copy[len] = '\0';
    sigs->arena_used += len + 1;
    return copy;
}

static gboolean in_detail(const GString *detail, const char *key)
{
    gsize n = strlen(key);
    for (const char *p = detail->str; (p = strstr(p, key)); p += n) {
        if (p > detail->str && p[-1] == '"' && p[n] == '"' && p[n + 1] == ':')
            return TRUE;
    }
    return FALSE;
}

static void add_detail(Fields *f, const char *key, const char *value)
{
    double number;
    GString *d = f->detail;
    gsize len = strlen(value);
    if (d->len == 0)
        g_string_append_c(d, '{');
    else if (in_detail(d, key))
        return;
    if (d->len > 1)
        g_string_append_c(d, ',');
    g_string_append_c(d, '"');
    g_string_append(d, key);
    g_string_append(d, "\":");
    if ((g_str_has_suffix(key, "_bytes") && ct_text_bytes(value, len, NULL, &number)) ||
        (g_str_has_suffix(key, "_ns") && ct_text_duration(value, len, NULL, &number))) {
        char buf[G_ASCII_DTOSTR_BUF_SIZE];
        g_string_append(d, g_ascii_formatd(buf, sizeof buf, "%.0f", number));
        return;
    }
    ct_json_append_string(d, value, (gssize)len);
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
    if (!value)
        return;
    if (!slot)
        add_detail(f, c->key, value);
    else if (!*slot)
        *slot = value;
}

static void collect(CtSignatures *sigs, const Signature *sig, const CtLine *line,
                    const PCRE2_SIZE *ovector, guint n_groups, Fields *f)
{
    for (guint i = 0; i < sig->captures->len; i++) {
        const SigCapture *c = &g_array_index(sig->captures, SigCapture, i);
        if (c->value || c->group >= n_groups || ovector[2 * c->group] == PCRE2_UNSET)
            continue;
        PCRE2_SIZE from = ovector[2 * c->group], to = ovector[2 * c->group + 1];
        if (to > from && to <= line->len)
            set_field(f, c, keep(sigs, line->text + from, to - from));
    }
    for (guint i = 0; i < sig->captures->len; i++) {
        const SigCapture *c = &g_array_index(sig->captures, SigCapture, i);
        if (c->value)
            set_field(f, c, keep(sigs, c->value, strlen(c->value)));
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

static gboolean number_of(CtSignatures *sigs, Signature *sig, const char *text, gint64 *out)
{
    if (!sig->last_text || strcmp(sig->last_text, text) != 0) {
        g_string_assign(sigs->key, sig->family);
        g_string_append_c(sigs->key, ' ');
        g_string_append(sigs->key, text);
        CodeOfText *c = g_hash_table_lookup(sigs->codes, sigs->key->str);
        if (!c) {
            if (g_hash_table_size(sigs->codes) >= MAX_CODES)
                g_hash_table_remove_all(sigs->codes);
            c = g_new0(CodeOfText, 1);
            c->known = ct_kb_code_number(sigs->kb, sig->family, text, &c->number);
            g_hash_table_insert(sigs->codes, g_strdup(sigs->key->str), c);
        }
        g_free(sig->last_text);
        sig->last_text = g_strdup(text);
        sig->last_of_text = *c;
    }
    if (sig->last_of_text.known)
        *out = sig->last_of_text.number;
    return sig->last_of_text.known;
}

static const char *name_of(const CtSignatures *sigs, Signature *sig, gint64 code)
{
    if (!sig->has_last_code || sig->last_code != code) {
        sig->last_code = code;
        sig->has_last_code = TRUE;
        sig->last_name = ct_kb_code_name(sigs->kb, sig->family, code);
    }
    return sig->last_name;
}

/* Completes number and name of an error from whatever of number, name and text the line has. */
static void resolve(CtSignatures *sigs, Signature *sig, Fields *f, gint64 *code,
                    gboolean *has_code)
{
    *has_code = f->code && integer(f->code, code);
    if (!sig->family || !sigs->kb)
        return;
    if (!*has_code && f->name)
        *has_code = number_of(sigs, sig, f->name, code);
    if (!*has_code && f->message) {
        *has_code = number_of(sigs, sig, f->message, code);
        gsize len = strlen(f->message);
        if (!*has_code && len > 1 && strchr(".!\"'", f->message[len - 1])) {
            f->message[len - 1] = '\0';
            *has_code = number_of(sigs, sig, f->message, code);
        }
    }
    const char *name = *has_code ? name_of(sigs, sig, *code) : NULL;
    if (name)
        f->name = keep(sigs, name, strlen(name));
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

void ct_signature_emit(CtSignatures *sigs, Signature *sig, CtEmit *emit, const CtLine *line,
                       const PCRE2_SIZE *ovector, guint n_groups)
{
    Fields f = {.detail = sigs->detail};
    if (!sig->is_fact && ct_only_quotes(emit, line, sig->kind, sig->severity))
        return;
    sigs->arena_used = 0;
    g_string_truncate(sigs->detail, 0);
    collect(sigs, sig, line, ovector, n_groups, &f);
    if (sig->is_fact) {
        emit_fact(sig, emit, line, &f);
        return;
    }
    CtEventRow row = {.kind = sig->kind, .severity = sig->severity};
    resolve(sigs, sig, &f, &row.code, &row.has_code);
    g_autofree char *gpu = f.gpu ? ct_text_gpu(f.gpu, strlen(f.gpu)) : NULL;
    /* The text of a code that no table knows is still worth keeping. */
    if (f.message && (!row.has_code || !sig->family))
        add_detail(&f, "message", f.message);
    if (f.value)
        add_detail(&f, "value", f.value);
    if (f.detail->len > 0)
        g_string_append_c(f.detail, '}');
    row.name = f.name;
    row.subject = f.subject;
    row.gpu = gpu ? gpu : f.gpu;
    row.has_pid = f.pid && integer(f.pid, &row.pid);
    row.has_rank = f.rank && integer(f.rank, &row.rank);
    row.detail = f.detail->len > 0 ? f.detail->str : NULL;
    ct_emit_event(emit, line, row);
}
