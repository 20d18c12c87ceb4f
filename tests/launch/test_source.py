"""Where a specification stands: in a comment block, or in a file beside the source."""

from __future__ import annotations

import hashlib

import pytest
from tests.launch.conftest import KERNEL, SGEMM, commented

from kernelprof.errors import InputError
from kernelprof.launch.source import (
    cut_block,
    find_block,
    include_hashes,
    launch_hashes,
    local_includes,
    read_source,
    with_block,
)
from kernelprof.launch.specification.reader import load_spec


def test_the_block_keeps_its_lines(sgemm_cu) -> None:
    block = find_block(sgemm_cu)
    assert block.text + "\n" == SGEMM
    assert block.where(1) == f"{sgemm_cu}:3"
    assert sgemm_cu.read_text().splitlines()[2] == '// kernel = "sgemm"'


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_do_not_matter(tmp_path, newline, mark) -> None:
    path = tmp_path / "k.cu"
    text = mark + (commented(SGEMM) + KERNEL).replace("\n", newline)
    path.write_bytes(text.encode())
    assert load_spec(path).kernel == "sgemm"
    block = cut_block(read_source(path), path)
    assert with_block(read_source(path), SGEMM, block) == text


def test_a_file_beside_the_source(tmp_path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "k.toml").write_text(SGEMM)
    assert load_spec(tmp_path / "k.cu").path == tmp_path / "k.toml"
    assert load_spec(tmp_path / "k.toml") == load_spec(tmp_path / "k.cu")


def test_two_specifications_are_one_too_many(sgemm_cu) -> None:
    sgemm_cu.with_suffix(".toml").write_text(SGEMM)
    with pytest.raises(InputError, match="two specifications"):
        find_block(sgemm_cu)


def test_none_at_all_is_answered_with_init(tmp_path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(KERNEL)
    assert find_block(path) is None
    with pytest.raises(InputError) as caught:
        load_spec(path)
    assert "kernelprof init" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('// a\n// /// kernelprof\n// kernel = "k"\n', 2, "has no end"),
        ("// /// kernelprof\nint x;\n// ///\n", 2, "not a // comment"),
        ("// /// kernelprof\n// /// kernelprof\n// ///\n", 1, "has no end"),
        ("// /// kernelprof\n// ///\n// /// kernelprof\n// ///\n", 3, "second specification"),
    ],
)
def test_a_broken_block_is_pointed_at(tmp_path, text, line, said) -> None:
    path = tmp_path / "k.cu"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        find_block(path)
    assert caught.value.where == f"{path}:{line}"


