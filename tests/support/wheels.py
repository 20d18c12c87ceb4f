"""A machine without what predicts kernels."""

from __future__ import annotations

from typing import NoReturn

from kernelprof.errors import MissingToolError
from kernelprof.installation import install_command


def without_wheels() -> NoReturn:
    """Stands in for the function that looks for the compiler, as it ends without its packages."""
    raise MissingToolError("NVRTC is not installed here", hint=install_command("predict"))
