/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/env/known-lines.h"

#include <string.h>

#include "parse/env/version-scan.h"
#include "parse/gpu/gpu-parsers.h"

/* "libcudart.so.12 => /usr/lib/... (0x...)", "libx.so.1 => not found",
 * "libx.so.1 (libc6,x86-64) => /path" */
gboolean ct_env_loader_line(CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line), name, rest = s;
    if (!ct_str_cut(&rest, "=>", &name) || !ct_str_has(name, ".so"))
        return FALSE;
    CtStr soname = ct_str_token(&name);
    if (!soname.n || soname.n > 120)
        return FALSE;
    g_autofree char *key = g_strdup_printf("library.%.*s", (int)soname.n, soname.p);
    if (ct_str_starts(rest, "not found")) {
        ct_emit_fact_status(emit, line, NULL, key, CT_ABSENT, "not found");
        return TRUE;
    }
    CtStr path = ct_str_token(&rest);
    if (!path.n || (path.p[0] != '/' && path.p[0] != '.'))
        return FALSE;
    ct_emit_fact(emit, line, NULL, key, CT_STR_BUF(path));
    return TRUE;
}

/* ---- paths ---- */

static CtStr base_name(CtStr path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    return slash ? ct_str_from(path, (gsize)(slash - path.p) + 1) : path;
}

void ct_emit_path(CtEmit *emit, const CtLine *line, CtStr path, CtStatus status)
{
    char key[200];
    path = ct_str_head(path, 180);
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    if (ct_str_starts(path, "/dev/")) {
        g_snprintf(key, sizeof(key), "device-node.%.*s", (int)(path.n - 5), path.p + 5);
        if (status == CT_OK)
            ct_emit_fact(emit, line, NULL, key, "present");
        else
            ct_emit_fact_status(emit, line, NULL, key, status,
                                status == CT_DENIED ? "forbidden" : "absent");
        return;
    }
    CtStr base = base_name(path);
    if (ct_str_has(base, ".so")) {
        g_snprintf(key, sizeof(key), "library.%.*s", (int)base.n, base.p);
        if (status == CT_OK)
            ct_emit_fact(emit, line, CT_STR_BUF(path), key, CT_STR_BUF(path));
        else
            ct_emit_fact_status(emit, line, CT_STR_BUF(path), key, status, CT_STR_BUF(path));
        return;
    }
    if (status != CT_OK)
        ct_emit_fact_status(emit, line, CT_STR_BUF(path), "file.exists", status, "no");
}

/* "ls: cannot access '/dev/nvmap': No such file or directory", "cat: /x: Permission denied" */
gboolean ct_env_missing_line(CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line), path;
    CtStatus status = CT_ABSENT;
    gssize end = ct_str_find(s, ": No such file or directory");
    if (end < 0) {
        status = CT_DENIED;
        end = ct_str_find(s, ": Permission denied");
    }
    static const char *const tools[] = {"ls: ", "cat: ", "stat: ", "readlink: ", "head: ",
                                        "tail: ", "file: ", "/bin/ls: ", "find: ", "test: "};
    gboolean tool = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(tools); i++)
        tool |= ct_str_starts(s, tools[i]);
    if (end < 0 || !tool)
        return FALSE;
    CtStr head = ct_str_head(s, (gsize)end);
    gssize slash = ct_str_find(head, "/");
    if (slash < 0)
        return FALSE;
    path = ct_str_from(head, (gsize)slash);
    while (path.n && strchr("'\"`", path.p[path.n - 1]))
        path.n--;
    if (path.n >= 3 && memcmp(path.p + path.n - 3, "\xe2\x80\x99", 3) == 0)
        path.n -= 3; /* typographic quote of some locales */
    ct_emit_path(emit, line, path, status);
    return TRUE;
}

static gboolean mode_word(CtStr w)
{
    if (w.n < 10 || w.n > 11 || !strchr("-dlcbsp", w.p[0]))
        return FALSE;
    for (gsize i = 1; i < 10; i++)
        if (!strchr("rwxsStT-", w.p[i]))
            return FALSE;
    return TRUE;
}

