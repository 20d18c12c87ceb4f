"""From source to cubin, its entry and parameters. The compiler itself is handed in.

It compiles a copy (:mod:`kernelprof.launch.build.nvcc`) with a ``#line`` directive: messages and
``-lineinfo`` name the user's file and lines. Messages of ``ptxas`` are those of CUDA 13.0 and
13.5 (``tests/launch/ptxas``).
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from kernelprof import files
from kernelprof.errors import InputError
from kernelprof.launch.build.options import resolve_folders, split_options
from kernelprof.launch.signature import (
    choose,
    chosen_arguments,
    has_main,
    plain_argument,
    template_arguments,
    template_type,
)
from kernelprof.launch.source import kernels_of, read_source
from kernelprof.launch.specification.expressions import SpecError
from kernelprof.model.manifest import CompilerWarning
from kernelprof.model.numbers import count
from kernelprof.tools import ask, find_in_toolkit
from sassim.errors import CubinError
from sassim.sass.elf import list_kernels, read_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from kernelprof.launch.signature import KernelSignature
    from kernelprof.launch.specification.spec import LaunchSpec
    from sassim.sass.elf import ParameterSlot

    Compiler = Callable[[str, Sequence[str], str, Path], "CompiledCubin"]
    """Compiles a source with options for an architecture; includes are looked for in the folder.

    Each option holds one value, and folders are absolute. Raises :class:`CompileError` with what
    ``nvcc`` wrote.
    """

_WARNING: Final = re.compile(r"^ptxas (?:info|warning) *: \((C75[0-9]{2})\) (.+)$", re.MULTILINE)
"""Codes from C7500 on are of ``wgmma`` and ``setmaxnreg``: serialized, ignored, or waited for."""
_FUNCTION: Final = re.compile(r"in (?:the )?function '([^']+)'")
_SPILLS: Final = re.compile(
    r"^ptxas info *: Function properties for (\S+)\n"
    r".*?([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads",
    re.MULTILINE,
)
_ERROR: Final = re.compile(r"^ptxas .*\berror *: (.*)$")
_MOST_ERRORS: Final = 5
LEFT_OUT: Final = "headers left out (not found, or for graphics): "
"""What a compiler of predictions says beside its errors, with the headers after it."""
_ONLY_ON: Final = {"wgmma": "sm_90a", "tcgen05": "sm_100a"}
"""Instructions that one set of features alone has (the PTX ISA, "Target ISA Notes" of each)."""
_REQUIRED: Final = re.compile(r"requires \.target (sm_[0-9]+[af]?) or higher")


_OF_DEBUGGING: Final = (".debug_", ".nv_debug", ".rela.debug", ".rel.debug", ".note")
_OF_NAMES: Final = (".shstrtab", ".strtab", ".symtab")


class CompileError(InputError):
    """The kernel does not compile; the message is the compiler's."""


class CompiledCubin(NamedTuple):
    """A cubin and the compiler's messages; ``entry`` is the mangled name if requested."""

    cubin: bytes
    messages: str = ""
    entry: str | None = None


class Spills(NamedTuple):
    """Bytes of registers that a thread stores to and loads from local memory."""

    store_bytes: int
    load_bytes: int


def parse_warnings(
    output: str, entry: str, entries: Collection[str]
) -> tuple[CompilerWarning, ...]:
    """Return the warnings that concern one kernel, in order, each once.

    A warning of a function that kernels call, or of no function, may concern it; those of other
    kernels do not.
    """
    result = []
    for code, text in _WARNING.findall(output):
        function_name = _FUNCTION.search(text)
        function = None if function_name is None else function_name[1]
        if function == entry or function not in entries:
            result.append(CompilerWarning(code, " ".join(text.split()), function))
    return tuple(dict.fromkeys(result))


