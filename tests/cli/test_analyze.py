"""`triage analyze`: what it answers, what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import LOGS, TRIAGE, clean_environment, give_up_the_right_to_read_everything
from running import report_on

DIAGNOSED = LOGS / "oom_in_fit-2.21.log"
UNKNOWN = LOGS / "bus_error-2.21.log"
HEALTHY = LOGS / "healthy" / "fit-2.21.log"
MEMORY_ERROR = """\
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    a = np.zeros(1 << 50)
numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 PiB for an array with shape (1125899906842624,)
"""


def reports_in(output: str) -> list[dict]:
    return [json.loads(line) for line in output.splitlines()]


def report_in(output: str) -> dict:
    (report,) = reports_in(output)
    return report


def said_in_one_sentence(errors: str) -> bool:
    return errors.startswith("triage: ") and errors.count("\n") == 1 and "Traceback" not in errors


# ---------------------------------------------------------------- what was not read


@pytest.fixture(scope="module")
def huge_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More than 100 MB: the line that decides stands in the middle, another failure at the end."""
    healthy = b"ok".ljust(79) + b"\n"
    decisive = b"2024-05-01 10:00:00.000000: F tensorflow/core/x.cc:404] Check failed: 0 <= rank (0 vs. -1)\n"
    log = tmp_path_factory.mktemp("huge") / "week.log"
    with log.open("wb") as file:
        for number in range(130):
            file.write(healthy * 10_000)
            if number == 39:
                file.write(decisive)
        file.write(DIAGNOSED.read_bytes())
    return log


def test_of_a_huge_log_no_cause_passes_for_found_and_the_report_says_what_went_unread(huge_log: Path) -> None:
    words = [*TRIAGE, "analyze", str(huge_log), "--exit-code", "139", "--format", "json"]
    ended = subprocess.run(words, capture_output=True, text=True, env=clean_environment(), timeout=300)
    report = report_in(ended.stdout)
    assert (ended.returncode, report["verdict"]) == (1, "uncertain")
    assert all(diagnosis["confidence"] < 0.70 for diagnosis in report["diagnoses"])
    (entry,) = report["crash"]["inputs"]
    told = entry["left_out"]
    assert not entry["complete"]
    assert told["of_bytes"] == huge_log.stat().st_size > 100_000_000
    assert told["first_line"] <= 400_001 <= told["last_line"]
    lines = told["last_line"] - told["first_line"] + 1
    assert 0 <= told["bytes"] - 80 * lines < 100
    # Behind the gap every line has its own number.
    with huge_log.open("rb") as file:
        count = sum(1 for _ in file)
    places = [evidence["line"] for evidence in report["diagnoses"][0]["because"] if evidence["line"]]
    assert places and all(1_300_001 < line <= count for line in places)


def test_a_run_that_printed_more_than_is_kept_says_so_and_names_nothing_for_sure(tmp_path) -> None:
    (tmp_path / "script.py").write_text(
        "import sys\n"
        "for step in range(100_000):\n"
        "    print(f'step {step:07} of the training, loss 0.1, all is well', file=sys.stderr)\n"
        "import no_such_module_at_all\n"
    )
    _, report = report_on(tmp_path, "script.py")
    told = {entry["name"]: entry["left_out"] for entry in report["crash"]["inputs"]}["stderr"]
    assert told["of_bytes"] > 100_000 * 46
    assert told["first_line"] > 1 and told["last_line"] < 100_000
    assert report["verdict"] != "diagnosed"
    assert report["diagnoses"][0]["confidence"] < 0.70
    assert {evidence["line"] for evidence in report["diagnoses"][0]["because"]} & set(range(100_001, 100_006))


# ---------------------------------------------------------------- exit status


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([DIAGNOSED, "--exit-code", "139"], 0),
        ([HEALTHY], 0),
        ([UNKNOWN, "--exit-code", "1"], 1),
        ([DIAGNOSED, "--top", "0"], 2),
        (["nowhere.log"], 3),
        (["--each", DIAGNOSED, UNKNOWN], 1),
        (["--each", UNKNOWN, DIAGNOSED], 1),
        ([UNKNOWN, "nowhere.log"], 3),
        (["--each", "nowhere.log", UNKNOWN, DIAGNOSED], 3),
        ([DIAGNOSED, "nowhere.log"], 3),
    ],
    ids=lambda value: " ".join(Path(v).name for v in value) if isinstance(value, list) else str(value),
)
def test_unread_beats_not_enough_beats_answered(run_triage, arguments, status):
    done = run_triage("analyze", *arguments)
    assert done.returncode == status, done.stderr


