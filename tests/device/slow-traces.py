# SPDX-License-Identifier: Apache-2.0
"""Traces of a small network with one planted cause of slow requests each: SCENARIO... into $OUT.

Each scenario writes NAME.trace.json.gz (40 requests of the PyTorch profiler) and NAME.lat.csv
(400 requests without it). Several names joined by + are planted together.
"""
import gzip
import multiprocessing
import os
import shutil
import sys
import threading
import time

import torch

OUT = os.environ.get("OUT", ".")


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one = torch.nn.Conv2d(width, width, 3, padding=1)
        self.two = torch.nn.Conv2d(width, width, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(width)
        self.sync = False

    def forward(self, x):
        y = self.norm(self.two(torch.relu(self.one(x))))
        if self.sync:
            y.sum().item()
        return torch.relu(x + y)


def make(width=128, depth=8):
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, width, 3, padding=1),
                              *[Block(width) for _ in range(depth)], torch.nn.AdaptiveAvgPool2d(1))
    return net.cuda().half().eval()


def hog(stop):
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.half)
    while not stop.is_set():
        for _ in range(20):
            a @ a
        torch.cuda.synchronize()
        time.sleep(0.06)


class Scenario:
    def __init__(self, names):
        self.names = names
        self.net = make()
        self.x = torch.randn(16, 3, 112, 112, device="cuda", dtype=torch.half)
        self.host = torch.empty(160 << 20, dtype=torch.uint8)
        self.pinned = torch.empty(256 << 20, dtype=torch.uint8).pin_memory()
        self.small = torch.randn(64, 64, device="cuda")
        self.big = torch.randn(24, 3, 112, 112, device="cuda", dtype=torch.half)

    def request(self, i):
        has, x = self.names.__contains__, self.x
        rare = i % 13 == 12
        if has("empty") and rare:
            torch.cuda.empty_cache()
        if has("pageable") and rare:
            self.host.cuda()
        if has("pageable-all"):
            self.host[:24 << 20].cuda()
        if has("pinned") and rare:
            self.pinned.cuda(non_blocking=True)
        if has("sleep") and rare:
            time.sleep(0.008)
        if has("sleep-all"):
            time.sleep(0.006)
        if has("gil") and rare:
            sum(k * k for k in range(120000))
        if has("sync"):
            for m in self.net.modules():
                if isinstance(m, Block):
                    m.sync = rare
        if has("sync-all"):
            for m in self.net.modules():
                if isinstance(m, Block):
                    m.sync = True
        if has("batch") and rare:
            x = self.big
        if has("shape") and rare:
            side = 96 + 4 * (i // 13)
            x = torch.randn(16, 3, side, side, device="cuda", dtype=torch.half)
        if has("float") and rare:
            self.net.float()
            y = self.net(x.float())
            self.net.half()
        else:
            y = self.net(x)
        if has("small"):
            z = self.small
            for _ in range(700):
                z = z + 1
        if has("malloc-all"):
            torch.cuda.empty_cache()
        return y.float().cpu()

    def run(self, n, trace):
        rows = []
        for i in range(n):
            if "idle" in self.names and i % 10 == 9:
                time.sleep(1.0)
            t, begin = time.time(), time.perf_counter()
            with torch.profiler.record_function("request"):
                self.request(i)
            rows.append((t, i, (time.perf_counter() - begin) * 1e3))
        return rows


def main():
    torch.set_grad_enabled(False)
    for name in sys.argv[1:]:
        names = name.split("+")
        torch.backends.cudnn.benchmark = "shape" in names
        stop, other = multiprocessing.get_context("spawn").Event(), None
        s = Scenario(names)
        if "cold" not in names:
            for i in range(5):
                s.net(s.x)
            s.net(s.big)
            torch.cuda.synchronize()
        if "contention" in names:
            other = multiprocessing.get_context("spawn").Process(target=hog, args=(stop,))
            other.start()
            time.sleep(12)
        side = None
        if "stream" in names:
            done = threading.Event()
            a = torch.randn(4096, 4096, device="cuda", dtype=torch.half)

            def work():
                with torch.cuda.stream(torch.cuda.Stream()):
                    while not done.is_set():
                        for _ in range(12):
                            a @ a
                        torch.cuda.current_stream().synchronize()
                        time.sleep(0.05)
            side = threading.Thread(target=work)
            side.start()
        acts = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=acts) as p:
            s.run(40, True)
            torch.cuda.synchronize()
        path = f"{OUT}/{name}.trace.json"
        p.export_chrome_trace(path)
        with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
            shutil.copyfileobj(plain, packed)
        os.unlink(path)
        rows = s.run(40 if "idle" in names else 400, False)
        with open(f"{OUT}/{name}.lat.csv", "w") as f:
            f.write("t_unix_s,request,latency_ms\n")
            for t, i, ms in rows:
                f.write(f"{t:.6f},{i},{ms:.4f}\n")
        if side:
            done.set()
            side.join()
        if other:
            stop.set()
            other.join()
        print(name, "median", sorted(r[2] for r in rows)[len(rows) // 2], flush=True)


if __name__ == "__main__":
    main()
