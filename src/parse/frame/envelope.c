/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/envelope.h"

#include <string.h>

#include "parse/frame/json-line.h"

#define MAX_LAYERS 8
#define MAX_TAG 96

struct CtPeeler {
    GString *decoded; /* message of a JSON envelope */
    GString *plain;   /* without colours */
    char tag[MAX_TAG + 1];
    gboolean rank_number, compose;
};

typedef struct {
    CtPeeler *peeler;
    CtLine *line;
    CtPeeled *out;
    const char *p;
    gsize len;
} Work;

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

gsize ct_strip_ansi(char *text, gsize len)
{
    gsize out = 0;
    for (gsize i = 0; i < len;) {
        if (text[i] != '\x1b') {
            text[out++] = text[i++];
            continue;
        }
        i++;
        if (i < len && text[i] == '[') { /* CSI: parameters, then one final byte */
            for (i++; i < len && ((guint8)text[i] < 0x40 || (guint8)text[i] > 0x7e); i++) {
                if (text[i] == '\n')
                    break;
            }
            if (i < len && text[i] != '\n')
                i++;
        } else if (i < len && text[i] == ']') { /* OSC: up to BEL or ESC \ */
            for (i++; i < len && text[i] != '\a' && text[i] != '\x1b' && text[i] != '\n'; i++)
                ;
            if (i < len && text[i] == '\a')
                i++;
            else if (i + 1 < len && text[i] == '\x1b' && text[i + 1] == '\\')
                i += 2;
        } else if (i < len && text[i] != '\n') {
            i++;
        }
    }
    return out;
}

static void advance(Work *w, gsize n)
{
    w->p += n;
    w->len -= n;
}

static void skip_blanks(Work *w)
{
    while (w->len > 0 && (*w->p == ' ' || *w->p == '\t'))
        advance(w, 1);
}

static void set_tag(Work *w, const char *tag, gsize len)
{
    len = MIN(len, MAX_TAG);
    memcpy(w->peeler->tag, tag, len);
    w->peeler->tag[len] = '\0';
    w->line->tag = w->peeler->tag;
}

