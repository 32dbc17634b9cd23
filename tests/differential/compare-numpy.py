#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare --json against numpy in float64, over random shapes, types and special values.

Usage: compare-numpy.py path/to/cutriage [cases]. Needs numpy; no part of the ordinary tests.
"""
import json, subprocess, sys, tempfile, os
import numpy as np

TYPES = ["f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "c8", "b1"]


def make(rng, kind, shape, fortran):
    if kind == "b1":
        x = rng.integers(0, 2, shape).astype(bool)
    elif kind[0] in "iu":
        info = np.iinfo(kind)
        x = rng.integers(max(info.min, -2**40), min(info.max, 2**40), shape, endpoint=True).astype(kind)
    elif kind == "c8":
        x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind)
    else:
        x = (rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 4)).astype(kind)
    return np.asfortranarray(x) if fortran else x


def disturb(rng, x, kind):
    """A test near the reference; both get special values, in place."""
    y = np.array(x, order="C")
    flat = y.reshape(-1)
    if x.dtype.kind in "fc":
        flat[:] = (flat * (1 + 1e-3 * rng.standard_normal(flat.shape))).astype(kind)
        for v in [np.nan, np.inf, -np.inf, 0.0, 1e-40]:
            for t in (y, x):
                if t.size and rng.random() < 0.3:
                    t.flat[rng.integers(0, t.size)] = v
    elif flat.size:
        flat[rng.integers(0, flat.size)] = 0
    return np.asfortranarray(y) if np.isfortran(x) else y


def expect(r, t):
    if r.dtype.kind == "c":
        r, t = r.ravel().view("f4"), t.ravel().view("f4")
    r, t = r.astype(np.float64).ravel(), t.astype(np.float64).ravel()
    ok = np.isfinite(r) & np.isfinite(t)
    a, b = r[ok], t[ok]
    d = np.abs(b - a)
    out = {"finite": int(ok.sum()), "unequal": int((a != b).sum())}
    if a.size == 0:
        return out
    nz = a != 0
    out.update(max_abs=d.max(), mean_abs=d.mean(), rmse=np.sqrt((d * d).mean()))
    if nz.any():
        rel = d[nz] / np.abs(a[nz])
        out.update(max_rel=rel.max(), mean_rel=rel.mean())
    if (a * a).sum() > 0 and (b * b).sum() > 0:
        out["cosine"] = (a @ b) / (np.sqrt((a * a).sum()) * np.sqrt((b * b).sum()))
    out["ref.min"], out["ref.max"] = a.min(), a.max()
    out["test.min"], out["test.max"] = b.min(), b.max()
    return out


def over(r, t, atol, rtol):
    if r.dtype.kind == "c":
        r, t = r.ravel().view("f4"), t.ravel().view("f4")
    r, t = r.astype(np.float64), t.astype(np.float64)
    with np.errstate(all="ignore"):
        good = np.isfinite(r) & np.isfinite(t)
        d = np.abs(t - r)
        numpy = good & (d <= atol + rtol * np.abs(r)) | (np.isinf(r) & (r == t))
        poly = good & ((d <= atol) | (d <= rtol * np.abs(r)))
    return int((~numpy).sum()), int((~poly).sum())


def main():
    exe, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rng = np.random.default_rng(7)
    worst = 0.0
    with tempfile.TemporaryDirectory() as d:
        for case in range(n):
            kind = TYPES[case % len(TYPES)]
            shape = tuple(int(v) for v in rng.integers(0 if rng.random() < 0.1 else 1, 40,
                                                       rng.integers(0, 4)))
            if rng.random() < 0.15:
                shape = (int(rng.integers(1, 200000)),)
            r = np.array(make(rng, kind, shape, rng.random() < 0.2))
            t = disturb(rng, r, kind)
            save = np.savez_compressed if rng.random() < 0.3 else np.savez
            a, b = os.path.join(d, "a.npz"), os.path.join(d, "b.npz")
            if rng.random() < 0.1:
                r, t = r.astype(r.dtype.newbyteorder(">")), t.astype(t.dtype.newbyteorder(">"))
            save(a, x=r)
            save(b, x=t)
            p = subprocess.run([exe, "compare", "--json", "--atol", "1e-4", "--rtol", "1e-3", a, b],
                               capture_output=True, text=True)
            if p.returncode not in (0, 1):
                sys.exit(f"case {case} {kind} {shape}: exit {p.returncode}: {p.stderr}")
            doc = json.loads(p.stdout)
            got = doc["tensors"][0]
            if r.dtype.byteorder == ">":
                r, t = r.astype(r.dtype.newbyteorder("=")), t.astype(t.dtype.newbyteorder("="))
            r, t = np.ascontiguousarray(r).reshape(r.shape), np.ascontiguousarray(t).reshape(t.shape)
            for key, want in expect(r, t).items():
                value = got
                for part in key.split("."):
                    value = value[part]
                if isinstance(value, str):
                    value = float(value)
                err = abs(value - want) / abs(want) if want else abs(value)
                worst = max(worst, err)
                if err > 1e-12:
                    sys.exit(f"case {case} {kind} {shape} {key}: {value!r}, numpy {want!r}")
            want = over(r, t, 1e-4, 1e-3)
            have = (got["over"]["numpy"], got["over"]["polygraphy"])
            if want != have or (got["pass"] != (want[0] == 0)):
                sys.exit(f"case {case} {kind} {shape} over: {have}, numpy {want}")
    print(f"{n} cases equal, largest relative difference {worst:.2g}")


main()
