"""Units: every way that ncu writes one leads to the same canonical unit."""

from __future__ import annotations

import numpy as np
import pytest

from kernelprof.sources.ncu.cells import depends_on_unit, scale_of


@pytest.mark.parametrize(
    ("unit", "canonical", "factor"),
    [
        ("ns", "ns", 1),
        ("us", "ns", 1e3),
        ("ms", "ns", 1e6),
        ("s", "ns", 1e9),
        ("nsecond", "ns", 1),
        ("usecond", "ns", 1e3),
        ("msecond", "ns", 1e6),
        ("second", "ns", 1e9),
        ("byte", "byte", 1),
        ("Kbyte", "byte", 1e3),
        ("Mbyte", "byte", 1e6),
        ("Gbyte", "byte", 1e9),
        ("Tbyte", "byte", 1e12),
        ("Kbyte/block", "byte/block", 1e3),
        ("byte/block", "byte/block", 1),
        ("hz", "hz", 1),
        ("Khz", "hz", 1e3),
        ("Mhz", "hz", 1e6),
        ("Ghz", "hz", 1e9),
        ("cycle/nsecond", "hz", 1e9),
        ("cycle/usecond", "hz", 1e6),
        ("Gbyte/s", "byte/s", 1e9),
        ("Gbyte/second", "byte/s", 1e9),
        ("Tbyte/s", "byte/s", 1e12),
        ("byte/ns", "byte/s", 1e9),
        ("sector/us", "sector/s", 1e6),
        ("sector/ns", "sector/s", 1e9),
        ("Kbyte/cycle", "byte/cycle", 1e3),
        ("%", "%", 1),
        ("%/register", "%/register", 1),
        ("inst/cycle", "inst/cycle", 1),
        ("register/thread", "register/thread", 1),
        ("sectors", "sector", 1),
        ("branches", "branch", 1),
        ("SM", "SM", 1),
        ("", "", 1),
        (" byte ", "byte", 1),
        ("furlong/fortnight", "furlong/fortnight", 1),
    ],
)
def test_canonical_unit(unit: str, canonical: str, factor: float) -> None:
    scale = scale_of(unit)
    assert scale.unit == canonical
    assert scale.apply(np.array([3.0]))[0] == pytest.approx(3.0 * factor, rel=1e-15)


def test_a_prefix_in_the_denominator_follows_ncu() -> None:
    """ncu writes 24,400 %/byte as 24.4 %/Kbyte; both spellings must give one number."""
    assert scale_of("%/Kbyte").apply(np.array([24.4]))[0] == pytest.approx(24400)
    assert scale_of("%/Kbyte").unit == scale_of("%/byte").unit


def test_scaling_keeps_whole_numbers_whole_and_missing_missing() -> None:
    values = scale_of("ms").apply(np.array([17.649888, np.nan, 0.0, 1e305]))
    assert values[0] == 17_649_888
    assert np.isnan(values[1])
    assert values[2] == 0
    assert np.isnan(values[3])


@pytest.mark.parametrize(
    ("metric", "depends"),
    [
        ("gpu__time_duration.sum", True),
        ("dram__bytes.sum.per_second", True),
        ("launch__shared_mem_per_block_static", True),
        ("dram__cycles_elapsed.avg.per_second", True),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", False),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", False),
        ("launch__registers_per_thread", False),
    ],
)
def test_which_metrics_say_nothing_without_their_unit(metric: str, depends: bool) -> None:
    assert depends_on_unit(metric) is depends
