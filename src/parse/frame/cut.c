/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/cut.h"

#include <string.h>

#include "parse/frame/parser.h"

#define CT_MAX_COMMAND 8192
#define MAX_PROMPT 160
#define MAX_TITLE 120

/* Words that begin a command where the prompt alone proves nothing ("# cat" may be a comment). */
static const char *const commands[] = {
    "nvidia-smi", "dmesg", "journalctl", "cat", "ls", "lspci", "lsmod", "modinfo", "uname", "df",
    "free", "top", "ps", "docker", "podman", "nerdctl", "crictl", "kubectl", "systemctl", "dpkg",
    "apt", "apt-get", "apt-cache", "rpm", "yum", "dnf", "pip", "pip3", "conda", "python",
    "python3", "ldd", "ldconfig", "nm", "strings", "file", "env", "printenv", "echo", "export",
    "ulimit", "uptime", "date", "nvcc", "nvidia-ctk", "nvidia-container-cli", "trtexec",
    "tegrastats", "jetson_release", "jetson_clocks", "nvpmodel", "compute-sanitizer", "cuda-gdb",
    "gdb", "nsys", "ncu", "dcgmi", "mokutil", "dkms", "sysctl", "grep", "head", "tail", "sudo",
    "mount", "swapon", "ip", "ifconfig", "ping", "ibstat", "ibv_devinfo", "numactl", "lscpu",
    "nproc", "hostnamectl", "lsb_release", "find", "which", "readlink", "stat", "id", "sh", "bash",
    "torchrun", "mpirun", "srun", "scontrol", "nvidia-bug-report.sh", "vmstat", "iostat", "pmap",
    "polygraphy", "deepstream-app", "gst-launch-1.0", "cmake", "make", "timeout", "time", "watch",
    "nvidia-modprobe", "modprobe", "cuda-memcheck", "ctr", "helm", "curl", "tritonserver",
    "perf_analyzer", "perf", "strace", "ltrace", "lsof", "fuser", "tree", "wc", "awk", "sed",
};

static gsize word_length(const char *text, gsize len)
{
    gsize n = 0;
    while (n < len && text[n] != ' ' && text[n] != '\t')
        n++;
    return n;
}

gboolean ct_cut_known_command(const char *text, gsize len)
{
    gsize n = word_length(text, len);
    const char *slash = n ? memrchr(text, '/', n) : NULL;
    const char *name = slash ? slash + 1 : text;
    gsize name_len = n - (gsize)(name - text);
    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (strlen(commands[i]) == name_len && memcmp(commands[i], name, name_len) == 0)
            return TRUE;
    }
    return FALSE;
}

/* Behind "# " and "% " only what cannot be a comment: a known command that either stands alone
 * or has an argument that prose would not have. */
static gboolean surely_command(const char *text, gsize len)
{
    if (len > 2 && (ct_text_starts(text, len, "./") || ct_text_starts(text, len, "/usr/")))
        return TRUE;
    if (!ct_cut_known_command(text, len))
        return FALSE;
    gsize n = word_length(text, len);
    if (n == len)
        return TRUE;
    const char *rest = text + n;
    gsize rest_len = len - n;
    if (ct_text_starts(text, len, "sudo "))
        return surely_command(text + 5, len - 5);
    return ct_text_has(rest, rest_len, " -") || ct_text_has(rest, rest_len, " /") ||
           ct_text_has(rest, rest_len, "|") || ct_text_has(rest, rest_len, " ./") ||
           ct_text_starts(text, len, "docker run ") || ct_text_starts(text, len, "docker exec ") ||
           ct_text_starts(text, len, "echo $");
}

/* Behind "$ ": anything that a shell could run; not an amount of money. */
static gboolean maybe_command(const char *text, gsize len)
{
    char c = len ? text[0] : '\0';
    if (g_ascii_isdigit(c))
        return len > 2 && !g_ascii_isdigit(text[1]) && text[1] != '.' && text[1] != ',';
    return g_ascii_isalpha(c) || strchr("./~_([{\"'!:<", c) != NULL;
}

