"""Answers of the tools without a server around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.errors import UsageError
from kernelprof.server.answers import MOST_TOKENS, Answers
from kernelprof.server.folders import Folders

if TYPE_CHECKING:
    from pathlib import Path


def test_the_commands_for_a_program_are_no_larger_than_other_answers(tmp_path: Path) -> None:
    answers = Answers(Folders([tmp_path]), allow_run=False)
    told = answers.next_measurement(program=["./app", *["./x"] * 3_500])
    assert told.count("./x") == 7_000
    assert len(told.encode()) <= 4 * MOST_TOKENS
    with pytest.raises(UsageError, match="have more than 8000 tokens"):
        answers.next_measurement(program=["./x"] * 20_000)
