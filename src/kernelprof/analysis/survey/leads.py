"""What a kernel that was only sampled is likely limited by.

Samples have no sectors of global accesses, so the rules can rule out next to nothing. Some values
point to one bottleneck all the same, as the leads of a set such as ``basic`` do. They were chosen
in view of the captures with everything in this repository and of programs that were sampled:
``python -m benchmarks.reduced`` counts, for the columns of ``samples``, how often they name what
everything names. A verdict by one has low confidence.

Warps of programs of a second or two are not sampled: what they wait for is unknown then, and some
leads go by what keeps a GPU busy alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.verdict.ranking import (
    BUSY_DRAM,
    FULL,
    IDLE,
    PIPE_RULES,
    SHORT_NS,
    TINY_BLOCK_THREADS,
    Lead,
    LeadValues,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.analysis.metrics.interval import BoolArray, FloatArray
    from kernelprof.analysis.rules import RuleContext

    Condition = Callable[[LeadValues, RuleContext], BoolArray]

FILLED_WARPS: Final = 23.0
"""Threads of an instruction from which divergence is not what fills a pipe."""
BUSY_FMA: Final = 0.53
"""Of both halves of the FP32 pipe: integer multiplications keep the heavy one busy alone."""
BUSY_ISSUE: Final = 0.7
SOME_DRAM: Final = 0.50
LEAST_DRAM: Final = 0.2
"""Use of DRAM from which it tells what warps wait for."""
LONG_WAIT: Final = 0.5
"""Share of the cycles of warps that wait for memory, or for instructions."""
SOME_WAIT: Final = 0.35
"""The same of warps that also issue, while no unit is busy."""
BARRIER_WAIT: Final = 0.4
HIGH_OCCUPANCY: Final = 50.0
SOME_OCCUPANCY: Final = 40.0
"""Where most of the time of warps is known to be waits for memory."""
MOST_OF_A_WAVE: Final = 0.6
SMALL_WAVE: Final = 0.7
"""Share of a wave below which a brief launch leaves warps' places empty."""
LOW_OCCUPANCY: Final = 40.0
FEWEST_WARPS: Final = 12.5
FEWEST_WAVES: Final = 0.8
MOST_SMS: Final = 0.92
"""Share of the SMs that have a block, from which more blocks bring little."""
QUIET_OWN_L1: Final = 0.35
"""Use of L1 for anything but shared memory."""
MANY_IDLE_LANES: Final = 20.0
"""Threads of an instruction below which divergence is what a busy GPU is limited by."""
MOST_WAIT: Final = 0.75
AT_REST: Final = 0.03
"""Of the peak of every unit: a GPU that is full of warps does next to nothing."""
FULL_PIPELINE: Final = 0.9
"""Of the tensor pipe, from which warps that wait for operands keep it full."""
FULL_DRAM_OF_PIPELINES: Final = 0.88
"""Of DRAM, from which it is what a pipeline of copies and tensor cores waits for."""
CACHED_NS: Final = 25_000.0
"""What a briefer kernel writes may stay in L2 when ``ncu`` runs it alone: in a program DRAM is 5 to
30 points busier then, with what the kernels before it wrote."""
MOSTLY_READ: Final = 0.25
"""Bytes written for each byte read from DRAM, up to which that is no matter."""
MOST_PIPELINES: Final = 0.78
NEARLY_ALL_SMS: Final = 0.9
WELL_FED_PIPELINE: Final = 0.86
"""Use of the tensor pipe of SMs with a block, below which a pipeline's waits cost more than the
idle SMs, if it has nearly all of them (``WELL_FED_TENSOR`` if it has most): 37 to 76 % in ten such
kernels."""
MORE_THAN_OPERANDS: Final = 1.2
"""Use of L1, over the tensor pipe's, from which it does more than to read operands of ``wgmma``."""
WELL_FED_TENSOR: Final = 0.66
SHORT_WAIT: Final = 0.3
FEW_CONFLICTS: Final = 0.2
MANY_CONFLICTS: Final = 0.3
"""Share of the wavefronts of shared memory."""
BUSY_L1: Final = 70.0
SOME_L1: Final = 20.0
MOST_WAVEFRONTS: Final = 2.0
"""Of L1 for each instruction of accesses in order."""
SYSTEM_SHARED_BYTES: Final = 1024.0
"""Of shared memory that each block has without its own (since Ampere)."""
SCATTERED_L1: Final = 80.0
SCATTERED_L1_SHARE: Final = 0.6
"""The same, as a share and without shared memory, of warps that wait for memory."""
QUIET_L1: Final = 60.0
SOME_L2: Final = 25.0
CALM_L2: Final = 45.0
BUSY_L2: Final = 55.0
"""Percent of the peaks of L1 and of L2. L2 seldom exceeds 65 % in sectors."""
MOSTLY_SHARED: Final = 0.4
LITTLE_SHARED: Final = 0.1
"""Share of the cycles of an SM in which L1 serves shared memory."""
SOME_ISSUE: Final = 0.25
"""Scattered accesses and atomics keep issue slots idler than that."""
SOME_LONG_WAIT: Final = 0.1
"""Share of the cycles of warps that wait for memory where few fit on an SM."""
WELL_FED_ISSUE: Final = 0.3
MODERATE_ISSUE: Final = 0.4
SOME_TENSOR: Final = 0.28
IDLE_TENSOR: Final = 0.1
LITTLE_TENSOR: Final = 0.15
FEW_WAVES: Final = 2.0
EARLY_END: Final = 0.6
"""Share of their warps that SMs have on average, below which many end long before the last."""
EARLY_SMS: Final = 0.5
"""Share of the launch in which SMs are active on average."""
SOME_BLOCKS: Final = 2.0
"""Of each SM."""
SOME_NS: Final = 15_000.0
LONG_NS: Final = 100_000.0
"""Durations of which launch overhead is a tenth, and next to nothing."""
BRIEF_NS: Final = 6_000.0
"""A quarter of it is launch overhead."""
PIPELINE_WAIT: Final = 0.4
PIPELINE_ISSUE: Final = 0.25
PIPELINE_OCCUPANCY: Final = 20.0
"""Warps that wait for the tensor cores and for copies are few, and issue little."""