gboolean ct_cut_possible(const char *line, gsize len)
{
    static const char lead[256] = {
        ['$'] = 1, ['#'] = 1, ['='] = 1, ['-'] = 1, ['*'] = 1, ['('] = 1, ['%'] = 1, ['/'] = 1,
        ['~'] = 1, ['>'] = 1, [0xE2] = 1,
    };
    if (len < 1)
        return FALSE;
    unsigned char c = (unsigned char)line[0];
    if (lead[c])
        return TRUE;
    if (c == '[') /* "[user@host dir]$ " */
        return len > 6 && g_ascii_islower(line[1]) && memchr(line, '@', MIN(len, 34)) != NULL;
    if (!g_ascii_isalpha(c))
        return FALSE;
    if (len > 3 && ((line[1] == ':' && line[2] == '\\') || (c == 'P' && line[1] == 'S')))
        return TRUE;
    if (len > 5 && (line[2] == '-' || line[4] == '-') &&
        (ct_text_starts(line, len, "sh-") || ct_text_starts(line, len, "bash-")))
        return TRUE;
    return memchr(line, '@', MIN(len, 34)) != NULL;
}

static gboolean take(CtCut *out, const char *line, gsize len, gsize at)
{
    while (at < len && line[at] == ' ')
        at++;
    while (len > at && (line[len - 1] == ' ' || line[len - 1] == '\r'))
        len--;
    out->kind = CT_CUT_PROMPT;
    out->text = line + at;
    out->len = len - at;
    return TRUE;
}

static gsize skip_environment(const char *line, gsize len)
{
    /* "(base) " of conda and virtual environments, also nested */
    gsize at = 0;
    while (at + 3 < len && line[at] == '(') {
        const char *close = memchr(line + at, ')', MIN(len - at, 40));
        if (!close || close + 1 >= line + len || close[1] != ' ')
            break;
        at = (gsize)(close - line) + 2;
    }
    return at;
}

static gboolean host_char(char c)
{
    return g_ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
}

/* "user@host" at *at, which is moved behind it. */
static gboolean take_user_host(const char *line, gsize len, gsize *at, CtCut *out)
{
    gsize i = *at;
    while (i < len && (host_char(line[i]) || line[i] == '\\') && i - *at < 40)
        i++;
    if (i == *at || i >= len || line[i] != '@' || g_ascii_isdigit(line[*at]))
        return FALSE;
    gsize host = ++i;
    while (i < len && host_char(line[i]) && i - host < 64)
        i++;
    if (i == host || i >= len)
        return FALSE;
    gsize n = MIN(i - host, sizeof out->host - 1);
    memcpy(out->host, line + host, n);
    out->host[n] = '\0';
    *at = i;
    return TRUE;
}

/* Where the path behind the host ends with "$", "#" or "%"; 0 when it does not. */
static gsize prompt_end(const char *line, gsize len, gsize at)
{
    for (gsize i = at + 1; i < len && i < at + MAX_PROMPT; i++) {
        if (line[i] == '$' || line[i] == '#' || line[i] == '%')
            return i;
        if (line[i] == ':' || line[i] == '"' || line[i] == '=')
            return 0;
    }
    return 0;
}

/* user@host:path$ command, [user@host path]# command */
static gboolean user_at_host(const char *line, gsize len, CtCut *out)
{
    gsize at = skip_environment(line, len);
    gboolean bracket = at < len && line[at] == '[';
    at += bracket;
    if (!take_user_host(line, len, &at, out) ||
        (line[at] != ':' && !(bracket && line[at] == ' ')))
        return FALSE;
    gsize end = prompt_end(line, len, at);
    if (end == 0 || (bracket && line[end - 1] != ']'))
        return FALSE;
    if (!bracket && end > at + 1 && line[at + 1] != '~' && line[at + 1] != '/')
        return FALSE;
    return take(out, line, len, end + 1);
}

/* C:\Users\x> command, PS C:\> command */
static gboolean windows(const char *line, gsize len, CtCut *out)
{
    gsize at = ct_text_starts(line, len, "PS ") ? 3 : 0;
    if (at + 3 >= len || !g_ascii_isalpha(line[at]) || line[at + 1] != ':' ||
        line[at + 2] != '\\')
        return FALSE;
    for (at += 3; at < len && at < MAX_PROMPT; at++) {
        if (line[at] == '>')
            return at + 1 < len && maybe_command(line + at + 1 + (line[at + 1] == ' '),
                                                 len - at - 1 - (line[at + 1] == ' ')) &&
                   take(out, line, len, at + 1);
        if (strchr(":*?\"<|,;", line[at]))
            return FALSE;
    }
    return FALSE;
}

