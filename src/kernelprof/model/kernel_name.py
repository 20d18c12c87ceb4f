"""From a kernel's name in a capture to the ``ncu`` options that pick this kernel.

``ncu`` matches ``--kernel-name`` against the bare function name by default, which instantiations of
one template share. The name that it shows is another one, shortened: it leaves out namespaces that
are not needed to tell the kernels of that report apart, and shows the template argument ``(int)16``
as ``16``. The filter for one instantiation is therefore a regular expression for the full name that
allows what the shown name leaves out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_NAMES_SHOWN: Final = 5
_CAST = r"(\([^)]*\))?"
_NAMESPACES = "([^ ,<]*::)?"
_TOKEN = re.compile(
    r"(?P<cast>\([A-Za-z_][A-Za-z0-9_: ]*\)(?=-?[0-9]))"
    r"|(?P<number>-?[0-9]+)"
    r"|(?P<name><unnamed>|[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>::|[<>,*& ])"
)
_BUILT_IN = frozenset(
    ["bool", "char", "const", "double", "float", "int", "long", "short", "signed", "unsigned"]
)


def kernel_filter(kernel: str) -> list[str]:
    """Return the options by which ``ncu`` profiles this kernel, and no other if possible."""
    if kernel.startswith("_Z"):
        return ["--kernel-name-base", "mangled", "--kernel-name", kernel]
    name, arguments = _split_name(kernel)
    expression = _loose_pattern(arguments)
    if not expression or not name.isidentifier():
        return ["--kernel-name", name]
    whole = rf"regex:(^|[ :]){name}{expression}\("
    return ["--kernel-name-base", "demangled", "--kernel-name", whole]


def kernel_filters(kernels: Sequence[str]) -> Iterator[list[str]]:
    """Yield options by which ``ncu`` profiles these kernels: exact ones, shorter ones, and none."""
    if len(kernels) == 1:
        yield kernel_filter(kernels[0])
    names = sorted(set(map(function_name, kernels)))
    if all(name.isidentifier() and not name.startswith("_Z") for name in names):
        yield ["--kernel-name", names[0] if len(names) == 1 else f"regex:^({'|'.join(names)})$"]
    yield []


def function_name(kernel: str) -> str:
    """Return a kernel's name without return type, namespaces, template arguments, parameters.

    ``void ns::scale<float, 4>(float *, int)`` is ``scale``.
    """
    return _split_name(kernel)[0]


def _split_name(kernel: str) -> tuple[str, str]:
    """Split off the bare name, and the template arguments with their brackets."""
    # Where ncu leaves out the start of "ns::<unnamed>::", it takes the bracket with it.
    name = re.sub(r"(?<!<)\bunnamed>", "<unnamed>", kernel.strip())
    if name.endswith(")"):
        name = name[: opening_bracket(name)].rstrip()
    arguments = ""
    if name.endswith(">"):
        start = opening_bracket(name)
        name, arguments = name[:start].rstrip(), name[start:]
    # The return type ends at the last space, an NVTX range at a slash.
    return re.split("::|[ /]", name)[-1], arguments


def opening_bracket(text: str) -> int:
    """Return the position of the bracket that the last character closes; 0 where there is none."""
    closing = text[-1]
    opening = {")": "(", ">": "<"}[closing]
    depth = 0
    for position in range(len(text) - 1, -1, -1):
        depth += (text[position] == closing) - (text[position] == opening)
        if depth == 0:
            return position
    return 0


def _loose_pattern(arguments: str) -> str | None:
    """Return a pattern for the full form of shown arguments; ``None`` where it is not known."""
    parts: list[str] = []
    position = 0
    before = ""
    while position < len(arguments):
        token = _TOKEN.match(arguments, position)
        if token is None:
            return None
        parts.append(_token_pattern(token, after_namespace=before == "::"))
        position, before = token.end(), token[0]
    return "".join(parts)


def _token_pattern(token: re.Match[str], *, after_namespace: bool) -> str:
    if token["cast"]:
        return ""
    if token["number"]:
        return _CAST + token[0]
    if token["name"] and token[0] not in _BUILT_IN and not after_namespace:
        return _NAMESPACES + token[0]
    if token[0] == "::":
        return token[0] + _NAMESPACES
    return token[0].replace("*", r"\*")


def list_names(names: Iterable[str]) -> str:
    """List the first few kernels by function name, for whoever asked for one that is not there."""
    distinct = list(dict.fromkeys(map(function_name, names)))
    more = len(distinct) - _NAMES_SHOWN
    return f"available: {'; '.join(distinct[:_NAMES_SHOWN])}" + (
        f"; and {more} more" if more > 0 else ""
    )


def name_pattern(kernel: str) -> re.Pattern[str]:
    """Compile the expression of ``--kernel``; :class:`UsageError` where it is none."""
    try:
        return re.compile(kernel)
    except re.error as error:
        raise UsageError(
            f"--kernel {kernel!r} is not a regular expression: {error}",
            hint="escape brackets of a kernel's name with a backslash",
        ) from error
