"""A structure of options becomes the options of a command, and what was given comes back in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypedDict, get_type_hints

import click
import pytest
import typer
from click.core import ParameterSource
from typer.testing import CliRunner

from kernelprof.cli import options
from kernelprof.cli.options import Expand, expand_options, format_option, list_after
from kernelprof.interface import requests


class Wishes(TypedDict, total=False):
    size: list[str] | None
    keep: Path
    force: bool


class Declared:
    size: Annotated[list[str] | None, typer.Option("--size")] = None
    keep: Annotated[Path | None, typer.Option("--keep")] = None
    force: Annotated[bool, typer.Option("--force")] = False


def run(*words: str) -> tuple[Wishes, list[str]]:
    """What a command gets for these words, and the order of its options."""
    received: list[Wishes] = []

    @list_after(force="size", other="keep")
    def command(
        name: str,
        other: Annotated[bool, typer.Option("--other")] = False,
        *,
        wishes: Annotated[Wishes, Expand(Declared, "size", "keep", "force")],
    ) -> None:
        del name, other
        received.append(wishes)

    app = typer.Typer(add_completion=False)
    app.command()(expand_options(command))
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    order = [each.name for each in typer.main.get_command(app).params]
    return received[0], [each for each in order if each is not None]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), {"force": False}),
        (("--size", "M=1", "--size", "N=2"), {"force": False, "size": ["M=1", "N=2"]}),
        (("--keep", "out", "--force"), {"force": True, "keep": Path("out")}),
    ],
)
def test_a_command_gets_what_was_given(words: tuple[str, ...], expected: Wishes) -> None:
    wishes, order = run("x", *words)
    assert wishes == expected
    assert order == ["name", "size", "force", "keep", "other"]


@pytest.mark.parametrize(
    ("declared", "structure"),
    [
        (options.MeasurementFlags, requests.MeasurementOptions),
        (options.GateFlags, requests.GateOptions),
    ],
)
def test_each_option_of_a_family_is_one_that_the_interface_takes(
    declared: type, structure: type
) -> None:
    fields = set(get_type_hints(declared, include_extras=True))
    assert fields <= structure.__annotations__.keys()


def test_a_suffix_chooses_the_format_also_where_typer_gives_a_string() -> None:
    # As all versions before 0.29 that were tried do
    option = format_option("diagnosis", "")
    context = click.Context(click.Command("diagnose"))
    context.params["file"] = "new.json"
    context.set_parameter_source("output_format", ParameterSource.DEFAULT)
    assert option.callback(context, "text") == "json"