static void note_stamp(CtPeeled *out, const CtStamp *s)
{
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

/* {"log":"text\n","stream":"stderr","time":"2024-05-14T03:12:08.123Z"} */
static gboolean docker(Work *w)
{
    CtJsonField f[2] = {{.key = "log"}, {.key = "time"}};
    if (!ct_text_starts(w->p, w->len, "{\"log\":") || !ct_json_fields(w->p, w->len, f, 2) ||
        !f[0].found || !f[0].is_string)
        return FALSE;
    CtStamp s;
    g_string_truncate(w->peeler->decoded, 0);
    ct_json_unescape(f[0].text, f[0].len, w->peeler->decoded);
    if (f[1].found && ct_stamp_parse(f[1].text, f[1].len, &s))
        note_stamp(w->out, &s);
    w->p = w->peeler->decoded->str;
    w->len = w->peeler->decoded->len;
    /* Docker cuts lines at 16 KiB; only the last piece ends with a line feed. */
    w->out->partial = w->len >= 16000 && w->p[w->len - 1] != '\n';
    while (w->len > 0 && (w->p[w->len - 1] == '\n' || w->p[w->len - 1] == '\r'))
        w->len--;
    w->line->envelope = CT_ENVELOPE_DOCKER;
    w->out->not_kernel = TRUE;
    return TRUE;
}

static void journal_message(const CtJsonField *f, GString *out)
{
    if (f->is_string)
        ct_json_unescape(f->text, f->len, out);
    else if (f->len > 0 && f->text[0] == '[') /* bytes that are no UTF-8: an array of numbers */
        ct_json_bytes(f->text, f->len, out);
}

/* One object of journalctl -o json. */
static gboolean journal(Work *w)
{
    enum { MESSAGE, REAL, MONOTONIC, TRANSPORT, IDENTIFIER, PID, N };
    CtJsonField f[N] = {{.key = "MESSAGE"},    {.key = "__REALTIME_TIMESTAMP"},
                        {.key = "__MONOTONIC_TIMESTAMP"}, {.key = "_TRANSPORT"},
                        {.key = "SYSLOG_IDENTIFIER"},     {.key = "_PID"}};
    gint64 us;
    if (*w->p != '{' || !ct_text_has(w->p, w->len, "\"MESSAGE\"") ||
        !ct_json_fields(w->p, w->len, f, N) || !f[MESSAGE].found)
        return FALSE;
    g_string_truncate(w->peeler->decoded, 0);
    journal_message(&f[MESSAGE], w->peeler->decoded);
    if (f[REAL].found && ct_text_int(f[REAL].text, f[REAL].len, &us) && us > 0 &&
        us < G_MAXINT64 / 1000) {
        CtStamp s = {.ns = us * 1000, .kind = CT_STAMP_WALL, .has_zone = TRUE};
        note_stamp(w->out, &s);
    }
    if (f[MONOTONIC].found && ct_text_int(f[MONOTONIC].text, f[MONOTONIC].len, &us) && us > 0 &&
        us < G_MAXINT64 / 1000) {
        CtStamp s = {.ns = us * 1000, .kind = CT_STAMP_BOOT};
        note_stamp(w->out, &s);
    }
    if (f[IDENTIFIER].found)
        set_tag(w, f[IDENTIFIER].text, f[IDENTIFIER].len);
    if (f[PID].found)
        ct_text_int(f[PID].text, f[PID].len, &w->line->pid);
    gboolean kernel = f[TRANSPORT].found && ct_text_starts(f[TRANSPORT].text, f[TRANSPORT].len,
                                                           "kernel");
    w->line->envelope = kernel ? CT_ENVELOPE_KERNEL : CT_ENVELOPE_JOURNAL;
    w->out->kernel = kernel;
    w->out->not_kernel = !kernel;
    w->p = w->peeler->decoded->str;
    w->len = w->peeler->decoded->len;
    return TRUE;
}

/* " stderr F " behind the stamp of a CRI line. */
static gboolean cri(Work *w)
{
    gsize skip = 0;
    if (ct_text_starts(w->p, w->len, "stderr ") || ct_text_starts(w->p, w->len, "stdout "))
        skip = 7;
    if (!skip || w->len < 9 || (w->p[7] != 'F' && w->p[7] != 'P') || w->p[8] != ' ')
        return FALSE;
    w->out->partial = w->p[7] == 'P';
    advance(w, 9);
    w->line->envelope = CT_ENVELOPE_CRI;
    w->out->not_kernel = TRUE;
    return TRUE;
}

static gboolean all_digits(const char *text, gsize len)
{
    for (gsize i = 0; i < len; i++) {
        if (!g_ascii_isdigit(text[i]))
            return FALSE;
    }
    return len > 0;
}

/* "[rank0]: ", "[default3]:" of torchrun, "[1,3]<stderr>:" of mpirun. */
static gboolean bracket_rank(Work *w)
{
    const char *close = w->len > 4 && w->p[0] == '[' ? memchr(w->p, ']', MIN(w->len, 20)) : NULL;
    if (!close)
        return FALSE;
    const char *digits = NULL;
    gsize used = (gsize)(close - w->p) + 1;
    if (ct_text_starts(w->p, w->len, "[rank"))
        digits = w->p + 5;
    else if (ct_text_starts(w->p, w->len, "[default"))
        digits = w->p + 8;
    else if (ct_text_starts(w->p, w->len, "[1,"))
        digits = w->p + 3;
    if (!digits || digits >= close || !all_digits(digits, (gsize)(close - digits)))
        return FALSE;
    if (w->p[1] == '1') {
        Work tail = *w;
        advance(&tail, used);
        if (!ct_text_starts(tail.p, tail.len, "<std"))
            return FALSE;
        used += 8;
    }
    if (used >= w->len || w->p[used] != ':')
        return FALSE;
    ct_text_int(digits, (gsize)(close - digits), &w->line->rank);
    advance(w, used + 1);
    return TRUE;
}

/* "3: " of srun -l, only where the section is known to have it. */
static gboolean number_rank(Work *w)
{
    gsize i = 0;
    while (i < w->len && i < 5 && (g_ascii_isdigit(w->p[i]) || w->p[i] == ' '))
        i++;
    if (!w->peeler->rank_number || i == 0 || i + 1 >= w->len || w->p[i] != ':')
        return FALSE;
    g_autofree char *digits = ct_text_strip(w->p, i);
    if (!ct_text_int(digits, strlen(digits), &w->line->rank))
        return FALSE;
    advance(w, i + 1);
    return TRUE;
}

/* "(RayWorkerWrapper pid=2211) ", "(raylet, ip=10.0.0.4) " */
static gboolean ray(Work *w)
{
    const char *close = w->len > 6 && w->p[0] == '(' ? memchr(w->p, ')', MIN(w->len, 96)) : NULL;
    if (!close || close + 1 >= w->p + w->len || close[1] != ' ')
        return FALSE;
    gsize inner = (gsize)(close - w->p) - 1;
    const char *pid = memmem(w->p + 1, inner, "pid=", 4);
    if (!pid && !ct_text_has(w->p + 1, inner, " ip="))
        return FALSE;
    if (pid) {
        gsize n = 0;
        while (pid + 4 + n < close && g_ascii_isdigit(pid[4 + n]))
            n++;
        ct_text_int(pid + 4, n, &w->line->pid);
    }
    advance(w, inner + 3);
    return TRUE;
}

static gboolean name_char(char c)
{
    return g_ascii_isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == '@';
}

/* "detector-1  | text" of docker compose; any name where the section is known to be compose. */
static gboolean compose(Work *w)
{
    gsize n = 0, i;
    while (n < w->len && n < 64 && name_char(w->p[n]))
        n++;
    gboolean numbered = n > 2 && g_ascii_isdigit(w->p[n - 1]) &&
                        (w->p[n - 2] == '-' || w->p[n - 2] == '_' || g_ascii_isdigit(w->p[n - 2]));
    if (n < 2 || (!numbered && !w->peeler->compose) || !g_ascii_isalpha(w->p[0]))
        return FALSE;
    for (i = n; i < w->len && w->p[i] == ' '; i++)
        ;
    if (i == n || i + 1 >= w->len || w->p[i] != '|' || (w->p[i + 1] != ' '))
        return FALSE;
    set_tag(w, w->p, n);
    advance(w, i + 2);
    w->out->not_kernel = TRUE;
    return TRUE;
}

/* "[pod/detector-0/server] text" of kubectl logs --prefix. */
static gboolean pod(Work *w)
{
    if (!ct_text_starts(w->p, w->len, "[pod/"))
        return FALSE;
    const char *close = memchr(w->p, ']', MIN(w->len, 200));
    if (!close)
        return FALSE;
    set_tag(w, w->p + 5, (gsize)(close - w->p) - 5);
    advance(w, (gsize)(close - w->p) + 1);
    w->out->not_kernel = TRUE;
    return TRUE;
}

static gboolean launcher(Work *w)
{
    if (!bracket_rank(w) && !number_rank(w) && !ray(w) && !compose(w) && !pod(w))
        return FALSE;
    w->line->envelope = CT_ENVELOPE_LAUNCHER;
    w->out->not_kernel = TRUE;
    skip_blanks(w);
    return TRUE;
}

/* "<6>" in front of a kernel line, "<30>" in front of a syslog one. */
static gboolean priority(Work *w)
{
    gsize n = 1;
    if (w->len < 4 || w->p[0] != '<')
        return FALSE;
    while (n < w->len && n < 4 && g_ascii_isdigit(w->p[n]))
        n++;
    if (n == 1 || n >= w->len || w->p[n] != '>')
        return FALSE;
    advance(w, n + 1);
    return TRUE;
}

/* "6,3973,227996636,-;text" of /dev/kmsg */
static gboolean kmsg(Work *w)
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
    note_stamp(w->out, &s);
    advance(w, (gsize)(semi - w->p) + 1);
    w->line->envelope = CT_ENVELOPE_KERNEL;
    w->out->kernel = TRUE;
    return TRUE;
}

