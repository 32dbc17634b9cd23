/* SPDX-License-Identifier: Apache-2.0 */
/* Files, single values, the environment and programs, as sections. */
#include <errno.h>
#include <poll.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/live/live-private.h"

#define MAX_VALUE 4096u
#define MAX_VALUE_LINES 64u
#define MAX_ENVIRON ((gsize)1024 * 1024)

extern char **environ;

static CtStatus status_of_errno(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return CT_DENIED;
    case ENOENT:
    case ENOTDIR:
        return CT_ABSENT;
    case ENOTSUP:
    case EISDIR:
    case ENODEV:
    case ENXIO:
        return CT_UNSUPPORTED;
    default:
        return CT_FAILED;
    }
}

CtStatus ct_live_read(CtLive *live, const char *path, gsize cap, char **out, gsize *out_len)
{
    *out = NULL;
    if (out_len)
        *out_len = 0;
    int fd = ct_live_open(live, path);
    if (fd < 0)
        return status_of_errno(errno);
    g_autoptr(GString) text = g_string_new(NULL);
    char block[16384];
    CtStatus status = CT_OK;
    for (;;) {
        gssize n = read(fd, block, sizeof(block));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) /* a gated sensor, a device in reset, a process that just ended */
            status = text->len ? CT_PARTIAL : status_of_errno(errno);
        if (n <= 0)
            break;
        if (text->len + (gsize)n > cap) {
            g_string_append_len(text, block, (gssize)(cap - text->len));
            status = CT_TRUNCATED;
            break;
        }
        g_string_append_len(text, block, n);
    }
    int error = errno;
    close(fd);
    errno = error;
    if (status != CT_OK && status != CT_PARTIAL && status != CT_TRUNCATED)
        return status;
    if (out_len)
        *out_len = text->len;
    *out = g_string_free(g_steal_pointer(&text), FALSE);
    return status;
}

CtStatus ct_live_file(CtLive *live, const char *path, gsize cap, gboolean want)
{
    char *text;
    gsize len;
    g_autofree char *command = g_strconcat("cat ", path, NULL);
    CtStatus status = ct_live_read(live, path, cap ? cap : CT_LIVE_MAX_FILE, &text, &len);
    int error = errno;
    if (!text) {
        if (status != CT_ABSENT || want)
            ct_live_missing(live, path, command, status, g_strerror(error));
        return status;
    }
    ct_live_begin(live, path, command);
    ct_live_write(live, text, len);
    ct_live_end(live, status, status == CT_TRUNCATED ? "longer than what is kept" : NULL);
    g_free(text);
    return status;
}

char *ct_live_line(CtLive *live, const char *path)
{
    g_autofree char *text = NULL;
    ct_live_read(live, path, MAX_VALUE, &text, NULL);
    if (!text)
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    return g_strdup(g_strstrip(text));
}

static void emit(CtLive *live, GString *out, const char *text)
{
    if (out)
        g_string_append(out, text);
    else
        ct_live_write(live, text, strlen(text));
}

CtStatus ct_live_value(CtLive *live, GString *out, const char *path)
{
    g_autofree char *text = NULL;
    gsize len;
    CtStatus status = ct_live_read(live, path, MAX_VALUE, &text, &len);
    if (status == CT_ABSENT)
        return status;
    if (!text) {
        g_autofree char *line = g_strdup_printf("grep: %s: %s\n", path, g_strerror(errno));
        emit(live, out, line);
        return status;
    }
    for (gsize i = 0; i < len; i++) /* lists of the device tree */
        if (!text[i])
            text[i] = i + 1 < len ? ' ' : '\n';
    g_auto(GStrv) lines = g_strsplit(text, "\n", MAX_VALUE_LINES + 1);
    for (guint i = 0; lines[i] && i < MAX_VALUE_LINES; i++) {
        g_strstrip(lines[i]);
        if (!*lines[i] && (i || lines[1]))
            continue;
        g_autofree char *line = g_strdup_printf("%s: %s\n", path, lines[i]);
        emit(live, out, line);
    }
    return status;
}

/* ---- the environment ---- */

static char *own_environ(gsize *out_len)
{
    GString *all = g_string_new(NULL);
    for (char **e = environ; e && *e && all->len < MAX_ENVIRON; e++)
        g_string_append_len(all, *e, (gssize)strlen(*e) + 1);
    *out_len = all->len;
    return g_string_free(all, FALSE);
}

static gboolean has_variable(const char *all, gsize len, const char *name, gsize n)
{
    for (const char *p = all, *end = all + len; p < end; p += strlen(p) + 1)
        if (strncmp(p, name, n) == 0 && p[n] == '=')
            return TRUE;
    return FALSE;
}

