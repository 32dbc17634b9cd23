/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record from a stranger. The input is a list of changes (offset, byte) to a record with valid
 * headers, so that the tables are reached; input that begins like a record is read as it stands.
 */
#include <glib.h>
#include <string.h>

#include "run/record-read.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void read_it(const guint8 *bytes, gsize len)
{
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    ct_record_import_bytes(ev, NULL, "record", bytes, len, NULL);
    g_free(ct_record_report(NULL, bytes, len));
}

static guint8 *whole(gsize *out_len)
{
    struct ctw_layout l = ctw_layout();
    *out_len = CTW_PAGE + l.bytes;
    guint8 *bytes = g_malloc0(*out_len);
    struct ctw_run *run = (void *)bytes;
    struct ctw_arena *a = (void *)(bytes + CTW_PAGE);
    memcpy(run->magic, CTW_RUN_MAGIC, 8);
    run->version = a->version = CTW_VERSION;
    run->max_slots = CTW_MAX_SLOTS;
    run->arena_bytes = l.bytes;
    run->crc = ctw_crc(run, G_STRUCT_OFFSET(struct ctw_run, crc));
    run->claimed = 1;
    memcpy(a->magic, CTW_ARENA_MAGIC, 8);
    a->n_hooks = CTW_HOOKS;
    a->crc = ctw_crc(a, G_STRUCT_OFFSET(struct ctw_arena, crc));
    return bytes;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (ctw_sniff(data, size)) {
        read_it(data, size);
        return 0;
    }
    gsize len;
    g_autofree guint8 *bytes = whole(&len);
    struct ctw_layout l = ctw_layout();
    const guint64 tables[] = {0,           l.off_hooks,  l.off_rings,   l.off_entries,
                              l.off_keys,  l.off_live,   l.off_sites,   l.off_strings,
                              l.off_funcs, l.off_errors, l.off_samples, l.off_freezes};
    for (gsize i = 0; i + 6 <= size; i += 6) {
        guint32 at;
        memcpy(&at, data + i, 4);
        guint64 table = tables[data[i + 4] % G_N_ELEMENTS(tables)];
        guint64 offset = CTW_PAGE + table + at % 65536;
        if (offset < len && !(table == 0 && at % 65536 < G_STRUCT_OFFSET(struct ctw_arena, crc) + 4))
            bytes[offset] = data[i + 5];
    }
    read_it(bytes, len);
    return 0;
}
