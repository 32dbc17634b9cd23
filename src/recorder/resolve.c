/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the real functions: by walking the loaded objects and their own symbol tables. dlsym
 * cannot be asked, since it is one of the names that this library gives to everybody.
 */
#include "recorder/recorder.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

struct object {
    const ElfW(Sym) *sym;
    const char *str;
    const uint32_t *gnu, *sysv;
    uintptr_t bias;
};

/* dlsym() in assembly jumps here. */
void *ctr_real_dlsym;

struct answer {
    void *address;
    uintptr_t handled;
};
struct answer ctr_dlsym(void *handle, const char *name);

static bool equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static bool starts(const char *text, const char *with)
{
    while (*with && *text == *with)
        text++, with++;
    return *with == 0;
}

/* Some loaders relocate the addresses in the dynamic section, some (musl, the vDSO) do not. */
static uintptr_t at(const struct object *o, uintptr_t p)
{
    return p < o->bias ? o->bias + p : p;
}

static bool open_object(const struct dl_phdr_info *info, struct object *o, const char **out_soname)
{
    const ElfW(Dyn) *dyn = NULL;
    uintptr_t soname = 0;
    bool has_soname = false;
    *o = (struct object){.bias = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dyn = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
        if (dyn->d_tag == DT_SYMTAB)
            o->sym = (const void *)at(o, dyn->d_un.d_ptr);
        else if (dyn->d_tag == DT_STRTAB)
            o->str = (const void *)at(o, dyn->d_un.d_ptr);
        else if (dyn->d_tag == DT_GNU_HASH)
            o->gnu = (const void *)at(o, dyn->d_un.d_ptr);
        else if (dyn->d_tag == DT_HASH)
            o->sysv = (const void *)at(o, dyn->d_un.d_ptr);
        else if (dyn->d_tag == DT_SONAME) {
            soname = dyn->d_un.d_val;
            has_soname = true;
        }
    }
    *out_soname = has_soname && o->str ? o->str + soname : "";
    return o->sym && o->str && (o->gnu || o->sysv);
}

static void *function_at(const struct object *o, uint32_t i)
{
    const ElfW(Sym) *s = &o->sym[i];
    unsigned type = ELF64_ST_TYPE(s->st_info);
    if (s->st_shndx == SHN_UNDEF || s->st_value == 0)
        return NULL;
    if (type == STT_GNU_IFUNC)
        return ((void *(*)(void))(o->bias + s->st_value))();
    return type == STT_FUNC || type == STT_NOTYPE ? (void *)(o->bias + s->st_value) : NULL;
}

static void *lookup_gnu(const struct object *o, const char *name)
{
    uint32_t h = 5381;
    for (const char *p = name; *p; p++)
        h = h * 33 + (uint8_t)*p;
    uint32_t buckets = o->gnu[0], first = o->gnu[1], bloom = o->gnu[2];
    const uint32_t *bucket = o->gnu + 4 + bloom * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = bucket + buckets;
    uint32_t i = buckets ? bucket[h % buckets] : 0;
    if (i < first)
        return NULL;
    for (;; i++) {
        uint32_t have = chain[i - first];
        if ((have | 1) == (h | 1) && equal(o->str + o->sym[i].st_name, name)) {
            void *f = function_at(o, i);
            if (f)
                return f;
        }
        if (have & 1)
            return NULL;
    }
}

static void *lookup(const struct object *o, const char *name)
{
    if (o->gnu)
        return lookup_gnu(o, name);
    uint32_t buckets = o->sysv[0], n = o->sysv[1], h = 0;
    for (const char *p = name; *p; p++) {
        h = (h << 4) + (uint8_t)*p;
        h = (h ^ ((h & 0xf0000000u) >> 24)) & 0x0fffffffu;
    }
    const uint32_t *chain = o->sysv + 2 + buckets;
    for (uint32_t i = buckets ? o->sysv[2 + h % buckets] : 0; i && i < n; i = chain[i])
        if (equal(o->str + o->sym[i].st_name, name)) {
            void *f = function_at(o, i);
            if (f)
                return f;
        }
    return NULL;
}

