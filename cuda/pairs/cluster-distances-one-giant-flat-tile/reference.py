"""Inputs and reference of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

Ints = npt.NDArray[np.int32]
PIECE = 1024


def lengths(clusters: int, giant: int) -> npt.NDArray[np.int64]:
    """Rows of each cluster: the first has many, the others 512 to 1024, 768 on average."""
    spread = np.arange((clusters - 1) // 2) * 37 % 257
    return np.concatenate([[giant], 768 - spread, 768 + spread])


def ranges(clusters: int, giant: int, piece: int) -> tuple[Ints, Ints, Ints]:
    """First and last row and cluster of each block, clusters larger than a piece split."""
    length = lengths(clusters, giant)
    start = np.cumsum(length) - length
    pieces = -(-length // piece)
    cluster = np.repeat(np.arange(clusters), pieces)
    number = np.arange(cluster.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    first = start[cluster] + number * piece
    last = np.minimum(first + piece, start[cluster] + length[cluster])
    return first.astype(np.int32), last.astype(np.int32), cluster.astype(np.int32)


def whole_first(clusters: int, giant: int) -> Ints:
    """Where each cluster begins."""
    return ranges(clusters, giant, 2**30)[0]


def whole_last(clusters: int, giant: int) -> Ints:
    """Where each cluster ends."""
    return ranges(clusters, giant, 2**30)[1]


def whole_cluster(clusters: int, giant: int) -> Ints:
    """The number of each cluster."""
    return ranges(clusters, giant, 2**30)[2]


def split_first(clusters: int, giant: int) -> Ints:
    """Where each piece begins."""
    return ranges(clusters, giant, PIECE)[0]


def split_last(clusters: int, giant: int) -> Ints:
    """Where each piece ends."""
    return ranges(clusters, giant, PIECE)[1]


def split_cluster(clusters: int, giant: int) -> Ints:
    """The cluster of each piece."""
    return ranges(clusters, giant, PIECE)[2]


def distances(x: Floats, centres: Floats, clusters: int, giant: int) -> Floats:
    """The distance of each row to the centre of its cluster."""
    cluster = np.repeat(np.arange(clusters), lengths(clusters, giant))
    distance: Floats = np.sqrt(((x - centres[cluster]) ** 2).sum(axis=1))
    return distance
