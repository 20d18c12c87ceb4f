"""Values that a capture could have as well: what becomes of its verdict with them.

A prediction does not know how long a kernel takes, or what its warps wait for, as well as it knows
what they ask for. It comes with cases: the same launch without what is known least, and at both
ends of an interval. A verdict that all of them share does not depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.verdict.ranking import Grade
from kernelprof.model.diagnosis import Confidence, Status

if TYPE_CHECKING:
    from kernelprof.analysis.verdict.ranking import Judgement

OPEN: Final = "it depends on the time that was predicted, or on what warps wait for"


def weighed(graded: Grade, judged: Judgement, row: int) -> Grade:
    """The grade of a verdict by what the cases make of it.

    A step lower where one leaves it open, low where one has another; as it is without cases. Of 114
    verdicts on predictions of the corpus that only a case took the first step off 101 are those on
    the measured kernel, of 36 that had lost one before 17.
    """
    slug = judged.rule(row).slug
    named = {_named(each, row) for each in judged.cases}
    if named <= {slug}:
        return graded
    if others := sorted(each for each in named if each not in (None, slug)):
        reason = f"with a time about as likely it would be {' or '.join(others)}"
        return Grade(Confidence.LOW, (*graded.reasons, reason))
    high = graded.confidence is Confidence.HIGH
    return Grade(Confidence.MEDIUM if high else Confidence.LOW, (*graded.reasons, OPEN))


def _named(case: Judgement, row: int) -> str | None:
    return None if case.status(row) is Status.INCONCLUSIVE else case.rule(row).slug
