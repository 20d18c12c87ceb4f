"""The page about specifications says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from kernelprof.launch import elements, references
from kernelprof.launch.read_spec import read_spec
from kernelprof.launch.source import cut_block

PAGE = Path(__file__).parents[2] / "docs" / "launch-specification.md"


def test_its_example_can_be_loaded() -> None:
    text = PAGE.read_text(encoding="utf-8")
    example = text.split("```cuda\n")[1].split("```")[0]
    block = cut_block(example, PAGE)
    assert block is not None
    assert read_spec(block).resolve().grid == (256, 256, 1)


def test_it_lists_all_types_and_references() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(re.search(rf"\b{name}\b", text) for name in elements.TYPES)
    table = text.split("## References")[1].split("They compute")[0]
    assert set(re.findall(r"`(\w+)`(?=,| \|)", table)) >= set(references.BUILTINS)