# ---------------------------------------------------------------- one incident or several


def test_files_of_one_incident_are_merged_into_one_report(run_triage, tmp_path):
    lines = DIAGNOSED.read_text("utf-8").splitlines(keepends=True)
    cut = lines.index("Fatal Python error: Segmentation fault\n")
    (tmp_path / "messages.log").write_text("".join(lines[:cut]))
    (tmp_path / "stack.log").write_text("".join(lines[cut:]))

    done = run_triage("analyze", "messages.log", "stack.log", "--format", "json")

    report = report_in(done.stdout)
    assert [entry["name"] for entry in report["crash"]["inputs"]] == ["messages.log", "stack.log"]
    assert report["diagnoses"][0]["cause"] == "host.out-of-memory"
    assert {reason["input"] for reason in report["diagnoses"][0]["because"]} >= {0}
    (process,) = report["crash"]["processes"]
    assert process["exit"]["signal"] == "SIGSEGV"
    assert any(
        "messages.log:" in line for line in run_triage("analyze", "messages.log", "stack.log").stdout.splitlines()
    )


def test_each_writes_one_json_report_a_line(run_triage):
    done = run_triage("analyze", "--each", DIAGNOSED, UNKNOWN, HEALTHY, "--format", "json")
    reports = reports_in(done.stdout)
    assert [report["verdict"] for report in reports] == ["diagnosed", "unknown", "no-crash"]
    assert [len(report["crash"]["inputs"]) for report in reports] == [1, 1, 1]


def test_a_directory_gives_one_report_a_file(run_triage, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    for log in (DIAGNOSED, HEALTHY):
        (folder / log.name).write_bytes(log.read_bytes())

    done = run_triage("analyze", "logs", "--format", "json")

    assert [report["verdict"] for report in reports_in(done.stdout)] == ["no-crash", "diagnosed"]
    assert done.returncode == 0


def test_several_text_reports_are_told_apart_by_their_file(run_triage):
    done = run_triage("analyze", "--each", DIAGNOSED, HEALTHY)
    headings = [line for line in done.stdout.splitlines() if line.startswith("== ")]
    assert headings == [f"== {DIAGNOSED}", f"== {HEALTHY}"]


# ---------------------------------------------------------------- options


@pytest.mark.parametrize("code", ["139", "-11", "SIGSEGV", "segv", "Segmentation fault"])
def test_exit_code_of_a_signal_in_every_spelling(run_triage, code):
    for arguments in (["--exit-code", code], [f"--exit-code={code}"]):
        report = report_in(run_triage("analyze", DIAGNOSED, "--format", "json", *arguments).stdout)
        assert report["crash"]["processes"][0]["exit"]["signal"] == "SIGSEGV"


@pytest.mark.parametrize(
    "code", ["-1073740791", "3221226505", "0xC0000409", "0xc0000409", "STATUS_STACK_BUFFER_OVERRUN"]
)
def test_exit_code_of_windows_in_every_spelling(run_triage, code):
    report = report_in(run_triage("analyze", "-", "--format", "json", "--exit-code", code).stdout)
    assert report["crash"]["processes"][0]["exit"]["ntstatus"] == "0xC0000409"
    assert report["crash"]["environment"]["os"] == "windows"


@pytest.mark.parametrize("code", ["banana", "", "1.5", "99999999999999999999", "0x", "--exit-code"])
def test_nonsense_as_exit_code_is_refused_with_examples(run_triage, code):
    done = run_triage("analyze", DIAGNOSED, "--exit-code", code)
    assert done.returncode == 2
    assert "139" in done.stderr and "0xC0000409" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("format_name", ["text", "json", "markdown"])
def test_output_goes_to_a_file_instead_of_standard_output(run_triage, tmp_path, format_name):
    printed = run_triage("analyze", DIAGNOSED, "--format", format_name)
    done = run_triage("analyze", DIAGNOSED, "--format", format_name, "--output", "report.out")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    assert (tmp_path / "report.out").read_text("utf-8") == printed.stdout


@pytest.mark.parametrize("place", ["no/such/folder/report.txt", "."])
def test_an_unwritable_output_is_said_in_a_sentence_and_is_no_verdict(run_triage, place):
    done = run_triage("analyze", DIAGNOSED, "--output", place)
    assert place in done.stderr and "--output" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode not in (0, 1), "0 and 1 say what was found; here nothing was told"


def test_top_limits_how_many_causes_are_told(run_triage):
    log = LOGS / "composed" / "api-concat-order.log"
    all_of_them = report_in(run_triage("analyze", log, "--format", "json").stdout)["diagnoses"]
    assert len(all_of_them) > 1, "the log no longer has two causes to tell"
    one = report_in(run_triage("analyze", log, "--top", "1", "--format", "json").stdout)["diagnoses"]
    assert one == all_of_them[:1]


def test_private_values_are_kept_only_on_request(run_triage):
    log = "Traceback (most recent call last):\nFileNotFoundError: /home/alice/train.csv\n"
    hidden = run_triage("analyze", "-", "--format", "json", input=log)
    kept = run_triage("analyze", "-", "--format", "json", "--no-redact", input=log)
    assert "alice" not in hidden.stdout
    assert "/home/alice/train.csv" in kept.stdout
    assert report_in(kept.stdout)["redactions"] == {}


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["--format", "jsno"], "Did you mean 'json'?"),
        (["--format", "markdwon"], "Did you mean 'markdown'?"),
        (["--exitcode", "139"], "--exit-code"),
    ],
)
def test_a_typo_gets_a_suggestion(run_triage, arguments, meant):
    done = run_triage("analyze", DIAGNOSED, *arguments)
    assert done.returncode == 2
    assert meant in done.stderr
    assert done.stdout == ""


