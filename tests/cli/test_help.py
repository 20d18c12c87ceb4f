"""What the command line says of itself: helps, and what is wrong with a value."""

from __future__ import annotations

import itertools
import re

import pytest

from kernelprof.report.writers import offered_formats


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("diagnose", "diagnosis"),
        ("compare", "comparison"),
        ("gate", "gate"),
        ("history", "history"),
        ("explain", "rule"),
        ("doctor", "doctor"),
    ],
)
def test_the_help_names_the_formats_that_are_offered(
    kernelprof, monkeypatch: pytest.MonkeyPatch, command: str, kind: str
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    text = kernelprof(f"{command} --help").out
    line = re.search(r"--format .*?FORMAT +Output format: (.*?)\.", text)
    assert line is not None
    assert set(re.split(r", | or ", line[1])) == set(offered_formats(kind))


@pytest.mark.parametrize("command", [[], ["gate"], ["diagnose"], ["baseline", "save"]])
def test_paragraphs_of_a_help_are_as_wide_as_the_screen(
    kernelprof, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = kernelprof(*command, "--help").out
    lines = [line.strip() for line in text.partition("╭")[0].splitlines()]
    for line, following in itertools.pairwise(lines):
        if line and following:
            assert len(f"{line} {following.split()[0]}") > 78


@pytest.mark.parametrize(
    "words",
    [["doctor", "--require", "no-such"], ["profile", "x", "--clock-control", "no-such"]],
    ids=lambda words: words[0],
)
def test_a_value_that_is_no_choice_is_said_in_plain_words(
    kernelprof, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    what = f"Invalid value for '{words[-2]}': 'no-such' is not one of"
    kernelprof(*words, code=2, err=what)
