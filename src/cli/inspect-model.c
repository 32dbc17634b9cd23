/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inspect-model.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "model/model.h"

/* Lines "key: value" become members; of a key that comes again, a list. */
static json_t *members(char *text)
{
    json_t *o = json_object();
    g_auto(GStrv) rows = g_strsplit(text, "\n", -1);
    for (char **row = rows; *row; row++) {
        char *colon = strstr(*row, ": ");
        if (!colon)
            continue;
        *colon = '\0';
        const char *key = row == rows ? "file" : *row;
        json_t *old = json_object_get(o, key), *value = json_string(colon + 2);
        if (row == rows)
            json_object_set_new(o, "kind", json_string(*row));
        if (!old) {
            json_object_set_new(o, key, value);
        } else if (json_is_array(old)) {
            json_array_append_new(old, value);
        } else {
            json_t *list = json_array();
            json_array_append(list, old);
            json_array_append_new(list, value);
            json_object_set_new(o, key, list);
        }
    }
    return o;
}

static gboolean look(const char *path, GString *text, json_t *list)
{
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, NULL);
    if (!file || !g_file_test(path, G_FILE_TEST_IS_REGULAR))
        return FALSE;
    const guint8 *data = (const guint8 *)g_mapped_file_get_contents(file);
    gsize len = g_mapped_file_get_length(file);
    if (!data)
        data = (const guint8 *)"";
    if (!ct_model_is(data, len, path))
        return FALSE;
    g_autofree char *one = ct_model_describe(data, len, len, path);
    g_string_append_printf(text, "%s%s", text->len ? "\n" : "", one);
    json_array_append_new(list, members(one));
    return TRUE;
}

gboolean ct_inspect_models(char **paths, gboolean json, int *out_exit)
{
    g_autoptr(GString) text = g_string_new(NULL);
    json_t *list = json_array();
    gboolean all = paths[0] != NULL;
    for (char **path = paths; all && *path; path++)
        all = strcmp(*path, "-") != 0 && look(*path, text, list);
    json_t *o = json_pack("{s:s, s:o}", "schema", "cutriage.model/1", "models", list);
    if (all && json) {
        char *dump = json_dumps(o, JSON_INDENT(1));
        g_string_assign(text, dump ? dump : "{}");
        g_string_append_c(text, '\n');
        free(dump);
    }
    json_decref(o);
    if (all)
        *out_exit = ct_cli_print(text->str, CT_EXIT_NOTHING);
    return all;
}