def test_files_that_cannot_be_read(tmp_path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_source(tmp_path / "none.cu")
    with pytest.raises(InputError, match="cannot be read"):
        read_source(tmp_path)
    latin = tmp_path / "latin.cu"
    latin.write_bytes(b"// a\n// \xe9\n")
    with pytest.raises(InputError, match="UTF-8") as caught:
        read_source(latin)
    assert caught.value.where == f"{latin}:2"


def test_a_block_is_put_on_top_and_in_the_place_of_the_old_one(tmp_path) -> None:
    path = tmp_path / "k.cu"
    assert with_block(KERNEL, 'kernel = "a"', None) == commented('kernel = "a"') + KERNEL
    source = "// before\n" + commented(SGEMM) + KERNEL
    changed = with_block(source, 'kernel = "b"', cut_block(source, path))
    assert changed == "// before\n" + commented('kernel = "b"') + KERNEL


def _hashes(path):
    return launch_hashes(path, load_spec(path))


def test_the_source_counts_to_the_byte(sgemm_cu) -> None:
    before = _hashes(sgemm_cu)
    assert before.source == hashlib.sha256(sgemm_cu.read_bytes()).hexdigest()
    sgemm_cu.write_text(sgemm_cu.read_text() + "\n")
    after = _hashes(sgemm_cu)
    assert after.source != before.source
    assert after.specification == before.specification


def test_the_layout_of_the_specification_does_not_count(sgemm_cu) -> None:
    before = _hashes(sgemm_cu)
    text = sgemm_cu.read_text()
    text = text.replace('"2 * M * N * K"', '"2*M*N * (K)"  # comment')
    sgemm_cu.write_text(text.replace("// M = 4096\n// N = 2048", "// N = 2_048\n// M = 4096"))
    after = _hashes(sgemm_cu)
    assert after.specification == before.specification
    assert after.compile == before.compile


def test_what_it_says_counts_and_the_digest_is_one_of_all(sgemm_cu) -> None:
    spec = load_spec(sgemm_cu)
    before = launch_hashes(sgemm_cu, spec)
    assert launch_hashes(sgemm_cu, spec).digest() == before.digest()
    size, tile = (spec.changed(sizes={"N": 64}), spec.changed(defines={"TILE": 8}))
    for changed, is_compiled_alike in ((size, True), (tile, False)):
        after = launch_hashes(sgemm_cu, changed)
        assert after.specification != before.specification
        assert (after.compile == before.compile) is is_compiled_alike
        assert after.digest() != before.digest()


def test_files_that_are_included_count(sgemm_cu) -> None:
    folder = sgemm_cu.parent
    (folder / "inc").mkdir()
    (folder / "inc" / "a.cuh").write_text('#include "b.cuh"\n#include "../sgemm.cu"\n')
    (folder / "inc" / "b.cuh").write_text("int b;\n")
    source = '#include "inc/a.cuh"\n#include "none.cuh"\n#include <cuda.h>\n'
    sgemm_cu.write_text(source + sgemm_cu.read_text())
    found, unknown = local_includes(sgemm_cu)
    assert list(found) == ["inc/a.cuh", "inc/b.cuh"]
    assert unknown == frozenset()
    before = _hashes(sgemm_cu)
    (folder / "inc" / "b.cuh").write_text("int c;\n")
    assert _hashes(sgemm_cu).includes != before.includes
    assert _hashes(sgemm_cu).source == before.source


def test_the_module_that_fills_an_argument_counts(sgemm_cu) -> None:
    module = sgemm_cu.parent / "made.py"
    module.write_text("def rows(shape):\n    return 1\n")
    text = sgemm_cu.read_text()
    sgemm_cu.write_text(text.replace('// name = "B"\n', '// name = "B"\n// fill = "made:rows"\n'))
    before = _hashes(sgemm_cu)
    assert [name for name, _ in before.includes] == ["fill of B by made"]
    module.write_text("def rows(shape):\n    return 2\n")
    assert _hashes(sgemm_cu).includes != before.includes


def test_digests_of_included_files_stand_by_name(tmp_path) -> None:
    (tmp_path / "src" / "inc").mkdir(parents=True)
    texts = {"src/inc/b.cuh": b"int b;\r\n", "src/a.cuh": b'#include "inc/b.cuh"\n', "c.cuh": b"x"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    source = tmp_path / "src" / "k.cu"
    source.write_text(
        '#include "a.cuh"\n#include "../c.cuh"\n#include "a.cuh"\n#include "no.cuh"\n'
    )
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}
    assert include_hashes(source) == (
        ("../c.cuh", digests["c.cuh"]),
        ("a.cuh", digests["src/a.cuh"]),
        ("inc/b.cuh", digests["src/inc/b.cuh"]),
    )
    assert include_hashes(tmp_path / "c.cuh") == ()


def test_what_is_included_in_brackets_or_by_a_folder_of_a_flag_counts(sgemm_cu) -> None:
    folder = sgemm_cu.parent
    (folder / "lib").mkdir()
    (folder / "a.cuh").write_text("int a;\n")
    (folder / "lib" / "b.cuh").write_text("int b;\n")
    sgemm_cu.write_text(
        "# include <a.cuh>\n#include <b.cuh>\n#include <cuda.h>\n" + sgemm_cu.read_text()
    )
    found, unknown = local_includes(sgemm_cu, [f"-I {folder}/lib"])
    assert sorted(found) == ["a.cuh", "lib/b.cuh"]
    assert not unknown


def test_two_files_of_one_name_are_two(tmp_path) -> None:
    (tmp_path / "k").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "k" / "b.h").write_text("int k;\n")
    (tmp_path / "lib" / "b.h").write_text("int lib;\n")
    (tmp_path / "lib" / "a.h").write_text('#include "b.h"\n')
    source = tmp_path / "k" / "f.cu"
    source.write_text('#include "../lib/a.h"\n#include "b.h"\n')
    names = [name for name, _ in include_hashes(source)]
    assert names == ["../lib/a.h", "../lib/b.h", "b.h"]


def test_an_include_that_a_macro_names_has_no_digest(tmp_path) -> None:
    source = tmp_path / "f.cu"
    source.write_text('#define H "h.cuh"\n#include H\n')
    assert include_hashes(source) == (("#include H", ""),)


def test_what_the_flags_include_counts(sgemm_cu) -> None:
    """By ``-isystem`` and ``-include`` as well, and several folders of one flag."""
    folder = sgemm_cu.parent
    for name in ("one", "two", "sys"):
        (folder / name).mkdir()
        (folder / name / f"{name}.cuh").write_text(f"int {name};\n")
    (folder / "pre.cuh").write_text("#include <two.cuh>\n")
    flags = '["--use_fast_math", "-Ione,two", "-isystem=sys", "-include=pre.cuh"]'
    text = sgemm_cu.read_text().replace('["--use_fast_math"]', flags)
    sgemm_cu.write_text("#include <one.cuh>\n#include <sys.cuh>\n" + text)
    before = _hashes(sgemm_cu)
    names = [name for name, _ in before.includes]
    assert names == ["one/one.cuh", "pre.cuh", "sys/sys.cuh", "two/two.cuh"]
    (folder / "sys" / "sys.cuh").write_text("int other;\n")
    assert _hashes(sgemm_cu).includes != before.includes


def test_the_file_that_is_compiled_is_the_one_that_counts(tmp_path) -> None:
    """In quotes beside the source at first; in brackets, the folders of the flags at first."""
    for name in ("home", "sub"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.h").write_text(f"int {name};\n")
    source = tmp_path / "home" / "k.cu"
    for written, found in (('"a.h"', "a.h"), ("<a.h>", "../sub/a.h")):
        source.write_text(f"#include {written}\n")
        assert list(local_includes(source, [f"-I {tmp_path}/sub"])[0]) == [found]
