"""The causes of programs with several, none of which was in view when constants were chosen."""

import pytest
from benchmarks.causes import load_programs, score_programs


@pytest.mark.slow("diagnoses 29 captures")
def test_unseen_programs_are_answered_as_recorded() -> None:
    unseen = [each for each in load_programs() if not each.chosen_on]
    assert score_programs(unseen) == {
        "first cause": (18, 28),
        "second cause": (7, 14),
        "second cause that gains 1.3x or more": (7, 13),
        "order": (4, 5),
        "no second cause is named": (2, 3),
        "fix that alone costs time": (0, 2),
        "gain alone within 1.5x": (18, 30),
        "gain alone within its interval": (20, 30),
        "combined gain within 2x": (5, 6),
    }
