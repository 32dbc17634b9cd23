/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines "PATH: value", "PATH:value" and "PATH -> target" of /sys, /proc and /dev, as
 * `grep -sH . FILES` and a capture print them. They are kept until the section ends, because a
 * value means something only beside its neighbours (a limit and its label, a clock and its bounds).
 */
#pragma once

#include "parse/common/scan.h"

typedef struct {
    char *path, *value, *text;
    guint line;
    CtStatus status; /* CT_OK, or why there is no value */
    double number;   /* of value, where it is one: "0x" too */
    gboolean has_number;
} CtValue;

typedef struct {
    GPtrArray *all;     /* CtValue */
    GHashTable *by_path; /* path -> the first CtValue of it */
    CtEmit *emit;
    guint bare; /* lines without a path, which belong to the files that a cat names, in order */
} CtValues;

const CtValue *ct_values_get(const CtValues *v, const char *path);
/* The value of another file in the same folder. */
const CtValue *ct_values_beside(const CtValues *v, const CtValue *of, const char *name);

#define CT_VALUE_PARTS 6
/* `*` stands for any part of one component; what each stood for comes in parts. */
gboolean ct_value_match(const char *path, const char *pattern, char parts[CT_VALUE_PARTS][96]);

void ct_value_text(const CtValues *v, const CtValue *of, const char *subject, const char *key,
                   const char *value);
void ct_value_number(const CtValues *v, const CtValue *of, const char *subject, const char *key,
                     double number, const char *text);

/* Each looks at one value; TRUE when it was its own. */
gboolean ct_value_pci(const CtValues *v, const CtValue *of);
gboolean ct_value_board(const CtValues *v, const CtValue *of);
gboolean ct_value_host(const CtValues *v, const CtValue *of);
gboolean ct_value_software(const CtValues *v, const CtValue *of);
/* After all of them. */
void ct_values_pci_end(const CtValues *v);
