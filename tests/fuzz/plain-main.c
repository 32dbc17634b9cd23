/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libFuzzer: runs the target on each file of the arguments (folders: on their files),
 * so that a corpus is an ordinary test with any compiler. */
#include <glib.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static guint run_file(const char *path)
{
    g_autofree char *data = NULL;
    gsize len;
    if (!g_file_get_contents(path, &data, &len, NULL))
        return 0;
    LLVMFuzzerTestOneInput((const unsigned char *)data, len);
    return 1;
}

int main(int argc, char **argv)
{
    guint n = 0;
    for (int i = 1; i < argc; i++) {
        g_autoptr(GDir) dir = g_dir_open(argv[i], 0, NULL);
        if (!dir) {
            n += run_file(argv[i]);
            continue;
        }
        for (const char *name; (name = g_dir_read_name(dir));) {
            g_autofree char *path = g_build_filename(argv[i], name, NULL);
            n += run_file(path);
        }
    }
    printf("%u inputs\n", n);
    return n > 0 ? 0 : 1;
}
