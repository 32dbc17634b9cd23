/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the twin for this processor. */
#include "tensor/kernel.h"

#include <float.h>

extern const CtKernel ct_kernel_scalar_twin, ct_kernel_avx2, ct_kernel_avx512, ct_kernel_neon;

void ct_pair_sums_init(CtPairSums *s)
{
    *s = (CtPairSums){
        .ref_min = DBL_MAX, .ref_max = -DBL_MAX, .test_min = DBL_MAX, .test_max = -DBL_MAX};
}

const CtKernel *ct_kernel_scalar(void)
{
    return &ct_kernel_scalar_twin;
}

const CtKernel *const *ct_kernels(void)
{
    static const CtKernel *list[4];
    guint n = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        list[n++] = &ct_kernel_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        list[n++] = &ct_kernel_avx2;
#elif defined(__aarch64__)
    list[n++] = &ct_kernel_neon;
#endif
    list[n++] = &ct_kernel_scalar_twin;
    list[n] = NULL;
    return list;
}

const CtKernel *ct_kernel_best(void)
{
    return ct_kernels()[0];
}
