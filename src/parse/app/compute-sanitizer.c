/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute-sanitizer and the older cuda-memcheck: memcheck, leak check, racecheck, initcheck,
 * synccheck. Each record becomes one event `sanitizer-report`; equal ones fold. The first line of
 * a record says what, later lines say where and how far off, so an event is emitted at the record's
 * end (the prefix alone, or the next record). The program's own output has no prefix and is left
 * to the signatures.
 */
#include <string.h>

#include "parse/common/scan.h"

#define PREFIX "========="

typedef struct {
    const char *name; /* of the report; NULL outside of a record */
    CtSeverity severity;
    char *head;       /* first line of the record */
    guint head_line;
    char *kernel, *place, *space, *access, *call;
    char *frame; /* innermost host frame that is neither the driver's nor the runtime's */
    const char *role; /* what the kernel or its caller is for, when a name tells */
    const char *side; /* before, after the nearest allocation */
    double size_bytes, distance_bytes;
    gint64 code;
    gboolean misaligned, freed;
    gboolean leak_check, finished;
    guint records;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->code = st->size_bytes = st->distance_bytes = -1;
    return st;
}

static int sniff(const CtSniff *s)
{
    if (ct_sniff_has(s, PREFIX " COMPUTE-SANITIZER") || ct_sniff_has(s, PREFIX " CUDA-MEMCHECK"))
        return 95;
    if (ct_sniff_has(s, PREFIX " Invalid __") || ct_sniff_has(s, PREFIX " ERROR SUMMARY:") ||
        ct_sniff_has(s, PREFIX " Program hit ") || ct_sniff_has(s, PREFIX " Leaked "))
        return 90;
    return 0;
}

static void add_text(GString *json, const char *key, const char *value)
{
    if (!value)
        return;
    g_string_append_printf(json, "%s\"%s\":\"", json->len > 1 ? "," : "", key);
    for (const char *p = value; *p; p++) {
        if (*p == '"' || *p == '\\')
            g_string_append_c(json, '\\');
        if ((guchar)*p >= 0x20)
            g_string_append_c(json, *p);
    }
    g_string_append_c(json, '"');
}

static void add_number(GString *json, const char *key, double value)
{
    if (value >= 0)
        g_string_append_printf(json, "%s\"%s\":%.0f", json->len > 1 ? "," : "", key, value);
}

static void clear_record(State *st)
{
    g_clear_pointer(&st->head, g_free);
    g_clear_pointer(&st->kernel, g_free);
    g_clear_pointer(&st->place, g_free);
    g_clear_pointer(&st->space, g_free);
    g_clear_pointer(&st->access, g_free);
    g_clear_pointer(&st->call, g_free);
    g_clear_pointer(&st->frame, g_free);
    st->name = NULL;
    st->role = st->side = NULL;
    st->code = st->size_bytes = st->distance_bytes = -1;
    st->misaligned = st->freed = FALSE;
}

static void end_record(State *st, CtEmit *emit)
{
    if (st->name) {
        g_autoptr(GString) json = g_string_new("{");
        add_text(json, "kernel", st->kernel);
        add_text(json, "place", st->place);
        add_text(json, "space", st->space);
        add_text(json, "access", st->access);
        add_text(json, "call", st->call);
        add_text(json, "frame", st->frame);
        add_text(json, "role", st->role);
        add_text(json, "side", st->side);
        add_number(json, "size_bytes", st->size_bytes);
        add_number(json, "distance_bytes", st->distance_bytes);
        g_string_append_c(json, '}');
        const char *name = st->name;
        if (g_str_equal(name, "invalid-access"))
            name = st->freed ? "use-after-free" : st->misaligned ? "misaligned" : name;
        CtLine at = ct_line_at(st->head_line, st->head, strlen(st->head));
        ct_emit_event(emit, &at,
                      (CtEventRow){.kind = "sanitizer-report",
                                   .severity = st->severity,
                                   .name = name,
                                   .subject = st->kernel,
                                   .code = st->code,
                                   .has_code = st->code >= 0,
                                   .detail = json->len > 2 ? json->str : NULL});
        st->records++;
    }
    clear_record(st);
}

typedef struct {
    const char *start; /* of the record's first line, behind the prefix */
    const char *name;
    CtSeverity severity;
} Opening;

