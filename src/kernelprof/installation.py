"""How kernelprof was installed here, and the command that adds an optional part in the same way."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Collection

_PACKAGE: Final = "kernelprof"
_UV_RECEIPT: Final = "uv-receipt.toml"
_PIPX_RECEIPT: Final = "pipx_metadata.json"
UV_TOOL: Final = "uv tool install"


@dataclass(frozen=True, slots=True)
class Installation:
    """The ``command`` that installs packages beside kernelprof, and what kernelprof came from.

    ``place`` is a folder or an address, empty for the package index. ``extras`` are the optional
    parts that the command would otherwise remove.
    """

    command: str = "pip install"
    place: str = ""
    editable: bool = False
    extras: tuple[str, ...] = ()

    def add_extra(self, extra: str) -> str:
        """Return the command that adds an optional part of kernelprof."""
        return self._with_extras({*self.extras, extra})

    def add_packages(self, *names: str) -> str:
        """Return the command that adds other packages beside kernelprof."""
        if self.command != UV_TOOL:
            return f"{self.command} {' '.join(names)}"
        return f"{self._with_extras(self.extras)} {' '.join(f'--with {each}' for each in names)}"

    def _with_extras(self, extras: Collection[str]) -> str:
        parts = f"[{','.join(sorted(extras))}]" if extras else ""
        if "://" in self.place:
            requirement = f"{_PACKAGE}{parts} @ {self.place}"
        else:
            requirement = f"{self.place or _PACKAGE}{parts}"
        return f"{self.command} {'-e ' * self.editable}'{requirement}'"


def install_command(extra: str) -> str:
    """Return the command that adds an optional part, such as ``predict``, as a shell takes it."""
    return find_installation().add_extra(extra)


def packages_command(*names: str) -> str:
    """Return the command that adds other packages beside kernelprof."""
    return find_installation().add_packages(*names)


@cache
def find_installation() -> Installation:
    """Return how this very kernelprof was installed: pip, pipx, ``uv tool``, ``uv pip``."""
    prefix = Path(sys.prefix)
    place, editable = _origin()
    extras: tuple[str, ...] = ()
    if (prefix / _UV_RECEIPT).is_file():
        command, extras = UV_TOOL, _extras_of_tool(prefix / _UV_RECEIPT)
    elif (prefix / _PIPX_RECEIPT).is_file():
        command = f"pipx runpip {_PACKAGE} install"
    elif util.find_spec("pip") is None and _made_by_uv(prefix):
        command = f"uv pip install --python {shlex.quote(sys.executable)}"
    else:
        pip = shutil.which("pip")
        is_ours = pip is not None and Path(pip).parent == Path(sys.executable).parent
        command = "pip install" if is_ours else f"{shlex.quote(sys.executable)} -m pip install"
    return Installation(command, place, editable, extras)


def _origin() -> tuple[str, bool]:
    """Return what a folder, file or repository was installed from, and whether it is editable."""
    record: dict[str, Any] = {}
    with suppress(metadata.PackageNotFoundError, ValueError):
        text = metadata.distribution(_PACKAGE).read_text("direct_url.json")
        record = json.loads(text) if text else {}
    address = str(record.get("url", ""))
    if address.startswith("file://"):
        address = unquote(urlsplit(address).path)
    if version := record.get("vcs_info"):
        address = f"{version.get('vcs', 'git')}+{address}"
    return address, bool(record.get("dir_info", {}).get("editable"))


def _extras_of_tool(receipt: Path) -> tuple[str, ...]:
    import tomllib

    with suppress(OSError, ValueError):
        tool = tomllib.loads(receipt.read_text(encoding="utf-8")).get("tool", {})
        for each in tool.get("requirements", ()):
            if each.get("name") == _PACKAGE:
                return tuple(each.get("extras", ()))
    return ()


def _made_by_uv(prefix: Path) -> bool:
    with suppress(OSError):
        return "\nuv = " in f"\n{(prefix / 'pyvenv.cfg').read_text(encoding='utf-8')}"
    return False
