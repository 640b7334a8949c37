"""The text report of a program that we ran: the rows that only a live crash has, on one screen and in a pipe."""

from __future__ import annotations

import re
from typing import Any

import pytest
from building import crash_of, exit_status, signature_data
from building import knowledge_of as known

import triage
from triage.crash import (
    Command,
    Crash,
    Environment,
    ExitStatus,
    Fault,
    Gap,
    NativeFrame,
    Place,
    Process,
    PythonException,
    PythonFrame,
    Thread,
)
from triage.diagnosis import diagnose
from triage.programs import program_of_libraries
from triage.report import Report
from triage.reports.text import layout, render

RERUN = Command(("train.py", "--epochs", "3"))
FIRST = "run it again with TensorFlow's own log, which was hidden (TF_CPP_MIN_LOG_LEVEL=3, set by the script):"
MEANING = ": native code touched memory it may not use"
INTERPRETER = "/home/user/project/.venv/bin/python"
PYTHON_STACK = (
    PythonFrame("/usr/lib/python3.11/ctypes/__init__.py", 519, "string_at"),
    PythonFrame("/home/user/project/train.py", 12, "fit"),
    PythonFrame("/home/user/project/train.py", 30, "<module>"),
)
NATIVE_STACK = (
    NativeFrame("/usr/lib/libc.so.6", "__strlen_avx2", source="strlen-avx2.S:74"),
    NativeFrame(None, "1 frame that was not read", trust="omitted"),
    NativeFrame(
        "/home/user/project/_op.so", "Kernel::Compute(Context*)", source="/home/user/project/op.cc:14", own=True
    ),
    NativeFrame("/v/libtensorflow_cc.so.2", "tensorflow::Executor::Run(tensorflow::Args<int, float> const&)"),
    NativeFrame("/usr/lib/libpthread.so.0", "start_thread"),
)
CRASHED = Thread("main", crashed=True, python_stack=PYTHON_STACK, native_stack=NATIVE_STACK)
FAULT = Fault("SIGSEGV", 0x8, "read", "vpcmpeqb ymm1,ymm0,YMMWORD PTR [rdi]")
MACHINE = Environment(
    os="linux", python="3.11.7", packages=(("tensorflow", "2.21.0"),), interpreter=INTERPRETER, libraries_complete=True
)


def died(*, threads: tuple[Thread, ...] = (CRASHED,), fault: Fault | None = FAULT, **facts: Any) -> Crash:
    """A program that we ran and that died of SIGSEGV."""
    main = Process(4711, "main", "train.py", exit_status("139"), threads, fault)
    return Crash(processes=(main,), rerun=RERUN, **{"environment": MACHINE, **facts})


def with_worker(main_ended: ExitStatus, **facts: Any) -> Crash:
    """The same, but it was a worker that died, and the program ended in its own way."""
    crash = died(**facts)
    worker = crash.processes[0]._replace(pid=4712, role="worker")
    return crash._replace(processes=(Process(4711, "main", "train.py", main_ended), worker), primary=1)


def timeout(seconds: int = 60) -> ExitStatus:
    meaning = f"it was still running after {seconds} s, and triage ended it"
    return ExitStatus(code=124, name="timeout", kind="timeout", meaning=meaning)


def hung(*threads: Thread, primary: int = 0) -> Crash:
    """A program that hung, with a thread for each of its processes."""
    processes = tuple(
        Process(4711 + n, "worker" if n else "main", exit=timeout(), threads=(thread,))
        for n, thread in enumerate(threads)
    )
    return Crash(processes=processes, primary=primary, rerun=RERUN, environment=MACHINE)


def waiting(line: int, native: str | None = "futex_wait") -> Thread:
    frames = (NativeFrame("/usr/lib/libc.so.6", native),) if native else ()
    stack = (
        PythonFrame("/usr/lib/python3.11/threading.py", 320, "wait"),
        PythonFrame("/home/user/train.py", line, "main"),
    )
    return Thread(python_stack=stack, native_stack=frames)


