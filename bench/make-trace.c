/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of a made-up service, for `bench/timeline`:
 *   make-trace nsys FILE KERNELS      an Nsight Systems export with as many kernels and calls
 *   make-trace kineto FILE EVENTS     a trace of the PyTorch profiler */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 60
#define PID 4242

static uint32_t state = 12345;

static uint32_t next(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static const char schema[] =
    "PRAGMA page_size=4096; PRAGMA journal_mode=off; PRAGMA synchronous=off;"
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);"
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT,"
    " busLocation TEXT, totalMemory INTEGER, memoryBandwidth INTEGER, smCount INTEGER, uuid TEXT,"
    " cuDevice INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,"
    " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
    " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,"
    " launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL,"
    " gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,"
    " blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,"
    " staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,"
    " localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,"
    " gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,"
    " sharedMemoryLimitConfig INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"
    " nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
    "INSERT INTO META_DATA_EXPORT VALUES('EXPORT_PRODUCT_VERSION','2025.3.1.90'),"
    "('EXPORT_SCHEMA_VERSION','3.20.1');"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1782000000000000000,NULL,NULL);"
    "INSERT INTO TARGET_INFO_GPU VALUES(0,0,'Example GPU','0000:65:00.0',48000000000,864000000000,"
    "128,NULL,0);BEGIN;";

static void bind(sqlite3_stmt *st, const int64_t *values, int n)
{
    for (int i = 0; i < n; i++)
        if (values[i] == INT64_MIN)
            sqlite3_bind_null(st, i + 1);
        else
            sqlite3_bind_int64(st, i + 1, values[i]);
    sqlite3_step(st);
    sqlite3_reset(st);
}

static void strings(sqlite3 *db)
{
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(db, "INSERT INTO StringIds VALUES(?,?)", -1, &st, NULL);
    for (int i = 0; i <= NAMES; i++) {
        char text[160];
        if (i == 0)
            snprintf(text, sizeof text, "cudaLaunchKernel_v7000");
        else
            snprintf(text, sizeof text,
                     "void demo::layer_kernel<float, %d>(float const*, float*, int)", i);
        sqlite3_bind_int(st, 1, i + 1);
        sqlite3_bind_text(st, 2, text, -1, SQLITE_TRANSIENT);
        sqlite3_step(st);
        sqlite3_reset(st);
    }
    sqlite3_finalize(st);
}

static int nsys(const char *path, long kernels)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *kernel = NULL, *call = NULL;
    remove(path);
    if (sqlite3_open(path, &db) || sqlite3_exec(db, schema, NULL, NULL, NULL)) {
        fprintf(stderr, "%s: %s\n", path, sqlite3_errmsg(db));
        return 1;
    }
    strings(db);
    sqlite3_prepare_v2(db, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
                           "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                       -1, &kernel, NULL);
    sqlite3_prepare_v2(db, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,?,?,?,?,?,?)", -1,
                       &call, NULL);
    const int64_t none = INT64_MIN, pid = (int64_t)PID << 24;
    int64_t t = 500000000, gpu = t;
    for (long i = 0; i < kernels; i++, t += 4000 + next(3000)) {
        int64_t name = 2 + i % NAMES, dur = 1500 + 60 * (i % NAMES) + next(400);
        gpu = (gpu > t + 5000 ? gpu : t + 5000) + 700;
        bind(call, (int64_t[]){t, t + 3000 + next(900), 1, pid | PID, i + 1, 1, 0, none}, 8);
        bind(kernel, (int64_t[]){gpu, gpu + dur, 0, 1, none, 7, i + 1, pid, name, name, name, 2, 1,
                                 64, 132 + i % 7, 1, 1, 256, 1, 1, 0, 16384, 0, 0, i, 102400,
                                 none, 0}, 28);
        gpu += dur;
        if (i % 120 == 119)
            t += 250000;
    }
    sqlite3_finalize(kernel);
    sqlite3_finalize(call);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return sqlite3_close(db);
}

