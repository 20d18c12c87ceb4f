"""What the command line gets: files that are nearly captures, policies, baselines, and commands."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from tests.fuzz import mutations
from tests.support.captures import source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.fuzz.mutations import Draw

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "captures"
DIRECTORY = ROOT / "src" / "kernelprof" / "recorded" / "h200" / "03_shared_tile"
CHANGES = CAPTURES / "h200_changes" / "tile"
EXAMPLE = ROOT / "examples" / "matvec.cu"
LADDER = ROOT / "reports" / "ladder-h200.json"
TEXTS = (
    "pycuda_two_kernels.seven-metrics.raw.csv", "gemm_series.eight-metrics.raw.csv",
    "fixture_basic.raw.csv", "fixture_basic.base-units.raw.csv", "fixture_basic.details.csv",
    "fixture_basic.text.txt", "fixture_basic.log.txt", "fixture_sections.raw.csv",
    "fixture_sections.details.csv", "fixture_sections.text.txt",
)  # fmt: skip
REPORTS = ("fixture_basic.ncu-rep", "fixture_sections.ncu-rep")
SOURCE_PAGE = "source_page/shared_tile.source_counters.csv.gz"
CODE = "h200_lines/transpose-column-reads.json.gz"
GRAMMAR = (b"ID", b"Kernel Name", b"Metric Name", b"Metric Value", b"Metric Unit", b"Section Name",
    b"Block Size", b"Grid Size", b"gpu__time_duration.sum", b"sm__warps_active.avg.pct", b"0", b"1",
    b"k()", b"(1, 1, 1)", b"us", b"%", b"", b"ns", b"12.5")  # fmt: skip
POLICY = """max_slowdown = "2 %"
max_noise = "25 %"
inconclusive = "fail"
vanished = "allow"
new_bottleneck = "fail"
ignore = ["warmup_*"]
[max_increase]
instructions = "1 %"
[budget]
registers_per_thread = 128
resident_blocks = { at_least = 2 }
[[kernel]]
name = "sgemm_*"
max_slowdown = "5 %"
"""


READING = (
    "diagnose {target} --format {form}",
    "diagnose {target} --format {form} --top 0",
    "report {target} -o out.html",
    "compare {target} {old} --format json",
    "compare {raw} {target}",
    "baseline save {target} -o b.json",
    "gate {old} {target} --sarif s --junit j",
)
"""What is done with a capture; other kinds have commands of their own."""
COMMANDS = {
    "source page": (*READING, "diagnose {raw} {target} --merge --format json"),
    "directory": (*READING, "history . --no-cache --format json"),
    "folder": (
        "diagnose f --format json",
        "report f -o out.html",
        "history f --no-cache",
        "history f --no-cache --format csv --html h.html",
    ),
    "specification": ("diagnose k.cu", "profile k.cu -o out", "init k.cu --force"),
    "source": ("diagnose k.cu --predict --format {form}", "gate {example} k.cu --predict"),
    "policy": ("gate {old} {new} --policy p.toml",),
    "baseline": (
        "baseline show b.json",
        "baseline update b.json {new}",
        "baseline accept b.json {new} --reason x",
        "gate b.json {new} --markdown m.md",
        "baseline calibrate b.json {new} {other}",
        "compare b.json {new} --html c.html",
        "history . --no-cache --html h.html",
    ),
    "predictions": (
        "gate b.json c.json --format json",
        "gate b.json c.json --sarif s --junit j --markdown m",
        "gate b.json c.json --html g.html",
        "baseline show b.json",
        "baseline update b.json c.json",
    ),
    "diagnosis": ("compare d.json {new}", "gate {new} d.json", "gate d.json {new}"),
    "ladder": ("ladder report l.json", "ladder report l.json --html l.html"),
}


@dataclass
class Example:
    """Files by their paths in a folder of its own, and the command that reads them there."""

    kind: str
    files: dict[str, bytes] = field(default_factory=dict)
    command: tuple[str, ...] = ()


@st.composite
def examples(draw: Draw, kinds: Sequence[str] = ()) -> Example:
    """One of these kinds, or of all."""
    kind = draw(st.sampled_from(kinds or list(_KINDS)))
    files = _KINDS[kind](draw)
    words = draw(st.sampled_from(COMMANDS.get(kind, READING))).split()
    places = {
        "target": next(iter(files)).partition("/")[0],
        "form": draw(st.sampled_from(("text", "json", "markdown", "sarif"))),
        "raw": CAPTURES / TEXTS[0],
        "example": EXAMPLE,
        **{name: CHANGES / str(at) for at, name in enumerate(("old", "new", "other"), start=1)},
    }
    return Example(kind, files, tuple(word.format_map(places) for word in words))


@cache
def _real(name: str) -> bytes:
    return (CAPTURES / name).read_bytes()


@cache
def _made(*command: str) -> Any:
    """The JSON that a command writes."""
    from kernelprof.cli.main import main

    with redirect_stdout(io.StringIO()) as out:
        main(list(command))
    return json.loads(out.getvalue())


@cache
def _baseline() -> Any:
    from kernelprof.comparison.gate.baseline import to_text
    from kernelprof.interface.baselines import save

    return json.loads(to_text(save(CHANGES / "1")))


@cache
def _predicted() -> Any:
    """A baseline that holds the counts of a kernel, each with its line."""
    from kernelprof.comparison.gate.baseline import to_text
    from kernelprof.interface.baselines import save

    return json.loads(to_text(save(EXAMPLE, predict=True)))


def _text(draw: Draw) -> bytes:
    if draw(st.integers(0, 3)) == 0:
        cell = st.sampled_from((*GRAMMAR, *mutations.TOKENS))
        rows = draw(st.lists(st.lists(cell, min_size=1, max_size=9), min_size=1, max_size=9))
        quoted = draw(st.booleans())
        return b"\n".join(b",".join(b'"%s"' % c if quoted else c for c in row) for row in rows)
    data = _real(draw(st.sampled_from(TEXTS)))
    return mutations.of_bytes(draw, data, _real(draw(st.sampled_from(TEXTS))))


def _capture(draw: Draw) -> dict[str, bytes]:
    names = ("x.csv", "x.txt", "x", "x.csv.gz", "x.md", "x.ipynb", "x.log")
    name = draw(st.sampled_from(names))
    data = _text(draw)
    if name == "x.ipynb" and draw(st.booleans()):
        text = data.decode("utf-8", "replace").splitlines(keepends=True)
        notebook = {"cells": [{"outputs": [{"text": text}]}]}
        data = mutations.of_json(draw, notebook).encode()
    return {name: data}


def _report(draw: Draw) -> dict[str, bytes]:
    """Where NVIDIA's own reader is installed, a damaged one goes through that."""
    report = _real(draw(st.sampled_from(REPORTS)))
    return {"x.ncu-rep": mutations.of_bytes(draw, report, _real(TEXTS[0]))}


