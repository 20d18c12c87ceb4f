"""One program for NVRTC, by NVIDIA's ``cuda-bindings``: the one place that calls the library."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kernelprof.errors import InputError, KernelprofError, MissingToolError
from kernelprof.installation import install_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_STAYS: Final = frozenset(("--restrict",))
"""Options that NVRTC (13.1) keeps for every later program of its process: after a kernel that is
compiled with ``--restrict``, the loads of all others are taken for read-only ones as well."""


class NvrtcProgram(NamedTuple):
    """A source, and how it is compiled."""

    source: str
    name: str
    headers: Mapping[str, str]
    """Texts by the name that an include has."""
    options: Sequence[str]
    expression: str | None
    """A kernel of a template, which is instantiated."""


class CompilerResult(NamedTuple):
    """What NVRTC made of a program; one that does not compile has no cubin."""

    log: str
    cubin: bytes | None = None
    entry: str | None = None
    """The mangled name of the expression that was asked for."""


def compile_program(nvrtc: Any, given: NvrtcProgram) -> CompilerResult:
    """Compile a source to a cubin; ``nvrtc`` is the module ``cuda.bindings.nvrtc``.

    An option that would stay behind is taken in a process of its own. Raises :class:`InputError`
    for an option that NVRTC does not take, :class:`MissingToolError` where it is broken.
    """
    if _STAYS.intersection(given.options):
        return _compile_in_process(given)
    return _compile(nvrtc, given)


def _compile(nvrtc: Any, given: NvrtcProgram) -> CompilerResult:
    source, name, headers, options, expression = given
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
        log_text = log.rstrip(b"\0").decode("utf-8", "replace")
        if result == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
            return CompilerResult(log_text)
        if result == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            raise InputError(
                f"NVRTC does not support an option of nvcc: {log_text.strip()}",
                hint="leave it out of [compile] flags, or measure the kernel on a GPU",
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
            hint=f"install it again: {install_command('predict')} --force-reinstall",
        )


def _read(size_of: Any, read: Any, program: Any) -> bytes:
    _, size = size_of(program)
    buffer = bytes(size)
    read(program, buffer)
    return buffer


def _compile_in_process(program: NvrtcProgram) -> CompilerResult:
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__],
        input=pickle.dumps(tuple(program)),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").split("\n")
        raise MissingToolError(
            f"NVRTC failed in a process of its own: {' '.join(lines[-2:]).strip()}",
            hint=f"install it again: {install_command('predict')} --force-reinstall",
        )
    answer = pickle.loads(done.stdout)
    if isinstance(answer, KernelprofError):
        raise answer
    return CompilerResult(*answer)


def _serve() -> None:
    """Compile the program that comes by standard input; the answer goes to standard output."""
    program = pickle.load(sys.stdin.buffer)
    answer: tuple[Any, ...] | KernelprofError
    try:
        answer = tuple(_compile(import_module("cuda.bindings.nvrtc"), program))
    except KernelprofError as error:
        answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    _serve()
