"""Real captures as the stand-in replays them: which launches, which columns."""

from __future__ import annotations

import csv
import gzip
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from options import Options, RefusedError, behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPTURES = Path(__file__).resolve().parents[1] / "captures"
IDENTITY = 11
_ALWAYS = (
    "c2clink__",
    "device__",
    "launch__",
    "numa__",
    "nvlink__",
    "profiler__replayer_passes",
    "sm__maximum_warps_",
    "smsp__maximum_warps_",
)
SAMPLES = "group:smsp__pcsamp_warp_stall_reasons"
SAMPLES_SECTION = "SourceCounters"
_SAMPLED = "smsp__pcsamp_"
_NOT_OF_THE_GROUP = ("_not_issued", "smsp__pcsamp_sample_count")
_WITH_SOURCE = ("sass__inst_executed_", "sass__thread_inst_executed_")
_NO_LINES = "==WARNING== No lineinfo available to show CUDA-C source related to '{}'.\n"
_FIRST_LEVEL = ("sum", "min", "max", "avg", "pct", "ratio", "max_rate")
_ROLL_UPS = ("avg", "max", "min", "sum")


class MetricNotFoundError(Exception):
    """A name without suffix that is no metric: ``ncu`` gives up at the first kernel."""


@dataclass(frozen=True)
class Capture:
    """A raw page: header, units and one row a launch."""

    header: list[str]
    units: list[str]
    rows: list[list[str]]

    def column(self, name: str) -> int:
        return self.header.index(name)

    def kernels(self) -> list[str]:
        return [row[self.column("Kernel Name")] for row in self.rows]


def find(program: str, *, base_units: bool) -> Capture | None:
    """The capture of a program, ``None`` for a program that launches no kernel."""
    units = ".base-units" if base_units else ""
    name = Path(program).name
    for path in (
        CAPTURES / f"{name}.full.raw{units}.csv",
        CAPTURES / f"{name}_full_preset{units}.raw.csv.gz",
        CAPTURES / name / f"{units}.raw.csv.gz".removeprefix("."),
    ):
        if path.is_file():
            return read(path)
    return None