def _share(values: LeadValues, stall: str) -> FloatArray:
    return values[f"stall_{stall}"] / values["warp_cycles_per_instruction"]


def _low(context: RuleContext, unit: str) -> FloatArray:
    low: FloatArray = context.units.saturations[unit].low
    return low


def _is_idle(values: LeadValues, context: RuleContext, below: float = IDLE) -> BoolArray:
    # Whether units and caches were sampled, and none of them is busier
    caches = [values[name] / 100 for name in ("l1_wavefronts", "l1_writeback", "l2_sectors")]
    idle: BoolArray = np.less(np.fmax.reduce([context.units.top.low, *caches]), below)
    return idle & _has_units(values)


def _has_units(values: LeadValues) -> BoolArray:
    sampled: BoolArray = np.isfinite(_l1(values)) & np.isfinite(values["l2_sectors"])
    return sampled


def _fma(values: LeadValues, context: RuleContext) -> FloatArray:
    unmeasured = np.isnan(values["fma_pipe"])
    return np.where(unmeasured, _low(context, "fma_heavy_pipe"), _low(context, "fma_pipe"))


def _l1(values: LeadValues) -> FloatArray:
    # In percent
    used: FloatArray = np.fmax(values["l1_wavefronts"], values["l1_writeback"])
    return used


def _shared(values: LeadValues, context: RuleContext) -> FloatArray:
    cycles = values["sm_cycles_active"] * values["sm_count"]
    part: FloatArray = values["shared_wavefronts_measured"] / cycles
    none = values["shared_memory_per_block"] <= SYSTEM_SHARED_BYTES
    none &= context.facts.by_capability(lambda each: each is not None and each >= (8, 0))
    return np.where(np.isnan(part) & none, 0.0, part)


def _own_l1(values: LeadValues, context: RuleContext) -> FloatArray:
    # Without shared memory, 0 to 1
    own: FloatArray = _l1(values) / 100 - np.nan_to_num(_shared(values, context))
    return own


