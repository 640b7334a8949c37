"""Keys, signals and the terminal: the child gets each once, as without us, and the terminal is left as it was."""

from __future__ import annotations

import os
import resource
import shlex
import signal
import subprocess
import sys
import time

import pytest
from conftest import TRIAGE
from running import PATIENCE, QUICKLY, Terminal, environment, is_alive, wait_until

RUN = (*TRIAGE, *QUICKLY)
CTRL_C, CTRL_Z, CTRL_BACKSLASH = b"\x03", b"\x1a", b"\x1c"
WAITING = "import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(0.05)\n"
COUNTING = """\
import signal, sys, time
seen = []
def note(number, frame):
    seen.append(signal.Signals(number).name)
for name in sys.argv[1:]:
    signal.signal(signal.Signals[name], note)
print("ready", flush=True)
until = time.monotonic() + 30
while not seen and time.monotonic() < until:
    time.sleep(0.02)
time.sleep(0.3)
print(*seen, flush=True)
"""


@pytest.fixture(autouse=True)
def no_core_files():
    """Ctrl-\\\\ would leave one in the working directory."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


def started(*words, cwd, **named) -> subprocess.Popen[bytes]:
    """A run without a terminal, in a session of its own, once its script has printed that it is ready."""
    settings = {"start_new_session": True, "stderr": subprocess.PIPE, **named}
    process = subprocess.Popen(
        [*map(str, words)], cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **settings
    )
    assert process.stdout.readline() == b"ready\n"
    return process


# ---------------------------------------------------------------- what a terminal sends


def test_a_terminal_is_one_and_has_its_size(tmp_path):
    (tmp_path / "script.py").write_text("""\
import os, shutil, signal, time
print([os.isatty(number) for number in (0, 1, 2)], os.get_terminal_size(1), os.get_terminal_size(2))
sizes = []
signal.signal(signal.SIGWINCH, lambda *_: sizes.append(tuple(os.get_terminal_size(1))))
print("ready", flush=True)
while (33, 44) not in sizes:
    time.sleep(0.02)
print("resized", shutil.get_terminal_size(), os.get_terminal_size(0), os.ttyname(0).startswith("/dev/"))
os.close(os.open("/dev/tty", os.O_RDWR))
""")
    with Terminal(*RUN, "script.py", cwd=tmp_path) as terminal:
        terminal.expect("ready\r\n")
        assert b"[True, True, True]" in terminal.seen
        assert terminal.seen.count(b"columns=80, lines=24") == 2
        terminal.resize(44, 33)
        assert terminal.end() == 0
        assert terminal.seen.count(b"columns=33, lines=44") == 2


@pytest.mark.parametrize("redirection", ["2>errors", ">output", "</dev/null", ">output 2>&1"])
def test_only_what_is_a_terminal_is_one(tmp_path, redirection):
    (tmp_path / "script.py").write_text(
        "import os\nwith open('terminals', 'w') as f:\n    print([os.isatty(number) for number in (0, 1, 2)], file=f)\n"
    )
    terminals = []
    for words in ((sys.executable,), RUN):
        line = f"{shlex.join(words)} script.py {redirection}"
        with Terminal("bash", "-c", line, cwd=tmp_path) as terminal:
            assert terminal.end() == 0
        terminals.append((tmp_path / "terminals").read_text())
    assert terminals[0] == terminals[1]


def test_a_program_that_asks_its_output_for_single_keys(tmp_path):
    """As curses does; the keys come from the real terminal, which must follow and be put back."""
    (tmp_path / "script.py").write_text("""\
