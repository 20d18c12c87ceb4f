"""The table of kernels of other people that ``init`` specifies."""

from __future__ import annotations

from benchmarks.init import __main__ as table

SPECIFICATION = 'kernel = "k"\nblock = [256]  # the kernel works with any block\n'


def _found(**changes):
    found = {"stage": "done", "unfilled": [], "init_seconds": 1.25, "specification": SPECIFICATION}
    return {**found, **changes}


def test_ten_kernels_of_each_repository() -> None:
    drawn = table.drawn()
    count = {name: sum(each.repository == name for each in drawn) for name in
             ("karpathy/llm.c", "NVIDIA/cuda-samples", "zjin-lcf/HeCBench")}  # fmt: skip
    assert set(count.values()) == {10}
    assert len(drawn) == 30


def test_what_was_looked_at_counts_for_just_that_specification() -> None:
    kernel = table.drawn()[0]
    told = {
        kernel.name: {"sensible": True, "specification": table.digest(SPECIFICATION), "why": "so"}
    }
    assert "| 0 | yes | yes | 1.2 | so |" in table.row(kernel, _found(), told)
    other = _found(specification=SPECIFICATION.replace("256", "64"))
    assert "| 0 | yes | not looked at |" in table.row(kernel, other, told)
    blank = _found(stage="initialised", unfilled=["grid = []"])
    assert "| 1 | no |  | 1.2 | grid = [] |" in table.row(kernel, blank, told)
    text = table.document([(kernel, _found()), (kernel, other), (kernel, blank)], told, "sm_90")
    assert "Of 3 plain kernels 2 need no blank" in text
    assert "1 of these have a launch" in text


def test_why_something_was_guessed_makes_no_other_specification() -> None:
    assert table.digest(SPECIFICATION) == table.digest(SPECIFICATION.replace("any", "each"))
