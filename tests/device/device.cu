/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops to time, and programs with one planted fault each. `device MODE`; loops print the time of
 * one round in microseconds.
 */
#include <cassert>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

__global__ void nothing() {}

__global__ void fill_rows(float *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = 1;
}

__global__ void gather_scores(float *p, long offset)
{
    p[threadIdx.x + offset] = 2;
}

__global__ void read_unaligned(char *p, float *out)
{
    *out = *(float *)(p + 1);
}

__global__ void check_index(int limit)
{
    assert((int)threadIdx.x < limit);
}

__global__ void give_up(int limit)
{
    if ((int)threadIdx.x >= limit)
        __trap();
}

static int show(const char *what, cudaError_t e)
{
    if (e != cudaSuccess)
        printf("%s: %s (%d)\n", what, cudaGetErrorString(e), (int)e);
    return e != cudaSuccess;
}

static double now_us()
{
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

template <typename F> static void time_loop(int n, F round)
{
    for (int i = 0; i < n / 10; i++)
        round();
    cudaDeviceSynchronize();
    double t = now_us();
    for (int i = 0; i < n; i++)
        round();
    cudaDeviceSynchronize();
    printf("%.4f\n", (now_us() - t) / n);
}

static void physical(size_t bytes)
{
    static CUmemAllocationProp prop;
    static CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                              unsigned long long);
    CUmemGenericAllocationHandle h;
    if (!create)
        *(void **)&create = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemCreate");
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    create(&h, bytes, &prop, 0);
}

static void take_array()
{
    cudaArray_t a;
    cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
    show("cudaMallocArray", cudaMallocArray(&a, &d, 256, 256));
}

/* One request; what it leaks is the last word of the mode. */
static void serve(const char *mode, int n)
{
    cudaStream_t s;
    cudaMemPool_t pool;
    cudaMemPoolProps props = {};
    std::vector<char> page(1 << 20);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaStreamCreate(&s);
    cudaMemPoolCreate(&pool, &props);
    float *scratch = nullptr;
    cudaMalloc(&scratch, 1 << 20);
    auto is = [&](const char *m) { return strcmp(mode, m) == 0; };
    for (int i = 0; i < n; i++) {
        float *p = nullptr;
        size_t pitch;
        if (is("leak-async"))
            show("cudaMallocAsync", cudaMallocAsync(&p, 1 << 18, s));
        else if (is("leak-pool"))
            show("cudaMallocFromPoolAsync", cudaMallocFromPoolAsync(&p, 1 << 18, pool, s));
        else if (is("leak-malloc"))
            show("cudaMalloc", cudaMalloc(&p, 1 << 18));
        else if (is("leak-pitch"))
            show("cudaMallocPitch", cudaMallocPitch(&p, &pitch, 1000, 256));
        else if (is("leak-managed"))
            show("cudaMallocManaged", cudaMallocManaged(&p, 1 << 18));
        else if (is("leak-physical"))
            physical(2 << 20);
        else if (is("leak-array"))
            take_array();
        else if (is("leak-host")) {
            void *host;
            show("cudaMallocHost", cudaMallocHost(&host, 1 << 16));
        } else if (is("leak-stream")) {
            cudaStream_t t;
            cudaStreamCreate(&t);
        } else if (is("leak-graph") || is("churn-graph")) {
            cudaGraph_t g;
            cudaGraphExec_t e;
            cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
            fill_rows<<<4, 256, 0, s>>>(scratch, 1024);
            cudaStreamEndCapture(s, &g);
            cudaGraphInstantiate(&e, g, 0);
            cudaGraphLaunch(e, s);
            if (is("churn-graph"))
                cudaGraphExecDestroy(e);
            cudaGraphDestroy(g);
        } else if (is("hot"))
            cudaMalloc(&p, 1 << 18);
        else if (is("pageable"))
            cudaMemcpyAsync(scratch, page.data(), page.size(), cudaMemcpyHostToDevice, s);
        else
            cudaMallocAsync(&p, 1 << 18, s);
        fill_rows<<<4, 256, 0, s>>>(scratch, 1024);
        if (is("hot"))
            cudaFree(p);
        else if (is("serve"))
            cudaFreeAsync(p, s);
        cudaStreamSynchronize(s);
        usleep(500);
    }
}

static void graph_replay()
{
    float *p;
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    cudaStreamCreate(&s);
    cudaMalloc(&p, 64 << 20);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    fill_rows<<<4, 256, 0, s>>>(p, 1024);
    cudaStreamEndCapture(s, &g);
    cudaGraphInstantiate(&e, g, 0);
    cudaGraphLaunch(e, s);
    show("first replay", cudaStreamSynchronize(s));
    cudaFree(p);
    cudaGraphLaunch(e, s);
    show("cudaStreamSynchronize", cudaStreamSynchronize(s));
}

static void fault(const char *mode)
{
    float *p;
    cudaStream_t s;
    auto is = [&](const char *m) { return strcmp(mode, m) == 0; };
    cudaStreamCreate(&s);
    cudaMalloc(&p, 64 << 20);
    fill_rows<<<4, 256, 0, s>>>(p, 1024);
    if (is("out-of-bounds"))
        gather_scores<<<1, 32, 0, s>>>(p, 1L << 34);
    else if (is("misaligned"))
        read_unaligned<<<1, 1, 0, s>>>((char *)p, p);
    else if (is("assert"))
        check_index<<<1, 32, 0, s>>>(16);
    else if (is("trap"))
        give_up<<<1, 32, 0, s>>>(16);
    else if (is("use-after-free")) {
        show("first use", cudaStreamSynchronize(s));
        cudaFree(p);
        fill_rows<<<4, 256, 0, s>>>(p, 1024);
    } else if (is("double-free")) {
        cudaStreamSynchronize(s);
        cudaFree(p);
        show("cudaFree", cudaFree(p));
        cudaMalloc(&p, 4096);
    } else if (is("capture")) {
        cudaGraph_t g;
        show("begin", cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
        fill_rows<<<4, 256, 0, s>>>(p, 1024);
        show("cudaStreamSynchronize", cudaStreamSynchronize(s));
        show("end", cudaStreamEndCapture(s, &g));
    }
    show("cudaStreamSynchronize", cudaStreamSynchronize(s));
    show("cudaDeviceSynchronize", cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "loop-launch") == 0)
        time_loop(600000, [] { nothing<<<1, 1>>>(); });
    else if (strcmp(mode, "loop-async") == 0)
        time_loop(1500000, [] {
            void *p;
            cudaMallocAsync(&p, 4096, 0);
            cudaFreeAsync(p, 0);
        });
    else if (strcmp(mode, "graph-replay") == 0)
        graph_replay();
    else if (strcmp(mode, "serve") == 0 || strcmp(mode, "hot") == 0 ||
             strcmp(mode, "pageable") == 0 || strncmp(mode, "leak", 4) == 0 ||
             strncmp(mode, "churn", 5) == 0)
        serve(mode, argc > 2 ? atoi(argv[2]) : 400);
    else
        fault(mode);
    return 0;
}
