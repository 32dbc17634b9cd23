/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over an inventory: device memory that no listed process holds, and packages of one family
 * that are of different releases.
 */
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"

#define UNLISTED_BYTES (512.0 * 1024 * 1024)

/* Within one section: used memory of a GPU against the sum over its listed processes. Only where
 * the section shows a process list at all. */
static const char unlisted_sql[] =
    "SELECT u.id, u.subject, u.line, u.number, "
    " coalesce((SELECT sum(p.number) FROM fact p WHERE p.section = u.section AND "
    "  p.key = 'gpu.process' AND p.subject GLOB u.subject || '/*'), 0) AS listed, "
    " (SELECT count(*) FROM fact p WHERE p.section = u.section AND p.key = 'gpu.process' AND "
    "  p.subject GLOB u.subject || '/*' AND p.number IS NULL) AS unknown "
    "FROM fact u WHERE u.key = 'gpu.memory.used' AND u.number > 0 AND EXISTS "
    "(SELECT 1 FROM coverage c WHERE c.section = u.section AND c.kind = 'gpu-processes')";

/* The two lists are often asked for one after the other: a section that lists processes and knows
 * none at all, beside one that shows the memory. Only where no section lists any process: which
 * list belongs to which moment is not known otherwise. */
static const char unlisted_apart_sql[] =
    "SELECT u.id, u.subject, u.line, u.number, 0, 0 FROM fact u JOIN section s ON s.id = u.section "
    "WHERE u.key = 'gpu.memory.used' AND u.number > 2147483648 "
    "AND NOT EXISTS (SELECT 1 FROM coverage c WHERE c.section = u.section AND "
    "  c.kind = 'gpu-processes') "
    "AND EXISTS (SELECT 1 FROM coverage c JOIN section o ON o.id = c.section "
    "  WHERE c.kind = 'gpu-processes' AND o.source = s.source AND o.id BETWEEN s.id - 3 AND s.id + 3) "
    "AND NOT EXISTS (SELECT 1 FROM fact p WHERE p.key = 'gpu.process')";

static void unlisted_memory(CtEvidence *ev, const char *sql)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev), sql, -1, &st, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(st) == SQLITE_ROW) {
        double used = sqlite3_column_double(st, 3), listed = sqlite3_column_double(st, 4);
        if (sqlite3_column_int(st, 5) > 0 || used - listed < UNLISTED_BYTES)
            continue;
        g_autofree char *human = ct_human_bytes(used - listed);
        g_autofree char *text = g_strdup_printf("%s of device memory belong to no listed process",
                                                human);
        g_autofree char *detail =
            g_strdup_printf("{\"used_bytes\":%.0f,\"listed_bytes\":%.0f}", used, listed);
        gint64 id = ct_evidence_add_finding(
            ev, &(CtFindingRow){
                    .analyzer = "inventory",
                    .kind = "memory-unlisted",
                    .severity = CT_SEV_WARNING,
                    .subject = (const char *)sqlite3_column_text(st, 1),
                    .number = used - listed,
                    .confidence = 0.8,
                    .text = text,
                    .detail = detail,
                });
        ct_evidence_cite(ev, id, "fact", sqlite3_column_int64(st, 0),
                         (guint)sqlite3_column_int64(st, 2));
    }
    sqlite3_finalize(st);
}

/* Families whose members must be of one release. `width` is how many parts of the version count. */
typedef struct {
    const char *part, *glob;
    guint width;
} Family;

static const Family families[] = {
    {"l4t", "package.nvidia-l4t-*", 3},
    {"driver", "package.nvidia-driver-*", 3},
    {"driver", "package.libnvidia-*", 3},
    {"driver", "package.nvidia-utils-*", 3},
    {"driver", "package.nvidia-dkms-*", 3},
    {"driver", "package.nvidia-kernel-*", 3},
    {"driver", "package.nvidia-compute-utils-*", 3},
    {"tensorrt", "package.libnvinfer*", 3},
    {"tensorrt", "package.libnvonnxparser*", 3},
    {"cudnn", "package.libcudnn*", 3},
};

/* "5.10.120-tegra-35.4.1-2023..." -> "35.4.1"; "8.5.2-1+cuda11.4" -> "8.5.2". For L4T kernels the
 * release is the part after the dash. */
