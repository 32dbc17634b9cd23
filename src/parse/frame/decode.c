/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of a source decide: a byte order mark, UTF-16 by its NULs, text, or something
 * that is no text at all.
 */
#include "parse/frame/decode.h"

#include <string.h>

#include "parse/frame/frame-private.h"

#define DECIDE_FROM 4096u

typedef enum { UNDECIDED, UTF8, UTF16_LE, UTF16_BE, BINARY, PARSED } Kind;

struct CtDecoder {
    CtParse *parse;
    Kind kind;
    GByteArray *first;   /* until decided */
    guint64 leading_nuls;
    guint8 carry;        /* odd byte of UTF-16 */
    gboolean has_carry;
    guint16 high;        /* first half of a surrogate pair */
    const char *binary;
    const CtParser *reader; /* PARSED: gets all bytes at the end */
    GByteArray *all;
    gboolean cut;
};

CtDecoder *ct_decoder_new(CtParse *parse)
{
    CtDecoder *d = g_new0(CtDecoder, 1);
    d->parse = parse;
    d->first = g_byte_array_new();
    return d;
}

void ct_decoder_free(CtDecoder *decoder)
{
    if (!decoder)
        return;
    g_byte_array_unref(decoder->first);
    if (decoder->all)
        g_byte_array_unref(decoder->all);
    g_free(decoder);
}

const char *ct_decoder_binary(const CtDecoder *decoder)
{
    return decoder->binary;
}

static const char *known_binary(const guint8 *p, gsize len)
{
    static const struct {
        const char *magic;
        gsize len;
        const char *what;
    } table[] = {
        {"\x7f" "ELF", 4, "an ELF file, not read as text"},
        {"\x89PNG", 4, "an image, not read as text"},
        {"\xff\xd8\xff", 3, "an image, not read as text"},
        {"%PDF-", 5, "a PDF, not read as text"},
        {"\x93NUMPY", 6, "a NumPy array, not read as text"},
        {"SQLite format 3", 15, "an SQLite database, not read as text"},
        {"ftrt", 4, "a TensorRT engine, not read as text"},
        {"ptrt", 4, "a TensorRT engine, not read as text"},
        {"\x80\x02", 2, "a Python pickle, not read as text"},
        {"\x80\x03", 2, "a Python pickle, not read as text"},
        {"\x80\x04", 2, "a Python pickle, not read as text"},
        {"\x80\x05", 2, "a Python pickle, not read as text"},
        {"LPKSHHRH", 8, "a binary systemd journal: export it with journalctl --file"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
        if (len >= table[i].len && memcmp(p, table[i].magic, table[i].len) == 0)
            return table[i].what;
    }
    return NULL;
}

static Kind utf16_by_nuls(const guint8 *p, gsize len)
{
    gsize even = 0, odd = 0, n = MIN(len, 2048) & ~(gsize)1;
    for (gsize i = 0; i < n; i += 2) {
        even += p[i] == 0;
        odd += p[i + 1] == 0;
    }
    if (n < 8)
        return UNDECIDED;
    if (odd * 10 > n / 2 * 6 && even * 20 < n / 2)
        return UTF16_LE;
    if (even * 10 > n / 2 * 6 && odd * 20 < n / 2)
        return UTF16_BE;
    return UNDECIDED;
}

static gboolean mostly_control(const guint8 *p, gsize len)
{
    gsize odd = 0;
    for (gsize i = 0; i < len; i++)
        odd += (p[i] < 0x20 && !strchr("\t\n\r\f\b\a\x1b", p[i])) || p[i] == 0 || p[i] == 0x7f;
    if (odd * 10 > len)
        return TRUE;
    /* Dense bytes above ASCII that are neither UTF-8 nor a Chinese encoding. */
    gsize high = 0;
    for (gsize i = 0; i < len; i++)
        high += p[i] >= 0x80;
    return odd > 0 && high * 10 > len * 3 && !g_utf8_validate((const char *)p, (gssize)len, NULL) &&
           odd * 50 > len;
}

static void pass(CtDecoder *d, const char *data, gsize len)
{
    if (len > 0)
        ct_frame_text(d->parse, data, len);
}

static void append_unit(CtDecoder *d, GString *out, guint16 u)
{
    if (u >= 0xdc00 && u < 0xe000) {
        gunichar c = d->high ? 0x10000 + ((gunichar)(d->high - 0xd800) << 10) + (u - 0xdc00)
                             : 0xfffd;
        d->high = 0;
        g_string_append_unichar(out, c);
        return;
    }
    if (d->high)
        g_string_append_unichar(out, 0xfffd);
    d->high = 0;
    if (u >= 0xd800 && u < 0xdc00)
        d->high = u;
    else if (u != 0 && u != 0xfeff)
        g_string_append_unichar(out, u);
}

static void utf16(CtDecoder *d, const guint8 *p, gsize len)
{
    g_autoptr(GString) out = g_string_sized_new(len);
    for (gsize i = 0; i < len; i++) {
        if (!d->has_carry) {
            d->carry = p[i];
            d->has_carry = TRUE;
            continue;
        }
        d->has_carry = FALSE;
        append_unit(d, out, d->kind == UTF16_LE ? (guint16)(d->carry | p[i] << 8)
                                                : (guint16)(d->carry << 8 | p[i]));
    }
    pass(d, out->str, out->len);
}

static void keep(CtDecoder *d, const guint8 *p, gsize len)
{
    gsize room = CT_MAX_DOCUMENT - MIN(CT_MAX_DOCUMENT, (gsize)d->all->len);
    d->cut |= len > room;
    g_byte_array_append(d->all, p, (guint)MIN(len, room));
}

static const CtParser *reader_of(const guint8 *head, gsize len)
{
    const CtParser *const *all = ct_parsers();
    for (guint i = 0; all[i]; i++)
        if (all[i]->binary && all[i]->binary(head, len))
            return all[i];
    return NULL;
}

static void convert(CtDecoder *d, const guint8 *p, gsize len)
{
    if (d->kind == PARSED)
        keep(d, p, len);
    if (d->kind == UTF8)
        pass(d, (const char *)p, len);
    else if (d->kind == UTF16_LE || d->kind == UTF16_BE)
        utf16(d, p, len);
}

/* A byte order mark that does not lie: UTF-16 of any language has NULs (every blank, digit and line
 * end), and bytes that are nearly all printable ASCII are no UTF-16. */
static gboolean is_marked_utf16(const guint8 *p, gsize len, guint8 first, guint8 second)
{
    if (len < 2 || p[0] != first || p[1] != second)
        return FALSE;
    gsize nuls = 0, printable = 0;
    for (gsize i = 2; i < len; i++) {
        nuls += p[i] == 0;
        printable += (p[i] >= 0x20 && p[i] < 0x7f) || (p[i] >= '\t' && p[i] <= '\r');
    }
    return len == 2 || nuls * 20 >= len || printable * 100 < (len - 2) * 85;
}

/* Two bytes that look like the mark of UTF-16 before text that is none are no part of the text. */
static gsize skip_false_mark(const guint8 *p, gsize len)
{
    gboolean marked =
        len >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff));
    return marked ? 2 : 0;
}

