"""Another version of a kernel as its reference: how that is launched with the same arguments.

A version with a launch specification of its own is built and launched as that says, and gets the
arguments of the new one by their names; one without is launched as the new one is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kernelprof.launch.keys import SpecError
from kernelprof.launch.read_spec import read_spec
from kernelprof.launch.signature import choose, kernels
from kernelprof.launch.source import find_block, read_source
from kernelprof.model.specification import NO_REFERENCE

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.launch.spec import LaunchSpec
    from kernelprof.launch.tables import Argument


def version(spec: LaunchSpec, folder: Path) -> tuple[Path, LaunchSpec]:
    """The source that a specification names as its reference, and how it is launched.

    Both get the same values. Raises :class:`SpecError` where the version writes none of the
    outputs that are compared, or wants an array that the new one has not.
    """
    source = folder / spec.reference
    text = read_source(source)
    block = find_block(source)
    if block is None:
        return source, _as_new(spec, source, text)
    own = read_spec(block)
    arguments = {each.name: each for each in _seeded(spec)}
    given = []
    for argument in own.arguments:
        known = arguments.get(argument.name)
        if known is None and argument.shape is not None:
            raise SpecError(
                f"the reference has an array {argument.name!r}, and the kernel has none",
                where=str(source),
                hint="arguments of both versions are told by their names in the specifications",
            )
        given.append(known or argument)
    missing = [each.name for each in spec.outputs if each.name not in {g.name for g in given}]
    if missing:
        raise SpecError(
            f"the reference has no output {missing[0]!r}",
            where=str(source),
            hint="arguments of both versions are told by their names in the specifications",
        )
    return source, msgspec.structs.replace(
        own,
        arguments=tuple(given),
        sizes={**own.sizes, **spec.sizes},
        check=msgspec.structs.replace(spec.check, sizes={**own.check.sizes, **spec.check.sizes}),
        reference=NO_REFERENCE,
        path=spec.path,
    )


def _as_new(spec: LaunchSpec, source: Path, text: str) -> LaunchSpec:
    """The launch of a version without a specification: the kernel of the same name, or the one."""
    found = kernels(text)
    plain, _, arguments = spec.kernel.partition("<")
    named = [each for each in found if each.name == plain]
    kernel = named[0] if named else choose(found, None, str(source))
    name = f"{kernel.name}<{arguments}" if arguments and kernel.template else kernel.name
    return msgspec.structs.replace(
        spec, kernel=name, reference=NO_REFERENCE, arguments=tuple(_seeded(spec))
    )


def _seeded(spec: LaunchSpec) -> list[Argument]:
    """The arguments, each with the seed that follows from its place."""
    return [
        msgspec.structs.replace(each, seed=index)
        if each.shape is not None and each.seed is None
        else each
        for index, each in enumerate(spec.arguments)
    ]