import os, tty
tty.setcbreak(1)
print("press", flush=True)
print("got", os.read(0, 1), flush=True)
tty.setraw(1)
print("raw", flush=True)
print("got", os.read(0, 1), flush=True)
""")
    with Terminal(*RUN, "script.py", cwd=tmp_path) as terminal:
        terminal.expect("press")
        time.sleep(0.2)
        terminal.press(b"x")
        terminal.expect("got b'x'")
        terminal.expect("raw")
        time.sleep(0.2)
        terminal.press(CTRL_C)
        terminal.expect("got b'\\x03'")
        assert terminal.end() == 0
        assert terminal.seen.count(b"x") == 2, "a key was echoed"
        assert terminal.modes_now() == terminal.modes


def test_a_crash_with_changed_modes_gives_the_terminal_back(tmp_path):
    (tmp_path / "script.py").write_text(
        "import ctypes, time, tty\ntty.setraw(1)\nprint('raw', flush=True)\ntime.sleep(0.2)\nctypes.string_at(8)\n"
    )
    with Terminal(*RUN, "script.py", cwd=tmp_path) as terminal:
        assert terminal.end() == 139
        assert terminal.modes_now() == terminal.modes


def test_a_password_is_not_shown(tmp_path):
    (tmp_path / "script.py").write_text("import getpass\nprint(getpass.getpass('Secret: ')[::-1])\n")
    with Terminal(*RUN, "script.py", cwd=tmp_path) as terminal:
        terminal.expect("Secret: ")
        time.sleep(0.1)
        terminal.press(b"abcdef\n")
        assert terminal.end() == 0
        assert b"fedcba" in terminal.seen
        assert b"abcdef" not in terminal.seen
        assert terminal.modes_now() == terminal.modes


def test_a_prompt_and_its_answer(tmp_path):
    (tmp_path / "script.py").write_text("print('hello ' + input('name? '))\n")
    with Terminal(*RUN, "script.py", cwd=tmp_path) as terminal:
        terminal.expect("name? ")
        terminal.press(b"Ann\n")
        assert terminal.end() == 0
        assert terminal.seen == b"name? Ann\r\nhello Ann\r\n"


# ---------------------------------------------------------------- keys


@pytest.mark.parametrize(("key", "name"), [(CTRL_C, "SIGINT"), (CTRL_BACKSLASH, "SIGQUIT")])
def test_a_key_runs_the_handler_of_the_child_once(tmp_path, key, name):
    (tmp_path / "script.py").write_text(COUNTING)
    with Terminal(*RUN, "--output", "report.txt", "script.py", "SIGINT", "SIGQUIT", cwd=tmp_path) as terminal:
        terminal.expect("ready\r\n")
        terminal.press(key)
        assert terminal.end() == 0
        assert terminal.seen.count(name.encode()) == 1


def test_an_interrupted_child_ends_the_loop_of_a_shell(tmp_path):
    (tmp_path / "script.py").write_text(WAITING)
    line = f"for i in 1 2 3; do {shlex.join(RUN)} --output report.txt script.py; done; echo 'went on'"
    with Terminal("bash", "-c", line, cwd=tmp_path) as terminal:
        terminal.expect("ready\r\n")
        terminal.press(CTRL_C)
        assert terminal.end() == -signal.SIGINT
        assert terminal.seen.count(b"ready\r\n") == 1
        assert b"went on" not in terminal.seen
        assert b"KeyboardInterrupt" in terminal.seen


def test_a_child_that_handles_the_interrupt_does_not_end_the_loop(tmp_path):
    (tmp_path / "script.py").write_text("import sys\ntry:\n" + "".join(f"    {x}\n" for x in WAITING.splitlines())
                                        + "except KeyboardInterrupt:\n    sys.exit(0)\n")  # fmt: skip
    line = f'for i in 1 2; do {shlex.join(RUN)} script.py; echo "code $?"; done'
    with Terminal("bash", "-c", line, cwd=tmp_path) as terminal:
        for number in (1, 2):
            terminal.expect("ready\r\n", number)
            terminal.press(CTRL_C)
            terminal.expect("code 0", number)
        assert terminal.end() == 0


def test_a_child_that_is_quit_is_reported_and_we_live_on(tmp_path):
    (tmp_path / "script.py").write_text(WAITING)
    with Terminal(*RUN, "script.py", cwd=tmp_path) as terminal:
        terminal.expect("ready\r\n")
        terminal.press(CTRL_BACKSLASH)
        assert terminal.end() == 131
        assert b"It was ended by SIGQUIT (Ctrl-\\); nothing crashed." in terminal.seen


def test_a_reader_that_has_enough_is_no_crash(tmp_path):
    line = f"{shlex.join(RUN)} --output report.txt -- yes | head -1"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, timeout=PATIENCE)
    assert done.stdout == b"y\n"
    assert "It was ended by SIGPIPE" in (tmp_path / "report.txt").read_text()


@pytest.mark.parametrize("pressed", [True, False])
def test_a_shell_that_hands_on_the_interrupt_of_its_child(tmp_path, pressed):
    """Its exit code is reported as an interrupt only where there was one."""
    line = "trap 'exit 130' INT; echo ready; while :; do sleep 0.05; done" if pressed else "echo ready; exit 130"
    with Terminal(*RUN, "--output", "report.txt", "--", "bash", "-c", line, cwd=tmp_path) as terminal:
        terminal.expect("ready\r\n")
        if pressed:
            terminal.press(CTRL_C)
        assert terminal.end() == 130
    assert ("It was interrupted" in (tmp_path / "report.txt").read_text()) == pressed


def test_stopped_and_continued_by_a_real_shell(tmp_path):
    (tmp_path / "script.py").write_text("print('ready', flush=True)\nprint('said ' + input())\n")
    with Terminal("bash", "--norc", "--noprofile", "-i", cwd=tmp_path, PS1="prompt% ") as terminal:
        terminal.expect("prompt% ")
        terminal.press(f"{shlex.join(RUN)} script.py\n".encode())
        terminal.expect("ready\r\n")
        terminal.press(CTRL_Z)
        terminal.expect("Stopped")
        terminal.press(b"jobs -r; echo in between\n")
        terminal.expect("in between\r\n", 2)
        terminal.press(b"fg\n")
        terminal.expect("script.py", 3)
        terminal.press(b"again\n")
        terminal.expect("said again")
        terminal.press(b"echo code=$?\n")
        terminal.expect("code=0")
        terminal.press(b"exit\n")
        assert terminal.end() == 0


def test_in_the_background_of_a_shell(tmp_path):
    (tmp_path / "script.py").write_text("import sys\nprint('from behind', file=sys.stderr)\n")
    with Terminal("bash", "--norc", "--noprofile", "-i", cwd=tmp_path, PS1="prompt% ") as terminal:
        terminal.expect("prompt% ")
        terminal.press(f"{shlex.join(RUN)} script.py & wait; echo code=$?\n".encode())
        terminal.expect("from behind\r\n")
        terminal.expect("code=0")


# ---------------------------------------------------------------- signals from programs


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGINT", "SIGQUIT"])
def test_a_signal_sent_to_us_is_handed_on(tmp_path, name):
    """As by `kill`, a scheduler or a container that ends: it is us whose number they know."""
    (tmp_path / "script.py").write_text(COUNTING)
    process = started(*RUN, "--output", "report.txt", "script.py", name, cwd=tmp_path)
    process.send_signal(signal.Signals[name])
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output, errors) == (0, name.encode() + b"\n", b"")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_child_that_dies_of_it(tmp_path, name):
    (tmp_path / "script.py").write_text(f"import signal\nsignal.signal(signal.{name}, signal.SIG_DFL)\n" + WAITING)
    process = started(*RUN, "--output", "report.txt", "script.py", cwd=tmp_path)
    process.send_signal(signal.Signals[name])
    process.communicate(timeout=PATIENCE)
    # Of an interrupt we die ourselves: a shell sees 130 then, as for the others.
    number = signal.Signals[name]
    assert process.returncode == (-number if number == signal.SIGINT else 128 + number)


def test_a_child_that_kills_itself(tmp_path):
    for number in (signal.SIGKILL, signal.SIGPIPE):
        (tmp_path / "script.py").write_text(
            f"import os, signal\n{int(number)} == 9 or signal.signal({int(number)}, signal.SIG_DFL)\n"
            f"os.kill(os.getpid(), {int(number)})\n"
        )
        done = subprocess.run(
            [*RUN, "--output", "report.txt", "script.py"], cwd=tmp_path, env=environment(), timeout=PATIENCE
        )
        assert done.returncode == 128 + number


def test_what_was_ignored_stays_ignored(tmp_path):
    """As under nohup, or in the background of a script."""
    (tmp_path / "script.py").write_text(
        "import signal, time\n"
        "print([signal.getsignal(n) == signal.SIG_IGN for n in (1, 2, 3, 15, 10)], flush=True)\ntime.sleep(0.4)\n"
    )
    line = f"trap '' HUP INT QUIT TERM USR1; exec {shlex.join(RUN)} script.py"
    process = subprocess.Popen(
        ["bash", "-c", line], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout.readline() == b"[True, True, True, True, True]\n"
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGINT, signal.SIGTERM):
        os.killpg(process.pid, number)
    assert process.wait(PATIENCE) == 0
    process.stdout.close()


def test_a_parent_that_does_not_care_about_its_children(tmp_path):
    """With SIGCHLD ignored the kernel would throw away the status of the child."""
    (tmp_path / "script.py").write_text("import os\nos._exit(9)\n")
    done = subprocess.run(
        [*RUN, "--output", "report.txt", "script.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=PATIENCE,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert (done.returncode, done.stderr) == (9, b"")


# ---------------------------------------------------------------- the terminal goes away


def test_a_closed_terminal_and_a_child_that_ends_in_order(tmp_path):
    (tmp_path / "script.py").write_text("""\
