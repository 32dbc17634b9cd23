/* SPDX-License-Identifier: Apache-2.0 */
/* What container runtimes, the journal and launchers of many processes put around a line. */
#include "parse/frame/envelope-private.h"

#include "parse/frame/json-line.h"

/* {"log":"text\n","stream":"stderr","time":"2024-05-14T03:12:08.123Z"} */
gboolean ct_peel_docker(CtPeelWork *w)
{
    CtJsonField f[2] = {{.key = "log"}, {.key = "time"}};
    if (!ct_text_starts(w->p, w->len, "{\"log\":") || !ct_json_fields(w->p, w->len, f, 2) ||
        !f[0].found || !f[0].is_string)
        return FALSE;
    CtStamp s;
    g_string_truncate(w->peeler->decoded, 0);
    ct_json_unescape(f[0].text, f[0].len, w->peeler->decoded);
    if (f[1].found && ct_stamp_parse(f[1].text, f[1].len, &s))
        ct_peel_stamp(w, &s);
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
gboolean ct_peel_journal(CtPeelWork *w)
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
        ct_peel_stamp(w, &s);
    }
    if (f[MONOTONIC].found && ct_text_int(f[MONOTONIC].text, f[MONOTONIC].len, &us) && us > 0 &&
        us < G_MAXINT64 / 1000) {
        CtStamp s = {.ns = us * 1000, .kind = CT_STAMP_BOOT};
        ct_peel_stamp(w, &s);
    }
    if (f[IDENTIFIER].found)
        ct_peel_tag(w, f[IDENTIFIER].text, f[IDENTIFIER].len);
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
gboolean ct_peel_cri(CtPeelWork *w)
{
    gsize skip = 0;
    if (ct_text_starts(w->p, w->len, "stderr ") || ct_text_starts(w->p, w->len, "stdout "))
        skip = 7;
    if (!skip || w->len < 9 || (w->p[7] != 'F' && w->p[7] != 'P') || w->p[8] != ' ')
        return FALSE;
    w->out->partial = w->p[7] == 'P';
    ct_peel_advance(w, 9);
    w->line->envelope = CT_ENVELOPE_CRI;
    w->out->not_kernel = TRUE;
    return TRUE;
}

gboolean ct_peel_digits(const char *text, gsize len)
{
    for (gsize i = 0; i < len; i++) {
        if (!g_ascii_isdigit(text[i]))
            return FALSE;
    }
    return len > 0;
}

/* "[rank0]: ", "[default3]:" of torchrun, "[1,3]<stderr>:" of mpirun. */
static gboolean bracket_rank(CtPeelWork *w)
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
    if (!digits || digits >= close || !ct_peel_digits(digits, (gsize)(close - digits)))
        return FALSE;
    if (w->p[1] == '1') {
        CtPeelWork tail = *w;
        ct_peel_advance(&tail, used);
        if (!ct_text_starts(tail.p, tail.len, "<std"))
            return FALSE;
        used += 8;
    }
    if (used >= w->len || w->p[used] != ':')
        return FALSE;
    ct_text_int(digits, (gsize)(close - digits), &w->line->rank);
    ct_peel_advance(w, used + 1);
    return TRUE;
}

/* "3: " of srun -l, only where the section is known to have it. */
static gboolean number_rank(CtPeelWork *w)
{
    gsize i = 0;
    while (i < w->len && i < 5 && (g_ascii_isdigit(w->p[i]) || w->p[i] == ' '))
        i++;
    if (!w->peeler->rank_number || i == 0 || i + 1 >= w->len || w->p[i] != ':')
        return FALSE;
    g_autofree char *digits = ct_text_strip(w->p, i);
    if (!ct_text_int(digits, strlen(digits), &w->line->rank))
        return FALSE;
    ct_peel_advance(w, i + 1);
    return TRUE;
}

/* "(RayWorkerWrapper pid=2211) ", "(raylet, ip=10.0.0.4) " */
static gboolean ray(CtPeelWork *w)
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
    ct_peel_advance(w, inner + 3);
    return TRUE;
}

/* "detector-1  | text" of docker compose; any name where the section is known to be compose. */
static gboolean compose(CtPeelWork *w)
{
    gsize n = 0, i;
    while (n < w->len && n < 64 && ct_peel_name_char(w->p[n]))
        n++;
    gboolean numbered = n > 2 && g_ascii_isdigit(w->p[n - 1]) &&
                        (w->p[n - 2] == '-' || w->p[n - 2] == '_' || g_ascii_isdigit(w->p[n - 2]));
    if (n < 2 || (!numbered && !w->peeler->compose) || !g_ascii_isalpha(w->p[0]))
        return FALSE;
    for (i = n; i < w->len && w->p[i] == ' '; i++)
        ;
    if (i == n || i + 1 >= w->len || w->p[i] != '|' || (w->p[i + 1] != ' '))
        return FALSE;
    ct_peel_tag(w, w->p, n);
    ct_peel_advance(w, i + 2);
    w->out->not_kernel = TRUE;
    return TRUE;
}

/* "[pod/detector-0/server] text" of kubectl logs --prefix. */
static gboolean pod(CtPeelWork *w)
{
    if (!ct_text_starts(w->p, w->len, "[pod/"))
        return FALSE;
    const char *close = memchr(w->p, ']', MIN(w->len, 200));
    if (!close)
        return FALSE;
    ct_peel_tag(w, w->p + 5, (gsize)(close - w->p) - 5);
    ct_peel_advance(w, (gsize)(close - w->p) + 1);
    w->out->not_kernel = TRUE;
    return TRUE;
}

gboolean ct_peel_launcher(CtPeelWork *w)
{
    if (!bracket_rank(w) && !number_rank(w) && !ray(w) && !compose(w) && !pod(w))
        return FALSE;
    w->line->envelope = CT_ENVELOPE_LAUNCHER;
    w->out->not_kernel = TRUE;
    ct_peel_blanks(w);
    return TRUE;
}
