/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "collect/redact.h"

/* A place in a text, as the matchers see it. */
typedef struct {
    const char *text;
    gsize len, at;   /* where the match would begin */
    gsize line;      /* where the line begins */
    gboolean version; /* the text is a version, or lists them */
    gboolean looking; /* what is found is learnt, nothing is changed yet */
} CtPlace;

/* Each returns how many bytes it takes and appends what stands for them; 0: no match. */
typedef gsize (*CtRedactMatch)(CtRedact *r, const CtPlace *p, GString *out);

gsize ct_redact_uuid(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_mac(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_ipv4(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_ipv6(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_home(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_account(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_named_secret(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_shaped_secret(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_serial(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_container(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_login(CtRedact *r, const CtPlace *p, GString *out);
gsize ct_redact_chinese_secret(CtRedact *r, const CtPlace *p, GString *out);

/* Takes AT bytes as they are and N bytes after them as a secret. */
gsize ct_redact_take_secret(CtRedact *r, const CtPlace *p, gsize at, gsize n, GString *out);
gboolean ct_redact_plain_value(const char *value, gsize n); /* "true", "none", a small number */
gboolean ct_redact_looks_secret(const char *value, gsize n);
gboolean ct_place_starts(const CtPlace *p, gsize at, const char *word); /* in any case of letters */
gboolean ct_redact_has_word(const char *text, gsize len, const char *const *words);

/* Bytes that only this key and value give. */
void ct_redact_digest(const CtRedact *r, const char *kind, const char *value, gsize len,
                      guint8 out[32]);
/* Appends "user-1f3a9c2b"; a value that is a stand-in already stays. */
void ct_redact_stand_in(CtRedact *r, const char *kind, const char *value, gsize len, GString *out);
/* Appends the value with each letter and digit exchanged: hex digits by hex digits, digits by
 * digits, letters by letters. FALSE: it is a stand-in already and stays. */
gboolean ct_redact_same_shape(CtRedact *r, const char *kind, const char *value, gsize len,
                              gboolean hex, GString *out);
/* An id of 12 or 64 hex digits; the stand-in of the short form begins that of the long one. */
void ct_redact_container_id(CtRedact *r, const char *id, gsize len, GString *out);
/* "host-1f3a9c2b", of any kind */
gboolean ct_redact_is_stand_in(const char *value, gsize len);
const guint8 *ct_redact_key(const CtRedact *r);
void ct_redact_learn_version(CtRedact *r, const char *value, gsize len);
gboolean ct_redact_known_version(const CtRedact *r, const char *value, gsize len);
void ct_redact_hit(CtRedact *r); /* one place more that was replaced */
const char *ct_redact_kind_name(CtRedactKind kind);
gboolean ct_redact_common(const char *word, gsize len);

static inline gboolean ct_redact_word_char(char c)
{
    return g_ascii_isalnum(c) || c == '_';
}

static inline char ct_place_char(const CtPlace *p, gssize offset)
{
    gssize at = (gssize)p->at + offset;
    return at >= 0 && (gsize)at < p->len ? p->text[at] : '\0';
}
