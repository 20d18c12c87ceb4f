"""A hostile pull request: nothing of it is executed in the gate's job, and nothing believed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML
from tests.action.hostile import BASELINE, POLICY, Hostile, quick_python
from tests.action.stand_in import ROOT, TOKEN, WORKFLOW, Runner
from tests.support.captures import copy_capture

from kernelprof.interface import baselines

if TYPE_CHECKING:
    from pathlib import Path

REVIEW = {
    "github.event_name": "pull_request",
    "github.ref": "refs/pull/7/merge",
    "github.event.action": "synchronize",
    "github.event.pull_request.head.repo.full_name": "me/it",
    "github.event.pull_request.number": "7",
    "needs.profile.result": "success",
}
GITLAB = YAML(typ="safe").load(ROOT / "examples" / "gitlab" / ".gitlab-ci.yml")


@pytest.fixture
def changes(captures: Path) -> Path:
    return captures / "h200_changes"


@pytest.fixture
def hostile(tmp_path: Path, changes: Path) -> Hostile:
    baseline: dict[str, Any] = json.loads(baselines.text(baselines.save(changes / "tile" / "1")))
    return Hostile(tmp_path, baseline)


@pytest.fixture
def environment(cli_environment: dict[str, str]) -> dict[str, str]:
    """Of a job: nothing of the machine that the tests run on but its paths."""
    return {
        name: value
        for name, value in cli_environment.items()
        if not name.startswith(("GITHUB_", "PYTHON", "CI"))
    }


Make = Callable[..., Runner]


@pytest.fixture
def runner(tmp_path: Path, environment: dict[str, str], hostile: Hostile, changes: Path) -> Make:
    """A runner with a candidate, by default one that is 44 % slower than the baseline."""

    def make(candidate: str = "tile-rolled/1", **context: str) -> Runner:
        folder = tmp_path / "runner"
        folder.mkdir()
        artifacts = tmp_path / "artifacts"
        copy_capture(changes / candidate, artifacts / "capture")
        return Runner(
            folder,
            environment,
            origin=hostile.origin,
            python=str(quick_python(tmp_path, ROOT / "src")),
            artifacts=artifacts,
            context={**REVIEW, **context},
        )

    return make


def holders_of(text: str, folder: Path) -> list[Path]:
    """The files below a folder that hold a text."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if text.encode() in path.read_bytes()]


def judged(hostile: Hostile, runner: Make, code: int, **context: str) -> tuple[Runner, str]:
    """Propose what was written, with a candidate that is as fast; the job and its summary."""
    hostile.propose()
    job = runner("tile/2", **context)
    assert job.job("gate") == code, job.log
    return job, job.summary.read_text("utf-8")


def told(text: str) -> None:
    """The answer is a regression by the trusted two, and names what was brought along."""
    assert text.startswith("### kernelprof gate: regression\n")
    assert "44 % slower: 1.85 ms to 2.66 ms" in text
    assert "- The policy would change: max_slowdown 2 % to 5000 %." in text
    assert "- The policy would change: 'sgemm&#42;' added to ignore." in text
    assert "- The baseline would change: sgemm_shared_tile: 1.85 ms to 18.48 ms." in text


@pytest.mark.slow("a checkout and its pipeline")
def test_the_example_believes_and_executes_nothing(runner: Make, hostile: Hostile) -> None:
    hostile.attack()
    hostile.propose()
    job = runner()
    assert job.job("gate") == 1
    told(job.summary.read_text("utf-8"))
    assert hostile.executed == [], hostile.executed
    assert holders_of(TOKEN, job.folder) == []
    assert sorted(path.name for path in (job.artifacts / "kernelprof-gate").iterdir()) == [
        "kernelprof-gate.html",
        "kernelprof-gate.md",
        "kernelprof-gate.sarif",
    ]


