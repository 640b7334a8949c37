"""Windows Error Reporting's own dumps (LocalDumps): where an administrator has set them up, they are found. Never set
up by us: the key is the machine's, and only read."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

KEY = r"SOFTWARE\Microsoft\Windows\Windows Error Reporting\LocalDumps"
_DEFAULT_FOLDER = r"%LOCALAPPDATA%\CrashDumps"
_DUMP = re.compile(r"(?i)(.+?)(?:\(\d+\))?\.(\d+)\.dmp")

Settings = Callable[[str], "Mapping[str, object] | None"]


def folder_for(program: str, settings: Settings | None = None) -> Path | None:
    """The folder of a program's dumps; None where no administrator has asked for any.

    `settings` gives the values of a key below HKEY_LOCAL_MACHINE, or None where there is no such key.
    """
    look = settings or _values
    general, own = look(KEY), look(f"{KEY}\\{program}")
    if general is None and own is None:
        return None
    folder = (own or {}).get("DumpFolder") or (general or {}).get("DumpFolder") or _DEFAULT_FOLDER
    return Path(_expanded(str(folder)))


def dump_of(program: str, pid: int, folder: Path) -> Path | None:
    """The dump of one process: PROGRAM.PID.dmp, or PROGRAM(1).PID.dmp where there was one of that name."""
    try:
        found = [path for path in folder.iterdir() if _is_dump_of(path.name, program, pid)]
        return max(found, key=lambda path: path.stat().st_mtime, default=None)
    except OSError:
        return None


def _is_dump_of(name: str, program: str, pid: int) -> bool:
    parts = _DUMP.fullmatch(name)
    return parts is not None and parts[1].lower() == program.lower() and parts[2] == str(pid)


def how_to_set_up(program: str) -> str:
    """The sentence for a machine on which Windows keeps no dumps: what an administrator types."""
    key = f'"HKLM\\{KEY}\\{program}"'
    return (
        "Windows keeps no dump of its own here; an administrator can turn that on with\n"
        f"  reg add {key} /v DumpType /t REG_DWORD /d 1 /f\n"
        f"  reg add {key} /v DumpCount /t REG_DWORD /d 10 /f\n"
        "or run it again without --no-debugger, which needs no rights."
    )


def _expanded(folder: str) -> str:
    """The folder with its %NAMES% filled in; os.path.expandvars does that on Windows only."""
    return re.sub(r"%([^%]+)%", lambda name: os.environ.get(name[1].upper(), name[0]), folder)


def _values(key: str) -> Mapping[str, object] | None:
    if sys.platform != "win32":
        return None
    import winreg

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key, 0, winreg.KEY_READ | winreg.KEY_WOW64_64KEY) as opened:
            count = winreg.QueryInfoKey(opened)[1]
            return {name: value for name, value, _ in (winreg.EnumValue(opened, n) for n in range(count))}
    except OSError:
        return None
