"""PyTorch's packed accessors, as pointers and sizes.

A kernel that takes ``torch::PackedTensorAccessor32<T, 2, ...> x`` and reads ``x[i][j]`` is read as
one that takes ``T* x__data, int x__size_0, int x__size_1`` and reads
``x__data[(i) * x__size_1 + (j)]``: that tensors are contiguous is assumed. Its specification has
the structure that PyTorch passes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference import amounts

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from kernelprof.launch.inference.evidence import Guesses
    from kernelprof.launch.signature import KernelSignature, Parameter

_PARAMETER: Final = re.compile(
    r"(?:const\s+)?(?:\b\w+\s*::\s*)*\bPackedTensorAccessor(32|64)?\s*(?=<)"
)
_LONG: Final = frozenset(("size_t", "int64_t", "long", "std::size_t", "std::int64_t"))
_SHORT: Final = frozenset(("int", "int32_t", "uint32_t", "unsigned", "std::int32_t"))
_LITERAL_OR_COMMENT: Final = re.compile(
    rf""" "(?:\\.|[^"\\\n])*" | (?<!\w)'(?:\\.|[^'\\\n])*' | {syntax.COMMENT.pattern} """,
    re.VERBOSE,
)
_OF_TEMPLATE: Final = re.compile(r"(?<=\w)\s*<[\w\s:,*&\0]*>(?=\s*(?:[({,>]|::))")
_NAME: Final = re.compile(r"\s*(?:&\s*)?(\w+)\s*(?=[,)])")
_TENSOR: Final = re.compile(r"((?:\w|\.|->|\[\w*\])+?)\s*(?:\.|->)\s*packed_accessor(?:32|64)?\s*<")
_HELD: Final = re.compile(
    r"\bauto\s+(\w+)\s*=\s*((?:\w|\.|->)+?)\s*(?:\.|->)\s*packed_accessor(?:32|64)?\s*<"
)
_MOST: Final = 300
"""Accessors that files have together, but for those that somebody made up."""
_FAR: Final = 400
"""Characters between the name of a kernel and its launch configuration."""
_MEMBER: Final = re.compile(r"\s*\.\s*(size|stride|data)\s*\(\s*(\d*)\s*\)")
_PART: Final = re.compile(
    r"\b(?:const\s+)?auto\s*&{0,2}\s*(\w+)\s*=\s*(\w+)((?:\[[^\[\];]*\])+)\s*;"
)
_PART_INDEX: Final = re.compile(r"\[[^\[\]]*\]")
_OPENS: Final = re.compile(r"\s*\[")
_DATA: Final = re.compile(r"(\w+)__data")
_SIZE: Final = re.compile(r"__size_(\d+)(?:_least_(\d+)|_by_(\w+))?$")
_BRACKETS: Final = {
    each[0]: re.compile(f"[{re.escape(each)}]") for each in ("()", "[]", "{}", "<>")
}


@dataclass(frozen=True, slots=True)
class Accessor:
    """A packed accessor among the parameters of a kernel that was rewritten."""

    name: str
    sizes: tuple[str, ...]
    """Parameters that stand for its sizes, the outermost dimension first."""
    index: str
    """The type of sizes and strides."""

    @property
    def array(self) -> str:
        """The parameter that stands for its data."""
        return f"{self.name}__data"


def rewrite_accessors(texts: Sequence[str]) -> list[str]:
    """Rewrite kernels that take packed accessors, and their launches; lines keep their numbers.

    A kernel that does anything else with one than to index it fully stays as it is, and one with a
    launch that cannot be rewritten.
    """
    count = sum(each.count("PackedTensorAccessor") for each in texts)
    if not 0 < count <= _MOST:
        return list(texts)
    texts = [_LITERAL_OR_COMMENT.sub(_without_comment, each) for each in texts]
    refused: set[str] = set()
    while True:
        ranks: dict[str, list[int]] = {}
        rewritten = [_rewrite_kernels(each, ranks, refused) for each in texts]
        launched = [_rewrite_launches(each, ranks) for each in rewritten]
        others = set().union(*(names for _, names in launched))
        if not others:
            return [text for text, _ in launched]
        refused |= others


