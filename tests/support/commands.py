"""Commands as they are typed, with what is expected of them."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.text import unwrapped

from kernelprof.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Collection

    import pytest

    Texts = str | Collection[str]


@dataclass(frozen=True, slots=True)
class Printed:
    """The exit code of a command, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it wrote, read as JSON."""
        return json.loads(self.out)

    @property
    def line(self) -> str:
        """What it wrote in one line, however it was wrapped."""
        return unwrapped(self.out)


class Command:
    """Runs ``kernelprof`` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(
        self,
        line: object,
        *words: object,
        code: int | Collection[int] | None = 0,
        out: Texts = (),
        err: Texts = (),
        says: Texts = (),
    ) -> Printed:
        """Run a line as a shell splits it, and more words as they are; check what comes of it.

        ``out`` and ``err`` are texts that it writes there, ``says`` the same of the output however
        it is wrapped. An empty text is none at all.
        """
        self._capsys.readouterr()
        ended = main([*shlex.split(str(line)), *map(str, words)])
        printed = Printed(ended, *self._capsys.readouterr())
        assert code is None or ended in ({code} if isinstance(code, int) else code), printed
        for written, expected in ((printed.out, out), (printed.err, err), (printed.line, says)):
            for each in (expected,) if isinstance(expected, str) else expected:
                assert each in written if each else written == "", printed
        assert "Traceback" not in printed.err
        return printed

    def json(self, line: object, *words: object, code: int | Collection[int] | None = 0) -> Any:
        """Return what a command writes with ``--format json``."""
        typed = [*shlex.split(str(line)), *words]
        end = typed.index("--") if "--" in typed else len(typed)
        return self(*typed[:end], "--format", "json", *typed[end:], code=code).json