# ---------------------------------------------------------------- standard input


def test_standard_input_is_read_by_dash_and_without_a_file(run_triage):
    data = DIAGNOSED.read_bytes()
    by_dash = run_triage("analyze", "-", "--format", "json", input=data)
    without = run_triage("analyze", "--format", "json", input=data)
    assert report_in(by_dash.stdout)["verdict"] == "diagnosed"
    assert by_dash.stdout == without.stdout


def test_dash_twice_is_wrong_usage(run_triage):
    done = run_triage("analyze", "-", "-", input="x")
    assert done.returncode == 2
    assert "'-'" in done.stderr


def test_a_terminal_is_told_to_paste(in_terminal):
    screen = in_terminal("analyze", typed=MEMORY_ERROR.encode() + b"\x04", after="Ctrl-D")
    assert screen.lines[0].startswith("triage: paste the log")
    assert screen.lines[2] == "host.out-of-memory"
    assert screen.returncode == 0


def test_an_exit_code_alone_does_not_wait_for_a_paste(in_terminal):
    screen = in_terminal("analyze", "--exit-code", "139")
    assert "paste" not in screen.raw
    assert any("SIGSEGV" in line for line in screen.lines)
    assert screen.returncode == 1


# ---------------------------------------------------------------- what cannot be read

