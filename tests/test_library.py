"""The library: what the command can do, a program can do, with the same answer."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from conftest import LOGS, clean_environment
from running import CRASH, environment, primary_of, report_on

import triage
from triage.reports import renderer

CASES = [
    (["oom_in_fit-2.21.log"], "139"),
    (["oom_in_fit-2.21.log"], None),
    (["check_failed-2.15.log"], "-6"),
    (["plain_python_error-2.21.log"], "1"),
    (["healthy/fit-2.21.log"], None),
    (["composed/zlibwapi.log"], "0xC0000409"),
    (["killed-2.21.log"], "SIGKILL"),
    (["resource_exhausted-2.21.log", "healthy/import_only-2.21.log"], "1"),
    (["resource_exhausted-2.21.log", "no-such.log"], "1"),
]
PACK = """\
title: The licence server was not reachable
cause: data.index-out-of-range
grade: claimed
clues:
  - {id: message, log: 'LICENCE SERVER UNREACHABLE', p: 0.99, b: 0.0001, says: it did not answer}
fix:
  - {do: Start the licence server., risk: low, verify: the run starts}
sources: [{issue: example/example#1}]
tests: {match: [a.log], differ: [b.log]}
"""


@pytest.mark.parametrize(("names", "exit_code"), CASES, ids=lambda value: str(value))
def test_library_and_command_give_the_same_report(run_triage, names, exit_code):
    paths = [str(LOGS / name) for name in names]
    options = [] if exit_code is None else ["--exit-code", exit_code]
    by_command = run_triage("analyze", *paths, *options, "--format", "json").stdout
    by_library = renderer("json")(triage.analyze(*paths, exit_code=exit_code))
    assert json.loads(by_command) == json.loads(by_library)


def test_they_agree_on_private_packs_top_and_redaction(run_triage, tmp_path):
    pack = tmp_path / "pack"
    (pack / "own").mkdir(parents=True)
    (pack / "pack.yaml").write_text("schema: 1\nname: ours\n")
    (pack / "own" / "licence.yaml").write_text(PACK)
    log = tmp_path / "home" / "alice" / "a.log"
    log.parent.mkdir(parents=True)
    log.write_text("LICENCE SERVER UNREACHABLE\n")

    by_command = run_triage(
        "analyze", log, "--signatures", pack, "--top", "1", "--no-redact", "--format", "json"
    ).stdout
    report = triage.analyze(log, signatures=[pack], top=1, redact=False)

    assert json.loads(by_command) == json.loads(renderer("json")(report))
    assert report.packs == ("ours",)
    assert report.diagnoses[0].signature == "own/licence"


@pytest.mark.parametrize("format_name", ["text", "markdown"])
def test_they_agree_on_the_other_formats(run_triage, format_name):
    path = LOGS / "oom_in_fit-2.21.log"
    by_command = run_triage("analyze", path, "--exit-code", "139", "--format", format_name).stdout
    assert by_command == renderer(format_name)(triage.analyze(path, exit_code=139))


def test_bytes_streams_and_paths_are_read_alike(knowledge):
    path = LOGS / "oom_in_fit-2.21.log"
    data = path.read_bytes()
    with path.open("rb") as file:
        given = [path, str(path), data, io.BytesIO(data), file]
        reports = [json.loads(renderer("json")(triage.analyze(one, knowledge=knowledge))) for one in given]
    for report in reports:
        del report["crash"]["inputs"]
    assert all(report == reports[0] for report in reports)
    assert reports[0]["verdict"] == "diagnosed"


def test_several_kinds_of_input_are_one_incident(knowledge):
    lines = (LOGS / "oom_in_fit-2.21.log").read_bytes().splitlines(keepends=True)
    report = triage.analyze(b"".join(lines[:30]), io.BytesIO(b"".join(lines[30:])), knowledge=knowledge)
    assert [entry.id for entry in report.crash.inputs] == [0, 1]
    assert report.diagnoses[0].cause == "host.out-of-memory"


def test_a_stream_stays_open_for_its_owner(knowledge):
    stream = io.BytesIO(b"Killed\n")
    triage.analyze(stream, knowledge=knowledge)
    assert not stream.closed


@pytest.mark.parametrize("code", ["banana", "", 1 << 40, "0x", "1.5"])
def test_nonsense_as_exit_code_raises_with_what_to_try(code):
    with pytest.raises(triage.NotAnExitCode, match="139"):
        triage.analyze(b"", exit_code=code)
    assert issubclass(triage.NotAnExitCode, ValueError)


def test_an_unreadable_input_is_named_and_does_not_raise(knowledge, tmp_path):
    report = triage.analyze(tmp_path / "nowhere.log", LOGS / "oom_in_fit-2.21.log", knowledge=knowledge)
    assert [entry.kind for entry in report.crash.inputs] == ["unreadable", "log"]
    assert any("nowhere.log" in text for text in report.not_observable)
    assert report.verdict == "diagnosed"


def test_nothing_read_is_not_the_same_as_nothing_found(knowledge, tmp_path):
    report = triage.analyze(tmp_path / "nowhere.log", knowledge=knowledge)
    assert report.verdict != "no-crash"


def test_no_input_at_all_is_no_crash(knowledge):
    assert triage.analyze(knowledge=knowledge).verdict == "no-crash"


# ---------------------------------------------------------------- running a program


def by_library(cwd, code: str) -> tuple[object, subprocess.CompletedProcess[str]]:
    """What a program of its own finds out with `triage.run`: the value that it leaves in `told`."""
    program = f"import json, triage\n{code}\nopen('told.json', 'w').write(json.dumps(told))\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((cwd / "told.json").read_text("utf-8")), done


def test_a_healthy_run_has_no_report(tmp_path):
    (tmp_path / "well.py").write_text("import sys\nprint('all is well', *sys.argv[1:])\n")
    told, done = by_library(tmp_path, "ran = triage.run(['well.py', '--epochs', '3'])\ntold = list(ran)")
    assert told == [0, None, None, [], []]
    assert (done.stdout, done.stderr) == ("all is well --epochs 3\n", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["told.json", "well.py"]


@pytest.mark.parametrize(
    ("line", "exit_code", "signal"),
    [("raise SystemExit(3)", 3, None), ("raise ValueError('no')", 1, None), ("die()", 139, 11)],
    ids=["exit", "exception", "crash"],
)
def test_a_failure_has_its_exit_code_its_signal_and_a_report(tmp_path, line, exit_code, signal):
    (tmp_path / "ill.py").write_text(f"{CRASH}{line}\n")
    told, done = by_library(
        tmp_path,
        "ran = triage.run(['ill.py'], native=False)\n"
        "told = [ran.exit_code, ran.signal, ran.report.crash.exit.typed, ran.report.crash.rerun.argv, ran.problems]",
    )
    assert told == [exit_code, signal, "SIGSEGV" if signal else str(exit_code), ["ill.py"], []]
    assert "triage" not in done.stdout + done.stderr, "the report is for the caller, and nothing is printed"


def test_what_cannot_be_started_raises_with_what_to_try(tmp_path):
    (tmp_path / "train.py").write_text("pass\n")
    told, _ = by_library(
        tmp_path,
        "told = []\n"
        "for words, given in ((['trian.py'], False), (['no-such-program'], True), (['.'], False)):\n"
        "    try:\n        triage.run(words, as_given=given)\n"
        "    except triage.CannotStart as error:\n        told.append([str(error), error.code])",
    )
    assert told == [
        ["trian.py does not exist (did you mean train.py?); check the path.", 127],
        ["no-such-program: there is no such program on the PATH.", 127],
        [". is a directory without a __main__.py; give the script in it.", 126],
    ]


def test_nothing_a_text_and_a_path(tmp_path):
    (tmp_path / "my plain.py").write_text("raise SystemExit(3)\n")
    told, _ = by_library(
        tmp_path,
        "import pathlib\n"
        "told = [triage.run(given).exit_code for given in ('my plain.py', [pathlib.Path('my plain.py')])]\n"
        "for given in ([], '', ['']):\n"
        "    try:\n        triage.run(given)\n"
        "    except triage.CannotStart as error:\n        told.append(str(error))",
    )
    assert told == [3, 3, *["there is nothing to run; give a script with its arguments."] * 3]


def test_from_a_thread(tmp_path):
    (tmp_path / "ill.py").write_text(f"{CRASH}die()\n")
    told, _ = by_library(
        tmp_path,
        "import signal, threading\ntold = []\n"
        "run = lambda: told.append(triage.run(['ill.py'], native=False).report.crash.exit.typed)\n"
        "thread = threading.Thread(target=run)\nthread.start()\nthread.join()\n"
        "told.append(signal.getsignal(signal.SIGINT) is signal.default_int_handler)",
    )
    assert told == ["SIGSEGV", True]


def test_the_options_of_a_run_are_kept_for_the_next(tmp_path):
    (tmp_path / "ill.py").write_text(f"{CRASH}import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\ndie()\n")
    told, _ = by_library(
        tmp_path,
        "import shlex, sys\nran = triage.run(['ill.py', 'a b'], python=sys.executable, timeout=60, native=False)\n"
        "crash = ran.report.crash\n"
        "told = [crash.run_with_log.line().replace(shlex.quote(sys.executable), 'P'), crash.rerun.line()]",
    )
    assert told == ["triage run --python P --timeout 60 --no-native --framework-log ill.py 'a b'", "ill.py 'a b'"]


def test_a_command_can_be_given_as_it_is(tmp_path):
    told, done = by_library(tmp_path, "told = triage.run(['sh', '-c', 'echo $0; exit 4'], as_given=True).exit_code")
    assert (told, done.stdout) == (4, "sh\n")


def test_a_timeout_ends_it(tmp_path):
    (tmp_path / "hangs.py").write_text("import time\ntime.sleep(600)\n")
    told, _ = by_library(
        tmp_path,
        "ran = triage.run(['hangs.py'], timeout=1, native=False)\ntold = [ran.exit_code, ran.report.crash.hung]",
    )
    assert told == [124, True]


def test_library_and_command_say_the_same_about_a_crash(tmp_path):
    (tmp_path / "ill.py").write_text(f"{CRASH}die()\n")
    _, by_command = report_on(tmp_path, "ill.py")
    told, _ = by_library(
        tmp_path,
        "from triage.reports.json_report import as_dict\ntold = as_dict(triage.run(['ill.py'], native=False).report)",
    )
    assert isinstance(told, dict)
    for same in ("verdict", "summary", "stack_key", "not_observable", "next", "ruled_out"):
        assert told[same] == by_command[same]
    causes = [[(d["cause"], round(d["confidence"], 2)) for d in report["diagnoses"]] for report in (told, by_command)]
    assert causes[0] == causes[1] != []
    assert [t["python_stack"] for t in primary_of(told)["threads"]] == [
        t["python_stack"] for t in primary_of(by_command)["threads"]
    ]


def test_private_names_are_hidden_unless_they_are_wanted(tmp_path):
    (tmp_path / "ill.py").write_text("raise FileNotFoundError('/home/alice/data.csv')\n")
    told, _ = by_library(
        tmp_path,
        "told = ['alice' in triage.run(['ill.py'], redact=wish).report.crash.exceptions[0].message"
        " for wish in (True, False)]",
    )
    assert told == [False, True]


def test_explain_takes_numbers_and_names(knowledge):
    assert triage.explain(139, knowledge=knowledge) == triage.explain("139", knowledge=knowledge)
    assert triage.explain(-11, knowledge=knowledge).title == triage.explain("SIGSEGV", knowledge=knowledge).title


def test_every_public_name_exists():
    for name in triage.__all__:
        assert hasattr(triage, name), name


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_importing_triage_imports_none_of_its_dependencies():
    loaded = modules_after("import triage")
    assert "triage" in loaded
    assert not loaded & {"click", "rich", "yaml", "tensorflow", "re2", "psutil", "minidump", "numpy"}


def test_running_a_healthy_program_imports_neither_signatures_nor_diagnosis():
    loaded = modules_after("import triage; assert triage.run(['true'], as_given=True) == (0, None, None, (), ())")
    assert "triage.capture.posix.supervisor" in loaded
    assert not loaded & {"click", "rich", "yaml", "triage.diagnosis", "triage.knowledge.database", "triage.stacks"}


def test_analysing_a_log_imports_no_command_line_no_tensorflow_and_no_reader_of_dumps():
    log = str(LOGS / "oom_in_fit-2.21.log")
    loaded = modules_after(f"import triage; assert triage.analyze({log!r}).verdict == 'diagnosed'")
    assert not loaded & {"click", "rich", "tensorflow", "numpy", "triage.cli", "triage.reports"}
    assert not any(name.startswith(("minidump", "triage.readers.minidump", "triage.readers.core")) for name in loaded)
