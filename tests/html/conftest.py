"""A headless browser that opens reports from disk and notes whatever they should not do.

Where Chromium, Playwright or axe-core is missing the tests are skipped with the reason; with
``KERNELPROF_BROWSER_TESTS=required`` they fail instead.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from benchmarks.corpus.document import document as corpus_document
from msgspec import structs
from tests.benchmarks.corpus.samples import card
from tests.comparison.history import samples
from tests.comparison.history.samples import eventful, moment, with_kernels
from tests.html.support import CAPTURES, CORPUS_HALVES, FULL, RESULTS, ROOT, repeated
from tests.ladder.samples import CLIMB, TILE
from tests.report.changes import comparison, slower, taken

from kernelprof.collect.recorded import FOLDER
from kernelprof.comparison.compare import compare_snapshots
from kernelprof.errors import ErrorFacts
from kernelprof.model.history import Commit, HistoryOrigin, MomentKind
from kernelprof.model.records import to_json
from kernelprof.report.documents.comparison import Detail, document
from kernelprof.report.documents.history import document as history_document
from kernelprof.report.writers import html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request
    from tests.conftest import RunCli

    from kernelprof.model.history import History

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
MARKUP = "<img src=x onerror=\"document.title = 'gone'\"></script><script>alert(1)</script>"
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
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

    def note_message(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.errors.append(f"{message.type}: {message.text}")

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
    page.on("console", noted.note_message)
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


@pytest.fixture(params=[False, True], ids=["light", "dark"])
def dark(request: pytest.FixtureRequest) -> bool:
    """Whether the page is looked at in the dark theme."""
    return bool(request.param)


# Pages


Report = Callable[[Path], Path]
WritePage = Callable[..., Path]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def write_page(run_cli: RunCli, tmp_path_factory: pytest.TempPathFactory) -> WritePage:
    """Write a page as a user does, by a command that ends in the option for it."""

    def write(*command: str | Path) -> Path:
        target = tmp_path_factory.mktemp("page") / "page.html"
        run = run_cli(*map(str, command), str(target))
        assert run.returncode in {0, 3}, run.stderr
        return target

    return write


@pytest.fixture(scope="session")
def report(write_page: WritePage) -> Report:
    """Write a capture's report; each capture once."""
    written: dict[Path, Path] = {}

    def write(capture: Path) -> Path:
        if capture not in written:
            written[capture] = write_page("report", capture, "-o")
        return written[capture]

    return write


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


@pytest.fixture(scope="session")
def tile(report: Report) -> Path:
    return report(FOLDER / "h200" / "03_shared_tile")


@pytest.fixture(scope="session")
def faster(write_page: WritePage) -> Path:
    recorded = FOLDER / "h200"
    return write_page("compare", recorded / "01_naive", recorded / "02_coalesced", "--html")


@pytest.fixture(scope="session")
def slower_page(write_page: WritePage) -> Path:
    changes = CAPTURES / "h200_changes"
    return write_page("compare", changes / "tile" / "1", changes / "tile-barrier" / "1", "--html")


@pytest.fixture(scope="session")
def many_compared(folder: Path, write_page: WritePage) -> Path:
    """Eleven kernels against themselves without those of the first name."""
    series = CAPTURES / "gemm_series.same-code-13x.raw.csv"
    with series.open(encoding="utf-8", newline="") as file:
        header, units, *launches = csv.reader(file)
    name = header.index("Kernel Name")
    less = folder / "less.csv"
    with less.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([header, units])
        writer.writerows(each for each in launches if each[name] != launches[0][name])
    return write_page("compare", series, less, "--html")


@pytest.fixture(scope="session")
def hostile_compared(folder: Path) -> Path:
    """Every text of the comparison is markup."""
    kernels = [slower(MARKUP, MARKUP), slower("second", diff=f"@@ -1 +1 @@\n-{MARKUP}\n+a")]
    made = comparison(*kernels, before=MARKUP, notes=(MARKUP,))
    target = folder / "hostile-comparison.html"
    target.write_text(html.write(document(made, Detail.FULL)), encoding="utf-8")
    return target


