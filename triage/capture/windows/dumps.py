"""Where dumps go: the user's state directory with the ten newest, or where --save says. No call of Windows."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

from triage.readers.minidump.stored_frames import frames_beside

KEPT = 10
_PART = ".part"
_OURS = re.compile(r".*-\d{8}-\d{6}-\d+\.dmp")
_ABANDONED_AFTER = 24 * 3600


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
        """Give a whole dump its name; in our own folder the oldest go."""
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
    """Leave the newest dumps of ours in a folder, and nothing that a killed run has left unfinished."""
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