struct query {
    const char *soname; /* prefix; NULL: any object but this one */
    const char *name;   /* NULL: is the object there? */
    void *found;
    bool seen;
};

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
    struct query *q = user;
    struct object o;
    const char *soname;
    (void)size;
    if (!open_object(info, &o, &soname))
        return 0;
    if (starts(soname, "libcutriage-recorder.so"))
        return 0;
    if (q->soname && !starts(soname, q->soname))
        return 0;
    /* The vDSO and the loader have nothing to give, and the loader's dlsym is not for callers. */
    if (!q->soname && (starts(soname, "linux-") || starts(soname, "ld-")))
        return 0;
    q->seen = true;
    q->found = q->name ? lookup(&o, q->name) : NULL;
    return q->found != NULL;
}

static void *find(const char *soname, const char *name)
{
    struct query q = {.soname = soname, .name = name};
    dl_iterate_phdr(visit, &q);
    return q.found;
}

static bool driver_is_loaded(void)
{
    struct query q = {.soname = "libcuda.so"};
    dl_iterate_phdr(visit, &q);
    return q.seen;
}

bool ctr_resolve(uint32_t fn)
{
    void *f = find("libcuda.so", ctr_names[fn].sym);
    if (f)
        __atomic_store_n(&ctr_real[fn], f, __ATOMIC_RELEASE);
    return f != NULL;
}

bool ctr_is_exported(const char *symbol, const void *address)
{
    static const char *const versions[] = {"", "_v2", "_v3", "_v4"};
    static const char *const streams[] = {"", "_ptsz", "_ptds"};
    char name[96];
    unsigned n = 0;
    while (symbol[n] && n < 80) {
        name[n] = symbol[n];
        n++;
    }
    for (unsigned v = 0; v < 4; v++)
        for (unsigned s = 0; s < 3; s++) {
            unsigned m = n;
            for (const char *p = versions[v]; *p; p++)
                name[m++] = *p;
            for (const char *p = streams[s]; *p; p++)
                name[m++] = *p;
            name[m] = 0;
            if (find("libcuda.so", name) == address)
                return true;
        }
    return false;
}

/* ---- names ---- */

#define SLOTS 1024u
static uint16_t slots[SLOTS]; /* index + 1 */

static uint32_t hash_name(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h;
}

void ctr_build_index(void)
{
    for (uint16_t i = 0; i < CTR_N_FNS; i++) {
        uint32_t h = hash_name(ctr_names[i].sym);
        while (slots[h % SLOTS])
            h++;
        slots[h % SLOTS] = (uint16_t)(i + 1);
    }
}

int ctr_find_name(const char *name)
{
    for (uint32_t h = hash_name(name); slots[h % SLOTS]; h++)
        if (equal(ctr_names[slots[h % SLOTS] - 1].sym, name))
            return slots[h % SLOTS] - 1;
    return -1;
}

static void *real_dlsym(void)
{
    void *f = __atomic_load_n(&ctr_real_dlsym, __ATOMIC_ACQUIRE);
    if (!f) {
        f = find(NULL, "dlsym");
        __atomic_store_n(&ctr_real_dlsym, f, __ATOMIC_RELEASE);
    }
    return f;
}

struct answer ctr_dlsym(void *handle, const char *name)
{
    struct answer pass = {NULL, 0};
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))real_dlsym();
    if (!real || handle == RTLD_NEXT || !name || name[0] != 'c' || name[1] != 'u')
        return pass;
    int i = ctr_find_name(name);
    if (i < 0)
        return pass;
    void *given = handle == RTLD_DEFAULT ? NULL : real(handle, name);
    if (given && given != ctr_names[i].wrapper) {
        /* Another library of that name than the one already in use: it gets what it asked for. */
        if (ctr_real[i] && ctr_real[i] != given)
            return (struct answer){given, 1};
        __atomic_store_n(&ctr_real[i], given, __ATOMIC_RELEASE);
        return (struct answer){ctr_names[i].wrapper, 1};
    }
    if (!given && handle != RTLD_DEFAULT)
        return pass; /* asks again, so that dlerror() says what it would have said */
    /* The global scope holds this library's name; it counts only when the driver has it too. */
    if (driver_is_loaded() && (ctr_real[i] || ctr_resolve((uint32_t)i)))
        return (struct answer){ctr_names[i].wrapper, 1};
    return (struct answer){NULL, 1};
}
