/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/signatures-private.h"

#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "parse/frame/frame-private.h"

#define MATCH_LIMIT 20000u  /* steps from one place of the line */
#define DEPTH_LIMIT 2000u
#define HEAP_LIMIT_KIB 4096u
#define RUNS_BEFORE_JIT 24u /* compiling to machine code pays for itself from about there */
#define TIME_EACH 16u      /* runs of a pattern, one of which is timed */
#define BUDGET_US 10000000 /* of one pattern in a whole run */
#define MAX_READERS 64u

static void capture_clear(gpointer data)
{
    SigCapture *c = data;
    g_free(c->key);
    g_free(c->value);
}

static void signature_free(gpointer data)
{
    Signature *s = data;
    g_free(s->id);
    g_free(s->kind);
    g_free(s->family);
    g_free(s->pattern);
    g_free(s->last_text);
    pcre2_code_free(s->code);
    if (s->captures)
        g_array_unref(s->captures);
    g_free(s);
}

static SigField field_of(const char *name)
{
    static const struct {
        const char *name;
        SigField field;
    } fields[] = {{"code", FIELD_CODE}, {"name", FIELD_NAME}, {"message", FIELD_MESSAGE},
                  {"gpu", FIELD_GPU}, {"subject", FIELD_SUBJECT}, {"pid", FIELD_PID},
                  {"rank", FIELD_RANK}, {"value", FIELD_VALUE}};
    for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
        if (strcmp(name, fields[i].name) == 0)
            return fields[i].field;
    }
    return FIELD_DETAIL;
}

static void add_constants(Signature *s, const char *json)
{
    if (!json || !*json)
        return;
    json_t *root = json_loads(json, 0, NULL);
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        SigCapture c = {.field = field_of(key), .key = g_strdup(key)};
        if (json_is_string(value))
            c.value = g_strdup(json_string_value(value));
        else if (json_is_integer(value))
            c.value = g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
        else if (json_is_real(value))
            c.value = g_strdup_printf("%.17g", json_real_value(value));
        else
            c.value = g_strdup(json_is_true(value) ? "true" : "false");
        g_array_append_val(s->captures, c);
    }
    json_decref(root);
}

static char *column(sqlite3_stmt *st, int i)
{
    return g_strdup((const char *)sqlite3_column_text(st, i));
}

static guint kind_slot(CtSignatures *sigs, GHashTable *slots, const Signature *s)
{
    gpointer known = g_hash_table_lookup(slots, s->kind);
    if (!known) {
        guint64 zero = 0;
        g_array_append_val(sigs->kind_done, zero);
        known = GUINT_TO_POINTER(sigs->kind_done->len);
        g_hash_table_insert(slots, s->kind, known);
    }
    return GPOINTER_TO_UINT(known) - 1;
}

static CtSeverity severity_of(const char *name)
{
    for (int i = CT_SEV_INFO; i <= CT_SEV_FATAL; i++) {
        if (g_strcmp0(name, ct_severity_name((CtSeverity)i)) == 0)
            return (CtSeverity)i;
    }
    return CT_SEV_ERROR;
}

static Signature *read_signature(sqlite3_stmt *st)
{
    Signature *s = g_new0(Signature, 1);
    const char *kind = (const char *)sqlite3_column_text(st, 2);
    const char *scope = (const char *)sqlite3_column_text(st, 4);
    s->row = sqlite3_column_int64(st, 0);
    s->id = column(st, 1);
    s->is_fact = kind && g_str_has_prefix(kind, "fact:");
    s->kind = g_strdup(!kind ? "" : s->is_fact ? kind + 5 : kind);
    s->severity = severity_of((const char *)sqlite3_column_text(st, 3));
    s->scope = g_strcmp0(scope, "kernel") == 0 ? 1 : g_strcmp0(scope, "not-kernel") == 0 ? -1 : 0;
    s->nocase = sqlite3_column_int(st, 5) != 0;
    s->priority = sqlite3_column_int(st, 6);
    return s;
}

static gboolean prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, GError **error)
{
    if (sqlite3_prepare_v2(db, sql, -1, out, NULL) == SQLITE_OK)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "reading the signatures: %s",
                sqlite3_errmsg(db));
    return FALSE;
}

