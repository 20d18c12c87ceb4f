"""Verdicts as SARIF 2.1.0: each kernel is one result, at the line where it is defined.

Of a predicted kernel each access to memory is another, at its own line.

A bottleneck is a ``warning``. That a unit does needed work as fast as it can is no problem, and is
of the kind ``informational``; what the evidence does not decide is ``open``. Both have the level
``none``, as the standard wants it of all that is no failure (section 3.27.10).
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from kernelprof.analysis.rules import registry
from kernelprof.errors import ExitCode
from kernelprof.model.capture import shares
from kernelprof.model.diagnosis import Status
from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import labels, middle, printable
from kernelprof.model.numbers import comparison, count, number, share
from kernelprof.model.numbers import share as percent
from kernelprof.report.documents import prediction, source, waiting
from kernelprof.report.documents import rule as rule_page
from kernelprof.report.documents import verdict as words
from kernelprof.report.documents.prediction import LOCAL, NeedlessTraffic, accesses, in_a_sentence
from kernelprof.sources.capture_directory import MANIFEST
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kernelprof.analysis.rules import Rule
    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis, Verdict
    from kernelprof.model.prediction import Predicted, PredictionFacts
    from kernelprof.report.documents.prediction import Moved
    from kernelprof.sources.source import Contents

Json = dict[str, Any]

RULE: Final = "memory-access"
"""The rule of an access with nothing notable that is needless."""

_LEVELS: Final = {
    NeedlessTraffic.OF_THE_KERNEL: ("fail", "warning"),
    NeedlessTraffic.OF_THE_LINE: ("fail", "note"),
    NeedlessTraffic.NONE: ("informational", "none"),
}
_ACCESS_MEANING: Final = (
    "What an access to memory takes, by the addresses that the machine code computes: sectors of "
    "32 bytes, or wavefronts of shared memory, for each request of a warp."
)

Seen = tuple["PredictionFacts", "Moved"]


def predicted_accesses(diagnoses: Sequence[Diagnosis]) -> list[Seen]:
    """The accesses of all predicted kernels that have a line, those that waste most first."""
    predictions = [(prediction.facts_of(each), each) for each in diagnoses]
    return [
        (facts[0], moved)
        for facts, _ in predictions
        if facts is not None
        for moved in accesses(facts[0])
        if moved.access.line
    ]


def access_rule_id(moved: Moved) -> str:
    """The bottleneck that an access speaks for, if for one."""
    return RULE if moved.waste is NeedlessTraffic.NONE else moved.bottleneck


def access_rule() -> Json:
    """The rule of what speaks for no bottleneck."""
    text = {"text": _ACCESS_MEANING, "markdown": _ACCESS_MEANING}
    return rule(RULE, "Access to memory", _ACCESS_MEANING, text, "none")


def access_results(seen: Sequence[Seen], rules: Mapping[str, int]) -> Iterator[Json]:
    """A result for each access; ``rules`` are names with their places."""
    times: dict[tuple[str, ...], int] = {}
    for facts, moved in seen:
        access, name = moved.access, access_rule_id(moved)
        identity = (name, *_access_identity(facts.counted, moved))
        number_of = times[identity] = times.get(identity, 0) + 1
        kind, level = _LEVELS[moved.waste]
        yield {
            "ruleId": name,
            "ruleIndex": rules[name],
            "kind": kind,
            "level": level,
            "message": {"text": plain(_access_message(facts.counted, moved))},
            "locations": [location(access.file, access.line)],
            "partialFingerprints": fingerprints(*identity, *[str(number_of)] * (number_of > 1)),
        }


def _access_identity(prediction: Predicted, moved: Moved) -> tuple[str, ...]:
    """What stays when lines are added above: what the line says, and not its number."""
    access = moved.access
    own = access.file == prediction.file and access.line <= len(prediction.text)
    text = prediction.text[access.line - 1] if own else str(access.line)
    width = f"{access.bytes_a_thread}"
    return prediction.arch, access.file, text, access.space, access.kind, width


def _access_message(prediction: Predicted, moved: Moved) -> str:
    """``32 sectors a request, where adjacent addresses need 4 (88 % needless)``."""
    access = moved.access
    what = f"{access.space} {access.kind}, {access.bytes_a_thread} bytes a thread"
    text = f"{what}: {moved.text} a request"
    if access.space == LOCAL:
        text += ", none of which registers would need"
    elif moved.ideal is not None:
        text += f", {number(moved.ideal)} with adjacent addresses"
    if access.needless:
        text += f" ({share(access.needless)} needless)"
    return f"{text}. Predicted for {prediction.arch}, {number(access.requests.value)} requests."


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


def written(
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
    notifications = [{"level": "warning", "message": {"text": plain(note)}} for note in notes]
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


def rule(identity: str, title: str, meaning: str, help_text: Mapping[str, str], level: str) -> Json:
    """A rule; ``help_text`` is the same as ``text`` and as ``markdown``."""
    return {
        "id": identity,
        "name": "".join(part.capitalize() for part in identity.split("-")),
        "shortDescription": {"text": title},
        "fullDescription": {"text": meaning},
        "help": dict(help_text),
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["performance", "cuda"]},
    }


def location(path: str, line: int, kernel: str = "") -> Json:
    """A line of a file, and the kernel that is defined there."""
    result: Json = {
        "physicalLocation": {
            "artifactLocation": _artifact(path),
            "region": {"startLine": max(line, 1)},
        }
    }
    if kernel:
        name = middle(printable(kernel), LONGEST_NAME)
        result["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "function"}]
    return result


def fingerprints(*identity: str) -> Json:
    """What makes two results of different runs the same: nothing that a measurement changes."""
    data = "\0".join(identity).encode("utf-8", "surrogatepass")
    return {FINGERPRINT: hashlib.sha256(data).hexdigest()}


@lru_cache(maxsize=4)
def kernel_lines(text: str) -> Mapping[str, int]:
    """The lines of a source at which kernels are defined, by the names of the functions."""
    from kernelprof.launch.signature import kernels

    return {each.name.rpartition("::")[2]: each.line for each in kernels(text)}


def plain(text: str) -> str:
    """A message without placeholders (section 3.11.5: braces are doubled) and without links."""
    line = printable(text).replace("{", "{{").replace("}", "}}")
    return _LINK.sub(r"\\[", line)


def documentation() -> str | None:
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


MOST_RESULTS: Final = 5000
"""As many as GitHub shows of one file; it takes 25,000."""

LONGEST_MEANING: Final = 1024
"""Characters of a rule's description; GitHub cuts longer ones off."""

