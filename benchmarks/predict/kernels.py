"""The kernels that are predicted: every source of the corpus and of both ladders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.measure import place
from benchmarks.corpus.pairs import corpus
from benchmarks.corpus.stored import FOLDER as PAIRS

from kernelprof.collect.recorded import FOLDER as RECORDED
from kernelprof.collect.recorded import find_differences
from kernelprof.errors import KernelprofError, UsageError
from kernelprof.launch.source import launch_hashes
from kernelprof.launch.specification.reader import load_spec
from kernelprof.resources import data_folder
from kernelprof.sources.capture_directory import is_capture, read_manifest, read_stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.corpus.pairs import Pair, Side

    from kernelprof.model.capture import Capture

_LADDERS: Final = (("ladder", "h200"), ("ladder/bf16", "h200-bf16"))
"""Folders of rungs below ``cuda``, and of their captures below ``kernelprof/recorded``."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One source, and the folder of the capture that an H200 gave of it."""

    name: str
    """Its path below ``cuda``."""
    source: Path
    recorded: Path
    pair: Pair | None = None
    """The pair of the corpus that it is a side of."""
    side: Side | None = None

    def measured(self) -> Capture | None:
        """What was measured of the source as it is now; ``None`` where nothing was."""
        if not is_capture(self.recorded):
            return None
        facts = read_manifest(self.recorded).source
        spec = load_spec(self.source)
        hashes = launch_hashes(self.source, spec)
        if facts is None or find_differences(facts, hashes, spec.document()):
            return None
        return read_stored(self.recorded)


def kernels() -> tuple[Kernel, ...]:
    """All of them: the rungs in their order, then the pairs by name."""
    return (*_rungs(), *_sides())


def _rungs() -> Iterator[Kernel]:
    root = data_folder("cuda")
    for folder, captures in _LADDERS:
        for source in sorted((root / folder).glob("*.cu")):
            name = source.relative_to(root).as_posix()
            yield Kernel(name, source, RECORDED / captures / source.stem)


def _sides() -> Iterator[Kernel]:
    for pair in corpus():
        for side in pair.sides:
            source = pair.source(side)
            name = f"pairs/{pair.name}/{source.name}"
            yield Kernel(name, source, place(PAIRS, pair, side), pair, side)


def choose(wanted: Sequence[str]) -> tuple[Kernel, ...]:
    """The kernels whose path holds one of some texts; all for none."""
    found = tuple(
        each for each in kernels() if not wanted or any(text in each.name for text in wanted)
    )
    if not found:
        raise UsageError("no kernel is called so", where=", ".join(wanted))
    return found


def launch_key(source: Path) -> str:
    """What of a source decides its prediction: its text, its specification and what it includes."""
    try:
        hashes = launch_hashes(source, load_spec(source))
    except KernelprofError as error:
        return error.what
    return f"{hashes.source} {hashes.specification} {hashes.compile} {sorted(hashes.includes)}"
