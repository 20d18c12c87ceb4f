"""Bytes, JSON and TOML that are nearly right, and some that never were."""

from __future__ import annotations

import copy
import gzip
import json
import re
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[st.SearchStrategy[Any]], Any]

TOKENS = (
    b'"',
    b'""',
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b",",
    b";",
    b"\t",
    b"(!) n/a",
    b"nan",
    b"-1",
    b"1e999",
    b"9" * 30,
    b"9" * 5_000,
    b"0x10",
    b"1,234,567",
    b"1.234,5",
    b"(1, 2, 3)",
    b"(99999999999, 1, 1)",
    b"(-1, 0, 0)",
    b"==PROF== ",
    b"==ERROR== x\n",
    b"Section: ",
    b"-" * 40,
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    "\u202e\u0000µ".encode(),
    b"\x1b[2J",
    b"Kernel Name",
    b'"ID"',
    b"[" * 3_000,
    b"{" * 3_000,
    b"a." * 3_000,
    b"%",
    b"Gbyte/s",
    b"1e400",
    b"x" * 70_000,
    b"\n" * 5_000,
    b"'''",
    b"\\",
    b"</script>",
    b"../../etc/passwd",
    b"/dev/zero",
)

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53,
    2**63,
    2**64,
    10**30,
    10**299,
    -(10**18),
    0.5,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    float("inf"),
    float("nan"),
    "",
    " ",
    "0",
    "nan",
    "\0",
    "a\0b",
    "\ud800",
    "/dev/zero",
    "..",
    "../x",
    "a" * 5_000,
    "\u202e\x1b[2J",
    "1",
    "2",
    "2026-11-22T00:00:00Z",
    "9999-12-31T23:59:59-23:59",
    "bottleneck",
    "inconclusive",
    [],
    {},
    [[]],
    [0],
    [None],
    ["a"],
    {"a": 1},
    {"": {}},
    [1e308] * 20,
    [-1, 0, 1],
    [0, 0, 0],
    [2**40, 1, 1],
)

NUMBERS = (*(each for each in VALUES if isinstance(each, int | float)), 1.5, 3, 1e-9, 1e15, 97.0)

TOML_VALUES = (
    "1",
    "-1",
    "0",
    "1e999",
    "nan",
    "inf",
    "9" * 18,
    "9" * 30,
    "9" * 5_000,
    "0.1",
    '""',
    '"2 %"',
    '"x"',
    '"-5 %"',
    '"nan %"',
    '"1e999 %"',
    '"' + "(" * 2_000 + '"',
    '"N"',
    '"1/0"',
    '"2**64"',
    '"9**9**9"',
    '"a" * 9',
    "true",
    "[]",
    "{}",
    "[[]]",
    "[1, 2]",
    '["a", 1]',
    "[" * 2_000,
    "{a=" * 500,
    "1979-05-27",
    "07:32:00",
    '"\\ud800"',
    '"\\u0000"',
    "'''\nx\n'''",
    '"' + "x" * 70_000 + '"',
    "{ at_least = nan }",
    "[1000000, 1000000, 1000000]",
    '["M", "N", "K", "M"]',
    '"/dev/zero"',
    '"os:system"',
    "0x7fffffffffffffff",
)


