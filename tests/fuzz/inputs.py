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


@dataclass
class Example:
    """Files by their paths in a folder of its own, and the command that reads them there."""

    kind: str
    files: dict[str, bytes] = field(default_factory=dict)
    command: tuple[str, ...] = ()


@st.composite
def examples(draw: Draw) -> Example:
    """One of all kinds."""
    kind = draw(st.sampled_from(list(_KINDS)))
    example = Example(kind)
    _KINDS[kind](draw, example)
    return example


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


def _reading(draw: Draw, target: str) -> tuple[str, ...]:
    form = draw(st.sampled_from(("text", "json", "markdown", "sarif")))
    return draw(
        st.sampled_from(
            (
                ("diagnose", target, "--format", form),
                ("diagnose", target, "--format", form, "--top", "0"),
                ("report", target, "-o", "out.html"),
                ("compare", target, str(CHANGES / "1"), "--format", "json"),
                ("compare", str(CAPTURES / TEXTS[0]), target),
                ("baseline", "save", target, "-o", "b.json"),
                ("gate", str(CHANGES / "1"), target, "--sarif", "s", "--junit", "j"),
            )
        )
    )


def _text(draw: Draw) -> bytes:
    if draw(st.integers(0, 3)) == 0:
        cell = st.sampled_from((*GRAMMAR, *mutations.TOKENS))
        rows = draw(st.lists(st.lists(cell, min_size=1, max_size=9), min_size=1, max_size=9))
        quoted = draw(st.booleans())
        return b"\n".join(b",".join(b'"%s"' % c if quoted else c for c in row) for row in rows)
    data = _real(draw(st.sampled_from(TEXTS)))
    return mutations.of_bytes(draw, data, _real(draw(st.sampled_from(TEXTS))))


def _capture(draw: Draw, example: Example) -> None:
    names = ("x.csv", "x.txt", "x", "x.csv.gz", "x.md", "x.ipynb", "x.log")
    name = draw(st.sampled_from(names))
    example.files[name] = _text(draw)
    if name == "x.ipynb" and draw(st.booleans()):
        text = example.files[name].decode("utf-8", "replace").splitlines(keepends=True)
        notebook = {"cells": [{"outputs": [{"text": text}]}]}
        example.files[name] = mutations.of_json(draw, notebook).encode()
    example.command = _reading(draw, name)


def _report(draw: Draw, example: Example) -> None:
    """Where NVIDIA's own reader is installed, a damaged one goes through that."""
    report = _real(draw(st.sampled_from(REPORTS)))
    example.files["x.ncu-rep"] = mutations.of_bytes(draw, report, _real(TEXTS[0]))
    example.command = _reading(draw, "x.ncu-rep")


def _source_page(draw: Draw, example: Example) -> None:
    page = gzip.decompress(_real(SOURCE_PAGE))
    example.files["x.csv"] = mutations.of_bytes(draw, page, _real(TEXTS[0]))
    together = ("diagnose", str(CAPTURES / TEXTS[0]), "x.csv", "--merge", "--format", "json")
    example.command = draw(st.sampled_from((_reading(draw, "x.csv"), together)))


def _directory(draw: Draw, example: Example, place: str = "c") -> None:
    """A capture directory, its hashes right again so that more than they are looked at."""
    found = {each.name: each.read_bytes() for each in sorted(DIRECTORY.iterdir())}
    found["source.cu"] = source_of(CHANGES / "1")
    manifest = json.loads(found["manifest.json"])
    found["code.json.gz"] = _real(CODE)
    digest = hashlib.sha256(found["code.json.gz"]).hexdigest()
    manifest["runs"][0] |= {"code": "code.json.gz", "code_sha256": digest}
    found["manifest.json"] = json.dumps(manifest).encode()
    packed = ("raw.csv.gz", "lines.csv.gz", "code.json.gz")
    part = draw(st.sampled_from(("manifest.json", "source.cu", *packed)))
    if part.endswith(".gz"):
        text = mutations.of_bytes(draw, gzip.decompress(found[part]), _real(TEXTS[0]))
        found[part] = gzip.compress(text, 1, mtime=0)
        if draw(st.integers(0, 5)) == 0:
            found[part] = mutations.of_bytes(draw, found[part], text)
        run = manifest["runs"][0]
        run[f"{part.partition('.')[0]}_sha256"] = hashlib.sha256(found[part]).hexdigest()
        found["manifest.json"] = json.dumps(manifest).encode()
    elif part == "manifest.json":
        found[part] = mutations.of_json(draw, manifest).encode("utf-8", "surrogatepass")
    else:
        found[part] = mutations.of_bytes(draw, found[part], _real(TEXTS[0]))
    example.files |= {f"{place}/{name}": data for name, data in found.items()}
    history = ("history", ".", "--no-cache", "--format", "json")
    example.command = draw(st.sampled_from((_reading(draw, place), history)))


