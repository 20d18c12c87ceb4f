"""What a change proposes in place of policy and baseline: found, named, and never believed."""

from __future__ import annotations

import html
import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import structs
from tests.comparison.gate.planted import changed, taken
from tests.support.text import unwrapped

from kernelprof.comparison.gate import proposed
from kernelprof.comparison.gate.policy import load_policy
from kernelprof.comparison.gate.proposed import policy_changes
from kernelprof.errors import UsageError
from kernelprof.interface import baselines
from kernelprof.interface import changes as interface
from kernelprof.model.gate import Code, GateFinding, Outcome
from kernelprof.model.snapshot import Acceptance, MeasurementSetup, Noise, Snapshot

if TYPE_CHECKING:
    from tests.conftest import RunCli

CHANGES = Path(__file__).parents[2] / "captures" / "h200_changes"
TILE, SAME, ROLLED = (str(CHANGES / each) for each in ("tile/1", "tile/2", "tile-rolled/1"))
STRICT = 'max_slowdown = "2 %"\n'


def changes(old: str, new: str) -> list[tuple[str, bool]]:
    policies = [load_policy(tomllib.loads(each)) for each in (old, new)]
    return [(each.text, each.looser) for each in policy_changes(*policies)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "max_slowdown = 0.5", [("max_slowdown 0 % to 50 %", True)]),
        ("max_slowdown = 0.5", "", [("max_slowdown 50 % to 0 %", False)]),
        ("", "max_noise = '10 %'", [("max_noise 25 % to 10 %", False)]),
        ("", 'renamed = "allow"', [('renamed "inconclusive" to "allow"', True)]),
        ("", 'inconclusive = "fail"', [('inconclusive "inconclusive" to "fail"', False)]),
        ("", 'counter_worse = "inconclusive"', [('counter_worse "fail" to "inconclusive"', True)]),
        ("", 'ignore = ["sgemm_*"]', [("'sgemm_*' added to ignore", True)]),
        ('ignore = ["a", "b"]', 'ignore = ["b"]', [("'a' removed from ignore", False)]),
        ('ignore = ["a", "b"]', 'ignore = ["b", "a"]', []),
        (
            "[budget]\nlocal_sectors = 0\nregisters_per_thread = 64",
            "[budget]\nregisters_per_thread = 128",
            [
                ("budget.local_sectors at most 0 to none", True),
                ("budget.registers_per_thread at most 64 to at most 128", True),
            ],
        ),
        (
            "[budget]\nresident_blocks = { at_least = 2 }",
            "[budget]\nresident_blocks = { at_least = 4, at_most = 8 }",
            [("budget.resident_blocks at least 2 to at most 8 and at least 4", False)],
        ),
        (
            "",
            "[max_increase]\nglobal_sectors = '3 %'",
            [("max_increase.global_sectors 0 % to 3 %", True)],
        ),
        (
            "max_slowdown = 0.1",
            "max_slowdown = 0.1\n[[kernel]]\nname = 'a*'\nmax_slowdown = 0.02",
            [("[[kernel]] 'a*', max_slowdown 10 % to 2 %", False)],
        ),
        (
            "[[kernel]]\nname = 'a*'\nmax_slowdown = 0.1\n[[kernel]]\nname = 'b'",
            "[[kernel]]\nname = 'b'\n[[kernel]]\nname = 'a*'\nmax_slowdown = 0.1",
            [("the order of the [[kernel]] tables (the last match applies)", True)],
        ),
        # The second table of a pattern is what counts, and must not hide behind the first.
        (
            "[[kernel]]\nname = 'a'\nmax_slowdown = 0.1",
            "[[kernel]]\nname = 'a'\nmax_slowdown = 0.1\n[[kernel]]\nname = 'a'\nmax_slowdown = 9",
            [("[[kernel]] 'a', max_slowdown 0 % to 900 %", True)],
        ),
        ("max_slowdown = '2 %'", "# a comment\nmax_slowdown = 0.02", []),
    ],
)
def test_a_policy_is_compared_key_by_key(
    old: str, new: str, expected: list[tuple[str, bool]]
) -> None:
    assert changes(old, new) == expected


