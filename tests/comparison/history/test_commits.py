"""The committed versions of a baseline, as git has them."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from tests.comparison.gate.planted import CHANGES, taken
from tests.comparison.history.conftest import GIT, REASON, git
from tests.launch.conftest import stand_in

from kernelprof.comparison.gate.baseline import make_baseline, to_text
from kernelprof.comparison.history.moments import read_commits
from kernelprof.errors import ExitCode, InputError, MissingToolError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.comparison.history.conftest import RunHistory

FILE = "perf/base line.json"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in GIT.items():
        monkeypatch.setenv(name, value)


def test_all_versions_are_read_and_renames_followed(repository: Path) -> None:
    found = read_commits(repository / FILE, None)
    assert [(each.date, each.commit and each.commit.subject) for each in found.moments] == [
        ("2026-09-01T08:00:00Z", "Add the warp tile"),
        ("2026-09-05T10:00:00Z", "Measure again"),
        ("2026-09-07T10:00:00Z", "Move the baseline"),
        ("2026-09-20T10:00:00Z", "Keep more in registers"),
        ("2026-10-02T10:00:00Z", "=Spill <b>less</b> | @all"),
    ]
    paths = [each.origin.partition(":")[2] for each in found.moments]
    assert paths == ["baseline.json", "baseline.json", FILE, FILE, FILE]
    log = git(repository, "log", "--format=%H").split()
    shas = [each.commit.sha for each in found.moments if each.commit is not None]
    # Without the commits that broke and removed it.
    assert shas == [*reversed(log[3:]), log[0]]
    ((name, why),) = found.unread
    assert name == f"{log[2][:7]}:{FILE}"
    assert "it is not JSON" in why
    assert found.notes == ()
    assert [each.reason for each in found.moments[-1].accepted] == [REASON]


def test_only_the_newest_are_read(repository: Path) -> None:
    found = read_commits(repository / FILE, 1)
    assert [each.commit and each.commit.subject for each in found.moments] == [
        "=Spill <b>less</b> | @all"
    ]
    assert found.notes == ("only the newest commit is read; a larger --limit reads more",)
    assert "newest 3 commits" in read_commits(repository / FILE, 3).notes[0]


def test_versions_that_would_fill_the_memory_are_not_read(repository: Path, monkeypatch) -> None:
    monkeypatch.setattr("kernelprof.comparison.history.moments.MOST_BYTES", 20_000)
    with pytest.raises(
        InputError, match="all versions of the file together exceed 20,000 bytes"
    ) as caught:
        read_commits(repository / FILE, None)
    assert caught.value.hint == "read fewer versions with a smaller --limit"
    assert len(read_commits(repository / FILE, 1).moments) == 1


def test_a_shallow_clone_says_so(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "1", repository.as_uri(), str(clone))
    found = read_commits(clone / FILE, 200)
    assert len(found.moments) == 1
    assert found.notes == (
        "the clone is shallow: run 'git fetch --unshallow' to get older commits",
    )


def test_both_sides_of_a_merge_are_read(tmp_path: Path) -> None:
    file = tmp_path / "b.json"

    def write(label: str, date: str, subject: str) -> None:
        file.write_text(to_text(make_baseline(taken(label, "1"), "2026-09-01T00:00:00Z")), "utf-8")
        git(tmp_path, "add", "--all")
        git(tmp_path, "commit", "--message", subject, date=date)

    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    write("tile", "2026-09-01T00:00:00Z", "first")
    git(tmp_path, "checkout", "--quiet", "-b", "other")
    write("tile-rolled", "2026-09-02T00:00:00Z", "theirs")
    git(tmp_path, "checkout", "--quiet", "main")
    write("tile-barrier", "2026-09-03T00:00:00Z", "ours")
    git(tmp_path, "merge", "--quiet", "--no-commit", "-s", "ours", "other")
    git(tmp_path, "commit", "--message", "merged", date="2026-09-04T00:00:00Z")
    write("coalesced", "2026-09-05T00:00:00Z", "last")
    found = read_commits(file, None)
    subjects = [each.commit.subject for each in found.moments if each.commit is not None]
    assert subjects == ["first", "theirs", "ours", "last"]
    assert found.moments[-1].kernels[0].name == "sgemm_coalesced"


def test_where_there_is_no_history_it_says_why(tmp_path: Path, repository: Path) -> None:
    file = tmp_path / "baseline.json"
    with pytest.raises(InputError, match="not in a readable git repository"):
        read_commits(file, None)
    with pytest.raises(InputError, match="no such folder"):
        read_commits(tmp_path / "no" / "b.json", None)
    git(tmp_path, "init", "--quiet")
    with pytest.raises(InputError, match="no committed version"):
        read_commits(file, None)
    with pytest.raises(InputError, match="no committed version"):
        read_commits(repository / "*.json", None)


def test_without_git_it_says_so(repository, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="git is not installed here") as caught:
        read_commits(repository / FILE, None)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT


def test_a_git_that_lies_in_the_repository_is_not_run(repository, tmp_path, monkeypatch) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", repository.as_uri(), str(clone))
    stand_in((clone / FILE).with_name("git"), f"touch {tmp_path}/ran", "exit 1")
    monkeypatch.chdir(clone)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    assert read_commits(clone / FILE, 1).moments
    assert not (tmp_path / "ran").exists()


def test_the_command_shows_the_commits(run_history: RunHistory, repository: Path) -> None:
    done = run_history(FILE, "--git", cwd=repository)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("kernelprof: warning: ")
    assert done.stderr.count("\n") == 1
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[:2] == [
        "History of perf/base line.json",
        "5 commits, 1 kernel, 2026-09-01 to 2026-10-02 (UTC).",
    ]
    table = "\n".join(line.rstrip() for line in lines[4:])
    short = [line.split()[1] for line in lines if line.startswith("2026-")]
    assert len(short) == 4
    assert table == (
        "4 rows on NVIDIA H200: 399.2 µs to 400.2 µs; slower once, faster once, verdict\n"
        "changed 2 times, counters changed 2 times.\n"
        "\n"
        "date       commit      time change verdict         counters subject\n"
        f"2026-09-01 {short[0]} 399.2 µs        fp32-throughput          Add the warp tile\n"
        f"2026-09-05 {short[1]} 399.2 µs ~      fp32-throughput          Measure again\n"
        f"2026-09-20 {short[2]} 511.0 µs ▲ 28 % low-occupancy          5 Keep more …registers\n"
        f"2026-10-02 {short[3]} 400.2 µs ▼ 28 % fp32-throughput        5 =Spill <b>…b> | @all\n"
        "\n"
        "- 2026-09-20: accepted by Grace: numerics need more registers\n"
        "\n"
        "▲ slower, ▼ faster than the row before, ~ within the noise"
    )


def test_configuration_of_git_changes_nothing(run_history, repository, tmp_path) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[log]\nshowSignature = true\ndate = relative\n[color]\nui = always\n"
        "[core]\nquotePath = true\npager = false\n[diff]\nrenames = false\nnoprefix = true\n",
        "utf-8",
    )
    plain = run_history(FILE, "--git", "--format", "json", cwd=repository)
    other = run_history(
        FILE, "--git", "--format", "json", cwd=repository, GIT_CONFIG_GLOBAL=str(settings)
    )
    assert other.returncode == 0, other.stderr
    assert json.loads(other.stdout) == json.loads(plain.stdout)


def test_mistakes_end_with_2_or_4(run_history, repository, tmp_path) -> None:
    (tmp_path / "b.json").write_text("{}", "utf-8")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--message", "no baseline")
    only_python = tmp_path / "bin"
    only_python.mkdir()
    mistakes = (
        ((str(repository), "--git"), 2, "this is a folder"),
        ((str(CHANGES / "tile" / "1" / "manifest.json"), "--git", "--limit", "-1"), 2, "limit"),
        ((str(tmp_path / "b.json"), "--git"), 2, "none of the 1 committed versions"),
        ((str(tmp_path / "c.json"), "--git"), 2, "no committed version"),
    )
    for arguments, code, says in mistakes:
        done = run_history(*arguments)
        assert done.returncode == code, arguments
        assert says in done.stderr, arguments
        assert "Traceback" not in done.stderr
    done = run_history(str(repository / FILE), "--git", PATH=str(only_python))
    assert done.returncode == 4
    assert "git is not installed here" in done.stderr
    assert shutil.which("git") is not None