def _occupancy(values: LeadValues) -> FloatArray:
    # The most that it can be, where it was not sampled
    achieved, most = values["achieved_occupancy"], values["theoretical_occupancy"]
    return np.where(np.isnan(achieved), most, achieved)


def _fills_gpu(values: LeadValues) -> BoolArray:
    return (_occupancy(values) > HIGH_OCCUPANCY) & (values["waves_per_sm"] >= MOST_OF_A_WAVE)


def _keeps_no_local_data(values: LeadValues) -> BoolArray:
    none: BoolArray = np.equal(values["local_load_sectors"] + values["local_store_sectors"], 0.0)
    return none


def _has_room(values: LeadValues, context: RuleContext) -> BoolArray:
    # Neither memory nor issue slots are full.
    return _has_free_dram(values, context) & (_low(context, "issue") < BUSY_ISSUE)


def _has_quiet_l1(values: LeadValues, context: RuleContext) -> BoolArray:
    # Blocks on all SMs whose L1 works, and not for shared memory, may scatter their accesses.
    quiet: BoolArray = np.less(_own_l1(values, context), QUIET_OWN_L1)
    return quiet


def _is_pipeline(values: LeadValues, context: RuleContext) -> BoolArray:
    # Few warps that feed tensor cores
    works: BoolArray = np.greater_equal(_low(context, "tensor_pipe"), LITTLE_TENSOR)
    return works & (_occupancy(values) < PIPELINE_OCCUPANCY)


def _is_recent_pipeline(values: LeadValues, context: RuleContext) -> BoolArray:
    # Copies that are under way do not mind a busy unit; since Hopper they need no threads.
    recent = context.facts.by_capability(lambda each: each is not None and each >= (9, 0))
    return _is_pipeline(values, context) & recent


def _full_dram(values: LeadValues, context: RuleContext) -> BoolArray:
    # What is mostly read finds no lines of others to write.
    reads = values["dram_bytes_written"] < MOSTLY_READ * values["dram_bytes_read"]
    limit = np.where((values["duration"] < CACHED_NS) & ~reads, FULL, BUSY_DRAM)
    limit = np.where(_is_recent_pipeline(values, context), FULL_DRAM_OF_PIPELINES, limit)
    full: BoolArray = _low(context, "dram") >= limit
    return full


def _has_free_dram(values: LeadValues, context: RuleContext) -> BoolArray:
    writes = values["dram_bytes_written"] >= MOSTLY_READ * values["dram_bytes_read"]
    limit = np.where((values["duration"] < CACHED_NS) & writes, FULL, BUSY_DRAM)
    limit = np.where(_is_recent_pipeline(values, context), FULL_DRAM_OF_PIPELINES, limit)
    free: BoolArray = _low(context, "dram") < limit
    return free


def _waits_for_dram_alone(values: LeadValues, context: RuleContext) -> BoolArray:
    # No unit that was sampled is busier, and it is not full.
    dram = _low(context, "dram")
    some = np.isfinite(values["dram_throughput"]) & (dram >= LEAST_DRAM)
    return some & (context.units.top.low <= dram) & _has_free_dram(values, context)


def _full_tensor(values: LeadValues, context: RuleContext) -> BoolArray:
    waits = ~(_waits_for_operands(values) < SHORT_WAIT) & _is_pipeline(values, context)
    full: BoolArray = _low(context, "tensor_pipe") >= np.where(waits, FULL_PIPELINE, FULL)
    return full


def _small(values: LeadValues, context: RuleContext) -> BoolArray:
    waves = values["waves_per_sm"]
    brief = (values["duration"] < SHORT_NS) & (waves < SMALL_WAVE)
    few = (waves < 0.5) & _has_quiet_l1(values, context)
    on_few_sms = values["grid_size"] / values["sm_count"] < IDLE
    idle = np.where(_has_units(values), _is_idle(values, context), on_few_sms)
    idle |= _waits_for_dram_alone(values, context) & (few | brief)
    fed = _is_pipeline(values, context) & (_low(context, "tensor_pipe") >= SOME_TENSOR)
    fed &= _waits_more_than_idle_sms(values, context)
    return (values.small | few | brief) & idle & ~fed