@pytest.fixture
def report(knowledge):
    def make(crash: Crash) -> Report:
        return diagnose(crash, knowledge, version="test")

    return make


def rows_of(report: Report, label: str) -> list[str]:
    """The texts of the rows with a label, as a pipe gets them; a row without a label belongs to the one above."""
    found, current = [], ""
    for line in render(report).splitlines()[3:]:
        current = line[:9].strip() or current
        if current == label:
            found.append(line[9:].strip())
    return found


def labels_of(report: Report) -> list[str]:
    return [line[:9].strip() for line in render(report).splitlines()[3:] if line[:9].strip()]


# ---------------------------------------------------------------- who died


def test_a_death_has_its_signal_and_the_own_line_nearest_to_it(report):
    assert rows_of(report(died()), "died")[0] == f"SIGSEGV (exit 139) at train.py:12 in fit{MEANING}"


def test_the_worker_that_died_is_named_and_then_how_the_program_took_it(report):
    told = report(with_worker(exit_status("1")))
    assert rows_of(told, "died") == [f"worker 4712: SIGSEGV (exit 139) at train.py:12 in fit{MEANING}"]
    assert rows_of(told, "then") == ["the program itself ended with exit 1"]


def test_a_program_that_does_not_notice_is_found_out(report):
    assert rows_of(report(with_worker(exit_status("0"))), "then") == [
        "the program itself ended with exit 0, as if nothing had happened"
    ]


def test_a_program_that_waits_for_its_dead_worker_is_said_to(report):
    assert rows_of(report(with_worker(timeout(60))), "then") == [
        "the program kept waiting: it was still running after 60 s, and triage ended it"
    ]


def test_a_process_that_only_the_output_tells_of_has_no_number(report):
    child = Process(None, "child", exit=exit_status("139"))
    crash = died()._replace(processes=(Process(4711, exit=exit_status("1")), child), primary=1)
    assert rows_of(report(crash), "died")[0].startswith("child: SIGSEGV")


def test_of_the_program_itself_nothing_has_to_be_said_twice(report):
    assert "then" not in labels_of(report(died()))


def test_the_interpreter_is_named_and_tensorflow_where_it_was_loaded(report):
    with_it, without = (
        died()._replace(
            processes=tuple(
                process._replace(program=program_of_libraries(("python3", library), (), None, complete=True))
                for process in died().processes
            )
        )
        for library in ("libtensorflow_cc.so.2", "libc.so.6")
    )
    assert f"TensorFlow 2.21.0, Python 3.11.7 ({INTERPRETER}), Linux" in render(report(with_it))
    assert "TensorFlow" not in render(report(without))


# ---------------------------------------------------------------- where


def test_where_is_the_native_stack_without_arguments_and_without_what_was_left_out(report):
    assert rows_of(report(died()), "where")[0] == "__strlen_avx2 < Kernel::Compute < tensorflow::Executor::Run"


def test_the_source_of_own_code_is_named_and_not_that_of_the_c_library(report):
    assert rows_of(report(died()), "where")[1] == "built from /home/user/project/op.cc:14"


@pytest.mark.parametrize(
    "module",
    ["/usr/lib/libc.so.6", "libstdc++.so.6", "libpython3.11.so.1.0", "/usr/bin/python3.11", "ld-2.31.so", "[vdso]",
     "_ctypes.cpython-311-x86_64-linux-gnu.so", "libffi.so.8", None],
)  # fmt: skip
def test_a_system_library_is_nobodys_own_code(report, module):
    thread = Thread(crashed=True, native_stack=(NativeFrame(module, "f", source="f.c:1"),))
    assert "built from" not in render(report(died(threads=(thread,))))


