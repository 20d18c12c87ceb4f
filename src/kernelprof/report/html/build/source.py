"""The kernel's source with its specification and how it was compiled."""

from __future__ import annotations

import hashlib
import shlex
from typing import TYPE_CHECKING, Any

from kernelprof.report.html.build.lines import hottest, marked
from kernelprof.report.html.view import Fact, SourceText

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.model.manifest import Manifest, SourceFacts

_NOT_TAKEN = (
    "This capture has no samples by source line, so no line is marked: kernelprof profile "
    "--preset full takes them."
)
_NONE_HERE = "No line is marked: no sample of this kernel is at a line of this source."
_TAKEN = (
    "Warps were sampled while the kernel ran; lines with at least 1 % of its samples are marked. "
    "A warp that waits for a value is at the line that needs it, not at the one that loads it."
)
_OTHER = "The source below differs from the one that was measured (their hashes differ)."


def source(
    manifest: Manifest | None,
    text: str | None,
    hot: Mapping[int, float] | None,
) -> SourceText | None:
    """The source that a capture was made from; ``None`` where none is known.

    ``hot`` are lines with their share of the samples, ``None`` where no samples were taken.
    """
    found = None if manifest is None else manifest.source
    if found is None and text is None:
        return None
    lines = [] if text is None else text.split("\n")
    shown = marked(hot or {}, len(lines))
    notes = []
    if found is not None and text is not None and _differs(text, found.sha256):
        notes.append(_OTHER)
    if text is not None:
        notes.append(_TAKEN if shown else _NOT_TAKEN if hot is None else _NONE_HERE)
    return SourceText(
        path=found.path if found is not None else "",
        text=text,
        facts=() if found is None else tuple(_facts(found)),
        hot=shown,
        hottest=hottest(shown, lines),
        note=" ".join(notes),
    )


def _differs(text: str, digest: str) -> bool:
    """Whether a text is another than the one with this hash, whatever ends its lines."""
    unix = text.replace("\r\n", "\n")
    candidates = (text, unix, unix.replace("\n", "\r\n"))
    encoded = (each.encode("utf-8", errors="surrogateescape") for each in candidates)
    return digest not in {hashlib.sha256(each).hexdigest() for each in encoded}


def _facts(found: SourceFacts) -> Iterable[Fact]:
    yield from _specification(found.specification or {})
    if found.compiler:
        yield Fact("compiler", found.compiler)
    if found.compile_flags:
        yield Fact("compile flags", shlex.join(found.compile_flags))
    for name, value in (found.resources or {}).items():
        yield Fact(str(name).replace("_", " "), _value(value), "What the compiler gave the kernel.")
    for name in found.includes or {}:
        yield Fact("includes", str(name))


def _specification(document: Mapping[str, Any]) -> Iterable[Fact]:
    """The launch specification in the order in which people think of a launch."""
    for key in ("kernel", "grid", "block"):
        if document.get(key):
            yield Fact(key, _value(document[key]))
    launch = document.get("launch")
    if isinstance(launch, dict) and launch.get("shared_bytes") not in {None, "0", 0}:
        yield Fact("dynamic shared memory", _value(launch["shared_bytes"]), "in bytes")
    for label, names in (
        ("sizes", document.get("sizes")),
        ("defines", _nested(document, "compile", "defines")),
    ):
        if isinstance(names, dict) and names:
            yield Fact(label, ", ".join(f"{key} = {_value(each)}" for key, each in names.items()))
    arguments = document.get("arguments")
    if isinstance(arguments, list):
        for argument in arguments:
            if isinstance(argument, dict) and argument.get("name"):
                yield Fact(f"argument {argument['name']}", _argument(argument))
    for key, label in (("flops", "operations"), ("min_bytes", "fewest bytes")):
        if document.get(key):
            yield Fact(label, _value(document[key]))
    if document.get("reference"):
        yield Fact("reference", _value(document["reference"]), "What the result is checked with.")


def _argument(argument: Mapping[str, Any]) -> str:
    """``float32 (M, K), random`` or ``int32 = M``."""
    text = str(argument.get("type", ""))
    if "shape" in argument:
        text += f" ({_value(argument['shape'])})"
    if "value" in argument:
        text += f" = {_value(argument['value'])}"
    extra = [str(argument["fill"])] if argument.get("fill") else []
    extra += ["output"] if argument.get("output") is True else []
    return ", ".join([text.strip(), *extra])


def _nested(document: Mapping[str, Any], *keys: str) -> Any:
    found: Any = document
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return _list(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _list(values: Sequence[object]) -> str:
    return ", ".join(_value(each) for each in values)
