"""Verdicts as SARIF, against the schema of SARIF 2.1.0 and what GitHub wants beyond that."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.changes import AWKWARD

import kernelprof as kp
from kernelprof.analysis.rules import load_rules
from kernelprof.model.diagnosis import Diagnosis, Status
from kernelprof.model.names import short_name
from kernelprof.report.writers.sarif import FINGERPRINT, LONGEST_MEANING, MOST_RESULTS, OPEN
from kernelprof.report.writers.sarif import write_diagnoses as write

if TYPE_CHECKING:
    from tests.conftest import RunCli, Samples

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "captures"
RECORDED = ROOT / "src" / "kernelprof" / "recorded" / "h200"
TILE = RECORDED / "03_shared_tile"
SOURCE = ROOT / "cuda" / "ladder" / "03_shared_tile.cu"
SCHEMA = json.loads((ROOT / "tests" / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft7Validator(
    SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER
)


def checked(text: str) -> Any:
    """The run of a log that is valid and that GitHub takes."""
    log = json.loads(text)
    VALIDATOR.validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({each["id"] for each in rules}) == len(rules)
    for each in run["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
        # Section 3.27.10: whatever is no failure has no level.
        assert (each["kind"] == "fail") is (each["level"] != "none")
        place = each["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"]
        assert place["region"]["startLine"] >= 1
        assert each["message"]["text"].isprintable()
    prints = [each["partialFingerprints"][FINGERPRINT] for each in run["results"]]
    assert len(set(prints)) == len(prints)
    return run


def of(*captures: Path) -> Any:
    return checked(write([kp.diagnose(each) for each in captures]))


def test_a_bottleneck_stands_at_the_definition_of_its_kernel() -> None:
    run = of(TILE)
    (found,) = run["results"]
    assert (found["ruleId"], found["kind"], found["level"]) == (
        "shared-memory-throughput",
        "fail",
        "warning",
    )
    place = found["locations"][0]
    file = place["physicalLocation"]["artifactLocation"]
    assert file == {"uri": "cuda/ladder/03_shared_tile.cu", "uriBaseId": "%SRCROOT%"}
    lines = SOURCE.read_text("utf-8").splitlines()
    first = place["physicalLocation"]["region"]["startLine"]
    assert "__global__ void" in lines[first - 1]
    assert lines[first].startswith("sgemm_shared_tile(")
    function = {"fullyQualifiedName": "sgemm_shared_tile", "kind": "function"}
    assert place["logicalLocations"] == [function]
    assert found["message"]["text"] == (
        "sgemm_shared_tile: Limited by shared-memory-throughput. Evidence: L1 data-stage "
        "utilization 86 % (threshold 70 %); 96 % of L1 wavefronts are for shared memory (threshold "
        "50 %); 0 % of shared-memory wavefronts are caused by bank conflicts. Gain: about 2.5x "
        "(1.50x to 4.2x)."
    )
    assert found["rank"] == 100
    assert found["properties"] == {"confidence": "high", "launches": 1}
    assert run["automationDetails"] == {"id": "kernelprof diagnose/"}
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]


def test_the_line_with_the_most_samples_is_related() -> None:
    (found,) = of(TILE)["results"]
    (related,) = found["relatedLocations"]
    assert related["message"]["text"] == "71 % of the warp samples are at this line."
    place = related["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "cuda/ladder/03_shared_tile.cu"
    lines = SOURCE.read_text("utf-8").splitlines()
    assert "sum += As[" in lines[place["region"]["startLine"] - 1]


def test_without_a_source_the_capture_is_the_place() -> None:
    run = of(CAPTURES / "four_gemms.full.raw.csv")
    assert len(run["results"]) == 4
    for each in run["results"]:
        place = each["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("tests/captures/four_gemms.full.raw.csv")
        assert place["region"] == {"startLine": 1}
        assert "relatedLocations" not in each


def test_a_source_that_is_lost_is_no_place(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(TILE, tmp_path / "tile"))
    manifest = folder / "manifest.json"
    text = manifest.read_text("utf-8").replace("cuda/ladder/03_shared_tile.cu", "gone/k.cu")
    manifest.write_text(text, "utf-8")
    (found,) = of(folder)["results"]
    place = found["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": manifest.as_uri()}


@pytest.mark.slow("a search for each of 24 kernels")
def test_what_is_not_decided_is_open_and_says_what_would_settle_it() -> None:
    run = of(CAPTURES / "gemm_series.eight-metrics.raw.csv")
    found = [each for each in run["results"] if each["ruleId"] == OPEN]
    assert found
    for each in found:
        assert (each["kind"], each["level"]) == ("open", "none")
        headline = each["message"]["text"].partition(". ")[0]
        assert "; not proven: " in headline or ": Inconclusive: " in headline
        assert "To get a verdict, run: ncu " in each["message"]["text"]
    assert run["invocations"][0]["exitCode"] == 3


def test_a_unit_at_its_limit_is_no_problem() -> None:
    run = of(CAPTURES / "gemm_series.full.raw.csv")
    diagnosis = kp.diagnose(CAPTURES / "gemm_series.full.raw.csv")
    expected = {
        Status.BOTTLENECK: ("fail", "warning"),
        Status.AT_LIMIT: ("informational", "none"),
        Status.INCONCLUSIVE: ("open", "none"),
    }
    assert Status.AT_LIMIT in {each.verdict.status for each in diagnosis.kernels}
    assert [(each["kind"], each["level"]) for each in run["results"]] == [
        expected[each.verdict.status] for each in diagnosis.kernels
    ]
    at_limit = [each for each in run["results"] if each["kind"] == "informational"]
    assert all("At its limit: " in each["message"]["text"] for each in at_limit)


def test_rules_are_those_that_are_named_as_explain_has_them() -> None:
    run = of(CAPTURES / "gemm_series.full.raw.csv")
    rules = {each["id"]: each for each in run["tool"]["driver"]["rules"]}
    assert set(rules) == {each["ruleId"] for each in run["results"]}
    for name, each in rules.items():
        known = load_rules()[name]
        assert each["shortDescription"]["text"] == known.title
        assert f"kernelprof explain {name}" in each["help"]["text"]
        assert each["help"]["markdown"].startswith(f"# {name}: {known.title}\n")
        assert "## What to do" in each["help"]["markdown"]


@pytest.mark.parametrize("name", sorted(load_rules()))
def test_every_rule_fits_what_github_shows(samples: type[Samples], name: str) -> None:
    verdict = replace(samples.uncoalesced, bottleneck=name)
    run = checked(write([Diagnosis((samples.kernel("k", verdict),), "a.csv")]))
    (rule,) = run["tool"]["driver"]["rules"]
    assert len(rule["fullDescription"]["text"]) <= LONGEST_MEANING
    assert len(rule["name"]) <= 255


def test_a_result_keeps_its_fingerprint_from_run_to_run() -> None:
    changes = CAPTURES / "h200_changes"

    def prints(*captures: Path) -> list[str]:
        return [each["partialFingerprints"][FINGERPRINT] for each in of(*captures)["results"]]

    (one,) = prints(changes / "tile" / "1")
    assert prints(changes / "tile" / "2") == [one]
    assert prints(changes / "padded" / "1") != [one]
    both = prints(changes / "tile" / "1", changes / "tile" / "2")
    assert both[0] == one
    assert both[1] != one


@pytest.mark.slow
def test_no_more_results_than_github_shows_and_bottlenecks_first(samples: type[Samples]) -> None:
    many = [
        samples.kernel(f"kernel_{row}(int)", verdict, share=share, rows=range(row, row + 1))
        for row, (verdict, share) in enumerate(
            [(samples.at_limit, 0.9)]
            + [(samples.inconclusive, 0.01)] * 100
            + [(samples.uncoalesced, 0.001)] * (MOST_RESULTS - 60)
        )
    ]
    text = write([Diagnosis(tuple(many), "many.csv")])
    run = checked(text)
    kinds = [each["kind"] for each in run["results"]]
    assert kinds.count("fail") == MOST_RESULTS - 60
    assert kinds.count("open") == 60
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"].startswith("41 kernels left out: a file has at most")
    assert len(gzip.compress(text.encode())) < 10 << 20


def test_warnings_of_a_capture_are_notifications(samples: type[Samples]) -> None:
    found = Diagnosis((samples.kernel("k", samples.at_limit),), "a.csv", warnings=("Odd {0}.",))
    (invocation,) = checked(write([found]))["invocations"]
    (note,) = invocation["toolExecutionNotifications"]
    assert note == {"level": "warning", "message": {"text": "a.csv: Odd {{0}}."}}


@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_is_text(samples: type[Samples], name: str) -> None:
    found = Diagnosis((samples.kernel(name, samples.uncoalesced),), name or "x")
    (result,) = checked(write([found]))["results"]
    shown = result["message"]["text"].replace("{{", "{").replace("}}", "}").replace("\\[", "[")
    assert shown.startswith(f"{short_name(name)[:80]}")
    assert len(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]) <= 1000


@settings(deadline=None, max_examples=30)
@given(name=st.text(min_size=1, max_size=3000), origin=st.text(min_size=1, max_size=50))
def test_any_name_is_valid(name: str, origin: str) -> None:
    from tests.conftest import Samples

    verdicts = (Samples.uncoalesced, Samples.at_limit, Samples.inconclusive)
    found = Diagnosis(tuple(Samples.kernel(name, each) for each in verdicts), origin)
    run = checked(write([found]))
    assert len(run["results"]) == 3
    assert all(len(each["message"]["text"]) < 3000 for each in run["results"])


def test_from_the_command_line_and_from_python(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "verdicts.sarif"
    capture = str(CAPTURES / "pycuda_two_kernels.seven-metrics.raw.csv")
    done = run_cli("diagnose", capture, str(TILE), "--format", "sarif", "-o", str(file))
    assert done.returncode == 3
    text = file.read_text("utf-8")
    both = [kp.diagnose(capture), kp.diagnose(TILE)]
    assert text == write(both)
    printed = run_cli("diagnose", str(TILE), "--format", "sarif")
    assert printed.stdout == both[1].to_text("sarif") == write(both[1:])


def test_standard_input_is_a_place(run_cli: RunCli) -> None:
    text = (CAPTURES / "four_gemms.full.raw.csv").read_text("utf-8")
    done = run_cli("diagnose", "-", "--format", "sarif", stdin=text)
    run = checked(done.stdout)
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == (
        "%3Cstdin%3E"
    )
