"""How long a launch keeps each unit of the GPU busy: the cycles that its work takes at the least.

What an instruction takes of a pipe is in ``data/instructions.toml``; the rates of L1 and L2 are
below. All were read off the counters of our captures of an H200 (``src/kernelprof/recorded``,
``ncu`` 2025.3.1). Cycles are those of all SMs together, for L2 those of all its slices.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.architectures import EVERY
from kernelprof.predict.caches import NOTHING, Amount
from kernelprof.predict.counts.patterns import SECTOR
from kernelprof.predict.timing.code import FILLED
from kernelprof.predict.timing.pipes import Costs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.predict.caches import Misses
    from kernelprof.predict.counts.counted import Counted
    from kernelprof.predict.counts.tally import Accesses
    from kernelprof.predict.device import Device
    from kernelprof.predict.machine.arrays import Array

_WORD: Final = 4
_SHARED: Final = frozenset(("LDS", "STS", "ATOMS", "SHFL"))
"""Instructions that take a wavefront of shared memory even where no thread takes part: as 15 of 16
do in ``cosine-rows-tree-in-shared-memory`` of ``cuda/pairs``."""
_ATOMICS: Final = ("atomic", "compare")
_CONSTANT_CYCLES: Final = 2.0
"""Cycles of the cache of indexed constants for each word that a warp reads
(``counter-cipher-table-in-constant-memory``, ``codon-hydropathy-code-in-constant-memory``)."""
_LINK: Final = 1.15
"""Cycles of L1's link to L2 for a sector that it passes on, one that is written in part, and one
that comes back (``low-pass-double-samples``, ``random-walks-stored-by-path``,
``cross-fade-sixteen-sectors-a-request``)."""
_LINK_IN_PART: Final = 2.0
_LINK_BACK: Final = 0.55

FLOATING: Final[Mapping[str, str]] = {
    "FFMA": "ffma_rate",
    "FADD": "fadd_rate",
    "FMUL": "fmul_rate",
    "DFMA": "dfma_rate",
    "DADD": "dadd_rate",
    "DMUL": "dmul_rate",
    "HFMA2": "hfma_rate",
    "HADD2": "hadd_rate",
    "HMUL2": "hmul_rate",
}
"""Floating-point instructions, and the metrics that count the threads that carry them out."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Cycles of a slice of L2 for a sector: one it gives, takes whole or in part, or exchanges with
    device memory. Least squares over 97 to 109 captures of an H200 in which the stage is 15 % busy
    or more; half of them lie within 3 % of it, for ``sm_to_l2`` within 10 %.
    """

    given: float
    taken: float
    in_part: float
    read: float = 0.0
    written: float = 0.0


_L2_STAGES: Final[Mapping[str, Stage]] = {
    "l2_sectors": Stage(given=0.373, taken=0.508, in_part=0.508, read=0.216, written=0.125),
    "l2_data": Stage(given=0.284, taken=0.367, in_part=0.367, read=0.592, written=0.395),
    "l2_to_sm": Stage(given=0.497, taken=0.430, in_part=0.430, read=0.093),
    "sm_to_l2": Stage(given=0.22, taken=1.25, in_part=2.4),
}


@dataclass(frozen=True)
class Work:
    """What a launch takes of each unit; see the module."""

    issue: float
    pipes: Mapping[str, float]
    """By their names in ``data/instructions.toml``."""
    constants: float
    """Of the cache of indexed constants."""
    shared: float
    """Wavefronts of shared memory and of shuffles."""
    shared_atomics: float
    wavefronts: float
    """All that L1's data stage serves."""
    requests: float
    link: Amount
    """Of the links between L1 and L2."""
    l2: Mapping[str, Amount]
    """By the names of its stages."""
    dram: Amount
    """Bytes that device memory moves."""
    threads: Mapping[str, float]
    """Threads that carry floating-point instructions out, by the metric that counts them."""

    def least_cycles(self, device: Device) -> float:
        """Cycles that the launch takes at least: the busiest unit works all the time."""
        of_sms = max(
            self.issue,
            *self.pipes.values(),
            self.constants,
            self.wavefronts,
            self.requests,
            self.link.low,
        )
        of_l2 = max(each.low for each in self.l2.values()) / (device.l2_slices or np.inf)
        return max(of_sms / device.sms, of_l2, self.dram.low / device.dram_bytes_per_cycle)


