"""--output: never over what is read, written whole or not at all, and no older report is taken for the answer."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import LOGS, TRIAGE, clean_environment, give_up_the_right_to_read_everything

from triage.reports import FORMATS

LOG = LOGS / "oom_in_fit-2.21.log"
HEALTHY = LOGS / "healthy" / "fit-2.21.log"
FAILS, ENDS_WELL = "import sys\nsys.exit(3)\n", "print('all is well')\n"
on_posix = pytest.mark.skipif(os.name == "nt", reason="links, pipes, modes and devices as POSIX has them")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "x.log"
    path.write_bytes(LOG.read_bytes())
    return path


def in_shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A line of a shell in which `triage` is the command."""
    line = f'triage() {{ {shlex.join(TRIAGE)} "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", line], input="", capture_output=True, text=True, cwd=cwd, env=clean_environment(), timeout=60
    )


def is_refusal(done: subprocess.CompletedProcess[str]) -> bool:
    return (
        done.returncode == 2
        and "would be overwritten; choose another --output." in done.stderr
        and done.stderr.count("\n") == 1
        and done.stdout == ""
    )


# ---------------------------------------------------------------- what is read is never written


@on_posix
@pytest.mark.parametrize(
    "output", ["x.log", "./x.log", "sub/../x.log", "link", "hard", "folder-link/x.log", "{whole}"], ids=lambda o: o
)
def test_an_input_is_never_the_output_under_whatever_name(run_triage, tmp_path, log, output):
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("x.log")
    (tmp_path / "folder-link").symlink_to(".")
    os.link(log, tmp_path / "hard")
    done = run_triage("analyze", "x.log", "--output", output.format(whole=log))
    assert is_refusal(done), done.stderr
    assert log.read_bytes() == LOG.read_bytes()


def test_nor_one_of_several_inputs_a_linked_one_or_a_folder_s(run_triage, tmp_path, log):
    logs = tmp_path / "logs"
    logs.mkdir()
    os.link(log, logs / "a.log")
    for inputs in (["x.log", HEALTHY], ["--each", HEALTHY, "x.log"], ["logs"]):
        assert is_refusal(run_triage("analyze", *inputs, "--output", "x.log"))
    assert is_refusal(run_triage("analyze", "logs", "--output", "logs/a.log"))
    assert log.read_bytes() == LOG.read_bytes()


@on_posix
def test_nor_the_file_that_standard_input_comes_from(tmp_path, log):
    assert is_refusal(in_shell("triage analyze - --output x.log < x.log", tmp_path))
    assert is_refusal(in_shell("triage analyze --output x.log < x.log", tmp_path))
    assert log.read_bytes() == LOG.read_bytes()


def test_nor_what_else_is_read(run_triage, tmp_path, log):
    (tmp_path / "program").write_bytes(b"\x7fELF")
    (tmp_path / "dlls").mkdir()
    (tmp_path / "dlls" / "python311.dll").write_bytes(b"MZ")
    pack = tmp_path / "pack"
    (pack / "own").mkdir(parents=True)
    (pack / "pack.yaml").write_text("schema: 1\nname: house\n")
    for options, output in (
        (["--executable", "program"], "program"),
        (["--pe-dir", "dlls"], "dlls/python311.dll"),
        (["--signatures", "pack"], "pack/pack.yaml"),
    ):
        before = (tmp_path / output).read_bytes()
        assert is_refusal(run_triage("analyze", log, *options, "--output", output))
        assert (tmp_path / output).read_bytes() == before
    done = run_triage("analyze", log, "--pe-dir", "dlls", "--output", "dlls/report.txt")
    assert (done.returncode, done.stderr) == (0, "")


