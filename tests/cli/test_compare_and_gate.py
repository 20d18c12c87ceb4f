"""``compare``, ``gate`` and ``baseline`` as they are typed: output, files and exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.text import unwrapped

if TYPE_CHECKING:
    from tests.conftest import RunCli

CHANGES = Path(__file__).parents[1] / "captures" / "h200_changes"
ROOT = Path(__file__).parents[2]
LADDER = ROOT / "cuda" / "ladder"
TILE, TILE_AGAIN = str(CHANGES / "tile" / "1"), str(CHANGES / "tile" / "2")
ROLLED = str(CHANGES / "tile-rolled" / "1")


def test_two_sources_are_compared_from_their_records(run_cli: RunCli) -> None:
    sources = ("cuda/ladder/01_naive.cu", "cuda/ladder/02_coalesced.cu")
    done = run_cli("compare", *sources, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "12.1x faster; uncoalesced-global-access is gone; now l1-throughput" in lines
    assert max(map(len, lines)) <= 80
    assert "as recorded on an NVIDIA H200" in unwrapped(done.stdout)


def test_a_comparison_as_json_has_both_sides(run_cli: RunCli) -> None:
    done = run_cli("compare", TILE, ROLLED, "--format", "json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    (kernel,) = found["kernels"]
    assert kernel["time"]["outcome"] == "slower"
    assert kernel["time"]["ratio"] == pytest.approx(1.442, abs=0.001)


def test_a_baseline_s_life(run_cli: RunCli, tmp_path: Path) -> None:
    file = str(tmp_path / "baseline.json")
    assert run_cli("baseline", "save", TILE, "-o", file).returncode == 0
    again = run_cli("baseline", "save", TILE, "-o", file)
    assert again.returncode == 2
    assert "baseline update" in again.stderr
    runs = [str(CHANGES / "tile" / run) for run in "234"]
    calibrated = run_cli("baseline", "calibrate", file, *runs)
    assert calibrated.returncode == 0, calibrated.stderr
    assert "medians up to 0.0719 % apart over 4 captures" in unwrapped(calibrated.stdout)
    assert run_cli("gate", file, str(CHANGES / "tile" / "5")).returncode == 0
    worse = run_cli("gate", file, ROLLED)
    assert worse.returncode == 1
    assert "Regression: 1 worse." in unwrapped(worse.stdout)
    refused = run_cli("baseline", "update", file, ROLLED)
    assert refused.returncode == 1
    assert "The baseline stays as it is." in unwrapped(refused.stdout)
    assert run_cli("baseline", "accept", file, ROLLED, "--reason", " ").returncode == 2
    accepted = run_cli("baseline", "accept", file, ROLLED, "--reason", "numerics", "--by", "Ada")
    assert accepted.returncode == 0
    shown = run_cli("baseline", "show", file)
    (accepted_line,) = (line for line in shown.stdout.splitlines() if "1.85 ms to 2.66 ms" in line)
    assert "Ada" in accepted_line
    assert "numerics" in accepted_line
    assert run_cli("gate", file, ROLLED).returncode == 0
    better = run_cli("baseline", "update", file, TILE)
    assert better.returncode == 0
    assert json.loads(Path(file).read_text("utf-8"))["accepted"][0]["reason"] == "numerics"


def test_what_was_accepted_is_named_and_not_what_the_baseline_was_of(
    run_cli: RunCli, tmp_path: Path
) -> None:
    file = tmp_path / "b.json"
    saved = run_cli("baseline", "save", TILE, "-o", str(file))
    assert saved.stdout == f"{file}: 1 kernel of {TILE}\n"
    accepted = run_cli("baseline", "accept", str(file), ROLLED, "--reason", "numerics")
    assert accepted.stdout == f"{file}: 1 kernel now, accepted from {ROLLED}\n"
    updated = run_cli("baseline", "update", str(file), TILE_AGAIN)
    assert updated.stdout == f"{file}: 1 kernel of {TILE_AGAIN}\n"
    named = tmp_path / "\x1b[2Jx\n::error::y"
    shutil.copytree(TILE_AGAIN, named)
    updated = run_cli("baseline", "update", str(file), str(named))
    assert updated.stdout == f"{file}: 1 kernel of {tmp_path}/\\x1b[2Jx ::error::y\n"


def test_a_baseline_names_its_gpu_by_what_is_known(run_cli: RunCli, tmp_path: Path) -> None:
    """The details page has the number of a device, and no name."""
    file = tmp_path / "b.json"
    captures = CHANGES.parent
    for capture, says in (
        (TILE, "1 kernel on NVIDIA H200, "),
        (captures / "four_gemms.full.raw.csv", "4 kernels on NVIDIA H200, "),
        (captures / "gemm_series.full.details.csv", " on a GPU of compute capability 9.0, "),
    ):
        saved = run_cli("baseline", "save", str(capture), "-o", str(file), "--force")
        assert saved.returncode == 0, saved.stderr
        assert says in unwrapped(run_cli("baseline", "show", str(file)).stdout)
    values = json.loads(file.read_text("utf-8"))
    values["machine"] = dict.fromkeys(values["machine"])
    file.write_text(json.dumps(values), "utf-8")
    assert "on an unknown GPU, " in unwrapped(run_cli("baseline", "show", str(file)).stdout)


def test_the_policy_of_a_project_is_found(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_cli("gate", TILE, ROLLED).returncode == 1
    text = "[tool.kernelprof.gate]\nmax_slowdown = 0.5\ncounter_worse = 'allow'\n"
    Path("pyproject.toml").write_text(f"{text}new_bottleneck = 'allow'\n", "utf-8")
    assert run_cli("gate", TILE, ROLLED).returncode == 0
    Path("pyproject.toml").write_text(f"{text}bottleneck = 'allow'\n", "utf-8")
    done = run_cli("gate", TILE, ROLLED)
    assert done.returncode == 2
    assert "unknown key: bottleneck" in done.stderr
    assert "did you mean new_bottleneck" in done.stderr


def test_mistakes_end_with_2_and_say_what_to_do(run_cli: RunCli, tmp_path: Path) -> None:
    newer = tmp_path / "newer.json"
    newer.write_text('{"kind": "kernelprof-baseline", "schema_version": "2"}', "utf-8")
    empty = tmp_path / "empty.csv"
    empty.write_text("", "utf-8")
    text = tmp_path / "text.json"
    text.write_text("{}", "utf-8")
    mistakes = (
        (("gate", str(newer), TILE), "install a newer kernelprof"),
        (("gate", TILE, str(empty)), "empty"),
        (("gate", TILE, str(tmp_path / "nothing")), "no such file"),
        (("gate", str(text), TILE), "not the JSON of a diagnosis"),
        (("gate", TILE, TILE_AGAIN, "--kernel", "nobody"), "no kernel's name matches 'nobody'"),
        (("gate", TILE, TILE_AGAIN, "--kernel", "("), "is not a regular expression"),
        (("gate", TILE, TILE_AGAIN, "--rename", "a"), "has no ="),
        (("gate", TILE, TILE_AGAIN, "--rename", "a=b"), "there is no kernel 'a'"),
        (("baseline", "calibrate", str(text), TILE, ROLLED), "it is not a baseline"),
        (("gate", TILE, ROLLED, "--policy", str(tmp_path / "no.toml")), "cannot be read"),
        (("gate", TILE, ROLLED, "--junit", str(tmp_path / "no" / "j.xml")), "no such folder"),
        (("compare", TILE, str(LADDER / "01_naive.cu")), "one is a source and the other is not"),
        (("compare", TILE, ROLLED, "--html", str(tmp_path / "page.txt")), "an HTML file"),
        (("compare", TILE, ROLLED, "--size", "M=1"), "no .cu file is named"),
    )
    for arguments, says in mistakes:
        done = run_cli(*arguments)
        assert done.returncode == 2, arguments
        assert says in done.stderr, arguments
        assert "Traceback" not in done.stderr
        assert "next:" in done.stderr, arguments


def test_sources_without_a_record_need_a_gpu(run_cli: RunCli, tmp_path: Path) -> None:
    changed = tmp_path / "01_naive.cu"
    text = (LADDER / "01_naive.cu").read_text("utf-8")
    changed.write_text(text.replace("sum += ", "sum = sum + "), "utf-8")
    done = run_cli("compare", str(LADDER / "01_naive.cu"), str(changed))
    assert done.returncode == 4
    assert "no NVIDIA GPU" in done.stderr


def test_a_diagnosis_as_json_is_a_side_without_counters(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "diagnosis.json"
    run_cli("diagnose", TILE, "--format", "json", "-o", str(file))
    done = run_cli("compare", str(file), TILE_AGAIN)
    assert done.returncode == 0
    assert "not enough samples to compare times" in unwrapped(done.stdout)
    assert "worse" not in done.stdout


def test_nothing_is_left_behind_where_a_file_cannot_be_written(
    run_cli: RunCli, tmp_path: Path
) -> None:
    place = shutil.copy(Path(TILE) / "manifest.json", tmp_path)
    before = sorted(tmp_path.iterdir())
    run_cli("gate", TILE, ROLLED, "--markdown", str(tmp_path / "no" / "m.md"))
    assert sorted(tmp_path.iterdir()) == before == [Path(place)]
