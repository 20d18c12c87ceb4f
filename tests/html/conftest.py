"""A headless browser that opens reports from disk and notes whatever they should not do.

Where Chromium, Playwright or axe-core is missing the tests are skipped with the reason; with
``KERNELPROF_BROWSER_TESTS=required`` they fail instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from tests.html.support import CAPTURES, FULL, repeated

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request
    from tests.conftest import RunCli

_HERE = Path(__file__).parent
INCONCLUSIVE = CAPTURES / "pycuda_two_kernels.seven-metrics.raw.csv"
SIGNATURE = "(const float *, const float *, float *, int, int, int)"
HOSTILE = [
    "<script>document.title = 'gone'</script>",
    "</script><script>document.title = 'gone'</script>",
    "<img src=x onerror=\"document.title = 'gone'\">",
    "\"><b id=injected onmouseover='alert(1)'>",
    "<!--<script>",
    "{{ 7 * 7 }}${7 * 7}",
    "k\u202egnp.exe",
    "</title></style></textarea>",
]
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = 390
DESKTOP = 1280


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` opens no browser: a page takes seconds, and `make browser-test` has them all."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.slow("opens a browser"))


def missing(what: str) -> NoReturn:
    if os.environ.get("KERNELPROF_BROWSER_TESTS") == "required":
        pytest.fail(f"required, and not here: {what}")
    pytest.skip(what)


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of the accessibility checker."""
    if not AXE.exists():
        missing("axe-core: npm ci in web/ brings it")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright: the extra 'browser' brings it")
    program = os.environ.get("KERNELPROF_CHROMIUM") or shutil.which("chromium")
    if program is None:
        missing("Chromium: apt-get install chromium brings it")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


@dataclass
class Opened:
    """A page in the browser, and what it did while it was open."""

    page: Page
    address: str
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def note_request(self, request: Request) -> None:
        address = request.url.partition("#")[0]
        if address != self.address and not address.startswith(("data:", "blob:")):
            self.requests.append(address)

    def check(self) -> None:
        assert not self.requests, "these left the file"
        errors = list(dict.fromkeys(self.errors))
        assert not errors, "in the console"


OpenPage = Callable[..., "Page"]


def _open(
    browser: Browser, path: Path, *, width: int = DESKTOP, dark: bool = False, fragment: str = ""
) -> Opened:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        accept_downloads=True,
    )
    context.set_default_timeout(20_000)
    page = context.new_page()
    noted = Opened(page, path.resolve().as_uri())
    page.on("request", noted.note_request)
    page.on("pageerror", lambda error: noted.errors.append(f"page error: {error}"))
    page.on(
        "console",
        lambda message: (
            noted.errors.append(f"{message.type}: {message.text}")
            if message.type in {"error", "warning"}
            else None
        ),
    )
    page.on("dialog", lambda dialog: (noted.errors.append("a dialog"), dialog.dismiss()))
    try:
        page.goto(noted.address + fragment, wait_until="load")
    except BaseException:
        context.close()
        raise
    return noted


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Open a file; afterwards no request may have left it, and no error been written."""
    opened: list[Opened] = []

    def open_file(path: Path, **how: Any) -> Page:
        opened.append(_open(browser, path, **how))
        return opened[-1].page

    yield open_file
    for noted in opened:
        noted.page.context.close()
    for noted in opened:
        noted.check()


@pytest.fixture(scope="module")
def _looked_at() -> Iterator[dict[tuple[object, ...], Opened]]:
    opened: dict[tuple[object, ...], Opened] = {}
    yield opened
    for noted in opened.values():
        noted.page.context.close()


@pytest.fixture
def look_at(browser: Browser, _looked_at: dict[tuple[object, ...], Opened]) -> Iterator[OpenPage]:
    """A file that is open already where another test looked at it: for tests that touch nothing."""

    def look(path: Path, *, width: int = DESKTOP, dark: bool = False) -> Page:
        key = (path, width, dark)
        if key not in _looked_at:
            _looked_at[key] = _open(browser, path, width=width, dark=dark)
        return _looked_at[key].page

    yield look
    for noted in _looked_at.values():
        noted.check()


AxeViolations = Callable[..., list[str]]


@pytest.fixture(scope="session")
def axe_violations(axe: str) -> AxeViolations:
    """What the accessibility checker finds: rule, place and reason of each violation."""

    def run(page: Page, within: str | None = None, rules: Sequence[str] = ()) -> list[str]:
        if not page.evaluate("'axe' in window"):
            page.evaluate(axe)
        found: list[dict[str, Any]] = page.evaluate(
            """async ([within, rules]) => {
                const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
                              "best-practice"];
                const options = {
                    runOnly: rules.length ? {type: "rule", values: rules}
                        : {type: "tag", values: tags},
                    resultTypes: ["violations"],
                    preload: false,
                };
                return (await axe.run(within ?? document, options)).violations;
            }""",
            [within, list(rules)],
        )
        return [
            f"{violation['id']}: {node['target']}: {node['failureSummary']}"
            for violation in found
            for node in violation["nodes"][:3]
        ]

    return run


Report = Callable[[Path], Path]


@pytest.fixture(scope="session")
def report(run_cli: RunCli, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Write a capture's report as a user does; each capture once."""
    written: dict[Path, Path] = {}

    def write(capture: Path) -> Path:
        if capture not in written:
            target = tmp_path_factory.mktemp("report") / "report.html"
            run = run_cli("report", str(capture), "-o", str(target))
            assert run.returncode in {0, 3}, run.stderr
            written[capture] = target
        return written[capture]

    return write


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@pytest.fixture(scope="session")
def single(folder: Path, report: Report) -> Path:
    return report(repeated([f"gemm_bad{SIGNATURE}"], folder / "single.csv"))


@pytest.fixture(scope="session")
def four(report: Report) -> Path:
    return report(FULL)


@pytest.fixture(scope="session")
def unsettled(report: Report) -> Path:
    return report(INCONCLUSIVE)


@pytest.fixture(scope="session")
def hostile(folder: Path, report: Report) -> Path:
    return report(repeated(HOSTILE, folder / "<img src=x onerror=alert(1)>.csv"))


@pytest.fixture(scope="session")
def many(folder: Path, report: Report) -> Path:
    names = [f"kernel_{number}{SIGNATURE}" for number in range(200)]
    return report(repeated(names, folder / "many.csv"))
