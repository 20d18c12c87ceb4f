"""Every block in the terminal and in Markdown, and the registry of formats."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from kernelprof.errors import UsageError
from kernelprof.report import writers
from kernelprof.report.document import (
    Block,
    Bullets,
    Cell,
    Chart,
    CodeBlock,
    Column,
    Document,
    Fact,
    FactList,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
    cut,
    plain,
    spans,
)
from kernelprof.report.writers import Screen, markdown, terminal

TEMPLATES = Path(writers.__file__).parents[1] / "templates"
PAGE_TEMPLATES = ("blocks.html", "listing.html")

ANSWER = Section(
    (Span("f<int>", code=True),),
    (Paragraph("Confidence: high."), Paragraph("More.")),
    tone=Tone.BAD,
    layout=Layout.HERO,
    summary="limited",
)
DOCUMENT = Document(
    "kernelprof compare",
    (
        ANSWER,
        Note("one"),
        Note(Span("two `x`"), warning=True),
        Bullets(("use `__syncthreads()`", "- b")),
        FactList((Fact("Counters", ("worse", "better")), Fact("A longer label", ("z",)))),
        Table(
            (Column("kernel", yielding=True), Column("time", number=True), Column("remarks")),
            ((Cell(Span("f|g", code=True)), Cell("1 ms"), Cell("a long remark " * 5)),),
        ),
        Chart("bars", ({"a": 1},), "nothing here"),
        CodeBlock("a\n\tb\nc", language="cuda", shares=((2, 0.4),), numbered=True),
        Section(
            "Kernel", (Paragraph("x"), CodeBlock("+a\n-b", "diff")), folded=True, summary="faster"
        ),
        Section("Plain", (Section("Inner", (Paragraph(("see ", Span("there", target="k"))),)),)),
    ),
    origin="a.csv",
)

TERMINAL = """\
a.csv
f<int>: limited Confidence: high.
More.
note: one
warning: two `x`

- use `__syncthreads()`
- - b

Counters       - worse
               - better
A longer label z

kernel time remarks
f|g    1 ms a long remark a long remark a long remark a long
            remark a long remark

         1  a
 40.0 %  2      b
         3  c

Kernel ─────────────────────────────────────────────────────
faster
x
+a
-b

Plain ──────────────────────────────────────────────────────

Inner
see there
"""

MARKDOWN = """\
### kernelprof compare: `a.csv`

**`f<int>`: limited** Confidence: high.

More.

- Note: one
- Warning: two &#96;x&#96;

- use `__syncthreads()`
- &#45; b

**Counters:**

- worse
- better

**A longer label:** z

| kernel | time | remarks |
| :-- | --: | :-- |
| <code>f&#124;g</code> | 1 ms | a long remark a long remark a long remark a long remark a long \
remark  |

```cuda
a
    b
c
```

<details><summary>Kernel: faster</summary>

x

```diff
+a
-b
```

</details>

#### Plain

##### Inner

