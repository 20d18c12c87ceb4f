"""NVRTC as a compiler of launch specifications: from a source to a cubin, without a toolkit.

It takes what ``nvcc`` takes: a source with the host's code in it, headers of C and C++, options of
``nvcc``. Nothing is written to a disk, and no program is run.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.errors import InputError
from kernelprof.installation import install_command
from kernelprof.launch.build.compilation import LEFT_OUT, CompiledCubin, CompileError
from kernelprof.launch.build.options import divide_options
from kernelprof.prediction.device_code import BROUGHT, DeviceCode, Search, extract_device_code
from kernelprof.prediction.nvrtc import NvrtcProgram, compile_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kernelprof.prediction.nvrtc import CompilerResult
    from kernelprof.prediction.toolchain import Toolchain

_BROUGHT_BY_NVCC: Final = "nvcc_brings.h"
_BROUGHT_BY_TORCH: Final = "torch_brings.h"
_OF_TORCH: Final = re.compile(
    r"\b(at|c10)::(Half|BFloat16|acc_type|opmath_type)\b|\bgpuAtomicAdd|\bWARP_(SHFL|BALLOT|ANY)"
    r"|\b\w*PackedTensorAccessor|\bC10_[A-Z]|\bCUDA_KERNEL_(?:LOOP|ASSERT)\b"
)
_OWN_OF_TORCH: Final = re.compile(
    r"(?<!using )(?<!using  )\bnamespace\s+(at|c10)\b"
    r"|\bC10_WARP_SIZE\s*=|#\s*define\s+C10_WARP_SIZE\b"
    r"|\b(?:gpuAtomicAdd|WARP_(?:SHFL|BALLOT|ANY))\w*\s*"
    r"\((?:[^;(){}]|\([^;(){}]*\))*\)\s*(?:noexcept\s*)?\{"
)
"""Where a source declares itself what would be brought."""
_FIXED_WIDTH: Final = "stdint.h"
_OF_FIXED_WIDTH: Final = re.compile(r"\bu?int(?:8|16|32|64)_t\b")
_WITH_FIXED_WIDTH: Final = re.compile(r"#\s*include\s*[<\"](?:cuda/std/)?c?stdint")

_AS_NVCC: Final = (
    *("--define-macro=__linux__=1", "--define-macro=__unix__=1"),
    *("--define-macro=__asm__=asm", "--define-macro=__volatile__=volatile"),
)
"""What the host's compiler defines or takes for a keyword, and NVRTC does not."""

_FOR_THE_HOST: Final = frozenset(
    (
        *("O", "optimize", "g", "debug", "noeh", "no-exceptions", "m64", "threads"),
        *("nohdinitlist", "no-host-device-initializer-list"),
        *("nohdmoveforward", "no-host-device-move-forward", "allow-unsupported-compiler"),
        *("default-stream", "Wdefault-stream-launch", "no-compress"),
        *("Wno-deprecated-gpu-targets", "Wmissing-launch-bounds", "Wext-lambda-captures-this"),
        *("Wno-deprecated-declarations", "Wreorder"),
    )
)
"""They change no device code: what they do is for the host, for files, or a warning more."""

_IMPLIED: Final = frozenset(
    (
        *("extended-lambda", "expt-extended-lambda", "expt-relaxed-constexpr"),
        *("res-usage", "resource-usage", "src-in-ptx", "source-in-ptx"),
        *("ftemplate-backtrace-limit", "ftemplate-depth"),
    )
)
"""NVRTC does what they ask for without being asked, or has no limit to set."""

_ONE_DASH: Final = frozenset(
    (
        *("G", "w", "lineinfo", "Werror", "opt-info", "brief-diag", "err-no", "no-err-no"),
        *("Ofc", "jtd"),
    )
)
"""Short names, which NVRTC takes after one dash alone; all others it takes after two."""

_PTXAS: Final = frozenset(("Xptxas", "ptxas-options"))

_PLAIN: Final = re.compile(r"[ !#-\[\]-~]+")
"""A path that debug information can hold: NVRTC writes other characters so that ``ptxas`` stops."""
_ALIASES: Final = "/kernelprof-names"
_SOURCE: Final = f"{_ALIASES}/kernel.cu"
"""What NVRTC is told that the source is called. It looks for includes in that folder, too, and in
the current one if there is none."""
_ALIAS: Final = re.compile(rf"{_ALIASES}/[0-9a-f]{{16}}(?:\.[A-Za-z0-9]+)?")


