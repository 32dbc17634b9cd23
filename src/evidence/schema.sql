-- SPDX-License-Identifier: Apache-2.0
-- Evidence store, version 1. One schema for the in-memory store and for case files.
-- Base units everywhere: ns, bytes, Hz, W, degrees Celsius, 1/1. NULL is "unknown", never 0.
-- Times are ns on the clock of the row's section (section.clock says which).

CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,          -- as given by the person, or live:COLLECTOR
    format TEXT,                 -- text, gzip+text, sqlite, ...
    status TEXT NOT NULL,        -- ok, partial, truncated, absent, denied, unsupported, timeout, failed
    bytes INTEGER,
    lines INTEGER,
    t0_ns INTEGER,
    t1_ns INTEGER,
    note TEXT                    -- why the status is not ok
);

CREATE TABLE section (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source(id),
    first_line INTEGER NOT NULL, -- from 1, in the source
    last_line INTEGER,
    title TEXT,                  -- of "== title" and the like
    command TEXT,                -- the command whose output this is, when the prompt shows it
    parser TEXT,                 -- id of the parser, or generic-text
    scope TEXT NOT NULL,         -- host, container:NAME, build, process:PID, rank:N, claimed
    status TEXT NOT NULL,
    clock TEXT NOT NULL,         -- wall, boot, none
    clock_offset_ns INTEGER,     -- to add to get wall time; NULL is unknown
    clock_confidence REAL,
    note TEXT
);

CREATE TABLE coverage (          -- what a section is able to show, of whom and when
    id INTEGER PRIMARY KEY,
    section INTEGER NOT NULL REFERENCES section(id),
    kind TEXT NOT NULL,
    subject TEXT,
    t0_ns INTEGER,
    t1_ns INTEGER
);

CREATE TABLE event (             -- something that happened and was written down
    id INTEGER PRIMARY KEY,
    section INTEGER NOT NULL REFERENCES section(id),
    line INTEGER,
    seq INTEGER NOT NULL,        -- order of reading within the run
    t_ns INTEGER,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,      -- info, warning, error, fatal
    subject TEXT,
    code INTEGER,
    name TEXT,
    pid INTEGER,
    rank INTEGER,
    gpu TEXT,
    text TEXT,                   -- the line, as the report quotes it
    detail TEXT,                 -- JSON object of the other captures
    repeats INTEGER NOT NULL DEFAULT 1,
    last_line INTEGER,           -- of the last repeat
    last_t_ns INTEGER
);

CREATE TABLE fact (              -- something that is so
    id INTEGER PRIMARY KEY,
    section INTEGER NOT NULL REFERENCES section(id),
    line INTEGER,
    subject TEXT,                -- gpu:0, process:123, lib:libcudart.so.12, NULL is the scope itself
    key TEXT NOT NULL,
    value TEXT,
    number REAL,                 -- value in base units where it is a quantity
    status TEXT NOT NULL DEFAULT 'ok',
    text TEXT                    -- the line, as the report quotes it
);

CREATE TABLE alias (             -- names of one thing (gpu:0, PCI address, UUID)
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (subject, name)
);

CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    section INTEGER NOT NULL REFERENCES section(id),
    subject TEXT,
    metric TEXT NOT NULL,
    unit TEXT NOT NULL           -- ns, bytes, Hz, W, celsius, 1, count
);

CREATE TABLE span (              -- an interval that a finding cites, or a request
    id INTEGER PRIMARY KEY,
    section INTEGER NOT NULL REFERENCES section(id),
    line INTEGER,
    track TEXT,
    name TEXT,
    t0_ns INTEGER,
    t1_ns INTEGER,
    detail TEXT
);

CREATE TABLE finding (           -- what an analyzer concluded
    id INTEGER PRIMARY KEY,
    analyzer TEXT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,
    subject TEXT,
    t0_ns INTEGER,
    t1_ns INTEGER,
    number REAL,                 -- the one figure of the finding, in base units
    confidence REAL,             -- 0..1
    text TEXT,                   -- one sentence in English, for the report
    detail TEXT                  -- JSON object
);

CREATE TABLE finding_evidence (
    finding INTEGER NOT NULL REFERENCES finding(id),
    tab TEXT NOT NULL,           -- event, fact, series, span
    row INTEGER NOT NULL,
    line INTEGER                 -- line of the section's source that shows it best
);

CREATE TABLE hypothesis (
    id INTEGER PRIMARY KEY,
    cause TEXT NOT NULL,
    layer TEXT NOT NULL,
    score REAL NOT NULL,         -- decibans, prior included
    probability REAL NOT NULL,
    explained_by TEXT
);

CREATE TABLE support (
    hypothesis INTEGER NOT NULL REFERENCES hypothesis(id),
    rule TEXT NOT NULL,
    evidence_group TEXT NOT NULL,
    weight REAL NOT NULL,        -- decibans that counted
    tab TEXT,
    row INTEGER,
    text TEXT
);

CREATE TABLE sqlar (             -- attachments, readable with the sqlite3 shell's .archive
    name TEXT PRIMARY KEY,
    mode INT,
    mtime INT,
    sz INT,
    data BLOB
);

CREATE INDEX event_kind_code ON event(kind, code);
CREATE INDEX event_kind_seq ON event(kind, seq);
CREATE INDEX fact_key_subject ON fact(key, subject);
CREATE INDEX finding_kind ON finding(kind);
CREATE INDEX coverage_kind ON coverage(kind);
