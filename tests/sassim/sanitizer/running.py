"""Runs kernels of ``code/`` as a check of a source does: their cubins and listings are kept there.

They are made from ``code/faults.cu`` and the kernels of ``tests/gpu/launch``, by nvcc 13.0::

    (echo '#line 1 "/kernels/faults.cu"'; cat code/faults.cu) > /tmp/faults.cu; cd /tmp
    nvcc -gencode=arch=compute_90a,code=sm_90a -lineinfo -cubin faults.cu
    nvdisasm -c -gi faults.cubin > faults.sass
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kernelprof.launch.build.compilation import Built
from kernelprof.launch.run.trial import LaunchError
from kernelprof.launch.specification.reader import load_spec
from kernelprof.prediction.binding import bind_arguments
from kernelprof.prediction.checking import check_results
from sassim.sass.program import load_program

if TYPE_CHECKING:
    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.prediction.binding import BoundLaunch
    from sassim.sass.program import Program

CODE = Path(__file__).parent / "code"
LAUNCHED = Path(__file__).parents[2] / "gpu" / "launch"
ARCH = "sm_90a"
_PLACE = re.compile(r"\+0x[0-9a-f]+ in ")


@cache
def compiled(name: str) -> tuple[bytes, str]:
    """The cubin of a source, and its listing."""
    cubin, listing = (
        gzip.decompress((CODE / f"{name}.{ARCH}.{kind}.gz").read_bytes())
        for kind in ("cubin", "sass")
    )
    return cubin, listing.decode()


def source_of(name: str) -> Path:
    """The source that a cubin was made from."""
    return next(each for each in (CODE / f"{name}.cu", LAUNCHED / f"{name}.cu") if each.exists())


def kernel(name: str, entry: str | None = None) -> tuple[LaunchSpec, Program]:
    """A source's specification, for its kernel or another of its kernels."""
    spec = load_spec(source_of(name))
    if entry is not None:
        spec = msgspec.structs.replace(spec, kernel=entry)
    cubin, listing = compiled(name)
    found = re.findall(r"\.section\t\.text\.(\S+?),", listing)
    (mangled,) = found if len(found) == 1 else [each for each in found if each == spec.kernel]
    return spec, load_program(cubin, listing, mangled)


def bound(name: str, entry: str | None = None) -> tuple[LaunchSpec, BoundLaunch]:
    """A kernel with the arguments of its check."""
    spec, code = kernel(name, entry)
    source = source_of(name)
    built = Built(compiled(name)[0], code.entry, (), ARCH)
    return spec, bind_arguments(
        code, built, spec.resolve(spec.check_sizes), source.parent, str(source)
    )


def checked(name: str, entry: str | None = None) -> LaunchError | None:
    """What a kernel is told; ``None``: nothing."""
    spec, launch = bound(name, entry)
    source = source_of(name)
    try:
        check_results(spec, launch, source.parent, source, ARCH)
    except LaunchError as error:
        return error
    return None


def told(name: str, entry: str | None = None) -> list[str]:
    """The lines that a kernel is told, without the places of machine instructions."""
    error = checked(name, entry)
    return [] if error is None else _PLACE.sub(" in ", error.what).splitlines()


def line(entry: str, mark: str = "read") -> str:
    """A line of ``faults.cu``: that of a kernel, or of what it calls, that ends with a mark."""
    lines = (CODE / "faults.cu").read_text(encoding="utf-8").splitlines()
    first = next(n for n, text in enumerate(lines) if text.startswith(f"KERNEL({entry})"))
    marked = [n for n, text in enumerate(lines, 1) if text.endswith(f"// here: {mark}")]
    return f"faults.cu:{next((n for n in marked if n > first), marked[0])}"
