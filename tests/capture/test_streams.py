"""The child's input and output with `triage run` are byte for byte what they are without it."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TRIAGE
from running import PATIENCE, QUICKLY, Terminal, environment, report_on, wait_until, with_triage, without_triage

SCRIPTS = {
    "nothing": "",
    "both": "import sys\nprint('out')\nprint('err', file=sys.stderr)\n",
    "no line end": "import sys\nsys.stdout.write('out')\nsys.stderr.write('err')\n",
    "binary": "import os\nos.write(1, bytes(range(256)) * 99)\nos.write(2, bytes(range(255, -1, -1)) * 99)\n",
    "empty lines and escapes": "import os\nos.write(2, b'\\n\\n\\r\\n\\x1b[31mred\\x1b[0m\\0\\xff\\n')\n",
    "exit 3": "import sys\nprint('bye', file=sys.stderr)\nsys.exit(3)\n",
    "exit 255": "import sys\nsys.exit(-1)\n",
    "exit with text": "import sys\nsys.exit('this is why')\n",
    "_exit": "import os\nprint('never flushed')\nos._exit(7)\n",
    "exception": "def f():\n    raise ValueError('näh')\nf()\n",
    "closes its own": "import os\nos.close(1)\nos.close(2)\n",
    "arguments": "import sys\nprint(sys.argv, __file__, __name__)\n",
    "interpreter": "import sys\nprint(sys.executable, sys.flags, sys.orig_argv, sys.path)\n",
}
ALTERNATING = """\
import os
for number in range(4000):
    os.write(1 + number % 2, b"%d\\n" % number)
"""
KINDS = """\
import os, stat, sys
kinds = []
for descriptor in (0, 1, 2):
    try:
        kinds.append((stat.S_IFMT(os.fstat(descriptor).st_mode), os.isatty(descriptor)))
    except OSError as error:
        kinds.append(error.errno)
with open(sys.argv[1], "w") as file:
    file.write(repr((kinds, sorted(n for n in map(int, os.listdir("/proc/self/fd")) if n < 200))))