def found(old: Snapshot, new: Snapshot) -> list[str]:
    findings = proposed.baseline_findings(old, new)
    assert {each.code for each in findings} <= {Code.BASELINE_CHANGED}
    assert {each.outcome for each in findings} <= {Outcome.INCONCLUSIVE}
    return [each.text.removeprefix("the baseline would change: ") for each in findings]


def test_each_part_of_a_kernel_that_judges_is_compared() -> None:
    old = taken("tile", "1")
    (kernel,) = old.kernels
    name = "sgemm_shared_tile: "
    assert found(old, replace(old, created="2020-01-01T00:00:00Z", origin="elsewhere")) == []
    more = {**kernel.metrics, "instructions": 2 * kernel.metrics["instructions"]}
    verdict = replace(kernel.verdict, bottleneck="memory-latency")
    for key, value, text in (
        ("median_ns", 2 * (kernel.median_ns or 0), "1.85 ms to 3.7 ms"),
        ("events_ns", kernel.events_ns[:-1], "individual launch times differ"),
        ("noise", Noise(0.2, 4, "CUDA events"), "noise uncalibrated to 20 %"),
        ("launches", 3, "launches 1 to 3"),
        ("flops", 1, "different flops"),
        ("inputs", None, "different inputs"),
        ("metrics", more, "instructions 725,876,736 to 1,451,753,472"),
        ("verdict", verdict, "verdict shared-memory-throughput to memory-latency"),
    ):
        assert found(old, changed(old, **{key: value})) == [f"{name}{text}"]
    assert found(old, replace(old, kernels=())) == [f"{name}gone"]
    more_kernels = replace(old, kernels=(*old.kernels, replace(kernel, name="other")))
    assert found(old, more_kernels) == ["other: new"]
    other = replace(old, machine=structs.replace(old.machine, gpu="NVIDIA H100", driver=None))
    assert found(old, other) == [
        "GPU NVIDIA H200 to NVIDIA H100",
        f"driver {old.machine.driver} to not known",
    ]
    assert found(old, replace(old, machine=MeasurementSetup()))


def test_a_second_kernel_of_the_same_name_hides_nothing() -> None:
    old = taken("tile", "1")
    (kernel,) = old.kernels
    slow = replace(kernel, median_ns=10 * (kernel.median_ns or 0))
    assert found(old, replace(old, kernels=(slow, kernel))) == [
        "sgemm_shared_tile: 1.85 ms to 18.48 ms",
        "sgemm_shared_tile: new",
    ]


def test_who_accepted_it_is_told_as_the_file_says() -> None:
    old = taken("tile", "1")
    record = Acceptance("sgemm_shared_tile", "2026-01-01T00:00:00Z", "Eve", "r" * 300 + "\n- x")
    slow = changed(old, median_ns=2 * (old.kernels[0].median_ns or 0))
    (text,) = found(old, replace(slow, accepted=(record,)))
    assert text == (
        f"sgemm_shared_tile: 1.85 ms to 3.7 ms; recorded as accepted by Eve: {'r' * 199}…"
    )
    (text,) = found(replace(old, accepted=(record,)), old)
    assert text == "sgemm_shared_tile: Eve's recorded acceptance of a change is removed"


def test_many_differences_are_counted_and_the_looser_come_first() -> None:
    old = taken("tile", "1")
    (kernel,) = old.kernels
    many = tuple(replace(kernel, name=f"k{at}") for at in range(200))
    texts = found(old, replace(old, kernels=many))
    assert texts[0] == "sgemm_shared_tile: gone"
    assert len(texts) == proposed.MOST + 1
    assert texts[-1] == "151 more differences"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """``trusted.json``, ``slow.json`` (accepted by Eve), ``gate.toml``, ``loose.toml``."""
    trusted = tmp_path / "trusted.json"
    trusted.write_text(baselines.text(baselines.save(TILE)), encoding="utf-8")
    slow = baselines.accept(trusted, ROLLED, "numerics", by="Eve")
    (tmp_path / "slow.json").write_text(baselines.text(slow), encoding="utf-8")
    (tmp_path / "gate.toml").write_text(STRICT, encoding="utf-8")
    (tmp_path / "loose.toml").write_text(
        'max_slowdown = 9\ninconclusive = "allow"\nnew_bottleneck = "allow"\n'
        'counter_worse = "allow"\nrenamed = "allow"\n',
        encoding="utf-8",
    )
    return tmp_path


