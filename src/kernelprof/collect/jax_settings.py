"""Environment variables by which programs that use JAX can be measured under ``ncu``.

``ncu`` crashes while XLA compiles in several threads (H200, ncu 2025.3.1, JAX 0.11: 4 of 6 runs;
0 of 6 that loaded what an earlier run had compiled), and it hangs while it saves the three quarters
of the GPU's memory that JAX takes at its start.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPILED: Final = "JAX_COMPILATION_CACHE_DIR"
_KEEP_ALL: Final = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
_ALLOCATE_LATE: Final = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


@contextmanager
def shared_environment() -> Iterator[dict[str, str]]:
    """The environment for all runs of a program: JAX compiles in the first one only.

    Variables that are already set keep their values.
    """
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as compiled:
        cache = {} if COMPILED in os.environ else {COMPILED: compiled, **_KEEP_ALL}
        yield {**_ALLOCATE_LATE, **cache, **os.environ}
