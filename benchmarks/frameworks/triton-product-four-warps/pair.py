"""4096 cubed in bfloat16, with tiles of 128 by 256 that four warps cannot hold in registers."""

from benchmarks.frameworks.product import exactly, operands, product

TOLERANCE = 0.01
N = 4096
TILE = (128, 256, 64)
expected = exactly


def inputs():
    return operands(N, N, N)


def before(a, b):
    return product(a, b, tile=TILE, warps=4, stages=3)


def after(a, b):
    return product(a, b, tile=TILE, warps=8, stages=3)
