/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `python -c "import torch; print(torch.__version__, ...)"`, read by its command. */
#pragma once

#include "parse/common/scan.h"

typedef struct CtPythonPrint CtPythonPrint;

/* NULL when the command prints nothing of interest. */
CtPythonPrint *ct_python_print_new(const char *command);
void ct_python_print_free(CtPythonPrint *print);
/* TRUE when the line was the output of the next print. */
gboolean ct_python_print_line(CtPythonPrint *print, CtEmit *emit, const CtLine *line);
