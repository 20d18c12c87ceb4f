"""A compact raw page says all that the whole page said."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest

from kernelprof.analysis.verdict import diagnose
from kernelprof.corpus.compact import compact
from kernelprof.report.writers.json import write as render_json
from kernelprof.sources import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

PAGES = ("four_gemms.full.raw.csv", "gemm_series.full.raw.csv")


def header(page: bytes) -> list[str]:
    return next(csv.reader(io.StringIO(page.decode())))


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, captures: Path) -> bytes:
    return (captures / request.param).read_bytes()


def test_the_diagnosis_is_the_same(page: bytes) -> None:
    whole, less = (read_bytes(each, "page.csv") for each in (page, compact(page)))
    assert render_json([diagnose(less)]) == render_json([diagnose(whole)])


def test_values_and_launches_are_the_same(page: bytes) -> None:
    whole, less = (read_bytes(each, "page.csv") for each in (page, compact(page)))
    assert less.launches == whole.launches
    for name, column in less.columns.items():
        assert column.values.tobytes() == whole.columns[name].values.tobytes(), name
        assert column.unit == whole.columns[name].unit


def test_it_is_much_smaller_and_not_made_smaller_again(page: bytes) -> None:
    found = compact(page)
    assert len(found) < 0.5 * len(page)
    assert compact(found) == found


def test_columns_keep_their_order_and_no_unknown_metric_is_kept(page: bytes) -> None:
    before, after = header(page), header(compact(page))
    assert after == [name for name in before if name in set(after)]
    assert {"ID", "Kernel Name", "Block Size", "Grid Size"} <= set(after)
    assert "gpu__time_duration.sum" in after
    assert any(name.startswith("launch__") for name in after)
    assert "device__attribute_max_warps_per_scheduler" in before
    assert "device__attribute_max_warps_per_scheduler" not in after


def test_a_kernel_s_name_may_hold_anything() -> None:
    name = 'k<"a, b">(int)\r\n::x'
    out = io.StringIO()
    rows = [["ID", "Kernel Name", "some__thing.sum"], ["", "", "inst"], ["0", name, "1"]]
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    found = list(csv.reader(io.StringIO(compact(out.getvalue().encode()).decode(), newline="")))
    assert found == [["ID", "Kernel Name"], ["", ""], ["0", name]]
