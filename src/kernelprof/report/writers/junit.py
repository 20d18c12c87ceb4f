"""The gate's answer as JUnit XML: a test case a kernel, for the test reports of CI systems."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Final

from kernelprof.comparison.words import labels, why
from kernelprof.model.gate import Outcome
from kernelprof.model.names import printable
from kernelprof.report.writers import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.gate import GateFinding, GateResult, KernelResult

SUITE: Final = "kernelprof gate"
CLASS: Final = "kernelprof.gate"
"""Reports group test cases by it, and show what follows the last dot."""

_NS: Final = 1e9


def write(result: GateResult) -> str:
    """One test suite; what is inconclusive fails too, unless the policy lets it pass.

    Findings of no single kernel are a test case of their own, so that a comparison of nothing is
    not taken for one that passed.
    """
    suite = ET.Element("testsuite", name=SUITE)
    kernel_labels = labels([each.kernel for each in result.kernels])
    for kernel, label in zip(result.kernels, kernel_labels, strict=True):
        name = " ".join(filter(None, map(printable, label)))
        case = _case(suite, name or "unnamed kernel", _seconds(kernel))
        if kernel.ignored:
            ET.SubElement(case, "skipped", message=printable(kernel.findings[0].text))
            continue
        passes = result.inconclusive_passes
        _judge(case, kernel.outcome, printable(why(kernel)), kernel.findings, passes=passes)
    if result.general:
        worst = max(result.general, key=lambda each: each.outcome.severity)
        case = _case(suite, "all kernels", 0.0)
        passes = result.lets_pass
        _judge(case, worst.outcome, printable(worst.text), result.general, passes=passes)
    for attribute, count in (
        ("tests", len(suite)),
        ("failures", len(suite.findall("testcase/failure"))),
        ("errors", 0),
        ("skipped", len(suite.findall("testcase/skipped"))),
    ):
        suite.set(attribute, str(count))
    suite.set("time", f"{sum(_seconds(each) for each in result.kernels):.3f}")
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


WRITER: Final = Writer("junit", ".xml", write, kinds=("gate",))


def _case(suite: ET.Element, name: str, seconds: float) -> ET.Element:
    return ET.SubElement(suite, "testcase", name=name, classname=CLASS, time=f"{seconds:.9f}")


def _judge(
    case: ET.Element,
    outcome: Outcome,
    message: str,
    findings: Iterable[GateFinding],
    *,
    passes: bool,
) -> None:
    """A failure with its findings, or what was found as the output of a case that passed.

    ``passes`` says whether what is inconclusive does.
    """
    text = "\n".join(
        f"{each.outcome.value} {each.code.value}: {printable(each.text)}" for each in findings
    )
    if outcome is Outcome.PASS:
        if text:
            ET.SubElement(case, "system-out").text = text
        return
    if outcome is Outcome.INCONCLUSIVE and passes:
        ET.SubElement(case, "skipped", type=outcome.value, message=message).text = text
        return
    ET.SubElement(case, "failure", type=outcome.value, message=message).text = text


def _seconds(result: KernelResult) -> float:
    """The candidate's measured time of one launch; 0 where it has none."""
    after = result.kernel.after
    time = None if result.kernel.arch is not None else result.kernel.time.after_ns
    if time is None and after is not None:
        time = after.median_ns
    return (time or 0.0) / _NS
