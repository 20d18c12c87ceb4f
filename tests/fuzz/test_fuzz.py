"""A short fuzz run, the same each time; ``make fuzz`` is the long one."""

from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks, and limits what a process takes")


@pytest.mark.parametrize("number", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.slow("processes of their own")
def test_no_example_ends_with_a_traceback_or_without_end(number: int) -> None:
    from tests.fuzz.try_examples import Tried, try_some

    tried = Tried()
    try_some(tried, number, 20)
    assert tried.kinds.total() == 20
    assert not tried.wrong, "\n\n".join(tried.wrong)
