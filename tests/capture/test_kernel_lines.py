"""What the kernel wrote down about a process that none of our handlers saw die."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from running import CRASH, primary_of, report_on

from triage.capture.posix.system_records import _records, line_about

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /dev/kmsg")

OURS = 4711
SEGFAULT = "python[{}]: segfault at 8 ip 00007fbb394da219 sp 00007ffff9170648 error 4 in libc.so.6[156219,7fbb393aa000]"
# The kernel lets only ten such lines through in five seconds, whichever tests crash beside this one.
RATE_LIMIT = 5.5


class KernelLog:
    """A log as /dev/kmsg is one: each read takes one record, and behind the last a read would have to wait."""

    def __init__(self, path: str, write: Callable[[bytes], object]) -> None:
        self.path = path
        self.write = write

    def note(self, text: str, ago: float = 0.0, rest: str = "") -> str:
        """Write a record that is so many seconds old; the text is handed back."""
        microseconds = int((time.monotonic() - ago) * 1e6)
        self.write(f"6,1234,{microseconds},-;{text}\n{rest}".encode())
        return text


@pytest.fixture
def kernel_log() -> Iterator[KernelLog]:
    # A pipe in packet mode keeps its writes apart, as the kernel keeps its records.
    reading, writing = os.pipe2(os.O_DIRECT)
    yield KernelLog(f"/dev/fd/{reading}", lambda record: os.write(writing, record))
    os.close(reading)
    os.close(writing)


def read_or_skip() -> None:
    if not _records("/dev/kmsg"):
        pytest.skip("the kernel log may not be read here")


# which line


@pytest.mark.parametrize(
    "text",
    [
        SEGFAULT.format(OURS),
        f"traps: python3.11[{OURS}] trap invalid opcode ip:7f2a sp:7ffc error:0 in _op.so[1139,7f2a+1000]",
        f"traps: python[{OURS}] general protection fault ip:7f2a sp:7ffc error:0 in libc.so.6[18b0,7f2a+15600]",
        f"traps: python[{OURS}] trap divide error ip:7f2a sp:7ffc error:0 in libtensorflow_cc.so.2",
        f"python[{OURS}]: segfault at 7ffe ip 00007fbb sp 00007fff error 6 likely on CPU 1 (core 1, socket 0)",
    ],
    ids=["segfault", "illegal", "protection", "divide", "no-library"],
)
def test_a_fault_of_the_process_is_found(kernel_log, text):
    kernel_log.note("eth0: link is up")
    kernel_log.note(text)
    kernel_log.note("Code: fe 7f 5c 17 e1 c5 f8 77 c3 <c5> fd 74 0f")
    assert line_about(OURS, 1.0, kernel_log.path) == text


def test_a_process_may_call_itself_what_it_likes(kernel_log):
    text = kernel_log.note(f"ray::IDLE[{OURS}]: segfault at 0 ip 00007fbb sp 00007fff error 4 in _op.so[1139]")
    assert line_about(OURS, 1.0, kernel_log.path) == text


def test_a_thread_of_it_has_a_later_number_and_its_name(kernel_log):
    text = kernel_log.note(SEGFAULT.format(OURS + 3))
    assert line_about(OURS, 1.0, kernel_log.path) == text


def test_the_last_line_counts(kernel_log):
    kernel_log.note(SEGFAULT.format(OURS))
    last = kernel_log.note(f"traps: python[{OURS}] trap invalid opcode ip:7f2a sp:7ffc error:0 in _op.so")
    assert line_about(OURS, 1.0, kernel_log.path) == last


def test_its_own_number_beats_a_later_python(kernel_log):
    ours = kernel_log.note(SEGFAULT.format(OURS))
    kernel_log.note(SEGFAULT.format(OURS + 40))
    assert line_about(OURS, 1.0, kernel_log.path) == ours


@pytest.mark.parametrize(
    "text",
    [
        SEGFAULT.format(OURS - 1),
        SEGFAULT.format(f"{OURS}0").replace("python", "nginx"),
        SEGFAULT.format(OURS + 1).replace("python", "worker"),
        f"process {OURS} of python did something",
        f"audit: type=1701 pid={OURS} comm=python sig=11",
        f"Out of memory: Killed process {OURS} (python) total-vm:9223372kB",
        "",
    ],
    ids=["earlier-python", "longer-number", "later-program", "prose", "audit", "oom", "empty"],
)
def test_a_line_about_something_else_is_not_taken(kernel_log, text):
    kernel_log.note(text)
    assert line_about(OURS, 1.0, kernel_log.path) is None


def test_a_line_from_before_it_ran_is_of_another_process_that_had_its_number(kernel_log):
    kernel_log.note(SEGFAULT.format(OURS), ago=60.0)
    assert line_about(OURS, 1.0, kernel_log.path) is None


def test_a_line_from_while_it_ran_is_its_own(kernel_log):
    text = kernel_log.note(SEGFAULT.format(OURS), ago=60.0)
    assert line_about(OURS, 120.0, kernel_log.path) == text


def test_clocks_that_drifted_apart_by_a_little_do_not_hide_it(kernel_log):
    text = kernel_log.note(SEGFAULT.format(OURS), ago=3.0)
    assert line_about(OURS, 1.0, kernel_log.path) == text


# the records


def test_a_record_is_its_time_and_its_first_line(kernel_log):
    kernel_log.note("usb 1-1: new device", ago=10.0, rest=" SUBSYSTEM=usb\n DEVICE=c189:3\n")
    kernel_log.note("a text; with a semicolon, and commas")
    (first, usb), (second, text) = _records(kernel_log.path)
    assert second - first == pytest.approx(10.0, abs=1.0)
    assert (usb, text) == ("usb 1-1: new device", "a text; with a semicolon, and commas")


def test_the_end_of_the_log_is_not_waited_for(kernel_log):
    begun = time.monotonic()
    assert _records(kernel_log.path) == []
    assert time.monotonic() - begun < 1.0


def test_bytes_that_are_no_text_do_no_harm(kernel_log):
    kernel_log.write(b"6,1,5000000,-;caf\xe9\n")
    assert _records(kernel_log.path) == [(5.0, "caf\ufffd")]


def test_a_file_that_is_no_kernel_log_has_no_records(tmp_path):
    (tmp_path / "kmsg").write_text(SEGFAULT.format(OURS))
    assert line_about(OURS, 1.0, str(tmp_path / "kmsg")) is None


def test_a_log_that_is_not_there_has_no_line(tmp_path):
    assert line_about(OURS, 1.0, str(tmp_path / "kmsg")) is None


def test_a_log_that_cannot_be_read_has_no_line(tmp_path):
    assert line_about(OURS, 1.0, str(tmp_path)) is None


# the real thing


def test_the_log_of_this_machine_is_read_from_its_start_to_now():
    read_or_skip()
    stamps = [stamp for stamp, _ in _records("/dev/kmsg")]
    assert min(stamps) >= 0.0 and max(stamps) <= time.monotonic() + 5.0
    assert all(text == text.rstrip("\n") for _, text in _records("/dev/kmsg"))


def test_a_process_that_did_not_load_our_hook_still_has_its_fault(tmp_path):
    read_or_skip()
    (tmp_path / "script.py").write_text(CRASH + "die()\n")
    for _ in range(3):
        done, report = report_on(tmp_path, "--", sys.executable, "-I", "script.py", native=True)
        process = primary_of(report)
        if f"python[{process['pid']}]" in (line_about(process["pid"], 30.0) or ""):
            break
        time.sleep(RATE_LIMIT)
    else:
        pytest.skip("the kernel notes no faults of programs here")
    assert done.returncode == 139
    assert "kernel log" in [entry["name"] for entry in report["crash"]["inputs"]]
    assert (process["fault"]["address"], process["fault"]["access"]) == ("0x8", "read")
    (thread,) = process["threads"]
    assert thread["crashed"] and thread["python_stack"] == []
    assert thread["native_stack"][0]["module"].startswith("libc")
    assert any("our hook did not run" in text for text in report["not_observable"])


def test_a_process_that_was_held_needs_no_kernel_log(tmp_path):
    (tmp_path / "script.py").write_text(CRASH + "die()\n")
    _, report = report_on(tmp_path, "script.py")
    assert "kernel log" not in [entry["name"] for entry in report["crash"]["inputs"]]
