"""Runs a program with the library that records, and reads what its processes left.

The library is compiled once for the CUPTI that is on this machine, against its headers, and linked
to nothing: in the program it takes the CUPTI that is loaded there, else one of those found here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import tempfile
import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.collect.survey.reader import read_survey
from kernelprof.errors import MissingToolError
from kernelprof.installation import packages_command
from kernelprof.launch import processes
from kernelprof.tools import ask, which

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kernelprof.launch.processes import Interrupts
    from kernelprof.model.trace import Trace

SOURCES: Final = Path(__file__).parent / "inject"
PYTHON_HOOKS: Final = SOURCES / "python"
STAND_INS: Final = SOURCES / "c"
"""Stand for C++ headers that headers of CUPTI include and C does not have."""

_SM: Final = "TPC.TriageCompute."
_L1: Final = "SM_A.TriageCompute."
_ELAPSED: Final = ".avg.pct_of_peak_sustained_elapsed"
_ACTIVE: Final = "sm__cycles_active.avg"
_MEMORY: Final = (
    _ACTIVE,
    "sm__cycles_elapsed.max",
    f"dram__throughput{_ELAPSED}",
    "dram__bytes_read.sum dram__bytes_op_read.sum",
    "dram__bytes_write.sum dram__bytes_op_write.sum",
    f"lts__t_sectors{_ELAPSED}",
    "lts__t_sectors_srcunit_tex.sum",
    f"l1tex__data_pipe_lsu_wavefronts{_ELAPSED}",
)
_ISSUE: Final = f"{_SM}sm__inst_executed_realtime{_ELAPSED} sm__inst_executed_realtime{_ELAPSED}"
_TENSOR: Final = (
    f"{_SM}sm__pipe_tensor_cycles_active_realtime{_ELAPSED} "
    f"sm__pipe_tensor_cycles_active{_ELAPSED} "
    f"sm__pipe_tensor_cycles_active_realtime{_ELAPSED}"
)
_FLOATS: Final = (
    f"{_SM}sm__inst_executed_pipe_fma_realtime{_ELAPSED} sm__pipe_fma_cycles_active{_ELAPSED}",
    f"{_SM}sm__inst_executed_pipe_fmaheavy_realtime{_ELAPSED} "
    f"sm__pipe_fmaheavy_cycles_active{_ELAPSED} sm__inst_executed_pipe_fmaheavy{_ELAPSED}",
    f"{_SM}sm__pipe_fp64_cycles_active_realtime{_ELAPSED} sm__pipe_fp64_cycles_active{_ELAPSED} "
    f"sm__inst_executed_pipe_fp64{_ELAPSED}",
)
_PIPES: Final = (
    _TENSOR,
    f"{_SM}sm__inst_executed_pipe_alu_realtime{_ELAPSED} sm__pipe_alu_cycles_active{_ELAPSED}",
    *_FLOATS,
)
_XU: Final = (
    f"{_L1}sm__inst_executed_pipe_xu_realtime{_ELAPSED} sm__inst_executed_pipe_xu{_ELAPSED}"
)
_WRITEBACK: Final = (
    f"{_L1}l1tex__lsu_writeback_active{_ELAPSED} l1tex__lsu_writeback_active{_ELAPSED}"
)
_SHARED: Final = (
    f"{_L1}l1tex__data_pipe_lsu_wavefronts_mem_shared.sum "
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "sm__inst_executed_pipe_lsu.sum",
)
SAMPLED: Final = (
    (
        *_MEMORY,
        _ISSUE,
        f"{_SM}sm__inst_executed_realtime.sum sm__inst_executed_realtime.sum",
        *_PIPES,
        _XU,
        _WRITEBACK,
        f"{_L1}sm__thread_inst_executed_pred_on_realtime.sum",
        *_SHARED,
        "PCI.TriageCompute.pcie__read_bytes.sum pcie__read_bytes.sum",
        "PCI.TriageCompute.pcie__write_bytes.sum pcie__write_bytes.sum",
        "NVLRX.TriageCompute.nvlrx__bytes_packet_request_data_user.sum",
        "NVLTX.TriageCompute.nvltx__bytes_packet_request_data_user.sum",
    ),
    (
        *_MEMORY,
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "smsp__inst_executed.sum",
        _ISSUE,
        *_PIPES,
    ),
    (_ACTIVE, *_FLOATS, _WRITEBACK),
    (_ACTIVE, _FLOATS[-1], _XU, _TENSOR),
    (_ACTIVE, *_SHARED, "smsp__inst_executed.sum"),
)
"""Sets of counters that a GPU is sampled for in turn; the first of each tells when SMs work. Of a
set, what a GPU cannot count at once with those before it is left out, and a set that has nothing
but what others have already; a kernel that runs during one alone is told of by as much as fits.
A line has CUPTI's names for a counter, of which the first that fits is taken; those with
``TriageCompute`` are of groups that are counted together."""

_HEADER: Final = "cupti.h"
_LIBRARIES: Final = ("libcupti.so", "libcupti.so.[0-9]*")
_COMPILERS: Final = (("cc",), ("gcc",), ("clang",), ("g++", "-x", "c"))
_OPTIONS: Final = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_TOOLKITS: Final = ("/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda")
_VARIABLES: Final = ("CUDA_HOME", "CUDA_PATH")
_IN_TOOLKIT: Final = ("targets/*", "extras/CUPTI")
_PACKAGES: Final = "import nvidia; print(*nvidia.__path__, sep=chr(10))"
_LAST_LINES: Final = 3

_CUPTI_PACKAGES: Final = ("nvidia-cuda-cupti", "nvidia-cuda-runtime")


@dataclass(frozen=True, slots=True)
class Cupti:
    """Where CUPTI is: sets of folders with its headers, and libraries, the best first."""

    includes: tuple[tuple[Path, ...], ...]
    libraries: tuple[Path, ...]


def find_cupti(application: Sequence[str] = ()) -> Cupti:
    """Find CUPTI in toolkits and in packages of the application's Python and of our own.

    Raises :class:`MissingToolError` where headers or library are missing.
    """
    includes: dict[Path, None] = {}
    libraries: dict[Path, None] = {}
    for root in dict.fromkeys([*_toolkits(), *_packages(application)]):
        for folder in _folders(root, "include"):
            if (folder / _HEADER).is_file():
                includes.setdefault(folder.resolve())
        for folder in _folders(root, "lib", "lib64"):
            for pattern in _LIBRARIES:
                libraries_here = sorted(folder.glob(pattern))
                libraries.update(dict.fromkeys(each.resolve() for each in libraries_here))
    missing = "headers" if not includes else "library" if not libraries else None
    if missing is not None:
        raise MissingToolError(
            f"CUPTI's {missing} cannot be found",
            where=", ".join(_TOOLKITS),
            hint=_how_to_get_cupti(),
        )
    # A package has some of the headers, and needs others of CUDA beside it.
    alone = [(each,) for each in includes]
    return Cupti((*alone, (*includes, *_with_cuda())), tuple(libraries))


def _how_to_get_cupti() -> str:
    return f"install the CUDA toolkit, or its packages: {packages_command(*_CUPTI_PACKAGES)}"


def build(cupti: Cupti) -> Path:
    """Compile the library, unless it is in the user's cache; :class:`MissingToolError` if not."""
    sources = sorted(SOURCES.glob("*.[ch]"))
    folder = _cache()
    names = [f"survey-{_digest(sources, each)}" for each in cupti.includes]
    for target in chain.from_iterable(folder.glob(f"{name}-*.so") for name in names):
        _refuse_strangers(target)
        if target.stem.endswith(f"-{files.sha256(target)}"):
            return target
    reasons = []
    for name, includes in zip(names, cupti.includes, strict=True):
        for compiler in _COMPILERS:
            path = which(compiler[0])
            if path is None:
                continue
            with tempfile.TemporaryDirectory(dir=folder) as temporary:
                draft = Path(temporary) / name
                done = ask(path, *compiler[1:], *_OPTIONS, *_words(includes, sources, draft))
                if done is not None and done.returncode == 0:
                    return draft.replace(folder / f"{name}-{files.sha256(draft)}.so")
            if done is None:
                reasons.append(f"{path} cannot be started, or does not end")
            else:
                reasons.insert(0, " ".join(done.stderr.splitlines()[:_LAST_LINES]))
    reasons.append("there is no C compiler (cc, gcc, clang, g++)")
    raise MissingToolError(
        f"the survey library does not compile: {reasons[0]}",
        where=", ".join(str(each) for some in cupti.includes for each in some),
        hint=f"install a C compiler; for the CUDA and CUPTI headers, {_how_to_get_cupti()}",
    )


