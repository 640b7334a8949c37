"""Whatever is wrong with one file is a sentence about that file: the others get their reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOGS, clean_environment

LOG = LOGS / "oom_in_fit-2.21.log"
ENDLESS = "9" * 5000
HUGE = "9" * 400
NUMBERS = {
    "traceback": f'Traceback (most recent call last):\n  File "x.py", line {ENDLESS}, in f\n    x\nValueError: y\n',
    "notebook": f"ValueError  Traceback (most recent call last)\nFile x.py:{ENDLESS}, in f()\n\nValueError: y\n",
    "faulthandler": f"Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
    f'  File "x.py", line {ENDLESS} in f\n',
    "gdb": "Program received signal SIGSEGV, Segmentation fault.\n#0  0x00007f in foo () from /lib/x.so\n"
    f"#{ENDLESS}  0x00007fffff in main () at x.c:3\n"
    f"#1 Frame 0x7f, for file x.py, line {ENDLESS}, in f ()\n",
    "lldb": "* thread #1, stop reason = signal SIGSEGV\n"
    f"  * frame #0: 0x00007fff libx.so`foo + {ENDLESS}\n    frame #{ENDLESS}: 0x00007fff libx.so`bar + 3\n",
    "macos": f"Process: Python [1]\nOS Version:  macOS {ENDLESS} (x)\nException Type:  EXC_BAD_ACCESS (SIGSEGV)\n"
    f"Termination Reason:  Namespace SIGNAL, Code {ENDLESS}\nThread 0 Crashed:\n"
    f"0   libx.dylib   0x00000001aa foo + {ENDLESS}\n{ENDLESS}   libx.dylib   0x00000001aa foo + 1\n"
    f"0x1000 - 0x2000 libcudnn.8.dylib ({ENDLESS}.{ENDLESS}) <AA> /usr/lib/libcudnn.8.dylib\n",
    "ips": f'{{"app_name": "Python", "bug_type": "309", "os_version": "macOS {ENDLESS}"}}\n'
    f'{{"exception": {{"type": "EXC_BAD_ACCESS", "signal": "SIGSEGV"}}, "threads": [{{"triggered": true, '
    f'"frames": [{{"imageIndex": {ENDLESS}, "symbolLocation": {ENDLESS}}}]}}], "x": {"[" * 50_000}\n',
    "kernel": f"[1.0] memory: usage 5kB, limit {ENDLESS}kB, failcnt 4\n[2.0] python[12]: segfault at {ENDLESS} "
    f"ip {ENDLESS} sp {ENDLESS} error {ENDLESS} in libx.so[{ENDLESS},{ENDLESS}+1000]\n"
    f"[3.0] Out of memory: Killed process 12 (python) total-vm:1kB, anon-rss:{ENDLESS}kB, file-rss:0kB\n",
    "coredumpctl": f"Signal: 11 (SEGV)\n#{ENDLESS} 0x00007f foo (libx.so + 0x{ENDLESS})\n",
    "mangled": "*** BEGIN MANGLED STACK TRACE ***\n"
    f"/lib/x.so(_ZN{ENDLESS}fooEv+0x{ENDLESS})[0x7f]\n*** END MANGLED STACK TRACE ***\n",
    "version": f"tensorflow=={ENDLESS}.1\nTensorFlow version: 2.{ENDLESS}.0\nCUDA {ENDLESS}.1\nPython {ENDLESS}.3\n"
    f"Loaded cuDNN version {ENDLESS}\nkernel reported version is: {ENDLESS}.54.3\nValueError: x\n",
    "limit": f"bfc_allocator.cc:1101] Stats: \nLimit:            {HUGE}\nOOM when allocating tensor with "
    f"shape[{HUGE},{HUGE}] and type float on /job:localhost/device:GPU:0\n",
    "slurm": f"srun: error: exceeded memory limit ({HUGE} > {HUGE})\nMemory Utilized: {HUGE} GB\n"
    f"Memory Efficiency: 5% of {HUGE} GB\n",
    "heroku": f"Error R15 (Memory quota vastly exceeded)\nProcess running mem={HUGE}M({HUGE}%)\n"
    "Process running mem=1.2.3M(..%)\n",
    "spark": f"Container killed by YARN for exceeding memory limits. {HUGE} GB of {HUGE} GB physical memory used\n",
    "exit": f"Process finished with exit code {ENDLESS}\nKilled by signal {ENDLESS}.\n",
}


def reports_in(output: str) -> dict[str, dict]:
    reports = [json.loads(line) for line in output.splitlines()]
    return {Path(report["crash"]["inputs"][0]["name"]).name: report for report in reports}


def test_a_number_of_five_thousand_digits_is_no_number(run_triage, tmp_path):
    for name, text in NUMBERS.items():
        (tmp_path / name).write_text(text)
    done = run_triage("analyze", "--each", *NUMBERS, "--format", "json")
    assert done.stderr == ""
    assert list(reports_in(done.stdout)) == list(NUMBERS)


def test_what_stands_beside_an_endless_number_is_still_read(run_triage, tmp_path):
    (tmp_path / "odd.log").write_text(NUMBERS["traceback"])
    done = run_triage("analyze", "odd.log", "--format", "json")
    crash = reports_in(done.stdout)["odd.log"]["crash"]
    assert crash["exception"]["type"] == "ValueError"


def test_the_subcode_of_a_topic_is_a_number_or_is_left_out(run_triage):
    assert "subcode 7)" in run_triage("explain", "0xC0000409 subcode 007").stdout
    done = run_triage("explain", f"0xC0000409 subcode {ENDLESS}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("0xC0000409") and "9" * 20 not in done.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes as POSIX has them")
def test_a_folder_of_odd_files_gives_every_report_that_can_be_given(run_triage, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, text in NUMBERS.items():
        (folder / f"{name}.log").write_text(text)
    (folder / "zz-good.log").write_bytes(LOG.read_bytes())
    (folder / "loop").symlink_to("loop")
    (folder / "gone").symlink_to("nowhere")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (folder / "core").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(4096))
    (folder / "below").mkdir()
    os.mkfifo(folder / "pipe")

    done = run_triage("analyze", "logs", "--format", "json")

    reports = reports_in(done.stdout)
    assert list(reports) == sorted([*(f"{name}.log" for name in NUMBERS), "zz-good.log"])
    assert reports["zz-good.log"]["verdict"] == "diagnosed"
    assert done.returncode == 3
    told = done.stderr.splitlines()
    assert len(told) == 4 and all(line.startswith("triage: logs/") for line in told)
    assert "logs/loop could not be opened (Too many levels of symbolic links)" in done.stderr
    assert "logs/gone does not exist" in done.stderr
    assert "bug in triage" not in done.stderr


def test_the_order_of_a_folder_is_that_of_the_names(run_triage, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    names = [f"{number:03}.log" for number in range(120)]
    for name in reversed(names):
        (folder / name).write_text("")
    assert list(reports_in(run_triage("analyze", "logs", "--format", "json").stdout)) == names


# ---------------------------------------------------------------- a bug in triage

# Which bugs we have we do not know, so the test brings one along.
PLANTED = """
import triage.diagnosis, triage.diagnosis.explain, triage.readers
from triage.reports import json_report

