"""A program in which there is no framework never hears a sentence about one, however it ends."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from running import environment

import triage
from triage.reports import json_report, markdown, text

NAMES = ("tensorflow", "pytorch", "torch", "keras", "jax", "tf_", "tf.data")
# Runs a program under triage and writes its report in every format.
DRIVER = """
import json, sys, triage
from pathlib import Path
from triage.reports import json_report, markdown, text
native, as_given, file, *words = sys.argv[1:]
report = triage.run(words, native=native == "1", as_given=as_given == "1").report
formats = (text, markdown, json_report)
Path(file).write_text(json.dumps(report and [each.render(report) for each in formats]), "utf-8")
"""
THREAD = "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\nraise SystemExit(3)\n"
POOL = (
    "import multiprocessing as m, os\ndef die(n):\n    os.kill(os.getpid(), 9)\n"
    "if __name__ == '__main__':\n    from concurrent.futures import ProcessPoolExecutor\n"
    "    with ProcessPoolExecutor(1) as pool:\n        print(list(pool.map(die, [1])))\n"
)
PYTHON = {
    "zero_division": "1 / 0\n",
    "value_error": "int('seven')\n",
    "key_error": "{}['batch']\n",
    "index_error": "[1][4]\n",
    "type_error": "len(3)\n",
    "attribute_error": "object().fit()\n",
    "own_exception": "class Broken(Exception): pass\nraise Broken('the plan did not work')\n",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise RuntimeError('no average') from e\n",
    "missing_module": "import a_module_that_nobody_wrote\n",
    "missing_file": "open('no/such/file.csv')\n",
    "syntax": "def f(:\n",
    "encoding": "b'\\xff\\xfe\\x00'.decode('utf-8')\n",
    "assertion": "assert 1 == 2, 'one is not two'\n",
    "recursion": "def f(n): return f(n + 1)\nf(0)\n",
    "exit_code": "import sys\nsys.exit(7)\n",
    "exit_words": "import sys\nsys.exit('cannot go on')\n",
    "thread": THREAD,
    "memory": "x = bytearray(1 << 62)\n",
    "address_space": "import resource as r\nr.setrlimit(r.RLIMIT_AS, (1 << 30, 1 << 30))\nx = 'a' * (3 << 30)\n",
    "numpy_shapes": "import numpy as np\nnp.ones((2, 3)) + np.ones((4, 5))\n",
    "numpy_reshape": "import numpy as np\nnp.arange(6).reshape(4, 5)\n",
    "child": "import subprocess\nsubprocess.run(['sh', '-c', 'kill -9 $$'], check=True)\n",
    "pool": POOL,
    "killed": "import os\nos.kill(os.getpid(), 9)\n",
    "terminated": "import os\nos.kill(os.getpid(), 15)\n",
}
# These leave a process that is held, so what was loaded into it is known.
HELD = {
    "segfault": "import ctypes\nctypes.string_at(8)\n",
    "abort": "import os\nos.abort()\n",
    "fault_in_thread": "import ctypes, threading\nt = threading.Thread(target=ctypes.string_at, args=(8,))\n"
    "t.start()\nt.join()\n",
    "float_fault": "import os, signal\nos.kill(os.getpid(), signal.SIGFPE)\n",
}
COMPILED = {
    "null_pointer.cc": "int main() { volatile int *p = nullptr; return *p; }",
    "uncaught.cc": '#include <stdexcept>\nint main() { throw std::runtime_error("no such plan"); }',
    "checked.c": "#include <assert.h>\nint main(void) { assert(1 == 2); return 0; }",
}
SCRIPTS = {
    "script.sh": "echo working; kill -SEGV $$",
    "script.js": "throw new Error('no such plan')",
    "script.pl": "die 'no such plan'",
    "Main.java": 'class Main { public static void main(String[] a) { throw new IllegalStateException("no plan"); } }',
}
RUN_BY = {".sh": "sh", ".js": "node", ".pl": "perl", ".java": "java"}


class Run(NamedTuple):
    """What a run printed, and its reports: text, Markdown, JSON."""

    printed: bytes
    exit_code: int
    reports: list[str]


def commands(folder: Path) -> Iterator[tuple[str, bool, list[str]]]:
    """Every program with its name, whether it is held, and its command; without a compiler or interpreter, fewer."""
    for held, programs in ((False, PYTHON), (True, HELD)):
        for name, source in programs.items():
            (folder / f"{name}.py").write_text(source, "utf-8")
            yield name, held, [str(folder / f"{name}.py")]
    for name, source in COMPILED.items():
        file, made = folder / name, folder / Path(name).stem
        file.write_text(source, "utf-8")
        compiler = shutil.which("gcc" if file.suffix == ".c" else "g++")
        if compiler and subprocess.run([compiler, file, "-o", made], check=False, capture_output=True).returncode == 0:
            yield name, False, ["--", str(made)]
    for name, source in SCRIPTS.items():
        file = folder / name
        file.write_text(source, "utf-8")
        if interpreter := shutil.which(RUN_BY[file.suffix]):
            yield name, False, ["--", interpreter, str(file)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Every program under `triage run`, once."""
    folder = tmp_path_factory.mktemp("plain")
    found = {}
    for name, held, words in commands(folder):
        file = folder / f"{name}.json"
        flags = ["1" if held else "0", "1" if words[0] == "--" else "0"]
        driver = [sys.executable, "-c", DRIVER, *flags, str(file), *(word for word in words if word != "--")]
        done = subprocess.run(driver, cwd=folder, env=environment(), capture_output=True, check=False, timeout=120)
        written = json.loads(file.read_text("utf-8")) if file.exists() else None
        assert written is not None, (name, done.stderr)
        report = json.loads(written[2])
        exit_code = next(p["exit"]["code"] for p in report["crash"]["processes"] if p["role"] == "main")
        found[name] = Run(done.stdout + done.stderr, exit_code, written)
    return found