@on_posix
@pytest.mark.parametrize(
    "line",
    [
        "triage run --no-native --output script.py script.py",
        "triage run --no-native --output ./link script.py",
        "triage run --no-native --output script.py -- python script.py",
        "triage run --no-native --output data.csv script.py data.csv",
        "triage run --no-native --output data.csv script.py < data.csv",
        "triage run --no-native --output data.csv script.py >> data.csv",
        "triage run --no-native --output data.csv script.py 2>> data.csv",
    ],
)
def test_a_run_never_overwrites_its_script_or_what_goes_into_it_and_out_of_it(tmp_path, line):
    (tmp_path / "script.py").write_text("open('started', 'w')\n" + FAILS)
    (tmp_path / "link").symlink_to("script.py")
    (tmp_path / "data.csv").write_text("1,2,3\n")
    done = in_shell(line, tmp_path)
    assert (tmp_path / "script.py").read_text() == "open('started', 'w')\n" + FAILS
    assert (tmp_path / "data.csv").read_text().startswith("1,2,3\n")
    assert done.returncode == 2
    assert not (tmp_path / "started").exists()


# ---------------------------------------------------------------- how it is written


@on_posix
@pytest.mark.parametrize("existed", [True, False])
def test_a_report_is_for_its_owner_only(run_triage, tmp_path, log, existed):
    report = tmp_path / "report.txt"
    if existed:
        report.write_text("old")
        report.chmod(0o644)
    assert run_triage("analyze", log, "--output", "report.txt").returncode == 0
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert report.read_text("utf-8").splitlines()[1] == "host.out-of-memory"
    assert sorted(os.listdir(tmp_path)) == ["report.txt", "x.log"]


@on_posix
def test_a_link_leads_the_report_to_where_it_points(run_triage, tmp_path, log):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old.txt").write_text("old")
    (tmp_path / "link").symlink_to("there/old.txt")
    (tmp_path / "dangling").symlink_to("there/new.txt")
    for link, target in (("link", "old.txt"), ("dangling", "new.txt")):
        assert run_triage("analyze", log, "--output", link).returncode == 0
        assert (tmp_path / link).is_symlink()
        assert (tmp_path / "there" / target).read_text("utf-8").splitlines()[1] == "host.out-of-memory"


@on_posix
@pytest.mark.parametrize("output", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev//stdout", "/dev/fd/3"])
def test_the_streams_are_written_to_and_not_replaced(tmp_path, log, output):
    (tmp_path / "out").write_text("before\n")
    done = in_shell(f"triage analyze x.log --output {output} >> out 3>&1; cat out", tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines()[0::2][:2] == ["before", "host.out-of-memory"]
    assert sorted(os.listdir(tmp_path)) == ["out", "x.log"]


@on_posix
def test_a_process_substitution_gets_the_report(tmp_path, log):
    done = in_shell("triage analyze x.log --output >(cat)", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1] == "host.out-of-memory"


@on_posix
def test_a_device_stays_a_device_and_a_pipe_a_pipe(run_triage, tmp_path, log):
    assert run_triage("analyze", log, "--output", "/dev/null").returncode == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    os.mkfifo(tmp_path / "pipe")
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.append((tmp_path / "pipe").read_text("utf-8")), daemon=True)
    reader.start()
    assert run_triage("analyze", log, "--output", "pipe").returncode == 0
    reader.join(60)
    assert seen[0].splitlines()[1] == "host.out-of-memory"
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


@pytest.mark.parametrize("place", ["no/such/folder/report.txt", ".", "", "new/", "loop", "x" * 300])
def test_a_place_where_no_report_can_be_is_said_in_a_sentence(run_triage, tmp_path, log, place):
    if os.name != "nt":
        (tmp_path / "loop").symlink_to("loop")
    done = run_triage("analyze", log, "--output", place)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "could not be written" in done.stderr
    assert {"x.log", "loop"} >= set(os.listdir(tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are taken away with Linux's capabilities")
def test_a_file_in_a_folder_that_is_not_ours_is_written_itself(tmp_path, log):
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "report.txt").write_text("a longer text than any report has\n" * 2000)
    (folder / "report.txt").chmod(0o666)
    folder.chmod(0o555)
    words = [*TRIAGE, "analyze", str(log), "--output", "theirs/report.txt"]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, preexec_fn=give_up_the_right_to_read_everything
    )
    folder.chmod(0o755)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(folder) == ["report.txt"]
    text = (folder / "report.txt").read_text("utf-8")
    assert text.splitlines()[1] == "host.out-of-memory" and "a longer text" not in text


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_an_output_that_is_full_is_told_apart_from_an_answer(run_triage, log):
    done = run_triage("analyze", log, "--output", "/dev/full")
    assert done.returncode == 74
    assert done.stderr.count("\n") == 1 and "No space left on device" in done.stderr


@on_posix
def test_a_file_that_grows_too_large_leaves_what_was_there(tmp_path, log):
    (tmp_path / "report.txt").write_text("mine\n")
    done = in_shell("trap '' XFSZ; ulimit -f 1; triage analyze x.log --format json --output report.txt", tmp_path)
    assert done.returncode == 74
    assert "could not be written (File too large)" in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "report.txt").read_text() == "mine\n"
    assert sorted(os.listdir(tmp_path)) == ["report.txt", "x.log"]