/* What every login gets: lines NAME="value" of /etc/environment. A variable of the process wins.
 * Takes `text`, `len` bytes that end with NUL; NULL when there is nothing at all. */
static char *with_logins(CtLive *live, char *text, gsize len, gsize *out_len)
{
    g_autofree char *file = NULL;
    ct_live_read(live, "/etc/environment", 65536, &file, NULL);
    GString *all = g_string_new_len(text ? text : "", (gssize)len);
    g_auto(GStrv) lines = file ? g_strsplit(file, "\n", 1000) : NULL;
    if (all->len && all->str[all->len - 1])
        g_string_append_c(all, '\0');
    for (guint i = 0; lines && lines[i]; i++) {
        char *line = g_strstrip(lines[i]);
        line += g_str_has_prefix(line, "export ") ? 7 : 0;
        char *value = strchr(line, '=');
        if (!value || *line == '#' || has_variable(all->str, all->len, line, (gsize)(value - line)))
            continue;
        gsize n = strlen(++value);
        gboolean quoted = n > 1 && (*value == '"' || *value == '\'') && value[n - 1] == *value;
        g_string_append_len(all, line, value - line);
        g_string_append_len(all, value + quoted, (gssize)(n - 2 * (gsize)quoted));
        g_string_append_c(all, '\0');
    }
    gboolean none = !text && !all->len;
    g_free(text);
    *out_len = all->len;
    return g_string_free(all, none);
}

char *ct_live_environ(CtLive *live, gsize *out_len)
{
    char *text = NULL;
    if (ct_live_pid(live)) {
        g_autofree char *path = g_strdup_printf("/proc/%d/environ", (int)ct_live_pid(live));
        ct_live_read(live, path, MAX_ENVIRON, &text, out_len);
        return text;
    }
    if (!ct_live_sysroot(live))
        return own_environ(out_len);
    /* A copied tree has no /proc/self in most cases; the first process of a container is the one
     * that was started with the variables that matter. */
    static const char *const paths[] = {"/proc/self/environ", "/proc/1/environ", NULL};
    gsize len = 0;
    for (guint i = 0; paths[i] && !text; i++)
        ct_live_read(live, paths[i], MAX_ENVIRON, &text, &len);
    return with_logins(live, text, text ? len : 0, out_len);
}

char *ct_live_getenv(CtLive *live, const char *name)
{
    gsize len = 0, n = strlen(name);
    g_autofree char *all = ct_live_environ(live, &len);
    for (char *p = all, *end = all ? all + len : NULL; p && p < end; p += strlen(p) + 1)
        if (strncmp(p, name, n) == 0 && p[n] == '=')
            return g_strdup(p + n + 1);
    return NULL;
}

/* ---- programs ---- */

static void exec_child(const char *const *argv, int out)
{
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    g_setenv("LC_ALL", "C", TRUE);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

static CtStatus pump(CtLive *live, int fd, gsize cap)
{
    char block[16384];
    gsize got = 0;
    for (;;) {
        gssize n = read(fd, block, sizeof(block));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return CT_OK;
        ct_live_write(live, block, MIN((gsize)n, cap - got));
        got += (gsize)n;
        if (got >= cap)
            return CT_TRUNCATED;
    }
}

CtStatus ct_live_run(CtLive *live, const char *const *argv, gsize cap)
{
    g_autofree char *command = g_strjoinv(" ", (char **)argv);
    g_autofree char *found = g_find_program_in_path(argv[0]);
    int ends[2];
    if (ct_live_sysroot(live) || !found)
        return ct_live_sysroot(live) ? CT_UNSUPPORTED : CT_ABSENT;
    if (pipe(ends) != 0)
        return CT_FAILED;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0)
        exec_child(argv, ends[1]);
    close(ends[1]);
    int status = 0;
    ct_live_begin(live, command, command);
    CtStatus result = pid < 0 ? CT_FAILED : pump(live, ends[0], cap ? cap : CT_LIVE_MAX_FILE);
    close(ends[0]); /* a program that has more to say ends by SIGPIPE */
    if (pid > 0)
        waitpid(pid, &status, 0);
    gboolean bad = result == CT_OK && (!WIFEXITED(status) || WEXITSTATUS(status));
    g_autofree char *note =
        !bad ? NULL
        : WIFEXITED(status) ? g_strdup_printf("it ended with code %d", WEXITSTATUS(status))
                            : g_strdup_printf("it ended by signal %d", WTERMSIG(status));
    ct_live_end(live, bad ? CT_PARTIAL : result, note);
    return bad ? CT_PARTIAL : result;
}