/* "kern  :err   : " of dmesg -x, "10.0.0.11: kern: warning: " of cluster tools. */
static gboolean facility(Work *w)
{
    Work at = *w;
    gsize n = 0;
    if (at.len > 8 && g_ascii_isdigit(*at.p)) {
        while (n < at.len && n < 40 && (g_ascii_isxdigit(at.p[n]) || at.p[n] == '.' ||
                                        (at.p[n] == ':' && n + 1 < at.len && at.p[n + 1] != ' ')))
            n++;
        if (n < 7 || n + 1 >= at.len || at.p[n] != ':')
            return FALSE;
        advance(&at, n + 2);
    }
    if (!ct_text_starts(at.p, at.len, "kern"))
        return FALSE;
    advance(&at, 4);
    skip_blanks(&at);
    if (at.len == 0 || *at.p != ':')
        return FALSE;
    advance(&at, 1);
    skip_blanks(&at);
    const char *colon = memchr(at.p, ':', MIN(at.len, 12));
    if (!colon)
        return FALSE;
    advance(&at, (gsize)(colon - at.p) + 1);
    skip_blanks(&at);
    *w = at;
    w->line->envelope = CT_ENVELOPE_KERNEL;
    w->out->kernel = TRUE;
    return TRUE;
}

/* "[ T123]" and "[    C0]" of printk.caller */
static void printk_caller(Work *w)
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
        advance(w, i + 1);
}

