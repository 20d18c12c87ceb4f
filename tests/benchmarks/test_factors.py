"""The programs of ``cuda/factors`` and what compares their variants."""

from collections import Counter

import pytest
from benchmarks.factors import SOURCES, compare_results, list_variants, parse_part, read_header

from kernelprof.analysis.rules import load_rules

PROGRAMS = sorted(SOURCES.glob("*.cu"))
CAUSES = {
    "both pay": {2, 3},
    "one alone does not pay": {2},
    "alternatives": {2},
    "single": {1},
    "healthy": {0},
}


def test_headers_name_bottlenecks_and_macros() -> None:
    bottlenecks = load_rules()
    wrong = [
        f"{source.name}: {letter}"
        for source in PROGRAMS
        for letter, cause in read_header(source).get("causes", {}).items()
        if cause["bottleneck"] not in bottlenecks
        or not cause["fix"]
        or f"FIX_{letter}" not in source.read_text(encoding="utf-8")
    ]
    assert not wrong


def test_programs_have_the_causes_of_their_kind() -> None:
    kinds: Counter[str] = Counter()
    for source in PROGRAMS:
        header = read_header(source)
        assert len(header.get("causes", ())) in CAUSES[header["kind"]], source.name
        assert header["title"], source.name
        kinds[header["kind"]] += 1
    assert kinds == {
        "both pay": 33,
        "one alone does not pay": 17,
        "alternatives": 15,
        "healthy": 7,
        "single": 9,
    }


def test_variants_are_all_subsets_of_the_fixes() -> None:
    three = SOURCES / "stars-three-burdens.cu"
    assert [each.name.rpartition(".")[2] for each in list_variants(three)] == [
        *("0", "A", "B", "C", "AB", "AC", "BC", "ABC")
    ]
    assert [each.fixes for each in list_variants(SOURCES / "waves-axpy.cu")] == [""]


BASE = {"checksum": 1000.0, "sampled": [1.0, 3.0]}


@pytest.mark.parametrize(
    ("checksum", "sampled", "difference"),
    [
        (1000.5, [1.001, 3.0], ""),
        (1002.0, [1.0, 3.0], "checksum 1002.0 instead of 1000.0"),
        (1000.0, [1.0, 3.1], "sample 1 is 3.1 instead of 3.0"),
        (float("nan"), [1.0, 3.0], "checksum nan instead of 1000.0"),
    ],
)
def test_results_differ_beyond_the_tolerance(
    checksum: float, sampled: list[float], difference: str
) -> None:
    assert compare_results({"checksum": checksum, "sampled": sampled}, BASE, 1e-3) == difference


def test_part_counts_from_one() -> None:
    assert parse_part("2/3") == (1, 3)
