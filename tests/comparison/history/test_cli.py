"""``history`` as it is typed: output, files, filters, exit codes and its cache."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from tests.comparison.gate.planted import CHANGES
from tests.comparison.history.conftest import fill

from kernelprof.collect.recorded import FOLDER as RECORDED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.comparison.history.conftest import RunHistory


def test_a_folder_of_captures(run_history: RunHistory, folder: Path) -> None:
    done = run_history(folder.name, cwd=folder.parent)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert max(map(len, lines)) <= 80
    assert lines[1] == "5 captures, 2 kernels, 2026-11-21 (UTC)."
    assert lines[3].startswith("sgemm_naive ─")
    rows = [" ".join(line.split()) for line in lines]
    assert "2026-11-21 15:57 naive/2 35.32 ms ~ uncoalesced-global-access high" in rows
    assert "2026-11-21 15:58 three-blocks/2 523.9 µs ▲ 31 % low-occupancy medium 5" in rows


def test_the_records_of_the_ladder_are_a_folder_as_well(run_history: RunHistory) -> None:
    done = run_history(str(RECORDED / "h200"), "--kernel", "^sgemm_naive$", "--format", "json")
    assert done.returncode == 0, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["rows"][0]["origin"] == "01_naive"


def test_the_second_run_reads_no_capture(run_history: RunHistory, tmp_path: Path) -> None:
    folder, cache = fill(tmp_path / "c", ("naive/1", "naive/2")), str(tmp_path / "cache")
    first = run_history(str(folder), XDG_CACHE_HOME=cache)
    (file,) = (tmp_path / "cache" / "kernelprof" / "history").iterdir()
    before = file.stat().st_mtime_ns
    assert run_history(str(folder), XDG_CACHE_HOME=cache).stdout == first.stdout
    assert file.stat().st_mtime_ns == before
    shutil.rmtree(folder / "naive" / "1")
    after = run_history(str(folder), XDG_CACHE_HOME=cache)
    assert "1 capture, 1 kernel" in after.stdout


def test_without_a_cache_nothing_is_kept(run_history: RunHistory, tmp_path: Path) -> None:
    folder = fill(tmp_path / "c", ("naive/1",))
    cache = tmp_path / "cache"
    done = run_history(str(folder), "--no-cache", XDG_CACHE_HOME=str(cache))
    assert done.returncode == 0
    assert not cache.exists()


def test_a_cache_that_is_broken_or_cannot_be_written_is_not_told(
    run_history, folder, tmp_path
) -> None:
    plain = run_history(str(folder))
    (tmp_path / "file").write_text("", "utf-8")
    blocked = run_history(str(folder), XDG_CACHE_HOME=str(tmp_path / "file"))
    assert (blocked.stdout, blocked.stderr) == (plain.stdout, "")
    run_history(str(folder), XDG_CACHE_HOME=str(tmp_path))
    (file,) = (tmp_path / "kernelprof" / "history").iterdir()
    file.write_bytes(b"nonsense" * 1000)
    again = run_history(str(folder), XDG_CACHE_HOME=str(tmp_path))
    assert (again.stdout, again.stderr) == (plain.stdout, "")
    assert json.loads(file.read_text("utf-8"))["kinds"].keys() == {"Moment", "TimeChange"}


def test_rows_are_chosen(run_history: RunHistory, folder: Path) -> None:
    newest = run_history(str(folder), "--kernel", "warp", "--limit", "1", "--format", "json")
    (kernel,) = json.loads(newest.stdout)["kernels"]
    assert (kernel["older"], [row["origin"] for row in kernel["rows"]]) == (2, ["three-blocks/2"])
    assert kernel["rows"][0]["time"]["outcome"] == "slower"
    since = run_history(str(folder), "--since", "2026-11-21T15:58", "--format", "csv")
    assert [line.split(",")[3] for line in since.stdout.splitlines()[1:]] == [
        "four-blocks/2",
        "three-blocks/2",
    ]
    all_of_them = run_history(str(folder), "--limit", "0", "--format", "csv")
    assert all_of_them.stdout.count("\n") == 6


def test_files_are_written(run_history: RunHistory, folder: Path, tmp_path: Path) -> None:
    text, page = tmp_path / "history.md", tmp_path / "history.html"
    done = run_history(str(folder), "--format", "markdown", "-o", str(text), "--html", str(page))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert text.read_text("utf-8").startswith("### History of ")
    assert page.read_text("utf-8").startswith("<!doctype html>")
    again = tmp_path / "again.html"
    run_history(str(folder), "-o", str(text), "--html", str(again))
    assert again.read_bytes() == page.read_bytes()


def test_damage_and_strangers_are_told_and_left_out(run_history, tmp_path) -> None:
    folder = fill(tmp_path / "c", ("naive/1", "naive/2"))
    (folder / "naive" / "2" / "raw.csv.gz").write_bytes(b"")
    for number in range(12):
        (folder / f"b{number:02}.json").write_text('{"kind": "kernelprof-baseline"}', "utf-8")
    for number in range(5):
        (folder / f"raw{number}.csv").write_text("", "utf-8")
    done = run_history(str(folder))
    assert done.returncode == 0
    assert "1 capture, 1 kernel" in done.stdout
    told = done.stderr.splitlines()
    assert told[0].startswith("kernelprof: warning: naive/2 is left out: the capture is damaged")
    assert told[1].startswith("kernelprof: warning: b00.json is left out: the baseline has schema")
    assert told[-2] == "kernelprof: warning: and 3 more are left out"
    assert told[-1] == (
        "kernelprof: 5 files skipped (neither capture nor baseline): "
        "raw0.csv, raw1.csv, raw2.csv and 2 more"
    )
    assert len(told) == 12


def test_mistakes_end_with_2_and_say_what_to_do(run_history, folder, tmp_path) -> None:
    empty, broken = tmp_path / "empty", tmp_path / "broken"
    empty.mkdir()
    fill(broken, ("naive/1",))
    (broken / "naive" / "1" / "manifest.json").write_text("", "utf-8")
    mistakes = (
        ((str(empty),), "there is no capture or baseline in this folder (searched 4 levels deep)"),
        ((str(broken),), "none of the 1 captures and baselines in this folder can be read"),
        ((str(tmp_path / "nothing"),), "there is no such folder"),
        ((str(CHANGES / "tile" / "1" / "manifest.json"),), "this is a file, not a folder"),
        ((str(folder), "--kernel", "("), "not a regular expression"),
        ((str(folder), "--kernel", "nothing"), "no row matches"),
        ((str(folder), "--since", "2030-01-01"), "no row matches"),
        ((str(folder), "--since", "monday"), "is not a date"),
        ((str(folder), "--html", str(tmp_path / "page.txt")), "an HTML file"),
        ((str(folder), "-o", str(tmp_path / "no" / "h.txt")), "no such folder"),
    )
    for arguments, says in mistakes:
        done = run_history(*arguments)
        assert done.returncode == 2, arguments
        assert says in done.stderr, arguments
        assert "next:" in done.stderr, arguments
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_the_folder_that_one_stands_in_can_be_named(run_history, folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    done = run_history(".", "--kernel", "naive", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("History of .\n5 captures, 1 kernel")
    capture = run_history("naive/1", cwd=folder)
    assert "1 capture, 1 kernel" in capture.stdout


def test_the_schema_is_printed(run_cli) -> None:
    done = run_cli("schema", "history")
    assert json.loads(done.stdout)["$id"] == "urn:kernelprof:history:v1"
