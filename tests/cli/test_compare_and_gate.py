"""``compare``, ``gate`` and ``baseline`` as they are typed: output, files and exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

CHANGES = Path(__file__).parents[1] / "captures" / "h200_changes"
ROOT = Path(__file__).parents[2]
LADDER = ROOT / "cuda" / "ladder"
TILE, TILE_AGAIN = str(CHANGES / "tile" / "1"), str(CHANGES / "tile" / "2")
ROLLED = str(CHANGES / "tile-rolled" / "1")


def test_two_sources_are_compared_from_their_records(kernelprof, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    recorded = "as recorded on an NVIDIA H200"
    done = kernelprof("compare cuda/ladder/01_naive.cu cuda/ladder/02_coalesced.cu", says=recorded)
    lines = done.out.splitlines()
    assert "12.1x faster; uncoalesced-global-access is gone; now l1-throughput" in lines
    assert max(map(len, lines)) <= 80


def test_a_comparison_as_json_has_both_sides(kernelprof) -> None:
    found = kernelprof.json(f"compare {TILE} {ROLLED}")
    (kernel,) = found["kernels"]
    assert kernel["time"]["outcome"] == "slower"
    assert kernel["time"]["ratio"] == pytest.approx(1.442, abs=0.001)


def test_a_baseline_s_life(kernelprof, tmp_path: Path) -> None:
    file = str(tmp_path / "baseline.json")
    kernelprof(f"baseline save {TILE} -o {file}")
    kernelprof(f"baseline save {TILE} -o {file}", code=2, err="baseline update")
    runs = [str(CHANGES / "tile" / run) for run in "234"]
    kernelprof(
        f"baseline calibrate {file}",
        *runs,
        says="median times differ by up to 0.0719 % over 4 captures",
    )
    kernelprof(f"gate {file} {CHANGES}/tile/5")
    kernelprof(f"gate {file} {ROLLED}", code=1, says="Regression: 1 worse.")
    kernelprof(f"baseline update {file} {ROLLED}", code=1, says="The baseline is unchanged.")
    kernelprof(f"baseline accept {file} {ROLLED} --reason ' '", code=2)
    kernelprof(f"baseline accept {file} {ROLLED} --reason numerics --by Ada")
    shown = kernelprof(f"baseline show {file}")
    (accepted_line,) = (line for line in shown.out.splitlines() if "1.85 ms → 2.66 ms" in line)
    assert "Ada" in accepted_line
    assert "numerics" in accepted_line
    kernelprof(f"gate {file} {ROLLED}")
    kernelprof(f"baseline update {file} {TILE}")
    assert json.loads(Path(file).read_text("utf-8"))["accepted"][0]["reason"] == "numerics"


def test_what_was_accepted_is_named_and_not_what_the_baseline_was_of(
    kernelprof, tmp_path: Path
) -> None:
    file = tmp_path / "b.json"
    assert kernelprof(f"baseline save {TILE} -o {file}").out == f"{file}: 1 kernel from {TILE}\n"
    accepted = kernelprof(f"baseline accept {file} {ROLLED} --reason numerics")
    assert accepted.out == f"{file}: 1 kernel, accepted from {ROLLED}\n"
    assert (
        kernelprof(f"baseline update {file} {TILE_AGAIN}").out
        == f"{file}: 1 kernel from {TILE_AGAIN}\n"
    )
    named = tmp_path / "\x1b[2Jx\n::error::y"
    shutil.copytree(TILE_AGAIN, named)
    updated = kernelprof(f"baseline update {file}", named)
    assert updated.out == f"{file}: 1 kernel from {tmp_path}/\\x1b[2Jx ::error::y\n"


def test_a_baseline_names_its_gpu_by_what_is_known(kernelprof, tmp_path: Path) -> None:
    """The details page has the number of a device, and no name."""
    file = tmp_path / "b.json"
    captures = CHANGES.parent
    for capture, says in (
        (TILE, "1 kernel on NVIDIA H200, "),
        (captures / "four_gemms.full.raw.csv", "4 kernels on NVIDIA H200, "),
        (captures / "gemm_series.full.details.csv", " on a GPU of compute capability 9.0, "),
    ):
        kernelprof(f"baseline save {capture} -o {file} --force")
        kernelprof(f"baseline show {file}", says=says)
    values = json.loads(file.read_text("utf-8"))
    values["machine"] = dict.fromkeys(values["machine"])
    file.write_text(json.dumps(values), "utf-8")
    kernelprof(f"baseline show {file}", says="on an unknown GPU, ")


def test_the_policy_of_a_project_is_found(
    kernelprof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kernelprof(f"gate {TILE} {ROLLED}", code=1)
    text = "[tool.kernelprof.gate]\nmax_slowdown = 0.5\ncounter_worse = 'allow'\n"
    Path("pyproject.toml").write_text(f"{text}new_bottleneck = 'allow'\n", "utf-8")
    kernelprof(f"gate {TILE} {ROLLED}")
    Path("pyproject.toml").write_text(f"{text}bottleneck = 'allow'\n", "utf-8")
    kernelprof(
        f"gate {TILE} {ROLLED}",
        code=2,
        err=["unknown key: bottleneck", "did you mean new_bottleneck"],
    )


def test_sources_without_a_record_need_a_gpu(kernelprof, tmp_path: Path) -> None:
    changed = tmp_path / "01_naive.cu"
    text = (LADDER / "01_naive.cu").read_text("utf-8")
    changed.write_text(text.replace("sum += ", "sum = sum + "), "utf-8")
    kernelprof(f"compare {LADDER}/01_naive.cu {changed}", code=4, err="no NVIDIA GPU")


def test_a_diagnosis_as_json_is_a_side_without_counters(kernelprof, tmp_path: Path) -> None:
    file = tmp_path / "diagnosis.json"
    kernelprof(f"diagnose {TILE} --format json -o {file}", code={0, 3})
    done = kernelprof(f"compare {file} {TILE_AGAIN}", says="not enough samples to compare times")
    assert "worse" not in done.out


def test_nothing_is_left_behind_where_a_file_cannot_be_written(kernelprof, tmp_path: Path) -> None:
    place = shutil.copy(Path(TILE) / "manifest.json", tmp_path)
    before = sorted(tmp_path.iterdir())
    kernelprof(f"gate {TILE} {ROLLED} --markdown {tmp_path}/no/m.md", code=2)
    assert sorted(tmp_path.iterdir()) == before == [Path(place)]
