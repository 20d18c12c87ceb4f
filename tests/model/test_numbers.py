"""Numbers as people read them."""

import math

import pytest

from kernelprof.model import numbers
from kernelprof.model.diagnosis import Evidence


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (17_650_000.0, "ns", "17.65 ms"),
        (949_100.0, "ns", "949.1 µs"),
        (512.0, "ns", "512 ns"),
        (3.2e9, "ns", "3.2 s"),
        (98.97, "%", "98.97 %"),
        (0.05, "%", "0.05 %"),
        (4.23, "byte/sector", "4.23 of 32 byte/sector"),
        (4_563_402_752.0, "sector", "4,563,402,752 sector"),
        (4.31e12, "byte/s", "4.31 TB/s"),
        (1_980_000_000.0, "hz", "1.98 GHz"),
        (1_073_741_824.0, "byte", "1.07 GB"),
        (0.0, "byte", "0 B"),
        (8.5, "1", "8.5"),
        (1234.5, "", "1,234"),
        (-0.25, "1", "-0.25"),
        (math.nan, "%", "unknown %"),
    ],
)
def test_quantity(value: float, unit: str, expected: str) -> None:
    assert numbers.quantity(value, unit) == expected


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence("m", "l", 4.23, "byte/sector", "<", 16.0), "4.23 < 16 byte/sector"),
        (Evidence("m", "l", 98.97, "%", ">", 80.0), "98.97 > 80 %"),
        (Evidence("m", "l", 2_900.0, "ns", "<", 10_000.0), "2.9 < 10 µs"),
        (Evidence("m", "l", 8.5, "1", ">", 1.25), "8.5 > 1.25"),
        (Evidence("m", "l", 132.0, "SM"), "132 SM"),
        # A fact against a rule is not written as one for it.
        (Evidence("waves", "waves", 15.52, "wave", "<", 1.0), "15.52 >= 1 wave"),
        (Evidence("waves", "waves", 1.0, "wave", "<", 1.0), "1 >= 1 wave"),
        (Evidence("waves", "waves", 0.5, "wave", "<", 1.0), "0.5 < 1 wave"),
        (Evidence("waves", "waves", 0.5, "wave", ">", 1.0), "0.5 <= 1 wave"),
        (Evidence("waves", "waves", 0.5, "wave", ">=", 1.0), "0.5 < 1 wave"),
        (Evidence("waves", "waves", 2.0, "wave", "<=", 1.0), "2 > 1 wave"),
    ],
)
def test_evidence_is_value_op_threshold_unit(evidence: Evidence, expected: str) -> None:
    assert numbers.comparison(evidence) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.0, "100 %"), (0.331, "33 %"), (0.0331, "3.3 %"), (0.0996, "10 %"), (0.0001, "~0 %")],
)
def test_share_takes_at_most_five_columns(value: float, expected: str) -> None:
    assert numbers.share(value) == expected
    assert len(numbers.share(value)) <= 5


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (numbers.share(None), "-"),
        (numbers.share(math.nan), "-"),
        (numbers.factor(1.11), "1.11x"),
        (numbers.factor(5.6), "5.6x"),
        (numbers.factor(12.7), "12.7x"),
        (numbers.factor(160.0), "160x"),
        (numbers.factor(math.inf), "unbounded"),
        (numbers.dimensions((256, 1, 1)), "256"),
        (numbers.dimensions((16, 16, 1)), "16x16"),
        (numbers.dimensions((8, 1, 2)), "8x1x2"),
        (numbers.count(1, "launch"), "1 launch"),
        (numbers.count(20_000, "launch"), "20,000 launches"),
        (numbers.count(2, "kernel"), "2 kernels"),
    ],
)
def test_shares_factors_dimensions_and_counts(written: str, expected: str) -> None:
    assert written == expected
