/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/envelope-private.h"

#define MAX_LAYERS 8

CtPeeler *ct_peeler_new(void)
{
    CtPeeler *p = g_new0(CtPeeler, 1);
    p->decoded = g_string_new(NULL);
    p->plain = g_string_new(NULL);
    return p;
}

void ct_peeler_free(CtPeeler *peeler)
{
    if (!peeler)
        return;
    g_string_free(peeler->decoded, TRUE);
    g_string_free(peeler->plain, TRUE);
    g_free(peeler);
}

void ct_peeler_set_prefixes(CtPeeler *peeler, gboolean rank_number, gboolean compose)
{
    peeler->rank_number = rank_number;
    peeler->compose = compose;
}

/* Behind "ESC [": parameters, then one final byte. */
static gsize skip_csi(const char *text, gsize len, gsize i)
{
    while (i < len && text[i] != '\n' && ((guint8)text[i] < 0x40 || (guint8)text[i] > 0x7e))
        i++;
    return i < len && text[i] != '\n' ? i + 1 : i;
}

/* Behind "ESC ]": up to BEL or "ESC \\". */
static gsize skip_osc(const char *text, gsize len, gsize i)
{
    while (i < len && text[i] != '\a' && text[i] != '\x1b' && text[i] != '\n')
        i++;
    if (i < len && text[i] == '\a')
        return i + 1;
    return i + 1 < len && text[i] == '\x1b' && text[i + 1] == '\\' ? i + 2 : i;
}

gsize ct_strip_ansi(char *text, gsize len)
{
    gsize out = 0;
    for (gsize i = 0; i < len;) {
        if (text[i] != '\x1b') {
            text[out++] = text[i++];
            continue;
        }
        i++;
        if (i < len && text[i] == '[')
            i = skip_csi(text, len, i + 1);
        else if (i < len && text[i] == ']')
            i = skip_osc(text, len, i + 1);
        else if (i < len && text[i] != '\n')
            i++;
    }
    return out;
}

void ct_peel_tag(CtPeelWork *w, const char *tag, gsize len)
{
    len = MIN(len, CT_MAX_TAG);
    memcpy(w->peeler->tag, tag, len);
    w->peeler->tag[len] = '\0';
    w->line->tag = w->peeler->tag;
}

void ct_peel_stamp(CtPeelWork *w, const CtStamp *s)
{
    CtPeeled *out = w->out;
    switch (s->kind) {
    case CT_STAMP_WALL:
    case CT_STAMP_NO_YEAR:
        /* Of doubled stamps the one with more to say counts, else the first. */
        if (out->has_wall && !(out->no_year && s->kind == CT_STAMP_WALL) &&
            !(!out->has_zone && s->has_zone && s->kind == CT_STAMP_WALL))
            return;
        out->has_wall = TRUE;
        out->wall_ns = s->ns;
        out->no_year = s->kind == CT_STAMP_NO_YEAR;
        out->has_zone = s->has_zone;
        return;
    case CT_STAMP_BOOT:
        out->has_boot = TRUE;
        out->boot_ns = s->ns;
        return;
    case CT_STAMP_DAY_TIME:
        out->has_day = TRUE;
        out->day_ns = s->ns;
        return;
    case CT_STAMP_RELATIVE:
        out->has_relative = TRUE;
        out->relative_ns = s->ns;
        return;
    }
}

/* "<6>" in front of a kernel line, "<30>" in front of a syslog one. */
static gboolean priority(CtPeelWork *w)
{
    gsize n = 1;
    if (w->len < 4 || w->p[0] != '<')
        return FALSE;
    while (n < w->len && n < 4 && g_ascii_isdigit(w->p[n]))
        n++;
    if (n == 1 || n >= w->len || w->p[n] != '>')
        return FALSE;
    ct_peel_advance(w, n + 1);
    return TRUE;
}

/* "6,3973,227996636,-;text" of /dev/kmsg */
static gboolean kmsg(CtPeelWork *w)
{
    const char *semi = w->len > 8 && g_ascii_isdigit(*w->p) ? memchr(w->p, ';', MIN(w->len, 80))
                                                            : NULL;
    if (!semi)
        return FALSE;
    gint64 value[3];
    const char *p = w->p;
    for (int i = 0; i < 3; i++) {
        const char *comma = memchr(p, ',', (gsize)(semi - p));
        if (!comma || !ct_text_int(p, (gsize)(comma - p), &value[i]))
            return FALSE;
        p = comma + 1;
    }
    if (semi - p < 1 || (*p != '-' && *p != 'c' && *p != '+') || value[2] < 0 ||
        value[2] > G_MAXINT64 / 1000)
        return FALSE;
    CtStamp s = {.ns = value[2] * 1000, .kind = CT_STAMP_BOOT};
    ct_peel_stamp(w, &s);
    ct_peel_advance(w, (gsize)(semi - w->p) + 1);
    w->line->envelope = CT_ENVELOPE_KERNEL;
    w->out->kernel = TRUE;
    return TRUE;
}