@pytest.mark.parametrize(
    ("fault", "row"),
    [
        (FAULT, "read of address 0x8 by vpcmpeqb ymm1,ymm0,YMMWORD PTR [rdi]"),
        (Fault(address=0x10, access="write"), "write of address 0x10"),
        (Fault(address=0), "access of address 0x0"),
        (Fault(instruction="ud2"), "ud2"),
        (Fault(instruction="mov    \teax,DWORD PTR [rax]"), "mov eax,DWORD PTR [rax]"),
    ],
)
def test_the_fault_is_told_as_far_as_it_is_known(report, fault, row):
    assert rows_of(report(died(threads=(), fault=fault)), "where") == [row]


@pytest.mark.parametrize("fault", [None, Fault(), Fault(signal="SIGSEGV", registers=(("rsp", 1),))])
def test_without_stack_and_fault_there_is_no_where(report, fault):
    assert "where" not in labels_of(report(died(threads=(), fault=fault)))


def test_a_thread_that_did_not_crash_is_not_where_it_happened(report):
    assert "where" not in labels_of(report(died(threads=(CRASHED._replace(crashed=False),), fault=None)))


# ---------------------------------------------------------------- the log that was hidden


HIDDEN = MACHINE._replace(hidden_log="TF_CPP_MIN_LOG_LEVEL=3, set by the script")


def test_a_hidden_log_is_told_before_everything_with_the_command_that_shows_it(report):
    told = report(died(environment=HIDDEN, threads=(), fault=None))
    assert labels_of(told)[0] == "first"
    assert rows_of(told, "first") == [FIRST, "triage run --framework-log train.py --epochs 3"]


def test_what_was_told_first_is_not_asked_again(report):
    told = report(died(environment=HIDDEN, threads=(), fault=None))
    assert told.next[0].run.line() == "triage run --framework-log train.py --epochs 3"
    assert not [
        row for row in rows_of(told, "next") if row.startswith(("triage run --framework-log", "What does TensorFlow"))
    ]


def test_it_is_told_beside_a_diagnosis_that_rests_on_other_facts(report):
    thread = CRASHED._replace(python_stack=PYTHON_STACK[:1])
    told = report(died(environment=HIDDEN, threads=(thread,)))
    assert told.verdict == "diagnosed", "choose another crash for this test"
    assert "first" in labels_of(told)


def decided_by_a_line(**facts: Any) -> Report:
    signatures = {"a/a": signature_data(cause="a.a", clues=[{"log": "the telling words", "p": 0.95, "b": 0.0005}])}
    crash = crash_of("the telling words", exit="139", rerun=RERUN, **facts)
    return diagnose(crash, known(signatures, {"a.a": 0.3}), version="test")


def test_it_is_not_told_where_a_line_that_was_printed_has_decided(report):
    told = decided_by_a_line(environment=HIDDEN)
    assert told.verdict == "diagnosed"
    assert "first" not in labels_of(told)


@pytest.mark.parametrize(
    "crash",
    [
        died(environment=MACHINE),
        died(environment=HIDDEN)._replace(rerun=None),
        crash_of("done", exit="0", rerun=RERUN, environment=HIDDEN),
        crash_of("x", exit="SIGINT", rerun=RERUN, environment=HIDDEN),
    ],
    ids=["not hidden", "not run by us", "ended well", "interrupted"],
)
def test_it_is_not_told_without_reason(report, crash):
    assert "first" not in labels_of(report(crash))


# ---------------------------------------------------------------- hung


def test_a_hang_tells_how_long_and_where_each_process_waits(report):
    assert rows_of(report(hung(waiting(12), waiting(40))), "hung") == [
        "it was still running after 60 s, and triage ended it",
        "main 4711: train.py:12 in main, in futex_wait",
        "worker 4712: train.py:40 in main, in futex_wait",
    ]


