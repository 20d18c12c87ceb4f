"""From a triage, by the printed commands alone, to the verdict that everything measured gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.gpu import support

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.gpu.support import Drill


@pytest.mark.parametrize("label", support.LABELS)
def test_following_the_printed_commands_ends_at_the_verdict_of_the_full_set(
    label: str,
    drills: dict[str, Drill],
    full_answers: dict[str, dict[str, Any]],
    say: Callable[[str], None],
) -> None:
    drill, full = drills[label], full_answers[label]
    say(f"triage: {drill.triage}, {drill.triage_passes} passes")
    for step in drill.steps:
        say(f"round {step.round}: {step.command}\n  {step.seconds} s, {step.passes} passes")
        if step.absent:
            say(f"  not given: {', '.join(step.absent)}")
        say(f"  {step.verdict}")
    say(f"--set full: {full}")
    assert drill.problems == []
    assert support.same(drill.final, full)


@pytest.mark.parametrize("label", support.LABELS)
def test_no_step_on_the_way_names_another_bottleneck(
    label: str, drills: dict[str, Drill], full_answers: dict[str, dict[str, Any]]
) -> None:
    said = [drills[label].triage, *(step.verdict for step in drills[label].steps)]
    decided = [each for each in said if each["status"] != "inconclusive"]
    assert [each for each in decided if not support.same(each, full_answers[label])] == []