@pytest.mark.parametrize("policy", [POLICY, pytest.param("", marks=pytest.mark.slow)])
@pytest.mark.slow("a checkout and its pipeline")
def test_the_action_in_a_hostile_checkout(runner: Make, hostile: Hostile, policy: str) -> None:
    """Where the workflow checks the pull request out, and a step before left settings of git."""
    hostile.write("pyproject.toml", '[tool.kernelprof.gate]\nmax_slowdown = "2 %"\n')
    hostile.commit("the settings of the base branch")
    hostile.attack()
    hostile.propose()
    job = runner()
    checkout = {"uses": "actions/checkout@x", "with": {"persist-credentials": False}}
    capture = {
        "uses": "actions/download-artifact@x",
        "with": {"name": "capture", "path": "capture"},
    }
    assert job.steps([checkout, capture], job.context) == 0
    hostile.poison(job.workspace)
    before = {path.name for path in job.workspace.iterdir()}
    code, outputs = job.act(baseline=BASELINE, candidate="capture", policy=policy)
    assert (code, outputs["outcome"]) == (1, "regression")
    text = (job.workspace / outputs["markdown"]).read_text("utf-8")
    if policy:
        told(text)
    else:
        assert "- The policy would change: '&#42;' added to ignore." in text
    assert hostile.executed == [], hostile.executed
    after = {path.name for path in job.workspace.iterdir()}
    assert after - before == {
        "kernelprof-gate.md",
        "kernelprof-gate.sarif",
        "kernelprof-gate.xml",
    }


@pytest.mark.exhaustive("installs what is pinned, which takes a minute")
def test_the_real_installation(runner: Make, hostile: Hostile) -> None:
    hostile.attack()
    hostile.propose()
    job = runner()
    job.python = sys.executable
    assert job.job("gate") == 1, job.log
    told(job.summary.read_text("utf-8"))
    assert hostile.executed == [], hostile.executed
    (installed,) = job.temp.glob("kernelprof-gate.*/venv/lib/python3*/site-packages/kernelprof")
    assert (installed / "_data" / "metric_presets").is_dir()


@pytest.mark.slow
def test_a_change_of_the_policy_alone_stops(runner: Make, hostile: Hostile) -> None:
    hostile.write(POLICY, 'max_slowdown = "3 %"\n')
    _, text = judged(hostile, runner, 3)
    assert text.startswith("### kernelprof gate: inconclusive\n")
    assert "The policy would change: max_slowdown 2 % to 3 %." in text


@pytest.mark.slow
def test_an_honest_change_passes_and_says_nothing(runner: Make, hostile: Hostile) -> None:
    hostile.write("kernels/gemm.cu", "// another kernel\n")
    _, text = judged(hostile, runner, 0)
    assert text.startswith("### kernelprof gate: pass\n")
    assert "change:" not in text


@pytest.mark.parametrize(
    ("action", "label", "code"),
    [
        ("labeled", "performance-accepted", 0),
        ("labeled", "documentation", 3),
        ("synchronize", "performance-accepted", 3),
    ],
)
@pytest.mark.slow
def test_only_the_run_of_the_label_accepts(
    runner: Make, hostile: Hostile, action: str, label: str, code: int
) -> None:
    hostile.write(POLICY, 'max_slowdown = "50 %"\ncounter_worse = "allow"\n')
    _, text = judged(
        hostile, runner, code, **{"github.event.action": action, "github.event.label.name": label}
    )
    accepted = "The policy changes (accepted): max_slowdown 2 % to 50 %." in text
    assert accepted is (code == 0)


@pytest.mark.slow
def test_without_a_baseline_on_the_base_branch_nothing_is_judged(
    runner: Make, hostile: Hostile
) -> None:
    text = (hostile.origin / BASELINE).read_text("utf-8")
    (hostile.origin / BASELINE).unlink()
    (hostile.origin / POLICY).unlink()
    hostile.commit("before there was a gate")
    hostile.write(BASELINE, text)
    hostile.write(POLICY, 'max_slowdown = "2 %"\n')
    _, said = judged(hostile, runner, 3)
    assert "The baseline would change: there was none; the new one has 1 kernel." in said
    assert "The policy would change: max_slowdown 0 % to 2 %." in said


@pytest.mark.slow
def test_links_of_the_pull_request_are_not_followed(runner: Make, hostile: Hostile) -> None:
    (hostile.origin / BASELINE).unlink()
    (hostile.origin / POLICY).unlink()
    (hostile.origin / BASELINE).symlink_to("/etc/hostname")
    (hostile.origin / POLICY).symlink_to("../.git/config")
    job, text = judged(hostile, runner, 3)
    assert "The policy would change: the file cannot be read" in text
    assert "The baseline would change: the file cannot be read" in text
    assert "is a link or a submodule, which are not followed" in job.log


