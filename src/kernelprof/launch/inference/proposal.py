"""A first launch specification: what can be inferred from the source, and blanks for the rest.

``host`` reads the host code of the file, ``reach`` the kernel's body. From this
``Evidence``, ``configuration``, ``parameters`` and ``extents`` infer the launch, parameters and
arrays; ``operations`` recognises operations. :func:`guess` has their order.
Nothing is inferred without evidence: a wrong guess costs more than a question.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import InputError
from kernelprof.files import is_plain
from kernelprof.launch import syntax
from kernelprof.launch.inference import amounts, extents
from kernelprof.launch.inference.accessors import find_accessors, fit_accessors
from kernelprof.launch.inference.amounts import parse_number
from kernelprof.launch.inference.configuration import (
    find_usage,
    infer_configuration,
    infer_shared_bytes,
    name_dimensions,
)
from kernelprof.launch.inference.evidence import GuessedArray, Guesses, LaunchEvidence
from kernelprof.launch.inference.extents import find_guarded, infer_sizes
from kernelprof.launch.inference.host import LAUNCH_FUNCTIONS, find_launches
from kernelprof.launch.inference.operations import recognise_operation
from kernelprof.launch.inference.parameters import (
    infer_scalars,
    infer_small_sizes,
    infer_structures,
    infer_windows,
)
from kernelprof.launch.inference.preprocessor import (
    active_nodes,
    defines_of_macros,
    required_defines,
    undefined_macros,
)
from kernelprof.launch.inference.reach import Reach
from kernelprof.launch.inference.rewriting import numbers_blocks_along_both, rewrite
from kernelprof.launch.inference.symbols import (
    Element,
    SourceSymbols,
    Types,
    bare_type,
    call_arguments,
    find_constants,
)
from kernelprof.launch.inference.templates import choose_template
from kernelprof.launch.signature import choose, declared_kernels, includes, quoted_includes
from kernelprof.launch.source import (
    block_lines,
    cut_block,
    local_includes,
    read_header,
    read_source,
    refuse_other_than_file,
    specification_path,
    with_block,
)
from kernelprof.launch.specification.overrides import relative_version
from kernelprof.launch.specification.reader import FILL_IN
from kernelprof.model.kernel_name import name_pattern
from kernelprof.model.specification import NO_REFERENCE, TOLERANCE, default_tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from kernelprof.launch.inference.accessors import Accessor
    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.evidence import GuessedMember, Usage
    from kernelprof.launch.inference.host import HostLaunch
    from kernelprof.launch.signature import DeclaredKernel, KernelSignature, Parameter
    from kernelprof.launch.source import SpecBlock


_IN_COMMENT = re.compile(r"(?<=  # )([^\n]*?\bline )(\d+)(?! of an included file)")
"""Where in this source something is that speaks for a guess."""
_HEADER_FOLDERS = ("", "include", "inc", "Common", "common", "src")
_MOST_UP = 10
_OF_CPP = re.compile(r"<[a-z_]+>")
"""Headers of C++, as which a project calls none of its own."""
_OF_SYSTEM = tuple(map(Path, ("/", "/usr", "/usr/local", sys.prefix)))
"""Folders above which no project is, and whose headers are the system's."""
_UNCHECKED = "no reference given, so the result is not checked"


