"""The score as text, Markdown, JSON and the values of its page."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from benchmarks.corpus.document import document
from benchmarks.corpus.halves import Halves
from benchmarks.corpus.pairs import Kind
from benchmarks.corpus.peers import TITLES
from benchmarks.corpus.results import results, to_json
from benchmarks.corpus.scorecard import Mode, Scorecard, Surroundings
from markdown_it import MarkdownIt
from tests.benchmarks.corpus.samples import ATOMICS, BANKS, HOSTILE, card, pair, row, verdict

from benchmarks.corpus import chart
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.report.charts import draw
from kernelprof.report.document import Chart, Section, Table, plain
from kernelprof.report.writers import html, markdown, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelprof.report.document import Block

SCHEMA_FILE = Path(__file__).parents[3] / "benchmarks" / "corpus" / "schema.json"
PUBLISHED = json.loads(SCHEMA_FILE.read_text("utf-8"))
SCHEMA = jsonschema.Draft202012Validator(PUBLISHED)
HALVES = Halves(draws=200, chosen_on=(950, 1000), scored_on=(920, 1000), least=0.8, most=1.0)


def as_text(found: Scorecard, width: int = 80) -> str:
    return terminal.write(document(found), terminal.Screen(width))


def as_markdown(found: Scorecard) -> str:
    return markdown.write(document(found), largest=None, level=1)


def as_page(found: Scorecard) -> str:
    return html.write(document(found))


RENDERERS = (as_text, as_markdown, to_json, as_page)


def section(found: Scorecard, title: str) -> Section:
    return next(
        each
        for each in document(found).blocks
        if isinstance(each, Section) and plain(each.title) == title
    )


def texts(table: Block) -> list[list[str]]:
    assert isinstance(table, Table)
    return [[plain(cell.text) for cell in row] for row in table.rows]


def drawn(found: Scorecard) -> Iterator[chart.Corner | chart.Point]:
    """The rows of the chart."""
    (figure,) = section(found, "Predicted and measured gains").blocks
    assert isinstance(figure, Chart)
    yield from figure.rows


# Text


def test_the_answer_comes_first_then_totals_then_what_is_wrong() -> None:
    lines = as_text(card()).splitlines()
    assert lines[0] == "How often the verdict is right"
    words = " ".join(" ".join(lines).split())
    assert (
        "The planted bottleneck is named first in 4 of 6 kernels (67 %; 95 % interval 30 % to "
        "90 %). The corpus: 7 planted bottlenecks, 1 healthy kernel, 1 decoy. Measured on NVIDIA "
        "H200, driver 580.159.04, CUDA 13.0, Nsight Compute 2025.3.1.0, 2026-11-21 to 2026-11-22."
    ) in words
    order = ("Totals", "Where it falls short", "By bottleneck", "One planted bottleneck", "Decoys")
    at = [next(n for n, line in enumerate(lines) if line.startswith(each)) for each in order]
    assert at == sorted(at)
    assert "Predicted and measured gains" not in words  # a chart


def test_totals_have_a_line_a_figure_and_a_column_an_analyzer() -> None:
    table = section(card(), "Totals").blocks[0]
    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == [
        *("of the kernels", "all metrics", "triage alone", "drill-down"),
        *("Nsight Compute's rules 2025.3.1", "Fournex 1.0"),
    ]
    found = {row[0]: row[1:] for row in texts(table)}
    half, third = "3 of 6 (50 %)", "2 of 3 (67 %)"
    assert found == {
        "planted bottleneck named first": [*["4 of 6 (67 %)"] * 3, third, "0 of 1 (0 %)"],
        "of those, said to be at its limit": [*["1 of 4 (25 %)"] * 3, "-", "-"],
        "planted bottleneck named first or second": [*["5 of 6 (83 %)"] * 3, "-", "-"],
        "planted bottleneck named at all, among however many": [
            *(*["5 of 6 (83 %)"] * 3, "3 of 3 (100 %)", "-")
        ],
        "healthy kernel said to be at its limit": [
            *("1 of 1 (100 %)", "0 of 1 (0 %)", *["1 of 1 (100 %)"] * 3)
        ],
        "decoy that is not named": [*["0 of 1 (0 %)"] * 4, "-"],
        "inconclusive": ["0 of 8 (0 %)", "1 of 8 (12 %)", "0 of 8 (0 %)", "-", "-"],
        "wrong with high confidence": [
            *("2 of 7 (29 %)", "2 of 6 (33 %)", "2 of 7 (29 %)", "-", "1 of 1 (100 %)")
        ],
        "right where the confidence is high": [
            *("5 of 7 (71 %)", "4 of 6 (67 %)", "5 of 7 (71 %)", "-", "0 of 1 (0 %)")
        ],
        "right where the confidence is medium": [*["0 of 1 (0 %)"] * 3, "-", "-"],
        "predicted gain within 1.5x of the measured one": [*[half] * 3, "-", "-"],
        "of those where a gain is promised": [*[third] * 3, "-", "-"],
        "of those, measured gain within the interval of the estimate": [
            *["0 of 3 (0 %)"] * 3,
            "-",
            "-",
        ],
        "at a limit, with half of the unit's work": [*["1 of 1 (100 %)"] * 3, "-", "-"],
        "median factor between predicted and measured gain": [*["1.15x"] * 3, "-", "-"],
        "gone after its fix": [third, *["-"] * 4],
    }


@pytest.mark.parametrize("width", [60, 80, 100, 300])
def test_the_text_fits_the_screen(width: int) -> None:
    wide = [replace(each, pair=replace(each.pair, name="n" * 60)) for each in card().rows]
    for each in (card(halves=HALVES), card(rows=tuple(wide))):
        assert max(map(len, as_text(each, width).splitlines())) <= width
    assert ("…" in as_text(card(rows=tuple(wide)), width)) == (width < 300)


def test_nothing_wrong_and_no_peers_leave_no_headings() -> None:
    fine = Scorecard((row(pair(), verdict(ATOMICS), 2.0),))
    text = as_text(fine)
    for absent in ("Not right", "Proves nothing", "Not scored", "ncu", "Nsight"):
        assert absent not in text
    assert "1 planted bottleneck. Measured on an unknown GPU." in " ".join(text.split())
    assert "Nothing of the kind was found." in as_markdown(fine)


def test_a_confidence_that_nobody_gave_has_no_line() -> None:
    assert "right where the confidence is low" not in as_markdown(card())
    low = verdict(ATOMICS, confidence=Confidence.LOW)
    assert "right where the confidence is low" in as_markdown(Scorecard((row(pair(), low, 2.0),)))


# Markdown


def test_markdown_is_tables() -> None:
    found = as_markdown(card(halves=HALVES))
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
    found = as_markdown(card())
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
        "Right, and only said to be at its limit: no way out is promised (1):",
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
    found = as_markdown(card(rows=(beaten,)))
    assert "\n- `banks`: Nsight Compute's rules\n" in found


def test_a_row_of_the_markdown_has_everybody_s_answer() -> None:
    lines = as_markdown(card()).splitlines()
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
    found = as_markdown(Scorecard((decoy,)))
    assert "Of the decoys that are not named, 1 are inconclusive." in found
    assert "No planted bottleneck was scored." in found


# Hostile names


def test_nothing_of_strangers_is_markup() -> None:
    machine = Surroundings(gpus=(HOSTILE,), days=(HOSTILE,))
    found = card(surroundings=machine)
    html = MarkdownIt("commonmark").enable("table").render(as_markdown(found))
    assert "<img" not in html
    assert "<em>s" not in html
    assert "<a " not in html
    assert html.count("<table>") == 6
    text = as_text(found)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    page = as_page(found)
    assert "<img src=x" not in page
    assert page.count("</script>") == 3
    SCHEMA.validate(json.loads(to_json(found)))


# JSON


def test_the_json_is_what_its_schema_says() -> None:
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    found = json.loads(to_json(card(halves=HALVES)))
    SCHEMA.validate(found)
    SCHEMA.validate(results(card()))
    SCHEMA.validate(results(Scorecard((row(pair(Kind.HEALTHY), verdict()),))))
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
    found = results(card())
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
    rows = list(drawn(card()))
    points = {each.name: each for each in rows if isinstance(each, chart.Point)}
    assert list(points) == ["banks", "both", "stream", HOSTILE]
    assert (points["banks"].predicted, points["banks"].measured) == (6.0, 2.0)
    assert points["banks"].look != points["both"].look
    band = [each for each in rows if isinstance(each, chart.Corner)]
    assert [each.predicted for each in band] == sorted(each.predicted for each in band)
    low, high = band[0].predicted, band[-1].predicted
    for each in band:
        assert low <= each.low <= each.measured <= each.high <= high
    assert band[1].low == pytest.approx(low)
    assert band[-2].high == pytest.approx(high)
    found = draw(chart.NAME, rows)
    assert found.count('class="symbol"') == len(points)
    assert found.count('class="dashed"') == len(band) - 1


def test_a_page_without_gains_has_no_chart() -> None:
    found = document(Scorecard((row(pair(Kind.HEALTHY), verdict()),)))
    titles = [plain(each.title) for each in found.blocks if isinstance(each, Section)]
    assert "Predicted and measured gains" not in titles
    assert "data-chart=" not in html.write(found)


def test_the_page_has_every_pair_and_everybody() -> None:
    found = card(halves=HALVES)
    kinds = ("One planted bottleneck", "Two planted bottlenecks", "Healthy kernels", "Decoys")
    rows = [line for kind in kinds for line in texts(section(found, kind).blocks[0])]
    assert {line[0]: line[4] for line in rows} == {
        **{"atomics": "2nd", "banks": "1st", "idle": "void", "stream": "1st", "sure": "no"},
        **{HOSTILE: "1st", "both": "1st", "full": "yes", "bait": "no"},
    }
    page = as_page(found)
    assert "Thresholds chosen on one random half" in page
    assert "Predicted and measured gains" in page
    assert json.loads(document(found).data) == results(found)


# Determinism


@pytest.mark.slow("processes that score")
def test_the_same_score_gives_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    path = tmp_path / "card.pickle"
    path.write_bytes(pickle.dumps(card(halves=HALVES)))
    code = (
        "import hashlib, pickle, sys\n"
        "from tests.benchmarks.corpus.test_outputs import RENDERERS\n"
        "card = pickle.load(open(sys.argv[1], 'rb'))\n"
        "for write in RENDERERS:\n"
        "    print(hashlib.sha256(write(card).encode()).hexdigest())\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
