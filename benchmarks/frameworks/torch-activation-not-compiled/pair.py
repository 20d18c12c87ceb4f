"""SiLU, a factor and a residual: four kernels over arrays that no cache holds, and one."""

import torch

TOLERANCE = 1e-5
N = 1 << 26


def activation(x, residual):
    return 1.5 * (x * torch.sigmoid(x)) + residual


compiled = torch.compile(activation)


def before(x, residual):
    return activation(x, residual)


def after(x, residual):
    return compiled(x, residual)


def inputs():
    return torch.randn(N), torch.randn(N)


def expected(x, residual):
    return activation(x.double(), residual.double())
