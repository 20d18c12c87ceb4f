"""The files of the benchmark of speed, how it measures, and what it makes of figures."""

from __future__ import annotations

import csv
import json
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from benchmarks.speed import inputs
from benchmarks.speed.__main__ import main
from benchmarks.speed.cases import CASES, Setting
from benchmarks.speed.contestants import (
    FOURNEX,
    KERNELPROF,
    PANDAS,
    Contestant,
    Libraries,
    NoAnswerError,
    find_libraries,
    fournex,
)
from benchmarks.speed.inputs import narrowed, read_export, write_export, write_kernels
from benchmarks.speed.outcome import Figure, Measured, Outcome, Quantity, Target, Unit
from benchmarks.speed.rounds import measure
from benchmarks.speed.table import as_json, markdown
from benchmarks.speed.timing import Printed, Run, run
from benchmarks.speed.work import CAPTURE, Work

if TYPE_CHECKING:
    from pathlib import Path

EXPORT = read_export(CAPTURE)
NO_LIBRARIES = Libraries("PYTHON", {"pandas": None, "polars": None, "pyarrow": None})
NUMBER = re.compile(r"-?[\d,]+(?:\.(\d+))?")

CALL = Quantity(PANDAS, Figure.CALL)
OUTCOME = Outcome(
    name="launches",
    title="made up",
    measured=(
        Measured(
            KERNELPROF,
            "1.0",
            (
                Run(3.0, 2.9, 100_000_000, 0),
                Run(9.0, 8.9, 300_000_000, 0),
                Run(4.0, 3.9, 120_000_000, 3),
            ),
        ),
        Measured(
            PANDAS,
            "3.1",
            (
                Run(2.5, 2.4, 500_000_000, 0, 2.0),
                Run(2.6, 2.5, 500_000_000, 0, 2.1),
                Run(2.4, 2.3, 500_000_000, 0, 1.0),
            ),
        ),
        Measured(FOURNEX, "0.3.1", (Run(60.0, 59.0, 1_000_000_000, 1),)),
        Measured("polars.read_csv", absent="PYTHON has no polars"),
    ),
    targets=(
        Target("kernelprof / call of pandas", 1.5, Quantity(KERNELPROF), CALL),
        Target(
            "Fournex / kernelprof", 15.0, Quantity(FOURNEX), Quantity(KERNELPROF), at_least=True
        ),
        Target("peak / file", 1.5, Quantity(KERNELPROF, Figure.PEAK), times=100_000_000),
        Target("peak", 1e8, Quantity(KERNELPROF, Figure.PEAK), unit=Unit.BYTES),
        Target(
            "of linear", 0.5, Quantity(KERNELPROF), Quantity(PANDAS), times=4.0, unit=Unit.RATIO
        ),
        Target("polars", 1.0, Quantity("polars.read_csv"), unit=Unit.SECONDS),
    ),
    bases=(CALL, Quantity(PANDAS)),
    file_bytes=100_000_000,
)


def _setting(folder: Path, scale: float) -> Setting:
    return Setting(Work(folder), NO_LIBRARIES, None, scale)


def _python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code)


def test_an_export_has_so_many_launches_with_ids_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "BLOCK", 40)
    write_export(tmp_path / "made.csv", narrowed(EXPORT, 248), 100)
    made = read_export(tmp_path / "made.csv")
    assert [row[0] for row in made.rows] == [str(number) for number in range(100)]
    assert {len(row) for row in (made.names, made.units, *made.rows)} == {248}
    # Beyond a block, rows repeat under new IDs.
    assert made.rows[45][1:] == made.rows[5][1:]
    assert made.rows[26][1:] != made.rows[0][1:]


def test_a_narrowed_export_keeps_columns_in_their_order() -> None:
    narrow = narrowed(EXPORT, 200)
    places = [EXPORT.names.index(name) for name in narrow.names]
    assert places == sorted(places)
    assert len(set(places)) == 200
    assert "gpu__time_duration.sum" in narrow.names
    assert narrow.rows[7] == tuple(EXPORT.rows[7][at] for at in places)
    with pytest.raises(ValueError, match="columns can be kept, not 10"):
        narrowed(EXPORT, 10)


