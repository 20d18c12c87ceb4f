"""Verdicts as SARIF 2.1.0: each kernel is one result, at the line where it is defined.

Of a predicted kernel each access to memory is another, at its own line
(:mod:`kernelprof.report.sarif_accesses`).

A bottleneck is a ``warning``. That a unit does needed work as fast as it can is no problem, and is
of the kind ``informational``; what the evidence does not decide is ``open``. Both have the level
``none``, as the standard wants it of all that is no failure (section 3.27.10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kernelprof.analysis.rules import registry
from kernelprof.errors import ExitCode
from kernelprof.model.capture import shares
from kernelprof.model.diagnosis import Status
from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import labels, middle
from kernelprof.model.numbers import comparison, count
from kernelprof.model.numbers import share as percent
from kernelprof.report import sarif_accesses, sarif_log
from kernelprof.report.documents import rule as rule_page
from kernelprof.report.documents import source, waiting
from kernelprof.report.documents import verdict as words
from kernelprof.report.documents.prediction import in_a_sentence
from kernelprof.sources.capture_directory import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.analysis.rules import Rule
    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis, Verdict
    from kernelprof.report.sarif_log import Json
    from kernelprof.sources.source import Contents

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
    found = [
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
    if (left := len(found) - MOST_RESULTS) > 0:
        found = sorted(found, key=lambda each: _rank(each[1]))[:MOST_RESULTS]
        notes.append(
            f"{count(left, 'kernel')} left out, those with the least time: a file has at most "
            f"{MOST_RESULTS:,}. --kernel chooses kernels, and --format json has all of them."
        )
    room = max(MOST_RESULTS - len(found), 0)
    seen = sarif_accesses.known(diagnoses)[:room]
    named = dict.fromkeys(
        [*(_rule_of(kernel.verdict) for _, kernel, _ in found)]
        + [sarif_accesses.rule_of(moved) for _, moved in seen]
    )
    rules = {name: number for number, name in enumerate(named)}
    places = {id(each): _Source(each) for each in diagnoses}
    times_seen: dict[tuple[str, ...], int] = {}
    results = [
        _result(kernel, label, places[id(diagnosis)], rules, times_seen)
        for diagnosis, kernel, label in found
    ]
    results += sarif_accesses.results(seen, rules)
    undecided = any(each.inconclusive for each in diagnoses)
    return sarif_log.written(
        "kernelprof diagnose",
        [_rule(name) for name in rules],
        results,
        exit_code=ExitCode.INCONCLUSIVE if undecided else ExitCode.DONE,
        home=docs or sarif_log.documentation(),
        notes=notes,
    )


class _Source:
    """Where the kernels of a capture are: in its source as far as that is known, else in itself."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        capture: Any = getattr(diagnosis, "capture", None)
        contents: Contents | None = None if capture is None else capture.contents
        manifest = None if contents is None else contents.manifest
        made_by = manifest or (contents.prediction if contents is not None else None)
        known = None if made_by is None else made_by.source
        self._path = None if known is None else known.path
        self._text = None if contents is None else contents.source_text
        self._hot: Mapping[str, Mapping[int, float]] | None = None
        if contents is not None and contents.lines is not None and known is not None:
            self._hot = shares(contents.lines, known.path)
        counted = contents.prediction.counted if contents and contents.prediction else None
        self.basis = "" if counted is None else f" {in_a_sentence(counted)}"
        self._capture = diagnosis.origin.split(_MERGED)[0]
        if manifest is not None and self._capture == str(contents and contents.place):
            self._capture += f"/{MANIFEST}"

    def places(self, kernel: KernelDiagnosis) -> list[Json]:
        """The line that the verdict blames, the kernel's definition, its line with most samples.

        Those that are not known are left out; without any of them the kernel is at its capture.
        """
        found = []
        blamed = kernel.place
        if blamed is not None and blamed.file is not None and blamed.line is not None:
            found.append(sarif_log.location(blamed.file, blamed.line, kernel.name))
        lines = {} if self._text is None else sarif_log.kernel_lines(self._text)
        line = lines.get(function_name(kernel.name))
        if self._path is not None and line is not None:
            found.append(sarif_log.location(self._path, line, kernel.name))
            hottest = self._hottest(self._path, kernel.name)
            found += [] if hottest is None else [hottest]
        return found or [sarif_log.location(self._capture, 1, kernel.name)]

    def _hottest(self, path: str, kernel: str) -> Json | None:
        hot = source.hot_of(kernel, self._hot)
        lines = 0 if self._text is None else self._text.count("\n") + 1
        for line, part in source.hottest(source.marked(hot or {}, lines))[:1]:
            told = {"text": f"{percent(part)} of the samples of warps are at this line."}
            return {**sarif_log.location(path, line), "message": told}
        return None


