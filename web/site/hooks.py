"""Builds the site from files where they are in the repository, so that the same links work there.

Every file that a page links to becomes part of the site: Markdown as a page, other text as a page
that shows it, reports and pictures as they are.
"""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt
from mkdocs.structure.files import File, InclusionLevel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]
HOME: Final = "docs/README.md"
RULES: Final = "reports/rules.md"
COPIED: Final = {".css", ".html", ".png"}
LANGUAGES: Final = {".cu": "cuda", ".ipynb": "json", ".py": "python", ".yml": "yaml"}
_MARKDOWN: Final = MarkdownIt("commonmark").enable("table")
_LOG: Final = logging.getLogger("mkdocs.hooks")


class SourcePage(File):
    """A file of text that is shown on a page of its own."""

    def is_documentation_page(self) -> bool:
        """Return whether it is rendered as Markdown."""
        return True


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the files of ``docs_dir`` by files at their paths in the repository."""
    for file in [each for each in files if each.src_dir == config.docs_dir]:
        files.remove(file)
    pending = [HOME, *config.extra_css, *(str(path.relative_to(ROOT)) for path in docs_pages())]
    while pending:
        path = pending.pop()
        if files.get_file_from_path(path) is None and (ROOT / path).is_file():
            files.append(make_file(path, config))
            pending += linked_files(path)
    return files


def docs_pages() -> list[Path]:
    """Return the pages of the documentation and those that its navigation adds."""
    return [*(ROOT / "docs").glob("*.md"), ROOT / "CHANGELOG.md"]


def make_file(path: str, config: MkDocsConfig) -> File:
    """Return a file of the repository as one of the site, where ``docs/`` is the root."""
    source = ROOT / path
    if source.suffix in {".md", *COPIED}:
        file = File.generated(config, path, abs_src_path=str(source))
        file.dest_uri = file.dest_uri.removeprefix("docs/")
        return file
    language = LANGUAGES.get(source.suffix, "text")
    text = source.read_text("utf-8")
    front = "---\nsearch:\n  exclude: true\n---\n"
    content = f"{front}# {source.name}\n\n`{path}`\n\n````{language}\n{text}\n````\n"
    page = SourcePage.generated(config, path, content=content, inclusion=InclusionLevel.NOT_IN_NAV)
    # The service that publishes the site leaves out files whose names begin with a dot.
    page.dest_uri = f"source/{path}.html".replace("/.", "/")
    return page


def linked_files(path: str) -> Iterator[str]:
    """Yield the paths of the files that a page links to."""
    if not path.endswith(".md"):
        return
    for token in _MARKDOWN.parse((ROOT / path).read_text("utf-8")):
        for child in token.children or ():
            target = str(child.attrs.get("href") or child.attrs.get("src") or "").partition("#")[0]
            if target and ":" not in target:
                yield posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let searches find tables of measurements last."""
    if page.file.src_uri.startswith("reports/") and page.file.src_uri != RULES:
        page.meta["search"] = {"boost": 0.2}
    return markdown


def on_page_content(html: str, page: Page, **_: object) -> None:
    """Warn where the site's parser finds other lists, tables or blocks than CommonMark does."""
    if not page.file.src_uri.endswith(".md"):
        return
    expected = _MARKDOWN.render(page.file.content_string)
    for tag in ("h2", "h3", "li", "pre", "table"):
        counts = [len(re.findall(rf"<{tag}\b", text)) for text in (expected, html)]
        if counts[0] != counts[1]:
            _LOG.warning("%s: %d <%s> instead of %d", page.file.src_uri, counts[1], tag, counts[0])
