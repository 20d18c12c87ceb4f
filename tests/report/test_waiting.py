"""The lines that verdicts blame, and what warps wait for, in every format."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec import structs
from tests.support.captures import PAIRS, sampled_code

import kernelprof as kp
from kernelprof.model.waiting import BlamedLine
from kernelprof.report.documents.waiting import (
    describe_request,
    describe_waiting,
    format_location,
    stall_sentence,
    stalls_section,
)
from kernelprof.report.writers.json import schema

ROOT = Path(__file__).parents[2]
LINES = ROOT / "tests" / "captures" / "h200_lines"
BEFORE = "cuda/pairs/transpose-column-reads/before.cu"
REPORT = ROOT / "tests" / "captures" / "fixture_sections.ncu-rep"
PLACE = BlamedLine(
    file="/home/ann/src/gemm.cu",
    line=88,
    text="sum += a[row * K + k];",
    function="gemm(float *)",
    instruction="LDG.E R4, desc[UR6][R2.64]",
    offset=0x1A0,
    kind="load",
    share=0.71,
    of="waiting",
)


@pytest.fixture
def diagnosis() -> kp.Diagnosis:
    return recorded("transpose-column-reads")


def recorded(pair: str) -> kp.Diagnosis:
    """A kernel as it was recorded, with its instructions."""
    code = sampled_code(LINES / f"{pair}.json.gz")
    capture = kp.read(PAIRS / pair / "before")
    text = (ROOT / "cuda" / "pairs" / pair / "before.cu").read_text(encoding="utf-8")
    return replace(capture, code=(replace(code, whole=text),)).diagnose()


def test_an_instruction_without_a_line_is_of_a_function_that_fits_a_line() -> None:
    bare = structs.replace(PLACE, file=None, line=None)
    assert format_location(bare) == "LDG.E R4, desc[UR6][R2.64] (0x1a0 of gemm)"
    arguments = ", ".join(f"cute::C<{n}>" for n in range(30))
    long = structs.replace(bare, function=f"void cutlass::device_kernel<{arguments}>(T1::Params)")
    assert format_location(long) == "LDG.E R4, desc[UR6][R2.64] (0x1a0 of device_kernel)"


def test_roles_of_warps_are_said() -> None:
    (kernel,) = recorded("passage-search-product-by-product").kernels
    *_, roles = (str(each) for each in describe_waiting(kernel))
    assert (
        "Producer warps wait for free buffers (90 % of their time), arithmetic (6.8 %); MMA warps "
        "wait for products (72 % of their time), arithmetic (6.3 %). The MMA warps limit the "
        "kernel."
    ) in roles


def test_the_sentence() -> None:
    assert stall_sentence(PLACE) == "The load at gemm.cu:88 causes 71 % of the waiting"
    for of, said in (
        ("waiting at barriers", "The load at gemm.cu:88 causes 71 % of the waiting at barriers"),
        ("excess sectors", "The load at gemm.cu:88 causes 71 % of the excess sectors"),
        (
            "traffic of local memory",
            "The load at gemm.cu:88 causes 71 % of the traffic of local memory",
        ),
        ("idle threads", "The load at gemm.cu:88 causes 71 % of the idle threads"),
        ("FP64 instructions", "71 % of the FP64 instructions are at gemm.cu:88"),
    ):
        assert stall_sentence(structs.replace(PLACE, of=of)).startswith(said)


def test_a_helper_and_its_calls() -> None:
    inlined = structs.replace(PLACE, helper="load", called_at=(12, 14, 19))
    assert format_location(inlined) == "gemm.cu:88 in load, called at 12, 14 and 19"
    assert (
        format_location(structs.replace(inlined, called_at=(12,)))
        == "gemm.cu:88 in load, called at 12"
    )
    assert format_location(structs.replace(inlined, called_at=())) == "gemm.cu:88 in load"


def test_without_lines_the_instruction_is_named() -> None:
    bare = structs.replace(PLACE, file=None, line=None)
    assert stall_sentence(bare) == (
        "The load LDG.E R4, desc[UR6][R2.64] (0x1a0 of gemm) causes 71 % of the waiting"
    )


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({}, ""),
        ({"sectors": 32.0, "ideal": 4.0}, "32 sectors per request, 4 at best"),
        ({"sectors": 1.0, "ideal": 1.0}, "1 sector per request, 1 at best"),
        ({"wavefronts": 8.0, "ideal": 1.0}, "8 wavefronts per request, 1 at best"),
    ],
)
def test_what_a_request_takes(counts: dict[str, float], text: str) -> None:
    assert describe_request(structs.replace(PLACE, **counts)) == text


def test_text_and_markdown_name_the_line(diagnosis: kp.Diagnosis) -> None:
    text = " ".join(diagnosis.to_text().split())
    assert f"The load at {BEFORE}:49 causes 100 % of the excess sectors: b[static_cast" in text
    assert "(32 sectors per request, 4 at best)" in text
    markdown = diagnosis.to_text("markdown")
    assert f"The load at {BEFORE}:49 causes" in markdown


def test_the_page_has_a_table(diagnosis: kp.Diagnosis, tmp_path: Path) -> None:
    diagnosis.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What warps wait for" in page
    assert f"The load at {BEFORE}:49 causes" in page


def test_json_has_the_place_and_the_waiting(diagnosis: kp.Diagnosis) -> None:
    document = json.loads(diagnosis.to_text("json"))
    jsonschema.Draft202012Validator(json.loads(schema())).validate(document)
    (kernel,) = document["kernels"]
    place = kernel["place"]
    assert (place["file"], place["line"]) == (BEFORE, 49)
    assert (place["kind"], place["of"], place["share"]) == ("load", "excess sectors", 1.0)
    assert (place["sectors"], place["ideal"], place["wavefronts"]) == (32.0, 4.0, None)
    waiting = kernel["waiting"]
    assert waiting["waiting"] < waiting["samples"]
    assert waiting["lines"][0]["line"] == 49
    assert sum(each["share"] for each in waiting["lines"]) <= 1.0


def test_each_cause_has_its_own_line() -> None:
    document = json.loads(recorded("hadamard-rows-and-flat-tile").to_text("json"))
    jsonschema.Draft202012Validator(json.loads(schema())).validate(document)
    causes = document["kernels"][0]["verdict"]["causes"]
    lines = [(each["bottleneck"], each["place"]["line"]) for each in causes]
    assert lines == [("shared-bank-conflicts", 77), ("uncoalesced-global-access", 64)]
    of_launch = json.loads(recorded("channel-energies-quarter-grid").to_text("json"))
    first, second = of_launch["kernels"][0]["verdict"]["causes"]
    assert (first["place"], second["place"]["line"]) == (None, 49)


def test_json_of_a_capture_without_instructions_has_neither() -> None:
    document = json.loads(kp.diagnose(PAIRS / "transpose-column-reads" / "before").to_text("json"))
    (kernel,) = document["kernels"]
    assert (kernel["place"], kernel["waiting"]) == (None, None)


def test_sarif_stands_at_the_line(diagnosis: kp.Diagnosis) -> None:
    log = json.loads(diagnosis.to_text("sarif"))
    (result,) = log["runs"][0]["results"]
    assert _line(result["locations"][0]) == 49
    assert (
        f"The load at {BEFORE}:49 causes 100 % of the excess sectors." in result["message"]["text"]
    )
    assert [_line(each) for each in result["relatedLocations"]] == [45]


def _line(location: dict[str, Any]) -> int:
    found: int = location["physicalLocation"]["region"]["startLine"]
    return found


def test_a_report_without_lines_names_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ncu_report")
    monkeypatch.delenv("KERNELPROF_NCU", raising=False)
    monkeypatch.setenv("PATH", "")
    kernels = {each.name.partition("(")[0]: each for each in kp.diagnose(REPORT).kernels}
    place = kernels["strided"].place
    assert place is not None
    assert (place.file, place.line, place.offset) == (None, None, 0x2C0)
    assert place.instruction == "LDG.E R5, desc[UR6][R4.64]"
    assert (place.sectors, place.ideal) == (32.0, 4.0)
    shown = stalls_section(kernels["scale"])
    assert shown is not None
    assert "compile with -lineinfo" in str(shown.blocks)