@pytest.mark.slow
def test_links_of_the_base_branch_are_refused(runner: Make, hostile: Hostile) -> None:
    (hostile.origin / POLICY).unlink()
    (hostile.origin / POLICY).symlink_to("../kernels/gate.toml")
    hostile.commit("a link")
    job, _ = judged(hostile, runner, 2)
    assert "gate.toml is a link or a submodule" in job.log


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("--output=/tmp/x", "is no path of a file"),
        ("performance/gemm\n.json", "is no path of a file"),
        ("../elsewhere.json", "leaves its folder"),
        ("performance/../../elsewhere.json", "leaves its folder"),
        ("/tmp/../elsewhere.json", "leaves its folder"),
        (".git/config", "is no file of the repository"),
        (".", "is no file of the repository"),
        ("no/such.json", "neither the base branch nor the change has no/such.json"),
    ],
)
@pytest.mark.slow
def test_paths_that_are_none_of_the_repository(
    runner: Make, hostile: Hostile, path: str, why: str
) -> None:
    hostile.propose()
    job = runner("tile/2")
    (job.workspace / "capture").symlink_to(job.artifacts / "capture")
    code, outputs = job.act(baseline=path, candidate="capture", policy=POLICY)
    assert (code, outputs) == (2, {"outcome": "error", "exit-code": "2"})
    assert why in job.log
    assert "Traceback" not in job.log


@pytest.mark.slow
def test_an_absolute_path_of_the_checkout_is_the_base_branch_s(
    runner: Make, hostile: Hostile, changes: Path
) -> None:
    hostile.attack()
    hostile.propose()
    job = runner()
    evil = job.folder / "evil"
    evil.mkdir()
    shutil.copy(hostile.origin / POLICY, evil / "gate.toml")
    # A link of the checkout must not make its policy one from outside, which would be believed.
    (job.workspace / "performance").symlink_to(evil)
    candidate = str(job.artifacts / "capture")
    code, _ = job.act(
        baseline=str(changes / "tile" / "1"),
        candidate=candidate,
        policy=str(job.workspace / POLICY),
    )
    assert code == 1
    text = (job.workspace / "kernelprof-gate.md").read_text("utf-8")
    assert "The policy would change: max_slowdown 2 % to 5000 %." in text
    assert "The baseline would change" not in text


@pytest.mark.slow
def test_a_baseline_may_be_a_folder(runner: Make, hostile: Hostile, changes: Path) -> None:
    place = hostile.origin / "performance" / "tile"
    copy_capture(changes / "tile" / "1", place)
    hostile.commit("a capture as the baseline")
    shutil.rmtree(place)
    copy_capture(changes / "tile-rolled" / "1", place)
    hostile.propose()
    job = runner()
    code, _ = job.act(baseline="performance/tile/", candidate=str(job.artifacts / "capture"))
    assert code == 1
    text = (job.workspace / "kernelprof-gate.md").read_text("utf-8")
    assert "The baseline would change: sgemm_shared_tile: gone." in text


@pytest.mark.slow
def test_pull_request_target_is_refused(runner: Make, hostile: Hostile) -> None:
    hostile.propose()
    job = runner(**{"github.event_name": "pull_request_target", "github.ref": "refs/heads/main"})
    assert job.job("gate") == 2
    assert "Use pull_request" in job.log


@pytest.mark.parametrize("result", ["skipped", "failure"])
@pytest.mark.slow
def test_what_was_not_measured_does_not_pass(runner: Make, hostile: Hostile, result: str) -> None:
    hostile.propose()
    job = runner(**{"needs.profile.result": result})
    assert job.job("gate") == 3
    assert f"Not measured (profile: {result})" in job.log
    condition = WORKFLOW["jobs"]["gate"]["if"]
    assert job.evaluated(condition, job.context, failed=True) == "true"


