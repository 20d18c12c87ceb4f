"""What a launch would count after a fix, and so what limits it next.

An :class:`kernelprof.analysis.rules.Effect` says which work and which waits a fix removes. The time
shrinks by the gain; what is not removed is done in less time, so its share of the unit's peak
grows. The rules then judge the projected counters as they judge measured ones.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.metrics.groups import (
    FLOATING_POINT_RATES,
    L2_STAGES,
    SM_PIPES,
    STALLS,
)
from kernelprof.analysis.rules import load_rules
from kernelprof.model.capture import MetricColumn, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.analysis.metrics.interval import FloatArray
    from kernelprof.analysis.rules import Effect
    from kernelprof.model.capture import Capture

UNITS: Final[Mapping[str, tuple[str, ...]]] = {
    "l1": (
        "l1_throughput", "l1_throughput_active", "l1_wavefronts", "sm_memory_throughput",
        "lsu_pipe",
    ),
    "shared": ("shared_wavefronts_share", "shared_atomic_wavefronts_share"),
    "l2": (*L2_STAGES, "l2_throughput"),
    "dram": ("dram_throughput", "dram_bandwidth"),
    "issue": ("issue_slots", "issue_slots_active"),
    "arithmetic": FLOATING_POINT_RATES,
    **{pipe: (pipe,) for pipe in SM_PIPES},
    "adu_pipe": ("adu_pipe",),
    "constant_cache": ("constant_cache",),
    "atomics": ("l2_atomic_unit", "l2_atomic_unit_hottest"),
    "tensor": ("tensor_pipe_active", "matrix_pipe", "wgmma_pipe", "tcgen05_pipe"),
}  # fmt: skip
"""Metrics of each unit's use, in parts of its peak or per cycle of the launch."""
_BY_INSTRUCTION: Final = ("issue", *SM_PIPES, "tensor")
"""Units whose work goes with the instructions, where an effect does not say what is left of it."""
_WHOLES: Final[Mapping[str, tuple[str, ...]]] = {
    "sm_throughput": ("l1", "issue", *SM_PIPES, "adu_pipe", "constant_cache"),
    "instruction_throughput": ("issue", *SM_PIPES, "adu_pipe"),
    "memory_throughput": ("l1", "l2", "dram"),
}
"""Metrics of the busiest of several units."""
_WHILE_ACTIVE: Final = frozenset(
    ("l1_throughput_active", "issue_slots_active", "tensor_pipe_active")
)
_MOST_PERCENT: Final = 100.0


class ProjectedFacts(Facts):
    """Facts that were worked out: what counters of one run have in common need not hold."""

    is_projected = True

    def _clear_broken_relations(self) -> None:
        pass


def project(
    facts: Facts, effects: Sequence[tuple[np.typing.NDArray[np.bool_], Effect]], gain: FloatArray
) -> Capture:
    """Return the launches after fixes that make each faster by its ``gain``.

    ``effects`` come each with the launches that it is of.
    """
    looked_at = {name: None for rule in load_rules().values() for name in rule.metrics}
    values = {name: facts.values(name).copy() for name in looked_at if facts.has(name).any()}
    factors: dict[str, FloatArray] = defaultdict(lambda: np.ones(facts.count))
    waits: list[tuple[str, ...]] = [()] * facts.count
    instructions, warps, active = (np.ones(facts.count) for _ in range(3))
    for rows, effect in effects:
        instructions = np.where(rows, effect.instructions, instructions)
        warps = np.where(rows, effect.warps, warps)
        active = np.where(rows, effect.active, active)
        # Where L1 has less to do, shared memory is the part of it that has.
        units = {
            "shared": effect.units.get("l1", 1.0),
            **dict.fromkeys(_BY_INSTRUCTION, effect.instructions),
            **effect.units,
        }
        of_units = {name: f for unit, f in units.items() for name in UNITS[unit]}
        for name, factor in {**of_units, **effect.counters}.items():
            factors[name] = np.where(rows, factor, factors[name])
        for row in np.flatnonzero(rows):
            waits[row] = effect.waits
    for name in (name for names in UNITS.values() for name in names):
        factors[name] *= gain / active if name in _WHILE_ACTIVE else gain
    for name in ("duration", "sm_cycles_elapsed"):
        factors[name] /= gain
    for name in ("sm_cycles_active", "sm_cycles_active_max"):
        factors[name] *= active / gain
    for name in ("achieved_occupancy", "active_warps"):
        factors[name] *= warps
    factors["instructions"] *= instructions
    before = {name: _busiest(values, parts) for name, parts in _WHOLES.items()}
    for name in values.keys() & factors.keys():
        values[name] *= factors[name]
        if load_metrics()[name].unit == "%":
            values[name] = np.minimum(values[name], _MOST_PERCENT)
    for name, parts in _WHOLES.items():
        if name in values:
            now = _busiest(values, parts)
            grown = values[name] * now / np.maximum(before[name], 1e-9)
            values[name] = np.minimum(np.fmax(grown, now), _MOST_PERCENT)
    _project_waits(values, waits, gain / active * instructions / warps)
    metrics = ((load_metrics()[name], each) for name, each in values.items())
    columns = {
        metric.ncu[0]: MetricColumn(metric.ncu[0], each, metric.unit, metric.unit, Origin.PREDICTED)
        for metric, each in metrics
    }
    return replace(facts.capture, columns=columns, cases=(), code=())


def _busiest(values: Mapping[str, FloatArray], units: Iterable[str]) -> FloatArray:
    names = (name for unit in units for name in UNITS[unit] if name not in _WHILE_ACTIVE)
    shares = [values[n] for n in names if n in values and load_metrics()[n].unit == "%"]
    busiest: FloatArray = np.fmax.reduce(shares) if shares else np.zeros(1)
    return busiest


def _project_waits(
    values: dict[str, FloatArray], waits: Sequence[tuple[str, ...]], faster: FloatArray
) -> None:
    """Let warps issue more often: the waits that a fix removes shrink, then all others alike."""
    cycles = values.get("warp_cycles_per_instruction")
    names = [name for name in (f"stall_{each}" for each in STALLS) if name in values]
    if cycles is None or not names:
        return
    target = np.maximum(cycles / faster, 1.0)
    values["warp_cycles_per_instruction"] = target
    stalls = np.nan_to_num(np.vstack([values[name] for name in names]))
    removed = np.array([[name.removeprefix("stall_") in each for each in waits] for name in names])
    # One row after the other: numpy's own order of summation depends on the number of launches.
    here = sum(np.where(removed, stalls, 0.0))
    part = np.clip((sum(stalls) - target) / np.maximum(here, 1e-9), 0.0, 1.0)
    stalls = np.where(removed, stalls * (1.0 - part), stalls)
    issuing = np.array([[name == "stall_selected"] for name in names])
    own = sum(np.where(issuing, stalls, 0.0))
    others = np.maximum(sum(stalls) - own, 1e-9)
    stalls = np.where(issuing, stalls, stalls * np.maximum(target - own, 0.0) / others)
    for name, row in zip(names, stalls, strict=True):
        values[name] = np.where(np.isnan(values[name]), np.nan, row)
