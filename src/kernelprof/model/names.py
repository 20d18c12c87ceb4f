"""Kernel names and other untrusted text, shortened and escaped for a line of a terminal."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from kernelprof.model.instances import Instance, instance_of
from kernelprof.model.kernel_name import function_name, opening_bracket
from kernelprof.model.numbers import dimensions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.diagnosis import KernelDiagnosis
    from kernelprof.model.snapshot import KernelSnapshot

ELLIPSIS = "…"
_LONGEST_NAME = 40
"""Characters of a name with its template arguments that still fit beside others."""

_TORN = re.compile(r"(?<![<\w])unnamed>::")
"""Where ncu leaves out the start of ``ns::<unnamed>::``, it takes the bracket with it."""
_INSTANCE = re.compile(r"(\w+)(<.*>)")
_CLONE = re.compile(r"( \[clone [^\]]*\])+$")

_CAST = re.compile(r"\([A-Za-z_][A-Za-z0-9_: ]*\)(?=[-\w])")
_PLAIN_CAST = re.compile(r"\((?:bool|char|short|int|long|unsigned [a-z]+)\)(?=[-\w])")
"""A cast to a built-in type, which readers do not need; a cast to an enumeration stays."""

_ASCII = {
    "…": "...",
    "µ": "u",
    "μ": "u",
    "×": "x",
    "·": "*",
    "–": "-",
    "—": "-",
    "‑": "-",
    "≥": ">=",
    "≤": "<=",
    "≈": "~",
    "→": "->",
    "−": "-",
    "─": "-",
    "▲": "+",
    "▼": "-",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
}


def printable(text: str) -> str:
    """One line without control characters: a name from a file must not steer the terminal."""
    if text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def encodable(text: str, encoding: str) -> str:
    """The text with every glyph that the encoding lacks replaced by one that it has."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(_fallback(character, encoding) for character in text)
    return text


def short_name(name: str) -> str:
    """A demangled name without its return type and parameters: ``gemm_tiled<16, 0, 1>``."""
    text = _TORN.sub("", _CLONE.sub("", printable(name)).strip())
    body = text.removesuffix(" const")
    end = opening_bracket(body) if body.endswith(")") else 0
    if not end:
        return text
    head = text[:end].rstrip()
    return head[_after_last(" ", head) :] or text


def named_alike(kernel: str, names: Iterable[str]) -> str | None:
    """Which of some names is that of a kernel; ``None`` where none is, or several could be.

    The source page of ``ncu`` may name a kernel otherwise than its other pages, with casts in
    template arguments.
    """
    candidates = list(names)
    if kernel in candidates:
        return kernel
    for form in (_without_casts, function_name):
        alike = [name for name in candidates if form(name) == form(kernel)]
        if len(alike) == 1:
            return alike[0]
    return None


def _without_casts(name: str) -> str:
    return _CAST.sub("", short_name(name)).replace(" ", "")


