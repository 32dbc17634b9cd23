/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of records: what is whole is read, what is not is refused with its reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/read.h"

static uint8_t *make(size_t *out_len)
{
    struct ctw_layout l = ctw_layout();
    size_t len = CTW_RUN_BYTES + l.bytes;
    uint8_t *data = calloc(1, len);
    struct ctw_run *run = (void *)data;
    memcpy(run->magic, CTW_RUN_MAGIC, 8);
    run->version = CTW_VERSION;
    run->max_slots = CTW_MAX_SLOTS;
    run->arena_bytes = l.bytes;
    strcpy(run->command, "./app");
    run->crc = ctw_crc(run, offsetof(struct ctw_run, crc));
    run->claimed = 1;
    struct ctw_arena *a = (void *)(data + CTW_RUN_BYTES);
    memcpy(a->magic, CTW_ARENA_MAGIC, 8);
    a->version = CTW_VERSION;
    a->n_hooks = 1;
    a->pid = 42;
    a->crc = ctw_crc(a, offsetof(struct ctw_arena, crc));
    strcpy(((struct ctw_hook *)(void *)((char *)a + l.off_hooks))->name, "cuMemAlloc_v2");
    struct ctw_ring *ring = (void *)((char *)a + l.off_rings);
    ring->owners = 1;
    ring->head = 3;
    struct ctw_entry *e = (void *)((char *)a + l.off_entries);
    e[0].seq = 1;
    e[1].seq = 0; /* torn */
    e[2].seq = 3;
    e[2].a = 77;
    struct ctw_string *s = (void *)((char *)a + l.off_strings + 8);
    s->len = 3;
    memcpy(s->text, "abc", 4);
    s->crc = ctw_crc("abc", 3);
    *out_len = len;
    return data;
}

static void reads_what_is_whole(void **state)
{
    (void)state;
    size_t len;
    uint8_t *data = make(&len);
    struct ctw_reader r;
    struct ctw_process p;
    struct ctw_hook h;
    struct ctw_entry e;
    assert_int_equal(ctw_open(&r, data, len), CTW_OK);
    assert_int_equal(r.n_arenas, 1);
    assert_int_equal(ctw_process_at(&r, 0, &p), CTW_OK);
    assert_int_equal(ctw_process_at(&r, 1, &p), CTW_SHORT);
    assert_int_equal(ctw_process_at(&r, 0, &p), CTW_OK);
    assert_int_equal(p.head.pid, 42);
    assert_true(ctw_get_hook(&p, 0, &h));
    assert_string_equal(h.name, "cuMemAlloc_v2");
    assert_false(ctw_get_hook(&p, 1, &h));
    assert_true(ctw_get_entry(&p, 0, 0, &e));
    assert_int_equal(e.a, 77);
    assert_false(ctw_get_entry(&p, 0, 1, &e));
    assert_true(ctw_get_entry(&p, 0, 2, &e));
    assert_false(ctw_get_entry(&p, 0, 3, &e));
    assert_false(ctw_get_entry(&p, 1, 0, &e));
    assert_string_equal(ctw_get_string(&p, 8), "abc");
    assert_null(ctw_get_string(&p, 0));
    assert_null(ctw_get_string(&p, 9));
    assert_null(ctw_get_string(&p, 16));
    assert_null(ctw_get_string(&p, 0xfffffff8u));
    free(data);
}

