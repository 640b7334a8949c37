"""Commands that only look are really run, with the TensorFlow that is installed: what they call exists there.

TRIAGE_COMMANDS_PYTHON names another Python with another TensorFlow; `make test-commands` does so.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rendered import of_signature, person
from shells import snippets

from triage.knowledge.steps import command_only_looks

PYTHON = os.environ.get("TRIAGE_COMMANDS_PYTHON") or sys.executable
# What stands for the person's own files, and the file of ours that is put there.
FILES = {
    "FILE.tfrecord": "part.tfrecord",
    "FILE.h5": "model.h5",
    "IMAGE": "image.png",
    "MODEL": "model.h5",
    "DATA": "data",
    "IDS.npy": "ids.npy",
    "SCRIPT.py": "script.py",
    "SCRIPT": "script.py",
    "FILE": "image.png",
    "NAME": "json",
}
_MAKE_FILES = """
import pathlib
import h5py, numpy, tensorflow as tf
image = tf.io.encode_png(numpy.zeros((4, 4, 3), "uint8")).numpy()
pathlib.Path("data").mkdir()
pathlib.Path("data/sound.png").write_bytes(image)
pathlib.Path("data/broken.png").write_bytes(image[:20])
pathlib.Path("image.png").write_bytes(image)
pathlib.Path("script.py").write_text("print('ran')")
numpy.save("ids.npy", numpy.arange(3))
with tf.io.TFRecordWriter("part.tfrecord") as file:
    file.write(b"one")
model = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1)])
model.save("model.h5")
"""
# All programs run in one process, because it takes seconds to import TensorFlow; each is told as Python would run it.
_RUN_ALL = (
    _MAKE_FILES
    + """
import contextlib, importlib.util, io, json, sys, traceback
told = {}
for command, code, arguments, modules in json.load(open(sys.argv[1])):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        told[command] = ["missing", missing[0]]
        continue
    printed = io.StringIO()
    sys.argv = ["-c", *arguments]
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "<command>", "exec"), {"__name__": "__main__"})
        told[command] = ["ran", printed.getvalue()]
    except BaseException:
        told[command] = ["failed", traceback.format_exc()]
print("TOLD", json.dumps([tf.__version__, told]))
"""
)
# Programs of POSIX systems that need neither a card nor rights, nor a file of the person's.
_EVERYWHERE = re.compile(
    r"(?:python (?:--version|-m pip (?:list|show|check)|-m py_compile|-X|-m pdb)|ls |sha256sum |df )"
)


def _looking(knowledge, version: str) -> dict[str, str]:
    """The commands that only look, for somebody on Linux with this TensorFlow, each with its signature."""
    found: dict[str, str] = {}
    for signature in knowledge.signatures.values():
        for known in (True, False):
            for text in of_signature(signature, person("linux", "tensorflow", version), knowledge, known):
                if command_only_looks(text):
                    found.setdefault(text, signature.id)
    return found


def _with_our_files(command: str) -> str:
    for word, file in FILES.items():
        command = re.sub(rf"(?<![\w/.]){re.escape(word)}(?![\w])", file, command)
    return command


@pytest.fixture(scope="module")
def version() -> str:
    asked = "import importlib.metadata as m; all = {d.metadata['Name'].replace('_', '-'): d.version for d in "
    asked += "m.distributions()}; print(all.get('tensorflow') or all.get('tensorflow-cpu') or '')"
    done = subprocess.run([PYTHON, "-c", asked], capture_output=True, text=True, check=False)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("person")


@pytest.fixture(scope="module")
def told(knowledge, version, folder) -> dict[str, list[str]]:
    """What became of each program behind `python -c`; the files of the person's are made first."""
    if not version:
        return {}
    programs = []
    for command in _looking(knowledge, version):
        for code in snippets(_with_our_files(command), "linux"):
            arguments = _with_our_files(command).rpartition('"')[2].split()
            modules = {name for names in re.findall(r"\bimport ([\w., ]+)", code) for name in _packages(names)}
            programs.append([command, code, arguments, sorted(modules)])
    (folder / "programs.json").write_text(json.dumps(programs), "utf-8")
    done = subprocess.run(
        [PYTHON, "-c", _RUN_ALL, "programs.json"], cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    assert lines, done.stderr[-3000:]
    ran_with, found = json.loads(lines[-1].removeprefix("TOLD "))
    assert ran_with.split(".")[:2] == version.split(".")[:2]
    return found


def _packages(names: str) -> set[str]:
    return {name.split(" as ")[0].strip().split(".")[0] for name in names.split(",")}


def test_programs_run_with_the_tensorflow_that_is_installed(told, require):
    require("tensorflow")
    failed = {command: said for command, (what, said) in told.items() if what == "failed"}
    assert not failed
    silent = [command for command, (what, said) in told.items() if what == "ran" and "print(" in command and not said]
    assert not silent
    # Those that import TensorFlow are what this test is for; others need a library that may not be there.
    assert sum(1 for command, (what, _) in told.items() if what == "ran" and "tensorflow" in command) >= 5


def test_a_broken_image_is_named(told, require):
    """The one command whose answer we know."""
    require("tensorflow")
    answers = [said for command, (what, said) in told.items() if what == "ran" and "decode_image" in command]
    assert any("broken.png" in said and "sound.png" not in said for said in answers), answers


def test_other_programs_run(knowledge, version, folder, told, require):
    require("tensorflow")
    path = os.pathsep.join([str(Path(PYTHON).parent), os.environ.get("PATH", "")])
    looking = _looking(knowledge, version)
    commands = {_with_our_files(one): id for one, id in looking.items() if _EVERYWHERE.match(one)}
    assert len(commands) >= 4
    failed = []
    for command, id in commands.items():
        done = subprocess.run(
            [shutil.which("bash") or "bash", "-c", command],
            cwd=folder, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL, capture_output=True,
            check=False, timeout=120,
        )  # fmt: skip
        # pip show and pip check say with 1 that a package is missing or does not fit.
        if done.returncode not in ((0, 1) if " -m pip " in command else (0,)):
            failed.append((id, command, done.stderr[-500:]))
    assert not failed