static gboolean read_signatures(CtSignatures *sigs, GHashTable *by_id, GError **error)
{
    sqlite3_stmt *st = NULL;
    g_autoptr(GHashTable) slots = g_hash_table_new(g_str_hash, g_str_equal);
    if (!prepare(ct_kb_db(sigs->kb),
                 "SELECT rowid,id,kind,severity,scope,nocase,priority FROM signature ORDER BY ord",
                 &st, error))
        return FALSE;
    while (sqlite3_step(st) == SQLITE_ROW) {
        Signature *s = read_signature(st);
        s->order = sigs->all->len;
        s->kind_slot = kind_slot(sigs, slots, s);
        g_ptr_array_add(sigs->all, s);
        g_hash_table_insert(by_id, s->id, s);
    }
    sqlite3_finalize(st);
    return TRUE;
}

static guint literal_hash(gconstpointer data)
{
    const CtLiteral *lit = data;
    return g_str_hash(lit->text) * 2 + (guint)lit->nocase;
}

static gboolean literal_equal(gconstpointer a, gconstpointer b)
{
    const CtLiteral *x = a, *y = b;
    return x->nocase == y->nocase && strcmp(x->text, y->text) == 0;
}

/* One entry for each different literal, with the list of who asked for it. known: CtLiteral
 * (owned) -> its number from 1. */
static void add_literal(CtSignatures *sigs, GHashTable *known, const char *text, gboolean nocase,
                        guint who)
{
    CtLiteral lit = {.text = text, .len = strlen(text), .nocase = nocase};
    guint none = G_MAXUINT;
    guint64 no_readers = 0;
    if (lit.len == 0)
        return;
    guint index = GPOINTER_TO_UINT(g_hash_table_lookup(known, &lit));
    if (!index) {
        lit.text = g_string_chunk_insert_len(sigs->texts, text, (gssize)lit.len);
        g_array_append_val(sigs->literals, lit);
        g_array_append_val(sigs->first_user, none);
        g_array_append_val(sigs->literal_readers, no_readers);
        CtLiteral *copy = g_new(CtLiteral, 1);
        *copy = lit;
        index = sigs->literals->len;
        g_hash_table_insert(known, copy, GUINT_TO_POINTER(index));
    }
    if (who > ~MAX_READERS) {
        g_array_index(sigs->literal_readers, guint64, index - 1) |= G_GUINT64_CONSTANT(1) << ~who;
        return;
    }
    guint *first = &g_array_index(sigs->first_user, guint, index - 1);
    User user = {.who = who, .next = *first};
    *first = sigs->users->len;
    g_array_append_val(sigs->users, user);
}

static gboolean read_anchors(CtSignatures *sigs, GHashTable *by_id, GHashTable *known,
                             GError **error)
{
    sqlite3_stmt *st = NULL;
    const Signature *s = NULL;
    if (!prepare(ct_kb_db(sigs->kb), "SELECT signature,literal,nocase FROM anchor ORDER BY rowid",
                 &st, error))
        return FALSE;
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *id = (const char *)sqlite3_column_text(st, 0);
        const char *text = (const char *)sqlite3_column_text(st, 1);
        if (!id || !text)
            continue;
        if (!s || strcmp(s->id, id) != 0)
            s = g_hash_table_lookup(by_id, id);
        if (s)
            add_literal(sigs, known, text, sqlite3_column_int(st, 2) != 0, s->order);
    }
    sqlite3_finalize(st);
    return TRUE;
}

static void add_readers(CtSignatures *sigs, GHashTable *known, const CtParser *const *parsers)
{
    for (guint i = 0; parsers[i]; i++) {
        if (!parsers[i]->anchors || sigs->readers->len == MAX_READERS)
            continue;
        guint bit = sigs->readers->len;
        g_array_append_val(sigs->readers, parsers[i]);
        for (const char *const *a = parsers[i]->anchors; *a; a++)
            add_literal(sigs, known, *a, FALSE, ~bit);
    }
}

CtSignatures *ct_signatures_new(const CtKb *kb, const CtParser *const *parsers, GError **error)
{
    CtSignatures *sigs = g_new0(CtSignatures, 1);
    g_autoptr(GHashTable) by_id = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) known =
        g_hash_table_new_full(literal_hash, literal_equal, g_free, NULL);
    sigs->kb = kb;
    sigs->all = g_ptr_array_new_with_free_func(signature_free);
    sigs->literals = g_array_new(FALSE, FALSE, sizeof(CtLiteral));
    sigs->texts = g_string_chunk_new(16 * 1024);
    sigs->first_user = g_array_new(FALSE, FALSE, sizeof(guint));
    sigs->literal_readers = g_array_new(FALSE, FALSE, sizeof(guint64));
    sigs->users = g_array_new(FALSE, FALSE, sizeof(User));
    sigs->readers = g_array_new(FALSE, FALSE, sizeof(CtParser *));
    sigs->queue = g_array_new(FALSE, FALSE, sizeof(Signature *));
    sigs->codes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    sigs->key = g_string_new(NULL);
    sigs->detail = g_string_new(NULL);
    sigs->kind_done = g_array_new(FALSE, FALSE, sizeof(guint64));
    if (kb && (!read_signatures(sigs, by_id, error) || !read_anchors(sigs, by_id, known, error))) {
        ct_signatures_free(sigs);
        return NULL;
    }
    add_readers(sigs, known, parsers);
    return sigs;
}

