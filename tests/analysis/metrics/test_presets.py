"""Reading preset files: mistakes are refused with file and key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.analysis.metrics.catalogue import load_presets
from kernelprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.analysis.metrics.catalogue import Metric

HEAD = 'title = "T"\ndescription = "D."\n'
METRIC = '[[metric]]\nname = "a"\nncu = ["sm__a.sum"]\nunit = "%"\nwhy = "W."\n'


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


def test_a_preset_and_a_selection_from_it(tmp_path: Path) -> None:
    other = METRIC.replace('"a"', '"b"').replace("sm__a", "sm__b")
    write(
        tmp_path,
        theme=HEAD + METRIC + '[metric.architectures]\ngh100 = ["sm__h.sum"]\ntu102 = []\n',
        more=HEAD + other,
        some=HEAD + 'metrics = ["b"]\n',
        both=HEAD + 'include = ["theme"]\nmetrics = ["b"]\n',
    )
    presets = load_presets(tmp_path)
    (a,) = presets["theme"].metrics
    assert (a.name, a.preset, a.unit, a.why, a.section) == ("a", "theme", "%", "W.", None)
    assert a.ncu_names(None) == ("sm__a.sum",)
    assert a.ncu_names((9, 0)) == ("sm__h.sum",)
    assert a.ncu_names((7, 5)) == ()
    assert [m.name for m in presets["some"].metrics] == ["b"]
    assert [m.name for m in presets["both"].metrics] == ["a", "b"]
    assert presets["both"].metrics[0] is a


def test_samples_are_asked_for_by_a_preset_itself(tmp_path: Path) -> None:
    write(
        tmp_path,
        theme=HEAD + METRIC,
        with_samples=HEAD + 'samples = true\ninclude = ["theme"]\n',
        without=HEAD + 'samples = false\ninclude = ["theme"]\n',
    )
    presets = load_presets(tmp_path)
    assert {name: each.samples for name, each in presets.items()} == {
        "theme": False,
        "with_samples": True,
        "without": False,
    }
    names = [each.name for each in presets["with_samples"].metrics]
    assert names == ["a"]


def _architectures(folder: Path, text: str) -> Metric:
    (metric,) = load_presets(write(folder, p=HEAD + METRIC + text))["p"].metrics
    return metric


def test_the_compute_capability_goes_before_the_chip(tmp_path: Path) -> None:
    text = '[metric.architectures]\nga102 = ["sm__h.sum"]\n"8.7" = []\n"11.0" = ["sm__t.sum"]\n'
    metric = _architectures(tmp_path, text)
    assert metric.ncu_names((8, 6)) == ("sm__h.sum",)
    assert metric.ncu_names((8, 7)) == ()
    assert metric.ncu_names((11, 0)) == ("sm__t.sum",)
    assert metric.ncu_names((8, 0)) == metric.ncu_names((12, 3)) == ("sm__a.sum",)
    assert not metric.is_zero_on((8, 7))


def test_only_on(tmp_path: Path) -> None:
    metric = _architectures(tmp_path, 'only_on = ["gh100", "11.0"]\n')
    for capability in ((9, 0), (11, 0), (7, 0), None):
        assert metric.ncu_names(capability) == ("sm__a.sum",)
        assert not metric.is_zero_on(capability)
    assert metric.ncu_names((10, 0)) == ()
    assert metric.is_zero_on((10, 0))


def test_not_on(tmp_path: Path) -> None:
    metric = _architectures(tmp_path, 'not_on = ["gb100", "11.0"]\n')
    for capability in ((9, 0), (7, 0), None):
        assert metric.ncu_names(capability) == ("sm__a.sum",)
        assert not metric.is_zero_on(capability)
    for capability in ((10, 0), (10, 3), (11, 0)):
        assert metric.ncu_names(capability) == ()
        assert metric.is_zero_on(capability)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("nonsense", "", "not valid TOML"),
        ("\xff", "", "not valid TOML"),
        ('description = "D"\n' + METRIC, "", "missing required field `title`"),
        ('title = " "\ndescription = "D"\n' + METRIC, "title", "Expected `str` matching"),
        (HEAD, "", "the preset has no metrics: add [[metric]] tables"),
        (HEAD + "colour = 1\n" + METRIC, "", "unknown field `colour`"),
        (HEAD + "samples = 1\n" + METRIC, "samples", "Expected `bool`, got `int`"),
        (HEAD + METRIC + "colour = 1\n", "metric[0]", "unknown field `colour`"),
        (HEAD + 'metric = "a"\n', "metric", "Expected `array`, got `str`"),
        (HEAD + METRIC.replace('"a"', '"A b"'), "metric[0].name", "Expected `str` matching"),
        (HEAD + METRIC.replace('"a"', "1"), "metric[0].name", "Expected `str`, got `int`"),
        (HEAD + METRIC.replace('["sm__a.sum"]', "[]"), "metric[0].ncu", "length >= 1"),
        (HEAD + METRIC.replace('["sm__a.sum"]', '"x"'), "metric[0].ncu", "Expected `array`"),
        (HEAD + METRIC.replace("sm__a.sum", "a,b"), "metric[0].ncu[0]", "Expected `str` matching"),
        (
            HEAD + METRIC.replace('["sm__a.sum"]', '["x", "x"]'),
            "metric[0]",
            "is listed twice in x, x",
        ),
        (HEAD + METRIC.replace("unit", "units"), "metric[0]", "unknown field `units`"),
        (HEAD + METRIC + "architectures = 1\n", "metric[0].architectures", "Expected `object`"),
        (
            HEAD + METRIC + '[metric.architectures]\ngh200 = ["x"]\n',
            "metric[0].architectures",
            "Expected `str` matching regex '^(tu102|",
        ),
        (
            HEAD + METRIC + '[metric.architectures]\ngh100 = "x"\n',
            "metric[0].architectures[...]",
            "Expected `array`, got `str`",
        ),
        (HEAD + METRIC + 'only_on = ["h100"]\n', "metric[0].only_on[0]", "Expected `str` matching"),
        (
            HEAD + METRIC + 'only_on = ["gh100"]\nnot_on = ["tu102"]\n',
            "metric[0]",
            "are mutually exclusive",
        ),
        (HEAD + METRIC + 'section = "a b"\n', "metric[0].section", "Expected `str` matching"),
        (HEAD + METRIC + METRIC, "", "'a' is already defined in p.toml"),
        (HEAD + 'metrics = ["b"]\n' + METRIC, "metrics[0]", "no preset defines the metric 'b'"),
        (
            HEAD + 'include = ["q"]\n',
            "include[0]",
            "'q': no such preset, or it has its own `include`",
        ),
        (
            HEAD + 'include = ["p"]\n',
            "include[0]",
            "'p': no such preset, or it has its own `include`",
        ),
    ],
)
def test_a_mistake_is_refused_with_file_and_key(
    tmp_path: Path, text: str, place: str, what: str
) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        load_presets(tmp_path)
    assert what in caught.value.what
    assert caught.value.what.startswith("preset p")
    assert caught.value.where == (f"{path}: {place}" if place else str(path))


def test_one_name_in_two_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path, one=HEAD + METRIC, two=HEAD + METRIC)
    with pytest.raises(InputError) as caught:
        load_presets(tmp_path)
    assert caught.value.what == "preset two: metric 'a' is already defined in one.toml"
