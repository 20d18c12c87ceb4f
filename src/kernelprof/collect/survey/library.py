"""The library that records: compiled once for the CUPTI that is on this machine.

It is compiled against CUPTI's headers and linked to nothing: in the program it takes the CUPTI that
is loaded there, else one of those found here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.errors import MissingToolError
from kernelprof.tools import ask, which

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SOURCES: Final = Path(__file__).parent / "inject"
PYTHON_HOOKS: Final = SOURCES / "python"

_HEADER: Final = "cupti.h"
_LIBRARIES: Final = ("libcupti.so", "libcupti.so.[0-9]*")
_COMPILERS: Final = (("cc",), ("gcc",), ("clang",), ("g++", "-x", "c"))
_OPTIONS: Final = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_TOOLKITS: Final = ("/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda")
_VARIABLES: Final = ("CUDA_HOME", "CUDA_PATH")
_IN_TOOLKIT: Final = ("targets/*", "extras/CUPTI")
_PACKAGES: Final = "import nvidia; print(*nvidia.__path__, sep=chr(10))"
_LAST_LINES: Final = 8

HOW_TO_GET_CUPTI: Final = (
    "it comes with the CUDA toolkit, and with the package nvidia-cuda-cupti: "
    "python -m pip install nvidia-cuda-cupti nvidia-cuda-runtime"
)


@dataclass(frozen=True, slots=True)
class Cupti:
    """Where CUPTI is: folders of headers, and libraries, the best first."""

    includes: tuple[Path, ...]
    libraries: tuple[Path, ...]


def find_cupti(application: Sequence[str] = ()) -> Cupti:
    """CUPTI in toolkits and in Python's packages, those of the application's Python first.

    Raises :class:`MissingToolError` where headers or library are missing.
    """
    includes: dict[Path, None] = {}
    libraries: dict[Path, None] = {}
    for root in dict.fromkeys([*_packages(application), *_toolkits()]):
        for folder in _folders(root, "include"):
            if (folder / _HEADER).is_file():
                includes.setdefault(folder.resolve())
        for folder in _folders(root, "lib", "lib64"):
            for pattern in _LIBRARIES:
                found = sorted(folder.glob(pattern))
                libraries.update(dict.fromkeys(each.resolve() for each in found))
    whole = [each for each in includes if (each / "cuda.h").is_file()]
    missing = "headers" if not includes else "library" if not libraries else None
    if missing is not None:
        raise MissingToolError(
            f"CUPTI's {missing} cannot be found: the program cannot be surveyed",
            where=", ".join(_TOOLKITS),
            hint=HOW_TO_GET_CUPTI,
        )
    # Headers of packages lie in several folders; one that has CUDA's as well needs no other.
    chosen = whole[:1] or [*includes, *_with_cuda()]
    return Cupti(tuple(chosen), tuple(libraries))


def build(cupti: Cupti) -> Path:
    """The library, compiled where it is not in the cache of this user yet.

    Raises :class:`MissingToolError` where no compiler of C makes it.
    """
    sources = sorted(SOURCES.glob("*.[ch]"))
    place = _cache() / f"survey-{_digest(sources, cupti)}.so"
    if place.is_file():
        return place
    said = "there is no compiler of C (cc, gcc, clang, g++)"
    for compiler in _COMPILERS:
        found = which(compiler[0])
        if found is None:
            continue
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            draft = Path(folder) / place.name
            done = ask(
                found,
                *compiler[1:],
                *_OPTIONS,
                *(f"-I{each}" for each in cupti.includes),
                *(str(each) for each in sources if each.suffix == ".c"),
                "-o",
                str(draft),
                "-ldl",
                "-lpthread",
            )
            if done is not None and done.returncode == 0:
                draft.replace(place)
                return place
            said = "" if done is None else "\n".join(done.stderr.splitlines()[:_LAST_LINES])
    raise MissingToolError(
        f"what surveys a program cannot be compiled: {said}",
        where=", ".join(map(str, cupti.includes)),
        hint="install a compiler of C, and the headers of CUDA and CUPTI: " + HOW_TO_GET_CUPTI,
    )


def _digest(sources: Iterable[Path], cupti: Cupti) -> str:
    """Of all that the library is made of: our sources, the version of CUPTI, the machine."""
    made = hashlib.sha256(platform.machine().encode())
    for each in sources:
        made.update(each.read_bytes())
    for folder in cupti.includes:
        made.update(str(folder).encode())
        version = folder / "cupti_version.h"
        made.update(version.read_bytes() if version.is_file() else b"")
    return made.hexdigest()[:16]


def _cache() -> Path:
    """A folder of this user's alone: what lies in it is loaded into programs."""
    from platformdirs import user_cache_path

    folder = user_cache_path("kernelprof", appauthor=False) / "survey"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise MissingToolError(
            f"the folder for compiled code cannot be made: {error.strerror}",
            where=str(folder),
            hint="name another one in $XDG_CACHE_HOME",
        ) from error
    return folder


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
    """Folders of NVIDIA's packages: of the Python that is to run, and of our own."""
    name = Path(application[0]).name if application else ""
    if re.fullmatch(r"python[\d.]*", name):
        done = ask(application[0], "-c", _PACKAGES)
        yield from _parts(done.stdout.splitlines() if done and done.returncode == 0 else ())
    own = importlib.util.find_spec("nvidia")
    yield from _parts(own.submodule_search_locations or () if own else ())


def _parts(folders: Iterable[str]) -> Iterator[Path]:
    """Such as ``nvidia/cu13`` and, before CUDA 13, ``nvidia/cuda_cupti``."""
    for folder in folders:
        yield from sorted(Path(folder).glob("cu[0-9]*"), reverse=True)
        yield from sorted(Path(folder).glob("cuda_cupti"))


def _with_cuda() -> list[Path]:
    """Folders with the headers of CUDA, for those of CUPTI that lie alone."""
    found = [
        folder
        for root in _toolkits()
        for folder in _folders(root, "include")
        if (folder / "cuda.h").is_file()
    ]
    own = importlib.util.find_spec("nvidia")
    for each in own.submodule_search_locations or () if own else ():
        found += sorted(Path(each).glob("cuda_runtime/include"))
    return found


def _folders(root: Path, *names: str) -> list[Path]:
    return [
        folder
        for place in (root, *(each for part in _IN_TOOLKIT for each in sorted(root.glob(part))))
        for name in names
        if (folder := place / name).is_dir()
    ]
