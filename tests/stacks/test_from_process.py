"""A crashed process, held in its handler: its stacks and its fault are taken, and it is handed back as it came."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from building import sentences
from dying import ON_X86_64, held, state, waiting
from running import wait_until

from triage.crash import NativeFrame, Thread
from triage.frames import name_of
from triage.stacks import Collected, from_process

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are held on Linux only")


@pytest.fixture(autouse=True)
def _tools(require: Callable[[str], None]) -> None:
    require("gdb")
    require("ptrace")


def crashed_thread(collected: Collected) -> Thread:
    (thread,) = (thread for thread in collected.threads if thread.crashed)
    return thread


def is_handed_back(pid: int) -> bool:
    status = state(pid)
    return status["State"].startswith("T") and status["TracerPid"] == "0"


@ON_X86_64
@pytest.mark.parametrize(
    ("kind", "signal", "access", "instruction"),
    [
        ("read", "SIGSEGV", "read", None),
        ("write", "SIGSEGV", "write", None),
        ("jump", "SIGSEGV", "execute", None),
        ("abort", "SIGABRT", None, None),
        ("divide", "SIGFPE", None, "div ecx"),
        ("illegal", "SIGILL", None, "ud2"),
        ("bus", "SIGBUS", "read", None),
    ],
)
def test_every_kind_of_crash_has_its_signal_its_fault_and_both_stacks(
    kind: str, signal: str, access: str | None, instruction: str | None, tmp_path: Path
) -> None:
    with held(tmp_path, kind) as pid:
        collected = from_process(pid, crashed=True)
        assert is_handed_back(pid)
    assert sentences(collected.missing) == ()
    assert collected.fault
    assert (collected.fault.signal, collected.fault.access) == (signal, access)
    if instruction:
        assert collected.fault.instruction == instruction
    assert {"rip", "rsp", "rax"} <= dict(collected.fault.registers).keys()
    thread = crashed_thread(collected)
    assert kind in {frame.function for frame in thread.python_stack}
    assert thread.python_stack[-1].function == "<module>"
    assert thread.native_stack
    assert not {"sleep", "raise", "_PyEval_EvalFrameDefault"} & {name_of(frame) for frame in thread.native_stack}


def test_the_address_that_was_touched_is_found_and_the_functions_that_led_there(tmp_path: Path) -> None:
    with held(tmp_path, "read") as pid:
        collected = from_process(pid, crashed=True)
    assert collected.fault
    assert collected.fault.address == 8
    names = [name_of(frame) for frame in crashed_thread(collected).native_stack]
    assert "string_at" in names
    assert names.index("string_at") < names.index("ffi_call")
    assert all(frame.trust == "cfi" for frame in crashed_thread(collected).native_stack)
    assert collected.python == ".".join(map(str, sys.version_info[:2]))


def test_of_an_abort_the_caller_is_shown(tmp_path: Path) -> None:
    with held(tmp_path, "abort") as pid:
        collected = from_process(pid, crashed=True)
    assert name_of(crashed_thread(collected).native_stack[0]) == "abort"
    assert collected.fault
    assert collected.fault.address is None


def test_a_jump_to_nowhere_still_shows_who_jumped(tmp_path: Path) -> None:
    with held(tmp_path, "jump") as pid:
        collected = from_process(pid, crashed=True)
    nowhere, *callers = crashed_thread(collected).native_stack
    assert nowhere == NativeFrame(None, None, None, "cfi")
    assert "ffi_call" in {name_of(frame) for frame in callers}


def test_a_crash_in_a_thread_marks_that_thread_and_no_other(tmp_path: Path) -> None:
    with held(tmp_path, "read", "worker") as pid:
        collected = from_process(pid, crashed=True)
    assert len(collected.threads) == 2
    assert "read" in {frame.function for frame in crashed_thread(collected).python_stack}
    assert collected.fault
    # a thread's stack is a mapping of its own, whose size is its limit
    assert 0 < (collected.fault.stack_used_bytes or 0) < (collected.fault.stack_limit_bytes or 0)


def test_a_thread_that_does_not_run_python_crashes_too(tmp_path: Path) -> None:
    with held(tmp_path, "native_thread") as pid:
        collected = from_process(pid, crashed=True)
        assert is_handed_back(pid)
    thread = crashed_thread(collected)
    assert thread.python_stack == ()
    assert thread.native_stack[0].module is not None
    assert thread.native_stack[0].module.startswith("libc")
    assert collected.fault
    assert collected.fault.address == 8


def test_a_stack_that_overflowed_is_read_and_cut_short(tmp_path: Path) -> None:
    with held(tmp_path, "overflow") as pid:
        collected = from_process(pid, crashed=True)
        assert is_handed_back(pid)
    assert sentences(collected.missing) == ()
    assert collected.fault
    used, limit = collected.fault.stack_used_bytes, collected.fault.stack_limit_bytes
    assert used is not None and limit is not None and 0.98 * limit < used <= limit
    thread = crashed_thread(collected)
    assert 50 <= sum(frame.function == "__getattr__" for frame in thread.python_stack) < 200
    assert any("more frames]" in frame.function for frame in thread.python_stack)
    assert 0 < len(thread.native_stack) < 600


def test_names_of_files_and_functions_in_any_script_are_read(tmp_path: Path) -> None:
    with held(tmp_path, "大きさ", script="é.py") as pid:
        frames = crashed_thread(from_process(pid, crashed=True)).python_stack
    assert [frame.function for frame in frames] == ["string_at", "read", "größe", "大きさ", "<module>"]
    assert {Path(frame.file).name for frame in frames[1:]} == {"é.py"}


def test_an_abort_has_the_function_that_asked_for_it_and_not_the_one_behind_it(tmp_path: Path) -> None:
    with held(tmp_path, "abort") as pid:
        names = [name_of(frame) for frame in crashed_thread(from_process(pid, crashed=True)).native_stack]
    assert names[0] == "abort"
    assert {name.removesuffix("_impl") for name in names[1:]} == {"os_abort"}


def test_a_hang_has_the_stacks_of_all_threads_and_nobody_crashed(tmp_path: Path) -> None:
    with waiting(tmp_path, "worker") as pid:
        collected = from_process(pid, crashed=False)
        assert is_handed_back(pid)
    assert sentences(collected.missing) == ()
    assert collected.fault is None
    assert len(collected.threads) == 2
    assert not any(thread.crashed for thread in collected.threads)
    assert all(thread.python_stack and thread.native_stack for thread in collected.threads)
    assert {"wait", "join"} <= {frame.function for thread in collected.threads for frame in thread.python_stack}


def test_without_gdb_the_stacks_are_there_and_a_sentence_says_how_to_get_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(tmp_path, "read", "worker") as pid:
        monkeypatch.setenv("PATH", str(tmp_path))
        collected = from_process(pid, crashed=True)
        assert is_handed_back(pid)
    (sentence,) = sentences(collected.missing)
    assert sentence.startswith("registers, faulting instruction and fault address: gdb is not installed")
    assert "crash-triage[gdb]" in sentence
    assert collected.fault is None
    thread = crashed_thread(collected)
    assert "read" in {frame.function for frame in thread.python_stack}
    assert not {"sleep", "raise"} & {name_of(frame) for frame in thread.native_stack}


def without_pystack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand the child a path on which pystack is not; gdb's side is imported before, from the real one."""
    import pygdbmi.IoManager  # noqa: F401

    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])


