/* SPDX-License-Identifier: Apache-2.0 */
/* The layout is that of https://www.sqlite.org/fileformat2.html, parts 1.3 to 2.1. */
#include "timeline/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define BLOCK_BITS 16
#define BLOCK ((gsize)1 << BLOCK_BITS) /* no page is larger */
#define SLOTS 64u
#define MAX_DEPTH 24u
#define MAX_LONG ((gsize)256 * 1024) /* of a row that overflows its page */

/* Where the wanted columns of a record stand. Neighbouring rows nearly always have the same
 * header, so it is compared first and taken apart only when it differs. */
typedef struct {
    guint8 header[80];
    guint header_len, n, columns;
    gsize body; /* that must be there */
    struct {
        guint8 column, type;
        guint16 at;
    } field[CT_PAGES_COLUMNS];
} Plan;

struct CtPages {
    Plan plan;
    int fd;
    char *path;
    guint64 size;
    guint32 page, usable;
    guint64 n_pages, visited;
    guint8 *slot[SLOTS];
    guint64 held[SLOTS]; /* number of the block + 1 */
    gsize len[SLOTS];
    GByteArray *assembled;
    guint64 wanted;
    guint last; /* behind the last wanted column */
    CtPagesVisit visit;
    gpointer user;
    gboolean stopped;
    GError *error;
    CtPagesRow row;
};

static guint16 be16(const guint8 *p)
{
    return (guint16)(p[0] << 8 | p[1]);
}

static guint32 be32(const guint8 *p)
{
    return (guint32)p[0] << 24 | (guint32)p[1] << 16 | (guint32)p[2] << 8 | p[3];
}

CtPages *ct_pages_open(const char *path, GError **error)
{
    guint8 head[100];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        ct_error_from_errno(error, errno, "opening %s", path);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    CtPages *f = g_new0(CtPages, 1);
    f->fd = fd;
    f->path = g_strdup(path);
    f->size = (guint64)st.st_size;
    f->assembled = g_byte_array_new();
    if (pread(fd, head, sizeof head, 0) == sizeof head) {
        f->page = be16(head + 16) == 1 ? 65536 : be16(head + 16);
        f->usable = f->page - head[20];
    }
    if (f->page < 512 || (f->page & (f->page - 1)) || f->usable < 480) {
        g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s: no page size that SQLite knows", path);
        ct_pages_free(f);
        return NULL;
    }
    f->n_pages = f->size / f->page;
    return f;
}

void ct_pages_free(CtPages *f)
{
    if (!f)
        return;
    for (guint i = 0; i < SLOTS; i++)
        g_free(f->slot[i]);
    g_byte_array_unref(f->assembled);
    g_clear_error(&f->error);
    close(f->fd);
    g_free(f->path);
    g_free(f);
}

/* The bytes of a page; NULL: beyond the end. Valid until the next call for another block. */
static const guint8 *get_page(CtPages *f, guint64 number)
{
    if (number == 0 || number > f->n_pages)
        return NULL;
    guint64 at = (number - 1) * f->page, block = at >> BLOCK_BITS;
    guint i = (guint)(block % SLOTS);
    if (f->held[i] != block + 1) {
        if (!f->slot[i])
            f->slot[i] = g_malloc(BLOCK);
        gssize n = pread(f->fd, f->slot[i], BLOCK, (off_t)(block << BLOCK_BITS));
        f->len[i] = n > 0 ? (gsize)n : 0;
        f->held[i] = block + 1;
    }
    gsize within = (gsize)(at & (BLOCK - 1));
    return within + f->page <= f->len[i] ? f->slot[i] + within : NULL;
}

static gboolean damaged(CtPages *f, guint64 page)
{
    if (!f->error)
        g_set_error(&f->error, CT_ERROR, CT_ERROR_CORRUPT,
                    "%s: page %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " is missing or damaged",
                    f->path, page, f->n_pages);
    return FALSE;
}

