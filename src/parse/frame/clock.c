/* SPDX-License-Identifier: Apache-2.0 */
/* Time of a section: which clock its stamps are on, and how the clocks of sections fit together. */
#include "parse/frame/frame-private.h"

#define NS G_GINT64_CONSTANT(1000000000)
#define STEP_BACK_NS (5 * NS) /* less is the disorder of several writers */
#define NEW_YEAR_NS (300 * 86400 * NS)

static void note_both_clocks(CtClock *c, const CtPeeled *p)
{
    if (!p->has_wall || !p->has_boot || p->no_year)
        return;
    c->boot_to_wall_ns = p->wall_ns - p->boot_ns;
    c->has_boot_to_wall = TRUE;
}

/* The clock that a section's first stamp is on stays the section's. */
static gint64 pick(CtClock *c, const CtPeeled *p)
{
    if (!c->kind || (!c->fixed && c->kind[0] == 'n' && (p->has_wall || p->has_boot))) {
        if (p->has_wall)
            c->kind = "wall";
        else if (p->has_boot)
            c->kind = "boot";
        else if (p->has_relative || p->has_day)
            c->kind = "none";
        if (p->has_wall) {
            c->no_year = p->no_year;
            c->has_zone = p->has_zone;
        }
    }
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
    note_both_clocks(c, peeled);
    gint64 t = pick(c, peeled);
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
    if (c->t0_ns == CT_TIME_UNKNOWN || t < c->t0_ns)
        c->t0_ns = t;
    if (c->t1_ns == CT_TIME_UNKNOWN || t > c->t1_ns)
        c->t1_ns = t;
    return t;
}

void ct_clock_align(CtParse *parse)
{
}
