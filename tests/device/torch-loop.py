# SPDX-License-Identifier: Apache-2.0
"""A small conv net answering requests; `leak` keeps each answer. Prints milliseconds a request."""
import sys
import time

import torch

torch.manual_seed(1)
layers, width = [], 3
for wide in (64, 128, 256, 256):
    layers += [torch.nn.Conv2d(width, wide, 3, padding=1), torch.nn.BatchNorm2d(wide), torch.nn.ReLU()]
    width = wide
net = torch.nn.Sequential(*layers).cuda().eval()
kept = []
with torch.inference_mode():
    x = torch.randn(4, 3, 112, 112, device="cuda")
    for _ in range(20):
        net(x)
    torch.cuda.synchronize()
    t = time.perf_counter()
    for _ in range(200):
        y = net(x)
        if "leak" in sys.argv:
            kept.append(y)
        torch.cuda.synchronize()
    print(f"{(time.perf_counter() - t) / 200 * 1e3:.4f}")
