"""How a program ended that did not end by itself, and that we had to end."""

from __future__ import annotations

from triage.crash import ExitStatus


def status_of_stopped(stopped_by: str | None, after: float) -> ExitStatus | None:
    """The exit status of a program that was ended for its time or for a Ctrl-C without effect, else None."""
    if stopped_by == "timeout":
        meaning = f"it was still running after {after:.0f} s, and triage ended it"
        return ExitStatus(code=124, name="timeout", kind="timeout", meaning=meaning)
    if stopped_by == "interrupt":
        meaning = f"Ctrl-C did not end it, nor did a second one, and triage ended it after {after:.0f} s"
        return ExitStatus(code=130, name="timeout", kind="timeout", meaning=meaning)
    return None