def _waits_more_than_idle_sms(values: LeadValues, context: RuleContext) -> BoolArray:
    # Of a pipeline on most SMs: the more of them it has, the less the others would bring.
    part = values["grid_size"] / values["sm_count"]
    busy = np.where(part >= NEARLY_ALL_SMS, WELL_FED_PIPELINE, WELL_FED_TENSOR) * part
    waits: BoolArray = (part >= MOST_PIPELINES) & (_low(context, "tensor_pipe") < busy)
    return ~_has_idle_sms(values) | waits


def _is_tiny(values: LeadValues, context: RuleContext) -> BoolArray:
    # By its launch and duration alone: in what was sampled of it nothing is full.
    tiny = (values["waves_per_sm"] < 0.5) & (values["duration"] < BRIEF_NS)
    return tiny & (context.units.top.low < FULL)


def _has_few_blocks(values: LeadValues, context: RuleContext) -> BoolArray:
    # Two warps for each scheduler or fewer
    few = (values["waves_per_sm"] < FEWEST_WAVES) & (_occupancy(values) < FEWEST_WARPS)
    room = _is_idle(values, context, BUSY_ISSUE) & _has_quiet_l1(values, context)
    return few & room & ~context.pipeline.by_design.maybe


def _has_full_warps(values: LeadValues) -> BoolArray:
    rows: BoolArray = ~np.less(values["threads_per_instruction_predicated"], FILLED_WARPS)
    return rows


def _full_of_threads(unit: str) -> Condition:
    return lambda values, context: (_low(context, unit) >= FULL) & _has_full_warps(values)


def _full_of_integers(values: LeadValues, context: RuleContext) -> BoolArray:
    heavy = _low(context, "fma_heavy_pipe") >= FULL
    return heavy & (_fma(values, context) < BUSY_FMA) & _has_full_warps(values)


def _full_fp32(values: LeadValues, context: RuleContext) -> BoolArray:
    mostly = (_fma(values, context) >= BUSY_FMA) & (_low(context, "alu_pipe") < BUSY_FMA)
    return (_low(context, "issue") >= BUSY_ISSUE) & mostly & _has_full_warps(values)


def _full_issue(values: LeadValues, context: RuleContext) -> BoolArray:
    issues = _low(context, "issue") >= BUSY_ISSUE
    return issues & (_fma(values, context) < BUSY_FMA) & _has_full_warps(values)


def _conflicts(values: LeadValues) -> FloatArray:
    return values["shared_bank_conflicts"] / values["shared_wavefronts_measured"]


def _has_conflicts(values: LeadValues, context: RuleContext) -> BoolArray:
    busy = (_l1(values) >= QUIET_L1) & (_shared(values, context) >= MOSTLY_SHARED)
    return busy & (_conflicts(values) >= MANY_CONFLICTS)


def _full_shared_memory(values: LeadValues, context: RuleContext) -> BoolArray:
    busy = (_shared(values, context) > 0.5) & (_l1(values) >= BUSY_L1)
    # Operands of wgmma keep L1 as busy as the tensor pipe.
    busy &= ~(_low(context, "tensor_pipe") > _l1(values) / 100 / MORE_THAN_OPERANDS)
    few = _conflicts(values) < FEW_CONFLICTS
    # Libraries place operands of tensor cores without conflicts.
    feeds = context.facts.of_library & (_low(context, "tensor_pipe") >= SOME_TENSOR)
    few |= np.isnan(_conflicts(values)) & feeds
    return busy & few & (_low(context, "issue") < FULL)


def _scatters(values: LeadValues, context: RuleContext) -> BoolArray:
    own = (_l1(values) >= SCATTERED_L1) & (_shared(values, context) < LITTLE_SHARED)
    return own & (_low(context, "issue") < SOME_ISSUE) & ~values.small


def _waits_while_l1_works(values: LeadValues, context: RuleContext) -> BoolArray:
    own = _own_l1(values, context) >= SCATTERED_L1_SHARE
    long, issue = _share(values, "long_scoreboard"), _low(context, "issue")
    waits = (long > LONG_WAIT) & (_low(context, "dram") < SOME_DRAM)
    # What is used again in L1 asks little of L2.
    missing = (long > MOST_WAIT) & (values["l2_sectors"] >= SOME_L2)
    idle = (issue < WELL_FED_ISSUE) | (missing & (issue < MODERATE_ISSUE))
    return own & waits & idle & ~values.small & _keeps_no_local_data(values)


