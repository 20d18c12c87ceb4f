"""A diagnosis as tables of pandas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

import kernelprof as kp

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def diagnosis(captures: Path) -> kp.Diagnosis:
    return kp.read(captures / "gemm_series.full.raw.csv").diagnose()


def test_a_gain_has_its_interval(diagnosis: kp.Diagnosis) -> None:
    table = diagnosis.to_pandas()
    row = table.iloc[0]
    assert row["bottleneck"] == "uncoalesced-global-access"
    assert row["gain_low"] < row["gain"] < row["gain_high"]
    assert (row["gain_low"], row["gain_high"]) == diagnosis.kernels[0].verdict.gain_interval
    full = table[table["status"] == "at-limit"]
    assert len(full) > 0
    assert all(map(math.isnan, [*full["gain_low"], *full["gain_high"]]))
    assert table.attrs["units"]["gain_low"] == table.attrs["units"]["gain_high"]


def test_what_is_worked_out_says_how(diagnosis: kp.Diagnosis) -> None:
    table = diagnosis.evidence()
    made = table[table["formula"] != ""]
    assert set(made["origin"]) == {"derived"}
    assert "sectors / requests of global loads" in set(made["formula"])
    assert set(table[table["metric"] == "dram_throughput"]["formula"]) == {""}