def cut_middle(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """The text cut in the middle, where names differ least."""
    if len(text) <= width:
        return text
    room = width - len(ellipsis)
    if room < 2:
        return text[:width]
    tail = room // 2
    return f"{text[: room - tail]}{ellipsis}{text[-tail:]}"


def cut_end(text: str, width: int) -> str:
    """Cut a text at its end, such as code, which begins with what it is about."""
    return text if len(text) <= width else text[: width - len(ELLIPSIS)] + ELLIPSIS


def first_few(names: Iterable[str], most: int) -> str:
    """Join the first ``most`` names, and count the others: ``a, b and 3 more``."""
    every = list(names)
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")


def join_words(names: Iterable[str], last_by: str = "and") -> str:
    """Join names in a sentence: ``a``, ``a and b``, ``a, b and c``, or by ``or``."""
    *most, last = names
    return f"{', '.join(most)} {last_by} {last}" if most else last


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def labels(kernels: Sequence[KernelDiagnosis | KernelSnapshot]) -> list[tuple[str, str]]:
    """A short name a kernel and, where several share it, what tells them apart.

    A library's template, such as ``vectorized_elementwise_kernel``, is told by its operator.
    """
    shorts = [short_name(each.name) for each in kernels]
    called = [
        instance.function if instance.is_generic else short
        for short, instance in ((short, _instance(short)) for short in shorts)
    ]
    result = [(name, "") for name in called]
    for name, rows in _rows_by(called).items():
        for row, detail in zip(rows, _telling([kernels[row] for row in rows]), strict=True):
            result[row] = name, detail
    return result


def brief_labels(kernels: Sequence[KernelDiagnosis | KernelSnapshot]) -> list[tuple[str, str]]:
    """Names without namespaces and template arguments, and what tells those of one name apart.

    Template arguments stay where they do that in few characters: ``gemm_tiled<16, 0, 1>``.
    """
    result = labels(kernels)
    shorts = [short_name(each.name) for each in kernels]
    instances = [_instance(each) for each in shorts]
    for name, rows in _rows_by([each.function for each in instances]).items():
        shorter = [_without_namespaces(shorts[row]) for row in rows]
        if instances[rows[0]].is_generic:
            continue
        if len(rows) == 1:
            result[rows[0]] = name, ""
        elif max(map(len, shorter)) > _LONGEST_NAME:
            # Several kernels of one bare name are told apart by what they are instances of.
            for row, detail in zip(rows, _telling([kernels[row] for row in rows]), strict=True):
                result[row] = name, detail
        else:
            for row, full in zip(rows, shorter, strict=True):
                result[row] = full, result[row][1]
    return result


def _rows_by(names: Sequence[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return rows


def _instance(short: str) -> Instance:
    """What a kernel is an instance of, by its short name."""
    last = _without_namespaces(short)
    matched = _INSTANCE.fullmatch(last)
    return instance_of(*(matched.groups() if matched else (last, "")))


def _telling(kernels: Sequence[KernelDiagnosis | KernelSnapshot]) -> list[str]:
    """What tells kernels of one name apart: their operators, then how they were launched."""
    shorts = [short_name(each.name) for each in kernels]
    forms = [_forms(short, alone=len(set(shorts)) == 1) for short in shorts]
    if not all(forms):
        return _details(kernels)
    owners: dict[str, set[str]] = {}
    for short, own in zip(shorts, forms, strict=True):
        for form in own:
            owners.setdefault(form, set()).add(short)
    # The briefest form that the fewest other kernels have.
    texts = [min(own, key=lambda form: len(owners[form])) for own in forms]
    for rows in _rows_by(texts).values():
        for row, detail in zip(rows, _details([kernels[row] for row in rows]), strict=True):
            texts[row] = f"{texts[row]} {detail}".strip()
    return texts


def _forms(short: str, *, alone: bool) -> tuple[str, ...]:
    instance = _instance(short)
    return instance.forms if instance.is_generic or not alone else ("",)


def fit(label: tuple[str, str], width: int, ellipsis: str = ELLIPSIS) -> str:
    """A label in a column: namespaces go first, then what is plain in template arguments.

    After that the middle of the name goes; what tells the launches of one name apart stays.
    """
    name, detail = label
    room = width - len(detail) - 1 if detail else width
    if room < 5:
        room, detail = width, ""
    return f"{shorten(name, room, ellipsis)} {detail}".rstrip()


def shorten(name: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """A kernel's name in so many characters: without namespaces first, cut in the middle last."""
    for simpler in (_without_namespaces, _with_plain_arguments):
        if len(name) > width:
            name = simpler(name)
    return cut_middle(name, width, ellipsis)


def _details(kernels: Sequence[KernelDiagnosis | KernelSnapshot]) -> list[str]:
    if len(kernels) == 1:
        return [""]
    for_each = [getattr(each, "arch", None) for each in kernels]
    if len({each for each in for_each if each}) == len(kernels):
        return [str(each) for each in for_each]
    for sides in (("block",), ("grid",), ("grid", "block")):
        sizes = [[getattr(each, side) for side in sides] for each in kernels]
        prefix = "grid " if sides == ("grid",) else ""
        sizes_of = [prefix + "/".join(map(dimensions, each)) for each in sizes if all(each)]
        if len(set(sizes_of)) == len(kernels):
            return sizes_of
    ids = [getattr(each, "ids", None) for each in kernels]
    return [f"ID {printable(each[0])}" if each else f"#{n}" for n, each in enumerate(ids, start=1)]


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode("ascii")


def _fallback(character: str, encoding: str) -> str:
    for candidate in (
        character,
        _ASCII.get(character, ""),
        unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode("ascii"),
    ):
        try:
            candidate.encode(encoding)
        except UnicodeEncodeError:
            continue
        if candidate:
            return candidate
    return "?"


def _without_namespaces(name: str) -> str:
    return name[_after_last("::", name) :]


def _with_plain_arguments(name: str) -> str:
    return _PLAIN_CAST.sub("", name).replace(", ", ",")


def _after_last(mark: str, text: str) -> int:
    """Where the last mark outside of brackets ends; 0 without one, or where brackets are alone."""
    depth, start = 0, 0
    for position, character in enumerate(text):
        depth += (character in "<({[") - (character in ">)}]")
        if depth < 0:
            return 0
        is_mark = depth == 0 and text.startswith(mark, position)
        if is_mark and not text.endswith("operator", 0, position):
            start = position + len(mark)
    return start if depth == 0 else 0