@pytest.mark.slow("looks at a hundred thousand cells")
def test_cells_keep_their_form_and_move_by_one_percent_at_most(tmp_path: Path) -> None:
    write_export(tmp_path / "made.csv", EXPORT, 60)
    made = read_export(tmp_path / "made.csv")
    assert (made.names, made.units) == (EXPORT.names, EXPORT.units)
    moved = grouped = negative = 0
    for number, row in enumerate(made.rows):
        real = EXPORT.rows[number % len(EXPORT.rows)]
        for name, cell, was in list(zip(EXPORT.names, row, real, strict=True))[1:]:
            known = NUMBER.fullmatch(was)
            fixed = name.startswith(("launch__", "device__")) or name in {"Stream", "CC"}
            if known is None or fixed:
                assert cell == was, name
                continue
            now = NUMBER.fullmatch(cell)
            assert now is not None, (name, cell)
            assert len(now[1] or "") == len(known[1] or ""), (name, was, cell)
            value, old = (float(text.replace(",", "")) for text in (cell, was))
            digit = 10.0 ** -len(known[1] or "")
            assert abs(value - old) <= 0.01 * abs(old) + 0.5001 * digit, (name, was, cell)
            if "," in was and value >= 1000:
                assert cell == f"{value:,.{len(known[1] or '')}f}", (name, was, cell)
                grouped += 1
            moved += cell != was
            negative += cell != was and was.startswith("-")
    assert moved > 10_000
    assert grouped > 1_000
    assert negative > 10


def test_a_cell_that_grows_past_a_thousand_is_grouped_as_its_column_is(tmp_path: Path) -> None:
    export = inputs.Export(
        ("ID", "grouped", "plain"), ("", "", ""), (("0", "999", "999"), ("1", "5,000", "5000"))
    )
    write_export(tmp_path / "made.csv", export, 200)
    rows = read_export(tmp_path / "made.csv").rows
    grown = {(row[1], row[2]) for row in rows[::2]}
    assert any("," in one for one, _ in grown)
    assert all(len(one) == 3 or one.startswith("1,00") for one, _ in grown)
    assert not any("," in other for _, other in grown)


def test_each_kernel_has_a_name_of_its_own(tmp_path: Path) -> None:
    write_kernels(tmp_path / "made.csv", EXPORT, 100)
    made = read_export(tmp_path / "made.csv")
    names = [row[EXPORT.names.index("Kernel Name")] for row in made.rows]
    assert [row[0] for row in made.rows] == [str(number) for number in range(100)]
    assert len(set(names)) == 100
    assert names[26] == "gemm_bad_26(const float *, const float *, float *, int, int, int)"
    assert {len(row) for row in made.rows} == {len(EXPORT.names)}
    assert any(name.startswith("void gemm_tiled_5<") for name in names)


def test_a_file_is_made_once_and_again_when_it_was_changed(tmp_path: Path) -> None:
    made: list[str] = []

    def make(path: Path) -> None:
        made.append(path.name)
        path.write_text("ID\n1\n", encoding="utf-8")

    work = Work(tmp_path)
    path = work.made("x.csv", make)
    assert work.made("x.csv", make) == path == tmp_path / "x.csv"
    assert made == ["x.csv.part"]
    path.write_text("ID\n", encoding="utf-8")
    work.made("x.csv", make)
    assert path.read_text("utf-8") == "ID\n1\n"
    note = tmp_path / "x.csv.json"
    note.write_text(json.dumps(json.loads(note.read_text("utf-8")) | {"origin": "other"}))
    work.made("x.csv", make)
    assert len(made) == 3


def test_a_process_is_measured_from_start_to_end(tmp_path: Path) -> None:
    code = "import time; x = bytearray(150_000_000); time.sleep(0.3); print('done'); 1 / 0"
    ran, printed = run(_python(code), tmp_path)
    assert printed.out == "done\n"
    assert "ZeroDivisionError" in printed.errors
    assert ran.exit_code == 1
    assert 0.3 <= ran.process_s < 30
    assert 0 < ran.cpu_s < ran.process_s
    assert 150_000_000 < ran.peak_bytes < 200_000_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")
@pytest.mark.slow("waits for processes")
def test_the_peak_is_that_of_all_processes_at_one_time(tmp_path: Path) -> None:
    takes = "x = bytearray(b'1' * 50_000_000); import time; time.sleep(1)"
    both = (
        "import subprocess, sys\n"
        f"other = subprocess.Popen([sys.executable, '-c', {takes!r}])\n{takes}\nother.wait()"
    )
    ran, _ = run(_python(both), tmp_path)
    assert 100_000_000 < ran.peak_bytes < 250_000_000


