"""What a kernel executes by kind: from its machine code, or from what its counters tell apart."""

from __future__ import annotations

import gzip
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest
from tests.report.blocks import every
from tests.report.html_views.helpers import page_of
from tests.support.captures import CAPTURES, PAIRS, RECORDED

import kernelprof as kp
from kernelprof.model.sampled import from_bytes
from kernelprof.report.document import Chart, Paragraph
from kernelprof.report.figures.measured import LaunchFigures, Measured
from kernelprof.report.figures.opcode_mix import (
    MOST_UNKNOWN,
    in_words,
    kind_of,
    mix_of_counters,
    opcode_mix_figure,
)
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.model.sampled import SampledCode
    from kernelprof.report.charts.bars import Share

ROOT = CAPTURES.parents[1]
LINES = CAPTURES / "h200_lines"
SAMPLED_PAIRS = sorted(each.name.removesuffix(".json.gz") for each in LINES.glob("*.json.gz"))


@cache
def _codes(pair: str) -> tuple[SampledCode, ...]:
    return from_bytes(gzip.decompress((LINES / f"{pair}.json.gz").read_bytes()))


def _opcodes(code: SampledCode) -> dict[str, float]:
    """Parts of what was executed, by the first word of an instruction."""
    found: Counter[str] = Counter()
    for each in code.instructions:
        words = each.text.split()
        opcode = words[1] if words[0].startswith("@") else words[0]
        found[opcode.partition(".")[0]] += each.counts.executed or 0
    total = sum(found.values())
    return {opcode: executed / total for opcode, executed in found.items()}


def _parts(mix: tuple[Share, ...]) -> dict[str, float]:
    return {each.name: each.share for each in mix}


@pytest.mark.parametrize("pair", SAMPLED_PAIRS)
def test_the_machine_code_tells_all_instructions_apart(pair: str) -> None:
    for code in _codes(pair):
        mix = _parts(opcode_mix_figure(code))
        assert sum(mix.values()) == pytest.approx(1.0, abs=5e-4)
        assert mix.get("everything else", 0.0) < 0.005


