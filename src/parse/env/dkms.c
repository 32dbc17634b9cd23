/* SPDX-License-Identifier: Apache-2.0 */
/* `dkms status`, and the make.log that a failed build of a kernel module leaves behind. */
#include "parse/gpu/gpu-parsers.h"

#define MAX_ERRORS 5 /* of one build; the first tells, the rest follows from it */

typedef struct {
    gboolean log, status; /* what the section was seen to be */
    guint errors;
    char kernel[80];
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->status = ct_command_runs(ct_emit_command(emit), "dkms");
    return st;
}

static gboolean ours(CtStr module)
{
    return ct_str_starts(module, "nvidia") || ct_str_starts(module, "nvgpu") ||
           ct_str_starts(module, "gdrdrv");
}

/* "nvidia/550.90.07, 5.15.0-107-generic, x86_64: installed (WARNING! ...)", formerly with ", "
 * between name and version. */
static gboolean status_row(CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_str(line), place, state;
    if (!ct_str_cut(&rest, ": ", &place))
        return FALSE;
    state = ct_str_strip(rest);
    gssize slash = ct_str_find(place, "/");
    CtStr module = ct_str_field(&place, slash > 0 ? '/' : ',');
    CtStr version = ct_str_field(&place, ','), kernel = ct_str_field(&place, ',');
    if (!module.n || !version.n || !g_ascii_isdigit(version.p[0]) || ct_str_has(module, " "))
        return FALSE;
    if (!ours(module))
        return TRUE;
    g_autofree char *subject = g_strdup_printf("dkms:%.*s/%.*s", (int)MIN(module.n, 60), module.p,
                                               (int)MIN(version.n, 60), version.p);
    CtStr word = ct_str_token(&state);
    ct_emit_text(emit, line, subject, "dkms.state", word);
    if (kernel.n && ct_str_starts(word, "installed"))
        ct_emit_text(emit, line, subject, "dkms.installed", kernel);
    if (ct_str_has(ct_line_str(line), "Diff between built and installed"))
        ct_emit_fact(emit, line, subject, "dkms.differs", "yes");
    return TRUE;
}

/* "DKMS make.log for nvidia-535.154.05 for kernel 6.8.0-45-generic (x86_64)", newer ones with a
 * slash in place of the first dash. */
static gboolean log_head(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_str(line), module;
    if (!ct_str_starts(rest, "DKMS ") || !ct_str_has(rest, "make.log for "))
        return FALSE;
    rest = ct_str_from(rest, (gsize)ct_str_find(rest, "make.log for ") + 13);
    if (!ct_str_cut(&rest, " for kernel ", &module))
        return FALSE;
    ct_str_buf(ct_str_token(&rest), st->kernel, sizeof(st->kernel));
    st->log = ours(module);
    st->errors = 0;
    if (st->log) {
        g_autofree char *subject =
            g_strdup_printf("dkms:%.*s", (int)MIN(module.n, 120), module.p);
        ct_emit_fact(emit, line, subject, "dkms.build-kernel", st->kernel);
    }
    return TRUE;
}

/* Why the compiler or make gave up. "Error 1" of make only repeats what the compiler said. */
static const char *failure(CtStr s)
{
    if (ct_str_has(s, "kernel headers for kernel") || ct_str_has(s, "No such file or directory"))
        return ct_str_has(s, "headers") || ct_str_has(s, "linux/") ? "headers" : "compile";
    if (ct_str_has(s, "unrecognized command") || ct_str_has(s, "unrecognised command") ||
        ct_str_has(s, "command not found") || ct_str_has(s, "Compiler version check failed"))
        return "compiler";
    if (ct_str_has(s, "GPL-incompatible module"))
        return "gpl-symbol";
    if (ct_str_has(s, "implicit declaration of") || ct_str_has(s, "has no member named") ||
        ct_str_has(s, "too few arguments") || ct_str_has(s, "too many arguments") ||
        ct_str_has(s, "incompatible pointer type") || ct_str_has(s, "undeclared") ||
        ct_str_has(s, "conflicting types") || ct_str_has(s, "incompatible type"))
        return "kernel-api";
    return "compile";
}

static gboolean log_error(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line);
    gboolean told = ct_str_has(s, ": error: ") || ct_str_has(s, ": fatal error: ") ||
                    ct_str_starts(s, "gcc: error:") || ct_str_starts(s, "cc: error:") ||
                    ct_str_has(s, "ERROR: modpost:") || ct_str_starts(s, "FATAL: modpost:") ||
                    ct_str_has(s, "Compiler version check failed") ||
                    ct_str_has(s, ": command not found");
    if (!told || st->errors >= MAX_ERRORS)
        return told;
    st->errors++;
    g_autofree char *detail = g_strdup_printf("{\"why\":\"%s\"}", failure(s));
    ct_emit_event(emit, line,
                  (CtEventRow){.kind = "module-load-failed",
                               .severity = CT_SEV_ERROR,
                               .name = "build",
                               .subject = "module:nvidia",
                               .detail = detail});
    return TRUE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    if (log_head(st, emit, line) || (st->log && log_error(st, emit, line)))
        return;
    if (!st->log && status_row(emit, line))
        st->status = TRUE;
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    /* An empty answer is an answer: DKMS knows of no module. */
    if (st->status)
        ct_emit_coverage(emit, "dkms", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    CtStr first = ct_sniff_first(sniff);
    if (ct_str_starts(first, "DKMS ") && ct_str_has(first, "make.log for "))
        return 95;
    if (ct_command_runs(sniff->command, "dkms"))
        return 80;
    static const char *const states[] = {": installed", ": added", ": built"};
    guint rows = 0;
    for (guint i = 0; i < sniff->n_lines; i++)
        for (gsize k = 0; k < G_N_ELEMENTS(states); k++) {
            CtStr s = ct_str_strip(ct_str(sniff->lines[i].text, sniff->lines[i].len));
            gssize at = ct_str_find(s, states[k]);
            rows += at > 0 && ct_str_has(ct_str_head(s, (gsize)at), ", ") &&
                    !ct_str_has(ct_str_head(s, (gsize)at), ": ");
        }
    return rows && rows == sniff->n_lines ? 70 : 0;
}

const CtParser ct_parser_dkms = {
    .id = "dkms",
    .summary = "dkms status and the make.log of a module build",
    .doc = "For which kernels DKMS has built and installed the NVIDIA modules, in the form with a "
           "slash (DKMS 3) and the older one with commas; from make.log the kernel of the build "
           "and the first errors, told apart by kind: the kernel's interface changed, the "
           "compiler does not know a switch, headers are missing, a symbol is for GPL modules "
           "only.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