def _without_comment(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0]) if match[0].startswith("/") else match[0]


def least_size(parameter: str) -> int | None:
    """The size that a parameter stands for, if the kernel indexes it by numbers alone."""
    match = _SIZE.search(parameter)
    return None if match is None or match[2] is None else int(match[2])


def index_variable(parameter: str) -> str:
    """The variable that alone indexes the dimension whose size a parameter stands for."""
    match = _SIZE.search(parameter)
    return "" if match is None else match[3] or ""


def find_accessors(parameters: Sequence[Parameter]) -> dict[str, Accessor]:
    """The accessors that stand in rewritten parameters, by the name of their data."""
    accessors = {}
    for at, parameter in enumerate(parameters):
        match = _DATA.fullmatch(parameter.name)
        if match is None:
            continue
        own = [
            each
            for number, each in enumerate(parameters[at + 1 :])
            if (size := _SIZE.search(each.name)) is not None
            and each.name[: size.start()] == match[1]
            and int(size[1]) == number
        ]
        if own:
            names = tuple(each.name for each in own)
            accessors[parameter.name] = Accessor(match[1], names, own[0].type or "int64")
    return accessors


def fit_accessors(kernel: KernelSignature, guesses: Guesses) -> None:
    """Have arrays as long as their sizes say, and outermost sizes as arrays are long."""
    for data, accessor in find_accessors(kernel.parameters).items():
        array = guesses.arrays.get(data)
        values = [guesses.values.get(each) for each in accessor.sizes]
        if array is None or None in values:
            continue
        first, *others = (amounts.parse_size(each) for each in values if each is not None)
        inner = math.prod(others, start=amounts.ONE)
        name = accessor.sizes[0]
        if array.length is None:
            array.length, array.why = first * inner, "the sizes of its accessor"
        elif first == amounts.parse_size(name) and name not in _names_of_others(guesses):
            outer = amounts.divide(array.length, inner)
            is_plain = inner.constant is not None or (outer is not None and "//" not in outer.text)
            if outer is not None and is_plain and not outer.too_long:
                guesses.values[name] = outer.text
                guesses.sizes.pop(name, None)


def _names_of_others(guesses: Guesses) -> set[str]:
    used = (*guesses.lengths, *(guesses.grid or ()), *(guesses.block or ()))
    return {name for each in used for name in each.names}


def _rewrite_kernels(text: str, of_kernels: dict[str, list[int]], refused: Container[str]) -> str:
    # Notes the dimensions of each parameter, 0 where it is no accessor
    written, done, last = [], 0, -1
    for match in _PARAMETER.finditer(text):
        if match.start() < done:
            continue
        begin = text.rfind("(", done, match.start())
        if begin == last:
            continue  # of the same parameters
        last, end = begin, None if begin < 0 else _closing(text, begin)
        opening = None if end is None else re.compile(r"\s*\{").match(text, end)
        close = None if opening is None else _closing(text, opening.end() - 1)
        name = re.search(r"(\w+)\s*$", text[done : max(begin, done)])
        if end is None or close is None or name is None or name[1] in refused:
            continue
        ranks = [_rank(each) for each in _split(text[begin + 1 : end - 1])]
        is_clear = all(rank is not None for _, rank in ranks)
        rewriter = _AccessorRewriter({each: rank for each, rank in ranks if rank})
        whole = _without_parts(text[end:close], rewriter.ranks)
        is_clear &= bool(rewriter.ranks) and begin < match.start() < end
        if not is_clear or rewriter.rewritten(whole) is None:
            continue
        of_kernels[name[1]] = [rank or 0 for _, rank in ranks]
        body = rewriter.rewritten(whole) or ""  # with what the first has seen
        written += [text[done:begin], _rewrite_parameters(text[begin:end], rewriter), body]
        done = close
    return "".join((*written, text[done:]))