/* Bytes that it took; 0: beyond the end. */
static inline guint varint(const guint8 *p, const guint8 *end, guint64 *out)
{
    if (p < end && *p < 0x80) {
        *out = *p;
        return 1;
    }
    guint64 v = 0;
    for (guint i = 0; i < 9 && p + i < end; i++) {
        if (i == 8) {
            *out = v << 8 | p[i];
            return 9;
        }
        v = v << 7 | (p[i] & 0x7f);
        if (p[i] < 0x80) {
            *out = v;
            return i + 1;
        }
    }
    return 0;
}

static const guint8 sizes[10] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};

static inline guint64 be64(const guint8 *p)
{
    guint64 v;
    memcpy(&v, p, 8);
    return GUINT64_FROM_BE(v);
}

static inline gint64 whole(const guint8 *p, guint n)
{
    switch (n) {
    case 1:
        return (gint8)p[0];
    case 2:
        return (gint16)be16(p);
    case 3:
        return (gint32)((guint32)p[0] << 24 | (guint32)p[1] << 16 | (guint32)p[2] << 8) >> 8;
    case 4:
        return (gint32)be32(p);
    case 6:
        return (gint64)((guint64)(gint64)(gint16)be16(p) << 32 | be32(p + 2));
    default:
        return (gint64)be64(p);
    }
}

static gint64 rounded(const guint8 *p)
{
    guint64 bits = be64(p);
    double d;
    memcpy(&d, &bits, sizeof d);
    return isfinite(d) && fabs(d) < 9e18 ? (gint64)d : 0;
}

static inline void take(CtPagesValue *v, guint64 type, const guint8 *body, gsize size)
{
    gboolean is_text = type >= 12;
    v->null = type == 0;
    v->p = is_text ? body : NULL;
    v->n = is_text ? size : 0;
    v->value = type >= 1 && type <= 6 ? whole(body, sizes[type])
               : type == 7            ? rounded(body)
                                      : type == 9;
}

/* FALSE: the record is damaged. Columns that are not wanted are stepped over. */
static gboolean decode(CtPages *f, const guint8 *p, gsize len, CtPagesRow *row)
{
    const guint8 *end = p + len, *types = p;
    Plan *plan = &f->plan;
    guint64 header, type;
    guint n = varint(types, end, &header), column = 0;
    if (n == 0 || header < n || header > len)
        return FALSE;
    const guint8 *body = p + header, *types_end = body;
    gboolean simple = header <= sizeof plan->header;
    plan->header_len = plan->n = 0;
    for (types += n; types < types_end && column < f->last; column++) {
        if ((n = varint(types, types_end, &type)) == 0)
            return FALSE;
        types += n;
        guint64 size = type < 10 ? sizes[type] : type < 12 ? 0 : (type - 12) / 2;
        simple &= type < 12;
        if (size > (guint64)(end - body)) {
            if (type < 12)
                return FALSE;
            size = (guint64)(end - body); /* of a very long one the beginning is there */
        }
        if (f->wanted >> column & 1) {
            take(&row->v[column], type, body, (gsize)size);
            plan->field[plan->n].column = (guint8)column;
            plan->field[plan->n].type = (guint8)MIN(type, 255);
            plan->field[plan->n++].at = (guint16)MIN(body - p, 65535);
        }
        body += size;
    }
    row->n = column;
    for (guint i = column; i < f->last; i++) /* added to the table after this row was written */
        row->v[i] = (CtPagesValue){.null = TRUE};
    if (simple) {
        plan->header_len = (guint)header;
        plan->columns = column;
        plan->body = (gsize)(body - p);
        memcpy(plan->header, p, header);
    }
    return TRUE;
}

static inline gboolean decode_like_last(CtPages *f, const guint8 *p, gsize len, CtPagesRow *row)
{
    const Plan *plan = &f->plan;
    if (plan->header_len == 0 || len < plan->body || memcmp(plan->header, p, plan->header_len))
        return decode(f, p, len, row);
    for (guint i = 0; i < plan->n; i++)
        take(&row->v[plan->field[i].column], plan->field[i].type, p + plan->field[i].at, 0);
    row->n = plan->columns;
    return TRUE;
}