void ct_signatures_free(CtSignatures *sigs)
{
    if (!sigs)
        return;
    g_ptr_array_unref(sigs->all);
    g_array_unref(sigs->literals);
    g_string_chunk_free(sigs->texts);
    g_array_unref(sigs->first_user);
    g_array_unref(sigs->literal_readers);
    g_array_unref(sigs->users);
    g_array_unref(sigs->readers);
    g_array_unref(sigs->queue);
    g_array_unref(sigs->kind_done);
    g_hash_table_unref(sigs->codes);
    g_string_free(sigs->key, TRUE);
    g_string_free(sigs->detail, TRUE);
    pcre2_match_data_free(sigs->match);
    pcre2_match_context_free(sigs->limits);
    g_free(sigs);
}

const CtLiteral *ct_signatures_literals(const CtSignatures *sigs, guint *out_n)
{
    *out_n = sigs->literals->len;
    return (const CtLiteral *)(void *)sigs->literals->data;
}

static void name_groups(Signature *s)
{
    guint32 n = 0, width = 0;
    PCRE2_SPTR table = NULL;
    pcre2_pattern_info(s->code, PCRE2_INFO_NAMECOUNT, &n);
    pcre2_pattern_info(s->code, PCRE2_INFO_NAMEENTRYSIZE, &width);
    pcre2_pattern_info(s->code, PCRE2_INFO_NAMETABLE, &table);
    for (guint32 i = 0; i < n; i++) {
        PCRE2_SPTR entry = table + i * width;
        const char *name = (const char *)entry + 2;
        SigCapture c = {.field = field_of(name), .key = g_strdup(name),
                        .group = (guint)(entry[0] << 8 | entry[1])};
        g_array_append_val(s->captures, c);
    }
}

/* Most signatures are never asked for: what only a match needs is read at the first one. */
static void load_rest(const CtSignatures *sigs, Signature *s)
{
    sqlite3_stmt *st = NULL;
    s->captures = g_array_new(FALSE, TRUE, sizeof(SigCapture));
    g_array_set_clear_func(s->captures, capture_clear);
    if (prepare(ct_kb_db(sigs->kb), "SELECT pattern,family,fields FROM signature WHERE rowid=?1",
                &st, NULL)) {
        sqlite3_bind_int64(st, 1, s->row);
        if (sqlite3_step(st) == SQLITE_ROW) {
            s->pattern = column(st, 0);
            s->family = column(st, 1);
            add_constants(s, (const char *)sqlite3_column_text(st, 2));
        }
        sqlite3_finalize(st);
    }
}

static gboolean compiled(CtSignatures *sigs, Signature *s)
{
    int number;
    PCRE2_SIZE place;
    if (s->code || s->broken)
        return !s->broken;
    load_rest(sigs, s);
    if (!s->pattern) {
        s->broken = TRUE;
        return FALSE;
    }
    guint32 options = PCRE2_DUPNAMES | (s->nocase ? PCRE2_CASELESS : 0);
    s->code = pcre2_compile((PCRE2_SPTR)s->pattern, PCRE2_ZERO_TERMINATED, options, &number,
                            &place, NULL);
    s->broken = !s->code;
    if (s->broken)
        return FALSE;
    name_groups(s);
    if (!sigs->match) {
        sigs->match = pcre2_match_data_create(64, NULL);
        sigs->limits = pcre2_match_context_create(NULL);
        pcre2_set_match_limit(sigs->limits, MATCH_LIMIT);
        pcre2_set_depth_limit(sigs->limits, DEPTH_LIMIT);
        pcre2_set_heap_limit(sigs->limits, HEAP_LIMIT_KIB);
    }
    return TRUE;
}

static gboolean in_scope(const Signature *s, CtKernelness kernel)
{
    if (s->scope > 0)
        return kernel != CT_KERNEL_NO;
    return s->scope == 0 || kernel != CT_KERNEL_YES;
}

/* Of a very long line only what lies around the anchor: patterns that look ahead from each place
 * take time that grows with the square of the length. */
