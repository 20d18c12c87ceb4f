"""Verdicts, and the gate's answer, as SARIF 2.1.0.

Of the gate one result a kernel, code and line to blame, whatever the number of findings: GitHub
makes an alert of each result, and its fingerprint must not hold a value that differs from run to
run. The line is known of predictions; of measurements it is the one where the kernel is defined.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kernelprof.comparison.gate.codes import RULES
from kernelprof.comparison.words import labels
from kernelprof.model.gate import PROPOSED, Outcome
from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import short_name
from kernelprof.report import sarif
from kernelprof.report.sarif import FINGERPRINT
from kernelprof.report.writers import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.model.gate import Code, GateFinding, GateResult, KernelResult
    from kernelprof.model.waiting import SourceLocation
    from kernelprof.report.sarif import Json

__all__ = ["FINGERPRINT", "WRITER", "write"]

_LEVELS: Final = {Outcome.REGRESSION: "error", Outcome.INCONCLUSIVE: "warning"}


def write(
    result: GateResult, lines: Mapping[str, int] | None = None, *, docs: str | None = None
) -> str:
    """The gate's answer: one run with a rule a code.

    ``lines`` says by a kernel's name where it is defined; without it the sources that are known
    say so. ``docs`` is the address of the page on
    the gate; without it that of the installed package's metadata, where it has one.
    """
    home = docs or sarif.documentation()
    return sarif.written(
        "kernelprof gate",
        [_rule(code, home) for code in RULES],
        _results(result, _lines(result) if lines is None else lines),
        exit_code=int(result.exit_code),
        home=home,
    )


def _any(value: Any, kind: str) -> str:
    if kind == "gate":
        return write(value)
    from kernelprof.report import sarif

    return sarif.write(value)


WRITER: Final = Writer("sarif", ".sarif", _any, kinds=("diagnosis", "gate"))


def _lines(result: GateResult) -> dict[str, int]:
    lines: dict[str, int] = {}
    texts = result.comparison.after.sources
    for each in result.comparison.kernels:
        inputs = each.after.inputs if each.after is not None else None
        text = texts.get(inputs.source_sha256) if inputs is not None else None
        line = None if text is None else sarif.kernel_lines(text).get(function_name(each.name))
        if line is not None:
            lines[each.name] = line
    return lines


def _rule(code: Code, home: str | None) -> Json:
    rule = RULES[code]
    texts = {
        "text": f"{rule.meaning} {rule.advice}",
        "markdown": f"{rule.meaning}\n\n{rule.advice}",
    }
    level = _LEVELS.get(rule.outcome, "note")
    entry = sarif.rule(code.value, rule.title, rule.meaning, texts, level)
    return {**entry, "helpUri": f"{home}#findings"} if home else entry


def _grouped(findings: Iterable[GateFinding]) -> list[tuple[Code, int, list[GateFinding]]]:
    """The findings that have a rule, those of one code and at one place together.

    With each the number of its place, from 1, among those of the code.
    """
    grouped: dict[tuple[Code, SourceLocation | None], list[GateFinding]] = {}
    for each in findings:
        if each.code in RULES:
            key = each.code, next(iter(each.places), None)
            grouped.setdefault(key, []).append(each)
    seen: Counter[Code] = Counter()
    numbered = []
    for (code, _), together in grouped.items():
        seen[code] += 1
        numbered.append((code, seen[code], together))
    return numbered


def _results(result: GateResult, lines: Mapping[str, int]) -> list[Json]:
    kernel_labels = labels([each.kernel for each in result.kernels])
    groups: list[tuple[KernelResult | None, str, Iterable[GateFinding]]] = [
        (kernel, detail, kernel.findings)
        for kernel, (_, detail) in zip(result.kernels, kernel_labels, strict=True)
    ]
    return [
        _one(code, number, together, kernel, detail, result=result, lines=lines)
        for kernel, detail, findings in [*groups, (None, "", result.general)]
        for code, number, together in _grouped(findings)
    ]


def _one(
    code: Code,
    number: int,
    findings: list[GateFinding],
    kernel: KernelResult | None,
    detail: str,
    *,
    result: GateResult,
    lines: Mapping[str, int],
) -> Json:
    name = "" if kernel is None else kernel.kernel.name
    text = "; ".join(each.text for each in findings)
    if kernel is not None:
        text = f"{' '.join(filter(None, (short_name(name), detail)))}: {text}"
    worst = max((each.outcome for each in findings), key=list(Outcome).index)
    level = _LEVELS.get(worst, "note")
    if worst is Outcome.INCONCLUSIVE and result.inconclusive_passes and code not in PROPOSED:
        level = "note"
    elif worst is Outcome.INCONCLUSIVE and result.fails_inconclusive:
        level = "error"
    places = list(dict.fromkeys(place for each in findings for place in each.places))
    where = _location(kernel, name, result, lines)
    if places:
        where = sarif.location(places[0].file, places[0].line, name)
    entry: Json = {
        "ruleId": code.value,
        "ruleIndex": list(RULES).index(code),
        "level": level,
        "message": {"text": sarif.plain(text)},
        "locations": [where],
        "partialFingerprints": sarif.fingerprints(
            code.value, name, detail, *[str(number)] * (number > 1)
        ),
    }
    if places[1:]:
        entry["relatedLocations"] = [sarif.location(each.file, each.line) for each in places[1:]]
    return entry


def _location(
    kernel: KernelResult | None, name: str, result: GateResult, lines: Mapping[str, int]
) -> Json:
    """The kernel in its source; the baseline where no source is known.

    GitHub refuses results without a file and a line.
    """
    sides = () if kernel is None else (kernel.kernel.after, kernel.kernel.before)
    inputs = [side.inputs for side in sides if side is not None and side.inputs is not None]
    path = inputs[0].path if inputs else result.comparison.before.origin
    return sarif.location(path, lines.get(name, 1) if inputs else 1, name)
