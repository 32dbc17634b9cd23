/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process, from /proc: the libraries that it maps (what the program really uses, whatever is
 * installed), the device nodes that it holds open, and what its threads did in an interval.
 */
#include <stdlib.h>
#include <string.h>

#include "parse/env/version-scan.h"

#define MAX_LIBRARIES 1000u
#define MAX_THREADS 4096u

/* ---- the process that a command names ---- */

/* "cat /proc/4711/maps", "ls -l /proc/4711/fd", "grep x /proc/4711/maps": the number. */
static gboolean process_of(const char *command, const char *leaf, gint64 *pid)
{
    for (const char *p = command; p && (p = strstr(p, "/proc/")); p++) {
        char *end;
        gint64 n = g_ascii_strtoll(p + 6, &end, 10);
        gsize len = strlen(leaf);
        if (end > p + 6 && n > 0 && n <= G_MAXINT32 && *end == '/' &&
            strncmp(end + 1, leaf, len) == 0 && !g_ascii_isalpha(end[1 + len])) {
            *pid = n;
            return TRUE;
        }
    }
    return FALSE;
}

/* ---- maps ---- */

typedef struct {
    char subject[32];
    GHashTable *seen; /* paths */
} Maps;

typedef struct {
    const char *prefix, *version; /* version: key of the number behind .so (nullable) */
} Library;

/* The first whose name begins the file's name counts. */
static const Library libraries[] = {
    {"libcudart", "version.cuda.runtime"},
    {"libcudadebugger", NULL},
    {"libcuda", "version.driver.user"},
    {"libcudnn", "version.cudnn"},
    {"libcublas", "version.cublas"},
    {"libcufft", NULL},
    {"libcurand", NULL},
    {"libcusparse", NULL},
    {"libcusolver", NULL},
    {"libcupti", NULL},
    {"libnvrtc", NULL},
    {"libnvJitLink", NULL},
    {"libnvinfer_plugin", NULL},
    {"libnvinfer", "version.tensorrt"},
    {"libnvonnxparser", NULL},
    {"libnccl", "version.nccl"},
    {"libnvidia-", NULL},
    {"libnvbuf", NULL},
    {"libnvds", NULL},
    {"libnvrm", NULL},
    {"libtorch", NULL},
    {"libc10", NULL},
    {"libonnxruntime", "version.onnxruntime"},
    {"libtensorflow", NULL},
    {"libtritonserver", NULL},
    {"libopencv_core", "version.opencv"},
    {"libgstreamer", NULL},
    {"libmpi", NULL},
    {"libpython", NULL},
    {"libstdc++", NULL},
    {"libcutriage", NULL},
};

static gpointer maps_begin(CtEmit *emit)
{
    Maps *st = g_new0(Maps, 1);
    gint64 pid;
    if (process_of(ct_emit_command(emit), "maps", &pid) ||
        process_of(ct_emit_source_path(emit), "maps", &pid)) {
        g_snprintf(st->subject, sizeof st->subject, "process:%d", (int)pid);
        ct_emit_scope(emit, st->subject);
    }
    st->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return st;
}

/* "libcudart.so.12.4.127" -> "12.4.127"; a lone number is the interface, no version. */
static CtStr number_behind_so(CtStr file)
{
    gssize at = ct_str_find(file, ".so.");
    CtStr rest = at < 0 ? ct_str("", 0) : ct_str_from(file, (gsize)at + 4);
    gboolean dot = FALSE;
    for (gsize i = 0; i < rest.n; i++) {
        dot |= rest.p[i] == '.';
        if (rest.p[i] != '.' && !g_ascii_isdigit(rest.p[i]))
            return ct_str("", 0);
    }
    return dot ? rest : ct_str("", 0);
}

static void library(Maps *st, CtEmit *emit, const CtLine *line, CtStr path, gboolean gone)
{
    gsize slash = 0;
    for (gsize i = 0; i < path.n; i++)
        if (path.p[i] == '/')
            slash = i + 1;
    CtStr file = ct_str_from(path, slash), number = number_behind_so(file);
    const char *subject = st->subject[0] ? st->subject : NULL;
    gssize so = ct_str_find(file, ".so");
    if (so <= 0)
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(libraries); i++) {
        char key[128];
        if (!ct_str_starts(file, libraries[i].prefix))
            continue;
        g_snprintf(key, sizeof key, "process.library.%.*s", (int)MIN(so, 80), file.p);
        if (gone) /* an update replaced the file under the running program */
            ct_emit_fact(emit, line, subject, "process.library-replaced", CT_STR_BUF(path));
        ct_emit_fact(emit, line, subject, key, CT_STR_BUF(path));
        /* Only the library itself: libcublasLt and libnvinfer_builder_resource follow others. */
        gboolean itself = (gsize)so == strlen(libraries[i].prefix);
        if (libraries[i].version && itself && number.n)
            ct_emit_version(emit, line, subject, libraries[i].version, number);
        return;
    }
}

