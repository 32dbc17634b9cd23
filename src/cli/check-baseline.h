/* SPDX-License-Identifier: Apache-2.0 */
/* What has changed since the known-good state that `capture --baseline` keeps. */
#pragma once

#include "cli/capture.h"
#include "report/diff.h"

/* NULL without a baseline, or when nothing differs that matters. (transfer full) */
char *ct_check_baseline(const CtCaptureOptions *options, const CtLiveCapture *taken,
                        const CtDiffPage *page);
