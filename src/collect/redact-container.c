/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of containers: 64 hex digits in cgroup paths, the first 12 of them in lists and messages. */
#include <string.h>

#include "collect/redact-private.h"

#define LONG_ID ((gsize)64)
#define SHORT_ID ((gsize)12)

void ct_redact_container_id(CtRedact *r, const char *id, gsize len, GString *out)
{
    gboolean changed = ct_redact_same_shape(r, "container", id, MIN(len, SHORT_ID), TRUE, out);
    if (len == SHORT_ID + 1)
        g_string_append_c(out, '0'); /* too little to be told apart by */
    else if (len > SHORT_ID)
        changed |= ct_redact_same_shape(r, "container", id + SHORT_ID, len - SHORT_ID, TRUE, out);
    if (changed)
        ct_redact_hit(r);
}

static gboolean named_before(const CtPlace *p, gsize reach, const char *const *words)
{
    gsize from = p->at > p->line + reach ? p->at - reach : p->line;
    return ct_redact_has_word(p->text + from, p->at - from, words);
}

/* An id in a path of cgroups, in a list of overlays, or where the line says what it is; an image's
 * hash stands behind "sha256:" and stays. */
static gboolean long_id(const CtPlace *p)
{
    static const char *const words[] = {"docker", "container", "libpod", "crio", "overlay", "podman",
                                        "kubepods", "/pod", "cri-", "snapshots", "sandbox", "lxc/",
                                        "cgroup", "memcg", "buildkit", "nerdctl", "isulad",
                                        "cri-o", "cpuset", "/ecs/", "\"id\":", NULL};
    static const char *const hashes[] = {"sha256", "image", "digest", "layer", "build-id",
                                         "hash", "sum", NULL};
    return !named_before(p, 16, hashes) && named_before(p, 120, words);
}

/* "container 4f1c2d3e5a6b exited", "CONTAINER_ID=...", "docker-4f1c2d3e5a6b.scope", a row of
 * "docker ps" */
static gboolean short_id(const CtPlace *p, gsize n)
{
    static const char *const words[] = {"container", "docker/", "docker-", "docker exec", "sandbox",
                                        "docker logs", "docker inspect", "docker stop", "libpod-",
                                        "docker restart", "crio-", "cri-containerd-", "docker kill",
                                        "docker rm", "docker start", "docker attach", "docker cp",
                                        "docker stats", "docker top", "containerd-", NULL};
    static const char *const others[] = {"image", "sha256", "layer", "build", "commit", "digest",
                                         NULL};
    gsize letters = 0, digits = 0, gap = n;
    for (gsize i = 0; i < SHORT_ID; i++) {
        char c = ct_place_char(p, (gssize)i);
        digits += g_ascii_isdigit(c);
        letters += g_ascii_islower(c);
        if (g_ascii_isupper(c))
            return FALSE;
    }
    if (!letters || !digits)
        return FALSE;
    while (ct_place_char(p, (gssize)gap) == ' ')
        gap++;
    if (p->at == p->line && gap >= n + 3)
        return TRUE;
    return named_before(p, 24, words) && !named_before(p, 12, others);
}

gsize ct_redact_container(CtRedact *r, const CtPlace *p, GString *out)
{
    gsize n = 0;
    while (n <= LONG_ID && g_ascii_isxdigit(ct_place_char(p, (gssize)n)))
        n++;
    /* crictl shows 13 digits */
    if ((n != LONG_ID && n != SHORT_ID && n != SHORT_ID + 1) ||
        ct_redact_word_char(ct_place_char(p, (gssize)n)) ||
        !(n == LONG_ID ? long_id(p) : short_id(p, n)))
        return 0;
    g_autofree char *id = g_strndup(p->text + p->at, n), *brief = g_strndup(id, SHORT_ID);
    ct_redact_learn(r, CT_REDACT_CONTAINER, id);
    ct_redact_learn(r, CT_REDACT_CONTAINER, brief);
    ct_redact_container_id(r, id, n, out);
    return n;
}