/* "7f1c00000000-7f1c00200000 r-xp 00001000 08:01 1311 /usr/lib/libcuda.so.1" */
static gboolean maps_path(CtStr s, CtStr *path, gboolean *gone)
{
    CtStr rest = s, range = ct_str_token(&rest), mode = ct_str_token(&rest);
    if (mode.n != 4 || !memchr(range.p, '-', range.n))
        return FALSE;
    for (int i = 0; i < 3; i++)
        ct_str_token(&rest);
    *path = ct_str_strip(rest);
    *gone = ct_str_ends(*path, " (deleted)");
    if (*gone)
        path->n -= strlen(" (deleted)");
    return TRUE;
}

static void maps_line(gpointer state, const CtLine *line, CtEmit *emit)
{
    Maps *st = state;
    CtStr path;
    gboolean gone;
    if (!maps_path(ct_line_str(line), &path, &gone) || !path.n || path.p[0] != '/')
        return;
    if (g_hash_table_size(st->seen) >= MAX_LIBRARIES)
        return;
    if (g_hash_table_add(st->seen, ct_str_dup(path)))
        library(st, emit, line, path, gone);
}

static void maps_finish(gpointer state, CtEmit *emit)
{
    Maps *st = state;
    if (g_hash_table_size(st->seen))
        ct_emit_coverage(emit, "process-libraries", st->subject[0] ? st->subject : NULL);
    g_hash_table_unref(st->seen);
    g_free(st);
}

static int maps_sniff(const CtSniff *sniff)
{
    guint good = 0, lines = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i), path;
        gboolean gone;
        if (!s.n)
            continue;
        lines++;
        good += s.n > 30 && g_ascii_isxdigit(s.p[0]) && maps_path(s, &path, &gone) &&
                strspn(CT_STR_BUF(ct_str_head(s, 40)), "0123456789abcdef-") > 10;
    }
    return good >= 2 && good * 4 >= lines * 3 ? 92 : 0;
}

const CtParser ct_parser_process_maps = {
    .id = "process-maps",
    .summary = "/proc/PID/maps: the libraries of a process",
    .doc = "The files that a process maps, as /proc/PID/maps or pmap's source shows them: "
           "process.library.NAME for the libraries of CUDA, TensorRT, NCCL and the frameworks, "
           "versions where the name of the file holds one, process.library-replaced for files that "
           "were deleted or updated under the running program.",
    .sniff = maps_sniff,
    .begin = maps_begin,
    .line = maps_line,
    .finish = maps_finish,
    .no_signatures = TRUE,
};

/* ---- open devices ---- */

typedef struct {
    gint64 pid;
    guint gpu;
} Open;

static gpointer open_begin(CtEmit *emit)
{
    Open *st = g_new0(Open, 1);
    if (!process_of(ct_emit_command(emit), "fd", &st->pid) &&
        !process_of(ct_emit_source_path(emit), "fd", &st->pid))
        st->pid = CT_NONE;
    if (st->pid != CT_NONE) {
        char scope[32];
        g_snprintf(scope, sizeof scope, "process:%d", (int)st->pid);
        ct_emit_scope(emit, scope);
    }
    return st;
}

static void open_line(gpointer state, const CtLine *line, CtEmit *emit)
{
    static const char *const nodes[] = {"/dev/nvidia", "/dev/nvmap", "/dev/nvgpu/",
                                        "/dev/nvhost-", "/dev/dri/"};
    Open *st = state;
    CtStr s = ct_line_str(line);
    gssize arrow = ct_str_find(s, " -> ");
    CtStr target = arrow < 0 ? ct_str("", 0) : ct_str_strip(ct_str_from(s, (gsize)arrow + 4));
    for (gsize i = 0; i < G_N_ELEMENTS(nodes); i++) {
        if (!ct_str_starts(target, nodes[i]))
            continue;
        gboolean known = st->pid != CT_NONE;
        ct_emit_event(emit, line,
                      (CtEventRow){.kind = "device-holder", .severity = CT_SEV_INFO,
                                   .name = CT_STR_BUF(target), .pid = st->pid, .has_pid = known});
        st->gpu++;
        return;
    }
}

static void open_finish(gpointer state, CtEmit *emit)
{
    Open *st = state;
    char subject[32];
    if (st->pid != CT_NONE) {
        g_snprintf(subject, sizeof subject, "process:%d", (int)st->pid);
        ct_emit_number(emit, NULL, subject, "process.gpu-descriptors", st->gpu, NULL);
    }
    g_free(st);
}

static int open_sniff(const CtSniff *sniff)
{
    gint64 pid;
    return process_of(sniff->command, "fd", &pid) && ct_command_runs(sniff->command, "ls") ? 93 : 0;
}