def _without_parts(text: str, ranks: Mapping[str, int]) -> str:
    """The text without names for parts of accessors: ``auto row = x[i];``."""
    for match in reversed(list(_PART.finditer(text))):
        name, accessor, indices = match.groups()
        if accessor in ranks and len(_PART_INDEX.findall(indices)) < ranks[accessor]:
            after = re.sub(rf"(?<![\w.]){name}\b", f"{accessor}{indices}", text[match.end() :])
            text = text[: match.start()] + "\n" * match[0].count("\n") + after
    return text


def _rank(parameter: str) -> tuple[str, int | None]:
    """The name of a parameter, and how many dimensions it has; ``None`` if that cannot be read."""
    match = _PARAMETER.search(parameter)
    if match is None:
        return "", 0
    end = _closing(parameter, match.end())
    name = None if end is None else _NAME.match(f"{parameter},", end)
    arguments = [] if end is None else _split(parameter[match.end() + 1 : end - 1])
    if name is None or len(arguments) < 2 or not re.fullmatch(r"[1-9]", arguments[1]):
        return "", None
    if len(arguments) > 3 and arguments[3] not in _LONG | _SHORT:
        return "", None
    return name[1], int(arguments[1])


def _rewrite_parameters(text: str, rewriter: _AccessorRewriter) -> str:
    written, done = [], 0
    for match in _PARAMETER.finditer(text):
        end = _closing(text, match.end()) or len(text)
        name = _NAME.match(text, end)
        if name is None:
            continue
        arguments = _split(text[match.end() + 1 : end - 1])
        is_long = match[1] != "32" if len(arguments) < 4 else arguments[3] in _LONG
        index = "long long" if is_long else "int"
        is_const = match[0].startswith("const") and not arguments[0].startswith("const ")
        const = "const " if is_const else ""
        sizes = [
            f"{index} {rewriter.size(name[1], each)}" for each in range(rewriter.ranks[name[1]])
        ]
        new = ", ".join((f"{const}{arguments[0]}* {name[1]}__data", *sizes))
        lines = "\n" * text.count("\n", match.start(), name.end())
        written += [text[done : match.start()], new, lines]
        done = name.end()
    return "".join((*written, text[done:]))


class _AccessorRewriter:
    """What a kernel does with its accessors, of so many dimensions each."""

    def __init__(self, ranks: Mapping[str, int]) -> None:
        self.ranks = ranks
        self._mentions = re.compile(rf"(?<![\w.])(?<!->)({'|'.join(map(re.escape, ranks))})\b")
        self._numbers: dict[tuple[str, int], int | None] = {}
        """The largest number of a dimension that is indexed by numbers; ``None``: by others too."""
        self._variables: dict[tuple[str, int], set[str]] = {}
        """What indexes a dimension."""

    def size(self, name: str, dimension: int) -> str:
        """The parameter that stands for a size."""
        largest = self._numbers.get((name, dimension))
        if largest is not None:
            return f"{name}__size_{dimension}_least_{largest + 1}"
        variables = self._variables.get((name, dimension), set())
        alone = next(iter(variables)) if len(variables) == 1 else ""
        return f"{name}__size_{dimension}{f'_by_{alone}' if alone.isidentifier() else ''}"

    def rewritten(self, text: str) -> str | None:
        """The text with pointers; ``None`` if one is used otherwise than by all of its indices."""
        written, done = [], 0
        for match in self._mentions.finditer(text):
            if match.start() < done:
                continue
            name, at = match[1], match.end()
            member = _MEMBER.match(text, at)
            if member is not None:
                new, at = self._member(name, member[1], member[2]), member.end()
            else:
                indices, at = self._indices(name, text, at)
                if len(indices) < self.ranks[name]:
                    return None
                new = f"{name}__data[{self._linear(name, indices)}]"
            lines = "\n" * (text.count("\n", match.start(), at) - new.count("\n"))
            written += [text[done : match.start()], new, lines]
            done = at
        return "".join((*written, text[done:]))

    def _indices(self, name: str, text: str, at: int) -> tuple[list[str], int]:
        indices: list[str] = []
        while len(indices) < self.ranks[name] and (opens := _OPENS.match(text, at)):
            end = _closing(text, opens.end() - 1)
            inner = None if end is None else self.rewritten(text[opens.end() : end - 1])
            if end is None or inner is None:
                return [], at
            indices.append(inner)
            at = end
        return indices, at

    def _linear(self, name: str, indices: Sequence[str]) -> str:
        for dimension, index in enumerate(indices):
            key = name, dimension
            self._variables.setdefault(key, set()).add(index.strip())
            before = self._numbers.get(key, 0)
            number = int(index) if re.fullmatch(r"\s*\d{1,9}\s*", index) else None
            self._numbers[key] = None if before is None or number is None else max(before, number)
        whole = f"({indices[0]})"
        for number, index in enumerate(indices[1:], start=1):
            whole = f"({whole} * {self.size(name, number)} + ({index}))"
        return whole

    def _member(self, name: str, member: str, number: str) -> str:
        if member == "data" or not number:
            return f"{name}__data"
        if member == "size":
            self._numbers[name, int(number)] = None
            return self.size(name, int(number))
        inner = [self.size(name, each) for each in range(int(number) + 1, self.ranks[name])]
        return f"({' * '.join(inner) or '1'})"


