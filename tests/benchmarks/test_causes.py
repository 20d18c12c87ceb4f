"""The causes of programs with several: those whose answers no constant was chosen on."""

import pytest
from benchmarks.causes import load_programs, score_programs

CHECKED = {
    "first cause": (21, 28),
    "second cause": (9, 14),
    "second cause that gains 1.3x or more": (9, 13),
    "order": (6, 8),
    "no second cause is named": (2, 3),
    "fix that alone costs time": (0, 2),
    "gain alone within 1.5x": (26, 39),
    "gain alone within its interval": (26, 39),
    "combined gain within 2x": (8, 10),
}
# The first answers: first cause 14 of 23, second 7 of 16, order 3 of 5, costs time 0 of 4, gain
# alone 19 of 25, in its interval 20, combined gain 5 of 5.
BLIND = {
    "first cause": (14, 23),
    "second cause": (9, 16),
    "second cause that gains 1.3x or more": (8, 13),
    "order": (5, 7),
    "no second cause is named": (4, 4),
    "at its limit": (1, 1),
    "fix that alone costs time": (1, 4),
    "gain alone within 1.5x": (22, 28),
    "gain alone within its interval": (24, 28),
    "combined gain within 2x": (7, 7),
}


@pytest.mark.parametrize(
    ("group", "score"), [("checked", CHECKED), ("blind", BLIND)], ids=["checked", "blind"]
)
@pytest.mark.slow("diagnoses 53 captures")
def test_programs_are_answered_as_recorded(group: str, score: dict[str, tuple[int, int]]) -> None:
    assert score_programs([each for each in load_programs() if each.group == group]) == score
