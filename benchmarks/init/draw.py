"""Which kernels of other people are tried: ``python -m benchmarks.init.draw DIR``.

A rule draws them, so that nobody chooses those that go well. Of each repository's ``.cu`` files
the kernels count that are plain (:func:`is_plain`) in files that NVRTC compiles by themselves. They
are ordered by the SHA-256 of ``repository/path#kernel``, and the first ten are taken, at most one
of a folder, or of llm.c's one folder at most one of a file. Prints ``kernels.toml``.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.errors import KernelprofError
from kernelprof.launch import syntax
from kernelprof.launch.signature import declared_kernels
from kernelprof.launch.source import read_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelprof.launch.signature import DeclaredKernel

REPOSITORIES: Final = {
    "llm.c": ("karpathy/llm.c", "dev/cuda", True),
    "cuda-samples": ("NVIDIA/cuda-samples", "Samples", False),
    "HeCBench": ("zjin-lcf/HeCBench", "src", False),
}
"""By folder: the repository, where its kernels are, and whether one folder holds all of them."""
FOLDERS: Final = {"cuda-samples": "Common", "HeCBench": "src/include"}
"""Headers that a repository's sources share."""
OF_EACH: Final = 10

_PLAIN: Final = re.compile(
    r"(?:(?:const|volatile|unsigned|signed|__restrict__|__restrict|restrict|long|short|char|int"
    r"|float|double|bool|half2?|__half2?|size_t|u?int(?:8|16|32|64)_t|uint|uchar|ushort"
    r"|(?:__)?nv_bfloat16[2]?|__nv_bfloat162|floatX|(?:u?(?:char|short|int|long)|float|double)[234]"
    r"|[A-Z])\b|[*&\s])+"
)
_GPU_ALONE: Final = re.compile(
    r"<<<|this_grid|grid_group|tex[123]D|surf[123]D|wgmma|cp\.async\.bulk|wmma|clock64|clock\("
)


def is_plain(declared: DeclaredKernel) -> bool:
    """Whether all parameters are numbers, vectors of CUDA, or pointers to them.

    Types of one capital letter are those of templates; ``floatX`` is llm.c's choice of precision.
    No textures, tensor cores, clocks, launches by the kernel or barriers of the grid.
    """
    kernel = declared.kernel
    if not (kernel.defined and kernel.readable and kernel.parameters):
        return False
    body = syntax.text(syntax.child(declared.node, "body"))
    types = (p.written[: p.written.rfind(p.name)] for p in kernel.parameters if p.name)
    one_star = all(p.written.count("*") + p.written.count("[") <= 1 for p in kernel.parameters)
    some = any(p.pointer for p in kernel.parameters)
    return (
        one_star
        and some
        and all(_PLAIN.fullmatch(each) for each in types)
        and not _GPU_ALONE.search(body)
    )


def compiles(path: Path, folder: Path | None) -> bool:
    """Whether NVRTC takes the file by itself."""
    from kernelprof.prediction.compiler import DeviceCompiler
    from kernelprof.prediction.toolchain import find_toolchain

    options = [] if folder is None else [f"-I{folder}"]
    try:
        DeviceCompiler(find_toolchain()).cubin(read_source(path), options, "sm_90", path.parent)
    except KernelprofError:
        return False
    return True


def drawn(checkouts: Path, name: str) -> Iterator[tuple[str, str]]:
    """Path in its repository and kernel, of those that are taken of one repository."""
    repository, folder, flat = REPOSITORIES[name]
    root = checkouts / name
    found = []
    for path in (root / folder).rglob("*.cu"):
        relative = path.relative_to(root).as_posix()
        try:
            source = read_source(path)
        except KernelprofError:
            continue
        for declared in declared_kernels(syntax.parse(source)):
            if is_plain(declared):
                key = f"{repository}/{relative}#{declared.kernel.name}"
                found.append((hashlib.sha256(key.encode()).hexdigest(), relative, declared.kernel))
    taken: set[str] = set()
    common = FOLDERS.get(name)
    for _, relative, kernel in sorted(found, key=lambda each: each[0]):
        place = relative if flat else str(Path(relative).parent)
        if place in taken or not compiles(root / relative, common and (root / common).resolve()):
            continue
        taken.add(place)
        yield relative, kernel.name
        if len(taken) == OF_EACH:
            return


def main() -> int:
    """Print the list as TOML."""
    checkouts = Path(sys.argv[1])
    for name, (repository, _, _) in REPOSITORIES.items():
        for path, kernel in drawn(checkouts, name):
            sys.stdout.write(
                f'[[kernel]]\nrepository = "{repository}"\npath = "{path}"\nname = "{kernel}"\n\n'
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
