"""Conditions and lines of advice that several rules have in common, and those for callers.

Callers are those who call the kernel of a library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.advice import Advice, Condition, LaunchValues
from kernelprof.analysis.metrics.architectures import COMMON
from kernelprof.analysis.metrics.catalogue import SPILLING_REQUESTS
from kernelprof.analysis.metrics.groups import TENSOR_WORK
from kernelprof.model.library_kernel import KernelRole

if TYPE_CHECKING:
    from collections.abc import Iterable

FULL_SECTORS: Final = 25.6
"""Bytes of a sector from which its accesses lie side by side: four fifths of 32."""
MOST_EXCESS: Final = 0.2
SAME_TWICE: Final = 1.8
SAME_MANY_TIMES: Final = 8.0
"""Ratio of the bytes that loads use to those that device memory delivers: passes over the same data
make a small one. A GEMM has hundreds."""
OFTEN: Final = 10.0


def _side_by_side(launch: LaunchValues, kind: str) -> bool:
    return launch.used(kind) >= FULL_SECTORS or launch.excess <= MOST_EXCESS


NARROW_LOADS: Final = Condition(
    "loads lie side by side and bring fewer than 16 bytes a thread",
    # Asynchronous copies count as loads that use no bytes.
    lambda launch: _side_by_side(launch, "load") and 0.9 <= launch.width("load") <= 8.5,
)
NARROW_STORES: Final = Condition(
    "stores lie side by side and a thread stores 1 or 2 bytes at a time",
    lambda launch: launch.used("store") >= FULL_SECTORS and 0.9 <= launch.width("store") <= 2.2,
)
SCATTERED: Final = Condition(
    "loads use three quarters of a sector or less", lambda launch: 0 < launch.used("load") <= 24.0
)
LOW_OCCUPANCY: Final = Condition(
    "fewer than half of the warp slots are filled, and not because of tiles for tensor cores",
    lambda launch: launch.occupancy < 50.0 and not launch["tensor_pipe"] >= 100 * TENSOR_WORK,
)
SHARED_MEMORY: Final = Condition(
    "the kernel has shared memory", lambda launch: launch.shared_memory > 0
)
NO_SHARED_MEMORY: Final = Condition(
    "the kernel has no shared memory", lambda launch: launch.shared_memory == 0
)
BUSY_XU: Final = Condition(
    "the special-function pipe is busy and next to nothing is floating-point work",
    lambda launch: launch["xu_pipe"] >= 10.0 and launch.arithmetic[1] < 0.05,
)
ONE_WARP_BLOCKS: Final = Condition(
    "a block is one warp, and the number of blocks limits how many an SM holds",
    lambda launch: launch["block_size"] <= 32 and launch.limited_by("blocks"),
)


def passes(launch: LaunchValues) -> float:
    """Return how often the kernel loads each byte that device memory delivers."""
    by_threads = launch["global_load_sectors"]
    if by_threads:
        by_threads *= launch.used("load")
    loaded = by_threads + COMMON.sector_bytes * launch.copied
    delivered = launch["dram_bytes_read"]
    return loaded / delivered if delivered else float("nan")


REREAD: Final = Condition(
    "loads lie side by side, of two to eight times the bytes that device memory delivers",
    lambda launch: (
        launch.used("load") >= FULL_SECTORS and SAME_TWICE <= passes(launch) <= SAME_MANY_TIMES
    ),
)
RELOADS: Final = Condition(
    "four of five loads hit in L1, ten times what device memory delivers, with stores among them",
    lambda launch: (
        launch["l1_hit_rate"] >= 80.0
        and passes(launch) >= OFTEN
        and launch["global_store_requests"] >= 0.01 * launch["global_load_requests"] > 0
    ),
)
SPILLS: Final = Condition("registers are spilled", lambda launch: launch.raw(SPILLING_REQUESTS) > 0)
NO_SPILLS: Final = Condition(
    "no register is spilled", lambda launch: launch.raw(SPILLING_REQUESTS) == 0
)


BULK_LOADS: Final = Condition(
    "most of what it loads comes by bulk copies (TMA)",
    lambda launch: launch.copied > launch["global_load_sectors"],
)


NO_CLUSTERS: Final = Condition(
    "blocks form no clusters", lambda launch: launch["cluster_size"] <= 1
)
WARP_GROUPS: Final = Condition(
    "warp groups multiply (wgmma)", lambda launch: launch["wgmma_pipe"] > 0
)


def _multiplies_by_mma_sync(launch: LaunchValues) -> bool:
    """Whether it has to, on a GPU with faster instructions."""
    return bool(launch.pipeline.by_older_instructions.low[launch.row] > 0)


OLDER_ON_HOPPER: Final = Condition(
    "its matrix products are mma.sync, and the GPU has wgmma",
    lambda launch: launch.compute_capability == (9, 0) and _multiplies_by_mma_sync(launch),
)
OLDER_ON_BLACKWELL: Final = Condition(
    "its matrix products are mma.sync, and the GPU has tcgen05",
    lambda launch: (
        (launch.compute_capability or (0, 0))[0] in {10, 11} and _multiplies_by_mma_sync(launch)
    ),
)


def uses_fp64(launch: LaunchValues) -> bool:
    """Return whether the kernel computes in FP64."""
    return launch.rates("dfma", "dadd", "dmul") > 0


def uses_fp32(launch: LaunchValues) -> bool:
    """Return whether the kernel computes in FP32."""
    return launch.rates("ffma", "fadd", "fmul") > 0


def is_library_kernel(kind: KernelRole) -> Condition:
    """Return the kernel of a library does this."""
    return Condition(
        f"it is {kind.value}",
        lambda launch: launch.library is not None and launch.library.kind is kind,
    )


def since(major: int, minor: int, what: str) -> Condition:
    """Return the GPU is of this compute capability or a newer one."""

    def holds(launch: LaunchValues) -> bool:
        capability = launch.compute_capability
        return capability is not None and capability >= (major, minor)

    return Condition(f"the GPU has {what}", holds)


WIDER_LOADS: Final = Advice(
    "Load wider: a thread's loads bring {x} different bytes each on average; float4 brings 16.",
    when=NARROW_LOADS,
    number=lambda launch: launch.width("load"),
)
WIDER_STORES: Final = Advice(
    "Store wider: a thread stores {x} bytes at a time; let it compute neighbours and store them "
    "together (half2, uchar4, float4).",
    when=NARROW_STORES,
    number=lambda launch: launch.width("store"),
)
INTEGER_DIVISION: Final = Advice(
    "Replace integer division and modulo by shifts, masks or multiplication: the special-function "
    "pipe is {x} % busy without floating-point work, and they use it (bit counts such as __popc do "
    "as well).",
    when=BUSY_XU,
    number=lambda launch: launch["xu_pipe"],
)
LARGER_BLOCKS: Final = Advice(
    "Use larger blocks, of 128 threads or more: an SM holds {x} blocks at most, and these are of "
    "one warp.",
    when=ONE_WARP_BLOCKS,
    number=lambda launch: launch["block_limit_blocks"],
)
KEEP_WHAT_IS_READ: Final = Advice(
    "Read once what is read {x} times: keep a row in registers or shared memory between passes "
    "over it.",
    when=REREAD,
    number=passes,
)
RESTRICT: Final = Advice(
    "Declare pointers const __restrict__, or copy what is loaded again into registers: {x} % of "
    "the loads hit in L1, and after a store the compiler must load again what it may have changed.",
    when=RELOADS,
    number=lambda launch: launch["l1_hit_rate"],
)

FITTING_SHAPE: Final = Advice(
    "Choose sizes that are multiples of the tile in the kernel's name: padding costs less than "
    "part of a tile.",
    when=is_library_kernel(KernelRole.PRODUCT),
)
FUSE: Final = Advice(
    "Fuse it with the operations around it, so that what they pass on stays on the chip: "
    "torch.compile, or an epilogue of cuBLASLt, cuDNN or CUTLASS."
)
SMALLER_TYPE: Final = Advice("Pass a smaller type: half, bfloat16, int8.")

CALLER: Final = (
    Advice(
        "Let the library choose another kernel for this shape: cublasLtMatmulAlgoGetHeuristic with "
        "a larger workspace, torch.backends.cudnn.benchmark, or "
        'torch.compile(mode="max-autotune").',
        when=is_library_kernel(KernelRole.PRODUCT),
    ),
    Advice(
        "Try another implementation: torch.nn.attention.sdpa_kernel chooses between "
        "FlashAttention, cuDNN and the memory-efficient one.",
        when=is_library_kernel(KernelRole.ATTENTION),
    ),
    Advice(
        "Change what it is called with: contiguous tensors, channels_last, another type; or let "
        "torch.compile generate the operation together with its neighbours.",
        when=is_library_kernel(KernelRole.OPERATION),
    ),
    Advice(
        "Tune the tile sizes, num_warps and num_stages: triton.autotune for a kernel of your own, "
        'mode="max-autotune" of torch.compile for a generated one.',
        when=is_library_kernel(KernelRole.GENERATED),
    ),
    Advice(
        "Give it less to do: narrower keys and values, fewer bits to sort, one call for several "
        "arrays; newer versions of the library know this GPU better.",
        when=is_library_kernel(KernelRole.PRIMITIVE),
    ),
    Advice(
        "Send fewer and larger messages, and let them overlap with computation.",
        when=is_library_kernel(KernelRole.MESSAGE),
    ),
)
"""What the caller of any library's kernel can try."""


def advise(
    fixes: Iterable[Advice], caller: Iterable[Advice], launch: LaunchValues, *, at_limit: bool
) -> tuple[str, ...]:
    """Return what to do about this launch: by its code, or by the caller where that is a library's.

    Another kernel is no way out where a unit does needed work as fast as it can.
    """
    if launch.library is None:
        return _texts(fixes, launch)
    lines = _texts(caller, launch)
    return lines if lines and at_limit else lines + _texts(CALLER, launch)


def _texts(lines: Iterable[Advice], launch: LaunchValues) -> tuple[str, ...]:
    return tuple(text for line in lines if (text := line.text_for(launch)) is not None)
