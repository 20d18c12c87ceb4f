"""What must not pass the gate: captures that hide a slowdown, or less evidence than there was.

Each is a real capture with the one thing changed that somebody could change. With the policy that
lets everything inconclusive pass a regression still has to fail.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Rows = list[list[str]]

CAPTURES = Path(__file__).parents[1] / "captures"
TILE = CAPTURES / "h200_changes" / "tile"
SAME = CAPTURES / "gemm_series.same-code-13x.raw.csv"
TIME = "gpu__time_duration.sum"
CYCLES = re.compile(r"(?:gpc|sm|smsp)__cycles_(?:elapsed|active)\.(?:avg|max|min|sum)")
NAME = "Kernel Name"


def table(rows: Callable[[Rows], Rows], tmp_path: Path, name: str = "candidate.csv") -> str:
    """A capture of thirteen launches a kernel with its rows changed: header, units, launches."""
    lines = [line for line in SAME.read_text("utf-8").splitlines() if line.startswith('"')]
    header, units, *launches = csv.reader(lines)
    at = header.index(NAME)
    few = [row for row in launches if row[at].startswith(("gemm_bad", "gemm_coalesced"))]
    text = io.StringIO()
    changed = rows([header, units, *few])
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(changed)
    place = tmp_path / name
    place.write_text(text.getvalue(), "utf-8")
    return str(place)


@pytest.fixture
def same(tmp_path: Path) -> str:
    """The capture before anybody changed it."""
    return table(lambda rows: rows, tmp_path, "same.csv")


def directory(change: Callable[[dict[str, Any]], object], tmp_path: Path) -> str:
    """A capture directory with its manifest changed."""
    place = tmp_path / "candidate"
    shutil.copytree(TILE / "2", place)
    manifest = json.loads((place / "manifest.json").read_text("utf-8"))
    change(manifest)
    (place / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return str(place)


def slow_half(rows: Rows) -> Rows:
    """Every other launch takes seven times as long; of thirteen, six."""
    name = rows[0].index(NAME)
    # Time and cycles alike: a time that its cycles contradict is no evidence.
    longer = [n for n, each in enumerate(rows[0]) if each == TIME or CYCLES.fullmatch(each)]
    rates = [n for n, each in enumerate(rows[0]) if each.startswith("dram") and "per_sec" in each]
    seen: dict[str, int] = {}
    for row in rows[2:]:
        seen[row[name]] = seen.get(row[name], 0) + 1
        if seen[row[name]] % 2 == 0:
            for column, factor in ((longer, 7), (rates, 1 / 7)):
                for at in filter(row.__getitem__, column):
                    row[at] = str(factor * float(row[at].replace(",", "")))
    return rows


def moved(rows: Rows) -> Rows:
    """Another kernel takes as long as the slowest one."""
    name = rows[0].index(NAME)
    copies = [list(row) for row in rows[2:] if row[name].startswith("gemm_bad")]
    for row in copies:
        row[name] = "histogram(int *)"
    return [*rows, *copies]


def no_check(manifest: dict[str, Any]) -> None:
    manifest["source"]["specification"]["reference"] = "none"
    manifest["correctness"] = None


def any_result(manifest: dict[str, Any]) -> None:
    manifest["source"]["specification"]["check"]["tolerance"] = 1e9


def one_element(manifest: dict[str, Any]) -> None:
    manifest["source"]["specification"]["check"]["sizes"] = {"M": 1, "N": 1, "K": 1}


def zeros(manifest: dict[str, Any]) -> None:
    for each in manifest["source"]["specification"]["arguments"]:
        if "fill" in each:
            each["fill"] = "zeros"


def test_a_capture_without_its_check(kernelprof, tmp_path: Path) -> None:
    candidate = tmp_path / "raw.csv.gz"
    shutil.copy(TILE / "2" / "raw.csv.gz", candidate)
    kernelprof(f"gate {TILE}/1 {candidate}", code=3, says="the candidate's was not")


def failed(rows: Rows) -> Rows:
    return [*rows, ["==ERROR== LaunchFailed"]]


def discarded(rows: Rows) -> Rows:
    return [*rows[:40], rows[40][:5], *rows[40:]]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(failed, "LaunchFailed", marks=pytest.mark.slow),
        pytest.param(discarded, "incomplete", marks=pytest.mark.slow("eight gates")),
    ],
)
def test_a_capture_that_is_not_whole(
    kernelprof, change: Callable[[Rows], Rows], says: str, same: str, tmp_path: Path
) -> None:
    candidate = table(change, tmp_path)
    if change is failed:
        text = Path(candidate).read_text("utf-8")
        Path(candidate).write_text(
            text.replace('"==ERROR== LaunchFailed"', "==ERROR== LaunchFailed")
        )
    for sides in ((same, candidate), (candidate, same), (candidate, candidate)):
        kernelprof("gate", *sides, code=3, says=says)
        kernelprof("compare", *sides, code={0, 3}, says=says)
    kernelprof(f"baseline save {candidate} -o {tmp_path}/b.json", code=2, err=says)
    assert not (tmp_path / "b.json").exists()


def test_half_of_a_file(kernelprof, same: str, tmp_path: Path) -> None:
    packed = gzip.compress(Path(same).read_bytes())
    candidate = tmp_path / "half.csv.gz"
    candidate.write_bytes(packed[: len(packed) // 2])
    kernelprof(f"gate {same} {candidate}", code=3, says="truncated")
    kernelprof(f"baseline save {candidate} -o {tmp_path}/b.json", code=2)


def crashed(manifest: dict[str, Any]) -> None:
    manifest["runs"][0]["program_exit_code"] = 139


def test_a_program_that_crashed(kernelprof, tmp_path: Path) -> None:
    candidate = directory(crashed, tmp_path)
    kernelprof(f"gate {TILE}/1 {candidate}", code=3, says="The program ended with exit code 139")
    kernelprof(f"baseline save {candidate} -o {tmp_path}/b.json", code=2, err="exit code 139")


def other_events(manifest: dict[str, Any]) -> None:
    timing = manifest["timing"]
    timing["times_ns"] = [each / 100 for each in timing["times_ns"]]


def second_duration(rows: Rows) -> Rows:
    """The true times, seven times as long, stand in a second column behind."""
    at = rows[0].index(TIME)
    for row in rows:
        row.append(row[at])
    for row in rows[2:]:
        row[-1] = str(7 * float(row[at].replace(",", "")))
    return rows


def tiny(rows: Rows) -> Rows:
    return _with_times(rows, slice(2, None), "1e-30")


def zero(rows: Rows) -> Rows:
    """Slow launches without a time."""
    return _with_times(rows, slice(2, None, 2), "0")


def _with_times(rows: Rows, changed: slice, value: str) -> Rows:
    """Sum, maximum, minimum and mean alike: a sum that the others contradict is another test."""
    times = [at for at, name in enumerate(rows[0]) if name.startswith("gpu__time_duration.")]
    for row in rows[changed]:
        for at in times:
            row[at] = value
    return rows


@pytest.mark.parametrize(
    ("make", "changed", "code", "says"),
    [
        (table, slow_half, 1, "slower in total"),
        (table, moved, 3, ["new kernel", "total of all kernels"]),
        (
            table,
            second_duration,
            3,
            "occurs twice in one table; where its values differ, neither is used",
        ),
        pytest.param(
            table,
            tiny,
            3,
            "no counter can have a value this small",
            marks=pytest.mark.slow("again"),
        ),
        (table, zero, 3, "launches have no time"),
        (directory, no_check, 1, "was checked against gemm, but is no longer checked"),
        (directory, any_result, 1, "its check has a tolerance of 1e+09 instead of 1e-05"),
        (
            directory,
            one_element,
            1,
            "its result is checked at M=1, N=1, K=1 instead of M=256, N=512, K=128",
        ),
        (directory, zeros, 1, "its check has fewer non-constant inputs: 0 instead of 2"),
        (directory, other_events, 3, "times contradict each other"),
    ],
)
def test_what_was_changed_does_not_pass(
    kernelprof, tmp_path: Path, *, make, changed, code, says
) -> None:
    """A regression fails also by the policy that lets everything inconclusive pass."""
    (tmp_path / "lax.toml").write_text('inconclusive = "allow"\n', "utf-8")
    policy = f"--policy {tmp_path}/lax.toml" if code == 1 else ""
    before = table(list, tmp_path, "same.csv") if make is table else TILE / "1"
    kernelprof(f"gate {before} {make(changed, tmp_path)} {policy}", code=code, says=says)
