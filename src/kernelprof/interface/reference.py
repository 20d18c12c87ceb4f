"""What there is to know without a capture: bottlenecks, presets, schemas, this machine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.analysis.metrics.catalogue import Preset
    from kernelprof.analysis.rules import Rule
    from kernelprof.collect.doctor import MachineCheck
    from kernelprof.collect.progress import Progress
    from kernelprof.launch.inference.proposal import SpecificationProposal
    from kernelprof.results import PathLike


def rules() -> Mapping[str, Rule]:
    """The bottlenecks by name, each with its documentation and thresholds."""
    from kernelprof.analysis.rules import load_rules

    return load_rules()


def presets() -> Mapping[str, Preset]:
    """The metric presets by name."""
    from kernelprof.analysis.metrics.catalogue import presets as known

    return known()


def preset(name: str) -> Preset:
    """One preset; :class:`UsageError` where there is none of that name."""
    from kernelprof.analysis.metrics.catalogue import preset as known

    return known(name)


def ncu_command(preset: str, **options: Any) -> str:
    """The ``ncu`` command that collects a preset, as a shell takes it.

    ``options`` are ``kernel``, ``launch_skip``, ``launch_count``, ``clock_control`` and the
    ``application`` with its arguments.
    """
    from kernelprof.analysis.ncu_command import format_ncu_command as words

    return shlex.join(words(preset, **options))


def explain(bottleneck: str) -> str:
    """Return the page of a bottleneck: what it is, why it matters, what to do, when it is wrong.

    Raises :class:`UsageError` for a name that no bottleneck has.
    """
    from kernelprof.report.render import render_kind

    return render_kind("rule", find_rule(bottleneck), "text")


def find_rule(name: str) -> Rule:
    """Return the rule of a bottleneck; :class:`UsageError` names similar ones."""
    from kernelprof.errors import UsageError

    offered = rules()
    if name in offered:
        return offered[name]
    from difflib import get_close_matches

    close = get_close_matches(name, list(offered), n=3, cutoff=0.5)
    listing = "`kernelprof explain` lists all bottlenecks"
    hint = f"did you mean {' or '.join(close)}? {listing}" if close else listing
    raise UsageError(f"no bottleneck is called {name!r}", hint=hint)


def schema(kind: str = "diagnosis") -> str:
    """The JSON Schema of a kind of result: diagnosis, comparison, gate or history."""
    from kernelprof.report.writers.json import schema as published

    return published(kind)


def doctor() -> tuple[MachineCheck, ...]:
    """What this machine has for profiling: GPU, driver, ``ncu``, permission, compiler."""
    from kernelprof.collect.doctor import check_machine

    return check_machine()


def required_checks(requirements: Iterable[str]) -> set[str]:
    """The names of the checks that must pass for what is required, besides reading captures."""
    from kernelprof.collect.doctor import required_checks

    return {"captures", *(name for each in requirements for name in required_checks(each))}


def propose_specification(
    source: PathLike,
    *,
    kernel: str | None = None,
    force: bool = False,
    against: PathLike | None = None,
    sizes: Iterable[str] = (),
    progress: Progress | None = None,
) -> SpecificationProposal:
    """A launch specification for a kernel, guessed from its source; nothing is written.

    Where the packages are installed that predict kernels, small cases of it are run: they find the
    lengths of arrays that the source leaves open, and what is guessed wrong. ``against`` is
    another version of the kernel, whose results are the reference. Names in ``sizes`` that the
    kernel does not have are refused before anything is run.
    """
    from kernelprof.collect.progress import Progress
    from kernelprof.launch.inference.proposal import infer_specification
    from kernelprof.launch.specification.overrides import refuse_unknown
    from kernelprof.prediction.toolchain import is_installed

    other = None if against is None else Path(against)
    proposal = infer_specification(Path(source), kernel=kernel, force=force, against=other)
    refuse_unknown("--size", sizes, proposal.guesses.sizes, Path(source))
    if is_installed():
        from kernelprof.prediction.completion import complete_specification

        with progress or Progress() as shown:
            complete_specification(proposal, shown.say)
    else:
        from kernelprof.launch.inference.extents import use_uneven_values

        use_uneven_values(proposal.guesses)
    return proposal
