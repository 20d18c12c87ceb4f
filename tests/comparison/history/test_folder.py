"""What a folder holds: captures, baselines, what is none of them, and what is damaged."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from tests.comparison.gate.planted import CHANGES, taken
from tests.comparison.history.conftest import fill

from kernelprof.comparison.gate.baseline import make_baseline, to_text
from kernelprof.comparison.history import moments as module
from kernelprof.comparison.history.moments import DEPTH, find_moments, read_folder, to_utc
from kernelprof.comparison.history.store import HistoryCache, cache_path, hash_state

if TYPE_CHECKING:
    from pathlib import Path

CAPTURE = CHANGES / "naive" / "1"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A capture, a baseline, and all that is neither."""
    shutil.copytree(CAPTURE, tmp_path / "a" / "one")
    baseline = to_text(make_baseline(taken("tile", "1"), "2026-11-21T12:00:00Z"))
    (tmp_path / "base.json").write_text(baseline, "utf-8")
    (tmp_path / "diagnosis.json").write_text('{"tool": {"name": "kernelprof"}}', "utf-8")
    (tmp_path / "package.json").write_text('{"name": "other"}', "utf-8")
    (tmp_path / "raw.csv").write_text("", "utf-8")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "manifest.json").write_text('{"start_url": "/"}', "utf-8")
    (tmp_path / "app" / "more.ncu-rep").write_bytes(b"")
    shutil.copytree(CAPTURE, tmp_path / ".one.12.tmp")
    (tmp_path / "link").symlink_to(CAPTURE, target_is_directory=True)
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    return tmp_path


def test_captures_and_baselines_are_found_and_nothing_else(mixed: Path) -> None:
    found = find_moments(mixed)
    assert found.captures == [mixed / "a" / "one"]
    assert found.baselines == [mixed / "base.json"]
    assert [path.name for path in found.exports] == ["raw.csv", "more.ncu-rep"]
    assert [path.name for path in found.undated] == ["diagnosis.json"]
    assert found.unread == []


def test_only_folders_near_enough_are_looked_into(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*("d" * DEPTH))
    shutil.copytree(CAPTURE, deep)
    assert find_moments(tmp_path).captures == [deep]
    deeper = tmp_path.joinpath(*("e" * (DEPTH + 1)))
    shutil.copytree(CAPTURE, deeper)
    assert find_moments(tmp_path).captures == [deep]


def test_moments_come_in_the_order_of_their_dates(mixed: Path) -> None:
    with HistoryCache(None) as store:
        moments = read_folder(mixed, store).moments
    assert [(each.date, each.origin, each.kind) for each in moments] == [
        ("2026-11-21T15:55:51Z", "a/one", "capture"),
        ("2026-11-21T15:56:05Z", "base.json", "baseline"),
    ]
    assert moments[0].machine.gpu == "NVIDIA H200"
    assert moments[0].kernels[0].verdict.bottleneck == "uncoalesced-global-access"


@pytest.mark.slow("reads a report of 24 kernels")
def test_exports_have_the_date_of_their_file(tmp_path: Path, captures: Path) -> None:
    """An export, a text page and a report in a folder below; what is none of these is counted."""
    exports = ("gemm_series.eight-metrics.raw.csv", "ncu_behaviour/stdout-no-csv.txt")
    for days, name in enumerate(exports):
        file = tmp_path / "runs" / str(days) / name.rpartition("/")[2]
        file.parent.mkdir(parents=True)
        shutil.copy(captures / name, file)
        os.utime(file, (1_700_000_000 - 86_400 * days,) * 2)
    (tmp_path / "README.md").write_text("Section: nothing measured\n", "utf-8")
    (tmp_path / "kernel.cu").write_text("", "utf-8")
    with HistoryCache(None) as store:
        looked = read_folder(tmp_path, store)
    assert [(each.date, each.origin, len(each.kernels)) for each in looked.moments] == [
        ("2023-11-13T22:13:20Z", "runs/1/stdout-no-csv.txt", 3),
        ("2023-11-14T22:13:20Z", "runs/0/gemm_series.eight-metrics.raw.csv", 24),
    ]
    assert [each.machine.gpu for each in looked.moments] == [None, "NVIDIA H200"]
    assert looked.notes == ("2 exports without a date; using the file's modification date",)
    assert looked.remark == "1 file skipped (neither capture nor baseline): README.md"


