#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times cutriage, numpy and Polygraphy on the same tensors: compare-peers.py BUILD WORK MIB.

GB/s count both tensors (one for scans). The best of several runs counts; seconds are those of the
processor, since other programs share the machine.
"""
import os
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from polygraphy.comparator import CompareFunc, IterationResult, RunResults
from polygraphy.json import load_json, save_json
from polygraphy.logger import G_LOGGER

G_LOGGER.module_severity = G_LOGGER.CRITICAL
build, work, mib = sys.argv[1], sys.argv[2], int(sys.argv[3])


def compare_all(a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CompareFunc.simple(atol=1e-5, rtol=1e-5)(a, b)


def best(runs, function):
    least = float("inf")
    for _ in range(runs):
        start = time.process_time()
        function()
        least = min(least, time.process_time() - start)
    return least


def say(what, size, seconds, extra=""):
    print(f"{what:42s} {size / seconds / 1e9:9.3f} GB/s{extra}")


def tensors(name, n, dtype):
    rng = np.random.default_rng(7)
    ref = rng.standard_normal(n, dtype=np.float32)
    test = ref * (1 + np.float32(1e-6) * rng.standard_normal(n, dtype=np.float32))
    paths = [f"{work}/{name}-{side}.npy" for side in ("ref", "test")]
    for path, array in zip(paths, (ref.astype(dtype), test.astype(dtype))):
        np.save(path, array)
    return paths, [np.load(p) for p in paths]


def ours(paths, label, runs=9):
    """The library alone, as the peers are measured: files mapped, page cache warm."""
    out = subprocess.run([f"{build}/bench/bench-compare", *paths, str(runs)], capture_output=True,
                         text=True, check=True).stdout
    for line in out.splitlines():
        print(f"cutriage {label} {line}")


def command(runs, args):
    """Processor seconds and peak MB of a whole command; a process that Python forks would count
    Python's own memory."""
    out = subprocess.run([f"{build}/bench/measure", str(runs), *args], capture_output=True,
                         text=True, check=True).stdout.split()
    return float(out[1]), float(out[2]) / 1024


def polygraphy(arrays):
    a, b = (IterationResult({"out": x}) for x in arrays)
    return compare_all(a, b)


n = mib * 1024 * 1024 // 4
print(f"== load {os.getloadavg()[0]:.1f}, {mib} MiB of fp32 on each side")
paths, (a, b) = tensors("fp32", n, np.float32)
ours(paths, "fp32")
both = a.nbytes + b.nbytes
say("numpy max|a-b|", both, best(3, lambda: np.abs(a - b).max()))
say("numpy allclose", both, best(3, lambda: np.allclose(a, b)))
say("numpy isnan", a.nbytes, best(3, lambda: np.isnan(a).any()))
part = [a[: n // 8], b[: n // 8]]
say("Polygraphy, an eighth of it", both / 8, best(2, lambda: polygraphy(part)))

paths, (a, b) = tensors("fp16", n, np.float16)
ours(paths, "fp16")
both = a.nbytes + b.nbytes
say("numpy max|a-b|", both, best(2, lambda: np.abs(a - b).max()))
say("Polygraphy, an eighth of it", both / 8, best(1, lambda: polygraphy([a[: n // 8], b[: n // 8]])))

tensors("small", 500000, np.float32)
paths, arrays = tensors("json", 6 << 20, np.float32)
files = []
for side, array in zip(("ref", "test"), arrays):
    results = RunResults()
    results.append((side, [IterationResult({f"out{i}": array for i in range(4)})]))
    files.append(f"{work}/{side}.json")
    save_json(results, files[-1])
size = sum(os.path.getsize(f) for f in files)
seconds, peak = command(5, [f"{build}/cutriage", "compare", "--atol", "1", *files])
tensor = arrays[0].nbytes / 1e6
say("cutriage compare, Polygraphy JSON", size, seconds, f", {peak:.0f} MB peak ({tensor:.0f} MB a tensor)")


def load_and_compare():
    ref, test = (load_json(f) for f in files)
    compare_all(ref[0][1][0], test[0][1][0])


say("Polygraphy, reading the same files", size, best(1, lambda: [load_json(f) for f in files]))
say("Polygraphy, reading and comparing", size, best(1, load_and_compare),
    f", {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB peak of this script")