def shorten_errors(output: str) -> str:
    """Shorten compiler output to the first few errors of ``ptxas``, each once."""
    seen: set[str] = set()
    lines, left = [], 0
    for line in output.splitlines():
        error = _ERROR.match(line)
        if error is None:
            lines.append(line)
        elif error[1] not in seen and len(seen) < _MOST_ERRORS:
            seen.add(error[1])
            lines.append(line)
        else:
            left += 1
    return "\n".join([*lines, *([f"and {count(left, 'more error')} from ptxas"] if left else [])])


def required_architecture(output: str) -> str | None:
    """Return the architecture that ``ptxas`` requires, ``None`` if it names none."""
    errors = "\n".join(line for line in output.splitlines() if _ERROR.match(line))
    for instruction, arch in _ONLY_ON.items():
        if f"Instruction '{instruction}." in errors:
            return arch
    targets = _REQUIRED.findall(errors)
    return max(targets, key=lambda arch: int(re.sub(r"\D", "", arch))) if targets else None


def parse_spills(output: str, entry: str) -> Spills | None:
    """Return the spills that ``ptxas -v`` reports for a kernel, ``None`` without a report."""
    for function, stores, loads in _SPILLS.findall(output):
        if function == entry:
            return Spills(int(stores), int(loads))
    return None


_FIRST_ERROR = re.compile(
    r"^(.+?)(?:\((\d+)\)|:(\d+):\d+): (?:catastrophic |fatal )?error", re.MULTILINE
)
"""As ``nvcc`` says it, and as the host compiler does, which reads the includes first."""
_TWICE = "explicitly instantiated more than once"
_DEMANGLER = "cu++filt"


@dataclass(frozen=True, slots=True)
class Built:
    """A compiled kernel."""

    cubin: bytes
    entry: str
    options: tuple[str, ...]
    arch: str
    warnings: tuple[CompilerWarning, ...] = ()
    spills: Spills | None = None


def build_kernel(
    spec: LaunchSpec, source: Path, arch: str, compiler: Compiler, shown_path: Path | None = None
) -> Built:
    """Compile a kernel for an architecture such as ``sm_90``.

    ``shown_path`` is the source's name in messages and ``-lineinfo``. Raises :class:`SpecError`
    where its arguments do not fit.
    """
    text = read_source(source)
    kernel = choose(kernels_of(source, text, spec.compile.flags), spec.kernel, str(source))
    check_arguments(spec, kernel)
    folder = source.parent.resolve()
    fixed, flags = spec.compile.fixed(), split_options(spec.compile.flags)
    given = resolve_folders(("-lineinfo", *fixed, *flags), folder)
    target = compile_target(spec, arch)
    name = shown_path or source.resolve()
    try:
        instrumented = instrument_source(
            text, name, spec.kernel, unnamed=kernel.in_unnamed_namespace
        )
        done = compiler(instrumented, given, target, folder)
    except CompileError as error:
        if _TWICE not in error.what:
            raise
        done = compiler(with_line_directive(name, text), given, target, folder)
    try:
        names = list_kernels(done.cubin)
    except CubinError as error:
        raise CompileError(error.what, hint="see [compile] flags") from error
    entry = done.entry or find_entry(names, spec.kernel, str(source))
    return Built(
        cubin=done.cubin,
        entry=entry,
        options=nvcc_options(spec),
        arch=target,
        warnings=parse_warnings(done.messages, entry, names),
        spills=parse_spills(done.messages, entry),
    )


def compile_target(spec: LaunchSpec, arch: str) -> str:
    """Return what a device's code is compiled for: ``sm_90a`` on ``sm_90``, unless refused.

    From compute capability 9.0 on, the newest instructions (``wgmma``, ``tcgen05``) are only in
    the architecture-specific set, which has all others, too (PTX ISA, ".target").
    """
    specific = spec.compile.architecture_specific and int(arch.removeprefix("sm_")) >= 90
    return f"{arch}a" if specific else arch


