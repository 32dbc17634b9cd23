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
#include <unistd.h>

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

static void serve(const char *mode, int n)
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    float *scratch = nullptr;
    cudaMalloc(&scratch, 1 << 20);
    for (int i = 0; i < n; i++) {
        float *p = nullptr;
        if (strcmp(mode, "leak-async") == 0)
            show("cudaMallocAsync", cudaMallocAsync(&p, 1 << 18, s));
        else if (strcmp(mode, "leak-malloc") == 0)
            show("cudaMalloc", cudaMalloc(&p, 1 << 18));
        else if (strcmp(mode, "hot") == 0)
            cudaMalloc(&p, 1 << 18);
        else
            cudaMallocAsync(&p, 1 << 18, s);
        fill_rows<<<4, 256, 0, s>>>(p, 1024);
        if (strcmp(mode, "hot") == 0)
            cudaFree(p);
        else if (strcmp(mode, "serve") == 0)
            cudaFreeAsync(p, s);
        cudaStreamSynchronize(s);
        usleep(500);
    }
}

static void fault(const char *mode)
{
    float *p;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMalloc(&p, 4096);
    fill_rows<<<4, 256, 0, s>>>(p, 1024);
    if (strcmp(mode, "out-of-bounds") == 0)
        gather_scores<<<1, 32, 0, s>>>(p, 1L << 34);
    else if (strcmp(mode, "misaligned") == 0)
        read_unaligned<<<1, 1, 0, s>>>((char *)p, p);
    else if (strcmp(mode, "assert") == 0)
        check_index<<<1, 32, 0, s>>>(16);
    else if (strcmp(mode, "double-free") == 0) {
        cudaStreamSynchronize(s);
        cudaFree(p);
        show("cudaFree", cudaFree(p));
        cudaMalloc(&p, 4096);
    } else if (strcmp(mode, "capture") == 0) {
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
        time_loop(300000, [] { nothing<<<1, 1>>>(); });
    else if (strcmp(mode, "loop-async") == 0)
        time_loop(300000, [] {
            void *p;
            cudaMallocAsync(&p, 4096, 0);
            cudaFreeAsync(p, 0);
        });
    else if (strcmp(mode, "serve") == 0 || strcmp(mode, "hot") == 0 || strncmp(mode, "leak", 4) == 0)
        serve(mode, 400);
    else
        fault(mode);
    return 0;
}
