/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes with what, as functions over the compatibility tables (knowledge/compat), for rules
 * and `query`. Each is one SELECT; NULL means that the tables do not know.
 *
 *   driver_cuda(driver)        newest CUDA that the branch of a server driver serves
 *   driver_runs(driver, cuda)  'all', 'minor' (starts, single calls may be missing), 'no'
 *   cuda_driver(cuda)          first server driver that serves all of a toolkit
 *   sm_in_cuda(sm, cuda)       1 when that toolkit compiles for the architecture, 0
 *   sm_in_driver(sm, driver)   1 when that driver knows and still runs the architecture, 0
 *   l4t_part(l4t, part)        what a Jetson release ships: cuda, cudnn, tensorrt, kernel, jetpack ...
 *   jetpack_l4t(jetpack)       newest L4T of a JetPack
 *   trt_of_tag(tag)            TensorRT releases that write a plan of this tag, first-last
 *
 * Versions come as they are found: 550.54.15, 12.4.1, 12.4 GA, R35.4.1, 35.4.1-2023, 5.1.2-b104;
 * architectures as sm_90, sm_90a, compute_90, 9.0.
 */
#include "reason/reason-private.h"

/* "sm_90a", "compute_90" and "9.0" as the table writes it. */
#define SM "'sm_' || CASE WHEN instr(?1, '.') > 0 THEN replace(?1, '.', '') " \
           "ELSE CAST(substr(?1, instr(?1, '_') + 1) AS INTEGER) END"
/* 570.26 is older than 570.124.06; the third part always has two digits. */
#define OLDEST                                                \
    "CAST(min_driver AS INTEGER), "                           \
    "CAST(substr(min_driver, instr(min_driver, '.') + 1) AS INTEGER), min_driver LIMIT 1"
/* "R35.4.1" */
#define RELEASE "ltrim(?1, 'Rr')"

static const struct {
    const char *name, *sql;
    int argc;
} functions[] = {
    {"driver_cuda",
     "SELECT max_cuda FROM kb.compat_driver_branch "
     "WHERE platform = 'server' AND ver_cmp(branch, ?1, 1) = 0",
     1},
    {"driver_runs",
     "SELECT CASE WHEN ver_cmp(?1, min_driver) >= 0 THEN 'all' "
     "WHEN ver_cmp(?1, minor_compat_driver) >= 0 THEN 'minor' "
     "WHEN min_driver IS NOT NULL OR minor_compat_driver IS NOT NULL THEN 'no' END "
     "FROM kb.compat_cuda_toolkit WHERE ver_cmp(cuda, ?2, 2) = 0 "
     "ORDER BY min_driver IS NULL, " OLDEST,
     2},
    {"cuda_driver",
     "SELECT min_driver FROM kb.compat_cuda_toolkit "
     "WHERE ver_cmp(cuda, ?1, 2) = 0 AND min_driver IS NOT NULL ORDER BY " OLDEST,
     1},
    {"sm_in_cuda",
     "SELECT CASE WHEN ver_cmp(?2, '1', 1) IS NULL THEN NULL "
     "WHEN ver_cmp(?2, min_cuda, 2) < 0 THEN 0 "
     "WHEN last_cuda IS NOT NULL AND ver_cmp(?2, last_cuda, 2) > 0 THEN 0 ELSE 1 END "
     "FROM kb.compat_gpu_arch WHERE sm = " SM,
     2},
    {"sm_in_driver",
     "SELECT CASE WHEN ver_cmp(?2, last_driver, 1) > 0 THEN 0 "
     "WHEN ver_cmp(max_cuda, min_cuda, 2) < 0 THEN 0 "
     "WHEN last_driver IS NOT NULL OR max_cuda IS NOT NULL THEN 1 END "
     "FROM kb.compat_gpu_arch LEFT JOIN kb.compat_driver_branch b "
     "ON b.platform = 'server' AND ver_cmp(b.branch, ?2, 1) = 0 WHERE sm = " SM " LIMIT 1",
     2},
    {"l4t_part",
     "SELECT CASE ?2 WHEN 'cuda' THEN cuda WHEN 'cudnn' THEN cudnn WHEN 'tensorrt' THEN tensorrt "
     "WHEN 'kernel' THEN kernel WHEN 'jetpack' THEN jetpack WHEN 'ubuntu' THEN ubuntu "
     "WHEN 'glibc' THEN glibc WHEN 'vpi' THEN vpi WHEN 'dla' THEN dla END "
     "FROM kb.compat_jetson_release WHERE ver_cmp(l4t, " RELEASE ") = 0 "
     "ORDER BY date DESC LIMIT 1",
     2},
    {"jetpack_l4t",
     "SELECT l4t FROM kb.compat_jetson_release WHERE ver_cmp(jetpack, ?1) = 0 "
     "ORDER BY date DESC, CAST(l4t AS REAL) DESC LIMIT 1",
     1},
    {"trt_of_tag",
     "SELECT first || CASE WHEN last <> first THEN '-' || last ELSE '' END "
     "FROM kb.compat_trt_plan_tag WHERE CAST(tag AS TEXT) = CAST(?1 AS TEXT)",
     1},
};

static void run(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    guint index = GPOINTER_TO_UINT(sqlite3_user_data(ctx));
    sqlite3_stmt *st = NULL;
    for (int i = 0; i < argc; i++) {
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return;
    }
    if (sqlite3_prepare_v2(sqlite3_context_db_handle(ctx), functions[index].sql, -1, &st, NULL) !=
        SQLITE_OK)
        return; /* a store without the knowledge base: nothing is known */
    for (int i = 0; i < argc; i++)
        sqlite3_bind_value(st, i + 1, argv[i]);
    if (sqlite3_step(st) == SQLITE_ROW)
        sqlite3_result_value(ctx, sqlite3_column_value(st, 0));
    sqlite3_finalize(st);
}

int ct_reason_register_compat(sqlite3 *db)
{
    for (guint i = 0; i < G_N_ELEMENTS(functions); i++) {
        int rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].argc, SQLITE_UTF8,
                                            GUINT_TO_POINTER(i), run, NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}
