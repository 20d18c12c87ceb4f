"""Links, commands and outputs of the pages; ``python -m tests.test_docs`` writes the outputs."""

from __future__ import annotations

import difflib
import re
import tempfile

import pytest
from tests.support import documentation as docs
from tests.support.documentation import PAGES, ROOT, Block

INDEX = ROOT / "docs" / "README.md"
PRINTED = ["a", "b", "c", "d"]
CONSOLE = [block for page in PAGES for block in docs.blocks(page, "console")]


@pytest.mark.exhaustive("`make docs` runs the commands of all pages")
@pytest.mark.parametrize(
    "block", CONSOLE, ids=[f"{block.page.name}:{block.line}" for block in CONSOLE]
)
def test_a_page_shows_what_its_commands_print(block: Block) -> None:
    for command in docs.commands(block):
        code, printed = docs.run(command.text)
        difference = difflib.unified_diff(command.shown, printed, "page", "printed", lineterm="")
        assert docs.matches(command.shown, printed), "\n".join(
            ["`python -m tests.test_docs` writes it:", f"$ {command.text}", *difference]
        )
        assert code == command.code, f"$ {command.text}"


def test_every_command_on_a_page_exists_with_its_options() -> None:
    wrong = []
    for page in PAGES:
        scripts = [block.text for block in docs.blocks(page, "sh")]
        scripts += [
            each.text for block in docs.blocks(page, "console") for each in docs.commands(block)
        ]
        spans = [token.content for token in docs.inline(page, "code_inline")]
        scripts += [span for span in spans if span.startswith("kernelprof ")]
        for script in scripts:
            try:
                docs.check_options(script)
            except Exception as error:
                wrong.append(f"{page.name}: {script}: {error}")
    assert wrong == []


def test_every_link_of_every_page_leads_somewhere() -> None:
    for page in (*PAGES, ROOT / "CHANGELOG.md", *(ROOT / "reports").glob("*.md")):
        for target, heading in docs.links(page):
            assert target.exists(), f"{page.name}: {target}"
            if heading and target.suffix == ".md":
                assert heading in docs.anchors(target), f"{page.name}: {target.name}#{heading}"


def test_the_index_and_the_site_list_every_page_once() -> None:
    pages = sorted(page.name for page in INDEX.parent.glob("*.md"))
    listed = [target.name for target, _ in docs.links(INDEX) if target.parent == INDEX.parent]
    assert sorted([*listed, INDEX.name]) == pages
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert sorted(re.findall(r": docs/(.+\.md)$", site, re.MULTILINE)) == pages


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("a ... d", "a ... d"),
        ("a x ... d", "a b ... d"),
        ("a x ... c y", "a b c d"),
        ("x ... y", "a b c d"),
        ("a ... y", "a ... d"),
        ("x ...", "a b c d"),
        ("... d", "... d"),
        ("a c", "a b c d"),
    ],
)
def test_an_output_is_corrected(shown: str, expected: str) -> None:
    corrected = docs.correct(shown.split(), PRINTED)
    assert corrected == expected.split()
    assert docs.matches(corrected, PRINTED)


@pytest.mark.parametrize(
    "script",
    [
        "kernelprof no-such x.csv",
        "kernelprof diagnose x.csv --no-such",
        "cat x | kernelprof ladder list --no-such",
        "A='b # c' kernelprof --no-such  # comment",
        "true  # comment\nkernelprof gate a \\\n  --no-such",
        "kernelprof COMMAND --help\nkernelprof ladder no-such",
    ],
)
def test_a_wrong_command_or_option_is_an_error(script: str) -> None:
    with pytest.raises(Exception, match="no-such"):
        docs.check_options(script)


@pytest.mark.parametrize(
    "script",
    ["kernelprof COMMAND --help", "kernelprof diagnose -- ./app --x", "pip install kernelprof -U"],
)
def test_what_other_programs_are_given_is_not_checked(script: str) -> None:
    docs.check_options(script)


def rewrite() -> None:
    """Write the outputs of all commands into the pages, and print wrong exit codes."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", folder)
        for block in reversed(CONSOLE):
            lines = block.page.read_text("utf-8").splitlines()
            for command in reversed(list(docs.commands(block))):
                code, printed = docs.run(command.text)
                if code != command.code:
                    print(f"{block.page.name}: $ {command.text}: exit code {code}")  # noqa: T201
                end = command.line + len(command.shown)
                lines[command.line : end] = docs.correct(command.shown, printed)
            block.page.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    rewrite()
