"""4096 cubed in bfloat16, with tiles loaded just before they are multiplied, and ahead of that."""

from benchmarks.frameworks.product import exactly, operands, product

TOLERANCE = 0.01
N = 4096
TILE = (128, 128, 64)
expected = exactly


def inputs():
    return operands(N, N, N)


def before(a, b):
    return product(a, b, tile=TILE, warps=8, stages=1)


def after(a, b):
    return product(a, b, tile=TILE, warps=8, stages=4)
