"""One program for NVRTC, by NVIDIA's ``cuda-bindings``: the one place that calls the library."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from kernelprof.errors import InputError, MissingToolError
from kernelprof.predict.toolchain import HOW_TO_GET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Answer(NamedTuple):
    """What NVRTC made of a program; one that does not compile has no cubin."""

    said: str
    cubin: bytes | None = None
    entry: str | None = None
    """The mangled name of the expression that was asked for."""


def compile_program(
    nvrtc: Any,
    source: str,
    *,
    name: str,
    headers: Mapping[str, str],
    options: Sequence[str],
    expression: str | None,
) -> Answer:
    """Compile a source to a cubin.

    ``nvrtc`` is the module ``cuda.bindings.nvrtc``, ``headers`` are texts by the name that an
    include has, ``expression`` a kernel of a template, which is instantiated. Raises
    :class:`InputError` for an option that NVRTC does not take, :class:`MissingToolError` where it
    is broken.
    """
    result, program = nvrtc.nvrtcCreateProgram(
        source.encode(),
        name.encode(),
        len(headers),
        [each.encode() for each in headers.values()],
        [each.encode() for each in headers],
    )
    _check(nvrtc, result)
    try:
        if expression is not None:
            nvrtc.nvrtcAddNameExpression(program, expression.encode())
        words = [os.fsencode(each) for each in options]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(words), words)
        log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        said = log.rstrip(b"\0").decode("utf-8", "replace")
        if result == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
            return Answer(said)
        if result == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            raise InputError(
                f"an option that nvcc takes is none of NVRTC's: {said.strip()}",
                hint="leave it out of [compile] flags, or measure the kernel on a GPU",
            )
        _check(nvrtc, result, said)
        entry = None
        if expression is not None:
            result, lowered = nvrtc.nvrtcGetLoweredName(program, expression.encode())
            entry = None if result else lowered.decode()
        return Answer(said, _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program), entry)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _check(nvrtc: Any, result: Any, said: str = "") -> None:
    """Raise :class:`MissingToolError` where NVRTC failed for a reason of its own."""
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, name = nvrtc.nvrtcGetErrorString(result)
        raise MissingToolError(
            " ".join(["NVRTC failed:", name.decode(), *said.split()]),
            hint=f"install it again: {HOW_TO_GET} --force-reinstall",
        )


def _read(size_of: Any, read: Any, program: Any) -> bytes:
    """What NVRTC writes into a buffer."""
    _, size = size_of(program)
    buffer = bytes(size)
    read(program, buffer)
    return buffer
