/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of the flight recorder, as it stands in memory and in a file.
 *
 * One run holds up to max_slots arenas of equal size, one for each process that used CUDA. An arena
 * is its own header followed by tables at fixed offsets; nothing in it moves. The recorder writes
 * with atomic stores, the reader (read.h) trusts no offset, count or index.
 *
 * Everything is little endian and naturally aligned. Times are CLOCK_MONOTONIC in ns; the header
 * gives the wall time of its start. A change of any struct here raises CTW_VERSION.
 */
#pragma once

#include <stdint.h>

#define CTW_VERSION 5u
#define CTW_RUN_MAGIC "CTRECRUN"
#define CTW_ARENA_MAGIC "CTRARENA"
#define CTW_PAGE 4096u
#define CTW_OUTSIDE 4096u /* samples of each level that the parent takes: every 1 s, every 60 s */
#define CTW_OUTSIDE_LEVELS 2u
#define CTW_MAX_SLOTS 64u
#define CTW_GIVEN_AWAY 3u /* state of a slot whose process is gone and that is being emptied */

#define CTW_RINGS 128u
#define CTW_RING_ENTRIES 1024u /* a power of two */
#define CTW_LIVE 131072u       /* a power of two */
#define CTW_WINDOW 32u         /* slots that a key may stand in, from its hash on */
#define CTW_SITES 2048u        /* a power of two */
#define CTW_SITE_ADDRS 12u
#define CTW_FREE_ADDRS 6u
#define CTW_MILESTONES 32u
#define CTW_SLICE_BYTES 4048u /* of the stack, kept once for each site */
#define CTW_STRINGS_BYTES (1u << 20)
#define CTW_STRING_INDEX 16384u /* a power of two */
#define CTW_STRING_MAX 1000u
#define CTW_FUNCS 16384u /* a power of two */
#define CTW_FREED 4096u  /* a power of two */
#define CTW_MODULES 512u
#define CTW_ERRORS 256u
#define CTW_LEVELS 4u          /* of samples: every 100 ms, 1 s, 10 s, 100 s */
#define CTW_LEVEL_SAMPLES 1024u
#define CTW_FREEZES 2u         /* of the first error, and of the first that breaks the context */
#define CTW_FREEZE_ENTRIES 32u /* of each ring */
#define CTW_HOOKS 512u         /* rows of the table of names, at most */

enum ctw_class {
    CTW_CLASS_OTHER,
    CTW_CLASS_ALLOC,
    CTW_CLASS_FREE,
    CTW_CLASS_LAUNCH,
    CTW_CLASS_GRAPH_LAUNCH,
    CTW_CLASS_HOST_FUNC,
    CTW_CLASS_COPY,
    CTW_CLASS_SET,
    CTW_CLASS_SYNC,
    CTW_CLASS_QUERY,
    CTW_CLASS_STREAM,
    CTW_CLASS_EVENT,
    CTW_CLASS_CONTEXT,
    CTW_CLASS_MODULE,
    CTW_CLASS_GRAPH,
    CTW_CLASS_POOL,
    CTW_N_CLASSES
};

enum ctw_mem {
    CTW_MEM_DEVICE,
    CTW_MEM_PITCHED,
    CTW_MEM_MANAGED,
    CTW_MEM_HOST,
    CTW_MEM_REGISTERED,
    CTW_MEM_ASYNC,
    CTW_MEM_POOL,
    CTW_MEM_PHYSICAL,
    CTW_MEM_ARRAY,
    CTW_MEM_EXTERNAL,
    CTW_MEM_IPC,
    CTW_N_MEM,
    /* What lives as memory does, and stands in the same tables. Of these only mappings and
     * reservations have bytes; they are counted in no total. */
    CTW_OBJ_MAPPING = CTW_N_MEM,
    CTW_OBJ_RESERVATION,
    CTW_OBJ_STREAM,
    CTW_OBJ_EVENT,
    CTW_OBJ_CONTEXT,
    CTW_OBJ_MODULE,
    CTW_OBJ_LIBRARY,
    CTW_OBJ_GRAPH,
    CTW_OBJ_EXEC,
    CTW_OBJ_POOL,
    CTW_OBJ_SEMAPHORE,
    CTW_N_KINDS
};

