/* SPDX-License-Identifier: Apache-2.0 */
/* A trace from a stranger: what begins like SQLite is read by pages and schema, the rest as JSON,
 * and what trtexec exports. All that reads the events runs over them. */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "timeline/import.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static char *file_of(const guint8 *data, gsize size)
{
    g_autofree char *name = g_build_filename(g_get_tmp_dir(), "cutriage-fuzz-XXXXXX", NULL);
    int fd = g_mkstemp(name);
    gboolean ok = fd >= 0 && write(fd, data, size) == (gssize)size;
    if (fd >= 0)
        close(fd);
    return ok ? g_steal_pointer(&name) : NULL;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    g_autofree char *path = file_of(data, size);
    if (!path)
        return 0;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    CtTrace *trace = NULL;
    ct_trace_import(ev, NULL, path, "trace", TRUE, &trace, NULL);
    ct_trace_free(trace);
    g_unlink(path);
    return 0;
}
