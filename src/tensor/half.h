/* SPDX-License-Identifier: Apache-2.0 */
/* IEEE half precision in software, and in bulk with whatever the processor offers. */
#pragma once

#include <glib.h>

float ct_half_to_float(guint16 h);
guint16 ct_float_to_half(float f); /* round to nearest even */
/* `in` is little endian and need not be aligned. */
void ct_half_to_float_n(const guint8 *in, gsize n, float *out);
