"""Inputs and reference of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

Ints = npt.NDArray[np.int32]
GIANTS = 8
PIECE = 4096


def lengths(customers: int, giant: int) -> npt.NDArray[np.int64]:
    """Values of each customer: eight have many, the others 1024 to 4096, 2560 on average."""
    spread = np.arange((customers - GIANTS) // 2) * 641 % 1537
    return np.concatenate([np.full(GIANTS, giant), 2560 - spread, 2560 + spread])


def ranges(customers: int, giant: int, piece: int) -> tuple[Ints, Ints, Ints]:
    """First and last value and customer of each block, lists longer than a piece split."""
    length = lengths(customers, giant)
    start = np.cumsum(length) - length
    pieces = -(-length // piece)
    customer = np.repeat(np.arange(customers), pieces)
    number = np.arange(customer.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    first = start[customer] + number * piece
    last = np.minimum(first + piece, start[customer] + length[customer])
    return first.astype(np.int32), last.astype(np.int32), customer.astype(np.int32)


def whole_first(customers: int, giant: int) -> Ints:
    """Where each list begins."""
    return ranges(customers, giant, 2**30)[0]


def whole_last(customers: int, giant: int) -> Ints:
    """Where each list ends."""
    return ranges(customers, giant, 2**30)[1]


def whole_customer(customers: int, giant: int) -> Ints:
    """The customer of each list."""
    return ranges(customers, giant, 2**30)[2]


def split_first(customers: int, giant: int) -> Ints:
    """Where each piece begins."""
    return ranges(customers, giant, PIECE)[0]


def split_last(customers: int, giant: int) -> Ints:
    """Where each piece ends."""
    return ranges(customers, giant, PIECE)[1]


def split_customer(customers: int, giant: int) -> Ints:
    """The customer of each piece."""
    return ranges(customers, giant, PIECE)[2]


def total(values: Floats, customers: int, giant: int) -> Floats:
    """The sum of each customer's values."""
    length = lengths(customers, giant)
    return np.add.reduceat(values, np.cumsum(length) - length)