static const Opening openings[] = {
    {"Invalid __", "invalid-access", CT_SEV_ERROR},
    {"Invalid access", "invalid-access", CT_SEV_ERROR},
    {"Invalid read", "invalid-access", CT_SEV_ERROR},
    {"Invalid write", "invalid-access", CT_SEV_ERROR},
    {"Invalid atomic", "invalid-access", CT_SEV_ERROR},
    {"Out-of-range Shared or Local Address", "invalid-access", CT_SEV_ERROR},
    {"Warp Illegal", "invalid-access", CT_SEV_ERROR},
    {"Leaked ", "leak", CT_SEV_WARNING},
    {"Uninitialized __", "uninitialised", CT_SEV_WARNING},
    {"Host API uninitialized", "uninitialised", CT_SEV_WARNING},
    {"Host API memory access error", "uninitialised", CT_SEV_WARNING},
    {"Unused memory", "unused-memory", CT_SEV_INFO},
    {"Error: Race reported", "race", CT_SEV_ERROR},
    {"Warning: Race reported", "race", CT_SEV_WARNING},
    {"Race reported", "race", CT_SEV_ERROR},
    {"ERROR: Potential", "race", CT_SEV_ERROR},
    {"WARN: Potential", "race", CT_SEV_WARNING},
    {"Barrier error", "sync", CT_SEV_ERROR},
    {"Warpgroup MMA sequence error", "sync", CT_SEV_ERROR},
    {"Malloc/Free error", "bad-free", CT_SEV_ERROR},
    {"Malloc/Free Error", "bad-free", CT_SEV_ERROR},
    {"Program hit ", "api-error", CT_SEV_ERROR},
    {"Target application terminated before", "did-not-run", CT_SEV_WARNING},
    {"No attachable process", "did-not-run", CT_SEV_WARNING},
    {"Internal Sanitizer Error", "did-not-run", CT_SEV_WARNING},
    {"Error: No attachable", "did-not-run", CT_SEV_WARNING},
    {"Device not supported", "did-not-run", CT_SEV_WARNING},
};

static void take(char **out, CtStr s)
{
    g_free(*out);
    *out = ct_str_dup(ct_str_head(s, 200));
}

/* "Invalid __global__ write of size 4 bytes", "Leaked 1,024 bytes at 0x...",
 * "Program hit cudaErrorX (error 700) due to ... on CUDA API call to cudaMalloc." */
static void opening_details(State *st, CtStr s)
{
    CtStr part;
    double n;
    gint64 code;
    if (ct_str_between(s, "__", "__", &part))
        take(&st->space, part);
    static const char *const accesses[] = {"read", "write", "atomic"};
    for (gsize i = 0; i < G_N_ELEMENTS(accesses); i++)
        if (ct_str_has(s, accesses[i])) {
            g_free(st->access);
            st->access = g_strdup(accesses[i]);
        }
    gssize at = ct_str_find(s, "of size ");
    if (at >= 0) {
        part = ct_str_from(s, (gsize)at + 8);
        if (ct_str_take_number(&part, &n))
            st->size_bytes = n;
    }
    if (ct_str_starts(s, "Leaked ")) {
        part = ct_str_from(s, 7);
        if (ct_str_take_number(&part, &n))
            st->size_bytes = n;
    }
    if (ct_str_between(s, "(error ", ")", &part) && ct_str_uint(part, &code))
        st->code = code;
    at = ct_str_find(s, "API call to ");
    if (at >= 0) {
        part = ct_str_from(s, (gsize)at + 12);
        CtStr name = ct_str_token(&part);
        while (name.n && strchr(".,;", name.p[name.n - 1]))
            name.n--;
        take(&st->call, name);
    }
    st->freed |= ct_str_has(s, "Double free");
}

static gboolean open_record(State *st, CtStr s, const CtLine *line, CtEmit *emit)
{
    for (gsize i = 0; i < G_N_ELEMENTS(openings); i++) {
        if (!ct_str_starts(s, openings[i].start))
            continue;
        end_record(st, emit);
        st->name = openings[i].name;
        st->severity = openings[i].severity;
        st->head = g_strndup(line->text, MIN(line->len, 400));
        st->head_line = line->number;
        opening_details(st, s);
        st->leak_check |= g_str_equal(st->name, "leak");
        return TRUE;
    }
    return FALSE;
}

