/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/read.h"

#include <string.h>

bool ctw_sniff(const void *head, size_t len)
{
    return len >= 8 && memcmp(head, CTW_RUN_MAGIC, 8) == 0;
}

const char *ctw_problem_text(enum ctw_problem problem)
{
    switch (problem) {
    case CTW_OK:
        return "ok";
    case CTW_NO_RECORD:
        return "no record";
    case CTW_OTHER_VERSION:
        return "a record of another version of cutriage";
    case CTW_DAMAGED:
        return "the header of the record is damaged";
    case CTW_SHORT:
    default:
        return "the record ends inside its header";
    }
}

enum ctw_problem ctw_open(struct ctw_reader *r, const void *data, size_t len)
{
    memset(r, 0, sizeof *r);
    if (!ctw_sniff(data, len))
        return CTW_NO_RECORD;
    if (len < sizeof r->run)
        return CTW_SHORT;
    memcpy(&r->run, data, sizeof r->run);
    if (r->run.version != CTW_VERSION)
        return CTW_OTHER_VERSION;
    if (r->run.crc != ctw_crc(&r->run, offsetof(struct ctw_run, crc)) ||
        r->run.arena_bytes != ctw_layout().bytes || r->run.max_slots > CTW_MAX_SLOTS)
        return CTW_DAMAGED;
    r->run.command[sizeof r->run.command - 1] = 0;
    r->data = data;
    r->len = len;
    uint64_t present = len > CTW_RUN_BYTES ? (len - CTW_RUN_BYTES + r->run.arena_bytes - 1) /
                                            r->run.arena_bytes : 0;
    uint64_t n = r->run.claimed < r->run.max_slots ? r->run.claimed : r->run.max_slots;
    r->n_arenas = (unsigned)(n < present ? n : present);
    return CTW_OK;
}

/* The two were not read at one moment. */
static uint64_t difference(uint64_t made, uint64_t ended)
{
    return made > ended ? made - ended : 0;
}

static struct ctw_sum sum_of(const struct ctw_tally *t)
{
    return (struct ctw_sum){t->own.made + t->rest.made, t->own.made_bytes + t->rest.made_bytes,
                            t->own.ended + t->rest.ended, t->own.ended_bytes + t->rest.ended_bytes};
}

static void sum_up(struct ctw_process *p)
{
    struct ctw_ring ring;
    p->head.allocs = 0;
    for (unsigned k = 0; k < CTW_N_KINDS; k++) {
        struct ctw_sum s = sum_of(&p->head.tally[k]);
        p->head.live_bytes[k] = difference(s.made_bytes, s.ended_bytes);
        p->head.live_count[k] = difference(s.made, s.ended);
        p->head.allocs += k < CTW_N_MEM ? s.made : 0;
    }
    for (unsigned i = 0; i < CTW_RINGS; i++)
        if (ctw_get_ring(p, i, &ring))
            p->head.frees += ring.frees;
}

enum ctw_problem ctw_process_at(const struct ctw_reader *r, unsigned index, struct ctw_process *out)
{
    memset(out, 0, sizeof *out);
    if (index >= r->n_arenas)
        return CTW_SHORT;
    uint64_t at = CTW_RUN_BYTES + index * r->run.arena_bytes;
    if (at >= r->len || r->len - at < sizeof out->head)
        return CTW_SHORT;
    out->base = r->data + at;
    memcpy(&out->head, out->base, sizeof out->head);
    if (memcmp(out->head.magic, CTW_ARENA_MAGIC, 8) != 0)
        return CTW_NO_RECORD;
    if (out->head.version != CTW_VERSION)
        return CTW_OTHER_VERSION;
    if (out->head.crc != ctw_crc(&out->head, offsetof(struct ctw_arena, crc)))
        return CTW_DAMAGED;
    out->head.exe[sizeof out->head.exe - 1] = 0;
    out->head.comm[sizeof out->head.comm - 1] = 0;
    out->layout = ctw_layout();
    uint64_t left = r->len - at;
    out->len = (size_t)(left < out->layout.bytes ? left : out->layout.bytes);
    sum_up(out);
    return CTW_OK;
}

static bool get(const struct ctw_process *p, uint64_t table, uint64_t index, uint64_t count,
                void *out, size_t size)
{
    if (index >= count)
        return false;
    uint64_t at = table + index * size;
    if (at > p->len || p->len - at < size)
        return false;
    memcpy(out, p->base + at, size);
    return true;
}

bool ctw_get_hook(const struct ctw_process *p, unsigned i, struct ctw_hook *out)
{
    if (i >= p->head.n_hooks || !get(p, p->layout.off_hooks, i, CTW_HOOKS, out, sizeof *out))
        return false;
    out->name[sizeof out->name - 1] = 0;
    if (out->cls >= CTW_N_CLASSES)
        out->cls = CTW_CLASS_OTHER;
    return out->name[0] != 0;
}

bool ctw_get_ring(const struct ctw_process *p, unsigned i, struct ctw_ring *out)
{
    if (!get(p, p->layout.off_rings, i, CTW_RINGS, out, sizeof *out) || out->owners == 0)
        return false;
    out->comm[sizeof out->comm - 1] = 0;
    return out->base <= out->head;
}

