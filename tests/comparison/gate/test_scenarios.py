"""Every scenario of ``scenarios.toml``: what passes, what fails, and what cannot be decided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs
from tests.comparison.gate.planted import SAME_CODE, gated, of, taken
from tests.comparison.predicted import CHANGED, COUNTS, TEXT, access, kernel, predicted, side

from kernelprof.comparison.compare import compare_snapshots
from kernelprof.comparison.gate.judge import judge_comparison
from kernelprof.comparison.gate.policy import load_policy
from kernelprof.comparison.words import why
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.gate import Code, GateResult, Outcome
from kernelprof.model.snapshot import KernelSnapshot, Noise, OtherVerdict, Snapshot

TIMES = ("events_ns", "profiled_ns")
BARRIERS = Verdict(Status.BOTTLENECK, "barrier-stalls", Confidence.HIGH, 1.5)


class KnownVerdict(msgspec.Struct, forbid_unknown_fields=True):
    status: Status
    confidence: Confidence
    bottleneck: str | None = None
    gain: float | None = None


class KnownNoise(msgspec.Struct, forbid_unknown_fields=True):
    floor: float
    captures: int
    how: str


class Change(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What is changed of a capture; ``kernel`` is the only one that is changed."""

    kernel: int | None = None
    set: dict[str, Any] = {}
    """Fields of the kernel."""
    clear: list[str] = []
    """Fields of the kernel that it does not have."""
    metrics: dict[str, float] = {}
    without: list[str] = []
    """Metrics that it does not have."""
    scale: dict[str, float] = {}
    """Factors of times or of metrics."""
    events: float | None = None
    """The time in ns of 20 launches between CUDA events."""
    profiled: float | None = None
    first: int | None = None
    """So many launches between CUDA events, the first ones."""
    gain: float | None = None
    verdict: KnownVerdict | None = None
    barriers: int = 0
    """So many launches are limited by barriers."""
    noise: KnownNoise | None = None
    specification: dict[str, Any] = {}
    machine: dict[str, str] = {}
    target: list[str] = []

    def of(self, snapshot: Snapshot) -> Snapshot:
        """The capture with the changes."""
        kernels = tuple(
            self._kernel(each) if self.kernel in {None, at} else each
            for at, each in enumerate(snapshot.kernels)
        )
        target = tuple(self.target) or snapshot.target
        machine = structs.replace(snapshot.machine, **self.machine)  # type: ignore[arg-type]
        return replace(snapshot, kernels=kernels, machine=machine, target=target)

    def _kernel(self, old: KernelSnapshot) -> KernelSnapshot:
        values: dict[str, Any] = dict(self.set) | {
            name: () if name in TIMES else None for name in self.clear
        }
        if "block" in values:
            values["block"] = tuple(values["block"])
        metrics = {**old.metrics, **self.metrics}
        for name, factor in self.scale.items():
            if name in TIMES:
                values[name] = tuple(factor * each for each in getattr(old, name))
            elif name in metrics:
                metrics[name] *= factor
            else:
                values[name] = factor * getattr(old, name)
        values["metrics"] = {name: metrics[name] for name in metrics if name not in self.without}
        if self.events is not None:
            values["events_ns"] = (self.events,) * 20
        if self.profiled is not None:
            values["profiled_ns"] = (self.profiled,)
        if self.first is not None:
            values["events_ns"] = values.get("events_ns", old.events_ns)[: self.first]
        return replace(self._judged(old), **values)

    def _judged(self, old: KernelSnapshot) -> KernelSnapshot:
        """The kernel with other verdicts, noise and specification."""
        values: dict[str, Any] = {}
        if self.gain is not None:
            values["verdict"] = replace(old.verdict, gain=self.gain)
        if self.verdict is not None:
            values["verdict"] = Verdict(**msgspec.structs.asdict(self.verdict))
        if self.barriers:
            values["others"] = (OtherVerdict(BARRIERS, self.barriers),)
        if self.noise is not None:
            values["noise"] = Noise(**msgspec.structs.asdict(self.noise))
        if self.specification:
            assert old.inputs is not None
            specification = {**(old.inputs.specification or {}), **self.specification}
            values["inputs"] = replace(old.inputs, specification=specification)
        return replace(old, **values)


class Measured(msgspec.Struct, forbid_unknown_fields=True):
    """Two captures, and what the gate has to say."""

    name: str
    before: str | list[str]
    after: str | list[str] | None = None
    before_is: Change = Change()
    after_is: Change = Change()
    policy: dict[str, Any] = {}
    given: dict[str, float] = {}
    bottlenecks: tuple[str, str] | None = None
    exit: int | None = None
    regression: set[Code] | None = None
    inconclusive: set[Code] | None = None
    pass_: set[Code] | None = msgspec.field(default=None, name="pass")
    regression_has: set[Code] = set()
    inconclusive_has: set[Code] = set()
    pass_has: set[Code] = set()
    open_has: set[Code] = set()
    inconclusive_lacks: set[Code] = set()
    texts: dict[Code, str] = {}
    general: str | None = None
    general_has: str = ""


