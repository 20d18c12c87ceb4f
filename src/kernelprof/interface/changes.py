"""Changes: two sides compared, gated, and followed over time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelprof.errors import UsageError
from kernelprof.interface import read
from kernelprof.interface.profiling import is_source
from kernelprof.results import Capture, PathLike, Side, as_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.session import ProfileResult
    from kernelprof.comparison_results import Comparison, GateResult, History
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot

    Say = Callable[[str], object]


def compare(
    before: PathLike | Capture,
    after: PathLike | Capture,
    *,
    size: Sequence[str] | None = None,
    define: Sequence[str] | None = None,
    rename: Sequence[str] = (),
    progress: Progress | None = None,
    remark: Say = lambda _: None,
) -> Comparison:
    """What one change did to time, exact counters and verdicts.

    Each side is a capture in any form, a baseline, or a diagnosis as JSON. Two ``.cu`` files are
    built and measured in turn, A B A B; ``remark`` gets a line for what was checked and timed.
    ``rename`` has ``OLD=NEW`` for each kernel that got another name.
    """
    from kernelprof.comparison import choice, sides
    from kernelprof.comparison.compare import compare as compared
    from kernelprof.comparison_results import Comparison
    from kernelprof.launch.overrides import overrides

    paths = [os.fspath(each) for each in (before, after) if not isinstance(each, Capture)]
    both = len(paths) == 2 and sides.are_sources(*paths)
    wanted = overrides(size, define, None, has_source=both)
    if not both:
        found = (side(before), side(after))
        return as_result(Comparison, compared(*found, choice.renames(rename, *found)))
    from kernelprof.report.measurement import summary

    def measured(source: Path, found: ProfileResult) -> None:
        for line in summary(found):
            remark(f"{source.name}: {line}")

    old, new = map(Path, paths)
    snapshots = sides.measure(old, new, wanted, progress=progress, measured=measured)
    return as_result(Comparison, compared(*snapshots, choice.renames(rename, *snapshots)))


def side(targets: Side) -> Snapshot:
    """One side of a comparison, from a path or from a capture that was read already.

    Several, and all captures of a folder, are runs of the same code, which are taken together.
    """
    from kernelprof.comparison import sides
    from kernelprof.interface.several import each_capture
    from kernelprof.sources.ncu.folder import is_folder

    given = [targets] if isinstance(targets, str | os.PathLike | Capture) else list(targets)
    if not given:
        raise UsageError("there is nothing to compare", hint="name a capture")
    runs: list[Snapshot] = []
    for each in given:
        if isinstance(each, Capture):
            text = each.contents.source_text
            runs.append(sides.snapshot(each, each.manifest, text, each.prediction))
        elif is_folder(os.fspath(each)):
            runs += each_capture([os.fspath(each)], side, strict=True)
        elif Path(each).suffix.lower() == ".json":
            runs.append(sides.of_json(Path(each)))
        else:
            runs.append(side(read(each)))
    return sides.pooled(runs)


def gate(
    baseline: Side,
    candidate: Side,
    *,
    policy: PathLike | Mapping[str, Any] | None = None,
    kernels: Sequence[str] = (),
    rename: Sequence[str] = (),
    proposed_baseline: PathLike | None = None,
    proposed_policy: PathLike | None = None,
    accept_proposed: bool = False,
    predict: bool = False,
    arch: Sequence[str] | None = None,
    against: PathLike | None = None,
    progress: Progress | None = None,
) -> GateResult:
    """Whether a change may pass: time, exact counters and verdict against a policy.

    Several captures of a side are runs of the same code. ``policy`` is a TOML file or its content;
    without it the ``pyproject.toml`` here counts, if it has one. ``kernels`` are regular
    expressions for the names of those that are judged, none for all; ``rename`` has ``OLD=NEW`` for
    each that got another name. The proposed two are what the change itself would put in the place
    of baseline and policy: they are compared with them, and judge only with ``accept_proposed``.
    With a proposed baseline the other one need not be there yet; nothing is judged then.

    With ``predict`` two ``.cu`` files are predicted, and judged by what they count; candidates of a
    baseline that holds predictions are predicted anyway. ``arch`` names architectures in place of
    the baseline's, or of the default one. What ``against``, another version of the kernel, gives is
    what a predicted candidate has to give.
    """
    from kernelprof.comparison import choice, predictions
    from kernelprof.comparison.compare import compare as compared
    from kernelprof.comparison.gate.judge import judge
    from kernelprof.comparison.gate.policy import load_policy
    from kernelprof.comparison.gate.proposed import with_proposed
    from kernelprof.comparison_results import GateResult
    from kernelprof.interface import predicted_sides
    from kernelprof.interface.prediction import architectures
    from kernelprof.interface.proposed import Proposal

    rules = load_policy(policy)
    first = after = None
    if is_source(baseline):
        predicted_sides.refuse_unasked(baseline, predict=predict)
        first, after = predicted_sides.versions(
            *(baseline, candidate, arch, progress),
            run=rules.has_budgets,
            against=against,
            kernels=kernels,
        )
    elif not predicted_sides.sources(candidate):
        predicted_sides.refuse_without_source(arch, predict=predict, against=against)

    def read_side(target: Side) -> Snapshot:
        return first if first is not None and target is baseline else side(target)

    proposal = Proposal(read_side, proposed_baseline, proposed_policy, accepted=accept_proposed)
    trusted = proposal.trusted(baseline)
    findings = proposal.findings(trusted, rules)
    before, rules = proposal.chosen(trusted, rules)
    after = (
        after
        or predicted_sides.candidate(
            before, candidate, arch, progress, against=against, kernels=kernels
        )
        or side(candidate)
    )
    others: Sequence[KernelSnapshot] = ()
    if first is None:
        before, others = predicted_sides.held_against(before, after, candidate, rename)
    if arch:
        before = predictions.only(before, architectures(arch))
    both = choice.only_of_both(before, after, kernels)
    predictions.check_alike(*both)
    known = predictions.left_out(others)
    result = judge(compared(*both, choice.renames(rename, *both)), rules, known)
    return as_result(GateResult, with_proposed(result, rules, findings))


def history(
    place: PathLike,
    *,
    git: bool = False,
    kernel: str | None = None,
    since: str | None = None,
    limit: int = 200,
    cache: bool = True,
    progress: Say = lambda _: None,
    warn: Say = lambda _: None,
    note: Say = lambda _: None,
) -> History:
    """Time and verdict of each kernel over the captures and baselines of a folder.

    With ``git`` over the committed versions of a baseline file. ``limit`` is how many rows a kernel
    keeps, the newest, 0 for all. ``warn`` hears of what cannot be read.
    """
    from kernelprof.comparison.history import rows
    from kernelprof.comparison_results import History

    wanted = rows.wanted(kernel, since, limit)
    callbacks = {"progress": progress, "warn": warn, "note": note}
    return as_result(History, rows.history(Path(place), wanted, git=git, cached=cache, **callbacks))
