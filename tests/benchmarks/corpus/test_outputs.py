"""The score as text, Markdown, JSON and the values of its page."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import jsonschema
import pytest
from benchmarks.corpus.halves import Halves
from benchmarks.corpus.pairs import Kind
from benchmarks.corpus.peers import TITLES
from benchmarks.corpus.scorecard import Mode, Scorecard, Surroundings
from kernelprof.report.corpus_json import corpus_document, render_corpus_json
from kernelprof.report.corpus_markdown import render_corpus_markdown
from kernelprof.report.corpus_text import render_corpus_text
from kernelprof.report.html.corpus import build_corpus_page, render_corpus_page
from markdown_it import MarkdownIt
from tests.benchmarks.corpus.samples import ATOMICS, BANKS, HOSTILE, card, pair, row, verdict

from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.report.html.charts import corpus as chart
from kernelprof.report.schemas import schema

if TYPE_CHECKING:
    from pathlib import Path

PUBLISHED = json.loads(schema("corpus"))
SCHEMA = jsonschema.Draft202012Validator(PUBLISHED)
HALVES = Halves(draws=200, chosen_on=(950, 1000), scored_on=(920, 1000), least=0.8, most=1.0)
RENDERERS = (
    render_corpus_text,
    render_corpus_markdown,
    render_corpus_json,
    render_corpus_page,
)


def parts(text: str) -> dict[str, list[str]]:
    """The paragraphs of the text by their first line."""
    return {part.splitlines()[0]: part.splitlines() for part in text.split("\n\n")}


# Text


def test_totals_come_first_then_what_is_wrong_then_the_table() -> None:
    found = list(parts(render_corpus_text(card())).values())
    assert found[0] == [
        "7 planted bottlenecks, 1 healthy kernel, 1 decoy; NVIDIA H200, driver",
        "580.159.04, CUDA 13.0, Nsight Compute 2025.3.1.0, 2026-11-21 to 2026-11-22",
    ]
    assert found[1] == [
        "                             full   triage    drill      ncu  fournex",
        "planted, named first          4/6      4/6      4/6      2/3      0/1",
        "  said to be at a limit       1/4      1/4      1/4        -        -",
        "first or second               5/6      5/6      5/6        -        -",
        "named at all                  5/6      5/6      5/6      3/3        -",
        "healthy, at its limit         1/1      0/1      1/1      1/1      1/1",
        "decoys not named              0/1      0/1      0/1      0/1        -",
        "inconclusive                  0/8      1/8      0/8        -        -",
        "wrong, high confidence        2/7      2/6      2/7        -      1/1",
        "right at high confidence      5/7      4/6      5/7        -      0/1",
        "right at medium               0/1      0/1      0/1        -        -",
        "gain within 1.5x              3/6      3/6      3/6        -        -",
        "  where one is promised       2/3      2/3      2/3        -        -",
        "  at a limit, if halved       1/1      1/1      1/1        -        -",
        "gain off by (median)        1.15x    1.15x    1.15x        -        -",
        "gone after its fix            2/3        -        -        -        -",
    ]
    assert found[2] == [
        "wrong: 3",
        "bait: it is not shared-bank-conflicts; the verdict is shared-bank-conflicts,",
        "  high confidence.",
        "sure: atomic-contention was planted, its fix brings 3.0x; the verdict is",
        "  low-occupancy, high confidence.",
        "atomics: atomic-contention was planted, its fix brings 4.0x; the verdict is",
        "  memory-latency, medium confidence. atomic-contention is named second.",
    ]
    assert found[3] == [
        "proves nothing: 1",
        "idle: its fix brings 1.01x, less than 1.05x.",
    ]
    assert found[4] == ["not scored: 1: unmeasured"]
    assert found[5][0].split() == ["pair", "planted", "is", "conf", "said", "fix", "after"]
    assert found[5] == [
        "pair                     planted                   is   conf   said    fix after",
        "atomics                  atomic-contention         2nd  med    3.0x   4.0x -",
        "bait                     not shared-bank-conflicts no   high      -  1.00x -",
        "banks                    shared-bank-conflicts     1st  high   6.0x   2.0x stays",
        "both                     atomic-conte…nk-conflicts 1st  high   2.0x  1.90x -",
        "full                     l1-throughput             yes  high      -      - -",
        "idle                     atomic-contention         void high   2.0x  1.01x -",
        "stream                   dram-bandwidth            1st  high   2.0x   2.5x gone",
        "sure                     atomic-contention         no   high  1.50x   3.0x -",
        "<img src=x o…m </script> atomic-contention         1st  high   2.0x   2.1x gone",
    ]


@pytest.mark.parametrize("width", [20, 80, 100, 300])
def test_the_text_fits_the_screen(width: int) -> None:
    wide = [replace(each, pair=replace(each.pair, name="n" * 90)) for each in card().rows]
    for each in (card(halves=HALVES), card(rows=tuple(wide))):
        lines = render_corpus_text(each, width).splitlines()
        assert max(map(len, lines)) <= max(width, 80)
    assert any("…" in line for line in lines) == (width < 300)


def test_nothing_wrong_and_no_peers_leave_no_headings() -> None:
    fine = Scorecard((row(pair(), verdict(ATOMICS), 2.0),))
    text = render_corpus_text(fine)
    assert "wrong: " not in text
    assert "proves nothing: " not in text
    assert "not scored" not in text
    assert "ncu" not in text
    assert text.startswith("1 planted bottleneck; an unknown GPU\n")
    assert "Nothing of the kind was found." in render_corpus_markdown(fine)


def test_a_confidence_that_nobody_gave_has_no_line() -> None:
    assert "right at low" not in render_corpus_text(card())
    low = verdict(ATOMICS, confidence=Confidence.LOW)
    assert "right at low" in render_corpus_text(Scorecard((row(pair(), low, 2.0),)))


# Markdown


def test_markdown_is_tables() -> None:
    found = render_corpus_markdown(card(halves=HALVES))
    tokens = MarkdownIt("commonmark").enable("table").parse(found)
    assert sum(each.type == "table_open" for each in tokens) == 6
    headings = [
        tokens[at + 1].content for at, each in enumerate(tokens) if each.type == "heading_open"
    ]
    assert headings == [
        "How often the verdict is right",
        "Totals",
        "Where it falls short",
        "By bottleneck",
        "One planted bottleneck",
        "Two planted bottlenecks",
        "Healthy kernels",
        "Decoys",
    ]
    assert found.endswith("\n")
    assert (
        "The planted bottleneck is named first in 4 of 6 kernels (67 %; 95 % interval 30 % to "
        "90 %)."
    ) in found
    assert (
        "| planted bottleneck named first | 4 of 6 (67 %) | 4 of 6 (67 %) | 4 of 6 (67 %) | "
        "2 of 3 (67 %) | 0 of 1 (0 %) |"
    ) in found
    assert "200 times: 920 of 1000 (92 %) named first, between 80 % and 100 %" in found
    assert "Fournex: not asked about 7 pairs." in found


def test_markdown_says_where_it_falls_short() -> None:
    found = render_corpus_markdown(card())
    section = found.partition("## Where it falls short")[2].partition("\n## ")[0]
    assert section.splitlines()[2:] == [
        "Not right (3):",
        "",
        "- `bait`: it is not shared-bank-conflicts; the verdict is shared-bank-conflicts, "
        "high confidence.",
        "- `sure`: atomic-contention was planted, its fix brings 3.0x; the verdict is "
        "low-occupancy, high confidence.",
        "- `atomics`: atomic-contention was planted, its fix brings 4.0x; the verdict is "
        "memory-latency, medium confidence. atomic-contention is named second.",
        "",
        "The gain is off by more than 1.5x (1):",
        "",
        "- `banks` (shared-bank-conflicts): 3.0x; predicted 6.0x, the fix brings 2.0x",
        "",
        "Right, and only said to be at its limit: a way out is not promised (1):",
        "",
        "- `stream` (dram-bandwidth): half of its work is said to bring 2.0x, the fix brings 2.5x",
        "",
        "The fixed kernel is still said to have what was fixed (1):",
        "",
        "- `banks` (shared-bank-conflicts)",
        "",
        "Proves nothing (1):",
        "",
        "- `idle`: its fix brings 1.01x, less than 1.05x.",
        "",
        "Not scored (1):",
        "",
        "- `unmeasured`: no capture of after as it is now",
    ]


def test_markdown_says_where_another_is_right_and_we_are_not() -> None:
    beaten = row(pair(name="banks", bottleneck=BANKS), verdict(ATOMICS), 2.0)
    found = render_corpus_markdown(card(rows=(beaten,)))
    assert "\n- `banks`: Nsight Compute's rules\n" in found


def test_a_row_of_the_markdown_has_everybody_s_answer() -> None:
    lines = render_corpus_markdown(card()).splitlines()
    assert (
        "| `banks` | shared-bank-conflicts | shared-bank-conflicts | high | 1st | 6.0x | 2.0x | "
        "stays | 1st | 1st | yes: SharedMemoryConflicts | no: low occupancy |"
    ) in lines
    assert (
        "| `full` | l1-throughput (at-limit) | l1-throughput (at-limit) | high | yes | "
        "open: inconclusive | yes | yes: CPIStall | yes: memory bound |"
    ) in lines
    assert (
        "| `both` | atomic-contention, shared-bank-conflicts | shared-bank-conflicts | high | 1st "
        "| 2.0x | 1.20x, 1.90x | - | 1st | 1st | not asked | not asked |"
    ) in lines


def test_an_undecided_decoy_is_told_apart_from_a_named_one() -> None:
    undecided = verdict(None, None, confidence=Confidence.LOW, status=Status.INCONCLUSIVE)
    decoy = row(pair(Kind.DECOY), undecided, 1.0)
    found = render_corpus_markdown(Scorecard((decoy,)))
    assert "Of the decoys that are not named, 1 are inconclusive." in found
    assert "No planted bottleneck was scored." in found


# Hostile names


def test_nothing_of_strangers_is_markup() -> None:
    machine = Surroundings(gpus=(HOSTILE,), days=(HOSTILE,))
    found = card(surroundings=machine)
    html = MarkdownIt("commonmark").enable("table").render(render_corpus_markdown(found))
    assert "<img" not in html
    assert "<em>s" not in html
    assert "<a " not in html
    assert html.count("<table>") == 6
    text = render_corpus_text(found)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    page = render_corpus_page(found)
    assert "<img src=x" not in page
    assert page.count("</script>") == 4
    SCHEMA.validate(json.loads(render_corpus_json(found)))


# JSON


def test_the_json_is_what_its_schema_says() -> None:
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    found = json.loads(render_corpus_json(card(halves=HALVES)))
    SCHEMA.validate(found)
    SCHEMA.validate(corpus_document(card()))
    SCHEMA.validate(corpus_document(Scorecard((row(pair(Kind.HEALTHY), verdict()),))))
    assert (found["schema_version"], found["kind"]) == ("1", "corpus")
    assert found["limits"] == {"least_effect": 1.05, "most_for_a_decoy": 1.05, "near": 1.5}
    assert found["halves"]["scored_on"] == {"first": 920, "planted": 1000}
    assert found["left_out"] == [{"name": "unmeasured", "why": "no capture of after as it is now"}]
    totals = found["totals"]["full"]
    assert (totals["first"], totals["first_two"], totals["planted"]) == (4, 5, 6)
    assert totals["by_confidence"]["high"] == {"right": 5, "all": 7}
    assert found["totals"]["triage"]["inconclusive"] == 1
    assert [each["totals"]["first"] for each in found["peers"]] == [2, 0]
    pairs = {each["name"]: each for each in found["pairs"]}
    banks, full = pairs["banks"], pairs["full"]
    assert (banks["before_ns"], banks["after_ns"], banks["gain"]) == (1e6, 5e5, 2.0)
    assert banks["proven"] == [BANKS]
    assert banks["verdicts"]["full"] == {
        "status": "bottleneck",
        "bottleneck": BANKS,
        "confidence": "high",
        "also": [],
        "right": True,
        "place": 1,
        "predicted": 6.0,
        "measured": 2.0,
        "error": 3.0,
        "gone": False,
    }
    assert banks["peers"]["ncu"] == {
        "said": "SharedMemoryConflicts",
        "detail": "Many conflicts.",
        "meant": [BANKS],
        "anywhere": [BANKS, ATOMICS],
        "speedup_percent": 71.5,
        "confidence": None,
        "right": True,
    }
    assert (full["after_ns"], full["gain"], full["change"]) == (None, None, "")
    assert pairs["both"]["peers"] == {"ncu": None, "fournex": None}
    assert pairs["idle"]["verdicts"]["full"]["right"] is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), "2"),
        (("surprise",), 1),
        (("pairs",), []),
        (("pairs", 0, "kind"), "couple"),
        (("pairs", 0, "verdicts", "full", "place"), 3),
        (("pairs", 0, "verdicts", "full", "status"), "none"),
        (("pairs", 0, "gain"), 0),
        (("totals", "full", "first"), 1.5),
        (("peers", 0, "name"), "another"),
        (("halves",), {}),
    ],
)
def test_the_schema_refuses_what_the_contract_does_not_have(path, value) -> None:
    found = corpus_document(card())
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(found)


def test_the_schema_names_every_word() -> None:
    definitions = PUBLISHED["$defs"]
    assert set(PUBLISHED["properties"]["totals"]["required"]) == set(Mode)
    assert set(definitions["pair"]["properties"]["kind"]["enum"]) == set(Kind)
    assert set(definitions["scored"]["properties"]["status"]["enum"]) == set(Status)
    assert set(definitions["scored"]["properties"]["confidence"]["enum"]) == set(Confidence)
    assert set(definitions["peer"]["properties"]["name"]["enum"]) == set(TITLES)


# The page


def test_the_chart_has_right_verdicts() -> None:
    page = build_corpus_page(card())
    drawn = chart.rows(page.pairs)
    points = {each["name"]: each for each in drawn if each["what"] == "point"}
    assert list(points) == ["banks", "both", "stream", page.pairs[-1].name]
    assert (points["banks"]["predicted"], points["banks"]["measured"]) == (6.0, 2.0)
    assert points["banks"]["shape"] != points["both"]["shape"]
    band = [each for each in drawn if each["what"] == "band"]
    assert [each["predicted"] for each in band] == sorted(each["predicted"] for each in band)
    low, high = band[0]["predicted"], band[-1]["predicted"]
    for each in band:
        assert low <= each["low"] <= each["measured"] <= each["high"] <= high
    assert band[1]["low"] == pytest.approx(low)
    assert band[-2]["high"] == pytest.approx(high)


def test_a_page_without_gains_has_no_chart() -> None:
    page = build_corpus_page(Scorecard((row(pair(Kind.HEALTHY), verdict()),)))
    assert not page.has_chart
    assert chart.rows(page.pairs) == []


def test_the_page_has_every_pair_and_everybody() -> None:
    page = build_corpus_page(card(halves=HALVES))
    assert page.columns == (
        "all metrics",
        "triage alone",
        "drill-down",
        "Nsight Compute's rules 2025.3.1",
        "Fournex 1.0",
    )
    assert all(len(line.cells) == len(page.columns) for line in page.totals)
    assert page.others == ("triage alone", "drill-down", "Nsight Compute's rules", "Fournex")
    assert [each.right for each in page.pairs] == [
        *("2nd", "no", "1st", "1st", "yes", "void", "1st", "no", "1st"),
    ]
    assert [name for name, _ in page.wrong] == ["bait", "sure", "atomics"]
    assert page.halves.startswith("Thresholds chosen on one random half")


# Determinism


def test_the_same_score_gives_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    path = tmp_path / "card.pickle"
    path.write_bytes(pickle.dumps(card(halves=HALVES)))
    names = [f"{each.__module__}:{each.__name__}" for each in RENDERERS]
    code = (
        "import hashlib, importlib, pickle, sys\n"
        "card = pickle.load(open(sys.argv[1], 'rb'))\n"
        "for name in sys.argv[2:]:\n"
        "    module, _, function = name.partition(':')\n"
        "    text = getattr(importlib.import_module(module), function)(card)\n"
        "    print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, str(path), *names],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
