"""Files of surveys, also of those that were written before the keys of times had units."""

from __future__ import annotations

import gzip
import json

import pytest

from kernelprof.model.survey import from_bytes, to_bytes


@pytest.mark.parametrize("name", ["encoder", "short_kernels"])
def test_an_older_file_is_read_like_a_new_one(captures, name: str) -> None:
    older = gzip.decompress((captures / "surveyed" / name / "survey.json.gz").read_bytes())
    survey = from_bytes(older)
    values = json.loads(older)
    assert survey.gpus[0].kernels == values["gpus"][0]["kernels"]
    assert survey.gpus[0].idle[0].time == values["gpus"][0]["idle"][0]["time"]
    assert survey.kernels[0].median == values["kernels"][0]["median"]
    assert survey.coverage is not None
    assert survey.coverage.budget == values["coverage"]["budget"]
    assert survey.coverage.kernels == values["coverage"]["kernels"]
    assert from_bytes(to_bytes(survey)) == survey


def test_a_survey_without_a_gpu_is_refused_by_its_key(captures) -> None:
    older = gzip.decompress((captures / "surveyed" / "encoder" / "survey.json.gz").read_bytes())
    values = json.loads(older)
    del values["gpus"]
    with pytest.raises(ValueError, match="'gpus' is missing"):
        from_bytes(json.dumps(values).encode())
