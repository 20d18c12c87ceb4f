"""A compiled kernel in a file, from which the later processes that launch it load it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from kernelprof.launch.build import Built
from kernelprof.launch.compiler_messages import Spills
from kernelprof.model.manifest import CompilerWarning

if TYPE_CHECKING:
    from pathlib import Path


def keep(file: Path, key: str, built: Built) -> None:
    """Write a kernel: what is known of it in a line of JSON, then the cubin."""
    head = {
        "key": key,
        "entry": built.entry,
        "options": built.options,
        "arch": built.arch,
        "warnings": [asdict(each) for each in built.warnings],
        "spills": built.spills,
    }
    file.write_bytes(json.dumps(head).encode() + b"\n" + built.cubin)


def kept(file: Path, key: str) -> Built | None:
    """The kernel in a file that :func:`keep` wrote with that key; ``None`` for any other file."""
    if not file.is_file():
        return None
    line, _, cubin = file.read_bytes().partition(b"\n")
    try:
        head = json.loads(line)
    except ValueError:
        return None
    if head["key"] != key:
        return None
    return Built(
        cubin=cubin,
        entry=head["entry"],
        options=tuple(head["options"]),
        arch=head["arch"],
        warnings=tuple(CompilerWarning(**each) for each in head["warnings"]),
        spills=None if head["spills"] is None else Spills(*head["spills"]),
    )
