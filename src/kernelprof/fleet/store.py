"""The store: immutable files, one a job, by GPU and month.

``gpu=NVIDIA-H200/month=2026-11/KEY.WHEN-ID.parquet``: the name says what was measured, so that a
listing tells what need not be measured again. ``runs/`` has a JSON file for each run.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import InputError
from kernelprof.fleet import records
from kernelprof.fleet.places import Place, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelprof.fleet.records import Record

ENDING: Final = ".parquet"
RUNS: Final = "runs"
DATA: Final = "kernels"
_NAME: Final = re.compile(
    r"(?:^|/)gpu=(?P<gpu>[^/]+)/month=(?P<month>\d{4}-\d\d)/(?P<key>[0-9a-f]{64})\.[^/]+$"
)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A file that is left out, and why."""

    file: str
    why: str


@dataclass
class Store:
    """What was measured, in a place; nothing is read before somebody asks."""

    place: Place
    _known: dict[str, list[str]] | None = field(default=None, repr=False)

    @staticmethod
    def at(where: str) -> Store:
        """The store in a folder or under a URL."""
        return Store(place_of(where))

    def names(self, since: str | None = None) -> list[str]:
        """The files with measurements, those of a month from ``since`` (``2026-11``) on.

        What has not the name of such a file is not among them: :meth:`strangers`.
        """
        found = (each for names in self._keys().values() for each in names)
        return sorted(each for each in found if since is None or _month(each) >= since)

    def strangers(self) -> tuple[Damaged, ...]:
        """Parquet files whose name is none of ours."""
        return tuple(
            Damaged(self.place.path(each), "its name is not that of a measurement")
            for each in self.place.names(DATA, ENDING)
            if _NAME.search(each) is None
        )

    def _keys(self) -> dict[str, list[str]]:
        if self._known is None:
            self._known = {}
            for name in self.place.names(DATA, ENDING):
                if (match := _NAME.search(name)) is not None:
                    self._known.setdefault(match["key"], []).append(name)
        return self._known

    def holds(self, key: str, *, recorded: bool = False) -> tuple[str | None, tuple[Damaged, ...]]:
        """The newest whole file of a key, and those of it that are not whole.

        A recorded capture is no measurement: it counts where ``recorded`` ones are asked for.
        """
        damaged = []
        for name in sorted(self._keys().get(key, ()), reverse=True):
            try:
                file = self._opened(name)
            except InputError as error:
                damaged.append(Damaged(self.place.path(name), error.what))
                continue
            if recorded or not any(file.read(["recorded"]).column(0).to_pylist()):
                return name, tuple(damaged)
        return None, tuple(damaged)

    def _opened(self, name: str) -> Any:
        return records.opened(self.place.read(name), self.place.path(name))

    def check(self, name: str) -> int:
        """The rows of a file; :class:`InputError` for one that is damaged or foreign."""
        rows: int = self._opened(name).metadata.num_rows
        return rows

    def check_all(self, names: Iterable[str]) -> tuple[list[str], tuple[Damaged, ...]]:
        """The whole ones of these files, and the others."""
        whole, damaged = [], []
        for name in names:
            try:
                self.check(name)
                whole.append(name)
            except InputError as error:
                damaged.append(Damaged(self.place.path(name), error.what))
        return whole, tuple(damaged)

    def add(self, made: Record, *, sync: bool = True) -> str:
        """Store a file; its name. Without ``sync`` a power cut may take it."""
        gpu = re.sub(r"[^A-Za-z0-9._-]+", "-", made.gpu).strip("-.") or records.UNKNOWN
        month = made.created.astimezone(UTC).strftime("%Y-%m")
        name = (
            f"{DATA}/gpu={gpu}/month={month}/{made.key}."
            f"{made.created.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}{ENDING}"
        )
        self.place.write(name, made.data, sync=sync)
        if self._known is not None:
            self._known.setdefault(made.key, []).append(name)
        return name

    def add_run(self, facts: dict[str, Any]) -> str:
        """Store what a run did."""
        when = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        name = f"{RUNS}/{when}-{secrets.token_hex(4)}.json"
        text = json.dumps(facts, ensure_ascii=False, indent=1) + "\n"
        self.place.write(name, text.encode())
        return name

    def runs(self, newest: int) -> Iterator[dict[str, Any]]:
        """What the newest runs did, the newest first; one that cannot be read is left out."""
        for name in sorted(self.place.names(RUNS, ".json"), reverse=True)[:newest]:
            try:
                facts = json.loads(self.place.read(name))
            except (InputError, ValueError):
                continue
            if isinstance(facts, dict):
                yield facts


def _month(name: str) -> str:
    match = _NAME.search(name)
    return "" if match is None else match["month"]
