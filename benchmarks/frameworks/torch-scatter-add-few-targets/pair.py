"""Four million values are added to eight targets, one by one and by parts."""

import torch
import triton
import triton.language as tl

TOLERANCE = 1e-3
N, TARGETS = 1 << 22, 8
BLOCK = 1024


@triton.jit
def add_parts(values, index, sums, block: tl.constexpr, targets: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    target = tl.arange(0, targets)
    own = tl.load(index + at)[:, None] == target[None, :]
    part = tl.sum(tl.where(own, tl.load(values + at)[:, None], 0.0), axis=0)
    tl.atomic_add(sums + target, part, sem="relaxed")


def inputs():
    return torch.rand(N), torch.randint(0, TARGETS, (N,))


def expected(values, index):
    own = [values.double()[index == target].sum() for target in range(TARGETS)]
    return torch.stack(own)


def before(values, index):
    return values.new_zeros(TARGETS).scatter_add_(0, index, values)


def after(values, index):
    sums = values.new_zeros(TARGETS)
    add_parts[(len(values) // BLOCK,)](values, index, sums, BLOCK, TARGETS)
    return sums
