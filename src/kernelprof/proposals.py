"""What ``optimize`` has others propose: the original, the command, what a proposal may change.

Files of the original are kept in memory and written anew for each proposal, so that no proposal is
judged by files that a command could write. The command is started in a folder of its own that holds
a copy of the kernel, and has to change the source there. On standard input it gets the brief, what
was tried before, and the source.
"""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof import files
from kernelprof.errors import InputError, UsageError
from kernelprof.launch import processes
from kernelprof.launch.source import (
    MAX_BYTES,
    cut_block,
    local_includes,
    read_source,
    specification_path,
    with_block,
)
from kernelprof.launch.specification.reader import load_spec
from kernelprof.model.names import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kernelprof.launch.processes import Interrupts, ProcessResult
    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.model.optimization import Attempt

MAY_CHANGE: Final = (
    ("kernel",),
    ("grid",),
    ("block",),
    ("compile", "defines"),
    ("launch", "shared_bytes"),
    ("launch", "cluster"),
)
"""Keys that say how a kernel is launched. All others are the problem and how it is checked."""


def changed_keys(original: LaunchSpec, proposed: LaunchSpec) -> tuple[str, ...]:
    """The keys that differ and may not, and what a define that changed makes of the problem."""
    before, after = (dict(_leaves(_fixed(each.document()))) for each in (original, proposed))
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if not keys and _resolve_at_both_sizes(original) != _resolve_at_both_sizes(proposed):
        keys.append("the arguments (changed by a define)")
    return tuple(keys)


def list_changeable_keys() -> str:
    """What may change, for those who propose."""
    return ", ".join(".".join(each) for each in MAY_CHANGE)


def check_at_measured_sizes(text: str, path: Path, spec: LaunchSpec) -> str:
    """Have a source checked at its measured sizes: it could be wrong there alone."""
    document = spec.document()
    document["check"] = {"tolerance": spec.tolerance}
    toml = "\n".join(f"{key} = {_toml(value)}" for key, value in document.items())
    return with_block(text, toml, cut_block(text, path))


def _fixed(document: dict[str, Any]) -> dict[str, Any]:
    fixed = {key: value for key, value in document.items() if (key,) not in MAY_CHANGE}
    for table, key in (each for each in MAY_CHANGE if len(each) == 2):
        fixed[table] = {name: value for name, value in fixed[table].items() if name != key}
    return fixed


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for at, each in enumerate(value):
            yield from _leaves(each, f"{path}[{at}]")
    else:
        yield path, value


def _resolve_at_both_sizes(spec: LaunchSpec) -> list[Any]:
    values = []
    for sizes in (spec.sizes, spec.check_sizes):
        at = spec.resolve(sizes)
        arguments = [
            [getattr(each, name, None) for name in ("shape", "value")] for each in at.arguments
        ]
        values.append([arguments, at.flops, at.min_bytes])
    return values


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


MOST_BYTES: Final = 256 * files.MEGABYTE
"""Of all files of a kernel together."""


@dataclass(frozen=True, slots=True)
class Original:
    """``files`` are the others that it needs, by their path from ``base``, a folder above all."""

    path: Path
    base: Path
    text: str
    spec: LaunchSpec
    files: Mapping[str, bytes]

    @property
    def name(self) -> str:
        """The source's path from the folder above all."""
        return self.path.relative_to(self.base).as_posix()

    def write(self, folder: Path, text: str) -> Path:
        """Write all of it into a folder that is not there yet, with this text as the source."""
        folder.mkdir(parents=True)
        source = folder / self.name
        for name, data in (*self.files.items(), (self.name, text.encode())):
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return source

    def changed_files(self) -> tuple[str, ...]:
        """The files that are not, or no longer, as they were when this was read."""
        original = {self.name: self.text.encode(), **self.files}
        return tuple(
            name for name, data in original.items() if _read_or_none(self.base / name) != data
        )