/* Keys of the live table: addresses as they are; handles carry their kind in the top byte, which no
 * user address has. */
#define CTW_KEY(kind, handle) ((uint64_t)(handle) ^ (uint64_t)(0x80u | (kind)) << 56)
#define CTW_KEY_VALUE(key) ((key) & (((uint64_t)1 << 56) - 1))

/* The run: page 0 of the file. Samples of the parent follow, then the arenas. */
struct ctw_run {
    char magic[8];
    uint32_t version;
    uint32_t max_slots;
    uint64_t arena_bytes;
    uint64_t run_id;
    int64_t wall_ns;
    int64_t mono_ns;
    char command[512]; /* as the person gave it; NUL-terminated */
    uint32_t crc;      /* of all that stands before it */
    /* from here on it changes */
    uint32_t claimed; /* slots taken */
    uint32_t refused; /* processes that found no slot */
    uint32_t no_space;
    uint32_t replaced; /* processes whose slot went to a later one */
    uint64_t outside_head[CTW_OUTSIDE_LEVELS];
};

#define CTW_RUN_BYTES                                                                              \
    ((CTW_PAGE + CTW_OUTSIDE_LEVELS * CTW_OUTSIDE * 40u + CTW_PAGE - 1) / CTW_PAGE * CTW_PAGE)


/* Flags of an entry: which of its fields holds the side of a copy that lies on the host. */
#define CTW_HOST_IN_C 1u
#define CTW_HOST_IN_STREAM 2u

struct ctw_entry { /* 64 bytes */
    uint64_t seq;  /* number of the entry in its ring + 1; stored last */
    int64_t t_ns;
    uint16_t fn;
    uint16_t flags;
    int32_t result;
    uint64_t stream;
    uint64_t a, b; /* pointer or function; bytes or second pointer */
    uint64_t c;    /* duration in ns of what waits */
    uint32_t name; /* string, 0 is none */
    uint32_t site; /* + 1, 0 is none */
};

struct ctw_ring { /* 256 bytes; its entries stand at off_entries */
    uint64_t head; /* entries ever written */
    uint64_t base; /* head when the present owner took it */
    uint32_t tid;  /* 0 is free */
    uint32_t owners;
    uint64_t nested; /* calls from within a call, or from a signal handler: not recorded */
    int64_t last_ns;
    uint64_t errors_at; /* head at the last failing call */
    uint64_t count[CTW_N_CLASSES];
    char comm[16];
    uint64_t context;    /* as the thread last set it; 0 is not seen */
    uint64_t
        after_loss; /* calls after the one that lost the context: nobody looked at its answer */
    uint64_t frees;      /* of memory, successful ones */
    uint64_t spare[5];
};

/* Numbers and bytes of what came and went; they only rise, what is live is their difference. The
 * thread whose ring owns the row adds to `own` without a lock, all others to `rest` with one. */
struct ctw_sum {
    uint64_t made, made_bytes, ended, ended_bytes;
};

struct ctw_tally {
    struct ctw_sum own, rest;
};

struct ctw_live {
    uint64_t bytes;
    int64_t t_ns;
    uint32_t site; /* + 1 */
    uint32_t tid;
    uint16_t kind, fn;
    uint32_t pad;
    uint64_t stream; /* of an object: the context of its thread */
};

struct ctw_milestone {
    int64_t t_ns;
    uint64_t live_bytes;
    uint64_t live_count;
};

struct ctw_site {
    uint64_t key; /* 0 is free; stored last */
    uint32_t fn;
    uint16_t kind, n_addr;
    uint32_t owner; /* ring + 1 */
    uint32_t reached; /* milestones */
    int64_t first_ns, last_ns, peak_ns;
    uint64_t peak_bytes, largest_bytes;
    struct ctw_tally tally;
    uint64_t allocs, frees, live_bytes, live_count, total_bytes; /* by the reader, from the tally */
    uint64_t addr[CTW_SITE_ADDRS]; /* return addresses, innermost first */
    /* When the allocs-th allocation made 1, 2, 4, 8 ...: growth is judged by the number of calls,
     * whatever their pace. */
    struct ctw_milestone mile[CTW_MILESTONES];
};

