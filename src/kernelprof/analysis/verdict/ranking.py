"""Every rule over every launch: which of them wins, whether that is decided, and how sure it is.

A set such as ``basic`` holds no count of sectors, stalls or wavefronts, so no rule can be certain
of a launch. Some of its values point to one bottleneck all the same: in our captures with the full
set, launches with the same values turned out to be that one nearly always
(``python -m benchmarks.reduced`` counts them). Such a :class:`Lead` is followed only where nothing
is there that could tell otherwise, and its verdict has low confidence.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kernelprof.analysis.metrics.architectures import ARCHITECTURES, chip_of
from kernelprof.analysis.metrics.catalogue import has_tcgen05
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.metrics.gpus import GIGA, MOST_OF_PEAK, fewest_sms
from kernelprof.analysis.metrics.groups import (
    FALLBACKS,
    NEAR_LIMIT,
    NEVER_IN_REPORTS,
    NOT_IN_REPORTS,
    NOTABLE_WASTE,
    SM_PIPES,
)
from kernelprof.analysis.metrics.pipelines import BUSY_WITH_COPIES, OF_A_LIBRARY
from kernelprof.analysis.metrics.waste import WIDEST_REQUEST_SECTORS
from kernelprof.analysis.rules import RuleContext, load_rules
from kernelprof.model.capture import Origin
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.model.numbers import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kernelprof.analysis.metrics.interval import BoolArray, FloatArray, IntArray, Truth
    from kernelprof.analysis.rules import Rule, RuleFinding
    from kernelprof.model.capture import Capture


AT_LIMIT = 0.80
"""Saturation from which a unit without needless work counts as full: Nsight Compute's SOLBottleneck
rule (2025.3) speaks of more than 80 % of the device's performance."""

LEAST_GAIN = 1.05
"""Smallest factor worth a name. Launches of the same code differ by up to 0.3 % in our captures
(``tests/captures/gemm_series.same-code-13x.raw.csv``) and the estimates by more."""

SUBSTITUTE_ERROR = 0.02
"""Relative difference that counters of one quantity under different names can make to a gain; the
largest in ``tests/captures`` is 1.1 % (issue slots by issued and by executed instructions)."""

NEAR_TIE = 1.10
"""Ratio of two estimated gains within which the evidence does not tell them apart. Issue slots and
L1 of the tiled GEMMs that are not unrolled differ by 1 % to 7 %."""

SHORT_LAUNCH_NS = 10_000.0
"""Below this a launch is a few thousand cycles: timers tick in 32 ns, and every pass of a replay
starts cold, so that counters of different passes do not belong to the same run."""

CLEAR_MARGIN = 1.25
"""Ratio of the first gain to the second from which the order does not hang on the estimates."""

CLEAR_LATENCY_GAIN = 2.0
"""Gain from which one cause of waiting stands out. In ``tests/captures/validation`` the launches
without a busy unit that were called something else than expected were all estimated below 1.7x."""

NARROW = 1.05
"""Ratio of the most to the least that a gain can be, whatever the missing metrics hold, up to which
their absence changes nothing that is said."""


ACCESSES: Final = (
    "global_load_sectors", "global_store_sectors", "global_load_requests", "global_store_requests",
    "local_sectors", "local_load_sectors", "local_store_sectors", "l2_sectors_from_l1",
    "shared_wavefronts_share",
)  # fmt: skip
"""Counts of accesses, which no set below ``full`` collects."""
WAITS: Final = (
    "warp_cycles_per_instruction", "stall_long_scoreboard", "stall_short_scoreboard", "stall_wait",
    "stall_barrier", "stall_lg_throttle", "stall_mio_throttle",
)  # fmt: skip
UNITS: Final = (
    "memory_throughput", "dram_throughput", "l1_throughput", "l1_throughput_active",
    "l2_throughput", "issue_slots", "issue_slots_active",
)  # fmt: skip
BASIC: Final = (*ACCESSES, *WAITS, "global_sectors", "threads_per_instruction", "instructions")
"""What the set ``basic`` does not collect: with any of it, the rules decide."""

