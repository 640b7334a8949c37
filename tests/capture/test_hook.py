"""The hook runs in every Python of the run, catches its fault, and is otherwise not there."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from conftest import REPOSITORY, TRIAGE
from running import (
    CRASH,
    PATIENCE,
    QUICKLY,
    environment,
    functions_of,
    is_alive,
    primary_of,
    report_on,
    with_triage,
    without_triage,
)

from triage.capture import hook_files
from triage.capture.assemble import hidden_log
from triage.capture.hook_files import FaultDirectory, Note, without_hook
from triage.capture.posix import held_process
from triage.crash import Library

HOOK = REPOSITORY / "triage" / "capture" / "hook"
VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
LOOKING = """\
import faulthandler, os, signal, sys
print(sys.version_info[:2], sys.path, sys.flags)
print(sorted(name for name in sys.modules if "custom" in name))
print(faulthandler.is_enabled(), faulthandler.enable.__name__ != "")
print(sorted(number for number in map(int, os.listdir("/proc/self/fd")) if number < 200))
print(os.open("/dev/null", os.O_RDONLY), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
print(sorted(name for name in os.environ if not name.startswith("TRIAGE") and name != "PYTHONPATH"))
try:
    import sitecustomize
except ImportError as error:
    print(repr(error))
"""


def python_of(version: str) -> str:
    """An interpreter that pyenv has; skips where there is none."""
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} in ~/.pyenv/versions")
    return str(found[-1])


def masked(text: bytes) -> bytes:
    """A fault dump without the numbers that differ from run to run."""
    return re.sub(rb"0x[0-9a-f]+", b"0x", text)


# ---------------------------------------------------------------- not there


@pytest.mark.parametrize("version", VERSIONS)
def test_a_script_sees_nothing_of_us(tmp_path, version):
    python = python_of(version)
    (tmp_path / "look.py").write_text(LOOKING)
    alone = without_triage("--", python, "look.py", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    for words in (("--python", python), ()):
        command = ("look.py",) if words else ("--", python, "look.py")
        mine = with_triage(*command, options=words, cwd=tmp_path)
        assert (mine.returncode, mine.stdout, mine.stderr) == (0, alone.stdout, alone.stderr)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_crash_is_caught_and_standard_error_stays_clean(tmp_path, version):
    (tmp_path / "script.py").write_text(CRASH + "die()\n")
    done, report = report_on(tmp_path, "script.py", options=("--python", python_of(version)))
    assert (done.returncode, done.stderr) == (139, b"")
    assert functions_of(primary_of(report)) == ["string_at", "die", "<module>"]
    assert primary_of(report)["exit"]["signal"] == "SIGSEGV"
    assert report["crash"]["environment"]["python"].startswith(version + ".")


@pytest.mark.parametrize(
    "value",
    [":{0}", "{0}:", "{0}::{0}/more", ":", "", "relative", "{0}:{0}"],
    ids=["empty first", "empty last", "empty between", "only empty", "set to nothing", "relative", "twice"],
)
def test_the_path_is_as_the_environment_has_it(tmp_path, value):
    """An empty entry means the working directory: `PYTHONPATH=$PYTHONPATH:/mine` has one when it was not set."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "script.py").write_text("import sys\nprint(sys.path)\n")
    settings = {"cwd": tmp_path, "env": environment(PYTHONPATH=value.format(tmp_path))}
    assert with_triage("sub/script.py", **settings).stdout == without_triage("sub/script.py", **settings).stdout


def test_an_environment_without_the_hook_is_the_one_before():
    for value in (None, "", ":", ":/a", "/a:", "/a::/b"):
        before = {"A": "1"} if value is None else {"A": "1", "PYTHONPATH": value}
        added = f"{HOOK}:{value}" if value else str(HOOK)
        assert without_hook({**before, "PYTHONPATH": added, "TRIAGE_DIR": "/x"}) in (
            before, {"A": "1"} if not value else before,
        )  # fmt: skip
        assert without_hook(before) == before


def test_a_sitecustomize_on_the_path_runs(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("import sys\nsys.flag = __file__, __name__, __spec__.name\n")
    (tmp_path / "script.py").write_text("import sys, sitecustomize\nprint(sys.flag, sitecustomize.__file__)\n")
    settings = {"cwd": tmp_path, "env": environment(PYTHONPATH=str(tmp_path / "mine"))}
    mine, alone = with_triage("script.py", **settings), without_triage("script.py", **settings)
    assert mine.stdout == alone.stdout != b""
    assert mine.stderr == alone.stderr == b""


def test_a_sitecustomize_of_the_environment_runs(tmp_path):
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (packages / "sitecustomize.py").write_text("import sys\nsys.flag = 'environment'\n")
    (packages / "usercustomize.py").write_text("import sys\nsys.flag += ' user'\n")
    (tmp_path / "script.py").write_text("import sys\nprint(getattr(sys, 'flag', None), sys.prefix)\n")
    python = tmp_path / "env" / "bin" / "python"
    alone = without_triage("--", python, "script.py", cwd=tmp_path).stdout
    assert b"environment" in alone
    assert with_triage("script.py", options=("--python", python), cwd=tmp_path).stdout == alone
    active = environment(VIRTUAL_ENV=str(tmp_path / "env"))
    assert with_triage("script.py", cwd=tmp_path, env=active).stdout == alone


def test_a_broken_sitecustomize_prints_what_it_printed_before(tmp_path):
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (packages / "sitecustomize.py").write_text("raise ValueError('broken before')\n")
    (tmp_path / "script.py").write_text("print('goes on')\n")
    words = ("--", tmp_path / "env" / "bin" / "python", "script.py")
    mine, alone = with_triage(*words, cwd=tmp_path), without_triage(*words, cwd=tmp_path)
    assert b"broken before" in alone.stderr
    assert (mine.stdout, mine.stderr, mine.returncode) == (alone.stdout, alone.stderr, alone.returncode)


# ---------------------------------------------------------------- faulthandler stays the script's

ARMED_BY_THE_SCRIPT = {
    "not at all": "",
    "on standard error": "faulthandler.enable()\n",
    "in a file": "file = open('dump.txt', 'w')\nfaulthandler.enable(file=file, all_threads=False)\n",
    "and given up": "faulthandler.enable()\nprint(faulthandler.disable(), faulthandler.disable())\n",
    "twice": "faulthandler.enable()\nfaulthandler.disable()\nfaulthandler.enable(sys.stderr)\n",
}


@pytest.mark.parametrize("name", ARMED_BY_THE_SCRIPT)
def test_a_script_that_arms_it_itself(tmp_path, name):
    (tmp_path / "script.py").write_text(
        "import faulthandler, sys\n" + ARMED_BY_THE_SCRIPT[name] + "print(faulthandler.is_enabled(), flush=True)\n"
        + CRASH + "die()\n"
    )  # fmt: skip
    alone = without_triage("script.py", cwd=tmp_path)
    kept = (tmp_path / "dump.txt").read_bytes() if (tmp_path / "dump.txt").exists() else b""
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 139
    assert done.stdout == alone.stdout
    assert masked(done.stderr) == masked(alone.stderr)
    if kept:
        assert masked((tmp_path / "dump.txt").read_bytes()) == masked(kept)
    else:
        assert "die" in functions_of(primary_of(report))
    assert primary_of(report)["exit"]["signal"] == "SIGSEGV"


@pytest.mark.parametrize("how", ["-X", "environment"])
def test_an_interpreter_that_arms_it(tmp_path, how):
    (tmp_path / "script.py").write_text(
        "import faulthandler\nprint(faulthandler.is_enabled(), flush=True)\n" + CRASH + "die()\n"
    )
    words = ("--", sys.executable, *(("-X", "faulthandler") if how == "-X" else ()), "script.py")
    settings = {"cwd": tmp_path, "env": environment(**({"PYTHONFAULTHANDLER": "1"} if how != "-X" else {}))}
    alone = without_triage(*words, **settings)
    assert b"Segmentation fault" in alone.stderr
    assert alone.stdout == b"True\n"
    mine, report = report_on(tmp_path, *words, env=settings["env"])
    assert (mine.stdout, masked(mine.stderr)) == (alone.stdout, masked(alone.stderr))
    assert "die" in functions_of(primary_of(report))


def test_a_script_that_keeps_its_dump_is_still_held(tmp_path):
    """It is noticed by the handler that its signal has put back."""
    (tmp_path / "script.py").write_text("import faulthandler\nfaulthandler.enable()\n" + CRASH + "die()\n")
    done, report = report_on(tmp_path, "script.py", native=True)
    assert done.returncode == 139
    assert done.stderr.count(b"Fatal Python error") == 1
    assert primary_of(report)["exit"]["signal"] == "SIGSEGV"
    assert report["crash"]["environment"]["libraries"], "it was not read while it was held"


def test_a_script_that_puts_a_signal_back_is_not_taken_for_dead(tmp_path):
    (tmp_path / "script.py").write_text("""\
import faulthandler, signal, time
faulthandler.enable()
signal.signal(signal.SIGFPE, signal.SIG_DFL)
time.sleep(0.6)
print("well")
""")
    done = with_triage("script.py", options=("--top", "1"), cwd=tmp_path)
    native = subprocess.run(
        [*TRIAGE, "run", "script.py"], cwd=tmp_path, env=environment(), capture_output=True, timeout=PATIENCE
    )
    for run in (done, native):
        assert (run.returncode, run.stdout, run.stderr) == (0, b"well\n", b"")


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGILL])
def test_a_held_process_dies_of_its_own_signal(tmp_path, number):
    (tmp_path / "script.py").write_text(f"import os\nos.kill(os.getpid(), {int(number)})\n")
    done, report = report_on(tmp_path, "script.py", native=True)
    assert done.returncode == 128 + number
    assert primary_of(report)["exit"]["signal"] == number.name
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_handler_of_the_script_is_its_own(tmp_path):
    (tmp_path / "script.py").write_text("""\
import os, signal, sys
def handler(number, frame):
    print("caught", number)
    sys.exit(4)
signal.signal(signal.SIGABRT, handler)
os.kill(os.getpid(), signal.SIGABRT)
""")
    done = with_triage("script.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, b"caught 6\n")


# ---------------------------------------------------------------- every way to start a Python

# Fork and spawn through multiprocessing, pools and shells are in test_workers.py.
STARTED = {
    "fork": "import os\nif os.fork() == 0:\n    die()\nos.wait()\n",
    "forkserver": "import multiprocessing\n"
    "p = multiprocessing.get_context('forkserver').Process(target=die)\np.start()\np.join()\n",
    "subprocess with env": "import os, subprocess, sys\n"
    "subprocess.run([sys.executable, __file__, 'die'], env=os.environ.copy(), close_fds=True)\n",
    "shell": "import os, shlex, sys\nos.system(shlex.join([sys.executable, __file__, 'die']))\n",
    "fork and execv": "import os, sys\n"
    "if os.fork() == 0:\n    os.execv(sys.executable, ['python', __file__, 'die'])\nos.wait()\n",
}


@pytest.mark.parametrize("way", STARTED)
def test_every_way_to_start_a_python(tmp_path, way):
    body = "".join(f"    {line}\n" for line in STARTED[way].splitlines())
    (tmp_path / "script.py").write_text(
        CRASH + "import sys\nif 'die' in sys.argv:\n    die()\nif __name__ == '__main__':\n" + body
    )
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 0, done.stderr
    assert b"Fatal Python error" not in done.stderr
    process = primary_of(report)
    assert process["role"] in ("worker", "child")
    assert functions_of(process)[:2] == ["string_at", "die"]
    assert process["exit"]["signal"] == "SIGSEGV"
    assert report["crash"]["processes"][0]["role"] == "main"
    assert report["crash"]["processes"][0]["exit"]["code"] == 0


def test_a_script_that_replaces_itself(tmp_path):
    (tmp_path / "script.py").write_text(
        CRASH + "import os, sys\nif 'die' in sys.argv:\n    die()\n"
        "os.execv(sys.executable, ['python', __file__, 'die'])\n"
    )
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 139
    assert len(report["crash"]["processes"]) == 1
    assert functions_of(primary_of(report))[:2] == ["string_at", "die"]


def test_a_module_and_a_console_script(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text(CRASH + "die()\n")
    console = tmp_path / "console"
    # As pip writes it: the first line of a script cannot name a path with a space.
    python = (
        f"#!{sys.executable}"
        if " " not in sys.executable
        else f"#!/bin/sh\n'''exec' '{sys.executable}' \"$0\" \"$@\"\n' '''"
    )
    console.write_text(f"{python}\n" + CRASH + "die()\n")
    console.chmod(0o755)
    for words in (("--", sys.executable, "-m", "package"), ("--", "./console")):
        done, report = report_on(tmp_path, *words)
        assert done.returncode == 139, words
        assert functions_of(primary_of(report))[:2] == ["string_at", "die"], words


@pytest.mark.parametrize("way", ["-I", "-E", "-S", "env"])
def test_where_the_hook_can_not_run_the_report_says_so(tmp_path, way):
    (tmp_path / "script.py").write_text(CRASH + "die()\n")
    if way == "env":
        words = ("--", "env", "-i", sys.executable, "script.py")
    else:
        words = ("--", sys.executable, way, "script.py")
    done, report = report_on(tmp_path, *words)
    assert done.returncode == 139
    assert any("hook did not run" in sentence for sentence in report["not_observable"])


def test_workers_that_come_and_go_leave_the_crash_to_be_seen(tmp_path):
    """Forking quickly, with a crash in the middle."""
    (tmp_path / "script.py").write_text(
        CRASH + "import os\nfor number in range(150):\n"
        "    if os.fork() == 0:\n        number == 75 and die()\n        os._exit(0)\n    os.wait()\n"
    )
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 0
    assert [process["role"] for process in report["crash"]["processes"]] == ["main", "worker"]


# ---------------------------------------------------------------- nobody is harmed


def test_a_process_that_only_has_the_same_number_is_left_alone(tmp_path):
    """In a container of its own a process has a number that is another process's outside."""
    bystander = subprocess.Popen(["sleep", "60"])
    directory = FaultDirectory()
    try:
        Path(directory.path, f"fault.{bystander.pid}").write_text(
            "Fatal Python error: Segmentation fault\n\n"
            'Current thread 0x1 (most recent call first):\n  File "a.py", line 3 in f\n'
        )
        held = held_process.read_crashed(bystander.pid, directory, why_not_native="a test")
        assert held.exit.signal == "SIGSEGV"
        assert is_alive(bystander.pid)
        state = Path(f"/proc/{bystander.pid}/stat").read_text().rpartition(")")[2].split()[0]
        assert state == "S"
    finally:
        directory.remove()
        bystander.kill()
        bystander.wait()


def test_in_a_namespace_of_its_own(tmp_path):
    (tmp_path / "script.py").write_text("import os\nprint(os.getpid(), flush=True)\n" + CRASH + "die()\n")
    words = ("unshare", "--pid", "--fork", sys.executable, "script.py")
    if subprocess.run([*words[:3], "true"], capture_output=True).returncode:
        pytest.skip("this user may not make namespaces")
    done, report = report_on(tmp_path, "--", *words)
    assert int(done.stdout) < 10
    assert done.returncode == 139
    assert "die" in functions_of(primary_of(report))


def test_a_worker_without_a_file_of_its_own_does_not_accuse_its_parent(tmp_path):
    """At the limit of open files the worker can't open one; its crash must not be written into its parent's."""
    (tmp_path / "script.py").write_text(
        CRASH
        + """\
import os, resource, time
resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
if os.fork() == 0:
    die()
status = os.wait()[1]
time.sleep(0.4)
os.write(1, b"%d" % status)
"""
    )
    done = with_triage("script.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"11", b"")


@pytest.mark.parametrize("ends", ["", "die()\n", "sys.exit(3)\n"])
def test_a_script_that_empties_shared_memory(tmp_path, ends):
    (tmp_path / "script.py").write_text(
        CRASH + "import os, shutil, sys, time\nshutil.rmtree(os.environ['TRIAGE_DIR'])\n"
        "if os.fork() == 0:\n    os._exit(0)\nos.wait()\ntime.sleep(0.3)\n" + ends
    )
    done = with_triage("script.py", cwd=tmp_path)
    assert done.returncode == {"": 0, "die()\n": 139}.get(ends, 3)
    assert done.stderr == b""


@pytest.mark.parametrize("ends", ["", "die()\n", "sys.exit(3)\n", "os.fork() or die()\n"])
def test_nothing_is_left_behind(tmp_path, ends):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "script.py").write_text(
        CRASH + "import os, sys\nprint(os.environ['TRIAGE_DIR'], os.getpid(), flush=True)\n" + ends
    )
    done = with_triage("script.py", cwd=tmp_path, env=environment(TMPDIR=str(tmp_path / "tmp")))
    directory, pid = done.stdout.split()[:2]
    assert directory.startswith((b"/dev/shm/", os.fsencode(tmp_path)))
    assert not os.path.exists(directory)
    assert not list((tmp_path / "tmp").iterdir())
    assert not is_alive(int(pid))
    carriers = [p for p in Path("/proc").glob("[0-9]*/environ") if directory in _content(p)]
    assert not carriers
    assert {file.name for file in tmp_path.iterdir()} <= {"tmp", "script.py", "report.txt", "__pycache__"}


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_one_triage_below_another(tmp_path):
    (tmp_path / "script.py").write_text("import os\nprint(os.environ['PYTHONPATH'])\n" + CRASH + "die()\n")
    inner = tmp_path / "inner.txt"
    done = with_triage("--", *TRIAGE, *QUICKLY, "--output", inner, "script.py", cwd=tmp_path)
    assert done.returncode == 139
    assert "SIGSEGV" in inner.read_text()
    assert not (tmp_path / "report.txt").exists(), "the inner one has reported it"
    with_triage("--", "bash", "-c", "kill -SEGV $$", cwd=tmp_path)
    assert (tmp_path / "report.txt").exists()


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("forked", [False, True])
def test_a_script_that_closes_everything_does_not_find_our_dump_in_its_files(tmp_path, forked):
    (tmp_path / "files").mkdir()
    (tmp_path / "script.py").write_text(
        CRASH + "import faulthandler, os\nos.closerange(3, 65536)\n"
        "files = [os.open(f'files/{n}', os.O_WRONLY | os.O_CREAT) for n in range(300)]\n"
        + ("faulthandler.enable()\nfaulthandler.disable()\nif os.fork():\n    os._exit(os.wait()[1] & 127)\n" * forked)
        + "for file in files:\n    os.fstat(file)\ndie()\n"
    )  # fmt: skip
    done = with_triage("script.py", cwd=tmp_path)
    assert done.returncode == (11 if forked else 139)
    assert not [file for file in (tmp_path / "files").iterdir() if file.read_bytes()]


@pytest.mark.parametrize("files", [64, 256, 1024])
def test_a_low_limit_on_open_files(tmp_path, files):
    (tmp_path / "script.py").write_text(
        "import os\nprint(sorted(map(int, os.listdir('/proc/self/fd'))), flush=True)\n" + CRASH + "die()\n"
    )
    line = f"ulimit -n {files}; exec {shlex.quote(sys.executable)} script.py"
    done, report = report_on(tmp_path, "--", "bash", "-c", line, native=True)
    assert done.returncode == 139
    # The last one is the directory that is being listed.
    assert [number for number in map(int, done.stdout.strip(b"[]\n").split(b",")) if 3 < number < 100] == []
    is_mentioned = any("ulimit -n" in sentence for sentence in report["not_observable"])
    assert is_mentioned == (files < 100)
    assert ("die" in functions_of(primary_of(report))) == (files > 100)


def test_a_full_shared_memory_is_not_used(tmp_path, monkeypatch):
    """A directory can still be made on a full disk, but nothing can be written in it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    write, made = os.write, []

    def full(file, data):
        made.append(os.readlink(f"/proc/self/fd/{file}"))
        if made[-1].startswith("/dev/shm/"):
            raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", full)
    directory = FaultDirectory()
    try:
        assert os.path.dirname(directory.path) == str(tmp_path)
        assert not os.path.exists(os.path.dirname(made[0]))
        assert os.listdir(directory.path) == []
    finally:
        directory.remove()


def test_a_process_whose_hook_could_not_write_is_not_explained_by_its_stack(tmp_path):
    (tmp_path / "script.py").write_text(
        CRASH + "import faulthandler, os, sys\n"
        "open(f\"{os.environ['TRIAGE_DIR']}/note.{os.getpid()}\", 'w').close()\n"
        "os.closerange(3, 65536)\ndie()\n"
    )
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 139
    assert any("no room for its files" in sentence for sentence in report["not_observable"])
    assert not any("used up" in sentence for sentence in report["not_observable"])


def left_by_a_killed_triage(folder: Path) -> Path:
    """The directory of a run whose triage had no time to remove it."""
    (folder / "script.py").write_text("import os, time\nprint(os.environ['TRIAGE_DIR'], flush=True)\ntime.sleep(2)\n")
    words = [*TRIAGE, *QUICKLY, "script.py"]
    with subprocess.Popen(words, cwd=folder, env=environment(), stdout=subprocess.PIPE) as killed:
        left = Path(os.fsdecode(killed.stdout.readline().strip()))
        assert left.exists()
        killed.kill()
    return left


def test_what_a_killed_triage_left_is_not_looked_for_by_a_healthy_run(tmp_path):
    for _ in range(5):
        left = left_by_a_killed_triage(tmp_path)
        with_triage("--", "true", cwd=tmp_path)
        if left.exists():
            break
        # Another test's program may have failed meanwhile, and its triage has removed it.
    assert left.exists(), "a healthy run has no time for it"


def test_what_a_killed_triage_left_is_removed_by_a_later_failure(tmp_path):
    left = left_by_a_killed_triage(tmp_path)
    lives = FaultDirectory()
    pid = left.name.split("-")[2]
    elsewhere = left.parent / f"triage-run-{pid}-1-{'0' * 12}"
    elsewhere.mkdir()
    try:
        with_triage("--", "false", cwd=tmp_path)
        assert not left.exists()
        assert os.path.isdir(lives.path)
        assert elsewhere.exists(), "in another container the number may be of a process that lives"
    finally:
        lives.remove()
        elsewhere.rmdir()


# ---------------------------------------------------------------- TensorFlow's log

LOG_LEVEL = """\
import ctypes, os
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
"""
SHOW = "print(os.environ.get('TF_CPP_MIN_LOG_LEVEL'), getenv(b'TF_CPP_MIN_LOG_LEVEL'), flush=True)\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_script_can_not_hide_it_from_tf_log(tmp_path, version):
    python = python_of(version)
    settings = (
        "os.environ['TF_CPP_MIN_LOG_LEVEL'] = '1'\n",
        "os.environ.update(TF_CPP_MIN_LOG_LEVEL='2')\n",
        "os.environb[b'TF_CPP_MIN_LOG_LEVEL'] = b'3'\n",
        "os.putenv('TF_CPP_MIN_LOG_LEVEL', '4')\n",
    )
    (tmp_path / "script.py").write_text(LOG_LEVEL + "".join(setting + SHOW for setting in settings))
    options = ("--python", python)
    hidden = with_triage("script.py", options=options, cwd=tmp_path).stdout
    assert hidden == b"1 b'1'\n2 b'2'\n3 b'3'\n3 b'4'\n"
    shown = with_triage("script.py", options=(*options, "--tf-log"), cwd=tmp_path).stdout
    assert shown == b"1 b'0'\n2 b'0'\n3 b'0'\n3 b'0'\n"


def test_framework_log_brings_back_what_the_others_hide_and_keeps_what_is_set(tmp_path):
    """PyTorch's C++ stacks, NCCL's log and JAX's whole tracebacks; somebody's own NCCL_DEBUG stays."""
    names = ("TORCH_SHOW_CPP_STACKTRACES", "JAX_TRACEBACK_FILTERING", "NCCL_DEBUG", "TF_CPP_MIN_LOG_LEVEL")
    (tmp_path / "script.py").write_text(f"import os\nprint(*(os.environ.get(name) for name in {names}))\n")
    set_already = environment(NCCL_DEBUG="TRACE")
    shown = with_triage("script.py", options=("--framework-log",), cwd=tmp_path, env=set_already).stdout
    assert shown == b"1 off TRACE 0\n"
    assert with_triage("script.py", cwd=tmp_path, env=set_already).stdout == b"None None TRACE None\n"


def test_neither_can_the_environment_nor_a_worker(tmp_path):
    (tmp_path / "script.py").write_text(
        LOG_LEVEL + SHOW + "import subprocess, sys\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n"
        "if len(sys.argv) == 1:\n    subprocess.run([sys.executable, __file__, 'again'])\n"
        "    os.fork() or os._exit(print(getenv(b'TF_CPP_MIN_LOG_LEVEL'), flush=True) or 0)\n"
    )
    done = with_triage(
        "script.py", options=("--tf-log",), cwd=tmp_path, env=environment(TF_CPP_MIN_LOG_LEVEL="2")
    )  # fmt: skip
    assert done.stdout == b"0 b'0'\n0 b'0'\nb'0'\n"


CRASH_WITH_TENSORFLOW = (
    "import mmap, os\nopen('libtensorflow_cc.so.2', 'wb').write(bytes(4096))\n"
    "mapped = mmap.mmap(os.open('libtensorflow_cc.so.2', os.O_RDONLY), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)\n"
)


@pytest.mark.parametrize("by", ["environment", "script"])
def test_a_hidden_log_is_mentioned_first(tmp_path, by):
    hides = "os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n" if by == "script" else ""
    (tmp_path / "script.py").write_text(CRASH_WITH_TENSORFLOW + hides + "os.abort()\n")
    env = environment(**({"TF_CPP_MIN_LOG_LEVEL": "3"} if by == "environment" else {}))
    done, report = report_on(tmp_path, "script.py", "--epochs", "a b", env=env, native=True)
    assert done.returncode == 134
    assert report["crash"]["environment"]["hidden_log"] == f"TF_CPP_MIN_LOG_LEVEL=3, set by the {by}"
    assert report["next"][0]["run"] == "triage run --framework-log script.py --epochs 'a b'"

    shown = with_triage("script.py", options=("--output", "/dev/stderr"), cwd=tmp_path, env=env).stderr.decode()
    rows = [line for line in shown.splitlines()[2:] if line.strip()]
    assert rows[0].lstrip().startswith("first")
    assert "hidden" in rows[0]
    assert "triage run --no-native --framework-log script.py" in rows[1]


def test_a_log_that_was_not_hidden_or_not_there_is_not_accused():
    level = Note(log_level="3", log_level_set_by="script")
    loaded, other = (Library("libtensorflow_cc.so.2", None),), (Library("libc.so.6", None),)
    assert hidden_log(level, loaded) == "TF_CPP_MIN_LOG_LEVEL=3, set by the script"
    assert hidden_log(level, ()) is not None
    assert hidden_log(level, other) is None
    for harmless in ("0", "1", "", "x", "-1", "3 x", "²", None):
        assert hidden_log(Note(log_level=harmless), loaded) is None


@pytest.mark.parametrize("value", ["", "3 4", "a\nb ä"])
def test_any_value_of_the_level_is_survived(tmp_path, value):
    (tmp_path / "script.py").write_text(f"import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = {value!r}\nos._exit(3)\n")
    done, report = report_on(tmp_path, "script.py", env=environment(TF_CPP_MIN_LOG_LEVEL=value))
    assert (done.returncode, done.stderr) == (3, b"")
    assert report["crash"]["environment"]["hidden_log"] is None


def test_the_hook_is_there():
    assert str(HOOK) == hook_files.HOOK
    assert [file.name for file in HOOK.glob("*.py")] == ["sitecustomize.py"], "anything else would be importable"