/* The stack at the first allocation of a site, from `from` on; the tool unwinds it. */
struct ctw_slice {
    uint64_t pc, cfa, fp, from;
    uint32_t len; /* stored last */
    uint32_t pad[3];
    uint8_t bytes[CTW_SLICE_BYTES];
};

struct ctw_func {
    uint64_t handle; /* 0 is free; stored last */
    uint64_t owner;  /* module or library */
    uint32_t name;
    uint32_t used; /* by a launch since rows were last looked for */
};

struct ctw_freed {
    uint64_t ptr, bytes;
    int64_t alloc_ns, free_ns;
    uint32_t site, tid, alloc_tid;
    uint16_t kind, fn; /* fn is the call that freed */
    uint64_t from[CTW_FREE_ADDRS]; /* return addresses of the free, innermost first */
};

struct ctw_module {
    uint64_t bias, lo, hi; /* load address; executable range */
    uint32_t name;         /* stored last */
    uint32_t build_id_len;
    uint8_t build_id[24];
};

struct ctw_error {
    uint64_t key; /* fn << 32 | code, + 1 << 63; 0 is free */
    uint64_t count;
    int64_t first_ns, last_ns;
    uint32_t tid, ring;
    uint64_t a, b;
    uint32_t name, pad;
};

struct ctw_sample {
    int64_t t_ns; /* 0 is free; stored last */
    uint64_t live_bytes[CTW_N_MEM];
    uint64_t allocs, frees, launches, syncs, copies;
    uint64_t pool_used, pool_reserved; /* as the program last asked for them; 0 is never */
};

/* What the parent sees from outside; 0 is not known. */
struct ctw_outside {
    int64_t t_ns; /* 0 is free; stored last */
    uint64_t resident;       /* of the program and its descendants */
    uint64_t device_used, device_total;
    uint64_t device_process; /* what the driver counts to them */
};

struct ctw_freeze {
    uint32_t state; /* 0 free, 1 being written, 2 complete */
    uint32_t ring;
    struct ctw_entry call;
    uint64_t live_bytes[CTW_N_MEM];
    uint64_t free_bytes, total_bytes; /* device memory as the program last saw it; 0 is never */
    uint64_t context;                 /* of the thread whose call failed */
    uint32_t tids[CTW_RINGS];
    struct ctw_entry last[CTW_RINGS][CTW_FREEZE_ENTRIES];
};

struct ctw_hook {
    char name[56];
    uint32_t cls; /* enum ctw_class */
    uint32_t pad;
};

struct ctw_string { /* at a multiple of 8 in the region; text ends with NUL */
    uint32_t crc;
    uint32_t len;
    char text[];
};

struct ctw_arena {
    char magic[8];
    uint32_t version;
    uint32_t n_hooks;
    uint64_t bytes;
    uint32_t pid, parent;
    int64_t wall_ns, mono_ns;
    char exe[512];
    char comm[16];
    uint64_t off_hooks, off_rings, off_entries, off_keys, off_live, off_sites, off_strings;
    uint64_t off_string_index, off_funcs, off_freed, off_modules, off_errors, off_samples;
    uint64_t off_freezes, off_slices;
    uint64_t pid_namespace; /* that pid is a number of; 0 is not known */
    uint32_t stacks; /* 0: sites are told apart by their caller alone */
    uint32_t crc; /* of all that stands before it */
    /* from here on it changes */
    uint32_t state; /* 1 recording, 2 the process ended by itself, CTW_GIVEN_AWAY */
    uint32_t failed; /* a call failed: see the freezes */
    uint32_t strings_used; /* bytes */
    uint32_t n_modules;
    uint32_t forked; /* 1: made by fork from a process that was recording */
    uint64_t freed_head, sample_head[CTW_LEVELS];
    int64_t sample_last[CTW_LEVELS];
    struct ctw_tally tally[CTW_N_KINDS];
    uint32_t owner[CTW_N_KINDS]; /* of the tally: ring + 1 */
    uint64_t peak_bytes[CTW_N_KINDS];
    int64_t peak_ns[CTW_N_KINDS];
    uint64_t live_bytes[CTW_N_KINDS], live_count[CTW_N_KINDS], allocs; /* by the reader */
    uint64_t frees; /* of threads without a ring; the reader adds those of the rings */
    uint64_t unknown_frees;
    uint64_t free_bytes, total_bytes, pool_used, pool_reserved, pool_threshold;
    uint64_t context_ends; /* contexts destroyed or reset: their memory went with them */
    uint64_t dropped_rings, dropped_live, dropped_sites, dropped_strings, dropped_errors;
    int64_t last_ns;
};

