"""Predictions and inferred launches that are worked out once for the same content.

An entry is keyed by the source and all files that it includes, its launch, its reference and fill
functions, the architecture, our own code, and the installed packages. Where one of these cannot be
identified by its content, nothing is cached.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import platform
import re
import sys
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from kernelprof.content_cache import ContentCache, code_version
from kernelprof.errors import KernelprofError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.launch.specification.overrides import LaunchOverrides
    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.model.capture import Capture
    from kernelprof.model.prediction import PredictionFacts

    T = TypeVar("T")

caching: Final = ContextVar("caching", default=True)
"""Whether predictions are read from the cache and written to it."""
_CACHE: Final = ContentCache("predictions")
_TOOLCHAIN_VARIABLES: Final = (
    *("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CONDA_PREFIX", "LD_LIBRARY_PATH", "PATH"),
)
"""Where the compiler and the disassembler are looked for beside their packages."""
_DEPENDS_ON_MORE: Final = re.compile(
    r"__has_include|__has_embed|__DATE__|__TIME__|__TIMESTAMP__|#\s*(?:embed|include_next)\b"
)
"""What a compiler reads that is in no included file."""
_MODULES: Final = frozenset(
    (
        *("__future__", "cmath", "collections", "dataclasses", "fractions", "functools", "hashlib"),
        *("itertools", "math", "ml_dtypes", "numbers", "numpy", "operator", "scipy", "statistics"),
        *("struct", "typing", "zlib"),
    )
)
"""Modules of functions that give the same for the same arguments."""
_READERS: Final = frozenset(
    (
        *("open", "exec", "eval", "compile", "getattr", "input", "__import__", "__builtins__"),
        *("load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "open_memmap"),
        *("ctypeslib", "DataSource", "f2py", "io", "distutils", "sys", "os"),
    )
)
"""Names of functions and modules by which a function reads more than its arguments."""


class NoKeyError(Exception):
    """Something that a result depends on is not identified by content."""


class KernelVersion(NamedTuple):
    """A kernel to predict: its source, its launch and an architecture."""

    source: Path
    launch: LaunchOverrides
    arch: str


def recall(
    what: str, versions: list[KernelVersion], make: Callable[[], Any], decode: Callable[[Any], T]
) -> T:
    """Return what ``make`` gives for these versions, or gave before for the same content.

    ``make`` gives JSON values, which ``decode`` converts. Only a result is cached, never an error.
    """
    return _recall(lambda: [what, *map(_version_key, versions)], make, decode)


def recall_inference(
    source: Path,
    against: Path | None,
    request: object,
    make: Callable[[], Any],
    decode: Callable[[Any], T],
) -> T:
    """Return the launch that ``make`` infers of a source for a request, as :func:`recall`."""

    def key() -> list[Any]:
        others = [] if against is None else [_source_key(against, ())]
        return ["inference", str(source), str(against), request, _source_key(source, ()), *others]

    return _recall(key, make, decode)


def _recall(
    describe: Callable[[], list[Any]], make: Callable[[], Any], decode: Callable[[Any], T]
) -> T:
    key = _digest(describe) if caching.get() else None
    if key is not None and (entry := _CACHE.read(key)) is not None:
        with contextlib.suppress(LookupError, TypeError, ValueError):
            if entry["tools"] == _tool_files(path for path, *_ in entry["tools"]):
                return decode(entry["values"])
    values = json.loads(json.dumps(make()))  # the same as when it comes out of the file
    if key is not None and key == _digest(describe):  # no file was changed meanwhile
        _CACHE.write(key, {"tools": _tool_files(_toolchain()), "values": values})
    return decode(values)


def _digest(describe: Callable[[], list[Any]]) -> str | None:
    try:
        text = json.dumps([describe(), _environment()], default=str)
    except (NoKeyError, KernelprofError, OSError, ValueError, TypeError):
        return None  # whoever makes the result reports what is wrong
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@cache
def _environment() -> list[Any]:
    packages = sorted(
        each.name
        for folder in dict.fromkeys(sys.path)
        if folder and Path(folder).is_dir()
        for each in Path(folder).glob("*-info")
    )
    variables = [os.environ.get(each) for each in _TOOLCHAIN_VARIABLES]
    return [code_version(), sys.version, platform.machine(), packages, variables]


def _toolchain() -> Iterator[str]:
    """The compiler, the disassembler and a header that were used."""
    from kernelprof.prediction.toolchain import find_toolchain

    tools = find_toolchain()
    yield str(tools.nvdisasm)
    yield import_module("cuda.pathfinder").load_nvidia_dynamic_lib("nvrtc").abs_path
    yield from (str(each / "cuda_fp16.h") for each in tools.headers)


def _tool_files(paths: Iterator[str]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for path in paths:
        with contextlib.suppress(OSError):
            status = Path(path).stat()
            rows.append([path, status.st_size, status.st_mtime_ns])
    return rows


def _version_key(version: KernelVersion) -> list[Any]:
    source, launch, arch = version
    spec = launch.specified(source)
    inferred = None if launch.inferred is None else [launch.inferred.toml, launch.remarks]
    folder = (spec.path or source).parent
    options = [launch.command_options(), str(spec.path)]
    return [str(source), arch, inferred, options, *_launch_key(source, spec, folder)]


def _launch_key(source: Path, spec: LaunchSpec, folder: Path) -> Iterator[Any]:
    from kernelprof.launch.source import launch_hashes
    from kernelprof.model.specification import is_version

    yield launch_hashes(source, spec).digest()
    yield _source_key(source, spec.compile.flags)
    functions = [each.function for each in spec.arguments if each.function is not None]
    if is_version(spec.reference):
        from kernelprof.launch.check.results import load_version

        other, own = load_version(spec, folder)
        yield launch_hashes(other, own).digest()
        yield _source_key(other, own.compile.flags)
        functions += [each.function for each in own.arguments if each.function is not None]
    elif ":" in spec.reference:
        functions.append(spec.reference)
    for name in functions:
        yield _module_hash(name.partition(":")[0], folder)


def _source_key(source: Path, flags: tuple[str, ...]) -> list[Any]:
    """Identify a source with all that it includes."""
    from kernelprof.launch.source import local_includes, read_source

    included, unknown = local_includes(source, flags)
    texts = {str(each.resolve()): read_source(each) for each in (source, *included.values())}
    if unknown or any(map(_DEPENDS_ON_MORE.search, texts.values())):
        raise NoKeyError
    return [[path, _hash_text(text)] for path, text in sorted(texts.items())]


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _module_hash(name: str, folder: Path) -> str:
    """Identify a module of functions that only compute.

    One that imports another beside it is not: that may be loaded already, from before a change.
    """
    from kernelprof.launch.source import module_path, read_source

    text = read_source(module_path(name, folder))
    tree = ast.parse(text)
    for imported in _imports(tree):
        root = imported.partition(".")[0]
        is_local = module_path(root, folder).exists() or (folder / root).exists()
        if is_local or root not in _MODULES:
            raise NoKeyError
    seeded = {
        id(call.func.value)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.args and call.func.attr == "default_rng"
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) if word in _READERS:
                raise NoKeyError
            case ast.Attribute(attr="random", value=ast.Name(id="np" | "numpy")):
                if id(node) not in seeded:
                    raise NoKeyError
    return _hash_text(text)


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = {each.name for each in node.names}
            if node.level or node.module is None or names & (_READERS | {"random"}):
                raise NoKeyError
            yield node.module


def capture_values(capture: Capture, facts: PredictionFacts) -> list[Any]:
    """A predicted capture and what is known beside it, as JSON values."""
    import msgspec

    return [msgspec.to_builtins(each, enc_hook=_plain) for each in (capture, facts)]


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else float(value)


def capture_of_values(values: Any) -> tuple[Capture, PredictionFacts]:
    """The capture of :func:`capture_values`."""
    capture, facts = values
    return _capture(capture), read_facts(facts)


def read_facts(values: Any) -> PredictionFacts:
    """What is known of a prediction or of machine code, from JSON values."""
    from kernelprof.model.prediction import PredictionFacts
    from kernelprof.model.records import build

    return build(PredictionFacts, values)


def _capture(values: dict[str, Any]) -> Capture:
    import numpy as np

    from kernelprof.model.capture import Capture, Launch, MetricColumn, Origin
    from kernelprof.model.records import build

    columns = {
        name: MetricColumn(
            **{
                **each,
                "values": np.array(each["values"], np.float64),
                "source": Origin(each["source"]),
                "ends": None if each["ends"] is None else tuple(each["ends"]),
            }
        )
        for name, each in values["columns"].items()
    }
    return Capture(
        launches=tuple(build(Launch, each) for each in values["launches"]),
        columns=columns,
        origin=values["origin"],
        warnings=tuple(values["warnings"]),
        cases=tuple(map(_capture, values["cases"])),
    )
