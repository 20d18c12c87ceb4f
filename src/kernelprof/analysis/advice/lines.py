"""Lines of advice that several rules give, and those for whoever calls a library's kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.advice import Advice
from kernelprof.analysis.advice.conditions import (
    BUSY_XU,
    NARROW_LOADS,
    NARROW_STORES,
    ONE_WARP_BLOCKS,
    RELOADS,
    REREAD,
    is_library_kernel,
    passes,
)
from kernelprof.model.library_kernel import KernelRole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.analysis.advice import Seen

WIDER_LOADS: Final = Advice(
    "Load wider: a thread's loads bring {x} different bytes each on average; float4 brings 16.",
    when=NARROW_LOADS,
    number=lambda seen: seen.width("load"),
)
WIDER_STORES: Final = Advice(
    "Store wider: a thread stores {x} bytes at a time; let it compute neighbours and store them "
    "together (half2, uchar4, float4).",
    when=NARROW_STORES,
    number=lambda seen: seen.width("store"),
)
INTEGER_DIVISION: Final = Advice(
    "Replace integer division and modulo by shifts, masks or multiplication: the special-function "
    "pipe is {x} % busy without floating-point work, and they use it (bit counts such as __popc do "
    "as well).",
    when=BUSY_XU,
    number=lambda seen: seen["xu_pipe"],
)
LARGER_BLOCKS: Final = Advice(
    "Use larger blocks, of 128 threads or more: an SM holds {x} blocks at most, and these are of "
    "one warp.",
    when=ONE_WARP_BLOCKS,
    number=lambda seen: seen["block_limit_blocks"],
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
    number=lambda seen: seen["l1_hit_rate"],
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
    fixes: Iterable[Advice], caller: Iterable[Advice], seen: Seen, *, at_limit: bool
) -> tuple[str, ...]:
    """Return what to do about this launch: by its code, or by the caller where that is a library's.

    Another kernel is no way out where a unit does needed work as fast as it can.
    """
    if seen.library is None:
        return _texts(fixes, seen)
    lines = _texts(caller, seen)
    return lines if lines and at_limit else lines + _texts(CALLER, seen)


def _texts(lines: Iterable[Advice], seen: Seen) -> tuple[str, ...]:
    return tuple(text for line in lines if (text := line.text_for(seen)) is not None)
