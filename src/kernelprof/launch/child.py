"""The process that builds and launches a kernel: by itself at first, then under ``ncu``.

``python -m kernelprof.launch.child KERNEL.cu --trial FILE`` compiles, checks and times the kernel,
and writes what it found out. Without ``--trial`` it launches the kernel as ``ncu`` is to see it:
at the sizes of the measurement, nothing else on the GPU. With ``--answer`` it times the kernel
whenever its standard input asks for it. A process of its own, because a kernel that faults or never
ends takes its context with it.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.launch.build.compilation import (
    Built,
    CompileError,
    build_kernel,
    compile_failure,
    compile_target,
    nvcc_options,
    read_built,
    write_built,
)
from kernelprof.launch.build.nvcc import Workshop, architecture_option, is_plain, scratch
from kernelprof.launch.check.arrays import count_poison, decode
from kernelprof.launch.check.results import (
    compare_outputs,
    load_version,
    reference_results,
    refuse_wrong,
)
from kernelprof.launch.processes import send_response, serve_requests
from kernelprof.launch.run.device import BoundKernel, CudaDevice, LoadedKernel
from kernelprof.launch.run.trial import INTERNAL_ERROR, CheckedOutput, LaunchError, Trial
from kernelprof.launch.source import changed_meanwhile, launch_hashes
from kernelprof.launch.specification.overrides import (
    InferredSpecification,
    LaunchOverrides,
    parse_define,
    parse_size,
)
from kernelprof.model.specification import NO_REFERENCE, is_version, sizes_text
from kernelprof.tools import nvcc_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kernelprof.launch.build.compilation import CompiledCubin
    from kernelprof.launch.specification.spec import LaunchSpec


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; on an error, end the process with its exit code."""
    options = _parser().parse_args(arguments)
    warnings.simplefilter("ignore")  # what nvcc warns of is in the source, not in the measurement
    trial = Trial()
    try:
        device = CudaDevice()
        _Task(options, device, trial).do()
        device.close()
    except KernelprofError as error:
        _end(options.trial, trial, error, int(error.exit_code))
    except Exception as error:
        ours = LaunchError(
            f"the process that launches the kernel failed: {type(error).__name__}: {error}",
            hint="this is a bug in kernelprof; please report it with these lines:\n"
            + "".join(traceback.format_exception(error)[-4:]),
        )
        _end(options.trial, trial, ours, INTERNAL_ERROR)
    if options.trial is not None:
        trial.write(options.trial)
    return 0


