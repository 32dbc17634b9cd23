/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of the reasoner, in the order of its steps: what is there (presence.c), which rules hold
 * (rules.c), where that is written (cite.c, sentence.c), what it adds up to (score.c, explains.c),
 * what to do next (wanted.c, next-test.c), and the summaries (layers.c, timeline.c).
 */
#pragma once

#include "reason/reason.h"

/* All weights are decibans: 10 makes a cause ten times as likely. */
#define CT_UNKNOWN_SCORE 6.0      /* what a cause must beat to lead; a weak hint does not */
#define CT_LEAST_EVIDENCE 3.0     /* what a cause needs to be listed at all */
#define CT_REAL_EVIDENCE 10.0    /* net evidence that a cause needs before it may explain others */
#define CT_AFTER_FIRST_ERROR -3.0 /* decisive line stands behind an error that others explain */
#define CT_OVERCOME -6.0         /* the run ended well after the last of its lines */
#define CT_CAP_ONE_GROUP 0.75
#define CT_CAP_ONE_SECTION 0.95
#define CT_CAP_ALWAYS 0.99
#define CT_DEFAULT_TEMPERATURE 1.0
#define CT_ROWS_PER_RULE 3

/* A rule that may count by its absence; texts are owned by CtReason.texts. */
typedef struct {
    const char *id, *group, *say, *needs;
    double weight;
} CtAbsence;

/* A cause while it is being judged. */
typedef struct {
    CtHypothesis *hypothesis; /* for_ and against fill up here */
    GArray *absences;         /* CtAbsence of rules that found nothing */
    double positive, negative; /* sums after grouping, without prior */
    gint64 first_seq;         /* of its earliest event, G_MAXINT64 without one */
    gint64 first_section;     /* of that event */
    gint64 first_wall_ns;     /* CT_TIME_UNKNOWN */
    gboolean two_groups;      /* two groups with some weight rest on different lines */
    gboolean two_sections;    /* ... on different sections */
    gint explained_by;        /* index of the root, -1 */
} CtCandidate;

typedef struct {
    CtEvidence *ev;
    const CtKb *kb;
    sqlite3 *db;      /* of the evidence, with `kb` attached */
    gboolean zh;
    GHashTable *present; /* "event:xid", "fact:version.driver", "finding:...", "coverage:..." */
    GStringChunk *texts;
    GPtrArray *candidates; /* CtCandidate with at least one rule that holds */
    CtDiagnosis *out;
    sqlite3_stmt *place_event, *place_fact, *place_section, *evidence_of_finding,
        *same_kind;
} CtReason;

/* Picks the language. */
const char *ct_lang(const CtReason *r, const char *en, const char *zh) G_GNUC_FORMAT(2)
    G_GNUC_FORMAT(3);