FULL: Final = 0.80
"""Nsight Compute's SOLBottleneck rule (2025.3): above it a unit is what limits a kernel."""
BUSY_DRAM: Final = 0.70
"""Of 25 launches with device memory at 70 to 80 % of its peak 23 were at this limit, of 60 with
more 54. In the other six it was full as well, with sectors of which each thread used little."""
BUSY_TENSOR: Final = 0.80
"""Of 16 launches with the tensor pipe at 80 % or more 14 were at this limit."""
IDLE: Final = 0.60
"""Nsight Compute's SOLBottleneck rule (2025.3): below 60 % of every peak a kernel waits."""
SHORT_NS: Final = 20_000.0
CERTAIN_EXCESS: Final = 0.3
"""Share of the sectors of global accesses that is certainly not needed."""
QUIET_PERCENT: Final = 40.0
"""Of the SM's peak."""
TINY_BLOCK_THREADS: Final = 4.0
FEW_WAVES: Final = 2.0


class LeadValues:
    """Values of all launches, for the conditions of leads."""

    def __init__(self, context: RuleContext) -> None:
        facts = self._facts = context.facts
        sms = self["sm_count"]
        for each in filter(has_tcgen05, ARCHITECTURES):
            rows = np.isnan(sms) & facts.by_capability(partial(operator.eq, each))
            sms = np.where(rows, fewest_sms(each), sms)
        small: BoolArray = self["grid_size"] < sms
        self.small = small
        """Launches with fewer blocks than the GPU has SMs."""
        busiest = np.maximum(self["sm_throughput"], self["memory_throughput"])
        self.idle = np.less(busiest, 100 * IDLE)
        self.tensor = np.fmax(self["tensor_pipe"], self["tensor_pipe_active"])
        """Use of the tensor pipe in percent, over the launch or while SMs have work."""

    def __getitem__(self, metric: str) -> FloatArray:
        """Return the raw numbers of a metric."""
        return self._facts.values(metric)

    def dram_share(self) -> FloatArray:
        """Return DRAM utilization in percent, by the specified rate where ncu gives none."""
        own, rates = self["dram_throughput"], self["dram_bandwidth"]
        rows = np.flatnonzero(np.isnan(own) & ~np.isnan(rates))
        if not len(rows):
            return own
        own = own.copy()
        for row in rows.tolist():
            if (gpu := self._facts.gpu(row)) is not None:
                own[row] = 100.0 * rates[row] / (gpu.dram_gb_per_s * GIGA)
        return np.where(own <= MOST_OF_PEAK, own, np.nan)

    def uncoalesced_share(self) -> FloatArray:
        """Return the share of global sectors beyond the widest useful requests."""
        sectors, excess = np.zeros(1), np.zeros(1)
        for kind in ("load", "store"):
            moved, requests = self[f"global_{kind}_sectors"], self[f"global_{kind}_requests"]
            sectors = sectors + moved
            excess = excess + np.maximum(moved - WIDEST_REQUEST_SECTORS * requests, 0.0)
        return excess / sectors


@dataclass(frozen=True, slots=True)
class Lead:
    """A bottleneck that few values point to; ``reason`` says which.

    It is followed where none of the metrics ``without`` is known.
    """

    bottleneck: str
    holds: Callable[[LeadValues, RuleContext], BoolArray]
    reason: str
    without: tuple[str, ...] = BASIC
    at_limit: bool = False


FULL_PIPE: Final = 90.0
"""Percent from which a pipe is the limit, whatever is missing: only less of its work brings more
than 1.1x. Of 44 launches of our captures with such a pipe (tensor, FP64, FP32, integer, special
functions, or shared memory by its share of conflicts) 41 were at this limit."""


def _busy_dram(values: LeadValues, _: RuleContext) -> BoolArray:
    """Launches with busy device memory; up to ``FULL``, only where neither SM nor L1 is busier."""
    share = values.dram_share()
    l1 = (values["l1_throughput_active"] > share) & (values["memory_throughput"] >= 100 * FULL)
    others = (values["sm_throughput"] > share) | (l1 & ~(values["l2_throughput"] >= 100 * FULL))
    rows: BoolArray = (share >= 100 * FULL) | ((share >= 100 * BUSY_DRAM) & ~others)
    return rows


