"""The collector under wine, with real Windows Pythons: what it sees of each crash, and what it leaves alone."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from set_up import CACHE
from wine import STEP, python, step, triage_run, windows, wine

import triage

short = pytest.mark.short
ALL = os.environ.get("TRIAGE_WINDOWS") == "all"


@pytest.fixture(autouse=True)
def on_windows(require: Callable[[str], None], request: pytest.FixtureRequest) -> None:
    """Real Windows code needs wine, set up; plain `make test` leaves all but a few of these to `make test-windows`."""
    require("windows")
    if not ALL and request.node.get_closest_marker("short") is None:
        pytest.skip("a longer test: make test-windows")


def exception_of(dump: Path) -> tuple[int, int, list[int]]:
    """Thread, code and parameters of a dump, read here by hand: what the file holds, not what a reader makes of it."""
    content = dump.read_bytes()
    magic, _, count, directory = struct.unpack_from("<4sIII", content)
    assert magic == b"MDMP"
    streams = {
        kind: at for kind, _, at in (struct.unpack_from("<III", content, directory + 12 * n) for n in range(count))
    }
    thread, _, code, _, _, _, number, _ = struct.unpack_from("<IIIIQQII", content, streams[6])
    return thread, code, list(struct.unpack_from(f"<{number}Q", content, streams[6] + 40))


# Innermost first, as each crash goes through them.
OURS = ["cudnn64_8.dll", "_pywrap_tensorflow_internal.pyd", "_pywrap_tf_session.pyd", "python311.dll", "python.exe"]
CRASHES = [
    pytest.param("read", 0xC0000005, [0, 0x10], marks=short),
    ("write", 0xC0000005, [1, 0xDEAD0000]),
    ("execute", 0xC0000005, None),
    pytest.param("fast-fail-7", 0xC0000409, [7], marks=short),
    ("fast-fail-2", 0xC0000409, [2]),
    ("fast-fail-5", 0xC0000409, [5]),
    ("illegal", 0xC000001D, []),
    ("divide", 0xC0000094, []),
    ("heap", 0xC0000374, None),
    ("throw", 0xE06D7363, None),
    ("delay-load", 0xC06D007E, None),
    ("parameter", 0xC000000D, []),
    ("runtime-parameter", 0xC0000417, []),
]


@pytest.mark.parametrize(("how", "code", "parameters"), CRASHES)
def test_a_crash_leaves_a_dump_and_its_own_exit_code(
    how: str, code: int, parameters: list[int] | None, tmp_path: Path
) -> None:
    ran = step("ok", how, folder=tmp_path)
    assert ran.code == code
    (dump,) = ran.dumps
    assert str(dump.name) in ran.errors
    _, in_dump, its_parameters = exception_of(dump)
    assert in_dump == code
    assert parameters is None or its_parameters == parameters
    assert ran.primary["exit"]["ntstatus"] == f"0x{code:08X}"
    assert ran.primary["exit"]["subcode"] == (parameters[0] if code == 0xC0000409 and parameters else None)
    assert ran.output == "a step\n"
    assert ran.primary["faulting_module"] == "cudnn64_8.dll"
    assert [module for module in ran.modules if module in OURS] == OURS


@short
def test_faulthandlers_python_stack_is_that_of_the_crash(tmp_path: Path) -> None:
    ran = step("handled", "read", folder=tmp_path)
    assert ran.functions == ["native_step", "train", "<module>"]
    assert "Windows fatal exception" not in ran.errors, "its text goes to a file of ours"


def test_a_fast_fail_says_why_there_is_no_python_stack(tmp_path: Path) -> None:
    ran = step("fast-fail-7", folder=tmp_path)
    assert not ran.functions
    assert ran.report is not None
    assert any("a fast fail runs no handler" in text for text in ran.report["not_observable"])


@short
def test_a_stack_overflow_is_kept_though_no_second_chance_comes(tmp_path: Path) -> None:
    ran = step("stack", folder=tmp_path)
    (dump,) = ran.dumps
    assert exception_of(dump)[1] == 0xC00000FD
    assert ran.primary["exit"]["name"] == "STATUS_STACK_OVERFLOW"


HEALTHY = [
    pytest.param(("ok",), 0, "a step\nend of script\n", marks=short),
    pytest.param(("exception",), 1, "", marks=short),
    (("exit:3",), 3, ""),
    (("exit:139",), 139, ""),
    pytest.param(("handled",), 0, None, marks=short),
    (("handled", "exception"), 1, None),
    (("child:ok",), 7, None),
]


@pytest.mark.parametrize(("how", "code", "output"), HEALTHY)
def test_what_does_not_crash_leaves_no_dump(
    how: tuple[str, ...], code: int, output: str | None, tmp_path: Path
) -> None:
    ran = step(*how, folder=tmp_path)
    assert ran.code == code
    assert ran.dumps == ()
    assert not list((tmp_path / "dumps").iterdir()), "no temporary file either"
    assert output is None or ran.output == output
    if code == 0:
        assert ran.report is None
        assert ran.errors == ""
    else:
        assert ran.primary["exit"]["ntstatus"] is None
        assert ran.primary["exit"]["signal"] is None


def test_abort_under_wine_exits_with_3_and_raises_nothing(tmp_path: Path) -> None:
    # The C runtime of Windows makes it a fast fail 7; wine's own does not.
    ran = step("abort", folder=tmp_path)
    assert ran.code == 3
    assert ran.dumps == ()


def test_the_crash_of_a_grandchild_is_the_one_to_explain(tmp_path: Path) -> None:
    ran = step("child:fast-fail-7", folder=tmp_path)
    assert ran.code == 7
    assert ran.output == "the child ended with 0xC0000409\n"
    (dump,) = ran.dumps
    assert exception_of(dump)[2] == [7]
    assert ran.primary["role"] == "worker"
    assert ran.primary["exit"]["subcode"] == 7
    assert dump.stem.endswith(f"-{ran.primary['pid']}")


def test_the_crash_of_a_thread_is_that_threads(tmp_path: Path) -> None:
    ran = step("thread:read", folder=tmp_path)
    (dump,) = ran.dumps
    assert exception_of(dump)[1] == 0xC0000005
    assert ran.functions[:3] == ["native_step", "train", "run"]


def test_a_python_older_than_ours_is_hooked_as_well(tmp_path: Path) -> None:
    ran = step("read", folder=tmp_path, options=("--python", python("3.8")))
    assert ran.code == 0xC0000005
    assert ran.functions == ["native_step", "train", "<module>"]
    assert ran.report is not None
    assert ran.report["crash"]["environment"]["python"].startswith("3.8.")


def test_behind_a_launcher_the_python_is_the_program(tmp_path: Path) -> None:
    launcher = windows(CACHE / "stand-ins" / "launcher.exe")
    ran = triage_run("--", launcher, python(), windows(STEP), "read", folder=tmp_path)
    assert ran.code == 0xC0000005
    assert len(ran.dumps) == 1
    assert ran.report is not None
    (process,) = ran.report["crash"]["processes"]
    assert process["role"] == "main"
    assert ran.functions == ["native_step", "train", "<module>"]


def test_a_program_that_is_no_python(tmp_path: Path) -> None:
    host = windows(CACHE / "stand-ins" / "host.exe")
    ran = triage_run("--", host, "divide", folder=tmp_path)
    assert ran.code == 0xC0000094
    assert ran.output == "a step begins\n"
    assert exception_of(ran.dumps[0])[1] == 0xC0000094
    assert ran.primary["command"] == "host.exe divide"


@short
def test_input_output_and_their_kind_are_those_without_us(tmp_path: Path) -> None:
    words = (windows(STEP), "terminals", "echo")
    alone = wine([python(), *words], tmp_path, b"typed\n")
    ran = triage_run(*words, folder=tmp_path, stdin=b"typed\n")
    assert (ran.code, ran.output, ran.errors) == alone
    assert "read: typed" in ran.output


def test_a_script_in_a_folder_with_a_space(tmp_path: Path) -> None:
    folder = tmp_path / "my project"
    folder.mkdir()
    shutil.copy(STEP, folder / "my step.py")
    ran = triage_run(windows(folder / "my step.py"), "fast-fail-7", folder=folder)
    assert ran.code == 0xC0000409
    assert len(ran.dumps) == 1


def test_the_ten_newest_dumps_are_kept_in_the_users_folder(tmp_path: Path) -> None:
    first = step("fast-fail-7", folder=tmp_path, save=False)
    (dump,) = first.dumps
    assert dump.parent.name == "dumps"
    for day in range(1, 11):
        older = dump.with_name(f"old-202001{day:02}-000000-{day}.dmp")
        older.write_bytes(b"MDMP")
        os.utime(older, (day, day))
    again = step("fast-fail-7", folder=tmp_path, save=False)
    assert len(again.dumps) == 10
    assert dump in again.dumps
    assert not dump.with_name("old-20200101-000000-1.dmp").exists()


def test_save_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "this one.dmp"
    step("fast-fail-7", folder=tmp_path, save=False, options=("--save", windows(file)))
    assert exception_of(file)[2] == [7]


def test_full_holds_the_python_stack_of_a_fast_fail(tmp_path: Path) -> None:
    ran = step("fast-fail-7", folder=tmp_path, options=("--full",))
    assert ran.functions == ["native_step", "train", "<module>"]
    assert ran.dumps[0].stat().st_size > 5_000_000


@short
def test_the_stack_is_stored_beside_the_dump_for_a_machine_without_the_dlls(tmp_path: Path) -> None:
    ran = step("fast-fail-7", folder=tmp_path)
    there = [(frame["module"], frame["function"], frame["offset"]) for frame in ran.frames]
    report = triage.analyze(str(ran.dumps[0]))
    here = [(f.module, f.function, f"0x{f.offset:x}") for f in report.crash.threads[0].native_stack]
    assert here == there
    assert len(here) > 10
    for file in ran.dumps[0].parent.glob("*.frames.json"):
        file.unlink()
    assert len(triage.analyze(str(ran.dumps[0])).crash.threads[0].native_stack) < len(here)


@short
def test_without_a_debugger_the_administrator_is_told_what_to_do(tmp_path: Path) -> None:
    ran = step("fast-fail-7", folder=tmp_path, options=("--no-debugger",))
    assert ran.code == 0xC0000409
    assert ran.dumps == ()
    assert "reg add" in ran.errors
    assert "python.exe" in ran.errors
    assert ran.primary["exit"]["subcode"] is None


def test_a_timeout_shows_where_it_hangs(tmp_path: Path) -> None:
    ran = step("sleep:100", folder=tmp_path, options=("--timeout", "4"))
    assert ran.code == 124
    assert ran.primary["exit"]["name"] == "timeout"
    functions = [frame["function"] for thread in ran.primary["threads"] for frame in thread["python_stack"]]
    assert functions[:2] == ["train", "<module>"]
    assert ran.seconds < 60


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    code, output, errors = wine([python(), "-m", "triage", "run", "nowhere.py"], tmp_path)
    assert (code, output) == (127, "")
    assert errors == "triage: nowhere.py does not exist; check the path.\n"