/* Seconds since 1970 of the date in a listing: "2025-05-05 16:20[:44...]", "May 5 16:20" (within the
 * last half year, whatever that was: counted in the year 2100) or "May 5 2024". 0 when unknown. */
static gint64 listed_time(CtStr a, CtStr b, CtStr c)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    gint64 year = 2100, month = 0, day, hour = 0, minute = 0;
    CtStr clock = b;
    if (a.n == 10 && a.p[4] == '-') {
        if (!ct_str_uint(ct_str_head(a, 4), &year) || !ct_str_uint(ct_str(a.p + 5, 2), &month) ||
            !ct_str_uint(ct_str_from(a, 8), &day))
            return 0;
    } else {
        for (gint64 i = 0; a.n == 3 && i < 12; i++)
            if (memcmp(months + 3 * i, a.p, 3) == 0)
                month = i + 1;
        if (!month || !ct_str_uint(b, &day))
            return 0;
        clock = c;
        if (c.n == 4 && !ct_str_uint(c, &year))
            return 0;
    }
    if (clock.n >= 5 && clock.p[2] == ':' &&
        (!ct_str_uint(ct_str_head(clock, 2), &hour) || !ct_str_uint(ct_str(clock.p + 3, 2), &minute)))
        return 0;
    if (year < 1970 || year > 2100 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 ||
        minute > 59)
        return 0;
    g_autoptr(GDateTime) t = g_date_time_new_utc((gint)year, (gint)month, (gint)day, (gint)hour,
                                                 (gint)minute, 0);
    return t ? g_date_time_to_unix(t) : 0;
}

/* "crw-rw-rw- 1 root root 195, 0 May 1 10:00 /dev/nvidia0", "lrwxrwxrwx ... a -> b" */
gboolean ct_env_listing_line(CtEmit *emit, const CtLine *line, const char *folder)
{
    CtStr rest = ct_line_str(line), mode = ct_str_token(&rest);
    double size = -1;
    if (!mode_word(mode))
        return FALSE;
    ct_str_token(&rest); /* links */
    CtStr owner = ct_str_token(&rest), group = ct_str_token(&rest), w = ct_str_token(&rest);
    gboolean device = mode.p[0] == 'c' || mode.p[0] == 'b';
    if (device) {
        if (w.n && w.p[w.n - 1] == ',')
            ct_str_token(&rest); /* the minor */
    } else if (!ct_str_number(w, &size)) {
        size = -1;
    }
    /* Month day time-or-year, or an ISO date and time. */
    CtStr a = ct_str_token(&rest), b = ct_str_token(&rest);
    CtStr before = rest, c = ct_str_token(&rest);
    if (a.n == 10 && a.p[4] == '-') {
        rest = before;
        if (b.n > 8 && c.n == 5 && (c.p[0] == '+' || c.p[0] == '-')) /* --full-time */
            ct_str_token(&rest);
    }
    CtStr name = ct_str_strip(rest), target = ct_str("", 0), left;
    if (!name.n || !group.n)
        return FALSE;
    if (ct_str_cut(&name, " -> ", &left)) {
        target = name;
        name = left;
    }
    if (ct_str_eq(name, ".") || ct_str_eq(name, ".."))
        return TRUE;
    char path[300];
    if (name.p[0] != '/' && folder && *folder)
        g_snprintf(path, sizeof(path), "%s%s%.*s", folder,
                   g_str_has_suffix(folder, "/") ? "" : "/", (int)MIN(name.n, (gsize)150), name.p);
    else
        ct_str_buf(name, path, sizeof(path));
    if (device && path[0] != '/')
        return FALSE;
    char key[200];
    if (device && g_str_has_prefix(path, "/dev/")) {
        g_autofree char *value = g_strdup_printf("present %.*s %.*s:%.*s", (int)mode.n, mode.p,
                                                 (int)MIN(owner.n, (gsize)32), owner.p,
                                                 (int)MIN(group.n, (gsize)32), group.p);
        g_snprintf(key, sizeof(key), "device-node.%.150s", path + 5);
        ct_emit_fact(emit, line, NULL, key, "present");
        g_snprintf(key, sizeof(key), "device-node-mode.%.150s", path + 5);
        ct_emit_fact(emit, line, NULL, key, value + 8);
        return TRUE;
    }
    ct_emit_path(emit, line, ct_str_of(path), CT_OK);
    if (target.n && ct_str_has(name, ".so")) {
        CtStr base = base_name(ct_str_of(path));
        g_snprintf(key, sizeof(key), "link.%.*s", (int)MIN(base.n, (gsize)150), base.p);
        ct_emit_fact(emit, line, path, key, CT_STR_BUF(target));
    }
    if (size >= 0 && mode.p[0] == '-') {
        char text[32];
        g_snprintf(text, sizeof(text), "%.0f", size);
        ct_emit_number(emit, line, path, "file.size", size, text);
        gint64 changed = listed_time(a, b, c);
        if (changed > 0) {
            CtStr end = a.n == 10 ? b : c;
            ct_emit_number(emit, line, path, "file.mtime", (double)changed * 1e9,
                           CT_STR_BUF(ct_str(a.p, (gsize)(end.p + end.n - a.p))));
        }
    }
    return TRUE;
}