@pytest.mark.slow
def test_the_comment_is_not_for_forks(runner: Make, hostile: Hostile) -> None:
    hostile.propose()
    job = runner(**{"needs.gate.outputs.markdown": "kernelprof-gate.md"})
    condition = WORKFLOW["jobs"]["tell"]["if"]
    assert job.evaluated(condition, job.context) == "true"
    without = {**job.context, "needs.gate.outputs.markdown": ""}
    assert job.evaluated(condition, without) == "false"
    predicted = {**without, "needs.predicted.outputs.markdown": "kernelprof-gate.md"}
    assert job.evaluated(condition, predicted) == "true"
    (download,) = [
        step for step in WORKFLOW["jobs"]["tell"]["steps"] if "download" in step.get("uses", "")
    ]
    for context, name in ((job.context, "kernelprof-gate"), (predicted, "kernelprof-predicted")):
        assert job.evaluated(download["with"]["name"], context) == name
    fork = {**job.context, "github.event.pull_request.head.repo.full_name": "eve/it"}
    assert job.evaluated(condition, fork) == "false"


@pytest.fixture
def gitlab(
    tmp_path: Path, environment: dict[str, str], hostile: Hostile, changes: Path
) -> Callable[..., tuple[int, Path]]:
    """Runs the script of the example's job in a checkout of the merge request.

    A step before it left settings of git. What comes back is the exit code and the checkout.
    """

    def run(candidate: str, **more: str) -> tuple[int, Path]:
        hostile.git("config", "uploadpack.allowAnySHA1InWant", "true")
        project, tools, ours = (tmp_path / name for name in ("project", "tools", "ours"))
        for command in (
            ["clone", "-q", str(hostile.origin), str(project)],
            ["-C", str(project), "fetch", "-q", "origin", "refs/pull/7/merge"],
            ["-C", str(project), "checkout", "-q", "FETCH_HEAD"],
        ):
            subprocess.run(["git", *command], check=True)
        hostile.poison(project)
        copy_capture(changes / candidate, project / "capture")
        tools.mkdir()
        shutil.copy(quick_python(tmp_path, ROOT / "src"), tools / "python3")
        for name in ("action", "requirements"):
            shutil.copytree(ROOT / name, ours / name, ignore=shutil.ignore_patterns("__pycache__"))
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        for command in (["init", "-q"], ["add", "--all"], [*who, "commit", "-qm", "kernelprof"]):
            subprocess.run(["git", "-C", str(ours), *command], check=True)
        done = subprocess.run(
            ["bash", "-c", "\n".join(GITLAB[".gate"]["script"])],
            cwd=project,
            env={
                **environment,
                "PATH": f"{tools}{os.pathsep}{environment['PATH']}",
                "TMPDIR": str(tmp_path),
                **GITLAB[".gate"]["variables"],
                **GITLAB["gate"]["variables"],
                "KERNELPROF_URL": f"file://{ours}",
                "KERNELPROF_COMMIT": "HEAD",
                "CI_PROJECT_DIR": str(project),
                "CI_REPOSITORY_URL": f"file://{hostile.origin}",
                "CI_COMMIT_SHA": hostile.git("rev-parse", "refs/pull/7/merge"),
                "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
                **more,
            },
            timeout=240,
            check=False,
        )
        return done.returncode, project

    return run


Gitlab = Callable[..., tuple[int, "Path"]]


@pytest.mark.slow("a checkout and its pipeline")
def test_the_example_for_gitlab(gitlab: Gitlab, hostile: Hostile, tmp_path: Path) -> None:
    hostile.attack()
    hostile.propose()
    code, project = gitlab("tile-rolled/1")
    assert code == 1
    told((project / "gate.md").read_text("utf-8"))
    assert hostile.executed == []
    assert not list(tmp_path.glob("tmp.*"))


@pytest.mark.parametrize(("accepted", "code"), [("HEAD", 3), ("", 3), ("refs/pull/7/merge", 0)])
@pytest.mark.slow
def test_what_a_maintainer_accepts_on_gitlab(
    gitlab: Gitlab, hostile: Hostile, accepted: str, code: int
) -> None:
    hostile.write(POLICY, 'max_slowdown = "3 %"\n')
    hostile.propose()
    commit = hostile.git("rev-parse", accepted) if accepted else ""
    assert gitlab("tile/2", PERFORMANCE_ACCEPTED=commit)[0] == code


@pytest.mark.slow
def test_gitlab_hides_no_inconclusive_outcome() -> None:
    assert not any("allow_failure" in GITLAB[name] for name in (".gate", "gate", "predicted"))
