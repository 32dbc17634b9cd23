/* SPDX-License-Identifier: Apache-2.0 */
/* `inspect FILE.engine`, `inspect FILE.onnx`: the identity of model files of any size. */
#pragma once

#include <glib.h>

/* TRUE when every path is an engine or a model; they were printed then, *out_exit is set. */
gboolean ct_inspect_models(char **paths, gboolean json, int *out_exit);
