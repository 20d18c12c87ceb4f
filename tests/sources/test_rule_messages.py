"""What ncu's rules say in sentences; every sentence is quoted from a real report."""

from __future__ import annotations

import pytest

from kernelprof.sources.ncu.rule_messages import read_message

STALLS = [
    ("long_scoreboard", "waiting for a scoreboard dependency on a L1TEX (local, global) operation"),
    ("short_scoreboard", "waiting for a scoreboard dependency on a MIO (memory input/output) op"),
    ("short_scoreboard", "waiting for a scoreboard dependency on an MIO operation (not to TEX)"),
    (
        "lg_throttle",
        "waiting for the L1 instruction queue for local and global (LG) memory operations to be",
    ),
    ("lg_throttle", "waiting for the local/global instruction queue to be not full"),
    ("tex_throttle", "waiting for the L1 instruction queue for texture operations to be not full"),
    ("tex_throttle", "waiting for the L1TEX instruction queue to be not full"),
    (
        "mio_throttle",
        "waiting for the MIO (memory input/output) instruction queue to be not full",
    ),
    ("mio_throttle", "waiting for the MIO instruction queue to be not full"),
    ("math_pipe_throttle", "waiting for the execution pipe to be available"),
    ("math_pipe_throttle", "waiting for a math execution pipeline to be available"),
    ("wait", "waiting on a fixed latency execution dependency"),
    ("wait", "on a fixed latency execution dependency"),
    ("barrier", "waiting for sibling warps at a CTA barrier"),
    ("membar", "waiting on a memory barrier"),
    ("not_selected", "waiting for the micro scheduler to select the warp to issue"),
    ("not_selected", "due to not being selected by the scheduler"),
    (
        "no_instruction",
        "waiting to be selected to fetch an instruction or waiting on an instruction cache miss",
    ),
    ("no_instruction", "due to not having the next instruction fetched yet"),
    (
        "branch_resolving",
        "waiting for a branch target to be computed, and the warp program counter to be updated",
    ),
    ("dispatch_stall", "waiting on a dispatch stall"),
    (
        "drain",
        "waiting after an EXIT instruction for all outstanding memory instructions to complete",
    ),
    ("imc_miss", "waiting for an immediate constant cache (IMC) miss"),
    ("sleeping", "waiting for a thread in the warp to come out of the sleep state"),
    ("misc", "on a miscellaneous hardware reason"),
]


def _numbers(rule: str, text: str) -> dict[str, float]:
    return {number.metric: number.value for number in read_message(rule, text).numbers}


@pytest.mark.parametrize(("reason", "clause"), STALLS)
def test_stall_reasons(reason: str, clause: str) -> None:
    text = (
        f"On average, each warp of this workload spends 14.4 cycles being stalled {clause}. A high "
        "number of warps waiting at a barrier, or for a scoreboard dependency on a L1TEX operation,"
        " is common. This stall type represents about 42.2% of the total average of 34.0 cycles "
        "between issuing two instructions."
    )
    assert _numbers("CPIStall", text) == {
        f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio": 14.4,
        "smsp__average_warp_latency_per_inst_issued.ratio": 34.0,
    }


def test_a_stall_that_is_not_known_gives_only_the_total() -> None:
    text = (
        "On average, each warp of this workload spends 3.0 cycles being stalled waiting for Godot. "
        "This represents about 40% of the total average of 7.5 cycles."
    )
    assert _numbers("CPIStall", text) == {"smsp__average_warp_latency_per_inst_issued.ratio": 7.5}