/* "kern  :err   : " of dmesg -x, "10.0.0.11: kern: warning: " of cluster tools. */
static gboolean facility(CtPeelWork *w)
{
    CtPeelWork at = *w;
    gsize n = 0;
    if (at.len > 8 && g_ascii_isdigit(*at.p)) {
        while (n < at.len && n < 40 && (g_ascii_isxdigit(at.p[n]) || at.p[n] == '.' ||
                                        (at.p[n] == ':' && n + 1 < at.len && at.p[n + 1] != ' ')))
            n++;
        if (n < 7 || n + 1 >= at.len || at.p[n] != ':')
            return FALSE;
        ct_peel_advance(&at, n + 2);
    }
    if (!ct_text_starts(at.p, at.len, "kern"))
        return FALSE;
    ct_peel_advance(&at, 4);
    ct_peel_blanks(&at);
    if (at.len == 0 || *at.p != ':')
        return FALSE;
    ct_peel_advance(&at, 1);
    ct_peel_blanks(&at);
    const char *colon = memchr(at.p, ':', MIN(at.len, 12));
    if (!colon)
        return FALSE;
    ct_peel_advance(&at, (gsize)(colon - at.p) + 1);
    ct_peel_blanks(&at);
    *w = at;
    w->line->envelope = CT_ENVELOPE_KERNEL;
    w->out->kernel = TRUE;
    return TRUE;
}

/* "[ T123]" and "[    C0]" of printk.caller */
static void printk_caller(CtPeelWork *w)
{
    gsize i = 1;
    if (w->len < 4 || *w->p != '[')
        return;
    while (i < w->len && i < 8 && w->p[i] == ' ')
        i++;
    if (i >= w->len || (w->p[i] != 'T' && w->p[i] != 'C'))
        return;
    gsize digits = ++i;
    while (i < w->len && g_ascii_isdigit(w->p[i]))
        i++;
    if (i > digits && i < w->len && w->p[i] == ']')
        ct_peel_advance(w, i + 1);
}

/* What follows "[12.345678]" says whether the kernel wrote it: ROS goes on with a colon. */
static gboolean kernel_stamp(CtPeelWork *w)
{
    CtStamp s;
    if (!ct_stamp_kernel(w->p, w->len, &s))
        return FALSE;
    if (s.used < w->len && w->p[s.used] != ' ' && w->p[s.used] != '[' && w->p[s.used] != '\t')
        return FALSE;
    ct_peel_stamp(w, &s);
    ct_peel_advance(w, s.used);
    printk_caller(w);
    ct_peel_blanks(w);
    if (!w->out->not_kernel || w->line->envelope == CT_ENVELOPE_SYSLOG) {
        w->line->envelope = CT_ENVELOPE_KERNEL;
        w->out->kernel = TRUE;
        w->out->not_kernel = FALSE;
    }
    return TRUE;
}

/* "   12.000000 <    0.000012>" of dmesg -d. */
static gboolean boot_and_delta(CtPeelWork *w, const char *text, gsize len)
{
    double v;
    const char *open = memchr(text, '<', len);
    g_autofree char *t = open ? ct_text_strip(text, (gsize)(open - text)) : NULL;
    if (!t || !ct_text_double(t, strlen(t), &v) || v < 0 || v > 4e9)
        return FALSE;
    CtStamp stamp = {.ns = (gint64)(v * 1e9), .kind = CT_STAMP_BOOT};
    ct_peel_stamp(w, &stamp);
    return TRUE;
}

/* "[  +0.000012] text" and "[Oct10 03:06] text" of dmesg -H, "[12.0 <    0.000012>]" of dmesg -d. */
static gboolean kernel_human(CtPeelWork *w)
{
    const char *close = w->len >= 10 && *w->p == '[' ? memchr(w->p, ']', MIN(w->len, 40)) : NULL;
    gsize i = 1;
    while (i < w->len && w->p[i] == ' ')
        i++;
    if (!close || close <= w->p + i)
        return FALSE;
    const char *text = w->p + i;
    gsize n = (gsize)(close - text);
    gboolean delta = text[0] == '+' && memchr(text, '.', n);
    gboolean minute = n == 11 && g_ascii_isalpha(text[0]) && g_ascii_isdigit(text[3]) &&
                      text[5] == ' ' && text[8] == ':';
    gboolean both = text[n - 1] == '>' && g_ascii_isdigit(text[0]);
    if (!delta && !minute && !(both && boot_and_delta(w, text, n)))
        return FALSE;
    ct_peel_advance(w, (gsize)(close - w->p) + 1);
    ct_peel_blanks(w);
    w->line->envelope = CT_ENVELOPE_KERNEL;
    w->out->kernel = TRUE;
    return TRUE;
}

