"""Tables with more columns than a terminal has room for."""

from __future__ import annotations

from rich.cells import cell_len
from tests.report.changes import answer, slower

from kernelprof.fleet.results import FleetTable, Heading
from kernelprof.report.document import Cell, Column, Document, Span, Table
from kernelprof.report.documents import gate as gate_documents
from kernelprof.report.documents.fleet import document_of_query
from kernelprof.report.writers import Screen
from kernelprof.report.writers.terminal import write

POTENTIAL = FleetTable(
    "potential",
    "Time that could be saved, by kernel",
    (
        Heading("kernel", title="Kernel"),
        Heading("name", title="Of"),
        Heading("parameters", title="Sizes and defines"),
        Heading("gpu", title="GPU"),
        Heading("created", "date", "Newest"),
        Heading("total_ns", "ns", "Time of all launches"),
        Heading("verdict", title="Verdict"),
        Heading("confidence", title="Confidence"),
        Heading("gain", "factor", "Estimated gain"),
        Heading("saved_ns", "ns", "Could save"),
    ),
    tuple(
        (
            kernel,
            f"cuda/ladder/{kernel}.cu",
            '{"K": 4096, "M": 4096, "N": 4096}',
            "NVIDIA H200",
            "2026-11-21T13:30:03Z",
            275.9e6,
            "uncoalesced-global-access",
            "medium",
            5.2,
            222.8e6,
        )
        for kernel in ("sgemm_naive", "sgemm_shared_tile")
    ),
    store="results",
)


def test_what_could_be_saved_fits_80_columns_with_its_units() -> None:
    assert write(document_of_query(POTENTIAL), Screen(80)).split("\n")[2:5] == [
        "Kernel         Sizes          GPU             Time Verdict         Gain    Saves",
        "sgemm_naive    K=4096 …N=4096 NVIDIA H200 275.9 ms uncoale…-access 5.2x 222.8 ms",
        "sgemm_s…d_tile K=4096 …N=4096 NVIDIA H200 275.9 ms uncoale…-access 5.2x 222.8 ms",
    ]


def test_where_numbers_would_be_cut_each_row_is_a_list_of_all_that_is_known() -> None:
    lines = write(document_of_query(POTENTIAL), Screen(48)).split("\n")
    assert lines[2:6] == [
        "Kernel           sgemm_naive",
        "Of               cuda/ladder/sgemm_naive.cu",
        "Sizes and        K=4096 M=4096 N=4096",
        "defines",
    ]
    assert lines.count("Could save       222.8 ms") == 2
    assert lines.count("") == 3  # below the title, between the rows, and at the end
    assert max(map(len, lines)) <= 48


def test_no_number_and_no_unit_is_cut_at_any_width() -> None:
    """Texts give way to numbers, down to a list of each row."""
    columns = (
        Column("name", yielding=True),
        Column("what it does"),
        *(Column(f"number {at}", number=True) for at in range(4)),
    )
    numbers = ("12,345,678.9 ms", "1,234 sectors", "99.99 %", "8,192 B")
    row = tuple(map(Cell, ("kernel_with_a_long_name", "it multiplies", *numbers)))
    document = Document("narrow", (Table(columns, (row,)),))
    shapes = set()
    for width in range(48, 121):
        text = write(document, Screen(width))
        assert all(each in text for each in numbers), width
        assert all(cell_len(line) <= width for line in text.split("\n")), width
        shapes.add("number 3 " in text)
    assert shapes == {True, False}  # both a list and a table


def test_verdicts_are_broken_at_hyphens() -> None:
    columns = (Column("kernel", yielding=True), Column("time", number=True), Column("verdict"))
    verdict = (Span("shared-memory-throughput", code=True), " → ", Span("instruction-issue"))
    row = (Cell("k" * 20), Cell("10.25 ms"), Cell(verdict))
    assert write(Document("d", (Table(columns, (row,)),)), Screen(48)).split("\n")[2:-1] == [
        "kernel                 time verdict",
        "kkkkkkkkk…kkkkkkkk 10.25 ms shared-memory-",
        "                            throughput →",
        "                            instruction-issue",
    ]


def test_the_gate_s_table_says_why() -> None:
    lines = write(gate_documents.document(answer(slower("one"), slower("two")))).split("\n")
    verdict = "l1-throughput → memory-latency"
    assert lines[5:8] == [
        "kernel before after time        verdict                        outcome    why",
        f"one      2 µs  4 µs 2.0x slower {verdict} regression slower",
        f"two      2 µs  4 µs 2.0x slower {verdict} regression slower",
    ]


def test_a_query_with_many_columns_names_each_of_them() -> None:
    names = [f"column_{at}" for at in range(30)]
    answer = FleetTable("sql", "Query result", tuple(map(Heading, names)), ((7,) * 30,), store="s")
    lines = write(document_of_query(answer), Screen(80)).split("\n")
    assert lines[2:-1] == [f"{name:<12} 7" for name in names]