def check_arguments(spec: LaunchSpec, kernel: KernelSignature) -> None:
    """Refuse arguments that do not fit the kernel's parameters: number, arrays, types."""
    for what, hint in _misfits(spec, kernel) if kernel.readable else ():
        raise SpecError(what, where=str(spec.path) if spec.path else None, hint=hint)


def _misfits(spec: LaunchSpec, kernel: KernelSignature) -> Iterator[tuple[str, str | None]]:
    if "<" in spec.kernel and not kernel.template:
        what = f"{kernel.name} is not a template, but is given template arguments: {spec.kernel!r}"
        yield what, f'kernel = "{kernel.name}"'
    if kernel.template and "<" not in spec.kernel:
        listed = ", ".join(f"{p.kind} {p.name}" for p in kernel.template)
        what = (
            f"{kernel.name} is a template with parameters ({listed}), but its template "
            "arguments are missing"
        )
        yield what, f'name the instance to measure: kernel = "{kernel.name}<...>"'
    listed = f"the parameters are ({', '.join(p.written for p in kernel.parameters)})"
    passed = [argument for argument in spec.arguments if argument.passed]
    wanted, given = len(kernel.parameters), len(passed)
    if wanted != given:
        what = f"{kernel.name} has {wanted} parameters, but the specification has {given} arguments"
        what += " that are passed" if given < len(spec.arguments) else ""
        yield what, f"{listed}; write one [[arguments]] table for each, in order"
    chosen = chosen_arguments(kernel, spec.kernel)
    for argument, parameter in zip(passed, kernel.parameters, strict=True):
        name, is_array = repr(argument.name), argument.shape is not None
        if parameter.map_elsewhere:
            what = (
                f"the kernel's parameter '{parameter.written}' is a pointer or reference to a "
                "tensor map"
            )
            by_value = f"const __grid_constant__ CUtensorMap {parameter.name}"
            yield what, f"pass tensor maps by value: declare the parameter as '{by_value}'"
            continue
        is_map, is_structure = argument.tensor_map is not None, argument.members is not None
        type_name = parameter.type or template_type(parameter, chosen)
        fits = is_map or type_name in (None, argument.type)
        kind = f"{'an array' if is_array else 'a scalar'} of {argument.type}"
        kind = "a tensor map" if is_map else "a structure" if is_structure else kind
        if is_array != parameter.pointer or is_map != parameter.tensor_map or not fits:
            what = f"argument {name} is {kind}, but the kernel's parameter is '{parameter.written}'"
            what += (
                f", with type {type_name} in this instantiation"
                if type_name != parameter.type
                else ""
            )
            yield what, f"{listed}; list the arguments in the same order"
        if argument.output and parameter.const:
            what = f"argument {name} is an output, but the kernel cannot write to it"
            yield f"{what}: '{parameter.written}'", None
    for argument in spec.arguments:
        name, file = repr(argument.name), argument.file
        if file is None or spec.path is None:
            continue
        if not files.is_plain(spec.path.parent / file):
            what = f"argument {name} is filled from {file}, which does not exist"
            yield what, f"kernelprof looks for the file in {spec.path.parent}"


def nvcc_options(spec: LaunchSpec) -> tuple[str, ...]:
    """Return the options of ``nvcc`` beside the architecture."""
    return ("-lineinfo", *spec.compile.arguments())


def with_line_directive(name: Path, text: str) -> str:
    """Prefix a source with a ``#line`` directive that names a file."""
    return f"#line 1 {json.dumps(str(name), ensure_ascii=False)}\n" + text.removeprefix("\ufeff")


def instrument_source(text: str, shown_path: Path, kernel: str, *, unnamed: bool = False) -> str:
    """Return the source to compile: with its file name and the template's instantiation.

    A template of an ``unnamed`` namespace has to be instantiated there.
    """
    lines = [with_line_directive(shown_path, text)]
    if "<" in kernel:
        instance = f"template __global__ decltype({kernel}) {kernel};"
        lines += ['#line 1 "kernel of the launch specification"']
        lines += [f"namespace {{ {instance} }}" if unnamed else instance, ""]
    return "\n".join(lines)


