/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that say what they are without their neighbours: people paste the output of several
 * commands behind one prompt, or behind none. Every parser of this folder and of gpu/ hands over
 * what it does not know.
 */
#pragma once

#include "parse/common/scan.h"

/* TRUE when the line was recognised and its facts are out. */
gboolean ct_env_known_line(CtEmit *emit, const CtLine *line);

/* ---- single readers, for parsers that know where they are ---- */

gboolean ct_env_loader_line(CtEmit *emit, const CtLine *line);   /* ldd, ldconfig -p */
gboolean ct_env_listing_line(CtEmit *emit, const CtLine *line, const char *folder);
gboolean ct_env_missing_line(CtEmit *emit, const CtLine *line);  /* "...: No such file ..." */
gboolean ct_env_variable_line(CtEmit *emit, const CtLine *line, gboolean any_name);
gboolean ct_env_package_line(CtEmit *emit, const CtLine *line);  /* dpkg -l, apt list, pip == */
gboolean ct_env_meminfo_line(CtEmit *emit, const CtLine *line, gint64 t_ns);
gboolean ct_env_disk_line(CtEmit *emit, const CtLine *line);
gboolean ct_env_docker_run_line(CtEmit *emit, const CtLine *line);
gboolean ct_env_identity_line(CtEmit *emit, const CtLine *line); /* releases, uname, nvcc ... */
gboolean ct_env_device_query_line(CtEmit *emit, const CtLine *line);
gboolean ct_env_collect_env_line(CtEmit *emit, const CtLine *line);

/* A package of the given packager, with the version fact that it implies. */
void ct_emit_package(CtEmit *emit, const CtLine *line, const char *packager, CtStr name,
                     CtStr version, CtStatus status);
/* A path that exists or not: device node, library or other file. */
void ct_emit_path(CtEmit *emit, const CtLine *line, CtStr path, CtStatus status);