@dataclass(frozen=True, slots=True)
class SpecificationDraft:
    """A source with its new specification, not yet written anywhere."""

    kernel: str
    text: str
    unfilled: tuple[tuple[int, str], ...]
    """Lines of the source that have to be filled in, from 1, and what stands there."""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpecificationProposal:
    """What was guessed of a kernel; ``guesses`` may be completed before it is a draft."""

    path: Path
    source: str
    kernel: KernelSignature
    guesses: Guesses
    old: SpecBlock | None
    requested_kernel: str | None = None

    @property
    def toml(self) -> str:
        """The specification as it stands now."""
        return _toml(self.kernel, self.guesses)

    def blanks(self) -> tuple[str, ...]:
        """What nothing is known of: ``grid``, ``shape of x``."""
        blank_keys, argument = [], ""
        for line in self.toml.split("\n"):
            key, _, value = line.partition(" = ")
            if line == "[[arguments]]":
                argument = ""
            elif key == "name" and FILL_IN not in line:
                argument = f" of {json.loads(value)}"
            if line.endswith(FILL_IN):
                if key == "defines":
                    key = f"the value of {', '.join(self.guesses.macros)}"
                blank_keys.append(f"{key}{argument}" if value else line.lstrip("# "))
        return tuple(blank_keys)

    def draft(self) -> SpecificationDraft:
        """The source with it."""
        toml = _IN_COMMENT.sub(self._moved, self.toml)
        text = with_block(self.source, self._with_moved(toml), self.old)
        lines = enumerate(text.split("\n"), start=1)
        unfilled = tuple(
            (number, line.removeprefix("// ").rpartition(f"  {FILL_IN}")[0])
            for number, line in lines
            if line.startswith("// ") and line.rstrip().endswith(FILL_IN)
        )
        remarks = filter(None, (*self.guesses.remarks, self.guesses.differs))
        return SpecificationDraft(
            self.kernel.name, text, unfilled, tuple(map(self._with_moved, remarks))
        )

    def _with_moved(self, text: str) -> str:
        name = re.escape(self.path.name)
        return re.sub(rf"(?<![\w./-])({name}:)(\d+)", self._moved, text)

    def _moved(self, match: re.Match[str]) -> str:
        before, line = match[1], int(match[2])
        start, end = (0, 0) if self.old is None else (self.old.start, self.old.end)
        if line > end:
            line += block_lines(self.toml) - (end - start)
        return f"{before}{line}"


def infer_specification(
    path: Path, *, kernel: str | None = None, force: bool = False, against: Path | None = None
) -> SpecificationProposal:
    """Infer a specification of a kernel; ``force`` replaces one that is there.

    ``against`` is another version of the kernel, whose results are the reference.
    """
    refuse_other_than_file(path, hint="name the .cu file of a kernel")
    source = read_source(path)
    if is_plain(specification_path(path)):
        raise InputError(
            "the kernel already has a specification in a .toml file",
            where=str(specification_path(path)),
            hint="remove the .toml file to get a new specification inside the source",
        )
    old = cut_block(source, path)
    if old is not None and not force:
        raise InputError(
            "the kernel already has a specification",
            where=old.where(0),
            hint="--force replaces it",
        )
    flags = _include_flags(path)
    included_files, _ = local_includes(path, flags)
    texts = [source, *map(read_header, included_files.values())]
    chosen, declared, guesses = _read(texts, path, kernel)
    has_axis_too_many = guesses.grid is None or "blocks_y" in guesses.sizes
    if has_axis_too_many and numbers_blocks_along_both(source):
        along_x = _read(texts, path, kernel, along_x=True)
        if along_x[2].grid is not None and "blocks_y" not in along_x[2].sizes:
            chosen, declared, guesses = along_x
    guesses.flags = flags
    if guesses.flags:
        guesses.why["flags"] = "folder of the included headers"
    others = [one.kernel.name for one in declared if one.kernel is not chosen]
    if kernel is None and others:
        guesses.remarks.append(
            f"{chosen.name} was selected from the {len(declared)} kernels of the file (--kernel "
            f"{others[0]} selects another)"
        )
    if against is not None:
        guesses.reference = relative_version(against, path.parent)
        guesses.why["reference"] = "another version of the kernel"
    return SpecificationProposal(path, source, chosen, guesses, old, kernel)