/* Bytes of an arena and the offsets of its tables; both sides compute them from here. */
struct ctw_layout {
    uint64_t off_hooks, off_rings, off_entries, off_keys, off_live, off_sites, off_strings;
    uint64_t off_string_index, off_funcs, off_freed, off_modules, off_errors, off_samples;
    uint64_t off_freezes, off_slices, bytes;
};

static inline struct ctw_layout ctw_layout(void)
{
    struct ctw_layout l;
    uint64_t at = CTW_PAGE;
#define CTW_PLACE(field, size)                                                                     \
    l.field = at;                                                                                  \
    at = (at + (uint64_t)(size) + 63u) & ~(uint64_t)63u;
    CTW_PLACE(off_hooks, CTW_HOOKS * sizeof(struct ctw_hook))
    CTW_PLACE(off_rings, CTW_RINGS * sizeof(struct ctw_ring))
    CTW_PLACE(off_entries, (uint64_t)CTW_RINGS * CTW_RING_ENTRIES * sizeof(struct ctw_entry))
    CTW_PLACE(off_keys, CTW_LIVE * sizeof(uint64_t))
    CTW_PLACE(off_live, CTW_LIVE * sizeof(struct ctw_live))
    CTW_PLACE(off_sites, CTW_SITES * sizeof(struct ctw_site))
    CTW_PLACE(off_strings, CTW_STRINGS_BYTES)
    CTW_PLACE(off_string_index, CTW_STRING_INDEX * sizeof(uint32_t))
    CTW_PLACE(off_funcs, CTW_FUNCS * sizeof(struct ctw_func))
    CTW_PLACE(off_freed, CTW_FREED * sizeof(struct ctw_freed))
    CTW_PLACE(off_modules, CTW_MODULES * sizeof(struct ctw_module))
    CTW_PLACE(off_errors, CTW_ERRORS * sizeof(struct ctw_error))
    CTW_PLACE(off_samples, CTW_LEVELS * CTW_LEVEL_SAMPLES * sizeof(struct ctw_sample))
    CTW_PLACE(off_freezes, CTW_FREEZES * sizeof(struct ctw_freeze))
    CTW_PLACE(off_slices, CTW_SITES * sizeof(struct ctw_slice))
#undef CTW_PLACE
    l.bytes = (at + CTW_PAGE - 1) & ~(uint64_t)(CTW_PAGE - 1);
    return l;
}

_Static_assert(sizeof(struct ctw_entry) == 64, "an entry is one cache line");
_Static_assert(sizeof(struct ctw_ring) == 256, "rings do not share cache lines");
_Static_assert(sizeof(struct ctw_outside) == 40, "see CTW_RUN_BYTES");
_Static_assert(sizeof(struct ctw_slice) == 4096, "a slice is a page");
_Static_assert(sizeof(struct ctw_arena) <= CTW_PAGE, "the header is one page");
_Static_assert(sizeof(struct ctw_run) <= CTW_PAGE, "the header is one page");

/* CRC-32 (IEEE), bitwise: only headers and new strings pay for it. */
static inline uint32_t ctw_crc(const void *data, uint64_t len)
{
    const uint8_t *p = data;
    uint32_t crc = 0xffffffffu;
    for (uint64_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

static inline uint64_t ctw_hash(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 29;
    return x;
}
