"""Lines on stderr beside a result: no warnings, just what was done for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kernelprof.model.names import encodable, printable

if TYPE_CHECKING:
    from collections.abc import Iterable


def remark(lines: Iterable[str]) -> None:
    """Write lines for people, each under our name."""
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.writelines(f"kernelprof: {encodable(printable(line), encoding)}\n" for line in lines)
