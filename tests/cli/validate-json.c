/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a JSON document against a schema. Knows the keywords that docs/diagnosis-schema.json uses
 * and refuses a schema with any other, so that a new keyword cannot pass unchecked.
 * usage: validate-json SCHEMA [FILE]      (standard input without FILE)
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *root;

static int fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", *path ? path : "(root)", what);
    return 1;
}

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {[JSON_OBJECT] = "object", [JSON_ARRAY] = "array",
                                        [JSON_STRING] = "string", [JSON_INTEGER] = "integer",
                                        [JSON_REAL] = "number",   [JSON_TRUE] = "boolean",
                                        [JSON_FALSE] = "boolean", [JSON_NULL] = "null"};
    return names[json_typeof(value)];
}

static int is_type(const json_t *value, const char *type)
{
    return strcmp(type_name(value), type) == 0 ||
           (strcmp(type, "number") == 0 && json_is_integer(value));
}

static int check_type(const json_t *type, const json_t *value)
{
    if (json_is_string(type))
        return is_type(value, json_string_value(type));
    size_t i;
    json_t *one;
    json_array_foreach((json_t *)type, i, one)
        if (is_type(value, json_string_value(one)))
            return 1;
    return 0;
}

static int check(json_t *schema, json_t *value, const char *path);

static int check_members(json_t *schema, json_t *value, const char *path)
{
    int bad = 0;
    size_t i;
    json_t *name, *part;
    const char *key;
    json_array_foreach(json_object_get(schema, "required"), i, name) {
        if (json_is_object(value) && !json_object_get(value, json_string_value(name)))
            bad += fail(path, json_string_value(name));
    }
    json_object_foreach(json_object_get(schema, "properties"), key, part) {
        char below[512];
        json_t *member = json_object_get(value, key);
        snprintf(below, sizeof below, "%s.%s", path, key);
        if (member)
            bad += check(part, member, below);
    }
    /* Output of the same version must not hold a key that the schema does not describe. */
    json_object_foreach(value, key, part) {
        if (json_object_get(schema, "properties") &&
            !json_object_get(json_object_get(schema, "properties"), key))
            bad += fail(path, key);
    }
    return bad;
}

static int check_items(json_t *schema, json_t *value, const char *path)
{
    int bad = 0;
    size_t i;
    json_t *item;
    json_t *least = json_object_get(schema, "minItems");
    if (least && json_array_size(value) < (size_t)json_integer_value(least))
        bad += fail(path, "too few items");
    json_array_foreach(value, i, item) {
        char below[512];
        snprintf(below, sizeof below, "%s[%zu]", path, i);
        bad += check(json_object_get(schema, "items"), item, below);
    }
    return bad;
}

static json_t *resolve(json_t *schema)
{
    static const char prefix[] = "#/$defs/";
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (!ref)
        return schema;
    return strncmp(ref, prefix, strlen(prefix)) == 0
               ? json_object_get(json_object_get(root, "$defs"), ref + strlen(prefix))
               : NULL;
}

static int known_keywords(json_t *schema, const char *path)
{
    static const char *const known[] = {"$schema",    "$defs",    "$ref",     "title", "description",
                                        "type",       "required", "properties", "items", "enum",
                                        "const",      "minimum",  "maximum",  "minItems", "anyOf"};
    const char *key;
    json_t *part;
    json_object_foreach(schema, key, part) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i], key) != 0)
            i++;
        if (i == sizeof known / sizeof *known)
            return fail(path, "the schema uses a keyword that this checker does not know");
    }
    return 0;
}

static int check(json_t *schema, json_t *value, const char *path)
{
    schema = resolve(schema);
    if (!schema)
        return fail(path, "the schema refers to nothing");
    int bad = known_keywords(schema, path);
    size_t i;
    json_t *one, *part;
    if ((part = json_object_get(schema, "anyOf"))) {
        json_array_foreach(part, i, one)
            if (json_is_null(value) ? check_type(json_object_get(resolve(one), "type"), value)
                                    : check_type(json_object_get(resolve(one), "type"), value) &&
                                          !check(one, value, path))
                return bad;
        return bad + fail(path, "matches none of anyOf");
    }
    if ((part = json_object_get(schema, "const")) && !json_equal(part, value))
        bad += fail(path, "is not the constant");
    if ((part = json_object_get(schema, "enum"))) {
        int found = 0;
        json_array_foreach(part, i, one)
            found |= json_equal(one, value);
        if (!found)
            bad += fail(path, "is none of the enum");
    }
    if ((part = json_object_get(schema, "type")) && !check_type(part, value))
        bad += fail(path, type_name(value));
    if ((part = json_object_get(schema, "minimum")) && json_is_number(value) &&
        json_number_value(value) < json_number_value(part))
        bad += fail(path, "is below the minimum");
    if ((part = json_object_get(schema, "maximum")) && json_is_number(value) &&
        json_number_value(value) > json_number_value(part))
        bad += fail(path, "is above the maximum");
    if (json_is_object(value))
        bad += check_members(schema, value, path);
    if (json_is_array(value) && json_object_get(schema, "items"))
        bad += check_items(schema, value, path);
    return bad;
}

int main(int argc, char **argv)
{
    json_error_t error;
    if (argc < 2)
        return 2;
    root = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        fprintf(stderr, "%s:%d: %s\n", argv[1], error.line, error.text);
        return 2;
    }
    json_t *value = argc > 2 ? json_load_file(argv[2], JSON_REJECT_DUPLICATES, &error)
                             : json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        fprintf(stderr, "line %d: %s\n", error.line, error.text);
        return 1;
    }
    int bad = check(root, value, "");
    json_decref(value);
    json_decref(root);
    return bad ? 1 : 0;
}
