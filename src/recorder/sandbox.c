/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that gives up its system calls (seccomp's strict mode), or a process that gives up the
 * processor's counter, dies of what a hook does: reading the time. Neither can be asked for cheaply
 * in a hook, so the call that does it is watched; the kernel's answer is passed on as it is.
 */
#include "recorder/recorder.h"

#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "recorder/sys.h"

#define BARRED UINT32_MAX

static void follow(long option, long value)
{
    if (option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT) {
        ctr_self.barred = true;
        ctr_self.depth = BARRED; /* as if it were inside of a hook for good */
    } else if (option == PR_SET_TSC && value == PR_TSC_SIGSEGV) {
        ctr_turn_off();
    }
}

/* Whether this process may read the counter: it inherits that. */
bool ctr_may_read_clock(void)
{
#if defined(__x86_64__)
    int mode = PR_TSC_ENABLE;
    return CTR_SYS(SYS_prctl, PR_GET_TSC, (intptr_t)&mode) != 0 || mode == PR_TSC_ENABLE;
#else
    return true;
#endif
}

CTR_EXPORT int prctl(int option, long a, long b, long c, long d);
int prctl(int option, long a, long b, long c, long d)
{
    long r = CTR_SYS(SYS_prctl, option, a, b, c, d);
    if (r < 0 && r > -4096) {
        errno = (int)-r;
        return -1;
    }
    follow(option, a);
    return (int)r;
}
