"""4096 cubed in float32, as PyTorch does it unless it is told that less precision will do."""

import torch

TOLERANCE = 0.005
N = 4096


def inputs():
    return torch.randn(N, N), torch.randn(N, N)


def expected(a, b):
    return a.double() @ b.double()


def before(a, b):
    return a @ b


def after(a, b):
    torch.set_float32_matmul_precision("high")
    try:
        return a @ b
    finally:
        torch.set_float32_matmul_precision("highest")
