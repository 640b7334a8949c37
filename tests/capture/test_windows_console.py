"""What of a console's lines is new since the program began."""

from __future__ import annotations

from triage.capture.windows.console import new_lines


def test_lines_below_the_old_ones_are_new() -> None:
    assert new_lines(["C:\\>dir", "C:\\>triage run a.py", ""], ["C:\\>dir", "C:\\>triage run a.py", "one", "two"]) == [
        "one",
        "two",
    ]


def test_old_lines_may_have_moved_out_at_the_top() -> None:
    assert new_lines(["a", "b", "c", ""], ["c", "one", "two", "three"]) == ["one", "two", "three"]


def test_the_line_with_the_cursor_may_have_been_written_on() -> None:
    assert new_lines(["a", "half a "], ["a", "half a line", "next"]) == ["line", "next"]


def test_a_console_that_was_cleared_or_filled_is_all_new() -> None:
    assert new_lines(["a", "b", "c"], ["x", "y", "z"]) == ["x", "y", "z"]


def test_an_empty_console() -> None:
    assert new_lines([], ["one"]) == ["one"]
    assert new_lines(["a"], []) == []
