# SPDX-License-Identifier: Apache-2.0
"""A small conv net answering requests, with one planted fault. Prints milliseconds a request.

serve     nothing is wrong        leak     each answer is kept
shapes    sizes that never repeat  empty    the cache is emptied in the loop
pageable  inputs from plain memory assert   an index beyond its table
fragment  much is reserved and free, nothing in one piece
"""
import sys
import time

import torch

mode = sys.argv[1] if len(sys.argv) > 1 else "serve"
torch.manual_seed(1)
layers, width = [], 3
for wide in (64, 128, 256, 256):
    layers += [torch.nn.Conv2d(width, wide, 3, padding=1), torch.nn.BatchNorm2d(wide), torch.nn.ReLU()]
    width = wide
net = torch.nn.Sequential(*layers).cuda().eval()
kept = []
if mode == "fragment":
    torch.cuda.set_per_process_memory_fraction(7e9 / torch.cuda.get_device_properties(0).total_memory)
    blocks = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(6)]
    del blocks
    kept = [torch.empty(600 << 20, dtype=torch.uint8, device="cuda") for _ in range(6)]
    torch.empty(1200 << 20, dtype=torch.uint8, device="cuda")
with torch.inference_mode():
    x = torch.randn(4, 3, 112, 112, device="cuda")
    page = torch.randn(4, 3, 224, 224)
    for _ in range(20):
        net(x)
    torch.cuda.synchronize()
    t = time.perf_counter()
    for i in range(200):
        if mode == "shapes":
            x = torch.randn(4, 3, 112 + 4 * i, 112, device="cuda")
        y = net(x)
        if mode == "leak":
            kept.append(y)
        elif mode == "shapes":
            kept.append(y[:, :1].clone())
        elif mode == "empty":
            del y
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        elif mode == "pageable":
            for _ in range(4):
                page.cuda()
        elif mode == "assert" and i == 100:
            table = torch.zeros(10, device="cuda")
            table[torch.tensor([3, 77], device="cuda")].sum()
        torch.cuda.synchronize()
    print(f"{(time.perf_counter() - t) / 200 * 1e3:.4f}")