static CtLine around(const CtLine *line, guint hit_end)
{
    CtLine part = *line;
    if (line->len <= CT_MAX_SUBJECT)
        return part;
    gsize from = hit_end > CT_MAX_SUBJECT / 4 ? hit_end - CT_MAX_SUBJECT / 4 : 0;
    part.text += MIN(from, line->len);
    part.len = MIN(CT_MAX_SUBJECT, line->len - MIN(from, line->len));
    return part;
}

/* Some inputs make some patterns slow, and input is hostile. Looked at now and then; what has
 * cost too much is left out for the rest of the run, and the source says so. */
static void over_budget(Signature *s, CtEmit *emit, gint64 begun_us)
{
    s->spent_us += (g_get_monotonic_time() - begun_us) * TIME_EACH;
    if (s->spent_us < BUDGET_US)
        return;
    g_autofree char *note = g_strdup_printf("signature %s takes too long on this input and was "
                                            "left out",
                                            s->id);
    s->broken = TRUE;
    ct_frame_note(emit->parse, note);
}

static gboolean run_one(CtSignatures *sigs, Signature *s, CtEmit *emit, const CtLine *line)
{
    if (!compiled(sigs, s))
        return FALSE;
    if (++s->runs == RUNS_BEFORE_JIT)
        s->jit = pcre2_jit_compile(s->code, PCRE2_JIT_COMPLETE) == 0;
    gboolean timed = s->runs % TIME_EACH == 0;
    gint64 begun_us = timed ? g_get_monotonic_time() : 0;
    CtLine part = around(line, s->hit_end);
    guint32 options = (part.text > line->text ? PCRE2_NOTBOL : 0) |
                      (part.text + part.len < line->text + line->len ? PCRE2_NOTEOL : 0);
    PCRE2_SPTR text = (PCRE2_SPTR)part.text;
    int rc = PCRE2_ERROR_JIT_STACKLIMIT;
    if (s->jit)
        rc = pcre2_jit_match(s->code, text, part.len, 0, options, sigs->match, sigs->limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the other way has its own, larger memory */
        rc = pcre2_match(s->code, text, part.len, 0, options | PCRE2_NO_JIT, sigs->match,
                         sigs->limits);
    if (timed)
        over_budget(s, emit, begun_us);
    if (rc <= 0)
        return FALSE;
    ct_signature_emit(sigs, s, emit, &part, pcre2_get_ovector_pointer(sigs->match), (guint)rc);
    return TRUE;
}

static guint first_user(const CtSignatures *sigs, guint literal)
{
    return g_array_index(sigs->first_user, guint, literal);
}

static gboolean before(const Signature *a, const Signature *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->order < b->order;
}

/* Into its place: higher priority first, then the order of the file. A line has a handful. */
static void enqueue(CtSignatures *sigs, Signature *s)
{
    guint i = sigs->queue->len;
    g_array_append_val(sigs->queue, s);
    Signature **q = (Signature **)(void *)sigs->queue->data;
    for (; i > 0 && before(s, q[i - 1]); i--)
        q[i] = q[i - 1];
    q[i] = s;
}

void ct_signatures_apply(CtSignatures *sigs, CtEmit *emit, const CtLine *line,
                         CtKernelness kernel, const CtHit *hits, guint n_hits)
{
    sigs->serial++;
    g_array_set_size(sigs->queue, 0);
    for (guint i = 0; i < n_hits; i++) {
        for (guint u = first_user(sigs, hits[i].id); u != G_MAXUINT;) {
            const User *user = &g_array_index(sigs->users, User, u);
            u = user->next;
            Signature *s = g_ptr_array_index(sigs->all, user->who);
            if (s->last_line == sigs->serial || !in_scope(s, kernel))
                continue;
            s->last_line = sigs->serial;
            s->hit_end = hits[i].end;
            enqueue(sigs, s);
        }
    }
    for (guint i = 0; i < sigs->queue->len; i++) {
        Signature *s = g_array_index(sigs->queue, Signature *, i);
        guint64 *done = &g_array_index(sigs->kind_done, guint64, s->kind_slot);
        if (*done == sigs->serial || !run_one(sigs, s, emit, line))
            continue;
        *done = sigs->serial;
    }
}

guint64 ct_signatures_readers(const CtSignatures *sigs, const CtHit *hits, guint n_hits)
{
    guint64 bits = 0;
    for (guint i = 0; i < n_hits; i++)
        bits |= g_array_index(sigs->literal_readers, guint64, hits[i].id);
    return bits;
}

const CtParser *ct_signatures_reader(const CtSignatures *sigs, guint bit)
{
    return g_array_index(sigs->readers, const CtParser *, bit);
}
