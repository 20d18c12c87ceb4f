"""What a library's kernel is an instance of: PyTorch's operator, the tile of a matrix product.

Libraries launch thousands of operations by a few templates, such as
``vectorized_elementwise_kernel``. What tells the instances apart is deep in their template
arguments.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

_GENERIC: Final = re.compile(r"\w*(elementwise_kernel|reduce_kernel|tensor_apply)\w*")
"""Templates of PyTorch that are told by their operator alone."""
_WRAPPERS: Final = frozenset(["Kernel", "Kernel2", "device_kernel"])
"""Kernels of CUTLASS whose only template argument is the operation."""

_LAUNCHED: Final = re.compile(r"\b(\w+)(?:<[^()<>]*>)?\((?:const )?(?:\w+::)*(?:Tensor|Scalar)")
_PASSED_ON: Final = re.compile(r"gpu_\w*kernel\w*|operator")
"""Functions that launch what they are given."""
_SUFFIX: Final = re.compile(r"(_kernel|_cuda|_impl|_out)+$")
_FUNCTOR: Final = re.compile(r"\b\w*(?:Functor|_functor|Reduce(?!Op\b)[A-Z])\w*|\b\w+Ops?\b(?=<)")
_NO_OPERATOR: Final = re.compile(r"ReduceOp|(?:[AB]?Unary|Binary)Functor")
_PLAIN: Final = re.compile(r"^CUDA|Functor(OnSelf|OnOther)?|_functor|Ops?$")
_ELEMENT: Final = re.compile(
    r"\b(?:c10::)?(BFloat16|Half|complex<\w+>|double|float|bool|long|int|short|char)\b"
)

_XMMA: Final = re.compile(r"(sm\d+_xmma_\w+?_tilesize\d\w*?)_(stage\d+\w*)")
_SHAPE: Final = re.compile(
    r"\b(?:GemmShape<(?P<two>[^<>]*)>|tuple<(?P<three>(?:(?:\w+::)*C<[^<>]*>(?:, )?)+)>)"
)
_ARCHITECTURE: Final = re.compile(r"[Ss]m_?(\d+)")
_CAST: Final = re.compile(r"\(\w+\)")


class Instance(NamedTuple):
    """A kernel's function, and what it is an instance of, from brief to exact.

    ``forms`` are texts, of which each says more than the one before.
    """

    function: str
    forms: tuple[str, ...]
    is_generic: bool = False


@lru_cache(maxsize=4096)
def instance_of(function: str, arguments: str) -> Instance:
    """Return what a template function of a library is an instance of, by its arguments."""
    if matched := _XMMA.match(function):
        return Instance(matched[1], ("", matched[2]), is_generic=True)
    if function in _WRAPPERS and "<" in arguments and re.search("utlass|Gemm|Conv", arguments):
        return _operation(arguments.removeprefix("<").removesuffix(">"))
    forms = tuple(dict.fromkeys(_forms(arguments)))
    if not forms:
        return Instance(function, ())
    return Instance(function, forms, is_generic=_GENERIC.fullmatch(function) is not None)


def _operation(argument: str) -> Instance:
    """Return the operation of CUTLASS, with the architecture and tile of a composed one."""
    path, composed, _ = argument.partition("<")
    name = path.rpartition("::")[2]
    if not composed:
        return Instance(name, ("",), is_generic=True)
    architecture = _ARCHITECTURE.search(argument)
    tile = max(map(_sides, _SHAPE.finditer(argument)), key=_volume, default=())
    parts = [f"sm{architecture[1]}"] if architecture else []
    parts += ["x".join(map(str, tile))] if tile else []
    return Instance(name, (" ".join(parts),), is_generic=True)


def _sides(shape: re.Match[str]) -> tuple[int, ...]:
    sides = _CAST.sub("", shape["two"] or shape["three"])
    return tuple(map(int, re.findall(r"(?<!\w)\d{1,9}\b", sides)))


def _volume(sides: tuple[int, ...]) -> int:
    # A tile has three sides; the cluster of blocks is smaller, and strides have two.
    product = 1 if len(sides) == 3 else 0
    for side in sides:
        product *= side
    return product


def _forms(arguments: str) -> list[str]:
    """Return ``Mul``, ``AUnaryFunctor Mul`` and ``AUnaryFunctor Mul float``."""
    functors = _FUNCTOR.findall(arguments)
    launched = [each for each in _LAUNCHED.findall(arguments) if _PASSED_ON.fullmatch(each) is None]
    operators = [each for each in functors if _NO_OPERATOR.fullmatch(each) is None]
    if launched:
        name = exact = launched[0]
        name = _SUFFIX.sub("", name.removeprefix("launch_")) or exact
    elif operators:
        exact = operators[-1]
        name = _PLAIN.sub("", exact).strip("_") or exact
    else:
        return []
    outer = functors[0] if functors and functors[0] != exact else ""
    second = f"{outer} {name}" if outer else exact
    element = _ELEMENT.search(arguments)
    return [name, second, f"{second} {element[1]}" if element else second]
