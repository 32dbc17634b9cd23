/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a record from bytes that nobody vouches for. Plain C, no allocation: every accessor checks
 * its index and gives a copy or NULL. The bytes may change while they are read (a run that goes
 * on).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

enum ctw_problem {
    CTW_OK,
    CTW_NO_RECORD,     /* the magic is another */
    CTW_OTHER_VERSION, /* written by a newer or older program */
    CTW_DAMAGED,       /* header does not match its CRC */
    CTW_SHORT          /* ends inside the header */
};

struct ctw_reader {
    const uint8_t *data;
    size_t len;
    struct ctw_run run; /* a copy */
    unsigned n_arenas;  /* slots that are claimed and not beyond the end */
};

/* One process. Tables lie within data, whatever the header says. */
struct ctw_process {
    const uint8_t *base;
    struct ctw_arena head; /* a copy */
    struct ctw_layout layout;
    size_t len; /* bytes that are there */
};

bool ctw_sniff(const void *head, size_t len);
enum ctw_problem ctw_open(struct ctw_reader *r, const void *data, size_t len);
/* CTW_OK, or why this slot holds nothing that can be used. */
enum ctw_problem ctw_process_at(const struct ctw_reader *r, unsigned index,
                                struct ctw_process *out);
const char *ctw_problem_text(enum ctw_problem problem);

/* Each copies a row; false when it is beyond its table, missing from the file, empty or torn. */
bool ctw_get_hook(const struct ctw_process *p, unsigned i, struct ctw_hook *out);
bool ctw_get_ring(const struct ctw_process *p, unsigned i, struct ctw_ring *out);
/* `back` counts from the latest entry (0). */
bool ctw_get_entry(const struct ctw_process *p, unsigned ring, uint64_t back,
                   struct ctw_entry *out);
bool ctw_get_live(const struct ctw_process *p, unsigned i, uint64_t *out_key, struct ctw_live *out);
bool ctw_get_site(const struct ctw_process *p, unsigned i, struct ctw_site *out);
bool ctw_get_slice(const struct ctw_process *p, unsigned site, struct ctw_slice *out);
bool ctw_get_outside(const struct ctw_reader *r, unsigned level, unsigned i,
                     struct ctw_outside *out);
bool ctw_get_freed(const struct ctw_process *p, unsigned i, struct ctw_freed *out);
bool ctw_get_module(const struct ctw_process *p, unsigned i, struct ctw_module *out);
bool ctw_get_error(const struct ctw_process *p, unsigned i, struct ctw_error *out);
bool ctw_get_sample(const struct ctw_process *p, unsigned level, unsigned i,
                    struct ctw_sample *out);
/* The block without its entries, and an entry of it. */
bool ctw_get_freeze(const struct ctw_process *p, unsigned i, struct ctw_freeze *out);
/* A string by its number; NULL when there is none or its CRC is wrong. */
const char *ctw_get_string(const struct ctw_process *p, uint32_t id);
