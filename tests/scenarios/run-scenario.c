/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: run-scenario CUTRIAGE FOLDER
 *
 * Runs `cutriage diagnose --json` on the files of a scenario (all but expect.yaml, truth.yaml and
 * source.md) and compares single fields, never whole reports. expect.yaml may hold:
 *
 *   top: CAUSE or [CAUSES]         the first hypothesis is one of these
 *   layer: LAYER                   of the first hypothesis
 *   rank: {CAUSE: N}               the cause stands at place N or better
 *   not: [CAUSES]                  none of these has a probability of 0.3 or more
 *   probability: {at_least: P, at_most: P}     of the first hypothesis
 *   cites: [FILE:LINE, ...]        lines that the first hypothesis rests on
 *   not_cited: [FILE:LINE, ...]    lines that it does not rest on
 *   consequences: [CAUSES]         listed beneath the first hypothesis
 *   healthy: true                  `unknown` leads and nothing else reaches 0.5
 *   action: WORD                   of the first hypothesis
 *   groups: [CAUSES]               the root of each incident, in their order and no others
 *   exit: N
 */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "kb/yaml-tree.h"

static guint failures;

static void failed(const char *format, ...) G_GNUC_PRINTF(1, 2);
static void failed(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_autofree char *text = g_strdup_vprintf(format, ap);
    va_end(ap);
    printf("  %s\n", text);
    failures++;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double probability(const json_t *h)
{
    return json_number_value(json_object_get(h, "probability"));
}

/* Values of a list, or the one value. */
static GPtrArray *values(const CtYaml *expect, const char *key)
{
    GPtrArray *all = g_ptr_array_new();
    const CtYaml *node = ct_yaml_get(expect, key);
    if (node && node->type == CT_YAML_SCALAR)
        g_ptr_array_add(all, node->text);
    for (guint i = 0; node && node->type == CT_YAML_LIST && i < node->items->len; i++)
        g_ptr_array_add(all, ((CtYaml *)g_ptr_array_index(node->items, i))->text);
    return all;
}

static const char *scalar(const CtYaml *map, const char *key)
{
    const CtYaml *node = map && map->type == CT_YAML_MAP ? ct_yaml_get(map, key) : NULL;
    return node && node->type == CT_YAML_SCALAR ? node->text : NULL;
}

static void check_word(const CtYaml *expect, const char *key, const char *got)
{
    g_autoptr(GPtrArray) want = values(expect, key);
    if (want->len && !g_ptr_array_find_with_equal_func(want, got, g_str_equal, NULL))
        failed("%s is '%s', not '%s'", key, got, (char *)g_ptr_array_index(want, 0));
}

static void check_probability(const CtYaml *expect, const json_t *first)
{
    const CtYaml *range = ct_yaml_get(expect, "probability");
    const char *least = scalar(range, "at_least"), *most = scalar(range, "at_most");
    if (least && probability(first) < g_ascii_strtod(least, NULL))
        failed("probability %.3f is below %s", probability(first), least);
    if (most && probability(first) > g_ascii_strtod(most, NULL))
        failed("probability %.3f is above %s", probability(first), most);
}

static void check_ranks(const CtYaml *expect, const json_t *hypotheses)
{
    const CtYaml *ranks = ct_yaml_get(expect, "rank");
    for (guint i = 0; ranks && i < ranks->keys->len; i++) {
        const char *cause = ((CtYaml *)g_ptr_array_index(ranks->keys, i))->text;
        gsize most = (gsize)atoi(((CtYaml *)g_ptr_array_index(ranks->items, i))->text);
        gsize place = 0;
        while (place < json_array_size(hypotheses) &&
               strcmp(text_at(json_array_get(hypotheses, place), "cause"), cause) != 0)
            place++;
        if (place >= most)
            failed("%s is not among the first %zu", cause, most);
    }
}

static void check_not(const CtYaml *expect, const json_t *hypotheses)
{
    g_autoptr(GPtrArray) causes = values(expect, "not");
    gsize i;
    json_t *h;
    json_array_foreach(hypotheses, i, h)
        if (g_ptr_array_find_with_equal_func(causes, text_at(h, "cause"), g_str_equal, NULL) &&
            probability(h) >= 0.3)
            failed("%s has %.2f", text_at(h, "cause"), probability(h));
}

static void check_healthy(const CtYaml *expect, const json_t *hypotheses)
{
    gsize i;
    json_t *h;
    if (!ct_yaml_get(expect, "healthy"))
        return;
    if (strcmp(text_at(json_array_get(hypotheses, 0), "cause"), "unknown") != 0)
        failed("%s leads", text_at(json_array_get(hypotheses, 0), "cause"));
    json_array_foreach(hypotheses, i, h)
        if (strcmp(text_at(h, "cause"), "unknown") != 0 && probability(h) >= 0.5)
            failed("%s has %.2f", text_at(h, "cause"), probability(h));
}

static gboolean cited(const json_t *first, const char *place)
{
    gsize i;
    json_t *c;
    json_array_foreach(json_object_get(first, "for"), i, c) {
        g_autofree char *base = g_path_get_basename(text_at(c, "source"));
        g_autofree char *here = g_strdup_printf(
            "%s:%" JSON_INTEGER_FORMAT, base, json_integer_value(json_object_get(c, "line")));
        if (strcmp(here, place) == 0)
            return TRUE;
    }
    return FALSE;
}

static void check_cites(const CtYaml *expect, const json_t *first)
{
    g_autoptr(GPtrArray) lines = values(expect, "cites");
    g_autoptr(GPtrArray) others = values(expect, "not_cited");
    for (guint i = 0; i < lines->len; i++)
        if (!cited(first, g_ptr_array_index(lines, i)))
            failed("%s is not cited", (char *)g_ptr_array_index(lines, i));
    for (guint i = 0; i < others->len; i++)
        if (cited(first, g_ptr_array_index(others, i)))
            failed("%s is cited", (char *)g_ptr_array_index(others, i));
}

static void check_consequences(const CtYaml *expect, const json_t *first)
{
    g_autoptr(GPtrArray) causes = values(expect, "consequences");
    for (guint k = 0; k < causes->len; k++) {
        gboolean found = FALSE;
        gsize i;
        json_t *c;
        json_array_foreach(json_object_get(first, "consequences"), i, c) {
            const char *id = json_is_string(c) ? json_string_value(c) : text_at(c, "cause");
            found = found || strcmp(id, g_ptr_array_index(causes, k)) == 0;
        }
        if (!found)
            failed("%s is not listed as a consequence", (char *)g_ptr_array_index(causes, k));
    }
}

static void check_groups(const CtYaml *expect, const json_t *groups)
{
    g_autoptr(GPtrArray) causes = values(expect, "groups");
    if (!causes->len)
        return;
    if (json_array_size(groups) != causes->len)
        failed("%zu groups, not %u", json_array_size(groups), causes->len);
    for (guint i = 0; i < causes->len; i++) {
        const json_t *group = json_array_get(groups, i);
        const json_t *lead = json_array_get(json_object_get(group, "hypotheses"), 0);
        if (strcmp(text_at(group, "cause"), g_ptr_array_index(causes, i)) != 0 ||
            strcmp(text_at(lead, "cause"), g_ptr_array_index(causes, i)) != 0)
            failed("group %u is of %s, not %s", i + 1, text_at(group, "cause"),
                   (char *)g_ptr_array_index(causes, i));
    }
}

static void check(const CtYaml *expect, const json_t *report, int status)
{
    const json_t *hypotheses = json_object_get(report, "hypotheses");
    const json_t *first = json_array_get(hypotheses, 0);
    const char *code = scalar(expect, "exit");
    if (!first) {
        failed("no hypotheses in the report");
        return;
    }
    check_word(expect, "top", text_at(first, "cause"));
    check_word(expect, "layer", text_at(first, "layer"));
    check_word(expect, "action", text_at(json_object_get(first, "action"), "do"));
    check_probability(expect, first);
    check_ranks(expect, hypotheses);
    check_not(expect, hypotheses);
    check_healthy(expect, hypotheses);
    check_cites(expect, first);
    check_consequences(expect, first);
    check_groups(expect, json_object_get(report, "groups"));
    if (code && atoi(code) != status)
        failed("exit code %d, not %s", status, code);
    if (failures) {
        gsize i;
        json_t *h;
        json_array_foreach(hypotheses, i, h)
            if (i < 4)
                printf("    %.3f %s\n", probability(h), text_at(h, "cause"));
    }
}

static int by_text(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static GPtrArray *command(const char *program, const char *folder)
{
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) files = g_ptr_array_new();
    GDir *dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));)
        if (strcmp(name, "expect.yaml") != 0 && strcmp(name, "truth.yaml") != 0 &&
            strcmp(name, "source.md") != 0)
            g_ptr_array_add(files, g_build_filename(folder, name, NULL));
    if (dir)
        g_dir_close(dir);
    g_ptr_array_sort(files, by_text);
    g_ptr_array_add(argv, g_strdup(program));
    g_ptr_array_add(argv, g_strdup("diagnose"));
    g_ptr_array_add(argv, g_strdup("--json"));
    g_ptr_array_extend_and_steal(argv, g_steal_pointer(&files));
    g_ptr_array_add(argv, NULL);
    return argv;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: run-scenario CUTRIAGE FOLDER\n");
        return 2;
    }
    guint line, column;
    gsize len;
    int status = 0;
    g_autofree char *path = g_build_filename(argv[2], "expect.yaml", NULL);
    g_autofree char *data = NULL, *message = NULL, *out = NULL;
    g_autoptr(GError) error = NULL;
    if (!g_file_get_contents(path, &data, &len, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return 2;
    }
    g_autoptr(CtYaml) expect = ct_yaml_load(data, len, &line, &column, &message);
    g_autoptr(GPtrArray) run = command(argv[1], argv[2]);
    if (!expect) {
        fprintf(stderr, "%s:%u:%u: %s\n", path, line, column, message);
        return 2;
    }
    if (!g_spawn_sync(NULL, (char **)run->pdata, NULL, 0, NULL, NULL, &out, NULL, &status,
                      &error)) {
        fprintf(stderr, "%s\n", error->message);
        return 2;
    }
    json_t *report = json_loads(out, 0, NULL);
    if (!WIFEXITED(status) || !report)
        failed("no report (wait status %d)", status);
    else
        check(expect, report, WEXITSTATUS(status));
    json_decref(report);
    return failures ? 1 : 0;
}