@pytest.mark.parametrize(
    ("rule", "text", "numbers"),
    [
        (
            "UncoalescedGlobalAccess",
            "This kernel has uncoalesced global accesses resulting in a total of 3222798336 "
            "excessive sectors (71% of the total 4565499904 sectors). Check the L2 Theoretical ...",
            {
                "memory_l2_theoretical_sectors_global": 4565499904,
                "memory_l2_theoretical_sectors_global_ideal": 1342701568,
            },
        ),
        (
            "UncoalescedSharedAccess",
            "This kernel has uncoalesced shared accesses resulting in a total of 536346624 "
            "excessive wavefronts (97% of the total 553717824 wavefronts). Check the L1 ...",
            {
                "memory_l1_wavefronts_shared": 553717824,
                "memory_l1_wavefronts_shared_ideal": 17371200,
            },
        ),
        (
            "SharedMemoryConflicts",
            "The memory access pattern for shared stores might not be optimal and causes on average"
            " a 1.2 - way bank conflict across all 16777216 shared store requests.This results in "
            "2893298 bank conflicts,  which represent 14.71% of the overall 19670514 wavefronts for"
            " shared stores. Check the Source Counters section for uncoalesced shared stores.",
            {
                "smsp__sass_inst_executed_op_shared_st.sum": 16777216,
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 2893298,
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 19670514,
            },
        ),
        (
            "MemoryCacheAccessPattern",
            "The memory access pattern for local loads from L2 might not be optimal. On average, "
            "only 4.0 of the 32 bytes transmitted per sector are utilized by each thread. This "
            "applies to the 85.2% of sectors missed in L1TEX. This could possibly ...",
            {
                "smsp__sass_average_data_bytes_per_sector_mem_local_op_ld.ratio": 4.0,
                "kernelprof__reported_l1_missed_sectors_mem_local_op_ld_pct": 85.2,
            },
        ),
        (
            "HighPipeUtilization",
            "All compute pipelines are under-utilized. Either this workload is very small or ...",
            {"kernelprof__reported_pipes_underutilized": 1},
        ),
        (
            "HighPipeUtilization",
            "FP64 is the highest-utilized pipeline (85.2%) based on active cycles, taking into "
            "account the rates of its different instructions. It executes 64-bit floating point.",
            {
                "kernelprof__reported_pipes_underutilized": 0,
                "kernelprof__reported_highest_pipe_of_active_pct": 85.2,
            },
        ),
        (
            "SOLFPRoofline",
            "The ratio of peak float (FP32) to double (FP64) performance on this device is 2:1. The"
            " workload achieved  close to 1% of this device's FP32 peak performance and 98% of its "
            "FP64 peak performance. See the Profiling Guide (...)",
            {
                "kernelprof__reported_fp32_peak_pct": 1,
                "kernelprof__reported_fp64_peak_pct": 98,
            },
        ),
        (
            "SOLFPRoofline",
            "The ratio of peak float (fp32) to double (fp64) performance on this device is 64:1. "
            "The kernel achieved 30% of this device's fp32 peak performance and 0% of its fp64 peak"
            " performance.",
            {
                "kernelprof__reported_fp32_peak_pct": 30,
                "kernelprof__reported_fp64_peak_pct": 0,
            },
        ),
        (
            "ThreadDivergence",
            "This workload achieves an average of 7.7 threads being active per cycle. This is "
            "further reduced to 6.7 threads per warp due to predication.",
            {
                "smsp__thread_inst_executed_per_inst_executed.ratio": 7.7,
                "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio": 6.7,
            },
        ),
        (
            "FPInstructions",
            "This kernel executes 276824064 fused and 380633088 non-fused FP32 instructions.",
            {
                "kernelprof__reported_fp32_fused_inst": 276824064,
                "kernelprof__reported_fp32_nonfused_inst": 380633088,
            },
        ),
        (
            "IssueSlotUtilization",
            "Out of the maximum of 16 warps per scheduler, this workload allocates an average of "
            "4.00 active warps per scheduler, but only an average of 0.04 warps were eligible.",
            {
                "smsp__warps_active.avg.per_cycle_active": 4.0,
                "smsp__warps_eligible.avg.per_cycle_active": 0.04,
            },
        ),
        (
            "LaunchConfiguration",
            "The grid for this launch is configured to execute only 4 blocks, which is less than "
            "the GPU's 132 multiprocessors. This can underutilize some multiprocessors.",
            {"launch__grid_size": 4, "launch__sm_count": 132},
        ),
        (
            "LaunchConfiguration",
            "This kernel launch results in 1 full waves and a partial wave of 248 thread blocks. "
            "Under the assumption of a uniform execution duration of all thread blocks, this "
            "partial wave may account for up to 50.0% of the total runtime of this kernel.",
            {
                "kernelprof__reported_partial_wave_blocks": 248,
                "kernelprof__reported_partial_wave_pct": 50,
            },
        ),
        (
            "AchievedOccupancy",
            "The difference between calculated theoretical (75.0%) and measured achieved occupancy "
            "(25.0%) can be the result of warp scheduling overheads.",
            {
                "sm__maximum_warps_per_active_cycle_pct": 75,
                "sm__warps_active.avg.pct_of_peak_sustained_active": 25,
            },
        ),
        ("SOLBottleneck", "This workload is utilizing greater than 80.0% of the available ...", {}),
        ("NoSuchRule", "spends 3 cycles being stalled waiting", {}),
        *[
            (rule, "Nothing that is known. 12% of 32 bytes.", {})
            for rule in ("CPIStall", "UncoalescedGlobalAccess", "SharedMemoryConflicts")
        ],
    ],
)
def test_numbers(rule: str, text: str, numbers: dict[str, float]) -> None:
    assert _numbers(rule, text) == numbers


