"""The history as text, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import jsonschema
import pytest
from markdown_it import MarkdownIt
from msgspec import structs
from tests.comparison.history.samples import GPU, HOSTILE, eventful, history, moment, with_kernels

from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.history import Commit, HistoryOrigin, MomentKind
from kernelprof.model.snapshot import Acceptance
from kernelprof.report.documents.comparison import Detail
from kernelprof.report.documents.history import document
from kernelprof.report.writers import Screen, markdown, terminal
from kernelprof.report.writers import json as as_json
from kernelprof.report.writers.csv import COLUMNS
from kernelprof.report.writers.csv import write as render_history_csv
from kernelprof.report.writers.json import schema

if TYPE_CHECKING:
    from kernelprof.model.history import History


def render_history_text(found: History, screen: Screen | None = None) -> str:
    return terminal.write(document(found), screen)


def render_history_markdown(found: History) -> str:
    return markdown.write(document(found, Detail.COMMENT), largest=None)


PUBLISHED = json.loads(schema("history"))
SCHEMA = jsonschema.Draft202012Validator(PUBLISHED)


def lines(screen: Screen | None = None) -> list[str]:
    return render_history_text(eventful(), screen).splitlines()


def test_the_text_has_a_table_a_kernel() -> None:
    found = lines()
    assert max(map(len, found)) <= 80
    assert found[:2] == [
        "History of captures",
        "8 captures, 3 kernels, 2026-09-01 to 2026-09-08 (UTC).",
    ]
    start = next(at for at, line in enumerate(found) if line.startswith("sgemm_warp_tile ─"))
    assert [line.rstrip() for line in found[start + 1 : start + 13]] == [
        "6 rows on 2 GPUs; slower once, faster once, verdict changed 2 times, counters",
        "changed 2 times.",
        "",
        "date           time change    verdict         conf   counters GPU",
        "2026-09-01 399.2 µs           fp32-throughput medium          NVIDIA H200",
        "2026-09-02 399.2 µs ~         fp32-throughput medium          NVIDIA H200",
        "2026-09-03 511.0 µs ▲ 28 %    low-occupancy   medium        5 NVIDIA H200",
        "2026-09-04 400.2 µs other GPU fp32-throughput medium          NVIDIA A100",
        "2026-09-05 399.8 µs ▼ 28 %    fp32-throughput medium        5 NVIDIA H200",
        "2026-09-08   398 µs other ncu fp32-throughput medium          NVIDIA H200",
        "other ncu: different Nsight Compute (2025.3.1.0 before, 2026.1.0.0 after)",
        "a row is compared with the previous row on the same GPU",
    ]
    assert found[-1] == "▲ slower, ▼ faster than the row before, ~ within the noise"


def test_what_was_wrong_or_inconclusive_is_told() -> None:
    found = "\n".join(lines(Screen(width=120)))
    (row,) = (line for line in found.splitlines() if "35.32 ms" in line and "inconcl" in line)
    assert row.split()[:5] == ["2026-09-07", "naive/2", "35.32", "ms", "inconclusive"]
    assert "- 2026-09-07: its result was wrong" in found.splitlines()


@pytest.mark.parametrize("width", [48, 60, 76, 80, 140, 300])
def test_it_fits_any_screen(width: int) -> None:
    found = lines(Screen(width=width))
    assert max(map(len, found)) <= width
    assert any("2026-09-02" in line and "399.2" in line for line in found)
    assert any("four-blocks/2" in line and "399.2" in line for line in found) == (width >= 140)


def test_a_plain_encoding_has_plain_marks() -> None:
    found = "\n".join(lines(Screen(encoding="ascii")))
    found.encode("ascii")
    assert "511.0 us + 28 %" in found
    assert "399.8 us - 28 %" in found
    assert "+ slower, - faster than the row before, ~ within the noise" in found
    assert found.count("?") == 0


def test_colour_is_only_where_it_is_wanted() -> None:
    assert not any("\x1b" in line for line in lines())
    assert any("\x1b[1;31m" in line for line in lines(Screen(color=True)))


def test_a_long_name_and_launch_are_cut_and_not_lost() -> None:
    long = with_kernels(moment(1, "tile"), name=f"void {'n' * 300}::kernel<{'int, ' * 60}>(int)")
    found = render_history_text(history(long)).splitlines()
    assert max(map(len, found)) <= 80
    assert any("…" in line for line in found)


def test_days_have_times_where_several_rows_are_of_one() -> None:
    same = [
        structs.replace(moment(1, "tile", run), date=f"2026-09-01T1{run}:30:00Z") for run in "123"
    ]
    found = render_history_text(history(*same))
    assert "2026-09-01 12:30 " in found


# Markdown


def test_markdown_is_tables() -> None:
    found = render_history_markdown(eventful())
    tokens = MarkdownIt("commonmark").enable("table").parse(found)
    assert sum(each.type == "table_open" for each in tokens) == 3
    assert (
        "| 2026-09-03 | `three-blocks/1` | 511.0 µs | ▲ 28 % | `low-occupancy` | medium | 5 | "
        "NVIDIA H200 |"
    ) in found
    assert "on NVIDIA A100" not in found
    assert found.endswith("\n")


def test_nothing_of_strangers_is_markup() -> None:
    commit = Commit("a" * 40, HOSTILE)
    accepted = (Acceptance(HOSTILE, "now", HOSTILE, HOSTILE, after_ns=35318048.5),)
    strange = with_kernels(moment(1, "naive"), name=HOSTILE)
    strange = structs.replace(
        strange,
        commit=commit,
        accepted=accepted,
        kind=MomentKind.BASELINE,
        machine=structs.replace(strange.machine, gpu=HOSTILE),
    )
    found = replace(history(strange, origin=HOSTILE), source=HistoryOrigin.GIT)
    markdown = MarkdownIt("commonmark").enable("table").render(render_history_markdown(found))
    assert "<img" not in markdown
    assert "<em>" not in markdown
    assert "<a " not in markdown
    assert markdown.count("<table>") == 1
    assert markdown.count("<td") == 8
    text = render_history_text(found)
    assert "\x1b" not in text
    assert "accepted by =<img" in text
    (_, row) = csv.reader(io.StringIO(render_history_csv(found)))
    assert row[COLUMNS.index("kernel")].startswith("'=<img")
    assert row[COLUMNS.index("subject")].startswith("'=<img")
    assert "\x1b" not in "".join(row)
    SCHEMA.validate(json.loads(as_json.write(found)))


# CSV


def test_csv_has_a_line_a_row() -> None:
    found = list(csv.DictReader(io.StringIO(render_history_csv(eventful()))))
    assert len(found) == 8
    tile = [each for each in found if each["kernel"] == "sgemm_warp_tile"]
    assert [each["time_outcome"] for each in tile] == [
        "",
        "same",
        "slower",
        "",
        "faster",
        "not comparable",
    ]
    third = tile[2]
    assert third["date"] == "2026-09-03T10:00:00Z"
    assert third["compared_with"] == "2026-09-02T10:00:00Z"
    assert float(third["median_ns"]) == 510_992.0
    assert float(third["time_ratio"]) == pytest.approx(1.28, abs=0.001)
    assert (third["grid"], third["block"], third["gpu"]) == ("16x32", "128", GPU)
    assert (third["verdict_changed"], third["counters_changed"]) == ("true", "5")
    assert int(third["counters_worse"]) >= 1
    assert tile[0]["time_ratio"] == tile[0]["compared_with"] == ""


# JSON


def test_the_json_is_what_its_schema_says() -> None:
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    found = json.loads(as_json.write(eventful()))
    SCHEMA.validate(found)
    assert (found["schema_version"], found["kind"], found["source"]) == ("1", "history", "folder")
    assert (found["origin"], found["moments"]) == ("captures", 8)
    tile = next(each for each in found["kernels"] if each["name"] == "sgemm_warp_tile")
    assert tile["summary"].startswith("6 rows on 2 GPUs; slower once")
    first, _, third, other, back, ncu = tile["rows"]
    assert first["time"] is None
    assert first["compared_with"] is None
    assert third["time"]["outcome"] == "slower"
    assert third["median_ns"] == 510_992.0
    assert third["low_ns"] < third["median_ns"] < third["high_ns"]
    assert (third["samples"], third["measured_by"]) == (20, "CUDA events")
    assert [each["metric"] for each in third["counters"]].count("registers_per_thread") == 1
    assert other["machine"]["gpu"] == "NVIDIA A100"
    assert back["compared_with"]["origin"] == "three-blocks/1"
    assert ncu["time"]["reason"].startswith("different Nsight Compute")


def test_numbers_that_are_none_are_null() -> None:
    odd = with_kernels(
        moment(1, "tile"), events_ns=(), profiled_ns=(float("inf"),), median_ns=float("nan")
    )
    found = json.loads(as_json.write(history(odd)))
    SCHEMA.validate(found)
    assert found["kernels"][0]["rows"][0]["median_ns"] is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), "2"),
        (("source",), "memory"),
        (("surprise",), 1),
        (("kernels", 0, "rows"), []),
        (("kernels", 0, "rows", 0, "date"), "2026-09-01"),
        (("kernels", 0, "rows", 0, "surprise"), 1),
        (("kernels", 0, "rows", 0, "verdict", "status"), "none"),
        (("kernels", 0, "rows", 0, "commit"), {"sha": "a"}),
    ],
)
def test_the_schema_refuses_what_the_contract_does_not_have(path, value) -> None:
    found = as_json.document(eventful())
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(found)


def test_the_schema_names_every_word() -> None:
    definitions = PUBLISHED["$defs"]
    for kind in (TimeOutcome, HistoryOrigin, MomentKind):
        assert set(definitions[kind.__name__]["enum"]) == set(kind)
    comparison = json.loads(schema("comparison"))["$defs"]
    for name in ("SideVerdict", "TimeChange"):
        assert definitions[name] == comparison[name]
