"""The chart library: the package holds what was pinned, and it draws without a network."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.html.support import (
    LIGHT_FIRST,
    VENDOR,
    charts,
    has_horizontal_scroll,
    screenshot,
    undrawn_charts,
)

if TYPE_CHECKING:
    from tests.html.conftest import AxeViolations, OpenPage

WEB = Path(__file__).parents[2] / "web"
VERSIONS = json.loads((VENDOR / "versions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("entry", VERSIONS, ids=lambda entry: entry["name"])
def test_the_file_is_the_pinned_one(entry):
    content = (VENDOR / entry["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert len(content) == entry["bytes"]
    pinned = json.loads((WEB / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert pinned[entry["name"]] == entry["version"]


@pytest.mark.parametrize("entry", VERSIONS, ids=lambda entry: entry["name"])
def test_the_file_can_stand_in_a_page(entry):
    text = (VENDOR / entry["file"]).read_text(encoding="utf-8")
    assert not re.search(r"</?script|<!--|sourceMappingURL", text, re.IGNORECASE)
    assert text.startswith(f"/*!\n{entry['name']} {entry['version']} ({entry['licence']})")
    assert "Copyright" in text.partition("*/")[0]


def test_the_library_stays_small():
    assert sum(entry["bytes"] for entry in VERSIONS) < 900_000


def test_the_lock_file_names_no_registry():
    lock = (WEB / "package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(lock)["packages"]
    assert not [name for name, entry in packages.items() if "resolved" in entry]
    assert all("integrity" in entry for name, entry in packages.items() if name)


def test_the_folder_is_what_the_lock_file_gives():
    if not (WEB / "node_modules" / "vega").exists() or shutil.which("node") is None:
        pytest.skip("npm ci in web/ brings the packages to compare with")
    run = subprocess.run(
        ["node", "vendor.mjs", "--check"], cwd=WEB, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.fixture(scope="module")
def example(tmp_path_factory) -> Path:
    """The smallest page that draws as the reports do."""
    scripts = "\n".join(
        f"<script>{(VENDOR / entry['file']).read_text(encoding='utf-8')}</script>"
        for entry in VERSIONS
    )
    page = (Path(__file__).parent / "example.html").read_text(encoding="utf-8")
    target = tmp_path_factory.mktemp("example") / "example.html"
    target.write_text(page.replace("<!-- vendor -->", scripts), encoding="utf-8")
    return target


@pytest.mark.parametrize("dark", LIGHT_FIRST)
def test_the_example_draws_under_a_policy_without_eval(
    example: Path, open_page: OpenPage, axe_violations: AxeViolations, dark: bool
):
    page = open_page(example, dark=dark)
    assert undrawn_charts(page) == []
    assert charts(page) == {"roofline", "warps"}
    assert axe_violations(page) == []
    screenshot(page, f"example-{'dark' if dark else 'light'}")


def test_the_example_fits_a_phone(example: Path, open_page: OpenPage):
    page = open_page(example, width=390)
    assert undrawn_charts(page) == []
    assert not has_horizontal_scroll(page)
    screenshot(page, "example-phone")


def test_colours_follow_the_theme_and_the_printer(example: Path, open_page: OpenPage):
    page = open_page(example)
    assert undrawn_charts(page) == []
    ink = "getComputedStyle(document.querySelector('[data-chart] .role-axis-label text')).fill"
    assert page.evaluate(ink) == "rgb(27, 31, 36)"
    page.click("#theme")
    assert page.evaluate(ink) == "rgb(230, 237, 243)"
    page.emulate_media(media="print")
    assert page.evaluate(ink) == "rgb(0, 0, 0)"


def test_an_empty_chart_is_noticed(example: Path, open_page: OpenPage):
    """The helper must tell axes without marks from a chart."""
    page = open_page(example)
    assert undrawn_charts(page) == []
    page.evaluate(
        """() => document.querySelectorAll(
            "[data-chart=warps] :is(.mark-rect, .mark-text).role-mark"
        ).forEach((mark) => mark.remove())"""
    )
    assert undrawn_charts(page, patience_ms=0) == ["warps"]
