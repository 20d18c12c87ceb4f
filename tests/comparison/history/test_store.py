"""The store: what was kept is found again, and nothing ever fails for want of it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from tests.comparison.gate.planted import taken

import kernelprof
from kernelprof.comparison.history import store as module
from kernelprof.comparison.history.rows import time_changed
from kernelprof.comparison.history.store import SCHEMA_VERSION, Store, maker
from kernelprof.comparison.times import time_change
from kernelprof.model.comparison import TimeChange, TimeOutcome

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "new" / "store.sqlite3"


def kept(place: Path | None) -> str | None:
    """Keep something and look for it in a new store."""
    with Store(place) as store:
        store.keep_moment("a", "state", "body")
    with Store(place) as store:
        return store.moment("a", "state")


def test_what_was_kept_is_found_again(place: Path) -> None:
    assert kept(place) == "body"
    with Store(place) as store:
        assert store.moment("a", "other state") is None
        assert store.moment("b", "state") is None


def test_without_a_place_nothing_stays(tmp_path: Path) -> None:
    assert kept(None) is None
    assert list(tmp_path.iterdir()) == []


def test_another_version_or_other_rules_judge_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept(place) == "body"
    monkeypatch.setattr(module, "maker", lambda: "0.0.1 of somebody")
    with Store(place) as store:
        assert store.moment("a", "state") is None
        assert store.key("x") != key_of_today()


def key_of_today() -> str:
    store = Store(None)
    store._maker = maker()
    return store.key("x")


def test_who_judges_is_told_by_version_and_rules() -> None:
    version, digest = maker().split(" ")
    assert version == kernelprof.__version__
    assert len(digest) == 64


@pytest.mark.parametrize(
    "content", [b"", b"no database", b"SQLite format 3\x00" + bytes(84), b"\xff" * 5000]
)
def test_a_broken_file_is_made_again(place: Path, content: bytes) -> None:
    place.parent.mkdir()
    place.write_bytes(content)
    assert kept(place) == "body"


def test_a_file_that_breaks_inside_is_made_again(place: Path) -> None:
    with Store(place) as store:
        for number in range(500):
            store.keep_moment(f"path {number}", "state", "x" * 500)
    data = bytearray(place.read_bytes())
    data[8192:-4096] = b"\xff" * (len(data) - 12288)
    place.write_bytes(data)
    with Store(place) as store:
        assert {store.moment(f"path {number}", "state") for number in range(500)} <= {
            None,
            "x" * 500,
        }
        store.keep_moment("path 1", "state", "new")
    with Store(place) as store:
        assert store.moment("path 1", "state") == "new"


@pytest.mark.parametrize(
    "statement",
    [f"PRAGMA user_version = {SCHEMA_VERSION + 1}", "DROP TABLE change", "DROP TABLE moment"],
)
def test_another_schema_is_made_again(place: Path, statement: str) -> None:
    assert kept(place) == "body"
    connection = sqlite3.connect(place)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with Store(place) as store:
        assert store.moment("a", "state") is None
    assert kept(place) == "body"


def test_a_place_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    assert kept(tmp_path / "file" / "store.sqlite3") is None
    (tmp_path / "folder").mkdir()
    assert kept(tmp_path / "folder") is None
    assert (tmp_path / "folder").is_dir()


def test_a_lock_that_stays_costs_only_what_is_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept(place) == "body"
    monkeypatch.setattr(module, "WAIT_S", 0.01)
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with Store(place) as store:  # it cannot even be read
        assert store.moment("a", "state") is None
        store.keep_moment("b", "state", "lost")
    other.execute("COMMIT")
    other.close()
    with Store(place) as store:
        assert store.moment("a", "state") == "body"
        assert store.moment("b", "state") is None


def test_a_lock_that_comes_later_is_waited_for_once(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept(place) == "body"
    monkeypatch.setattr(module, "WAIT_S", 0.01)
    other = sqlite3.connect(place, isolation_level=None)
    with Store(place) as reader, Store(place) as writer:
        other.execute("BEGIN IMMEDIATE")
        writer.keep_moment("b", "state", "lost")
        writer.flush()
        # What was kept can be read all the same, and nothing more is written.
        assert writer.moment("a", "state") == "body"
        other.execute("COMMIT")
        writer.keep_moment("c", "state", "lost as well")
        writer.flush()
        assert writer.moment("c", "state") is None
        other.execute("BEGIN EXCLUSIVE")
        assert reader.moment("a", "state") is None
        other.execute("COMMIT")
        assert reader.moment("a", "state") is None
    other.close()
    with Store(place) as store:
        assert store.moment("a", "state") == "body"


def test_several_runs_write_at_once(place: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from kernelprof.comparison.history.store import Store\n"
        "with Store(Path(sys.argv[1])) as store:\n"
        "    for n in range(200): store.keep_moment(f'{sys.argv[2]} {n}', 's', 'body')\n"
    )

    def run(name: str) -> int:
        return subprocess.run(
            [sys.executable, "-c", code, str(place), name], check=False, timeout=60
        ).returncode

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, "abcd")) == [0, 0, 0, 0]
    with Store(place) as store:
        assert all(store.moment(f"{name} {n}", "s") for name in "abcd" for n in range(200))


def test_what_is_gone_is_forgotten(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CHANGES", 3)
    odd = "not unicode \udcff"
    with Store(place) as store:
        for path in ("a", "b", odd):
            store.keep_moment(path, "s", "body")
        for number in range(5):
            store.keep_change(f"key {number}", "body")
        store.flush()
        store.forget({"a", odd})
        assert [store.moment(path, "s") for path in ("a", "b", odd)] == ["body", None, "body"]
        found = [store.change(f"key {number}") for number in range(5)]
        assert found == [None, None, "body", "body", "body"]


def test_a_change_is_worked_out_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = taken("four-blocks", "1").kernels[0], taken("three-blocks", "1").kernels[0]
    expected = time_change(before, after, None)
    assert expected.outcome is TimeOutcome.SLOWER
    with Store(place) as store:
        assert time_changed(before, after, None, store) == expected

    def refuse(*_: object) -> TimeChange:
        raise AssertionError

    monkeypatch.setattr("kernelprof.comparison.history.rows.time_change", refuse)
    with Store(place) as store:
        assert time_changed(before, after, None, store) == expected
        apart = time_changed(before, after, "another GPU", store)
        assert (apart.outcome, apart.reason) == (TimeOutcome.NOT_COMPARABLE, "another GPU")
        with pytest.raises(AssertionError):
            time_changed(after, before, None, store)


def test_a_change_that_cannot_be_read_is_worked_out_again() -> None:
    before, after = taken("four-blocks", "1").kernels[0], taken("four-blocks", "2").kernels[0]
    with Store(None) as store:
        expected = time_changed(before, after, None, store)
        store.flush()
        store._connection.execute("UPDATE change SET body = '{}'")
        assert time_changed(before, after, None, store) == expected
