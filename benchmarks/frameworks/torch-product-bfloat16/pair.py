"""8192 cubed in bfloat16 by cuBLAS."""

import torch

TOLERANCE = 0.01
N = 8192


def inputs():
    return torch.randn(N, N, dtype=torch.bfloat16), torch.randn(N, N, dtype=torch.bfloat16)


def expected(a, b):
    return a.double() @ b.double()


def before(a, b):
    return a @ b
