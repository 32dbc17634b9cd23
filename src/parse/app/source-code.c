/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Excerpts of programs: Python, C, C++, CUDA, shell scripts. Nothing is parsed here; the section
 * is known to be source, so that the signatures' facts about code count and its string literals
 * are not taken for messages of a run.
 */
#include <string.h>

#include "parse/common/scan.h"

static gpointer begin(CtEmit *emit)
{
    ct_emit_scope(emit, "claimed");
    return NULL;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
}

static void finish(gpointer state, CtEmit *emit)
{
    ct_emit_coverage(emit, "source-code", NULL);
}

static gboolean starts_any(CtStr s, const char *const *list, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (ct_str_starts(s, list[i]))
            return TRUE;
    return FALSE;
}

static gboolean code_line(CtStr s)
{
    static const char *const starts[] = {
        "import ", "from ", "def ", "class ", "return ", "for ", "while ", "if ", "elif ", "else:",
        "try:", "except ", "with ", "raise ", "self.", "#include", "#define", "using ", "namespace ",
        "template", "static ", "const ", "void ", "int ", "float ", "auto ", "struct ", "} else",
        "__global__", "__device__", "//", "/*", "* ", "assert ", "@", "yield ", "lambda ", "cuda",
        "CHECK", "torch.", "std::"};
    if (!s.n)
        return FALSE;
    char last = s.p[s.n - 1];
    if (starts_any(s, starts, G_N_ELEMENTS(starts)) &&
        (strchr(":;{}(),>\\\"'*/]", last) || ct_str_has(s, "=") || ct_str_starts(s, "import ") ||
         (ct_str_starts(s, "from ") && ct_str_has(s, " import ")) || ct_str_starts(s, "return ") ||
         ct_str_starts(s, "//") || ct_str_starts(s, "@") || ct_str_starts(s, "#")))
        return TRUE;
    if (last == ';' || last == '{' || last == '}')
        return TRUE;
    return (ct_str_has(s, " = ") || ct_str_has(s, "(")) && (last == ')' || last == ']') &&
           !ct_str_has(s, ": ");
}

/* What a run prints also ends in ";" or begins with the name of a call. In program text such words
 * stand in quotes. */
static gboolean message_line(CtStr s)
{
    static const char *const words[] = {"CUDA error", "CUDA failure", "Cuda failure", "cuda error",
                                        "CUDA_ERROR_", " failed", " -> ", "error code",
                                        "out of memory", "cudaSuccess: "};
    gssize close = s.p[0] == '[' ? ct_str_find(s, "] ") : -1;
    if (close > 1 && close < 40) /* "[cuda] out of memory (error 2)" */
        return TRUE;
    if (memchr(s.p, '"', s.n))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (ct_str_has(s, words[i]))
            return TRUE;
    return FALSE;
}

static gboolean extension(const char *path)
{
    static const char *const list[] = {".py", ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h",
                                       ".hpp", ".rs", ".go", ".java", ".ipynb",
                                       ".sh", ".bash", ".js", ".ts", ".rb", ".pl", ".lua", ".pyx"};
    for (gsize i = 0; path && i < G_N_ELEMENTS(list); i++)
        if (g_str_has_suffix(path, list[i]))
            return TRUE;
    return FALSE;
}

/* `cat app.py`, `sed -n 10,40p app.cpp` */
static gboolean shown(const char *command)
{
    CtStr rest = ct_str_of(command);
    if (!ct_command_runs(command, "cat") && !ct_command_runs(command, "sed") &&
        !ct_command_runs(command, "head") && !ct_command_runs(command, "tail") &&
        !ct_command_runs(command, "grep") && !ct_command_runs(command, "nl"))
        return FALSE;
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest))
        if (extension(CT_STR_BUF(w)))
            return TRUE;
    return FALSE;
}

static int sniff(const CtSniff *sniff)
{
    guint code = 0, lines = 0, prefixed = 0, messages = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (!s.n)
            continue;
        lines++;
        code += code_line(s);
        messages += message_line(s);
        prefixed += sniff->lines[i].len < sniff->lines[i].raw_len;
    }
    if (!lines || prefixed * 4 > lines || ct_sniff_has(sniff, "Traceback (most recent call last)"))
        return 0;
    gboolean named = sniff->command ? shown(sniff->command) : extension(sniff->path);
    if (named)
        return code * 4 >= lines ? 85 : 30;
    if (sniff->command || messages * 4 > lines)
        return 0;
    return code >= 4 && code * 10 >= lines * 6 ? 60 : 0;
}

const CtParser ct_parser_source_code = {
    .id = "source-code",
    .summary = "excerpts of programs",
    .doc = "Python, C, C++ and CUDA, whole files or excerpts. Signatures state code.* facts and "
           "code-hint events of it; messages in its string literals do not count as events.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .is_source = TRUE,
};
