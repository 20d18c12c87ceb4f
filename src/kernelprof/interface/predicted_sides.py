"""Sources as sides of the gate, and of baselines: predicted, and not run where nothing changed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof import files
from kernelprof.errors import InputError, UsageError
from kernelprof.interface.inferred import asked_about, with_launch
from kernelprof.interface.prediction import architectures, compiled, predicted
from kernelprof.interface.profiling import is_source
from kernelprof.results import Capture

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.launch.overrides import LaunchOverrides
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot
    from kernelprof.predict.built import Compiled
    from kernelprof.results import PathLike, Side


def sources(targets: Side) -> list[PathLike]:
    """The sources of a side; none where it is of captures.

    Raises :class:`UsageError` where it is of both.
    """
    given = [targets] if isinstance(targets, str | os.PathLike | Capture) else list(targets)
    found = [each for each in given if not isinstance(each, Capture) and is_source(each)]
    if found and len(found) < len(given):
        raise UsageError(
            "sources and captures are given together",
            where=os.fspath(found[0]),
            hint="name either: a source is predicted, and a capture was measured",
        )
    return found


def made(
    targets: Side,
    arch: Sequence[str] | None,
    progress: Progress | None,
    *,
    predict: bool,
    kernels: Sequence[str] = (),
) -> Snapshot | None:
    """Sources as a side: a kernel each, for each of these architectures; ``None`` of captures.

    Raises :class:`UsageError` for sources where nobody asked to ``predict`` them, and the other
    way round.
    """
    named = sources(targets)
    if not named:
        refuse_without_source(arch, predict=predict)
        return None
    refuse_unasked(named[0], predict=predict)
    launches = {target: _launch(target, None, kernels, progress) for target in named}
    return _together(
        _run(_compile(target, each, progress, launches[target]), progress)
        for target in named
        for each in architectures(arch)
    )


def versions(
    before: PathLike,
    after: Side,
    arch: Sequence[str] | None,
    progress: Progress | None,
    *,
    run: bool,
    against: PathLike | None = None,
    kernels: Sequence[str] = (),
) -> tuple[Snapshot, Snapshot]:
    """Two versions of a source as the two sides, for each of these architectures.

    Where both are the same machine code nothing is run, unless ``run`` asks for it. What
    ``against`` gives is what the second has to give. One name in ``kernels`` says which of
    several is launched where no specification does.
    """
    from kernelprof.comparison.inputs import same_code

    named = sources(after)
    if len(named) != 1:
        raise UsageError(
            "a source is compared with one other version of it",
            where=os.fspath(before),
            hint="name two: kernelprof gate before.cu after.cu --predict\n"
            "for several keep a baseline: kernelprof baseline save A.cu B.cu --predict -o FILE",
        )
    sides: tuple[list[Snapshot], list[Snapshot]] = ([], [])
    launches = _alike(before, named[0], against, kernels, progress)
    for each in architectures(arch):
        codes = [
            _compile(target, each, progress, changes)
            for target, changes in zip((before, *named), launches, strict=True)
        ]
        bare = [_bare(code) for code in codes]
        same = not run and same_code(bare[0].kernels[0], bare[1].kernels[0])
        for into, code, known in zip(sides, codes, bare, strict=True):
            last = into is sides[1]
            into.append(known if same else (_judged if last else _run)(code, progress))
    return _together(sides[0]), _together(sides[1])


def candidate(
    baseline: Snapshot,
    targets: Side,
    arch: Sequence[str] | None,
    progress: Progress | None,
    *,
    run: bool = False,
    against: PathLike | None = None,
    kernels: Sequence[str] = (),
) -> Snapshot | None:
    """Sources as the candidate of a baseline that holds predictions; ``None`` of captures.

    For the architectures that the baseline has, unless some are named. What is the same machine
    code as in the baseline is not run, unless ``run`` asks for it: it counts what that does. What
    ``against`` gives is what each has to give.
    """
    from kernelprof.comparison import predictions

    named = sources(targets)
    if not named:
        return None
    known = predictions.architectures(baseline.kernels)
    if baseline.kernels and not known:
        raise InputError(
            "the baseline was measured, and a source is predicted",
            where=baseline.origin,
            hint=f"measure it: kernelprof profile {os.fspath(named[0])} -o capture\nor make a "
            "baseline of predictions: kernelprof baseline save KERNEL.cu --predict -o FILE",
        )
    wanted = architectures(arch or known)
    if known and (lacking := [each for each in wanted if each not in known]):
        raise UsageError(
            f"the baseline holds predictions for {', '.join(known)}, and none for "
            f"{', '.join(lacking)}",
            where=baseline.origin,
            hint="leave out --arch, or make a baseline for it: kernelprof baseline save KERNEL.cu "
            f"--predict --arch {','.join((*known, *lacking))} -o FILE",
        )
    found = []
    for target in named:
        changes = _launch(target, against, kernels, progress, wrong=True)
        for each in wanted:
            code = _compile(target, each, progress, changes)
            bare = _bare(code)
            held = None if run else predictions.held(baseline, bare.kernels[0])
            found.append(replace(bare, kernels=(held,)) if held else _judged(code, progress))
    return _together(found)


def held_against(
    baseline: Snapshot, candidate: Snapshot, targets: Side, rename: Sequence[str] = ()
) -> tuple[Snapshot, tuple[KernelSnapshot, ...]]:
    """The kernels of a baseline that sources stand for, and those of other sources.

    All of them where the candidate is of captures: what is not in those is gone.
    """
    from kernelprof.comparison.predictions import ends_with, of_sources

    named = [Path(each) for each in sources(targets)]
    if not named:
        return baseline, ()

    # Paths are those of the folder in which the baseline was made.
    folders = {Path(), Path(baseline.origin).parent}
    for kernel in baseline.kernels:
        held = Path(kernel.inputs.path if kernel.inputs else "")
        folders |= {each.parents[len(held.parts) - 1] for each in named if ends_with(each, held)}

    def is_gone(path: str) -> bool:
        return not any(files.is_plain(folder / path) for folder in folders)

    return of_sources(baseline, candidate, renamed=rename, is_gone=is_gone)


def refuse_unasked(source: PathLike, *, predict: bool) -> None:
    """Refuse a source that nobody asked to predict: it could as well be meant to be measured."""
    if not predict:
        name = os.fspath(source)
        raise UsageError(
            "a source is not measured here",
            where=name,
            hint="predict what it counts, without a GPU: --predict\n"
            f"or measure it on a machine with one: kernelprof profile {name} -o capture",
        )


def refuse_without_source(
    arch: Sequence[str] | None, *, predict: bool, against: PathLike | None = None
) -> None:
    """Refuse to predict where no source is named."""
    if predict or arch:
        raise UsageError(
            f"{'--predict' if predict else '--arch'} is for sources, and none is named",
            hint="name a .cu file",
        )
    if against is not None:
        raise UsageError("--against is for sources", hint="name a .cu file as the candidate")


def _launch(
    target: PathLike,
    against: PathLike | None,
    kernels: Sequence[str],
    progress: Progress | None,
    *,
    wrong: bool = False,
) -> LaunchOverrides:
    """How a source is launched: as it says, else as can be inferred."""
    from kernelprof.launch.overrides import LaunchOverrides

    other = None if against is None else Path(against)
    named = kernels[0] if len(kernels) == 1 else None
    changes = LaunchOverrides(against=other)
    return with_launch(changes, target, named, progress, programs=True, wrong=wrong)


def _alike(
    before: PathLike,
    after: PathLike,
    against: PathLike | None,
    kernels: Sequence[str],
    progress: Progress | None,
) -> tuple[LaunchOverrides, LaunchOverrides]:
    """The launches of two versions: one that is inferred gets the sizes of the other.

    What is guessed of a size follows from the whole source, and is no part of the change.
    """
    old = _launch(before, None, kernels, progress)
    new = _launch(after, against, kernels, progress, wrong=True)
    if old.inferred is None and new.inferred is None:
        return old, new
    sizes = [each.specified(Path(at)).sizes for each, at in ((old, before), (new, after))]
    given, own = sizes if new.inferred is not None else sizes[::-1]
    same = {name: value for name, value in given.items() if own.get(name, value) != value}
    if new.inferred is not None:
        return old, replace(new, sizes=same)
    return replace(old, sizes=same), new


def _compile(
    target: PathLike, arch: str, progress: Progress | None, changes: LaunchOverrides
) -> Compiled:
    with asked_about(changes, target):
        return compiled(target, changes, arch, progress)


def _run(code: Compiled, progress: Progress | None) -> Snapshot:
    from kernelprof.comparison import sides

    with asked_about(code.overrides, code.source):
        found = predicted(code, progress)
    taken = sides.snapshot(found, None, found.contents.source_text, found.prediction)
    return replace(taken, origin=str(code.source))


def _judged(code: Compiled, progress: Progress | None) -> Snapshot:
    """A candidate; one that is wrong has that in place of counts: the gate says so."""
    from kernelprof.launch.trial import LaunchError
    from kernelprof.predict.facts import mistake

    try:
        return _run(code, progress)
    except LaunchError as error:
        wrong = mistake(code, error)
        if wrong is None:
            raise
    bare = _bare(code)
    (kernel,) = bare.kernels
    assert kernel.predicted is not None  # it was compiled
    known = replace(kernel.predicted, mistake=wrong)
    return replace(bare, kernels=(replace(kernel, passed=False, predicted=known),))


def _bare(code: Compiled) -> Snapshot:
    """A kernel that was compiled and not run."""
    from kernelprof.comparison.predictions import of_code
    from kernelprof.launch.source import read_source
    from kernelprof.model.inferred import sentences
    from kernelprof.model.snapshot import Snapshot
    from kernelprof.predict.facts import facts_of_code

    known, at = facts_of_code(code), code.spec.resolve()
    kernel = of_code(code.spec.kernel, at.grid, at.block, known)
    text = read_source(code.source)
    return Snapshot(
        str(code.source),
        kernels=(kernel,),
        sources={known.source.sha256: text},
        warnings=sentences(known.source),
    )


def _together(sides: Iterable[Snapshot]) -> Snapshot:
    from kernelprof.comparison.predictions import together

    return together(list(sides))