/* What a kernel or host function is for, as far as its name says. */
static void role_of(State *st, CtStr name)
{
    static const struct {
        const char *word, *role;
    } words[] = {{"plugin", "plugin"},       {"postproc", "postprocess"},
                 {"post_proc", "postprocess"}, {"decode", "postprocess"},
                 {"nms", "postprocess"},      {"suppress", "postprocess"},
                 {"topk_box", "postprocess"}, {"parse_det", "postprocess"},
                 {"argmax", "postprocess"},   {"label", "postprocess"},
                 {"class_", "postprocess"},   {"bbox", "postprocess"},
                 {"preproc", "preprocess"},   {"pre_proc", "preprocess"},
                 {"letterbox", "preprocess"}, {"resize", "preprocess"},
                 {"nv12", "preprocess"},      {"yuv", "preprocess"},
                 {"normalize", "preprocess"}, {"warp_affine", "preprocess"}};
    g_autofree char *low = ct_str_dup(ct_str_head(name, 200));
    for (char *p = low; *p; p++)
        *p = g_ascii_tolower(*p);
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        if (!strstr(low, words[i].word))
            continue;
        /* A plugin is the deeper statement: it may well decode boxes. */
        if (!st->role || g_str_equal(words[i].role, "plugin"))
            st->role = words[i].role;
        return;
    }
}

/* "Host Frame: Foo::run(int) in foo.cpp:88 [0x1c2f0] in app" */
static void host_frame(State *st, CtStr s)
{
    static const char *const runtime[] = {"libcuda", "libcudart", "libc.so", "libstdc++",
                                          "libpthread", "[0x", "cuda", "cu", "__device_stub",
                                          "libsanitizer"};
    CtStr frame = ct_str_strip(ct_str_from(s, 11));
    if (ct_str_has(frame, "Plugin") && ct_str_has(frame, "enqueue"))
        st->role = "plugin";
    role_of(st, frame);
    for (gsize i = 0; i < G_N_ELEMENTS(runtime); i++)
        if (i < 4 ? ct_str_has(frame, runtime[i]) : ct_str_starts(frame, runtime[i]))
            return;
    if (!st->frame)
        take(&st->frame, frame);
}

/* "at misal(char *)+0x40 in fail.cu:12" (new), "at func():0x1a0", "at 0x188 in file.cu:145:func(args)"
 * (old): the kernel's name and the place in the source. */
static void place(State *st, CtStr s)
{
    if (st->kernel)
        return;
    CtStr what = ct_str_from(s, 3), left;
    gssize in = ct_str_find(what, " in ");
    if (ct_str_starts(what, "0x")) {
        if (in < 0)
            return;
        CtStr rest = ct_str_from(what, (gsize)in + 4);
        take(&st->place, rest);
        /* file:LINE:func */
        gssize colon = ct_str_find(rest, ":");
        while (colon >= 0 && (gsize)colon + 1 < rest.n && g_ascii_isdigit(rest.p[colon + 1])) {
            rest = ct_str_from(rest, (gsize)colon + 1);
            colon = ct_str_find(rest, ":");
        }
        if (colon >= 0)
            take(&st->kernel, ct_str_from(rest, (gsize)colon + 1));
        return;
    }
    CtStr name = what;
    if (in >= 0) {
        name = ct_str_head(what, (gsize)in);
        take(&st->place, ct_str_from(what, (gsize)in + 4));
    }
    if (ct_str_cut(&name, "+0x", &left) || ct_str_cut(&name, ":0x", &left))
        name = left;
    take(&st->kernel, name);
    role_of(st, name);
}

static void distance(State *st, CtStr s)
{
    double n;
    CtStr rest = ct_str_from(s, 7);
    if (ct_str_has(s, " inside ") || ct_str_has(s, "is inside"))
        st->distance_bytes = 0;
    else if (ct_str_take_number(&rest, &n))
        st->distance_bytes = n;
    st->side = ct_str_has(s, " before ") ? "before" : ct_str_has(s, " after ") ? "after" : NULL;
}

/* "Saved host backtrace up to driver entry point at cudaFreeAsync time": the tool shows where the
 * memory went only when that is what is wrong. */
