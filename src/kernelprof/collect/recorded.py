"""Captures that were recorded on a machine with a GPU, for machines that have none.

They are ordinary capture directories below ``kernelprof/recorded``, and in a checkout also below
``benchmarks/corpus/recorded``. Their manifests hold no absolute path. One is used for a kernel only
if source, specification, compiler's options and included files are those that were measured.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from kernelprof.collect.request import ProfileResult
from kernelprof.errors import InputError, KernelprofError
from kernelprof.resources import checkout_folder
from kernelprof.sources.capture_directory import MANIFEST, read_lines, read_manifest, read_stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelprof.launch.source import LaunchHashes
    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.model.manifest import Manifest, SourceFacts

FOLDER = Path(__file__).resolve().parents[1] / "recorded"
_CORPUS = checkout_folder("benchmarks/corpus/recorded")
FOLDERS = (FOLDER,) if _CORPUS is None else (FOLDER, _CORPUS)

_VALUES_SHOWN = 4


class NoRecordError(Exception):
    """There is no record of this kernel; the message says in part of a sentence what differs."""


def find_record(source: Path, spec: LaunchSpec, lacking: str) -> ProfileResult:
    """Return the newest intact record of a kernel; :class:`NoRecordError` without one.

    ``lacking`` is why it is not measured, within a sentence.
    """
    from kernelprof.launch.source import launch_hashes

    hashes = launch_hashes(source, spec)
    document = spec.document()
    near: list[tuple[Manifest, list[str]]] = []
    damaged: list[Path] = []
    for folder, manifest, facts in _newest_first():
        differing = find_differences(facts, hashes, document)
        if differing:
            if PurePath(facts.path).name == source.name:
                near.append((manifest, differing))
            continue
        try:
            capture = replace(read_stored(folder), origin=_describe(source, manifest, lacking))
            lines = read_lines(folder, manifest)
            return ProfileResult(capture, manifest, recorded=True, lines=lines)
        except KernelprofError:
            damaged.append(folder)
    raise NoRecordError(_difference(source, near, damaged))


def find_differences(
    facts: SourceFacts, hashes: LaunchHashes, document: Mapping[str, Any]
) -> list[str]:
    """What stands between a recorded kernel and this one; ``document`` is its specification."""
    texts = []
    if facts.sha256 != hashes.source:
        texts.append("the source differs")
    if facts.specification_sha256 != hashes.specification:
        values = _values(facts.specification or {}, document)
        texts.append("the launch specification differs" + (f" ({values})" if values else ""))
    if facts.compile_sha256 != hashes.compile:
        texts.append("compile flags differ")
    # An include that only a macro names could be any file, here as there.
    unknown = any(not digest for _, digest in hashes.includes)
    if unknown or (facts.includes or {}) != dict(hashes.includes):
        texts.append("an included file differs")
    return texts


def _describe(source: Path, manifest: Manifest, lacking: str) -> str:
    # The sentence above a diagnosis out of a record
    gpu = manifest.gpu.name or "unknown GPU"
    article = "an" if gpu.startswith(("NVIDIA", "unknown")) else "a"
    ncu = (
        f"Nsight Compute {manifest.ncu}" if manifest.ncu else "an unknown version of Nsight Compute"
    )
    return (
        f"{source} as recorded on {article} {gpu} on {_day(manifest)} with {ncu} ({lacking} here)"
    )


def make_portable(manifest: Manifest, source: Path, target: str) -> Manifest:
    """Return the manifest with names in place of absolute paths, and without a report."""
    runs = [
        replace(
            run,
            command=tuple(
                target if each == str(source) else strip_folders(each) for each in run.command
            ),
            report=None,
            application=None if run.application is None else strip_folders(run.application),
        )
        for run in manifest.runs
    ]
    facts = manifest.source
    if facts is not None:
        flags = tuple(map(strip_folders, facts.compile_flags))
        options = tuple(map(strip_folders, facts.options))
        facts = replace(facts, path=target, compile_flags=flags, options=options)
    return replace(manifest, target=(target,), runs=tuple(runs), source=facts)


def strip_folders(word: str) -> str:
    """An absolute path's last part, also behind an option's ``=``; any other word as it is."""
    option, equals, value = word.rpartition("=")
    if equals and Path(value).is_absolute():
        return f"{option}={Path(value).name}"
    return Path(word).name if Path(word).is_absolute() else word


def _newest_first() -> Iterator[tuple[Path, Manifest, SourceFacts]]:
    read = []
    for path in sorted(path for folder in FOLDERS for path in folder.rglob(MANIFEST)):
        at = path.lstat()
        manifest = _manifest(path.parent, at.st_mtime_ns, at.st_size)
        if manifest is not None and manifest.source is not None:
            read.append((path.parent, manifest, manifest.source))
    yield from sorted(read, key=lambda each: each[1].created, reverse=True)


@lru_cache(maxsize=1024)
def _manifest(folder: Path, _changed: int, _size: int) -> Manifest | None:
    # A record's manifest, parsed once: a process asks for records of one kernel after another
    try:
        return read_manifest(folder)
    except InputError:
        return None


def _difference(source: Path, near: list[tuple[Manifest, list[str]]], damaged: list[Path]) -> str:
    if damaged:
        return f"the recorded capture of this kernel is damaged ({damaged[0]})"
    paths = [PurePath(each.source.path) for each, _ in near if each.source is not None]
    if len(set(paths)) > 1:
        # Every pair of the corpus has a before.cu: one of another folder is another kernel.
        folder = source.absolute().parent.name
        near = [each for each, path in zip(near, paths, strict=True) if path.parent.name == folder]
    if not near:
        return "no capture of this kernel was recorded"
    manifest, differing = min(near, key=lambda each: len(each[1]))
    return f"{source.name} was recorded on {_day(manifest)}, but {', '.join(differing)}"


def _day(manifest: Manifest) -> str:
    return manifest.created.partition("T")[0]


def _values(recorded: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    before, now = _chosen(recorded), _chosen(here)
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    shown = [
        f"{name} was {before.get(name, 'not set')} and is now {now.get(name, 'not set')}"
        for name in names[:_VALUES_SHOWN]
    ]
    return ", ".join(shown) + (", ..." if names[_VALUES_SHOWN:] else "")


def _chosen(document: Mapping[str, Any]) -> dict[str, object]:
    options = document.get("compile")
    sizes = document.get("sizes")
    defines = options.get("defines") if isinstance(options, dict) else None
    return {
        name: value
        for table in (sizes, defines)
        if isinstance(table, dict)
        for name, value in table.items()
    }