def _read(
    texts: Sequence[str], path: Path, name: str | None, *, along_x: bool = False
) -> tuple[KernelSignature, list[DeclaredKernel], Guesses]:
    """The kernel of a name in a source and what it includes, all kernels, and the guesses."""
    root, *headers = map(syntax.parse, rewrite(texts, along_x=along_x))
    declared = declared_kernels(root)
    if not declared:
        declared = [each for header in headers for each in declared_kernels(header)]
    chosen = choose_kernel([one.kernel for one in declared], name, str(path), root)
    if not chosen.readable:
        raise InputError(
            f"the signature of {chosen.name} cannot be read",
            where=f"{path}:{chosen.line}",
            hint="macros or #if between its parameters can cause this; write the specification by "
            "hand (docs/launch-specification.md)",
        )
    node = next(one.node for one in declared if one.kernel is chosen)
    required = required_defines(node, _plain(chosen.name), [root, *headers])
    required += [each for each in defines_of_macros(root, headers) if each not in required]
    guesses = guess(chosen, node, [root, *headers], name, required)
    guesses.defines |= dict.fromkeys(required, 1)
    if not quoted_includes(texts[0]):
        parameters = [parameter.name for parameter in chosen.parameters]
        macros = undefined_macros(root, node, parameters)
        guesses.macros = [each for each in macros if each not in guesses.defines]
    return chosen, declared, guesses


def _include_flags(path: Path) -> list[str]:
    """Folders above a file that hold headers which it includes, also by way of others."""
    flags: dict[str, None] = {}
    while True:
        included_files, _ = local_includes(path, flags)
        missing = {
            name[1:-1]: None
            for file in (path, *included_files.values())
            for name in includes(read_header(file))
            if name[:1] in {'"', "<"}
            and not _OF_CPP.fullmatch(name)
            and not is_plain(file.parent / name[1:-1])
        }
        before = len(flags)
        for name in missing:
            flags |= dict.fromkeys(_flags_for(path, name))
        if len(flags) == before:
            return list(flags)


def _flags_for(path: Path, name: str) -> Iterator[str]:
    """The nearest folders above a file with a header of that name."""
    parents = path.resolve().parents
    for up, folder in enumerate(parents[: _MOST_UP + 1]):
        if up and folder in _OF_SYSTEM:
            return
        # A header beside the file is found without.
        here = [each for each in _HEADER_FOLDERS if is_plain(folder / each / name)]
        for each in here:
            if each or up:
                yield f"-I{os.path.relpath(folder / each, parents[0])}"
        if here or (folder / ".git").exists():
            return


def _toml(kernel: KernelSignature, guesses: Guesses) -> str:
    why = guesses.why
    lines = [
        *([f"# {guesses.trouble}  {FILL_IN}"] if guesses.trouble else ()),
        _line("kernel", guesses.kernel, f'"{kernel.name}<...>"', why.get("kernel")),
        _line("block", _texts(guesses.block), "[]", why.get("block")),
        _line("grid", _texts(guesses.grid), "[]", why.get("grid")),
        _line("reference", guesses.reference or NO_REFERENCE, "", why.get("reference", _UNCHECKED)),
    ]
    amounts_of_work = (("flops", guesses.flops), ("min_bytes", guesses.min_bytes))
    lines += [_line(key, value, "") for key, value in amounts_of_work if value is not None]
    if guesses.sizes:
        lines += ["", "[sizes]"]
        for name, size in guesses.sizes.items():
            lines.append(f"{name} = {size}{_comment(why.get(f'sizes.{name}'))}")
        checked = f"sizes = {_inline(guesses.check_sizes)}{_comment(why.get('check'))}"
        lines += ["", "[check]", checked]
        if _is_precise(guesses):
            lines.append(f"tolerance = {TOLERANCE!r}")
    if guesses.defines or guesses.macros or guesses.flags:
        lines += ["", "[compile]"]
        if guesses.flags:
            lines.append(_line("flags", guesses.flags, "", why.get("flags")))
        if guesses.defines or guesses.macros:
            defines = _inline({**guesses.defines, **dict.fromkeys(guesses.macros, 1)})
            unsure = f"  {FILL_IN}" if guesses.macros else ""
            lines.append(f"defines = {defines}{unsure}")
    shared = guesses.shared_bytes
    if shared is None or shared.constant != 0:
        lines += ["", "[launch]"]
        text = None if shared is None else shared.text
        lines.append(_line("shared_bytes", text, '"0"', why.get("shared_bytes")))
    for argument in _arguments(kernel, guesses):
        lines += ["", "[[arguments]]", *argument]
    for array in guesses.arrays.values():
        if array.alias:
            lines += ["", "[[arguments]]", *_array(array), "passed = false"]
    # The arrays that tensor maps point at are often no parameters.
    for _ in (parameter for parameter in kernel.parameters if parameter.tensor_map):
        lines += ["", "[[arguments]]", _line("name", None, '""'), _line("type", None, '""')]
        lines += [_line("shape", None, "[]"), "passed = false"]
    return "\n".join(lines)