/* Length of "bash-5.1" or "sh-4.4" or "/app " or "~ " at the start; 0 is none. */
static gsize shell_name(const char *line, gsize len)
{
    gsize at = 0;
    if (ct_text_starts(line, len, "bash-") || ct_text_starts(line, len, "sh-")) {
        gsize digits = at = line[0] == 'b' ? 5 : 3;
        while (at < len && (g_ascii_isdigit(line[at]) || line[at] == '.'))
            at++;
        return at > digits ? at : 0;
    }
    if (line[0] != '/' && line[0] != '~')
        return 0;
    while (at < len && at < 80 && (host_char(line[at]) || line[at] == '/' || line[at] == '~'))
        at++;
    return at < len && line[at] == ' ' ? at + 1 : 0;
}

/* "bash-5.1$ ", "sh-4.4# ", "/app # ", "~ $ " */
static gboolean bare_shell(const char *line, gsize len, CtCut *out)
{
    gsize at = shell_name(line, len);
    if (at == 0 || at + 1 >= len || (line[at] != '$' && line[at] != '#') || line[at + 1] != ' ')
        return FALSE;
    gboolean command = line[at] == '#' ? surely_command(line + at + 2, len - at - 2)
                                       : maybe_command(line + at + 2, len - at - 2);
    return command && take(out, line, len, at + 2);
}

gboolean ct_cut_prompt(const char *line, gsize len, CtCut *out)
{
    CtCut cut = {0};
    *out = cut;
    if (len < 2 || len > CT_MAX_COMMAND)
        return FALSE;
    gsize at = line[0] == '(' ? skip_environment(line, len) : 0;
    const char *p = line + at;
    gsize n = len - at;
    if (n > 2 && p[0] == '$' && p[1] == ' ' && maybe_command(p + 2, n - 2))
        return take(out, line, len, at + 2);
    if (n > 2 && (p[0] == '#' || p[0] == '%') && p[1] == ' ' && surely_command(p + 2, n - 2))
        return take(out, line, len, at + 2);
    if (ct_text_starts(p, n, "➜ ")) {
        /* "➜  dir git:(main) ✗ command": the command is what a known word begins */
        for (gsize i = 4; i < n; i++) {
            if (p[i - 1] == ' ' && surely_command(p + i, n - i))
                return take(out, line, len, at + i);
        }
        return FALSE;
    }
    return user_at_host(line, len, out) || windows(line, len, out) || bare_shell(p, n, out);
}

static gboolean looks_like_file(const char *text, gsize len)
{
    const char *dot = memrchr(text, '.', len);
    if (memchr(text, ' ', len) || len < 3)
        return FALSE;
    if (text[0] == '/' && len > 3)
        return TRUE;
    gsize ext = dot ? len - (gsize)(dot - text) - 1 : 0;
    return dot && dot > text && ext >= 2 && ext <= 5 && g_ascii_isalpha(dot[1]);
}

typedef struct {
    gsize lead, tail; /* lengths of the marks around it */
    gboolean arrow;   /* "==> file <==" of head and tail */
} Frame;

static gboolean title_frame(const char *line, gsize len, Frame *out)
{
    char mark = line[0];
    gsize lead = 0, tail = 0;
    while (lead < len && line[lead] == mark)
        lead++;
    if (lead < (mark == '=' ? 2u : 3u))
        return FALSE;
    out->arrow = lead == 2 && len > 8 && line[2] == '>';
    if (out->arrow) {
        lead = 3;
        tail = ct_text_starts(line + len - 3, 3, "<==") ? 3 : 0;
    } else {
        while (tail < len - lead && line[len - 1 - tail] == mark)
            tail++;
    }
    out->lead = lead;
    out->tail = tail;
    return lead < len && line[lead] == ' ' && !(out->arrow && !tail);
}