def test_what_is_known_is_not_diagnosed_again(tmp_path, monkeypatch) -> None:
    folder, place = fill(tmp_path / "c", ("naive/1", "naive/2")), tmp_path / "cache" / "s.json"
    with HistoryCache(place) as store:
        first = read_folder(folder, store).moments
    read: list[str] = []
    real = module.make_capture_moment

    def counted(path: Path, origin: str):
        read.append(origin)
        return real(path, origin)

    monkeypatch.setattr(module, "make_capture_moment", counted)
    with HistoryCache(place) as store:
        assert read_folder(folder, store).moments == first
    assert read == []
    manifest = folder / "naive" / "2" / "manifest.json"
    changed = json.loads(manifest.read_text("utf-8")) | {"created": "2026-11-23T01:00:00+01:00"}
    manifest.write_text(json.dumps(changed), "utf-8")
    with HistoryCache(place) as store:
        assert read_folder(folder, store).moments[-1].date == "2026-11-23T00:00:00Z"
    assert read == ["naive/2"]
    with HistoryCache(None) as store:
        read_folder(folder, store)
    assert read == ["naive/2", "naive/1", "naive/2"]


def test_a_capture_that_is_damaged_later_is_noticed(tmp_path: Path) -> None:
    folder, place = fill(tmp_path / "c", ("naive/1",)), tmp_path / "s.json"
    with HistoryCache(place) as store:
        assert len(read_folder(folder, store).moments) == 1
    (folder / "naive" / "1" / "raw.csv.gz").write_bytes(b"gone")
    with HistoryCache(place) as store:
        looked = read_folder(folder, store)
    assert looked.moments == ()
    ((name, why),) = looked.unread
    assert name == "naive/1"
    assert "does not match its hash in the manifest" in why


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("c/manifest.json", "", "it is not JSON"),
        ("c/manifest.json", '{"schema_version": "9"}', "schema version '9'"),
        ("c/manifest.json", "[" * 100_000, "recursion"),
        ("b.json", '{"kind": "kernelprof-baseline"', "it is not JSON"),
        ("b.json", '{"kind": "kernelprof-baseline", "schema_version": "7"}', "version '7'"),
        ("b.json", '{"kind": "kernelprof-baseline", "schema_version": "1"}', "is missing"),
        ("b.json", '"kernelprof-baseline" \udcff', "utf-8"),
    ],
)
def test_damage_is_told_and_never_raised(tmp_path: Path, file: str, content: str, why: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    (tmp_path / "c").mkdir(exist_ok=True)
    if file.startswith("c/"):
        (tmp_path / "c" / "raw.csv.gz").write_bytes(b"")
    with HistoryCache(None) as store:
        looked = read_folder(tmp_path, store)
    assert looked.moments == ()
    ((name, told),) = looked.unread
    assert name == file.removesuffix("/manifest.json")
    assert why in told


def test_a_date_that_is_none_is_damage(tmp_path: Path) -> None:
    folder = fill(tmp_path, ("naive/1",))
    manifest = folder / "naive" / "1" / "manifest.json"
    changed = json.loads(manifest.read_text("utf-8")) | {"created": "yesterday"}
    manifest.write_text(json.dumps(changed), "utf-8")
    with HistoryCache(None) as store:
        looked = read_folder(folder, store)
    assert looked.moments == ()
    assert looked.unread == (("naive/1", "'yesterday' is not a date"),)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2026-11-21", "2026-11-21T00:00:00Z"),
        ("2026-11-21T15:56:05Z", "2026-11-21T15:56:05Z"),
        ("2026-11-21T01:00:00+02:00", "2026-11-20T23:00:00Z"),
        ("0999-01-01T00:00:00.25", "0999-01-01T00:00:00Z"),
    ],
)
def test_dates_are_utc(text: str, date: str) -> None:
    assert to_utc(text) == date


def test_a_folder_s_file_is_found_again_by_any_name(tmp_path, monkeypatch) -> None:
    (tmp_path / "captures").mkdir()
    (tmp_path / "link").symlink_to("captures")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = cache_path(tmp_path / "captures")
    assert place.parent == tmp_path / "cache" / "kernelprof" / "history"
    assert cache_path(tmp_path / "link") == place
    assert cache_path(tmp_path) != place


def test_a_state_is_of_content_and_time(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text("{}", "utf-8")
    first = hash_state(file)
    assert hash_state(file) == first
    file.write_text("[]", "utf-8")
    assert hash_state(file) != first
