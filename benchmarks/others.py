"""What kernelprof makes of captures that other people have: ``python -m benchmarks.others FOLDER``.

Every file of the folder is read and judged. Two tables in Markdown go to stdout, by form and by
GPU; files that are refused are listed with the reason. ``-o FILE`` writes them instead.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.verdict import diagnose
from kernelprof.errors import KernelprofError
from kernelprof.model.capture import DEVICE_NAME
from kernelprof.model.diagnosis import Status
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.capture import Capture

NOT_CAPTURES: Final = ("INDEX.md",)
_WAITS: Final = ("stall_wait", "warp_cycles_per_instruction")
_ACCESSES: Final = ("global_sectors", "local_sectors")
_SUMMARY: Final = ("sm_throughput", "memory_throughput")


@dataclass(slots=True)
class Tally:
    """Kernels of some captures, and how many of them got which answer."""

    files: set[Path] = field(default_factory=set)
    kernels: int = 0
    decided: int = 0
    found: int = 0

    def add(self, path: Path, *, decided: bool, found: bool) -> None:
        self.files.add(path)
        self.kernels += 1
        self.decided += decided
        self.found += found and not decided

    def cells(self, name: str) -> str:
        share = f"{100 * self.decided / self.kernels:.0f} %"
        nothing = self.kernels - self.decided - self.found
        figures = (len(self.files), self.kernels, self.decided, share, self.found, nothing)
        return f"| {name} | {' | '.join(map(str, figures))} |"


def form_of(capture: Capture, row: int) -> str:
    """How a launch was exported, and with how much."""
    facts = Facts(capture)

    def has(names: Iterable[str]) -> bool:
        return all(facts.has(name)[row] for name in names)

    page = {"raw": "report or raw page", "details": "details CSV"}.get(capture.page or "", "text")
    if has(_WAITS) and has(_ACCESSES):
        return f"{page}, full set"
    return f"{page}, basic set or sections" if has(_SUMMARY) else f"{page}, single metrics"


def gpu_of(capture: Capture, row: int) -> str:
    """The device's name where the capture has it, else its compute capability."""
    names = capture.text.get(DEVICE_NAME)
    name = None if names is None else names[row]
    capability = capture.launches[row].compute_capability
    return name or ("not known" if capability is None else "CC {}.{}".format(*capability))


def survey(paths: Iterable[Path]) -> tuple[dict[str, Tally], dict[str, Tally], dict[Path, str]]:
    """Tallies by form and by GPU, and the reasons of files that are refused."""
    forms: dict[str, Tally] = defaultdict(Tally)
    gpus: dict[str, Tally] = defaultdict(Tally)
    refused: dict[Path, str] = {}
    for path in paths:
        try:
            capture = read_capture(path)
        except KernelprofError as error:
            refused[path] = error.what
            continue
        for kernel in diagnose(capture).kernels:
            decided = kernel.verdict.status is not Status.INCONCLUSIVE
            found = any(each.weight > 0 for each in kernel.verdict.findings)
            row = kernel.rows[0]
            for tally in (forms[form_of(capture, row)], gpus[gpu_of(capture, row)]):
                tally.add(path, decided=decided, found=found)
    return forms, gpus, refused


def report(folder: Path) -> str:
    """The tables in Markdown."""
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in NOT_CAPTURES)
    forms, gpus, refused = survey(paths)
    parts = [f"{len(paths)} files, {len(refused)} refused."]
    for title, tallies in (("form", forms), ("GPU", gpus)):
        head = f"| {title} | files | kernels | decided | | only a finding | nothing |"
        rows = [tallies[name].cells(name) for name in sorted(tallies)]
        parts.append("\n".join([head, "| :-- | --: | --: | --: | --: | --: | --: |", *rows]))
    if refused:
        lines = [f"- `{path.relative_to(folder)}`: {why}" for path, why in refused.items()]
        parts.append("\n".join(["Refused:", "", *lines]))
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables of a folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.others", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    text = report(options.folder)
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