/* Upper or lower case, or one letter: what stands where syslog has a host. */
static gboolean is_level_word(const char *text, gsize len)
{
    static const char words[][9] = {"INFO",   "WARN",     "WARNING", "ERROR", "DEBUG",
                                    "FATAL",  "CRITICAL", "CRIT",    "TRACE", "NOTICE",
                                    "SEVERE", "E",        "W",       "I",     "D",
                                    "V",      "F"};
    char upper[9] = {0};
    if (len >= sizeof upper)
        return FALSE;
    for (gsize i = 0; i < len; i++)
        upper[i] = g_ascii_toupper(text[i]);
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        if (memcmp(words[i], upper, sizeof upper) == 0)
            return len > 1 || g_ascii_isupper(text[0]);
    }
    return FALSE;
}

typedef struct {
    const char *tag;
    gsize tag_len, used;
    gint64 pid;
} SyslogTag;

static gsize host_length(const CtPeelWork *w)
{
    gsize n = 0;
    while (n < w->len && n < 80 && (ct_peel_name_char(w->p[n]) || w->p[n] == ':'))
        n++;
    gboolean host = n > 0 && n < w->len && w->p[n] == ' ' && w->p[n - 1] != ':' &&
                    !is_level_word(w->p, n);
    return host ? n : 0;
}

/* "tag[pid]:" at `at`, a blank or the end behind it. */
static gboolean syslog_tag(const CtPeelWork *w, gsize at, SyslogTag *out)
{
    gsize i = at;
    while (i < w->len && i < at + 80 && (ct_peel_name_char(w->p[i]) || strchr("()+", w->p[i])))
        i++;
    *out = (SyslogTag){.tag = w->p + at, .tag_len = i - at, .pid = CT_NONE};
    if (i == at || i >= w->len || ct_peel_digits(out->tag, out->tag_len))
        return FALSE;
    if (w->p[i] == '[') {
        const char *close = memchr(w->p + i, ']', MIN(w->len - i, 12));
        if (!close || !ct_text_int(w->p + i + 1, (gsize)(close - w->p) - i - 1, &out->pid))
            return FALSE;
        i = (gsize)(close - w->p) + 1;
    }
    out->used = i + 1;
    return i < w->len && w->p[i] == ':' && (i + 1 == w->len || w->p[i + 1] == ' ');
}

/* "host tag[pid]: " behind a stamp. Strict, because application logs look similar: the tag has a
 * pid, or it is the kernel, or the stamp is one that only syslog writes. */
static gboolean syslog_header(CtPeelWork *w, gboolean strict)
{
    SyslogTag t;
    gsize host = host_length(w);
    if (host == 0 || !syslog_tag(w, host + 1, &t))
        return FALSE;
    gboolean kernel = t.tag_len == 6 && memcmp(t.tag, "kernel", 6) == 0;
    if (strict && !kernel && t.pid == CT_NONE)
        return FALSE;
    ct_peel_tag(w, t.tag, t.tag_len);
    if (t.pid != CT_NONE && !kernel)
        w->line->pid = t.pid;
    w->line->envelope = kernel ? CT_ENVELOPE_KERNEL : CT_ENVELOPE_SYSLOG;
    w->out->kernel = kernel;
    w->out->not_kernel = !kernel;
    ct_peel_advance(w, t.used);
    ct_peel_blanks(w);
    return TRUE;
}

/* dmesg -T: "[Thu Oct 10 03:06:53 2024] ", and the ISO form of util-linux, whose fraction of six
 * digits stands behind a comma. */
static gboolean written_by_dmesg(const char *p, const CtStamp *s)
{
    if (p[0] == '[')
        return s->kind == CT_STAMP_WALL &&
               (g_ascii_isalpha(p[1]) || (guchar)p[1] >= 0x80) && p[s->used - 1] == ']' &&
               g_ascii_isdigit(p[s->used - 2]);
    return s->used == 32 && p[10] == 'T' && p[19] == ',' && s->has_zone;
}

