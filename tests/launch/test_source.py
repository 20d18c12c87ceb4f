"""Where a specification stands: in a comment block, or in a file beside the source."""

from __future__ import annotations

import pytest
from tests.launch.conftest import KERNEL, SGEMM, commented

from kernelprof.errors import InputError
from kernelprof.launch.read_spec import load_spec
from kernelprof.launch.source import cut_block, find_block, read_source, with_block


def test_the_block_keeps_its_lines(sgemm_cu) -> None:
    block = find_block(sgemm_cu)
    assert block is not None
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
        ('// a\n// /// kernelprof\n// kernel = "k"\n', 2, "does not end"),
        ("// /// kernelprof\nint x;\n// ///\n", 2, "not a // comment"),
        ("// /// kernelprof\n// /// kernelprof\n// ///\n", 1, "does not end"),
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
