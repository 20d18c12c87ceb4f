"""A part of an array that is filled alone is that part of the whole array."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from kernelprof.launch.check.arrays import fill, part_filler
from kernelprof.launch.source import SpecBlock
from kernelprof.launch.specification.reader import read_spec
from sassim.interpreter.memory import GlobalMemory

if TYPE_CHECKING:
    from kernelprof.launch.specification.spec import ResolvedArray

SPEC = """\
kernel = "k"
block = [32]
grid = [1]
reference = "none"
[[arguments]]
name = "a"
type = "{}"
shape = [300001]
{}
[[arguments]]
name = "out"
type = "float32"
shape = [1]
output = true
"""
CASES = [
    *(
        (each, 'fill = "random"\nseed = 5')
        for each in ("float32", "float64", "float16", "bfloat16", "int32", "uint8", "int64", "bool")
    ),
    ("int32", 'fill = "random"\nlimit = 1024'),
    ("float32", "output = true"),
    ("int32", "output = true"),
]


def resolved(type_name: str, more: str) -> ResolvedArray:
    text = SPEC.format(type_name, more)
    return read_spec(SpecBlock(text, Path("k.toml"))).resolve().arrays["a"]


@pytest.mark.parametrize(("type_name", "more"), CASES)
def test_a_part_is_that_of_the_whole(type_name: str, more: str) -> None:
    array = resolved(type_name, more)
    whole, part = fill(array, Path(), {}), part_filler(array)
    assert part is not None
    for start, stop in ((0, 2), (2, 3), (131072, 262144), (262144, 300001)):
        assert part(start, stop).tobytes() == whole[start:stop].tobytes()


@pytest.mark.parametrize(
    ("type_name", "more"),
    [
        ("float32", 'fill = "normal"'),
        ("int32", 'fill = "random"\nlimit = 1000'),
        ("int32", 'fill = "permutation"'),
    ],
)
def test_what_follows_from_other_elements_has_no_parts(type_name: str, more: str) -> None:
    assert part_filler(resolved(type_name, more)) is None


def test_memory_fills_the_pages_that_are_accessed() -> None:
    pages = []
    values = np.arange(300_000, dtype=np.uint32)

    def part(start: int, end: int) -> np.ndarray[Any, Any]:
        pages.append((start, end))
        return values[start // 4 : end // 4]

    memory = GlobalMemory()
    buffer = memory.allocate("a", values.nbytes, lambda: values, part)
    page = 1 << 18
    at = buffer.base + np.array([[4 * 70_000, 4 * 70_001]])
    assert memory.load(at, None, 4).tolist() == [[70_000, 70_001]]
    assert pages == [(page, 2 * page)]
    lanes = np.array([[True, False]])
    memory.store(buffer.base + np.array([[0, 4 * 140_000]]), lanes, np.array([[7, 8]]), 4)
    assert pages == [(page, 2 * page), (0, page)]
    expected = values.copy()
    expected[0] = 7
    assert buffer.data[: values.nbytes].view(np.uint32).tolist() == expected.tolist()
    assert len(pages) == 5
    memory.begin_anew()
    assert buffer.data[: values.nbytes].view(np.uint32).tolist() == values.tolist()