@pytest.mark.parametrize("kind", ["read", "abort"])
def test_without_pystack_gdb_gives_the_native_stack(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(tmp_path, kind, "worker") as pid:
        without_pystack(monkeypatch)
        collected = from_process(pid, crashed=True)
        assert is_handed_back(pid)
    (sentence,) = sentences(collected.missing)
    assert sentence == "Python stack: pystack is not installed; install it with 'pip install pystack'"
    thread = crashed_thread(collected)
    assert thread.python_stack == ()
    wanted = {"read": "ffi_call", "abort": "abort"}[kind]
    assert wanted in {name_of(frame) for frame in thread.native_stack}
    assert not {"sleep", "raise"} & {name_of(frame) for frame in thread.native_stack}


def test_without_either_nothing_is_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(tmp_path, "read") as pid:
        monkeypatch.setenv("PATH", str(tmp_path))
        without_pystack(monkeypatch)
        collected = from_process(pid, crashed=True)
    assert collected.threads == ()
    assert [sentence.split(":")[0] for sentence in sentences(collected.missing)] == [
        "native stack and Python stack",
        "registers, faulting instruction and fault address",
    ]


def test_a_program_that_is_not_python_has_a_native_stack(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        wait_until(lambda: state(process.pid)["State"].startswith("S"))
        collected = from_process(process.pid, crashed=False)
        # It was not stopped before, and is not now: it may run for a moment to fall asleep again.
        wait_until(lambda: state(process.pid)["State"].startswith("S"))
        assert state(process.pid)["TracerPid"] == "0"
    finally:
        process.kill()
        process.wait()
    assert "nanosleep" in " ".join(name_of(frame) for frame in collected.threads[0].native_stack)
    (sentence,) = sentences(collected.missing)
    assert sentence.startswith("Python stack: pystack finds no Python")


def test_a_process_that_is_gone_is_reported_as_gone(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    waits_to_be_reaped = from_process(process.pid, crashed=True)
    process.wait()
    reaped = from_process(process.pid, crashed=True)
    expected = (f"native stack: process {process.pid} had ended before its stack could be taken; run it again",)
    assert sentences(waits_to_be_reaped.missing) == sentences(reaped.missing) == expected


def test_a_budget_is_kept_and_the_process_is_still_handed_back(tmp_path: Path) -> None:
    with held(tmp_path, "read") as pid:
        start = time.monotonic()
        collected = from_process(pid, crashed=True, budget=0.15)
        assert time.monotonic() - start < 5
        assert is_handed_back(pid)
        assert any("took too long" in sentence for sentence in sentences(collected.missing))
        again = from_process(pid, crashed=True)
    assert sentences(again.missing) == ()
    assert crashed_thread(again).python_stack


def test_a_process_that_a_debugger_already_traces_is_refused_with_the_reason(tmp_path: Path) -> None:
    with held(tmp_path, "read") as pid:
        debugger = subprocess.Popen(
            ["gdb", "--nx", "--quiet", "-p", str(pid)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=-1
        )
        try:
            until = time.monotonic() + 20
            while state(pid)["TracerPid"] == "0" and time.monotonic() < until:
                time.sleep(0.02)
            collected = from_process(pid, crashed=True)
        finally:
            debugger.kill()
            debugger.communicate()
    (sentence,) = sentences(collected.missing)
    assert f"process {debugger.pid} is tracing it already" in sentence


WITHOUT_THE_RIGHT = """
import ctypes, sys
libc = ctypes.CDLL(None)
ptrace, drop_from_bounding_set = 19, 24
assert libc.prctl(drop_from_bounding_set, ptrace, 0, 0, 0) == 0
header, sets = (ctypes.c_uint * 2)(0x20080522, 0), (ctypes.c_uint * 6)()
assert libc.capget(header, sets) == 0
for number in range(3):
    sets[number] &= ~(1 << ptrace)
assert libc.capset(header, sets) == 0
from triage.stacks import from_process
print(*(gap.sentence for gap in from_process(int(sys.argv[1]), crashed=True).missing), sep="\\n")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a right to drop")
def test_where_the_kernel_refuses_one_sentence_says_why_and_what_to_do(tmp_path: Path) -> None:
    with held(tmp_path, "read") as pid:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_THE_RIGHT, str(pid)], capture_output=True, text=True, timeout=60
        )
        assert is_handed_back(pid)
    (sentence,) = done.stdout.splitlines()
    assert sentence.startswith(f"native stack: the kernel does not let triage look into process {pid} (")
    assert any(remedy in sentence for remedy in ("--cap-add=SYS_PTRACE", "ptrace_scope", "as root"))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    with held(tmp_path, "jump") as pid:
        from_process(pid, crashed=True)
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    assert children == [str(pid)]
    assert list(scratch.iterdir()) == []
