"""The child's standard error, and its output where that goes to the same place: passed on at once, its ends kept.

The child gets what it would have without us: a terminal of the same size for a terminal, a pipe for a pipe. Standard
output that goes elsewhere is not touched at all. Where both go to the same place one channel serves both, because two
would mix up the order of the lines.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import Any

from triage.capture.supervision import PIECE, Kept, tail_of


class Output:
    """The link between the child's descriptors 1 and 2 and ours."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.source = -1
        self._inside = -1
        self._files: list[tuple[int, int]] = []
        self._terminal = False
        self._modes: list[Any] | None = None
        self._outer: list[Any] | None = None
        self._name = ""
        self._keys: Keyboard | None = None
        self.output_is_read = False
        errors, output = _status(2), _status(1)
        self._both = errors is not None and output is not None and os.path.samestat(errors, output)
        if output is not None and not self._both and stat.S_ISREG(output.st_mode):
            self._files.append((1, _end_of(1)))
            self.output_is_read = True
        self.output_is_read |= self._both
        if errors is None:
            return
        if stat.S_ISREG(errors.st_mode):
            self._files.append((2, _end_of(2)))
        elif os.isatty(2):
            self._open_terminal()
        else:
            self.source, self._inside = os.pipe()

    def file_actions(self) -> list[tuple[int, int, int]]:
        """How posix_spawn must arrange the child's descriptors."""
        if self._inside < 0:
            return []
        wanted = (1, 2) if self._both else (2,)
        return [(os.POSIX_SPAWN_DUP2, self._inside, descriptor) for descriptor in wanted]

    def started(self) -> None:
        """The child has its end; ours must be closed so that the stream can end."""
        if self._inside >= 0:
            os.close(self._inside)
            self._inside = -1
        if self.source >= 0:
            os.set_blocking(self.source, False)

    def pump(self) -> bool:
        """Pass on what there is; False when the stream has ended."""
        try:
            data = os.read(self.source, PIECE)
        except BlockingIOError:
            return True
        except OSError:  # a terminal's way of saying that nobody holds its other side
            data = b""
        if not data:
            self.close()
            return False
        self.kept.add(data)
        self.follow_modes()
        if not _passed_on(data):
            # Whoever read this has gone; the child must notice, as it would without us.
            self.close()
            return False
        return True

    def drain(self) -> None:
        """Pass on what is left, without waiting for a grandchild that holds the stream open."""
        while self.source >= 0:
            before = self.kept.passed
            if not self.pump() or self.kept.passed == before:
                break

    def logs(self) -> list[tuple[str, bytes]]:
        """What was printed, by the name of the stream; files that the child wrote to directly are read now."""
        name = "output" if self._both else "stderr"
        files = [("stdout" if fd == 1 else name, tail_of(_path_of(fd), start)) for fd, start in self._files]
        # Standard output in a file says nothing about the errors, which went through our hands.
        return files if any(fd == 2 for fd, _ in self._files) else [*files, (name, self.kept.content)]

    def leave_to_a_copier(self) -> None:
        """Leave it to a separate process to pass on what a grandchild that outlives the child still prints."""
        if self.source < 0 or os.fork() != 0:
            return
        try:
            os.set_blocking(self.source, True)
            os.setsid()
            # Whoever reads our output must not wait for us, and the terminal's modes are no longer ours to restore.
            for descriptor in (0, 1):
                with suppress(OSError):
                    os.close(descriptor)
            self._outer = None
            while self.pump():
                pass
        finally:
            os._exit(0)

    def close(self) -> None:
        """Restore the terminal and close our end."""
        self._stop_keys()
        if self._outer is not None:
            self._set_modes(self._outer)
            self._outer = None
        if self.source >= 0:
            os.close(self.source)
            self.source = -1

    def follow_size(self) -> None:
        """Give the child's terminal the size of ours."""
        if not self._terminal or self.source < 0:
            return
        import fcntl
        import termios

        with suppress(OSError):
            fcntl.ioctl(self.source, termios.TIOCSWINSZ, fcntl.ioctl(2, termios.TIOCGWINSZ, bytes(8)))

    def _open_terminal(self) -> None:
        import termios

        try:
            modes = termios.tcgetattr(2)
            self.source, self._inside = os.openpty()
            # The real terminal turns line ends into CR LF; once is enough.
            modes[1] &= ~termios.OPOST
            termios.tcsetattr(self._inside, termios.TCSANOW, modes)
        except (OSError, termios.error):
            return
        self._terminal = True
        self._name = os.ttyname(self._inside)
        self._modes = termios.tcgetattr(self._inside)
        self.follow_size()

    def follow_modes(self) -> None:
        """Follow a program that asks its output for single keys or no echo: the keys come from the real terminal."""
        if not self._terminal or self.source < 0:
            return
        import termios

        try:
            modes = termios.tcgetattr(self.source)
            if modes == (self._modes or modes) or os.tcgetpgrp(2) != os.getpgrp():
                return
            outer = termios.tcgetattr(2)
            if self._outer is None:
                self._outer = list(outer)
            # Input, local and key settings; how output is written is up to the real terminal.
            for part in (0, 3, 6):
                outer[part] = modes[part]
            self._set_modes(outer)
            self._modes = modes
        except (OSError, termios.error):
            return
        self._stop_keys()
        if not modes[3] & termios.ICANON and _is_opened_by_name(self._name):
            self._keys = Keyboard(self.source)

    def _stop_keys(self) -> None:
        if self._keys is not None:
            self._keys.stop()
            self._keys = None

    @staticmethod
    def _set_modes(modes: list[Any]) -> None:
        import termios

        with suppress(OSError, termios.error):
            termios.tcsetattr(2, termios.TCSANOW, modes)


class Keyboard:
    """Forwards keys to the child's terminal, for a pager that has opened its terminal by name.

    All other programs read standard input, which is the real terminal, and must not share the keys with us.
    """

    def __init__(self, terminal: int) -> None:
        from threading import Thread

        self._terminal = terminal
        self._stopped, self._stop = os.pipe()
        self._thread = Thread(target=self._type, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave the keys to standard input again."""
        os.close(self._stop)
        self._thread.join()
        os.close(self._stopped)

    def _type(self) -> None:
        import select

        while True:
            ready, _, _ = select.select([2, self._stopped], [], [])
            if self._stopped in ready:
                return
            try:
                os.write(self._terminal, os.read(2, 1024))
            except OSError:
                return


def _is_opened_by_name(terminal: str) -> bool:
    """Whether a process has a terminal open under another descriptor than the three that it was given."""
    for pid in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        with suppress(OSError):
            if pid.isdigit() and int(pid) != os.getpid():
                for number in os.listdir(f"/proc/{pid}/fd"):
                    if int(number) > 2 and os.readlink(f"/proc/{pid}/fd/{number}") == terminal:
                        return True
    return False


def _status(descriptor: int) -> os.stat_result | None:
    try:
        return os.fstat(descriptor)
    except OSError:
        return None


def _end_of(descriptor: int) -> int:
    return os.fstat(descriptor).st_size


def _path_of(descriptor: int) -> str:
    if sys.platform != "darwin":
        return f"/proc/self/fd/{descriptor}"
    import fcntl

    try:
        return fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode()
    except OSError:
        return ""  # its file is gone, and nothing can be read from it any more


def _passed_on(data: bytes) -> bool:
    """Write all of it to standard error; False when nobody is there to read it."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(2, left) :]
        except BlockingIOError:
            import select

            select.select([], [2], [])
        except OSError:
            return False
    return True
