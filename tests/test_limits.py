"""Inputs that took all time or memory, or ended with a traceback."""

from __future__ import annotations

import gzip
import json
import shutil
import time
from pathlib import Path

import pytest

from kernelprof.errors import UsageError
from kernelprof.fleet.store import FleetStore
from kernelprof.server.patterns import check_pattern

ROOT = Path(__file__).parents[1]
CAPTURES = ROOT / "tests" / "captures"
ONCE = CAPTURES / "h200_once"


def test_an_expression_that_never_ends_is_refused() -> None:
    begin = time.monotonic()
    with pytest.raises(UsageError, match=r"it took longer than 2 s"):
        check_pattern(r"(a+)+$", ["a" * 64 + "b"])
    assert time.monotonic() - begin < 10
    check_pattern(r"gemm_\w+", ["gemm_bad"])


def test_a_folder_of_fifty_names_the_five_damaged_reports(
    kernelprof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ncu_report")
    monkeypatch.setattr("kernelprof.sources.ncu_report._find_tool", lambda: None)
    for number in range(45):
        shutil.copy(CAPTURES / "fixture_basic.raw.csv", tmp_path / f"good{number:02}.csv")
    damaged = gzip.decompress((CAPTURES / "damaged.ncu-rep.gz").read_bytes())
    for number in range(5):
        (tmp_path / f"bad{number}.ncu-rep").write_bytes(damaged)
    done = kernelprof(f"diagnose {tmp_path} --format json", code=3)
    assert len(json.loads(done.out)["captures"]) == 45
    assert "5 files left out" in done.err
    assert all(f"bad{number}.ncu-rep" in done.err for number in range(3))


@pytest.mark.parametrize("command", ["report", "history", "baseline save", "diagnose"])
def test_a_path_that_is_too_long_is_a_mistake_of_the_user(kernelprof, command: str) -> None:
    path = "/tmp/" + "/".join(["b" * 200] * 25)
    out = " -o x" if command == "baseline save" else ""
    kernelprof(f"{command} {path}{out}", code=2)


def test_a_terminal_of_any_width_is_written_to_at_once(
    kernelprof, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "99999999")
    assert len(kernelprof(f"diagnose {CAPTURES}/four_gemms.full.raw.csv", code=None).out) < 10_000


def test_a_policy_may_have_a_byte_order_mark(kernelprof, tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text('\ufeffmax_slowdown = "2 %"\n', encoding="utf-8")
    sides = f"{ONCE}/before-1.1.csv.gz {ONCE}/before-1.2.csv.gz"
    kernelprof(f"gate {sides} --policy {policy}", code=0)


def test_more_blocks_than_can_be_run_are_refused(kernelprof, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings")
    text = (ROOT / "examples" / "matvec.cu").read_text("utf-8")
    line = next(each for each in text.splitlines() if each.startswith("// grid"))
    source = tmp_path / "k.cu"
    grid = '// grid = ["2147483647", "65535", "65535"]'
    source.write_text(text.replace(line, grid), encoding="utf-8")
    kernelprof(f"diagnose {source} --predict", code=2, err="the grid has 9,223,")


def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    assert FleetStore.at(f"file://{tmp_path}").backend.local
