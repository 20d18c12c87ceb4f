"""What each code of the gate means, for outputs that explain their rules."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelprof.model.gate import Code, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class GateRule:
    """A code that can decide. ``outcome`` is what it means unless the policy says otherwise."""

    title: str
    meaning: str
    advice: str
    outcome: Outcome


_R, _I, _P = Outcome.REGRESSION, Outcome.INCONCLUSIVE, Outcome.PASS

RULES: Final[Mapping[Code, GateRule]] = MappingProxyType(
    {
        Code.SLOWER: GateRule(
            "The kernel got slower",
            "The candidate's times are longer than the baseline's by more than the noise floor, "
            "and a rank test says that chance does not explain it.",
            "Look at the counters and inputs that changed with it, or allow it with max_slowdown.",
            _R,
        ),
        Code.TIME_UNDECIDED: GateRule(
            "The times do not decide",
            "The medians are further apart than the noise floor, and the samples could still be "
            "those of one kernel.",
            "Measure more launches on a quiet machine, or calibrate the baseline's noise.",
            _I,
        ),
        Code.TIME_UNKNOWN: GateRule(
            "The times cannot be compared",
            "One side has no times or too few, or the sides were measured on another machine, "
            "with other clocks or by another profiler.",
            "Capture both sides alike: same GPU, driver, Nsight Compute and clock control.",
            _I,
        ),
        Code.COUNTER_WORSE: GateRule(
            "An exact counter got worse",
            "A counter that repeats to the last digit for the same code shows more work, and the "
            "kernel did not get faster by it.",
            "Find the change that makes the work, or allow it with max_increase.",
            _R,
        ),
        Code.COUNTER_MISSING: GateRule(
            "Only one side has a counter",
            "A counter was captured on one side only, so nothing is known of its change.",
            "Capture both sides with the same preset.",
            _I,
        ),
        Code.OVER_BUDGET: GateRule(
            "A metric is over its budget",
            "The policy limits a metric, and the candidate is beyond that limit.",
            "Bring the metric back, or change the budget in the policy.",
            _R,
        ),
        Code.BUDGET_UNKNOWN: GateRule(
            "A budget cannot be checked",
            "The policy limits a metric that the candidate's capture does not have.",
            "Capture it: the preset 'full' has every metric.",
            _I,
        ),
        Code.NEW_BOTTLENECK: GateRule(
            "Something else limits the kernel",
            "The candidate has another bottleneck than the baseline, or much more of the same "
            "one, and did not get faster.",
            "Read what 'kernelprof explain NAME' says about the new one.",
            _R,
        ),
        Code.LEFT_LIMIT: GateRule(
            "The kernel is no longer at its limit",
            "The baseline filled a unit with work that is needed; the candidate does not.",
            "Undo what keeps the unit from being full.",
            _R,
        ),
        Code.VERDICT_INCONCLUSIVE: GateRule(
            "A verdict is inconclusive",
            "The capture lacks metrics that decide what limits the kernel.",
            "Capture more metrics; 'kernelprof diagnose' prints the command.",
            _I,
        ),
        Code.OTHER_WORK: GateRule(
            "The sides do another amount of work",
            "Sizes or numbers of threads differ, so neither times nor counters can be compared.",
            "Capture both sides at the same sizes.",
            _I,
        ),
        Code.WRONG_RESULT: GateRule(
            "The result is wrong",
            "The candidate's result was checked and differs from the reference, or it does what no "
            "kernel may: it leaves its arrays, races or never ends.",
            "Make it right first: how fast a wrong kernel is says nothing.",
            _R,
        ),
        Code.RENAMED: GateRule(
            "The kernel has another name",
            "It is compared with a kernel of a similar name, and nothing else says that it is the "
            "same one.",
            "Look whether it is, and accept it into the baseline, or allow it with renamed.",
            _I,
        ),
        Code.LAUNCHED_MORE: GateRule(
            "The kernel is launched more often",
            "The candidate launches the kernel more often than the baseline, and all launches "
            "together take longer.",
            "Capture the same part of the program on both sides, or allow it with launched_more.",
            _I,
        ),
        Code.VANISHED: GateRule(
            "A kernel is gone",
            "The baseline has a kernel that the candidate does not have.",
            "Update the baseline if it was removed on purpose, or set vanished in the policy.",
            _I,
        ),
        Code.APPEARED: GateRule(
            "A kernel is new",
            "The candidate has a kernel that the baseline does not have. It counts where new "
            "kernels take more than what vanished and what the others gained.",
            "Accept it into the baseline to have it compared from now on, or set appeared in the "
            "policy.",
            _I,
        ),
        Code.DAMAGED_CAPTURE: GateRule(
            "A capture is not whole",
            "Rows or launches are lost, values contradict each other, or the program or the "
            "profiler failed: what is missing cannot be judged.",
            "Capture it again, or let it pass with damaged in the policy.",
            _I,
        ),
        Code.CHECK_WEAKENED: GateRule(
            "The result is checked less closely",
            "The baseline's result was checked against a reference, and the candidate's is not, or "
            "against another one, less closely, or at smaller sizes.",
            "Keep the check of the launch specification, or allow it with check_weakened.",
            _R,
        ),
        Code.POLICY_CHANGED: GateRule(
            "The change would alter the policy",
            "The policy that the change would put in place judges otherwise than the one that it "
            "was judged by.",
            "Look whether what it lets pass is meant, and have somebody who may merge accept it.",
            _I,
        ),
        Code.BASELINE_CHANGED: GateRule(
            "The change would alter the baseline",
            "The baseline that the change would put in place holds kernels against something else "
            "than the one that it was judged by.",
            "Look whether times and counters are meant, and have somebody who may merge accept it.",
            _I,
        ),
    }
)
"""The codes that can make an outcome other than ``pass``; the others only inform."""