def test_shares_are_those_of_the_counts() -> None:
    (code,) = _codes("dgemm-one-output-a-thread")
    opcodes, mix = _opcodes(code), _parts(opcode_mix_figure(code))
    assert opcodes["LDS"] > 0.4
    assert mix["shared load"] == pytest.approx(opcodes["LDS"])
    assert mix["FP64"] == pytest.approx(opcodes["DFMA"])
    assert next(iter(mix)) == "shared load"
    (code,) = _codes("pixel-network-on-fp32")
    opcodes, mix = _opcodes(code), _parts(opcode_mix_figure(code))
    assert opcodes["FFMA"] > 0.5
    assert mix["FP32 multiply-add"] == pytest.approx(opcodes["FFMA"])
    (code,) = _codes("weather-components-stored-one-by-one")
    opcodes, mix = _opcodes(code), _parts(opcode_mix_figure(code))
    assert mix["tensor"] == pytest.approx(opcodes["HGMMA"])
    assert mix["asynchronous copy"] == pytest.approx(opcodes["UTMALDG"])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("IMAD R4, R4, UR5, R5", "integer multiply"),
        ("IMAD.WIDE R8, R2, UR7, R4", "integer multiply"),
        ("IMAD.MOV.U32 R3, RZ, RZ, R5", "moves"),
        ("IMAD.U32 R3, RZ, RZ, UR4", "moves"),
        ("IMAD.SHL.U32 R3, R4, 0x4, RZ", "integer and logic"),
        ("@P0 IMAD.IADD R3, R4, 0x1, R5", "integer and logic"),
        ("IMAD.X R3, RZ, RZ, R5, P0", "integer and logic"),
        ("HFMA2.MMA R5, -RZ, RZ, 0, 0", "moves"),
        ("HFMA2 R5, R4, R3, R2", "FP16"),
        ("HGMMA.64x128x16.F32.BF16 R24, gdesc[UR12], R24, UP0, gsb0", "tensor"),
        ("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UP0", "tensor"),
        ("LDGSTS.E.BYPASS.128 [R3], desc[UR4][R4.64]", "asynchronous copy"),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P4, [R11+URZ+0x30000], R20", "barrier"),
        ("@!P0 BRA 0x180", "branch and control"),
        ("SHFL.DOWN PT, R5, R4, 0x10, 0x1f", "shuffle, vote"),
        ("MUFU.RCP R4, R4", "special function"),
        ("F2F.F64.F32 R4, R2", "conversion"),
        ("ULDC.64 UR6, c[0x0][0x220]", "constant load"),
        ("UIADD3 UR4, UR4, 0x1, URZ", "uniform datapath"),
        ("REDG.E.ADD.STRONG.GPU desc[UR4][R12.64], R7", "global reduction"),
    ],
)
def test_the_kind_of_an_instruction(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_samples_alone_make_no_mix() -> None:
    capture = read_capture(CAPTURES / "source_page" / "shared_tile.samples.csv.gz")
    (code,) = capture.code
    assert code.samples > 0
    assert opcode_mix_figure(code) == ()
    assert opcode_mix_figure(None) == ()


def _chart(folder: Path) -> tuple[Chart, tuple[str, ...]]:
    page = page_of(read_capture(folder))
    found = list(every(page.document.blocks))
    (chart,) = (e for e in found if isinstance(e, Chart) and e.kind == "shares:instructions")
    return chart, tuple(str(each.text) for each in found if isinstance(each, Paragraph))


def test_a_page_takes_the_mix_of_the_machine_code() -> None:
    chart, _ = _chart(CAPTURES / "source_page" / "transpose")
    shown = {row.name: row.part for row in chart.rows}
    # Of 24 instructions that each warp executes once.
    assert shown["constant load"] == pytest.approx(7 / 24, abs=1e-5)
    assert shown["integer and logic"] == pytest.approx(6 / 24, abs=1e-5)
    assert shown["integer multiply"] == pytest.approx(4 / 24, abs=1e-5)
    assert shown["uniform datapath"] == pytest.approx(2 / 24, abs=1e-5)
    assert "everything else" not in shown


def _counted(folder: Path) -> dict[str, float]:
    return _parts(mix_of_counters(LaunchFigures(Measured(read_capture(folder)), 0)))


def test_counters_tell_shared_memory_apart_in_a_tiled_product() -> None:
    mix = _counted(RECORDED / "h200" / "03_shared_tile")
    # The full set counts 46.2 % of shared loads and 2.3 % of stores in a run of the same kernel.
    assert mix["shared, local, shuffles"] == pytest.approx(0.4623 + 0.0231, abs=0.005)
    assert mix["everything else"] < 0.06
    assert sum(mix.values()) == pytest.approx(1.0, abs=0.001)


@pytest.mark.parametrize(
    "folder",
    [each for ladder in ("h200", "h200-bf16") for each in sorted((RECORDED / ladder).iterdir())],
    ids=lambda each: f"{each.parent.name}/{each.name}",
)
def test_most_instructions_of_each_rung_are_told_apart(folder: Path) -> None:
    mix = _counted(folder)
    assert mix["everything else"] < MOST_UNKNOWN
    assert sum(mix.values()) <= 1.005


PIPES = {
    "special functions": "BREV F2F F2I FCHK FLO FRND I2F MUFU POPC",
    "tensor": "HGMMA IGMMA",
    "shared, local, shuffles": "LDS STS LDL STL LDSM STSM ATOMS SHFL",
    "barriers, constants": "BAR LDC S2UR REDUX SYNCS CALL BRX",
    "uniform datapath": (
        "UBMSK UBREV UFLO UIADD3 UIMAD UISETP ULEA ULOP3 UPLOP3 UPOPC UPRMT USEL USGXT USHF"
    ),
}


@pytest.mark.parametrize("pair", SAMPLED_PAIRS)
def test_what_follows_from_pipes_is_what_the_machine_code_has(pair: str) -> None:
    folder = PAIRS / pair / "before"
    if not folder.exists():
        pytest.skip("its counters are not recorded")
    capture = read_capture(folder)
    (code, *more), launch = _codes(pair), LaunchFigures(Measured(capture), 0)
    executed = sum(each.counts.executed or 0 for each in code.instructions)
    if more or executed != pytest.approx(launch.value("instructions"), rel=0.01):
        pytest.skip("the counters are of another launch")
    opcodes, mix = _opcodes(code), _parts(mix_of_counters(launch))
    for kind, names in PIPES.items():
        if kind in mix:
            counted = sum(opcodes.get(name, 0.0) for name in names.split())
            # S2R is of either pipe, and a request that no thread makes is none.
            either = opcodes.get("S2R", 0.0) + opcodes.get("MOVM", 0.0)
            assert counted - 0.02 <= mix[kind] <= counted + either + 0.02, kind


def test_words_say_what_is_not_told_apart() -> None:
    folder = PAIRS / "markov-powers-one-by-one" / "before"
    mix = mix_of_counters(LaunchFigures(Measured(read_capture(folder)), 0))
    assert mix[-1].name == "everything else"
    assert mix[-1].share > MOST_UNKNOWN
    text = in_words(mix)
    assert text.startswith("90 % of the instructions are of unknown kind.")
    assert "products on the tensor cores" in text
    assert "shared and local memory" not in text
    # No wgmma is no word about mma.sync.
    assert all(each.share > 0 for each in mix)
    _, paragraphs = _chart(folder)
    assert text in paragraphs
    tile = RECORDED / "h200" / "03_shared_tile"
    assert in_words(mix_of_counters(LaunchFigures(Measured(read_capture(tile)), 0))) == ""


@pytest.mark.slow("a prediction")
def test_a_prediction_tells_arithmetic_apart_and_asks_for_no_capture() -> None:
    capture = kp.predict(ROOT / "cuda" / "ladder" / "03_shared_tile.cu")
    mix = mix_of_counters(LaunchFigures(Measured(capture), 0))
    assert _parts(mix)["FP32 multiply-add"] == pytest.approx(0.371, abs=0.001)
    assert _parts(mix)["everything else"] > MOST_UNKNOWN
    page = page_of(capture, prediction=capture.prediction)
    assert "cannot be told apart" not in str(page.document.blocks)
