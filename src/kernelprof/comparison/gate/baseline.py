"""The baseline: what a repository's kernels were like when somebody last agreed to it.

One small JSON file that lives in the repository. Kernels and keys are sorted and a list of times
stands on one line, so that a diff shows what changed. Regressions that were accepted are recorded
in it with who, when and why.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kernelprof import files
from kernelprof.comparison.counters import COUNTERS
from kernelprof.comparison.snapshots import from_values, to_values
from kernelprof.errors import InputError
from kernelprof.model.diagnosis import Status
from kernelprof.model.records import RecordError, read_object
from kernelprof.model.snapshot import Acceptance, KernelSnapshot, Machine, Snapshot
from kernelprof.model.specification import check_shape

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION: Final = "1"
KIND: Final = "kernelprof-baseline"

_DIGITS: Final = 7
_ON_A_LINE: Final = re.compile(r'"\\u0000(\d+)"')
"""What stands for a record that is written on one line."""
_NUMBERS: Final = re.compile(r"\[\n\s+(-?[0-9][^\]\[{}\"]*?)\n\s+\]")


@dataclass(frozen=True, slots=True)
class Baseline:
    """The kernels as they were agreed to, and what was accepted on the way."""

    created: str
    kernelprof: str
    origin: str
    machine: Machine
    kernels: tuple[KernelSnapshot, ...]
    accepted: tuple[Acceptance, ...] = ()
    kind: str = KIND
    schema_version: str = SCHEMA_VERSION

    def snapshot(self, origin: str) -> Snapshot:
        """The baseline as a side of a comparison, under the name of its file."""
        return Snapshot(origin, self.created, self.machine, self.kernels, accepted=self.accepted)


def to_text(baseline: Baseline) -> str:
    """The baseline as its file holds it."""
    values = to_values(baseline)
    kept: list[str] = []
    for kernel in values["kernels"]:
        if kernel["predicted"] is not None:
            _keep(kernel["predicted"], kept)
        kernel["metrics"] = {
            name: value if name in COUNTERS else _rounded(value)
            for name, value in sorted(kernel["metrics"].items())
        }
        for name in ("events_ns", "profiled_ns"):
            kernel[name] = [_rounded(each) for each in kernel[name]]
    head = {key: values.pop(key) for key in ("schema_version", "kind")}
    text = json.dumps({**head, **values}, indent=1, ensure_ascii=False, allow_nan=False)
    text = _NUMBERS.sub(lambda found: f"[{', '.join(found[1].split())}]".replace(",,", ","), text)
    return _ON_A_LINE.sub(lambda found: kept[int(found[1])], text) + "\n"


def _keep(predicted: dict[str, Any], kept: list[str]) -> None:
    """Put a mark in place of each access and each line, and the text that it stands for aside."""
    for name in ("accesses", "lines"):
        records = predicted[name]
        predicted[name] = [f"\0{len(kept) + at}" for at in range(len(records))]
        kept += (json.dumps(each, ensure_ascii=False, allow_nan=False) for each in records)
    kept.append(json.dumps(predicted["text"]))
    predicted["text"] = f"\0{len(kept) - 1}"


def read_text(path: Path) -> str:
    """The text of a file. Raises :class:`InputError`."""
    try:
        return files.read_text(path.expanduser(), files.LARGEST_JSON, typed=True)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"the file cannot be read: {reason}", where=str(path)) from error


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file, as :func:`from_text`."""
    return from_text(read_text(path), str(path))


def from_text(text: str, where: str) -> Baseline:
    """The baseline in a text.

    Raises :class:`InputError` for another schema, and with the key for any mistake.
    """
    try:
        values = read_object(text, finite=True)
        if values.get("kind") != KIND:
            raise RecordError("it is not a baseline")
        if (version := values.get("schema_version")) != SCHEMA_VERSION:
            raise InputError(
                f"the baseline has schema version {version!r}, and this kernelprof knows "
                f"{SCHEMA_VERSION!r} at most",
                where=where,
                hint="install a newer kernelprof",
            )
        found = from_values(Baseline, values)
        for kernel in found.kernels:
            _check(kernel)
    except RecordError as error:
        raise InputError(
            f"the baseline cannot be read: {error}",
            where=where,
            hint="make one with 'kernelprof baseline save CAPTURE -o FILE'",
        ) from error
    return found


def _check(kernel: KernelSnapshot) -> None:
    """Refuse what no command writes."""
    check_shape(kernel.inputs.specification if kernel.inputs else None)
    decided = kernel.verdict.status is not Status.INCONCLUSIVE
    numbers = (*kernel.events_ns, *kernel.profiled_ns, *kernel.metrics.values())
    if any(abs(each) > sys.float_info.max for each in numbers):
        raise RecordError(f"{kernel.name!r} has a number that no measurement gives")
    if decided == (kernel.verdict.bottleneck is None) or kernel.passed is False:
        raise RecordError(f"{kernel.name!r} is not a kernel to hold anything against")


def _rounded(value: float) -> float:
    """Enough digits for any comparison, and not the noise of the last ones."""
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
