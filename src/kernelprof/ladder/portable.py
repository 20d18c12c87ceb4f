"""Manifests without the folders of the machine: these captures travel with the package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.capture.lines import names_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.capture.manifest import Manifest, RunFacts, SourceFacts
    from kernelprof.ladder.registry import Rung


def portable(manifest: Manifest, rung: Rung) -> Manifest:
    """The manifest with names in the place of absolute paths, and without a report of ``ncu``."""
    target = _target(rung)
    return replace(
        manifest,
        target=(target,),
        runs=tuple(_run(run, rung, target) for run in manifest.runs),
        source=None if manifest.source is None else _source(manifest.source, target),
    )


def file_names(rung: Rung) -> Callable[[str], str]:
    """How the source files of a rung are called in its samples by source line."""
    return names_for(rung.path, _target(rung), name_only)


def name_only(word: str) -> str:
    """An absolute path's last part, also behind an option's ``=``; any other word as it is."""
    option, equals, value = word.rpartition("=")
    if equals and Path(value).is_absolute():
        return f"{option}={Path(value).name}"
    return Path(word).name if Path(word).is_absolute() else word


def _target(rung: Rung) -> str:
    return f"cuda/ladder/{rung.file}"


def _run(run: RunFacts, rung: Rung, target: str) -> RunFacts:
    source = str(rung.path)
    return replace(
        run,
        command=tuple(target if word == source else name_only(word) for word in run.command),
        report=None,
        application=None if run.application is None else name_only(run.application),
    )


def _source(source: SourceFacts, target: str) -> SourceFacts:
    return replace(
        source,
        path=target,
        compile_flags=tuple(name_only(flag) for flag in source.compile_flags),
    )