/* A column as text, "" for NULL; borrowed until the statement moves. */
const char *ct_column(sqlite3_stmt *st, int column);
/* A statement on the evidence; a failure is an error of this program. (transfer full) */
sqlite3_stmt *ct_prepare(sqlite3 *db, const char *sql);
void ct_note(CtReason *r, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* ---- presence.c ---- */
void ct_presence_read(CtReason *r);
/* `needs` is a comma separated list; keys may be GLOBs. NULL and "" hold. */
gboolean ct_presence_has(const CtReason *r, const char *needs);
/* Wall time of a row of clock and offset: SQL expression over aliases e (t_ns) and s. */
#define CT_WALL_SQL(time)                                                                        \
    "CASE s.clock WHEN 'wall' THEN " time " + coalesce(s.clock_offset_ns, 0) "                   \
    "WHEN 'boot' THEN " time " + s.clock_offset_ns END"

typedef enum { CT_COVERED, CT_NOT_LOOKED, CT_OTHER_TIME } CtCovered;
/* Whether somebody looked: every kind of the list is covered, and at one of these times where
 * times are known. `out_section` is a section that shows it; `out_kind` the kind that fails. */
CtCovered ct_covered(CtReason *r, const char *kinds, const GArray *times_ns, gint64 *out_section,
                     char **out_kind);

/* ---- diagnose.c: the store with the knowledge base attached; close also after a failure ---- */
gboolean ct_reason_open(CtReason *r, CtEvidence *ev, const CtKb *kb, const char *lang,
                        GError **error);
void ct_reason_close(CtReason *r);

/* ---- rules.c ---- */
gboolean ct_rules_run(CtReason *r, GError **error);
/* The rows of one SELECT as citations with their sentences, none when it does not hold; `id` is for
 * notes. (transfer full) */
GPtrArray *ct_rule_rows(CtReason *r, const char *id, const char *sql, const char *needs,
                        const char *say);

/* The functions over the compatibility tables; ct_reason_register_sql() calls it. */
int ct_reason_register_compat(sqlite3 *db);
CtCandidate *ct_candidate_new(void);
CtHypothesis *ct_hypothesis_new(const char *cause);
void ct_hypothesis_free(gpointer hypothesis);
void ct_candidate_free(gpointer candidate);

/* ---- answers.c: what a person saw in a test adds to the cause that it points to ---- */
void ct_answers_count(CtReason *r);

/* ---- sentence.c ---- */
typedef struct {
    char *text;
    double number;
    gboolean is_number;
} CtValue;
/* FALSE when there is no such name; *out is to be cleared with g_free(out->text). */
typedef gboolean (*CtValueFunc)(gpointer user, const char *name, CtValue *out);
/* Fills {name} and {name:bytes|duration|percent|count}. A name without value gives "...".
 * `func` may be NULL: then no name has one. (transfer full) */
char *ct_sentence(const char *pattern, CtValueFunc func, gpointer user);

/* ---- cite.c ---- */
void ct_citation_free(gpointer citation);
/* Place, line and time of a row; `text` is taken over. */
CtCitation *ct_cite(CtReason *r, const char *tab, gint64 row, char *text);
/* The further lines that a finding rests on, at most `max`, as citations without text. */
void ct_cite_finding(CtReason *r, gint64 finding, guint max, GPtrArray *out);

/* Whether two events are of one kind, code, name and GPU. */
gboolean ct_same_kind(CtReason *r, gint64 event, gint64 other);

/* ---- score.c ---- */
double ct_prior(const char *prior);
void ct_score_groups(CtCandidate *c);
void ct_score_absences(CtReason *r, CtCandidate *c);
void ct_score_first_error(CtReason *r);
void ct_score_overcome(CtReason *r);
void ct_score_total(CtCandidate *c);
/* What probabilities are made of; shared with calibration. */
typedef struct {
    double score;
    double cap;
    double probability;
} CtStake;
/* The last stake is `unknown`; what a cap frees goes there. */
void ct_probabilities(CtStake *stakes, guint n, double temperature);
double ct_cap_of(const CtCandidate *c);
double ct_temperature(const CtKb *kb);

/* ---- explains.c ---- */
void ct_explains_resolve(CtReason *r);

/* ---- wanted.c: what to ask for when nobody looked ---- */
/* "kernel log"; the id itself for a kind that is not known here. */
const char *ct_coverage_name(const CtReason *r, const char *coverage);
/* "no kernel log: sudo dmesg -T > dmesg.txt". (transfer full) */
char *ct_missing_sentence(const CtReason *r, const char *coverage, CtCovered why);
/* Next tests of `unknown`: the cheapest evidence that nobody gave. */
void ct_wanted_by_unknown(CtReason *r, CtHypothesis *unknown);

/* ---- next-test.c ---- */
void ct_next_test_free(gpointer test);
CtNextTest *ct_next_test_new(const char *test, const char *run, const char *say, double cost_s);
void ct_next_tests(CtReason *r);

/* ---- layers.c, timeline.c ---- */
void ct_layers_summarise(CtReason *r);
void ct_timeline(CtReason *r);
