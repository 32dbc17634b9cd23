/* SPDX-License-Identifier: Apache-2.0 */
/* A case file from a stranger: loading it and asking it a question. */
#include <fcntl.h>
#include <glib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evidence/evidence.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    int fd = memfd_create("case", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        close(fd);
        return 0;
    }
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    ct_evidence_free(ct_evidence_load(path, NULL));
    sqlite3 *db = ct_case_open_readonly(path, NULL);
    if (db)
        sqlite3_exec(db, "SELECT * FROM event JOIN section", NULL, NULL, NULL);
    sqlite3_close(db);
    close(fd);
    return 0;
}