/* A row that goes on in other pages: put together, up to MAX_LONG. */
static gboolean assemble(CtPages *f, const guint8 *local, gsize local_len, guint64 total,
                         guint64 next)
{
    gsize want = (gsize)MIN(total, MAX_LONG);
    g_byte_array_set_size(f->assembled, 0);
    g_byte_array_append(f->assembled, local, (guint)local_len);
    while (f->assembled->len < want && next != 0) {
        const guint8 *p = get_page(f, next);
        if (!p)
            return FALSE;
        next = be32(p);
        g_byte_array_append(f->assembled, p + 4,
                            (guint)MIN(want - f->assembled->len, f->usable - 4));
    }
    return TRUE;
}

/* A cell of a leaf, at an offset within its page. FALSE: damaged. */
static gboolean cell(CtPages *f, guint64 number, const guint8 *page, gsize at, CtPagesRow *row)
{
    const guint8 *p = page + at, *end = page + f->usable;
    guint64 total, rowid;
    guint n = at < f->usable ? varint(p, end, &total) : 0, m = n ? varint(p + n, end, &rowid) : 0;
    if (n == 0 || m == 0)
        return FALSE;
    p += n + m;
    row->rowid = (gint64)rowid;
    row->place = (number - 1) * f->page + at;
    if (total <= f->usable - 35)
        return total <= (guint64)(end - p) && decode_like_last(f, p, (gsize)total, row);
    guint64 least = (guint64)(f->usable - 12) * 32 / 255 - 23;
    guint64 local = least + (total - least) % (f->usable - 4);
    if (local > f->usable - 35)
        local = least;
    if (local + 4 > (guint64)(end - p) || !assemble(f, p, (gsize)local, total, be32(p + local)))
        return FALSE;
    return decode(f, f->assembled->data, f->assembled->len, row);
}

static gboolean leaf(CtPages *f, guint64 number, gsize head)
{
    const guint8 *page = get_page(f, number);
    guint cells = page ? be16(page + head + 3) : 0;
    for (guint i = 0; i < cells && !f->stopped; i++) {
        gsize at = head + 8 + 2 * (gsize)i;
        /* Again: a long row may have taken the place of this page. */
        page = get_page(f, number);
        if (!page || at + 2 > f->usable || !cell(f, number, page, be16(page + at), &f->row))
            return damaged(f, number);
        f->stopped = !f->visit(&f->row, f->user);
    }
    return TRUE;
}

static gboolean walk(CtPages *f, guint64 number, guint depth)
{
    const guint8 *page = get_page(f, number);
    gsize head = number == 1 ? 100 : 0;
    if (!page || depth >= MAX_DEPTH || ++f->visited > f->n_pages)
        return damaged(f, number);
    if (page[head] == 0x0d)
        return leaf(f, number, head);
    if (page[head] != 0x05)
        return damaged(f, number);
    guint cells = be16(page + head + 3);
    guint64 right = be32(page + head + 8);
    for (guint i = 0; i < cells && !f->stopped; i++) {
        gsize at = head + 12 + 2 * (gsize)i;
        page = get_page(f, number);
        if (!page || at + 2 > f->usable || be16(page + at) + 4u > f->usable)
            return damaged(f, number);
        if (!walk(f, be32(page + be16(page + at)), depth + 1))
            return FALSE;
    }
    return f->stopped || walk(f, right, depth + 1);
}

static void want(CtPages *f, guint64 wanted)
{
    f->wanted = wanted;
    f->plan.header_len = 0;
    f->last = wanted ? (guint)(64 - __builtin_clzll(wanted)) : 0;
    for (guint i = 0; i < CT_PAGES_COLUMNS; i++)
        f->row.v[i] = (CtPagesValue){.null = TRUE};
}

gboolean ct_pages_walk(CtPages *f, guint32 root, guint64 wanted, CtPagesVisit visit, gpointer user,
                       GError **error)
{
    want(f, wanted);
    f->visit = visit;
    f->user = user;
    f->stopped = FALSE;
    f->visited = 0;
    posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (walk(f, root, 0))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&f->error));
    return FALSE;
}

const CtPagesRow *ct_pages_row(CtPages *f, guint64 place, guint64 wanted)
{
    guint64 number = place / f->page + 1;
    const guint8 *page = get_page(f, number);
    if (f->wanted != wanted)
        want(f, wanted);
    if (!page || !cell(f, number, page, (gsize)(place % f->page), &f->row))
        return NULL;
    return &f->row;
}
