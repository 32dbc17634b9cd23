/* SPDX-License-Identifier: Apache-2.0 */
/* A case made fit for a ticket: redacted, packed, with a manifest of hashes. */
#include <errno.h>
#include <glib/gstdio.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/capture.h"
#include "cli/cli.h"
#include "collect/pack.h"
#include "evidence/rewrite.h"

typedef struct {
    char *output, *lang;
    gboolean force, json, no_redact;
} Options;

static void options_clear(Options *o)
{
    g_free(o->output);
    g_free(o->lang);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static void look(const char *about, const char *text, gsize len, gpointer user)
{
    ct_redact_look_at(user, about, text, len);
}

static char *change(const char *about, const char *text, gsize len, gsize *out_len, gpointer user)
{
    return ct_redact_value(user, about, text, len, out_len);
}

/* The redacted case as bytes; it stands in a folder of its own for a moment, for the owner only. */
static gboolean case_bytes(CtEvidence *ev, char **out, gsize *out_len, GError **error)
{
    g_autofree char *folder = g_dir_make_tmp("cutriage-share-XXXXXX", error);
    if (!folder)
        return FALSE;
    g_autofree char *path = g_build_filename(folder, "share.case", NULL);
    gboolean ok = ct_evidence_save(ev, path, FALSE, error) &&
                  g_file_get_contents(path, out, out_len, error);
    g_unlink(path);
    g_rmdir(folder);
    return ok;
}

static char *manifest(const char *name, const char *bytes, gsize len, gboolean redacted,
                      guint replaced, const GPtrArray *removed)
{
    g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, len);
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *when = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
    json_t *root = json_object(), *files = json_array(), *file = json_object(), *left = json_array();
    json_object_set_new(file, "name", json_string(name));
    json_object_set_new(file, "size", json_integer((json_int_t)len));
    json_object_set_new(file, "sha256", json_string(sum));
    json_array_append_new(files, file);
    for (guint i = 0; i < removed->len; i++)
        json_array_append_new(left, json_string(g_ptr_array_index(removed, i)));
    json_object_set_new(root, "schema", json_string("cutriage.share/1"));
    json_object_set_new(root, "created", json_string(when));
    json_object_set_new(root, "cutriage", json_string(CT_VERSION));
    json_object_set_new(root, "redacted", json_boolean(redacted));
    json_object_set_new(root, "replaced", json_integer(replaced));
    json_object_set_new(root, "files", files);
    json_object_set_new(root, "left_out", left);
    char *dump = json_dumps(root, JSON_INDENT(2)), *text = g_strconcat(dump, "\n", NULL);
    free(dump);
    json_decref(root);
    return text;
}

static gboolean pack(const char *path, gboolean force, const char *name, const char *bytes, gsize len,
                     const char *list, GError **error)
{
    g_autoptr(CtPack) p = ct_pack_open(path, force, error);
    return p && ct_pack_add(p, "manifest.json", list, strlen(list), error) &&
           ct_pack_add(p, name, bytes, len, error) && ct_pack_close(p, error);
}

static char *stem_of(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    return g_str_has_suffix(base, ".case") ? g_strndup(base, strlen(base) - 5) : g_strdup(base);
}

/* By whatever name: the package would take the place of the case. */
static gboolean same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int share(const Options *o, const char *from)
{
    g_autoptr(GError) error = NULL;
    CtLang lang;
    int code = 0;
    if (!ct_cli_lang("share", o->lang, &lang, &code))
        return code;
    g_autoptr(CtEvidence) ev = ct_evidence_load(from, &error);
    if (!ev)
        return ct_cli_fail("share", error);
    g_autoptr(CtRedact) redact = o->no_redact ? NULL : ct_capture_redactor();
    g_autoptr(GPtrArray) removed = g_ptr_array_new_with_free_func(g_free);
    const CtRewrite how = {.look = look, .change = change, .user = redact};
    if (redact && !ct_evidence_rewrite(ev, &how, removed, &error))
        return ct_cli_fail("share", error);
    g_autofree char *stem = stem_of(from);
    g_autofree char *clean = redact ? ct_redact_text(redact, stem, strlen(stem), NULL) : g_strdup(stem);
    g_autofree char *name = g_strdup_printf("%.80s.case", clean);
    g_autofree char *path = o->output ? g_strdup(o->output) : g_strconcat(clean, ".tar.zst", NULL);
    g_autofree char *bytes = NULL;
    gsize len;
    if (same_file(from, path))
        return ct_cli_usage("share", "-o %s is the case itself; give the package another name", path);
    if (!case_bytes(ev, &bytes, &len, &error))
        return ct_cli_fail("share", error);
    guint replaced = redact ? ct_redact_count(redact) : 0;
    g_autofree char *list = manifest(name, bytes, len, redact != NULL, replaced, removed);
    if (!pack(path, o->force, name, bytes, len, list, &error))
        return ct_cli_fail("share", error);
    if (o->json)
        return ct_cli_print(list, CT_EXIT_NOTHING);
    for (guint i = 0; i < removed->len; i++)
        ct_cli_note("%s is no text and was left out", (char *)g_ptr_array_index(removed, i));
    g_autofree char *n = g_strdup_printf("%u", replaced);
    g_autofree char *said = redact ? ct_msgf(lang, CT_MSG_SHARE_REDACTED, n, NULL)
                                   : g_strdup(ct_msg(lang, CT_MSG_SHARE_RAW));
    g_autofree char *written = ct_msgf(lang, CT_MSG_CAPTURE_WRITTEN, path, NULL);
    g_autofree char *text = g_strconcat(said, "\n", written, "\n", NULL);
    return ct_cli_print(text, CT_EXIT_NOTHING);
}

static int run(int argc, char **argv)
{
    g_auto(Options) o = {0};
    int code = 0;
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &o.output, "Where the package goes", "FILE"},
        {"force", 'f', 0, G_OPTION_ARG_NONE, &o.force, "Replace an existing file", NULL},
        {"no-redact", 0, 0, G_OPTION_ARG_NONE, &o.no_redact, "Leave names, addresses, secrets in", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print the manifest", NULL},
        {"lang", 0, 0, G_OPTION_ARG_STRING, &o.lang, "en or zh", "LANG"},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "share",
        .args = "CASE",
        .summary = "Packs a case for a ticket: names, addresses, serials and secrets replaced, a\n"
                   "manifest with the hash of what is in it. The case itself is not changed.",
        .examples = "  cutriage share capture.case\n"
                    "  cutriage share incident.case -o ticket-4711.tar.zst\n",
        .notes = "Exit code: 0 written, 2 usage, 4 failed.",
        .entries = entries,
    };
    if (!ct_cli_options(&help, &argc, &argv, &code))
        return code;
    if (argc != 2)
        return ct_cli_usage("share", "say which case, for example: cutriage share capture.case");
    return share(&o, argv[1]);
}

const CtVerb ct_verb_share = {
    .name = "share",
    .summary = "a case packed and redacted for a ticket",
    .run = run,
};
