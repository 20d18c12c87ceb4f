"""From source to cubin, and which of its entries is the kernel. The compiler itself is handed in.

It compiles a copy (:mod:`kernelprof.launch.nvcc`); a ``#line`` directive lets messages and
``-lineinfo`` name the user's file and lines all the same.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelprof.launch import compiler_messages
from kernelprof.launch.compiler_messages import Spills, spills, warnings
from kernelprof.launch.cubin import CompileError, entries
from kernelprof.launch.flags import separate, with_folders
from kernelprof.launch.keys import SpecError
from kernelprof.launch.libraries import library
from kernelprof.launch.signature import (
    choose,
    chosen_arguments,
    has_main,
    kernels,
    plain_argument,
    template_arguments,
    template_type,
)
from kernelprof.launch.source import read_source
from kernelprof.tools import ask, find_in_toolkit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from kernelprof.launch.cubin import Compiled
    from kernelprof.launch.signature import KernelSignature
    from kernelprof.launch.spec import LaunchSpec
    from kernelprof.model.manifest import CompilerWarning

    Compiler = Callable[[str, Sequence[str], str, Path], Compiled]
    """Compiles a source with options for an architecture; includes are looked for in the folder.

    Each option holds one value, and folders are absolute. Raises :class:`CompileError` with what
    ``nvcc`` wrote.
    """


_FIRST_ERROR = re.compile(
    r"^(.+?)(?:\((\d+)\)|:(\d+):\d+): (?:catastrophic |fatal )?error", re.MULTILINE
)
"""As ``nvcc`` says it, and as the host compiler does, which reads the includes first."""

_TWICE = "explicitly instantiated more than once"
"""What the compiler says where the source has an instance already that is asked for."""

_DEMANGLER = "cu++filt"


@dataclass(frozen=True, slots=True)
class Built:
    """A compiled kernel."""

    cubin: bytes
    entry: str
    """The kernel's mangled name in the cubin."""
    options: tuple[str, ...]
    """Of ``nvcc``, beside the architecture."""
    arch: str
    """What it was compiled for, such as ``sm_90a``."""
    warnings: tuple[CompilerWarning, ...] = ()
    spills: Spills | None = None


def build(
    spec: LaunchSpec, source: Path, arch: str, compiler: Compiler, named: Path | None = None
) -> Built:
    """Compile a kernel for a device's architecture such as ``sm_90``, if its arguments fit.

    ``named`` is what messages and ``-lineinfo`` call the source; without it they call it as it is.
    """
    text = read_source(source)
    check_arguments(spec, choose(kernels(text), spec.kernel, str(source)))
    folder = source.parent.resolve()
    fixed, flags = spec.compile.fixed(), separate(spec.compile.flags)
    given = with_folders(("-lineinfo", *fixed, *flags), folder)
    target = target_of(spec, arch)
    name = named or source.resolve()
    try:
        done = compiler(prepared(text, name, spec.kernel), given, target, folder)
    except CompileError as error:
        if _TWICE not in error.what:
            raise
        done = compiler(named_as(name, text), given, target, folder)
    names = entries(done.cubin)
    entry = done.entry or find_entry(names, spec.kernel, str(source))
    return Built(
        cubin=done.cubin,
        entry=entry,
        options=options_of(spec),
        arch=target,
        warnings=warnings(done.said, entry, names),
        spills=spills(done.said, entry),
    )


def target_of(spec: LaunchSpec, arch: str) -> str:
    """What a kernel is compiled for on a device: ``sm_90a`` on ``sm_90``.

    From compute capability 9.0 on the newest instructions (``wgmma`` of 9.0, ``tcgen05`` of 10.0)
    are in the architecture-specific set of one capability only (PTX ISA, ".target"), which has all
    others, too. A specification may ask for the plain set.
    """
    specific = spec.compile.architecture_specific and int(arch.removeprefix("sm_")) >= 90
    return f"{arch}a" if specific else arch


def check_arguments(spec: LaunchSpec, kernel: KernelSignature) -> None:
    """Refuse arguments that cannot be those of the kernel: their number, arrays, types."""
    for what, hint in _misfits(spec, kernel) if kernel.readable else ():
        raise SpecError(what, where=str(spec.path) if spec.path else None, hint=hint)


