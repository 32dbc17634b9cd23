/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

/* Opens the image inside the program where it lies, without sqlite3_deserialize. */
int ct_kb_image_open(sqlite3 **out);