"""


def ended_as(done: subprocess.CompletedProcess[bytes]) -> tuple[int, bytes, bytes]:
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_two_pipes(tmp_path, name):
    (tmp_path / "script.py").write_text(SCRIPTS[name])
    words = ("script.py", "--help", "-x", "--", "*", "ä b")
    assert ended_as(with_triage(*words, cwd=tmp_path)) == ended_as(without_triage(*words, cwd=tmp_path))


@pytest.mark.parametrize(
    "command",
    [
        "echo out; echo err >&2; exit 4",
        "no-such-command; exit 5",
        'echo "$0" "$@"',
        "kill -9 $$",
        "ulimit -a; umask; pwd; ls -l /proc/self/fd | wc -l",
    ],
)
def test_a_shell(tmp_path, command):
    words = ("--", "bash", "-c", command)
    mine, alone = with_triage(*words, cwd=tmp_path), without_triage(*words, cwd=tmp_path)
    assert (mine.stdout, mine.stderr) == (alone.stdout, alone.stderr)
    assert mine.returncode == (alone.returncode if alone.returncode >= 0 else 128 - alone.returncode)


def test_one_pipe_keeps_the_order(tmp_path):
    (tmp_path / "script.py").write_text(ALTERNATING)
    done = with_triage("script.py", cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.stdout == b"".join(b"%d\n" % number for number in range(4000))


def test_one_file_keeps_the_order(tmp_path):
    (tmp_path / "script.py").write_text(ALTERNATING)
    with open(tmp_path / "log", "wb") as log:
        assert with_triage("script.py", cwd=tmp_path, stdout=log, stderr=log).returncode == 0
    assert (tmp_path / "log").read_bytes() == b"".join(b"%d\n" % number for number in range(4000))


def test_one_terminal_keeps_the_order(tmp_path):
    (tmp_path / "script.py").write_text(ALTERNATING)
    with Terminal(*TRIAGE, *QUICKLY, "script.py", cwd=tmp_path) as terminal:
        assert terminal.end() == 0
        assert terminal.seen == b"".join(b"%d\r\n" % number for number in range(4000))


def test_a_terminal_gets_the_same_bytes(tmp_path):
    (tmp_path / "script.py").write_text(
        "import os\nos.write(2, b'a\\tb\\r\\nc\\n\\x1b[1mx\\x1b[0m')\nos.write(1, b'\\xff\\n')\n"
    )
    seen = []
    for words in ([*TRIAGE, *QUICKLY], [sys.executable]):
        with Terminal(*words, "script.py", cwd=tmp_path) as terminal:
            assert terminal.end() == 0
            seen.append(terminal.seen)
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    "redirection", ["", ">f", "2>f", ">f 2>&1", ">f 2>g", ">/dev/null", "2>/dev/null", "&>/dev/null"]
)
def test_a_descriptor_is_what_it_would_be(tmp_path, redirection):
    """A pipe stays a pipe, a file a file; only /dev/null, on standard error, becomes a pipe to be read."""
    (tmp_path / "kinds.py").write_text(KINDS)
    seen = {}
    for name, words in (("alone", [sys.executable]), ("mine", [*TRIAGE, *QUICKLY])):
        line = f'"$@" kinds.py {name}.txt {redirection} | cat'
        subprocess.run(["bash", "-c", line, "_", *words], cwd=tmp_path, env=environment(), check=True, timeout=PATIENCE)
        seen[name] = (tmp_path / f"{name}.txt").read_text()
    expected = seen["alone"]
    if redirection in ("2>/dev/null", "&>/dev/null"):
        pipe, null = stat.S_IFIFO, stat.S_IFCHR
        assert str(null) in expected
        assert seen["mine"].count(str(pipe)) > expected.count(str(pipe))
    else:
        assert seen["mine"] == expected


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_descriptor_stays_closed(tmp_path, closed):
    (tmp_path / "kinds.py").write_text(KINDS)
    codes = []
    for name, words in (("alone", [sys.executable]), ("mine", [*TRIAGE, *QUICKLY])):
        line = f'"$@" kinds.py {name}.txt {closed}'
        done = subprocess.run(
            ["bash", "-c", line, "_", *words],
            cwd=tmp_path, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
        )  # fmt: skip
        codes.append((done.returncode, done.stdout, done.stderr))
    assert codes[0] == codes[1] == (0, b"", b"")
    assert (tmp_path / "mine.txt").read_text() == (tmp_path / "alone.txt").read_text()


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_the_exit_code_of_a_crash_outlives_closed_streams(tmp_path, closed):
    (tmp_path / "script.py").write_text("import ctypes\nctypes.string_at(8)\n")
    words = ["bash", "-c", f'"$@" script.py {closed}', "_", *TRIAGE, *QUICKLY]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), timeout=PATIENCE)
    assert done.returncode == 139


@pytest.mark.parametrize("together", [True, False])
def test_twenty_megabytes(tmp_path, together):
    (tmp_path / "script.py").write_text(
        "import os, random\nrandom.seed(1)\npiece = random.randbytes(1 << 20)\n"
        "for _ in range(20):\n    left = memoryview(piece)\n    while left:\n        left = left[os.write(2, left):]\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT if together else subprocess.PIPE}
    mine = with_triage("script.py", cwd=tmp_path, **pipes)
    alone = without_triage("script.py", cwd=tmp_path, **pipes)
    got, wanted = (done.stdout if together else done.stderr for done in (mine, alone))
    assert len(got) == 20 << 20
    assert hashlib.sha256(got).digest() == hashlib.sha256(wanted).digest()


def test_of_long_output_the_first_and_the_last_part_are_read(tmp_path):
    (tmp_path / "script.py").write_text(
        "import os\nfor _ in range(200):\n    os.write(2, b'x' * 79999 + b'\\n')\nraise KeyError('the last line')\n"
    )
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 1
    assert report["crash"]["exception"]["type"] == "KeyError"


def test_input_reaches_the_child(tmp_path):
    (tmp_path / "script.py").write_text("import sys\nsys.stdout.write(sys.stdin.read().upper())\n")
    text = "".join(f"line {number}\n" for number in range(50_000))
    assert with_triage("script.py", cwd=tmp_path, input=text.encode()).stdout == text.upper().encode()


def test_input_that_the_child_leaves_is_left(tmp_path):
    (tmp_path / "script.py").write_text("import os\nos.read(0, 2)\n")
    line = '"$@" script.py; cat'
    done = subprocess.run(
        ["bash", "-c", line, "_", *TRIAGE, *QUICKLY],
        cwd=tmp_path, env=environment(), input=b"a\nb\nc\n", capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.stdout == b"b\nc\n"


@pytest.mark.parametrize("redirection", ["", "2>&1"])
@pytest.mark.parametrize("command", ["script.py", "-- yes"])
def test_a_reader_that_leaves_early(tmp_path, redirection, command):
    """As in `| head -1`: the child notices, ends as it would, and nothing is printed about it twice."""
    (tmp_path / "script.py").write_text("import sys\nwhile True:\n    print('y')\n    print('y', file=sys.stderr)\n")
    outputs = []
    mine = f"{shlex.join([*TRIAGE, *QUICKLY])} --output report.txt {command}"
    alone = command.removeprefix("-- ") if command.startswith("--") else f"{shlex.quote(sys.executable)} {command}"
    for line in (alone, mine):
        done = subprocess.run(
            ["bash", "-c", f"{line} {redirection} 2>errors | head -1; echo ${{PIPESTATUS[0]}}"
             if not redirection else f"{line} {redirection} | head -1; echo ${{PIPESTATUS[0]}}"],
            cwd=tmp_path, env=environment(), capture_output=True, timeout=PATIENCE,
        )  # fmt: skip
        outputs.append(done.stdout.split())
    assert outputs[0] == outputs[1]


def test_a_report_nobody_reads_does_not_cost_the_exit_code(tmp_path):
    (tmp_path / "script.py").write_text("import os, time\nos.write(2, b'x' * 9)\ntime.sleep(0.3)\nos._exit(9)\n")
    line = f"{shlex.join([*TRIAGE, *QUICKLY])} script.py 2>&1 | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, timeout=PATIENCE)
    assert done.stdout == b"x9\n"
    assert done.stderr == b""


def test_a_grandchild_that_lives_on_still_reaches_the_reader(tmp_path):
    """A server started by the script: triage ends with the script, and what the server says later arrives."""
    (tmp_path / "script.py").write_text("""\
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(1)
        while not os.path.exists("go"):
            time.sleep(0.02)
        os.write(2, b"later\\n")
    os._exit(0)
