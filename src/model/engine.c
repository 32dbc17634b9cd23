/* SPDX-License-Identifier: Apache-2.0 */
/* The header of TensorRT engine (plan) files, and what is mistaken for one. */
#include <string.h>

#include "model/model.h"

#define ZEROES 4096u /* that no model begins with */

#define HEADER 28u

static guint32 word(const guint8 *p)
{
    return (guint32)p[0] | (guint32)p[1] << 8 | (guint32)p[2] << 16 | (guint32)p[3] << 24;
}

void ct_engine_read(const guint8 *data, gsize len, CtEngine *out)
{
    *out = (CtEngine){0};
    if (len < 4 || (memcmp(data, "ftrt", 4) != 0 && memcmp(data, "ptrt", 4) != 0))
        return;
    out->is_engine = TRUE;
    out->cut = len < HEADER;
    if (len >= 8)
        out->serialization = word(data + 4);
    if (out->cut)
        return;
    for (guint i = 0; i < 4; i++)
        out->version[i] = data[24 + i];
    /* Before 8.6 other things stand there. */
    guint major = out->version[0];
    out->has_version = major >= 8 && major <= 30 &&
                       !(major == 8 && out->version[1] < 6);
}

static gboolean starts(const guint8 *data, gsize len, const char *text)
{
    gsize n = strlen(text);
    return len >= n && memcmp(data, text, n) == 0;
}

const char *ct_model_looks_like(const guint8 *data, gsize len)
{
    static const struct {
        const char *magic, *what;
    } known[] = {
        {"\x7f" "ELF", "an ELF program or library"},
        {"PK\x03\x04", "a zip archive (a PyTorch checkpoint is one)"},
        {"\x1f\x8b", "a gzip file"},
        {"(\xb5/\xfd", "a zstd file"},
        {"version https://git-lfs", "a Git LFS pointer: the file itself was not fetched"},
        {"<!DOCTYPE", "a web page: the download failed"},
        {"<html", "a web page: the download failed"},
        {"\x80\x02", "a Python pickle"},
        {"\x89HDF", "an HDF5 file"},
        {"GGUF", "a GGUF model"},
        {"\x93NUMPY", "a NumPy array"},
        {"{", "JSON"},
    };
    if (!len)
        return "an empty file";
    if (ct_onnx_sniff(data, len))
        return "an ONNX model";
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        if (starts(data, len, known[i].magic))
            return known[i].what;
    if (len > 9 && data[8] == '{' && word(data + 4) == 0)
        return "a safetensors file";
    gsize zeroes = 0;
    /* A hole may be as long as the disk: its beginning is enough. */
    while (zeroes < MIN(len, ZEROES) && data[zeroes] == 0)
        zeroes++;
    return zeroes == len || zeroes >= ZEROES ? "nothing but zeroes: it was never written out" : NULL;
}
