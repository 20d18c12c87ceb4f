"""A client reads below the folders that the server was started with, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelprof.errors import InputError, UsageError
from kernelprof.resources import data_folder
from kernelprof.server.folders import Folders


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``inside`` is given, ``outside`` is not; links lead from one into the other."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for each in (inside / "sub", outside, tmp_path / "inside-too"):
        each.mkdir(parents=True)
    (inside / "a.csv").write_text("a", encoding="utf-8")
    (inside / "sub" / "b.csv").write_text("b", encoding="utf-8")
    (outside / "secret.csv").write_text("secret", encoding="utf-8")
    (tmp_path / "inside-too" / "c.csv").write_text("c", encoding="utf-8")
    (inside / "link.csv").symlink_to(outside / "secret.csv")
    (inside / "folder").symlink_to(outside)
    (inside / "fine.csv").symlink_to(inside / "sub" / "b.csv")
    (inside / "loop").symlink_to(inside / "loop")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_lies_inside_is_found_by_any_name(places: Path) -> None:
    folders = Folders([Path("inside")])
    b = places / "inside" / "sub" / "b.csv"
    for name in ("sub/b.csv", "sub/../sub/b.csv", "fine.csv", str(b), "./sub//b.csv"):
        assert folders.find(name) == Path("inside/sub/b.csv")
    assert folders.find(".") == Path("inside")


@pytest.mark.parametrize(
    "name",
    [
        "../outside/secret.csv",
        "sub/../../outside/secret.csv",
        "link.csv",
        "folder/secret.csv",
        "/etc/passwd",
        "../inside-too/c.csv",
        "..",
        "/",
        "",
        "a\0.csv",
        "-",
        "~/x.csv",
        "cuda/../../pyproject.toml",
        "recorded/../../__init__.py",
        "\ud800.csv",
    ],
)
def test_nothing_else_is(places: Path, name: str) -> None:
    folders = Folders([places / "inside"])
    with pytest.raises(InputError) as caught:
        folders.find(name)
    missing = {"-", "~/x.csv"}  # names like others, of files that are not there
    what = (
        "there is no such file or folder"
        if name in missing
        else "outside the folders that the server may read"
    )
    assert what in caught.value.what


def test_a_file_outside_is_refused_alike_whether_it_is_there_or_not(places: Path) -> None:
    folders = Folders([places / "inside"])
    told = []
    for name in ("../outside/secret.csv", "../outside/no-such.csv"):
        with pytest.raises(InputError) as caught:
            folders.find(name)
        told.append((caught.value.what, caught.value.hint))
    assert told[0] == told[1]


@pytest.mark.parametrize("name", ["a" * 256, "b/" * 3_000, f"cuda/{'c' * 256}"])
def test_a_name_that_is_too_long_for_a_file_is_that_of_none(places: Path, name: str) -> None:
    with pytest.raises(InputError, match="there is no such file or folder"):
        Folders([places / "inside"]).find(name)


@pytest.mark.usefixtures("places")
def test_a_link_to_itself_is_no_file() -> None:
    with pytest.raises(InputError):
        Folders([Path("inside")]).find("loop")


def test_the_kernels_that_ship_with_the_package_can_be_named(places: Path) -> None:
    folders = Folders([places / "inside"])
    found = folders.find("cuda/ladder/01_naive.cu")
    assert found.resolve() == (data_folder("cuda") / "ladder" / "01_naive.cu").resolve()
    assert folders.find("recorded/h200/01_naive").is_dir()


def test_without_folders_it_is_the_current_one(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(places / "inside")
    assert Folders([]).find("a.csv") == Path("a.csv")
    with pytest.raises(InputError):
        Folders([]).find("../outside/secret.csv")
    with pytest.raises(UsageError, match="no such folder"):
        Folders([Path("a.csv")])
