/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectors: what fetches bytes from a machine or a process. Each runs in a child process of its
 * own with a budget, and writes sections over a pipe; the parent keeps what came when it has to
 * kill the child. A driver that hangs in the kernel therefore costs its own budget and no more.
 *
 * A section is the output of one command as a person would see it: "$ cat /proc/modules" and the
 * bytes of that file. Sections become sources that go through the parsers like any pasted text,
 * so nothing here interprets what it reads. Where no command prints what is wanted (values of
 * sysfs), the section is "grep -sH . FILES": lines "PATH: value" (ct_live_value).
 *
 * All paths are resolved below the sysroot when there is one (a copied /proc, /sys, /etc, /dev
 * tree): no link leads out of it, only regular files are opened, and nothing is executed.
 */
#pragma once

#include <glib.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/status.h"

#define CT_LIVE_MAX_FILE ((gsize)1024 * 1024)        /* of one file, where no other cap is given */
#define CT_LIVE_MAX_BYTES ((gsize)8 * 1024 * 1024)   /* of one collector */
#define CT_LIVE_MAX_TOTAL ((gsize)24 * 1024 * 1024)  /* of a capture */
#define CT_LIVE_MAX_SECTIONS 2000u                   /* of one collector */

typedef struct CtLive CtLive; /* what a collector sees of the world */

/* ---- a collector; registered in collectors.def ---- */

typedef enum {
    CT_COLLECTOR_LIVE = 1, /* needs the running machine: status unsupported in a sysroot */
    CT_COLLECTOR_PID = 2,  /* runs only when a process is named */
    CT_COLLECTOR_HASH_BUDGET = 4, /* budget_ms holds only where hashes are wanted */
} CtCollectorFlags;

typedef struct {
    const char *id;    /* kebab-case */
    const char *layer; /* of the summary: hardware, driver, container, platform, runtime, ... */
    const char *title; /* what it collects, a few words */
    guint budget_ms;   /* 0 is the default, 3000 */
    int flags;         /* CtCollectorFlags */
    /* In the child. Writes sections; whatever it leaves behind ends with the process. */
    void (*run)(CtLive *live);
} CtCollector;

const CtCollector *const *ct_collectors(void); /* ends with NULL */

/* ---- for collectors: where they are ---- */

const char *ct_live_sysroot(const CtLive *live); /* NULL: the machine itself */
pid_t ct_live_pid(const CtLive *live);           /* 0: no process was named */
gint64 ct_live_left_ms(const CtLive *live);      /* until the parent kills */
gboolean ct_live_hash(const CtLive *live);       /* sha256 of libraries is wanted */
/* Paths that the person named besides (engines, models, the program); ends with NULL. */
const char *const *ct_live_paths(const CtLive *live);

/* ---- for collectors: writing sections ---- */

/* path is the name of the source: a real path of the system, or the command for generated text.
 * command (nullable) is what a person would type for the same. Between begin and end any number
 * of writes; what is over the caps is dropped and the section ends as truncated. */
void ct_live_begin(CtLive *live, const char *path, const char *command);
void ct_live_write(CtLive *live, const void *data, gsize len);
void ct_live_printf(CtLive *live, const char *format, ...) G_GNUC_PRINTF(2, 3);
void ct_live_end(CtLive *live, CtStatus status, const char *note);
/* A whole section at once. An empty text with CT_OK is not written. */
void ct_live_text(CtLive *live, const char *path, const char *command, const char *text);
/* Something that was looked for and not had, with the reason: a source without bytes. */
void ct_live_missing(CtLive *live, const char *path, const char *command, CtStatus status,
                     const char *note);

/* ---- for collectors: reading the system ---- */

/* A file as a section "$ cat PATH". An absent file is reported only with want; denied, timeout and
 * the like always. */
CtStatus ct_live_file(CtLive *live, const char *path, gsize cap, gboolean want);
/* The bytes of a regular file, NUL behind them. Not more than cap: CT_TRUNCATED. */
CtStatus ct_live_read(CtLive *live, const char *path, gsize cap, char **out, gsize *out_len);
/* First line of a small file without blanks around it; NULL when it cannot be had. */
char *ct_live_line(CtLive *live, const char *path);
/* Appends "PATH: value" (one line for each line of the file, at most 64), or "grep: PATH:
 * Permission denied" and the like; nothing when it is absent. */
CtStatus ct_live_value(CtLive *live, GString *out, const char *path);
/* A descriptor for reading, O_CLOEXEC; -1 with errno. Regular files only. */
int ct_live_open(CtLive *live, const char *path);
/* As stat and lstat; 0 or an errno. */
int ct_live_stat(CtLive *live, const char *path, struct stat *out);
int ct_live_lstat(CtLive *live, const char *path, struct stat *out);
gboolean ct_live_exists(CtLive *live, const char *path);
char *ct_live_link(CtLive *live, const char *path); /* as readlink; NULL is none */
/* The path without links, as seen from inside the root; NULL when it leads nowhere. */
char *ct_live_real(CtLive *live, const char *path);
/* Sorted names in a folder, at most `most` (CT_LIVE_MAX_NAMES), char *; empty when unreadable. */
#define CT_LIVE_MAX_NAMES 4096u
GPtrArray *ct_live_list(CtLive *live, const char *folder, CtStatus *out_status);
/* Sorted paths that match; `*` and `?` in any component. (transfer full, char *) */
GPtrArray *ct_live_glob(CtLive *live, const char *pattern);
/* A variable of the environment that is captured: of the process, of the sysroot, else our own.
 * (transfer full; nullable) */
char *ct_live_getenv(CtLive *live, const char *name);
/* All of it, NUL-separated. (transfer full; nullable) */
char *ct_live_environ(CtLive *live, gsize *out_len);
/* Runs a program (never in a sysroot) and makes its output a section; standard error joins it.
 * Killed when the collector is. CT_ABSENT when there is no such program. */
CtStatus ct_live_run(CtLive *live, const char *const *argv, gsize cap);

/* ---- for the parent ---- */

typedef struct {
    const CtCollector *collector; /* NULL: added by the parent */
    char *path, *command, *note;
    CtStatus status;
    GByteArray *bytes;
} CtLiveSection;

typedef struct {
    const CtCollector *collector;
    CtStatus status; /* ok, timeout, failed, unsupported */
    char *note;
    gint64 took_ms;
    guint sections;
    gsize bytes;
} CtLiveRun;

typedef struct {
    const char *sysroot; /* (nullable) */
    pid_t pid;
    guint budget_ms;     /* of all; 0 is 20000 */
    gboolean hash;
    const char *const *paths; /* (nullable) */
    const char *const *only;  /* ids of collectors; NULL is all */
    const CtCollector *const *collectors; /* others than ct_collectors(), for tests (nullable) */
    void (*progress)(const char *id, guint done, guint all, gpointer user); /* (nullable) */
    gpointer user;
} CtLiveOptions;

typedef struct {
    GPtrArray *sections; /* CtLiveSection, in the order of collectors.def */
    GPtrArray *runs;     /* CtLiveRun */
    gint64 took_ms;
} CtLiveCapture;

/* Runs all collectors that apply. FALSE only when the sysroot cannot be opened or no process can
 * be made. */
CtLiveCapture *ct_live_capture(const CtLiveOptions *options, GError **error);
void ct_live_capture_free(CtLiveCapture *capture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtLiveCapture, ct_live_capture_free)
/* A section that the parent has itself: the end of a program's output, for instance. Takes bytes. */
void ct_live_capture_add(CtLiveCapture *capture, const char *path, const char *command,
                         CtStatus status, const char *note, GByteArray *bytes);
