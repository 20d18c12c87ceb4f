"""The cache by content reads what this user alone can write, and fails for nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kernelprof import content_cache
from kernelprof.content_cache import ContentCache, code_version

if TYPE_CHECKING:
    from pathlib import Path

CACHE = ContentCache("of-a-test")
VALUE = {"numbers": [1, 2.5, None], "text": "é"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "kernelprof" / "of-a-test"


def test_what_was_written_is_read(folder: Path) -> None:
    assert CACHE.read("a") is None
    CACHE.write("a", VALUE)
    assert CACHE.read("a") == VALUE
    assert CACHE.read("b") is None
    assert [each.name for each in folder.iterdir()] == ["a"]
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", [b"", b"no line", b"0" * 64 + b"\n{}", b"\xff\n{}"])
def test_a_damaged_entry_is_not_read(folder: Path, damage: bytes) -> None:
    CACHE.write("a", VALUE)
    (folder / "a").write_bytes(damage)
    assert CACHE.read("a") is None
    CACHE.write("a", VALUE)
    assert CACHE.read("a") == VALUE


def test_an_entry_that_others_can_write_is_not_read(folder: Path) -> None:
    CACHE.write("a", VALUE)
    (folder / "a").chmod(0o666)
    assert CACHE.read("a") is None


def test_nothing_is_read_from_or_written_to_a_folder_of_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CACHE.write("a", VALUE)
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    assert CACHE.read("a") is None
    CACHE.write("b", VALUE)
    assert [each.name for each in folder.iterdir()] == ["a"]


def test_links_and_pipes_are_not_followed(folder: Path) -> None:
    CACHE.write("a", VALUE)
    (folder / "link").symlink_to(folder / "a")
    os.mkfifo(folder / "pipe", 0o600)
    assert CACHE.read("link") is None
    assert CACHE.read("pipe") is None


def test_the_oldest_are_dropped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in enumerate("abc"):
        CACHE.write(name, VALUE)
        os.utime(folder / name, (number, number))
    size = (folder / "a").stat().st_size
    monkeypatch.setattr(content_cache, "_LARGEST_FOLDER", 2 * size)
    CACHE.write("d", VALUE)
    assert sorted(each.name for each in folder.iterdir()) == ["c", "d"]


def test_a_value_that_is_too_large_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_cache, "_LARGEST_ENTRY", 10)
    CACHE.write("a", VALUE)
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    CACHE.write("a", VALUE)
    assert CACHE.read("a") is None


def test_the_version_covers_the_simulator() -> None:
    version, digest = code_version().split(" ")
    assert version
    assert len(digest) == 64
