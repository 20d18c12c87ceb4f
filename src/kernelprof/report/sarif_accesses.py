"""Each access to memory of a predicted kernel as a SARIF result, at its line.

An access of which a notable part is needless is a ``warning`` where that shows in the whole kernel,
and a ``note`` where it does not. Others are of the kind ``informational``, for whoever looks at the
line in an editor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import number, share
from kernelprof.report import sarif_log
from kernelprof.report.documents import prediction
from kernelprof.report.figures.accesses import LOCAL, Waste, accesses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.prediction import Predicted, PredictionFacts
    from kernelprof.report.figures.accesses import Moved
    from kernelprof.report.sarif_log import Json

RULE: Final = "memory-access"
"""The rule of an access with nothing notable that is needless."""

_LEVELS: Final = {
    Waste.OF_THE_KERNEL: ("fail", "warning"),
    Waste.OF_THE_LINE: ("fail", "note"),
    Waste.NONE: ("informational", "none"),
}
_MEANING: Final = (
    "What an access to memory takes, by the addresses that the machine code computes: sectors of "
    "32 bytes, or wavefronts of shared memory, for each request of a warp."
)

Seen = tuple["PredictionFacts", "Moved"]


def known(diagnoses: Sequence[Diagnosis]) -> list[Seen]:
    """The accesses of all predicted kernels that have a line, those that waste most first."""
    found = [(prediction.of(each), each) for each in diagnoses]
    return [
        (facts[0], moved)
        for facts, _ in found
        if facts is not None
        for moved in accesses(facts[0])
        if moved.access.line
    ]


def rule_of(moved: Moved) -> str:
    """The bottleneck that an access speaks for, if for one."""
    return RULE if moved.waste is Waste.NONE else moved.bottleneck


def rule() -> Json:
    """The rule of what speaks for no bottleneck."""
    text = {"text": _MEANING, "markdown": _MEANING}
    return sarif_log.rule(RULE, "Access to memory", _MEANING, text, "none")


def results(seen: Sequence[Seen], rules: Mapping[str, int]) -> Iterator[Json]:
    """A result for each access; ``rules`` are names with their places."""
    times: dict[tuple[str, ...], int] = {}
    for facts, moved in seen:
        access, name = moved.access, rule_of(moved)
        identity = (name, *_identity(facts.counted, moved))
        number_of = times[identity] = times.get(identity, 0) + 1
        kind, level = _LEVELS[moved.waste]
        yield {
            "ruleId": name,
            "ruleIndex": rules[name],
            "kind": kind,
            "level": level,
            "message": {"text": sarif_log.plain(_message(facts.counted, moved))},
            "locations": [sarif_log.location(access.file, access.line)],
            "partialFingerprints": sarif_log.fingerprints(
                *identity, *[str(number_of)] * (number_of > 1)
            ),
        }


def _identity(counted: Predicted, moved: Moved) -> tuple[str, ...]:
    """What stays when lines are added above: what the line says, and not its number."""
    access = moved.access
    own = access.file == counted.file and access.line <= len(counted.text)
    text = counted.text[access.line - 1] if own else str(access.line)
    width = f"{access.bytes_a_thread}"
    return counted.arch, access.file, text, access.space, access.kind, width


def _message(counted: Predicted, moved: Moved) -> str:
    """``32 sectors a request, where adjacent addresses need 4 (88 % needless)``."""
    access = moved.access
    what = f"{access.space} {access.kind}, {access.bytes_a_thread} bytes a thread"
    said = f"{what}: {moved.text} a request"
    if access.space == LOCAL:
        said += ", none of which registers would need"
    elif moved.ideal is not None:
        said += f", {number(moved.ideal)} with adjacent addresses"
    if access.needless:
        said += f" ({share(access.needless)} needless)"
    return f"{said}. Predicted for {counted.arch}, {number(access.requests.value)} requests."