def gated(files: Path, candidate: str, *more: str) -> list[str]:
    return ["gate", str(files / "trusted.json"), candidate, *more]


def proposing(files: Path, baseline: str, policy: str) -> list[str]:
    places = (f"--proposed-baseline={files / baseline}", f"--proposed-policy={files / policy}")
    return [f"--policy={files / 'gate.toml'}", *places]


def test_nothing_is_said_of_the_same(files: Path, run_cli: RunCli) -> None:
    for name, text in (("again.json", "trusted.json"), ("again.toml", "gate.toml")):
        (files / name).write_bytes((files / text).read_bytes())
    plain = run_cli(*gated(files, SAME, f"--policy={files / 'gate.toml'}"))
    done = run_cli(*gated(files, SAME, *proposing(files, "again.json", "again.toml")))
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert "would change" not in done.stdout


def test_a_change_of_both_stops_what_would_pass(files: Path, run_cli: RunCli) -> None:
    done = run_cli(
        *gated(files, SAME, *proposing(files, "slow.json", "loose.toml")), "--format", "markdown"
    )
    assert done.returncode == 3
    lines = done.stdout.splitlines()
    assert lines[0] == "### kernelprof gate: inconclusive"
    assert lines[2].startswith("**Inconclusive: 1 passed.** The policy would change: max_slowdown")
    assert "- The policy would change: max_slowdown 2 % to 900 %." in lines
    (accepted,) = [each for each in lines if "recorded as accepted by Eve: numerics" in each]
    assert accepted.startswith("- The baseline would change: sgemm_shared_tile_rolled: new; ")


def test_every_format_tells_it_and_short_ones_count_the_rest(files: Path, run_cli: RunCli) -> None:
    many = "".join(f'[[kernel]]\nname = "k{at}"\nmax_slowdown = 1\n' for at in range(30))
    (files / "many.toml").write_text(STRICT + many, encoding="utf-8")
    arguments = gated(files, SAME, *proposing(files, "trusted.json", "many.toml"))
    page = files / "page.html"
    done = run_cli(*arguments, f"--html={page}", f"--junit={files / 'out.xml'}")
    text = unwrapped(done.stdout)
    assert "- The policy would change: [[kernel]] 'k9', max_slowdown 2 % to 100 %." in text
    assert "'k10'" not in text
    assert "- And 20 more differences: `--format json` lists all." in text
    for place in (page, files / "out.xml"):
        assert "'k29', max_slowdown 2 % to 100 %" in html.unescape(place.read_text("utf-8"))


def test_names_in_a_proposal_are_no_markup(files: Path, run_cli: RunCli) -> None:
    (files / "evil.toml").write_text(
        'ignore = ["@everyone [x](https://example.org) <img> `a`\\u001b[31m"]', encoding="utf-8"
    )
    done = run_cli(
        *gated(files, SAME, *proposing(files, "trusted.json", "evil.toml")), "--format=markdown"
    )
    (line,) = [
        each for each in done.stdout.splitlines() if "added to ignore" in each and "- " in each
    ]
    assert not {"@", "[", "<", "`", "\x1b"} & set(line)


def test_without_a_trusted_baseline_nothing_is_judged(files: Path, run_cli: RunCli) -> None:
    (files / "first.json").write_bytes((files / "trusted.json").read_bytes())
    (files / "trusted.json").unlink()
    arguments = gated(files, ROLLED, *proposing(files, "first.json", "gate.toml"))
    done = run_cli(*arguments, "--format=markdown")
    assert done.returncode == 3
    assert "The baseline would change: there was none; the new one has 1 kernel." in done.stdout
    assert "baseline and candidate have no kernel in common: nothing was compared" in done.stdout
    assert run_cli(*arguments, "--accept-proposed").returncode == 1
    (files / "first.json").unlink()
    assert run_cli(*arguments).returncode == 2


