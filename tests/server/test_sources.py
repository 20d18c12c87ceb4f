"""What a source may have compiled where nobody allowed to run programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelprof.errors import InputError, UsageError
from kernelprof.server.folders import Folders
from kernelprof.server.sources import check_source

ROOT = Path(__file__).parents[2]
SOURCE = (ROOT / "examples" / "matvec.cu").read_text("utf-8")
LADDERS = sorted((ROOT / "cuda" / "ladder").rglob("*.cu"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "near.cuh").write_text("#pragma once\n", encoding="utf-8")
    (tmp_path / "secret.cuh").write_text("secret\n", encoding="utf-8")
    return inside


def checked(place: Path, text: str) -> None:
    source = place / "k.cu"
    source.write_text(text, encoding="utf-8")
    check_source(source, Folders([place]))


def test_plain_sources_pass(place: Path) -> None:
    checked(place, SOURCE)
    checked(
        place, f'{SOURCE}\n#include "near.cuh"\n#include <cuda_fp16.h>\n#include <cuda/std/array>\n'
    )


@pytest.mark.parametrize("source", LADDERS, ids=lambda path: path.stem)
def test_those_of_the_ladders_pass(source: Path) -> None:
    check_source(source, Folders([ROOT / "examples"]))


@pytest.mark.parametrize(
    "line",
    [
        '#include "../secret.cuh"',
        "#include <../secret.cuh>",
        '#include "/etc/passwd"',
        "#include </etc/passwd>",
        '#define F "../secret.cuh"\n#include F',
        '#inc\\\nlude "../secret.cuh"',
        '#inc\\ \nlude "../secret.cuh"',
        '%:include "../secret.cuh"',
        '??=include "../secret.cuh"',
        '# /* a\nb */ include "../secret.cuh"',
        '#include /* */ "../secret.cuh"',
        '#include_next "near.cuh"',
        '#import "near.cuh"',
        'const char secret[] = {\n#embed "near.cuh"\n};',
        '#if __has_include("/etc/shadow")\n#endif',
        'const char* s = "/*";\n#include "../secret.cuh"\nconst char* t = "*/";',
        "#include MACRO(x)",
        'import "/etc/passwd";',
        'import "near.cuh";',
        "import </etc/passwd>;",
        'export import "/etc/passwd";',
        'int a; import/* ;\n */"/etc/passwd" ;',
        'import\\\n "/etc/passwd";',
        '// a\\ \nimport "/etc/passwd";',
        '// a\\ \nimport\\\n"/etc/passwd";',
        '#define F "/etc/passwd"\nimport F;',
        '#define E\nimport E "/etc/passwd";',
        "#define F /etc/passwd>;\nimport < F",
        "import a.module;",
        '#define P(a, b) a##b\n#if P(__has_, include)("/etc/passwd")\n#endif',
        '#include <cuda/std/array>\n#if _CCCL_PP_CAT(_, _has_include)("/etc/passwd")\n#endif',
    ],
)
def test_includes_that_lead_elsewhere_or_nobody_knows_where_are_refused(
    place: Path, line: str
) -> None:
    with pytest.raises((UsageError, InputError)) as caught:
        checked(place, f"{SOURCE}\n{line}\n")
    assert "secret\n" not in caught.value.what
    assert "{" not in (caught.value.hint or "")


def test_so_are_they_in_a_file_that_is_included(place: Path) -> None:
    (place / "near.cuh").write_text('#include "../secret.cuh"\n', encoding="utf-8")
    with pytest.raises((UsageError, InputError)):
        checked(place, f'{SOURCE}\n#include "near.cuh"\n')


def test_links_and_folders_that_lead_out_are_refused(place: Path) -> None:
    (place / "link.cuh").symlink_to(place.parent / "secret.cuh")
    with pytest.raises(InputError, match="outside the folders that the server may read"):
        checked(place, f'{SOURCE}\n#include "link.cuh"\n')
    text = SOURCE.replace("// ///\n", '//\n// [compile]\n// flags = ["-I.."]\n// ///\n', 1)
    with pytest.raises(InputError, match="outside the folders that the server may read"):
        checked(place, f"{text}\n#include <secret.cuh>\n")
    (place / "k.cu").unlink()
    bare = SOURCE[SOURCE.index("// ///\n") + 7 :]
    (place.parent / "k.toml").write_text("secret", encoding="utf-8")
    (place / "k.toml").symlink_to(place.parent / "k.toml")
    with pytest.raises(InputError, match="outside the folders that the server may read"):
        checked(place, bare)


def test_python_is_not_run(place: Path) -> None:
    mark = place / "ran"
    (place / "ref.py").write_text(f"open({str(mark)!r}, 'w')\ndef f(A, x): return A @ x\n", "utf-8")
    text = SOURCE.replace('reference = "gemv"', 'reference = "ref:f"')
    assert text != SOURCE
    with pytest.raises(UsageError, match="Python function") as caught:
        checked(place, text)
    assert "--allow-run" in (caught.value.hint or "")
    filled = SOURCE.replace('name = "A"\n', 'name = "A"\n// fill = "ref:g"\n')
    assert filled != SOURCE
    with pytest.raises((UsageError, InputError)):
        checked(place, filled)
    assert not mark.exists()


def test_an_import_is_refused_in_the_same_words_whether_the_file_is_there_or_not(
    place: Path,
) -> None:
    text = SOURCE.replace("// ///\n", '//\n// [compile]\n// flags = ["-std=c++20"]\n// ///\n', 1)
    assert text != SOURCE
    checked(place, text)
    told = set()
    for name in ("secret.cuh", "missing.cuh"):
        with pytest.raises(UsageError) as caught:
            checked(place, f'{text}\nimport "{place.parent / name}";\n')
        told.add((caught.value.what, caught.value.where, caught.value.hint))
    ((what, _, _),) = told
    assert "its includes or imports cannot be determined before compilation" in what


def test_words_of_comments_are_no_imports(place: Path) -> None:
    checked(
        place, f"{SOURCE}\n// We import the weights.\n// and import_all. An import\nint _ = 1;\n"
    )


@pytest.mark.parametrize(
    ("reference", "line"),
    [
        ("ref.cu", '#include "/etc/passwd"'),
        ("ref.cu", '#include "../secret.cuh"'),
        ("ref.cu", '#embed "/etc/passwd"'),
        ("ref.cu", '#if __has_include("/etc/passwd")\n#endif'),
        ("ref.cu", "flags"),
        ("ref.cu", "python"),
        ("link.cu", ""),
        ("../out.cu", ""),
    ],
)
def test_a_reference_version_is_checked_as_well(place: Path, reference: str, line: str) -> None:
    text = SOURCE
    if line == "flags":
        more = '//\n// [compile]\n// flags = ["-include=/etc/passwd"]\n// ///\n'
        text = SOURCE.replace("// ///\n", more, 1)
    elif line == "python":
        text = SOURCE.replace('reference = "gemv"', 'reference = "ref:f"')
    (place.parent / "out.cu").write_text(SOURCE, encoding="utf-8")
    (place / "link.cu").symlink_to(place.parent / "out.cu")
    (place / "ref.cu").write_text(SOURCE, encoding="utf-8")
    versions = SOURCE.replace('reference = "gemv"', f'reference = "{reference}"')
    if reference == "ref.cu":
        checked(place, versions)
        extra = line if line.startswith("#") else ""
        (place / "ref.cu").write_text(f"{text}\n{extra}\n", encoding="utf-8")
    with pytest.raises((UsageError, InputError)):
        checked(place, versions)


def test_a_source_without_a_specification_passes_by_the_same_rules(place: Path) -> None:
    bare = SOURCE[SOURCE.index("// ///\n") + 7 :]
    checked(place, bare)
    with pytest.raises((UsageError, InputError)):
        checked(place, f'{bare}\n#include "../secret.cuh"\n')
