"""What ncu prints without --csv: alone, between other lines, and as people paste it."""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from kernelprof.model.capture import Origin
from kernelprof.sources import read_bytes, read_capture

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.model.capture import Capture

TIME = "gpu__time_duration.sum"
CYCLES = "gpc__cycles_elapsed.max"

PASTED = Path(__file__).parents[1] / "captures" / "pasted_pages"
"""What people pasted; its README says where."""


@pytest.fixture(scope="module")
def page(captures: Path) -> str:
    """Our own: three launches, with lines of the program and of ncu before them."""
    return (captures / "ncu_behaviour" / "stdout-no-csv.txt").read_text(encoding="utf-8")


def _read(text: str) -> Capture:
    return read_bytes(text.encode(), "given")


def _pasted(name: str) -> str:
    return (PASTED / f"{name}.txt").read_text(encoding="utf-8")


def _values(capture: Capture, name: str) -> list[float]:
    return list(capture.columns[name].values)


def test_launches_and_values(page: str) -> None:
    capture = _read(page)
    assert capture.page == "text"
    assert [each.kernel for each in capture.launches] == [
        "scale(float *, float, int)",
        "strided(const float *, float *, int, int)",
        "rounds(float *, int)",
    ]
    first = capture.launches[0]
    assert (first.id, first.grid, first.block) == ("0", (16384, 1, 1), (256, 1, 1))
    assert (first.stream, first.device, first.compute_capability) == ("7", "0", (9, 0))
    assert (first.process_id, first.process_name) == ("8601", "fixture")
    assert capture.application == "/tmp/w/fixture"
    assert capture.clock_control == "none"
    assert capture.warnings == ()
    assert _values(capture, TIME) == [12190.0, 31970.0, 40830.0]
    assert capture.columns[TIME].unit == "ns"
    assert capture.columns[TIME].source is Origin.MEASURED
    # One label, two metrics, told apart by the unit; thousands; a scaled unit over another one.
    memory = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
    assert _values(capture, memory)[:2] == [34.09, 91.57]
    assert _values(capture, CYCLES)[:2] == [24103.0, 63232.0]
    assert _values(capture, "launch__shared_mem_config_size") == [32770.0] * 3
    assert _values(capture, "launch__sm_count") == [132.0] * 3
    assert capture.text["launch__func_cache_config"] == ("CachePreferNone",) * 3


def test_numbers_in_the_messages_of_rules_are_used(page: str) -> None:
    """Advice takes several lines; the page does not name the rule, so its wording tells."""
    capture = _read(page.replace("Achieved Occupancy ", "Something Occupied "))
    achieved = capture.columns["sm__warps_active.avg.pct_of_peak_sustained_active"]
    assert achieved.source is Origin.REPORTED
    assert achieved.values[0] == 69.7


def test_the_text_page_has_what_the_details_page_has(page: str, captures: Path) -> None:
    """The same program and sections, another run: what does not depend on the run is the same."""
    text, details = _read(page), read_capture(captures / "fixture_basic.details.csv")
    assert set(text.columns) == set(details.columns)
    for name, column in text.columns.items():
        assert column.unit == details.columns[name].unit, name
        if name.startswith("launch__"):
            np.testing.assert_array_equal(column.values, details.columns[name].values, name)
    assert [each.kernel for each in text.launches] == [each.kernel for each in details.launches]
    assert text.seen == frozenset({""})  # which rules kept silent the page does not say


def _behind(mark: str) -> Callable[[str], bytes]:
    """Each line of a text behind a mark, in which ``{at}`` is the number of the line."""
    return lambda text: "".join(
        f"{mark.format(at=at)}{line}\n" for at, line in enumerate(text.splitlines())
    ).encode()


def _in_a_notebook(text: str) -> str:
    lines = [f"{line}\n" for line in text.splitlines()]
    output = {"output_type": "stream", "name": "stdout", "text": lines}
    cells = [{"cell_type": "code", "source": ["!ncu ./fixture"], "outputs": [output]}]
    return json.dumps({"cells": cells, "nbformat": 4, "metadata": {}})


@pytest.mark.parametrize(
    "written",
    [
        str.encode,
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r\n").encode("utf-16"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: gzip.compress(text.encode()),
        _behind("        "),
        lambda text: f"# Notes\n\n```\n{text}\n```\nand so on\n".encode(),
        _behind("> "),
        _behind(">> "),
        _behind("// "),
        _behind("#"),
        _behind("[1,0]<stdout>:"),
        _behind("2025-04-18T12:00:00.{at}Z "),
        lambda text: _in_a_notebook(text).encode(),
    ],
    ids=[
        *("plain", "crlf", "utf-16-crlf", "utf-16-be", "bom", "gzip", "indented", "fenced"),
        *("quoted", "quoted-twice", "commented", "hash", "rank", "time", "notebook"),
    ],
)
def test_however_it_was_pasted(page: str, same: Any, written: Callable[[str], bytes]) -> None:
    same(read_bytes(written(page), "given"), _read(page))