def sentences(report: dict[str, Any]) -> Iterator[str]:
    """Every text of a JSON report, without what is installed here, the commands of processes and cited threads."""
    for key, value in report.items():
        if key not in ("environment", "processes", "inputs", "sources"):
            yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from sentences(value)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def named_in(said: str) -> list[str]:
    """The lines that name a framework."""
    return [line for line in said.splitlines() if any(name in line.lower() for name in NAMES)]


def test_thirty_programs_and_more_are_tried(runs: dict[str, Run]) -> None:
    assert len(runs) >= 30


def test_no_report_of_a_run_names_a_framework(runs: dict[str, Run]) -> None:
    wrong = {}
    for name, run in runs.items():
        report = json.loads(run.reports[2])
        said = [*named_in(run.reports[0]), *named_in(run.reports[1]), *named_in("\n".join(sentences(report)))]
        if said or (report["crash"]["program"] or {}).get("framework"):
            wrong[name] = (said, report["crash"]["program"])
    assert wrong == {}


def test_no_report_of_what_they_printed_names_a_framework(runs: dict[str, Run]) -> None:
    wrong, knowledge = {}, triage.load_knowledge()
    for name, run in runs.items():
        for code in (None, run.exit_code):
            report = triage.analyze(run.printed, exit_code=code, knowledge=knowledge)
            whole = json.loads(json_report.render(report))
            said = [*named_in(text.render(report)), *named_in(markdown.render(report))]
            said += named_in("\n".join(sentences(whole)))
            if said or (report.crash.program and report.crash.program.framework):
                wrong[name, code] = (said, report.crash.program)
    assert wrong == {}


def test_each_is_called_the_language_that_it_is(runs: dict[str, Run]) -> None:
    for name, run in runs.items():
        program = json.loads(run.reports[2])["crash"]["program"]
        expected = {".js": "javascript", ".java": "java", ".pl": "perl"}.get(Path(name).suffix)
        if expected or name in (*PYTHON, *HELD):
            assert program and program["language"] == (expected or "python"), (name, program)


def test_a_held_process_without_a_framework_is_known_to_have_none(runs: dict[str, Run]) -> None:
    for name in HELD:
        because = json.loads(runs[name].reports[2])["crash"]["program"]["because"]
        assert "none loaded" in [reason["kind"] for reason in because], name
