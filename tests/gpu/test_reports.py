"""Reports (.ncu-rep) that are read through the ``ncu`` that wrote them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.gpu import support

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.gpu.conftest import Diagnose, FullSet


def _without_origin(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**entry, "origin": None} for entry in entries]


def test_a_report_says_what_its_exports_say(
    full_set: FullSet, diagnose: Diagnose, say: Callable[[str], None]
) -> None:
    assert shutil.which("ncu")
    code, kernels = diagnose(full_set.report)
    exported = diagnose(full_set.base)
    assert code == exported[0]
    assert [_without_command(entry) for entry in _without_origin(kernels)] == [
        _without_command(entry) for entry in _without_origin(exported[1])
    ]

    scaled = support.by_id(diagnose(full_set.scaled)[1])
    for row, entry in sorted(support.by_id(kernels).items()):
        said = support.answer(entry)
        say(f"{entry['name']}: {support.named(said)}")
        assert support.same(said, support.answer(scaled[row])), entry["name"]


def _without_command(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without what an export lacks: its command's file, and a report's source page."""
    causes = [{**each, "place": None} for each in entry["verdict"]["causes"]]
    verdict = {**entry["verdict"], "command": None, "causes": causes}
    return {**entry, "verdict": verdict, "place": None, "waiting": None}
