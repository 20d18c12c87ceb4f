"""What a kernel executes by kind of instruction: from its code, where that says how often each one
ran, and else from counters. Shares run from 0 to 1.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.architectures import COMMON, fp32_lanes, pipe_instructions
from kernelprof.analysis.metrics.groups import BUSY_CONSTANTS
from kernelprof.model.names import cut_middle, printable
from kernelprof.model.numbers import share
from kernelprof.report.charts.bars import Share
from kernelprof.report.figures.measured import Numbers, clip
from kernelprof.report.figures.roofline import thread_shares, uses_tensor_cores
from sassim.opcodes import find_opcode
from sassim.sass.dataflow import operand_effects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.sampled import SampledCode

EVERYTHING_ELSE: Final = "everything else"
MOVES: Final = "moves"
LOGIC: Final = "integer and logic"
MULTIPLY: Final = "integer multiply"
TENSOR: Final = "tensor"
UNIFORM: Final = "uniform datapath"
LEAST: Final = 0.0005
"""Shares that are shown as nothing are left out."""
_MOST_NAMED: Final = 6
_LONGEST: Final = 40

_ZERO: Final = frozenset(("RZ", "-RZ", "URZ", "-URZ"))
_ADDITIONS: Final = frozenset(("IADD", "SHL", "X"))


@lru_cache(maxsize=65536)
def kind_of(text: str) -> str:
    """The kind of an instruction, from its text; :data:`EVERYTHING_ELSE` for
    an opcode that has none here.

    Compilers write moves, shifts and additions as multiply-adds as well, to use a pipe that is
    free: ``IMAD.MOV``, ``IMAD.SHL``, ``IMAD.IADD``, and any whose two factors are zero.
    """
    effects = operand_effects(text)
    opcode = effects.opcode
    if opcode.endswith("MMA"):
        return TENSOR
    if opcode == "ATOMS" and "ARRIVE" in effects.modifiers:
        return "barrier"
    if opcode == "IMAD" and _ADDITIONS.intersection(effects.modifiers):
        return LOGIC
    if opcode == "IMAD" and ("MOV" in effects.modifiers or _multiplies_zero(text)):
        return MOVES
    if opcode == "HFMA2" and _multiplies_zero(text):
        return MOVES
    return find_opcode(opcode).kind or (UNIFORM if opcode.startswith("U") else EVERYTHING_ELSE)


def _multiplies_zero(text: str) -> bool:
    factors = [each.strip() for each in text.split(",")[1:3]]
    return len(factors) == 2 and _ZERO.issuperset(factors)


def opcode_mix_figure(code: SampledCode | None) -> tuple[Share, ...]:
    """Kinds of instructions by how often warps executed them, the most frequent first.

    Nothing where the code does not say how often each of its instructions ran, or none did.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for each in () if code is None else code.instructions:
        executed = each.counts.executed
        if executed is None:
            return ()
        counts[kind_of(each.text)][operand_effects(each.text).opcode] += executed
    total = sum(sum(each.values()) for each in counts.values())
    if not total:
        return ()
    parts = {kind: sum(each.values()) / total for kind, each in counts.items()}
    remaining = parts.pop(EVERYTHING_ELSE, 0.0)
    shares = [
        Share(kind, part, _tip(counts[kind], total))
        for kind, part in sorted(parts.items(), key=lambda each: -each[1])
        if part >= LEAST
    ]
    remaining += sum(part for part in parts.values() if part < LEAST)
    if remaining >= LEAST:
        others = counts[EVERYTHING_ELSE] or Counter({"kinds of less than 0.05 % each": 0})
        shares.append(Share(EVERYTHING_ELSE, remaining, _tip(others, total)))
    return tuple(shares)


def _tip(opcodes: Counter[str], total: int) -> str:
    entries = []
    for opcode, executed in opcodes.most_common(_MOST_NAMED):
        name = printable(cut_middle(opcode, _LONGEST))
        entries.append(f"{name} ({share(executed / total)})" if executed else name)
    more = " and others" if len(opcodes) > _MOST_NAMED else ""
    return f"Share of the warp-level instructions executed: {', '.join(entries)}{more}."


TOLERANCE: Final = 0.005
"""Part of all instructions by which counters of several passes may add up to more than those."""
MOST_UNKNOWN: Final = 0.5
"""Part of the instructions from which it is said in words that they are not told apart."""

_ARITHMETIC: Final = (
    ("FP32 multiply-add", "ffma_rate"),
    ("FP32 add", "fadd_rate"),
    ("FP32 multiply", "fmul_rate"),
    ("FP64 multiply-add", "dfma_rate"),
    ("FP64 add", "dadd_rate"),
    ("FP64 multiply", "dmul_rate"),
    ("FP16 multiply-add", "hfma_rate"),
    ("FP16 add", "hadd_rate"),
    ("FP16 multiply", "hmul_rate"),
)

