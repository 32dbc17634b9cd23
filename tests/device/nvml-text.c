/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the NVML collector writes, for nvml-compare. */
#include <stdio.h>
#include <string.h>

#include "collect/live/live.h"

int main(void)
{
    const char *const only[] = {"nvml", NULL};
    const CtLiveOptions options = {.only = only};
    g_autoptr(CtLiveCapture) capture = ct_live_capture(&options, NULL);
    if (!capture)
        return 1;
    for (guint i = 0; i < capture->sections->len; i++) {
        const CtLiveSection *s = capture->sections->pdata[i];
        fwrite(s->bytes->data, 1, s->bytes->len, stdout);
        if (s->note)
            fprintf(stderr, "%s: %s\n", s->path, s->note);
    }
    for (guint i = 0; i < capture->runs->len; i++) {
        const CtLiveRun *r = capture->runs->pdata[i];
        if (!strcmp(r->collector->id, "nvml"))
            fprintf(stderr, "nvml: %s, %d ms\n", ct_status_name(r->status), (int)r->took_ms);
    }
    return 0;
}
