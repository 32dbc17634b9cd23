/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of the comparison on one core: GB/s over both tensors, best of several runs; with KERNEL
 * that twin alone, for counting instructions.
 * usage: bench-compare REF TEST [RUNS [KERNEL]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensor/steps.h"

/* Of the processor: others use the machine too. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void report(const char *what, double bytes, double best)
{
    printf("%-28s %7.2f GB/s\n", what, bytes / best * 1e-9);
}

int main(int argc, char **argv)
{
    int runs = argc > 3 ? atoi(argv[3]) : 5;
    g_autoptr(CtTensorSet) a = argc > 2 ? ct_tensor_set_open(argv[1], NULL, NULL) : NULL;
    g_autoptr(CtTensorSet) b = a ? ct_tensor_set_open(argv[2], NULL, NULL) : NULL;
    if (!b) {
        fprintf(stderr, "usage: bench-compare REF TEST [RUNS [KERNEL]]\n");
        return 2;
    }
    g_autoptr(CtTensor) r = ct_tensor_item_load(a->items->pdata[0], NULL);
    g_autoptr(CtTensor) t = ct_tensor_item_load(b->items->pdata[0], NULL);
    if (!r || !t)
        return 4;
    double one = (double)r->n * ct_dtype_bits(r->dtype) / 8, both = one + (double)t->n *
                 ct_dtype_bits(t->dtype) / 8;
    for (const CtKernel *const *k = ct_kernels(); *k; k++)
        for (int full = 0; full < 2; full++) {
            if (argc > 4 && (full || strcmp(argv[4], (*k)->name) != 0))
                continue;
            CtCompareOptions o = {.kernel = *k, .full = full};
            CtComparison c;
            double best = 1e9;
            for (int i = 0; i < runs; i++) {
                double t0 = seconds();
                if (!ct_compare(r, t, &o, &c, NULL))
                    return 4;
                best = MIN(best, seconds() - t0);
            }
            g_autofree char *what = g_strdup_printf("compare%s %s", full ? " --full" : "", (*k)->name);
            report(what, both, best);
        }
    if (argc > 4)
        return 0;
    double scan = 1e9, finite = 1e9;
    for (int i = 0; i < runs; i++) {
        CtScan s;
        double t0 = seconds();
        ct_scan(r, r->dtype, &s);
        scan = MIN(scan, seconds() - t0);
        t0 = seconds();
        gboolean ok = ct_all_finite(r);
        finite = MIN(finite, seconds() - t0);
        if (!ok && i == 0)
            printf("(not all finite)\n");
    }
    report("scan of one", one, scan);
    report("NaN/Inf of one", one, finite);
    return 0;
}