bool ctw_get_entry(const struct ctw_process *p, unsigned ring, uint64_t back, struct ctw_entry *out)
{
    struct ctw_ring r;
    if (!ctw_get_ring(p, ring, &r) || back >= CTW_RING_ENTRIES || back >= r.head - r.base)
        return false;
    uint64_t number = r.head - 1 - back;
    uint64_t slot = (uint64_t)ring * CTW_RING_ENTRIES + number % CTW_RING_ENTRIES;
    return get(p, p->layout.off_entries, slot, (uint64_t)CTW_RINGS * CTW_RING_ENTRIES, out,
               sizeof *out) && out->seq == number + 1;
}

bool ctw_get_live(const struct ctw_process *p, unsigned i, uint64_t *out_key, struct ctw_live *out)
{
    uint64_t key;
    if (!get(p, p->layout.off_keys, i, CTW_LIVE, &key, sizeof key) || key <= 1 ||
        !get(p, p->layout.off_live, i, CTW_LIVE, out, sizeof *out) || out->kind >= CTW_N_KINDS)
        return false;
    *out_key = key;
    return true;
}

bool ctw_get_site(const struct ctw_process *p, unsigned i, struct ctw_site *out)
{
    if (!get(p, p->layout.off_sites, i, CTW_SITES, out, sizeof *out) || out->key <= 1 ||
        out->kind >= CTW_N_KINDS)
        return false;
    struct ctw_sum s = sum_of(&out->tally);
    out->allocs = s.made;
    out->frees = s.ended;
    out->total_bytes = s.made_bytes;
    out->live_bytes = difference(s.made_bytes, s.ended_bytes);
    out->live_count = difference(s.made, s.ended);
    if (out->n_addr > CTW_SITE_ADDRS)
        out->n_addr = CTW_SITE_ADDRS;
    return true;
}

bool ctw_get_freed(const struct ctw_process *p, unsigned i, struct ctw_freed *out)
{
    return get(p, p->layout.off_freed, i, CTW_FREED, out, sizeof *out) && out->ptr != 0;
}

bool ctw_get_slice(const struct ctw_process *p, unsigned i, struct ctw_slice *out)
{
    return get(p, p->layout.off_slices, i, CTW_SITES, out, sizeof *out) && out->len > 0 &&
           out->len <= CTW_SLICE_BYTES;
}

bool ctw_get_outside(const struct ctw_reader *r, unsigned level, unsigned i,
                     struct ctw_outside *out)
{
    uint64_t at = CTW_PAGE + ((uint64_t)level * CTW_OUTSIDE + i) * sizeof *out;
    if (level >= CTW_OUTSIDE_LEVELS || i >= CTW_OUTSIDE || at > r->len || r->len - at < sizeof *out)
        return false;
    memcpy(out, r->data + at, sizeof *out);
    return out->t_ns > 0;
}

bool ctw_get_module(const struct ctw_process *p, unsigned i, struct ctw_module *out)
{
    if (!get(p, p->layout.off_modules, i, CTW_MODULES, out, sizeof *out) || out->name == 0)
        return false;
    if (out->build_id_len > sizeof out->build_id)
        out->build_id_len = 0;
    return out->lo < out->hi;
}

bool ctw_get_error(const struct ctw_process *p, unsigned i, struct ctw_error *out)
{
    return get(p, p->layout.off_errors, i, CTW_ERRORS, out, sizeof *out) && out->key != 0;
}

bool ctw_get_sample(const struct ctw_process *p, unsigned level, unsigned i, struct ctw_sample *out)
{
    return level < CTW_LEVELS && i < CTW_LEVEL_SAMPLES &&
           get(p, p->layout.off_samples, (uint64_t)level * CTW_LEVEL_SAMPLES + i,
               CTW_LEVELS * CTW_LEVEL_SAMPLES, out, sizeof *out) && out->t_ns > 0;
}

bool ctw_get_freeze(const struct ctw_process *p, unsigned i, struct ctw_freeze *out)
{
    return get(p, p->layout.off_freezes, i, CTW_FREEZES, out, sizeof *out) && out->state == 2;
}

const char *ctw_get_string(const struct ctw_process *p, uint32_t id)
{
    struct ctw_string s;
    uint64_t at = p->layout.off_strings + id;
    if (id == 0 || id % 8 != 0 || id > CTW_STRINGS_BYTES - sizeof s || at > p->len ||
        p->len - at < sizeof s)
        return NULL;
    memcpy(&s, p->base + at, sizeof s);
    if (s.len > CTW_STRING_MAX || id + sizeof s + s.len + 1 > CTW_STRINGS_BYTES ||
        p->len - at < sizeof s + s.len + 1)
        return NULL;
    const char *text = (const char *)p->base + at + sizeof s;
    if (text[s.len] != 0 || memchr(text, 0, s.len) || ctw_crc(text, s.len) != s.crc)
        return NULL;
    return text;
}