def _source_page(draw: Draw) -> dict[str, bytes]:
    page = gzip.decompress(_real(SOURCE_PAGE))
    return {"x.csv": mutations.of_bytes(draw, page, _real(TEXTS[0]))}


def _directory(draw: Draw, place: str = "c") -> dict[str, bytes]:
    """A capture directory, its hashes right again so that more than they are looked at."""
    contents = {each.name: each.read_bytes() for each in sorted(DIRECTORY.iterdir())}
    contents["source.cu"] = source_of(CHANGES / "1")
    manifest = json.loads(contents["manifest.json"])
    contents["code.json.gz"] = _real(CODE)
    digest = hashlib.sha256(contents["code.json.gz"]).hexdigest()
    manifest["runs"][0] |= {"code": "code.json.gz", "code_sha256": digest}
    contents["manifest.json"] = json.dumps(manifest).encode()
    packed = ("raw.csv.gz", "lines.csv.gz", "code.json.gz")
    part = draw(st.sampled_from(("manifest.json", "source.cu", *packed)))
    if part.endswith(".gz"):
        text = mutations.of_bytes(draw, gzip.decompress(contents[part]), _real(TEXTS[0]))
        contents[part] = gzip.compress(text, 1, mtime=0)
        if draw(st.integers(0, 5)) == 0:
            contents[part] = mutations.of_bytes(draw, contents[part], text)
        run = manifest["runs"][0]
        run[f"{part.partition('.')[0]}_sha256"] = hashlib.sha256(contents[part]).hexdigest()
        contents["manifest.json"] = json.dumps(manifest).encode()
    elif part == "manifest.json":
        contents[part] = mutations.of_json(draw, manifest).encode("utf-8", "surrogatepass")
    else:
        contents[part] = mutations.of_bytes(draw, contents[part], _real(TEXTS[0]))
    return {f"{place}/{name}": data for name, data in contents.items()}


