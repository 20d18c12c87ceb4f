"""The store: what was kept is found again, and nothing ever fails for want of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.comparison.gate.planted import taken

import kernelprof
from kernelprof.comparison.history import store as module
from kernelprof.comparison.history.rows import cached_time_change
from kernelprof.comparison.history.store import HistoryCache, code_version
from kernelprof.comparison.times import time_change
from kernelprof.model.comparison import TimeChange, TimeOutcome
from kernelprof.model.snapshot import Noise

if TYPE_CHECKING:
    from pathlib import Path

KEPT, NEW = Noise(0.0, 1, "kept"), Noise(0.0, 1, "new")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "new" / "store.json"


def look(store: HistoryCache, key: str = "a", state: str = "state") -> bool:
    """Whether something was kept; it is kept now otherwise, as new."""
    return store.get_or_make(Noise, key, state, lambda: NEW) == KEPT


def kept(place: Path | None) -> bool:
    """Keep something and look for it in a new store."""
    with HistoryCache(place) as store:
        assert store.get_or_make(Noise, "a", "state", lambda: KEPT) == KEPT
    with HistoryCache(place) as store:
        return look(store)


def test_what_was_kept_is_found_again(place: Path) -> None:
    assert kept(place)
    with HistoryCache(place) as store:
        assert not look(store, state="other state")
        assert not look(store, key="b")


def test_without_a_place_nothing_stays(tmp_path: Path) -> None:
    assert not kept(None)
    assert list(tmp_path.iterdir()) == []


def test_another_version_or_other_rules_judge_again(place, monkeypatch) -> None:
    assert kept(place)
    monkeypatch.setattr(module, "code_version", lambda: "0.0.1 of somebody")
    with HistoryCache(place) as store:
        assert not look(store)


def test_who_judges_is_told_by_version_and_rules() -> None:
    version, digest = code_version().split(" ")
    assert version == kernelprof.__version__
    assert len(digest) == 64


@pytest.mark.parametrize("content", [b"", b"nonsense", b"[]", b'{"maker": 1}', b"\xff" * 5000])
def test_a_broken_file_is_made_again(place: Path, content: bytes) -> None:
    place.parent.mkdir()
    place.write_bytes(content)
    assert kept(place)


@pytest.mark.parametrize("entry", [None, [], ["state"], ["state", {}], ["state", {"kind": 1}]])
def test_a_record_that_cannot_be_read_is_made_again(place: Path, entry: object) -> None:
    place.parent.mkdir()
    values = {"maker": code_version(), "kinds": {"Noise": {"a": entry}}}
    place.write_text(json.dumps(values), "utf-8")
    with HistoryCache(place) as store:
        assert not look(store)


def test_a_place_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    assert not kept(tmp_path / "file" / "store.json")
    (tmp_path / "folder").mkdir()
    assert not kept(tmp_path / "folder")
    assert (tmp_path / "folder").is_dir()


def test_an_interrupted_run_keeps_what_it_found(place: Path) -> None:
    def keep() -> Noise:
        return KEPT

    def stop() -> Noise:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), HistoryCache(place) as store:
        [store.get_or_make(Noise, key, "s", make) for key, make in (("a", keep), ("b", stop))]
    with HistoryCache(place) as store:
        assert look(store, state="s")


def test_of_two_runs_the_later_one_stays(place: Path) -> None:
    with HistoryCache(place) as one:
        with HistoryCache(place) as other:
            other.get_or_make(Noise, "b", "state", lambda: KEPT)
        one.get_or_make(Noise, "a", "state", lambda: KEPT)
    with HistoryCache(place) as store:
        assert look(store, "a")
        assert not look(store, "b")
    assert [each.name for each in place.parent.iterdir()] == [place.name]


def test_what_is_gone_is_forgotten(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = "not unicode \udcff"
    with HistoryCache(place) as store:
        for key in ("a", "b", odd):
            store.get_or_make(Noise, key, "state", lambda: KEPT)
        store.forget(Noise, {"a", odd})
    with HistoryCache(place) as store:
        assert [look(store, key) for key in ("a", "b", odd)] == [True, False, True]
    monkeypatch.setattr(module, "MOST", 2)
    with HistoryCache(place) as store:
        store.get_or_make(Noise, "c", "state", lambda: KEPT)
    with HistoryCache(place) as store:
        assert [look(store, key) for key in ("a", odd, "c")] == [False, False, True]


def test_a_change_is_worked_out_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = taken("four-blocks", "1").kernels[0], taken("three-blocks", "1").kernels[0]
    expected = time_change(before, after, None)
    assert expected.outcome is TimeOutcome.SLOWER
    with HistoryCache(place) as store:
        assert cached_time_change(before, after, None, store) == expected

    def refuse(*_: object) -> TimeChange:
        raise AssertionError

    monkeypatch.setattr("kernelprof.comparison.history.rows.time_change", refuse)
    with HistoryCache(place) as store:
        assert cached_time_change(before, after, None, store) == expected
        apart = cached_time_change(before, after, "another GPU", store)
        assert (apart.outcome, apart.reason) == (TimeOutcome.NOT_COMPARABLE, "another GPU")
        with pytest.raises(AssertionError):
            cached_time_change(after, before, None, store)
