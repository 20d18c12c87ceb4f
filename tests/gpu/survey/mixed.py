"""Kernels that are limited by different units, for a few seconds."""

import sys
import time

import torch

torch.manual_seed(0)
half = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
long = torch.randn(1 << 26, device="cuda")
rows = torch.randn(8192, 4096, device="cuda")
begin = time.perf_counter()
while time.perf_counter() - begin < float(sys.argv[1] if len(sys.argv) > 1 else 3):
    for _ in range(4):
        product = half @ half
        total = long + 1.0
        shares = torch.softmax(rows, dim=1)
        waves = torch.sin(rows)
    torch.cuda.synchronize()
print(product.float().abs().mean().item(), total[0].item(), shares[0, 0].item(), waves[0, 0].item())
