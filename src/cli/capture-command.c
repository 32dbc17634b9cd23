/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/capture-command.h"

#include <string.h>
#include <sys/wait.h>

#include "cli/capture.h"
#include "cli/cli.h"

#define MAX_RUNS 1000

void ct_command_result_clear(CtCommandResult *r)
{
    g_clear_pointer(&r->ends, g_array_unref);
    g_clear_pointer(&r->summary, g_free);
    ct_run_clear(&r->kept);
}

int ct_command_split(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return i;
    return argc;
}

static gboolean is_model(const char *path)
{
    static const char *const ends[] = {".engine", ".plan", ".trt", ".onnx"};
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
        if (g_str_has_suffix(path, ends[i]))
            return TRUE;
    return FALSE;
}

/* A link of the tree may point anywhere: that it is there suffices. */
static gboolean is_there(const char *path, const char *sysroot)
{
    g_autofree char *full = g_build_filename(sysroot ? sysroot : "/", path, NULL);
    return g_file_test(full, G_FILE_TEST_IS_REGULAR) || g_file_test(full, G_FILE_TEST_IS_SYMLINK);
}

static char *full_path(const char *path, const char *sysroot)
{
    return g_canonicalize_filename(path, sysroot ? "/" : NULL);
}

char *ct_command_program(const char *name, const char *sysroot)
{
    static const char *const folders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                          "/usr/bin",        "/sbin",          "/bin"};
    if (!sysroot)
        return g_find_program_in_path(name);
    g_autofree char *full = full_path(name, sysroot);
    if (strchr(name, '/'))
        return is_there(full, sysroot) ? g_steal_pointer(&full) : NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *path = g_build_filename(folders[i], name, NULL);
        if (is_there(path, sysroot))
            return g_steal_pointer(&path);
    }
    return NULL;
}

GPtrArray *ct_command_paths(char **argv, const char *sysroot, const char *const *besides)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    for (; besides && *besides; besides++)
        g_ptr_array_add(out, g_strdup(*besides));
    char *program = argv && argv[0] ? ct_command_program(argv[0], sysroot) : NULL;
    if (program)
        g_ptr_array_add(out, program);
    for (char **word = argv; word && *word; word++) {
        const char *value = strchr(*word, '=');
        g_autofree char *path = full_path(value ? value + 1 : *word, sysroot);
        if (is_model(path) && is_there(path, sysroot))
            g_ptr_array_add(out, g_steal_pointer(&path));
    }
    g_ptr_array_add(out, NULL);
    return out;
}

static void say_run(guint number, int repeat, const CtRun *run)
{
    char buffer[16];
    double seconds = (double)run->took_ns / 1e9;
    if (WIFSIGNALED(run->status))
        ct_cli_note("run %u of %d: killed by %s after %.3f s", number, repeat,
                    ct_signal_name(WTERMSIG(run->status), buffer), seconds);
    else
        ct_cli_note("run %u of %d: exit code %d after %.3f s", number, repeat,
                    WEXITSTATUS(run->status), seconds);
}

gboolean ct_command_run_all(const char *verb, char **argv, const CtCommandOptions *o,
                            gboolean json, CtCommandResult *out, int *out_exit)
{
    *out = (CtCommandResult){.argv = argv, .ends = g_array_new(FALSE, FALSE, sizeof(CtRunEnd))};
    int repeat = 1;
    if (!argv[0]) {
        *out_exit = ct_cli_usage(verb, "say which program, for example: cutriage %s -- ./app",
                                 verb);
        return FALSE;
    }
    if (o->repeat &&
        !ct_capture_number(verb, "repeat", o->repeat, 1, MAX_RUNS, &repeat, out_exit))
        return FALSE;
    const CtRunOptions options = {.stacks = !o->no_stacks, .to_stderr = json};
    for (int i = 0; i < repeat; i++) {
        g_autoptr(GError) error = NULL;
        g_auto(CtRun) run = {0};
        if (!ct_run_command(argv, &options, &run, &error)) {
            *out_exit = ct_cli_fail(verb, error);
            return FALSE;
        }
        const CtRunEnd end = {run.status, run.took_ns};
        g_array_append_val(out->ends, end);
        if (repeat > 1)
            say_run((guint)i + 1, repeat, &run);
        if (i && !ct_run_failed(&run))
            continue;
        ct_run_clear(&out->kept);
        out->kept = run;
        out->kept_number = (guint)i + 1;
        run = (CtRun){0};
    }
    out->summary = ct_run_summary(argv, (const CtRunEnd *)(void *)out->ends->data, out->ends->len);
    return TRUE;
}

static GByteArray *bytes_of(const char *text, gsize len)
{
    GByteArray *out = g_byte_array_new();
    return g_byte_array_append(out, (const guint8 *)text, (guint)len);
}

void ct_command_add(const CtCommandResult *r, CtLiveCapture *capture)
{
    const CtRun *run = &r->kept;
    g_autofree char *command = g_strjoinv(" ", r->argv), *note = NULL;
    g_strdelimit(command, "\r\n", ' ');
    if (r->ends->len > 1)
        note = g_strdup_printf("run %u of %u", r->kept_number, r->ends->len);
    gboolean cut = run->output_bytes > run->tail->len;
    ct_live_capture_add(capture, "output", command, cut ? CT_TRUNCATED : CT_OK, note,
                        bytes_of((const char *)run->tail->data, run->tail->len));
    if (run->stacks)
        ct_live_capture_add(capture, "output stacks", "gdb -batch -ex bt",
                            CT_OK, run->note, bytes_of(run->stacks->str, run->stacks->len));
    else if (run->note)
        ct_live_capture_add(capture, "output stacks", "gdb -batch -ex bt", CT_UNSUPPORTED,
                            run->note, NULL);
    ct_live_capture_add(capture, "runs", "cutriage runs", CT_OK, NULL,
                        bytes_of(r->summary, strlen(r->summary)));
}

int ct_command_exit(const CtCommandResult *r)
{
    const CtRunEnd *ends = (const CtRunEnd *)(void *)r->ends->data;
    if (r->ends->len == 1)
        return WIFSIGNALED(ends[0].status) ? 128 + WTERMSIG(ends[0].status)
                                           : WEXITSTATUS(ends[0].status);
    for (guint i = 0; i < r->ends->len; i++)
        if (WIFSIGNALED(ends[i].status) || WEXITSTATUS(ends[i].status))
            return CT_EXIT_FOUND;
    return CT_EXIT_NOTHING;
}
