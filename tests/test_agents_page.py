"""The commands of the page for agents do what it says, without a GPU."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import RunCli

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "agents.md").read_text("utf-8")
LOOP = PAGE.split("## Without a GPU")[1]
SAYS = {
    "diagnose": "275.9 ms. Limited by uncoalesced-global-access. Confidence: high.",
    "compare": "12.1x faster; uncoalesced-global-access is gone; now l1-throughput",
    "gate": "kernelprof gate: pass",
}


@pytest.mark.exhaustive("a minute of predictions, as the session of tests/server")
def test_the_loop_of_the_page_runs(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cuda", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"```sh\n(.*?)```", LOOP, re.DOTALL)[0].splitlines()
    assert len(commands) == 7
    told = []
    for line in commands:
        words = shlex.split(line.replace("$PWD", str(tmp_path)))
        if words[0] == "cp":
            shutil.copy(words[1], words[2])
            continue
        words = [each.replace("python ", f"{sys.executable} ") for each in words]
        done = run_cli(*words[1:], KERNELPROF_NCU="/no/such/ncu")
        assert done.returncode == 0, done.stderr
        assert SAYS.get(words[1], "1 of 2 proposals kept") in " ".join(done.stdout.split())
        told.append(done.stdout)
    assert "12.1x faster" in told[-2]
    assert "no time was measured" in " ".join(told[-1].split())
    changed = (tmp_path / "naive.cu").read_text("utf-8")
    assert "const int row = blockIdx.y * BLOCK + threadIdx.y;" in changed
