"""Confines a process to the files that it needs, without network, where the system can (Linux).

Landlock restricts files and TCP, seccomp every other socket; neither needs privileges. Numbers and
structures are those of ``linux/landlock.h``, ``linux/seccomp.h`` and ``linux/filter.h``.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_RIGHTS_OF_VERSION: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights on files each version of Landlock knows; later ones know as many as the last."""
_TCP: Final = 0b11
FIRST_WITH_TCP: Final = 4

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _DENY = 0x7FFF0000, 0x00050000 | 13
_ARCHITECTURE_AT: Final = 4
"""Offset of the architecture in ``struct seccomp_data``; the number of the call is at 0."""
_SOCKET_CALLS: Final = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""The architecture as seccomp names it, and the number of ``socket`` there."""
_IO_URING: Final = 425
"""Its queue opens sockets as well."""
_X32: Final = 0x40000000
"""From here on calls have the numbers of the x32 interface."""

_SYSTEM: Final = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
"""What loading a library reads."""


@cache
def version() -> int:
    """The version of Landlock that the kernel has, 0 where it has none."""
    if sys.platform != "linux":
        return 0
    answered = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    return max(int(answered), 0)


def confine(reads: Iterable[Path]) -> bool:
    """Let this process read what Python and libraries need and what lies below ``reads``, no more.

    It then writes no file and opens no connection. There is no way back. Returns whether the system
    could do it; nothing has changed where it could not.
    """
    landlock = version()
    if not landlock:
        return False
    handled = (1 << _RIGHTS_OF_VERSION.get(landlock, 16)) - 1
    tcp = _TCP if landlock >= FIRST_WITH_TCP else 0
    attributes = struct.pack("=QQ", handled, tcp)[: 16 if tcp else 8]
    libc = _libc()
    rules = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if rules < 0 or libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    for path in (*python_folders(), *map(Path, _SYSTEM), *reads):
        _allow_reads(libc, rules, path)
    done = libc.syscall(_RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return done and _refuse_sockets(libc)


def _allow_reads(libc: ctypes.CDLL, rules: int, path: Path) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not on this system
        return
    rights = _READ_FILE | (_READ_DIR if path.is_dir() else 0)
    libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
    os.close(opened)


def _refuse_sockets(libc: ctypes.CDLL) -> bool:
    machine = _SOCKET_CALLS.get(platform.machine())
    if machine is None:
        return False
    architecture, socket = machine
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 0, 4, architecture),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 2, 0, _X32),
        (_EQUAL, 1, 0, socket),
        (_EQUAL, 0, 1, _IO_URING),
        (_RETURN, 0, 0, _DENY),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    return bool(libc.prctl(_SET_SECCOMP, _FILTER_MODE, program, 0, 0) == 0)


def python_folders() -> set[Path]:
    """Where Python, its packages and this one are; not the current folder."""
    names = (*sys.path, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    here = Path.cwd()
    return {each.resolve() for each in map(Path, names) if each.is_absolute() and each != here}


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