def _takes_many_wavefronts(values: LeadValues, context: RuleContext) -> BoolArray:
    # Four serve the widest access in order, and not all instructions are accesses.
    cycles = values["sm_cycles_elapsed"] * values["sm_count"]
    own = values["l1_wavefronts"] / 100 - _shared(values, context)
    many = own * cycles >= MOST_WAVEFRONTS * values["instructions"]
    busy = (_l1(values) >= SOME_L1) & (_shared(values, context) < LITTLE_SHARED)
    return many & busy & ~values.small & _keeps_no_local_data(values)


def _full_l1(values: LeadValues, context: RuleContext) -> BoolArray:
    own = (_l1(values) >= BUSY_L1) & (_shared(values, context) < LITTLE_SHARED)
    return own & (_low(context, "issue") >= WELL_FED_ISSUE) & _keeps_no_local_data(values)


def _full_l2(values: LeadValues, context: RuleContext) -> BoolArray:
    moves = (values["l2_sectors"] >= BUSY_L2) & _has_free_dram(values, context)
    return moves & (_low(context, "tensor_pipe") < SOME_TENSOR) & _keeps_no_local_data(values)


def _waits_at_barriers(values: LeadValues, context: RuleContext) -> BoolArray:
    waits = _share(values, "barrier") >= BARRIER_WAIT
    return waits & _has_room(values, context) & (_low(context, "tensor_pipe") < IDLE_TENSOR)


def _waits_mostly(stall: str) -> Condition:
    return lambda values, _: np.greater(_share(values, stall), LONG_WAIT)


def _diverges(values: LeadValues, context: RuleContext) -> BoolArray:
    idle_lanes = values["threads_per_instruction_predicated"] < MANY_IDLE_LANES
    return idle_lanes & (context.units.top.low >= IDLE) & ~values.small


def _waits_for_constants(values: LeadValues, context: RuleContext) -> BoolArray:
    waits = _share(values, "mio_throttle") >= MOST_WAIT
    return waits & (_l1(values) < 100 * AT_REST) & (_low(context, "xu_pipe") < IDLE)


def _is_at_rest(values: LeadValues, context: RuleContext) -> BoolArray:
    idle = _is_idle(values, context, AT_REST) & (_low(context, "issue") < AT_REST)
    return idle & _fills_gpu(values)


def _has_idle_sms(values: LeadValues) -> BoolArray:
    few: BoolArray = np.less(values["grid_size"], MOST_SMS * values["sm_count"])
    return few


def _waits_for_operands(values: LeadValues) -> FloatArray:
    return _share(values, "barrier") + _share(values, "long_scoreboard")


def _multiplies_without_waiting(values: LeadValues, context: RuleContext) -> BoolArray:
    multiplies = _low(context, "tensor_pipe") >= WELL_FED_TENSOR
    return multiplies & (_waits_for_operands(values) < SHORT_WAIT)


def _waits_in_pipeline(values: LeadValues, context: RuleContext) -> BoolArray:
    tensor = _low(context, "tensor_pipe")
    waits = _waits_for_operands(values)
    few = _occupancy(values) < PIPELINE_OCCUPANCY
    few &= values["l2_sectors"] < BUSY_L2
    works = (tensor >= SOME_TENSOR) & (tensor < FULL_PIPELINE)
    works &= np.isnan(waits) | (waits >= PIPELINE_WAIT)
    works &= _waits_more_than_idle_sms(values, context)
    issue = np.where(waits >= LONG_WAIT, MODERATE_ISSUE, PIPELINE_ISSUE)
    return few & works & (_low(context, "issue") < issue)


def _leaves_tensor_cores_idle(values: LeadValues, context: RuleContext) -> BoolArray:
    # Few warps that also compute, as those of attention do
    few = _is_pipeline(values, context) & ~values.small & (values["l2_sectors"] < CALM_L2)
    return few & _is_idle(values, context)


