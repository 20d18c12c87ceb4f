"""Ask both peers about the corpus: ``python -m benchmarks.peers EVERYTHING_DIR ...``."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.measure import place
from benchmarks.corpus.pairs import Kind, Side, all_pairs
from benchmarks.corpus.stored import home
from benchmarks.peers.fournex import FORMS, Fournex
from benchmarks.peers.ncu_rules import find, read_rules
from benchmarks.peers.translation import UnknownSayingError

from benchmarks import command
from kernelprof.errors import InputError
from kernelprof.sources.capture_directory import is_capture, read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.corpus.pairs import Pair
    from benchmarks.peers import fournex, ncu_rules

DETAILS: Final = ".details.csv.gz"
RAW: Final = ".raw.csv.gz"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the report; an error is told in a sentence and gives its exit code."""
    options = _parser().parse_args(arguments)
    return command.run("benchmarks.peers", lambda: _write(options))


def _write(options: argparse.Namespace) -> int:
    report = ask(options.everything, Fournex(options.fournex), options.form)
    text = json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    command.write(text, options.output)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description="What Nsight Compute's own rules and Fournex say about the corpus.",
    )
    parser.add_argument(
        "everything",
        type=Path,
        metavar="EVERYTHING_DIR",
        help="what 'python -m benchmarks.corpus run --everything' wrote",
    )
    parser.add_argument(
        "--fournex",
        type=Path,
        required=True,
        metavar="SCRIPT",
        help="the console script of an installed Fournex",
    )
    parser.add_argument(
        "--form",
        choices=FORMS,
        default=FORMS[0],
        help="what Fournex is given (default: %(default)s)",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    return parser


def ask(everything: Path, script: Fournex, form: str = FORMS[0]) -> dict[str, object]:
    """Both peers' answers on every pair of the corpus that has both pages in the folder."""
    pairs = _captured(everything)
    rules = _all_rules({name: _page(everything, name, DETAILS) for name in pairs})
    version = script.version()
    labels = {
        name: script.find(
            _page(everything, name, RAW), _page(everything, name, DETAILS), name + RAW, form
        )
        for name in pairs
    }
    sys.stdout.write(_told("Nsight Compute", pairs, rules))
    sys.stdout.write(_told("Fournex", pairs, labels))
    return {
        "ncu": {
            "version": _ncu_version(pairs.values()),
            "pairs": {name: found.as_json() for name, found in rules.items()},
        },
        "fournex": {
            "version": version,
            "pairs": {name: found.as_json() for name, found in labels.items()},
        },
    }


def _captured(everything: Path) -> dict[str, Pair]:
    """The pairs that have a details page; pages of none are told and left out."""
    corpus = {pair.name: pair for pair in all_pairs()}
    names = sorted(path.name.removesuffix(DETAILS) for path in everything.glob(f"*{DETAILS}"))
    known = {name: corpus[name] for name in names if name in corpus}
    for name in names:
        if name not in known:
            sys.stderr.write(f"benchmarks.peers: {name}: left out, the corpus has no such pair\n")
    if not known:
        raise InputError(
            "there are no details pages of the corpus",
            where=str(everything),
            hint="name the folder that 'python -m benchmarks.corpus run --everything' wrote",
        )
    return known


def _page(everything: Path, name: str, ending: str) -> str:
    path = everything / f"{name}{ending}"
    try:
        return gzip.decompress(path.read_bytes()).decode("utf-8")
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"it cannot be read: {error}", where=str(path)) from error


def _all_rules(pages: Mapping[str, str]) -> dict[str, ncu_rules.Finding]:
    """What the rules say on each page; everything without translation is told at once."""
    found: dict[str, ncu_rules.Finding] = {}
    unknown: list[str] = []
    for name, page in pages.items():
        try:
            found[name] = find(read_rules(page, name + DETAILS))
        except UnknownSayingError as error:
            unknown.extend(f"{name}: {line}" for line in error.what.splitlines())
    if unknown:
        raise UnknownSayingError(
            "\n".join(["sentences without translation:", *unknown]),
            hint="add them to benchmarks/peers/translation.py",
        )
    return found


def _ncu_version(pairs: Iterable[Pair]) -> str:
    """The versions of ``ncu`` in the manifests of the same captures, or nothing."""
    folders = (place(home(pair), pair, Side.BEFORE) for pair in pairs)
    versions = {read_manifest(folder).ncu for folder in folders if is_capture(folder)}
    return ", ".join(sorted(version for version in versions if version))


def _told(
    title: str,
    pairs: Mapping[str, Pair],
    found: Mapping[str, ncu_rules.Finding] | Mapping[str, fournex.Finding],
) -> str:
    """How often a peer names what was planted, in one line."""
    planted = [pair for pair in pairs.values() if pair.kind is Kind.PAIR]
    first = sum(pair.bottleneck in found[pair.name].slugs for pair in planted)
    anywhere = sum(pair.bottleneck in found[pair.name].anywhere for pair in planted)
    return (
        f"{title}: names {first} of {len(planted)} planted bottlenecks first, {anywhere} anywhere\n"
    )


if __name__ == "__main__":
    sys.exit(main())
