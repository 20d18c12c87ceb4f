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
from kernelprof.model.gate import Outcome
from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import printable, short_name
from kernelprof.report.writers import Writer
from kernelprof.resources import VERSION

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
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [_run(result, _lines(result) if lines is None else lines, docs)],
    }
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


def _run(result: GateResult, lines: Mapping[str, int], docs: str | None) -> _Json:
    home = docs or _documentation()
    return {
        "tool": {
            "driver": {
                "name": "kernelprof",
                "version": VERSION,
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
        "results": _Results(result, lines).all(),
    }


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


class _Results:
    """Makes the results of one gate."""

    def __init__(self, result: GateResult, lines: Mapping[str, int]) -> None:
        self.result = result
        self.lines = lines
        named = labels([each.kernel for each in result.kernels])
        self.kernels = list(zip(result.kernels, (detail for _, detail in named), strict=True))

    def all(self) -> list[_Json]:
        """Those of the kernels, then those of none."""
        found = [
            self._one(code, findings, kernel, detail)
            for kernel, detail in self.kernels
            for code, findings in _by_code(kernel.findings).items()
        ]
        general = _by_code(self.result.general)
        return found + [self._one(code, findings) for code, findings in general.items()]

    def _one(
        self,
        code: Code,
        findings: list[Finding],
        kernel: KernelResult | None = None,
        detail: str = "",
    ) -> _Json:
        name = "" if kernel is None else kernel.kernel.name
        text = "; ".join(each.text for each in findings)
        if kernel is not None:
            text = f"{' '.join(filter(None, (short_name(name), detail)))}: {text}"
        worst = max((each.outcome for each in findings), key=list(Outcome).index)
        identity = "\0".join((code.value, name, detail)).encode("utf-8", "surrogatepass")
        return {
            "ruleId": code.value,
            "ruleIndex": list(RULES).index(code),
            "level": self._level(worst),
            "message": {"text": _plain(text)},
            "locations": [self._location(kernel)],
            "partialFingerprints": {FINGERPRINT: hashlib.sha256(identity).hexdigest()},
        }

    def _level(self, outcome: Outcome) -> str:
        if outcome is Outcome.INCONCLUSIVE and self.result.inconclusive_passes:
            return "note"
        if outcome is Outcome.INCONCLUSIVE and self.result.fails_inconclusive:
            return "error"
        return _LEVELS.get(outcome, "note")

    def _location(self, kernel: KernelResult | None) -> _Json:
        """The kernel in its source; the baseline where no source is known.

        GitHub refuses results without a file and a line.
        """
        sides = () if kernel is None else (kernel.kernel.after, kernel.kernel.before)
        inputs = [side.inputs for side in sides if side is not None and side.inputs is not None]
        name = "" if kernel is None else kernel.kernel.name
        path = inputs[0].path if inputs else self.result.comparison.before.origin
        location: _Json = {
            "physicalLocation": {
                "artifactLocation": _artifact(path),
                "region": {"startLine": max(self.lines.get(name, 1), 1) if inputs else 1},
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
