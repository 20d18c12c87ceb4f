"""The causes of programs with several: those whose answers no constant was chosen on."""

import pytest
from benchmarks.causes import load_programs, score_programs


@pytest.mark.slow("diagnoses 29 captures")
def test_programs_are_answered_as_recorded() -> None:
    unseen = [each for each in load_programs() if not each.chosen_on]
    assert score_programs(unseen) == {
        "first cause": (21, 28),
        "second cause": (9, 14),
        "second cause that gains 1.3x or more": (9, 13),
        "order": (6, 9),
        "no second cause is named": (2, 3),
        "fix that alone costs time": (0, 2),
        "gain alone within 1.5x": (24, 37),
        "gain alone within its interval": (25, 37),
        "combined gain within 2x": (8, 11),
    }