def _arguments(kernel: KernelSignature, guesses: Guesses) -> Iterator[list[str]]:
    accessors = find_accessors(kernel.parameters)
    of_accessors = {name for each in accessors.values() for name in each.sizes}
    for parameter in kernel.parameters:
        lines = _argument(parameter, guesses)
        if accessor := accessors.get(parameter.name):
            yield [*_accessor(accessor, guesses)]
            yield [*lines, "passed = false"]
        elif parameter.name not in of_accessors:
            yield lines


def _argument(parameter: Parameter, guesses: Guesses) -> list[str]:
    name = parameter.name
    lines = [_line("name", name or None, '""')]
    if parameter.tensor_map:
        return [*lines, _line("tensor_map", None, '{ of = "", box = [] }')]
    if name in guesses.structures:
        return [*lines, "members = [", *_members(guesses.structures[name], guesses), "]"]
    if not parameter.pointer:
        lines.append(_line("type", guesses.types.get(name), '""'))
        why = guesses.why.get(f"value.{name}")
        return [*lines, _line("value", guesses.values.get(name), '""', why)]
    array = guesses.arrays.get(name)
    if array is None:
        return [*lines, _line("type", None, '""'), _line("shape", None, "[]")]
    return _array(array)


def _accessor(accessor: Accessor, guesses: Guesses) -> Iterator[str]:
    """A structure with the array, its sizes and its strides, as PyTorch passes it."""
    sizes = [guesses.values.get(each) for each in accessor.sizes]
    yield _line("name", accessor.name, '""')
    if None in sizes:
        yield _line("members", None, "[]")
        return
    yield "members = ["
    yield f'    {{ name = "data_", of = "{accessor.array}" }},'
    strides = [
        " * ".join(f"({each})" for each in sizes[number + 1 :]) or "1"
        for number in range(len(sizes))
    ]
    for name, values in (("sizes_", sizes), ("strides_", strides)):
        written = json.dumps(values)
        yield f'    {{ name = "{name}", type = "{accessor.index}", values = {written} }},'
    yield "]"


def _members(parts: Sequence[GuessedMember], guesses: Guesses) -> Iterator[str]:
    for member in parts:
        keys: dict[str, Any] = {"name": member.name, "type": member.type, "of": member.array}
        if member.array is None and member.values is None:
            keys["value"] = guesses.values[member.key]
        keys["values"], keys["align"] = member.values, member.align
        given = (f"{key} = {json.dumps(each)}" for key, each in keys.items() if each is not None)
        why = guesses.why.get(f"value.{member.key}")
        yield f"    {{ {', '.join(given)} }},{_comment(why)}"


def _array(array: GuessedArray) -> list[str]:
    lines = [_line("name", array.name, '""')]
    lines.append(_line("type", array.element.type or None, '""'))
    lines.append(_line("shape", array.dimensions, "[]", array.why))
    if array.output:
        lines.append("output = true")
    if array.fill is not None:
        lines.append(_line("fill", array.fill, "", array.why_fill))
    if array.limit is not None:
        lines.append(_line("limit", array.limit.text, ""))
    return lines


