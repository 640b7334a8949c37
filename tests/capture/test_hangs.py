"""A run that does not end: the report shows where every process was and who waited for what, and all are ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import TRIAGE
from running import CRASH, Terminal, environment, is_alive, report_on, with_triage

from triage.capture.posix import process_tree

CTRL_C = b"\x03"
TREE = """\
import os, subprocess, sys, time
def note():
    with open("pids", "a") as file:
        print(os.getpid(), file=file)
def wait_here():
    note()
    time.sleep(60)
def wait_for_the_child():
    os.waitpid(child, 0)
note()
if os.fork() == 0:                      # an orphan in a session of its own, found by what it carries
    if os.fork() == 0:
        os.setsid()
        wait_here()
    os._exit(0)
os.wait()
shell = subprocess.Popen(["bash", "-c", "echo $$ >> pids; sleep 60; true"])
child = os.fork()
if child == 0:
    wait_here()
wait_for_the_child()
"""


def pids_in(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "pids").read_text().split()]


def test_a_whole_tree_is_read_and_ended(tmp_path):
    (tmp_path / "script.py").write_text(TREE)
    began = time.monotonic()
    done, report = report_on(tmp_path, "script.py", options=("--timeout", "1.2"))
    assert done.returncode == 124
    assert time.monotonic() - began >= 1.2
    pids = pids_in(tmp_path)
    assert len(pids) == 4
    assert not [pid for pid in pids if is_alive(pid)]
    main, *others = report["crash"]["processes"]
    assert {main["pid"], *(process["pid"] for process in others)} >= set(pids)
    assert (main["pid"], main["role"], main["exit"]["name"]) == (pids[0], "main", "timeout")
    assert main["exit"]["code"] == 124
    assert {process["role"] for process in others} <= {"worker", "child"}
    assert any("sleep" in process["command"] for process in others)

    pytest.importorskip("pystack", reason="it is what reads Python's stack from outside")
    where = [
        {frame["function"] for thread in process["threads"] for frame in thread["python_stack"]}
        for process in (main, *others)
    ]
    assert "wait_for_the_child" in where[0]
    assert sum("wait_here" in functions for functions in where[1:]) == 2


def test_a_child_that_does_not_listen_is_killed(tmp_path):
    (tmp_path / "script.py").write_text(
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()\n"
        "os.write(1, b'%d\\n' % os.getpid())\ntime.sleep(60)\n"
    )
    done = with_triage("script.py", options=("--timeout", "1.2"), cwd=tmp_path)
    assert done.returncode == 124
    assert len(done.stdout.split()) == 2
    assert not [pid for pid in map(int, done.stdout.split()) if is_alive(pid)]


def test_a_child_that_ends_in_order_may_do_so(tmp_path):
    (tmp_path / "script.py").write_text("""\
