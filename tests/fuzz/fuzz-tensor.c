/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every reader of tensors. The first byte chooses the name, which decides between readers that have
 * no magic; what is read is compared with itself and with a copy whose numbers were changed, located
 * and scanned.
 */
#include <string.h>

#include "tensor/steps.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* The numbers mostly stand at the end; in how many of them something changes, and what, comes from
 * the input itself. */
static CtTensorSet *read_changed(const unsigned char *data, size_t size, const char *name)
{
    guint8 *copy = ct_memdup(data, size), mask = size ? data[size - 1] : 0;
    gsize every = mask & 8 ? 1 : mask & 16 ? 64 : 7;
    for (gsize i = size / 2; i < size; i += every)
        copy[i] ^= mask;
    CtBytes *bytes = ct_bytes_take(copy, size);
    CtTensorSet *set = ct_tensor_set_read(bytes, name, NULL, NULL);
    ct_bytes_unref(bytes);
    return set;
}

static void compare(const CtTensorSet *ref, const CtTensorSet *test)
{
    CtStepOptions o = {.compare = {.full = TRUE}, .by_order = TRUE};
    CtSteps *steps = ct_steps_compare(ref, test, &o);
    ct_locate(steps, &o);
    ct_steps_free(steps);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const char *const names[] = {"x.npy", "x.npz", "x.safetensors", "x.json", "x.pt", "x.pb",
                                        "x.onnx", "x.output.2.3.Half.raw"};
    if (size < 1)
        return 0;
    const char *name = names[data[0] % G_N_ELEMENTS(names)];
    CtBytes *bytes = ct_bytes_take(ct_memdup(data + 1, size - 1), size - 1);
    CtTensorSet *set = ct_tensor_set_read(bytes, name, NULL, NULL);
    ct_bytes_unref(bytes);
    if (!set)
        return 0;
    /* Sizes that headers ask for are bounded by the input, but for inflated members. */
    compare(set, set);
    CtTensorSet *changed = read_changed(data + 1, size - 1, name);
    if (changed)
        compare(set, changed);
    ct_tensor_set_free(changed);
    CtStepOptions o = {.compare = {.full = TRUE}};
    CtSteps *steps = ct_steps_scan(set);
    ct_locate(steps, &o);
    ct_steps_free(steps);
    ct_tensor_set_free(set);
    return 0;
}