def _is_precise(guesses: Guesses) -> bool:
    types = [
        *guesses.types.values(),
        *(a.element.type for a in guesses.arrays.values() if a.element.type),
    ]
    return all(default_tolerance(each, types) == TOLERANCE for each in types)


def _line(key: str, value: str | list[str] | None, placeholder: str, why: str | None = "") -> str:
    if value is None:
        return f"{key} = {placeholder}  {FILL_IN}"
    if isinstance(value, list):
        written = [each if each.isdecimal() else json.dumps(each) for each in value]
        return f"{key} = [{', '.join(written)}]{_comment(why)}"
    return f"{key} = {json.dumps(value)}{_comment(why)}"


def _comment(why: str | None) -> str:
    return f"  # {why}" if why else ""


def _texts(amounts: list[SizeExpr] | None) -> list[str] | None:
    return None if amounts is None else [each.text for each in amounts]


def _inline(values: dict[str, int]) -> str:
    return "{ " + ", ".join(f"{name} = {value}" for name, value in values.items()) + " }"


def guess(
    kernel: KernelSignature,
    node: Node,
    roots: Sequence[Node],
    name: str | None = None,
    defines: Sequence[str] = (),
) -> Guesses:
    """Infer the launch of one kernel.

    ``node`` is its definition, ``roots`` are the trees of its file and of included ones;
    ``name`` may have template arguments.
    """
    nodes = list(active_nodes(roots, defines))
    types = Types(nodes)
    source = SourceSymbols(nodes, types)
    hosts = find_launches(kernel, source)
    launched = ((each.template, _evidence(each)) for each in hosts)
    template, why = choose_template(kernel, source, launched, name, syntax.text(node))
    guesses = Guesses(kernel=_kernel_name(kernel, template))
    guesses.why["kernel"] = why
    types = types.with_template(template)
    host = _choose_launch(hosts, template, kernel)
    constants = find_constants(nodes)
    for key, text in template.items():
        value = parse_number(text)
        if value is not None and value.constant is not None:
            constants[key] = value.constant
    _note_arrays(kernel, types, guesses)
    given = infer_scalars(kernel, types, host, guesses) | infer_structures(kernel, types, guesses)
    used = find_usage(node, constants)
    numbers = {key: amounts.constant_size(value) for key, value in constants.items()} | given
    shared = _shared_array(used, types)
    functions = {n: f for n, f in source.functions.items() if not syntax.same(f.node, node)}
    elements = {each.name: each.element for each in guesses.arrays.values()} | shared
    aliases = {each.name: each.alias for each in guesses.arrays.values() if each.alias}
    reach = Reach(elements, numbers, types, functions, aliases)
    if (body := syntax.child(node, "body")) is not None:
        reach.follow(body)
    evidence = LaunchEvidence(kernel, used, reach, host, constants, given, shared)
    _mark_outputs(evidence, guesses)
    infer_configuration(evidence, guesses)
    guesses.guarded = find_guarded(reach.bounds)
    atoms = name_dimensions("block", guesses.block) | name_dimensions("grid", guesses.grid)
    infer_shared_bytes(evidence, atoms, guesses)
    infer_small_sizes(node, evidence.program, guesses)
    infer_windows(guesses)
    extents.LengthInference(evidence, atoms, guesses).infer()
    fit_accessors(kernel, guesses)
    extents.infer_fills(reach, guesses)
    own = {
        each.rpartition(".")[2]: guesses.values[each]
        for each in given
        if guesses.values[each].isidentifier()
    }
    recognise_operation(kernel.name, own, guesses)
    infer_sizes(evidence, guesses)
    return guesses


def _evidence(launch: HostLaunch) -> str:
    if launch.dispatched is None:
        return launch.line
    return f"{launch.line}, with {launch.dispatched.type} of {launch.dispatched.macro}"