def _copies_from_busy_dram(values: LeadValues, context: RuleContext) -> BoolArray:
    few = _is_recent_pipeline(values, context) & ~values.small & (values["l2_sectors"] < CALM_L2)
    return few & _waits_for_dram_alone(values, context)


def _has_idle_units(values: LeadValues, context: RuleContext) -> BoolArray:
    # Of kernels with many warps; scattered accesses would keep caches busy, or issue slots idle.
    quiet = (_l1(values) < QUIET_L1) | (_has_quiet_l1(values, context) & (_l1(values) < BUSY_L1))
    in_order = quiet & (values["l2_sectors"] < BUSY_L2)
    in_order &= ~(np.fmax.reduce([_low(context, unit) for unit in PIPE_RULES]) >= FULL)
    return _fills_gpu(values) & in_order & _has_room(values, context) & _keeps_no_local_data(values)


def _waits_for_memory(values: LeadValues, context: RuleContext) -> BoolArray:
    dram, issue = _low(context, "dram"), _low(context, "issue")
    long = _share(values, "long_scoreboard")
    waits = (long > SOME_WAIT) & _has_free_dram(values, context)
    busy = (dram >= SOME_DRAM) & (_occupancy(values) > HIGH_OCCUPANCY)
    mostly = (long > SOME_WAIT) & (_occupancy(values) > SOME_OCCUPANCY)
    mostly &= (values["waves_per_sm"] >= MOST_OF_A_WAVE) & _is_idle(values, context)
    mostly &= _keeps_no_local_data(values)
    idle = _has_idle_units(values, context) | mostly
    # Of what comes from DRAM in order L2 has less to do than DRAM.
    streams = (long > MOST_WAIT) & (dram >= LEAST_DRAM) & (values["l2_sectors"] / 100 < dram)
    streams &= _has_idle_units(values, context)
    return waits & (busy | (idle & (issue >= SOME_ISSUE)) | streams)


def _lacks_stalls(values: LeadValues) -> BoolArray:
    unknown: BoolArray = np.isnan(_share(values, "long_scoreboard"))
    return unknown


def _seems_to_wait_for_memory(values: LeadValues, context: RuleContext) -> BoolArray:
    issue = _low(context, "issue")
    some = (issue >= SOME_ISSUE) & (issue < IDLE)
    return _lacks_stalls(values) & some & _has_idle_units(values, context)


def _keeps_memory_partly_busy(values: LeadValues, context: RuleContext) -> BoolArray:
    # Without scattered accesses, which take more of L1 than of L2
    dram, issue = _low(context, "dram"), _low(context, "issue")
    l2 = values["l2_sectors"]
    moves = (dram >= SOME_DRAM) | ((l2 >= SOME_L2) & (l2 < BUSY_L2))
    wavefronts = values["l1_wavefronts"]
    wavefronts = np.where(np.isnan(wavefronts), values["l1_writeback"], wavefronts)
    in_order = (_l1(values) < QUIET_L1) & (wavefronts <= l2)
    calm = np.isfinite(values["issue_slots"]) & (issue < MODERATE_ISSUE)
    calm &= _has_free_dram(values, context)
    calm &= ~(_low(context, "tensor_pipe") >= IDLE_TENSOR)
    calm &= ~(np.fmax.reduce([_low(context, unit) for unit in PIPE_RULES]) >= IDLE)
    fills = (values["waves_per_sm"] >= FEWEST_WAVES) & ~values.small
    # Those with shared memory may wait at barriers.
    fills &= values["shared_memory_per_block"] <= SYSTEM_SHARED_BYTES
    in_order &= _keeps_no_local_data(values)
    return moves & in_order & calm & fills


def _waits_for_partly_busy_memory(values: LeadValues, context: RuleContext) -> BoolArray:
    sure = (_low(context, "dram") >= SOME_DRAM) | (values["duration"] < CACHED_NS)
    waits = sure & (_share(values, "long_scoreboard") > LONG_WAIT)
    return waits & _keeps_memory_partly_busy(values, context)