/* A line of nothing but device nodes: "/dev/nvidia0  /dev/nvidiactl" */
static gboolean node_list(CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_str(line), look = rest;
    guint n = 0;
    for (CtStr w = ct_str_token(&look); w.n; w = ct_str_token(&look), n++)
        if (!ct_str_starts(w, "/dev/"))
            return FALSE;
    if (!n)
        return FALSE;
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest))
        ct_emit_path(emit, line, w, CT_OK);
    return TRUE;
}

/* ---- environment ---- */

gboolean ct_env_variable_line(CtEmit *emit, const CtLine *line, gboolean any_name)
{
    static const char *const prefixes[] = {
        "NVIDIA_", "CUDA_", "LD_", "NCCL_", "TORCH_", "PYTORCH_", "TF_", "OMP_", "TRT_", "TRT",
        "GST_", "ORT_", "CUDNN_", "CUBLAS_", "XLA_", "PYTHONPATH=", "PATH=", "GLOO_", "UCX_",
        "MASTER_", "WORLD_SIZE=", "RANK=", "LOCAL_RANK=", "DS_", "TRITON_", "VLLM_", "JAX_",
        "MKL_", "OPENBLAS_", "KMP_", "DISPLAY=", "MALLOC_", "TORCHELASTIC_", "SLURM_", "RAY_"};
    CtStr s = ct_line_str(line);
    if (ct_str_starts(s, "export "))
        s = ct_str_strip(ct_str_from(s, 7));
    else if (ct_str_starts(s, "declare -x "))
        s = ct_str_strip(ct_str_from(s, 11));
    gboolean known = any_name;
    for (gsize i = 0; i < G_N_ELEMENTS(prefixes) && !known; i++)
        known = ct_str_starts(s, prefixes[i]);
    gsize n = 0;
    while (n < s.n && (g_ascii_isalnum(s.p[n]) || s.p[n] == '_'))
        n++;
    if (!known || n == 0 || n > 80 || n >= s.n || s.p[n] != '=' || g_ascii_isdigit(s.p[0]))
        return FALSE;
    CtStr value = ct_str_from(s, n + 1);
    if (value.n > 1 && strchr("'\"", value.p[0]) && value.p[value.n - 1] == value.p[0])
        value = ct_str(value.p + 1, value.n - 2);
    /* Secrets are nobody's evidence. */
    CtStr name = ct_str_head(s, n);
    static const char *const secret[] = {"TOKEN", "SECRET", "PASSW", "KEY", "CREDENTIAL"};
    for (gsize i = 0; i < G_N_ELEMENTS(secret); i++)
        if (ct_str_has(name, secret[i]))
            return TRUE;
    g_autofree char *key = g_strdup_printf("env.%.*s", (int)n, s.p);
    g_autofree char *text = ct_str_dup(ct_str_head(value, 2000));
    ct_emit_fact(emit, line, NULL, key, text);
    return TRUE;
}