def test_the_process_that_the_report_is_about_comes_first(report):
    rows = rows_of(report(hung(waiting(12), waiting(40), primary=1)), "hung")
    assert [row.split(":")[0] for row in rows[1:]] == ["worker 4712", "main 4711"]


def test_of_many_threads_the_one_that_runs_the_script_is_told(report):
    script = Thread(python_stack=(PythonFrame("/home/user/train.py", 7, "<module>"),))
    helper = Thread(python_stack=(PythonFrame("/home/user/data.py", 3, "fetch"),))
    native = Thread(native_stack=(NativeFrame("libc.so.6", "poll"),))
    crash = hung(script)
    for threads in ((native, helper, script), (script, helper, native)):
        crash = crash._replace(processes=(crash.processes[0]._replace(threads=threads),))
        assert rows_of(report(crash), "hung")[1] == "main 4711: train.py:7 in <module>"
    crash = crash._replace(processes=(crash.processes[0]._replace(threads=(native, helper)),))
    assert rows_of(report(crash), "hung")[1] == "main 4711: data.py:3 in fetch"


def test_a_process_without_python_is_told_by_its_native_function(report):
    thread = Thread(native_stack=(NativeFrame("libc.so.6", "wait4"),))
    assert rows_of(report(hung(thread)), "hung")[1] == "main 4711: no Python frame, in wait4"


def test_a_hang_is_not_called_a_death(report):
    assert {"died", "then"}.isdisjoint(labels_of(report(hung(waiting(12)))))


def test_a_screen_leaves_out_processes_and_says_how_many(report):
    told = report(hung(*(waiting(line) for line in range(1, 41)), primary=39))
    screen = [str(line).strip() for line in layout(told, 80)]
    shown = [line for line in screen if re.search(r"(main|worker) \d+:", line)]
    assert len(screen) <= 24
    assert "worker 4750: train.py:40 in main, in futex_wait" in screen
    assert f"and {40 - len(shown)} more processes" in screen
    assert len(rows_of(told, "hung")) == 41


# ---------------------------------------------------------------- one screen, and a pipe


LONG = "tensorflow::" + "very_long_name_of_a_kernel::" * 4 + "Compute"
LONG_STACK = tuple(NativeFrame("libtensorflow_cc.so.2", LONG) for _ in range(5))
SAID = PythonException(
    "concurrent.futures.process.BrokenProcessPool", "x", "A process in the process pool was terminated abruptly",
    place=Place(0, 1),
)  # fmt: skip
LIVE = {
    "died": died(),
    "worker": with_worker(exit_status("1"), exceptions=(SAID,)),
    "worker and hidden log": with_worker(timeout(), exceptions=(SAID,), environment=HIDDEN),
    "no stack": died(threads=(), fault=None, environment=HIDDEN),
    "killed": crash_of("Epoch 1/3", exit="SIGKILL", rerun=RERUN, environment=HIDDEN),
    "hung": hung(waiting(12), waiting(40)),
    "long names": died(threads=(CRASHED._replace(native_stack=LONG_STACK),), environment=HIDDEN),
    "everything": with_worker(
        timeout(),
        exceptions=(SAID,),
        threads=(CRASHED._replace(native_stack=(*LONG_STACK[:2], NATIVE_STACK[2])),),
        environment=HIDDEN._replace(interpreter="/very" + "/long" * 20 + "/bin/python"),
    ),
}


@pytest.mark.parametrize("name", LIVE)
def test_every_live_report_fits_a_screen(report, name):
    lines = [str(line) for line in layout(report(LIVE[name]), 80)]
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24, "\n".join(lines)


@pytest.mark.parametrize("name", LIVE)
def test_a_pipe_gets_it_whole_and_plain(report, name):
    told = report(LIVE[name])
    text = render(told)
    assert text.isprintable() or set(re.sub(r"[^\x00-\x1f\x7f-\x9f]", "", text)) == {"\n"}
    if hidden := rows_of(told, "first"):
        assert hidden == [FIRST, "triage run --framework-log train.py --epochs 3"]