def read_original(source: Path) -> Original:
    """Read a kernel and all files beside it that its launch reads; :class:`UsageError` if large."""
    path = source.resolve()
    spec = load_spec(source)
    text = read_source(path)
    paths = dict.fromkeys(each.resolve() for each in _list_inputs(path, spec))
    base = Path(os.path.commonpath([path.parent, *(each.parent for each in paths)]))
    contents: dict[str, bytes] = {}
    room = MOST_BYTES
    for each in paths:
        try:
            data = files.read_bytes(each, room)
        except OSError as error:
            raise UsageError(
                f"a file of the kernel cannot be copied: {error.strerror}",
                where=str(each),
                hint=f"all files together may have at most {files.size_in_words(MOST_BYTES)}",
            ) from error
        room -= len(data)
        contents[each.relative_to(base).as_posix()] = data
    return Original(path, base, text, spec, contents)


def read_proposal(source: Path, folder: Path) -> str:
    """Read the text that a command left; :class:`InputError` for anything but a plain file."""
    try:
        if source.is_symlink() or not files.is_plain(source):
            raise InputError("the source is no longer a regular file")
        data = files.read_bytes(source, MAX_BYTES, inside=folder)
        return data.decode("utf-8")
    except OSError as error:
        raise InputError(f"the source cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError("the source is not UTF-8 text") from error


def _list_inputs(path: Path, spec: LaunchSpec) -> Iterator[Path]:
    if files.is_plain(specification := specification_path(path)):
        yield specification
    folder = path.parent
    included, _ = local_includes(path, spec.compile.flags)
    yield from included.values()
    functions = [spec.reference]
    for argument in spec.arguments:
        if argument.file is not None:
            yield folder / argument.file
        functions.append(argument.function or "")
    if any(":" in each for each in functions):
        # What such a module imports is looked for beside it.
        yield from sorted(each for each in folder.rglob("*.py") if files.is_plain(each))


def _read_or_none(file: Path) -> bytes | None:
    try:
        return files.read_bytes(file, MOST_BYTES)
    except OSError:
        return None


SOURCE: Final = "KERNELPROF_SOURCE"
BRIEF: Final = "KERNELPROF_BRIEF"
ROUND: Final = "KERNELPROF_ROUND"
_REQUEST: Final = """\
{brief}
Task: make this kernel faster. Change the file {name} in the current folder, and nothing else; its
path is also in ${source}. The result must stay correct: it is compared with the original's
reference. Only these keys of the launch specification may change: {keys}. A proposal that changes
any other key is refused.
{tried}
{name}:
{text}
"""
_LAST: Final = 2_000


def split_command(command: str) -> tuple[str, ...]:
    """A command as a shell would part it; none is started. Raises :class:`UsageError`."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(
            f"the command cannot be split into words: {error}", where=command, hint="close quotes"
        ) from error
    if not words:
        raise UsageError("there is no command", hint='--with "COMMAND ARGS..."')
    return tuple(words)


def format_brief(brief: str, attempts: Sequence[Attempt], name: str, text: str) -> str:
    """What the command gets on standard input."""
    lines = [f"- {each.number}: {each.decision.value}: {each.reason}" for each in attempts]
    tried = "\n".join(["Tried so far:", *lines, ""]) if lines else ""
    return _REQUEST.format(
        brief=brief, name=name, source=SOURCE, keys=list_changeable_keys(), tried=tried, text=text
    )


def run_command(
    words: Sequence[str],
    source: Path,
    brief: Path,
    number: int,
    *,
    interrupts: Interrupts,
    time_limit: float,
) -> ProcessResult:
    """Run the command in the source's folder; all that it starts ends with it.

    Raises :class:`processes.TimeLimitError` and :class:`MissingToolError`.
    """
    environment = {**os.environ, SOURCE: str(source), BRIEF: str(brief), ROUND: str(number)}
    return processes.run(
        words,
        interrupts,
        time_limit=time_limit,
        folder=source.parent,
        environment=environment,
        given=brief,
        alone=True,
    )


def last_printed(outcome: ProcessResult) -> str:
    """The end of what a command printed."""
    text = outcome.printed.decode("utf-8", "replace")[-_LAST:]
    return "\n".join(printable(line.expandtabs(4)) for line in text.splitlines())
