"""A launch specification that was read: its defaults written out, and its JSON Schema.

``read_spec`` makes one from TOML.
"""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003 (msgspec reads the annotations)
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kernelprof.launch import resolved
from kernelprof.launch.elements import is_floating
from kernelprof.launch.expressions import Expression
from kernelprof.launch.keys import Table
from kernelprof.launch.tables import SpecTable
from kernelprof.model.specification import TOLERANCE, default_tolerance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.launch.resolved import ResolvedLaunch
    from kernelprof.launch.tables import Argument, Define

_ADDED: Final = {"passed": True, "architecture_specific": True}
"""Keys that 0.1 did not have, and their defaults.

A document leaves them out where they have these, so that digests of earlier captures still fit.
"""


class LaunchSpec(SpecTable, frozen=True, kw_only=True):
    """A specification that was read, and the file that it stands in."""

    path: Path | None = None

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arrays that the kernel writes, in the order of its parameters."""
        return tuple(argument for argument in self.arguments if argument.output)

    @property
    def tolerance(self) -> float:
        """The largest error that an output may have: of ``[check]``, else the loosest default."""
        if self.check.tolerance is not None:
            return self.check.tolerance
        return max(map(self._default_tolerance, self.outputs), default=TOLERANCE)

    def tolerance_of(self, output: Argument) -> float:
        """The largest error that this output may have.

        The default is that of its own type: a document, which has the loosest written out, means
        the same.
        """
        defaults = {self._default_tolerance(each) for each in self.outputs}
        if self.tolerance == max(defaults, default=TOLERANCE):
            return self._default_tolerance(output)
        return self.tolerance

    def _default_tolerance(self, output: Argument) -> float:
        if not is_floating(output.element):
            return TOLERANCE
        arrays = [each for each in self.arguments if each.shape is not None and not each.output]
        return default_tolerance(output.element, (each.element for each in arrays))

    @property
    def check_sizes(self) -> dict[str, int]:
        """The sizes of the comparison: those of ``[check]``, else ``[sizes]``."""
        return {**self.sizes, **self.check.sizes}

    def changed(
        self,
        *,
        sizes: Mapping[str, int] | None = None,
        defines: Mapping[str, Define] | None = None,
        reference: str | None = None,
    ) -> LaunchSpec:
        """The same launch with other sizes or defines, for a sweep, or with another reference."""
        options = self.compile
        if defines:
            options = msgspec.structs.replace(options, defines={**options.defines, **defines})
        return msgspec.structs.replace(
            self,
            sizes={**self.sizes, **(sizes or {})},
            compile=options,
            reference=self.reference if reference is None else reference,
        )

    def resolve(self, sizes: Mapping[str, int] | None = None) -> ResolvedLaunch:
        """Work out all expressions at the given sizes, else at ``[sizes]``."""
        return resolved.resolve(self, self.sizes if sizes is None else sizes)

    def document(self) -> dict[str, Any]:
        """The specification with every default written out; layout does not count.

        It is valid input again: reading it gives an equal specification.
        """
        document = {
            key: _plain(value)
            for key, value in msgspec.structs.asdict(self).items()
            if key != "path" and value is not None
        }
        for argument in document["arguments"]:
            if "shape" not in argument:
                del argument["output"]
        return document


def schema() -> str:
    """The JSON Schema of a specification."""
    (reference,), definitions = msgspec.json.schema_components(
        [SpecTable], schema_hook=lambda _kind: {}
    )
    for definition in definitions.values():
        for key, described in definition["properties"].items():
            definition["properties"][key] = _without_null(described)
    keys = ("shape", "fill", "limit", "seed", "output", "passed")
    of_an_array = [{"required": [key]} for key in keys]
    typed, scalar, mapped, parts = (
        {"required": [key]} for key in ("type", "value", "tensor_map", "members")
    )
    definitions["Argument"]["oneOf"] = [
        {"required": ["type", "shape"], "not": {"anyOf": [scalar, mapped, parts]}},
        {"required": ["type", "value"], "not": {"anyOf": [*of_an_array, mapped, parts]}},
        {"required": ["tensor_map"], "not": {"anyOf": [*of_an_array, typed, scalar, parts]}},
        {"required": ["members"], "not": {"anyOf": [*of_an_array, typed, scalar, mapped]}},
    ]
    definitions["Member"]["oneOf"] = [
        {"required": ["type", "value"], "not": {"anyOf": _required("values", "of")}},
        {"required": ["type", "values"], "not": {"anyOf": _required("value", "of")}},
        {"required": ["of"], "not": {"anyOf": _required("type", "value", "values")}},
    ]
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:kernelprof:launch:v1",
        **reference,
        "$defs": definitions,
    }
    return json.dumps(document, indent=2, default=_plain) + "\n"


def _required(*keys: str) -> list[dict[str, Any]]:
    return [{"required": [key]} for key in keys]


def _without_null(described: dict[str, Any]) -> dict[str, Any]:
    """A key's description without null, which TOML does not have: such a key is left out."""
    if {"type": "null"} not in described.get("anyOf", ()):
        return described
    kept = {key: value for key, value in described.items() if key not in ("anyOf", "default")}
    return {**kept, **described["anyOf"][0]}


def _plain(value: Any) -> Any:
    """A value as JSON has it; what has no value is left out."""
    if isinstance(value, Expression):
        return value.normalised
    if isinstance(value, Table):
        items = msgspec.structs.asdict(value).items()
        return {key: _plain(each) for key, each in items if each is not _ADDED.get(key)}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
