"""Sources as sides of the gate, and of baselines: predicted, and not run where nothing changed."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.errors import InputError, UsageError
from kernelprof.interface import prediction_cache
from kernelprof.interface.inferred import explaining_inferred, with_launch
from kernelprof.interface.prediction import LaunchedSource, predict_capture, unique_architectures
from kernelprof.interface.requests import is_source
from kernelprof.results import Capture

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.launch.specification.overrides import LaunchOverrides
    from kernelprof.model.prediction import OneSided, OutputSample, Predicted
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot
    from kernelprof.prediction.machine_code import CompiledSource
    from kernelprof.results import PathLike, Side

_MOST_VALUES: Final = 1 << 14
_MOST_SAVED: Final = 1 << 10
"""Values of an output that a baseline keeps."""


def sources(targets: Side) -> list[PathLike]:
    """The sources of a side; none where it is of captures.

    Raises :class:`UsageError` where it is of both.
    """
    given = [targets] if isinstance(targets, str | os.PathLike | Capture) else list(targets)
    paths = [each for each in given if not isinstance(each, Capture) and is_source(each)]
    if paths and len(paths) < len(given):
        raise UsageError(
            ".cu files and captures cannot be combined",
            where=os.fspath(paths[0]),
            hint="name only .cu files, which are predicted, or only captures",
        )
    return paths


@dataclass(frozen=True, slots=True)
class SourcePredictor:
    """Predicts sources as sides of the gate, for the architectures that are named.

    One name in ``kernels`` says which of several is launched where no specification does. What
    ``against`` gives is what a candidate has to give.
    """

    arch: Sequence[str] | None = None
    progress: Progress | None = None
    kernels: Sequence[str] = ()
    against: PathLike | None = None

    def side(self, targets: Side, *, predict: bool) -> Snapshot | None:
        """Predict the sources of a side, a kernel each; ``None`` of captures.

        Raises :class:`UsageError` for sources where nobody asked to ``predict`` them, and the other
        way round.
        """
        paths = sources(targets)
        if not paths:
            refuse_without_source(self.arch, predict=predict)
            return None
        refuse_unasked(paths[0], predict=predict)
        launches = {target: self._launch(target) for target in paths}
        codes = (
            self._launched(target, each, launches[target])
            for target in paths
            for each in unique_architectures(self.arch)
        )
        return _together(
            self._add_outputs([code], [self._run(code)], most=_MOST_SAVED)[0] for code in codes
        )

    def versions(self, before: PathLike, after: Side, *, run: bool) -> tuple[Snapshot, Snapshot]:
        """Predict two versions of a source as the two sides.

        Where both are the same machine code nothing is run, unless ``run`` asks for it.
        """
        from kernelprof.comparison.inputs import same_code

        paths = sources(after)
        if len(paths) != 1:
            raise UsageError(
                "a .cu file is compared with exactly one other version, but "
                f"{len(paths)} .cu files are named as the candidate",
                where=os.fspath(before),
                hint="name two files: kernelprof gate before.cu after.cu --predict\n"
                "for several sources, save a baseline: kernelprof baseline save A.cu B.cu "
                "--predict -o FILE",
            )
        sides: tuple[list[Snapshot], list[Snapshot]] = ([], [])
        launches = self._launches_alike(before, paths[0])
        for each in unique_architectures(self.arch):
            codes = [
                self._launched(target, each, launch)
                for target, launch in zip((before, *paths), launches, strict=True)
            ]
            bare = [_without_counts(code) for code in codes]
            same = not run and same_code(bare[0].kernels[0], bare[1].kernels[0])
            if not same:
                bare = [self._run(codes[0]), self._run_candidate(codes[1])]
                bare = self._add_outputs(codes, bare, most=_MOST_VALUES)
            sides[0].append(bare[0])
            sides[1].append(bare[1])
        return _together(sides[0]), _together(sides[1])

    def candidate(self, baseline: Snapshot, targets: Side, *, run: bool = False) -> Snapshot | None:
        """Predict sources as the candidate of a baseline of predictions; ``None`` of captures.

        For the architectures that the baseline has, unless some are named. What is the same machine
        code as in the baseline is not run, unless ``run`` asks for it: it counts what that does.
        """
        from kernelprof.comparison import sides

        paths = sources(targets)
        if not paths:
            return None
        recorded = sides.predicted_architectures(baseline.kernels)
        if baseline.kernels and not recorded:
            raise InputError(
                "the baseline was measured, but the candidate is predicted",
                where=baseline.origin,
                hint=f"measure the candidate: kernelprof profile {os.fspath(paths[0])} -o capture\n"
                "or make a baseline of predictions: kernelprof baseline save KERNEL.cu --predict "
                "-o FILE",
            )
        wanted = unique_architectures(self.arch or recorded)
        if recorded and (lacking := [each for each in wanted if each not in recorded]):
            raise UsageError(
                f"the baseline contains predictions for {', '.join(recorded)}, but none for "
                f"{', '.join(lacking)}",
                where=baseline.origin,
                hint="leave out --arch, or predict all architectures: kernelprof baseline save "
                f"KERNEL.cu --predict --arch {','.join((*recorded, *lacking))} -o FILE",
            )
        snapshots = []
        for target in paths:
            launch = self._launch(target, candidate=True)
            for each in wanted:
                code = self._launched(target, each, launch)
                bare = _without_counts(code)
                held = None if run else sides.find_stored_counts(baseline, bare.kernels[0])
                if held:
                    snapshots.append(replace(bare, kernels=(held,)))
                else:
                    ran = [self._run_candidate(code)]
                    snapshots += self._add_outputs([code], ran, most=_MOST_VALUES)
        return _together(snapshots)

    def _launch(self, target: PathLike, *, candidate: bool = False) -> LaunchOverrides:
        from kernelprof.launch.specification.overrides import LaunchOverrides

        other = Path(self.against) if candidate and self.against is not None else None
        paths = self.kernels[0] if len(self.kernels) == 1 else None
        return with_launch(
            LaunchOverrides(against=other),
            target,
            paths,
            self.progress,
            programs=True,
            accepts_mistakes=candidate,
        )

    def _launches_alike(
        self, before: PathLike, after: PathLike
    ) -> tuple[LaunchOverrides, LaunchOverrides]:
        """The launches of two versions: one that is inferred gets the sizes of the other.

        What is guessed of a size follows from the whole source, and is no part of the change.
        """
        old, new = self._launch(before), self._launch(after, candidate=True)
        if old.inferred is None and new.inferred is None:
            return old, new
        sizes = [each.specified(Path(at)).sizes for each, at in ((old, before), (new, after))]
        given, own = sizes if new.inferred is not None else sizes[::-1]
        same = {name: value for name, value in given.items() if own.get(name, value) != value}
        if new.inferred is not None:
            return old, replace(new, sizes=same)
        return replace(old, sizes=same), new

    def _launched(self, target: PathLike, arch: str, launch: LaunchOverrides) -> LaunchedSource:
        return LaunchedSource(Path(target), launch, arch, self.progress)

    def _run(self, code: LaunchedSource) -> Snapshot:
        from kernelprof.comparison.snapshots import make_snapshot

        with explaining_inferred(code.overrides, code.source):
            capture = predict_capture(code)
        snapshot = make_snapshot(
            capture, prediction=capture.prediction, text=capture.contents.source_text
        )
        return replace(snapshot, origin=str(code.source))

    def _add_outputs(
        self, codes: Sequence[LaunchedSource], sides: list[Snapshot], *, most: int
    ) -> list[Snapshot]:
        """Add what the blocks of all sides write to versions that were all counted."""
        counts = [side.kernels[0].predicted for side in sides]
        blocks = [each.coverage.blocks for each in counts if each and each.coverage]
        if len(blocks) < len(sides):
            return sides
        # Rare blocks of each, in turn: there may not be the time for all.
        together = [each for row in zip_longest(*blocks) for each in row if each is not None]
        numbers = tuple(dict.fromkeys(together))
        outputs = prediction_cache.recall(
            f"outputs of {most} values, blocks {numbers}",
            [code.version for code in codes],
            lambda: self._sample_outputs(codes, numbers, most),
            _outputs_of_values,
        )
        return [
            replace(side, kernels=(replace(side.kernels[0], predicted=_with(each, *out)),))
            for side, each, out in zip(sides, counts, outputs, strict=True)
            if each is not None  # it was counted
        ]

    def _sample_outputs(
        self, launched: Sequence[LaunchedSource], numbers: tuple[int, ...], most: int
    ) -> list[object]:
        import msgspec

        from kernelprof.collect.progress import Progress
        from kernelprof.prediction.output_sample import list_thresholds, sample_outputs
        from kernelprof.prediction.worker_process import WorkerProcess

        codes = [each.code for each in launched]
        with self.progress or Progress() as shown, ExitStack() as stack:
            shown.say(f"{codes[-1].source.name}: simulating sample blocks to record their results")
            thresholds = list_thresholds(codes) if len(codes) > 1 else ()
            tasks = [partial(sample_outputs, code, numbers, thresholds, most) for code in codes]
            others = [stack.enter_context(WorkerProcess(each)) for each in tasks[1:]]
            outputs = [tasks[0](), *(each.result() for each in others)]
        return [msgspec.to_builtins(each, enc_hook=float) for each in outputs]

    def _run_candidate(self, code: LaunchedSource) -> Snapshot:
        """A candidate; one that is wrong has that in place of counts: the gate says so."""
        from kernelprof.launch.run.trial import LaunchError
        from kernelprof.prediction.facts import describe_mistake

        try:
            return self._run(code)
        except LaunchError as error:
            wrong = describe_mistake(code.code, error)
            if wrong is None:
                raise
        bare = _without_counts(code)
        (kernel,) = bare.kernels
        assert kernel.predicted is not None  # it was compiled
        facts = replace(kernel.predicted, mistake=wrong)
        return replace(bare, kernels=(replace(kernel, passed=False, predicted=facts),))


def _with(
    counts: Predicted, outputs: tuple[OutputSample, ...], one_sided: tuple[OneSided, ...]
) -> Predicted:
    coverage = counts.coverage and replace(counts.coverage, one_sided=one_sided)
    return replace(counts, outputs=outputs, coverage=coverage)


def held_against(
    baseline: Snapshot, candidate: Snapshot, targets: Side, rename: Sequence[str] = ()
) -> tuple[Snapshot, tuple[KernelSnapshot, ...]]:
    """The kernels of a baseline that sources stand for, and those of other sources.

    All of them where the candidate is of captures: what is not in those is gone.
    """
    from kernelprof.comparison.sides import ends_with, split_by_sources

    paths = [Path(each) for each in sources(targets)]
    if not paths:
        return baseline, ()

    # Paths are those of the folder in which the baseline was made.
    folders = {Path(), Path(baseline.origin).parent}
    for kernel in baseline.kernels:
        held = Path(kernel.inputs.path if kernel.inputs else "")
        if not held.is_absolute():
            folders |= {
                each.parents[len(held.parts) - 1] for each in paths if ends_with(each, held)
            }

    def is_gone(path: str) -> bool:
        return not any(files.is_plain(folder / path) for folder in folders)

    return split_by_sources(baseline, candidate, renamed=rename, is_gone=is_gone)


def refuse_unasked(source: PathLike, *, predict: bool) -> None:
    """Refuse a source that nobody asked to predict: it could as well be meant to be measured."""
    if not predict:
        name = os.fspath(source)
        raise UsageError(
            "this command does not measure .cu files",
            where=name,
            hint="predict the kernel without a GPU: --predict\n"
            f"or measure it on a machine with a GPU: kernelprof profile {name} -o capture",
        )


def refuse_without_source(
    arch: Sequence[str] | None, *, predict: bool, against: PathLike | None = None
) -> None:
    """Refuse to predict where no source is named."""
    if predict or arch:
        raise UsageError(
            f"{'--predict' if predict else '--arch'} applies only to .cu files, "
            "but no .cu file is named",
            hint="name a .cu file",
        )
    if against is not None:
        raise UsageError(
            "--against applies only to .cu files", hint="name a .cu file as the candidate"
        )


def _outputs_of_values(
    values: object,
) -> list[tuple[tuple[OutputSample, ...], tuple[OneSided, ...]]]:
    import msgspec

    from kernelprof.model.prediction import OneSided, OutputSample

    kind = list[tuple[tuple[OutputSample, ...], tuple[OneSided, ...]]]
    return msgspec.convert(values, kind)


def _without_counts(code: LaunchedSource) -> Snapshot:
    from kernelprof.comparison.sides import make_code_snapshot
    from kernelprof.launch.source import read_source
    from kernelprof.model.inferred import describe_assumptions
    from kernelprof.model.snapshot import Snapshot

    with explaining_inferred(code.overrides, code.source):
        facts = prediction_cache.recall(
            "code", [code.version], lambda: _code_values(code.code), prediction_cache.read_facts
        )
    spec = code.overrides.specified(code.source)
    at = spec.resolve()
    kernel = make_code_snapshot(spec.kernel, at.grid, at.block, facts)
    text = read_source(code.source)
    return Snapshot(
        str(code.source),
        kernels=(kernel,),
        sources={facts.source.sha256: text},
        warnings=describe_assumptions(facts.source),
    )


def _code_values(code: CompiledSource) -> object:
    import msgspec

    from kernelprof.prediction.facts import summarize_code

    return msgspec.to_builtins(summarize_code(code))


def _together(sides: Iterable[Snapshot]) -> Snapshot:
    from kernelprof.comparison.sides import merge_predictions

    return merge_predictions(list(sides))
