"""The gate's answer as SARIF 2.1.0: findings at the line where their kernel is defined.

One result a kernel and code, whatever the number of findings: GitHub makes an alert of each result,
and its fingerprint must not hold a value that differs from run to run.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from kernelprof.comparison.gate.codes import RULES
from kernelprof.comparison.words import labels
from kernelprof.model.gate import PROPOSED, Outcome
from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import printable, short_name
from kernelprof.report.writers import Writer
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.model.gate import Code, Finding, GateResult, KernelResult

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
FINGERPRINT: Final = "kernelprofFinding/v1"
"""Not ``primaryLocationLineHash``: GitHub's upload works that out, and warns about any other."""

_ROOT: Final = "%SRCROOT%"
_LEVELS: Final = {Outcome.REGRESSION: "error", Outcome.INCONCLUSIVE: "warning"}
_LINK: Final = re.compile(r"\[(?=[^\[\]]*\]\()")
"""What opens an embedded link (section 3.11.6 of the standard); a name must not make one."""

_Json = dict[str, Any]


def write(
    result: GateResult, lines: Mapping[str, int] | None = None, *, docs: str | None = None
) -> str:
    """One run with a rule a code.

    ``lines`` says by a kernel's name where it is defined; without it the sources that are known
    say so. ``docs`` is the address of the page on
    the gate; without it that of the installed package's metadata, where it has one.
    """
    home = docs or _documentation()
    run = {
        "tool": {
            "driver": {
                "name": "kernelprof",
                "version": __version__,
                **({"informationUri": home} if home else {}),
                "rules": [_rule(code, home) for code in RULES],
            }
        },
        "automationDetails": {"id": "kernelprof gate/"},
        "invocations": [{"executionSuccessful": True, "exitCode": int(result.exit_code)}],
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "The root of the checkout that was profiled."}}
        },
        "columnKind": "unicodeCodePoints",
        "results": _results(result, _lines(result) if lines is None else lines),
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _lines(result: GateResult) -> dict[str, int]:
    """The line at which each kernel of a known source is defined, by the kernel's name."""
    from kernelprof.launch.signature import kernels

    found: dict[str, int] = {}
    texts = result.comparison.after.sources
    for each in result.comparison.kernels:
        inputs = each.after.inputs if each.after is not None else None
        text = texts.get(inputs.source_sha256) if inputs is not None else None
        if text is None:
            continue
        for kernel in kernels(text):
            if kernel.name.rpartition("::")[2] == function_name(each.name):
                found[each.name] = kernel.line
    return found


WRITER: Final = Writer("sarif", ".sarif", write, kinds=("gate",))


def _rule(code: Code, home: str | None) -> _Json:
    rule = RULES[code]
    return {
        "id": code.value,
        "name": "".join(part.capitalize() for part in code.value.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.meaning},
        "help": {
            "text": f"{rule.meaning} {rule.advice}",
            "markdown": f"{rule.meaning}\n\n{rule.advice}",
        },
        **({"helpUri": f"{home}#findings"} if home else {}),
        "defaultConfiguration": {"level": _LEVELS.get(rule.outcome, "note")},
        "properties": {"tags": ["performance", "cuda"]},
    }


def _by_code(findings: Iterable[Finding]) -> dict[Code, list[Finding]]:
    """The findings that have a rule, those of one code together."""
    grouped: dict[Code, list[Finding]] = {}
    for each in findings:
        if each.code in RULES:
            grouped.setdefault(each.code, []).append(each)
    return grouped


def _results(result: GateResult, lines: Mapping[str, int]) -> list[_Json]:
    """Those of the kernels, then those of none."""
    named = labels([each.kernel for each in result.kernels])
    found: list[tuple[KernelResult | None, str, Iterable[Finding]]] = [
        (kernel, detail, kernel.findings)
        for kernel, (_, detail) in zip(result.kernels, named, strict=True)
    ]
    return [
        _one(code, together, kernel, detail, result=result, lines=lines)
        for kernel, detail, findings in [*found, (None, "", result.general)]
        for code, together in _by_code(findings).items()
    ]


def _one(
    code: Code,
    findings: list[Finding],
    kernel: KernelResult | None,
    detail: str,
    *,
    result: GateResult,
    lines: Mapping[str, int],
) -> _Json:
    name = "" if kernel is None else kernel.kernel.name
    text = "; ".join(each.text for each in findings)
    if kernel is not None:
        text = f"{' '.join(filter(None, (short_name(name), detail)))}: {text}"
    worst = max((each.outcome for each in findings), key=list(Outcome).index)
    level = _LEVELS.get(worst, "note")
    if worst is Outcome.INCONCLUSIVE and result.inconclusive_passes and code not in PROPOSED:
        level = "note"
    elif worst is Outcome.INCONCLUSIVE and result.fails_inconclusive:
        level = "error"
    identity = "\0".join((code.value, name, detail)).encode("utf-8", "surrogatepass")
    return {
        "ruleId": code.value,
        "ruleIndex": list(RULES).index(code),
        "level": level,
        "message": {"text": _plain(text)},
        "locations": [_location(kernel, name, result, lines)],
        "partialFingerprints": {FINGERPRINT: hashlib.sha256(identity).hexdigest()},
    }


def _location(
    kernel: KernelResult | None, name: str, result: GateResult, lines: Mapping[str, int]
) -> _Json:
    """The kernel in its source; the baseline where no source is known.

    GitHub refuses results without a file and a line.
    """
    sides = () if kernel is None else (kernel.kernel.after, kernel.kernel.before)
    inputs = [side.inputs for side in sides if side is not None and side.inputs is not None]
    path = inputs[0].path if inputs else result.comparison.before.origin
    location: _Json = {
        "physicalLocation": {
            "artifactLocation": _artifact(path),
            "region": {"startLine": max(lines.get(name, 1), 1) if inputs else 1},
        }
    }
    if name:
        function = {"fullyQualifiedName": printable(name), "kind": "function"}
        location["logicalLocations"] = [function]
    return location


def _artifact(path: str) -> _Json:
    """A path as a URI: relative to the checkout unless it is absolute."""
    tidy = posixpath.normpath(path)
    uri = quote(tidy, safe="/", errors="replace")
    if tidy.startswith("/"):
        return {"uri": f"file:///{uri.lstrip('/')}"}
    return {"uri": uri, "uriBaseId": _ROOT}


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
    named = dict(each.split(", ", 1) for each in urls if ", " in each)
    return named.get("Documentation")