@on_posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_who_is_stopped_leaves_what_was_there_and_nothing_half_written(tmp_path, log, number):
    (tmp_path / "report.txt").write_text("mine\n")
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [*TRIAGE, "analyze", "--each", "x.log", "pipe", "--output", "report.txt"],
        cwd=tmp_path,
        env=clean_environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    try:
        until = time.monotonic() + 60
        while not any(name.startswith(".triage-") for name in os.listdir(tmp_path)):
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    assert (tmp_path / "report.txt").read_text() == "mine\n"
    assert sorted(os.listdir(tmp_path)) == ["pipe", "report.txt", "x.log"]


# ---------------------------------------------------------------- a folder and the report in it


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_report_in_the_folder_that_is_analyzed_is_no_input_of_the_next_time(run_triage, tmp_path, log, format_name):
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("a.log", "b.log"):
        (logs / name).write_bytes(LOG.read_bytes())
    command = ("analyze", "logs", "--format", format_name, "--output", "logs/report")
    first = run_triage(*command)
    written = (logs / "report").read_bytes()
    second = run_triage(*command)
    assert (first.returncode, second.returncode, first.stderr, second.stderr) == (0, 0, "", "")
    assert (logs / "report").read_bytes() == written


def test_where_nothing_can_be_told_no_older_report_is_left(run_triage, tmp_path, log):
    assert run_triage("analyze", log, "--output", "report.txt").returncode == 0
    assert run_triage("analyze", "nowhere.log", "--output", "report.txt").returncode == 3
    assert not (tmp_path / "report.txt").exists()
    (tmp_path / "mine.txt").write_text("mine\n")
    assert run_triage("analyze", "nowhere.log", "--output", "mine.txt").returncode == 3
    assert (tmp_path / "mine.txt").read_text() == "mine\n"


# ---------------------------------------------------------------- the report of an earlier run


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_run_that_ends_well_leaves_no_older_report(run_triage, tmp_path, format_name):
    (tmp_path / "fails.py").write_text(FAILS)
    (tmp_path / "well.py").write_text(ENDS_WELL)
    options = ("--no-native", "--format", format_name, "--output", "report")
    assert run_triage("run", *options, "fails.py").returncode == 3
    assert (tmp_path / "report").stat().st_size
    assert run_triage("run", *options, "well.py").returncode == 0
    assert not (tmp_path / "report").exists()


