"""Ctrl-C goes to the program; this decides when one that does not follow it is ended."""

from __future__ import annotations

# Two interrupts so close together, with nothing printed in between, mean that the first had no effect.
_INSISTENCE = 60.0
# A program may take this long to follow the second one, say to save what it has; a third one ends the wait.
_REACTING_TAKES_AT_MOST = 5.0


class Interrupts:
    """The times of Ctrl-C, each with how much the program had printed by then."""

    def __init__(self) -> None:
        self.came = False
        self._noted: list[tuple[float, int]] = []

    def note(self, now: float, said: int) -> None:
        """Another one; those to which the program has answered with output no longer count."""
        self.came = True
        self._noted = [(at, had) for at, had in self._noted if now - at < _INSISTENCE and had == said]
        self._noted.append((now, said))

    def have_no_effect(self, now: float, said: int) -> bool:
        """Whether a second one has had its time and no effect, or a third one says that nobody wants to wait."""
        if len(self._noted) != 2:
            return len(self._noted) > 2
        at, had = self._noted[-1]
        return now - at >= _REACTING_TAKES_AT_MOST and had == said
