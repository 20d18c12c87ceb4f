"""Verdicts, and the gate's answer, as SARIF 2.1.0.

Each kernel of a diagnosis is one result, at the line where it is defined; of a predicted kernel
each access to memory is another, at its own line. A bottleneck is a ``warning``. That a unit does
needed work as fast as it can is no problem, and is of the kind ``informational``; what the evidence
does not decide is ``open``. Both have the level ``none``, as the standard wants it of all that is
no failure (section 3.27.10).

Of the gate one result a kernel, code and line to blame, whatever the number of findings: GitHub
makes an alert of each result, and its fingerprint must not hold a value that differs from run to
run. The line is known of predictions; of measurements it is the one where the kernel is defined.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections import Counter, defaultdict
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from kernelprof.analysis.rules import load_rules
from kernelprof.comparison.words import labels as labels_of_changes
from kernelprof.errors import ExitCode
from kernelprof.model.capture import line_shares
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import PROPOSED, Code, Outcome, worst_outcome
from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import cut_middle, labels, printable, short_name
from kernelprof.model.numbers import count, number, share
from kernelprof.report.documents import prediction, source, waiting
from kernelprof.report.documents import rule as rule_page
from kernelprof.report.documents import verdict as words
from kernelprof.report.documents.prediction import (
    LOCAL,
    NeedlessTraffic,
    costly_accesses,
    describe_basis,
)
from kernelprof.report.writers import Writer
from kernelprof.sources.capture_directory import MANIFEST
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kernelprof.analysis.rules import Rule
    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis
    from kernelprof.model.gate import GateFinding, GateResult, KernelResult
    from kernelprof.model.prediction import Predicted, PredictionFacts
    from kernelprof.model.waiting import SourceLocation
    from kernelprof.report.documents.prediction import AccessTraffic
    from kernelprof.sources.source import Contents

Json = dict[str, Any]


class GateRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A code that can decide; ``outcome`` is what it means unless the policy says otherwise."""

    title: str
    meaning: str
    advice: str
    outcome: Outcome


_GATE_CODES: Final = Path(__file__).parents[2] / "data" / "gate_codes.toml"
RULES: Final = msgspec.toml.decode(_GATE_CODES.read_bytes(), type=dict[Code, GateRule])
"""The codes of the gate that can make an outcome other than ``pass``; the others only inform."""

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
FINGERPRINT: Final = "kernelprofFinding/v1"
"""Not ``primaryLocationLineHash``: GitHub's upload works that out, and warns about any other."""

LONGEST_NAME: Final = 1000
"""Characters of a kernel's whole name; the instances of template libraries have many thousands."""

_ROOT: Final = "%SRCROOT%"
_LINK: Final = re.compile(r"\[(?=[^\[\]]*\]\()")
"""What opens an embedded link (section 3.11.6 of the standard); a name must not make one."""


def _log(
    category: str,
    rules: Sequence[Json],
    results: Sequence[Json],
    *,
    exit_code: int,
    home: str | None = None,
    notes: Iterable[str] = (),
) -> str:
    """One run as a log. ``notes`` are warnings about the run; ``home`` is where it is documented.

    ``category`` tells uploads of one commit apart.
    """
    notifications = [{"level": "warning", "message": {"text": _plain(note)}} for note in notes]
    invocation: Json = {"executionSuccessful": True, "exitCode": exit_code}
    if notifications:
        invocation["toolExecutionNotifications"] = notifications
    run = {
        "tool": {
            "driver": {
                "name": "kernelprof",
                "version": __version__,
                **({"informationUri": home} if home else {}),
                "rules": list(rules),
            }
        },
        "automationDetails": {"id": f"{category}/"},
        "invocations": [invocation],
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "The root of the checkout that was profiled."}}
        },
        "columnKind": "unicodeCodePoints",
        "results": list(results),
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _rule(name: str, title: str, meaning: str, help_text: Mapping[str, str], level: str) -> Json:
    """A rule; ``help_text`` is the same as ``text`` and as ``markdown``."""
    return {
        "id": name,
        "name": "".join(part.capitalize() for part in name.split("-")),
        "shortDescription": {"text": title},
        "fullDescription": {"text": meaning},
        "help": dict(help_text),
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["performance", "cuda"]},
    }