def read(path: Path) -> Capture:
    """A raw page as it was exported, without the lines around the table."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        lines = list(file)
    start = next(number for number, line in enumerate(lines) if line.startswith('"ID"'))
    header, units, *rows = csv.reader(lines[start:])
    return Capture(header, units, [row for row in rows if row])


def launches(capture: Capture, options: Options) -> Capture:
    """The launches that pass the filters, numbered anew."""
    kept: list[list[str]] = []
    seen: dict[object, int] = {}
    skip, count = (
        options.number("launch-skip", 0),
        options.number("launch-count", len(capture.rows)),
    )
    for row in capture.rows:
        if not _matches(row[capture.column("Kernel Name")], options):
            continue
        shape = tuple(row[capture.column(name)] for name in ("Block Size", "Grid Size"))
        key = shape if options.get("filter-mode") == "per-launch-config" else None
        seen[key] = seen.get(key, 0) + 1
        if skip < seen[key] <= skip + count:
            kept.append([str(len(kept)), *row[1:]])
    return replace(capture, rows=kept)


def available(capture: Capture, options: Options) -> list[str]:
    """The kernels that ``ncu`` lists where a filter matched none."""
    return sorted({_named(kernel, options) for kernel in capture.kernels()})


def _matches(kernel: str, options: Options) -> bool:
    wanted = options.get("kernel-name")
    if not wanted:
        return True
    name = _named(kernel, options)
    if wanted.startswith("regex:"):
        return re.search(wanted.removeprefix("regex:"), name) is not None
    return wanted == name


def _named(kernel: str, options: Options) -> str:
    base = options.get("kernel-name-base", "function")
    if base == "mangled":
        raise NotImplementedError("the stand-in knows no mangled names")
    if base == "demangled":
        # The full name, which a filter sees, has the types that the shown one leaves out.
        return re.sub(r"(?<=[<,])( ?)(?=\d)", r"\1(int)", kernel)
    return re.sub(r"(<.*>)?(\(.*\))?$", "", kernel).split("::")[-1].split(" ")[-1]


def columns(capture: Capture, options: Options) -> Capture:
    """The columns that are asked for, and those that come with every collection."""
    names = _collected(capture, options)
    if names is None:
        return capture
    order = [*capture.header[:IDENTITY], *sorted(names)]
    places = [capture.column(name) if name in capture.header else None for name in order]

    def cut(row: list[str]) -> list[str]:
        return ["" if place is None else row[place] for place in places]

    return Capture(order, cut(capture.units), [cut(row) for row in capture.rows])


def _collected(capture: Capture, options: Options) -> set[str] | None:
    """The metrics that a run collects, ``None`` for all that the capture has."""
    asked = [name for value in options.all("metrics") for name in value.split(",") if name]
    # The section of source counters comes with samples; its columns are those of the group here.
    sections = set(options.all("section")) - {SAMPLES_SECTION}
    if not asked or sections or options.get("set") in _sets():
        return None
    every = [name for name in capture.header[IDENTITY:] if name.startswith(_ALWAYS)]
    found = {name for each in asked for name in _expand(each, capture, options)}
    if any(name.partition(".")[0] in _chip_names() for name in found):
        every += ["gpu__time_duration.sum", "profiler__perfworks_session_reuse"]
    if any(name.startswith(("memory_", "inst_executed")) for name in found):
        every += [name for name in capture.header if name.startswith(_WITH_SOURCE)]
    return found | set(every)


def _expand(name: str, capture: Capture, options: Options) -> Iterator[str]:
    """The columns of one metric; none for a name that is nothing, as on the real raw page."""
    base, _, suffix = name.partition(".")
    if name == SAMPLES:
        for each in capture.header:
            if each.startswith(_SAMPLED) and not each.endswith(_NOT_OF_THE_GROUP):
                yield each
        return
    if name.startswith(("regex:", "group:", "breakdown:")):
        raise NotImplementedError(f"the stand-in does not expand {name!r}")
    if not suffix and name in capture.header:
        yield name
    elif not suffix:
        first = [f"{name}.{each}" for each in _FIRST_LEVEL if f"{name}.{each}" in capture.header]
        if not first:
            raise MetricNotFoundError(rf"regex:^{name}\.({'|'.join(_FIRST_LEVEL)})$")
        yield from first
    elif name in capture.header or (base in _chip_names() and suffix in _suffixes(capture)):
        yield name
        roll_up, _, more = suffix.partition(".")
        if roll_up in _ROLL_UPS and "disable-extra-suffixes" not in options:
            siblings = (f"{base}.{each}{'.' if more else ''}{more}" for each in _ROLL_UPS)
            yield from (each for each in siblings if each in capture.header)


def source_page(program: str, kernels: list[str]) -> str:
    """The source page of a program's launches; it has no table of a kernel without lines."""
    path = CAPTURES / "source_page" / f"{program}.csv.gz"
    tables = {}
    if path.is_file():
        text = gzip.decompress(path.read_bytes()).decode("utf-8")
        for table in text.split('"File Path",')[1:]:
            name = table.splitlines()[1].removeprefix('"Function Name","').removesuffix('"')
            tables[name] = f'"File Path",{table}'
    return "".join(tables.get(kernel, _NO_LINES.format(kernel)) for kernel in kernels)


def _suffixes(capture: Capture) -> set[str]:
    return {name.partition(".")[2] for name in capture.header}


@cache
def _chip_names() -> set[str]:
    path = CAPTURES / "ncu_metric_lists" / "gh100.txt.gz"
    with gzip.open(path, "rt", encoding="ascii") as names:
        return set(names.read().split())


def refuse_unknown_sections(options: Options) -> None:
    """Refuse sections that the tool does not have."""
    known = _listed("list-sections")
    for section in options.all("section"):
        if section not in known:
            raise RefusedError(
                f"==ERROR== Option '--section {section}' did not match any section.",
                "==ERROR== Use --list-sections to see the list of available sections.",
            )


def _sets() -> set[str]:
    return _listed("list-sets")


def _listed(what: str) -> set[str]:
    lines = behaviour(what).splitlines()
    return {line.split(" ")[0] for line in lines[3:-1] if line[:1].strip() and line[0] != "-"}
