/* SPDX-License-Identifier: Apache-2.0 */
/* The known-good state of a machine as a page for people. */
#pragma once

#include "evidence/evidence.h"
#include "report/messages.h"

/* Markdown. (transfer full) */
char *ct_baseline_page(CtEvidence *ev, CtLang lang);