import signal, sys, time
def end(number, frame):
    print("cleaned up", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("so far", file=sys.stderr)
time.sleep(60)
""")
    done = with_triage("script.py", options=("--timeout", "1.2"), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (124, b"cleaned up\n", b"so far\n")


def test_a_parent_that_replaces_its_workers(tmp_path):
    """A pool starts a new worker for each that ends, also while it is being ended."""
    (tmp_path / "script.py").write_text("""\
import os, signal, time
def work():
    with open("pids", "a") as file:
        print(os.getpid(), file=file)
    while True:
        time.sleep(1)
signal.signal(signal.SIGTERM, lambda *_: None)
while True:
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        work()
    os.wait()
""")
    done = with_triage("script.py", options=("--timeout", "1.2"), cwd=tmp_path)
    assert done.returncode == 124
    time.sleep(0.2)
    assert len(pids_in(tmp_path)) > 1, "the parent did not replace its worker, and nothing was tried"
    assert not [pid for pid in pids_in(tmp_path) if is_alive(pid)]


def test_a_tree_that_was_stopped_is_woken_to_end(tmp_path):
    (tmp_path / "script.py").write_text(
        "import os, signal\nprint(os.getpid(), flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    done = with_triage("script.py", options=("--timeout", "1.2"), cwd=tmp_path)
    assert done.returncode == 124
    assert not is_alive(int(done.stdout))


@pytest.mark.parametrize("timeout", ["30", "1000000"])
def test_a_quick_script_never_meets_its_timeout(tmp_path, timeout):
    (tmp_path / "script.py").write_text("import sys\nprint('quick')\nsys.exit(int(sys.argv[1]))\n")
    for code in (0, 3):
        done = with_triage("script.py", str(code), options=("--timeout", timeout), cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (code, b"quick\n", b"")


@pytest.mark.parametrize("timeout", ["0", "-1", "soon"])
def test_a_timeout_that_is_none(tmp_path, timeout):
    (tmp_path / "script.py").write_text("")
    done = with_triage("script.py", options=("--timeout", timeout), cwd=tmp_path)
    assert done.returncode == 2
    assert b"--timeout" in done.stderr


def test_a_crash_before_the_timeout_is_a_crash(tmp_path):
    (tmp_path / "script.py").write_text(CRASH + "die()\n")
    done, report = report_on(tmp_path, "script.py", options=("--timeout", "30"))
    assert done.returncode == 139
    assert report["crash"]["processes"][0]["exit"]["signal"] == "SIGSEGV"


def test_a_parent_that_waits_for_ever_for_a_crashed_worker(tmp_path):
    """The crash is what it is about; the parent's wait is how it reacted."""
    (tmp_path / "script.py").write_text(
        CRASH + "import os, time\nr, w = os.pipe()\nif os.fork() == 0:\n    die()\nos.read(r, 1)\n"
    )
    done, report = report_on(tmp_path, "script.py", options=("--timeout", "1.2"))
    assert done.returncode == 124
    crash = report["crash"]
    assert crash["processes"][crash["primary"]]["exit"]["signal"] == "SIGSEGV"
    assert crash["processes"][0]["exit"]["name"] == "timeout"


# ---------------------------------------------------------------- a forked worker that hangs


A_WORKER = """\
import multiprocessing, threading, time
{}
if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    worker = fork.Process(target=work, args=(queue,))
    {}
    worker.start()
    worker.join()
"""
WITHOUT_TENSORFLOW = {
    "a task of a pool that sleeps": ("def work(queue):\n    pass", "fork.Pool(1).apply(time.sleep, (60,))"),
    "a queue that stays empty": ("def work(queue):\n    queue.get()", ""),
    "a lock that was held at the fork": (
        "lock = threading.Lock()\ndef work(queue):\n    lock.acquire()",
        "lock.acquire()",
    ),
    "two threads that wait for each other": (
        "def wait_for(first, second):\n    first.acquire(), time.sleep(0.2), second.acquire()\n"
        "def work(queue):\n    a, b = threading.Lock(), threading.Lock()\n"
        "    threading.Thread(target=wait_for, args=(a, b)).start()\n    wait_for(b, a)",
        "",
    ),
}


@pytest.mark.parametrize("what", WITHOUT_TENSORFLOW)
def test_a_forked_worker_without_tensorflow_does_not_hang_in_it(tmp_path, what, require):
    """Its stack is read, native frames too, so that no clue is missing only because nobody looked."""
    require("gdb")
    require("ptrace")
    pytest.importorskip("pystack", reason="it is what reads Python's stack from outside")
    (tmp_path / "script.py").write_text(A_WORKER.format(*WITHOUT_TENSORFLOW[what]))
    done, report = report_on(tmp_path, "script.py", options=("--timeout", "1.5"), native=True)
    assert done.returncode == 124
    worker = report["crash"]["processes"][1]
    assert any(frame["function"] == "_launch" for thread in worker["threads"] for frame in thread["python_stack"])
    assert any(thread["native_stack"] for thread in worker["threads"])
    assert report["verdict"] in ("unknown", "uncertain")
    assert all(one["confidence"] < 0.5 for one in report["diagnoses"])


SESSION_AT_FORK = """\
import os
import tensorflow as tf
with tf.Graph().as_default():
    total = tf.reduce_sum(tf.ones((3, 3)))
    with tf.compat.v1.Session() as session:
        session.run(total)
        if os.fork() == 0:
            print("forked", flush=True)
            os.abort()
        os.wait()
if os.fork() == 0:
    os.abort()
os.wait()
raise SystemExit(1)
"""


def test_a_worker_forked_while_a_session_is_in_use_has_tensorflow_behind_it(tmp_path, require):
    require("tensorflow")
    (tmp_path / "script.py").write_text(SESSION_AT_FORK)
    _, report = report_on(tmp_path, "script.py")
    workers = [process for process in report["crash"]["processes"] if process["role"] == "worker"]
    assert [worker["forked_with"] for worker in workers] == ["tensorflow", None]


# ---------------------------------------------------------------- the second Ctrl-C


@pytest.mark.parametrize("presses", [2, 3])
def test_a_second_interrupt_without_effect_ends_it(tmp_path, presses):
    """After a while in which it could have reacted; a third one says that nobody wants to wait."""
    (tmp_path / "script.py").write_text("""\
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("ready", os.getpid(), "!", flush=True)
def stuck():
    time.sleep(60)
stuck()
""")
    words = (*TRIAGE, "run", "--no-native", "--format", "json", "--output", "report.json", "script.py")
    with Terminal(*words, cwd=tmp_path) as terminal:
        terminal.expect("!\r\n")
        pid = int(terminal.seen.split()[1])
        terminal.press(CTRL_C)
        time.sleep(0.4)
        assert terminal.process.poll() is None
        began = time.monotonic()
        for _ in range(presses - 1):
            terminal.press(CTRL_C)
            time.sleep(0.4)
        # It dies of the interrupt itself, so that a shell's loop ends as well.
        assert terminal.end() == -signal.SIGINT
        assert not is_alive(pid)
        assert (time.monotonic() - began >= 5) == (presses == 2)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["crash"]["processes"][0]["exit"]["code"] == 130
    assert "Ctrl-C" in report["crash"]["processes"][0]["exit"]["meaning"]


def test_a_program_that_follows_the_second_interrupt_is_not_ended(tmp_path):
    """It is silent while it saves its work, as most programs are."""
    (tmp_path / "script.py").write_text("""\
import signal, time
seen = []
def note(number, frame):
    seen.append(number)
    if len(seen) == 2:
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, note)
print("ready", flush=True)
try:
    while True:
        time.sleep(0.02)
except KeyboardInterrupt:
    time.sleep(0.5)
    with open("checkpoint", "w") as file:
        file.write("saved")
    raise SystemExit(5)
""")
    words = (*TRIAGE, "run", "--no-native", "--format", "json", "--output", "report.json", "script.py")
    with Terminal(*words, cwd=tmp_path) as terminal:
        terminal.expect("ready\r\n")
        for _ in range(2):
            terminal.press(CTRL_C)
            time.sleep(0.2)
        assert terminal.end() == 5
    assert (tmp_path / "checkpoint").read_text() == "saved"
    assert json.loads((tmp_path / "report.json").read_text())["crash"]["processes"][0]["exit"]["code"] == 5


def test_interrupts_that_have_an_effect_do_not_end_it(tmp_path):
    (tmp_path / "script.py").write_text("""\
import os, signal, sys, time
count = 0
def note(number, frame):
    global count
    count += 1
    os.write(1, b"caught %d\\n" % count)  # it may come while print() is at work, which it must not enter again
signal.signal(signal.SIGINT, note)
print("ready", flush=True)
while count < 4:
    time.sleep(0.02)
sys.exit(5)
""")
    words = (*TRIAGE, "run", "--no-native", "--output", "report.txt", "script.py")
    with Terminal(*words, cwd=tmp_path) as terminal:
        terminal.expect("ready\r\n")
        for number in range(1, 5):
            terminal.press(CTRL_C)
            terminal.expect(f"caught {number}\r\n")
        assert terminal.end() == 5


# ---------------------------------------------------------------- who belongs to a run


def test_descendants_are_found_through_their_parents_and_by_what_they_carry(tmp_path):
    marker = f"triage-test-{os.getpid()}"
    child = subprocess.Popen(
        ["bash", "-c", "sleep 60 & (setsid sleep 61 & echo $!); wait"],
        stdout=subprocess.PIPE, env=environment(MARK=marker),
    )  # fmt: skip
    child.stdout.readline()
    time.sleep(0.1)
    try:
        below = process_tree.descendants(child.pid)
        all_of_it = process_tree.descendants(child.pid, marker)
        assert below[0].pid == child.pid
        assert len(all_of_it) == 3 >= len(below) >= 2
        assert os.getpid() not in [process.pid for process in all_of_it]
    finally:
        process_tree.end_all([process.pid for process in process_tree.descendants(child.pid, marker)])
        child.wait()
        child.stdout.close()
    assert not [process.pid for process in all_of_it if is_alive(process.pid)]


def test_a_process_with_a_strange_name_is_read(tmp_path):
    script = tmp_path / "a) S 1 (b"
    script.symlink_to(Path("/bin/sleep").resolve())
    process = subprocess.Popen([script, "60"])
    try:
        time.sleep(0.1)
        assert [one.parent for one in process_tree.descendants(process.pid)] == [os.getpid()]
        assert process_tree.command_of(process.pid) == [str(script), "60"]
        assert not process_tree.is_gone(process.pid)
    finally:
        process.kill()
        process.wait()
    assert process_tree.is_gone(process.pid)
    assert process_tree.command_of(process.pid) == []
    assert process_tree.descendants(process.pid) == []


def test_a_process_that_is_gone_needs_no_ending():
    nobody = 2**22 + 5
    process_tree.send(nobody, signal.SIGTERM)
    process_tree.end_all([nobody])
    assert process_tree.is_gone(nobody)