@pytest.fixture(scope="session")
def machines(folder: Path) -> Path:
    """The same kernel on two GPUs, with other sizes and another source: nothing is comparable."""
    before, after = taken("tile", "1"), taken("tile-rolled", "1")
    after = replace(after, machine=structs.replace(after.machine, gpu="NVIDIA B200"))
    kernel = after.kernels[0]
    assert kernel.inputs is not None
    specification = {**(kernel.inputs.specification or {}), "sizes": {"M": 8, "N": 8, "K": 8}}
    inputs = replace(kernel.inputs, specification=specification)
    after = replace(after, kernels=(replace(kernel, inputs=inputs),))
    target = folder / "machines.html"
    page = html.write(document(compare_snapshots(before, after), Detail.FULL))
    target.write_text(page, encoding="utf-8")
    return target


def alternating() -> History:
    """A kernel that gets slower and faster again, and one of another size and unit."""
    labels = ("four-blocks", "three-blocks", "four-blocks")
    moments = [moment(2 * run, label, str(run)) for run, label in enumerate(labels, 1)]
    wide = [moment(3, "naive"), with_kernels(moment(9, "coalesced"), name="sgemm_naive")]
    return samples.history(*sorted([*moments, *wide], key=lambda each: each.date))


def hostile_history() -> History:
    """Commits whose subjects, and kernels whose names, are no markup."""
    moments = []
    for day in ("1", "2"):
        each = with_kernels(moment(int(day), "tile", day), name=samples.HOSTILE)
        commit, origin = Commit(day * 40, samples.HOSTILE), f"{day * 7}:baseline.json"
        moments.append(
            structs.replace(each, commit=commit, origin=origin, kind=MomentKind.BASELINE)
        )
    page = samples.history(*moments, origin="/home/somebody/<b>.json")
    return replace(page, source=HistoryOrigin.GIT, notes=(samples.HOSTILE,))


HISTORIES = {"eventful": eventful, "alternating": alternating, "hostile": hostile_history}


@pytest.fixture(scope="session")
def histories(folder: Path) -> dict[str, Path]:
    for name, made in HISTORIES.items():
        page = html.write(history_document(made(), Detail.FULL))
        (folder / f"history-{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"history-{name}.html" for name in HISTORIES}


@pytest.fixture(scope="session")
def ladder(write_page: WritePage) -> Path:
    return write_page("ladder", "report", RESULTS, "--captures", FOLDER / "h200", "--html")


@pytest.fixture(scope="session")
def failed(write_page: WritePage, folder: Path) -> Path:
    """Results with a rung that failed, no captures, and names that are no markup."""
    image = "<img src=x onerror=\"document.title = 'gone'\">"
    rungs = (*CLIMB.rungs[:2], replace(TILE, title=image, error=ErrorFacts(f"wrong {image}")))
    results = folder / "results.json"
    results.write_text(to_json(replace(CLIMB, rungs=rungs)), encoding="utf-8")
    return write_page("ladder", "report", results, "--html")


@pytest.fixture(scope="session")
def corpus(folder: Path) -> Path:
    target = folder / "corpus.html"
    page = html.write(corpus_document(card(halves=CORPUS_HALVES)))
    target.write_text(page, encoding="utf-8")
    return target


@pytest.fixture(scope="session")
def predicted(write_page: WritePage) -> Path:
    return write_page("diagnose", ROOT / "examples" / "matvec.cu", "--predict", "--html")


@pytest.fixture(scope="session")
def page_named(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """A page by its fixture; ``history:NAME`` is one of :data:`HISTORIES`."""

    def find(name: str) -> Path:
        kind, _, part = name.partition(":")
        page = request.getfixturevalue("histories")[part] if part else request.getfixturevalue(kind)
        assert isinstance(page, Path)
        return page

    return find