/* ---- packages ---- */

void ct_emit_package(CtEmit *emit, const CtLine *line, const char *packager, CtStr name,
                     CtStr version, CtStatus status)
{
    gssize colon = ct_str_find(name, ":"); /* the architecture of dpkg */
    if (colon > 0)
        name = ct_str_head(name, (gsize)colon);
    if (!name.n || name.n > 100 || !version.n || version.n > 120)
        return;
    g_autofree char *key = g_strdup_printf("package.%.*s", (int)name.n, name.p);
    if (status != CT_OK) {
        ct_emit_fact_status(emit, line, packager, key, status, CT_STR_BUF(version));
        return;
    }
    ct_emit_fact(emit, line, packager, key, CT_STR_BUF(version));
    const char *version_key = ct_version_key_of_package(name);
    if (!version_key)
        return;
    /* Packages add their own revision behind the version of what is in them. */
    CtStr plain = version;
    gssize cut = ct_str_find(plain, "-");
    if (cut > 0 && strcmp(packager, "pip") != 0)
        plain = ct_str_head(plain, (gsize)cut);
    ct_emit_fact(emit, line, packager, version_key, CT_STR_BUF(plain));
    if (strcmp(version_key, "version.l4t") == 0)
        ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
}

static gboolean dpkg_state(CtStr w)
{
    return w.n >= 2 && w.n <= 3 && strchr("uihrp", w.p[0]) && strchr("ncHUFWti", w.p[1]) &&
           !ct_str_eq(w, "is") && !ct_str_eq(w, "in") && !ct_str_eq(w, "if") &&
           !ct_str_eq(w, "it");
}

gboolean ct_env_package_line(CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line), rest = s, name = ct_str_token(&rest);
    if (dpkg_state(name)) { /* "ii  name  version  arch  text", "rc ...", "iF ..." */
        CtStr state = name;
        name = ct_str_token(&rest);
        CtStr version = ct_str_token(&rest);
        if (!version.n || !g_ascii_isdigit(version.p[0]))
            return FALSE;
        gboolean installed = state.p[1] == 'i' && state.n == 2;
        gboolean gone = state.p[1] == 'c' || state.p[1] == 'n';
        ct_emit_package(emit, line, "apt", name, version,
                        installed ? CT_OK : gone ? CT_ABSENT : CT_PARTIAL);
        return TRUE;
    }
    gssize slash = ct_str_find(name, "/");
    if (slash > 0 && (ct_str_has(s, "[installed") || ct_str_has(s, "[upgradable"))) {
        CtStr version = ct_str_token(&rest); /* apt list */
        ct_emit_package(emit, line, "apt", ct_str_head(name, (gsize)slash), version, CT_OK);
        return TRUE;
    }
    gssize equals = ct_str_find(s, "==");
    if (equals > 0 && !memchr(s.p, ' ', s.n)) { /* pip freeze */
        ct_emit_package(emit, line, "pip", ct_str_head(s, (gsize)equals),
                        ct_str_from(s, (gsize)equals + 2), CT_OK);
        return TRUE;
    }
    return FALSE;
}

/* ---- all of them ---- */

gboolean ct_env_known_line(CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line);
    if (!s.n || s.n > 4096)
        return FALSE;
    return ct_env_missing_line(emit, line) || ct_env_identity_line(emit, line) ||
           ct_nvidia_smi_header(emit, line) || ct_env_loader_line(emit, line) ||
           ct_env_listing_line(emit, line, NULL) || node_list(emit, line) ||
           ct_env_package_line(emit, line) || ct_env_variable_line(emit, line, FALSE) ||
           ct_env_meminfo_line(emit, line, CT_TIME_UNKNOWN) || ct_env_disk_line(emit, line) ||
           ct_env_device_query_line(emit, line) || ct_env_collect_env_line(emit, line);
}