def _misfits(spec: LaunchSpec, kernel: KernelSignature) -> Iterator[tuple[str, str | None]]:
    """What does not fit, and what to do."""
    if "<" in spec.kernel and not kernel.template:
        what = f"{kernel.name} is not a template, and has arguments: {spec.kernel!r}"
        yield what, f'kernel = "{kernel.name}"'
    if kernel.template and "<" not in spec.kernel:
        listed = ", ".join(f"{p.kind} {p.name}" for p in kernel.template)
        what = f"{kernel.name} is a template of ({listed}), and its arguments are missing"
        yield what, f'name the instance to measure: kernel = "{kernel.name}<...>"'
    listed = f"the parameters are ({', '.join(p.written for p in kernel.parameters)})"
    passed = [argument for argument in spec.arguments if argument.passed]
    wanted, given = len(kernel.parameters), len(passed)
    if wanted != given:
        what = f"{kernel.name} has {wanted} parameters, and the specification {given} arguments"
        what += " that are passed" if given < len(spec.arguments) else ""
        yield what, f"{listed}; each has one [[arguments]] table, in order"
    chosen = chosen_arguments(kernel, spec.kernel)
    for argument, parameter in zip(passed, kernel.parameters, strict=True):
        name, is_array = repr(argument.name), argument.shape is not None
        if parameter.map_elsewhere:
            what = f"the kernel's parameter '{parameter.written}' points or refers to a tensor map"
            by_value = f"const __grid_constant__ CUtensorMap {parameter.name}"
            yield what, f"tensor maps are passed by value: declare it '{by_value}'"
            continue
        is_map, is_structure = argument.tensor_map is not None, argument.members is not None
        type_name = parameter.type or template_type(parameter, chosen)
        fits = is_map or type_name in (None, argument.type)
        kind = f"{'an array' if is_array else 'a scalar'} of {argument.type}"
        kind = "a tensor map" if is_map else "a structure" if is_structure else kind
        if is_array != parameter.pointer or is_map != parameter.tensor_map or not fits:
            what = f"argument {name} is {kind}, and the kernel's parameter is '{parameter.written}'"
            what += f", here of {type_name}" if type_name != parameter.type else ""
            yield what, f"{listed}; the arguments stand in the same order"
        if argument.output and parameter.const:
            what = f"argument {name} is an output, and the kernel may not write it"
            yield f"{what}: '{parameter.written}'", None
    for argument in spec.arguments:
        name, file = repr(argument.name), argument.file
        if file is not None and spec.path is not None and not (spec.path.parent / file).is_file():
            what = f"argument {name} is filled from {file}, and there is no such file"
            yield what, f"it is looked for in {spec.path.parent}"


def options_of(spec: LaunchSpec) -> tuple[str, ...]:
    """The options of ``nvcc`` beside the architecture."""
    return ("-lineinfo", *spec.compile.arguments())


def named_as(name: Path, text: str) -> str:
    """A text of a source that messages and ``-lineinfo`` name as that file from its first line."""
    return f"#line 1 {json.dumps(str(name), ensure_ascii=False)}\n" + text.removeprefix("\ufeff")


def prepared(text: str, named: Path, kernel: str) -> str:
    """The source as it is compiled: with its own name, and with the template instantiated."""
    lines = [named_as(named, text)]
    if "<" in kernel:
        lines += ['#line 1 "kernel of the launch specification"']
        lines += [f"template __global__ decltype({kernel}) {kernel};", ""]
    return "\n".join(lines)


