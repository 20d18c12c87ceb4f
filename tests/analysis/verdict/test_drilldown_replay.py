"""The drill-downs that ``make gpu-test`` made on an H200, replayed from their captures.

``drilldown.json`` tells which command each capture followed. Its kernels were measured with the
preset ``triage`` of that day (27 metrics), then round by round with the commands that their
verdicts printed, and all with the preset ``full`` and with ``--set full``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import pytest
from tests.analysis.verdict.support import CAPTURES, INCONCLUSIVE, answers

from kernelprof.analysis.verdict import diagnose
from kernelprof.model.merge import merge_metrics
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from tests.analysis.verdict.support import Answer

    from kernelprof.model.capture import Capture

FOLDER = CAPTURES / "h200_drilldown"
RUN: dict[str, Any] = json.loads((FOLDER / "drilldown.json").read_text("utf-8"))
KERNELS: list[dict[str, Any]] = RUN["kernels"]
LABELS = [kernel["label"] for kernel in KERNELS]
ALWAYS = ("device__", "launch__", "profiler__", "sm__maximum_warps_", "smsp__maximum_warps_")
"""Metrics that come with every capture."""


@cache
def recorded(name: str) -> Capture:
    return read_capture(FOLDER / f"{name}.gz")


@cache
def after_round(number: int) -> dict[int, Answer]:
    """The answers with the follow-up captures of all rounds up to this one."""
    files = [step["file"] for each in KERNELS for step in each["steps"] if step["round"] <= number]
    return answers(reduce(merge_metrics, map(recorded, files), recorded("triage.csv")))


@cache
def in_full() -> dict[int, Answer]:
    return answers(recorded("full-set.raw.csv"))


def test_the_captures_are_of_these_kernels() -> None:
    for name in ("triage.csv", "full.csv", "full-set.raw.csv"):
        assert len(recorded(name)) == len(KERNELS)
    for kernel in KERNELS:
        launch = recorded("triage.csv").launches[LABELS.index(kernel["label"])]
        for step in kernel["steps"]:
            (followed,) = recorded(step["file"]).launches
            assert (followed.kernel, followed.grid) == (launch.kernel, launch.grid)


def test_the_preset_full_says_what_the_full_set_says() -> None:
    assert answers(recorded("full.csv")) == in_full()


LEFT_OPEN = {"leader-rounds"}
"""Its warps wait at barriers as those of a kernel with wgmma wait for their products, and the
triage of that day did not ask for the tensor pipe."""


@pytest.mark.parametrize("label", LABELS)
def test_the_follow_ups_end_at_the_verdict_of_the_full_set(label: str) -> None:
    row = LABELS.index(label)
    expected = INCONCLUSIVE if label in LEFT_OPEN else in_full()[row]
    assert after_round(RUN["most_rounds"])[row] == expected


@pytest.mark.parametrize("number", range(RUN["most_rounds"] + 1))
def test_no_round_names_another_bottleneck(number: int) -> None:
    full = in_full()
    other = {
        LABELS[row]: said
        for row, said in after_round(number).items()
        if said not in {full[row], INCONCLUSIVE}
    }
    assert other == {}


@pytest.fixture(scope="module")
def rounds_today() -> dict[str, int]:
    """How many of today's commands each kernel needs from the triage on.

    The recorded preset ``full`` has every metric: it answers questions that are new, too.
    """
    needed = {}
    for row, label in enumerate(LABELS):
        have = set(recorded("triage.csv").columns)
        for number in range(RUN["most_rounds"] + 1):
            needed[label] = number
            (kernel,) = diagnose(_only(row, have)).kernels
            if kernel.verdict.bottleneck is not None:
                break
            have |= {each.ncu_name for each in kernel.verdict.missing}
        assert answers(_only(row, have))[0] == in_full()[row]
    return needed


@pytest.mark.slow("a search for each kernel of a ladder")
def test_one_command_settles_nearly_every_kernel_and_two_settle_all(
    rounds_today: dict[str, int],
) -> None:
    assert max(rounds_today.values()) <= 2
    assert sum(number <= 1 for number in rounds_today.values()) >= len(LABELS) - 1


def _only(row: int, metrics: set[str]) -> Capture:
    """One launch of the recorded preset ``full`` with some of its metrics."""
    whole = recorded("full.csv")
    return replace(
        whole,
        launches=(whole.launches[row],),
        columns={
            name: replace(column, values=column.values[[row]])
            for name, column in whole.columns.items()
            if name in metrics or name.startswith(ALWAYS)
        },
        text={name: (cells[row],) for name, cells in whole.text.items()},
    )
