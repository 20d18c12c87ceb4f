"""The folder in which exports are made, and kept for the next time."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.speed import inputs

from kernelprof.resources import data_folder

if TYPE_CHECKING:
    from collections.abc import Callable

CAPTURE: Final = (
    Path(__file__).parent.parent.parent / "tests" / "captures" / "gemm_series.full.raw.csv"
)

_PIECE: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class Work:
    """A folder for inputs and for what contestants write."""

    folder: Path
    tell: Callable[[str], None] = lambda _: None

    def made(self, name: str, make: Callable[[Path], None]) -> Path:
        """The file of that name, made anew if it is not what would be made now.

        It has been read once then, so that the first contestant does not wait for the disk.
        """
        path = self.folder / name
        note = path.with_name(f"{name}.json")
        origin = _origin()
        if not (path.is_file() and _noted(note) == {"origin": origin, "bytes": _size(path)}):
            self.tell(f"making {path}")
            unfinished = path.with_name(f"{name}.part")
            make(unfinished)
            unfinished.replace(path)
            note.write_text(json.dumps({"origin": origin, "bytes": _size(path)}), encoding="utf-8")
        _read_through(path)
        return path


def _origin() -> str:
    """A file's content follows from these, its name aside."""
    catalogue = sorted(data_folder("metric_presets").glob("*.toml"))
    digest = hashlib.sha256()
    for path in (CAPTURE, Path(inputs.__file__), *catalogue):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _noted(note: Path) -> object:
    try:
        noted: object = json.loads(note.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return noted


def _size(path: Path) -> int:
    return path.stat().st_size


def _read_through(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(_PIECE):
            pass