def work(counted: Counted, device: Device, misses: Misses) -> Work:
    """What a launch on a device keeps busy, and for how long."""
    nothing = np.zeros(counted.tally.warps)
    pipes: defaultdict[str, Array] = defaultdict(nothing.copy)
    threads: defaultdict[str, Array] = defaultdict(nothing.copy)
    costs = Costs(device.architecture)
    for i, times, of_threads in counted.executed():
        for pipe, cycles in costs.of(i):
            pipes[pipe] += times * cycles
        if i.opcode in FLOATING:
            carried_out = counted.tally.guarded.get(i.address, of_threads)
            threads[FLOATING[i.opcode]] += carried_out
    every = {name: counted.total(each).value for name, each in pipes.items()}
    # Either half of the FP32 pipe takes what the other has no room for.
    every["fmaheavy"] = max(every.get("fmaheavy", 0.0), every.get("fma", 0.0))
    shared, atomics, others, requests = _wavefronts(counted)
    words = counted.accesses("addresses", lambda each: each.space == "constant")
    whole, in_part = _stored(counted)
    return Work(
        issue=counted.total(counted.instructions()).value / EVERY.schedulers,
        pipes=every,
        constants=counted.total(words).value * _CONSTANT_CYCLES,
        shared=counted.total(shared).value,
        shared_atomics=counted.total(atomics).value,
        wavefronts=counted.total(shared + others).value,
        requests=counted.total(requests).value,
        link=max(
            whole.scaled(_LINK) + in_part.scaled(_LINK_IN_PART),
            misses.loaded.scaled(_LINK_BACK),
            key=lambda each: each.value,
        ),
        l2=_l2(misses, whole, in_part),
        dram=(misses.read + misses.written).scaled(SECTOR),
        threads={name: counted.total(threads[name]).value for name in FLOATING.values()},
    )


def _l2(misses: Misses, whole: Amount, in_part: Amount) -> dict[str, Amount]:
    """Cycles of each stage of L2, of all slices together."""
    return {
        name: misses.loaded.scaled(stage.given)
        + (whole + misses.atomics).scaled(stage.taken)
        + in_part.scaled(stage.in_part)
        + misses.read.scaled(stage.read)
        + misses.written.scaled(stage.written)
        for name, stage in _L2_STAGES.items()
    }


def _wavefronts(counted: Counted) -> tuple[Array, Array, Array, Array]:
    """By warp: wavefronts of shared memory, those of its atomics, all others, and requests to L1.

    Copies to shared memory pass by the data stage.
    """
    shared, atomics, others, requests = (np.zeros(counted.tally.warps) for _ in range(4))
    for i, times, _ in counted.executed():
        if i.opcode in _SHARED:
            shared += times
    for each in counted.tally.accesses.values():
        asked = each.counts["requests"]
        if each.kind == "copy" or each.space in ("constant", "cluster"):
            continue
        requests += asked
        if each.space == "shared":
            own = each.counts["wavefronts"]
            shared += own - asked if each.instruction.opcode in _SHARED else own
            if each.kind in _ATOMICS:
                atomics += own
        elif each.space == "global":
            others += each.counts["passes"]
        else:
            others += asked * max(1.0, each.size / _WORD)
    return shared, atomics, others, requests


def _stored(counted: Counted) -> tuple[Amount, Amount]:
    """Sectors that are stored whole, and those of which a part is."""
    whole, in_part = NOTHING, NOTHING
    for each in counted.tally.accesses.values():
        if each.kind != "store" or each.space not in ("global", "local"):
            continue
        total = counted.total(each.counts["sectors"])
        amount = Amount(total.value, total.low, total.high)
        if _is_in_part(each):
            in_part += amount
        else:
            whole += amount
    return whole, in_part


def _is_in_part(each: Accesses) -> bool:
    """Whether a store leaves much of its sectors as it was; local memory is written whole."""
    if each.space == "local":
        return False
    moved = float(each.counts["sectors"].sum()) * SECTOR
    return float(each.counts["threads"].sum()) * each.size < FILLED * moved
