"""The gate's answer in short: which kernels decide it, why, and the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.compare.words import headline, summary
from kernelprof.errors import ExitCode
from kernelprof.model.gate import Code, Outcome
from kernelprof.report.names import short_name

if TYPE_CHECKING:
    from kernelprof.model.gate import GateResult, KernelResult

_IN_HEADLINE: Final = frozenset(
    {Code.SLOWER, Code.COUNTER_WORSE, Code.NEW_BOTTLENECK, Code.LEFT_LIMIT}
)
"""What the headline of a comparison tells already, in fewer words than the finding."""


def exit_code(result: GateResult) -> ExitCode:
    """The exit code of ``kernelprof gate``."""
    if result.outcome is Outcome.REGRESSION:
        return ExitCode.REGRESSION
    if result.outcome is Outcome.INCONCLUSIVE and not result.inconclusive_passes:
        return ExitCode.INCONCLUSIVE
    return ExitCode.DONE


def deciding(result: GateResult) -> tuple[KernelResult, ...]:
    """The kernels that make the outcome what it is; none where all pass."""
    found = [each.outcome for each in result.kernels if each.outcome is not Outcome.PASS]
    if not found or result.outcome is Outcome.PASS:
        return ()
    # Where the policy fails what is inconclusive, no kernel is as bad as the whole.
    worst = Outcome.REGRESSION if Outcome.REGRESSION in found else Outcome.INCONCLUSIVE
    return tuple(each for each in result.kernels if each.outcome is worst)


def why(kernel: KernelResult) -> str:
    """Why a kernel's outcome is what it is, in a line."""
    first = next(iter(kernel.findings), None)
    if first is None or first.outcome is Outcome.PASS or first.code in _IN_HEADLINE:
        return headline(kernel.kernel)
    return first.text


def remark(result: GateResult) -> str:
    """What the policy makes of the outcome, empty where that is nothing special."""
    kernels = deciding(result)
    if result.outcome is Outcome.INCONCLUSIVE and result.inconclusive_passes:
        return "the policy lets this pass"
    if result.outcome is Outcome.REGRESSION and not any(
        each.outcome is Outcome.REGRESSION for each in kernels
    ):
        return "inconclusive, which the policy fails"
    return ""


def passed_words(result: GateResult) -> str:
    """What a passed comparison found, and how many kernels nobody looked at."""
    text = summary(result.comparison)
    ignored = sum(
        any(finding.code is Code.IGNORED for finding in each.findings) for each in result.kernels
    )
    return f"{text}; {ignored} left out by the policy" if ignored else text


def reason(result: GateResult) -> str:
    """The outcome and why, in a line."""
    kernels = deciding(result)
    if kernels:
        text = f"{short_name(kernels[0].kernel.name)}: {why(kernels[0])}"
        if len(kernels) > 1:
            text = f"{len(kernels)} of {len(result.kernels)} kernels; {text}"
    elif result.outcome is Outcome.PASS or not result.general:
        text = passed_words(result)
    else:
        text = result.general[0].text
    note = remark(result)
    return f"{result.outcome.value}: {text}" + (f" ({note})" if note else "")
