"""Every verdict as one sentence for people who have never seen a profiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.rules import registry
from kernelprof.model.diagnosis import Status
from kernelprof.model.numbers import number, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.model.diagnosis import Evidence, Verdict

MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Headline:
    """A sentence with a number of the evidence in place of ``{x}``, and without one.

    ``metric`` is the fact of the evidence that gives the number, with this unit. ``full`` is the
    sentence where a unit does needed work as fast as it can.
    """

    plain: str
    told: str = ""
    metric: str = ""
    unit: str = "%"
    full: str = ""
    compared: bool = False
    """Whether the number is only told where its fact, or the first one, is past a threshold."""


_NEEDED = "and all of that work is needed: this is about as fast as this GPU runs such a kernel."

HEADLINES: Final[Mapping[str, Headline]] = {
    "uncoalesced-global-access": Headline(
        "Threads of a warp use addresses that lie far apart, so much of the memory traffic is "
        "wasted.",
        "Threads of a warp use addresses that lie far apart, so {x} of the memory traffic is "
        "wasted.",
        "global_sectors",
    ),
    "shared-bank-conflicts": Headline(
        "Threads of a warp want different words of one shared-memory bank and have to take turns.",
        "Threads of a warp want different words of one shared-memory bank and have to take turns, "
        "which makes up {x} of the accesses' work.",
        "shared_wavefronts",
    ),
    "local-memory-traffic": Headline(
        "Threads keep more data than fits into registers, and moving it to and from memory takes "
        "the time.",
        "Threads keep more data than fits into registers, and {x} of the memory traffic only moves "
        "it out and back in.",
        "local_sectors",
    ),
    "atomic-contention": Headline(
        "Many threads update the same few addresses and have to wait for each other.",
        "Many threads update the same few addresses and spend {x} of their time waiting for each "
        "other.",
        "stall_lg_throttle",
    ),
    "warp-divergence": Headline(
        "Threads of a warp take different paths, so many of them wait while the others work.",
        "Threads of a warp take different paths, so on average only {x} of 32 work at a time.",
        "threads_per_instruction",
        "thread",
    ),
    "small-grid": Headline(
        "The launch is too small for this GPU: much of the time there is not enough work for it.",
        "The launch is too small for this GPU: it takes more than {x} blocks to keep all of it "
        "busy.",
        "grid_size",
        "block",
        compared=True,
    ),
    "low-occupancy": Headline(
        "Too few threads fit on the GPU at once to hide the time that each of them waits.",
        "Too few threads fit on the GPU at once to hide the time that each of them waits: {x} of "
        "the places can be filled.",
        "theoretical_occupancy",
    ),
    "workload-imbalance": Headline(
        "The work is spread unevenly, so parts of the GPU are done early and wait for the rest.",
        "The work is spread unevenly: on average the GPU's multiprocessors have something to do "
        "for {x} of the time.",
        "sm_cycles_active",
    ),
    "barrier-stalls": Headline(
        "Warps wait at barriers for the slower warps of their block.",
        "Warps spend {x} of their time waiting at barriers for other warps of their block.",
        "stall_barrier",
    ),
    "instruction-fetch": Headline(
        "Warps wait for their next instructions: the code is too long for the instruction caches.",
        "Warps spend {x} of their time waiting for their next instruction: the code is too long "
        "for the instruction caches.",
        "stall_no_instruction",
    ),
    "memory-latency": Headline(
        "Warps wait for data from memory, although memory could deliver more at a time.",
        "Warps spend {x} of their time waiting for data from memory, although memory could deliver "
        "more at a time.",
        "stall_long_scoreboard",
    ),
    "dependency-latency": Headline(
        "Warps wait for the results of their own previous instructions.",
        "Warps spend {x} of their time waiting for the results of their own previous instructions.",
        "stall_wait",
    ),
    "l1-throughput": Headline(
        "The path to the L1 cache is full: the kernel loads the same data again and again.",
        "The path to the L1 cache is {x} busy: the kernel loads the same data again and again.",
        "l1_throughput",
        full=f"The path to the L1 cache is as busy as it gets, {_NEEDED}",
    ),
    "shared-memory-throughput": Headline(
        "The path to shared memory is full: each value that is loaded from it is used too rarely.",
        "The path to shared memory is {x} busy: each value that is loaded from it is used too "
        "rarely.",
        "l1_throughput",
        full=f"The path to shared memory is as busy as it gets, {_NEEDED}",
    ),
    "integer-throughput": Headline(
        "Integer arithmetic keeps its units busy nearly all the time, and everything else waits.",
        full=f"Integer arithmetic keeps its units as busy as they get, {_NEEDED}",
    ),
    "instruction-issue": Headline(
        "The GPU issues instructions nearly as fast as it can, and most of them are not the actual "
        "arithmetic.",
        "The GPU uses {x} of its chances to issue an instruction, and most of these are not the "
        "actual arithmetic.",
        "issue_slots",
        full=f"The GPU issues instructions as fast as it can, {_NEEDED}",
    ),
    "l2-bandwidth": Headline(
        "The L2 cache is what everything else waits for: it moves too much data.",
        "The L2 cache is what everything else waits for: it is {x} busy with moving data.",
        "l2_throughput",
        full=f"The L2 cache moves data as fast as it can, {_NEEDED}",
    ),
    "dram-bandwidth": Headline(
        "Device memory is what everything else waits for: it moves too much data.",
        "Device memory is what everything else waits for: it runs at {x} of its peak.",
        "dram_throughput",
        full=f"Device memory moves data about as fast as it can, {_NEEDED}",
    ),
    "fp32-throughput": Headline(
        "FP32 arithmetic is what takes the time: its units are the busiest part of the GPU.",
        full=f"FP32 arithmetic keeps its units about as busy as they get, {_NEEDED}",
    ),
    "fp64-throughput": Headline(
        "FP64 arithmetic is what takes the time: its units are the busiest part of the GPU.",
        "FP64 arithmetic is what takes the time: its units are {x} busy.",
        "fp64_pipe",
        full=f"FP64 arithmetic keeps its units about as busy as they get, {_NEEDED}",
    ),
    "tensor-throughput": Headline(
        "The tensor cores are what takes the time: they are the busiest part of the GPU.",
        "The tensor cores are what takes the time: they are {x} busy.",
        "tensor_pipe",
        full=f"The tensor cores are about as busy as they get, {_NEEDED}",
    ),
    "sfu-throughput": Headline(
        "Functions such as sine, exponential and root take the time: their units are the busiest "
        "part of the GPU.",
        "Functions such as sine, exponential and root take the time: their units are {x} busy.",
        "xu_pipe",
        full=f"Functions such as sine, exponential and root keep their units as busy as they get, "
        f"{_NEEDED}",
    ),
}


def headline(verdict: Verdict) -> str:
    """The verdict in one plain sentence."""
    if verdict.status is Status.INCONCLUSIVE:
        return _open(verdict)
    found = HEADLINES.get(verdict.bottleneck or "")
    if found is None:
        return f"The kernel is held back by {verdict.bottleneck}."
    if verdict.status is Status.AT_LIMIT:
        return found.full or (
            f"Nothing that can be removed costs notable time; most of what is left is "
            f"{_title(verdict.bottleneck or '')}."
        )
    told = _number(found, verdict.evidence)
    return found.told.format(x=told) if told else found.plain


def _number(found: Headline, evidence: tuple[Evidence, ...]) -> str:
    """The number for a sentence; empty where the evidence does not have it."""
    past = any(each.threshold is not None for each in evidence)
    for each in evidence:
        if each.metric != found.metric or each.unit != found.unit:
            continue
        if found.compared and not past:
            continue
        return share(each.value / 100.0) if found.unit == "%" else number(each.value)
    return ""


def _open(verdict: Verdict) -> str:
    if verdict.also and not verdict.missing:
        return "The counters of this capture do not explain what holds the kernel back."
    names = [_title(each.bottleneck) for each in verdict.also[:MOST_NAMED]]
    if len(verdict.also) > MOST_NAMED:
        names.append("something else")
    if len(names) > 1:
        names = [", ".join(names[:-1]), names[-1]]
    if names:
        return f"This capture does not show what holds the kernel back: {_could(names)}."
    if verdict.missing:
        return "This capture lacks the counters that would show what holds the kernel back."
    return "The counters show nothing that costs this kernel notable time."


def _could(names: list[str]) -> str:
    return f"it could be {' or '.join(names)}"


def _title(slug: str) -> str:
    """A rule's title inside a sentence: ``L1 throughput``, ``memory latency``."""
    rule = registry().get(slug)
    if rule is None:
        return slug
    title = rule.title
    plain = title[:1].isupper() and title[1:2].islower()
    return title[:1].lower() + title[1:] if plain else title