def test_output_of_the_program_in_between(page: str, same: Any) -> None:
    """Also within a table, where its lines have gaps as wide as those of a row."""
    row = "    Elapsed Cycles                cycle       24,103\n"
    assert row in page
    noise = (
        f"step   3   loss 0.25\n{row}epoch 1  done  in  12.5 s\nOK    all good\n"
        "launching scale (64, 1, 1)x(128, 1, 1)\nsaved at 2024-Aug-28 11:14:50\n"
    )
    capture = _read(page.replace(row, noise))
    assert capture.warnings == ()
    same(capture, _read(page))


@pytest.mark.parametrize(
    ("name", "kernels", "values"),
    [
        (
            "units_of_2022",
            ["throw_dart(curandStateXORWOW *, int *, unsigned long *)"],
            {
                "dram__cycles_elapsed.avg.per_second": [877.96e6],
                "gpc__cycles_elapsed.avg.per_second": [1.24e9],
                CYCLES: [10544719.0],
                TIME: [8.52e6],
            },
        ),
        (
            "with_dates",
            ["mathKernel1(float*)", "mathKernel3(float*)"],
            {"smsp__sass_average_branch_targets_threads_uniform.pct": [80, 71.43]},
        ),
        (
            "summary",
            ["heat_kernel_1d_sim(float *, float *, BoundaryCondition)"],
            {TIME: [1920.0], CYCLES: [4327.23]},
        ),
    ],
)
def test_other_ways_of_writing(
    name: str, kernels: list[str], values: dict[str, list[float]]
) -> None:
    capture = _read(_pasted(name))
    assert [each.kernel for each in capture.launches] == kernels
    assert {metric: _values(capture, metric) for metric in values} == values


def test_a_date_in_place_of_the_sizes() -> None:
    launches = _read(_pasted("with_dates")).launches
    assert {(each.grid, each.block) for each in launches} == {(None, None)}


def test_sizes_in_a_line_of_their_own() -> None:
    launch = _read(_pasted("sizes_apart")).launches[0]
    assert launch.kernel.startswith("heat_kernel_2d_fused(float *, float *, uchar4 *, int, int,")
    assert (launch.grid, launch.block) == ((63, 63, 1), (16, 16, 1))
    assert launch.compute_capability == (8, 6)


def test_a_summary_says_that_it_gives_means() -> None:
    summary = _pasted("summary")
    assert (
        "averages over the launches of each kernel (--print-summary)" in _read(summary).warnings[0]
    )
    assert _read(summary.replace("Invocations 250", "Invocations 1")).warnings == ()


def test_a_launch_over_several_cells_of_a_notebook() -> None:
    talk = {"cell_type": "markdown", "source": ["The grid is small:  \n", "64 blocks  of 128"]}
    pages = [
        {
            "cell_type": "markdown",
            "source": _pasted(f"notebook_cell_{at}").splitlines(keepends=True),
        }
        for at in (1, 2)
    ]
    notebook = {"cells": [pages[0], talk, pages[1]], "nbformat": 4}
    capture = _read(json.dumps(notebook))
    assert len(capture) == 1
    assert capture.launches[0].kernel == "nvkernel__Z9stencil2dIdEvPKT_PS0_mm_F2L5_14"
    assert _values(capture, TIME) == [7.13e6]
    assert _values(capture, "launch__sm_count") == [84.0]
    assert _values(capture, "launch__shared_mem_config_size") == [16380.0]


def test_a_metric_that_could_not_be_measured(captures: Path) -> None:
    """One that ncu gives as (!) n/a is known to be missing; the others count."""
    text = (captures / "degraded" / "degraded_nosuchmetric.txt").read_text(encoding="utf-8")
    line = "    nosuch__metric.sum                  (!) n/a\n"
    assert line in text
    capture = _read(text.replace(line, line + "    gpu__time_duration.sum      us        12.50\n"))
    assert _values(capture, TIME) == [12500.0]
    assert capture.unavailable == {"nosuch__metric.sum"}


def _tables(page: str) -> list[str]:
    """The tables of the page, with their titles and lines of dashes."""
    return re.findall(r"    -[- ]+-\n    Metric Name.*?\n    -.*?\n    -[- ]+-\n", page, re.DOTALL)


