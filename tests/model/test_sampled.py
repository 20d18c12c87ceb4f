"""Instructions with their samples: added up, written and read again."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernelprof.model.sampled import (
    Counts,
    SampledCode,
    SampledInstruction,
    from_bytes,
    sum_launches,
    to_bytes,
)
from kernelprof.model.waiting import SourceLocation

LINES = Path(__file__).parents[1] / "captures" / "h200_lines"
CODE = SampledCode(
    "k(int)",
    (
        SampledInstruction(
            0, "LDC R1, c[0x0][0x28]", (SourceLocation("k.cu", 3),), Counts(5, {"wait": 4})
        ),
        SampledInstruction(16, "EXIT", (), Counts(2, {"selected": 2}, executed=8, sectors=0)),
        SampledInstruction(
            32, "NOP", (SourceLocation("k.cu", 3), SourceLocation("h.cuh", 9)), Counts()
        ),
    ),
    {SourceLocation("k.cu", 3): 'extern "C" é', SourceLocation("h.cuh", 9): "}"},
)


def _counted() -> SampledCode:
    counts = Counts(1, {}, executed=3, threads=96)
    return replace(CODE, instructions=tuple(replace(i, counts=counts) for i in CODE.instructions))


def test_what_is_written_is_read_again() -> None:
    assert from_bytes(to_bytes([_counted()])) == (_counted(),)
    # A counter that not every instruction has is none of the kernel's.
    (found,) = from_bytes(to_bytes([CODE]))
    assert [each.counts.executed for each in found.instructions] == [None, None, None]
    assert [each.counts.stalls for each in found.instructions] == [{"wait": 4}, {"selected": 2}, {}]
    assert (found.source, found.file) == (CODE.source, "k.cu")


def test_real_kernels_are_read_as_they_were_written() -> None:
    for path in sorted(LINES.glob("*.json.gz"))[::9]:
        data = gzip.decompress(path.read_bytes())
        assert to_bytes(from_bytes(data)) == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"places": [], "functions": [{"name": "k", "instructions": [[0, "NOP", [7], 0, {}]], '
        b'"counters": {}}]}',
        b'{"places": [], "functions": [{"name": "k", "instructions": [[-1, "NOP", [], 0, {}]], '
        b'"counters": {}}]}',
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_bytes(data)


def test_an_unknown_counter_is_left_out() -> None:
    values = json.loads(to_bytes([_counted()]))
    values["functions"][0]["counters"]["later"] = [[0, 1]]
    assert from_bytes(json.dumps(values).encode()) == (_counted(),)


def test_launches_of_the_same_code_are_added_up() -> None:
    other = replace(CODE, function="m")
    assert sum_launches([CODE, other]) == (CODE, other)
    (twice,) = sum_launches([_counted(), _counted()])
    assert twice.instructions[0].counts == Counts(2, {}, executed=6, threads=192)
    (mixed,) = sum_launches([CODE, _counted()])
    assert mixed.instructions[1].counts == Counts(3, {"selected": 2}, executed=11)
    assert mixed.samples == 10


def test_waiting_is_what_is_neither_issued_nor_could_be() -> None:
    counts = Counts(9, {"wait": 4, "selected": 2, "not_selected": 3})
    assert counts.waiting == 4


def test_the_text_of_a_line() -> None:
    assert CODE.text_of(SourceLocation("k.cu", 3)) == 'extern "C" é'
    whole = replace(CODE, whole="a\n b\n  c;\n")
    assert whole.text_of(SourceLocation("k.cu", 3)) == "c;"
    assert whole.text_of(SourceLocation("k.cu", 30)) == ""
    assert whole.text_of(SourceLocation("h.cuh", 9)) == "}"


def test_files_get_other_names() -> None:
    named = CODE.with_files(str.upper)
    assert named.file == "K.CU"
    assert named.text_of(SourceLocation("H.CUH", 9)) == "}"
