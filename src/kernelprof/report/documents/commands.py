"""What to measure next: one command that settles all that a diagnosis leaves open."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.ncu_command import shared_command
from kernelprof.model.diagnosis import Status
from kernelprof.model.numbers import count
from kernelprof.report.document import Block, CodeBlock, Document, Paragraph, Section
from kernelprof.report.documents import prediction
from kernelprof.report.private import without_homes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.diagnosis import Diagnosis, Verdict
    from kernelprof.sources.source import Contents

_EXPORTS: Final = (".csv", ".gz", ".txt", ".ncu-rep")


def document(diagnoses: Sequence[Diagnosis]) -> Document:
    """The command for each diagnosis."""
    blocks = [block for each in diagnoses for block in settle(each)]
    done = Paragraph("No verdict needs another measurement.")
    return Document("What to measure next", tuple(blocks or [done]))


def settle(diagnosis: Diagnosis) -> Iterable[Block]:
    """The command that settles the verdicts of a diagnosis, and what it settles."""
    command = shared_command(each.verdict for each in diagnosis.kernels)
    if command is not None:
        yield Paragraph(f"{purpose(diagnosis)}:")
        lines = (command, merge_command(command, readable_target(diagnosis)))
        yield CodeBlock("\n".join(filter(None, lines)), language="sh", copy=True)


def on_card(verdict: Verdict, diagnosis: Diagnosis) -> Iterable[Section]:
    """The same on the card of one of its kernels on a page, without the folders of users."""
    if verdict.command is not None:
        blocks = tuple(
            replace(each, text=without_homes(each.text)) if isinstance(each, CodeBlock) else each
            for each in settle(diagnosis)
        )
        yield Section("The command to run next", blocks, folded=True)


def purpose(diagnosis: Diagnosis) -> str:
    """``To get a verdict for 2 kernels and raise confidence for 1 more``; no number for one."""
    lacking = [each.verdict for each in diagnosis.kernels if each.verdict.command is not None]
    undecided = sum(each.status is Status.INCONCLUSIVE for each in lacking)
    several = len(diagnosis.kernels) > 1
    parts = []
    if undecided:
        whose = f" for {count(undecided, 'kernel')}" if several else ""
        parts.append(f"get a verdict{whose}")
    if surer := len(lacking) - undecided:
        whose = f"{surer:,} more" if undecided else count(surer, "kernel")
        parts.append(f"raise confidence for {whose}" if several else "raise confidence")
    where = ", on a machine with a GPU" if prediction.facts_of(diagnosis) is not None else ""
    return f"To {' and '.join(parts)}{where}"


def merge_command(command: str, capture: str) -> str:
    """What to do with the file that a command writes; empty where it writes none."""
    words = command.split()
    if "--log-file" not in words[:-1]:
        return ""
    written = words[words.index("--log-file") + 1]
    return f"kernelprof diagnose {capture} {written} --merge"


def readable_target(diagnosis: Diagnosis) -> str:
    """How a command names the capture of a diagnosis: an export, or a capture directory."""
    origin = diagnosis.origin
    export = origin.endswith(_EXPORTS) and " + " not in origin
    contents: Contents | None = getattr(getattr(diagnosis, "capture", None), "contents", None)
    if contents is not None and contents.manifest is not None:
        export = contents.folder == Path(origin)
    return shlex.quote(origin) if export else "CAPTURE"
