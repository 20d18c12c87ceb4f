"""Machine code of a launch specification, by NVRTC and nvdisasm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.errors import InputError, MissingToolError
from kernelprof.installation import install_command
from kernelprof.launch.build.compilation import CompileError, build_kernel, compile_failure
from kernelprof.prediction import nvrtc
from kernelprof.prediction.architectures import DEFAULT_ARCH
from kernelprof.prediction.compiler import DeviceCompiler
from kernelprof.prediction.toolchain import find_toolchain
from sassim.disassembler import disassemble
from sassim.errors import DisassemblerError
from sassim.sass.program import load_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from kernelprof.launch.build.compilation import Built
    from kernelprof.launch.build.compilation import CompiledCubin as Cubin
    from kernelprof.launch.specification.overrides import LaunchOverrides
    from kernelprof.launch.specification.spec import LaunchSpec
    from sassim.sass.program import Program


@dataclass(frozen=True)
class MachineCode:
    """A kernel's machine code for one architecture."""

    built: Built
    code: Program
    compiler: str
    """Its name and version."""


@dataclass(frozen=True)
class CompiledSource(MachineCode):
    """The same of a source with a launch specification; nothing was run."""

    source: Path
    spec: LaunchSpec
    arch: str
    overrides: LaunchOverrides
    """What the launch is other than its source says."""

    @property
    def folder(self) -> Path:
        """The folder of the specification, with its data and references."""
        return (self.spec.path or self.source).parent


def compile_source(
    source: Path,
    overrides: LaunchOverrides,
    *,
    arch: str = DEFAULT_ARCH,
    progress: Callable[[str], object],
    meanwhile: Iterable[object] = (),
) -> CompiledSource:
    """The machine code of a source with a launch specification.

    ``progress`` is called with what is being done, and ``meanwhile`` is iterated over while tools
    work, an iterator by one tool after the other. Raises
    :class:`kernelprof.errors.MissingToolError` where the compiler's packages are not installed, and
    what a build for a GPU raises for a kernel that does not compile.
    """
    spec = overrides.specified(source)
    progress(f"{source.name}: compiling for {arch}")
    made = compile_kernel(source, spec, arch, meanwhile)
    return CompiledSource(made.built, made.code, made.compiler, source, spec, arch, overrides)


def compile_kernel(
    source: Path, spec: LaunchSpec, arch: str, meanwhile: Iterable[object] = ()
) -> MachineCode:
    """Compile a source as a specification says, with ``meanwhile`` as in :func:`compile_source`.

    Raises :class:`kernelprof.errors.MissingToolError` where the compiler's packages are not
    installed, and what a build for a GPU raises for a kernel that does not compile.
    """
    nvrtc.start()
    tools = find_toolchain()
    compiler = DeviceCompiler(tools, spec.kernel, meanwhile)

    def cubin(text: str, options: Sequence[str], target: str, home: Path) -> Cubin:
        try:
            return compiler.cubin(text, options, target, home)
        except CompileError as error:
            log = error.what.replace(str(source.resolve()), str(source))
            raise compile_failure(source, log, kernel=spec.kernel) from error
        except InputError as error:
            error.where = error.where or str(source)
            raise

    built = build_kernel(spec, source, arch, cubin, compiler.printable_path(source))
    try:
        text = disassemble(built.cubin, tools.nvdisasm, meanwhile)
    except DisassemblerError as error:
        hint = f"install a newer nvdisasm: {install_command('predict')} --upgrade"
        raise MissingToolError(error.what, where=error.where, hint=hint) from error
    listing = compiler.real_names(text)
    code = load_program(built.cubin, listing, built.entry)
    return MachineCode(built, code, f"NVRTC {tools.compiler_version}")
