/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi -L, nvlink --status and -e, --version: lists below "GPU N:" lines. */
#include <string.h>

#include "parse/env/known-lines.h"
#include "parse/gpu/gpu-parsers.h"

typedef struct {
    char subject[64];
    guint gpus, active, inactive, links;
    double speed;     /* of the slowest active link, bytes per second */
    double errors[3]; /* replay, recovery, crc */
    gboolean has_errors;
} State;

static const char *const error_names[3] = {"replay", "recovery", "crc"};

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

static void number(CtEmit *emit, const char *subject, const char *key, double value)
{
    char text[32];
    g_snprintf(text, sizeof(text), "%.0f", value);
    ct_emit_number(emit, NULL, subject, key, value, text);
}

static void end_gpu(State *st, CtEmit *emit)
{
    if (st->links && !st->has_errors) {
        number(emit, st->subject, "gpu.nvlink.active", st->active);
        number(emit, st->subject, "gpu.nvlink.inactive", st->inactive);
        if (st->active)
            number(emit, st->subject, "gpu.nvlink.speed", st->speed);
    }
    for (int i = 0; st->has_errors && i < 3; i++) {
        char key[64];
        g_snprintf(key, sizeof(key), "gpu.nvlink.errors.%s", error_names[i]);
        number(emit, st->subject, key, st->errors[i]);
        st->errors[i] = 0;
    }
    st->links = st->active = st->inactive = 0;
    st->has_errors = FALSE;
    st->speed = 0;
}

/* "GPU 0: NVIDIA H200 (UUID: GPU-...)", "  MIG 1c.3g.71gb  Device  0: (UUID: MIG-...)" */
static gboolean gpu_line(State *st, CtStr s, const CtLine *line, CtEmit *emit)
{
    CtStr rest = ct_str_from(s, 4), index, uuid, name;
    gint64 n;
    if (!ct_str_starts(s, "GPU ") || !ct_str_cut(&rest, ":", &index) || !ct_str_uint(index, &n) ||
        n > 4096)
        return FALSE;
    end_gpu(st, emit);
    g_snprintf(st->subject, sizeof(st->subject), "gpu:%d", (int)n);
    st->gpus++;
    name = rest;
    if (ct_str_between(rest, "(UUID:", ")", &uuid)) {
        ct_emit_text(emit, line, st->subject, "gpu.uuid", uuid);
        ct_emit_gpu_names(emit, st->subject, ct_str("", 0), uuid);
        name = ct_str_strip(ct_str_head(rest, (gsize)ct_str_find(rest, "(UUID:")));
    }
    if (name.n)
        ct_emit_text(emit, line, st->subject, "gpu.name", name);
    return TRUE;
}

static gboolean mig_line(State *st, CtStr s, const CtLine *line, CtEmit *emit)
{
    CtStr rest = ct_str_from(s, 4), profile, device, uuid;
    gint64 n;
    if (!ct_str_starts(s, "MIG ") || !st->gpus)
        return FALSE;
    profile = ct_str_token(&rest);
    if (!ct_str_eq(ct_str_token(&rest), "Device") || !ct_str_cut(&rest, ":", &device) ||
        !ct_str_uint(device, &n))
        return FALSE;
    char subject[96];
    g_snprintf(subject, sizeof(subject), "%s/mig:%d", st->subject, (int)(n % 10000));
    ct_emit_text(emit, line, subject, "gpu.mig.device", profile);
    if (ct_str_between(rest, "(UUID:", ")", &uuid))
        ct_emit_gpu_names(emit, subject, ct_str("", 0), uuid);
    return TRUE;
}

/* "Link 3: 26.562 GB/s", "Link 3: <inactive>", "Link 3: Replay Errors: 0" */
static gboolean link_line(State *st, CtStr s)
{
    CtStr rest = ct_str_from(s, 5), index, what;
    CtDim dim;
    double value;
    gint64 n;
    if (!ct_str_starts(s, "Link ") || !st->gpus || !ct_str_cut(&rest, ":", &index) ||
        !ct_str_uint(index, &n))
        return FALSE;
    if (ct_str_cut(&rest, "Errors:", &what)) {
        if (!ct_str_number(rest, &value))
            return TRUE;
        st->has_errors = TRUE;
        for (int i = 0; i < 3; i++)
            if (ct_str_ifind(what, error_names[i]) >= 0)
                st->errors[i] += value;
        return TRUE;
    }
    st->links++;
    if (ct_quantity(rest, &dim, &value) && dim == CT_DIM_RATE) {
        if (!st->active || value < st->speed)
            st->speed = value;
        st->active++;
    } else if (ct_str_ifind(rest, "inactive") >= 0) {
        st->inactive++;
    }
    return TRUE;
}

static gboolean version_line(CtStr s, const CtLine *line, CtEmit *emit)
{
    static const struct {
        const char *word, *key;
    } versions[] = {
        {"NVIDIA-SMI version", "version.nvidia-smi"},
        {"NVML version", "version.nvml"},
        {"DRIVER version", "version.driver"},
        {"KMD version", "version.driver"},
        {"CUDA Version", "version.cuda.driver"},
        {"CUDA UMD version", "version.cuda.driver"},
    };
    CtStr key, value;
    if (!ct_str_key_value(s, &key, &value))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(versions); i++) {
        if (ct_str_ieq(key, versions[i].word)) {
            ct_nvidia_version(emit, line, versions[i].key, value);
            return TRUE;
        }
    }
    return FALSE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (!s.n || gpu_line(st, s, line, emit) || mig_line(st, s, line, emit) || link_line(st, s) ||
        version_line(s, line, emit))
        return;
    ct_env_known_line(emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    end_gpu(st, emit);
    if (st->gpus) {
        CtStr asked;
        if (!ct_command_option(ct_emit_command(emit), "-i", &asked))
            number(emit, NULL, "gpu.count", st->gpus);
        ct_emit_coverage(emit, "gpu-state", NULL);
    }
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    CtStr first = ct_sniff_first(sniff);
    gboolean smi = ct_command_runs(sniff->command, "nvidia-smi");
    if (ct_str_starts(first, "GPU 0: ") || (ct_str_starts(first, "GPU ") && smi))
        return ct_str_has(first, "UUID: GPU-") ? 90 : smi ? 85 : 50;
    if (ct_str_istarts(first, "NVIDIA-SMI version"))
        return 90;
    if (smi && (ct_command_word(sniff->command, "-L") || ct_command_word(sniff->command, "nvlink")))
        return 70;
    return 0;
}

const CtParser ct_parser_nvidia_smi_list = {
    .id = "nvidia-smi-list",
    .summary = "nvidia-smi -L, nvlink and --version",
    .doc = "Lists below \"GPU N:\" lines: names and UUIDs, MIG devices, state, speed and error "
           "counters of NVLink links; and the version list of nvidia-smi --version, with the "
           "names it got in 610.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
