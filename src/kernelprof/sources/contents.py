"""What a capture directory holds beside the counters."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.resources import data_folder
from kernelprof.sources.capture_directory import (
    SOURCE_FILE,
    is_capture,
    read_lines,
    read_manifest,
)

if TYPE_CHECKING:
    from kernelprof.model.capture import SourceLine
    from kernelprof.model.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Contents:
    """A capture's manifest and its samples by source line; nothing for an export.

    ``place`` is where the capture was read from.
    """

    place: Path
    manifest: Manifest | None = None
    lines: tuple[SourceLine, ...] | None = None

    def source_text(self) -> str | None:
        """The kernel's source as it was measured: kept with the capture, or still where it was."""
        if self.manifest is None or self.manifest.source is None:
            return None
        named = Path(self.manifest.source.path)
        places = [self.place / SOURCE_FILE, named]
        if named.parts[:1] == ("cuda",):
            places.append(data_folder("cuda").joinpath(*named.parts[1:]))
        for place in places:
            try:
                data = place.read_bytes()
            except OSError:
                continue
            if hashlib.sha256(data).hexdigest() == self.manifest.source.sha256:
                return data.decode("utf-8", "replace")
        return None


def contents(target: str) -> Contents:
    """What a capture directory holds beside the counters; nothing for any other capture."""
    folder = Path(target)
    if not is_capture(folder):
        return Contents(folder)
    manifest = read_manifest(folder)
    return Contents(folder, manifest, read_lines(folder, manifest))
