"""A short run of mutants, the same each time; ``make attack`` and ``make fuzz`` are long ones."""

from __future__ import annotations

import os
import random
import re

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks, and limits what a process takes")


@pytest.mark.parametrize("number", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.slow("processes of their own")
def test_no_example_ends_with_a_traceback_or_without_end(number: int) -> None:
    from tests.fuzz.try_examples import Tried, try_some

    tried = Tried()
    try_some(tried, number, 20)
    assert tried.kinds.total() == 20
    assert not tried.wrong, "\n\n".join(tried.wrong)


@pytest.mark.parametrize(
    ("kind", "count"),
    [("report bytes", 40), ("cells", 500), ("gate", 10), ("MCP messages", 20)],
)
@pytest.mark.slow("processes of their own")
def test_no_mutant_breaks_anything(kind: str, count: int) -> None:
    from tests.fuzz.kinds import KINDS, Part

    if kind == "report bytes":
        pytest.importorskip("ncu_report")
    part = Part()
    KINDS[kind][2](random.Random(kind), count, part)
    assert part.tried >= count
    assert not part.broken, "\n".join(part.broken)


def test_an_attempt_counts_messages_as_held_and_other_exceptions_as_broken() -> None:
    from tests.fuzz.kinds import Part

    from kernelprof.errors import InputError

    part = Part()
    for error in (InputError("no capture"), KeyError("x")):
        with part.attempt("a mutant"):
            raise error
    assert part.tried == 2
    assert part.broken == ["a mutant: KeyError: 'x'"]


def test_the_report_has_every_kind_and_its_sums() -> None:
    from tests.fuzz.attack import REPORT
    from tests.fuzz.kinds import KINDS

    text = REPORT.read_text("utf-8")
    cells = [re.split(r" *\| *", line)[1:-1] for line in text.splitlines() if line[:2] == "| "]
    numbers = {name: [int(each.replace(",", "")) for each in row[1:4]] for name, *row in cells[2:]}
    assert [*numbers] == [*KINDS]
    for kind, (tried, held, broken) in numbers.items():
        assert tried >= KINDS[kind][0]
        assert held + broken == tried
    tried, broken = (sum(row[at] for row in numbers.values()) for at in (0, 2))
    assert f"{tried:,} mutants, {broken} broken" in text
    assert tried >= 20_000