def _location(path: str, line: int, kernel: str = "") -> Json:
    """A line of a file, and the kernel that is defined there."""
    result: Json = {
        "physicalLocation": {
            "artifactLocation": _artifact(path),
            "region": {"startLine": max(line, 1)},
        }
    }
    if kernel:
        name = cut_middle(printable(kernel), LONGEST_NAME)
        result["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "function"}]
    return result


def _entry(
    name: str,
    index: int,
    message: str,
    places: Sequence[Json],
    *,
    identity: Sequence[str],
    occurrence: int = 1,
    **level: str,
) -> Json:
    """A result of the rule ``name``, the ``index``-th, at the first of its places.

    ``identity`` makes two results of different runs the same: nothing that a measurement changes.
    ``occurrence`` is the number of the result among those of one identity, from 1.
    """
    data = "\0".join((*identity, *[str(occurrence)] * (occurrence > 1)))
    digest = hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()
    return {
        "ruleId": name,
        "ruleIndex": index,
        **level,
        "message": {"text": _plain(message)},
        "locations": [places[0]],
        "partialFingerprints": {FINGERPRINT: digest},
    }


@lru_cache(maxsize=4)
def _kernel_lines(text: str) -> Mapping[str, int]:
    """The lines of a source at which kernels are defined, by the names of the functions."""
    from kernelprof.launch.signature import kernels

    return {each.name.rpartition("::")[2]: each.line for each in kernels(text)}


def _plain(text: str) -> str:
    """A message without placeholders (section 3.11.5: braces are doubled) and without links."""
    line = printable(text).replace("{", "{{").replace("}", "}}")
    return _LINK.sub(r"\\[", line)


def _documentation() -> str | None:
    """Where the installed package says that its documentation is."""
    try:
        urls = metadata.metadata("kernelprof").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return None
    urls_by_name = dict(each.split(", ", 1) for each in urls if ", " in each)
    return urls_by_name.get("Documentation")


def _artifact(path: str) -> Json:
    tidy = posixpath.normpath(path)
    uri = quote(tidy, safe="/", errors="replace")
    if tidy.startswith("/"):
        return {"uri": f"file:///{uri.lstrip('/')}"}
    return {"uri": uri, "uriBaseId": _ROOT}


ACCESS_RULE: Final = "memory-access"
"""The rule of an access with nothing notable that is needless."""

OPEN: Final = "inconclusive"
"""The rule of what no bottleneck is named for."""

MOST_RESULTS: Final = 5000
"""As many as GitHub shows of one file; it takes 25,000."""

LONGEST_MEANING: Final = 1024
"""Characters of a rule's description; GitHub cuts longer ones off."""

_LONGEST_LABEL: Final = 200
_MOST_WARNINGS: Final = 10
_MERGED: Final = " + "
_LEVELS: Final = {
    Status.BOTTLENECK: {"kind": "fail", "level": "warning"},
    Status.INCONCLUSIVE: {"kind": "open", "level": "none"},
    Status.AT_LIMIT: {"kind": "informational", "level": "none"},
}
"""Verdicts, those first that are retained where there are too many."""
_ACCESS_LEVELS: Final = {
    NeedlessTraffic.OF_THE_KERNEL: {"kind": "fail", "level": "warning"},
    NeedlessTraffic.OF_THE_LINE: {"kind": "fail", "level": "note"},
    NeedlessTraffic.NONE: {"kind": "informational", "level": "none"},
}
_GATE_LEVELS: Final = {Outcome.REGRESSION: "error", Outcome.INCONCLUSIVE: "warning"}
_OTHER_RULES: Final = {
    ACCESS_RULE: (
        "Memory access",
        "Number of 32-byte sectors or shared-memory wavefronts per warp request, predicted from "
        "the addresses that the machine code computes.",
    ),
    OPEN: (
        "Inconclusive verdict",
        "The metrics in the capture do not show what limits this kernel. If metrics are missing, "
        "the message contains the command that collects them.",
    ),
}
"""Title and meaning of rules that are no bottleneck."""


def write_diagnoses(diagnoses: Sequence[Diagnosis]) -> str:
    """One run with the kernels of all captures, of which at most :data:`MOST_RESULTS` are kept.

    Those that take most time are kept, bottlenecks before anything else; a notification of the run
    says how many are left out.
    """
    kernels = [
        (diagnosis, kernel, label)
        for diagnosis in diagnoses
        for kernel, label in zip(diagnosis.kernels, labels(diagnosis.kernels), strict=True)
    ]
    notes = [
        f"{each.origin}: {each.survey.answer.sentence}"
        for each in diagnoses
        if each.survey is not None and each.survey.answer is not None
    ]
    notes += [
        f"{each.origin}: {warning}"
        for each in diagnoses
        for warning in each.warnings[:_MOST_WARNINGS]
    ]
    if (left := len(kernels) - MOST_RESULTS) > 0:
        kernels = sorted(kernels, key=lambda each: _rank(each[1]))[:MOST_RESULTS]
        notes.append(
            f"{count(left, 'kernel')} left out: a file has at most {MOST_RESULTS:,} results. "
            "Bottlenecks are kept first, then inconclusive verdicts, then at-limit; within each, "
            "the longest time first. --kernel selects kernels; --format json writes all "
            "results."
        )
    predictions = filter(None, map(prediction.facts_of, diagnoses))
    moved = [(facts, each) for facts, _ in predictions for each in costly_accesses(facts)]
    moved = [each for each in moved if each[1].access.line][: max(MOST_RESULTS - len(kernels), 0)]
    rules: dict[str, int] = defaultdict(lambda: len(rules))
    places = {id(each): _Places(each) for each in diagnoses}
    times_seen: Counter[tuple[str, ...]] = Counter()
    results = [
        _kernel_result(kernel, label, places[id(diagnosis)], rules, times_seen)
        for diagnosis, kernel, label in kernels
    ]
    results += [_access_result(facts, each, rules, times_seen) for facts, each in moved]
    undecided = any(each.inconclusive for each in diagnoses)
    return _log(
        "kernelprof diagnose",
        [_rule_of_verdict(name) for name in rules],
        results,
        exit_code=ExitCode.INCONCLUSIVE if undecided else ExitCode.DONE,
        home=_documentation(),
        notes=notes,
    )


class _Places:
    """Where the kernels of a capture are: in its source as far as that is known, else in itself."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        capture: Any = getattr(diagnosis, "capture", None)
        contents: Contents | None = None if capture is None else capture.contents
        manifest = None if contents is None else contents.manifest
        made_by = manifest or (contents.prediction if contents is not None else None)
        facts = None if made_by is None else made_by.source
        self._path = None if facts is None else facts.path
        self._text = None if contents is None else contents.source_text
        self._hot: Mapping[str, Mapping[int, float]] | None = None
        if contents is not None and contents.lines is not None and facts is not None:
            self._hot = line_shares(contents.lines, facts.path)
        prediction = contents.prediction if contents else None
        self.basis = "" if prediction is None else f" {describe_basis(prediction.counts)}"
        accesses = costly_accesses(prediction)
        self._accesses = [each for each in accesses if each.waste is not NeedlessTraffic.NONE]
        self._capture = diagnosis.origin.split(_MERGED)[0]
        if manifest is not None and self._capture == str(contents and contents.folder):
            self._capture += f"/{MANIFEST}"

    def places(self, kernel: KernelDiagnosis) -> list[Json]:
        """The line that the verdict blames, the kernel's definition, its line with most samples.

        Those that are not known are left out; without any of them the kernel is at its capture.
        """
        result = []
        blamed = kernel.place
        if blamed is not None and blamed.file is not None and blamed.line is not None:
            result.append(_location(blamed.file, blamed.line, kernel.name))
        for each in self._accesses:
            if each.bottleneck == kernel.verdict.bottleneck:
                result.append(_location(each.access.file, each.access.line, kernel.name))
                break
        lines = {} if self._text is None else _kernel_lines(self._text)
        line = lines.get(function_name(kernel.name))
        if self._path is not None and line is not None:
            result.append(_location(self._path, line, kernel.name))
            hottest = self._hottest(self._path, kernel.name)
            result += [] if hottest is None else [hottest]
        return result or [_location(self._capture, 1, kernel.name)]

    def _hottest(self, path: str, kernel: str) -> Json | None:
        hot = source.hot_of(kernel, self._hot)
        lines = 0 if self._text is None else self._text.count("\n") + 1
        for line, part in source.hottest_lines(source.marked_lines(hot or {}, lines))[:1]:
            message = {"text": f"{share(part)} of the warp samples are at this line."}
            return {**_location(path, line), "message": message}
        return None


def _rank(kernel: KernelDiagnosis) -> tuple[int, float]:
    return list(_LEVELS).index(kernel.verdict.status), -(kernel.share or 0.0)


def _rule_of_verdict(name: str) -> Json:
    bottleneck = load_rules().get(name)
    if bottleneck is None:
        title, meaning = _OTHER_RULES[name]
        return _rule(name, title, meaning, {"text": meaning, "markdown": meaning}, "none")
    meaning = " ".join(bottleneck.detects.split())
    if len(meaning) > LONGEST_MEANING:
        meaning = f"{meaning[: LONGEST_MEANING - 3]}..."
    return _rule(name, bottleneck.title, meaning, _help(bottleneck), "warning")


def _help(bottleneck: Rule) -> dict[str, str]:
    from kernelprof.report.writers import markdown

    fixes = (": ".join(filter(None, (e.heading, e.in_general))) for e in bottleneck.fixes)
    texts = (bottleneck.detects, bottleneck.matters, "What to do:", *fixes)
    text = f"{' '.join(' '.join(texts).split())} More: kernelprof explain {bottleneck.slug}"
    page = markdown.write(rule_page.document(bottleneck), largest=None, level=1)
    return {"text": text, "markdown": page}


def _kernel_result(
    kernel: KernelDiagnosis,
    label: tuple[str, str],
    source: _Places,
    rules: Mapping[str, int],
    times_seen: Counter[tuple[str, ...]],
) -> Json:
    verdict, (short, detail) = kernel.verdict, label
    name = verdict.bottleneck or OPEN
    identity = (name, kernel.name, detail)
    # The same kernel of several captures, as of several runs of one program.
    times_seen[identity] += 1
    message = _message(kernel, predicted=bool(source.basis))
    shown = " ".join(filter(None, (cut_middle(short, _LONGEST_LABEL), detail)))
    text, places = f"{shown}: {message}{source.basis}", source.places(kernel)
    result = _entry(
        name,
        rules[name],
        text,
        places,
        identity=identity,
        occurrence=times_seen[identity],
        **_LEVELS[verdict.status],
    )
    result["properties"] = {"confidence": verdict.confidence.value, "launches": kernel.launches}
    if related := places[1:]:
        result["relatedLocations"] = related
    # What matters first: GitHub shows no more than so many, and editors sort by it.
    if kernel.share is not None and 0 <= kernel.share <= 1:
        result["rank"] = round(100 * kernel.share, 3)
    return result


def _message(kernel: KernelDiagnosis, *, predicted: bool) -> str:
    verdict = kernel.verdict
    sentences = [words.verdict_headline(verdict, predicted=predicted)]
    if kernel.place is not None:
        sentences.append(f"{waiting.stall_sentence(kernel.place)}.")
    if verdict.status is Status.INCONCLUSIVE:
        sentences += [each.text for each in words.other_findings(verdict)[: words.BRIEF_ROWS]]
        if verdict.command is not None:
            sentences.append(f"To get a verdict, run: {verdict.command}")
        elif verdict.why:
            sentences.append(verdict.why)
        return " ".join(sentences)
    facts = [words.fact_text(each) for each in words.distinct_evidence(verdict)[: words.BRIEF_ROWS]]
    if facts:
        sentences.append(f"Evidence: {'; '.join(facts)}.")
    at_limit = verdict.status is Status.AT_LIMIT
    if brings := words.less_work(verdict) if at_limit else words.describe_gain(verdict):
        sentences.append(f"Gain: {brings}.")
    return " ".join(sentences)


def _access_result(
    facts: PredictionFacts,
    moved: AccessTraffic,
    rules: Mapping[str, int],
    times_seen: Counter[tuple[str, ...]],
) -> Json:
    access, predicted = moved.access, facts.counts
    name = ACCESS_RULE if moved.waste is NeedlessTraffic.NONE else moved.bottleneck
    # What stays when lines are added above: what the line says, and not its number.
    own = access.file == predicted.file and access.line <= len(predicted.text)
    line = predicted.text[access.line - 1] if own else str(access.line)
    width = f"{access.bytes_a_thread}"
    identity = (name, predicted.arch, access.file, line, access.space, access.kind, width)
    times_seen[identity] += 1
    return _entry(
        name,
        rules[name],
        _access_message(predicted, moved),
        [_location(access.file, access.line)],
        identity=identity,
        occurrence=times_seen[identity],
        **_ACCESS_LEVELS[moved.waste],
    )


def _access_message(predicted: Predicted, moved: AccessTraffic) -> str:
    """``32 sectors a request, where adjacent addresses need 4 (88 % needless)``."""
    access = moved.access
    what = f"{access.space} {access.kind}, {access.bytes_a_thread} bytes per thread"
    text = f"{what}: {moved.text} per request"
    if access.space == LOCAL:
        text += ", none needed if the values were in registers"
    elif moved.ideal is not None:
        text += f", {number(moved.ideal)} with adjacent addresses"
    if access.needless:
        text += f" ({share(access.needless)} needless)"
    return f"{text}. Predicted for {predicted.arch}: {number(access.requests.value)} requests."


def write_gate(result: GateResult, lines: Mapping[str, int] | None = None) -> str:
    """The gate's answer: one run with a rule a code.

    ``lines`` says by a kernel's name where it is defined; without it the sources that are known
    say so.
    """
    home = _documentation()
    lines = _lines_of_kernels(result) if lines is None else lines
    details = labels_of_changes([each.kernel for each in result.kernels])
    groups: list[tuple[KernelResult | None, str, Iterable[GateFinding]]] = [
        (kernel, detail, kernel.findings)
        for kernel, (_, detail) in zip(result.kernels, details, strict=True)
    ]
    results = [
        _gate_result(
            code, occurrence, together, kernel=kernel, detail=detail, result=result, lines=lines
        )
        for kernel, detail, findings in [*groups, (None, "", result.general)]
        for code, occurrence, together in _grouped(findings)
    ]
    rules = [_rule_of_code(code, home) for code in RULES]
    exit_code = int(result.exit_code)
    return _log("kernelprof gate", rules, results, exit_code=exit_code, home=home)


def _lines_of_kernels(result: GateResult) -> dict[str, int]:
    lines: dict[str, int] = {}
    texts = result.comparison.after.sources
    for each in result.comparison.kernels:
        inputs = each.after.inputs if each.after is not None else None
        text = texts.get(inputs.source_sha256) if inputs is not None else None
        line = None if text is None else _kernel_lines(text).get(function_name(each.name))
        if line is not None:
            lines[each.name] = line
    return lines


def _rule_of_code(code: Code, home: str | None) -> Json:
    rule = RULES[code]
    texts = {
        "text": f"{rule.meaning} {rule.advice}",
        "markdown": f"{rule.meaning}\n\n{rule.advice}",
    }
    level = _GATE_LEVELS.get(rule.outcome, "note")
    entry = _rule(code.value, rule.title, rule.meaning, texts, level)
    return {**entry, "helpUri": f"{home}#findings"} if home else entry


def _grouped(findings: Iterable[GateFinding]) -> Iterator[tuple[Code, int, list[GateFinding]]]:
    """The findings that have a rule, those of one code and at one place together.

    With each the number of its place, from 1, among those of the code.
    """
    grouped: dict[tuple[Code, SourceLocation | None], list[GateFinding]] = defaultdict(list)
    for each in findings:
        if each.code in RULES:
            grouped[each.code, next(iter(each.places), None)].append(each)
    seen: Counter[Code] = Counter()
    for (code, _), together in grouped.items():
        seen[code] += 1
        yield code, seen[code], together


def _gate_result(
    code: Code,
    occurrence: int,
    findings: list[GateFinding],
    *,
    kernel: KernelResult | None,
    detail: str,
    result: GateResult,
    lines: Mapping[str, int],
) -> Json:
    name = "" if kernel is None else kernel.kernel.name
    text = "; ".join(each.text for each in findings)
    if kernel is not None:
        text = f"{' '.join(filter(None, (short_name(name), detail)))}: {text}"
    worst = worst_outcome(findings)
    level = _GATE_LEVELS.get(worst, "note")
    if worst is Outcome.INCONCLUSIVE and result.inconclusive_passes and code not in PROPOSED:
        level = "note"
    elif worst is Outcome.INCONCLUSIVE and result.fails_inconclusive:
        level = "error"
    blamed = list(dict.fromkeys(place for each in findings for place in each.places))
    places = [_place_of_kernel(kernel, name, result, lines)]
    if blamed:
        places = [_location(blamed[0].file, blamed[0].line, name)]
        places += [_location(each.file, each.line) for each in blamed[1:]]
    index, identity = list(RULES).index(code), (code.value, name, detail)
    entry = _entry(
        code.value, index, text, places, identity=identity, occurrence=occurrence, level=level
    )
    if places[1:]:
        entry["relatedLocations"] = places[1:]
    return entry


def _place_of_kernel(
    kernel: KernelResult | None, name: str, result: GateResult, lines: Mapping[str, int]
) -> Json:
    """The kernel in its source; the baseline where no source is known.

    GitHub refuses results without a file and a line.
    """
    sides = () if kernel is None else (kernel.kernel.after, kernel.kernel.before)
    inputs = [side.inputs for side in sides if side is not None and side.inputs is not None]
    path = inputs[0].path if inputs else result.comparison.before.origin
    return _location(path, lines.get(name, 1) if inputs else 1, name)


def write(result: Any, kind: str) -> str:
    """The result of a kind, the gate's or diagnoses."""
    return write_gate(result) if kind == "gate" else write_diagnoses(result)


WRITER: Final = Writer("sarif", ".sarif", write, kinds=("diagnosis", "gate"))
