"""`triage run`: what it answers, what it refuses, and that the child's exit code is never lost."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest
from conftest import TRIAGE
from running import CRASH, PATIENCE, QUICKLY, environment, functions_of, primary_of, report_on, with_triage


def sentence_in(errors: bytes) -> str:
    """The one sentence that it must be."""
    text = errors.decode()
    assert text.startswith("triage: "), text
    assert text.count("\n") == 1, text
    return text


def run(*words: object, cwd, **more: str) -> subprocess.CompletedProcess[bytes]:
    """`triage run` with nothing added, its report on standard error."""
    return subprocess.run(
        [*TRIAGE, "run", *map(str, words)],
        cwd=cwd,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )


# ---------------------------------------------------------------- the answer


def test_a_healthy_run_prints_nothing_and_leaves_nothing(tmp_path):
    (tmp_path / "script.py").write_text("")
    done = with_triage("script.py", options=("--output", "report.txt"), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [file.name for file in tmp_path.iterdir()] == ["script.py"]


def test_the_report_follows_on_standard_error(tmp_path):
    (tmp_path / "script.py").write_text("print('out', flush=True)\n" + CRASH + "die()\n")
    done = run("--no-native", "script.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (139, b"out\n")
    blank, sentence, answer = done.stderr.decode().splitlines()[:3]
    assert blank == "", "apart from what the program printed last, which may be half a line"
    assert answer.startswith("native.") or "SIGSEGV" in sentence
    assert b"script.py:4" in done.stderr
    assert b"\x1b" not in done.stderr, "colours belong to terminals"


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_every_form_and_a_file(tmp_path, form):
    (tmp_path / "script.py").write_text("import sys\nsys.exit(3)\n")
    done = run("--no-native", "--format", form, "--output", "report", "script.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (3, b"")
    written = (tmp_path / "report").read_text("utf-8")
    assert "exit 3" in written


def test_the_report_names_the_interpreter(tmp_path):
    (tmp_path / "script.py").write_text("import sys\nsys.exit(3)\n")
    _, report = report_on(tmp_path, "script.py")
    assert report["crash"]["environment"]["interpreter"] == sys.executable
    process = report["crash"]["processes"][0]
    assert (process["command"], process["exit"]["code"]) == ("script.py", 3)


@pytest.mark.parametrize(("code", "number"), [(139, 11), (137, 9), (130, 2)])
def test_a_signal_is_told_as_a_shell_tells_it(tmp_path, code, number):
    (tmp_path / "script.py").write_text(f"import os, time\nos.kill(os.getpid(), {number})\ntime.sleep(9)\n")
    done, report = report_on(tmp_path, "script.py")
    # Of an interrupt we die ourselves, and Python tells that by a negative number.
    assert done.returncode in (code, -number if number == 2 else code)
    assert report["crash"]["processes"][0]["exit"]["code"] == code


def test_a_python_exception_is_read(tmp_path):
    (tmp_path / "script.py").write_text("def f():\n    raise KeyError('x')\nf()\n")
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 1
    assert report["crash"]["exception"]["type"] == "KeyError"
    assert b"KeyError" in done.stderr


# ---------------------------------------------------------------- whose options


def test_options_behind_the_script_are_the_scripts(tmp_path):
    (tmp_path / "script.py").write_text("import sys\nprint(sys.argv[1:])\n")
    words = ("--help", "--format", "json", "--no-native", "--", "-x", "--output=f", "")
    done = run("--no-native", "script.py", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout.decode()) == (0, f"{list(words)}\n")
    assert done.stderr == b""


def test_help_before_the_script_is_ours(tmp_path):
    done = run("--help", "script.py", cwd=tmp_path)
    assert done.returncode == 0
    assert b"Usage: triage run" in done.stdout


def test_help_tells_of_a_run_that_ends_well_with_a_crash_in_it(tmp_path):
    (tmp_path / "script.py").write_text(CRASH + "import os\nos.fork() or die()\nos.wait()\n")
    told = " ".join(run("--help", cwd=tmp_path).stdout.decode().split())
    assert "or ends with 0 although one of its processes crashed" in told
    done = run("--no-native", "script.py", cwd=tmp_path)
    assert done.returncode == 0
    assert b"SIGSEGV" in done.stderr


def test_everything_behind_two_dashes_is_the_command(tmp_path):
    (tmp_path / "module.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    done = run("--timeout", "30", "--", sys.executable, "-m", "module", "--", "--help", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"__main__ ['--', '--help']\n")


@pytest.mark.parametrize(
    ("mistyped", "meant"), [("--timout", "--timeout"), ("--tflog", "--tf-log"), ("--pyton", "--python")]
)
def test_a_mistyped_option_is_not_the_script(tmp_path, mistyped, meant):
    (tmp_path / "script.py").write_text("")
    done = run(mistyped, "script.py", cwd=tmp_path)
    assert done.returncode == 2
    assert meant.encode() in done.stderr


@pytest.mark.parametrize("option", ["-m", "-c"])
def test_an_option_of_python(tmp_path, option):
    done = run(option, "module", cwd=tmp_path)
    assert done.returncode == 2
    assert f"triage run -- python {option}".encode() in done.stderr


@pytest.mark.parametrize("words", [(), ("--",), ("--no-native",), ("--timeout", "3", "--")])
def test_nothing_to_run(tmp_path, words):
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert b"SCRIPT" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_command_whose_value_looks_like_a_separator(tmp_path):
    """`--output --` takes the two dashes as a name; what follows is a script."""
    (tmp_path / "script.py").write_text("import sys\nsys.exit(3)\n")
    done = run("--no-native", "--output", "--", "script.py", cwd=tmp_path)
    assert done.returncode == 3
    assert (tmp_path / "--").exists()


# ---------------------------------------------------------------- what can't be started


def test_no_such_script_with_a_near_name(tmp_path):
    (tmp_path / "train.py").write_text("")
    done = run("trian.py", cwd=tmp_path)
    assert done.returncode == 127
    assert "did you mean train.py?" in sentence_in(done.stderr)


def test_a_directory(tmp_path):
    (tmp_path / "folder").mkdir()
    done = run("folder", cwd=tmp_path)
    assert done.returncode == 126
    assert "is a directory" in sentence_in(done.stderr)


def test_a_script_without_permission(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (tmp_path / "script.py").touch(0o000)
    done = run("script.py", cwd=tmp_path)
    assert done.returncode == 126
    assert "chmod +r" in sentence_in(done.stderr)


@pytest.mark.parametrize(
    ("python", "code"), [("nowhere/python", 127), ("./broken", 127), ("./text", 126), ("./folder", 127)]
)
def test_an_interpreter_that_does_not_start(tmp_path, python, code):
    (tmp_path / "script.py").write_text("")
    (tmp_path / "folder").mkdir()
    for name, text in (("broken", "#!/nowhere/python\n"), ("text", "just text\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = run("--python", python, "script.py", cwd=tmp_path)
    assert done.returncode == code
    assert python.removeprefix("./") in sentence_in(done.stderr)


def test_an_interpreter_that_is_none(tmp_path):
    """It starts, and fails in its own way: its code is handed on, and the report does not invent a Python."""
    (tmp_path / "script.py").write_text("")
    done, report = report_on(tmp_path, "script.py", options=("--python", "/bin/false"))
    assert done.returncode == 1
    assert report["verdict"] == "unknown"
    assert report["crash"]["environment"]["python"] is None


def test_a_command_that_is_not_executable(tmp_path):
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    done = run("--", "./tool", cwd=tmp_path)
    assert done.returncode == 126
    assert "chmod +x ./tool" in sentence_in(done.stderr)


def test_a_program_of_another_kind(tmp_path):
    (tmp_path / "tool").write_text("echo no first line\n")
    (tmp_path / "tool").chmod(0o755)
    done = run("--", "./tool", cwd=tmp_path)
    assert done.returncode == 126
    assert "triage run -- sh ./tool" in sentence_in(done.stderr)


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("my trän ✓.py", ()),
        ("a\nb.py", ()),
        (b"\xff.py", ()),
        (b"\xff.py", ("--output", "report.txt")),
    ],
)
def test_any_name_of_a_script(tmp_path, name, output):
    name = os.fsdecode(name)
    (tmp_path / name).write_text("import sys\nsys.exit(3)\n")
    done = run("--no-native", *output, f"./{name}", cwd=tmp_path)
    assert done.returncode == 3
    assert b"bug in triage" not in done.stderr
    written = (tmp_path / "report.txt").read_bytes() if output else done.stderr
    assert b"exit 3" in written


# ---------------------------------------------------------------- the report can't be written


@pytest.mark.parametrize(
    ("output", "form"), [("missing/report.txt", "text"), ("/dev/full", "text"), ("/dev/full", "json"), ("", "json")]
)
def test_a_report_that_can_not_be_written_is_printed(tmp_path, output, form):
    (tmp_path / "script.py").write_text("import sys\nsys.exit(3)\n")
    done = run("--no-native", "--format", form, "--output", output, "script.py", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.startswith(b"triage: ")
    assert b"could not be written" in done.stderr
    assert b"exit 3" in done.stderr.split(b"\n", 1)[1]
    assert b"Traceback" not in done.stderr


def test_standard_error_on_a_full_disk(tmp_path):
    (tmp_path / "script.py").write_text("import os\nos._exit(3)\n")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*TRIAGE, *QUICKLY, "script.py"], cwd=tmp_path, env=environment(), stderr=full, timeout=PATIENCE
        )
    assert done.returncode == 3


def test_a_private_pack_that_is_broken_costs_nothing(tmp_path):
    (tmp_path / "script.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "pack.yaml").write_text("schema: [")
    done = run("--no-native", "--signatures", "pack", "script.py", cwd=tmp_path)
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr
    done = run("--no-native", "--signatures", "nowhere", "script.py", cwd=tmp_path)
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr


# ---------------------------------------------------------------- PEP 723 and notebooks

METADATA = "# /// script\n# dependencies = []\n# ///\n"


@pytest.mark.parametrize("way", ["exec", "child"])
def test_a_script_with_dependencies_runs_through_uv(tmp_path, way):
    """A stand-in for uv, which may replace itself by Python or wait for it."""
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    start = f'{"exec " if way == "exec" else ""}"{sys.executable}" "$@"'
    uv.write_text(f'#!/bin/sh\n[ "$1 $2" = "run --script" ] || exit 99\nshift 2\n{start}\n')
    uv.chmod(0o755)
    (tmp_path / "script.py").write_text(METADATA + CRASH + "import sys\nprint(sys.argv[1:], flush=True)\ndie()\n")
    path = f"{uv.parent}:{os.environ['PATH']}"
    done, report = report_on(tmp_path, "script.py", "--help", env=environment(PATH=path))
    assert (done.returncode, done.stdout) == (139, b"['--help']\n")
    assert functions_of(primary_of(report))[:2] == ["string_at", "die"]
    assert any("PEP 723" in sentence for sentence in report["not_observable"])
    assert report["crash"]["environment"]["interpreter"] == sys.executable


def test_without_uv_it_runs_and_says_so(tmp_path):
    (tmp_path / "script.py").write_text(METADATA + "import sys\nsys.exit(3)\n")
    done, report = report_on(tmp_path, "script.py", env=environment(PATH="/nowhere"))
    assert done.returncode == 3
    assert any("uv is not installed" in sentence for sentence in report["not_observable"])


def test_a_notebook_without_nbclient_says_what_to_install(tmp_path):
    has_it = subprocess.run([sys.executable, "-c", "import nbclient, ipykernel"], capture_output=True).returncode == 0
    if has_it:
        pytest.skip("nbclient is installed here")
    (tmp_path / "train.ipynb").write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    done = run("train.ipynb", cwd=tmp_path)
    assert done.returncode == 126
    assert f"{shlex.quote(sys.executable)} -m pip install nbclient ipykernel" in sentence_in(done.stderr)


@pytest.mark.parametrize("option", [("--save", "x.dmp"), ("--full",), ("--no-debugger",)])
def test_options_about_windows_dumps_say_so_elsewhere(tmp_path, option):
    done = run(*option, "script.py", cwd=tmp_path)
    assert done.returncode == 2
    assert f"{option[0]}: for Windows, where a crash leaves a minidump" in done.stderr.decode()