def _words(includes: Sequence[Path], sources: Sequence[Path], draft: Path) -> list[str]:
    return [
        f"-idirafter{STAND_INS}",
        *(f"-I{each}" for each in includes),
        *(str(each) for each in sources if each.suffix == ".c"),
        "-o",
        str(draft),
        "-ldl",
        "-lpthread",
    ]


def _digest(sources: Iterable[Path], includes: Iterable[Path]) -> str:
    made = hashlib.sha256(platform.machine().encode())
    for each in sources:
        made.update(each.read_bytes())
    for folder in includes:
        made.update(str(folder).encode())
        version = folder / "cupti_version.h"
        made.update(version.read_bytes() if version.is_file() else b"")
    return made.hexdigest()[:16]


def _cache() -> Path:
    # A folder of this user's alone: what lies in it is loaded into programs
    from platformdirs import user_cache_path

    folder = user_cache_path("kernelprof", appauthor=False) / "survey"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise MissingToolError(
            f"the cache folder for the survey library cannot be created: {error.strerror}",
            where=str(folder),
            hint="set $XDG_CACHE_HOME to another folder",
        ) from error
    _refuse_strangers(folder)
    return folder


def _refuse_strangers(path: Path) -> None:
    # Whoever can write there has code of theirs loaded into the programs that are surveyed
    if files.is_private(path.lstat()):
        return
    raise MissingToolError(
        "other users can write to the survey library or its folder",
        where=str(path),
        hint=f"remove it, or: chown $USER {path}; chmod go-w {path}",
    )