/* The owner's sums and those of the others belong together; what overlaps may look negative. */
static void adds_sums_up(void **state)
{
    (void)state;
    size_t len;
    uint8_t *data = make(&len);
    struct ctw_reader r;
    struct ctw_process p;
    struct ctw_site site;
    struct ctw_arena *a = (void *)(data + CTW_RUN_BYTES);
    struct ctw_layout l = ctw_layout();
    struct ctw_ring *rings = (void *)((char *)a + l.off_rings);
    struct ctw_site *sites = (void *)((char *)a + l.off_sites);
    a->tally[CTW_MEM_DEVICE] = (struct ctw_tally){{10, 1000, 4, 400}, {5, 500, 1, 100}};
    a->tally[CTW_MEM_ASYNC] = (struct ctw_tally){{1, 64, 0, 0}, {0, 0, 2, 128}};
    a->tally[CTW_OBJ_STREAM] = (struct ctw_tally){{3, 0, 1, 0}, {0}};
    a->frees = 2;
    rings[0].frees = 7;
    rings[5].frees = 100; /* never had an owner */
    sites[3].key = 77;
    sites[3].tally = (struct ctw_tally){{8, 800, 3, 300}, {2, 200, 4, 400}};
    assert_int_equal(ctw_open(&r, data, len), CTW_OK);
    assert_int_equal(ctw_process_at(&r, 0, &p), CTW_OK);
    assert_int_equal(p.head.live_bytes[CTW_MEM_DEVICE], 1000);
    assert_int_equal(p.head.live_count[CTW_MEM_DEVICE], 10);
    assert_int_equal(p.head.live_bytes[CTW_MEM_ASYNC], 0);
    assert_int_equal(p.head.live_count[CTW_MEM_ASYNC], 0);
    assert_int_equal(p.head.live_count[CTW_OBJ_STREAM], 2);
    assert_int_equal(p.head.allocs, 16); /* memory, no objects */
    assert_int_equal(p.head.frees, 9);
    assert_true(ctw_get_site(&p, 3, &site));
    assert_int_equal(site.allocs, 10);
    assert_int_equal(site.frees, 7);
    assert_int_equal(site.total_bytes, 1000);
    assert_int_equal(site.live_bytes, 300);
    assert_int_equal(site.live_count, 3);
    free(data);
}

static void refuses_with_a_reason(void **state)
{
    (void)state;
    size_t len;
    uint8_t *data = make(&len);
    struct ctw_reader r;
    struct ctw_process p;
    assert_int_equal(ctw_open(&r, data, 4), CTW_NO_RECORD);
    assert_int_equal(ctw_open(&r, data, 40), CTW_SHORT);
    ((struct ctw_run *)(void *)data)->version++;
    assert_int_equal(ctw_open(&r, data, len), CTW_OTHER_VERSION);
    ((struct ctw_run *)(void *)data)->version--;
    data[100] ^= 1;
    assert_int_equal(ctw_open(&r, data, len), CTW_DAMAGED);
    data[100] ^= 1;
    data[CTW_RUN_BYTES + 50] ^= 1;
    assert_int_equal(ctw_open(&r, data, len), CTW_OK);
    assert_int_equal(ctw_process_at(&r, 0, &p), CTW_DAMAGED);
    data[CTW_RUN_BYTES + 8 + CTW_PAGE] = 0;
    free(data);
}

static void ends_anywhere(void **state)
{
    (void)state;
    size_t len;
    uint8_t *data = make(&len);
    struct ctw_reader r;
    struct ctw_process p;
    struct ctw_site site;
    struct ctw_sample sample;
    for (size_t cut = 0; cut < len; cut += cut < 20000 ? 97 : 99991) {
        uint8_t *copy = malloc(cut + 1); /* exactly as long, for the sanitizer */
        memcpy(copy, data, cut);
        if (ctw_open(&r, copy, cut) == CTW_OK && ctw_process_at(&r, 0, &p) == CTW_OK) {
            struct ctw_entry e;
            struct ctw_ring ring;
            for (unsigned i = 0; i < CTW_RINGS; i++)
                if (ctw_get_ring(&p, i, &ring))
                    ctw_get_entry(&p, i, 0, &e);
            ctw_get_string(&p, 8);
            ctw_get_site(&p, CTW_SITES - 1, &site);
            ctw_get_sample(&p, CTW_LEVELS - 1, CTW_LEVEL_SAMPLES - 1, &sample);
        }
        free(copy);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_whole),
        cmocka_unit_test(adds_sums_up),
        cmocka_unit_test(refuses_with_a_reason),
        cmocka_unit_test(ends_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