def _is_mostly_launched(values: LeadValues, context: RuleContext) -> BoolArray:
    brief = (values["duration"] < BRIEF_NS) & (values["waves_per_sm"] < FEW_WAVES)
    brief &= _occupancy(values) >= HIGH_OCCUPANCY
    return brief & (context.units.top.low < BUSY_DRAM) & _has_units(values)


def _leaves_sms_idle(values: LeadValues, context: RuleContext) -> BoolArray:
    calm = (context.units.top.low < FULL) & _has_free_dram(values, context)
    return _has_idle_sms(values) & calm


def _has_few_warps(values: LeadValues, context: RuleContext) -> BoolArray:
    return (
        (_share(values, "long_scoreboard") > LONG_WAIT)
        & _is_idle(values, context)
        & (_occupancy(values) <= LOW_OCCUPANCY)
    )


def _ends_early(values: LeadValues, context: RuleContext) -> BoolArray:
    # Blocks that all begin at once, or almost; brief ones always end at different times, and so do
    # roles of a pipeline.
    waves = values["waves_per_sm"]
    # The last wave of equal blocks need not be full.
    all_warps = waves / np.ceil(waves) * values["theoretical_occupancy"]
    early = (values["achieved_occupancy"] < EARLY_END * all_warps) & (waves < FEW_WAVES)
    early &= (waves >= MOST_OF_A_WAVE) & (values["theoretical_occupancy"] > HIGH_OCCUPANCY)
    early &= values["duration"] >= BRIEF_NS
    return early & ~values.small & _is_idle(values, context)


def _has_one_long_block(values: LeadValues, context: RuleContext) -> BoolArray:
    # All SMs had blocks, and most were done with them long before the last.
    active = values["sm_cycles_active"] / values["sm_cycles_elapsed"]
    early = (active < EARLY_SMS) & (values["grid_size"] >= SOME_BLOCKS * values["sm_count"])
    # Of many waves the last is a small part, unless a block takes long.
    long = (values["waves_per_sm"] < FEW_WAVES) | (values["duration"] >= LONG_NS)
    return early & long & (values["duration"] >= SOME_NS) & _is_idle(values, context)


def _has_few_places(values: LeadValues, context: RuleContext) -> BoolArray:
    few = values["theoretical_occupancy"] <= HIGH_OCCUPANCY
    few &= (values["waves_per_sm"] >= 1.0) & ~values.small
    waits = _share(values, "long_scoreboard")
    waiting = np.isnan(waits) | (waits >= SOME_LONG_WAIT)
    few &= _keeps_no_local_data(values) & (_low(context, "tensor_pipe") < IDLE_TENSOR)
    return few & waiting & _is_idle(values, context)


def _lead(bottleneck: str, holds: Condition, reason: str, *, at_limit: bool = False) -> Lead:
    return Lead(bottleneck, holds, f"based on samples: {reason}", without=(), at_limit=at_limit)


