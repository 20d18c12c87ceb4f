"""A matrix product in Triton, as its tutorial has it: tiles in an order for L2, one loop over K."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

GROUP = 8
"""Rows of tiles that are worked on together, so that they share columns of B in L2."""


@triton.jit
def multiply(
    a,
    b,
    c,
    m,
    n,
    k,
    tile_m: tl.constexpr,
    tile_n: tl.constexpr,
    tile_k: tl.constexpr,
    group: tl.constexpr,
    splits: tl.constexpr,
):
    """``c = a @ b`` of row-major matrices; each of ``splits`` programs a tile adds a part of K."""
    program = tl.program_id(0)
    rows = tl.cdiv(m, tile_m)
    columns = tl.cdiv(n, tile_n)
    first = program // (group * columns) * group
    height = min(rows - first, group)
    row = first + program % height
    column = program % (group * columns) // height
    i = row * tile_m + tl.arange(0, tile_m)
    j = column * tile_n + tl.arange(0, tile_n)
    part = k // splits
    p = tl.program_id(1) * part + tl.arange(0, tile_k)
    left = a + i[:, None] * k + p[None, :]
    right = b + p[:, None] * n + j[None, :]
    total = tl.zeros((tile_m, tile_n), dtype=tl.float32)
    for _ in range(0, part, tile_k):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += tile_k
        right += tile_k * n
    place = c + i[:, None] * n + j[None, :]
    if splits == 1:
        tl.store(place, total.to(c.dtype.element_ty))
    else:
        tl.atomic_add(place, total, sem="relaxed")


def product(a, b, *, tile, warps, stages, splits=1, dtype=torch.bfloat16):
    """``a @ b``; sizes are multiples of the tile, and a split product is float32."""
    (m, k), (_, n) = a.shape, b.shape
    tile_m, tile_n, tile_k = tile
    assert m % tile_m == n % tile_n == k % (splits * tile_k) == 0
    make = torch.empty if splits == 1 else torch.zeros
    c = make((m, n), dtype=dtype, device=a.device)
    grid = (m // tile_m * (n // tile_n), splits)
    multiply[grid](
        a, b, c, m, n, k, tile_m, tile_n, tile_k, GROUP, splits, num_warps=warps, num_stages=stages
    )
    return c


def operands(m, n, k):
    """Two matrices of standard normal values in bfloat16."""
    return torch.randn(m, k, dtype=torch.bfloat16), torch.randn(k, n, dtype=torch.bfloat16)


def exactly(a, b):
    """The product in float64."""
    return a.double() @ b.double()
