"""What the code looks like as a whole: no circles of imports, and pieces that can be read."""

from __future__ import annotations

import ast
from pathlib import Path

import grimp

import kernelprof

PACKAGE = Path(kernelprof.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 80
COMMANDS = PACKAGE / "cli" / "commands"


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports inside functions and those of types count as well."""
    graph = grimp.build_graph("kernelprof", cache_dir=None)
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
        str(file.relative_to(PACKAGE))
        for file in FILES
        if len(file.read_text(encoding="utf-8").splitlines()) > MOST_LINES
    ]
    assert not long
    found = []
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            # The options of a command are its help, one line each and more.
            start = node.body[0].lineno if file.parent == COMMANDS else node.lineno
            if (node.end_lineno or 0) - start + 1 > MOST_LINES_OF_A_FUNCTION:
                found.append(f"{file.relative_to(PACKAGE)}:{node.name}")
    assert not found
