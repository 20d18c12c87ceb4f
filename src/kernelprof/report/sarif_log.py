"""What every SARIF 2.1.0 file of ours has in common: one run, its rules, places and messages.

GitHub's upload takes one run a tool and category, shows 5,000 results, and refuses results without
a file and a line.
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

from kernelprof.model.names import middle, printable
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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

Json = dict[str, Any]


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
    told = [{"level": "warning", "message": {"text": plain(note)}} for note in notes]
    invocation: Json = {"executionSuccessful": True, "exitCode": exit_code}
    if told:
        invocation["toolExecutionNotifications"] = told
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
    found: Json = {
        "physicalLocation": {
            "artifactLocation": _artifact(path),
            "region": {"startLine": max(line, 1)},
        }
    }
    if kernel:
        name = middle(printable(kernel), LONGEST_NAME)
        found["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "function"}]
    return found


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
    named = dict(each.split(", ", 1) for each in urls if ", " in each)
    return named.get("Documentation")


def _artifact(path: str) -> Json:
    """A path as a URI: relative to the checkout unless it is absolute."""
    tidy = posixpath.normpath(path)
    uri = quote(tidy, safe="/", errors="replace")
    if tidy.startswith("/"):
        return {"uri": f"file:///{uri.lstrip('/')}"}
    return {"uri": uri, "uriBaseId": _ROOT}
