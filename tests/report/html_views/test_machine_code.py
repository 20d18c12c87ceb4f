"""A source with its machine code beside it, and what was sampled and moved at each line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.analysis.verdict import diagnose
from kernelprof.report.document import Document, MachineLine, Section
from kernelprof.report.documents import source
from kernelprof.report.documents.source import LEFT_OUT, MachineListing, annotate_source, machine_of
from kernelprof.report.writers import html
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.report.document import CodeBlock

COUNTED = "shared_tile.source_counters.csv.gz"
SAMPLED = "shared_tile.samples.csv.gz"


def machine(captures: Path, name: str, **given: int) -> MachineListing:
    (code,) = read_capture(captures / "source_page" / name).code
    return MachineListing(code, code.file or "", **given)


def document(code: CodeBlock) -> Document:
    return Document("Machine code", (Section("", (code,), "k"),))


def main_of(page: str) -> str:
    return page.partition("<main")[2].partition("</main>")[0]


def beside(found: CodeBlock) -> dict[int, tuple[str, str]]:
    return {each.line: (each.text, each.more) for each in found.notes if each.text or each.more}


def test_lines_have_their_samples_and_what_a_request_takes(captures: Path) -> None:
    found = annotate_source(machine(captures, COUNTED), None, "tile.cu")
    assert found.noted == ("Samples", "Per request")
    assert beside(found) == {
        81: ("3.3 %", ""),
        82: ("21 %", "4 sectors, 1 wavefront"),
        83: ("4.7 %", "4 sectors, 1 wavefront"),
        88: ("70 %", "1 wavefront, 2 wavefronts"),
        92: ("", "4 sectors"),
    }
    assert found.numbers == (70, 75, 76, 77, 78, 81, 82, 83, 84, 88, 90, 92, 93)
    assert found.text.split("\n")[9] == "sum += As[ty][k] * Bs[k][tx];"
    assert found.chosen == 88


def test_without_a_count_of_requests_all_bytes_stand_there(captures: Path) -> None:
    found = annotate_source(machine(captures, SAMPLED), None, "tile.cu")
    assert found.noted == ("Samples", "Moved")
    assert beside(found)[82] == ("11 %", "8.59 GB, shared 8.59 GB")
    assert beside(found)[88] == ("71 %", "shared 412.3 GB")
    assert {each.waits for each in found.machine} == {""}, "states were not told apart"


def test_each_instruction_has_its_line_and_what_warps_wait_by(captures: Path) -> None:
    found = annotate_source(machine(captures, COUNTED), None, "tile.cu")
    assert len(found.machine) == 136
    store = next(each for each in found.machine if each.text == "STS [R5], R22")
    assert store == MachineLine(
        82, "82", "STS [R5], R22", "20 %", pytest.approx(0.2001, abs=1e-4), "long scoreboard"
    )


def test_of_many_instructions_those_of_the_costliest_lines_are_there(captures: Path) -> None:
    found = annotate_source(machine(captures, COUNTED, most=80), None, "tile.cu")
    assert found.machine[0] == found.machine[-1] == LEFT_OUT
    kept = [each for each in found.machine if each is not LEFT_OUT]
    assert len(kept) == 80
    assert {each.line for each in kept} == {82, 83, 88}
    told = source.section(None, None, None, "k", machine=machine(captures, COUNTED, most=80))
    assert told is not None
    text = "80 of 136 instructions are shown: those at the lines with the most samples."
    assert text in str(told.blocks)


def test_the_line_to_blame_is_chosen_where_it_has_instructions(captures: Path) -> None:
    own = machine(captures, COUNTED)
    for line, chosen in ((83, 83), (85, 88)):
        blamed = MachineListing(own.code, own.file, blamed=(own.file, line))
        assert annotate_source(blamed, None, "tile.cu").chosen == chosen


def test_without_lines_the_machine_code_stands_alone(captures: Path) -> None:
    own = machine(captures, COUNTED)
    bare = type(own.code)(
        own.code.function,
        tuple(
            type(each)(each.offset, each.text, (), each.counts) for each in own.code.instructions
        ),
    )
    section = source.section(None, None, None, "k", machine=MachineListing(bare, ""))
    assert section is not None
    assert section.title == "Machine code"
    assert "Compiled without line information" in str(section.blocks)
    page = main_of(html.write(document(annotate_source(MachineListing(bare, ""), None, ""))))
    assert 'class="panes alone"' in page
    assert '<th scope="col">Line</th>' not in page
    assert page.count("<tr") == 1 + len(bare.instructions)


def test_lines_without_the_text_of_the_source_are_no_missing_lines(captures: Path) -> None:
    own = machine(captures, COUNTED)
    code = type(own.code)(own.code.function, own.code.instructions)
    section = source.section(None, None, None, "k", machine=MachineListing(code, own.file))
    assert section is not None
    assert "Compiled without line information" not in str(section.blocks)
    assert "not the source text" in str(section.blocks)
    page = main_of(html.write(document(annotate_source(MachineListing(code, own.file), None, ""))))
    assert '<th scope="col">Line</th>' in page


def test_a_page_without_a_script_has_nothing_to_press(captures: Path) -> None:
    found = annotate_source(machine(captures, COUNTED), None, "tile.cu")
    assert "<button" in main_of(html.write(document(found)))
    assert "<button" not in (static := html.fragment(document(found)))
    assert " id=" not in static


def test_of_another_kernel_or_without_samples_and_traffic_nothing_is_known(
    captures: Path,
) -> None:
    (kernel,) = diagnose(
        read_capture(captures / "source_page/shared_tile.samples.raw.csv.gz")
    ).kernels
    folder = captures / "source_page"
    (tile,) = read_capture(folder / COUNTED).code
    found = machine_of(kernel, (tile,), 1)
    assert found is not None
    assert found.most == source.MOST_INSTRUCTIONS
    assert found.file == "/project/cuda/ladder/03_shared_tile.cu"
    many = machine_of(kernel, (tile,), 2000)
    assert many is not None
    assert many.most == source.LEAST_INSTRUCTIONS
    assert machine_of(kernel, read_capture(folder / "fixture.csv.gz").code, 1) is None
    assert machine_of(kernel, (), 1) is None
