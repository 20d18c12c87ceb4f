"""What kernelprof makes of captures that went wrong under the real ``ncu``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.gpu import support

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import RunCli

CSV = "--csv --page raw"
ONE = "--metrics sm__warps_active.avg.pct_of_peak_sustained_active"


@dataclass(frozen=True)
class Wrong:
    """A command for ``ncu``, its exit code (``None``: any), ours, and what our message says."""

    command: str
    ncu_code: int | None
    code: int
    says: str = ""


WRONG = {
    "a metric that does not exist": Wrong(
        f"--metrics nosuch__metric.sum {CSV} --log-file capture.csv ./fixture", 0, 3
    ),
    "a metric that does not exist beside one that does": Wrong(
        f"{ONE},nosuch__metric.sum {CSV} --log-file capture.csv ./fixture", 0, 3
    ),
    "a name that is no metric": Wrong(
        f"--metrics nosuch__metric {CSV} --log-file capture.csv ./fixture",
        None,
        2,
        "nosuch__metric",
    ),
    "a filter that matches nothing": Wrong(
        f"{ONE} --kernel-name nosuchkernel {CSV} --log-file capture.csv ./fixture",
        0,
        2,
        "no kernel was profiled",
    ),
    "a program that fails before it launches anything": Wrong(
        f"{ONE} {CSV} ./fixture fail > capture.csv", 7, 2, "error code (7)"
    ),
    "the same, with a log file": Wrong(
        f"{ONE} {CSV} --log-file capture.csv ./fixture fail", 7, 2, "error code (7)"
    ),
    "a program that fails after its launches": Wrong(
        f"{ONE} {CSV} --log-file capture.csv ./fixture late", 7, 3, "error code (7)"
    ),
    "a program that is not there": Wrong(
        f"{ONE} {CSV} ./nosuchprogram > capture.csv", 1, 2, "is not an executable"
    ),
    # ncu says it on stdout only, and leaves an empty log file.
    "the same, with a log file too": Wrong(
        f"{ONE} {CSV} --log-file capture.csv ./nosuchprogram", 1, 2, "the input is empty"
    ),
    "a program that launches nothing": Wrong(
        f"{ONE} {CSV} --log-file capture.csv true", None, 2, "no kernel was profiled"
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_capture_that_went_wrong_gives_its_exit_code_and_says_why(
    wrong: str, scratch: Path, run_cli: RunCli, say: Callable[[str], None]
) -> None:
    case = WRONG[wrong]
    ran = support.run_line(f"ncu {' '.join(support.SAME_CLOCKS)} {case.command}", scratch)
    written = scratch / "capture.csv"
    done = run_cli("diagnose", str(written), "--format", "json")
    say(f"{ran.line}\nexit code {ran.code}: {ran.said}")
    if written.exists():
        lines = written.read_text(encoding="utf-8").splitlines()
        say("\n".join(line[:160] for line in lines[:12]))
    say(f"kernelprof diagnose: exit code {done.returncode}\n{done.stderr}")
    assert case.ncu_code in {None, ran.code}
    assert done.returncode == case.code
    assert case.says in done.stderr
    assert "Traceback" not in done.stderr
    if case.code == 2:
        assert "next: " in done.stderr
    else:
        assert '"command": "ncu --' in done.stdout
