/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/check-baseline.h"

#include <unistd.h>

#include "cli/cli.h"

/* The baseline has stand-ins for names and UUIDs, so what is laid beside it must have them too:
 * the capture is read once more, with the same key. */
char *ct_check_baseline(const CtCaptureOptions *options, const CtLiveCapture *taken,
                        const CtDiffPage *page)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = ct_capture_data_file("baseline.case", FALSE);
    int code = 0;
    if (!path || access(path, R_OK) != 0)
        return NULL;
    g_autoptr(CtEvidence) baseline = ct_evidence_load(path, &error);
    if (!baseline) {
        ct_cli_note("the baseline is left out: %s", error->message);
        return NULL;
    }
    g_autoptr(CtRedact) redact = ct_capture_redactor();
    g_auto(CtGather) now = {0};
    if (!ct_capture_read("check", options, taken, redact, FALSE, &now, &code))
        return NULL;
    g_autoptr(CtDiff) d = ct_diff(baseline, now.ev, now.kb, FALSE, ct_lang_name(page->lang), &error);
    if (!d) {
        ct_cli_note("the baseline is left out: %s", error->message);
        return NULL;
    }
    return ct_diff_matters(d) ? ct_diff_report(d, page) : NULL;
}
