"""The times of short kernels that predictions are tested with are those of this GPU."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.support.short_kernels import MEASURED, ShortKernel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunCli

pytestmark = pytest.mark.usefixtures("needs_pycuda")


@pytest.mark.parametrize("case", MEASURED[::3], ids=lambda case: f"{case.kernel}-{case.time}")
def test_the_time_is_that_of_the_table(run_cli: RunCli, tmp_path: Path, case: ShortKernel) -> None:
    done = run_cli("diagnose", str(case.write(tmp_path)), "--format", "json")
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["duration_ns"]["median"] / 1e3 == pytest.approx(case.time, rel=0.1)
