/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of explain: what is asked (explain.c), codes (explain-code.c), causes (explain-cause.c),
 * messages (explain-message.c), search and suggestions (explain-search.c).
 */
#pragma once

#include "reason/explain.h"
#include "reason/reason-private.h"

typedef struct {
    const CtKb *kb;
    sqlite3 *db;
    const char *family;     /* (nullable) */
    CtExplainReader reader; /* (nullable) */
    gboolean zh;
    sqlite3_stmt *by_number; /* made when it is needed */
    CtExplanation *out;
} CtExplainRun;

/* A family of codes: its names in a question, the kind of event that carries it. */
typedef struct {
    const char *family, *what_en, *what_zh, *event;
    const char *words; /* " xid xids " */
} CtCodeFamily;
const CtCodeFamily *ct_code_families(guint *out_n);
const CtCodeFamily *ct_code_family(const char *family);
/* By a word of a question ("xid", "exit"); NULL when it names none. */
const CtCodeFamily *ct_code_family_by_word(const char *word, gsize len);

/* Column as a new string, NULL for NULL. */
char *ct_dup_column(sqlite3_stmt *st, int column);
const char *ct_pick(const CtExplainRun *x, const char *en, const char *zh);

/* ---- explain-code.c: each adds readings and tells how many ---- */
guint ct_explain_number(CtExplainRun *x, const char *family, gint64 number);
guint ct_explain_bits(CtExplainRun *x, guint64 mask);
guint ct_explain_name(CtExplainRun *x, const char *name);
/* The same without names that only resemble it. */
guint ct_explain_known_name(CtExplainRun *x, const char *name);
guint ct_explain_text(CtExplainRun *x, const char *text);
/* Candidate causes and their commands, once it is known which readings stay. */
void ct_explain_finish_readings(CtExplainRun *x);
void ct_reading_free(gpointer reading);

/* ---- explain-cause.c ---- */
gboolean ct_explain_cause(CtExplainRun *x, const char *id);
void ct_explain_hit_free(gpointer hit);
void ct_explain_test_free(gpointer test);
void ct_explain_pair_free(gpointer pair);
void ct_explain_detail_free(gpointer detail);
void ct_add_pair(GPtrArray *to, const char *key, const char *value);
/* A hit with title, owner and action of the cause; NULL when there is no such cause. */
CtExplainHit *ct_explain_hit(CtExplainRun *x, const char *cause);
void ct_explain_tests(CtExplainRun *x, const char *cause, guint max, GPtrArray *to);

/* ---- explain-message.c ---- */
gboolean ct_explain_events(CtExplainRun *x, const char *text, GError **error);

/* ---- explain-table.c ---- */
/* "sm_87", "jetpack 6.2", "driver 535": rows of the compatibility tables. */
guint ct_explain_release(CtExplainRun *x, const char *query);
/* A release that was asked for by a word of ours and that no table holds; TRUE when it is told. */
gboolean ct_explain_no_release(CtExplainRun *x, const char *query);
/* One row of the rules of compatibility by its id. */
void ct_explain_rule_row(CtExplainRun *x, const char *id);
void ct_explain_row_free(gpointer row);

/* ---- explain-search.c ---- */
guint ct_explain_search(CtExplainRun *x, const char *topic);
void ct_explain_suggest(CtExplainRun *x, const char *word);
/* The neighbours of a number in a table; family may be NULL. */
void ct_explain_suggest_number(CtExplainRun *x, const char *family, gint64 number);

/* ---- explain-topic.c ---- */
/* The topic that a question names: with nothing else beside it (whole), or among other words. */
gboolean ct_explain_topic(CtExplainRun *x, const char *query, gboolean whole);
void ct_explain_topic_free(gpointer topic);