class PredictedCounts(msgspec.Struct, forbid_unknown_fields=True):
    """What two versions of a kernel count, and what the gate has to say."""

    name: str
    before: dict[str, float] = {}
    counts: dict[str, float] = {}
    spread: dict[str, tuple[float, float]] = {}
    policy: dict[str, Any] = {}
    outcome: Outcome | None = None
    exit: int | None = None
    worse: str | None = None
    """How one of its regressions begins; there are no others than counters that got worse."""
    codes: list[tuple[Outcome, Code]] | None = None
    codes_has: list[tuple[Outcome, Code]] = []
    why: str | None = None
    why_begins: str = ""
    order: list[str] | None = None
    """How all findings begin, up to the colon."""
    first_open: str = ""
    """Part of the text of the first finding that does not pass."""


class Scenarios(msgspec.Struct, forbid_unknown_fields=True):
    measured: list[Measured]
    predicted: list[PredictedCounts]


SCENARIOS = msgspec.toml.decode(
    Path(__file__).with_name("scenarios.toml").read_bytes(), type=Scenarios
)


def codes(result: GateResult, *outcomes: Outcome) -> set[Code]:
    """The codes of all findings with one of these outcomes."""
    findings = [*result.general, *(each for one in result.kernels for each in one.findings)]
    return {each.code for each in findings if each.outcome in outcomes}


def snapshot_of(captures: str | list[str]) -> Snapshot:
    if captures == "same-code":
        return of(SAME_CODE)
    names = [captures] if isinstance(captures, str) else captures
    snapshots = [taken(*name.split("/")) for name in names] or [taken("tile", "1")]
    kernels = [kernel for each in snapshots[: len(names)] for kernel in each.kernels]
    return replace(snapshots[0], kernels=tuple(kernels))


@pytest.mark.parametrize("scenario", SCENARIOS.measured, ids=lambda each: each.name)
def test_what_the_gate_says_of_measured_kernels(scenario: Measured) -> None:
    before = snapshot_of(scenario.before)
    after = snapshot_of(scenario.before if scenario.after is None else scenario.after)
    for name, value in scenario.given.items():
        kernel = before.kernels[0]
        known = {**kernel.metrics, "gain": kernel.verdict.gain, "flops": kernel.flops}
        assert known[name] == pytest.approx(value, rel=2e-3)
    if scenario.bottlenecks is not None:
        verdicts = [each.kernels[0].verdict.bottleneck for each in (before, after)]
        assert verdicts == [*scenario.bottlenecks]
    before, after = scenario.before_is.of(before), scenario.after_is.of(after)
    result = gated(before, after, load_policy(scenario.policy))
    assert scenario.exit in {None, result.exit_code}
    for outcome, exact, least in (
        (Outcome.REGRESSION, scenario.regression, scenario.regression_has),
        (Outcome.INCONCLUSIVE, scenario.inconclusive, scenario.inconclusive_has),
        (Outcome.PASS, scenario.pass_, scenario.pass_has),
    ):
        assert exact is None or codes(result, outcome) == exact
        assert least <= codes(result, outcome)
    assert scenario.open_has <= codes(result, Outcome.REGRESSION, Outcome.INCONCLUSIVE)
    assert not scenario.inconclusive_lacks & codes(result, Outcome.INCONCLUSIVE)
    for code, text in scenario.texts.items():
        (finding,) = [each for each in result.kernels[0].findings if each.code is code]
        assert text in finding.text
    if scenario.general or scenario.general_has:
        (general,) = result.general
        assert scenario.general in {None, general.text}
        assert scenario.general_has in general.text


@pytest.mark.parametrize("scenario", SCENARIOS.predicted, ids=lambda each: each.name)
def test_what_the_gate_says_of_predicted_kernels(scenario: PredictedCounts) -> None:
    old = kernel(predicted(TEXT, access(4, sectors=2048)), **{**COUNTS, **scenario.before})
    code = predicted(CHANGED, access(4, sectors=4096), code="b")
    new = kernel(code, {**scenario.spread}, **{**COUNTS, **scenario.counts})
    result = judge_comparison(compare_snapshots(side(old), side(new)), load_policy(scenario.policy))
    (judged,) = result.kernels
    assert scenario.outcome in {None, result.outcome}
    assert scenario.exit in {None, result.exit_code}
    found = [(each.outcome, each.code) for each in judged.findings]
    assert scenario.codes in (None, found)
    assert {*scenario.codes_has} <= {*found}
    assert scenario.why in {None, why(judged)}
    assert why(judged).startswith(scenario.why_begins)
    texts = [each.text.partition(":")[0] for each in judged.findings]
    assert scenario.order in (None, texts)
    if scenario.first_open:
        findings = (each for each in judged.findings if each.outcome is not Outcome.PASS)
        assert scenario.first_open in next(findings).text
    if scenario.worse is not None:
        assert result.exit_code == 1
        worse = [each for each in judged.findings if each.outcome is Outcome.REGRESSION]
        assert {each.code for each in worse} == {Code.COUNTER_WORSE}
        assert any(each.text.startswith(scenario.worse) for each in worse)
        for each in worse:
            place = "line 2" if "; at k.cu:4; " in each.text else "k.cu:2"
            assert each.text.endswith(f"changed: {place}")