def _end(file: Path | None, trial: Trial, error: KernelprofError, code: int) -> NoReturn:
    """Say what happened and be gone, while the error still holds on to everything on the GPU.

    To give memory back to the driver means to wait for a kernel that may never end, and a context
    in which a kernel faulted answers nothing but complaints.
    """
    trial.fail(error, code)
    if file is not None:
        trial.write(file)
    else:
        sys.stderr.write(f"kernelprof: {error.what}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    # What a kernel printed, an assert's message too, may still be in the buffers of C.
    ctypes.CDLL(None).fflush(None)
    os._exit(code)


class _Task:
    def __init__(self, options: argparse.Namespace, device: CudaDevice, trial: Trial) -> None:
        self.source: Path = options.source
        self.cubin: Path | None = options.cubin
        self.options = options
        self.device = device
        self.trial = trial
        toml: Path | None = options.specification
        self.spec = LaunchOverrides(
            sizes=dict(map(parse_size, options.size)),
            defines=dict(map(parse_define, options.define)),
            against=options.against,
            inferred=None
            if toml is None
            else InferredSpecification(toml.read_text(encoding="utf-8")),
        ).specified(self.source)
        self.folder = (self.spec.path or self.source).parent
        self.where = f"{self.source}, kernel {self.spec.kernel}"
        self.arch = compile_target(self.spec, device.arch)
        trial.gpu, trial.arch = device.name, self.arch

    def do(self) -> None:
        """Check and time, answer requests, or launch once for ``ncu``."""
        kernel = self._kernel()
        spec = self.spec
        if self.options.only_check:
            self._check(kernel)
            return
        if self.options.answer:
            self._answer(kernel)
            return
        if self.options.trial is None:
            BoundKernel(kernel, spec.resolve(), self.folder).run(spec.launch.time_limit_s)
            return
        self.trial.resources = kernel.resources
        self.trial.options = (architecture_option(self.arch), *nvcc_options(spec))
        self.trial.compiler = nvcc_version()
        fully_written = self._check(kernel)
        bound = BoundKernel(kernel, spec.resolve(), self.folder)
        bound.before.clear()  # the copies on the host are not needed for a measurement
        for _ in range(max(1, spec.launch.warmup)):
            bound.run(spec.launch.time_limit_s)
        self.trial.times_ns = bound.times_ns(spec.launch.measured, spec.launch.time_limit_s)
        if fully_written:
            self._refuse_poisoned(bound)

    def _answer(self, kernel: LoadedKernel) -> None:
        bound: dict[tuple[tuple[str, int], ...], BoundKernel] = {}

        def times(question: dict[str, Any]) -> dict[str, Any]:
            sizes = {**self.spec.sizes, **question["sizes"]}
            at = tuple(sorted(sizes.items()))
            if at not in bound:
                bound.clear()  # gives the memory back before more is taken
                bound[at] = BoundKernel(kernel, self.spec.resolve(sizes), self.folder)
                bound[at].before.clear()
            limit = self.spec.launch.time_limit_s
            return {"times_ns": bound[at].times_ns(question["count"], limit)}

        try:
            serve_requests(times)
        except KernelprofError as error:
            self.trial.fail(error)
            send_response({"error": self.trial.error})
            raise

    def _kernel(self) -> LoadedKernel:
        key = launch_hashes(self.source, self.spec).digest()
        if self.options.expect is not None and key != self.options.expect:
            raise changed_meanwhile(str(self.source))
        key = f"{self.arch}-{key}"
        built = None if self.cubin is None else read_built(self.cubin, key)
        if built is None:
            built = self._built(self.source, self.spec)
            if self.cubin is not None and self.cubin.parent.is_dir():
                write_built(self.cubin, key, built)
        self.trial.compiler_warnings = built.warnings
        return LoadedKernel(self.device, built, self.where)

    def _built(self, source: Path, spec: LaunchSpec) -> Built:
        with self._workshop() as workshop:

            def compiler(
                text: str, options: Sequence[str], arch: str, folder: Path
            ) -> CompiledCubin:
                try:
                    return workshop.cubin(text, options, arch, folder)
                except CompileError as error:
                    raise compile_failure(source, error.what, kernel=spec.kernel) from error

            shown_path = workshop.printable_path(source)
            return build_kernel(spec, source, self.device.arch, compiler, shown_path)

    @contextmanager
    def _workshop(self) -> Iterator[Workshop]:
        folder_of_cubin = None if self.cubin is None else self.cubin.parent
        if folder_of_cubin is not None and folder_of_cubin.is_dir() and is_plain(folder_of_cubin):
            yield Workshop(folder_of_cubin.resolve())
        else:
            with scratch() as folder:
                yield Workshop(folder)

    def _check(self, kernel: LoadedKernel) -> bool:
        spec = self.spec
        launch = spec.resolve(spec.check_sizes)
        bound = BoundKernel(kernel, launch, self.folder, poison=not self.options.no_poison)
        if spec.reference == NO_REFERENCE:
            bound.run(spec.launch.time_limit_s)
            return False
        if is_version(spec.reference):
            wanted: Mapping[str, Any] = self._results_of_version()
        else:
            wanted = reference_results(spec, launch, bound.before, self.folder, self.where)
        bound.run(spec.launch.time_limit_s)
        comparisons = compare_outputs(spec, wanted, bound.result)
        self.trial.checked = tuple(CheckedOutput(f.name, f.error, f.tolerance) for f in comparisons)
        refuse_wrong(comparisons, launch, self.where, spec.reference)
        return not any(bool(np.isnan(values).any()) for values in wanted.values())

    def _results_of_version(self) -> dict[str, Any]:
        source, spec = load_version(self.spec, self.folder)
        loaded = LoadedKernel(self.device, self._built(source, spec), f"{source}, {spec.kernel}")
        bound = BoundKernel(loaded, spec.resolve(spec.check_sizes), self.folder)
        bound.run(spec.launch.time_limit_s)
        return {e.name: decode(bound.result(e.name), e.element) for e in self.spec.outputs}

    def _refuse_poisoned(self, bound: BoundKernel) -> None:
        for each in self.spec.outputs:
            if each.fill is not None:
                continue
            stored = bound.result(each.name)
            left = count_poison(each.element, stored)
            if left:
                raise LaunchError(
                    f"the kernel left {left} of {stored.size} elements of {each.name} unwritten "
                    f"at {sizes_text(bound.launch.sizes)}, although its result is correct at the "
                    "check sizes",
                    where=self.where,
                    hint="check that the grid covers these sizes",
                )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernelprof.launch.child",
        description="Build and launch the kernel of a source with a launch specification.",
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("--size", action="append", default=[])
    parser.add_argument("--define", action="append", default=[])
    parser.add_argument("--against", type=Path, help="compare with this version of the kernel")
    parser.add_argument(
        "--specification", type=Path, help="TOML that replaces the source's specification"
    )
    parser.add_argument(
        "--cubin", type=Path, help="store the compiled kernel in this file, and reuse it"
    )
    parser.add_argument(
        "--trial", type=Path, help="check and time the kernel, and write the outcome to this file"
    )
    parser.add_argument("--expect", help="refuse a source whose digest differs from this")
    parser.add_argument(
        "--no-poison", action="store_true", help="leave outputs uninitialized before the launch"
    )
    parser.add_argument(
        "--answer", action="store_true", help="time the kernel for each request on standard input"
    )
    parser.add_argument(
        "--only-check", action="store_true", help="check the result, but do not time the kernel"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