const CtParser ct_parser_process_descriptors = {
    .id = "process-descriptors",
    .summary = "ls -l /proc/PID/fd: devices that a process holds open",
    .doc = "Device nodes of the GPU among the open files of a process, as device-holder events; "
           "process.gpu-descriptors is their number, 0 when the process uses no GPU.",
    .sniff = open_sniff,
    .begin = open_begin,
    .line = open_line,
    .finish = open_finish,
    .no_signatures = TRUE,
};

/* ---- what the threads did ---- */

typedef struct {
    char subject[32];
    double interval_ms, cpu_ms;
    guint threads, counted, moved, uninterruptible, running;
    gboolean open;
} Table;

static gpointer table_begin(CtEmit *emit)
{
    return g_new0(Table, 1);
}

static void table_line(gpointer state, const CtLine *line, CtEmit *emit)
{
    Table *st = state;
    CtStr s = ct_line_str(line), rest = s, between;
    double cpu = 0, switches = 0;
    gint64 tid;
    if (ct_str_starts(s, "Threads of process ")) {
        CtStr after = ct_str_from(s, strlen("Threads of process "));
        if (ct_str_cut(&after, ",", &between) && ct_str_uint(between, &tid) && tid < G_MAXINT32)
            g_snprintf(st->subject, sizeof st->subject, "process:%d", (int)tid);
        if (ct_str_between(s, "seen for ", " ms", &between))
            ct_str_number(between, &st->interval_ms);
        if (st->subject[0])
            ct_emit_scope(emit, st->subject);
        if (st->subject[0] && ct_str_between(s, "started at ", " ms", &between) &&
            ct_str_number(between, &cpu) && cpu > 0 && cpu < 1e13)
            ct_emit_number(emit, line, st->subject, "process.started", cpu * 1e6, NULL);
        return;
    }
    CtStr id = ct_str_token(&rest), how = ct_str_token(&rest), ran = ct_str_token(&rest),
          changes = ct_str_token(&rest), wchan = ct_str_token(&rest);
    if (!ct_str_uint(id, &tid) || how.n != 1 || !wchan.n || st->threads >= MAX_THREADS)
        return;
    ct_str_token(&rest);
    st->threads++;
    st->uninterruptible += how.p[0] == 'D';
    st->running += how.p[0] == 'R';
    if (ct_str_number(ran, &cpu) && ct_str_number(changes, &switches)) {
        st->counted++;
        st->cpu_ms += cpu;
        st->moved += cpu > 0 || switches > 0;
    }
    if (how.p[0] == 'D') {
        char subject[32];
        g_snprintf(subject, sizeof subject, "process:%d", (int)tid);
        ct_emit_fact(emit, line, subject, "process.state", "D");
        ct_emit_fact(emit, line, subject, "process.wait-channel", CT_STR_BUF(wchan));
    }
}

/* none: nobody ran at all; spinning: CPUs are busy, and it takes the stacks to say with what. */
static const char *progress(const Table *st)
{
    if (!st->moved)
        return "none";
    return st->cpu_ms < st->interval_ms * 0.02 ? "idle" : "running";
}

static void table_finish(gpointer state, CtEmit *emit)
{
    Table *st = state;
    const char *subject = st->subject[0] ? st->subject : NULL;
    if (st->threads) {
        ct_emit_number(emit, NULL, subject, "process.threads", st->threads, NULL);
        ct_emit_number(emit, NULL, subject, "process.threads.uninterruptible",
                       st->uninterruptible, NULL);
    }
    if (st->counted && st->interval_ms > 0) {
        ct_emit_number(emit, NULL, subject, "process.threads.moved", st->moved, NULL);
        ct_emit_number(emit, NULL, subject, "process.cpu", st->cpu_ms / st->interval_ms, NULL);
        ct_emit_fact(emit, NULL, subject, "process.progress", progress(st));
        ct_emit_coverage(emit, "process-threads", subject);
    }
    g_free(st);
}

static int table_sniff(const CtSniff *sniff)
{
    for (guint i = 0; i < MIN(sniff->n_lines, 4u); i++)
        if (ct_str_starts(ct_sniff_line(sniff, i), "Threads of process "))
            return 96;
    return 0;
}

const CtParser ct_parser_process_threads = {
    .id = "process-threads",
    .summary = "what the threads of a process did in an interval",
    .doc = "The table of `capture --pid`: state, wait channel and system call of each thread, the "
           "time it ran and how often it was switched while nobody disturbed it. Gives "
           "process.threads, process.cpu and process.progress, which tells a process in which "
           "nothing moves from one that works or spins.",
    .sniff = table_sniff,
    .begin = table_begin,
    .line = table_line,
    .finish = table_finish,
    .no_signatures = TRUE,
};
