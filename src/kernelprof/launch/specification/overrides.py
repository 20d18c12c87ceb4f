"""What replaces parts of a specification: options such as ``--size M=2048``, an inferred launch."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelprof.errors import UsageError
from kernelprof.launch.build.options import shell_characters
from kernelprof.launch.source import SpecBlock, refuse_other_than_file
from kernelprof.launch.specification.reader import load_spec, read_spec
from kernelprof.suggestions import similar_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.launch.specification.tables import Define


@dataclass(frozen=True, slots=True)
class InferredSpecification:
    """A launch specification that was inferred, and is in no file."""

    toml: str
    remarks: tuple[str, ...] = ()
    kernel: str | None = None
    """The name by which its kernel was chosen, where the file has several."""

    def spec(self, source: Path) -> LaunchSpec:
        """Read it for the source that it was inferred from."""
        return read_spec(SpecBlock(self.toml, source, inferred=True))


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_FRACTION = re.compile(r"-?[0-9]+(\.[0-9]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)")


@dataclass(frozen=True, slots=True)
class LaunchOverrides:
    """What a command changes in a launch.

    ``against``, another version of the kernel, replaces the reference; ``sanitizers`` are tools
    of ``compute-sanitizer`` to pass; ``inferred`` replaces a missing specification.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    defines: Mapping[str, Define] = field(default_factory=dict)
    sanitizers: tuple[str, ...] = ()
    against: Path | None = None
    inferred: InferredSpecification | None = None

    @property
    def chosen(self) -> str | None:
        """The name that chose one of several kernels of an inferred launch."""
        return None if self.inferred is None else self.inferred.kernel

    @property
    def remarks(self) -> tuple[str, ...] | None:
        """Remarks about an inferred launch; ``None`` without one."""
        return None if self.inferred is None else self.inferred.remarks

    def command_options(self) -> list[str]:
        """Return the command's options for the same launch."""
        return [*self.options(), *(("--kernel", self.chosen) if self.chosen else ())]

    def options(self) -> list[str]:
        """Return the child's options for the same sizes, defines and reference."""
        words: list[str] = []
        for option, values in (("--size", self.sizes), ("--define", self.defines)):
            for name, value in values.items():
                words += [option, f"{name}={value}"]
        if self.against is not None:
            words += ["--against", str(self.against)]
        return words

    def specified(self, source: Path) -> LaunchSpec:
        """Return the source's or inferred specification with these changes."""
        spec = load_spec(source) if self.inferred is None else self.inferred.spec(source)
        return self.applied_to(spec, source)

    def applied_to(self, spec: LaunchSpec, source: Path) -> LaunchSpec:
        """Return the specification with these changes.

        A name that it does not have is refused: a misspelt size would change nothing.
        """
        for option, given, names in (
            ("--size", self.sizes, spec.sizes),
            ("--define", self.defines, spec.compile.defines),
        ):
            refuse_unknown(option, given, names, source)
        for name, value in self.defines.items():
            if character := shell_characters(str(value)):
                raise UsageError(
                    f"--define {name} contains {character!r}, which a shell interprets",
                    where=str(source),
                    hint="write it without $, `, \\ and control characters",
                )
        reference = None
        if self.against is not None:
            reference = relative_version(self.against, (spec.path or source).parent)
        changed = spec.changed(sizes=self.sizes, defines=self.defines, reference=reference)
        changed.resolve()
        changed.resolve(changed.check_sizes)
        return changed


def refuse_unknown(option: str, given: Iterable[str], names: Collection[str], source: Path) -> None:
    """Refuse a name that a launch specification does not have."""
    for name in given:
        if name not in names:
            similar = similar_name(name, names)
            meant = "" if similar is None else f"did you mean {similar}? "
            raise UsageError(
                f"{option} {name}: the launch specification has no such name",
                where=str(source),
                hint=f"{meant}available: {', '.join(names) or 'none'}",
            )


def relative_version(against: Path, folder: Path) -> str:
    """Return another version's path, relative to the folder of a specification."""
    if against.suffix != ".cu":
        raise UsageError(
            "another version of a kernel must be a .cu file",
            where=str(against),
            hint="for example --against before.cu",
        )
    refuse_other_than_file(against, hint="--against takes the .cu file of another version")
    return os.path.relpath(against.resolve(), folder.resolve())


def parse_size(text: str) -> tuple[str, int]:
    """Parse ``NAME=VALUE`` with an integer from 1 on."""
    name, separator, value = text.partition("=")
    fits = separator and _NAME.fullmatch(name) and re.fullmatch(r"[0-9]{1,15}", value)
    if not fits or int(value) < 1:
        several = [each.strip() for each in text.split(",")]
        size = name if _NAME.fullmatch(name) else "M"
        raise UsageError(
            f"--size {text!r} is not NAME=VALUE with a whole number of 1 or more",
            hint=" ".join(f"--size {each}" for each in several)
            if len(several) > 1
            else f"for example --size {size}=2048",
        )
    return name, int(value)


def parse_define(text: str) -> tuple[str, Define]:
    """Parse ``NAME=VALUE``, or ``NAME`` for 1, as ``nvcc -D``.

    What is no plain number stays text, such as ``010``, which C reads as 8.
    """
    name, separator, value = text.partition("=")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--define {text!r} is not NAME=VALUE", hint="for example --define TILE=16"
        )
    if not separator:
        return name, 1
    if _WHOLE.fullmatch(value):
        return name, int(value)
    if _FRACTION.fullmatch(value) and math.isfinite(float(value)):
        return name, float(value)
    return name, value


def parse_overrides(
    size: Sequence[str] | None,
    define: Sequence[str] | None,
    sanitize: Sequence[str] | None,
    *,
    has_source: bool,
    against: str | os.PathLike[str] | None = None,
) -> LaunchOverrides:
    """Parse the options of a command; refuse them without a source to build."""
    given = {"--size": size or (), "--define": define or (), "--sanitize": sanitize or ()}
    given["--against"] = () if against is None else (os.fspath(against),)
    useless = [option for option, values in given.items() if values]
    if not useless:
        return LaunchOverrides()
    if not has_source:
        raise UsageError(
            f"{useless[0]} applies only to a .cu file, but the command has none",
            hint="for example kernelprof diagnose kernel.cu --size M=2048",
        )
    from kernelprof.launch.run.faults import SANITIZERS

    tools = tuple(dict.fromkeys(given["--sanitize"]))
    for tool in tools:
        if tool not in SANITIZERS:
            raise UsageError(
                f"--sanitize {tool!r} is not a compute-sanitizer tool",
                hint=f"available: {', '.join(SANITIZERS)}",
            )
    values: dict[str, dict[str, Any]] = {"--size": {}, "--define": {}}
    for option, parse in (("--size", parse_size), ("--define", parse_define)):
        for text in given[option]:
            name, value = parse(text)
            if name in values[option]:
                raise UsageError(
                    f"{option} {text!r} gives {name} a second value",
                    hint="give one value, and run the command once for each value",
                )
            values[option][name] = value
    other = None if against is None else Path(against)
    return LaunchOverrides(values["--size"], values["--define"], tools, other)
