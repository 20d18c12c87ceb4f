"""Messages about bad input: what was found, what was expected, how to export properly."""

from __future__ import annotations

from typing import Final

from kernelprof.errors import InputError

RECORD: Final = "ncu --set full --csv --page raw --print-units base --log-file capture.csv ./app"
CONVERT: Final = "ncu --import report.ncu-rep --csv --page raw > capture.csv"

_EXPECTED: Final = (
    "expected the raw or details page that Nsight Compute exports as CSV, or a .ncu-rep report"
)
_EXPORT: Final = f"Export with `{RECORD}`, or from a report with `{CONVERT}`."


def not_a_capture(found: str, where: str, *, hint: str = "") -> InputError:
    """The error for input that holds no launch: ``found`` says what it holds instead."""
    return InputError(
        f"{found}; {_EXPECTED}", where=where, hint=f"{hint} {_EXPORT}" if hint else _EXPORT
    )
