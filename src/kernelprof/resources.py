"""Data folders that stand at the top of the repository and travel inside the wheel."""

from __future__ import annotations

from pathlib import Path

from kernelprof.errors import MissingToolError

_PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """The folder ``name``, from an installed wheel or from the checkout that this file lies in."""
    packaged = _PACKAGE / "_data" / name
    if packaged.is_dir():
        return packaged
    folder = checkout_folder(name)
    if folder is not None:
        return folder
    raise MissingToolError(
        f"the data folder {name!r} is missing from this installation of kernelprof",
        where=str(packaged),
        hint="install kernelprof again, or run it from a complete checkout",
    )


def checkout_folder(name: str) -> Path | None:
    """Return the folder ``name`` of the checkout that holds this file; ``None`` once installed."""
    folder = _PACKAGE.parent.parent / name
    return folder if _PACKAGE.parent.name == "src" and folder.is_dir() else None
