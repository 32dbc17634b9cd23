/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of the schema. Each entry leads from one version to the next; making a new store is
 * the way from version 0. An entry that was released is never changed.
 */
#include "evidence/evidence-private.h"

static const char *const migrations[CT_CASE_VERSION] = {
    [0] = ct_schema_sql,
};

const char ct_case_sample_sql[] = "CREATE TABLE sample (series INTEGER NOT NULL REFERENCES "
                                  "series(id), t_ns INTEGER, value REAL NOT NULL, line INTEGER)";
const char ct_case_sample_index_sql[] = "CREATE INDEX sample_series ON sample(series, t_ns)";

int ct_migrate(sqlite3 *db, int from, int to)
{
    g_assert(from >= 0 && to <= CT_CASE_VERSION);
    for (int version = from; version < to; version++) {
        int rc = sqlite3_exec(db, migrations[version], NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}
