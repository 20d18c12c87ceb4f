"""Names of kernels as people write them, by the C++ runtime of this machine."""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache
from typing import Any, Final

_PREFIX: Final = "_Z"


@cache
def demangled(name: str) -> str:
    """``_Z5sweepPKfPfi`` is ``sweep(float const*, float*, int)``; as it is where that fails."""
    if not name.startswith(_PREFIX):
        return name
    found = _runtime()
    if found is None:
        return name
    demangle, free = found
    status = ctypes.c_int()
    text = demangle(name.encode(), None, None, ctypes.byref(status))
    try:
        value = ctypes.cast(text, ctypes.c_char_p).value if text else None
        return name if value is None else value.decode("utf-8", "replace")
    finally:
        free(text)


@cache
def _runtime() -> tuple[Any, Any] | None:
    for library in ("libstdc++.so.6", "libc++abi.so.1", ctypes.util.find_library("stdc++")):
        try:
            loaded = ctypes.CDLL(library) if library else None
            demangle = getattr(loaded, "__cxa_demangle", None)
        except OSError:
            continue
        if demangle is None:
            continue
        demangle.restype = ctypes.c_void_p
        demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        return demangle, free
    return None
