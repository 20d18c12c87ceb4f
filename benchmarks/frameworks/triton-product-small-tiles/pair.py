"""4096 cubed in bfloat16, with tiles that are loaded from L2 more often than it can."""

from benchmarks.frameworks.product import exactly, operands, product

TOLERANCE = 0.01
N = 4096
expected = exactly


def inputs():
    return operands(N, N, N)


def before(a, b):
    return product(a, b, tile=(64, 64, 64), warps=4, stages=3)


def after(a, b):
    return product(a, b, tile=(128, 128, 64), warps=4, stages=3)
