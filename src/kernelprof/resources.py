"""The version, and data folders that stand at the top of the repository and travel in the wheel."""

from __future__ import annotations

from pathlib import Path

from kernelprof.errors import MissingToolError

VERSION = "0.1.0"

_PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """The folder ``name``, from an installed wheel or from the checkout that this file lies in."""
    packaged = _PACKAGE / "_data" / name
    if packaged.is_dir():
        return packaged
    checkout = _PACKAGE.parent.parent
    if _PACKAGE.parent.name == "src" and (checkout / name).is_dir():
        return checkout / name
    raise MissingToolError(
        f"this installation of kernelprof lacks its data folder {name!r}",
        where=str(packaged),
        hint="install kernelprof again, or run it from a complete checkout",
    )
