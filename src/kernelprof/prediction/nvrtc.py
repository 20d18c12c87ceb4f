"""One program for NVRTC, by NVIDIA's ``cuda-bindings``, in a process of its own.

A source can make it take all memory, never end or abort.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kernelprof.errors import InputError, MissingToolError
from kernelprof.installation import install_command
from kernelprof.worker import CallLimits, Worker, WorkerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

LIMITS: Final = CallLimits(seconds=120.0, memory_bytes=3 << 30)
_WORKER: Final = Worker(__name__)

_STAYS: Final = frozenset(("--restrict",))
"""Options that NVRTC (13.1) keeps for every later program of its process: after a kernel that is
compiled with ``--restrict``, the loads of all others are taken for read-only ones as well."""


class NvrtcProgram(msgspec.Struct, array_like=True, frozen=True):
    """A source, and how it is compiled."""

    source: str
    name: str
    headers: dict[str, str]
    """Texts by the name that an include has."""
    options: tuple[str, ...]
    expression: str | None
    """A kernel of a template, which is instantiated."""


class CompilerResult(msgspec.Struct, array_like=True, frozen=True):
    """What NVRTC made of a program; one that does not compile has no cubin."""

    log: str
    cubin: bytes | None = None
    entry: str | None = None
    """The mangled name of the expression that was asked for."""


def compile_program(
    given: NvrtcProgram, reads: Sequence[Path] = (), meanwhile: Iterable[object] = ()
) -> CompilerResult:
    """Compile a source to a cubin; beside its headers it can include what lies below ``reads``.

    ``meanwhile`` is iterated over while NVRTC works. Raises :class:`InputError` for an option that
    NVRTC does not take and a source that exceeds :data:`LIMITS`, :class:`MissingToolError` where
    NVRTC is broken.
    """
    alone = not _STAYS.isdisjoint(given.options)
    try:
        answered = _WORKER.call(
            msgspec.msgpack.encode(given), LIMITS, reads, alone=alone, meanwhile=meanwhile
        )
    except WorkerError as error:
        raise InputError(
            f"NVRTC did not finish compiling: {error}",
            hint="reduce the compiler's work: fewer templates, less constexpr, smaller arrays",
        ) from error
    return msgspec.msgpack.decode(answered, type=CompilerResult)


def start() -> None:
    """Load the library in its process ahead of the first program."""
    _WORKER.start()


def prepare() -> None:
    """Load the library."""
    import_module("cuda.bindings.nvrtc").nvrtcVersion()


def answer(given: bytes) -> bytes:
    """Compile a program, in the worker."""
    program = msgspec.msgpack.decode(given, type=NvrtcProgram)
    return msgspec.msgpack.encode(_compile(import_module("cuda.bindings.nvrtc"), program))


def _compile(nvrtc: Any, given: NvrtcProgram) -> CompilerResult:
    result, program = nvrtc.nvrtcCreateProgram(
        given.source.encode(),
        given.name.encode(),
        len(given.headers),
        [each.encode() for each in given.headers.values()],
        [each.encode() for each in given.headers],
    )
    _check(nvrtc, result)
    try:
        expression = given.expression
        if expression is not None:
            nvrtc.nvrtcAddNameExpression(program, expression.encode())
        words = [os.fsencode(each) for each in given.options]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(words), words)
        log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        log_text = log.rstrip(b"\0").decode("utf-8", "replace")
        if result == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
            return CompilerResult(log_text)
        if result == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            raise InputError(
                f"NVRTC does not support an nvcc option: {log_text.strip()}",
                hint="leave the option out of [compile] flags, or measure the kernel on a GPU",
            )
        _check(nvrtc, result, log_text)
        entry = None
        if expression is not None:
            result, lowered = nvrtc.nvrtcGetLoweredName(program, expression.encode())
            entry = None if result else lowered.decode()
        return CompilerResult(
            log_text, _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program), entry
        )
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _check(nvrtc: Any, result: Any, log: str = "") -> None:
    """Raise :class:`MissingToolError` where NVRTC failed for a reason of its own."""
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, name = nvrtc.nvrtcGetErrorString(result)
        raise MissingToolError(
            " ".join(["NVRTC failed:", name.decode(), *log.split()]),
            hint=f"install NVRTC again: {install_command('predict')} --force-reinstall",
        )


def _read(size_of: Any, read: Any, program: Any) -> bytes:
    _, size = size_of(program)
    buffer = bytes(size)
    read(program, buffer)
    return buffer
