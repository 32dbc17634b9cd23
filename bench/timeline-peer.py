#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same totals as `cutriage inspect` of a trace, as most people get them:
timeline-peer.py nsys FILE (sqlite3 and pandas) or kineto FILE (json)."""
import collections
import json
import sqlite3
import sys


def nsys(path):
    import pandas
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    names = dict(db.execute("SELECT id, value FROM StringIds"))
    k = pandas.read_sql_query("SELECT start, end, deviceId, demangledName AS name "
                              "FROM CUPTI_ACTIVITY_KIND_KERNEL", db)
    c = pandas.read_sql_query("SELECT start, end, nameId AS name, returnValue "
                              "FROM CUPTI_ACTIVITY_KIND_RUNTIME", db)
    for frame in (k, c):
        frame["dur"] = frame["end"] - frame["start"]
        total = frame.groupby("name")["dur"].agg(["sum", "count", "max"])
        for name, row in total.sort_values("sum", ascending=False).head(10).iterrows():
            print(names[name], *row)
    k = k.sort_values("start")
    gap = k["start"] - k["end"].cummax().shift()
    busy = (k["end"].max() - k["start"].min()) - gap[gap > 0].sum()
    print("busy", busy, "failed", (c["returnValue"] != 0).sum())


def kineto(path):
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    total = collections.defaultdict(lambda: [0.0, 0, 0.0])
    spans = []
    for e in events:
        if e.get("ph") != "X":
            continue
        t = total[e.get("cat"), e["name"]]
        t[0] += e["dur"]
        t[1] += 1
        t[2] = max(t[2], e["dur"])
        if e["cat"] == "kernel":
            spans.append((e["ts"], e["ts"] + e["dur"]))
    for key, t in sorted(total.items(), key=lambda x: -x[1][0])[:10]:
        print(*key, *t)
    busy = end = 0.0
    for a, b in sorted(spans):
        busy += max(0.0, b - max(a, end))
        end = max(end, b)
    print("busy", busy)


{"nsys": nsys, "kineto": kineto}[sys.argv[1]](sys.argv[2])
