"""Values that a capture could have as well: what becomes of its verdict with them.

A prediction does not know how long a kernel takes, or what its warps wait for, as well as it knows
what they ask for. It comes with cases: the same launch without what is known least, and at both
ends of an interval. A verdict that all of them share does not hang on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.verdict.ranking import Grade
from kernelprof.model.diagnosis import Confidence, Status

if TYPE_CHECKING:
    from kernelprof.analysis.verdict.ranking import Judgement

OPEN: Final = "it hangs on the time that was predicted, or on what warps wait for"


def weighed(graded: Grade, judged: Judgement, row: int) -> Grade:
    """The grade of a verdict by what the cases make of it.

    At most medium where one leaves it open, low where one has another; as it is without cases.
    """
    slug = judged.rule(row).slug
    named = {_named(each, row) for each in judged.cases}
    if named <= {slug}:
        return graded
    if others := sorted(each for each in named if each not in (None, slug)):
        reason = f"with a time about as likely it would be {' or '.join(others)}"
        return Grade(Confidence.LOW, (*graded.reasons, reason))
    high = graded.confidence is Confidence.HIGH
    return Grade(Confidence.MEDIUM if high else graded.confidence, (*graded.reasons, OPEN))


def _named(case: Judgement, row: int) -> str | None:
    return None if case.status(row) is Status.INCONCLUSIVE else case.rule(row).slug
