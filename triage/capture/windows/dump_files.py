"""The files of dumps: where ours go, and where Windows Error Reporting keeps its own (LocalDumps).

Ours go to the user's state directory, which keeps the ten newest, or where --save says. Those of Windows exist where an
administrator has asked for them; the setting is the machine's, and we only read it.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from triage.readers.minidump.stored_frames import frames_beside

KEPT = 10
_PART = ".part"
_OURS = re.compile(r".*-\d{8}-\d{6}-\d+\.dmp")
_ABANDONED_AFTER = 24 * 3600
KEY = r"SOFTWARE\Microsoft\Windows\Windows Error Reporting\LocalDumps"
_DEFAULT_FOLDER = r"%LOCALAPPDATA%\CrashDumps"
_THEIRS = re.compile(r"(?i)(.+?)(?:\(\d+\))?\.(\d+)\.dmp")

Settings = Callable[[str], "Mapping[str, object] | None"]


def state_directory() -> Path:
    """The folder of this user's dumps."""
    from platformdirs import user_state_dir

    return Path(user_state_dir("triage", appauthor=False), "dumps")


class DumpPlaces:
    """Chooses the name of every dump of a run; a dump has a temporary name until it is whole."""

    def __init__(self, program: str, save: str | None = None, state: Path | None = None) -> None:
        self._stem = re.sub(r"[^\w.-]+", "_", Path(program.split()[-1]).stem if program.split() else "")[:40] or "crash"
        self._began = time.strftime("%Y%m%d-%H%M%S")
        self._is_ours = save is None
        self._file: Path | None = None
        if save is None:
            self._folder = state or state_directory()
        elif save.endswith(tuple(filter(None, (os.sep, os.altsep)))) or os.path.isdir(save):
            self._folder = Path(save)
        else:
            self._file = Path(os.path.abspath(save))
            self._folder = self._file.parent
        self._kept: list[Path] = []

    def prepare(self) -> None:
        """Make the folder; raises OSError where that is not possible."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def temporary(self, pid: int, kind: str) -> Path:
        """The name that a dump of a process has while it is written."""
        return self._folder / f"{self._stem}-{self._began}-{pid}.{kind}{_PART}"

    def keep(self, part: Path, pid: int) -> Path:
        """Give a whole dump its name; in our own folder the oldest are removed."""
        wanted = self._folder / f"{self._stem}-{self._began}-{pid}.dmp"
        if self._file is not None:
            wanted = (
                self._file if not self._kept else self._file.with_name(f"{self._file.stem}.{pid}{self._file.suffix}")
            )
        with suppress(OSError):
            frames_beside(wanted).unlink()
        os.replace(part, wanted)
        self._kept.append(wanted)
        if self._is_ours:
            remove_oldest(self._folder)
        return wanted


def remove_oldest(folder: Path, keep: int = KEPT, now: float | None = None) -> None:
    """Keep only our newest dumps in a folder, and remove what a killed run has left unfinished."""
    now = time.time() if now is None else now
    dumps: list[tuple[float, str]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if _OURS.fullmatch(entry.name):
                    dumps.append((entry.stat().st_mtime, entry.path))
                elif entry.name.endswith(_PART) and now - entry.stat().st_mtime > _ABANDONED_AFTER:
                    os.unlink(entry.path)
    for _, path in sorted(dumps, reverse=True)[keep:]:
        for old in (Path(path), frames_beside(Path(path))):
            with suppress(OSError):
                old.unlink()


def local_dumps_folder(program: str, settings: Settings | None = None) -> Path | None:
    """The folder of a program's own LocalDumps; None where no administrator has asked for any.

    `settings` gives the values of a key below HKEY_LOCAL_MACHINE, or None where there is no such key.
    """
    look = settings or _values
    general, own = look(KEY), look(f"{KEY}\\{program}")
    if general is None and own is None:
        return None
    folder = (own or {}).get("DumpFolder") or (general or {}).get("DumpFolder") or _DEFAULT_FOLDER
    return Path(_expanded(str(folder)))


def local_dump_of(program: str, pid: int, folder: Path) -> Path | None:
    """The dump of one process: PROGRAM.PID.dmp, or PROGRAM(1).PID.dmp where that name was taken."""
    try:
        found = [path for path in folder.iterdir() if _is_dump_of(path.name, program, pid)]
        return max(found, key=lambda path: path.stat().st_mtime, default=None)
    except OSError:
        return None


def how_to_set_up(program: str) -> str:
    """What an administrator types on a machine where Windows keeps no dumps, as a notice."""
    key = f'"HKLM\\{KEY}\\{program}"'
    return (
        "Windows keeps no dump of its own here; an administrator can turn that on with\n"
        f"  reg add {key} /v DumpType /t REG_DWORD /d 1 /f\n"
        f"  reg add {key} /v DumpCount /t REG_DWORD /d 10 /f\n"
        "or run it again without --no-debugger, which needs no rights."
    )


def local_dumps_of(program: str, pids: Iterable[int]) -> tuple[dict[int, Path], tuple[str, ...]]:
    """The dumps that Windows has kept of a run's processes, by pid, and sentences about them for the person."""
    folder = local_dumps_folder(program)
    if folder is None:
        return {}, (how_to_set_up(program),)
    found = {pid: dump for pid in pids if (dump := local_dump_of(program, pid, folder))}
    if not found:
        return {}, (f"Windows keeps dumps of {program} in {folder}, but there is none of this run.",)
    return found, tuple(f"the dump is {path}" for path in found.values())


def _is_dump_of(name: str, program: str, pid: int) -> bool:
    parts = _THEIRS.fullmatch(name)
    return parts is not None and parts[1].lower() == program.lower() and parts[2] == str(pid)


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