def _full_tensor_pipe(values: LeadValues, context: RuleContext) -> BoolArray:
    bar = np.where(context.facts.of_library, 100 * OF_A_LIBRARY, FULL_PIPE)
    # Kernels whose warps multiply have no pipeline that could leave the tensor cores waiting.
    by_warps = ~context.pipeline.by_design.maybe & (values["tensor_pipe"] >= 100 * BUSY_TENSOR)
    return _is_blackwell(context) & ~values.small & ((values.tensor >= bar) | by_warps)


def _is_blackwell(context: RuleContext) -> BoolArray:
    """Launches on Blackwell, where a full pipe decides: captures of earlier GPUs keep answers."""
    return context.facts.by_capability(lambda each: each is not None and each >= (10, 0))


def _full_shared_memory(bottleneck: str, reason: str, *, by_conflicts: bool) -> Lead:
    def holds(values: LeadValues, context: RuleContext) -> BoolArray:
        conflicts = context.waste.bank_conflicts
        cause = conflicts.low >= NOTABLE_WASTE if by_conflicts else conflicts.high < NOTABLE_WASTE
        share = values["shared_wavefronts_share"]
        fuller = np.fmax(values["dram_throughput"], values["l2_throughput"]) > share
        by_atomics = (context.waste.shared_atomic_part >= NOTABLE_WASTE).sure
        full = (share >= FULL_PIPE) & ~fuller & ~by_atomics
        rows: BoolArray = _is_blackwell(context) & full & cause
        return rows

    return Lead(bottleneck, holds, reason, without=(), at_limit=not by_conflicts)


def _pipeline_with_room(values: LeadValues, context: RuleContext) -> BoolArray:
    """Launches whose pipeline leaves the tensor cores idle part of the time."""
    # In percent of what products reach, while SMs have work
    units, pipeline = context.units, context.pipeline
    use = 100 * units.saturations["tensor_pipe"].low / units.active_share.high
    idle: BoolArray = np.less(np.fmax(values.tensor, use), FULL_PIPE)
    idle &= ~pipeline.is_as_full_as_others.maybe | pipeline.uses_tcgen05.maybe
    return ~values.small & pipeline.by_design.sure & idle


def _busy_copies(unit: str, bottleneck: str) -> Lead:
    return Lead(
        bottleneck,
        lambda values, context: (
            _pipeline_with_room(values, context)
            & (context.units.saturations[unit].low >= BUSY_WITH_COPIES)
        ),
        f"based on utilization alone: asynchronous copies saturate {unit.upper()}",
        without=ACCESSES[:4],
        at_limit=True,
    )


def _waiting_pipeline(values: LeadValues, context: RuleContext) -> BoolArray:
    """Launches with idle tensor cores, and no other unit busy enough for it."""
    saturations = context.units.saturations
    calm = [saturations[unit].high < BUSY_WITH_COPIES for unit in ("l1", "l2", "dram")]
    others = {"issue", *SM_PIPES} - {"tensor_pipe"}
    calm += [saturations[unit].low < NEAR_LIMIT for unit in sorted(others)]
    # Accumulators on their way may be the limit then, of which no rule knows enough to name it.
    calm.append(~(context.pipeline.tensor_memory >= FULL_PIPE))
    rows: BoolArray = _pipeline_with_room(values, context) & np.logical_and.reduce(calm)
    return rows


PIPE_RULES: Final = {
    "fma_pipe": "fp32-throughput",
    "alu_pipe": "integer-throughput",
    "fp64_pipe": "fp64-throughput",
    "xu_pipe": "sfu-throughput",
    "tensor_pipe": "tensor-throughput",
}


def _is_fullest(values: LeadValues, pipe: str) -> BoolArray:
    """Launches with a full pipe and no memory that is busier."""
    share = values[pipe]
    rows: BoolArray = (share >= FULL_PIPE) & ~(values["memory_throughput"] > share)
    return rows


def _full_pipe(pipe: str, bottleneck: str) -> Lead:
    # Of 107 launches with the SM at 80 % and idle memory, 89 were at the limit of this pipe.
    return Lead(
        bottleneck,
        lambda values, context: (
            ((values[pipe] >= 100 * FULL) & (values["memory_throughput"] < 100 * IDLE))
            | (_is_blackwell(context) & _is_fullest(values, pipe))
        ),
        "based on pipe utilization alone; active threads per warp are not measured",
        at_limit=True,
    )


