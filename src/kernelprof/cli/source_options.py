"""Options for kernels that are built from source, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.launch.overrides import LaunchOverrides

SizeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--size", metavar="NAME=VALUE", help="Another value for one of a .cu file's sizes."
    ),
]
DefineOption = Annotated[
    list[str] | None,
    typer.Option("--define", metavar="NAME=VALUE", help="Another value for one of its defines."),
]
SanitizeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sanitize",
        metavar="TOOL",
        help="Run a .cu file's kernel under this tool of compute-sanitizer before it is measured: "
        "memcheck, racecheck, initcheck, synccheck.",
    ),
]


def overrides(
    size: Sequence[str] | None,
    define: Sequence[str] | None,
    sanitize: Sequence[str] | None,
    *,
    has_source: bool,
) -> LaunchOverrides:
    """What the options ask for; they are refused where there is no source to build."""
    from kernelprof.launch.overrides import LaunchOverrides

    given = {"--size": size, "--define": define, "--sanitize": sanitize}
    useless = [option for option, values in given.items() if values]
    if useless and not has_source:
        raise UsageError(
            f"{useless[0]} is for a kernel that is built from source, and no .cu file is named",
            hint="name one: kernelprof diagnose kernel.cu --size M=2048",
        )
    if not useless:
        return LaunchOverrides()
    from kernelprof.launch.faults import SANITIZERS
    from kernelprof.launch.overrides import parse_define, parse_size

    tools = tuple(dict.fromkeys(sanitize or ()))
    for tool in tools:
        if tool not in SANITIZERS:
            raise UsageError(
                f"--sanitize {tool!r} is no tool of compute-sanitizer",
                hint=f"there are: {', '.join(SANITIZERS)}",
            )
    return LaunchOverrides(
        sizes=_named("--size", size, parse_size),
        defines=_named("--define", define, parse_define),
        sanitizers=tools,
    )


def _named(
    option: str, given: Sequence[str] | None, parse: Callable[[str], tuple[str, Any]]
) -> dict[str, Any]:
    """Values by name; two for one name are a mistake."""
    found: dict[str, Any] = {}
    for text in given or ():
        name, value = parse(text)
        if name in found:
            raise UsageError(
                f"{option} {text!r} is a second value for {name}",
                hint="give one; several are measured one after the other",
            )
        found[name] = value
    return found
