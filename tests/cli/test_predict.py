"""Kernels without a GPU on the command line: diagnosed, gated, held by a baseline."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from tests.report.test_sarif_diagnosis import checked
from tests.support.few import one_in
from tests.support.wheels import without_wheels

from kernelprof.prediction import machine_code
from kernelprof.report.writers.json import schema

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "examples" / "matvec.cu"
LINE = 55
"""That of its only loop, which reads a row a thread."""
LOAD = "sum += A[row * N + k] * x[k];"


def changed(work: Path, *edits: tuple[str, str]) -> str:
    """The name of a version of the example."""
    text = SOURCE.read_text("utf-8")
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    name = f"after{len(list(work.glob('after*')))}.cu"
    (work / name).write_text(text, encoding="utf-8")
    return name


@pytest.mark.usefixtures("work")
def test_a_source_without_a_gpu_is_predicted_and_says_so(kernelprof) -> None:
    printed = kernelprof("diagnose matvec.cu", code=(0, 3))
    out, err = printed.out, printed.err
    first, second, third, *_ = out.splitlines()
    assert first == "matvec.cu as predicted for sm_90 (no GPU and no ncu here)"
    told = f"{second} {third}"
    assert re.fullmatch(
        r"1 kernel, predicted from machine code for sm_90, not measured: "
        r"\d+ of 256 blocks simulated\.",
        told,
    )
    assert max(len(line) for line in out.splitlines() if "kernelprof " not in line) <= 80
    (row,) = [line for line in out.splitlines() if line.lstrip().startswith(f"{LINE} ")]
    assert row.split() == [
        *f"{LINE} {LOAD} global load 4 B 32 sectors".split(),
        *("4", "88", "%"),
    ]
    assert "checked against gemv in float64 at M=300, N=200" in err


@pytest.mark.usefixtures("work")
def test_without_the_compiler_the_command_that_brings_it_comes_first(
    kernelprof, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_code, "find_toolchain", without_wheels)
    kernelprof(
        "diagnose matvec.cu",
        code=4,
        err=[
            "matvec.cu cannot be measured here: this machine has no NVIDIA GPU",
            "to predict the kernel here, without a GPU: pip install 'kernelprof[predict]'\n",
            "kernelprof profile matvec.cu -o matvec\n",
        ],
    )
    kernelprof(
        "diagnose matvec.cu --predict", code=4, err="next: pip install 'kernelprof[predict]'\n"
    )


@pytest.mark.usefixtures("work")
@pytest.mark.slow("three predictions")
def test_each_architecture_is_an_entry_of_its_own(kernelprof) -> None:
    printed = kernelprof(
        "diagnose matvec.cu --predict --arch sm_90,sm_80 --arch sm_75 --format json", code={0, 3}
    )
    found = printed.json
    jsonschema.validate(found, json.loads(schema()))
    kernels = found["kernels"]
    assert [each["predicted"]["arch"] for each in kernels] == ["sm_90", "sm_80", "sm_75"]
    assert [each["compute_capability"] for each in kernels] == ["9.0", "8.0", "7.5"]
    assert len({each["predicted"]["code"] for each in kernels}) == 3
    inconclusive = any(each["verdict"]["status"] == "inconclusive" for each in kernels)
    assert printed.code == (3 if inconclusive else 0)
    for each in kernels:
        loads = [a for a in each["predicted"]["accesses"] if a["line"] == LINE]
        found_ratios = {a["sectors"]["value"] / a["requests"]["value"] for a in loads}
        assert {32.0, 1.0} <= found_ratios  # of the matrix, and of the vector, a broadcast
        assert {a["file"] for a in loads} == {"matvec.cu"}
        assert sum(a["requests"]["value"] for a in loads if a["bytes_a_thread"] == 4) >= 2048 * 1024


@pytest.mark.usefixtures("work")
def test_sarif_has_each_access_at_its_line_by_what_it_wastes(kernelprof) -> None:
    out = kernelprof("diagnose matvec.cu --predict --format sarif", code={0, 3}).out
    run = checked(out)
    at = [
        (
            each["level"],
            each["ruleId"],
            each["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for each in run["results"]
    ]
    assert at[0] == ("warning", "uncoalesced-global-access", LINE)
    assert ("warning", "uncoalesced-global-access", LINE) in at[1:]
    assert ("none", "memory-access", LINE) in at
    assert ("none", "memory-access", LINE + 2) in at  # y[row] = sum
    messages = [each["message"]["text"] for each in run["results"] if each["level"] == "warning"]
    assert messages[0].startswith("matvec: Limited by uncoalesced-global-access.")
    assert messages[1].startswith(
        "global load, 4 bytes per thread: 32 sectors per request, 4 with adjacent addresses "
        "(88 % needless). Predicted for sm_90"
    )
    uris = {
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for each in run["results"]
    }
    assert uris == {"matvec.cu"}


def test_the_page_has_all_accesses_and_on_what_it_rests(kernelprof, work: Path) -> None:
    kernelprof("diagnose matvec.cu --predict --html page.html", code={0, 3})
    page = (work / "page.html").read_text("utf-8")
    assert "Predicted from machine code for sm_90, not measured" in page
    assert "Memory accesses by line" in page
    assert page.count("global load 4 B") >= 2
    # Each line of the table leads to the listing, where the same stands beside it.
    led = set(re.findall(r'href="#(kernel-1-line-\d+)"', page))
    assert led == {f"kernel-1-line-{LINE}", f"kernel-1-line-{LINE + 2}"}
    assert all(page.count(f' id="{each}"') == 1 for each in led)
    (row,) = re.findall(rf'<tr[^>]* id="kernel-1-line-{LINE}">.*?</tr>', page)
    assert 'class="hot"' in row
    assert "32 sectors (4), 1 sector<" in row
    assert 'style="--share: 87.5%"' in row
    assert "no samples by source line" not in page
    assert "page of Nsight Compute" not in page


@pytest.mark.slow("compiles and runs a GEMM twice")
def test_a_kernel_that_only_a_gpu_can_run_is_named_with_its_line(kernelprof, work: Path) -> None:
    name = changed(work, (LOAD, f"{LOAD}\n        sum += clock64() == 1;"))
    kernelprof(
        f"diagnose {name}",
        code=4,
        err="the kernel cannot be predicted either: the instruction 'CS2R",
    )
    kernelprof(f"diagnose {name} --predict", code=4, err=f"where: {name}:{LINE + 1}\n")


def test_a_wrong_kernel_is_not_diagnosed(kernelprof, work: Path) -> None:
    name = changed(work, ("sum += A", "sum -= A"))
    kernelprof(f"diagnose {name} --predict", code=2, err="the kernel's result is wrong")


def test_what_does_not_compile_is_said_as_the_compiler_says_it(kernelprof, work: Path) -> None:
    name = changed(work, ("float sum = 0.0f;", "float sum = 0.0f"))
    for command in (["diagnose", name], ["gate", "matvec.cu", name]):
        err = kernelprof(*command, "--predict", code=2).err
        lines = err.splitlines()
        assert "kernelprof: error: the kernel does not compile:" in lines
        assert f'  | {name}({LINE - 1}): error: expected a ";"' in lines
        assert f"  where: {name}:{LINE - 1}" in lines
        assert any(line.startswith("  next: correct the source") for line in lines)


@pytest.mark.parametrize(
    ("edit", "what", "at"),
    one_in(
        2,
        [
            (("row >= M", "row > M"), "the kernel accessed memory outside its arrays", LINE - 5),
            (("sum += A", "sum -= A"), "the kernel's result is wrong", LINE),
            (("k < N", "k < N - 1"), "the kernel's result is wrong", LINE - 1),
        ],
        why="the mutations of tests/predict are like it",
    ),
)
@pytest.mark.slow("a prediction each")
def test_a_wrong_candidate_is_a_regression_with_the_line_that_was_changed(
    kernelprof, work: Path, edit: tuple[str, str], what: str, at: int
) -> None:
    name = changed(work, edit)
    outputs = "--junit g.xml --sarif g.sarif"
    found = kernelprof.json(f"gate matvec.cu {name} --predict {outputs}", code=1)
    (kernel,) = found["kernels"]
    (finding,) = kernel["findings"]
    assert (finding["code"], finding["outcome"]) == ("wrong-result", "regression")
    assert finding["text"].startswith(what)
    assert finding["places"][0] == {"file": name, "line": at}
    assert kernel["summary"].startswith(what)
    assert f"{name}:{at}" in (work / "g.xml").read_text("utf-8")
    (result,) = json.loads((work / "g.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == at


@pytest.mark.exhaustive("half a minute of predictions")
def test_a_wrong_kernel_is_held_against_a_baseline_and_never_put_into_one(
    kernelprof, work: Path
) -> None:
    name = changed(work, ("sum += A", "sum -= A"))
    save = "baseline save --predict -o b.json"
    kernelprof(f"{save} {name}", code=2)
    kernelprof(f"{save} matvec.cu")
    held = (work / "b.json").read_text("utf-8")
    out = kernelprof(f"gate b.json {name}", code=1).out
    assert max(map(len, out.splitlines())) <= 80
    kernelprof(f"baseline update b.json {name}", code=1)
    kernelprof(
        f"baseline accept b.json {name} --reason 'a test'",
        code=2,
        err="computes a wrong result and cannot be stored in a baseline",
    )
    assert (work / "b.json").read_text("utf-8") == held


@pytest.mark.slow("two predictions, gated")
def test_two_versions_are_gated_with_the_line_in_every_output(kernelprof, work: Path) -> None:
    worse = changed(work, (LOAD, f"{LOAD}\n        y[row] = sum;"))
    outputs = "--junit g.xml --sarif g.sarif --markdown g.md"
    found = kernelprof.json(f"gate matvec.cu {worse} --predict {outputs}", code=1)
    jsonschema.validate(found, json.loads(schema("gate")))
    (kernel,) = found["kernels"]
    stores = next(
        each for each in kernel["findings"] if each["text"].startswith("global sectors: ")
    )
    assert stores["outcome"] == "regression"
    assert stores["places"][0] == {"file": worse, "line": LINE + 1}
    assert kernel["arch"] == "sm_90"
    assert not kernel["same_code"]
    assert f"{worse}:{LINE + 1}" in (work / "g.xml").read_text("utf-8")
    assert f"`{worse}:{LINE + 1}`" in (work / "g.md").read_text("utf-8")
    results = json.loads((work / "g.sarif").read_text("utf-8"))["runs"][0]["results"]
    places = [each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in results]
    assert LINE + 1 in places


@pytest.mark.exhaustive("half a minute of predictions")
def test_a_baseline_of_predictions_holds_sources_of_every_architecture(
    kernelprof, work: Path
) -> None:
    save = "baseline save matvec.cu --predict --arch sm_80,sm_90 -o b.json"
    assert kernelprof(save).out == "b.json: 2 kernels from matvec.cu\n"
    text = (work / "b.json").read_text("utf-8")
    assert [each["predicted"]["arch"] for each in json.loads(text)["kernels"]] == ["sm_80", "sm_90"]
    assert len(text.splitlines()) < 600
    shown = kernelprof("baseline show b.json").out.splitlines()
    assert shown[1].startswith("2 kernels predicted, not measured, ")

    same = changed(work, ("float sum", "// a comment\n    float sum"))
    found = kernelprof.json(f"gate b.json {same}")
    assert [each["same_code"] for each in found["kernels"]] == [True, True]
    worse = changed(work, (LOAD, f"{LOAD}\n        y[row] = sum;"))
    found = kernelprof.json(f"gate b.json {worse} --arch sm_90", code=1)
    assert [each["arch"] for each in found["kernels"]] == ["sm_90"]


@pytest.mark.exhaustive("a dozen predictions")
def test_a_baseline_of_predictions_is_updated_by_sources(kernelprof, work: Path) -> None:
    kernelprof("baseline save matvec.cu --predict -o b.json")
    worse = changed(work, (LOAD, f"{LOAD}\n        y[row] = sum;"))
    kernelprof(f"baseline update b.json {worse}", code=1)
    accept = f"baseline accept b.json {worse} --reason 'a test'"
    kernelprof(accept)
    kernelprof(f"gate b.json {worse}")
    # The other way round less is counted, and the baseline follows.
    kernelprof("baseline update b.json matvec.cu")
    held = json.loads((work / "b.json").read_text("utf-8"))
    assert [each["inputs"]["path"] for each in held["kernels"]] == ["matvec.cu"]