LEADS: Final = (
    Lead(
        "warp-divergence",
        lambda values, _: (values["block_size"] <= TINY_BLOCK_THREADS) & ~values.small,
        "based on the block size alone: at most 4 of 32 lanes of a warp are active",
    ),
    Lead(
        "small-grid",
        lambda values, _: values.small & values.idle,
        "based only on grid size and utilization: fewer blocks than SMs, and no unit is busy",
    ),
    Lead(
        "small-grid",
        # One block on each SM that may wait for bulk copies is enough by design.
        lambda values, context: (
            (values["waves_per_sm"] < 0.5)
            & values.idle
            & ~(context.pipeline.is_fed_by_bulk_copies.maybe & ~values.small)
        ),
        "based only on grid size and utilization: less than half a wave, and no unit is busy",
    ),
    Lead(
        "small-grid",
        lambda values, _: (
            (values["duration"] < SHORT_NS) & (values["waves_per_sm"] < FEW_WAVES) & values.idle
        ),
        "based only on time, grid size and utilization: less than 20 us, fewer than two waves, and "
        "no unit is busy",
    ),
    Lead(
        "small-grid",
        lambda values, context: values.small & context.pipeline.by_design.sure,
        "based only on the grid size (fewer blocks than SMs); the overlap of copies and "
        "computation was not judged",
        without=ACCESSES[:4],
    ),
    Lead(
        "tensor-throughput",
        _full_tensor_pipe,
        "based on the utilization of the tensor pipe alone",
        without=(),
        at_limit=True,
    ),
    _full_shared_memory(
        "shared-bank-conflicts",
        "based only on bank conflicts and on the utilization of shared memory",
        by_conflicts=True,
    ),
    _full_shared_memory(
        "shared-memory-throughput",
        "based only on the utilization of shared memory, without notable bank conflicts",
        by_conflicts=False,
    ),
    _busy_copies("dram", "dram-bandwidth"),
    _busy_copies("l2", "l2-bandwidth"),
    Lead(
        "async-pipeline-stalls",
        _waiting_pipeline,
        "based on tensor-pipe and memory utilization: the kernel uses an asynchronous "
        "pipeline, and no unit is saturated",
        without=ACCESSES[:4],
    ),
    Lead(
        "dram-bandwidth",
        _busy_dram,
        "based on DRAM utilization alone; wasted traffic is not measured",
        without=(*BASIC, "global_load_bytes_per_sector", "global_store_bytes_per_sector"),
        at_limit=True,
    ),
    Lead(
        "uncoalesced-global-access",
        # Of 33 such launches in our captures 28 were limited by this.
        lambda values, _: (
            (values.uncoalesced_share() >= CERTAIN_EXCESS)
            & (values["sm_throughput"] < QUIET_PERCENT)
            & ~values.small
            & (values["duration"] > SHORT_NS)
        ),
        "based only on sectors per request (more than coalesced 16-byte accesses need) and on low "
        "SM utilization",
        without=(*WAITS, *UNITS, *SM_PIPES),
    ),
    *(_full_pipe(pipe, bottleneck) for pipe, bottleneck in PIPE_RULES.items()),
)


def follow_leads(
    leads: Sequence[Lead], context: RuleContext, decided: BoolArray
) -> Iterator[tuple[Lead, BoolArray]]:
    """Yield leads, each with the launches that it decides: those that nothing else does."""
    left = ~decided
    if not left.any():
        return
    values, shipped = LeadValues(context), context.units.shipped
    for lead in leads:
        rows = left.copy()
        if lead.without:
            rows &= ~(shipped.tells_of_waste if lead.at_limit else shipped.has_explaining_section)
        for name in lead.without:
            if not rows.any():
                break
            rows &= ~context.facts.has(name)
        if rows.any():
            with np.errstate(invalid="ignore", divide="ignore"):
                rows &= lead.holds(values, context)
            yield lead, rows
            left &= ~rows


