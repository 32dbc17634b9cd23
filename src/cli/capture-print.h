/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture brought, for people and for programs. */
#pragma once

#include "cli/capture.h"
#include "report/messages.h"

/* (transfer full) */
char *ct_capture_summary(const CtLiveCapture *capture, CtEvidence *ev, const char *file,
                         guint redacted, CtLang lang);
char *ct_capture_json(const CtLiveCapture *capture, CtEvidence *ev, const char *file,
                      guint redacted, gboolean is_redacted);
