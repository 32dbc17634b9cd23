/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a running process: what is seen, and that it runs on whatever happens to us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/live/live.h"
#include "collect/live/process-stack.h"

static char *victim_path;

typedef struct {
    pid_t pid;
    int out;
} Victim;

static Victim start(void)
{
    Victim v;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    v.pid = fork();
    if (v.pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        execl(victim_path, "victim", "60000", NULL);
        _exit(127);
    }
    close(ends[1]);
    v.out = ends[0];
    fcntl(v.out, F_SETFL, O_NONBLOCK);
    g_usleep(200000);
    return v;
}

static void stop(Victim *v)
{
    kill(v->pid, SIGKILL);
    waitpid(v->pid, NULL, 0);
    close(v->out);
}

/* Lines that the counting thread printed since the last call. */
static guint beats(Victim *v)
{
    char data[65536];
    guint lines = 0;
    for (gssize n; (n = read(v->out, data, sizeof data)) > 0;)
        for (gssize i = 0; i < n; i++)
            lines += data[i] == '\n';
    return lines;
}

static gboolean alive_and_counting(Victim *v)
{
    beats(v);
    g_usleep(300000);
    char path[64], text[512] = "";
    g_snprintf(path, sizeof path, "/proc/%d/status", (int)v->pid);
    int fd = open(path, O_RDONLY);
    gssize n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 && !strstr(text, "State:\tT") && !strstr(text, "State:\tt") && beats(v) >= 3;
}

static CtLiveCapture *look(pid_t pid)
{
    const char *const only[] = {"process", "process-threads", NULL};
    const CtLiveOptions options = {.only = only, .pid = pid};
    CtLiveCapture *c = ct_live_capture(&options, NULL);
    assert_non_null(c);
    return c;
}

static const char *section(CtLiveCapture *c, const char *end, CtStatus *status)
{
    for (guint i = 0; i < c->sections->len; i++) {
        CtLiveSection *s = c->sections->pdata[i];
        if (g_str_has_suffix(s->path, end)) {
            g_byte_array_append(s->bytes, (const guint8 *)"", 1);
            *status = s->status;
            return (const char *)s->bytes->data;
        }
    }
    fail_msg("no section %s", end);
    return NULL;
}

static void sees_everything(void **state)
{
    CtStatus status;
    Victim v = start();
    g_autoptr(CtLiveCapture) c = look(v.pid);
    const char *maps = section(c, "/maps", &status);
    assert_non_null(strstr(maps, "libc"));
    const char *table = section(c, "/task", &status);
    assert_non_null(strstr(table, "Threads of process"));
    const char *stack = section(c, "/task/stack", &status);
    if (status == CT_DENIED || status == CT_UNSUPPORTED) {
        stop(&v);
        skip(); /* ptrace is not allowed here, or there is no elfutils */
    }
    assert_int_equal(status, CT_OK);
    assert_non_null(strstr(stack, "in cudaStreamSynchronize ()"));
    assert_non_null(strstr(stack, "in wait_lock ()"));
    assert_non_null(strstr(stack, "in beat ()"));
    assert_non_null(strstr(stack, "in main ()"));
    assert_non_null(strstr(stack, "stands still:"));
    assert_true(alive_and_counting(&v));
    stop(&v);
}

/* A process that samples without an end is killed at any moment, forty times. */
static void runs_on_when_we_are_killed(void **state)
{
    Victim v = start();
    for (int round = 0; round < 40; round++) {
        pid_t us = fork();
        if (us == 0) {
            for (;;) {
                for (pid_t tid = v.pid; tid < v.pid + 4; tid++) {
                    CtThreadSample s;
                    ct_thread_sample(v.pid, tid, 20, &s);
                    ct_thread_sample_clear(&s);
                }
            }
        }
        g_usleep(2000 + (gulong)round * 311);
        kill(us, SIGKILL);
        waitpid(us, NULL, 0);
    }
    assert_true(alive_and_counting(&v));
    stop(&v);
}

/* The same from outside: the whole capture is killed. */
static void runs_on_when_capture_is_killed(void **state)
{
    Victim v = start();
    for (int round = 0; round < 8; round++) {
        pid_t us = fork();
        if (us == 0) {
            ct_live_capture_free(look(v.pid));
            _exit(0);
        }
        g_usleep(20000 + (gulong)round * 45000);
        kill(us, SIGKILL);
        waitpid(us, NULL, 0);
    }
    assert_true(alive_and_counting(&v));
    stop(&v);
}

/* Looked at by a process that is not its parent: a tracer that is would take the news of the end. */
static void signal_is_not_lost(void **state)
{
    Victim v = start();
    pid_t us = fork();
    if (us == 0) {
        CtThreadSample s;
        for (int i = 0; i < 200; i++) {
            if (i == 100)
                kill(v.pid, SIGTERM);
            ct_thread_sample(v.pid, v.pid, 20, &s);
            ct_thread_sample_clear(&s);
        }
        _exit(0);
    }
    int status = 0;
    waitpid(us, NULL, 0);
    for (int i = 0; i < 100 && waitpid(v.pid, &status, WNOHANG) == 0; i++)
        g_usleep(20000);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    close(v.out);
}

static void stopped_stays_stopped(void **state)
{
    Victim v = start();
    CtThreadSample s;
    kill(v.pid, SIGSTOP);
    g_usleep(50000);
    ct_thread_sample(v.pid, v.pid, 50, &s);
    ct_thread_sample_clear(&s);
    beats(&v);
    g_usleep(100000);
    assert_int_equal(beats(&v), 0);
    kill(v.pid, SIGCONT);
    assert_true(alive_and_counting(&v));
    stop(&v);
}

static void gone(void **state)
{
    CtThreadSample s;
    assert_false(ct_thread_sample(999999999, 999999999, 10, &s));
    assert_int_equal(s.error, ESRCH);
    g_autoptr(CtLiveCapture) c = look(999999999);
    assert_non_null(c);
}

static void denied_says_what_to_do(void **state)
{
    if (getuid() != 0)
        skip();
    Victim v = start();
    pid_t us = fork();
    if (us == 0) {
        if (setgid(65534) || setuid(65534))
            _exit(77);
        g_autoptr(CtLiveCapture) c = look(v.pid);
        for (guint i = 0; i < c->sections->len; i++) {
            const CtLiveSection *s = c->sections->pdata[i];
            if (g_str_has_suffix(s->path, "/task/stack"))
                _exit(s->status == CT_DENIED && s->note && strstr(s->note, "SYS_PTRACE") ? 0 : 1);
        }
        _exit(2);
    }
    int status = 0;
    waitpid(us, &status, 0);
    stop(&v);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sees_everything),
        cmocka_unit_test(runs_on_when_we_are_killed),
        cmocka_unit_test(runs_on_when_capture_is_killed),
        cmocka_unit_test(signal_is_not_lost),
        cmocka_unit_test(stopped_stays_stopped),
        cmocka_unit_test(gone),
        cmocka_unit_test(denied_says_what_to_do),
    };
    victim_path = argc > 1 ? argv[1] : NULL;
    if (!victim_path)
        return 77;
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