def of_bytes(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Some bytes, changed a few times: flipped, cut, spliced, repeated, in another encoding."""
    for _ in range(draw(st.integers(1, 4))):
        data = draw(st.sampled_from(_CHANGES))(draw, data, other)[: 4 << 20]
    return data


def _place(draw: Draw, data: bytes) -> int:
    return int(draw(st.integers(0, len(data))))


def _flip(draw: Draw, data: bytes, _: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 8)) if data else 0):
        changed[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(changed)


def _cut(draw: Draw, data: bytes, _: bytes) -> bytes:
    start, end = sorted((_place(draw, data), _place(draw, data)))
    return draw(st.sampled_from((data[:start], data[start:], data[:start] + data[end:])))


def _splice(draw: Draw, data: bytes, other: bytes) -> bytes:
    start, end = sorted((_place(draw, other), _place(draw, other)))
    at = _place(draw, data)
    return data[:at] + other[start:end] + data[at:]


def _insert(draw: Draw, data: bytes, _: bytes) -> bytes:
    at = _place(draw, data)
    return data[:at] + draw(st.sampled_from(TOKENS)) + data[at:]


def _repeat(draw: Draw, data: bytes, _: bytes) -> bytes:
    start, end = sorted((_place(draw, data), _place(draw, data)))
    return data[:start] + data[start:end] * draw(st.integers(2, 20)) + data[end:]


def _cells(draw: Draw, data: bytes, _: bytes) -> bytes:
    """Cells of CSV change places, or become something else."""
    cells = re.split(rb'(",")', data)
    for _ in range(draw(st.integers(1, 6))):
        one, two = (draw(st.integers(0, len(cells) - 1)) // 2 * 2 for _ in range(2))
        if draw(st.booleans()):
            cells[one], cells[two] = cells[two], cells[one]
        else:
            cells[one] = draw(st.sampled_from(TOKENS))
    return b"".join(cells)


def _lines(draw: Draw, data: bytes, _: bytes) -> bytes:
    """Lines change places, come twice or are gone."""
    lines = data.split(b"\n")
    for _ in range(draw(st.integers(1, 6))):
        one, two = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        lines[one] = draw(st.sampled_from((lines[two], b"", lines[one] * 2, lines[one][1:])))
    return b"\n".join(lines)


def _written(draw: Draw, data: bytes, _: bytes) -> bytes:
    """In another encoding, with other line ends, compressed, or compressed and cut."""
    text = data.decode("utf-8", "replace")
    way = draw(st.integers(0, 7))
    if way < 3:
        return text.encode(("utf-16", "utf-16-le", "latin-1")[way], "replace")
    if way == 3:
        return data.replace(b"\n", b"\r")
    if way == 4:
        return data.replace(b'"', b"")
    if way == 5:
        return data.replace(b",", b";")
    packed = gzip.compress(data, 1, mtime=0)
    return packed if way == 6 else packed[: _place(draw, packed)]


_CHANGES = (_flip, _cut, _splice, _insert, _insert, _repeat, _cells, _cells, _lines, _written)


def of_json(draw: Draw, document: Any) -> str:
    """A document with some of its values replaced, gone, or written so that JSON has them not."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        place, key = _inside(draw, document)
        if place is None:
            continue
        if draw(st.integers(0, 4)) == 0:
            del place[key]
        elif isinstance(place, list) and draw(st.integers(0, 3)) == 0:
            place *= draw(st.integers(2, 30))
        else:
            values = NUMBERS if isinstance(place[key], int | float) else VALUES
            place[key] = copy.deepcopy(draw(st.sampled_from(values)))
    text = json.dumps(document)
    match draw(st.integers(0, 23)):
        case 0:
            return text.replace(": 0", ": " + "9" * 5_000, 1)
        case 1:
            return text[: draw(st.integers(0, len(text)))]
        case 2:
            return text.replace("[", "[" * 5_000, 1)
        case 3:
            return text.replace("1", "1e999", draw(st.integers(1, 9)))
    return text


def _inside(draw: Draw, document: Any) -> tuple[Any, Any]:
    """A table or a list somewhere in a document, and a key of it."""
    place, key = None, None
    while isinstance(document, dict | list) and document:
        place = document
        keys = list(document) if isinstance(document, dict) else range(len(document))
        key = draw(st.sampled_from(keys))
        document = document[key]
        if draw(st.integers(0, 3)) == 0:
            break
    return place, key


def of_toml(draw: Draw, text: str) -> str:
    """A text whose values, keys and lines are changed."""
    lines = text.split("\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[at].partition("=")
        match draw(st.integers(0, 6)):
            case 0:
                lines.insert(at, lines[draw(st.integers(0, len(lines) - 1))])
            case 1:
                del lines[at]
                lines = lines or [""]
            case 2:
                lines[at] = draw(st.sampled_from(TOKENS)).decode("utf-8", "replace")
            case 3:
                lines.insert(at, "[" + ".".join("ab" * draw(st.integers(1, 40))) + "]")
            case _:
                value = draw(st.sampled_from(TOML_VALUES))
                lines[at] = f"{key if equals else 'flops '}= {value}"
    return "\n".join(lines)
