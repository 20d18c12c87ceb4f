"""The ladder's registry and its files agree, and each rung's capture says what was expected."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from kernelprof.launch.read_spec import load_spec
from kernelprof.tables import read_capture
from kernelprof.verdict import diagnose

ROOT = Path(__file__).parents[2]
LADDER = ROOT / "cuda" / "ladder"
CAPTURE = ROOT / "tests" / "captures" / "ladder" / "ladder.full.raw.csv.gz"
REGISTRY: dict[str, Any] = tomllib.loads((LADDER / "ladder.toml").read_text("utf-8"))
RUNGS: list[dict[str, Any]] = REGISTRY["rung"]
FILES = [rung["file"] for rung in RUNGS]
KEYS = {"file", "title", "after", "changes", "before", "expected", "variants"}

each_rung = pytest.mark.parametrize("rung", RUNGS, ids=FILES)


def head_of(rung: dict[str, Any]) -> tuple[str, str]:
    """The first line of the file's comment, and what follows up to the specification, unwrapped."""
    text = (LADDER / rung["file"]).read_text("utf-8")
    comment, found, _ = text.partition("// /// kernelprof\n")
    assert found
    lines = comment.splitlines()
    assert all(line == "//" or line.startswith("// ") for line in lines)
    first, *rest = (line.removeprefix("//").strip() for line in lines)
    return first, " ".join(line for line in rest if line)


def test_every_kernel_is_listed_once_in_ascending_order() -> None:
    assert sorted(path.name for path in LADDER.glob("*.cu")) == FILES
    assert [file[:2] for file in FILES] == [f"{number:02}" for number in range(1, len(FILES) + 1)]


def test_titles_differ() -> None:
    titles = [rung["title"] for rung in RUNGS]
    assert len(set(titles)) == len(titles)


@each_rung
def test_a_rung_has_the_known_keys(rung: dict[str, Any]) -> None:
    assert set(rung) <= KEYS
    assert {"file", "title", "changes"} <= set(rung)
    assert ("after" in rung) == ("before" in rung)


@each_rung
def test_a_rung_comes_after_the_one_that_it_changes(rung: dict[str, Any]) -> None:
    if rung["file"] == FILES[0]:
        assert "after" not in rung
    else:
        assert rung["after"] in FILES[: FILES.index(rung["file"])]


@each_rung
def test_the_file_says_what_the_registry_says(rung: dict[str, Any]) -> None:
    first, rest = head_of(rung)
    before = f" Before: {rung['before']}" if "before" in rung else ""
    assert first == rung["title"]
    assert rest.startswith(f"Changes: {rung['changes']}{before} Sizes: ")


@each_rung
def test_a_profile_is_said_of_the_verdict_that_was_expected(rung: dict[str, Any]) -> None:
    expected = {each["file"]: each.get("expected") for each in RUNGS}.get(rung.get("after"))
    if expected is not None:
        assert rung["before"].startswith(expected)


@each_rung
def test_the_specification_launches_what_the_file_holds(rung: dict[str, Any]) -> None:
    path = LADDER / rung["file"]
    spec = load_spec(path)
    assert spec.kernel == "sgemm_" + path.stem[3:]
    assert f"{spec.kernel}(" in path.read_text("utf-8")
    assert spec.reference == "gemm"
    assert [argument.name for argument in spec.arguments] == ["A", "B", "C", "M", "N", "K"]


@each_rung
def test_variants_sweep_defines_of_the_file(rung: dict[str, Any]) -> None:
    defines = load_spec(LADDER / rung["file"]).compile.defines
    for variant in rung.get("variants", []):
        assert set(variant) <= set(defines)
        assert {**defines, **variant} != dict(defines)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str | None]:
    found = diagnose(read_capture(CAPTURE))
    return {kernel.name: kernel.verdict.bottleneck for kernel in found.kernels}


@each_rung
def test_the_capture_of_a_rung_shows_what_was_expected(
    rung: dict[str, Any], verdicts: dict[str, str | None]
) -> None:
    bottleneck = verdicts["sgemm_" + rung["file"][3:].removesuffix(".cu")]
    if "expected" in rung:
        assert bottleneck == rung["expected"]
    else:
        assert bottleneck is not None


def test_the_capture_holds_every_rung_and_nothing_else(verdicts: dict[str, str | None]) -> None:
    assert set(verdicts) == {load_spec(LADDER / file).kernel for file in FILES}