def test_the_peak_of_the_benchmark_itself_is_not_counted(tmp_path: Path) -> None:
    large = bytearray(150_000_000)
    ran, _ = run(_python("pass"), tmp_path)
    assert len(large) == 150_000_000
    assert 1_000_000 < ran.peak_bytes < 75_000_000


def test_bytecode_may_be_written_by_those_who_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    code = "import os; print(os.environ.get('PYTHONDONTWRITEBYTECODE'))"
    assert run(_python(code), tmp_path)[1].out == "None\n"


def test_contestants_run_in_turn_and_who_fails_is_out(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"

    def code(letter: str, exit_code: int = 0) -> tuple[str, ...]:
        return _python(
            f"import sys; open({str(log)!r}, 'a').write({letter!r}); "
            f"sys.stderr.write('no luck\\n'); sys.exit({exit_code})"
        )

    told: list[str] = []
    measured = measure(
        (
            Contestant("a", code("a"), "1"),
            Contestant("b", code("b"), once=True),
            Contestant("c", code("c", 7)),
            Contestant("d", absent="nobody has it"),
            Contestant("e", (str(tmp_path / "none"),)),
        ),
        2,
        tmp_path,
        unmeasured=1,
        tell=told.append,
    )
    assert log.read_text("utf-8") == "acaba"
    assert [(each.name, len(each.runs)) for each in measured] == [
        ("a", 2), ("b", 1), ("c", 0), ("d", 0), ("e", 0),
    ]  # fmt: skip
    assert [each.absent for each in measured] == [
        "",
        "",
        "it exits with 7 and says: no luck",
        "nobody has it",
        f"{tmp_path / 'none'}: it cannot be run: No such file or directory",
    ]
    assert len(told) == 5


def test_a_reader_says_how_long_its_call_took(tmp_path: Path) -> None:
    libraries = find_libraries(sys.executable, tmp_path)
    assert libraries.versions["pandas"] is not None
    write_export(tmp_path / "made.csv", narrowed(EXPORT, 248), 50)
    pandas = libraries.readers(tmp_path / "made.csv", 50, 248)[0]
    ran = pandas.run(tmp_path)
    assert ran.call_s is not None
    assert 0 < ran.call_s < ran.process_s
    with pytest.raises(NoAnswerError, match="it read 49 rows x 248 columns, not 50 x 248"):
        pandas.answer(ran, Printed('{"call_s": 1, "rows": 49, "columns": 248}', ""))


def test_readers_that_are_not_there_are_shown_with_the_reason(tmp_path: Path) -> None:
    readers = NO_LIBRARIES.readers(tmp_path / "none.csv", 1, 1)
    text = markdown(Outcome("wide", "made up", measure(readers, 1, tmp_path)))
    assert f"| {PANDAS} | - | - | - | - |\n" in text
    assert f"{PANDAS}: -, because PYTHON has no pandas.\n" in text
    assert text.count("because PYTHON has no polars.") == 2


def test_fournex_counts_when_it_answers_and_only_then(tmp_path: Path) -> None:
    assert fournex(None, CAPTURE).absent == "not asked for: --fournex EXE"
    assert "cannot be run" in fournex(tmp_path / "fournex", CAPTURE).absent
    (tmp_path / "python").write_text("#!/bin/sh\necho 0.3.1\n", encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    there = fournex(tmp_path / "fournex", CAPTURE)
    assert there.version == "0.3.1"
    assert there.command[1:] == ("analyze", str(CAPTURE), "--json")
    assert there.once
    ran = Run(1.0, 1.0, 1, 1)
    assert there.answer(ran, Printed('{"result": {"kernel_count": 22}}', "")) == ran
    for wrong in ('{"result": {"kernel_count": 0}}', '{"error": 1}', "no"):
        with pytest.raises(NoAnswerError):
            there.answer(ran, Printed(wrong, ""))


def test_ratios_are_of_medians() -> None:
    kernelprof, pandas, _, polars = OUTCOME.measured
    process = Quantity(PANDAS)
    assert OUTCOME.against(kernelprof, CALL) == pytest.approx(4.0 / 2.0)
    assert OUTCOME.against(pandas, CALL) == 1.0
    assert OUTCOME.against(kernelprof, process) == pytest.approx(4.0 / 2.5)
    assert OUTCOME.against(polars, CALL) is None
    values = [OUTCOME.reached(target) for target in OUTCOME.targets]
    assert values == [2.0, 15.0, 1.2, 120_000_000, 0.4, None]
    assert [OUTCOME.met(target) for target in OUTCOME.targets] == [
        False, True, True, False, True, None,
    ]  # fmt: skip


def test_the_table_has_figures_and_targets() -> None:
    lines = markdown(OUTCOME).splitlines()
    assert lines[0] == "## launches: made up"
    for line in (
        "|  | version | process | call | x of the call of pandas.read_csv | x of pandas.read_csv"
        " | peak | peak / file | runs |",
        "| kernelprof diagnose | 1.0 | 4.00 s | - | 2.00x | 1.60x | 120 MB | 1.20x | 3 |",
        f"| {PANDAS} | 3.1 | 2.50 s | 2.00 s | 1.00x | 1.00x | 500 MB | 5.00x | 3 |",
        "| fournex analyze | 0.3.1 | 60.00 s | - | 30.00x | 24.00x | 1,000 MB | 10.00x | 1 |",
        "| polars.read_csv | - | - | - | - | - | - | - | - |",
        "polars.read_csv: -, because PYTHON has no polars.",
        "| kernelprof / call of pandas | ≤ 1.50x | 2.00x | **missed** |",
        "| Fournex / kernelprof | ≥ 15.00x | 15.00x | met |",
        "| peak / file | ≤ 1.50x | 1.20x | met |",
        "| peak | ≤ 100 MB | 120 MB | **missed** |",
        "| of linear | ≤ 0.50x | 0.40x | met |",
        "| polars | ≤ 1.00 s | - | not measured |",
    ):
        assert line in lines


def test_a_table_without_calls_and_file_has_no_columns_for_them() -> None:
    text = markdown(replace(OUTCOME, measured=OUTCOME.measured[:1], file_bytes=None, bases=()))
    assert "|  | version | process | peak | runs |\n" in text
    assert "| kernelprof diagnose | 1.0 | 4.00 s | 120 MB | 3 |\n" in text


def test_the_json_has_every_run() -> None:
    found = json.loads(json.dumps(as_json(OUTCOME)))
    kernelprof = found["contestants"][KERNELPROF]
    assert [each["process_s"] for each in kernelprof["runs"]] == [3.0, 9.0, 4.0]
    assert (kernelprof["process_s"], kernelprof["peak_bytes"]) == (4.0, 120_000_000)
    assert found["contestants"]["polars.read_csv"]["absent"] == "PYTHON has no polars"
    assert [(each["value"], each["met"]) for each in found["targets"]][:2] == [
        (2.0, False),
        (15.0, True),
    ]


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_target_is_of_contestants_that_take_part(name: str, tmp_path: Path) -> None:
    case = CASES[name](_setting(tmp_path, 0.0005))
    there = [each.name for each in case.contestants]
    needed = {target.of.who for target in case.targets} | {base.who for base in case.bases}
    needed |= {target.per.who for target in case.targets if target.per}
    assert len(set(there)) == len(there)
    assert needed <= set(there)
    assert case.targets


def test_a_million_is_compared_with_a_tenth_of_it(tmp_path: Path) -> None:
    case = CASES["million"](_setting(tmp_path, 0.0005))
    files = [each.command[4] for each in case.contestants]
    counts = [sum(1 for _ in csv.reader((tmp_path / file).open())) - 2 for file in files]
    assert counts == [50, 500]
    assert case.targets[0].times == 10


@pytest.mark.slow("processes are started and timed")
def test_the_command_writes_table_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "speed.json"
    arguments = ["help", "--repeats", "1", "--work", str(tmp_path / "work"), "-o", str(output)]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("- processor: ")
    assert "## help: the command line alone" in shown
    report = json.loads(output.read_text("utf-8"))
    assert (report["repeats"], report["scale"], list(report["cases"])) == (1, 1.0, ["help"])
    assert [len(each["runs"]) for each in report["cases"]["help"]["contestants"].values()] == [
        1, 1, 1,
    ]  # fmt: skip
    assert all(target["met"] is not None for target in report["cases"]["help"]["targets"])


def test_usage_errors_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["million"], ["help", "--scale", "2"], ["help", "--repeats", "0"], ["none"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
    assert "say --million as well" in capsys.readouterr().err
    python = str(tmp_path / "python")
    assert main(["help", "--readers", python, "--work", str(tmp_path)]) == 4
    assert capsys.readouterr().err == (
        f"benchmarks.speed: {python}: it cannot be run: No such file or directory\n"
    )
