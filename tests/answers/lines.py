"""An answer in lines that a reviewer can read, and the keys that its document has lost."""

from __future__ import annotations

from typing import Any


def lines(answer: dict[str, Any]) -> list[str]:
    """What is answered: the exit code, and a line for each kernel."""
    found = answer["document"]
    told = [f"exit {answer['exit']}"]
    if not isinstance(found, dict):
        return told
    told += [f"{key}: {found[key]}" for key in ("outcome", "summary") if key in found]
    told += [f"warning: {text}" for each in found.get("captures", ()) for text in each["warnings"]]
    kind = found.get("kind", "diagnosis")
    line = {"diagnosis": _verdict, "gate": _judged, "comparison": _said, "history": _said}.get(kind)
    return told if line is None else [*told, *map(line, found.get("kernels", ()))]


def _verdict(kernel: dict[str, Any]) -> str:
    verdict = kernel["verdict"]
    parts = [f"{','.join(kernel['ids'][:3])} {_short(kernel['name'])}: {verdict['status']}"]
    parts.append(f"{verdict['bottleneck'] or '-'} {verdict['confidence']}")
    gain, between = verdict["estimated_gain"], verdict["gain_interval"]
    if gain is not None:
        parts.append(f"{gain:.3g}x")
    if between is not None:
        parts.append(f"({between[0]:.3g} to {between[1]:.3g})")
    for each in verdict["causes"][1:]:
        or_then = "then" if each["alternative_to"] is None else "or"
        parts.append(f"{or_then} {each['bottleneck']} {each['gain_after_previous']:.3g}x")
    if (limit := verdict["next_limit"]) is not None:
        parts.append(f"to {limit}" if isinstance(limit, str) else f"next {limit:.3g}x")
    parts += [f"| {key} {'; '.join(verdict[key])}" for key in ("also", "notes") if verdict[key]]
    parts.append(f"| {'; '.join(map(_fact, verdict['evidence']))}")
    counts = [f"{key} {len(verdict[key])}" for key in ("advice", "findings", "missing")]
    parts.append(f"| {', '.join(counts)}{', command' if verdict['command'] else ''}")
    return " ".join(parts)


def _fact(each: dict[str, Any]) -> str:
    made = "~" if each["formula"] else ""
    compared = "" if each["threshold"] is None else f"{each['op']}{each['threshold']:.4g}"
    return f"{made}{each['metric']} {each['value']:.4g}{compared}"


def _judged(kernel: dict[str, Any]) -> str:
    codes = ", ".join(f"{each['outcome']} {each['code']}" for each in kernel["findings"])
    return f"{_said(kernel)} [{kernel['outcome']}: {codes}]"


def _said(kernel: dict[str, Any]) -> str:
    return f"{_short(kernel['name'])}: {kernel['summary']}"


def _short(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:59]}~"


def lost(was: Any, now: Any, path: str = "") -> list[str]:
    """Keys that a document had and another lacks, where that has the object that they were of."""
    if isinstance(was, list) and isinstance(now, list):
        return _lost_of_items(was, now, path)
    if not isinstance(was, dict) or not isinstance(now, dict):
        return []
    gone = [f"{path}.{key}" for key in was if key not in now]
    for key in was.keys() & now.keys():
        gone += lost(was[key], now[key], f"{path}.{key}")
    return gone


def _lost_of_items(was: list[Any], now: list[Any], path: str) -> list[str]:
    """Every item has the keys that all items had before."""
    before = [each for each in was if isinstance(each, dict)]
    after = [each for each in now if isinstance(each, dict)]
    if not before or not after:
        return []
    common = set.intersection(*(set(each) for each in before))
    gone = [f"{path}[].{key}" for key in sorted(common) if any(key not in each for each in after)]
    gone += [
        found for pair in zip(before, after, strict=False) for found in lost(*pair, f"{path}[]")
    ]
    return list(dict.fromkeys(gone))