def test_a_run_that_ends_well_leaves_anything_else_alone(run_triage, tmp_path):
    (tmp_path / "well.py").write_text(ENDS_WELL)
    printed = {name: run_triage("analyze", LOG, "--format", name).stdout for name in FORMATS}
    others = {
        "notes.txt": "mine\n",
        "empty.txt": "",
        "quoted.log": f"$ triage analyze crash.log\n{printed['text']}",
        "annotated.txt": f"{printed['text']}\nI shall try this tomorrow.\n",
        "issue.md": f"{printed['markdown']}\nThis is what it said.\n",
        "quoted.md": f"> {printed['markdown']}",
        "mixed.json": printed["json"] + '{"schema": "other"}\n',
        "cut.json": printed["json"][:2000],
        "other.json": '{"schema": "triage.report/1"',
        "answer.txt": "host.out-of-memory   is what I suspect\n",
        "sentence.txt": "It ran out of memory, I am sure   99 %\nhost.out-of-memory\n",
        "todo.txt": "Where is the file?\nunknown\n\n next    look for it\n",
        "binary": "\0\1\2",
    }
    for name, text in others.items():
        (tmp_path / name).write_text(text, "utf-8")
        assert run_triage("run", "--no-native", "--output", name, "well.py").returncode == 0
        assert (tmp_path / name).read_text("utf-8") == text, name


@on_posix
def test_an_older_report_is_removed_through_a_link_and_the_link_stays(run_triage, tmp_path):
    (tmp_path / "well.py").write_text(ENDS_WELL)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "report").write_text(run_triage("analyze", LOG).stdout, "utf-8")
    (tmp_path / "link").symlink_to("there/report")
    assert run_triage("run", "--no-native", "--output", "link", "well.py").returncode == 0
    assert (tmp_path / "link").is_symlink() and os.listdir(tmp_path / "there") == []


@on_posix
@pytest.mark.parametrize("output", ["/dev/fd/7", "/proc/self/fd/7"])
def test_nor_is_an_input_written_through_a_descriptor_that_we_were_given(tmp_path, log, output):
    before = log.read_bytes()
    assert is_refusal(in_shell(f"triage analyze x.log --output {output} 7<>x.log", tmp_path))
    assert log.read_bytes() == before


@on_posix
def test_the_report_of_a_run_may_follow_what_the_program_prints(tmp_path):
    (tmp_path / "fails.py").write_text(FAILS, "utf-8")
    done = in_shell("triage run --no-native --output /dev/stdout fails.py > all.txt", tmp_path)
    assert done.returncode == 3
    assert "exit 3" in (tmp_path / "all.txt").read_text("utf-8")


@pytest.mark.parametrize(
    "command",
    [
        "pkg",
        "-- python -m pkg",
        "-- python -m mod",
        "-- sh -c 'python mod.py'",
        "imports.py",
        "imports.py --data=mod.py",
    ],
)
@on_posix
def test_a_failing_run_never_takes_what_is_no_report_for_its_report(tmp_path, command):
    """Whatever the program is started by, its own files stay, and the report is not lost."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "imports.py").write_text("import mod\n", "utf-8")
    output = "pkg/__main__.py" if "pkg" in command else "mod.py"
    for file in ("pkg/__main__.py", "mod.py"):
        (tmp_path / file).write_text(FAILS, "utf-8")
    python = shlex.quote(str(Path(sys.executable).parent))
    done = in_shell(f"PATH={python}:$PATH; triage run --no-native --output {output} {command}", tmp_path)
    assert done.returncode == 3
    assert (tmp_path / output).read_text("utf-8") == FAILS
    assert f"{output} could not be written (it exists and is not a report of triage)" in done.stderr
    assert "exit 3" in done.stderr.split("The report follows.")[1]


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are taken away with Linux's capabilities")
def test_a_file_that_somebody_has_protected_stays(tmp_path, log):
    (tmp_path / "report.txt").write_text("mine\n")
    (tmp_path / "report.txt").chmod(0o444)
    words = [*TRIAGE, "analyze", str(log), "--output", "report.txt"]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, preexec_fn=give_up_the_right_to_read_everything
    )
    assert done.returncode == 2 and "could not be written (Permission denied)" in done.stderr
    assert (tmp_path / "report.txt").read_text() == "mine\n"
