/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `cutriage` without a word: this machine, the five steps of the method and their commands. */
int ct_start_page(void);
