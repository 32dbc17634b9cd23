/* SPDX-License-Identifier: Apache-2.0 */
/* A CDI specification, YAML or JSON: the driver it was generated for and the devices it offers. */
#include <string.h>

#include "parse/common/scan.h"

typedef struct {
    char driver[40];
    guint devices;
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    static const char *const names[] = {"libcuda.so.", "libnvidia-ml.so."};
    State *st = state;
    CtStr s = ct_line_str(line);
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        gssize at = ct_str_find(s, names[i]);
        if (at < 0)
            continue;
        CtStr v = ct_str_from(s, (gsize)at + strlen(names[i]));
        gsize n = 0;
        while (n < v.n && (g_ascii_isdigit(v.p[n]) || v.p[n] == '.'))
            n++;
        v = ct_str_head(v, n);
        if (n < 5 || !memchr(v.p, '.', n) || strcmp(st->driver, CT_STR_BUF(v)) == 0)
            continue;
        ct_str_buf(v, st->driver, sizeof(st->driver));
        ct_emit_fact(emit, line, ct_emit_source_path(emit), "cdi.driver", st->driver);
    }
    if (ct_str_has(s, "/dev/nvidia") && !ct_str_has(s, "nvidia-") && !ct_str_has(s, "nvidiactl"))
        st->devices++;
    if (ct_str_has(s, "cdiVersion")) {
        CtStr key, value;
        if (ct_str_key_value(s, &key, &value))
            ct_emit_text(emit, line, ct_emit_source_path(emit), "cdi.spec-version", value);
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    char text[16];
    g_snprintf(text, sizeof(text), "%u", st->devices);
    ct_emit_number(emit, NULL, ct_emit_source_path(emit), "cdi.gpu-nodes", st->devices, text);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    return ct_sniff_has(sniff, "cdiVersion") ? 92 : 0;
}

const CtParser ct_parser_cdi_spec = {
    .id = "cdi-spec",
    .summary = "CDI specification",
    .doc = "/etc/cdi/*.yaml and .json: the driver release in the names of the mounted libraries "
           "(cdi.driver), which goes stale when the driver is upgraded, and the device nodes.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
