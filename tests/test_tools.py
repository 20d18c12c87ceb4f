"""Programs of others: by absolute paths, from one place, and nothing that a stranger configures."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path

import pytest

import kernelprof
from kernelprof.tools import ask, git_command, which

SOURCES = Path(kernelprof.__file__).parents[1]
STARTING = {
    "kernelprof/launch/build/nvcc.py": "what find_nvcc found",
    "kernelprof/launch/processes.py": "what callers looked up",
    "kernelprof/comparison/history/moments.py": "git_command",
    "kernelprof/sources/ncu_report.py": "what find_ncu found",
    "kernelprof/tools.py": "all others",
    "kernelprof/worker.py": "this Python",
    "sassim/disassembler.py": "what find_nvdisasm found",
}
LOOKING = {
    "kernelprof/tools.py": "along the absolute entries of the path",
    "sassim/simulator.py": "the same without kernelprof",
    "kernelprof/installation.py": "only compares pip's place, for a message",
}


def calling(*names: str) -> set[str]:
    """The modules that call one of these functions."""
    return {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in names
    }


def test_programs_are_started_and_looked_for_in_few_places() -> None:
    started = calling("subprocess.run", "subprocess.Popen", "os.system", "os.popen", "os.execv")
    assert started == STARTING.keys()
    assert calling("shutil.which") == LOOKING.keys()


def test_a_program_in_the_current_folder_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (".", "", f":{os.defpath}", f".:{os.defpath}"):
        monkeypatch.setenv("PATH", path)
        assert which("git") != str(program)
        command = git_command(tmp_path)
        if command is not None:
            ask(*command, "config", "user.name")
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(which("git") is None, reason="git is not installed")
def test_git_runs_nothing_that_a_repository_configures(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    folder = tmp_path / "repository"
    folder.mkdir()

    def git(*arguments: str) -> None:
        subprocess.run(
            [str(which("git")), "-c", "user.name=a", "-c", "user.email=b", *arguments],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip

    git("init")
    (folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (folder / "file").write_text("one\n")
    git("add", ".")
    git("commit", "-m", "first")
    evil = f"sh -c 'echo run >> {ran}; cat'"
    for name in ("core.fsmonitor", "filter.evil.clean", "diff.evil.textconv", "diff.external"):
        git("config", name, evil)
    (folder / "file").write_text("two\n")
    os.utime(folder / "file", (0, 0))

    command = git_command(folder)
    assert command is not None
    for arguments in (
        ["diff-index", "HEAD"],
        ["status"],
        ["log", "--raw"],
        ["cat-file", "-e", "HEAD"],
    ):
        done = ask(*command, *arguments)
        assert done is not None
        assert done.returncode == 0, (arguments, done.stderr)
    assert not ran.exists()
    subprocess.run([str(which("git")), "status"], cwd=folder, check=False, capture_output=True)
    assert ran.exists()
