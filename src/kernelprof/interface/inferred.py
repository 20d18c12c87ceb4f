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
    from kernelprof.launch.inference.proposal import SpecificationProposal
    from kernelprof.launch.specification.overrides import InferredSpecification, LaunchOverrides
    from kernelprof.results import Diagnosis, PathLike

_SMALL_GRID: Final = "small-grid"
_INFERRED_SIZES: Final = "the number of blocks depends on the sizes: set realistic ones with --size"
_DOUBTFUL: Final = "the inferred launch may be wrong: {}"
_MOST_REMEMBERED: Final = 16
"""Launches that are remembered: the same source is asked for again for each architecture."""


def with_launch(
    changes: LaunchOverrides,
    source: PathLike,
    kernel: str | None,
    progress: Progress | None,
    *,
    programs: bool = False,
    accepts_mistakes: bool = False,
) -> LaunchOverrides:
    """The changes with an inferred launch, where a source has no specification.

    A source with its own ``main`` is a program, which launches its kernels itself; with
    ``programs`` a kernel of it is launched all the same. ``kernel`` says which of several. Raises
    :class:`InputError` where more has to be known than the source says, and where the kernel goes
    wrong, unless ``accepts_mistakes``: then it is to be judged.
    """
    from kernelprof.launch.signature import has_main
    from kernelprof.launch.source import find_block, read_source, refuse_other_than_file

    path = Path(source)
    refuse_other_than_file(path, hint="name a .cu file, or a program after --")
    if find_block(path) is not None or (not programs and has_main(read_source(path))):
        return changes
    sizes = tuple(changes.sizes)
    inference = _Inference(path, kernel, changes.against, accepts_mistakes, sizes)
    inference.progress = progress
    return replace(changes, inferred=_infer(inference))


def kernels_to_diagnose(
    source: PathLike, kernel: str | None, *, predicted: bool
) -> tuple[str | None, ...]:
    """Return the kernels of a source to diagnose one by one; ``None`` is the one it specifies.

    A source with its own ``main`` is measured as a program, and each of its kernels ``predicted``.
    """
    from kernelprof.launch.source import find_block, read_source, refuse_other_than_file

    path = Path(source)
    refuse_other_than_file(path, hint="name a .cu file, or a program after --")
    if kernel is not None or find_block(path) is not None:
        return (kernel,)
    from kernelprof.launch import syntax
    from kernelprof.launch.inference.proposal import candidate_kernels
    from kernelprof.launch.signature import declared_kernels, has_main

    text = read_source(path)
    if has_main(text) and not (predicted or _lacks_gpu()):
        return (None,)
    root = syntax.parse(text)
    candidates = candidate_kernels([each.kernel for each in declared_kernels(root)], root)
    return tuple(each.name for each in candidates) if len(candidates) > 1 else (None,)


def _lacks_gpu() -> bool:
    from kernelprof.collect.request import local_tools

    return bool(local_tools(for_source=True).missing)


def with_inferred_launch(request: ProfileRequest, progress: Progress | None) -> ProfileRequest:
    """Return the request with an inferred launch where its source has no specification.

    The name that chose the kernel is then no filter any more: it is the only one.
    """
    if request.source is None:
        return request
    changes = with_launch(request.overrides, request.source, request.filters.kernel, progress)
    if changes.inferred is None:
        return request
    return replace(request, overrides=changes, filters=replace(request.filters, kernel=None))


@dataclass(unsafe_hash=True)
class _Inference:
    """What a launch is inferred for; whoever shows how far it is makes no difference."""

    source: Path
    kernel: str | None
    against: Path | None
    accepts_mistakes: bool
    sizes: tuple[str, ...]
    folder: Path = field(default_factory=Path.cwd)
    progress: Progress | None = field(default=None, compare=False)


def _infer(inference: _Inference) -> InferredSpecification:
    from kernelprof.launch.source import file_hash, include_hashes

    hashes = include_hashes(inference.source)
    digests = (file_hash(inference.source), *(f"{name} {each}" for name, each in hashes))
    return _infer_once(inference, digests)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _infer_once(inference: _Inference, digests: tuple[str, ...]) -> InferredSpecification:  # noqa: ARG001
    from dataclasses import astuple

    from kernelprof.interface import prediction_cache
    from kernelprof.launch.specification.overrides import InferredSpecification

    return prediction_cache.recall_inference(
        inference.source,
        inference.against,
        [inference.kernel, inference.accepts_mistakes, inference.sizes, inference.folder],
        lambda: astuple(_infer_anew(inference)),
        lambda values: InferredSpecification(values[0], tuple(values[1]), values[2]),
    )


