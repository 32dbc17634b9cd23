/* SPDX-License-Identifier: Apache-2.0 */
/* Engines and ONNX models: whatever the bytes are, under each kind of name. */
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a.engine", "a.onnx", "a"};
    if (size > 1 << 20)
        return 0;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        ct_model_is(data, size, names[i]);
        g_autofree char *text = ct_model_describe(data, size, size + i, names[i]);
        if (!g_utf8_validate(text, -1, NULL))
            g_error("not UTF-8");
    }
    return 0;
}
