"""The bottlenecks, one file each. A new file with a ``RULE`` is found without being listed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING

from kernelprof.analysis.rules.rule import Docs, Finding, Rule, Scene, Shown, Threshold

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Docs", "Finding", "Rule", "Scene", "Shown", "Threshold", "registry"]


@cache
def registry() -> Mapping[str, Rule]:
    """All rules by slug, in the order that settles exact ties."""
    found = []
    for module in iter_modules(__path__):
        rule = getattr(import_module(f"{__name__}.{module.name}"), "RULE", None)
        if isinstance(rule, Rule):
            found.append(rule)
    return MappingProxyType({rule.slug: rule for rule in sorted(found, key=lambda r: r.order)})
