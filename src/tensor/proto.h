/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/proto.h"

/* ONNX's number of an element type; FALSE for strings and those without a type here. */
gboolean ct_onnx_dtype(guint64 number, gint *out_dtype);