def find_entry(names: Sequence[str], kernel: str, where: str) -> str:
    """The entry of a kernel that is called as in the specification."""
    plain = kernel.partition("<")[0]
    if plain in names:
        return plain
    scopes, template = plain.split("::"), "<" in kernel
    read = {name: _base_name(name) for name in names}
    found = [name for name in names if read[name] == (scopes, template)]
    found = found or [n for n in names if (read[n][0][-1:], read[n][1]) == (scopes[-1:], template)]
    if len(found) > 1 and template:
        found = _instances(found, kernel)
    if len(found) == 1:
        return found[0]
    if not found:
        raise CompileError(
            f"the compiled file has no kernel {kernel!r}; it has: {', '.join(names) or 'none'}",
            where=where,
            hint="is it inside an #if that the defines leave out?",
        )
    hint = 'give the kernel a name of its own, or declare it extern "C"'
    if template:
        hint = "write all template arguments as plain numbers and types, in the template's order"
        if find_in_toolkit(_DEMANGLER) is None:
            hint = (
                f"{_DEMANGLER} of the CUDA toolkit distinguishes them, and is not installed here: "
                "install it, or leave one of them in the file"
            )
    raise CompileError(
        f"more than one compiled kernel is called {plain!r}: {', '.join(found)}",
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
    while (nested or not parts) and (part := re.compile(r"L?(\d+)").match(name, at)):
        at = part.end() + int(part[1])
        parts.append(name[part.end() : at])
    return [part for part in parts if not part.startswith("_GLOBAL__N_")], name[at : at + 1] == "I"


def _instances(names: Sequence[str], kernel: str) -> list[str]:
    """The instances whose template arguments can be those of the kernel, by ``cu++filt``.

    An argument of the kernel that is neither a number nor a plain type fits every other; so do all
    where there is no ``cu++filt``.
    """
    program = find_in_toolkit(_DEMANGLER)
    done = None if program is None else ask(program, *names)
    readable = [] if done is None else done.stdout.splitlines()
    if len(readable) != len(names):
        return list(names)
    wanted = [plain_argument(each) for each in template_arguments(kernel)]
    fitting: dict[str, int] = {}
    for name, shown in zip(names, readable, strict=True):
        given = [plain_argument(each) for each in template_arguments(shown)]
        pairs = zip(wanted, given, strict=False)
        if len(given) >= len(wanted) and all(one in (None, other) for one, other in pairs):
            fitting[name] = len(given)
    # Arguments that are left out are defaults: an instance without more is nearer.
    nearest = min(fitting.values(), default=0)
    return [name for name, count in fitting.items() if count == nearest] or list(names)


def compile_failure(source: Path, output: str, *, kernel: str | None = None) -> CompileError:
    """The error where ``nvcc`` refuses: its messages, the first error's place, what to do.

    ``kernel`` is that of a launch specification; a program with its own ``main`` has none.
    """
    first = _FIRST_ERROR.search(output)
    place = f"{first[1]}:{first[2] or first[3]}" if first else str(source)
    undefined = re.search(r'identifier "(\w+)" is undefined', output)
    unknown = re.search(r"Unsupported gpu architecture '\w+?_(\w+)'", output)
    hint = "correct the source, or the flags and defines under [compile]"
    if kernel is None:
        hint = (
            "one that needs other options or libraries is built by yourself, and then "
            "profiled: kernelprof diagnose -- ./app args..."
        )
    elif unknown:
        hint = "this nvcc is older than the GPU: install a newer CUDA toolkit"
        if unknown[1].endswith("a"):
            hint += ", or go without what this GPU alone has: architecture_specific = false"
            hint += " under [compile]"
    elif needs := compiler_messages.needed(output):
        hint = f"its code needs {needs}; --arch {needs.rstrip('af')} predicts it for that"
    elif missing := re.search(r"^not found, and left out: #include (.+)$", output, re.MULTILINE):
        hint = f"it may be declared in {missing[1]}, which was not found: where that lies, say "
        hint += 'flags = ["-IFOLDER"] under [compile]'
    elif undefined:
        hint = f"declare {undefined[1]}, or add it to [compile] defines"
    elif "kernel of the launch specification" in output:
        hint = f"do the template arguments of kernel = {kernel!r} fit the template?"
    elif has_main(read_source(source)):
        hint += "; a file with its own main() can be profiled as a program, too"
    what = "program" if kernel is None else "kernel"
    said = compiler_messages.shortened(output.strip())
    return CompileError(f"the {what} does not compile:\n{said}", where=place, hint=hint)


def pycuda(module: str) -> Any:
    """A module of PyCUDA, which only machines with a GPU have."""
    return library(f"pycuda.{module}", "PyCUDA")
