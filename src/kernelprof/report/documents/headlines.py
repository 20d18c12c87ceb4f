"""Every verdict as one sentence for people who have never seen a profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.rules import registry
from kernelprof.model.diagnosis import Status
from kernelprof.model.numbers import number, share

if TYPE_CHECKING:
    from kernelprof.analysis.rules import Headline
    from kernelprof.model.diagnosis import Evidence, Verdict

MOST_NAMED: Final = 3


_NEEDED: Final = (
    "and all of that work is needed: this is about as fast as this GPU runs such a kernel."
)


def headline(verdict: Verdict) -> str:
    """The verdict in one plain sentence."""
    if verdict.status is Status.INCONCLUSIVE:
        return _open(verdict)
    rule = registry().get(verdict.bottleneck or "")
    if rule is None:
        return f"The kernel is limited by {verdict.bottleneck}."
    found = rule.headline
    if verdict.status is Status.AT_LIMIT:
        if found.at_limit:
            return f"{found.at_limit}, {_NEEDED}"
        return (
            f"Nothing that can be removed costs notable time; most of what is left is "
            f"{_title(verdict.bottleneck or '')}."
        )
    value = _number(found, verdict.evidence)
    return found.numbered.format(x=value) if value else found.plain


def _number(found: Headline, evidence: tuple[Evidence, ...]) -> str:
    """The number for a sentence; empty where the evidence does not have it."""
    past = any(each.threshold is not None for each in evidence)
    for each in evidence:
        if each.metric != found.metric or each.unit != found.unit:
            continue
        if found.compared and not past:
            continue
        return share(each.value / 100.0) if found.unit == "%" else number(each.value)
    return ""


def _open(verdict: Verdict) -> str:
    if verdict.also and not verdict.missing:
        return "The counters of this capture do not explain what limits the kernel."
    names = [_title(each.bottleneck) for each in verdict.also[:MOST_NAMED]]
    if len(verdict.also) > MOST_NAMED:
        names.append("something else")
    if len(names) > 1:
        names = [", ".join(names[:-1]), names[-1]]
    if names:
        return f"This capture does not show what limits the kernel: {_could(names)}."
    if verdict.missing:
        return "This capture lacks the counters that would show what limits the kernel."
    return "The counters show nothing that costs this kernel notable time."


def _could(names: list[str]) -> str:
    return f"it could be {' or '.join(names)}"


def _title(slug: str) -> str:
    """A rule's title inside a sentence: ``L1 throughput``, ``memory latency``."""
    rule = registry().get(slug)
    if rule is None:
        return slug
    title = rule.title
    plain = title[:1].isupper() and title[1:2].islower()
    return title[:1].lower() + title[1:] if plain else title
