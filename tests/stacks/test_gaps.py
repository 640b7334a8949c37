"""Why a process could not be looked into: we find out why, so that the advice fits the machine."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest
from building import sentences

from triage.stacks import gaps
from triage.stacks.debuggers import GdbAnswer
from triage.stacks.gdb import GdbFailed
from triage.stacks.pystack import PystackAnswer, PystackFailure, read_answer
from triage.stacks.untrusted_paths import Hazard, Refusal, RefusedFile

ME = os.getpid()
NOT_PERMITTED = b'{"error": "EngineError", "text": "Engine error: Operation not permitted"}'


def refused(path: str, hazard: Hazard, where: str = "") -> RefusedFile:
    return RefusedFile(path, Refusal(hazard, where))


def machine(
    monkeypatch: pytest.MonkeyPatch, *, scope: str | None, may_trace: bool, container: bool, seccomp: int = 0
) -> None:
    """A kernel that forbids what ours allows: its files say so."""
    rights = "000001ffffffffff" if may_trace else "000001fffff7ffff"
    files = {
        "/proc/sys/kernel/yama/ptrace_scope": scope,
        "/proc/self/status": f"CapEff:\t{rights}\nSeccomp:\t{seccomp}\n",
        f"/proc/{ME}/status": "TracerPid:\t0\n",
    }
    monkeypatch.setattr(gaps, "_read", files.get)
    monkeypatch.setattr(gaps, "in_container", lambda: container)


@pytest.mark.parametrize(
    ("scope", "may_trace", "container", "seccomp", "advice"),
    [
        ("1", False, False, 0, "sudo sysctl kernel.yama.ptrace_scope=0"),
        ("2", False, False, 0, "sudo sysctl kernel.yama.ptrace_scope=0"),
        ("3", True, False, 0, "analyze a core of it instead"),
        (None, False, True, 0, "docker run --cap-add=SYS_PTRACE"),
        ("1", False, True, 0, "docker run --cap-add=SYS_PTRACE"),
        (None, True, True, 2, "--security-opt seccomp=unconfined"),
        (None, True, False, 0, "run triage as root"),
    ],
)
def test_the_advice_fits_what_forbids_it(
    scope: str | None, may_trace: bool, container: bool, seccomp: int, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, scope=scope, may_trace=may_trace, container=container, seccomp=seccomp)
    sentence = gaps.not_permitted(ME, crashed=True).sentence
    assert sentence.startswith(f"native stack: the kernel does not let triage look into process {ME} (")
    assert advice in sentence
    assert "\n" not in sentence


def test_a_process_of_another_user_needs_that_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    assert "belongs to another user" in gaps.not_permitted(1, crashed=True).sentence


def test_a_refusal_is_one_sentence_and_not_two() -> None:
    by_pystack = read_answer(NOT_PERMITTED)
    by_gdb = GdbAnswer(failure=GdbFailed.from_text("ptrace: Operation not permitted.").kind)
    assert by_pystack.failure == by_gdb.failure == "not-permitted"
    assert len(gaps.of_process(ME, by_pystack, by_gdb, crashed=True, has_ended=False)) == 1


@pytest.mark.parametrize(
    ("failure", "detail", "words"),
    [
        ("timeout", "", "took too long over process 7"),
        ("broken", "status -11", "pystack failed on process 7 (status -11)"),
        ("no-python", "…", "finds no Python that it knows in process 7"),
        ("not-installed", "…", "pip install pystack"),
    ],
)
def test_every_way_in_which_pystack_fails_has_its_sentence(failure: PystackFailure, detail: str, words: str) -> None:
    (sentence,) = sentences(gaps.of_stacks(PystackAnswer(failure=failure, detail=detail), GdbAnswer(), "process 7"))
    assert sentence.startswith("native stack and Python stack: ")
    assert words in sentence


def test_a_hang_that_may_not_be_looked_into_has_no_python_stack_either_and_says_so() -> None:
    by_pystack = read_answer(NOT_PERMITTED)
    (sentence,) = sentences(gaps.of_process(ME, by_pystack, GdbAnswer(), crashed=False, has_ended=False))
    assert sentence.startswith("native stack and Python stack: the kernel does not let triage look into process")
    assert "faulthandler.dump_traceback_later" in sentence


def test_too_many_open_files_are_no_fault_of_pystack_or_gdb() -> None:
    error = OSError(errno.EMFILE, "Too many open files")
    by_pystack = read_answer(f'{{"error": "OSError", "text": "{error}"}}'.encode())
    by_gdb = GdbAnswer(failure=GdbFailed.from_exception(error).kind)
    found = sentences(gaps.of_process(ME, by_pystack, by_gdb, crashed=True, has_ended=False))
    assert len(found) == 2
    assert all("ulimit -n" in sentence and "may help" not in sentence for sentence in found)


def test_libraries_that_differ_are_named_but_not_all_of_them() -> None:
    absent, other = sentences(gaps.of_libraries([f"/opt/lib{letter}.so" for letter in "abcde"], ["/opt/libz.so"]))
    assert "liba.so, libb.so, libc.so and 2 more" in absent
    assert "libz.so may be wrong" in other


def test_files_that_were_not_opened_are_listed_with_the_reason_and_with_what_to_do() -> None:
    (sentence,) = sentences(
        gaps.of_libraries([], [], refused=[refused("/opt/liba.so", "pipe"), refused("/dev/x.so", "place", "/dev")])
    )
    assert sentence.startswith("frames in /opt/liba.so: it is a pipe, and 1 more like it")


@pytest.mark.parametrize(
    ("file", "words", "advice"),
    [
        (("/opt/liba.so", "pipe"), "is a pipe, and pystack would open it", "analyze the core where it was made"),
        (("/home/liba.so", "network-mount", "nfs4"), "is on a network mount (nfs4)", "give --executable PATH"),
    ],
    ids=lambda value: str(value),
)
def test_a_file_that_pystack_would_open_is_named_with_what_to_do(
    file: tuple[str, Hazard], words: str, advice: str
) -> None:
    answer = PystackAnswer(failure="refused-file", refused=refused(*file))
    (sentence,) = sentences(gaps.of_stacks(answer, GdbAnswer(), "the core"))
    assert f"the core names {file[0]}, which {words}" in sentence
    assert advice in sentence


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"is_there": False, "is_other": True}, "is another build now"),
        ({"is_there": False, "is_other": False}, "is not on this machine"),
        ({"is_there": False, "is_other": False, "refusal": Refusal("pipe")}, "is a pipe"),
    ],
    ids=lambda value: str(value),
)
def test_a_program_that_cannot_be_used_is_asked_for(facts: dict[str, Any], words: str) -> None:
    (sentence,) = sentences(gaps.of_executable("/opt/python3", **facts))
    assert sentence.startswith("native stack: /opt/python3") and words in sentence and "--executable" in sentence


@pytest.mark.parametrize(("platform", "name"), [("darwin", "macOS"), ("win32", "Windows")])
def test_a_gap_says_what_triage_cannot_do_on_other_systems(
    platform: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triage.stacks import from_process

    monkeypatch.setattr("sys.platform", platform)
    (sentence,) = sentences(from_process(1, crashed=True).missing)
    assert sentence.startswith("native stack: ")
    assert name in sentence
