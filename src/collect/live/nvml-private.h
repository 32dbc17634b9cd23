/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the NVML collector share. */
#pragma once

#include "collect/live/live.h"
#include "collect/live/nvml-abi.h"

typedef struct {
#define CT_NVML_MEMBER(member, symbol, parameters) int(*member) parameters;
    CT_NVML_SYMBOLS(CT_NVML_MEMBER)
#undef CT_NVML_MEMBER
} CtNvml;

typedef struct {
    CtLive *live;
    const CtNvml *nvml;
    CtNvmlDevice device;
} CtNvmlOut;

/* Every answer goes through these; counts, strings and ranges are ours, not the library's. */
#define CT_NVML_GET(out, member, ...)                                                             \
    ((out)->nvml->member ? (out)->nvml->member((out)->device, __VA_ARGS__) : CT_NVML_NO_SYMBOL)

/* The words nvidia-smi has for a code in place of a value. */
const char *ct_nvml_words(int code);

/* One line of the tree: 4 blanks a level, the key, " : " and the value. */
void ct_nvml_head(CtNvmlOut *out, int level, const char *key);
void ct_nvml_put(CtNvmlOut *out, int level, const char *key, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/* The value when code is success, else the words for the code. */
void ct_nvml_put_if(CtNvmlOut *out, int level, const char *key, int code, const char *format, ...)
    G_GNUC_PRINTF(5, 6);
/* A name out of a list; a number beyond it is shown as number. */
void ct_nvml_put_name(CtNvmlOut *out, int level, const char *key, int code, unsigned value,
                      const char *const *names, gsize n);
/* A number that must not exceed `most`; `unit` begins with its blank. */
void ct_nvml_put_number(CtNvmlOut *out, int level, const char *key, int code, guint64 value,
                        guint64 most, const char *unit);
typedef int (*CtNvmlTextFn)(CtNvmlDevice device, char *buffer, unsigned size);
void ct_nvml_put_text(CtNvmlOut *out, int level, const char *key, CtNvmlTextFn get);
/* What a string of the library is after its end is made sure and other bytes are masked; the words
 * for an error when it is no text. */
void ct_nvml_clean(char *buffer, gsize size);

extern const char *const ct_nvml_enabled[2]; /* Disabled, Enabled */
extern const char *const ct_nvml_yes[2];     /* No, Yes */

/* One value of nvmlDeviceGetFieldValues. */
int ct_nvml_field(CtNvmlOut *out, unsigned id, unsigned scope, gint64 *value);

/* The blocks of a GPU, in the order of nvidia-smi -q. */
void ct_nvml_identity(CtNvmlOut *out);  /* nvml-identity.c */
void ct_nvml_pci(CtNvmlOut *out);
void ct_nvml_activity(CtNvmlOut *out);  /* nvml-activity.c: reasons, memory, utilisation */
void ct_nvml_ecc(CtNvmlOut *out);       /* nvml-health.c */
void ct_nvml_health(CtNvmlOut *out);    /* temperatures, power */
void ct_nvml_clocks(CtNvmlOut *out);    /* nvml-activity.c */
void ct_nvml_fabric(CtNvmlOut *out);    /* nvml-fabric.c: fabric, NVLink */
void ct_nvml_processes(CtNvmlOut *out); /* nvml-process.c */
void ct_nvml_mig(CtNvmlOut *out);