import os, signal, sys, time
def end(number, frame):
    open("hung-up", "w").close()
    sys.exit(7)
signal.signal(signal.SIGHUP, end)
print("ready", flush=True)
while True:
    time.sleep(0.02)
""")
    with Terminal(*RUN, "--output", "report.txt", "script.py", cwd=tmp_path) as terminal:
        terminal.expect("ready\r\n")
        terminal.hang_up()
        assert terminal.process.wait(PATIENCE) == 7
    assert (tmp_path / "hung-up").exists()
    assert "exit 7" in (tmp_path / "report.txt").read_text()


@pytest.mark.parametrize("report", [(), ("--output", "report.txt")])
def test_a_closed_terminal_and_a_child_that_dies_of_it(tmp_path, report):
    (tmp_path / "script.py").write_text("import os, time\nprint(os.getpid(), '!', flush=True)\ntime.sleep(60)\n")
    with Terminal(*RUN, *report, "script.py", cwd=tmp_path) as terminal:
        terminal.expect("!")
        pid = int(terminal.seen.split()[0])
        terminal.hang_up()
        assert terminal.process.wait(PATIENCE) == 129
    wait_until(lambda: not is_alive(pid))


def test_a_closed_terminal_and_a_child_that_goes_on(tmp_path):
    """Its exit code is not lost, although nobody is there to read what it says."""
    (tmp_path / "script.py").write_text("""\
import os, signal, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
try:
    print("x" * 100_000, flush=True)
except OSError:
    pass
os._exit(6)
""")
    with Terminal(*RUN, "script.py", cwd=tmp_path) as terminal:
        terminal.expect("ready\r\n")
        terminal.hang_up()
        (tmp_path / "go").touch()
        assert terminal.process.wait(PATIENCE) == 6
