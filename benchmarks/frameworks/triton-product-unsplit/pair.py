"""512 by 1024 with K = 16384 in bfloat16: 32 tiles, on a GPU with 132 SMs."""

import torch
from benchmarks.frameworks.product import exactly, operands, product

TOLERANCE = 0.01
M, N, K = 512, 1024, 16384
TILE = (128, 128, 64)
expected = exactly


def inputs():
    return operands(M, N, K)


def before(a, b):
    return product(a, b, tile=TILE, warps=8, stages=4, dtype=torch.float32)


def after(a, b):
    return product(a, b, tile=TILE, warps=8, stages=4, dtype=torch.float32, splits=4)
