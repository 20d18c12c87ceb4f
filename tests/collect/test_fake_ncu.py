"""The stand-in for ``ncu`` against what the real one did."""

from __future__ import annotations

import csv
import gzip
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import RunNcu

BEHAVIOUR = Path(__file__).parents[1] / "captures" / "ncu_behaviour"
SOURCE_PAGES = BEHAVIOUR.parent / "source_page"


def _recorded(name: str) -> tuple[list[str], int, str]:
    """The command, its exit code and what it wrote to stdout."""
    text = (BEHAVIOUR / f"{name}.txt").read_text(encoding="utf-8")
    command, code = text.splitlines()[:2]
    stdout = text.partition("--- stdout\n")[2].partition("--- stderr\n")[0]
    return shlex.split(command.removeprefix("$ ")), int(code.rpartition(" ")[2]), stdout


def _split(stdout: str) -> tuple[list[str], list[list[str]]]:
    """Lines with processes and paths made neutral, and the table without its values."""
    lines = stdout.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    messages = [
        re.sub(r"process \d+", "process N", re.sub(r" \(/.*\)$", " (PATH)", line))
        for line in lines[:start]
    ]
    table = list(csv.reader(lines[start:]))
    identity = [[row[0], *row[2:11]] for row in table[2:]]
    return messages, [*table[:2], *identity]


@pytest.mark.parametrize(
    "name",
    [
        "clock-control-wrong",
        "filter-matches-nothing",
        "filter-matches-nothing-report",
        "filter-regex",
        "import-missing",
        "launch-count",
        "list-chips",
        "list-rules",
        "list-sections",
        "list-sets",
        "no-arguments",
        "no-cuda-program",
        "no-program",
        "output-not-writable",
        "program-crashes",
        "program-fails-late",
        "quiet",
        "unknown-and-known-metric",
        "unknown-metric",
        "unknown-option",
        "unknown-page",
        "unknown-section",
        "version",
    ],
)
def test_it_does_what_the_real_one_did(name: str, run_ncu: RunNcu) -> None:
    command, code, stdout = _recorded(name)
    done = run_ncu(command)
    assert done.returncode == code
    assert _split(done.stdout) == _split(stdout)


def test_the_log_file_takes_all_that_ncu_says(run_ncu: RunNcu, programs: Path) -> None:
    command, code, stdout = _recorded("log-file")
    done = run_ncu(command)
    assert (done.returncode, done.stdout) == (code, stdout)
    written = (programs / "log_file.csv").read_text(encoding="utf-8")
    real = (BEHAVIOUR / "log-file.written.csv").read_text(encoding="utf-8")
    assert _split(written) == _split(real)


def test_a_report_is_written_once_and_read_again(run_ncu: RunNcu, programs: Path) -> None:
    export = ["ncu", "--metrics", "sm__cycles_active.avg", "-o", "report", "./fixture"]
    assert run_ncu(export).returncode == 0
    again = run_ncu(export)
    assert again.returncode == 1
    assert "File report.ncu-rep already exists. Use '-f'" in again.stdout
    assert run_ncu([*export[:1], "-f", *export[1:]]).returncode == 0
    page = run_ncu(["ncu", "--import", "report.ncu-rep", "--csv", "--page", "raw"])
    assert '"sm__cycles_active.avg"' in page.stdout
    (programs / "text.ncu-rep").write_text("not a report\n", encoding="utf-8")
    assert (
        run_ncu(["ncu", "--import", "text.ncu-rep", "--csv", "--page", "raw"]).stdout
        == (_recorded("import-text")[2])
    )


@pytest.mark.parametrize("options", [[], ["--kernel-name", "strided"]])
def test_the_source_page_is_the_recorded_one(run_ncu: RunNcu, options: list[str]) -> None:
    group = "gpu__time_duration.sum,group:smsp__pcsamp_warp_stall_reasons"
    for program in ("fixture", "gemm_series"):
        command = ["ncu", "--metrics", group, *options[: 2 * (program == "fixture")]]
        assert run_ncu([*command, "-o", program, f"./{program}"]).returncode == 0
    imported = ["--csv", "--page", "source", "--print-source", "cuda,sass"]
    page = run_ncu(["ncu", "--import", "fixture.ncu-rep", *imported]).stdout
    real = gzip.decompress((SOURCE_PAGES / "fixture.csv.gz").read_bytes()).decode()
    tables = [f'"File Path",{table}' for table in real.split('"File Path",')[1:]]
    assert page == (tables[1] if options else real)
    without = run_ncu(["ncu", "--import", "gemm_series.ncu-rep", *imported]).stdout.splitlines()
    warnings = gzip.decompress((SOURCE_PAGES / "fixture.no_lineinfo.csv.gz").read_bytes())
    beginning = warnings.decode().splitlines()[0].partition("'")[0]
    assert len(without) == 26
    assert all(line.startswith(beginning) for line in without)


def test_a_real_report_is_answered_from_its_exports(run_ncu: RunNcu) -> None:
    report = BEHAVIOUR.parent / "fixture_basic.ncu-rep"
    for options, export in (
        (["--page", "raw"], "fixture_basic.raw.csv"),
        (["--page", "raw", "--print-units", "base"], "fixture_basic.base-units.raw.csv"),
        (["--page", "details"], "fixture_basic.details.csv"),
    ):
        done = run_ncu(["ncu", "--import", str(report), "--csv", *options])
        real = (BEHAVIOUR.parent / export).read_text(encoding="utf-8")
        assert list(csv.reader(done.stdout.splitlines())) == list(csv.reader(real.splitlines()))


def test_a_name_without_suffix_that_is_no_metric_ends_the_run(run_ncu: RunNcu) -> None:
    done = run_ncu(["ncu", "--csv", "--page", "raw", "--metrics", "sm__throughput", "./fixture"])
    assert done.returncode == 9
    assert (
        r"==ERROR== Failed to find metric regex:^sm__throughput"
        r"\.(sum|min|max|avg|pct|ratio|max_rate)$" in done.stdout
    )