SAMPLED_LEADS: Final = (
    _lead(
        "warp-divergence",
        lambda values, _: (values["block_size"] <= TINY_BLOCK_THREADS) & ~values.small,
        "at most 4 of 32 lanes of a warp are active",
    ),
    _lead(
        "workload-imbalance",
        _has_one_long_block,
        "SMs have had blocks, and on average no work for half of the launch",
    ),
    _lead("small-grid", _small, "the launch is small, and no unit is full"),
    _lead("small-grid", _is_tiny, "few warps are launched, and a quarter is launch overhead"),
    _lead("small-grid", _has_few_blocks, "SMs have few warps and room for more blocks"),
    _lead(
        "dram-bandwidth",
        _full_dram,
        "DRAM is saturated; wasted traffic is not measured",
        at_limit=True,
    ),
    _lead(
        "tensor-throughput",
        _full_tensor,
        "the tensor pipe is saturated",
        at_limit=True,
    ),
    *(
        _lead(slug, _full_of_threads(unit), "an arithmetic pipe is saturated", at_limit=True)
        for unit, slug in PIPE_RULES.items()
        if slug not in ("fp32-throughput", "tensor-throughput")
    ),
    _lead(
        "integer-throughput",
        _full_of_integers,
        "the FMA heavy pipe, which multiplies integers, is saturated",
        at_limit=True,
    ),
    _lead(
        "shared-bank-conflicts",
        _has_conflicts,
        "many shared-memory wavefronts are caused by bank conflicts",
    ),
    _lead("warp-divergence", _diverges, "many lanes of a warp are idle, and a unit is busy"),
    _lead(
        "shared-memory-throughput",
        _full_shared_memory,
        "shared-memory wavefronts saturate L1, and few are caused by bank conflicts",
        at_limit=True,
    ),
    _lead("fp32-throughput", _full_fp32, "issue slots and the FP32 pipe are busy", at_limit=True),
    _lead(
        "uncoalesced-global-access",
        _scatters,
        "L1 is saturated, but not by shared memory, and few instructions are issued",
    ),
    _lead(
        "uncoalesced-global-access",
        _waits_while_l1_works,
        "L1 is busy, but not with shared memory, and warps wait for memory",
    ),
    _lead(
        "uncoalesced-global-access",
        _takes_many_wavefronts,
        "L1 takes more than two wavefronts for each instruction, but not for shared memory",
    ),
    _lead(
        "l1-throughput",
        _full_l1,
        "L1 is busy, but not with shared memory, and issue slots are not idle",
        at_limit=True,
    ),
    _lead(
        "tensor-throughput",
        _multiplies_without_waiting,
        "the tensor pipe is busy, and warps rarely wait for memory or at barriers",
        at_limit=True,
    ),
    _lead("constant-cache", _waits_for_constants, "warps wait for the MIO queue, but L1 is idle"),
    _lead(
        "atomic-contention",
        _is_at_rest,
        "many warps are resident, but all units are idle: typical of atomics on few addresses",
    ),
    _lead(
        "dependency-latency",
        _waits_mostly("wait"),
        "warps wait for the fixed latency of their previous instruction",
    ),
    _lead(
        "instruction-fetch",
        _waits_mostly("no_instruction"),
        "warps wait for instructions to be fetched",
    ),
    _lead(
        "barrier-stalls",
        _waits_at_barriers,
        "warps wait at barriers, and neither DRAM nor issue slots are busy",
    ),
    _lead(
        "instruction-issue", _full_issue, "issue slots are saturated, but no pipe is", at_limit=True
    ),
    _lead(
        "async-pipeline-stalls",
        _waits_in_pipeline,
        "few warps are resident, and the tensor pipe is partly idle: typical of waits for copies "
        "or at barriers",
    ),
    _lead(
        "async-pipeline-stalls",
        _leaves_tensor_cores_idle,
        "few warps are resident, and neither the tensor pipe nor another unit is busy",
    ),
    _lead(
        "async-pipeline-stalls",
        _copies_from_busy_dram,
        "few warps are resident, and DRAM is the busiest unit, but not full",
    ),
    _lead(
        "l2-bandwidth",
        _full_l2,
        "L2 sector throughput is near its practical peak",
        at_limit=True,
    ),
    _lead(
        "workload-imbalance",
        _ends_early,
        "blocks begin at once or in two waves, but on average SMs have few of their warps",
    ),
    _lead("memory-latency", _waits_for_memory, "warps wait for memory, and DRAM is not saturated"),
    _lead(
        "memory-latency",
        _seems_to_wait_for_memory,
        "no unit is busy, although many warps are resident; stall reasons were not sampled",
    ),
    _lead("small-grid", _leaves_sms_idle, "SMs have no block, and no unit is full"),
    _lead(
        "memory-latency",
        _waits_for_partly_busy_memory,
        "warps wait for memory, which is partly busy, and nothing else is",
    ),
    _lead(
        "memory-latency",
        lambda values, context: _lacks_stalls(values) & _keeps_memory_partly_busy(values, context),
        "memory is partly busy, and nothing else is; stall reasons were not sampled",
    ),
    _lead(
        "low-occupancy",
        _has_few_warps,
        "the few resident warps wait for memory, and no unit is busy",
    ),
    _lead(
        "low-occupancy",
        _has_few_places,
        "registers, shared memory or the block size leave half of the warps or fewer, and no unit "
        "is busy",
    ),
    _lead(
        "small-grid",
        _is_mostly_launched,
        "no unit is full, and much of the time is launch overhead",
    ),
)
"""The first that holds is followed."""