ERRORS = {"value": ValueError("\\x1b[31mred\\nline " + "x" * 1000), "deep": RecursionError("too deep"),
          "memory": MemoryError(), "os": OSError(5, "Input/output error")}

def breaks(whole, name_of):
    def broken(*given, **named):
        for kind, error in ERRORS.items():
            if kind in name_of(*given):
                raise error
        return whole(*given, **named)
    return broken

def names(crash, *rest):
    commands = [process.command or "" for process in crash.processes]
    return " ".join([*(entry.name for entry in crash.inputs), *commands])
{plant}
from triage.cli import main
main()
"""
PLACES = {
    "reading": "triage.readers.read = breaks(triage.readers.read, lambda source, *rest: source.name)",
    "diagnosing": "triage.diagnosis.diagnose = breaks(triage.diagnosis.diagnose, names)",
    "printing": "json_report.render = breaks(json_report.render, lambda report: names(report.crash))",
    "explaining": "triage.diagnosis.explain.explain = breaks(triage.diagnosis.explain.explain, lambda *rest: 'value')",
}


def with_a_bug(place: str, cwd: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PLANTED.replace("{plant}", PLACES[place]), *arguments],
        input="",
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean_environment(**environment),
        timeout=60,
    )


@pytest.mark.parametrize("place", ["reading", "diagnosing", "printing"])
def test_a_bug_of_ours_costs_one_file_its_report_and_no_other(tmp_path, place):
    names = ["a-deep.log", "b-memory.log", "c-good.log", "d-value.log", "e-good.log"]
    for name in names:
        (tmp_path / name).write_bytes(LOG.read_bytes())
    done = with_a_bug(place, tmp_path, "analyze", "--each", *names, "--format", "json")
    assert done.returncode == 3
    assert list(reports_in(done.stdout)) == ["c-good.log", "e-good.log"]
    deep, memory, value = done.stderr.splitlines()
    assert deep == "triage: a-deep.log: a bug in triage, please report it: RecursionError: too deep."
    assert memory == "triage: b-memory.log: a bug in triage, please report it: MemoryError."
    assert value.startswith("triage: d-value.log: a bug in triage, please report it: ValueError: [31mred line xxx")
    assert len(value) < 320


@pytest.mark.parametrize("place", ["reading", "diagnosing"])
def test_an_error_of_the_system_while_a_file_is_read_is_not_taken_for_one_of_the_output(tmp_path, place):
    (tmp_path / "os.log").write_bytes(LOG.read_bytes())
    done = with_a_bug(place, tmp_path, "analyze", "os.log", "--output", "report.txt")
    assert done.returncode == 70
    assert done.stderr == "triage: os.log: a bug in triage, please report it: OSError: [Errno 5] Input/output error.\n"
    assert os.listdir(tmp_path) == ["os.log"]


@pytest.mark.parametrize("place", ["reading", "diagnosing", "printing"])
def test_the_only_file_leaves_with_70(tmp_path, place):
    (tmp_path / "value.log").write_bytes(LOG.read_bytes())
    done = with_a_bug(place, tmp_path, "analyze", "value.log", "--format", "json")
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr.startswith("triage: value.log: a bug in triage, please report it: ValueError: ")
    assert done.stderr.count("\n") == 1 and "\x1b" not in done.stderr


def test_of_several_files_of_one_incident_the_others_are_read(tmp_path):
    for name in ("good.log", "deep.log"):
        (tmp_path / name).write_bytes(LOG.read_bytes())
    done = with_a_bug("reading", tmp_path, "analyze", "good.log", "deep.log", "--format", "json")
    (report,) = map(json.loads, done.stdout.splitlines())
    assert report["verdict"] == "diagnosed"
    assert [entry["kind"] for entry in report["crash"]["inputs"]] == ["log", "unreadable"]
    assert done.returncode == 3
    assert done.stderr == (
        "triage: deep.log could not be read: a bug in triage, please report it: RecursionError: too deep\n"
    )


def test_explain_ends_in_a_sentence_too(tmp_path):
    done = with_a_bug("explaining", tmp_path, "explain", "139")
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr.startswith("triage: a bug in triage, please report it: ValueError: ")
    assert done.stderr.count("\n") == 1


def test_a_program_that_is_run_keeps_its_exit_code(tmp_path):
    (tmp_path / "value.py").write_text("import sys\nsys.exit(3)\n")
    done = with_a_bug("diagnosing", tmp_path, "run", "--no-native", "value.py")
    assert done.returncode == 3
    assert done.stderr.startswith("triage: the report failed: a bug in triage, please report it: ValueError: ")
    assert done.stderr.count("\n") == 1


def test_who_works_on_triage_can_see_where_it_happened(tmp_path):
    (tmp_path / "deep.log").write_bytes(LOG.read_bytes())
    done = with_a_bug("diagnosing", tmp_path, "analyze", "deep.log", TRIAGE_DEBUG="1")
    assert done.returncode == 70
    assert "Traceback (most recent call last):" in done.stderr and "in broken" in done.stderr


@pytest.mark.skipif(not Path("/proc/self/mounts").exists(), reason="this system has no /proc")
def test_a_link_into_what_the_kernel_makes_up_is_passed_over_as_a_pipe_is(run_triage, tmp_path):
    """It calls itself a plain file, but reading one of them, /proc/kmsg, waits for ever."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "kernel").symlink_to("/proc/self/mounts")
    (folder / "z.log").write_bytes((LOGS / "oom_in_fit-2.21.log").read_bytes())
    done = run_triage("analyze", folder, "--format", "json")
    names = [json.loads(line)["crash"]["inputs"][0]["name"] for line in done.stdout.splitlines()]
    assert [Path(name).name for name in names] == ["z.log"]
