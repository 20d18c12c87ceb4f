"""Runs a program with the library that records, and reads what its processes left."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.collect.survey.library import PYTHON_HOOKS, build, find_cupti
from kernelprof.collect.survey.reader import read_survey
from kernelprof.errors import MissingToolError
from kernelprof.launch import processes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.collect.survey.library import Cupti
    from kernelprof.launch.processes import Interrupts
    from kernelprof.model.trace import Trace

FOLDER_VARIABLE: Final = "KERNELPROF_SURVEY_DIR"
CUPTI_VARIABLE: Final = "KERNELPROF_SURVEY_CUPTI"
_CUDA: Final = "CUDA_INJECTION64_PATH"
_NVTX: Final = "NVTX_INJECTION64_PATH"
_PYTHON: Final = "PYTHONPATH"


@dataclass(frozen=True, slots=True)
class SurveyRun:
    """What one run of a program left: its trace, how long it took and how it ended.

    ``ended`` is empty where the program ended by itself with success.
    """

    trace: Trace
    seconds: float
    ended: str = ""


def survey(
    application: Sequence[str],
    interrupts: Interrupts,
    *,
    time_limit: float | None = None,
    folder: Path | None = None,
) -> SurveyRun:
    """Run a program at nearly its own speed, and record what it does on GPUs.

    One that is still running at the time limit is ended, and so is a survey of what it did until
    then. ``folder`` keeps the files. Raises :class:`MissingToolError` where nothing can record.
    """
    if _CUDA in os.environ:
        raise MissingToolError(
            f"another tool is loaded into CUDA programs here (${_CUDA})",
            where=os.environ[_CUDA],
            hint="unset it, so that the program can be surveyed",
        )
    cupti = find_cupti(application)
    library = build(cupti)
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as temporary:
        place = Path(temporary) if folder is None else folder
        begin, ended = time.monotonic(), ""
        try:
            outcome = processes.run(
                application,
                interrupts,
                time_limit=time_limit,
                environment=environment(os.environ, library, cupti, place),
            )
        except processes.TimeLimitError:
            ended = f"it was ended after {time_limit:g} s"
        else:
            ended = _how(outcome.code)
        return SurveyRun(read_survey(place), time.monotonic() - begin, ended)


def environment(
    given: Mapping[str, str], library: Path, cupti: Cupti, folder: Path
) -> dict[str, str]:
    """The environment of the program: its own, and what has CUDA, NVTX and Python load ours."""
    python = [str(PYTHON_HOOKS), *filter(None, [given.get(_PYTHON)])]
    return {
        _NVTX: str(library),
        **given,
        _CUDA: str(library),
        FOLDER_VARIABLE: str(folder),
        CUPTI_VARIABLE: os.pathsep.join(map(str, cupti.libraries)),
        _PYTHON: os.pathsep.join(python),
    }


def _how(code: int) -> str:
    if code == 0:
        return ""
    if code < 0:
        return f"it was ended by signal {-code}"
    return f"it ended with exit code {code}"