static gboolean stamp(CtPeelWork *w)
{
    CtStamp s;
    if (!ct_stamp_parse(w->p, w->len, &s))
        return FALSE;
    const char *at = w->p;
    ct_peel_stamp(w, &s);
    gboolean iso_t = s.used > 10 && at[0] != '[' && at[10] == 'T';
    gboolean glog = strchr("IWEFDV", at[0]) && g_ascii_isdigit(at[1]);
    gboolean dmesg = w->line->envelope == CT_ENVELOPE_NONE && written_by_dmesg(at, &s);
    ct_peel_advance(w, s.used);
    while (w->len > 0 && (*w->p == ',' || *w->p == ']' || *w->p == ':' || *w->p == '|'))
        ct_peel_advance(w, 1);
    ct_peel_blanks(w);
    if (dmesg) {
        w->line->envelope = CT_ENVELOPE_KERNEL;
        w->out->kernel = TRUE;
        printk_caller(w);
        ct_peel_blanks(w);
        return TRUE;
    }
    if (ct_peel_cri(w))
        return TRUE;
    if (!glog && w->line->envelope == CT_ENVELOPE_NONE &&
        (s.kind == CT_STAMP_WALL || s.kind == CT_STAMP_NO_YEAR))
        syslog_header(w, !(s.kind == CT_STAMP_NO_YEAR || iso_t));
    return TRUE;
}

static gboolean kernel_prefix(CtPeelWork *w, unsigned char first, gboolean outermost)
{
    gboolean date = w->len > 4 && (w->p[4] == '-' || w->p[4] == '/');
    if (g_ascii_isdigit(first))
        return !date && (kmsg(w) || facility(w));
    return first == 'k' && outermost && facility(w);
}

static gboolean peel_one(CtPeelWork *w)
{
    unsigned char c = (unsigned char)*w->p;
    gboolean outermost = w->line->envelope == CT_ENVELOPE_NONE;
    if (c == '{')
        return outermost && (ct_peel_docker(w) || ct_peel_journal(w));
    if (c == '<')
        return priority(w);
    if (c == '[')
        return kernel_stamp(w) || ct_peel_launcher(w) || stamp(w) || kernel_human(w);
    if (kernel_prefix(w, c, outermost) || stamp(w))
        return TRUE;
    return (g_ascii_isalnum(c) || c == '(') && ct_peel_launcher(w);
}

static void remove_colours(CtPeelWork *w)
{
    if (!memchr(w->p, '\x1b', w->len))
        return;
    GString *plain = w->peeler->plain;
    g_string_truncate(plain, 0);
    g_string_append_len(plain, w->p, (gssize)w->len);
    w->len = ct_strip_ansi(plain->str, plain->len);
    w->p = plain->str;
}

void ct_peel(CtPeeler *peeler, CtLine *line, CtPeeled *out)
{
    *out = (CtPeeled){0};
    line->envelope = CT_ENVELOPE_NONE;
    line->tag = NULL;
    line->pid = line->rank = CT_NONE;
    CtPeelWork w = {.peeler = peeler, .line = line, .out = out, .p = line->raw, .len = line->raw_len};
    remove_colours(&w);
    const char *start = w.p;
    gsize start_len = w.len;
    for (int i = 0; i < MAX_LAYERS && w.len > 0; i++) {
        if (!peel_one(&w))
            break;
        remove_colours(&w);
    }
    /* "[rank0]:" was a launcher's even where nothing else said so. */
    if (line->rank != CT_NONE && line->envelope == CT_ENVELOPE_NONE)
        line->envelope = CT_ENVELOPE_LAUNCHER;
    line->text = w.p;
    line->len = w.len;
    /* A line that is nothing but a stamp keeps it: it is what the line says. */
    if (w.len == 0 && line->envelope == CT_ENVELOPE_NONE) {
        line->text = start;
        line->len = start_len;
    }
}

gboolean ct_envelope_is_kernel(const char *raw, gsize len)
{
    CtStamp s;
    if (len < 8)
        return FALSE;
    if (raw[0] == '<' && g_ascii_isdigit(raw[1]) && raw[2] == '>' && raw[3] == '[')
        return ct_stamp_kernel(raw + 3, len - 3, &s);
    if (raw[0] != '[')
        return FALSE;
    if (ct_stamp_kernel(raw, len, &s))
        return s.used < len && raw[s.used] == ' ';
    gboolean name = g_ascii_isalpha(raw[1]) || (guchar)raw[1] >= 0x80; /* of a day */
    return name && ct_stamp_parse(raw, len, &s) && written_by_dmesg(raw, &s);
}

gboolean ct_envelope_is_json(const char *raw, gsize len)
{
    return len > 2 && raw[0] == '{' && raw[1] == '"' &&
           (ct_text_starts(raw, len, "{\"log\":") || ct_text_has(raw, len, "\"MESSAGE\""));
}