def test_the_real_thing_in_a_terminal(in_terminal, tmp_path):
    (tmp_path / "train.py").write_text("import ctypes\ndef fit():\n    ctypes.string_at(8)\nfit()\n")
    screen = in_terminal("run", "--no-native", "train.py")
    assert screen.returncode == 139
    assert any(line.startswith(" died    SIGSEGV (exit 139) at train.py:3 in fit") for line in screen.lines)
    assert max(map(len, screen.lines)) <= 80 and len(screen.lines) <= 24


# ---------------------------------------------------------------- nothing active gets through


HOSTILE = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31md\re\x08f\u202eg\nh\ti"


def hostile_crash() -> Crash:
    """A crash in which every text that a program can choose for itself is hostile."""
    thread = Thread(
        HOSTILE,
        crashed=True,
        python_stack=(PythonFrame(f"/home/user/{HOSTILE}.py", 3, HOSTILE),),
        native_stack=(NativeFrame(f"/home/user/{HOSTILE}.so", HOSTILE, source=f"{HOSTILE}.cc:3", own=True),),
    )
    machine = Environment(
        os=HOSTILE, python=HOSTILE, packages=(("tensorflow", HOSTILE),), interpreter=HOSTILE, hidden_log=HOSTILE
    )
    ended = exit_status("139")
    return Crash(
        processes=(
            Process(4711, "main", HOSTILE, ended._replace(name=HOSTILE)),
            Process(4712, "worker", HOSTILE, ended, (thread,), Fault(address=8, access=HOSTILE, instruction=HOSTILE)),
        ),
        primary=1,
        exceptions=(PythonException(HOSTILE, HOSTILE, HOSTILE, place=Place(0, 1)),),
        environment=machine,
        gaps=(Gap("input", "damaged", None, HOSTILE, HOSTILE),),
        rerun=Command((HOSTILE,)),
    )


def hostile_hang() -> Crash:
    crash = hostile_crash()
    ended = timeout()._replace(meaning=HOSTILE)
    return crash._replace(processes=tuple(process._replace(exit=ended) for process in crash.processes))


@pytest.mark.parametrize("crash", [hostile_crash(), hostile_hang()], ids=["crash", "hang"])
@pytest.mark.parametrize("width", [None, 80, 40])
def test_nothing_that_a_program_chose_moves_the_cursor(report, crash, width):
    text = "\n".join(map(str, layout(report(crash), width)))
    assert "owned" in text
    assert not set(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text))
    _, rows = text.split("\n\n", 1)
    assert {line[:1] for line in rows.splitlines()} <= {" ", ""}, "a line feed of the program began a line"


def test_nor_does_the_name_of_an_input(knowledge, tmp_path):
    name = tmp_path / "a\x1b[31mb.log"
    name.write_text("F0000 x.cc:1] Check failed: x\n2024-05-01 10:00:00.1: F a/b.cc:83] Check failed: 1 == 2\n")
    (tmp_path / "other.log").write_text("nothing\n")
    told = triage.analyze(name, tmp_path / "other.log", exit_code=134, knowledge=knowledge)
    for width in (None, 80):
        text = "\n".join(map(str, layout(told, width)))
        assert "b.log:" in text and "\x1b" not in text


def test_a_live_run_of_a_hostile_program_leaves_the_terminal_alone(run_triage, tmp_path):
    (tmp_path / "train.py").write_text(
        'exec(compile("raise ValueError(\'\\x1b]0;owned\\x07 in vain \\u202e\')", "x\\x1b[2Jy.py", "exec"))\n'
    )
    done = run_triage("run", "--output", "report.txt", "train.py")
    written = (tmp_path / "report.txt").read_text("utf-8")
    assert done.returncode == 1
    assert "in vain" in written and not {"\x1b", "\x07", "\u202e"} & set(written)
