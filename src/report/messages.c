/* SPDX-License-Identifier: Apache-2.0 */
#include "report/messages.h"

#include <stdarg.h>
#include <string.h>

static const char *const messages[CT_N_MSGS][CT_N_LANGS] = {
#define CT_MSG(id, en, zh) [CT_MSG_##id] = {en, zh},
#define CT_TERM(kind, id, en, zh)
#include "report/messages.def"
#undef CT_MSG
#undef CT_TERM
};

static const struct {
    const char *kind, *id, *text[CT_N_LANGS];
} terms[] = {
#define CT_MSG(id, en, zh)
#define CT_TERM(kind, id, en, zh) {kind, id, {en, zh}},
#include "report/messages.def"
#undef CT_MSG
#undef CT_TERM
};

gboolean ct_lang_parse(const char *text, CtLang *out_lang)
{
    if (!text || strlen(text) < 2 || g_ascii_isalpha(text[2]))
        return FALSE;
    if (g_ascii_strncasecmp(text, "zh", 2) == 0)
        *out_lang = CT_LANG_ZH;
    else if (g_ascii_strncasecmp(text, "en", 2) == 0)
        *out_lang = CT_LANG_EN;
    else
        return FALSE;
    return TRUE;
}

CtLang ct_lang_from_environment(void)
{
    static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        const char *value = g_getenv(names[i]);
        CtLang lang = CT_LANG_EN;
        if (!value || !*value)
            continue;
        ct_lang_parse(value, &lang); /* any other language reads English */
        return lang;
    }
    return CT_LANG_EN;
}

const char *ct_lang_name(CtLang lang)
{
    return lang == CT_LANG_ZH ? "zh" : "en";
}

const char *ct_msg(CtLang lang, CtMsg id)
{
    g_assert(id < CT_N_MSGS);
    return messages[id][lang];
}

char *ct_msgf(CtLang lang, CtMsg id, ...)
{
    const char *args[10] = {NULL};
    va_list ap;
    va_start(ap, id);
    for (gsize n = 0; n < G_N_ELEMENTS(args); n++) {
        args[n] = va_arg(ap, const char *);
        if (!args[n])
            break;
    }
    va_end(ap);

    GString *out = g_string_new(NULL);
    for (const char *p = ct_msg(lang, id); *p; p++) {
        if (p[0] == '{' && g_ascii_isdigit(p[1]) && p[2] == '}') {
            const char *arg = args[p[1] - '0'];
            g_string_append(out, arg ? arg : "");
            p += 2;
        } else {
            g_string_append_c(out, *p);
        }
    }
    return g_string_free(out, FALSE);
}

const char *ct_term(CtLang lang, const char *kind, const char *id)
{
    if (!id)
        return "";
    for (gsize i = 0; i < G_N_ELEMENTS(terms); i++)
        if (g_str_equal(terms[i].kind, kind) && g_str_equal(terms[i].id, id))
            return terms[i].text[lang];
    return id;
}