UNREADABLE = {
    "minidump": b"MDMP\x93\xa7" + bytes(range(256)) * 8,
    "elf": b"\x7fELF\x02\x01\x01" + bytes(4096),
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "unrecognised": bytes(range(256)) * 64,
    "compressed": b"\x1f\x8b\x08" + bytes(range(256)),
    "archive": b"PK\x03\x04" + bytes(256),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_binary_file_is_refused_in_one_sentence(run_triage, tmp_path, kind):
    (tmp_path / "given.bin").write_bytes(UNREADABLE[kind])
    done = run_triage("analyze", "given.bin")
    assert done.returncode == 3
    assert said_in_one_sentence(done.stderr) and "given.bin" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("kind", UNREADABLE)
def test_the_other_inputs_are_still_analysed(run_triage, tmp_path, kind):
    (tmp_path / "given.bin").write_bytes(UNREADABLE[kind])
    done = run_triage("analyze", "given.bin", DIAGNOSED, "--format", "json")
    report = report_in(done.stdout)
    assert done.returncode == 3
    assert said_in_one_sentence(done.stderr)
    assert report["verdict"] == "diagnosed"
    assert [entry["kind"] for entry in report["crash"]["inputs"]] == ["unreadable", "log"]
    assert any("given.bin" in text for text in report["not_observable"])


def test_binary_standard_input_is_refused_too(run_triage):
    done = run_triage("analyze", input=UNREADABLE["minidump"])
    assert (done.returncode, done.stdout) == (3, "")
    assert said_in_one_sentence(done.stderr)


def test_a_missing_file_is_named(run_triage):
    done = run_triage("analyze", "nowhere.log")
    assert done.returncode == 3
    assert said_in_one_sentence(done.stderr) and "nowhere.log" in done.stderr
    assert done.stdout == ""


def test_a_directory_of_libraries_must_be_there(run_triage):
    done = run_triage("analyze", "crash.dmp", "--pe-dir", "nowhere")
    assert done.returncode == 2
    assert "There is no directory 'nowhere'." in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are taken away with Linux's capabilities")
def test_a_forbidden_file_is_named_and_the_others_are_analysed(tmp_path):
    forbidden = tmp_path / "forbidden.log"
    forbidden.write_text("secret")
    forbidden.chmod(0)
    done = subprocess.run(
        [*TRIAGE, "analyze", forbidden, DIAGNOSED],
        capture_output=True,
        text=True,
        env=clean_environment(),
        preexec_fn=give_up_the_right_to_read_everything,
    )
    assert done.returncode == 3
    assert said_in_one_sentence(done.stderr) and "forbidden.log may not be read" in done.stderr
    assert done.stdout.splitlines()[1] == "host.out-of-memory"


def test_a_directory_of_nothing_is_named_and_the_others_are_analysed(run_triage, tmp_path):
    (tmp_path / "empty").mkdir()
    alone = run_triage("analyze", "empty")
    assert (alone.returncode, alone.stdout) == (3, "")
    assert said_in_one_sentence(alone.stderr) and "empty" in alone.stderr
    with_another = run_triage("analyze", "empty", DIAGNOSED)
    assert with_another.returncode == 3
    assert "host.out-of-memory" in with_another.stdout


# ---------------------------------------------------------------- odd but readable


@pytest.mark.parametrize("data", [b"", b"\n\n  \n"], ids=["empty", "blank"])
def test_an_empty_input_is_no_crash(run_triage, data):
    done = run_triage("analyze", "-", "--format", "json", input=data)
    assert done.returncode == 0
    assert report_in(done.stdout)["verdict"] == "no-crash"


def test_invalid_utf8_is_replaced_and_analysed(run_triage, tmp_path):
    data = DIAGNOSED.read_bytes().replace(b"conv2d_1/Relu", b"conv2d_\x80\xfe/Relu")
    (tmp_path / "odd.log").write_bytes(b"\x80\xff start\n" + data)
    done = run_triage("analyze", "odd.log")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1] == "host.out-of-memory"
    assert "conv2d_��/Relu" in done.stdout


def test_line_ends_of_windows_change_nothing(run_triage):
    unix = DIAGNOSED.read_bytes()
    with_lf = run_triage("analyze", "-", "--format", "json", input=unix)
    with_crlf = run_triage("analyze", "-", "--format", "json", input=unix.replace(b"\n", b"\r\n"))
    assert with_crlf.stdout == with_lf.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_a_fifo_is_read_like_standard_input(run_triage, tmp_path):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(DIAGNOSED.read_bytes(),), daemon=True)
    writer.start()
    done = run_triage("analyze", "pipe")
    assert done.stdout.splitlines()[1] == "host.out-of-memory"
    assert done.returncode == 0


def test_a_process_substitution_is_read(tmp_path):
    command = f"{shlex.join(TRIAGE)} analyze <(cat {shlex.quote(str(DIAGNOSED))})"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=clean_environment(), cwd=tmp_path
    )
    assert done.stdout.splitlines()[1] == "host.out-of-memory"
    assert done.returncode == 0


@pytest.mark.parametrize("name", ["a b.log", "[/bold].log", "[red]x[/red].log", "-x.log", "ünï→.log"])
def test_a_file_name_is_only_a_name(run_triage, tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / name).write_bytes(DIAGNOSED.read_bytes())
    done = run_triage("analyze", "--each", "--format", "text", "--", name, HEALTHY, FORCE_COLOR="1")
    assert done.returncode == 0, done.stderr
    assert f"== {name}" in done.stdout