def _folder(draw: Draw, example: Example) -> None:
    _directory(draw, example, "f/c")
    for at in range(draw(st.integers(0, 3))):
        example.files[f"f/{at}.csv"] = _text(draw)
    example.files["f/b.json"] = mutations.of_json(draw, _baseline()).encode()
    example.command = draw(
        st.sampled_from(
            (
                ("diagnose", "f", "--format", "json"),
                ("report", "f", "-o", "out.html"),
                ("history", "f", "--no-cache"),
                ("history", "f", "--no-cache", "--format", "csv", "--html", "h.html"),
            )
        )
    )


def _specification(draw: Draw, example: Example) -> None:
    rung = draw(st.sampled_from(("03_shared_tile.cu", "bf16/10_cluster_multicast.cu")))
    source = (ROOT / "cuda" / "ladder" / rung).read_text()
    head, _, rest = source.partition("// /// kernelprof\n")
    block, _, body = rest.partition("// ///\n")
    toml = "\n".join(line.removeprefix("// ") for line in block.splitlines())
    toml = mutations.of_toml(draw, toml)
    way = draw(st.integers(0, 3))
    if way == 0:
        example.files["k.toml"] = toml.encode("utf-8", "replace")
        example.files["k.cu"] = body.encode()
    elif way == 1:
        data = mutations.of_bytes(draw, source.encode(), _real(TEXTS[0]))
        example.files["k.cu"] = data
    else:
        lines = "".join(f"// {line}\n" for line in toml.split("\n"))
        whole = f"{head}// /// kernelprof\n{lines}// ///\n{body}"
        example.files["k.cu"] = whole.encode("utf-8", "replace")
    commands = (("diagnose", "k.cu"), ("profile", "k.cu", "-o", "out"), ("init", "k.cu", "--force"))
    example.command = draw(st.sampled_from(commands))


def _policy(draw: Draw, example: Example) -> None:
    text = mutations.of_toml(draw, POLICY).encode("utf-8", "replace")
    if draw(st.integers(0, 3)) == 0:
        text = mutations.of_bytes(draw, text, _real(TEXTS[0]))
    example.files["p.toml"] = text
    example.command = ("gate", str(CHANGES / "1"), str(CHANGES / "2"), "--policy", "p.toml")


def _of_baseline(draw: Draw, example: Example) -> None:
    example.files["b.json"] = mutations.of_json(draw, _baseline()).encode()
    candidate = str(CHANGES / "2")
    example.command = draw(
        st.sampled_from(
            (
                ("baseline", "show", "b.json"),
                ("baseline", "update", "b.json", candidate),
                ("baseline", "accept", "b.json", candidate, "--reason", "x"),
                ("gate", "b.json", candidate, "--markdown", "m.md"),
                ("baseline", "calibrate", "b.json", candidate, str(CHANGES / "3")),
                ("compare", "b.json", candidate, "--html", "c.html"),
                ("history", ".", "--no-cache", "--html", "h.html"),
            )
        )
    )


def _of_predictions(draw: Draw, example: Example) -> None:
    changed = draw(st.sampled_from(("b.json", "c.json")))
    for name in ("b.json", "c.json"):
        example.files[name] = json.dumps(_predicted()).encode()
    example.files[changed] = mutations.of_json(draw, _predicted()).encode()
    gate = ("gate", "b.json", "c.json")
    outputs = ("--sarif", "s", "--junit", "j", "--markdown", "m")
    example.command = draw(
        st.sampled_from(
            (
                (*gate, "--format", "json"),
                (*gate, *outputs),
                (*gate, "--html", "g.html"),
                ("baseline", "show", "b.json"),
                ("baseline", "update", "b.json", "c.json"),
            )
        )
    )


def _of_diagnosis(draw: Draw, example: Example) -> None:
    made = _made("diagnose", str(CHANGES / "1"), "--format", "json")
    example.files["d.json"] = mutations.of_json(draw, made).encode()
    other = str(CHANGES / "2")
    commands = (("compare", "d.json", other), ("gate", other, "d.json"), ("gate", "d.json", other))
    example.command = draw(st.sampled_from(commands))


def _of_ladder(draw: Draw, example: Example) -> None:
    document = json.loads(LADDER.read_text(encoding="utf-8"))
    example.files["l.json"] = mutations.of_json(draw, document).encode()
    page = draw(st.sampled_from(((), ("--html", "l.html"))))
    example.command = ("ladder", "report", "l.json", *page)


_KINDS = {
    "capture": _capture,
    "report": _report,
    "source page": _source_page,
    "directory": _directory,
    "folder": _folder,
    "specification": _specification,
    "policy": _policy,
    "baseline": _of_baseline,
    "predictions": _of_predictions,
    "diagnosis": _of_diagnosis,
    "ladder": _of_ladder,
}
