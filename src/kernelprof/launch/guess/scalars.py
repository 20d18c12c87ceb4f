"""Parameters that are no arrays: sizes, factors, and what the host passes for them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.elements import is_floating
from kernelprof.launch.expressions import FUNCTIONS, ExpressionError
from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.names import uncast

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.guesses import Guesses
    from kernelprof.launch.guess.launches import HostLaunch
    from kernelprof.launch.guess.names import Frame
    from kernelprof.launch.guess.written_types import Types
    from kernelprof.launch.signature import KernelSignature

_FACTORS: Final = {"alpha": "1.0", "beta": "0.0", "a": "2.0", "scale": "1.5", "factor": "1.5"}
_REAL: Final = re.compile(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)[fFlL]?")
_RADIUS: Final = 4
_RADIUS_NAME: Final = re.compile(r"r|radius|.*_radius|half_?width|halo", re.IGNORECASE)
_MOST_STEPS: Final = 8
_WINDOW: Final = 5
_LARGE: Final = 4096


def scalars(
    kernel: KernelSignature, types: Types, launch: HostLaunch | None, found: Guesses
) -> dict[str, Amount]:
    """Values of the parameters that are no arrays; gives those of whole numbers as amounts."""
    known: dict[str, Amount] = {}
    for parameter in kernel.parameters:
        name = parameter.name
        if parameter.pointer or parameter.tensor_map or not name:
            continue
        element = types.element(parameter.written[: parameter.written.rfind(name)])
        if element is None or element.count > 1:
            continue
        found.types[name] = element.type
        given = None if launch is None else launch.arguments.get(name)
        if is_floating(element.type):
            _real(name, given, launch, found)
        elif element.type == "bool":
            text = syntax.text(uncast(given))
            found.values[name] = {"true": "1", "false": "0"}.get(text, "1")
            found.why[f"value.{name}"] = "" if text in {"true", "false"} else "one of the two"
        elif name not in FUNCTIONS:
            amount = _whole(given, launch)
            if amount is None:
                amount = amounts.size(name)
                found.sizes.setdefault(name, 0)
            known[name] = amount
            found.values[name] = amount.text
    return known


def _whole(given: Node | None, launch: HostLaunch | None) -> Amount | None:
    if given is None or launch is None:
        return None
    text = syntax.text(uncast(given))
    if text in {"true", "false"}:
        return amounts.number(int(text == "true"))
    return launch.values.of(given, launch.frame)


def real(name: str) -> tuple[str, str]:
    """A value of a real number that is called so, and what speaks for it."""
    if name.lower() in _FACTORS:
        return _FACTORS[name.lower()], ""
    return "1.0", "nothing says which: any number takes the same time"


def _real(name: str, given: Node | None, launch: HostLaunch | None, found: Guesses) -> None:
    if given is not None and launch is not None:
        value = _number(given, launch.frame)
        if value is not None:
            found.values[name] = value
            found.why[f"value.{name}"] = f"as {launch.place} passes it"
            return
    found.values[name], why = real(name)
    if why:
        found.why[f"value.{name}"] = why


def _number(node: Node | None, frame: Frame, steps: int = 0) -> str | None:  # noqa: PLR0911
    """A number that the host passes, by way of its variables; as an expression."""
    inner = uncast(node)
    if inner is None or steps > _MOST_STEPS:
        return None
    text = syntax.text(inner)
    if written := _REAL.fullmatch(text):
        return repr(float(written[1]))
    if inner.type == "unary_expression" and text.startswith("-"):
        value = _number(syntax.child(inner, "argument"), frame, steps + 1)
        return None if value is None else repr(-float(value))
    if inner.type in {"argument_list", "initializer_list"} and inner.named_child_count == 1:
        return _number(inner.named_children[0], frame, steps + 1)
    if inner.type != "identifier":
        return None
    for value in [*frame.values(text, 1 << 60), *frame.source.globals.get(text, ())]:
        if value.type == "preproc_arg":
            plain = _REAL.fullmatch(syntax.text(value).strip("() "))
            return repr(float(plain[1])) if plain else None
        return _number(value, frame, steps + 1)
    if frame.has_parameter(text) and frame.caller is not None:
        return _number(frame.argument(text), frame.caller, steps + 1)
    return None


def windows(found: Guesses) -> None:
    """Sizes that make the grid smaller where they are larger: those of a filter."""
    block = {name for each in found.block or () for name in each.names}
    for name, value in found.sizes.items():
        grid = [each for each in found.grid or () if name in each.names]
        if value or name in block or not grid:
            continue
        sizes = dict.fromkeys(found.sizes, _LARGE) | {n: v for n, v in found.sizes.items() if v}
        few, many = ({**sizes, name: each} for each in (1, _LARGE // 2))
        with suppress(ExpressionError):
            if all(each.value(many) < each.value(few) for each in grid):
                found.sizes[name] = _WINDOW
                found.why[f"sizes.{name}"] = "the larger it is, the fewer blocks there are"


def radii(kernel: Node, found: Guesses) -> None:
    """Sizes from whose negative a loop runs: how far a stencil reaches."""
    body = syntax.text(syntax.child(kernel, "body"))
    for name, value in found.sizes.items():
        from_minus = re.search(rf"=\s*-\s*{re.escape(name)}\s*;", body)
        if not value and (from_minus or _RADIUS_NAME.fullmatch(name)):
            found.sizes[name] = _RADIUS
            found.why[f"sizes.{name}"] = "how far to each side" if from_minus else "by its name"
