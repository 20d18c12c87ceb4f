"""A kernel whose source has no launch specification: the one that ``init`` would write is used."""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.errors import InputError
from kernelprof.model.diagnosis import Confidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import ProfileRequest
    from kernelprof.launch.inferred import Inferred
    from kernelprof.launch.initialise import Proposal
    from kernelprof.launch.overrides import LaunchOverrides
    from kernelprof.results import Diagnosis, PathLike

_OF_SIZES: Final = "small-grid"
_MADE_UP: Final = (
    "how many blocks there are follows from sizes that were inferred: --size gives others"
)
_DOUBTFUL: Final = "the inferred launch may be wrong: {}"
_KEPT: Final = 16
"""Launches that are remembered: the same source is asked for again for each architecture."""


def with_launch(
    changes: LaunchOverrides,
    source: PathLike,
    kernel: str | None,
    progress: Progress | None,
    *,
    programs: bool = False,
    wrong: bool = False,
) -> LaunchOverrides:
    """The changes with an inferred launch, where a source has no specification.

    A source with its own ``main`` is a program, which launches its kernels itself; with
    ``programs`` a kernel of it is launched all the same. ``kernel`` says which of several. Raises
    :class:`InputError` where more has to be known than the source says, and where the kernel goes
    wrong, unless what is ``wrong`` is asked for: to be judged.
    """
    from kernelprof.launch.signature import has_main
    from kernelprof.launch.source import find_block, read_source, refuse_other_than_file

    path = Path(source)
    refuse_other_than_file(path, hint="name a .cu file, or a program after --")
    if find_block(path) is not None or (not programs and has_main(read_source(path))):
        return changes
    asked = _Asked(path, kernel, changes.against, wrong)
    asked.progress = progress
    return replace(changes, inferred=_inferred(asked))


def with_launch_of(
    wanted: ProfileRequest, kernel: str | None, progress: Progress | None
) -> ProfileRequest:
    """What is to be measured of a source, with an inferred launch where it has no specification.

    The name that chose the kernel is then no filter any more: it is the only one.
    """
    if wanted.source is None:
        return wanted
    changes = with_launch(wanted.overrides, wanted.source, kernel, progress)
    if changes.inferred is None:
        return wanted
    return replace(wanted, overrides=changes, filters=replace(wanted.filters, kernel=None))


@dataclass(unsafe_hash=True)
class _Asked:
    """What a launch is inferred for; whoever shows how far it is makes no difference."""

    source: Path
    kernel: str | None
    against: Path | None
    wrong: bool
    folder: Path = field(default_factory=Path.cwd)
    progress: Progress | None = field(default=None, compare=False)


def _inferred(asked: _Asked) -> Inferred:
    from kernelprof.launch.source import file_hash, include_hashes

    hashes = include_hashes(asked.source)
    digests = (file_hash(asked.source), *(f"{name} {each}" for name, each in hashes))
    return _remembered(asked, digests)


@lru_cache(maxsize=_KEPT)
def _remembered(asked: _Asked, digests: tuple[str, ...]) -> Inferred:  # noqa: ARG001
    from kernelprof.interface.reference import proposed
    from kernelprof.launch.inferred import Inferred

    found = proposed(
        asked.source, kernel=asked.kernel, against=asked.against, progress=asked.progress
    )
    guesses = found.guesses
    if asked.wrong:
        guesses.trouble = ""
    _refuse_blanks(found)
    remarks = list(guesses.remarks)
    if guesses.reference is None and "reference" in guesses.why:
        remarks.append(guesses.why["reference"])
    return Inferred(found.toml, tuple(remarks), asked.kernel)


def _refuse_blanks(found: Proposal) -> None:
    blanks = found.blanks()
    if not blanks:
        return
    path = shlex.quote(str(found.path))
    chosen = "" if found.asked is None else f" --kernel {shlex.quote(found.asked)}"
    trouble = found.guesses.trouble
    hint = (
        f"`kernelprof init {path}{chosen}` writes what is known into the file, and marks what is "
        "to be filled in"
    )
    if trouble:
        what = f"{found.kernel.name} has no launch specification, and {trouble}"
    else:
        listed = ", ".join(blanks)
        if found.guesses.kernel is None:
            listed = f"which {', '.join(each.name for each in found.kernel.template)} it has"
            name = shlex.quote(f"{found.kernel.name}<...>")
            hint = f"name the instance: --kernel {name}\nor " + hint
        what = (
            f"{found.kernel.name} has no launch specification, and its source does not say {listed}"
        )
    raise InputError(what, where=f"{found.path}:{found.kernel.line}", hint=hint)


def qualified(found: Diagnosis) -> Diagnosis:
    """A diagnosis without a sure verdict on what was made up, or may be launched otherwise."""
    known = None if found.capture is None else found.capture.inferred
    if known is None:
        return found
    from kernelprof.launch.guess.guesses import NOT_THAT_OF, UNWRITTEN

    doubts = [each for each in known.inferred or () if each.startswith((NOT_THAT_OF, UNWRITTEN))]
    kernels = []
    for each in found.kernels:
        verdict = each.verdict
        said = [_DOUBTFUL.format(doubt) for doubt in doubts]
        said += [_MADE_UP] * (verdict.bottleneck == _OF_SIZES)
        if said:
            notes = (*said, *verdict.notes)
            verdict = replace(verdict, confidence=Confidence.LOW, notes=notes)
        kernels.append(replace(each, verdict=verdict))
    return replace(found, kernels=tuple(kernels))


@contextmanager
def asked_about(changes: LaunchOverrides, source: PathLike) -> Iterator[None]:
    """Say of a kernel that goes wrong that nobody wrote down how it is launched."""
    from kernelprof.launch.trial import LaunchError

    try:
        yield
    except LaunchError as error:
        if changes.inferred is not None:
            more = (
                "its launch was inferred from the source, and may be what is wrong: "
                f"`kernelprof init {shlex.quote(os.fspath(source))}` writes it into the file"
            )
            error.hint = "\n".join(filter(None, (error.hint, more)))
        raise
