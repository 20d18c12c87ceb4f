"""A result in a notebook: the blocks of its page, without scripts and links."""

from __future__ import annotations

import re
from pathlib import Path

import kernelprof
from kernelprof.collect.recorded import FOLDER

CAPTURES = Path(__file__).parents[2] / "captures"


def test_a_diagnosis_has_the_charts_of_its_page() -> None:
    shown = kernelprof.read(FOLDER / "h200" / "03_shared_tile").diagnose()._repr_html_()
    for kind in ("memory", "roofline", "shares:warps"):
        assert f'data-chart="{kind}"' in shown
    assert "Limited by shared-memory-throughput" in shown
    assert "limits the kernel" in shown
    assert not re.search(r"<script|href=| id=|<a ", shown)


def test_that_of_many_kernels_stays_short() -> None:
    shown = kernelprof.read(CAPTURES / "gemm_series.full.raw.csv").diagnose()._repr_html_()
    assert "data-chart" not in shown
    assert len(shown) < 60_000


def test_a_comparison_has_what_changed_the_time() -> None:
    sides = [FOLDER / "h200" / name for name in ("01_naive", "02_coalesced")]
    shown = kernelprof.compare(*sides)._repr_html_()
    assert 'data-chart="waterfall"' in shown
    assert not re.search(r"<script|href=", shown)