static gboolean title_text(const char *line, gsize len, const Frame *f, const char **out,
                           gsize *out_len)
{
    const char *text = line + f->lead + 1;
    gsize n = len - f->lead - f->tail - 1;
    while (n > 0 && text[n - 1] == ' ')
        n--;
    while (n > 0 && *text == ' ') {
        text++;
        n--;
    }
    *out = text;
    *out_len = n;
    return n > 0 && (g_ascii_isalnum(*text) || strchr("/$[(.~", *text) || (guchar)*text >= 0x80);
}

/* "== title", "=== title ===", "--- file ---", "### title", "==> file <==" */
gboolean ct_cut_title(const char *line, gsize len, CtCut *out)
{
    Frame frame;
    const char *text;
    gsize n;
    *out = (CtCut){0};
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\r'))
        len--;
    if (len < 4 || len > MAX_TITLE || !strchr("=-#*>", line[0]) ||
        !title_frame(line, len, &frame) || !title_text(line, len, &frame, &text, &n))
        return FALSE;
    /* compute-sanitizer begins each line of a report like that; only its banner is a title. */
    if (line[0] == '=' && frame.lead == 9 && frame.tail == 0 &&
        !ct_text_starts(text, n, "COMPUTE-SANITIZER") && !ct_text_starts(text, n, "CUDA-MEMCHECK"))
        return FALSE;
    if (ct_text_starts(text, n, "$ ")) {
        text += 2;
        n -= 2;
    }
    out->kind = CT_CUT_TITLE;
    out->text = text;
    out->len = n;
    out->named = frame.arrow || surely_command(text, n) ||
                 (frame.tail >= 2 && looks_like_file(text, n));
    return TRUE;
}

static gboolean container_id(const char *host)
{
    gsize n = strlen(host);
    if (n != 12 && n != 64)
        return FALSE;
    gboolean digit = FALSE;
    for (gsize i = 0; i < n; i++) {
        if (!g_ascii_isxdigit(host[i]) || g_ascii_isupper(host[i]))
            return FALSE;
        digit |= g_ascii_isdigit(host[i]) != 0;
    }
    return digit;
}

/* The first argument of "docker run|exec|logs" that is no option. Options that take a value in a
 * separate word are skipped with it. */
static char *container_name(char **words)
{
    static const char with_value[] = " -v -e -p -w -u -h -l -m --name --gpus --runtime --network "
                                     "--net --volume --env --device --shm-size --memory "
                                     "--ulimit --workdir --user --entrypoint --ipc --pid --cpus "
                                     "--mount --env-file --publish --hostname --label --cap-add "
                                     "--security-opt --restart -n --namespace -c --container "
                                     "--tail --since --until ";
    for (guint i = 0; words[i]; i++) {
        if (words[i][0] != '-') {
            return words[i][0] ? g_strdup(words[i]) : NULL;
        }
        if (g_str_has_prefix(words[i], "--name=") && words[i][7])
            return g_strdup(words[i] + 7);
        if (strcmp(words[i], "--name") == 0 && words[i + 1])
            return g_strdup(words[i + 1]);
        g_autofree char *key = g_strdup_printf(" %s ", words[i]);
        if (strstr(with_value, key) && words[i + 1])
            i++;
    }
    return NULL;
}

/* --name wins over the image, wherever it stands before it. */
char *ct_cut_scope(const CtCut *cut)
{
    g_autofree char *name = NULL;
    if (cut->kind == CT_CUT_PROMPT || cut->named) {
        g_autofree char *command = g_strndup(cut->text, MIN(cut->len, 4096));
        g_auto(GStrv) words = g_strsplit(command, " ", 200);
        guint i = 0;
        while (words[i] && (strcmp(words[i], "sudo") == 0 || strchr(words[i], '=')))
            i++;
        if (words[i] && words[i + 1]) {
            gboolean engine = g_str_has_suffix(words[i], "docker") ||
                              strcmp(words[i], "podman") == 0 || strcmp(words[i], "nerdctl") == 0 ||
                              strcmp(words[i], "kubectl") == 0;
            gboolean inside = strcmp(words[i + 1], "run") == 0 ||
                              strcmp(words[i + 1], "exec") == 0 ||
                              strcmp(words[i + 1], "logs") == 0;
            if (engine && inside)
                name = container_name(words + i + 2);
        }
    }
    if (!name && container_id(cut->host))
        name = g_strdup(cut->host);
    return name ? g_strconcat("container:", name, NULL) : NULL;
}
