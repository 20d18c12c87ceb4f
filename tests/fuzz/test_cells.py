"""Values that cannot be: a sample here, all of them in ``make attack``."""

from __future__ import annotations

import os

import pytest
from tests.fuzz.cells import find_flips
from tests.support.captures import CAPTURES

from kernelprof.sources import read_capture


@pytest.mark.parametrize("part", range(4))
def test_no_value_flips_a_verdict_silently(part: int) -> None:
    capture = read_capture(CAPTURES / "gemm_series.full.raw.csv")
    tried, flips = find_flips(capture, slice(part, None, 4 if os.environ.get("ATTACK") else 16))
    assert tried > 500
    assert not flips