def _rank(kernel: KernelDiagnosis) -> tuple[int, float]:
    return _KEPT_FIRST.index(kernel.verdict.status), -(kernel.share or 0.0)


def _rule_of(verdict: Verdict) -> str:
    return verdict.bottleneck or OPEN


def _rule(name: str) -> Json:
    """A rule as `kernelprof explain` has it."""
    if name == sarif_accesses.RULE:
        return sarif_accesses.rule()
    known = registry().get(name)
    if known is None:
        text = {"text": _MEANING, "markdown": _MEANING}
        return sarif_log.rule(name, "Not decided by the evidence", _MEANING, text, "none")
    return sarif_log.rule(name, known.title, _meaning(known), _help(known), "warning")


def _meaning(known: Rule) -> str:
    text = " ".join(known.docs.detects.split())
    return text if len(text) <= LONGEST_MEANING else f"{text[: LONGEST_MEANING - 3]}..."


def _help(known: Rule) -> dict[str, str]:
    from kernelprof.report.writers import markdown

    docs = known.docs
    steps = " ".join(" ".join(each.in_general.split()) for each in docs.fixes)
    told = [" ".join(each.split()) for each in (docs.detects, docs.matters)]
    text = f"{' '.join(told)} What to do: {steps} More: kernelprof explain {known.slug}"
    page = markdown.write(rule_page.document(known), largest=None, level=1)
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
    where, *beside = place.places(kernel)
    said = _message(kernel, predicted=bool(place.basis))
    shown = " ".join(filter(None, (middle(short, _LONGEST_LABEL), detail)))
    found: Json = {
        "ruleId": name,
        "ruleIndex": rules[name],
        "kind": kind,
        "level": level,
        "message": {"text": sarif_log.plain(f"{shown}: {said}{place.basis}")},
        "locations": [where],
        "partialFingerprints": sarif_log.fingerprints(*identity, *[str(number)] * (number > 1)),
        "properties": {"confidence": verdict.confidence.value, "launches": kernel.launches},
    }
    if beside:
        found["relatedLocations"] = beside
    # What matters first: GitHub shows no more than so many, and editors sort by it.
    if kernel.share is not None and 0 <= kernel.share <= 1:
        found["rank"] = round(100 * kernel.share, 3)
    return found


def _message(kernel: KernelDiagnosis, *, predicted: bool) -> str:
    """The verdict, its line, what it rests on, and what it would bring or what would settle it."""
    verdict = kernel.verdict
    said = [words.headline(verdict, predicted=predicted)]
    if kernel.place is not None:
        said.append(f"{waiting.sentence(kernel.place)}.")
    if verdict.status is Status.INCONCLUSIVE:
        said += [each.text for each in verdict.findings[: words.BRIEF_ROWS]]
        if verdict.command is not None:
            said.append(f"To decide: {verdict.command}")
        elif verdict.why:
            said.append(verdict.why)
        return " ".join(said)
    facts = [f"{each.label} {comparison(each)}" for each in verdict.evidence[: words.BRIEF_ROWS]]
    if facts:
        said.append(f"Evidence: {'; '.join(facts)}.")
    brings = words.less_work(verdict) if verdict.status is Status.AT_LIMIT else words.about(verdict)
    if brings:
        said.append(f"{'Less work' if verdict.status is Status.AT_LIMIT else 'Gain'}: {brings}.")
    return " ".join(said)
