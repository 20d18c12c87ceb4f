"""Several writers of one baseline at a time: each sees what the one before has written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelprof import locks
from kernelprof.errors import InputError

CAPTURES = Path(__file__).parents[1] / "captures"
SERIES = str(CAPTURES / "gemm_series.full.raw.csv")
CHANGES = CAPTURES / "h200_changes"
TILE, ROLLED = str(CHANGES / "tile" / "1"), str(CHANGES / "tile-rolled" / "1")


@pytest.mark.slow("six processes")
def test_six_that_accept_a_kernel_each_at_a_time_keep_all_six(
    kernelprof, tmp_path: Path, cli_environment: dict[str, str]
) -> None:
    file = tmp_path / "kernels.json"
    kernelprof(f"baseline save {SERIES} -o {file}")
    held = json.loads(file.read_text("utf-8"))["kernels"]
    names = list(dict.fromkeys(each["name"] for each in held))[:6]
    assert len(names) == 6
    command = [sys.executable, "-m", "kernelprof", "baseline", "accept", str(file), SERIES]
    running = [
        subprocess.Popen(
            [*command, "--reason", f"because of {number}", "--by", "Ada", "--kernel", name],
            env={**os.environ, **cli_environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, name in enumerate(names)
    ]
    said = [each.communicate(timeout=240) for each in running]
    assert [each.returncode for each in running] == [0] * 6, said
    found = json.loads(file.read_text("utf-8"))
    assert {each["kernel"] for each in found["accepted"]} == set(names)
    assert [each.name for each in tmp_path.iterdir()] == ["kernels.json"]


def test_whoever_waits_too_long_is_told_for_whom(
    kernelprof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kernels.json"
    kernelprof(f"baseline save {TILE} -o {file}")
    before = file.read_text("utf-8")
    monkeypatch.setattr(locks, "WAIT_S", 0.2)
    with locks.held(file):
        for arguments in (
            ("baseline", "accept", str(file), ROLLED, "--reason", "it is so"),
            ("baseline", "update", str(file), TILE),
            ("baseline", "save", ROLLED, "-o", str(file), "--force"),
            ("baseline", "calibrate", str(file), TILE, ROLLED),
        ):
            kernelprof(
                *arguments,
                code=4,
                err=[
                    f"another process is changing this file (process {os.getpid()} on ",
                    f"where: {file}",
                    "next: wait until that process ends",
                ],
            )
        kernelprof(f"gate {file} {TILE}")
        kernelprof(f"baseline show {file}")
    assert file.read_text("utf-8") == before
    kernelprof(f"baseline accept {file} {ROLLED} --reason 'it is so'")
    assert [each.name for each in tmp_path.iterdir()] == ["kernels.json"]


def test_a_file_that_appeared_meanwhile_is_not_written_over(
    kernelprof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kernelprof.interface import baselines

    file = tmp_path / "kernels.json"
    save = baselines.save

    def slow(capture: list[str], **given: Any) -> object:
        file.write_text("somebody else's", "utf-8")
        return save(capture, **given)

    monkeypatch.setattr(baselines, "save", slow)
    kernelprof(f"baseline save {TILE} -o {file}", code=2, err="the file exists")
    assert file.read_text("utf-8") == "somebody else's"


def test_a_lock_of_a_process_that_died_is_none(tmp_path: Path) -> None:
    file = tmp_path / "kernels.json"
    program = (
        "import os, pathlib, sys; from kernelprof.locks import held\n"
        "with held(pathlib.Path(sys.argv[1])): os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], check=False)
    assert done.returncode == 9
    assert [each.name for each in tmp_path.iterdir()] == [".kernels.json.lock"]
    with locks.held(file, wait_s=0.2):
        pass
    assert list(tmp_path.iterdir()) == []


def test_only_one_process_holds_a_file_although_its_lock_is_taken_away(tmp_path: Path) -> None:
    file = tmp_path / "count"
    file.write_text("0", "utf-8")
    program = (
        "import pathlib, sys; from kernelprof.locks import held; file = pathlib.Path(sys.argv[1])\n"
        "for _ in range(40):\n"
        "    with held(file): file.write_text(str(int(file.read_text()) + 1))"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(file)]) for _ in range(4)]
    assert [each.wait(timeout=120) for each in running] == [0] * 4
    assert file.read_text("utf-8") == "160"
    assert [each.name for each in tmp_path.iterdir()] == ["count"]


def test_through_a_link_the_lock_is_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "kernels.json"
    file.write_text("{}", "utf-8")
    link = tmp_path / "link.json"
    link.symlink_to(file)
    with locks.held(link), pytest.raises(locks.BusyError), locks.held(file, wait_s=0.1):
        pass


def test_a_pipe_has_no_lock(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with locks.held(pipe):
        assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "kernels.json"
    with pytest.raises(InputError, match="cannot be locked") as caught, locks.held(missing):
        pass
    assert caught.value.where == str(missing)


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine", "utf-8")
    (tmp_path / ".kernels.json.lock").symlink_to(outside)
    with (
        pytest.raises(InputError, match="cannot be locked"),
        locks.held(tmp_path / "kernels.json", wait_s=0.2),
    ):
        pass
    assert outside.read_text("utf-8") == "mine"
