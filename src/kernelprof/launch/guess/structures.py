"""Structures and vectors that a kernel gets by value: a size for each whole number in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.launch.elements import is_floating
from kernelprof.launch.expressions import FUNCTIONS
from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.guesses import Array, Part
from kernelprof.launch.guess.scalars import real
from kernelprof.launch.guess.written_types import AXES

if TYPE_CHECKING:
    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.guesses import Guesses
    from kernelprof.launch.guess.written_types import Element, Field, Types
    from kernelprof.launch.signature import KernelSignature

_MOST_NUMBERS: Final = 64
"""Of an array in a structure: a longer one holds data, of which nothing is known."""


def structures(kernel: KernelSignature, types: Types, found: Guesses) -> dict[str, Amount]:
    """The members of parameters that are structures; gives whole numbers, by ``p.width``."""
    known: dict[str, Amount] = {}
    taken = {each.name for each in kernel.parameters} | set(FUNCTIONS)
    for parameter in kernel.parameters:
        name = parameter.name
        if parameter.pointer or parameter.tensor_map or not name or name in found.types:
            continue
        fields = types.fields(parameter.written[: parameter.written.rfind(name)])
        owner = _Owner(name, taken, found)
        parts = [owner.parts(each) for each in fields or ()]
        if parts and all(parts):
            found.structures[name] = [part for several in parts for part in several]
            known |= owner.known
    return known


class _Owner:
    """One parameter that is a structure."""

    def __init__(self, name: str, taken: set[str], found: Guesses) -> None:
        """``taken`` are names that something has already."""
        self.known: dict[str, Amount] = {}
        self._name, self._taken, self._found = name, taken, found

    def parts(self, field: Field) -> list[Part]:
        """A member, a vector as its components; none where it cannot be filled."""
        element = field.element
        if element is None:
            return []
        if field.pointer:
            name = self._free(field.name)
            alias = f"{self._name}.{field.name}"
            self._found.arrays[name] = Array(name, element, alias=alias, const=field.const)
            return [Part(field.name, None, of=name)]
        if field.count == 1 and element.count <= len(AXES):
            return self._numbers(field, element)
        if field.count * element.count > _MOST_NUMBERS:
            return []
        value = "1.0" if is_floating(element.type) else "1"
        values = [value] * (field.count * element.count)
        return [Part(field.name, element.type, values=values, align=field.align)]

    def _numbers(self, field: Field, element: Element) -> list[Part]:
        """A number, or those of a vector."""
        inner = [f".{axis}" for axis in AXES[: element.count]] if element.count > 1 else [""]
        parts: list[Part] = []
        for end in inner:
            key = f"{self._name}.{field.name}{end}"
            name = f"{field.name}{end}".replace(".", "_")
            self._number(key, name, element.type)
            align = None if parts else field.align
            parts.append(Part(name, element.type, key=key, align=align))
        return parts

    def _number(self, key: str, name: str, kind: str) -> None:
        """A number: any real one, and a size for a whole one."""
        found = self._found
        found.types[key] = kind
        if is_floating(kind):
            found.values[key], found.why[f"value.{key}"] = real(name)
        elif kind == "bool":
            found.values[key], found.why[f"value.{key}"] = "1", "one of the two"
        else:
            size = self._free(name)
            found.sizes.setdefault(size, 0)
            found.values[key] = size
            self.known[key] = amounts.size(size)

    def _free(self, member: str) -> str:
        """A name for what a member holds: its own, unless something else is called so."""
        unfit = member in self._taken or member in AXES
        name = f"{self._name}_{member}" if unfit else member
        self._taken.add(name)
        return name