class DeviceCompiler:
    """Compiles sources for one kernel; its :meth:`cubin` is a ``Compiler`` of ``launch.build``.

    ``kernel`` is named as in the specification. If it is a template, the compiler says itself which
    of the compiled entries it is. ``meanwhile`` is iterated over while NVRTC works.
    """

    def __init__(
        self, toolchain: Toolchain, kernel: str = "", meanwhile: Iterable[object] = ()
    ) -> None:
        self.toolchain = toolchain
        self.kernel = kernel
        self._meanwhile = meanwhile
        self._aliases: dict[str, Path] = {}

    def printable_path(self, path: Path) -> Path:
        """A file as debug information can name it: itself, else an alias without a file."""
        path = path.resolve()
        if _PLAIN.fullmatch(str(path)):
            return path
        ending = path.suffix if re.fullmatch(r"\.[A-Za-z0-9]+", path.suffix) else ""
        alias = f"{_ALIASES}/{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}{ending}"
        self._aliases[alias] = path
        return Path(alias)

    def real_names(self, text: str) -> str:
        """A path, or a text with paths, with the user's own files in the place of aliases."""
        return _ALIAS.sub(lambda match: str(self._aliases.get(match[0], match[0])), text)

    def cubin(self, source: str, options: Sequence[str], arch: str, home: Path) -> CompiledCubin:
        """Compile a source for an architecture; includes are looked for in ``home``, too.

        ``ptxas`` is asked what it spills (``-v``), which changes no code. Raises
        :class:`CompileError` with what NVRTC wrote, :class:`InputError` for an option that a
        specification may not have or NVRTC does not take, or an architecture that it does not
        know, :class:`MissingToolError` where NVRTC is broken.
        """
        self._refuse_unknown(arch)
        parts = divide_options(options)
        folders, system = map(_without_toolkits, (parts.folders, parts.system))
        search = Search(home, folders, system, self.toolchain.headers)
        places = [*folders, home, *system, *self.toolchain.headers]
        words = [
            *(f"--gpu-architecture={arch}", "--device-as-default-execution-space", *_AS_NVCC),
            *("--ptxas-options=-v", *nvrtc_options(parts.plain), *parts.macros),
            *(f"--include-path={each}" for each in places),
        ]
        first = "".join(f'#include "{name}"\n' for name in parts.before)
        code = extract_device_code(first + source, search, self.kernel, name_of=self.printable_path)
        # Large headers of the user's are left to the compiler.
        reads = files.narrowed(places)
        answer = self._compile(code, words, reads)
        if answer.cubin is None and code.spared:
            code = extract_device_code(
                first + source, search, self.kernel, spare=False, name_of=self.printable_path
            )
            answer = self._compile(code, words, reads)
        if answer.cubin is None:
            # The parser reads some macros before declarations as declarations.
            brought = {name: code.headers[name] for name in BROUGHT if name in code.headers}
            whole = replace(code, source=first + source, headers=brought)
            again = answer if whole == code else self._compile(whole, words, reads)
            answer = answer if again.cubin is None else again
        log = self.real_names(answer.log.replace(f' in the compilation of "{_SOURCE}"', ""))
        if answer.cubin is None:
            raise CompileError(log + _describe_missing(code))
        return CompiledCubin(answer.cubin, log, answer.entry)

    def _refuse_unknown(self, arch: str) -> None:
        _, numbers = self.toolchain.nvrtc.nvrtcGetSupportedArchs()
        number = int(re.sub(r"\D", "", arch))
        if number not in numbers:
            version = self.toolchain.compiler_version
            newer = number > max(numbers)
            raise InputError(
                f"NVRTC {version} cannot compile for {arch}, only for "
                f"{', '.join(f'sm_{each}' for each in numbers)}",
                hint=f"install a newer NVRTC: {install_command('predict')}"
                if newer
                else "choose one of the supported architectures",
            )

    def _compile(
        self, code: DeviceCode, words: Sequence[str], reads: Sequence[Path]
    ) -> CompilerResult:
        brought = [name for name in BROUGHT if name in code.headers]
        texts = (code.source, *code.headers.values())
        for name, used, own in (
            (_BROUGHT_BY_TORCH, _OF_TORCH, _OWN_OF_TORCH),
            (_FIXED_WIDTH, _OF_FIXED_WIDTH, _WITH_FIXED_WIDTH),
        ):
            lacks = code.missing and any(map(used.search, texts))
            if lacks and not any(map(own.search, texts)):
                brought.insert(0, name)
        lines = [f"#include <{name}>\n" for name in (_BROUGHT_BY_NVCC, *brought)]
        expression = self.kernel if "<" in self.kernel else None
        source = "".join(lines) + code.source
        program = NvrtcProgram(source, _SOURCE, dict(code.headers), tuple(words), expression)
        return compile_program(program, reads, self._meanwhile)


def nvrtc_options(options: Iterable[str]) -> tuple[str, ...]:
    """Return the options of NVRTC for plain ones of ``launch.build.options.divided``."""
    return tuple(word for option in options for word in _translate(option))


def _translate(option: str) -> Iterator[str]:
    name, joined, value = option.removeprefix("-").removeprefix("-").partition("=")
    if name in _FOR_THE_HOST or name in _IMPLIED or (name[:1] == "O" and name[1:].isdecimal()):
        return
    if name in _PTXAS:
        yield from (f"--ptxas-options={each}" for each in value.split(","))
        return
    yield f"{'-' if name in _ONE_DASH else '--'}{name}{joined}{value}"


def _without_toolkits(folders: Sequence[str]) -> list[Path]:
    """Folders of includes without those of a CUDA toolkit: NVRTC has headers of its own version."""
    return [Path(each) for each in folders if not Path(each, "cuda_runtime.h").is_file()]


def _describe_missing(code: DeviceCode) -> str:
    """What to know beside an error: the includes that were not there."""
    if not code.missing:
        return ""
    return f"\n{LEFT_OUT}{', '.join(code.missing)}"
