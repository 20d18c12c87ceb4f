"""Conditions and lines of advice shared by several rules, and advice for callers of libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.advice import Advice, Condition, LaunchValues
from kernelprof.analysis.metrics.architectures import COMMON
from kernelprof.analysis.metrics.catalogue import SPILLING_REQUESTS, has_tcgen05
from kernelprof.analysis.metrics.groups import SOME_TENSOR_WORK, TENSOR_WORK
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
    "loads are coalesced and narrower than 16 bytes per thread",
    # Asynchronous copies count as loads that use no bytes.
    lambda launch: (
        _side_by_side(launch, "load")
        and not launch.is_broadcast("load")
        and 0.9 <= launch.width("load") <= 8.5
    ),
)
NARROW_STORES: Final = Condition(
    "stores are coalesced and write 1 or 2 bytes per thread",
    lambda launch: launch.used("store") >= FULL_SECTORS and 0.9 <= launch.width("store") <= 2.2,
)
SCATTERED: Final = Condition(
    "loads are scattered (at most 24 of the 32 bytes of a sector are used)",
    lambda launch: 0 < launch.used("load") <= 24.0,
)
LOW_OCCUPANCY: Final = Condition(
    "occupancy is below 50 %",
    # Tiles for tensor cores need few warps.
    lambda launch: launch.occupancy < 50.0 and not launch["tensor_pipe"] >= 100 * TENSOR_WORK,
)
SHARED_MEMORY: Final = Condition(
    "the kernel uses shared memory", lambda launch: launch.shared_memory > 0
)
NO_SHARED_MEMORY: Final = Condition(
    "the kernel uses no shared memory", lambda launch: launch.shared_memory == 0
)
BUSY_XU: Final = Condition(
    "the kernel divides integers, or has little floating-point arithmetic but a busy XU pipe",
    lambda launch: (
        launch.divides_integers or (launch["xu_pipe"] >= 10.0 and launch.arithmetic[1] < 0.05)
    ),
)
ONE_WARP_BLOCKS: Final = Condition(
    "each block is a single warp and the SM's block limit is reached",
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
    "the kernel loads the same data two to eight times",
    lambda launch: (
        launch.used("load") >= FULL_SECTORS and SAME_TWICE <= passes(launch) <= SAME_MANY_TIMES
    ),
)
RELOADS: Final = Condition(
    "the kernel repeatedly loads the same data from L1 and also stores to global memory",
    lambda launch: (
        launch["l1_hit_rate"] >= 80.0
        and passes(launch) >= OFTEN
        and launch["global_store_requests"] >= 0.01 * launch["global_load_requests"] > 0
    ),
)
SPILLS: Final = Condition("registers spill", lambda launch: launch.raw(SPILLING_REQUESTS) > 0)
NO_SPILLS: Final = Condition(
    "the spill count is 0", lambda launch: launch.raw(SPILLING_REQUESTS) == 0
)


BULK_LOADS: Final = Condition(
    "most data is loaded by TMA",
    lambda launch: launch.copied > launch["global_load_sectors"],
)


NO_CLUSTERS: Final = Condition(
    "the launch has no clusters", lambda launch: launch["cluster_size"] <= 1
)
WARP_GROUPS: Final = Condition("the kernel uses wgmma", lambda launch: launch["wgmma_pipe"] > 0)
TILED_ARITHMETIC: Final = 0.05
"""Least part of the instructions that is floating-point arithmetic from which register tiles are
advised where shared memory is the limit."""
MATRIX_TILES: Final = Condition(
    "the kernel uses tensor cores",
    lambda launch: launch.exact(launch.pipeline.tensor) >= SOME_TENSOR_WORK,
)


TCGEN05: Final = Condition(
    "the kernel uses tcgen05",
    lambda launch: (
        has_tcgen05(launch.compute_capability)
        and bool(launch.pipeline.by_design.sure[launch.row])
        and not _multiplies_by_mma_sync(launch)
    ),
)


def _multiplies_by_mma_sync(launch: LaunchValues) -> bool:
    """Whether it has to, on a GPU with faster instructions."""
    return bool(launch.pipeline.by_older_instructions.low[launch.row] > 0)


OLDER_ON_HOPPER: Final = Condition(
    "the kernel uses mma.sync on a GPU with wgmma (Hopper)",
    lambda launch: launch.compute_capability == (9, 0) and _multiplies_by_mma_sync(launch),
)
OLDER_ON_BLACKWELL: Final = Condition(
    "the kernel uses mma.sync on a GPU with tcgen05 (Blackwell)",
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


ROLES: Final = {
    KernelRole.PRODUCT: "a matrix product or convolution",
    KernelRole.ATTENTION: "attention",
    KernelRole.OPERATION: "a tensor operation",
    KernelRole.GENERATED: "generated by Triton or torch.compile",
    KernelRole.PRIMITIVE: "a primitive such as a scan, sort or FFT",
    KernelRole.MESSAGE: "a collective (NCCL)",
}


def is_library_kernel(kind: KernelRole) -> Condition:
    """Return the condition that the library kernel does this."""
    return Condition(
        f"it is {ROLES[kind]}",
        lambda launch: launch.library is not None and launch.library.kind is kind,
    )


def since(major: int, minor: int, what: str) -> Condition:
    """Return the condition that the GPU has this compute capability or a newer one."""

    def holds(launch: LaunchValues) -> bool:
        capability = launch.compute_capability
        return capability is not None and capability >= (major, minor)

    return Condition(f"the GPU has {what}", holds)


WIDER_LOADS: Final = Advice(
    "Use wider loads, such as float4 (16 bytes per thread).",
    when=NARROW_LOADS,
    number=lambda launch: launch.width("load"),
    measured="On average, a load currently reads {x} distinct bytes per thread.",
)
WIDER_STORES: Final = Advice(
    "Use wider stores: let a thread compute adjacent elements and store them together (half2, "
    "uchar4, float4).",
    when=NARROW_STORES,
    number=lambda launch: launch.width("store"),
    measured="A store currently writes {x} bytes per thread.",
)
INTEGER_DIVISION: Final = Advice(
    "Replace integer division, modulo and bit counts (__popc), which use the XU pipe, with "
    "shifts, masks or multiplications.",
    when=BUSY_XU,
    number=lambda launch: launch["xu_pipe"],
    measured="The XU pipe is {x} % busy.",
)
LARGER_BLOCKS: Final = Advice(
    "Use larger blocks, of 128 threads or more.",
    when=ONE_WARP_BLOCKS,
    number=lambda launch: launch["block_limit_blocks"],
    measured="An SM holds at most {x} blocks, and each block of this launch is one warp.",
)
KEEP_WHAT_IS_READ: Final = Advice(
    "Load each value once: keep a row in registers or shared memory between passes over it.",
    when=REREAD,
    number=passes,
    measured="Each byte is currently loaded {x} times.",
)
RESTRICT: Final = Advice(
    "Declare pointers const __restrict__, or copy reused values into registers. Otherwise the "
    "compiler must reload the values after each store.",
    when=RELOADS,
    number=lambda launch: launch["l1_hit_rate"],
    measured="The L1 hit rate is {x} %.",
)

FITTING_SHAPE: Final = Advice(
    "Choose tensor dimensions that are multiples of the tile size (see the kernel's name): "
    "a partial tile takes about as long as a full one.",
    when=is_library_kernel(KernelRole.PRODUCT),
)
FUSE: Final = Advice(
    "Fuse the operation with its neighbours, so that intermediates stay on the chip: use "
    "torch.compile, or an epilogue of cuBLASLt, cuDNN or CUTLASS."
)
SMALLER_TYPE: Final = Advice("Pass a smaller data type: half, bfloat16, int8.")

CALLER: Final = (
    Advice(
        "Let the library choose another kernel for this shape: cublasLtMatmulAlgoGetHeuristic with "
        "a larger workspace, torch.backends.cudnn.benchmark, or "
        'torch.compile(mode="max-autotune").',
        when=is_library_kernel(KernelRole.PRODUCT),
    ),
    Advice(
        "Try another implementation: torch.nn.attention.sdpa_kernel selects FlashAttention, "
        "cuDNN or memory-efficient attention.",
        when=is_library_kernel(KernelRole.ATTENTION),
    ),
    Advice(
        "Change the inputs: contiguous tensors, channels_last, another data type. Or let "
        "torch.compile fuse the operation with its neighbours.",
        when=is_library_kernel(KernelRole.OPERATION),
    ),
    Advice(
        "Tune tile sizes, num_warps and num_stages: triton.autotune for your own kernel, "
        'torch.compile(mode="max-autotune") for a generated one.',
        when=is_library_kernel(KernelRole.GENERATED),
    ),
    Advice(
        "Reduce the work: narrower keys and values, fewer bits to sort, one call for several "
        "arrays. Try a newer version of the library.",
        when=is_library_kernel(KernelRole.PRIMITIVE),
    ),
    Advice(
        "Send fewer and larger messages, and overlap them with computation.",
        when=is_library_kernel(KernelRole.MESSAGE),
    ),
)
"""Advice for callers of library kernels, whatever the bottleneck."""


def advise(
    fixes: Iterable[Advice], caller: Iterable[Advice], launch: LaunchValues, *, at_limit: bool
) -> tuple[str, ...]:
    """Return the advice for this launch: ``caller`` and CALLER if the kernel is a library's.

    Another kernel does not help where a unit does needed work at its peak.
    """
    if launch.library is None:
        return _texts(fixes, launch)
    lines = _texts(caller, launch)
    return lines if lines and at_limit else lines + _texts(CALLER, launch)


def _texts(lines: Iterable[Advice], launch: LaunchValues) -> tuple[str, ...]:
    return tuple(text for line in lines if (text := line.text_for(launch)) is not None)