def _kernel_name(kernel: KernelSignature, template: dict[str, str]) -> str | None:
    if not kernel.template:
        return kernel.name
    if any(each.name not in template for each in kernel.template):
        return None
    return f"{kernel.name}<{', '.join(template[each.name] for each in kernel.template)}>"


def _choose_launch(
    hosts: list[HostLaunch], template: dict[str, str], kernel: KernelSignature
) -> HostLaunch | None:
    wanted = tuple(template.get(each.name, "") for each in kernel.template)
    same = [each for each in hosts if each.template == wanted[: len(each.template)]]
    return next(iter(same or hosts), None)


def _note_arrays(kernel: KernelSignature, types: Types, guesses: Guesses) -> None:
    template_types = {each.name for each in kernel.template}
    for parameter in kernel.parameters:
        element = types.element(parameter.written[: parameter.written.rfind(parameter.name)])
        if element is None and bare_type(parameter.written).split(" ")[0] in template_types:
            element = Element("")  # its bytes are not known, and its length in elements is
        if parameter.pointer and element is not None and parameter.written.count("*") <= 1:
            guesses.arrays[parameter.name] = GuessedArray(parameter.name, element)


def _mark_outputs(evidence: LaunchEvidence, guesses: Guesses) -> None:
    kernel, reach = evidence.kernel, evidence.reach
    for parameter in kernel.parameters:
        if parameter.name not in guesses.arrays or parameter.const:
            continue
        reached = reach.arrays[parameter.name]
        guesses.arrays[parameter.name].output = (
            reached.written or reached.addressed or not reached.read
        )
    for name, array in guesses.arrays.items():
        if array.alias and not array.const:
            array.output = reach.arrays[name].written or not reach.arrays[name].read


def _shared_array(used: Usage, types: Types) -> dict[str, Element]:
    if used.dynamic_shared_type is None:
        return {}
    name, written = used.dynamic_shared_type
    element = types.element(written)
    return {} if element is None else {name: element}


_PREPARES_DATA: Final = re.compile(
    "(k_|kernel_|cuda_?|gpu_?)?(init|fill|set(?![a-z])|generate|rand|zero|clear|reset|warm|dummy"
    "|check|verify|validate|compare|print)",
    re.IGNORECASE,
)


def choose_kernel(
    declared: Sequence[KernelSignature], name: str | None, where: str, root: Node
) -> KernelSignature:
    """Return the kernel of a name or pattern; without a name the only candidate."""
    if name is None:
        return choose(candidate_kernels(declared, root), None, where)
    defined = [each for each in declared if each.defined] or list(declared)
    plain = name.split("<")[0].strip()
    if not any(plain in (each.name, _plain(each.name)) for each in declared):
        pattern = name_pattern(name)
        matching = [each for each in defined if pattern.search(each.name)]
        if len(matching) == 1:
            return matching[0]
    return choose(declared, name, where)


def candidate_kernels(declared: Sequence[KernelSignature], root: Node) -> list[KernelSignature]:
    """Return the kernels that the file launches, else all that it defines.

    Of several that are launched, those are left out that prepare or check data by their names.
    """
    defined = [each for each in declared if each.defined] or list(declared)
    launched = _launched_names(root)
    here = [each for each in defined if _plain(each.name) in launched]
    if len(here) > 1:
        here = [each for each in here if not _PREPARES_DATA.match(_plain(each.name))] or here
    return here or defined


def _plain(name: str) -> str:
    return name.rpartition("::")[2]


def _launched_names(root: Node) -> set[str]:
    launched_names = set()
    for node in syntax.walk(root):
        if node.type != "call_expression":
            continue
        called = syntax.child_text(node, "function")
        if any(each.type == "kernel_call_syntax" for each in node.children):
            launched_names.add(_plain(called.partition("<")[0]))
        elif called in LAUNCH_FUNCTIONS:
            first = next(iter(call_arguments(node)), None)
            words = syntax.text(first).replace("(void*)", "").replace("(const void*)", "")
            launched_names.add(_plain(words.strip("&() ").partition("<")[0]))
    return launched_names
