"""The facts of a crash: their names, their places, and how those of several inputs become one incident."""

from __future__ import annotations

import pytest

from triage import status
from triage.crash import (
    Command,
    Crash,
    Environment,
    ExitStatus,
    Gap,
    Input,
    Library,
    Log,
    LogRecord,
    Memory,
    Place,
    Process,
    PythonException,
    PythonFrame,
    RuntimeMessage,
    Thread,
    merge,
    with_exit,
)

GIB = 1024**3


# Names


@pytest.mark.parametrize(
    ("type_name", "short"),
    [
        ("tensorflow.python.framework.errors_impl.ResourceExhaustedError", "ResourceExhaustedError"),
        ("numpy._core._exceptions._ArrayMemoryError", "_ArrayMemoryError"),
        ("KeyError", "KeyError"),
    ],
)
def test_an_exception_is_known_by_its_class_without_the_module(type_name: str, short: str) -> None:
    assert PythonException(type_name, "").short_type == short


def test_a_plain_exit_is_labelled_as_an_exit() -> None:
    assert ExitStatus(code=3, name="exit 3", kind="exit").label == "exit 3"


def test_facts_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Crash().primary = 1  # type: ignore[misc]


# The log and its places


def test_every_character_of_a_log_knows_its_original_line() -> None:
    log = Log(3, ["first", "second", "", "fourth"])
    lines = [log.place(offset).line for offset in range(len(log.text))]
    assert lines == [1] * len("first\n") + [2] * len("second\n") + [3] + [4] * len("fourth")
    assert log.place(0).input == 3


def test_places_are_those_of_the_original_where_lines_were_left_out() -> None:
    log = Log(0, ["head", "bar 1/2", "bar 2/2", "tail"], [1, 2, 2, 900])
    assert [log.place(log.text.index(word)).line for word in ("head", "bar 1", "bar 2", "tail")] == [1, 2, 2, 900]


def test_an_offset_past_the_end_is_on_the_last_line() -> None:
    assert Log(0, ["a", "b"]).place(99) == Place(0, 2)


def test_a_log_without_lines_has_a_place_without_a_line() -> None:
    assert Log(7, []).place(0) == Place(7, None)


def test_lines_come_with_the_offset_at_which_they_start() -> None:
    log = Log(0, ["one", "", "three"])
    assert list(log.lines()) == [(0, "one"), (4, ""), (5, "three")]
    assert all(log.text.startswith(line, offset) for offset, line in log.lines())


@pytest.mark.parametrize(
    ("offset", "line"), [(0, "one"), (2, "one"), (3, "one"), (4, "two"), (8, "three"), (12, "three")]
)
def test_the_line_around_an_offset(offset: int, line: str) -> None:
    assert Log(0, ["one", "two", "three"]).line(offset) == line


# The primary process


def test_the_exit_and_the_threads_of_a_crash_are_those_of_its_primary_process() -> None:
    worker = Process(pid=2, role="worker", exit=status.from_code(-11), threads=(Thread("w"),))
    crash = Crash(processes=(Process(pid=1), worker), primary=1)
    assert crash.exit is worker.exit
    assert [thread.name for thread in crash.threads] == ["w"]


def test_the_thread_that_crashed_comes_first_and_the_others_keep_their_order() -> None:
    threads = (Thread("a"), Thread("b"), Thread("c", crashed=True), Thread("d"))
    assert [t.name for t in Crash(processes=(Process(threads=threads),)).threads] == ["c", "a", "b", "d"]


def test_a_crash_without_a_process_has_no_exit_and_no_threads() -> None:
    assert Crash().exit is None
    assert Crash().threads == ()


@pytest.mark.parametrize(
    ("crash", "empty"),
    [
        (Crash(), True),
        (Crash(logs=(Log(0, [" ", ""]),)), True),
        (Crash(logs=(Log(0, ["Epoch 1/5"]),)), False),
        (Crash(processes=(Process(exit=status.from_code(0)),)), False),
        (Crash(exceptions=(PythonException("KeyError", ""),)), False),
        (Crash(processes=(Process(threads=(Thread(),)),)), False),
    ],
)
def test_a_crash_is_empty_if_its_inputs_have_nothing_at_all(crash: Crash, empty: bool) -> None:
    assert crash.is_empty is empty


