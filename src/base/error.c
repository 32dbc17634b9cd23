/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>

G_DEFINE_QUARK(ct-error, ct_error)

static CtErrorCode code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
        return CT_ERROR_NOT_FOUND;
    case EACCES:
    case EPERM:
        return CT_ERROR_DENIED;
    case ENOSYS:
    case EOPNOTSUPP:
        return CT_ERROR_UNSUPPORTED;
    case ETIMEDOUT:
        return CT_ERROR_TIMEOUT;
    case ELOOP:
    case ENAMETOOLONG:
    case EMFILE:
    case EFBIG:
        return CT_ERROR_LIMIT;
    default:
        return CT_ERROR_IO;
    }
}

gboolean ct_error_from_errno(GError **error, int errnum, const char *doing, ...)
{
    va_list ap;
    va_start(ap, doing);
    g_autofree char *what = g_strdup_vprintf(doing, ap);
    va_end(ap);
    g_set_error(error, CT_ERROR, code_of_errno(errnum), "%s: %s", what, g_strerror(errnum));
    return FALSE;
}
