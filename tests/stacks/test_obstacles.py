"""Why a process could not be looked into: the reason is looked for, so that the advice fits the machine."""

from __future__ import annotations

import os
from typing import Any

import pytest
from building import sentences

from triage.stacks import obstacles
from triage.stacks.collecting import Told
from triage.stacks.mixed_stacks import Mixed

ME = os.getpid()


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
    monkeypatch.setattr(obstacles, "_read", files.get)
    monkeypatch.setattr(obstacles, "in_container", lambda: container)


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
    sentence = obstacles.refused(ME, crashed=True).sentence
    assert sentence.startswith(f"native stack: the kernel does not let triage look into process {ME} (")
    assert advice in sentence
    assert "\n" not in sentence


def test_a_process_of_another_user_needs_that_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    assert "belongs to another user" in obstacles.refused(1, crashed=True).sentence


def test_a_refusal_is_one_sentence_and_not_two() -> None:
    mixed = Mixed(failure="EngineError", detail="Engine error: Operation not permitted")
    told = Told(failure="ptrace: Operation not permitted.")
    assert len(obstacles.of_process(ME, mixed, told, crashed=True)) == 1


@pytest.mark.parametrize(
    ("failure", "detail", "words"),
    [
        ("timeout", "", "took too long over process 7"),
        ("crash", "status -11", "pystack failed on process 7 (status -11)"),
        ("NotEnoughInformation", "…", "finds no Python that it knows in process 7"),
        ("ModuleNotFoundError", "…", "pip install pystack"),
    ],
)
def test_every_way_in_which_pystack_fails_has_its_sentence(failure: str, detail: str, words: str) -> None:
    (sentence,) = sentences(obstacles.of_stacks(Mixed(failure=failure, detail=detail), Told(), "process 7"))
    assert sentence.startswith("native stack and Python stack: ")
    assert words in sentence


def test_a_hang_that_may_not_be_looked_into_has_no_python_stack_either_and_says_so() -> None:
    mixed = Mixed(failure="EngineError", detail="Engine error: Operation not permitted")
    (sentence,) = sentences(obstacles.of_process(ME, mixed, Told(), crashed=False))
    assert sentence.startswith("native stack and Python stack: the kernel does not let triage look into process")
    assert "faulthandler.dump_traceback_later" in sentence


def test_too_many_open_files_are_no_fault_of_pystack_or_gdb() -> None:
    reason = "[Errno 24] Too many open files"
    said = sentences(
        obstacles.of_process(ME, Mixed(failure="start", detail=reason), Told(failure=reason), crashed=True)
    )
    assert len(said) == 2
    assert all("ulimit -n" in sentence and "may help" not in sentence for sentence in said)


def test_libraries_that_differ_are_named_but_not_all_of_them() -> None:
    absent, other = sentences(obstacles.of_libraries([f"/opt/lib{letter}.so" for letter in "abcde"], ["/opt/libz.so"]))
    assert "liba.so, libb.so, libc.so and 2 more" in absent
    assert "libz.so may be wrong" in other


def test_files_that_were_not_opened_are_told_with_the_reason_and_with_what_to_do() -> None:
    (refused,) = sentences(
        obstacles.of_libraries([], [], refused=[("/opt/liba.so", "a pipe"), ("/dev/x.so", "below /dev")])
    )
    assert refused.startswith("frames in /opt/liba.so: it is a pipe, and 1 more like it")
    assert obstacles.pystack_would_open("/opt/liba.so", "a pipe").endswith("analyze the core where it was made")
    assert "--executable PATH" in obstacles.pystack_would_open("/home/liba.so", "on a network mount (nfs4)")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"is_there": False, "is_other": True}, "is another build now"),
        ({"is_there": False, "is_other": False}, "is not on this machine"),
        ({"is_there": False, "is_other": False, "refused": "a pipe"}, "is a pipe"),
    ],
    ids=lambda value: str(value),
)
def test_a_program_that_cannot_be_used_is_asked_for(facts: dict[str, Any], words: str) -> None:
    (sentence,) = sentences(obstacles.of_executable("/opt/python3", **facts))
    assert sentence.startswith("native stack: /opt/python3") and words in sentence and "--executable" in sentence


@pytest.mark.parametrize(("platform", "name"), [("darwin", "macOS"), ("win32", "Windows")])
def test_other_systems_are_told_what_triage_cannot_do_there(
    platform: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triage.stacks import from_process

    monkeypatch.setattr("sys.platform", platform)
    (sentence,) = sentences(from_process(1, crashed=True).missing)
    assert sentence.startswith("native stack: ")
    assert name in sentence