@pytest.mark.parametrize("inconclusive", ["allow", "fail", "inconclusive"])
def test_no_policy_lets_its_own_change_pass(
    files: Path, run_cli: RunCli, inconclusive: str
) -> None:
    policy = f'inconclusive = "{inconclusive}"\n'
    (files / "gate.toml").write_text(policy, encoding="utf-8")
    done = run_cli(
        *gated(files, SAME, *proposing(files, "trusted.json", "loose.toml")),
        f"--junit={files / 'out.xml'}",
        f"--sarif={files / 'out.sarif'}",
        "--format=json",
    )
    assert done.returncode == (1 if inconclusive == "fail" else 3)
    answer = json.loads(done.stdout)
    assert answer["exit_code"] == done.returncode
    assert {each["code"] for each in answer["findings"]} == {"policy-changed"}
    assert 'failure type="inconclusive"' in (files / "out.xml").read_text("utf-8")
    sarif = json.loads((files / "out.sarif").read_text("utf-8"))
    (result,) = sarif["runs"][0]["results"]
    assert result["ruleId"] == "policy-changed"
    assert result["level"] == ("error" if inconclusive == "fail" else "warning")


def test_a_regression_stays_one_and_the_change_is_told(files: Path, run_cli: RunCli) -> None:
    done = run_cli(
        *gated(files, ROLLED, *proposing(files, "slow.json", "loose.toml")), "--format", "markdown"
    )
    assert done.returncode == 1
    assert done.stdout.startswith("### kernelprof gate: regression\n")
    assert "The policy would change: max_slowdown 2 % to 900 %." in done.stdout
    assert "The baseline would change: sgemm_shared_tile: gone" in done.stdout


def test_what_is_accepted_judges_and_is_told(files: Path, run_cli: RunCli) -> None:
    arguments = gated(files, ROLLED, *proposing(files, "slow.json", "gate.toml"))
    done = run_cli(*arguments, "--accept-proposed", "--format", "markdown")
    assert done.returncode == 0
    assert done.stdout.startswith("### kernelprof gate: pass\n")
    assert "The baseline changes (accepted): sgemm\\_shared" not in done.stdout
    assert "The baseline changes (accepted): sgemm_shared_tile: gone" in done.stdout
    assert "by its own policy and baseline. These differences were accepted:" in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("new.toml", None, "the file would be deleted"),
        ("new.toml", "max_slowdwon = 1", "cannot be read: the policy has an unknown key: max_slow"),
        ("new.toml", "max_slowdown = [", "cannot be read: the policy is not TOML"),
        ("new.toml", "a = " + "[" * 100_000, "cannot be read"),
        ("new.toml", "max_slowdown = " + "9" * 10_000, "cannot be read"),
        ("new.json", None, "the file would be deleted"),
        ("new.json", "", "cannot be read: the file cannot be compared: it is not JSON"),
        ("new.json", "[" * 100_000, "cannot be read"),
        (
            "new.json",
            '{"kind": "kernelprof-baseline", "schema_version": "99"}',
            "has schema version '99'",
        ),
        ("new.json", '{"kind": "kernelprof-baseline", "schema_version": "1"}', "is missing"),
        ("new.json", '{"kernels": [{"name": 1}]}', "cannot be read"),
    ],
)
def test_what_cannot_be_read_stops_and_does_not_crash(
    files: Path, run_cli: RunCli, name: str, text: str | None, reason: str
) -> None:
    if text is not None:
        (files / name).write_text(text, encoding="utf-8")
    is_policy = name == "new.toml"
    places = ("trusted.json", name) if is_policy else (name, "gate.toml")
    arguments = gated(files, SAME, *proposing(files, *places))
    done = run_cli(*arguments, "--format=json")
    assert done.returncode == 3
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["code"] == ("policy-changed" if is_policy else "baseline-changed")
    assert reason in finding["text"]
    assert run_cli(*arguments, "--accept-proposed").returncode == 2


def test_the_settings_of_a_project_are_a_policy_too(files: Path) -> None:
    project = files / "new" / "pyproject.toml"
    project.parent.mkdir()
    result = interface.gate(TILE, SAME, policy={}, proposed_policy=project)
    assert result.general == ()
    project.write_text("[tool.kernelprof.gate]\nmax_slowdown = 1\n", encoding="utf-8")
    result = interface.gate(TILE, SAME, policy={}, proposed_policy=project)
    text = "the policy would change: max_slowdown 0 % to 100 %"
    assert result.general == (GateFinding(Code.POLICY_CHANGED, Outcome.INCONCLUSIVE, text),)


def test_accepting_nothing_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="nothing to accept"):
        interface.gate(TILE, SAME, accept_proposed=True)
