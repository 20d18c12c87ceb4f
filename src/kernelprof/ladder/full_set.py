"""``ncu --set full``: what people collect who do not know what they need, to compare with."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.capture import processes
from kernelprof.capture.failures import Ended, ProfilerError, failure
from kernelprof.capture.request import import_command, profile_command

if TYPE_CHECKING:
    from kernelprof.capture.run import Session
    from kernelprof.model.capture import Capture

_REPORT = "full-set.ncu-rep"
_LOG = "full-set.log"


def collect_full_set(session: Session) -> Capture:
    """Run the session's program once under ``ncu --set full``; its filters and clocks hold."""
    from kernelprof.tables.reader import read_bytes

    folder = session.draft.folder
    report, log = folder / _REPORT, folder / _LOG
    command = full_set_command(session)
    done = processes.run(command, session.interrupts, time_limit=session.time_limit)
    said = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    error = failure(
        Ended(
            code=done.code,
            said=tuple(said.splitlines()),
            printed=tuple(done.printed.decode("utf-8", "replace").splitlines()),
            command=shlex.join(command),
            program=shlex.join(session.application),
            has_report=report.is_file(),
            filtered=session.filters.any,
        )
    )
    if error is not None:
        raise error
    page = processes.run(
        import_command(session.ncu, str(report)), session.interrupts, keep_all=True
    )
    if page.code != 0:
        raise ProfilerError(
            f"ncu cannot read the report that it wrote (exit code {page.code})",
            where=_REPORT,
            hint="see whether the disk is full (free some space), and try it again",
        )
    found = read_bytes(page.printed, _REPORT)
    return replace(found, clock_control=session.clock_control)


def full_set_command(session: Session) -> list[str]:
    """The command of a session's run, with NVIDIA's set in the place of metrics."""
    from kernelprof.metrics.catalogue import preset

    folder = session.draft.folder
    command = profile_command(
        session.ncu,
        session.application,
        preset("speed-of-light").metrics[:1],
        report=str(folder / _REPORT),
        log=str(folder / _LOG),
        filters=session.filters,
        clock_control=session.clock_control,
    )
    at = command.index("--metrics")
    return [*command[:at], "--set", "full", *command[at + 2 :]]