def _infer_anew(inference: _Inference) -> InferredSpecification:
    from kernelprof.interface.reference import propose_specification
    from kernelprof.launch.specification.overrides import InferredSpecification

    proposal = propose_specification(
        inference.source,
        kernel=inference.kernel,
        against=inference.against,
        sizes=inference.sizes,
        progress=inference.progress,
    )
    guesses = proposal.guesses
    if inference.accepts_mistakes:
        guesses.trouble = ""
    _refuse_blanks(proposal)
    remarks = list(guesses.remarks)
    if guesses.reference is None and "reference" in guesses.why:
        remarks.append(guesses.why["reference"])
    return InferredSpecification(proposal.toml, tuple(remarks), inference.kernel)


def _refuse_blanks(proposal: SpecificationProposal) -> None:
    blanks = proposal.blanks()
    if not blanks:
        return
    if proposal.guesses.refused is not None:
        raise proposal.guesses.refused
    name = proposal.kernel.name
    trouble = proposal.guesses.trouble
    hint = _filling_in(proposal.path, proposal.requested_kernel)
    if trouble:
        what = f"{name} has no launch specification, and {trouble}"
    else:
        listed = ", ".join(blanks)
        if proposal.guesses.kernel is None:
            names = ", ".join(each.name for each in proposal.kernel.template)
            listed = f"its template arguments ({names})"
            instance = shlex.quote(f"{name}<...>")
            hint = (
                f"specify the template arguments: --kernel {instance}\n"
                f"or fill in a launch specification: {hint}"
            )
        what = f"{name} has no launch specification, and its source does not determine {listed}"
    raise InputError(what, where=f"{proposal.path}:{proposal.kernel.line}", hint=hint)


def _init(source: PathLike, kernel: str | None = None) -> str:
    chosen = "" if kernel is None else f" --kernel {shlex.quote(kernel)}"
    return f"`kernelprof init {shlex.quote(os.fspath(source))}{chosen}`"


def _filling_in(source: PathLike, kernel: str | None) -> str:
    written = "writes the inferred values into the file, and marks the values to fill in"
    return f"{_init(source, kernel)} {written}"


def qualify_verdicts(diagnosis: Diagnosis) -> Diagnosis:
    """Lower the confidence of verdicts on what was made up, or may be launched otherwise."""
    source = None if diagnosis.capture is None else diagnosis.capture.inferred
    if source is None:
        return diagnosis
    from kernelprof.launch.inference.evidence import MOSTLY_POISONED, NOT_THAT_OF

    doubts = [
        _DOUBTFUL.format(each)
        for each in source.inferred or ()
        if each.startswith((NOT_THAT_OF, MOSTLY_POISONED))
    ]
    kernels = []
    for each in diagnosis.kernels:
        verdict = each.verdict
        if reasons := [*doubts, *[_INFERRED_SIZES] * (verdict.bottleneck == _SMALL_GRID)]:
            notes = (*reasons, *verdict.notes)
            verdict = replace(verdict, confidence=Confidence.LOW, notes=notes)
        kernels.append(replace(each, verdict=verdict))
    return replace(diagnosis, kernels=tuple(kernels))


@contextmanager
def explaining_inferred(changes: LaunchOverrides, source: PathLike) -> Iterator[None]:
    """Say of a kernel that goes wrong that nobody wrote down how it is launched."""
    from kernelprof.launch.run.trial import LaunchError
    from kernelprof.launch.specification.expressions import SpecError

    try:
        yield
    except SpecError as error:
        if changes.inferred is None:
            raise
        raise InputError(
            f"there is no launch specification, and the inferred one is invalid: {error.what}",
            where=error.where,
            hint=_filling_in(source, changes.inferred.kernel),
        ) from error
    except LaunchError as error:
        if changes.inferred is not None:
            error.what = f"the inferred launch may be wrong: with this launch, {error.what}"
            more = f"{_init(source)} writes the launch into the file for review"
            error.hint = "\n".join(filter(None, (error.hint, more)))
        raise