NASTY_NAME = "\x1b[31mred\x1b]0;owned\x07.log"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not allow such names")
@pytest.mark.parametrize("arguments", [["analyze", NASTY_NAME], ["analyze", "--each", NASTY_NAME, HEALTHY]])
def test_an_escape_sequence_in_a_file_name_never_reaches_a_pipe(run_triage, tmp_path, arguments):
    (tmp_path / NASTY_NAME).write_bytes(DIAGNOSED.read_bytes())
    done = run_triage(*arguments)
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not allow such names")
def test_an_escape_sequence_in_a_file_name_never_reaches_a_pipe_beside_its_evidence(run_triage, tmp_path):
    (tmp_path / NASTY_NAME).write_bytes(DIAGNOSED.read_bytes())
    done = run_triage("analyze", NASTY_NAME, HEALTHY)
    assert done.stdout.splitlines()[1] == "host.out-of-memory"
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("arguments", [[NASTY_NAME], ["--each", NASTY_NAME, HEALTHY], [NASTY_NAME, HEALTHY]])
@pytest.mark.parametrize("exists", [True, False])
def test_an_escape_sequence_in_a_file_name_never_reaches_a_terminal(in_terminal, tmp_path, arguments, exists):
    if exists:
        (tmp_path / NASTY_NAME).write_bytes(DIAGNOSED.read_bytes())
    screen = in_terminal("analyze", *arguments)
    assert "\x1b[31m" not in screen.raw
    assert "\x1b]" not in screen.raw


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
@pytest.mark.parametrize("format_name", ["text", "json", "markdown"])
def test_a_file_name_that_is_not_utf8_is_no_stumbling_block(tmp_path, format_name):
    name = os.fsencode(tmp_path) + b"/caf\xe9.log"
    with open(name, "wb") as file:
        file.write(DIAGNOSED.read_bytes())
    for more in ([], ["--output", str(tmp_path / "report")]):
        done = subprocess.run(
            [*TRIAGE, "analyze", "--each", name, str(HEALTHY), "--format", format_name, *more],
            capture_output=True,
            text=True,
            env=clean_environment(),
        )
        assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------- hostile text

HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J\x1b[41mTraceback (most recent call last):\x1b[0m\n"
    '  File "train.py", line 1, in <module>\n'
    "ValueError: [bold]on[/bold] [/job:localhost/replica:0] [link=http://x.example]here[/link]"
    " a\x08b\x9bc \x1b[31mred \u202ereversed \x1b]8;;http://x.example\x07link\x1b]8;;\x07 end\n"
)


@pytest.mark.parametrize("format_name", ["text", "json", "markdown"])
def test_nothing_active_in_a_log_reaches_a_pipe(run_triage, format_name):
    done = run_triage("analyze", "-", "--format", format_name, input=HOSTILE)
    active = {character for character in done.stdout if ord(character) < 32 or 127 <= ord(character) < 160} - {"\n"}
    assert not active
    assert "\u202e" not in done.stdout
    assert "[bold]on[/bold] [/job:localhost/replica:0] [link=http://x.example]here[/link]" in done.stdout


def test_with_colours_only_ours_reach_the_output(run_triage):
    plain = run_triage("analyze", "-", input=HOSTILE)
    coloured = run_triage("analyze", "-", input=HOSTILE, FORCE_COLOR="1")
    ours = ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[1;36m")
    text = coloured.stdout
    assert "\x1b[" in text
    for sequence in ours:
        text = text.replace(sequence, "")
    assert "\x1b" not in text
    assert [line.rstrip() for line in text.splitlines()] == plain.stdout.splitlines()


def test_markup_in_a_log_is_kept_literally_on_a_terminal(in_terminal, tmp_path):
    (tmp_path / "hostile.log").write_text(HOSTILE)
    screen = in_terminal("analyze", "hostile.log", columns=200)
    assert any(
        "[bold]on[/bold] [/job:localhost/replica:0] [link=http://x.example]here[/link]" in line for line in screen.lines
    )
    assert "owned" not in screen.raw
    assert "\x1b[2J" not in screen.raw and "\x1b[41m" not in screen.raw and "\x1b]" not in screen.raw


# ---------------------------------------------------------------- size

MEASURED_RUN = """
import resource, subprocess, sys
process = subprocess.Popen([sys.executable, "-m", "triage", "analyze", "-"], stdin=subprocess.PIPE)
for _ in range(200):
    process.stdin.write(b"a" * 1_000_000)
process.stdin.write(b"\\n" + sys.stdin.buffer.read())
process.stdin.close()
status = process.wait()
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_a_line_of_200_mb_is_read_in_little_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MEASURED_RUN],
        input=MEMORY_ERROR,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=120,
    )
    status, kib = map(int, done.stderr.split())
    assert done.stdout.splitlines()[1] == "host.out-of-memory", "what comes after the long line must still be seen"
    assert status == 0
    assert kib < 400 * 1024


# ---------------------------------------------------------------- private packs

OWN_SIGNATURE = """\
title: The licence server was not reachable
cause: host.out-of-memory
grade: claimed
clues:
  - id: message
    log: 'LICENCE SERVER UNREACHABLE'
    p: 0.99
    b: 0.0001
    says: the licence server did not answer
fix:
  - do: Start the licence server.
    risk: low
    verify: the run starts
sources: [{issue: example/example#1}]
tests:
  match: [good.log]
  differ: [{log: bad.log, cause: unknown}]
"""


@pytest.fixture
def half_broken_pack(tmp_path):
    pack = tmp_path / "pack"
    (pack / "own").mkdir(parents=True)
    (pack / "pack.yaml").write_text("schema: 1\nname: ours\n")
    (pack / "own" / "licence.yaml").write_text(OWN_SIGNATURE)
    (pack / "own" / "broken.yaml").write_text("title: [unclosed\n")
    (pack / "own" / "wrong.yaml").write_text(OWN_SIGNATURE.replace("host.out-of-memory", "host.no-such-cause"))
    return pack


@pytest.mark.parametrize("by_environment", [False, True])
def test_a_broken_private_signature_is_named_and_skipped(run_triage, half_broken_pack, by_environment):
    given = [] if by_environment else ["--signatures", half_broken_pack]
    environment = {"TRIAGE_SIGNATURES": str(half_broken_pack)} if by_environment else {}
    log = "LICENCE SERVER UNREACHABLE\n"

    done = run_triage("analyze", "-", "--exit-code", "1", "--format", "json", *given, input=log, **environment)

    errors = done.stderr.splitlines()
    assert len(errors) == 2
    assert any("broken.yaml" in line and "not YAML" in line for line in errors)
    assert any("wrong.yaml:2" in line and "host.no-such-cause" in line for line in errors)
    report = report_in(done.stdout)
    assert report["diagnoses"][0]["signature"] == "own/licence"
    assert report["tool"]["packs"] == ["ours"]


def test_a_pack_that_is_not_there_is_named_and_the_rest_works(run_triage):
    done = run_triage("analyze", DIAGNOSED, "--signatures", "no-such-pack")
    assert "no-such-pack" in done.stderr and "Traceback" not in done.stderr
    assert done.stdout.splitlines()[1] == "host.out-of-memory"


# ---------------------------------------------------------------- ending early


@pytest.mark.parametrize("arguments", [["analyze", DIAGNOSED], ["analyze", DIAGNOSED, "--format", "json"], ["--help"]])
def test_a_closed_pipe_ends_quietly(tmp_path, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [*TRIAGE, *arguments], stdout=pipe, stderr=subprocess.PIPE, text=True, env=clean_environment()
        )
    assert done.stderr == ""


def test_head_gets_its_line_and_nobody_complains(tmp_path):
    command = f"{shlex.join(TRIAGE)} analyze {shlex.quote(str(DIAGNOSED))} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=clean_environment())
    assert done.stdout.startswith("Memory ran out") and done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_ctrl_c_ends_with_130_and_without_a_traceback(in_terminal):
    screen = in_terminal("analyze", typed=b"\x03", after="Ctrl-D")
    assert "Traceback" not in screen.raw
    assert screen.returncode in (130, -signal.SIGINT)


def test_an_interrupt_while_a_pipe_is_read_has_no_traceback(tmp_path):
    process = subprocess.Popen(
        [*TRIAGE, "analyze", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=clean_environment(), text=True,
    )  # fmt: skip
    process.stdin.write("epoch 1\n" * 500_000)  # more than a pipe holds: when this returns, it is being read
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert "Traceback" not in output + errors
    assert process.returncode in (130, -signal.SIGINT)


def test_a_pasted_line_of_any_length_arrives_whole(in_terminal):
    """A terminal in line mode would cut it at 4,096 bytes."""
    message = "OOM when allocating tensor with shape[2,3] and type float on /device:GPU:0 by allocator GPU_0_bfc"
    screen = in_terminal("analyze", "-", typed=b"x" * 20_000 + b" " + message.encode() + b"\n\x04", after="Ctrl-D")
    assert any(line.startswith("gpu.out-of-memory") for line in screen.lines)
    assert "a tensor did not fit on the card" in screen.raw
