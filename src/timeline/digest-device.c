/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle or not is a question of the GPU that a request uses: another one at work hides nothing. A
 * request that uses several of them waits while none of these works.
 */
#include "timeline/digest-private.h"

void ct_digest_devices_clear(CtDigest *d)
{
    for (guint i = 0; i < CT_DG_MAX_DEVICES; i++) {
        if (d->device_kernels[i].blocks)
            ct_busy_clear(&d->device_kernels[i]);
        if (d->device_all[i].blocks)
            ct_busy_clear(&d->device_all[i]);
    }
}

static void begin(CtDigest *d, gint device)
{
    ct_busy_init(&d->device_all[device]);
    ct_busy_init(&d->device_kernels[device]);
}

/* All that was seen so far is the first device's. */
static void split(CtDigest *d)
{
    CtBusy *all = &d->device_all[d->first_device], *kernels = &d->device_kernels[d->first_device];
    begin(d, d->first_device);
    g_array_append_vals(kernels->blocks, d->kernels.blocks->data, d->kernels.blocks->len);
    g_array_append_vals(all->blocks, d->kernels.blocks->data, d->kernels.blocks->len);
    g_array_append_vals(all->blocks, d->copies.blocks->data, d->copies.blocks->len);
    all->sorted = kernels->sorted = FALSE;
}

/* Before the event is added to the sums of all devices. With one device these are its own. */
void ct_digest_devices_add(CtDigest *d, const CtTlEvent *e)
{
    if (e->t1 <= e->t0)
        return;
    if (e->device < 0 || e->device >= (gint)CT_DG_MAX_DEVICES) {
        d->odd_device = TRUE;
        return;
    }
    if (!d->n_devices) {
        d->first_device = e->device;
        d->n_devices = 1;
    }
    if (d->n_devices == 1 && e->device == d->first_device)
        return;
    if (d->n_devices == 1)
        split(d);
    if (!d->device_all[e->device].blocks) {
        begin(d, e->device);
        d->n_devices++;
    }
    ct_busy_add(&d->device_all[e->device], e->t0, e->t1);
    if (e->kind != CT_TL_COPY)
        ct_busy_add(&d->device_kernels[e->device], e->t0, e->t1);
}

void ct_digest_devices_seal(CtDigest *d)
{
    for (guint i = 0; i < CT_DG_MAX_DEVICES; i++)
        if (d->device_all[i].blocks) {
            ct_busy_seal(&d->device_all[i]);
            ct_busy_seal(&d->device_kernels[i]);
        }
}

gboolean ct_digest_devices_matter(const CtDigest *d)
{
    return d->n_devices > 1 && !d->odd_device;
}

/* The device of a request that uses just one, -1 else. */
static gint only_device(const CtDigest *d, const CtRequest *r)
{
    guint32 m = r ? r->devices : 0;
    if (!ct_digest_devices_matter(d) || !m || (m & (m - 1)))
        return -1;
    return g_bit_nth_lsf(m, -1);
}

const CtBusy *ct_digest_busy(const CtDigest *d, const CtRequest *r)
{
    gint device = only_device(d, r);
    return device < 0 ? &d->all : &d->device_all[device];
}

const CtBusy *ct_digest_busy_kernels(const CtDigest *d, const CtRequest *r)
{
    gint device = only_device(d, r);
    return device < 0 ? &d->kernels : &d->device_kernels[device];
}
