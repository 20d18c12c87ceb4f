"""Options of ``nvcc`` in the words of NVRTC, which has fewer: it compiles for the device alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def nvrtc_options(options: Iterable[str]) -> tuple[str, ...]:
    """Return the options of NVRTC for plain ones of ``launch.build.options.divided``."""
    return tuple(word for option in options for word in _translated(option))


def _translated(option: str) -> Iterator[str]:
    name, joined, value = option.removeprefix("-").removeprefix("-").partition("=")
    if name in _FOR_THE_HOST or name in _IMPLIED or (name[:1] == "O" and name[1:].isdecimal()):
        return
    if name in _PTXAS:
        yield from (f"--ptxas-options={each}" for each in value.split(","))
        return
    yield f"{'-' if name in _ONE_DASH else '--'}{name}{joined}{value}"


def refuse_unknown(option: str, version: str) -> InputError:
    """The error for an option that ``nvcc`` has and NVRTC does not."""
    return InputError(
        f"NVRTC {version}, which compiles without the CUDA toolkit, does not take {option!r}",
        hint="leave it out of [compile] flags, or measure the kernel on a GPU",
    )