@dataclass(frozen=True, slots=True)
class Ranking:
    """The outcome over all launches; ``rules`` names the rows of ``low`` and ``high``.

    ``winner`` is the row of the first rule, ``decided`` where no value that a missing metric could
    have would change it, ``at_limit`` where the winner's unit is full of needed work,
    ``unexplained`` where a unit that no rule follows is the busiest.
    """

    rules: tuple[str, ...]
    low: FloatArray
    high: FloatArray
    winner: IntArray
    decided: BoolArray
    at_limit: BoolArray
    unexplained: BoolArray
    overruled: BoolArray
    """Launches of which no rule but the winner counts."""
    reasons: Mapping[int, str] = field(default_factory=dict)
    """Why a launch that the rules leave open is decided all the same, by its row."""

    def candidates(self, row: int) -> list[int]:
        """Return rules that could still be the first in this launch, the likeliest first."""
        threshold = max(self.low[:, row].max(), LEAST_GAIN)
        could = [r for r in range(len(self.rules)) if self.high[r, row] >= threshold]
        return sorted(could, key=lambda r: (-self.low[r, row], -self.high[r, row], r))

    def runners_up(self, row: int) -> list[int]:
        """Return rules within the uncertainty of the winner, the nearest first."""
        first = self.winner[row]
        bar = max(LEAST_GAIN, self.low[first, row] / NEAR_TIE)
        near = [r for r in range(len(self.rules)) if r != first and self.high[r, row] >= bar]
        return sorted(near, key=lambda r: (-self.high[r, row], r))


def rank(
    findings: Mapping[str, RuleFinding], unexplained: Truth, substituted: BoolArray
) -> Ranking:
    """Compare the rules' gains launch by launch.

    ``findings`` stands in the order that settles exact ties; ``unexplained`` says where a part of
    the machine that no rule follows may be the limit, which nothing can be decided over, and
    ``substituted`` where counters stand in that may differ from the first choice by a little.

    The winner has the largest gain that is certain; it is decided where even the largest gain that
    each other rule could have is smaller.
    """
    low = np.vstack([finding.gain.low for finding in findings.values()])
    high = np.vstack([finding.gain.high for finding in findings.values()])
    winner = low.argmax(axis=0)
    columns = np.arange(low.shape[1])
    best = low[winner, columns]
    order = np.arange(low.shape[0])[:, None]
    clear = np.where(substituted, best * (1.0 - SUBSTITUTE_ERROR), best)
    beaten = (high < clear) | ((high == best) & (order > winner)) | (order == winner)
    decided = beaten.all(axis=0)

    at_limit = np.zeros(low.shape[1], dtype=np.bool_)
    for row, finding in enumerate(findings.values()):
        if finding.saturation is None:
            continue
        full = finding.saturation >= AT_LIMIT
        mine = winner == row
        decided = decided & ~(mine & (full.sure != full.maybe))
        at_limit = at_limit | (mine & full.sure)
    # A rule that promises nothing names nothing; known only where its gain is.
    worthless = high[winner, columns] < LEAST_GAIN
    unclear = (best < LEAST_GAIN) & ~worthless & ~at_limit
    at_a_unit = np.array([finding.saturation is not None for finding in findings.values()])
    nothing_to_name = worthless & ~at_a_unit[winner]
    decided = decided & ~unclear & ~nothing_to_name
    decided = decided & ~unexplained.maybe
    overruled = np.zeros(low.shape[1], dtype=np.bool_)
    for row, finding in enumerate(findings.values()):
        if finding.overrules is not None:
            sure = finding.overrules.sure
            winner, decided = np.where(sure, row, winner), decided | sure
            at_limit, overruled = at_limit & ~sure, overruled | sure
    return Ranking(
        tuple(findings), low, high, winner, decided, at_limit, unexplained.sure, overruled
    )


@dataclass(frozen=True)
class Judgement:
    """What each rule says about each launch of a capture, and which rule wins it."""

    context: RuleContext
    findings: Mapping[str, RuleFinding]
    ranking: Ranking
    cases: tuple[Judgement, ...] = ()
    """The same launches, judged in each case that the capture has."""

    def status(self, row: int) -> Status:
        """Return the kind of answer for one launch."""
        ranking = self.ranking
        if not ranking.decided[row]:
            return Status.INCONCLUSIVE
        worthwhile = ranking.low[ranking.winner[row], row] >= LEAST_GAIN
        is_named = worthwhile or row in ranking.reasons or ranking.overruled[row]
        if ranking.at_limit[row] or not is_named:
            return Status.AT_LIMIT
        return Status.BOTTLENECK

    def rule(self, row: int) -> Rule:
        """Return the rule with the largest gain in one launch."""
        return load_rules()[self.ranking.rules[self.ranking.winner[row]]]


