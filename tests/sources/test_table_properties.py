"""Properties: how a capture is written does not matter, and no bytes break the reader."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelprof.errors import InputError, KernelprofError
from kernelprof.sources import read_bytes

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture

CAPTURES = Path(__file__).parents[1] / "captures"
SMALL = {
    "raw": CAPTURES / "gemm_series.eight-metrics.raw.csv",
    "mixed": CAPTURES / "degraded" / "degraded_stdoutmix_dramonly.csv",
    "details": CAPTURES / "degraded" / "degraded_details_solonly.csv",
    "text": CAPTURES / "degraded" / "degraded_nosuchmetric.txt",
}
DATA = {name: path.read_bytes() for name, path in SMALL.items()}
UNITS = {
    "ns": [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("usecond", 1e3)],
    "byte": [("byte", 1.0), ("Kbyte", 1e3), ("Mbyte", 1e6), ("Gbyte", 1e9)],
    "byte/block": [("byte/block", 1.0), ("Kbyte/block", 1e3)],
    "hz": [("hz", 1.0), ("Mhz", 1e6), ("Ghz", 1e9), ("cycle/nsecond", 1e9)],
}
WORDS = st.sampled_from(
    [
        b'"ID","Kernel Name"', b'"Metric Name","Metric Value"', b"\n", b"\r\n", b'"', b",", b";",
        b"==PROF== ", b"(!) n/a", b"1e999", b"\x00", b"\xff\xfe", b"\x1f\x8b\x08", b"True",
        b"1,024", b'"0","k","1"', b'"","","%"', b"9" * 5000, b"Section: ", b"\xe2\x80", b"NVR\x00",
        b"{",
    ]
)  # fmt: skip
relaxed = settings(
    max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def _read(data: bytes) -> Capture | None:
    try:
        capture = read_bytes(data, "fuzz")
    except KernelprofError:
        return None
    assert len(capture) > 0
    for column in capture.columns.values():
        assert column.values.shape == (len(capture),)
        assert not np.isinf(column.values).any()
    assert all(len(cells) == len(capture) for cells in capture.text.values())
    return capture


@given(st.binary(max_size=400))
@settings(max_examples=300)
def test_any_bytes_give_a_capture_or_the_readers_own_error(data: bytes) -> None:
    _read(data)


@given(st.lists(WORDS, max_size=60).map(b"".join))
@settings(relaxed, max_examples=300)
def test_any_mixture_of_what_exports_are_made_of(data: bytes) -> None:
    _read(data)
    _read(b'"ID","Kernel Name","m__a.sum"\n' + data)
    _read(b'"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"\n' + data)


@given(st.sampled_from(sorted(DATA)), st.lists(st.tuples(st.floats(0, 1), WORDS), max_size=6))
@relaxed
def test_any_damage_to_a_real_export(name: str, damage: list[tuple[float, bytes]]) -> None:
    data = DATA[name]
    for where, junk in damage:
        at = int(where * len(data))
        data = data[:at] + junk + data[at + len(junk) // 2 :]
    _read(data)


@given(st.sampled_from(sorted(DATA)), st.data())
@settings(relaxed, max_examples=120)
def test_a_file_cut_at_any_byte_gives_a_prefix_of_its_launches(name: str, data: Any) -> None:
    whole = DATA[name]
    cut = whole[: data.draw(st.integers(0, len(whole)), label="bytes")]
    part = _read(cut)
    if part is None:
        return
    full = read_bytes(whole, "whole")
    count = len(part)
    assert part.launches == full.launches[:count]
    for key, column in part.columns.items():
        kept = ~np.isnan(column.values)
        assert full.columns[key].unit == column.unit
        np.testing.assert_array_equal(column.values[kept], full.columns[key].values[:count][kept])
    if name != "details":
        for key, column in full.columns.items():
            np.testing.assert_array_equal(part.columns[key].values, column.values[:count])


def test_every_cut_of_the_last_rows(eight_bytes: bytes) -> None:
    """Each byte of the end, where the row is complete, nearly so, or just begun."""
    start = eight_bytes.index(b'"ID"')
    eight_bytes = eight_bytes[start : eight_bytes.index(b'\n"2",') + 1]
    end = len(eight_bytes)
    row = eight_bytes.rindex(b'\n"1",') + 2
    for cut in [*range(end - 40, end + 1), *range(row, end - 40, 61)]:
        capture = _read(eight_bytes[:cut])
        assert capture is not None
        assert len(capture) == (2 if cut >= end - 1 else 1)


def test_a_cut_inside_the_header_is_an_error(eight_bytes: bytes) -> None:
    start = eight_bytes.index(b'"ID"')
    for cut in range(0, start + 4000, 173):
        with pytest.raises(InputError):
            read_bytes(eight_bytes[:cut], "cut")


@given(st.data())
@settings(relaxed, max_examples=10)
def test_the_order_of_rows_and_columns_does_not_matter(
    sheets: Any, same: Any, eight_bytes: bytes, data: Any
) -> None:
    sheet = sheets.of(eight_bytes)
    columns = data.draw(st.permutations(range(len(sheet.names))), label="columns")
    rows = data.draw(st.permutations(range(len(sheet.rows))), label="rows")
    shuffled = sheet.arranged(columns, rows)
    same(read_bytes(shuffled.write().encode(), "a"), read_bytes(sheet.write().encode(), "b"))


@pytest.mark.slow("hundreds of files are written and read")
@given(
    st.tuples(
        st.sampled_from([",", ";", "\t", "|"]),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
        st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"]),
        st.booleans(),
    )
)
@relaxed
def test_separators_quotes_line_ends_and_encodings_do_not_matter(
    sheets: Any, same: Any, eight_bytes: bytes, form: tuple[str, str, int, str, bool]
) -> None:
    delimiter, end, quote, encoding, separate = form
    sheet = sheets.of(eight_bytes).first(4)
    written = sheet.regrouped(separate).write(delimiter=delimiter, end=end, quote=quote)
    same(read_bytes(written.encode(encoding), "a"), read_bytes(sheet.write().encode(), "b"))


@given(st.lists(st.integers(0, 4), min_size=5, max_size=5))
@settings(relaxed, max_examples=12)
def test_units_do_not_matter(sheets: Any, same: Any, pick: list[int]) -> None:
    sheet = sheets.of((CAPTURES / "degraded" / "units_base_fp.csv").read_bytes())
    other = sheet.rescaled(UNITS, pick)
    same(
        read_bytes(other.write().encode(), "a"),
        read_bytes(sheet.write().encode(), "b"),
        rtol=1e-12,
    )
