"""What is done alike on every system with what a run left behind."""

from __future__ import annotations

from triage.capture.assemble import Text, environment_of_run, hidden_log, read_text
from triage.capture.faults import Note
from triage.crash import Environment, Library


def test_what_only_the_output_tells_of_the_machine_is_kept_beside_what_was_measured() -> None:
    measured = Environment(os="linux", packages=(("numpy", "2.0"),), gpus=("NVIDIA Tesla T4",))
    told = Environment(os="windows", packages=(("numpy", "1.0"),), gpus=("Tesla T4",), driver="535.1", capability="7.5")
    both = environment_of_run(measured, told)
    assert (both.driver, both.capability) == ("535.1", "7.5")
    assert (both.os, both.package("numpy"), both.gpus) == ("linux", "2.0", ("NVIDIA Tesla T4",))


def test_a_log_is_not_hidden_where_tensorflow_was_never_loaded() -> None:
    note = Note(log_level="3", log_level_set_by="script")
    assert hidden_log(note, ()) == hidden_log(note, [Library("libtensorflow_cc.so.2")]) is not None
    assert hidden_log(note, [Library("libc.so.6")]) is None


def test_what_cannot_be_read_is_a_gap_with_its_name() -> None:
    (gap,) = read_text(Text("output", b"\x89PNG\r\n\x1a\n" + bytes(64)), 3).gaps
    assert (gap.what, gap.why, gap.subject) == ("input", "unreadable", "output")
