"""Manifests without the folders of the machine: these captures travel with the package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.collect.lines import names_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.model.manifest import Manifest, RunFacts, SourceFacts


def portable(manifest: Manifest, source: Path, target: str) -> Manifest:
    """The manifest with names in the place of absolute paths, and without a report of ``ncu``.

    ``source`` is what was measured, and ``target`` what it is called in the repository.
    """
    return replace(
        manifest,
        target=(target,),
        runs=tuple(_run(run, str(source), target) for run in manifest.runs),
        source=None if manifest.source is None else _source(manifest.source, target),
    )


def file_names(source: Path, target: str) -> Callable[[str], str]:
    """How the source files of such a kernel are called in its samples by source line."""
    return names_for(source, target, name_only)


def name_only(word: str) -> str:
    """An absolute path's last part, also behind an option's ``=``; any other word as it is."""
    option, equals, value = word.rpartition("=")
    if equals and Path(value).is_absolute():
        return f"{option}={Path(value).name}"
    return Path(word).name if Path(word).is_absolute() else word


def _run(run: RunFacts, source: str, target: str) -> RunFacts:
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