def test_tables_without_the_line_of_their_launch(page: str) -> None:
    """People paste a table alone, each under the name that their notes have for the kernel."""
    first, other = _tables(page)[0], _tables(page)[4]
    notes = f"# Notes\n\n## The naive one\n\n```\n{first}```\n\n## The other\n\n```\n{other}```\n"
    capture = _read(notes)
    assert [each.kernel for each in capture.launches] == ["The naive one", "The other"]
    assert _values(capture, TIME) == [12190.0, 31970.0]
    assert [each.kernel for each in _read(first).launches] == ["unnamed kernel"]


def test_sections_without_the_line_of_their_launch(page: str) -> None:
    start, end = page.index("    Section: "), page.index("  strided(")
    capture = _read(page[start:end])
    assert [each.kernel for each in capture.launches] == ["unnamed kernel"]
    assert _values(capture, TIME) == [12190.0]
    assert _values(capture, "launch__sm_count") == [132.0]


def test_other_tables_of_a_text_are_not_of_ncu(page: str) -> None:
    """Rulers and tables of reStructuredText, before and after."""
    other = "==== ====\nname  value\n---- ----\nfoo      3\n---- ----\n\nResults\n-------\n"
    capture = _read(f"{other}\n{page}")
    assert len(capture) == 3
    assert capture.warnings == ()


def test_two_pages_of_one_program_are_launches_of_their_own(page: str) -> None:
    capture = _read(page + page)
    assert [each.id for each in capture.launches] == list("012345")
    assert _values(capture, TIME)[:3] == _values(capture, TIME)[3:]


def test_a_decimal_comma() -> None:
    """As a locale writes it; a comma before three digits groups them everywhere else."""
    text = _pasted("sizes_apart")
    for value in ("817.41", "99.68", "81,484"):
        text = text.replace(value, value.translate(str.maketrans(",.", ".,")))
    capture = _read(text)
    assert _values(capture, TIME) == [99680.0]
    assert _values(capture, CYCLES) == [81484.0]


@pytest.mark.parametrize("cut", [0.3, 0.5, 0.7, 0.9])
def test_a_page_that_is_cut_off_loses_the_rest_alone(page: str, cut: float) -> None:
    lines = page.splitlines(keepends=True)
    whole, part = _read(page), _read("".join(lines[: int(cut * len(lines))]))
    for name, column in part.columns.items():
        if column.source is Origin.REPORTED:
            continue
        known = ~np.isnan(column.values)
        expected = whole.columns[name].values[: len(part)]
        np.testing.assert_array_equal(column.values[known], expected[known], name)


def test_lines_that_no_page_has_do_not_hold_up_the_reader(page: str, same: Any) -> None:
    """Long runs of spaces, digits and brackets: each line is looked at once."""
    noise = "\n".join(
        [" " * 200_000, "(1, " * 50_000, "1" * 200_000, "[1] " + "@" * 100_000, "x  " * 9000]
    )
    same(_read(f"{noise}\n{page}\n{noise}"), _read(page))


@pytest.mark.parametrize("name", ["fixture_basic", "fixture_sections"])
def test_every_value_is_that_of_the_raw_page(captures: Path, name: str) -> None:
    """Of the same launches, within the digits that the text page prints."""
    text = read_capture(captures / f"{name}.text.txt")
    raw = read_capture(captures / f"{name}.base-units.raw.csv")
    assert text.page == "text"
    assert _identities(text) == _identities(raw)
    shared = [each for each in text.columns if each in raw.columns]
    assert len(shared) >= 30
    for each in shared:
        mine, theirs = text.columns[each], raw.columns[each]
        assert mine.unit in {theirs.unit, ""} or not theirs.unit, each
        for one, other in zip(mine.values, theirs.values, strict=True):
            if math.isnan(one) and mine.source is Origin.REPORTED:
                continue  # a rule's message is there for some launches only
            assert math.isclose(one, other, rel_tol=6e-3, abs_tol=6e-3), (each, one, other)


def test_a_log_of_the_program_is_read_around_its_output(captures: Path) -> None:
    log = read_capture(captures / "fixture_basic.log.txt")
    text = read_capture(captures / "fixture_basic.text.txt")
    assert _identities(log) == _identities(text)
    assert log.clock_control == "none"
    assert log.application is not None
    assert log.application.endswith("series")


def _identities(capture: Capture) -> list[tuple[object, ...]]:
    return [(each.kernel, each.grid, each.block) for each in capture.launches]
