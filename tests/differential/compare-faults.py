#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare --first-bad on small networks with one planted fault each, and on sound ones.

Usage: compare-faults.py path/to/cutriage [seed]. Needs numpy; no part of the ordinary tests. Every
network runs twice: as a reference in fp32, and as a test whose tensors are all rounded to a type.
"""
import json, os, subprocess, sys, tempfile
import numpy as np

rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
np.seterr(all="ignore")


def half(x):
    return x.astype(np.float16).astype(np.float32)


def brain(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def single(x):
    return x.astype(np.float32)


def int8(x):
    scale = np.abs(x).max() / 127
    return (np.clip(np.rint(x / scale), -127, 127) * scale).astype(np.float32)


class Net:
    """Pairs of tensors in order; `faults` change the test's side of those that they name."""

    def __init__(self, rounding, faults):
        self.round, self.faults, self.pairs = rounding, faults, []

    def put(self, name, ref, test):
        if name in self.faults:
            test = self.faults[name](np.array(test), ref)
        pair = ref.astype(np.float32), self.round(test)
        self.pairs.append((name, *pair))
        return pair

    def linear(self, name, x, out, gain=1.4):
        w = rng.standard_normal((x[0].shape[-1], out)).astype(np.float32) * gain
        w /= np.sqrt(np.float32(x[0].shape[-1]))
        return self.put(name, x[0] @ w, x[1] @ self.round(w))

    def apply(self, name, function, *x):
        return self.put(name, function(*(p[0] for p in x)), function(*(p[1] for p in x)))


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def convolve(x, w):
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    h, v = x.shape[2:]
    return sum(np.einsum("nchw,oc->nohw", padded[:, :, i:i + h, j:j + v], w[:, :, i, j])
               for i in range(3) for j in range(3))


def dense(rounding, faults, gain=1.4):
    n = Net(rounding, faults)
    x = rng.standard_normal((24, 96)).astype(np.float32)
    x = n.put("input", x, x)
    for i in range(5):
        x = n.apply(f"act{i}", relu, n.linear(f"fc{i}", x, 96, gain))
    n.linear("logits", x, 10)
    return n


def picture(rounding, faults):
    n = Net(rounding, faults)
    x = (rng.random((2, 3, 20, 20)) * np.array([2, 1.4, 0.8]).reshape(1, 3, 1, 1) - 0.5)
    x = n.put("images", x, x)
    for i in range(4):
        w = rng.standard_normal((12, x[0].shape[1], 3, 3)).astype(np.float32)
        w *= 1.4 / np.sqrt(np.float32(9 * x[0].shape[1]))
        y = n.put(f"conv{i}", convolve(x[0], w), convolve(x[1], rounding(w)))
        x = n.apply(f"relu{i}", relu, y)
    return n


def attention(rounding, faults, residual=1.0):
    n = Net(rounding, faults)
    x = rng.standard_normal((2, 32, 48)).astype(np.float32) * residual
    x = n.put("embed", x, x)
    for i in range(3):
        y = n.apply(f"norm{i}", norm, x)
        q, k, v = (n.linear(f"{part}{i}", y, 48, 1.0) for part in "qkv")
        scores = n.apply(f"scores{i}", lambda a, b: a @ b.transpose(0, 2, 1) / 7, q, k)
        probs = n.apply(f"probs{i}", softmax, scores)
        x = n.apply(f"out{i}", np.add, x, n.apply(f"context{i}", np.matmul, probs, v))
    return n


def where(places, value):
    def fault(test, ref):
        test[places] = value
        return test
    return fault