/* What follows "[12.345678]" says whether the kernel wrote it: ROS goes on with a colon. */
static gboolean kernel_stamp(Work *w)
{
    CtStamp s;
    if (!ct_stamp_kernel(w->p, w->len, &s))
        return FALSE;
    if (s.used < w->len && w->p[s.used] != ' ' && w->p[s.used] != '[' && w->p[s.used] != '\t')
        return FALSE;
    note_stamp(w->out, &s);
    advance(w, s.used);
    printk_caller(w);
    skip_blanks(w);
    if (!w->out->not_kernel || w->line->envelope == CT_ENVELOPE_SYSLOG) {
        w->line->envelope = CT_ENVELOPE_KERNEL;
        w->out->kernel = TRUE;
        w->out->not_kernel = FALSE;
    }
    return TRUE;
}

/* "[  +0.000012] text" and "[Oct10 03:06] text" of dmesg -H, "<   0.000012>]" of dmesg -d. */
static gboolean kernel_human(Work *w)
{
    gsize i = 1;
    if (w->len < 10 || *w->p != '[')
        return FALSE;
    while (i < w->len && w->p[i] == ' ')
        i++;
    const char *close = memchr(w->p, ']', MIN(w->len, 40));
    if (!close || close <= w->p + i)
        return FALSE;
    gsize n = (gsize)(close - w->p) - i;
    gboolean delta = w->p[i] == '+' && ct_text_has(w->p + i, n, ".");
    gboolean minute = n == 11 && g_ascii_isalpha(w->p[i]) && g_ascii_isdigit(w->p[i + 3]) &&
                      w->p[i + 5] == ' ' && w->p[i + 8] == ':';
    gboolean both = w->p[close - w->p - 1] == '>' && g_ascii_isdigit(w->p[i]);
    if (!delta && !minute && !both)
        return FALSE;
    if (both) {
        gint64 s;
        double v;
        const char *open = memchr(w->p + i, '<', n);
        g_autofree char *t = open ? ct_text_strip(w->p + i, (gsize)(open - w->p) - i) : NULL;
        if (!t || !ct_text_double(t, strlen(t), &v) || v < 0 || v > 4e9)
            return FALSE;
        s = (gint64)(v * 1e9);
        CtStamp stamp = {.ns = s, .kind = CT_STAMP_BOOT};
        note_stamp(w->out, &stamp);
    }
    advance(w, (gsize)(close - w->p) + 1);
    skip_blanks(w);
    w->line->envelope = CT_ENVELOPE_KERNEL;
    w->out->kernel = TRUE;
    return TRUE;
}

static gboolean is_level_word(const char *text, gsize len)
{
    static const char *const words[] = {"INFO", "WARN", "WARNING", "ERROR", "DEBUG", "FATAL",
                                        "TRACE", "NOTICE", "CRITICAL", "CRIT", "SEVERE", "E", "W",
                                        "I", "D", "V", "F", "info", "warn", "warning", "error",
                                        "debug", "fatal", "trace", "notice", "critical"};
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strlen(words[i]) == len && memcmp(words[i], text, len) == 0)
            return TRUE;
    }
    return FALSE;
}

/* "host tag[pid]: " behind a stamp. Strict, because application logs look similar: the tag has a
 * pid, or it is the kernel, or the stamp is one that only syslog writes. */