static char *release_of(const char *part, const char *version, guint width)
{
    const char *v = version;
    if (g_str_equal(part, "l4t")) {
        const char *tegra = strstr(v, "-tegra-");
        if (tegra)
            v = tegra + strlen("-tegra-");
    }
    const char *colon = strchr(v, ':'); /* an epoch */
    if (colon)
        v = colon + 1;
    const char *p = v;
    guint dots = 0;
    while (*p && (g_ascii_isdigit(*p) || *p == '.')) {
        if (*p == '.' && ++dots == width)
            break;
        p++;
    }
    return g_strndup(v, (gsize)(p - v));
}

typedef struct {
    char *release;
    guint count;
    gint64 fact;
    guint line;
} Release;

static void release_clear(gpointer data)
{
    g_free(((Release *)data)->release);
}

static void count_release(GArray *releases, const char *release, gint64 fact, guint line)
{
    for (guint i = 0; i < releases->len; i++) {
        Release *r = &g_array_index(releases, Release, i);
        if (g_str_equal(r->release, release)) {
            r->count++;
            return;
        }
    }
    Release r = {g_strdup(release), 1, fact, line};
    g_array_append_val(releases, r);
}

/* The rarest first: it is the odd one out. */
static int by_count(const void *a, const void *b)
{
    guint x = ((const Release *)a)->count, y = ((const Release *)b)->count;
    return (x > y) - (x < y);
}

static void report_split(CtEvidence *ev, const char *part, GArray *releases)
{
    g_array_sort(releases, by_count);
    g_autoptr(GString) list = g_string_new(NULL);
    for (guint i = 0; i < MIN(releases->len, 5); i++) {
        const Release *r = &g_array_index(releases, Release, i);
        g_string_append_printf(list, "%s%s (%u)", i ? ", " : "", r->release, r->count);
    }
    g_autofree char *text = g_strdup_printf("packages of one family (%s) are of different "
                                            "releases: %s", part, list->str);
    g_autofree char *detail =
        g_strdup_printf("{\"part\":\"%s\",\"versions\":\"%s\"}", part, list->str);
    gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){
                                                .analyzer = "inventory",
                                                .kind = "version-split",
                                                .severity = CT_SEV_WARNING,
                                                .subject = part,
                                                .number = releases->len,
                                                .confidence = 0.9,
                                                .text = text,
                                                .detail = detail,
                                            });
    for (guint i = 0; i < MIN(releases->len, 3); i++) {
        const Release *r = &g_array_index(releases, Release, i);
        ct_evidence_cite(ev, id, "fact", r->fact, r->line);
    }
}

static void version_splits(CtEvidence *ev)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT f.id, f.value, f.line, s.scope FROM fact f JOIN section s ON "
                           "s.id = f.section WHERE f.key GLOB ? AND f.status = 'ok' AND f.value "
                           "GLOB '[0-9]*' ORDER BY s.scope, f.id LIMIT 5000",
                           -1, &st, NULL) != SQLITE_OK)
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(families);) {
        const char *part = families[i].part;
        GArray *releases = g_array_new(FALSE, FALSE, sizeof(Release));
        g_array_set_clear_func(releases, release_clear);
        /* Versions are compared within one scope only; the first scope met is taken. */
        g_autofree char *scope = NULL;
        for (; i < G_N_ELEMENTS(families) && g_str_equal(families[i].part, part); i++) {
            sqlite3_bind_text(st, 1, families[i].glob, -1, SQLITE_STATIC);
            while (sqlite3_step(st) == SQLITE_ROW) {
                const char *where = (const char *)sqlite3_column_text(st, 3);
                if (!scope)
                    scope = g_strdup(where);
                if (!g_str_equal(scope, where))
                    continue;
                g_autofree char *release = release_of(
                    part, (const char *)sqlite3_column_text(st, 1), families[i].width);
                if (*release)
                    count_release(releases, release, sqlite3_column_int64(st, 0),
                                  (guint)sqlite3_column_int64(st, 2));
            }
            sqlite3_reset(st);
        }
        if (releases->len > 1)
            report_split(ev, part, releases);
        g_array_unref(releases);
    }
    sqlite3_finalize(st);
}

static void run(CtEvidence *ev)
{
    unlisted_memory(ev, unlisted_sql);
    unlisted_memory(ev, unlisted_apart_sql);
    version_splits(ev);
}

const CtAnalyzer ct_analyzer_inventory = {
    .id = "inventory",
    .summary = "memory that no listed process holds; package families of mixed releases",
    .doc = "Compares only within one section or one scope.",
    .emits = "memory-unlisted,version-split",
    .run = run,
};
