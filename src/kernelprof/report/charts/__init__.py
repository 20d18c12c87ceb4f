"""Charts as Vega-Lite specifications without data, a file a kind, found by its name.

A chart's ``kind`` is the name of its module here, with options of the specification behind colons:
``launches:near``. A specification stands in a page once; each chart brings its rows. Nothing is
shown by colour alone: points have shapes and names, bars have their names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kernelprof.report.charts.parts import Kind, Spec

_KINDS: Final[dict[str, Kind]] = {}


def register(name: str, kind: Kind) -> None:
    """Add a chart that is no part of this package."""
    _KINDS[name] = kind


def kind_of(name: str) -> Kind:
    """What a module says of its chart, whatever the options."""
    module, _, _ = name.partition(":")
    if module not in _KINDS:
        _KINDS[module] = import_module(f"{__name__}.{module}").KIND
    return _KINDS[module]


def spec_of(name: str) -> Spec:
    """The specification of a chart with its options."""
    return kind_of(name).spec(*name.split(":")[1:])
