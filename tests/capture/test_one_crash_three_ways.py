"""One crash seen live, left as a core and printed by gdb is one crash: one key of its stack, one first cause."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import TRIAGE, clean_environment
from crashers import Crasher, all_crashers

# Those that crash natively and soon. Not here: what is killed, raises or hangs, which leaves no core; oom_* and
# bad_alloc*, whose cores have many GiB; recursion_c*, of which gdb prints frames for minutes; and those that crash in a
# way that is here already, because gdb takes half a minute to read the symbols of TensorFlow.
WITHOUT_TENSORFLOW = (
    "cpp_thread",
    "cpp_thread_terminate",
    "own_faulthandler",
    "own_faulthandler_file",
    "stack_overflow_in_thread",
    "process_pool_crash",
)
# Both have a message that decides live; the core has nothing but frames.
WITH_TENSORFLOW = ("heap_corruption", "check_failed")
CRASHERS = [c for c in all_crashers() if c.name in (*WITHOUT_TENSORFLOW, *WITH_TENSORFLOW) and not c.missing]
SECONDS = 480


class Answer(NamedTuple):
    """What must not depend on how the crash was looked at."""

    stack_key: str
    cause: str


def answer(*arguments: str | Path, folder: Path, input: bytes = b"") -> Answer:
    """What the real command says."""
    file = folder / "report.json"
    command = [*TRIAGE, arguments[0], "--format", "json", "--output", file, *arguments[1:]]
    environment = clean_environment(TF_ENABLE_ONEDNN_OPTS="1")
    done = subprocess.run(
        [str(part) for part in command], input=input, capture_output=True, cwd=folder, env=environment, timeout=SECONDS
    )
    assert file.exists(), done.stderr.decode("utf-8", "replace")
    report = json.loads(file.read_text("utf-8"))
    return Answer(report["stack_key"], report["diagnoses"][0]["cause"] if report["diagnoses"] else "")


def core_of(crasher: Crasher, folder: Path) -> Path:
    """The core that it leaves without us; of a pool the worker's, which is the one that crashed."""
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith("|") or "/" in pattern:
        pytest.skip(f"cores go to {pattern}")

    def allow_core() -> None:
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    subprocess.run(
        [sys.executable, str(crasher.script)],
        cwd=folder,
        env=clean_environment(TF_ENABLE_ONEDNN_OPTS="1"),
        capture_output=True,
        preexec_fn=allow_core,
        timeout=SECONDS,
    )
    cores = sorted(folder.glob("core*"))
    if not cores:
        pytest.skip("the system left no core")
    return cores[0]


def printed_by_gdb(core: Path) -> bytes:
    """What a person pastes: `bt` of the core."""
    command = ["gdb", "--nx", "--batch", "-ex", "bt", sys.executable, str(core)]
    return subprocess.run(command, capture_output=True, timeout=SECONDS).stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these are cores of Linux")
@pytest.mark.parametrize("crasher", CRASHERS, ids=lambda crasher: crasher.name)
def test_one_crash_has_one_key_and_one_first_cause_however_it_is_seen(
    crasher: Crasher, tmp_path: Path, require: Callable[[str], None]
) -> None:
    require("gdb")
    require("ptrace")
    folders = [tmp_path / name for name in ("live", "died", "core", "text")]
    for folder in folders:
        folder.mkdir()
    live = answer("run", crasher.script, folder=folders[0])
    core = core_of(crasher, folders[1])
    try:
        dead = answer("analyze", core, folder=folders[2])
        text = answer("analyze", "-", folder=folders[3], input=printed_by_gdb(core))
    finally:
        shutil.rmtree(folders[1])
    assert live.stack_key
    assert live.cause == crasher.cause
    assert dead == live
    assert text == live
