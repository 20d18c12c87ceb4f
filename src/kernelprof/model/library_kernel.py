"""Which library a kernel belongs to, by its name: what its caller can change is not its code.

Names of libraries change with their versions and with what ``ncu`` leaves out of them (the same
PyTorch kernel is ``at::native::...``, ``at::...`` and ``native::...``). What is not recognized
counts as the reader's own kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kernelprof.model.kernel_name import opening_bracket

if TYPE_CHECKING:
    from collections.abc import Iterator


class KernelRole(StrEnum):
    """What a library's kernel does, as far as it matters to its caller."""

    PRODUCT = "a matrix product or convolution"
    ATTENTION = "attention"
    OPERATION = "an operation on tensors"
    GENERATED = "generated code"
    PRIMITIVE = "a scan, sort, transform or the like"
    MESSAGE = "communication"


@dataclass(frozen=True, slots=True)
class Library:
    """A library by name, and what its kernel does."""

    name: str
    kind: KernelRole


_BY_NAME: Final = (
    (r"^nccl(Dev)?Kernel", Library("NCCL", KernelRole.MESSAGE)),
    (
        r"^triton_(poi|red|per|tem|mm|bmm|for|spl|unk)_",
        Library("PyTorch Inductor", KernelRole.GENERATED),
    ),
    # Triton 2 put what it knew of the arguments behind the name: square_kernel_0d1d234.
    (r"_0d?e?c?1[0-9dec]*$", Library("Triton", KernelRole.GENERATED)),
    (r"^cudnn_generated_.*(sdpa|flash)", Library("cuDNN", KernelRole.ATTENTION)),
    (r"^fmha_cutlass", Library("PyTorch", KernelRole.ATTENTION)),
    (r"^Batch(Decode|Prefill)With", Library("FlashInfer", KernelRole.ATTENTION)),
    (r"^cudnn_|_cudnn$|^implicit_convolve_", Library("cuDNN", KernelRole.PRODUCT)),
    (r"^sm\d+_xmma_(fprop|dgrad|wgrad)_", Library("cuDNN", KernelRole.PRODUCT)),
    (r"^sm\d+_xmma_|_cublas$|^nvjet_", Library("cuBLAS", KernelRole.PRODUCT)),
    (
        r"^(hopper|ampere|turing|volta|maxwell)_\w*gemm_\w*\d+x\d+",
        Library("cuBLAS", KernelRole.PRODUCT),
    ),
    (r"^(regular|vector|multi|composite)_\w*fft", Library("cuFFT", KernelRole.PRIMITIVE)),
)
_BY_NAMESPACE: Final = {
    "cutlass": Library("CUTLASS", KernelRole.PRODUCT),
    "cutlass__5x_cudnn": Library("cuDNN", KernelRole.PRODUCT),
    "cublas": Library("cuBLAS", KernelRole.PRODUCT),
    "cublasLt": Library("cuBLAS", KernelRole.PRODUCT),
    "cudnn": Library("cuDNN", KernelRole.OPERATION),
    "flash": Library("FlashAttention", KernelRole.ATTENTION),
    "pytorch_flash": Library("FlashAttention", KernelRole.ATTENTION),
    "flashinfer": Library("FlashInfer", KernelRole.ATTENTION),
    "cub": Library("CUB", KernelRole.PRIMITIVE),
    "thrust": Library("Thrust", KernelRole.PRIMITIVE),
    "cusparse": Library("cuSPARSE", KernelRole.PRIMITIVE),
    "at": Library("PyTorch", KernelRole.OPERATION),
    "native": Library("PyTorch", KernelRole.OPERATION),
}
_CUB: Final = re.compile(r"Device\w+Kernel$")
_OF_CUB: Final = re.compile(r"policy_hub|Policy\d|ScanTileState|cub::")
_ATEN: Final = re.compile(
    r"(vectorized|unrolled|index|distribution)?_?elementwise_kernel\w*|reduce_kernel|cunn_\w+"
)
_OF_ATEN: Final = re.compile(r"(?<![A-Za-z0-9_:])(at|native)::|TensorIterator|ReduceOp<")


@lru_cache(maxsize=4096)
def library_of(kernel: str) -> Library | None:
    """Return the library that a kernel belongs to; ``None`` where its name does not tell."""
    path, arguments = _split_path(kernel)
    *namespaces, name = path.split("::")
    libraries = [library for pattern, library in _BY_NAME if re.search(pattern, name)]
    libraries += _by_arguments(name, arguments)
    libraries += [_in_namespace(each, path) for each in namespaces if each in _BY_NAMESPACE]
    return libraries[0] if libraries else None


_TENSOR_MAPS: Final = re.compile(
    r"\bCUtensorMap|\bnvjet_|Mainloop\w*Tma|TMA_LOAD|[Uu]mma|UMMA|tcgen05|[Ss]m_?10[03]"
)
"""A parameter, cuBLAS' kernels since Hopper, parts of CUTLASS, and kernels named after tcgen05 or
after the chips that have it."""


@lru_cache(maxsize=4096)
def takes_tensor_maps(kernel: str) -> bool:
    """Return whether a name or its parameters show that TMA loads the tiles of a product."""
    return _TENSOR_MAPS.search(kernel) is not None


def _in_namespace(namespace: str, path: str) -> Library:
    if namespace == "cudnn" and re.search("conv|winograd|[dw]grad", path):
        return Library("cuDNN", KernelRole.PRODUCT)
    return _BY_NAMESPACE[namespace]


def _by_arguments(name: str, arguments: str) -> Iterator[Library]:
    if re.search(r"lash_\w*kernel_traits|\bflash::", arguments):
        yield _BY_NAMESPACE["flash"]
    if _CUB.match(name) and _OF_CUB.search(arguments):
        yield _BY_NAMESPACE["cub"]
    if _ATEN.fullmatch(name) and _OF_ATEN.search(arguments):
        yield _BY_NAMESPACE["at"]
    # Lambdas and functors of PyTorch are arguments of its own templates alone.
    if "native::" in arguments:
        yield _BY_NAMESPACE["at"]


def _split_path(kernel: str) -> tuple[str, str]:
    """Split off namespaces with the function's name, and its template arguments."""
    name = kernel.strip()
    if name.endswith(")"):
        name = name[: opening_bracket(name)].rstrip()
    name = re.sub(r"<?\bunnamed>|\(anonymous namespace\)", "unnamed", name)
    head, bracket, arguments = name.partition("<")
    # The return type ends at the last space, an NVTX range at a slash.
    return re.split("[ /]", head)[-1], bracket + arguments