def test_pipes() -> None:
    text = (
        "Shared is the highest-utilized pipeline (91.3%) based on elapsed cycles in the workload, "
        "taking into account the rates of its different instructions. It is the logical sum of "
        "several other pipelines which can't achieve full utilization on their own. It executes "
        "64-bit floating point and tensor operations. It's dominated by its Tensor (FP) "
        "sub-pipeline. The pipeline is over-utilized and likely a performance bottleneck. Based on "
        "the number of executed instructions, the highest utilized pipeline (30.4%) is Tensor (FP)."
        " It executes 16-bit floating point tensor operations."
    )
    sentence = read_message("HighPipeUtilization", text)
    assert dict(sentence.texts) == {
        "kernelprof__reported_highest_pipe": "Shared",
        "kernelprof__reported_highest_pipe_part": "Tensor (FP)",
        "kernelprof__reported_highest_pipe_by_instructions": "Tensor (FP)",
    }
    assert {number.metric: number.value for number in sentence.numbers} == {
        "kernelprof__reported_pipes_underutilized": 0,
        "kernelprof__reported_highest_pipe_pct": 91.3,
        "sm__pipe_shared_cycles_active.avg.pct_of_peak_sustained_elapsed": 91.3,
        "kernelprof__reported_highest_pipe_by_instructions_pct": 30.4,
        "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_elapsed": 30.4,
    }


def test_imbalance_is_relative_to_the_measured_mean() -> None:
    text = (
        "One or more SMs have a much lower number of active cycles than the average number of "
        "active cycles. Maximum instance value is 5.36% above the average, while the minimum "
        "instance value is 22.43% below the average."
    )
    numbers = {number.metric: number for number in read_message("WorkloadImbalance", text).numbers}
    assert numbers["kernelprof__reported_imbalance_sm_max_pct"].value == 5.36
    assert numbers["kernelprof__reported_imbalance_sm_min_pct"].value == 22.43
    most, least = numbers["sm__cycles_active.max"], numbers["sm__cycles_active.min"]
    assert most.share_of == least.share_of == "sm__cycles_active.avg"
    assert 447_240.02 * most.value == pytest.approx(472_570, rel=1e-4)
    assert 447_240.02 * least.value == pytest.approx(346_914, rel=1e-4)


def test_what_limits_occupancy() -> None:
    text = (
        "This kernel's theoretical occupancy (66.7%) is limited by the required amount of shared "
        "memory. This kernel's theoretical occupancy (66.7%) is limited by the number of warps "
        "within each block."
    )
    ((name, words),) = read_message("TheoreticalOccupancy", text).texts
    assert name == "kernelprof__reported_occupancy_limiter"
    assert words == "the required amount of shared memory; the number of warps within each block"
