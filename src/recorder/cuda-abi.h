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
#undef cuGetProcAddress /* there it stands for _v2, and so on: what hooks.def calls by its old name */
#undef cuGraphInstantiate
#undef cuGraphExecUpdate
#undef cuStreamBeginCapture
#undef cuIpcOpenMemHandle
#undef cuStreamGetCaptureInfo
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
typedef struct CUarray_st *CUarray;
typedef struct CUmipmappedArray_st *CUmipmappedArray;
typedef struct CUextMemory_st *CUexternalMemory;
typedef struct CUextSemaphore_st *CUexternalSemaphore;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphEdgeData_st CUgraphEdgeData;
typedef struct CUexecAffinityParam_st CUexecAffinityParam;
typedef struct CUctxCreateParams_st CUctxCreateParams;
typedef struct CUDA_MEMCPY3D_PEER_st CUDA_MEMCPY3D_PEER;
typedef struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st CUDA_EXTERNAL_MEMORY_BUFFER_DESC;
typedef struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC;
typedef struct CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;
typedef struct CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;
typedef struct CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;
typedef struct CUDA_KERNEL_NODE_PARAMS_st CUDA_KERNEL_NODE_PARAMS;
typedef struct CUDA_MEM_ALLOC_NODE_PARAMS_st CUDA_MEM_ALLOC_NODE_PARAMS;
typedef struct CUmemPoolPtrExportData_st CUmemPoolPtrExportData;
typedef unsigned CUmemAllocationHandleType;
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *user);
typedef void (*CUhostFn)(void *user);
typedef unsigned CUmemPool_attribute, CUstreamCaptureMode, CUdriverProcAddressQueryResult;
typedef unsigned CUjit_option, CUlibraryOption;

typedef struct CUipcMemHandle_st {
    char reserved[64];
} CUipcMemHandle; /* passed by value */
typedef struct CUipcEventHandle_st {
    char reserved[64];
} CUipcEventHandle;
typedef struct CUDA_ARRAY_DESCRIPTOR_st {
    size_t Width, Height;
    unsigned Format, NumChannels;
} CUDA_ARRAY_DESCRIPTOR;
typedef struct CUDA_ARRAY3D_DESCRIPTOR_st {
    size_t Width, Height, Depth;
    unsigned Format, NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;
/* Up to the size. */
typedef struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st {
    unsigned type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *nvSciBufObject;
    } handle;
    unsigned long long size;
} CUDA_EXTERNAL_MEMORY_HANDLE_DESC;

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
