/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"

gboolean ct_may_write(const char *path, gboolean force, GError **error)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? TRUE : ct_error_from_errno(error, errno, "looking at %s", path);
    if (S_ISLNK(st.st_mode))
        g_set_error(error, CT_ERROR, CT_ERROR_DENIED,
                    "%s is a symbolic link; give the name of the file itself", path);
    else if (!S_ISREG(st.st_mode))
        g_set_error(error, CT_ERROR, CT_ERROR_DENIED, "%s is not a regular file", path);
    else if (!force)
        g_set_error(error, CT_ERROR, CT_ERROR_DENIED,
                    "%s exists; use --force to replace it, or another name", path);
    else
        return TRUE;
    return FALSE;
}