os.wait()
os.write(2, b"now\\n")
""")
    process = subprocess.Popen(
        [*TRIAGE, *QUICKLY, "script.py"],
        cwd=tmp_path, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.wait(PATIENCE) == 0
    assert process.stdout.read() == b"", "nobody but the grandchild may keep a stream open"
    (tmp_path / "go").touch()
    assert process.stderr.read() == b"now\nlater\n"


def test_a_file_that_already_holds_an_older_crash(tmp_path):
    (tmp_path / "script.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "log").write_text("Traceback (most recent call last):\n  File 'a.py', line 1\nKeyError: 'older'\n")
    with open(tmp_path / "log", "ab") as log:
        done, report = report_on(tmp_path, "script.py", stdout=log, stderr=log)
    assert done.returncode == 3
    assert report["crash"]["exception"] is None


def test_a_file_is_read_for_the_report(tmp_path):
    (tmp_path / "script.py").write_text("print('so far', flush=True)\nraise KeyError('x')\n")
    with open(tmp_path / "out", "wb") as out, open(tmp_path / "err", "wb") as err:
        _, report = report_on(tmp_path, "script.py", stdout=out, stderr=err)
    assert report["crash"]["exception"]["type"] == "KeyError"
    assert not any("standard output" in sentence for sentence in report["not_observable"])
    assert (tmp_path / "out").read_bytes() == b"so far\n"


@pytest.mark.parametrize("errors", ["2>&1 >out.txt | cat", ">out.txt 2>/dev/null", ">out.txt 2>errors.txt"])
def test_output_in_a_file_does_not_hide_the_errors(tmp_path, errors):
    (tmp_path / "raises.py").write_text("print('begun')\nraise KeyError('learning_rate')\n", "utf-8")
    line = shlex.join([*TRIAGE, *QUICKLY, "--format", "json", "--output", "report.json", "raises.py"])
    subprocess.run(["bash", "-c", f"{line} {errors}"], cwd=tmp_path, env=environment(), timeout=PATIENCE)
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["crash"]["exception"]["type"] == "KeyError"
    assert {entry["name"] for entry in report["crash"]["inputs"]} >= {"stdout", "stderr"}


def test_output_that_was_not_read_is_a_gap(tmp_path):
    (tmp_path / "script.py").write_text("import sys\nsys.exit(3)\n")
    _, report = report_on(tmp_path, "script.py")
    assert any(sentence.startswith("standard output") for sentence in report["not_observable"])


def test_a_reader_that_does_not_block(tmp_path):
    """Node and others hand out pipes on which a write may fail with "try again"."""
    (tmp_path / "script.py").write_text("import os\nfor _ in range(50):\n    os.write(2, b'x' * 10_000)\n")
    source, target = os.pipe()
    os.set_blocking(target, False)
    process = subprocess.Popen(
        [*TRIAGE, *QUICKLY, "script.py"],
        cwd=tmp_path, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=target,
    )  # fmt: skip
    os.close(target)
    with open(source, "rb") as stream:
        assert len(stream.read()) == 500_000
    assert process.wait(PATIENCE) == 0


def test_the_report_follows_the_last_word_of_the_child(tmp_path):
    (tmp_path / "script.py").write_text("import os\nos.write(2, b'last word')\nos._exit(9)\n")
    done = with_triage("script.py", options=("--format", "json", "--output", "/dev/stderr"), cwd=tmp_path)
    assert done.stderr.startswith(b"last word")
    assert json.loads(done.stderr.removeprefix(b"last word"))["crash"]["processes"][0]["exit"]["code"] == 9


def test_a_program_without_an_environment_or_directory(tmp_path):
    """Neither a working directory that is gone nor an empty environment keeps a program from running."""
    gone = tmp_path / "gone"
    gone.mkdir()
    line = 'cd "$0" && rmdir "$0" && "$@"'
    done = subprocess.run(
        ["bash", "-c", line, gone, *TRIAGE, *QUICKLY, "--", sys.executable, "-c", "print(1)"],
        env=environment(),
        capture_output=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (0, b"1\n"), done.stderr
    words = [*TRIAGE, *QUICKLY, "--", "/usr/bin/env"]
    done = subprocess.run(words, env={}, cwd=Path(TRIAGE[0]).parents[2], capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    names = {line.split(b"=")[0] for line in done.stdout.splitlines()}
    assert names - {b"LC_CTYPE"} == {b"PYTHONPATH", b"TRIAGE_DIR"}


def test_nothing_is_left_open_to_wait_for(tmp_path):
    """The copier that serves a surviving grandchild goes with it."""
    (tmp_path / "script.py").write_text("""\
import os, subprocess
process = subprocess.Popen(["sleep", "60"], start_new_session=True)
print(process.pid, os.getppid())
""")
    with open(tmp_path / "out", "wb") as output:
        process = subprocess.Popen(
            [*TRIAGE, *QUICKLY, "script.py"],
            cwd=tmp_path, env=environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE,
        )  # fmt: skip
    assert process.wait(PATIENCE) == 0
    wait_until((tmp_path / "out").read_bytes)
    os.kill(int((tmp_path / "out").read_bytes().split()[0]), 9)
    assert process.stderr.read() == b""
