"""What a command line changes in a launch: ``--size M=2048``, ``--define TILE=16``."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelprof.errors import UsageError
from kernelprof.launch.flags import shell_characters
from kernelprof.launch.read_spec import load_spec
from kernelprof.launch.source import refuse_other_than_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.launch.inferred import Inferred
    from kernelprof.launch.spec import LaunchSpec
    from kernelprof.launch.tables import Define

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_FRACTION = re.compile(r"-?[0-9]+(\.[0-9]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)")


@dataclass(frozen=True, slots=True)
class LaunchOverrides:
    """What the command line changes in a launch, and what it wants to be checked.

    ``sizes`` and ``defines`` stand in for those of the specification, ``against``, another version
    of the kernel, for its reference; ``sanitizers`` are tools of ``compute-sanitizer`` that the
    kernel has to pass. ``inferred`` stands in for a specification where the source has none.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    defines: Mapping[str, Define] = field(default_factory=dict)
    sanitizers: tuple[str, ...] = ()
    against: Path | None = None
    inferred: Inferred | None = None

    @property
    def chosen(self) -> str | None:
        """The name that chose one of several kernels, where no specification says which."""
        return None if self.inferred is None else self.inferred.kernel

    @property
    def remarks(self) -> tuple[str, ...] | None:
        """What is to be known of an inferred launch; ``None`` where there is none."""
        return None if self.inferred is None else self.inferred.remarks

    def said(self) -> list[str]:
        """The options of a command that asks for the same."""
        return [*self.options(), *(("--kernel", self.chosen) if self.chosen else ())]

    def options(self) -> list[str]:
        """The options that give these sizes and defines."""
        words: list[str] = []
        for name, size in self.sizes.items():
            words += ["--size", f"{name}={size}"]
        for name, value in self.defines.items():
            words += ["--define", f"{name}={value}"]
        if self.against is not None:
            words += ["--against", str(self.against)]
        return words

    def reference(self, spec: LaunchSpec, source: Path) -> str | None:
        """What stands in for the reference: a path as a specification has it."""
        if self.against is None:
            return None
        return version_beside(self.against, (spec.path or source).parent)

    def specified(self, source: Path) -> LaunchSpec:
        """The specification of a source, or the one that was inferred, with these changes."""
        spec = load_spec(source) if self.inferred is None else self.inferred.spec(source)
        return self.applied_to(spec, source)

    def applied_to(self, spec: LaunchSpec, source: Path) -> LaunchSpec:
        """The specification with these changes; a name that it does not know is refused.

        A misspelt size would change nothing, and nobody would see it.
        """
        for option, given, known in (
            ("--size", self.sizes, spec.sizes),
            ("--define", self.defines, spec.compile.defines),
        ):
            unknown = [name for name in given if name not in known]
            if unknown:
                raise UsageError(
                    f"{option} {unknown[0]}: the launch specification has no such name",
                    where=str(source),
                    hint=f"it has: {', '.join(known) or 'none'}",
                )
        for name, value in self.defines.items():
            if character := shell_characters(str(value)):
                raise UsageError(
                    f"--define {name} holds {character!r}, which a shell takes for more than text",
                    where=str(source),
                    hint="write it without $, `, \\ and control characters",
                )
        found = spec.changed(
            sizes=self.sizes, defines=self.defines, reference=self.reference(spec, source)
        )
        found.resolve()
        found.resolve(found.check_sizes)
        return found


def version_beside(against: Path, folder: Path) -> str:
    """Another version of a kernel, by its path from the folder of a specification."""
    if against.suffix != ".cu":
        raise UsageError(
            "another version of a kernel is a .cu file",
            where=str(against),
            hint="--against before.cu",
        )
    refuse_other_than_file(against, hint="--against names the .cu file of another version")
    return os.path.relpath(against.resolve(), folder.resolve())


def parse_size(text: str) -> tuple[str, int]:
    """``NAME=VALUE`` with a whole number from 1 on."""
    name, found, value = text.partition("=")
    fits = found and _NAME.fullmatch(name) and re.fullmatch(r"[0-9]{1,15}", value)
    if not fits or int(value) < 1:
        raise UsageError(
            f"--size {text!r} is not NAME=VALUE with a whole number of 1 or more",
            hint="for example --size M=2048",
        )
    return name, int(value)


def parse_define(text: str) -> tuple[str, Define]:
    """``NAME=VALUE``, or ``NAME`` for the value 1, as ``nvcc -D`` takes it.

    What is no plain number stays text, such as ``010``, which C reads as 8.
    """
    name, found, value = text.partition("=")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--define {text!r} is not NAME=VALUE", hint="for example --define TILE=16"
        )
    if not found:
        return name, 1
    if _WHOLE.fullmatch(value):
        return name, int(value)
    if _FRACTION.fullmatch(value) and math.isfinite(float(value)):
        return name, float(value)
    return name, value


def overrides(
    size: Sequence[str] | None,
    define: Sequence[str] | None,
    sanitize: Sequence[str] | None,
    *,
    has_source: bool,
    against: str | os.PathLike[str] | None = None,
) -> LaunchOverrides:
    """What the options ask for; they are refused where there is no source to build."""
    given = {"--size": size or (), "--define": define or (), "--sanitize": sanitize or ()}
    given["--against"] = () if against is None else (os.fspath(against),)
    useless = [option for option, values in given.items() if values]
    if not useless:
        return LaunchOverrides()
    if not has_source:
        raise UsageError(
            f"{useless[0]} is for a kernel that is built from source, and no .cu file is named",
            hint="name one: kernelprof diagnose kernel.cu --size M=2048",
        )
    from kernelprof.launch.faults import SANITIZERS

    tools = tuple(dict.fromkeys(given["--sanitize"]))
    for tool in tools:
        if tool not in SANITIZERS:
            raise UsageError(
                f"--sanitize {tool!r} is no tool of compute-sanitizer",
                hint=f"there are: {', '.join(SANITIZERS)}",
            )
    values: dict[str, dict[str, Any]] = {"--size": {}, "--define": {}}
    for option, parse in (("--size", parse_size), ("--define", parse_define)):
        for text in given[option]:
            name, value = parse(text)
            if name in values[option]:
                raise UsageError(
                    f"{option} {text!r} is a second value for {name}",
                    hint="give one; several are measured one after the other",
                )
            values[option][name] = value
    other = None if against is None else Path(against)
    return LaunchOverrides(values["--size"], values["--define"], tools, other)
