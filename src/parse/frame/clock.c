/* SPDX-License-Identifier: Apache-2.0 */
/* Time of a section: which clock its stamps are on, and how the clocks of sections fit together. */
#include "parse/frame/frame-private.h"

#include <string.h>

#define NS G_GINT64_CONSTANT(1000000000)
#define STEP_BACK_NS (5 * NS) /* less is the disorder of several writers */
#define NEW_YEAR_NS (300 * 86400 * NS)

/* "rtc_cmos 00:03: setting system clock to 2026-04-19T12:34:41 UTC (1776602081)" */
static gboolean rtc_line(const CtLine *line, gint64 *out_ns)
{
    static const char words[] = "setting system clock to ";
    const char *at = memmem(line->text, line->len, words, sizeof words - 1);
    if (!at)
        return FALSE;
    CtStamp s;
    at += sizeof words - 1;
    if (!ct_stamp_parse(at, line->len - (gsize)(at - line->text), &s) || s.kind != CT_STAMP_WALL)
        return FALSE;
    *out_ns = s.ns;
    return TRUE;
}

static void note_both_clocks(CtClock *c, const CtLine *line, const CtPeeled *p)
{
    gint64 wall = p->wall_ns;
    if (!p->has_boot || (!p->has_wall && !(p->kernel && rtc_line(line, &wall))))
        return;
    c->boot_to_wall_ns = wall - p->boot_ns;
    c->has_boot_to_wall = TRUE;
}

/* The clock that a section's first stamp is on stays the section's; one that only counts from a
 * program's start or from midnight gives way to a better one. */
static void settle(CtClock *c, const CtPeeled *p, gboolean boot)
{
    gboolean open = !c->kind || (!c->fixed && c->kind[0] == 'n' && (p->has_wall || boot));
    if (!open)
        return;
    if (p->has_wall) {
        c->kind = "wall";
        c->no_year = p->no_year;
        c->has_zone = p->has_zone;
    } else if (boot) {
        c->kind = "boot";
    } else if (p->has_relative || p->has_day) {
        c->kind = "none";
    }
    c->day_only = !p->has_wall && !p->has_boot && !p->has_relative && p->has_day;
}

/* What the line says on the clock of its section. */
static gint64 pick(const CtEmit *s, CtClock *c, const CtPeeled *p)
{
    /* A single line of the kernel in a program's output does not put all of it on its clock. */
    settle(c, p, p->has_boot && (s->kernel_log || s->n_kernel >= s->n_other));
    if (!c->kind)
        return CT_TIME_UNKNOWN;
    switch (c->kind[0]) {
    case 'w':
        return p->has_wall && p->no_year == c->no_year ? p->wall_ns : CT_TIME_UNKNOWN;
    case 'b':
        return p->has_boot ? p->boot_ns : CT_TIME_UNKNOWN;
    default:
        return p->has_relative ? p->relative_ns : p->has_day ? p->day_ns : CT_TIME_UNKNOWN;
    }
}

static void step_back(CtEmit *s, const CtLine *line, gint64 from, gint64 to)
{
    g_autofree char *detail = g_strdup_printf("{\"step_ns\":%" G_GINT64_FORMAT "}", to - from);
    CtEventRow row = {.kind = "clock-step", .severity = CT_SEV_INFO, .t_ns = to, .name = "back",
                      .detail = detail};
    ct_emit_event(s, line, row);
}

gint64 ct_clock_line(CtEmit *section, const CtLine *line, const CtPeeled *peeled)
{
    CtClock *c = &section->clock;
    note_both_clocks(c, line, peeled);
    gint64 t = pick(section, c, peeled);
    if (t == CT_TIME_UNKNOWN)
        return t;
    if (c->no_year) {
        t += c->year_shift_ns;
        if (c->last_ns != CT_TIME_UNKNOWN && c->last_ns - t > NEW_YEAR_NS) {
            c->year_shift_ns += 365 * 86400 * NS;
            t += 365 * 86400 * NS;
        }
    }
    if (c->last_ns != CT_TIME_UNKNOWN && c->last_ns - t > STEP_BACK_NS)
        step_back(section, line, c->last_ns, t);
    c->last_ns = t;
    c->last_line = line->number;
    if (c->t0_ns == CT_TIME_UNKNOWN || t < c->t0_ns)
        c->t0_ns = t;
    if (c->t1_ns == CT_TIME_UNKNOWN || t > c->t1_ns)
        c->t1_ns = t;
    return t;
}