def stale(test, ref):
    flat = test.ravel()
    flat[flat.size // 3:flat.size // 3 + flat.size // 20] = rng.standard_normal(flat.size // 20)
    return test


def no_eps(test, ref):
    return test * np.linspace(1.02, 1.4, test.shape[1]).reshape(1, -1, 1)


def quantised(scale):
    return lambda test, ref: np.clip(np.rint(test / scale), -128, 127) * scale


CASES = [
    ("clean", "", lambda: dense(half, {})), ("clean", "", lambda: picture(half, {})),
    ("clean", "", lambda: attention(half, {})), ("clean", "", lambda: attention(brain, {})),
    ("clean", "", lambda: dense(int8, {})), ("clean", "", lambda: picture(single, {})),
    ("overflow", "fc1", lambda: dense(half, {}, 300.0)),
    ("absorption", "out0", lambda: attention(half, {}, 3000.0)),
    ("softmax-norm", "probs1", lambda: attention(half, {"probs1": no_eps})),
    ("scale", "images", lambda: picture(half, {"images": lambda t, r: t / 255})),
    ("scale", "images", lambda: picture(half, {"images": lambda t, r: t - 0.3})),
    ("scale", "conv2", lambda: picture(half, {"conv2": lambda t, r: t * 0.7})),
    ("scale", "fc3", lambda: dense(brain, {"fc3": lambda t, r: t * 2})),
    ("channel-order", "images", lambda: picture(half, {"images": lambda t, r: t[:, ::-1]})),
    ("layout", "images", lambda: picture(
        half, {"images": lambda t, r: t.transpose(0, 2, 3, 1).reshape(t.shape)})),
    ("layout", "conv1", lambda: picture(half, {"conv1": lambda t, r: t.transpose(0, 1, 3, 2)})),
    ("shift", "relu1", lambda: picture(half, {"relu1": lambda t, r: np.roll(t, 1, 3)})),
    ("shift", "fc2", lambda: dense(
        half, {"fc2": lambda t, r: np.roll(t.ravel(), 3).reshape(t.shape)})),
    ("permuted", "fc1", lambda: dense(half, {"fc1": lambda t, r: t[rng.permutation(len(t))]})),
    ("permuted", "fc3", lambda: dense(half, {"fc3": lambda t, r: t[:, rng.permutation(96)]})),
    ("permuted", "conv2", lambda: picture(half, {"conv2": lambda t, r: t[::-1]})),
    ("nan-input", "input", lambda: dense(half, {"input": where((2, 3), np.nan)})),
    ("nan-weight", "fc2", lambda: dense(half, {"fc2": where((slice(None), 5), np.nan)})),
    ("nan-weight", "conv1", lambda: picture(half, {"conv1": where((slice(None), 4), np.nan)})),
    ("saturation", "act1", lambda: dense(single, {"act1": quantised(0.008)})),
    ("coarse-scale", "act2", lambda: dense(single, {"act2": quantised(1.7)})),
    ("race", "act3", lambda: dense(half, {"act3": stale})),
    ("race", "relu2", lambda: picture(single, {"relu2": stale})),
    ("constant", "fc4", lambda: dense(half, {"fc4": lambda t, r: t * 0 + 0.5})),
    ("constant", "conv2", lambda: picture(half, {"conv2": lambda t, r: t * 0})),
]


def compare(program, folder):
    out = subprocess.run([program, "compare", "--first-bad", "--json", f"{folder}/ref",
                          f"{folder}/test"], capture_output=True, text=True).stdout
    result = json.loads(out)
    found = [(t["fault"]["kind"], t["name"]) for t in result["tensors"] if "fault" in t]
    first = result["first_bad"]
    if first is None:
        return ("clean", ""), found
    tensor = result["tensors"][first - 1]
    return (tensor.get("fault", {}).get("kind", "unknown"), tensor["name"]), found


def save(net, folder):
    for side, index in (("ref", 1), ("test", 2)):
        os.makedirs(f"{folder}/{side}")
        for i, pair in enumerate(net.pairs):
            np.save(f"{folder}/{side}/{i:03d}_{pair[0]}.npy", np.ascontiguousarray(pair[index]))


good = 0
for kind, name, make in CASES:
    with tempfile.TemporaryDirectory() as folder:
        save(make(), folder)
        got, found = compare(sys.argv[1], folder)
        # What only loses precision is no bad tensor, and must be told all the same.
        right = got == (kind, name) or (kind == "absorption" and (kind, name) in found)
    good += right
    if not right:
        print(f"{kind} at {name!r}: found {got[0]} at {got[1]!r}")
print(f"{good} of {len(CASES)} right")
sys.exit(good < len(CASES))
