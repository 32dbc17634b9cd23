/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an attempt to learn something ended. Unknown is never 0: a value counts only with CT_OK
 * (or CT_PARTIAL and CT_TRUNCATED for the part that was read).
 */
#pragma once

typedef enum {
    CT_OK,
    CT_PARTIAL,
    CT_TRUNCATED,
    CT_ABSENT,
    CT_DENIED,
    CT_UNSUPPORTED,
    CT_TIMEOUT,
    CT_FAILED,
} CtStatus;

/* "ok", "partial", ... as stored in the evidence. */
const char *ct_status_name(CtStatus status);
