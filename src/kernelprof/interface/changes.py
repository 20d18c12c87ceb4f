"""Changes: two sides compared, gated, and followed over time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from kernelprof.errors import UsageError
from kernelprof.interface.captures import each_capture, read
from kernelprof.interface.requests import (
    ComparisonOptions,
    GateOptions,
    is_source,
    launch_overrides,
)
from kernelprof.results import Capture, PathLike, Side, as_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import ProfileResult
    from kernelprof.comparison.gate.policy import Policy
    from kernelprof.comparison.gate.proposed import Missing
    from kernelprof.comparison_results import Comparison, GateResult, History
    from kernelprof.model.gate import GateFinding
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot

    Say = Callable[[str], object]


def compare(
    before: PathLike | Capture,
    after: PathLike | Capture,
    *,
    progress: Progress | None = None,
    remark: Say = lambda _: None,
    **options: Unpack[ComparisonOptions],
) -> Comparison:
    """What one change did to time, exact counters and verdicts.

    Each side is a capture in any form, a baseline, or a diagnosis as JSON. Two ``.cu`` files are
    built and measured in alternating rounds, A B A B, or predicted with ``predict``; ``remark``
    gets a line for what was checked and timed.
    """
    from kernelprof.comparison import pairs, sides
    from kernelprof.comparison.compare import compare_snapshots as compared
    from kernelprof.comparison_results import Comparison

    paths = [os.fspath(each) for each in (before, after) if not isinstance(each, Capture)]
    both = len(paths) == 2 and sides.are_sources(*paths)
    wanted = launch_overrides(options, has_source=both)
    if options.get("predict") or options.get("arch"):
        snapshots = _predicted_sides(paths, options, progress, both=both)
    elif both:
        from kernelprof.report.measurement import summarize_measurement

        def measured(source: Path, profile: ProfileResult) -> None:
            for line in summarize_measurement(profile):
                remark(f"{source.name}: {line}")

        old, new = map(Path, paths)
        snapshots = sides.measure(old, new, wanted, progress=progress, measured=measured)
    else:
        snapshots = (load_side(before), load_side(after))
    renames = pairs.parse_renames(options.get("rename", ()), *snapshots)
    return as_result(Comparison, compared(*snapshots, renames))


def _predicted_sides(
    paths: Sequence[str], options: ComparisonOptions, progress: Progress | None, *, both: bool
) -> tuple[Snapshot, Snapshot]:
    from kernelprof.interface.predicted_sides import SourcePredictor

    if not both:
        raise UsageError(
            "--predict and --arch apply only to two .cu files",
            where=" ".join(paths),
            hint="kernelprof compare before.cu after.cu --predict\n"
            "or, for two captures, leave out --predict and --arch",
        )
    if options.get("size") or options.get("define"):
        raise UsageError(
            "compare does not accept --size or --define with --predict",
            where=" ".join(paths),
            hint="write the values into the launch specification of both files",
        )
    predictor = SourcePredictor(options.get("arch"), progress)
    return predictor.versions(paths[0], paths[1], run=True)


def load_side(targets: Side) -> Snapshot:
    """One side of a comparison, from a path or from a capture that was read already.

    Several, and all captures of a folder, are runs of the same code, which are taken together.
    """
    from kernelprof.comparison import sides
    from kernelprof.comparison.snapshots import make_snapshot
    from kernelprof.sources.ncu.folder import is_folder

    given = [targets] if isinstance(targets, str | os.PathLike | Capture) else list(targets)
    if not given:
        raise UsageError("there is nothing to compare", hint="name a capture")
    runs: list[Snapshot] = []
    for each in given:
        if isinstance(each, Capture):
            text = each.contents.source_text
            runs.append(make_snapshot(each, each.manifest, each.prediction, text))
        elif is_folder(os.fspath(each)):
            runs += each_capture([os.fspath(each)], load_side, strict=True)
        elif Path(each).suffix.lower() == ".json":
            runs.append(sides.read_json_snapshot(Path(each)))
        else:
            runs.append(load_side(read(each)))
    return sides.pool_runs(runs)


def gate(
    baseline: Side,
    candidate: Side,
    *,
    progress: Progress | None = None,
    **options: Unpack[GateOptions],
) -> GateResult:
    """Judge whether a change may pass: time, exact counters and verdict against a policy.

    Several captures of a side are runs of the same code. With a proposed baseline the other one
    need not be there yet; nothing is judged then. With ``predict`` two ``.cu`` files are predicted,
    and judged by what they count; candidates of a baseline that holds predictions are predicted
    anyway, for the architectures of the baseline unless ``arch`` names others.
    """
    from kernelprof.comparison import pairs, sides
    from kernelprof.comparison.compare import compare_snapshots as compared
    from kernelprof.comparison.gate.judge import judge_comparison
    from kernelprof.comparison.gate.policy import load_policy
    from kernelprof.comparison.gate.proposed import with_proposed
    from kernelprof.comparison_results import GateResult
    from kernelprof.interface import predicted_sides
    from kernelprof.interface.prediction import unique_architectures

    rules, rename = load_policy(options.get("policy")), options.get("rename", ())
    kernels, arch = options.get("kernels", ()), options.get("arch")
    against, predict = options.get("against"), options.get("predict", False)
    predictor = predicted_sides.SourcePredictor(arch, progress, kernels, against)
    first = after = None
    if is_source(baseline):
        predicted_sides.refuse_unasked(baseline, predict=predict)
        first, after = predictor.versions(baseline, candidate, run=rules.has_budgets)
    elif not predicted_sides.sources(candidate):
        predicted_sides.refuse_without_source(arch, predict=predict, against=against)

    def read_side(target: Side) -> Snapshot:
        return first if first is not None and target is baseline else load_side(target)

    before, rules, findings = _with_proposed(baseline, rules, read_side, options)
    after = after or predictor.candidate(before, candidate) or load_side(candidate)
    others: Sequence[KernelSnapshot] = ()
    if first is None:
        before, others = predicted_sides.held_against(before, after, candidate, rename)
    if arch:
        before = sides.select_architectures(before, unique_architectures(arch))
    both = pairs.select_in_both(before, after, kernels)
    sides.check_alike(*both)
    left_out = sides.report_unjudged(others)
    result = judge_comparison(compared(*both, pairs.parse_renames(rename, *both)), rules, left_out)
    return as_result(GateResult, with_proposed(result, rules, findings))


def _with_proposed(
    baseline: Side, rules: Policy, read_side: Callable[[Side], Snapshot], options: GateOptions
) -> tuple[Snapshot, Policy, tuple[GateFinding, ...]]:
    """Return what judges, and how what a change under review would put in its place differs.

    That are the given two, unless the proposed ones are accepted; a side without kernels where
    there is no baseline yet. Raises :class:`UsageError` where nothing is proposed to be accepted.
    """
    from kernelprof.comparison.gate.proposed import (
        Missing,
        baseline_findings,
        policy_findings,
        try_read,
    )
    from kernelprof.model.snapshot import Snapshot

    file, policy_file = options.get("proposed_baseline"), options.get("proposed_policy")
    accepted = options.get("accept_proposed", False)
    path = baseline if isinstance(baseline, str | os.PathLike) else None
    if path is not None and file is not None and _is_there(file) and not _is_there(path):
        trusted = Snapshot(os.fspath(path))
    else:
        trusted = read_side(baseline)
    if accepted and file is None and policy_file is None:
        raise UsageError(
            "there is nothing to accept",
            hint="name a proposed file: --proposed-baseline or --proposed-policy",
        )
    findings: list[GateFinding] = []
    if policy_file is not None:
        proposed = try_read(lambda: _policy(policy_file))
        findings += policy_findings(rules, proposed, accepted=accepted)
    if file is not None:
        held = try_read(lambda: read_side(file)) if _is_there(file) else Missing()
        findings += baseline_findings(trusted, held, accepted=accepted)
    if not accepted:
        return trusted, rules, tuple(findings)
    before = trusted if file is None else read_side(file)
    policy = rules if policy_file is None else _policy(policy_file)
    if isinstance(policy, Missing):
        raise UsageError(
            "the proposed policy does not exist",
            where=os.fspath(policy_file or ""),
            hint="to judge without a policy, leave out --policy and --proposed-policy",
        )
    return before, policy, tuple(findings)


def _is_there(path: PathLike) -> bool:
    """Whether there is anything, if only a link to nowhere, which is to be refused as such."""
    return os.path.lexists(path)


def _policy(path: PathLike) -> Policy | Missing:
    """A project's settings need not be there; a policy that is nothing else does."""
    from kernelprof.comparison.gate.policy import PROJECT, Policy, load_policy
    from kernelprof.comparison.gate.proposed import Missing

    if _is_there(path):
        return load_policy(path)
    return Policy() if Path(path).name == PROJECT else Missing()


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