def find_entry(names: Sequence[str], kernel: str, where: str) -> str:
    """Return the mangled name of the kernel that a specification names."""
    plain = kernel.partition("<")[0]
    if plain in names:
        return plain
    scopes, template = plain.split("::"), "<" in kernel
    read = {name: _base_name(name) for name in names}
    matches = [name for name in names if read[name] == (scopes, template)]
    matches = matches or [
        n for n in names if (read[n][0][-1:], read[n][1]) == (scopes[-1:], template)
    ]
    if len(matches) > 1 and template:
        matches = _instances(matches, kernel)
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise CompileError(
            f"the compiled file has no kernel {kernel!r}; kernels: {', '.join(names) or 'none'}",
            where=where,
            hint="check that no #if excludes the kernel under the given [compile] defines",
        )
    hint = 'give the kernel a unique name, or declare it extern "C"'
    if template:
        hint = "write all template arguments as plain numbers and types, in the template's order"
        if find_in_toolkit(_DEMANGLER) is None:
            hint = (
                f"to distinguish these kernels, install {_DEMANGLER} of the CUDA toolkit, or keep "
                "only one of them in the file"
            )
    raise CompileError(
        f"more than one compiled kernel is called {plain!r}: {', '.join(matches)}",
        where=where,
        hint=hint,
    )


def _base_name(name: str) -> tuple[list[str], bool]:
    """A mangled function's namespaces and name, and whether it is of a template.

    Each part stands with its length before it, an I begins template arguments; nameless namespaces
    are left out (Itanium C++ ABI). Without namespaces, what follows the one part is the parameters'
    types, which look the same: ``_Z4gemm14CUtensorMap_stPf``.
    """
    parts: list[str] = []
    nested = name.startswith("_ZN")
    at = len("_ZN") if nested else len("_Z")
    while (nested or not parts) and (match := re.compile(r"L?(\d+)").match(name, at)):
        at = match.end() + int(match[1])
        parts.append(name[match.end() : at])
    return [match for match in parts if not match.startswith("_GLOBAL__N_")], name[
        at : at + 1
    ] == "I"


def _instances(names: Sequence[str], kernel: str) -> list[str]:
    program = find_in_toolkit(_DEMANGLER)
    done = None if program is None else ask(program, *names)
    readable = [] if done is None else done.stdout.splitlines()
    if len(readable) != len(names):
        return list(names)
    wanted = template_arguments(kernel)
    fitting: dict[str, tuple[int, int]] = {}
    for name, shown in zip(names, readable, strict=True):
        given = template_arguments(shown)
        pairs = list(zip(wanted, given, strict=False))
        if len(given) >= len(wanted) and all(starmap(_may_be_equal, pairs)):
            different = sum(_name(one) != _name(other) for one, other in pairs)
            fitting[name] = len(given), different
    # Arguments that are left out are defaults: an instance without more is nearer. Then the one
    # whose arguments are spelled as they are written.
    nearest = min(fitting.values(), default=None)
    return [name for name, distance in fitting.items() if distance == nearest] or list(names)


def _name(argument: str) -> str:
    """A type, or a function without the ``&`` that demanglers put before it."""
    return "".join(argument.split()).removeprefix("&")


def _may_be_equal(written: str, instantiated: str) -> bool:
    plain = plain_argument(written)
    return plain is None or plain == plain_argument(instantiated)