def _toolkits() -> Iterator[Path]:
    for name in _VARIABLES:
        home = Path(os.environ.get(name, ""))
        if home.is_absolute():
            yield home
    nvcc = which("nvcc")
    if nvcc is not None:
        yield Path(nvcc).resolve().parent.parent
    for pattern in _TOOLKITS:
        yield from sorted(Path("/").glob(pattern[1:]), key=_version, reverse=True)


def _version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


def _packages(application: Sequence[str]) -> Iterator[Path]:
    name = Path(application[0]).name if application else ""
    if re.fullmatch(r"python[\d.]*", name):
        done = ask(application[0], "-c", _PACKAGES)
        yield from _parts(done.stdout.splitlines() if done and done.returncode == 0 else ())
    own = importlib.util.find_spec("nvidia")
    yield from _parts(own.submodule_search_locations or () if own else ())


def _parts(folders: Iterable[str]) -> Iterator[Path]:
    # Such as `nvidia/cu13` and, before CUDA 13, `nvidia/cuda_cupti`
    for folder in folders:
        yield from sorted(Path(folder).glob("cu[0-9]*"), reverse=True)
        yield from sorted(Path(folder).glob("cuda_cupti"))


def _with_cuda() -> list[Path]:
    folders = [
        folder
        for root in _toolkits()
        for folder in _folders(root, "include")
        if (folder / "cuda.h").is_file()
    ]
    own = importlib.util.find_spec("nvidia")
    for each in own.submodule_search_locations or () if own else ():
        folders += sorted(Path(each).glob("cuda_runtime/include"))
    return folders


def _folders(root: Path, *names: str) -> list[Path]:
    return [
        folder
        for parent in (
            root,
            *(each for pattern in _IN_TOOLKIT for each in sorted(root.glob(pattern))),
        )
        for name in names
        if (folder := parent / name).is_dir()
    ]


FOLDER_VARIABLE: Final = "KERNELPROF_SURVEY_DIR"
CUPTI_VARIABLE: Final = "KERNELPROF_SURVEY_CUPTI"
SERIES_VARIABLE: Final = "KERNELPROF_SURVEY_SERIES"
_CUDA: Final = "CUDA_INJECTION64_PATH"
_NVTX: Final = "NVTX_INJECTION64_PATH"
_PYTHON: Final = "PYTHONPATH"


@dataclass(frozen=True, slots=True)
class SurveyRun:
    """A run's trace, seconds, and how it ended: empty for success."""

    trace: Trace
    seconds: float
    ended: str = ""


def record_program(
    application: Sequence[str],
    interrupts: Interrupts,
    *,
    time_limit: float | None = None,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> SurveyRun:
    """Run a program at nearly its own speed, and record what it does on GPUs until a limit.

    ``folder`` keeps the files; ``variables`` are the program's environment instead of this
    process's. Raises :class:`MissingToolError` where nothing can record.
    """
    if _CUDA in os.environ:
        raise MissingToolError(
            f"${_CUDA} already loads another tool into CUDA programs",
            where=os.environ[_CUDA],
            hint=f"unset ${_CUDA}, so that the program can be surveyed",
        )
    cupti = find_cupti(application)
    library = build(cupti)
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as temporary:
        target = Path(temporary) if folder is None else folder
        begin, ended = time.monotonic(), ""
        try:
            outcome = processes.run(
                application,
                interrupts,
                time_limit=time_limit,
                environment=survey_environment(variables or os.environ, library, cupti, target),
            )
        except processes.TimeLimitError:
            ended = f"the program was stopped after {time_limit:g} s"
        else:
            if outcome.code < 0:
                ended = f"the program was killed by signal {-outcome.code}"
            elif outcome.code > 0:
                ended = f"the program ended with exit code {outcome.code}"
        return SurveyRun(read_survey(target), time.monotonic() - begin, ended)


def survey_environment(
    given: Mapping[str, str], library: Path, cupti: Cupti, folder: Path
) -> dict[str, str]:
    """The environment of the program: its own, and what has CUDA, NVTX and Python load ours."""
    python = [str(PYTHON_HOOKS), *filter(None, [given.get(_PYTHON)])]
    return {
        _NVTX: str(library),
        SERIES_VARIABLE: "\n\n".join("\n".join(each) for each in SAMPLED),
        **given,
        _CUDA: str(library),
        FOLDER_VARIABLE: str(folder),
        CUPTI_VARIABLE: os.pathsep.join(map(str, cupti.libraries)),
        _PYTHON: os.pathsep.join(python),
    }