def rank_bottlenecks(capture: Capture, leads: Sequence[Lead] = LEADS) -> Judgement:
    """Evaluate all rules over all launches, compare their gains, and follow leads in the rest."""
    context = RuleContext(Facts(capture))
    findings = {slug: rule.evaluate(context) for slug, rule in load_rules().items()}
    unexplained = context.units.limited_by_unnamed_unit
    ranking = rank(findings, unexplained, context.facts.substituted)
    cases = tuple(rank_bottlenecks(each, leads) for each in capture.cases)
    return Judgement(context, findings, _with_leads(leads, context, ranking), cases)


def _with_leads(leads: Sequence[Lead], context: RuleContext, ranking: Ranking) -> Ranking:
    winner, decided, at_limit = ranking.winner.copy(), ranking.decided.copy(), ranking.at_limit
    reasons = dict(ranking.reasons)
    for lead, rows in follow_leads(leads, context, decided):
        winner[rows] = ranking.rules.index(lead.bottleneck)
        decided |= rows
        at_limit = np.where(rows, lead.at_limit, at_limit)
        reasons.update(dict.fromkeys(np.flatnonzero(rows).tolist(), lead.reason))
    open_ = ~decided & ~ranking.unexplained
    if open_.any():
        open_ &= _complete(context)
    for row in np.flatnonzero(open_).tolist():
        winner[row], at_limit[row], reasons[row] = _likeliest(context, ranking, row)
        decided[row] = True
    return replace(ranking, winner=winner, decided=decided, at_limit=at_limit, reasons=reasons)


def _complete(context: RuleContext) -> BoolArray:
    """Launches with all that ``--set full`` or the preset ``full`` has.

    Measuring them again would add nothing. A capture that lacks some of what reports never have,
    and not all of it, is neither.
    """
    facts = context.facts
    names = {name for rule in load_rules().values() for name in rule.metrics} - FALLBACKS

    def has(name: str) -> BoolArray:
        settled: BoolArray = facts.settled(name) | ~facts.by_capability(
            partial(facts.metric_exists, name)
        )
        return settled

    complete = np.ones(facts.count, dtype=np.bool_)
    for name in sorted(names - NOT_IN_REPORTS):
        if not complete.any():
            return complete
        complete &= has(name)
    a_report = ~np.logical_or.reduce([facts.has(name) for name in NEVER_IN_REPORTS])
    everything = np.logical_and.reduce([has(name) for name in sorted(names & NOT_IN_REPORTS)])
    complete &= a_report | everything
    return complete


def _likeliest(context: RuleContext, ranking: Ranking, row: int) -> tuple[int, bool, str]:
    """The rule that could bring most in a launch, or that of the busiest unit.

    What reports lack widens a gain upwards: of 18 launches of ours that only these metrics decide,
    the largest possible gain names 15 rightly, the largest certain one 6.
    """
    candidates = sorted(ranking.candidates(row), key=lambda each: -ranking.high[each, row])
    if candidates and ranking.high[candidates[0], row] >= LEAST_GAIN:
        others = " or ".join(ranking.rules[each] for each in candidates[1:3])
        near = f"the estimated gain is close to the reporting threshold of {LEAST_GAIN:g}x"
        reason = f"the metrics are also consistent with {others}" if others else near
        return candidates[0], False, reason
    saturations = context.units.saturations
    busiest = max(_RULE_OF_UNIT, key=lambda unit: float(saturations[unit].low[row]))
    reason = "no metric points to a bottleneck; the verdict names the busiest unit"
    return ranking.rules.index(_RULE_OF_UNIT[busiest]), True, reason


_RULE_OF_UNIT = {
    "dram": "dram-bandwidth",
    "l2": "l2-bandwidth",
    "l1": "l1-throughput",
    "issue": "instruction-issue",
    **dict(sorted(PIPE_RULES.items())),
}


class Grade(NamedTuple):
    """A confidence and the reasons that it is not higher."""

    confidence: Confidence
    reasons: tuple[str, ...]