def test_the_exit_code_that_the_person_saw_beats_what_the_log_says() -> None:
    crash = Crash(processes=(Process(pid=4711, exit=status.from_code(1)),))
    with_code = with_exit(crash, status.from_code(139))
    assert with_code.exit is not None
    assert with_code.exit.signal == "SIGSEGV"
    assert with_code.processes[0].pid == 4711
    assert crash.exit is not None
    assert crash.exit.code == 1, "the given crash stays as it was"


def test_an_exit_code_beside_a_death_is_that_of_the_program_whose_child_died() -> None:
    crash = Crash(processes=(Process(pid=4711, exit=status.from_code(-11)),))
    with_code = with_exit(crash, status.from_code(1))
    assert [(p.role, p.exit.code if p.exit else None) for p in with_code.processes] == [("main", 1), ("child", -11)]
    assert with_code.exit is not None
    assert with_code.exit.signal == "SIGSEGV"
    assert with_code.processes[with_code.primary].pid == 4711


def test_a_program_that_ended_well_ended_well_whatever_its_log_names() -> None:
    crash = Crash(processes=(Process(exit=status.from_code(-11)),))
    with_code = with_exit(crash, status.from_code(0))
    assert with_code.exit is not None
    assert not with_code.exit.is_failure


def test_an_exit_code_can_be_given_where_the_log_names_no_process() -> None:
    with_code = with_exit(Crash(), status.from_code(-9))
    assert with_code.exit is not None
    assert with_code.exit.signal == "SIGKILL"


# Several inputs of one incident


def _with_exit_code(code: int) -> Crash:
    return Crash(processes=(Process(exit=status.from_code(code)),))


def test_one_input_is_left_as_it_is() -> None:
    crash = _with_exit_code(139)
    assert merge([crash]) is crash


def test_nothing_at_all_is_an_empty_crash() -> None:
    assert merge([]).is_empty


def test_facts_of_all_inputs_are_kept_in_their_order() -> None:
    def part(number: int) -> Crash:
        return Crash(
            inputs=(Input(number, "log", f"{number}.log"),),
            exceptions=(PythonException("KeyError", str(number)),),
            records=(LogRecord("F", "a.cc", str(number), Place(number, 1)),),
            messages=(RuntimeMessage("heap", str(number), Place(number, 2)),),
            logs=(Log(number, [str(number)]),),
            gaps=(Gap("input", "cut-off", detail=f"a part of {number}"),),
        )

    whole = merge([part(0), part(1), part(2)])
    assert [i.id for i in whole.inputs] == [0, 1, 2]
    assert [e.message for e in whole.exceptions] == ["0", "1", "2"]
    assert [r.message for r in whole.records] == ["0", "1", "2"]
    assert [m.text for m in whole.messages] == ["0", "1", "2"]
    assert [log.input for log in whole.logs] == [0, 1, 2]
    assert tuple(gap.detail for gap in whole.gaps) == ("a part of 0", "a part of 1", "a part of 2")


@pytest.mark.parametrize(
    ("codes", "name"),
    [
        ((1, 139), "SIGSEGV"),
        ((139, 1), "SIGSEGV"),
        ((0, 3), "exit 3"),
        ((0, 0xC0000005, 1), "STATUS_ACCESS_VIOLATION"),
    ],
)
def test_a_death_says_more_than_an_exit_code_and_a_failure_more_than_success(codes: tuple[int, ...], name: str) -> None:
    seen = merge([_with_exit_code(code) for code in codes]).exit
    assert seen is not None
    assert seen.name == name


def test_a_fast_fail_with_its_subcode_says_more_than_the_bare_code() -> None:
    dump = Crash(processes=(Process(exit=status.from_code(0xC0000409, 7)),))
    for parts in ([dump, _with_exit_code(-1073740791)], [_with_exit_code(-1073740791), dump]):
        seen = merge(parts).exit
        assert seen is not None
        assert seen.subcode_name == "FAST_FAIL_FATAL_APP_EXIT"


