/* SPDX-License-Identifier: Apache-2.0 */
/* The small tables of an export: GPUs, start, what the profiler says about itself; and what the
 * export therefore cannot show. */
#include <string.h>

#include "timeline/nsys-private.h"

static const char *text_at(sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text(st, column);
    return text ? text : "";
}

static void on_product(CtNsys *n, sqlite3_stmt *st)
{
    if (!n->tl->producer && g_str_equal(text_at(st, 0), "EXPORT_PRODUCT_VERSION"))
        n->tl->producer = g_strdup_printf("Nsight Systems %.40s", text_at(st, 1));
}

static void on_start(CtNsys *n, sqlite3_stmt *st)
{
    if (sqlite3_column_type(st, 0) == SQLITE_INTEGER && sqlite3_column_int64(st, 0) > 0 &&
        sqlite3_column_int64(st, 0) / 2 < CT_TL_MAX_TIME)
        n->tl->wall_offset = sqlite3_column_int64(st, 0);
}

/* id, name and whichever of the others this version has. */
static void on_gpu(CtNsys *n, sqlite3_stmt *st)
{
    gint64 id = -1, cuda = -1, memory = 0, sms = 0;
    double bandwidth = 0;
    const char *name = NULL, *pci = NULL, *uuid = NULL;
    for (int i = 0; i < sqlite3_column_count(st); i++) {
        const char *column = sqlite3_column_name(st, i);
        if (sqlite3_column_type(st, i) == SQLITE_NULL)
            continue;
        if (g_ascii_strcasecmp(column, "id") == 0)
            id = sqlite3_column_int64(st, i);
        else if (g_ascii_strcasecmp(column, "cuDevice") == 0)
            cuda = sqlite3_column_int64(st, i);
        else if (g_ascii_strcasecmp(column, "totalMemory") == 0)
            memory = sqlite3_column_int64(st, i);
        else if (g_ascii_strcasecmp(column, "smCount") == 0)
            sms = sqlite3_column_int64(st, i);
        else if (g_ascii_strcasecmp(column, "memoryBandwidth") == 0)
            bandwidth = sqlite3_column_double(st, i);
        else if (g_ascii_strcasecmp(column, "name") == 0)
            name = text_at(st, i);
        else if (g_ascii_strcasecmp(column, "busLocation") == 0)
            pci = text_at(st, i);
        else if (g_ascii_strcasecmp(column, "uuid") == 0)
            uuid = text_at(st, i);
    }
    if (cuda >= 0)
        id = cuda;
    if (id < 0 || id > 1023 || n->tl->devices->len > 1023)
        return;
    CtTlDevice *d = ct_tl_device(n->tl, id);
    if (d->name)
        return; /* one for each target */
    d->name = name ? g_utf8_make_valid(name, -1) : NULL;
    d->pci = pci && *pci ? g_utf8_make_valid(pci, -1) : NULL;
    d->uuid = uuid && *uuid ? g_utf8_make_valid(uuid, -1) : NULL;
    d->memory = MAX(memory, 0);
    d->sm_count = MAX(sms, 0);
    d->bandwidth = bandwidth > 0 ? bandwidth : 0;
}

static void on_domain(CtNsys *n, sqlite3_stmt *st)
{
    gint64 type = sqlite3_column_int64(st, 0);
    if (type != 75 || sqlite3_column_type(st, 2) == SQLITE_NULL)
        return;
    gint64 key = (sqlite3_column_int64(st, 1) >> 24 << 16) ^ sqlite3_column_int64(st, 2);
    const char *text = text_at(st, 3);
    guint32 name = *text ? ct_tl_names_add(&n->tl->names, text, strlen(text))
                         : ct_nsys_string(n, sqlite3_column_int64(st, 4));
    if (name)
        g_hash_table_insert(n->domains, ct_tl_dup(&key, sizeof key), GUINT_TO_POINTER(name));
}

/* Few rows in a large table; columns as this version has them. */
static void read_domains(CtNsys *n)
{
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(n->db, "SELECT eventType, globalTid, domainId, text, textId FROM NVTX_EVENTS"
                              " WHERE eventType = 75 LIMIT 10000", -1, &st, NULL);
    while (st && sqlite3_step(st) == SQLITE_ROW)
        on_domain(n, st);
    sqlite3_finalize(st);
}

/* ---- what the profiler says about itself ---- */

/* Those that say that something is missing or was not traced. */
static gboolean tells_of_loss(const char *text)
{
    static const char *const parts[] = {
        "No CUDA events collected", "might be missing", "might have been lost", "dropped",
        "Not all CUDA events", "Not all NVTX events", "is not supported by this build",
        "might have been not started", "ActivityFlushAll returned", "CUPTI_ERROR",
        "Unable to configure the collection", "insufficient privilege", "permission",
        "profiling might have not been started", "No NVTX events collected", "out of memory",
        "Failed to", "was not traced", "cannot be traced", "incomplete"};
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (strstr(text, parts[i]))
            return TRUE;
    return FALSE;
}