static void settle(CtDecoder *d)
{
    const guint8 *p = d->first->data;
    gsize len = d->first->len, skip = 0;
    if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        d->kind = UTF8;
        skip = 3;
    } else if (is_marked_utf16(p, len, 0xff, 0xfe)) {
        d->kind = UTF16_LE;
        skip = 2;
    } else if (is_marked_utf16(p, len, 0xfe, 0xff)) {
        d->kind = UTF16_BE;
        skip = 2;
    } else {
        skip = skip_false_mark(p, len);
        d->binary = known_binary(p, len);
        d->reader = reader_of(p, len); /* also of kinds without a magic number of their own */
        d->kind = d->reader ? PARSED : d->binary ? BINARY : utf16_by_nuls(p, len);
        if (d->reader) {
            d->binary = NULL;
            d->all = g_byte_array_new();
        }
    }
    if (d->kind == UNDECIDED && mostly_control(p, len)) {
        d->binary = "binary, not read as text";
        d->kind = BINARY;
    }
    if (d->kind == UNDECIDED)
        d->kind = UTF8;
    convert(d, p + skip, len - skip);
    g_byte_array_set_size(d->first, 0);
}

/* A log that lost its pages in a power failure begins with nothing but NULs. */
static gsize skip_nuls(CtDecoder *d, const char *data, gsize len)
{
    gsize n = 0;
    if (d->first->len > 0)
        return 0;
    while (n < len && data[n] == '\0')
        n++;
    if (n < 64 && n < len && d->leading_nuls == 0)
        return 0;
    d->leading_nuls += n;
    return n;
}

void ct_decoder_feed(CtDecoder *d, const char *data, gsize len)
{
    if (d->kind != UNDECIDED) {
        convert(d, (const guint8 *)data, len);
        return;
    }
    gsize nuls = skip_nuls(d, data, len);
    data += nuls;
    len -= nuls;
    if (d->first->len == 0 && len >= DECIDE_FROM) {
        gsize n = DECIDE_FROM;
        g_byte_array_append(d->first, (const guint8 *)data, (guint)n);
        settle(d);
        convert(d, (const guint8 *)data + n, len - n);
        return;
    }
    g_byte_array_append(d->first, (const guint8 *)data, (guint)len);
    if (d->first->len >= DECIDE_FROM)
        settle(d);
}

void ct_decoder_end(CtDecoder *d)
{
    if (d->kind == UNDECIDED && d->first->len > 0)
        settle(d);
    if (d->kind == UNDECIDED && d->leading_nuls > 0)
        d->binary = "nothing but NUL bytes";
    if (d->kind == PARSED)
        ct_section_binary(d->parse, d->reader, d->all->data, d->all->len, d->cut);
    ct_frame_text_end(d->parse);
}
