"""The program that proposes: what it is told, and how it is run.

It is started in a folder of its own that holds a copy of the kernel, and has to change the source
there. On standard input it gets the brief, what was tried before, and the source.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Final

from kernelprof.errors import UsageError
from kernelprof.launch import processes
from kernelprof.model.names import printable
from kernelprof.proposals.problem import in_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelprof.launch.processes import Interrupts, Outcome
    from kernelprof.model.optimization import Attempt

SOURCE: Final = "KERNELPROF_SOURCE"
BRIEF: Final = "KERNELPROF_BRIEF"
ROUND: Final = "KERNELPROF_ROUND"
_TOLD: Final = """\
{brief}
Task: make this kernel faster. Change the file {name} in the current folder, and nothing else; its
path is also in ${source}. Its result has to stay right: it is compared with the original's
reference. Of its launch specification these keys may change: {keys}. A proposal that changes
another one is refused.
{tried}
{name}:
{text}
"""
_LAST: Final = 2_000


def words_of(command: str) -> tuple[str, ...]:
    """A command as a shell would part it; none is started. Raises :class:`UsageError`."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(
            f"the command cannot be parted into words: {error}", where=command, hint="close quotes"
        ) from error
    if not words:
        raise UsageError("there is no command", hint='--with "COMMAND ARGS..."')
    return tuple(words)


def told(brief: str, attempts: Sequence[Attempt], name: str, text: str) -> str:
    """What the command gets on standard input."""
    lines = [f"- {each.number}: {each.decision.value}: {each.reason}" for each in attempts]
    tried = "\n".join(["What was tried so far:", *lines, ""]) if lines else ""
    return _TOLD.format(
        brief=brief, name=name, source=SOURCE, keys=in_words(), tried=tried, text=text
    )


def ask(
    words: Sequence[str],
    place: Path,
    brief: Path,
    number: int,
    *,
    interrupts: Interrupts,
    time_limit: float,
) -> Outcome:
    """Run the command in the folder of the source at ``place``; all that it starts ends with it.

    Raises :class:`processes.TimeLimitError`, and :class:`MissingToolError` where it cannot be
    started.
    """
    environment = {**os.environ, SOURCE: str(place), BRIEF: str(brief), ROUND: str(number)}
    return processes.run(
        words,
        interrupts,
        time_limit=time_limit,
        folder=place.parent,
        environment=environment,
        given=brief,
        alone=True,
    )


def last_printed(outcome: Outcome) -> str:
    """The end of what a command printed."""
    text = outcome.printed.decode("utf-8", "replace")[-_LAST:]
    return "\n".join(printable(line.expandtabs(4)) for line in text.splitlines())