OPEN: Final = "inconclusive"
"""The rule of what no bottleneck is named for."""

_LONGEST_LABEL: Final = 200
_MOST_WARNINGS: Final = 10
_MERGED: Final = " + "
_KINDS: Final = {
    Status.BOTTLENECK: ("fail", "warning"),
    Status.AT_LIMIT: ("informational", "none"),
    Status.INCONCLUSIVE: ("open", "none"),
}
_KEPT_FIRST: Final = (Status.BOTTLENECK, Status.INCONCLUSIVE, Status.AT_LIMIT)
_MEANING: Final = (
    "The capture does not hold what would decide what limits this kernel. The message has the "
    "command that collects it."
)


def write(diagnoses: Sequence[Diagnosis], docs: str | None = None) -> str:
    """One run with the kernels of all captures, of which at most :data:`MOST_RESULTS` are kept.

    Those that take most time are kept, bottlenecks before anything else; a notification of the run
    says how many are left out. ``docs`` is where kernelprof is documented; without it what the
    installed package says of itself.
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
            f"{count(left, 'kernel')} left out, those with the least time: a file has at most "
            f"{MOST_RESULTS:,}. --kernel chooses kernels, and --format json has all of them."
        )
    room = max(MOST_RESULTS - len(kernels), 0)
    seen = predicted_accesses(diagnoses)[:room]
    rule_ids = dict.fromkeys(
        [*(_rule_of(kernel.verdict) for _, kernel, _ in kernels)]
        + [access_rule_id(moved) for _, moved in seen]
    )
    rules = {name: number for number, name in enumerate(rule_ids)}
    places = {id(each): _Source(each) for each in diagnoses}
    times_seen: dict[tuple[str, ...], int] = {}
    results = [
        _result(kernel, label, places[id(diagnosis)], rules, times_seen)
        for diagnosis, kernel, label in kernels
    ]
    results += access_results(seen, rules)
    undecided = any(each.inconclusive for each in diagnoses)
    return written(
        "kernelprof diagnose",
        [_rule(name) for name in rules],
        results,
        exit_code=ExitCode.INCONCLUSIVE if undecided else ExitCode.DONE,
        home=docs or documentation(),
        notes=notes,
    )


class _Source:
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
            self._hot = shares(contents.lines, facts.path)
        prediction = contents.prediction.counted if contents and contents.prediction else None
        self.basis = "" if prediction is None else f" {in_a_sentence(prediction)}"
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
            result.append(location(blamed.file, blamed.line, kernel.name))
        lines = {} if self._text is None else kernel_lines(self._text)
        line = lines.get(function_name(kernel.name))
        if self._path is not None and line is not None:
            result.append(location(self._path, line, kernel.name))
            hottest = self._hottest(self._path, kernel.name)
            result += [] if hottest is None else [hottest]
        return result or [location(self._capture, 1, kernel.name)]

    def _hottest(self, path: str, kernel: str) -> Json | None:
        hot = source.hot_of(kernel, self._hot)
        lines = 0 if self._text is None else self._text.count("\n") + 1
        for line, part in source.hottest(source.marked(hot or {}, lines))[:1]:
            message = {"text": f"{percent(part)} of the samples of warps are at this line."}
            return {**location(path, line), "message": message}
        return None


def _rank(kernel: KernelDiagnosis) -> tuple[int, float]:
    return _KEPT_FIRST.index(kernel.verdict.status), -(kernel.share or 0.0)


def _rule_of(verdict: Verdict) -> str:
    return verdict.bottleneck or OPEN


def _rule(name: str) -> Json:
    if name == RULE:
        return access_rule()
    rule_of_bottleneck = registry().get(name)
    if rule_of_bottleneck is None:
        text = {"text": _MEANING, "markdown": _MEANING}
        return rule(name, "Not decided by the evidence", _MEANING, text, "none")
    return rule(
        name,
        rule_of_bottleneck.title,
        _meaning(rule_of_bottleneck),
        _help(rule_of_bottleneck),
        "warning",
    )


def _meaning(rule_of_bottleneck: Rule) -> str:
    text = " ".join(rule_of_bottleneck.detects.split())
    return text if len(text) <= LONGEST_MEANING else f"{text[: LONGEST_MEANING - 3]}..."


def _help(rule_of_bottleneck: Rule) -> dict[str, str]:
    from kernelprof.report.writers import markdown

    steps = " ".join(" ".join(each.in_general.split()) for each in rule_of_bottleneck.fixes)
    texts = [
        " ".join(each.split()) for each in (rule_of_bottleneck.detects, rule_of_bottleneck.matters)
    ]
    text = (
        f"{' '.join(texts)} What to do: {steps} More: kernelprof explain {rule_of_bottleneck.slug}"
    )
    page = markdown.write(rule_page.document(rule_of_bottleneck), largest=None, level=1)
    return {"text": text, "markdown": page}


def _result(
    kernel: KernelDiagnosis,
    label: tuple[str, str],
    place: _Source,
    rules: Mapping[str, int],
    times_seen: dict[tuple[str, ...], int],
) -> Json:
    verdict, name = kernel.verdict, _rule_of(kernel.verdict)
    short, detail = label
    identity = (name, kernel.name, detail)
    # The same kernel of several captures, as of several runs of one program.
    number = times_seen[identity] = times_seen.get(identity, 0) + 1
    kind, level = _KINDS[verdict.status]
    where, *related = place.places(kernel)
    message = _message(kernel, predicted=bool(place.basis))
    shown = " ".join(filter(None, (middle(short, _LONGEST_LABEL), detail)))
    result: Json = {
        "ruleId": name,
        "ruleIndex": rules[name],
        "kind": kind,
        "level": level,
        "message": {"text": plain(f"{shown}: {message}{place.basis}")},
        "locations": [where],
        "partialFingerprints": fingerprints(*identity, *[str(number)] * (number > 1)),
        "properties": {"confidence": verdict.confidence.value, "launches": kernel.launches},
    }
    if related:
        result["relatedLocations"] = related
    # What matters first: GitHub shows no more than so many, and editors sort by it.
    if kernel.share is not None and 0 <= kernel.share <= 1:
        result["rank"] = round(100 * kernel.share, 3)
    return result


def _message(kernel: KernelDiagnosis, *, predicted: bool) -> str:
    verdict = kernel.verdict
    sentences = [words.headline(verdict, predicted=predicted)]
    if kernel.place is not None:
        sentences.append(f"{waiting.sentence(kernel.place)}.")
    if verdict.status is Status.INCONCLUSIVE:
        sentences += [each.text for each in verdict.findings[: words.BRIEF_ROWS]]
        if verdict.command is not None:
            sentences.append(f"To decide: {verdict.command}")
        elif verdict.why:
            sentences.append(verdict.why)
        return " ".join(sentences)
    facts = [f"{each.label} {comparison(each)}" for each in verdict.evidence[: words.BRIEF_ROWS]]
    if facts:
        sentences.append(f"Evidence: {'; '.join(facts)}.")
    brings = words.less_work(verdict) if verdict.status is Status.AT_LIMIT else words.about(verdict)
    if brings:
        sentences.append(
            f"{'Less work' if verdict.status is Status.AT_LIMIT else 'Gain'}: {brings}."
        )
    return " ".join(sentences)