static gboolean syslog_header(Work *w, gboolean strict)
{
    gsize host = 0, tag, i;
    while (host < w->len && host < 80 && (name_char(w->p[host]) || w->p[host] == ':'))
        host++;
    if (host == 0 || host >= w->len || w->p[host] != ' ' || w->p[host - 1] == ':' ||
        is_level_word(w->p, host))
        return FALSE;
    tag = host + 1;
    for (i = tag; i < w->len && i < tag + 80; i++) {
        char c = w->p[i];
        if (!name_char(c) && c != '(' && c != ')' && c != '+')
            break;
    }
    gsize tag_len = i - tag;
    if (tag_len == 0 || i >= w->len)
        return FALSE;
    gint64 pid = CT_NONE;
    if (w->p[i] == '[') {
        const char *close = memchr(w->p + i, ']', MIN(w->len - i, 12));
        if (!close || !ct_text_int(w->p + i + 1, (gsize)(close - w->p) - i - 1, &pid))
            return FALSE;
        i = (gsize)(close - w->p) + 1;
    }
    if (i >= w->len || w->p[i] != ':' || (i + 1 < w->len && w->p[i + 1] != ' ') ||
        all_digits(w->p + tag, tag_len))
        return FALSE;
    gboolean kernel = tag_len == 6 && memcmp(w->p + tag, "kernel", 6) == 0;
    if (strict && !kernel && pid == CT_NONE)
        return FALSE;
    set_tag(w, w->p + tag, tag_len);
    if (pid != CT_NONE && !kernel)
        w->line->pid = pid;
    w->line->envelope = kernel ? CT_ENVELOPE_KERNEL : CT_ENVELOPE_SYSLOG;
    w->out->kernel = kernel;
    w->out->not_kernel = !kernel;
    advance(w, i + 1);
    skip_blanks(w);
    return TRUE;
}

/* dmesg -T: "[Thu Oct 10 03:06:53 2024] ", and the ISO form of util-linux, whose fraction of six
 * digits stands behind a comma. */
static gboolean written_by_dmesg(const char *p, const CtStamp *s)
{
    if (p[0] == '[')
        return s->kind == CT_STAMP_WALL && g_ascii_isalpha(p[1]) && p[s->used - 1] == ']' &&
               g_ascii_isdigit(p[s->used - 2]);
    return s->used == 32 && p[10] == 'T' && p[19] == ',' && s->has_zone;
}

static gboolean stamp(Work *w)
{
    CtStamp s;
    if (!ct_stamp_parse(w->p, w->len, &s))
        return FALSE;
    const char *at = w->p;
    note_stamp(w->out, &s);
    gboolean iso_t = s.used > 10 && at[0] != '[' && at[10] == 'T';
    gboolean glog = strchr("IWEFDV", at[0]) && g_ascii_isdigit(at[1]);
    gboolean dmesg = w->line->envelope == CT_ENVELOPE_NONE && written_by_dmesg(at, &s);
    advance(w, s.used);
    while (w->len > 0 && (*w->p == ',' || *w->p == ']' || *w->p == ':' || *w->p == '|'))
        advance(w, 1);
    skip_blanks(w);
    if (dmesg) {
        w->line->envelope = CT_ENVELOPE_KERNEL;
        w->out->kernel = TRUE;
        printk_caller(w);
        skip_blanks(w);
        return TRUE;
    }
    if (cri(w))
        return TRUE;
    if (!glog && w->line->envelope == CT_ENVELOPE_NONE &&
        (s.kind == CT_STAMP_WALL || s.kind == CT_STAMP_NO_YEAR))
        syslog_header(w, !(s.kind == CT_STAMP_NO_YEAR || iso_t));
    return TRUE;
}

static gboolean peel_one(Work *w)
{
    unsigned char c = (unsigned char)*w->p;
    gboolean outermost = w->line->envelope == CT_ENVELOPE_NONE;
    if (c == '{')
        return outermost && (docker(w) || journal(w));
    if (c == '<')
        return priority(w);
    if (c == '[')
        return kernel_stamp(w) || launcher(w) || stamp(w) || kernel_human(w);
    if (g_ascii_isdigit(c) && (kmsg(w) || facility(w)))
        return TRUE;
    if (c == 'k' && outermost && facility(w))
        return TRUE;
    return stamp(w) || (g_ascii_isalnum(c) || c == '(' ? launcher(w) : FALSE);
}

static void remove_colours(Work *w)
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
    Work w = {.peeler = peeler, .line = line, .out = out, .p = line->raw, .len = line->raw_len};
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
    return g_ascii_isalpha(raw[1]) && ct_stamp_parse(raw, len, &s) && written_by_dmesg(raw, &s);
}

gboolean ct_envelope_is_json(const char *raw, gsize len)
{
    return len > 2 && raw[0] == '{' && raw[1] == '"' &&
           (ct_text_starts(raw, len, "{\"log\":") || ct_text_has(raw, len, "\"MESSAGE\""));
}