static gboolean is_free_trace(CtStr s)
{
    return ct_str_starts(s, "Saved host backtrace") && ct_str_ends(s, " time") &&
           (ct_str_has(s, "Free") || ct_str_has(s, " free") || ct_str_has(s, "dealloc"));
}

static void detail_line(State *st, CtStr s)
{
    CtStr call;
    if (ct_str_starts(s, "at ") || ct_str_starts(s, "Write access at ") ||
        ct_str_starts(s, "Write Thread"))
        place(st, ct_str_starts(s, "at ") ? s : ct_str_from(s, (gsize)MAX(ct_str_find(s, "at "), 0)));
    else if (ct_str_starts(s, "and is "))
        distance(st, s);
    else if (ct_str_starts(s, "Host Frame:")) {
        host_frame(st, s);
        if (st->call)
            return;
        /* The innermost frame of the CUDA API names the call. */
        call = ct_str_strip(ct_str_from(s, 11));
        /* cuda-memcheck: "./app (cudaMalloc + 0x1f) [0x5a1f]" */
        gssize old = ct_str_has(call, " + 0x") ? ct_str_find(call, " (cu") : -1;
        if (old >= 0)
            call = ct_str_from(call, (gsize)old + 2);
        if (ct_str_starts(call, "cuda") || ct_str_starts(call, "cu"))
            take(&st->call, ct_str_token(&call));
    }
    st->misaligned |= ct_str_has(s, "misaligned");
    st->freed |= ct_str_has(s, "was freed") || ct_str_has(s, "freed allocation") ||
                 ct_str_has(s, "after memory is freed") || ct_str_has(s, "after free") ||
                 ct_str_has(s, "Nearest allocation was freed") || is_free_trace(s);
}

/* "LEAK SUMMARY: 1,024 bytes leaked in 1 allocations", "ERROR SUMMARY: 3 errors" */
static void summary(State *st, CtStr s, const CtLine *line, CtEmit *emit)
{
    double n;
    CtStr rest = ct_str_strip(ct_str_from(s, (gsize)ct_str_find(s, ":") + 1));
    if (!ct_str_take_number(&rest, &n))
        return;
    if (ct_str_starts(s, "LEAK SUMMARY")) {
        st->leak_check = TRUE;
        ct_emit_number(emit, line, NULL, "sanitizer.leaked", n, NULL);
        gssize in = ct_str_find(rest, " in ");
        CtStr count = ct_str_from(rest, in >= 0 ? (gsize)in + 4 : rest.n);
        if (ct_str_take_number(&count, &n))
            ct_emit_number(emit, line, NULL, "sanitizer.leaks", n, NULL);
    } else {
        st->finished = TRUE;
        ct_emit_number(emit, line, NULL,
                       ct_str_starts(s, "RACECHECK") ? "sanitizer.hazards" : "sanitizer.errors", n,
                       NULL);
    }
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_str(line->text, line->len);
    if (!ct_str_starts(s, PREFIX))
        return;
    s = ct_str_strip(ct_str_from(s, strlen(PREFIX)));
    if (!s.n)
        end_record(st, emit);
    else if (ct_str_starts(s, "LEAK SUMMARY:") || ct_str_starts(s, "ERROR SUMMARY:") ||
             ct_str_starts(s, "RACECHECK SUMMARY:")) {
        end_record(st, emit);
        summary(st, s, line, emit);
    } else if (!open_record(st, s, line, emit) && st->name) {
        detail_line(st, s);
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    end_record(st, emit);
    if (st->finished)
        ct_emit_coverage(emit, "sanitizer", NULL);
    else
        ct_emit_status(emit, CT_PARTIAL, "the report has no summary: the tool did not finish");
    if (st->finished && st->leak_check)
        ct_emit_coverage(emit, "sanitizer-leak", NULL);
    clear_record(st);
    g_free(st);
}

const CtParser ct_parser_compute_sanitizer = {
    .id = "compute-sanitizer",
    .summary = "reports of compute-sanitizer and cuda-memcheck",
    .doc = "Text of memcheck, leak check, racecheck, initcheck and synccheck, of all versions from "
           "cuda-memcheck 4 on. Emits events sanitizer-report with kernel, size, distance and "
           "call, facts with the totals, and coverage when the tool finished.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
