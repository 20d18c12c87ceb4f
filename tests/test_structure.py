"""What the code looks like as a whole: no circles of imports, and pieces that can be read."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import grimp

import kernelprof

PACKAGE = Path(kernelprof.__file__).parent
SOURCES = PACKAGE.parent
FILES = sorted(SOURCES.rglob("*.py"))
MOST_LINES = 700
MOST_LINES_OF_A_FUNCTION = 80
COMMANDS = PACKAGE / "cli" / "commands"


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports inside functions and those of types count as well."""
    graph = grimp.build_graph("kernelprof", "sassim", cache_dir=None)
    circles = [
        module
        for module in graph.modules
        if any(
            graph.chain_exists(importer=imported, imported=module)
            for imported in graph.find_modules_directly_imported_by(module)
        )
        and module != "kernelprof"
    ]
    assert not circles


def test_files_and_functions_can_be_read() -> None:
    long = [
        str(file.relative_to(SOURCES))
        for file in FILES
        if len(file.read_text(encoding="utf-8").splitlines()) > MOST_LINES
    ]
    assert not long
    found = []
    for file in FILES:
        for node in ast.walk(_tree(file)):
            if not isinstance(node, ast.FunctionDef):
                continue
            # The options of a command are its help, one line each and more.
            start = node.body[0].lineno if file.parent == COMMANDS else node.lineno
            if (node.end_lineno or 0) - start + 1 > MOST_LINES_OF_A_FUNCTION:
                found.append(f"{file.relative_to(SOURCES)}:{node.name}")
    assert not found


def _module_names(statement: ast.stmt) -> list[str]:
    """Names that a statement of a module assigns or defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        decorators = {getattr(each, "id", "") for each in statement.decorator_list}
        return [] if "overload" in decorators else [statement.name]
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return [
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def test_no_module_defines_a_name_twice() -> None:
    """The second definition would win silently; ruff reports only functions and classes."""
    twice = [
        f"{file.relative_to(SOURCES)}:{name}"
        for file in FILES
        for name, times in Counter(
            name for statement in _tree(file).body for name in _module_names(statement)
        ).items()
        if times > 1
    ]
    assert not twice


VOCABULARY = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))


def _defined_names(tree: ast.Module) -> set[str]:
    """Names that a module defines or assigns anywhere; published keys are left out."""
    exceptions = VOCABULARY["exceptions"]
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    keys = {
        statement.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    return names - keys.intersection(exceptions["keys"]) - set(exceptions["overridden"])


def test_names_are_those_of_the_field() -> None:
    words = VOCABULARY["words"]
    names = words | VOCABULARY["names"]
    wrong = {
        f"{file.relative_to(SOURCES)}: {name}": names.get(bare) or words[banned.pop()]
        for file in FILES
        for name in sorted({file.stem, file.parent.name} | _defined_names(_tree(file)))
        for bare in [name.strip("_").lower()]
        if (banned := words.keys() & set(bare.split("_"))) or bare in names
    }
    assert not wrong


def test_each_class_has_a_name_of_its_own() -> None:
    """A name that needs its module to be understood is no name."""
    times = Counter(
        node.name
        for file in FILES
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.ClassDef)
    )
    assert not {name for name, number in times.items() if number > 1}
    assert not VOCABULARY["classes"].keys() & {name.strip("_").lower() for name in times}


def test_no_function_has_the_name_of_its_module() -> None:
    """A command's module and its function are both named after the command."""
    alike = [
        str(file.relative_to(SOURCES))
        for file in FILES
        if file.parent != COMMANDS and file.stem != "main"
        for statement in _tree(file).body
        if isinstance(statement, ast.FunctionDef) and statement.name == file.stem
    ]
    assert not alike
