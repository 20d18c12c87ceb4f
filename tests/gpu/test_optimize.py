"""Proposals that are measured in turns: faster, slower, wrong, and right at the check alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunCli

pytestmark = pytest.mark.usefixtures("needs_pycuda")

NAIVE = Path(__file__).parents[2] / "cuda" / "ladder" / "01_naive.cu"
PROPOSE = """
import os
from pathlib import Path

place = Path(os.environ["KERNELPROF_SOURCE"])
text = place.read_text("utf-8")
number = os.environ["KERNELPROF_ROUND"]


def swapped(text):
    for one, other in (("blockIdx.x", "blockIdx.y"), ("threadIdx.x", "threadIdx.y"),
                       ("(M, BLOCK)", "(N, BLOCK)")):
        text = text.replace(one, "@").replace(other, one).replace("@", other)
    return text


if number == "1":  # wrong
    text = text.replace("float sum = 0.0f", "float sum = 1.0f")
elif number == "2":  # nothing but the check is computed
    text = text.replace("float sum = 0.0f;", "float sum = 0.0f;\\n    if (M > 1000) return;")
elif number == "3":  # faster
    text = swapped(text)
elif number == "4":  # slower again
    text = swapped(text).replace("float sum", "float  sum")
elif number == "5":  # another problem
    text = text.replace("tolerance = 1e-5", "tolerance = 1e5")
place.write_text(text, "utf-8")
"""


def test_only_what_is_right_and_faster_is_kept(
    run_cli: RunCli, tmp_path: Path, say: Callable[[str], None]
) -> None:
    text = NAIVE.read_text("utf-8").replace("= 4096", "= 2048")
    kernel, script = tmp_path / "k.cu", tmp_path / "propose.py"
    kernel.write_text(text, encoding="utf-8")
    script.write_text(PROPOSE, encoding="utf-8")
    options = ("--rounds", "5", "--apply", "--format", "json")
    done = run_cli("optimize", str(kernel), "--with", f"{sys.executable} {script}", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for each in found["attempts"]:
        say(f"{each['number']}: {each['decision']}: {each['reason']} ({each['seconds']:.0f} s)")
    decisions = [each["decision"] for each in found["attempts"]]
    assert decisions == ["wrong", "wrong", "kept", "not better", "refused"]
    assert found["basis"] == "measured"
    assert found["notes"] == []
    assert "at the sizes that it is measured at" in found["attempts"][1]["reason"]
    assert 5 < 1 / found["ratio"] < 50
    assert found["attempts"][3]["ratio"] > 5
    assert found["first"]["bottleneck"] == "uncoalesced-global-access"
    assert found["last"]["bottleneck"] == "l1-throughput"
    assert kernel.read_text("utf-8") == found["text"] != text
