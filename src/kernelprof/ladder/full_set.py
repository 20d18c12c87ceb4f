"""``ncu --set full``: what people collect who do not know what they need, to compare with."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.collect import processes
from kernelprof.collect.failures import Ended, failure
from kernelprof.collect.request import profile_command

if TYPE_CHECKING:
    from kernelprof.collect.run import Session
    from kernelprof.model.capture import Capture

_REPORT = "full-set.ncu-rep"
_LOG = "full-set.log"


def collect_full_set(session: Session) -> Capture:
    """Run the session's program once under ``ncu --set full``; its filters and clocks hold."""
    from kernelprof.sources import read_bytes

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
    found = read_bytes(session.page(report), _REPORT)
    return replace(found, clock_control=session.clock_control)


def full_set_command(session: Session) -> list[str]:
    """The command of a session's run, with NVIDIA's set in the place of metrics."""
    folder = session.draft.folder
    return profile_command(
        session.ncu,
        session.application,
        (),
        report=str(folder / _REPORT),
        log=str(folder / _LOG),
        filters=session.filters,
        clock_control=session.clock_control,
        sets=["full"],
    )
