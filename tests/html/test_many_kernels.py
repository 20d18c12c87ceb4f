"""A capture of a thousand kernels: written fast, and the page stays usable."""

from __future__ import annotations

import math
import resource
from typing import TYPE_CHECKING

import pytest
from tests.html.support import repeated, undrawn_charts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser, Page
    from tests.conftest import RunCli
    from tests.html.conftest import OpenPage

pytestmark = pytest.mark.slow("a thousand kernels are written, and opened in a browser")

KERNELS = 1000
RENDER_SECONDS = 10
STEP_SECONDS = 1
LOAD_SECONDS = 1


@pytest.fixture(scope="module")
def thousand(run_process: RunCli, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The report, and the least processor time of up to three writes.

    A machine with other work takes up to half more time for the same instructions, never less.
    """
    folder = tmp_path_factory.mktemp("thousand")
    names = [f"kernel_{number}(const float *, const float *, int)" for number in range(KERNELS)]
    capture = repeated(names, folder / "thousand.csv")
    least = math.inf
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = run_process("report", str(capture), "-o", str(folder / "report.html"))
        assert run.returncode in {0, 3}, run.stderr
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
        least = min(least, user + system)
        if least < RENDER_SECONDS:
            break
    return folder / "report.html", least


def shown(page: Page) -> int:
    return page.locator("#kernels tbody tr").filter(visible=True).count()


class Clock:
    """The processor time of a page's thread: what a step costs, however busy the machine is."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def now(self) -> float:
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    def seconds_of(self, step: Callable[[], object]) -> float:
        """From a step until the frame that shows its result is painted."""
        started = self.now()
        step()
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
        )
        return self.now() - started


def test_it_is_written_in_time_and_not_too_large(thousand: tuple[Path, float]):
    path, seconds = thousand
    assert seconds < RENDER_SECONDS
    assert path.stat().st_size < 5_000_000


ANSWER = """() => new Promise((done) => {
    const link = document.querySelector("#kernels tbody a");
    const card = document.getElementById(link.hash.slice(1));
    link.click();
    const look = () => {
        if (card.querySelector(".hero")?.checkVisibility()) {
            const [{domContentLoadedEventEnd}] = performance.getEntriesByType("navigation");
            done([domContentLoadedEventEnd / 1000, performance.now() / 1000]);
        } else requestAnimationFrame(look);
    };
    look();
})"""
"""Seconds since the navigation began until the page is parsed, and until a click on a kernel has
shown its card."""


PLAIN = f"<table>{('<tr>' + '<td>kernel</td><td>17.65 ms</td>' * 4 + '</tr>') * 3000}</table>"
PLAIN_SECONDS = 0.47
"""Processor time of that table, without any style, where loads of the report take 0.73 s."""


def test_it_answers_within_a_second_of_being_opened(thousand: tuple[Path, float], browser: Browser):
    """The median of three loads, in processor time: beside other tests a load takes any time.

    On a slower machine, as much more as a plain table takes there.
    """
    took: list[float] = []
    plain: list[float] = []
    for _ in range(3):
        page = browser.new_page()
        clock = Clock(page)
        page.set_content(PLAIN)
        page.evaluate("document.body.offsetHeight")
        plain.append(clock.now())
        page.close()
        page = browser.new_page()
        clock = Clock(page)
        page.goto(thousand[0].resolve().as_uri())
        parsed, answered = page.evaluate(ANSWER)
        assert 0 < parsed < answered
        took.append(clock.now())
        page.close()
    slower = max(1.0, sorted(plain)[1] / PLAIN_SECONDS)
    assert 0.05 < sorted(took)[1] < LOAD_SECONDS * slower, (took, plain)


def test_it_opens_sorts_and_filters_at_once(thousand: tuple[Path, float], open_page: OpenPage):
    page = open_page(thousand[0])
    assert shown(page) == KERNELS
    clock = Clock(page)
    for column in range(3):
        assert clock.seconds_of(page.locator("#kernels th button").nth(column).click) < STEP_SECONDS
    assert shown(page) == KERNELS
    assert clock.seconds_of(lambda: page.fill("#kernels input.filter", "kernel_77")) < STEP_SECONDS
    assert shown(page) == 11
    assert (
        clock.seconds_of(page.locator("#kernels a").filter(visible=True).first.click) < STEP_SECONDS
    )
    assert undrawn_charts(page) == []
    assert clock.seconds_of(lambda: page.fill("#kernels input.filter", "")) < STEP_SECONDS
    assert shown(page) == KERNELS
