/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA driver's binary interface that hooks need, declared here so that no CUDA
 * header is needed to build. Names are those of cuda.h, so that one test can compile hooks.def
 * against the real header instead (CTR_REAL_CUDA_H). Enumerations are passed as unsigned.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef CTR_REAL_CUDA_H
#include <cuda.h>
#undef cuGetProcAddress /* there it stands for _v2 */
#else
typedef unsigned CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUmemPoolProps_st CUmemPoolProps;
typedef struct CUmemAllocationProp_st CUmemAllocationProp;
typedef struct CUmemAccessDesc_st CUmemAccessDesc;
typedef struct CUDA_GRAPH_INSTANTIATE_PARAMS_st CUDA_GRAPH_INSTANTIATE_PARAMS;
typedef struct CUgraphExecUpdateResultInfo_st CUgraphExecUpdateResultInfo;
typedef struct CUDA_MEMCPY2D_st CUDA_MEMCPY2D;
typedef struct CUDA_MEMCPY3D_st CUDA_MEMCPY3D;
typedef void (*CUhostFn)(void *user);
typedef unsigned CUmemPool_attribute, CUstreamCaptureMode, CUdriverProcAddressQueryResult;
typedef unsigned CUjit_option, CUlibraryOption;

/* Only what stands before the attributes is read. */
typedef struct CUlaunchConfig_st {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    void *attrs;
    unsigned numAttrs;
} CUlaunchConfig;
#endif

#define CTR_SUCCESS 0u
#define CTR_INVALID_VALUE 1u
#define CTR_NOT_INITIALIZED 3u
#define CTR_NO_DEVICE 100u
#define CTR_PER_THREAD_STREAM 2u /* flag of cuGetProcAddress */
