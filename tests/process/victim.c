/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to be looked at: one thread spins in a call that is named like CUDA's, one waits for a
 * lock, one sleeps and counts. Its second argument tells how long it lives, in ms. It prints the
 * count every 10 ms, so that a thread that stands still is seen.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static volatile double sink;

__attribute__((noinline)) void cudaStreamSynchronize(void);
__attribute__((noinline)) void cudaStreamSynchronize(void)
{
    for (;;)
        sink += 1;
}

static void *spin(void *arg)
{
    cudaStreamSynchronize();
    return arg;
}

static void *wait_lock(void *arg)
{
    pthread_mutex_lock(&taken);
    return arg;
}

static void *beat(void *arg)
{
    for (unsigned long n = 0;; n++) {
        usleep(10000);
        printf("%lu\n", n);
        fflush(stdout);
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t;
    pthread_mutex_lock(&taken);
    if (pthread_create(&t, NULL, spin, NULL) || pthread_create(&t, NULL, wait_lock, NULL) ||
        pthread_create(&t, NULL, beat, NULL))
        return 2;
    poll(NULL, 0, argc > 1 ? atoi(argv[1]) : 30000);
    _exit(0);
}
