# SPDX-License-Identifier: Apache-2.0
"""Made-up traces with planted causes of slow requests: how often the first cause is right.

usage: slow-traces.py CUTRIAGE [SEED]: 60 traces with one cause (some without any range of the
program), 12 with two, 20 with none but delays of the host with heavy tails.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

CAUSES = {
    "cold": "cold-start", "alloc": "hot-path-allocation", "alloc-all": "hot-path-allocation",
    "pageable": "pageable-copy", "pageable-all": "pageable-copy", "host": "host-stall",
    "host-all": "host-stall", "one": "kernel-regression", "contention": "gpu-contention",
    "sync": "hot-path-sync", "sync-all": "hot-path-sync", "small": "small-kernel-launch-bound",
    "shape": "shape-autotune"}
NEEDS_RANGES = ("host", "host-all", "alloc-all", "sync-all", "cold", "small")


class World:
    """A host thread and a GPU with one stream; times in microseconds."""

    def __init__(self, seed, causes):
        self.r = random.Random(seed)
        self.causes = causes
        self.events = []
        self.t = self.gpu = 1e6
        self.link = 1
        self.every = self.r.choice([7, 10, 13, 20])
        self.heavy = self.r.uniform(0, .01)
        self.jitter = self.r.uniform(.05, .4)
        count = self.r.choice([8, 20, 60, 120])
        self.kernels = [(f"k_{self.r.randrange(1000)}_{i}", [self.r.randrange(1, 99), 1, 1],
                         self.r.lognormvariate(3.3, .7)) for i in range(count)]
        self.base = sum(k[2] for k in self.kernels)

    def add(self, cat, name, t, dur, gpu=False, **args):
        if gpu:
            args.update(device=0, stream=7, correlation=self.link)
        self.events.append(dict(ph="X", cat=cat, name=name, pid=0 if gpu else 1,
                                tid=7 if gpu else 1, ts=t, dur=dur, args=args))

    def call(self, name, dur, **args):
        self.add("cuda_runtime", name, self.t, dur, **args)
        self.t += dur

    def kernel(self, name, grid, dur):
        self.link += 1
        self.call("cudaLaunchKernel", self.r.uniform(3, 6), correlation=self.link)
        begin = max(self.t + self.r.uniform(1, 3), self.gpu)
        self.add("kernel", name, begin, dur, True, grid=grid, block=[128, 1, 1])
        self.gpu = begin + dur

    def copy(self, size, rate, kind):
        self.link += 1
        begin, dur = max(self.t + 4, self.gpu), size / rate / 1e3
        self.add("gpu_memcpy", f"Memcpy HtoD ({kind} -> Device)", begin, dur, True, bytes=size)
        self.gpu = begin + dur
        self.call("cudaMemcpyAsync", self.gpu - self.t if kind == "Pageable" else 6,
                  correlation=self.link)

    def sync(self):
        self.call("cudaStreamSynchronize", max(self.gpu - self.t, 2) + self.r.uniform(1, 3))

    def before(self, i, hit):
        has, base = self.causes.__contains__, self.base
        if has("cold") and i < 3:
            self.call("cuModuleLoadData", base * self.r.uniform(10, 40))
        if has("alloc") and hit:
            for name in ("cudaFree", "cudaFree", "cudaFree", "cudaMalloc", "cudaMalloc"):
                self.call(name, base * self.r.uniform(.1, .3))
        if has("alloc-all"):
            self.call("cudaMalloc", base * .15)
        self.copy(600000, 20, "Pinned")
        if has("pageable") and hit:
            self.copy(int(base * 6e3 * self.r.uniform(.7, 2)), 6, "Pageable")
        if has("pageable-all"):
            self.copy(int(base * 3e3), 6, "Pageable")
        if has("host") and hit:
            self.t += base * self.r.uniform(1, 3)
        if has("host-all"):
            self.t += base * self.r.uniform(1, 1.3)

    def work(self, i, hit):
        has, base, count = self.causes.__contains__, self.base, len(self.kernels)
        for j, (name, grid, usual) in enumerate(self.kernels):
            dur = usual * self.r.lognormvariate(0, .015)
            if has("one") and hit and j == count // 2:
                dur += base * self.r.uniform(.8, 1.5)
            if has("contention") and i % self.every >= self.every - 2 and self.r.random() < 3 / count:
                dur += 2000
            self.t += self.r.lognormvariate(.5, self.jitter)
            if self.r.random() < self.heavy:
                self.t += self.r.paretovariate(1.8) * 200
            self.kernel(name, grid, dur)
            if (has("sync") and hit or has("sync-all")) and j % max(count // 12, 1) == 0:
                self.sync()
                self.t += base * (.03 if has("sync-all") else .06)

    def request(self, i, named):
        has, base, hit = self.causes.__contains__, self.base, i % self.every == self.every - 1
        begin = self.t
        self.before(i, hit)
        self.work(i, hit)
        if has("small"):
            self.sync()
            for _ in range(200):
                self.t += self.r.uniform(3, 8)
                self.kernel("tiny", [1, 1, 1], 1.7)
        if has("shape") and hit:
            for q in range(6):
                self.call("cudaMalloc", base * .05)
                self.kernel(f"algo_{i}_{q}", [i, q, 1], base * .1)
                self.sync()
        self.sync()
        if has("alloc-all"):
            self.call("cudaFree", base * .2)
        self.add("user_annotation", "infer" if named else "aten::x", begin, self.t - begin)
        self.t += self.r.lognormvariate(3, .5)


def write(path, seed, causes, named=True):
    world = World(seed, causes)
    for i in range(world.r.choice([40, 60, 120, 300])):
        world.request(i, named)
    world.events.sort(key=lambda e: e["ts"])
    with open(path, "w") as f:
        json.dump({"schemaVersion": 1, "traceEvents": world.events}, f)


def first(cutriage, path):
    out = subprocess.run([cutriage, "diagnose", "--json", path], capture_output=True, text=True)
    return json.loads(out.stdout)["hypotheses"][0]["cause"]


def main():
    cutriage, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    sets = {"one": [], "two": [], "none": []}
    for named in (True, False):
        for cause in CAUSES:
            if named or cause not in NEEDS_RANGES:
                sets["one"] += [((cause,), named)] * 3
    pick = random.Random(seed)
    names = [c for c in CAUSES if not c.endswith("-all")]
    sets["two"] = [(pick.sample(names, 2), True) for _ in range(12)]
    sets["none"] = [((), k % 3 != 2) for k in range(20)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "made-up.trace.json")
        for name, traces in sets.items():
            right = 0
            for k, (causes, named) in enumerate(traces):
                write(path, seed * 1000 + k, causes, named)
                found = first(cutriage, path)
                good = found in [CAUSES[c] for c in causes] if causes else found == "unknown"
                right += good
                if not good:
                    print(f"  {'+'.join(causes) or 'nothing'}"
                          f"{'' if named else ', no ranges'}: {found} (seed {seed * 1000 + k})")
            print(f"{name}: {right} of {len(traces)}")


if __name__ == "__main__":
    main()
