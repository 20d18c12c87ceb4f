"""The pages of ``make reports``, which are built: only their digests are committed.

``python -m tests.support.pages`` writes the digests of all pages that were built to
``reports/pages.toml``.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
REPORTS: Final = ROOT / "reports"
BUILT: Final = ROOT / "build" / "reports"
DIGESTS: Final = REPORTS / "pages.toml"
CORPUS: Final = "corpus-h200"
"""Made by ``make corpus-report``; all others by ``make reports``."""

Digest = dict[str, str | int]


def commands() -> dict[str, list[str]]:
    """The words of each command of ``make reports`` by the name of its page, which comes last."""
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\nreports:")[2].partition("\n\n")[0]
    lines = (
        shlex.split(line.partition("-m kernelprof ")[2].partition(" || ")[0])
        for line in recipe.splitlines()
        if "-m kernelprof " in line
    )
    return {Path(words[-1]).stem: words for words in lines}


def digests() -> dict[str, Digest]:
    """The committed digests by the name of the page."""
    return tomllib.loads(DIGESTS.read_text("utf-8"))


def digest_of(page: bytes) -> Digest:
    """Size and SHA-256 of a page, and the compiler of the kernel that it predicts."""
    compiler = re.search(rb"NVRTC \d+(?:\.\d+)+", page)
    found: Digest = {"bytes": len(page), "sha256": hashlib.sha256(page).hexdigest()}
    return found if compiler is None else {**found, "compiler": compiler[0].decode()}


def main() -> None:
    """Write the digests of the pages that are built; those of others stay."""
    pages = {path.stem: path for folder in (BUILT, REPORTS) for path in folder.glob("*.html")}
    found = digests() | {name: digest_of(path.read_bytes()) for name, path in pages.items()}
    text = "# Written by 'make reports' and 'make corpus-report'.\n"
    for name in sorted({*commands(), CORPUS} & set(found)):
        text += f"\n[{name}]\n"
        # Strings without escapes and integers are the same in JSON and TOML.
        text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in found[name].items())
    DIGESTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