def _folder(draw: Draw) -> dict[str, bytes]:
    files = _directory(draw, "f/c")
    for at in range(draw(st.integers(0, 3))):
        files[f"f/{at}.csv"] = _text(draw)
    return {**files, **_json_of("f/b.json", draw, _baseline())}


def _specification(draw: Draw) -> dict[str, bytes]:
    rung = draw(st.sampled_from(("03_shared_tile.cu", "bf16/10_cluster_multicast.cu")))
    source = (ROOT / "cuda" / "ladder" / rung).read_text()
    head, _, rest = source.partition("// /// kernelprof\n")
    block, _, body = rest.partition("// ///\n")
    toml = "\n".join(line.removeprefix("// ") for line in block.splitlines())
    toml = mutations.of_toml(draw, toml)
    way = draw(st.integers(0, 3))
    if way == 0:
        return {"k.toml": toml.encode("utf-8", "replace"), "k.cu": body.encode()}
    if way == 1:
        return {"k.cu": mutations.of_bytes(draw, source.encode(), _real(TEXTS[0]))}
    lines = "".join(f"// {line}\n" for line in toml.split("\n"))
    whole = f"{head}// /// kernelprof\n{lines}// ///\n{body}"
    return {"k.cu": whole.encode("utf-8", "replace")}


def _source(draw: Draw) -> dict[str, bytes]:
    """A kernel of which the specification is right."""
    head, end, body = EXAMPLE.read_bytes().rpartition(b"// ///\n")
    return {"k.cu": head + end + mutations.of_bytes(draw, body, body)}


def _policy(draw: Draw) -> dict[str, bytes]:
    text = mutations.of_toml(draw, POLICY).encode("utf-8", "replace")
    if draw(st.integers(0, 3)) == 0:
        text = mutations.of_bytes(draw, text, _real(TEXTS[0]))
    return {"p.toml": text}


def _json_of(name: str, draw: Draw, document: Any) -> dict[str, bytes]:
    return {name: mutations.of_json(draw, document).encode()}


def _predictions(draw: Draw) -> dict[str, bytes]:
    changed = draw(st.sampled_from(("b.json", "c.json")))
    both = dict.fromkeys(("b.json", "c.json"), json.dumps(_predicted()).encode())
    return {**both, **_json_of(changed, draw, _predicted())}


def _diagnosis(draw: Draw) -> dict[str, bytes]:
    return _json_of("d.json", draw, _made("diagnose", str(CHANGES / "1"), "--format", "json"))


_KINDS: dict[str, Callable[[Draw], dict[str, bytes]]] = {
    "capture": _capture,
    "report": _report,
    "source page": _source_page,
    "directory": _directory,
    "folder": _folder,
    "specification": _specification,
    "source": _source,
    "policy": _policy,
    "baseline": lambda draw: _json_of("b.json", draw, _baseline()),
    "predictions": _predictions,
    "diagnosis": _diagnosis,
    "ladder": lambda draw: _json_of("l.json", draw, json.loads(LADDER.read_text("utf-8"))),
}