def compile_failure(source: Path, output: str, *, kernel: str | None = None) -> CompileError:
    """Return the error for a refused source.

    It has ``nvcc``'s messages, the first error's line and a hint; ``kernel`` is ``None`` for a
    program with its own ``main``.
    """
    first = _FIRST_ERROR.search(output)
    where = f"{first[1]}:{first[2] or first[3]}" if first else str(source)
    undefined = re.search(r'identifier "(\w+)" is undefined', output)
    unknown = re.search(r"Unsupported gpu architecture '\w+?_(\w+)'", output)
    hint = "correct the source, or the flags and defines under [compile]"
    if kernel is None:
        hint = (
            "if the program needs other options or libraries, build it yourself and profile it: "
            "kernelprof diagnose -- ./app args..."
        )
    elif unknown:
        hint = "this nvcc does not support the architecture: install a CUDA toolkit that does"
        if unknown[1].endswith("a"):
            hint += (
                ", or compile without architecture-specific features "
                "(architecture_specific = false under [compile])"
            )
    elif needs := required_architecture(output):
        hint = f"the kernel needs {needs} or higher: predict it with --arch {needs.rstrip('af')}"
        if needs in _ONLY_ON.values():
            # Predictions refuse what these sets of features alone have.
            hint = (
                f"the kernel needs an {needs} GPU: diagnose it on a machine with such a GPU and ncu"
            )
        if f".target '{needs.rstrip('a')}'" in output and needs.endswith("a"):
            hint = f"the kernel needs {needs}: delete architecture_specific = false under [compile]"
    elif missing := re.search(rf"^{re.escape(LEFT_OUT)}(.+)$", output, re.MULTILINE):
        if "<curand" in missing[1]:
            hint = "install the headers of cuRAND: python -m pip install nvidia-curand"
        else:
            hint = f"the missing declaration may be in a header left out ({missing[1]}): give the "
            hint += 'header folder with flags = ["-IFOLDER"] under [compile]'
    elif undefined:
        hint = f"declare {undefined[1]}, or add it to [compile] defines"
    elif "kernel of the launch specification" in output:
        hint = f"check that the template arguments of kernel = {kernel!r} match the template"
    elif has_main(read_source(source)):
        hint += "; a file with its own main() can also be profiled as a program"
    what = "program" if kernel is None else "kernel"
    message = shorten_errors(output.strip())
    return CompileError(f"the {what} does not compile:\n{message}", where=where, hint=hint)


def write_built(file: Path, key: str, built: Built) -> None:
    """Write a kernel for :func:`read_built`."""
    file.write_bytes(msgspec.msgpack.encode((key, built)))


def read_built(file: Path, key: str) -> Built | None:
    """Return the kernel that :func:`write_built` wrote with that key, else ``None``."""
    if not file.is_file():
        return None
    try:
        written_key, built = msgspec.msgpack.decode(file.read_bytes(), type=tuple[str, Built])
    except msgspec.DecodeError:
        return None
    return built if written_key == key else None


def code_digest(cubin: bytes) -> str:
    """Return SHA-256 of a cubin's code and data: equal ones run alike.

    Line information and names are left out; instructions, constants, initial values, registers
    and memory count.
    """
    digest = hashlib.sha256()
    for name, data in sorted(read_sections(cubin, sized=True)):
        if not name.startswith((*_OF_DEBUGGING, *_OF_NAMES)):
            digest.update(f"{name} {len(data)}\0".encode() + data)
    return digest.hexdigest()


def pack_parameters(
    values: Sequence[bytes], slots: Sequence[ParameterSlot], where: str | None = None
) -> bytes:
    """Return the parameter buffer of a launch.

    Raises :class:`CompileError` where sizes do not fit.
    """
    sizes, wanted = [len(each) for each in values], [each.size for each in slots]
    if sizes != wanted:
        raise CompileError(
            f"the compiled kernel has parameters of {_listed(wanted)} bytes, but the arguments "
            f"have {_listed(sizes)} bytes",
            where=where,
            hint="write one [[arguments]] table for each parameter, in order, with its type; set "
            "passed = false for an array that is not a parameter; list all members of a "
            "structure, and set align for a member with stricter alignment than its type",
        )
    buffer = bytearray(max((each.offset + each.size for each in slots), default=0))
    for value, slot in zip(values, slots, strict=True):
        buffer[slot.offset : slot.offset + slot.size] = value
    return bytes(buffer)


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes)) or "no"
