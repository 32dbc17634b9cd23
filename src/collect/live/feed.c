/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/live/feed.h"

#include <string.h>

#define MAX_ATTACHED ((gsize)256 * 1024)           /* of one section */
#define MAX_ATTACHED_TOTAL ((gsize)8 * 1024 * 1024)

typedef struct {
    CtParse *parse;
    CtEvidence *ev;
    const CtLiveFeed *how;
    gsize attached;
    guint number;
} Feed;

static char *clean_text(const Feed *f, const char *text)
{
    if (!text)
        return NULL;
    if (!f->how || !f->how->clean)
        return g_strdup(text);
    GByteArray *bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)text, (guint)strlen(text));
    f->how->clean(bytes, f->how->user);
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    return (char *)g_byte_array_free(bytes, FALSE);
}

/* One line that a shell prompt would show. */
static GByteArray *with_prompt(const CtLiveSection *s)
{
    GByteArray *all = g_byte_array_sized_new(s->bytes->len + 200);
    if (s->command) {
        g_byte_array_append(all, (const guint8 *)"$ ", 2);
        for (const char *p = s->command; *p; p++)
            g_byte_array_append(all, (const guint8 *)(*p == '\n' ? " " : p), 1);
        g_byte_array_append(all, (const guint8 *)"\n", 1);
    }
    g_byte_array_append(all, s->bytes->data, s->bytes->len);
    return all;
}

static void attach(Feed *f, const char *path, const GByteArray *bytes)
{
    if (!f->how || !f->how->attach || bytes->len > MAX_ATTACHED ||
        f->attached + bytes->len > MAX_ATTACHED_TOTAL)
        return;
    g_autofree char *name = g_strdup_printf("capture/%04u-%s", f->number, path);
    for (char *p = name + 8; *p; p++)
        if (!g_ascii_isalnum(*p) && !strchr("-_.+", *p))
            *p = '_';
    name[MIN(strlen(name), 120)] = '\0';
    ct_evidence_add_attachment(f->ev, name, bytes->data, bytes->len);
    f->attached += bytes->len;
}

static void feed_section(Feed *f, const CtLiveSection *s)
{
    g_autofree char *path = clean_text(f, s->path), *note = clean_text(f, s->note);
    f->number++;
    if (!s->bytes->len) {
        ct_evidence_add_source(f->ev, &(CtSourceRow){.path = path, .format = "live",
                                                     .status = s->status, .bytes = CT_NONE,
                                                     .lines = CT_NONE, .note = note});
        return;
    }
    g_autoptr(GByteArray) all = with_prompt(s);
    if (f->how && f->how->clean)
        f->how->clean(all, f->how->user);
    ct_parse_begin(f->parse, path, "live");
    ct_parse_feed(f->parse, all->data, all->len);
    ct_parse_end(f->parse, s->status, note);
    attach(f, path, all);
}

void ct_live_feed(const CtLiveCapture *capture, CtParse *parse, CtEvidence *ev,
                  const CtLiveFeed *how)
{
    Feed f = {.parse = parse, .ev = ev, .how = how};
    for (guint i = 0; i < capture->sections->len; i++)
        feed_section(&f, g_ptr_array_index(capture->sections, i));
}
