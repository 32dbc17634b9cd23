-- SPDX-License-Identifier: Apache-2.0
-- The compiled knowledge base. Built from knowledge/ by tools/kb-compile and by --knowledge.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);

-- Codes of every family in one shape; what is special to a family is in `extra` (JSON object of
-- the remaining columns of its table).
CREATE TABLE code (
    id INTEGER PRIMARY KEY,
    family TEXT NOT NULL,     -- cuda, cuda-legacy, cudnn, cublas, cufft, nccl, nvml, trt, xid, sxid, nvgpu, ...
    number INTEGER,
    name TEXT,                -- canonical: cudaErrorIllegalAddress
    alt_name TEXT,            -- CUDA_ERROR_ILLEGAL_ADDRESS
    message TEXT,             -- text that the library prints
    layer TEXT,
    sticky TEXT,              -- yes, no, ...
    late TEXT,                -- reported late: yes, no, ...
    meaning TEXT,
    meaning_zh TEXT,
    causes TEXT,              -- ; separated
    checks TEXT,              -- ; separated
    extra TEXT,
    source TEXT,
    confidence TEXT
);
CREATE INDEX code_family_number ON code(family, number);
CREATE INDEX code_name ON code(name COLLATE NOCASE);
CREATE INDEX code_alt_name ON code(alt_name COLLATE NOCASE);
-- Every text that is printed for a code: `message`, and the wordings of other releases, which the
-- file lists in its column also_printed, separated by " | ".
CREATE TABLE code_text (code INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX code_text_text ON code_text(text COLLATE NOCASE);

-- Each compat/NAME.tsv becomes a table compat_NAME (dashes to underscores) with its own columns,
-- all TEXT.

CREATE TABLE vocabulary (
    class TEXT NOT NULL,      -- event, fact, finding, coverage, series
    name TEXT NOT NULL,       -- for facts and series a trailing .* stands for a family
    meaning TEXT NOT NULL,
    PRIMARY KEY (class, name)
);

-- What people call their trouble before they know the cause.
CREATE TABLE topic (
    topic TEXT PRIMARY KEY,
    title_en TEXT NOT NULL, title_zh TEXT NOT NULL,
    words_en TEXT NOT NULL, words_zh TEXT NOT NULL, -- ; separated
    causes TEXT NOT NULL,     -- ; separated, the likeliest first
    about_en TEXT NOT NULL, about_zh TEXT NOT NULL
);

-- What `check` looks at, in the order of its list.
CREATE TABLE check_item (
    id TEXT PRIMARY KEY,
    ord INTEGER NOT NULL,
    layer TEXT NOT NULL,
    title_en TEXT NOT NULL, title_zh TEXT NOT NULL,
    applies TEXT,             -- comma separated needs; the check is not made without them ...
    unless TEXT,              -- ... nor with one of these
    needs TEXT NOT NULL,      -- ; separated: each alternative is enough to know
    fail TEXT, warn TEXT,     -- cause ids, comma separated
    pass_en TEXT NOT NULL, pass_zh TEXT NOT NULL
);
-- What is no cause of a fault yet worth a line.
CREATE TABLE check_rule (
    item TEXT NOT NULL,
    ord INTEGER NOT NULL,
    level TEXT NOT NULL,      -- pass (says more than the item's own words), warn, fail
    sql TEXT NOT NULL, needs TEXT,
    say_en TEXT NOT NULL, say_zh TEXT NOT NULL,
    fix_en TEXT, fix_zh TEXT,
    run TEXT                  -- the command that mends it
);

-- Words of the Chinese texts; lint holds them to it.
CREATE TABLE glossary (
    en TEXT PRIMARY KEY, zh TEXT NOT NULL,
    avoid TEXT NOT NULL       -- ; separated
);

CREATE TABLE signature (
    id TEXT PRIMARY KEY,
    file TEXT,
    kind TEXT NOT NULL,       -- of an event; fact:KEY for a signature that states a fact
    severity TEXT NOT NULL,
    scope TEXT NOT NULL,      -- any, kernel, not-kernel
    pattern TEXT NOT NULL,    -- PCRE2, matched against the line with envelopes off
    nocase INTEGER NOT NULL,
    family TEXT,              -- code family that resolves captures name, message, code
    fields TEXT,              -- JSON object of constants
    priority INTEGER NOT NULL DEFAULT 0,
    ord INTEGER NOT NULL,     -- file order
    line INTEGER              -- in file
);
CREATE TABLE signature_test (signature TEXT NOT NULL, kind TEXT NOT NULL, input TEXT NOT NULL);
CREATE TABLE anchor (signature TEXT NOT NULL, literal TEXT NOT NULL, nocase INTEGER NOT NULL);

CREATE TABLE cause (
    id TEXT PRIMARY KEY,
    layer TEXT NOT NULL,
    topic TEXT,
    title_en TEXT NOT NULL,
    title_zh TEXT NOT NULL,
    about_en TEXT,            -- two or three sentences: what happens and why
    about_zh TEXT,
    prior TEXT NOT NULL,      -- common, normal, rare
    action TEXT NOT NULL,
    owner TEXT NOT NULL,
    urgency TEXT NOT NULL,
    keywords TEXT,            -- for `explain`: symptoms and synonyms in both languages, ; separated
    file TEXT
);
CREATE TABLE rule (
    id TEXT NOT NULL,         -- unique within its cause
    cause TEXT NOT NULL,
    evidence_group TEXT NOT NULL,
    sql TEXT NOT NULL,
    needs TEXT,               -- event:cuda-error,finding:memory-growth: not prepared unless present
    weight REAL NOT NULL,
    absent_needs TEXT,        -- coverage kinds, comma separated
    absent_weight REAL,
    say_en TEXT NOT NULL,
    say_zh TEXT NOT NULL,
    ord INTEGER NOT NULL,
    line INTEGER,             -- in the file of the cause
    PRIMARY KEY (cause, id)
);
-- kind: hit, near. Each input is a source of its own; it may hold several lines.
CREATE TABLE rule_test (cause TEXT, rule TEXT, kind TEXT, input TEXT);
-- What a shorthand rule on events looks for, one row per code or name (both NULL: the kind alone).
CREATE TABLE rule_event (
    cause TEXT NOT NULL, rule TEXT NOT NULL, kind TEXT NOT NULL, code INTEGER, name TEXT
);
CREATE INDEX rule_event_kind ON rule_event(kind, code);
CREATE TABLE explains (cause TEXT NOT NULL, consequence TEXT NOT NULL);
CREATE TABLE next_test (
    cause TEXT NOT NULL, ord INTEGER, test TEXT NOT NULL, run TEXT, cost_s REAL,
    say_en TEXT, say_zh TEXT
);
CREATE TABLE next_outcome (
    cause TEXT NOT NULL, test TEXT NOT NULL, points_to TEXT NOT NULL, when_en TEXT, when_zh TEXT
);
CREATE TABLE advice (         -- fix, verify, pitfall, ref lines in order
    cause TEXT NOT NULL, kind TEXT NOT NULL, ord INTEGER, en TEXT, zh TEXT
);

-- facts.tsv: key may be a GLOB; the longest that fits counts. volatile: 1 by itself, 2 identity.
CREATE TABLE fact_kind (
    key TEXT PRIMARY KEY, volatile INTEGER NOT NULL, importance INTEGER NOT NULL, layer TEXT NOT NULL
);