def test_threads_pid_and_command_come_from_whichever_input_has_them() -> None:
    frame = PythonFrame("train.py", 6, "<module>")
    log = Crash(processes=(Process(command="train.py", threads=(Thread("main", python_stack=(frame,)),)),))
    core = Crash(processes=(Process(pid=4711, threads=(Thread("worker", crashed=True),)),))
    whole = merge([log, Crash(), core])
    assert (whole.processes[0].pid, whole.processes[0].command) == (4711, "train.py")
    assert [thread.name for thread in whole.threads] == ["worker", "main"]


def test_other_processes_stay_behind_the_primary_one() -> None:
    part = Crash(processes=(Process(pid=1, role="worker"), Process(pid=2)), primary=1)
    whole = merge([part, _with_exit_code(139)])
    assert [process.pid for process in whole.processes] == [2, 1]
    assert whole.primary == 0


def test_memory_keeps_the_highest_peak_the_tightest_limit_with_its_source_and_the_most_kills() -> None:
    whole = merge(
        [
            Crash(memory=Memory(peak_bytes=2 * GIB, limit_bytes=24 * GIB, limit_source="machine", oom_kills=1)),
            Crash(memory=Memory(peak_bytes=3 * GIB)),
            Crash(memory=Memory(limit_bytes=4 * GIB, limit_source="cgroup", oom_kills=2)),
        ]
    )
    assert whole.memory == Memory(3 * GIB, 4 * GIB, "cgroup", 2)


def test_memory_that_no_input_has_stays_unknown_and_zero_stays_zero() -> None:
    assert merge([Crash(), Crash()]).memory == Memory()
    assert merge([Crash(memory=Memory(oom_kills=0)), Crash()]).memory.oom_kills == 0


def test_the_environment_adds_up_and_the_first_input_wins_where_two_disagree() -> None:
    first = Environment(os="linux", packages=(("tensorflow", "2.21.0"),), gpus=("Tesla T4",))
    second = Environment(
        os="windows",
        python="3.11",
        packages=(("tensorflow", "2.15.1"), ("numpy", "1.26.4")),
        cpu_flags=("avx",),
        gpus=("Tesla T4",),
        libraries=(Library("cudnn", "8.3.2"),),
        libraries_complete=True,
    )
    whole = merge([Crash(environment=first), Crash(environment=second)]).environment
    assert (whole.os, whole.python) == ("linux", "3.11")
    assert (whole.package("tensorflow"), whole.package("numpy"), whole.package("jax")) == ("2.21.0", "1.26.4", None)
    assert (whole.cpu_flags, whole.gpus) == (("avx",), ("Tesla T4",))
    assert whole.libraries == (Library("cudnn", "8.3.2"),)
    assert whole.libraries_complete


# Commands


@pytest.mark.parametrize(
    ("command", "posix", "windows"),
    [
        (Command(("triage", "run", "train.py")), "triage run train.py", "triage run train.py"),
        (Command(("my script.py", "a;b")), "'my script.py' 'a;b'", '"my script.py" a;b'),
        (
            Command(("python", "train.py"), (("TF_ENABLE_ONEDNN_OPTS", "0"), ("TMPDIR", "/a b"))),
            "TF_ENABLE_ONEDNN_OPTS=0 TMPDIR='/a b' python train.py",
            'cmd /c "set TF_ENABLE_ONEDNN_OPTS=0&& set TMPDIR=/a b&& python train.py"',
        ),
        (Command(("dmesg",), piped_to=("grep", "out of memory")), "dmesg | grep 'out of memory'", None),
        (Command(()), "", ""),
    ],
)
def test_a_command_is_written_for_the_shell_of_a_system(command: Command, posix: str, windows: str | None) -> None:
    assert command.line() == command.line("linux") == command.line("macos") == posix
    assert windows is None or command.line("windows") == windows


def test_the_command_for_the_hidden_log_repeats_the_run_with_its_options() -> None:
    crash = Crash(rerun=Command(("train.py", "a b")), run_options=("--timeout", "60"))
    assert crash.run_with_log == Command(("triage", "run", "--timeout", "60", "--framework-log", "train.py", "a b"))
    assert Crash(run_options=("--full",)).run_with_log is None
