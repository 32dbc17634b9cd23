/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every sentence of the reports that does not come from the knowledge base, in both languages.
 * An own table (messages.def) rather than gettext: the program is one file that is copied to a
 * board and must speak Chinese there without catalogue files or an installed locale.
 */
#pragma once

#include <glib.h>

typedef enum { CT_LANG_EN, CT_LANG_ZH, CT_N_LANGS } CtLang;

typedef enum {
#define CT_MSG(id, en, zh) CT_MSG_##id,
#define CT_TERM(kind, id, en, zh)
#include "report/messages.def"
#undef CT_MSG
#undef CT_TERM
    CT_N_MSGS
} CtMsg;

/* "en", "zh", "zh_CN.UTF-8", "zh-Hans" ...; FALSE when it names neither language. */
gboolean ct_lang_parse(const char *text, CtLang *out_lang);
/* From LC_ALL, LC_MESSAGES, LANG in that order; English when they say nothing. */
CtLang ct_lang_from_environment(void);
const char *ct_lang_name(CtLang lang); /* "en", "zh" */

const char *ct_msg(CtLang lang, CtMsg id);
/* Replaces {0}, {1}, ... by the strings that follow; ends with NULL. (transfer full) */
char *ct_msgf(CtLang lang, CtMsg id, ...) G_GNUC_NULL_TERMINATED;
/* The word for an id of a closed set ("layer", "kernel-driver"); the id itself when unknown. */
const char *ct_term(CtLang lang, const char *kind, const char *id);
