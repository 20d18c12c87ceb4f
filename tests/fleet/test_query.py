"""Questions to a store: what regressed since when, what could be saved, the best of a sweep."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest
from tests.fleet.conftest import RECORDED

from kernelprof.analysis.verdict import diagnose
from kernelprof.errors import InputError, UsageError
from kernelprof.fleet.query import QUESTIONS, QueryFilters, ask, ask_sql
from kernelprof.fleet.records import Provenance, record
from kernelprof.fleet.status import describe_store
from kernelprof.fleet.store import FleetStore
from kernelprof.interface.fleet import query
from kernelprof.report.writers.json import schema, write
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    Add = Callable[..., str]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def add(store: FleetStore) -> Add:
    """Stores a recorded measurement of a day, its times by CUDA events multiplied."""
    draw = np.random.default_rng(0)

    def stored(day: str, times: float = 1.0, rung: str = "03_shared_tile", **about: Any) -> str:
        folder = RECORDED / rung
        capture, manifest = read_capture(str(folder)), read_manifest(folder)
        assert manifest.timing is not None
        drawn = tuple(
            float(each * times * draw.normal(1, 0.001)) for each in manifest.timing.times_ns
        )
        manifest = replace(
            manifest,
            created=f"{day}T02:00:00Z",
            timing=replace(manifest.timing, times_ns=drawn),
        )
        said = {"name": f"{rung}.cu", "kind": "source", "plan": "nightly", **about}
        provenance = Provenance(key=f"{len(drawn):064x}", **said)
        return store.add(record(capture, diagnose(capture), manifest, provenance))

    return stored


def _rows(table: Any) -> list[dict[str, Any]]:
    names = [each.name for each in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def test_a_regression_is_found_with_the_night_it_came(store: FleetStore, add: Add) -> None:
    for day, times in (("01", 1.0), ("02", 1.001), ("03", 1.2), ("04", 1.21)):
        add(f"2026-11-{day}", times, commit=f"c{day}")
        add(f"2026-11-{day}", 1.0, "02_coalesced")
    (found,) = _rows(ask(store, "regressions", QueryFilters()))
    assert found["kernel"] == "sgemm_shared_tile"
    assert found["since"] == "2026-11-03T02:00:00Z"
    assert found["commit"] == "c03"
    assert found["ratio"] == pytest.approx(1.21, abs=0.01)
    assert found["newest"] == "2026-11-04T02:00:00Z"


def test_since_compares_with_what_was_before(store: FleetStore, add: Add) -> None:
    for day, times in (("01", 1.0), ("02", 1.2), ("10", 1.2), ("20", 1.2)):
        add(f"2026-11-{day}", times)
    assert len(ask(store, "regressions", QueryFilters()).rows) == 1
    assert len(ask(store, "regressions", QueryFilters(since="2026-11-02")).rows) == 1
    assert ask(store, "regressions", QueryFilters(since="2026-11-10")).rows == ()
    assert ask(store, "regressions", QueryFilters(since="2026-11-21")).rows == ()
    assert ask(store, "regressions", QueryFilters(gpu="B200")).rows == ()
    assert ask(store, "regressions", QueryFilters(kernel="^other")).rows == ()


def test_what_came_back_and_what_is_noise_is_no_regression(store: FleetStore, add: Add) -> None:
    for day, times in (("01", 1.0), ("02", 1.5), ("03", 1.0005)):
        add(f"2026-11-{day}", times)
    assert ask(store, "regressions", QueryFilters()).rows == ()


def test_a_side_of_a_comparison_is_a_series_of_its_own(store: FleetStore, add: Add) -> None:
    add("2026-11-01")
    for day, side in (("02", "before"), ("03", "after")):
        add(f"2026-11-{day}", 2.0, side=side, pair="p")
    assert ask(store, "regressions", QueryFilters()).rows == ()


def test_recorded_captures_are_a_series_of_their_own_and_said(store: FleetStore, add: Add) -> None:
    add("2026-11-01", recorded=True)
    add("2026-11-02", 2.0)
    assert ask(store, "regressions", QueryFilters()).rows == ()
    found = _rows(ask(store, "potential", QueryFilters()))
    assert [each["recorded"] for each in found] == [None, True]
    for tile, recorded in ((8, True), (16, False), (32, False)):
        add("2026-11-01", defines=json.dumps({"TILE": tile}), sizes="{}", recorded=recorded)
    swept = _rows(ask(FleetStore(store.backend), "sweep", QueryFilters()))
    assert [(each["variants"], each["recorded"]) for each in swept] == [(3, None), (2, True)]


def test_potential_is_the_time_that_the_gain_would_save(store: FleetStore, add: Add) -> None:
    add("2026-11-01", 9.0, "01_naive")
    add("2026-11-02", 1.0, "01_naive")
    add("2026-11-02", 1.0, "02_coalesced")
    first, second = _rows(ask(store, "potential", QueryFilters()))
    assert (first["name"], second["name"]) == ("01_naive.cu", "02_coalesced.cu")
    assert first["created"] == "2026-11-02T02:00:00Z"
    assert first["verdict"] == "uncoalesced-global-access"
    assert first["saved_ns"] == pytest.approx(first["total_ns"] * (1 - 1 / first["gain"]))


def test_the_fastest_of_a_sweep(store: FleetStore, add: Add) -> None:
    for tile, times in ((8, 1.5), (16, 1.0), (32, 1.2)):
        add("2026-11-01", times, defines=json.dumps({"TILE": tile}), sizes='{"M": 64}')
    (found,) = _rows(ask(store, "sweep", QueryFilters()))
    assert (found["variants"], found["defines"]) == (3, '{"TILE": 16}')
    assert found["slowest"] == pytest.approx(1.5, abs=0.01)
    assert found["second"] == '{"TILE": 32}'
    assert found["second_takes"] == pytest.approx(1.2, abs=0.01)


def test_sql_reads_and_never_writes(store: FleetStore, add: Add, tmp_path: Path) -> None:
    add("2026-11-01")
    sql = "select m.kernel, m.metrics['gpu__time_duration.sum'][1] as ns from measurements as m"
    assert _rows(ask_sql(store, sql, 0)) == [{"kernel": "sgemm_shared_tile", "ns": 15599136.0}]
    assert ask_sql(store, "select count(*) from launches", 0).rows == ((1,),)
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n", encoding="utf-8")
    for refused in (
        "drop view kernels",
        f"copy kernels to '{tmp_path}/out.csv'",
        "select 1; select 2",
        "select nonsense",
        f"select * from read_csv('{secret}')",
        "set enable_external_access = true",
    ):
        with pytest.raises(UsageError):
            ask_sql(store, refused, 0)
    assert not (tmp_path / "out.csv").exists()


def test_new_files_are_seen_and_damaged_ones_told(store: FleetStore, add: Add) -> None:
    add("2026-11-01")
    count = "select count(*) from kernels"
    assert ask_sql(store, count, 0).rows == ((1,),)
    torn = Path(store.backend.path(add("2026-11-02")))
    torn.write_bytes(torn.read_bytes()[:100])
    add("2026-11-03")
    found = ask_sql(FleetStore(store.backend), count, 0)
    assert found.rows == ((2,),)
    assert [str(torn) in each for each in found.warnings] == [True]
    gone = Path(store.backend.path(add("2026-11-04")))
    assert ask_sql(FleetStore(store.backend), count, 0).rows == ((3,),)
    gone.unlink()
    assert ask_sql(FleetStore(store.backend), count, 0).rows == ((2,),)
    assert ask_sql(FleetStore(store.backend), count, 0, cached=False).rows == ((2,),)


def _spoil(path: Path) -> None:
    """Change data in the first half of a file; its footer stays whole."""
    data = bytearray(path.read_bytes())
    for at in range(50, len(data) // 2, 7):
        data[at] ^= 0x5A
    path.write_bytes(data)


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("spoil", [_spoil, lambda path: path.write_bytes(b"PAR1")])
def test_damaged_data_is_told_and_left_out(store, add, spoil, cached) -> None:
    add("2026-11-01")
    bad = Path(store.backend.path(add("2026-11-02", 1.5)))
    add("2026-11-03")
    everything = "select count(*), sum(len(times_ns)) > 0 from measurements"
    if cached:
        assert ask_sql(store, everything, 0).rows == ((3, True),)
    spoil(bad)
    for found in (
        ask_sql(FleetStore(store.backend), everything, 0),
        ask_sql(FleetStore(store.backend), everything, 0, cached=False),
    ):
        assert found.rows == ((2, True),)
        assert [str(bad) in each for each in found.warnings] == [True]
    assert ask(FleetStore(store.backend), "regressions", QueryFilters(), cached=False).rows == ()
    (held,) = describe_store(FleetStore(store.backend), cached=False).holdings.rows
    assert held[2] == 2


def test_a_single_bit_is_enough(store: FleetStore, add: Add) -> None:
    add("2026-11-01")
    bad = Path(store.backend.path(add("2026-11-02")))
    data = bytearray(bad.read_bytes())
    # Inside the text of a kernel's name, which any reader takes as it is.
    at = data.index(b"sgemm_shared_tile")
    data[at] ^= 1
    bad.write_bytes(data)
    found = ask_sql(FleetStore(store.backend), "select kernel, key from kernels", 0)
    assert [row[0] for row in found.rows] == ["sgemm_shared_tile"]
    assert [f"{bad} is left out: its data is damaged" in each for each in found.warnings] == [True]


def test_a_query_that_is_wrong_is_the_users_and_no_damage(store: FleetStore, add: Add) -> None:
    add("2026-11-01")
    _spoil(Path(store.backend.path(add("2026-11-02"))))
    for wrong in ("select nothing from measurements", "select 'x'::int", "select error('no')"):
        with pytest.raises(UsageError, match="the query failed"):
            ask_sql(FleetStore(store.backend), wrong, 0)


@pytest.mark.parametrize(
    "spoil",
    [lambda path: path.write_bytes(path.read_bytes()[:200]), _spoil, Path.unlink],
)
def test_a_damaged_cache_is_made_again(store, add, tmp_path, spoil) -> None:
    for day in ("01", "02"):
        add(f"2026-11-{day}")
        before = ask(FleetStore(store.backend), "potential", QueryFilters())
    (index,) = (tmp_path / "cache").rglob("*.parquet")
    spoil(index)
    assert ask(FleetStore(store.backend), "potential", QueryFilters()) == before
    assert ask_sql(FleetStore(store.backend), "select count(*) from kernels", 0).rows == ((2,),)
    assert before.warnings == ()


def test_an_object_store_answers_the_same(store: FleetStore, add: Add) -> None:
    names = [add("2026-11-01"), add("2026-11-02", 1.3)]
    other = FleetStore.at("memory://fleet-query/store")
    for name in names:
        other.backend.write(name, store.backend.read(name))
    here, there = (ask(each, "regressions", QueryFilters()) for each in (store, other))
    assert here.rows == there.rows
    assert len(there.rows) == 1
    assert ask_sql(other, "select count(*) from launches", 0).rows == ((2,),)


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_follow_their_schema(store: FleetStore, add: Add, question: str) -> None:
    add("2026-11-01")
    add("2026-11-02", 1.3)
    found = json.loads(write(ask(store, question, QueryFilters())))
    jsonschema.validate(found, json.loads(schema("fleet_query")))
    held = json.loads(write(describe_store(store)))
    jsonschema.validate(held, json.loads(schema("fleet_status")))
    assert held["holdings"]["rows"][0][:3] == ["NVIDIA H200", "2026-11", 2]


def test_what_cannot_be_asked(store: FleetStore, add: Add) -> None:
    with pytest.raises(InputError, match="no measurement"):
        ask(store, "potential", QueryFilters())
    add("2026-11-01")
    with pytest.raises(UsageError, match="no question"):
        ask(FleetStore(store.backend), "everything", QueryFilters())
    with pytest.raises(UsageError, match="is not a date"):
        ask(FleetStore(store.backend), "potential", QueryFilters(since="yesterday"))


def test_a_day_can_be_written_in_each_way_of_iso_8601(store: FleetStore, add: Add) -> None:
    add("2026-11-01")
    add("2026-11-20", 1.5)
    for question in ("regressions", "potential"):
        found = [
            ask(store, question, QueryFilters(since=day)).rows
            for day in ("2026-11-16", "20261116", "2026-W47-1")
        ]
        assert found[0] == found[1] == found[2]
        assert len(found[0]) == 1
    assert ask(store, "potential", QueryFilters(since="2026-W48-1")).rows == ()


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("[", "not a regular expression"),
        ("(?=x)", "DuckDB does not"),
        (r"(a)\1", "DuckDB does not"),
    ],
)
def test_an_expression_that_cannot_be_used_is_said(store, add, kernel, said) -> None:
    add("2026-11-01")
    with pytest.raises(UsageError, match=said):
        ask(store, "potential", QueryFilters(kernel=kernel))


@pytest.mark.parametrize("option", ["kernel", "gpu", "since"])
def test_sql_takes_no_other_condition(store: FleetStore, add: Add, option: str) -> None:
    add("2026-11-01")
    with pytest.raises(UsageError, match=f"--sql cannot be combined with --{option}"):
        query(store.backend.path(""), sql="select 1", **{option: "2026-11-01"})