def grade_verdict(context: RuleContext, ranking: Ranking, rule: Rule, row: int) -> Grade:
    """Grade the decided verdict of one launch.

    Each weakness takes a step off ``high``; two or more end at ``low``.
    """
    if row in ranking.reasons:
        return Grade(Confidence.LOW, (ranking.reasons[row],))
    facts = context.facts
    reasons: list[str] = []
    winner = ranking.winner[row]
    open_ = ranking.high[winner, row] > ranking.low[winner, row] * NARROW
    required = any(facts.lacks(name, row) for name in rule.requires)
    if (required or open_) and (missing := sum(facts.lacks(each, row) for each in rule.metrics)):
        verb = "is" if missing == 1 else "are"
        reasons.append(f"{count(missing, 'metric')} used by this rule {verb} missing")
    if required:
        reasons.append("a required metric is missing")
    if any(facts.source(name, row) is Origin.REPORTED for name in rule.requires):
        reasons.append(
            "part of the evidence comes from rounded values in rule messages of Nsight Compute"
        )
    duration = facts.values("duration")[row]
    if np.isnan(duration):
        reasons.append("the duration is missing")
    elif duration < SHORT_LAUNCH_NS:
        reasons.append("the launch is shorter than 10 us, so its counter values are imprecise")
    if chip_of(facts.capture.launches[row].compute_capability) is None:
        reasons.append("the thresholds were not validated on this GPU architecture")
    doubts = [each for each in facts.doubts if each.rows[row]]
    if any(not each.metrics and each.metric in rule.metrics for each in doubts):
        reasons.append("a metric of the rule had an impossible value")
    for doubt in doubts:
        if doubt.metrics:
            reasons += [f"{doubt.claim}: {doubt.reason}"] * 2
    if not (ranking.at_limit[row] or ranking.overruled[row]):
        reasons += _margin(context, ranking, row)
    steps = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)
    return Grade(steps[min(len(reasons), 2)], tuple(dict.fromkeys(reasons)))


def _margin(context: RuleContext, ranking: Ranking, row: int) -> list[str]:
    first = ranking.low[ranking.winner[row], row]
    others = [r for r in range(len(ranking.rules)) if r != ranking.winner[row]]
    second, name = max((ranking.high[r, row], ranking.rules[r]) for r in others)
    near = ranking.runners_up(row)
    if near:
        return [f"the estimated gain from fixing {ranking.rules[near[0]]} is about the same"]
    if second * CLEAR_MARGIN > first:
        return [f"the estimated gain from fixing {name} is nearly as large"]
    top = context.units.top.low[row]
    if top < NEAR_LIMIT and first < CLEAR_LATENCY_GAIN:
        return ["no unit is near its limit, and no single fix would halve the run time"]
    if NEAR_LIMIT <= top < AT_LIMIT:
        return ["the busiest unit is neither clearly saturated nor clearly idle"]
    return []


OPEN_IN_A_CASE: Final = "the verdict depends on the predicted time or stalls"
PREDICTED: Final = "the counters are predicted, not measured"


def weigh_cases(graded: Grade, judged: Judgement, row: int) -> Grade:
    """Return the grade of a verdict by what the cases make of it; as it is without cases.

    A step lower where one leaves it open, low where one has another, and never high: of the four
    public kernels of ``reports/predict-times-h200.md`` whose prediction was so sure, two measured
    another cause. Of 114 verdicts on predictions of the corpus that only a case took the first step
    off 101 are those on the measured kernel, of 36 that had lost one before 17.
    """
    if not judged.cases:
        return graded
    slug = judged.rule(row).slug
    bottlenecks = {
        None if case.status(row) is Status.INCONCLUSIVE else case.rule(row).slug
        for case in judged.cases
    }
    high = graded.confidence is Confidence.HIGH
    if bottlenecks == {slug}:
        return Grade(Confidence.MEDIUM, (PREDICTED,)) if high else graded
    if others := sorted(each for each in bottlenecks if each not in (None, slug)):
        reason = f"if the predicted run time is off, the verdict may be {' or '.join(others)}"
        return Grade(Confidence.LOW, (*graded.reasons, reason))
    return Grade(Confidence.MEDIUM if high else Confidence.LOW, (*graded.reasons, OPEN_IN_A_CASE))