def _rewrite_launches(text: str, of_kernels: Mapping[str, Sequence[int]]) -> tuple[str, set[str]]:
    """The text with launches of pointers, and the kernels of those that cannot be read."""
    unread: set[str] = set()
    if not of_kernels:
        return text, unread
    held = {match[1]: match[2] for match in _HELD.finditer(text)}
    launched = re.compile(
        rf"\b(?:{'|'.join(map(re.escape, of_kernels))})\b(?=[^;{{}}]{{0,{_FAR}}}?<<<)"
    )
    written, done = [], 0
    for match in launched.finditer(text):
        begin = text.find("(", text.find(">>>", match.end()))
        if match.start() < done:
            continue  # after a mention that was taken for it, or between its brackets
        end = None if begin < 0 else _closing(text, begin)
        given = [] if end is None else _split_call(text[begin + 1 : end - 1])
        ranks = of_kernels[match[0]]
        if end is None or len(given) != len(ranks):
            unread.add(match[0])
            continue
        new = ", ".join(_pass_array(*each, held) for each in zip(given, ranks, strict=True))
        lines = "\n" * (text.count("\n", begin, end) - new.count("\n"))
        written += [text[done:begin], f"({new})", lines]
        done = end
    return "".join((*written, text[done:])), unread


def _pass_array(argument: str, rank: int, held: Mapping[str, str]) -> str:
    if not rank:
        return argument
    tensor = _TENSOR.match(argument)
    name = tensor[1] if tensor is not None else held.get(argument, argument)
    return ", ".join((f"{name}.data_ptr()", *(f"{name}.size({each})" for each in range(rank))))


def _split(text: str) -> list[str]:
    """Parameters, or arguments of a template."""
    return _cut(text, _commas(text.replace("->", "  "), "<([{", ">)]}"))


def _split_call(text: str) -> list[str]:
    """The arguments of a call, in which ``<`` compares or shifts but for that of a template."""
    masked, before = text, ""
    while masked != before:  # from the innermost template out
        before = masked
        masked = _OF_TEMPLATE.sub(lambda match: "\0" * len(match[0]), masked)
    return _cut(text, _commas(masked, "([{", ")]}"))


def _commas(text: str, opens: str, closes: str) -> list[int]:
    depth, commas = 0, []
    for at, each in enumerate(text):
        depth += (each in opens) - (each in closes)
        if each == "," and depth == 0:
            commas.append(at)
    return commas


def _cut(text: str, commas: Sequence[int]) -> list[str]:
    begins = [0, *(each + 1 for each in commas)]
    return [text[a:b].strip() for a, b in zip(begins, [*commas, len(text)], strict=True)]


def _closing(text: str, at: int) -> int | None:
    """Where a bracket that opens there has closed."""
    depth = 0
    for match in _BRACKETS[text[at]].finditer(text, at):
        depth += 1 if match[0] == text[at] else -1
        if depth == 0:
            return match.end()
    return None
