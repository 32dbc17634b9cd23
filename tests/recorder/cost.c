/* SPDX-License-Identifier: Apache-2.0 */
/* N launches, N registrations that are kept (an allocation for which the fake driver does
 * nothing), or N pairs of allocation and free: what callgrind counts for a hook. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recorder/cuda-abi.h"

CUresult cuInit(unsigned);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemHostRegister_v2(void *, size_t, unsigned);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void **, void **);

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 1000;
    CUdeviceptr p;
    cuInit(0);
    /* The rate of the processor's counter is known some ms after the first call. */
    for (int i = 0; i < 4; i++) {
        cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
    for (int i = 0; i < n; i++) {
        if (argc > 1 && strcmp(argv[1], "launch") == 0) {
            cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
        } else if (argc > 1 && strcmp(argv[1], "keep") == 0) {
            cuMemHostRegister_v2((void *)(uintptr_t)(0x10000000 + (uintptr_t)i * 4096), 4096, 0);
        } else if (cuMemAlloc_v2(&p, 64) == 0) {
            cuMemFree_v2(p);
        }
    }
    return 0;
}