static void us(FILE *f, const char *key, int64_t ns)
{
    fprintf(f, "\"%s\": %" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

/* An operator, the call that launches its kernel, the kernel and both ends of the arrow. */
static void operator_of(FILE *f, long i, int64_t t, int64_t gpu, int64_t dur)
{
    fprintf(f, "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::layer_%ld\","
               " \"pid\": %d, \"tid\": %d,\n    ", i % NAMES, PID, PID);
    us(f, "ts", t);
    fprintf(f, ", ");
    us(f, "dur", 14000 + next(4000));
    fprintf(f, ",\n    \"args\": {\n      \"External id\": %ld,\"Record function id\": 0,"
               " \"Input Dims\": [[8, 64, 112, 112], [64, 64, 3, 3], []],"
               " \"Input type\": [\"float\", \"float\", \"\"], \"Ev Idx\": %ld\n    }\n  },\n", i,
            i);
    fprintf(f, "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\","
               " \"pid\": %d, \"tid\": %d,\n    ", PID, PID);
    us(f, "ts", t + 6000);
    fprintf(f, ", ");
    us(f, "dur", 4000 + next(900));
    fprintf(f, ",\n    \"args\": {\n      \"External id\": %ld,\n      \"cbid\": 211,"
               " \"correlation\": %ld\n    }\n  },\n", i, i);
    fprintf(f, "  {\n    \"ph\": \"s\", \"id\": %ld, \"pid\": %d, \"tid\": %d, ", i, PID, PID);
    us(f, "ts", t + 6000);
    fprintf(f, ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n");
    fprintf(f, "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void demo::layer_kernel<"
               "float, %ld>(float const*, float*, int, demo::Shape)\", \"pid\": 0, \"tid\": 7,"
               "\n    ", i % NAMES);
    us(f, "ts", gpu);
    fprintf(f, ", ");
    us(f, "dur", dur);
    fprintf(f, ",\n    \"args\": {\n      \"External id\": %ld,\n      \"queued\": 0,"
               " \"device\": 0, \"context\": 1,\n      \"stream\": 7, \"correlation\": %ld,\n"
               "      \"registers per thread\": 64,\n      \"shared memory\": 16384,\n"
               "      \"blocks per SM\": 7.7575756,\n      \"warps per SM\": 62.060606,\n"
               "      \"grid\": [%ld, 1, 1],\n      \"block\": [256, 1, 1],\n"
               "      \"est. achieved occupancy %%\": 62\n    }\n  },\n", i, i, 132 + i % 7);
    fprintf(f, "  {\n    \"ph\": \"f\", \"id\": %ld, \"pid\": 0, \"tid\": 7, ", i);
    us(f, "ts", gpu);
    fprintf(f, ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n");
}

static int kineto(const char *path, long events)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        return 1;
    }
    fprintf(f, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0,"
               " \"name\": \"Example GPU\", \"totalGlobalMem\": 48000000000, \"numSms\": 128\n"
               "    }\n  ],\n  \"displayTimeUnit\": \"ms\",\n"
               "  \"baseTimeNanoseconds\": 1782000000000000000,\n  \"traceEvents\": [\n");
    int64_t t = 500000000000, gpu = t;
    for (long i = 0; i < events / 5; i++, t += 20000 + next(3000)) {
        int64_t dur = 4500 + 60 * (i % NAMES) + next(400);
        gpu = (gpu > t + 11000 ? gpu : t + 11000) + 700;
        operator_of(f, i, t, gpu, dur);
        gpu += dur;
        if (i % 120 == 119)
            t += 250000;
    }
    fprintf(f, "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n"
               "    \"pid\": \"\", \"tid\": \"\", ");
    us(f, "ts", t);
    fprintf(f, "\n  }\n  ],\n  \"traceName\": \"/tmp/demo.json\"\n}\n");
    return fclose(f);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "nsys") == 0)
        return nsys(argv[2], atol(argv[3]));
    if (argc == 4 && strcmp(argv[1], "kineto") == 0)
        return kineto(argv[2], atol(argv[3]));
    fprintf(stderr, "usage: make-trace nsys|kineto FILE COUNT\n");
    return 2;
}