static void on_diagnostic(CtNsys *n, sqlite3_stmt *st)
{
    gint64 severity = sqlite3_column_count(st) > 1 ? sqlite3_column_int64(st, 1) : 0;
    const char *text = text_at(st, 0);
    if (severity == 1 && !strstr(text, "might be missing"))
        return; /* information */
    if (!tells_of_loss(text))
        return;
    /* Said of each child process that uses no CUDA, too. */
    if ((strstr(text, "No CUDA events") || strstr(text, "CUDA profiling might have not")) &&
        n->tl->present & CT_TL_BIT(CT_TL_CALL))
        return;
    if (strstr(text, "No NVTX events") && n->tl->present & CT_TL_BIT(CT_TL_RANGE))
        return;
    g_autofree char *one = g_strndup(text, 240);
    g_autofree char *valid = g_utf8_make_valid(one, -1);
    g_strdelimit(valid, "\r\n\t", ' ');
    g_strstrip(valid);
    ct_tl_gap(n->tl, "said by the profiler", "%s", valid);
}

void ct_nsys_read_head(CtNsys *n)
{
    ct_nsys_each(n, "META_DATA_EXPORT", "name, value", on_product);
    ct_nsys_each(n, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", on_start);
    ct_nsys_each(n, "TARGET_INFO_GPU", "*", on_gpu);
    if (!ct_nsys_each(n, "DIAGNOSTIC_EVENT", "text, severity", on_diagnostic))
        ct_nsys_each(n, "DIAGNOSTIC_EVENT", "text", on_diagnostic);
    if (n->tl->present & CT_TL_BIT(CT_TL_RANGE))
        read_domains(n);
}

/* ---- what the export cannot show ---- */

static gboolean said(const CtNsys *n, const char *part)
{
    for (guint i = 0; i < n->tl->gaps->len; i++) {
        const CtTlGap *g = g_ptr_array_index(n->tl->gaps, i);
        if (g_str_equal(g->what, "said by the profiler") && strstr(g->why, part))
            return TRUE;
    }
    return FALSE;
}

static const char *why_no_gpu(const CtNsys *n)
{
    if (said(n, "is not supported by this build"))
        return "the driver is newer than this Nsight Systems knows: take a newer one";
    if (said(n, "CUPTI_ERROR") || said(n, "ActivityFlushAll"))
        return "CUPTI failed: another profiler may have held it, or the program ended before the "
               "buffers were written";
    if (said(n, "No CUDA events collected"))
        return "the program made no CUDA calls while it was traced";
    if (said(n, "permission") || said(n, "privilege"))
        return "the rights to profile were missing";
    if (n->tl->present & CT_TL_BIT(CT_TL_CALL))
        return "the calls launched nothing, or the program ended before the buffers were written";
    return "CUDA was not traced (-t cuda), or the program used no CUDA";
}

void ct_nsys_tell(CtNsys *n)
{
    const guint gpu = CT_TL_BIT(CT_TL_KERNEL) | CT_TL_BIT(CT_TL_COPY) | CT_TL_BIT(CT_TL_SET) |
                      CT_TL_BIT(CT_TL_GRAPH);
    CtTimeline *tl = n->tl;
    guint p = tl->present;
    if (!(p & gpu))
        ct_tl_gap_because(tl, "GPU work", "%s: the capture recorded no GPU work; %s",
                          p & CT_TL_BIT(CT_TL_CALL) ? "no tables of kernels, copies or graphs"
                                                    : "no CUDA tables", why_no_gpu(n));
    else if (!(p & CT_TL_BIT(CT_TL_KERNEL)) && p & CT_TL_BIT(CT_TL_GRAPH))
        ct_tl_gap(tl, "kernels", "CUDA graphs are traced whole; --cuda-graph-trace=node shows their "
                  "kernels");
    else if (!(p & CT_TL_BIT(CT_TL_KERNEL)))
        ct_tl_gap(tl, "kernels", "the capture recorded none, only copies or memsets");
    if (p & gpu && !(p & CT_TL_BIT(CT_TL_CALL)))
        ct_tl_gap(tl, "CUDA calls", "the capture recorded none: how the host spent its time and how "
                  "long launches waited cannot be seen");
    if (!(p & CT_TL_BIT(CT_TL_RANGE)))
        ct_tl_gap(tl, "NVTX ranges", "none were recorded (-t nvtx, and the program has to use "
                  "NVTX): requests are taken from what repeats");
    if (!(p & CT_TL_BIT(CT_TL_OS)))
        ct_tl_gap(tl, "blocking OS calls", "not recorded (-t osrt)");
    if (!(p & CT_TL_BIT(CT_TL_MEMORY)) && p & gpu)
        ct_tl_gap(tl, "GPU memory", "not recorded (--cuda-memory-usage=true)");
    if (tl->wall_offset == G_MININT64)
        ct_tl_gap(tl, "wall time", "the start of the session is not in the file: its times cannot be "
                  "laid beside other logs");
}
