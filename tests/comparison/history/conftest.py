"""A folder of captures, a repository with a baseline, and the command with a cache of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.comparison.gate.planted import CHANGES
from tests.support.captures import copy_capture

from kernelprof.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunCli

GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}
CHOSEN = ("four-blocks/1", "four-blocks/2", "three-blocks/2", "naive/1", "naive/2")
REASON = "numerics need more registers"

RunHistory = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def run_history(run_cli: RunCli, cache: Path) -> RunHistory:
    """``kernelprof history``, which keeps what it found in a cache that the tests share."""

    def run(*arguments: str, cwd: Path | None = None, **environment: str):
        given = {"XDG_CACHE_HOME": str(cache), **GIT, **environment}
        return run_cli("history", *arguments, cwd=cwd, **given)

    return run


def fill(folder: Path, chosen: tuple[str, ...] = CHOSEN) -> Path:
    """Put captures into a folder."""
    for name in chosen:
        copy_capture(CHANGES / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("captures"))


def git(repository: Path, *arguments: str, date: str = "2026-09-01T10:00:00Z") -> str:
    """Run ``git``; commits have a fixed date."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=repository,
        env={**os.environ, **GIT, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline with a history: measured again, moved, made worse with consent, made better."""
    if shutil.which("git") is None:
        pytest.skip("git")
    place = tmp_path_factory.mktemp("repository")
    first, moved = place / "baseline.json", place / "perf" / "base line.json"

    def baseline(verb: str, *arguments: str) -> None:
        assert main(["baseline", verb, *arguments]) == 0

    def commit(subject: str, date: str) -> None:
        git(place, "add", "--all")
        git(place, "commit", "--message", subject, date=date)

    git(place, "init", "--quiet")
    baseline("save", str(CHANGES / "four-blocks" / "1"), "-o", str(first))
    commit("Add the warp tile", "2026-09-01T10:00:00+02:00")
    baseline("update", str(first), str(CHANGES / "four-blocks" / "2"))
    commit("Measure again", "2026-09-05T10:00:00Z")
    moved.parent.mkdir()
    git(place, "mv", first.name, "perf/base line.json")
    commit("Move the baseline", "2026-09-07T10:00:00Z")
    accept = ("--reason", REASON, "--by", "Grace")
    baseline("accept", str(moved), str(CHANGES / "three-blocks" / "1"), *accept)
    commit("Keep more in registers", "2026-09-20T10:00:00Z")
    moved.write_text("{", "utf-8")
    commit("Break the file", "2026-09-21T10:00:00Z")
    git(place, "rm", "--quiet", "perf/base line.json")
    commit("Remove the file", "2026-09-22T10:00:00Z")
    git(place, "checkout", "--quiet", "HEAD~2", "--", "perf/base line.json")
    baseline("update", str(moved), str(CHANGES / "four-blocks" / "3"))
    commit("=Spill <b>less</b> | @all", "2026-10-02T10:00:00Z")
    return place