see [there](#k)
"""


def test_a_kernel_of_which_nothing_but_its_verdict_is_known_is_printed():
    verdict = Section("f", (Bullets(()), FactList(())), layout=Layout.DENSE, summary="limited")
    assert terminal.write(Document("kernelprof", (verdict, Section("g", (Bullets(()),))))) == (
        "kernelprof\n\nf " + "─" * 78 + "\nlimited\n"
    )


def test_every_kind_of_block_has_a_macro_in_each_template_and_is_shown_here() -> None:
    shown = {type(each) for each in DOCUMENT.blocks}
    for kind in get_args(Block):
        macro = f"{{% macro {kind.__name__.lower()}("
        assert macro in TEMPLATES.joinpath("report.md").read_text("utf-8") or kind is Chart
        pages = [TEMPLATES.joinpath(each).read_text("utf-8") for each in PAGE_TEMPLATES]
        assert any(macro in each for each in pages)
        assert kind in shown | {Paragraph}


def test_every_block_in_the_terminal() -> None:
    assert terminal.write(DOCUMENT, Screen(60)) == TERMINAL


def test_every_block_in_markdown() -> None:
    assert markdown.write(DOCUMENT) == MARKDOWN


@pytest.mark.parametrize("width", [10, 48, 60, 80, 100, 200])
def test_nothing_is_wider_than_the_screen(width: int) -> None:
    for line in terminal.write(DOCUMENT, Screen(width)).splitlines():
        assert len(line) <= max(width, terminal.NARROWEST)


def test_tones_are_colours_where_they_are_wished() -> None:
    colored = terminal.write(DOCUMENT, Screen(60, color=True))
    assert "\x1b[1;31mf<int>: limited\x1b[0m" in colored
    assert "\x1b[33mwarning: two `x`\x1b[0m" in colored
    assert "\x1b" not in terminal.write(DOCUMENT, Screen(60))


def test_columns_yield_before_numbers_do() -> None:
    columns = (
        Column("name", yielding=True),
        Column("launches", brief="n", number=True, optional=True),
        Column("time", number=True),
    )
    name = (Span("space::kernel<(int)16, 32>(float)", code=True), Span(" 32x32", code=True))
    row = (Cell(name), Cell("20,000"), Cell("1,234.5 ms"))
    table = Document("t", (Table(columns, (row, row)),))
    lines = terminal.write(table, Screen(60)).splitlines()
    assert lines[2].split() == ["name", "n", "time"]
    assert all(line.endswith("1,234.5 ms") and "32x32" in line for line in lines[3:])
    wide = terminal.write(table, Screen(120)).splitlines()
    assert "launches" in wide[2]
    assert "space::kernel<(int)16, 32>(float) 32x32" in wide[3]


def test_strangers_steer_neither_terminal_nor_markdown() -> None:
    evil = Span("x\x1b[2J\n# <script>**b**</script> [a](http://b) @all")
    blocks = (Paragraph(evil), Section((evil,), (Paragraph("y"),), folded=True))
    document = Document("t", blocks)
    assert "\x1b" not in terminal.write(document, Screen(color=False))
    assert "\x1b[2J" not in terminal.write(document, Screen(color=True))
    text = markdown.write(document)
    head, summary = text.split("<details><summary>")
    for mark in ("<script", "**b**", "](http", "@all", "\n# "):
        assert mark not in head.removeprefix("### t\n")
    assert "<script" not in summary


def test_a_comment_loses_rows_then_code_then_sections_and_says_so() -> None:
    rows = tuple((Cell(f"row {number}"),) for number in range(1_000))
    table = Table((Column("row"),), rows)
    section = Section("S", (Paragraph("kept"), CodeBlock("+line\n" * 900, "diff")), folded=True)
    text = markdown.write(Document("t", (Paragraph("head"), table, section)), largest=5_000)
    assert len(text.encode()) <= 5_000
    assert text.startswith("### t\n\nhead\n\n| row |")
    assert "Left out for lack of room: 750 rows." in text
    assert "kept\n\nThis text is left out for lack of room.\n" in text
    many = tuple(Section(str(n), (Paragraph("word " * 100),), folded=True) for n in range(20))
    text = markdown.write(Document("t", many), largest=5_000)
    assert len(text.encode()) <= 5_000
    shown = text.count("<details>")
    assert 0 < shown < 20
    assert text.endswith(
        f"Left out for lack of room: {20 - shown} sections. `--format json` has all.\n"
    )
    assert markdown.write(Document("t", many), largest=None).count("<details>") == 20


def test_spans_and_what_is_cut() -> None:
    assert spans(("use `a` now ", Span("`b`"))) == (
        Span("use "),
        Span("a", code=True),
        Span(" now "),
        Span("`b`"),
    )
    label = (Span("outer::inner<1, 2>", code=True), Span(" 16x16"))
    assert plain(cut(label, 40)) == "outer::inner<1, 2> 16x16"
    assert plain(cut(label, 18)) == "inner<1, 2> 16x16"
    assert plain(cut(label, 14)) == "inne…,2> 16x16"


def test_formats_are_found_by_being_there() -> None:
    assert set(writers.offered_formats("gate")) >= {"text", "json", "junit", "markdown", "sarif"}
    assert writers.offered_formats("gate")[0] == "text"
    assert "csv" in writers.offered_formats("history")
    assert "csv" not in writers.offered_formats("gate")
    assert writers.find("diagnosis", "text").suffix == ".txt"


@pytest.mark.parametrize(
    ("kind", "name"),
    [("comparison", "sarif"), ("history", "junit"), ("gate", "csv"), ("gate", "xml"), ("gate", "")],
)
def test_a_format_that_is_not_offered_is_refused_with_those_that_are(kind: str, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        writers.find(kind, name)
    assert repr(name) in caught.value.what
    hint = caught.value.hint
    assert hint is not None
    for each in ("text", "json", "markdown"):
        assert each in hint
    if name:
        assert name not in hint


def test_looking_at_all_formats_loads_nothing_heavy(cli_environment) -> None:
    code = (
        "import sys; from kernelprof.report import writers; writers.offered_formats('gate'); "
        "print({'rich', 'jinja2', 'pandas', 'scipy', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=cli_environment,
        check=True,
    )
    assert done.stdout == "set()\n"


def test_a_long_remark_wraps_and_leaves_the_name_its_room() -> None:
    columns = (Column("kernel", yielding=True), Column("time", number=True), Column("remarks"))
    row = (Cell(Span("a_kernel_of_thirty_characters_x")), Cell("1 ms"), Cell("words " * 40))
    lines = terminal.write(Document("t", (Table(columns, (row,)),)), Screen(80)).splitlines()
    assert lines[2].split() == ["kernel", "time", "remarks"]
    assert lines[3].startswith("a_kernel_of_thirty_characters_x 1 ms words words")
    assert len(lines) > 6
    assert max(map(len, lines)) <= 80