_REQUESTS: Final = (
    ("global load", "global_load_requests"),
    ("global store", "global_store_requests"),
    ("global atomic", "global_atomic_requests"),
    ("global reduction", "global_reduction_requests"),
)

_SHARED: Final = (
    ("shared load", "smsp__sass_inst_executed_op_shared_ld.sum"),
    ("shared store", "smsp__sass_inst_executed_op_shared_st.sum"),
    ("local load", "smsp__sass_inst_executed_op_local_ld.sum"),
    ("local store", "smsp__sass_inst_executed_op_local_st.sum"),
)
_BRANCH: Final = ("branch", "smsp__inst_executed_op_branch.sum")
COLUMNS: Final = (*_SHARED, _BRANCH)
"""Kinds that only Nsight Compute's full set counts."""

_OF_THREADS: Final = "Share of the thread-level instructions executed."
_FP16_MOVES: Final = f"{_OF_THREADS} Compilers also use FP16 multiply-adds to move constants."
_OF_WARPS: Final = "Share of the warp-level instructions executed."
_OF_ALU: Final = (
    "Additions, logic, shifts, comparisons: computed from the utilization of the ALU pipe, which "
    "has 64 lanes."
)
_OF_FMA: Final = (
    "Computed from the utilization of the FMA pipe, minus FP32 arithmetic on that pipe. "
    "This is an upper bound: a 64-bit product uses the pipe twice. Compilers also emit moves, "
    "shifts and additions as multiply-adds."
)
_OTHER_MEMORY: Final = "shared, local, shuffles"
_OTHER_LSU: Final = "shuffles, special registers"
_OF_LSU: Final = (
    "Computed from the utilization of the load/store pipe, minus the loads and stores that are "
    "counted separately. Includes reads of some special registers, such as threadIdx."
)
_PIPES: Final = (
    (
        "special functions",
        "xu_pipe",
        "Reciprocals, roots, exponentials, sines, bit counts and conversions: computed from the "
        "utilization of the XU pipe.",
    ),
    (
        TENSOR,
        "wgmma_pipe",
        "Matrix products of warpgroups (wgmma): computed from the utilization of the wgmma pipe.",
    ),
    (
        "barriers, constants",
        "adu_pipe",
        "Barriers and mbarriers, constant loads, and reads of some special registers: computed "
        "from the utilization of the ADU pipe.",
    ),
    (
        UNIFORM,
        "uniform_pipe",
        "Arithmetic done once per warp instead of per thread: computed from the utilization of the "
        "uniform pipe.",
    ),
)


def mix_of_counters(launch: Numbers) -> tuple[Share, ...]:
    """Kinds of instructions, the most frequent first, with everything else at the end.

    Arithmetic is counted by thread and the rest by warp, so the kinds add up only nearly where
    threads of a warp are switched off.
    """
    parts = thread_shares(launch, (metric for _, metric in _ARITHMETIC))
    shares = [
        Share(name, clip(parts[metric]), _FP16_MOVES if metric == "hfma_rate" else _OF_THREADS)
        for name, metric in _ARITHMETIC
        if metric in parts
    ]
    shares += (memory := _requests(launch))
    shares += _of_warps(launch, [(_BRANCH[0], launch.raw(_BRANCH[1]))])
    if not shares:
        return ()
    for each in (*_loads_and_stores(launch, memory), *_of_pipes(launch)):
        if sum(kind.share for kind in shares) + each.share <= 1.0 + TOLERANCE:
            shares.append(each)
    shares += _integers(launch, sum(each.share for each in shares))
    shown = sorted((each for each in shares if each.share >= LEAST), key=lambda each: -each.share)
    remaining = 1.0 - sum(each.share for each in shares)
    if remaining >= LEAST:
        tip = f"Kinds that this capture does not count: {_lacking(launch, shares)}."
        shown.append(Share(EVERYTHING_ELSE, remaining, tip))
    return tuple(shown)


def in_words(mix: Sequence[Share]) -> str:
    """A sentence for a mix of which more than half is not told apart; empty for others."""
    others = next((each for each in mix if each.name == EVERYTHING_ELSE), None)
    if others is None or others.share <= MOST_UNKNOWN:
        return ""
    return (
        f"{share(others.share)} of the instructions are of unknown kind. {others.tip} "
        "To see their kinds, capture with the preset full, which includes the machine code."
    )


def _requests(launch: Numbers) -> list[Share]:
    """Loads and stores that are counted by the memory that they go to."""
    amounts = [(name, launch.value(metric)) for name, metric in _REQUESTS]
    return _of_warps(launch, [*amounts, *((name, launch.raw(column)) for name, column in _SHARED)])


def _of_warps(launch: Numbers, counts: Sequence[tuple[str, float | None]]) -> list[Share]:
    executed = launch.positive("instructions")
    return [
        Share(name, clip(value / executed), _OF_WARPS)
        for name, value in counts
        if executed is not None and value is not None and value >= 0
    ]


def _of_a_cycle(launch: Numbers) -> float | None:
    """The part of all instructions that one a cycle of each SM would be."""
    executed, cycles = launch.positive("instructions"), launch.positive("sm_cycles_elapsed")
    sms = launch.positive("sm_count")
    if executed is None or cycles is None or sms is None:
        return None
    return sms * cycles / executed


def _use(launch: Numbers, pipe: str) -> float | None:
    used, one = launch.share(pipe), _of_a_cycle(launch)
    rate = pipe_instructions(launch.capability).get(pipe)
    return None if used is None or one is None or rate is None else used * rate * one


def _loads_and_stores(launch: Numbers, requests: Sequence[Share]) -> list[Share]:
    whole = _use(launch, "lsu_pipe")
    names = {each.name for each in requests}
    if whole is None or not names.issuperset(name for name, _ in _REQUESTS):
        return []
    remaining = clip(whole - sum(each.share for each in requests))
    has_shared = names.issuperset(name for name, _ in _SHARED)
    return [Share(_OTHER_LSU if has_shared else _OTHER_MEMORY, remaining, _OF_LSU)]


def _of_pipes(launch: Numbers) -> list[Share]:
    rates = ((name, pipe, _use(launch, pipe), tip) for name, pipe, tip in _PIPES)
    # A constant by an index counts once for each of its addresses there.
    replayed = (launch.share("constant_cache") or 0.0) >= BUSY_CONSTANTS
    return [
        Share(name, use, tip)
        for name, pipe, use, tip in rates
        if use is not None and not (pipe == "adu_pipe" and replayed)
    ]


def _integers(launch: Numbers, total: float) -> list[Share]:
    """Integer work, computed from the use of the pipes that do it.

    A pipe of 64 lanes takes two warps' instructions in a cycle of an SM. What the FMA pipe does
    beside FP32 is integer multiplication, where no FP16 runs there, and at most what ``total``, the
    shares counted so far, leaves. Empty where logic and these exceed all instructions: then the
    pipes hold something else.
    """
    sms, lanes = launch.positive("sm_count"), fp32_lanes(launch.capability)
    one = _of_a_cycle(launch)
    alu, fma = launch.share("alu_pipe"), launch.share("fma_pipe")
    if sms is None or one is None or alu is None:
        return []
    logic = alu * COMMON.alu_lanes / COMMON.warp_size * one
    left = 1.0 - total - logic
    if left < -TOLERANCE:
        return []
    shares = [Share(LOGIC, clip(logic), _OF_ALU)]
    floats = [launch.value(f"{name}_rate") for name in ("ffma", "fadd", "fmul")]
    halves = [launch.value(f"{name}_rate") for name in ("hfma", "hadd", "hmul")]
    if fma is not None and lanes is not None and None not in floats and not any(halves):
        arithmetic = sum(each or 0.0 for each in floats) / (sms * lanes)
        multiplied = max(fma - arithmetic, 0.0) * lanes / COMMON.warp_size * one
        shares.append(Share(MULTIPLY, clip(min(multiplied, max(left, 0.0))), _OF_FMA))
    return shares


def _lacking(launch: Numbers, shares: Sequence[Share]) -> str:
    names = {each.name for each in shares if each.name != TENSOR or each.share >= LEAST}
    rates = {name for name, _ in _ARITHMETIC}
    tensor = uses_tensor_cores(launch) and TENSOR not in names
    kinds = (
        ("floating-point arithmetic", not rates <= names),
        ("matrix products on the tensor cores", tensor),
        ("integer work", LOGIC not in names),
        ("integer multiplication", LOGIC in names and MULTIPLY not in names),
        ("global loads and stores", _REQUESTS[0][0] not in names),
        ("shared and local memory", not names & {_SHARED[0][0], _OTHER_MEMORY}),
        ("shuffles", not names & {_OTHER_LSU, _OTHER_MEMORY}),
        *((name, name not in names) for name, pipe, _ in _PIPES if pipe != "wgmma_pipe"),
        ("branches", _BRANCH[0] not in names),
        ("moves", True),
    )
    return ", ".join(name for name, is_lacking in kinds if is_lacking)
