"""Exit statuses as tools print them, each in the tool's own words; prose that mentions a signal is no status."""

from __future__ import annotations

import pytest
from conftest import LOGS

from triage.crash import Log
from triage.readers import Source, read
from triage.readers.log.ends import exit_statuses


def _names(text: str) -> set[str]:
    """The names of all statuses in a text; a line may give the same status twice."""
    return {placed.status.name for placed in exit_statuses(Log(0, text.split("\n")))}


BASH = [
    ("Segmentation fault (core dumped)", "SIGSEGV"),
    ("Segmentation fault", "SIGSEGV"),
    ("Aborted (core dumped)", "SIGABRT"),
    ("Aborted", "SIGABRT"),
    ("Illegal instruction (core dumped)", "SIGILL"),
    ("Bus error (core dumped)", "SIGBUS"),
    ("Floating point exception (core dumped)", "SIGFPE"),
    ("Killed", "SIGKILL"),
    ("Terminated", "SIGTERM"),
    ("Trace/breakpoint trap (core dumped)", "SIGTRAP"),
    ("./run.sh: line 3:  4711 Segmentation fault      (core dumped) python train.py", "SIGSEGV"),
    ("train.sh: line 14: 20518 Killed                  python train.py --epochs 40", "SIGKILL"),
    ("/bin/bash: line 1:  4711 Aborted                 python train.py", "SIGABRT"),
    ("[1]+  Segmentation fault      (core dumped) python train.py", "SIGSEGV"),
    ("[1]+  Killed                  python train.py", "SIGKILL"),
    ("make: *** [Makefile:3: train] Segmentation fault (core dumped)", "SIGSEGV"),
    ("make[1]: *** [run] Segmentation fault: 11", "SIGSEGV"),
    ("make: *** [run] Killed", "SIGKILL"),
    # ctest, and handlers of servers and runtimes
    (" 24/188 Test  #24: copy ...............***Exception: SegFault  0.05 sec", "SIGSEGV"),
    ("[231663] signal 11 (1): Segmentation fault", "SIGSEGV"),
    ("[52149] signal (11.1): Segmentation fault", "SIGSEGV"),
    ("qemu-system-aarch64: terminating on signal 15 from pid 17302 (<unknown process>)", "SIGTERM"),
    ("11:40:21 UTC - mysqld got signal 11 ;", "SIGSEGV"),
    ("/srv/puma/server.rb:15: [BUG] Segmentation fault at 0x0000000000000000", "SIGSEGV"),
    ("Got a SIGSEGV while executing native code. This usually indicates", "SIGSEGV"),
    # the columns are gone
    ("/usr/bin/tf_serving_entrypoint.sh: line 3: 8 Aborted tensorflow_model_server --port=8500", "SIGABRT"),
    # quoted in a sentence
    ("It ends with `sh: line 1: 4711 Illegal instruction: 4` on an old Mac", "SIGILL"),
]
ZSH = [
    ("zsh: segmentation fault  python train.py", "SIGSEGV"),
    ('No error at all, just "Killed" and the prompt again', "SIGKILL"),
    ('"Killed" without any error while the model loads', "SIGKILL"),
    ("zsh: segmentation fault (core dumped)  python train.py", "SIGSEGV"),
    ("zsh: illegal hardware instruction  python train.py", "SIGILL"),
    ("zsh: bus error  python train.py", "SIGBUS"),
    ("zsh: abort      python train.py", "SIGABRT"),
    ("zsh: killed     python train.py", "SIGKILL"),
    ("zsh: terminated  python train.py", "SIGTERM"),
    ("zsh: trace trap  python train.py", "SIGTRAP"),
    ("zsh: floating point exception  python train.py", "SIGFPE"),
    ("[1]    4711 segmentation fault  python train.py", "SIGSEGV"),
    ("  216726 segmentation fault  python", "SIGSEGV"),
    ("[1]    4711 segmentation fault (core dumped)  python train.py", "SIGSEGV"),
    ("[1]    4711 illegal hardware instruction  python train.py", "SIGILL"),
    ("[1]    4711 abort (core dumped)  python train.py", "SIGABRT"),
    ("[1]  + 4711 killed     python train.py", "SIGKILL"),
]
MACOS = [
    ("Segmentation fault: 11", "SIGSEGV"),
    ("Illegal instruction: 4", "SIGILL"),
    ("Abort trap: 6", "SIGABRT"),
    ("Bus error: 10", "SIGBUS"),
    ("Floating point exception: 8", "SIGFPE"),
    ("Killed: 9", "SIGKILL"),
    ("./run.sh: line 3:  4711 Segmentation fault: 11  python train.py", "SIGSEGV"),
]
FISH = [
    ("fish: Job 1, 'python train.py' terminated by signal SIGSEGV (Address boundary error)", "SIGSEGV"),
    ("fish: “python train.py” terminated by signal SIGABRT (Abort)", "SIGABRT"),
]
PYCHARM = [
    ("Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)", "SIGSEGV"),
    ("Process finished with exit code 139 (interrupted by signal 11:SIGSEGV)", "SIGSEGV"),
    ("Process finished with exit code 134 (interrupted by signal 6: SIGABRT)", "SIGABRT"),
    ("Process finished with exit code 137 (interrupted by signal 9: SIGKILL)", "SIGKILL"),
    ("Process finished with exit code -1073740791 (0xC0000409)", "STATUS_STACK_BUFFER_OVERRUN"),
    ("Process finished with exit code -1073741819 (0xC0000005)", "STATUS_ACCESS_VIOLATION"),
    ("Process finished with exit code -1073741571 (0xC00000FD)", "STATUS_STACK_OVERFLOW"),
    ("Process finished with exit code -1073741795 (0xC000001D)", "STATUS_ILLEGAL_INSTRUCTION"),
    ("Process finished with exit code 0", "exit 0"),
    ("Process finished with exit code 1", "exit 1"),
]
VS_CODE = [
    ("[Done] exited with code=3221226505 in 2.137 seconds", "STATUS_STACK_BUFFER_OVERRUN"),
    ("[Done] exited with code=1 in 2.137 seconds", "exit 1"),
    ("The program '[4711] python.exe' has exited with code -1073740791 (0xc0000409).", "STATUS_STACK_BUFFER_OVERRUN"),
    ("The Kernel crashed with exit code 3221225477.", "STATUS_ACCESS_VIOLATION"),
]
CONTAINERS = [
    ("trainer_1  | exited with code 137", "SIGKILL"),
    ("trainer_1 exited with code 139", "SIGSEGV"),
    ('            "ExitCode": 137,', "SIGKILL"),
    ("4c01db0b339c   trainer   Exited (137) 2 minutes ago", "SIGKILL"),
    ("      Exit Code:    137", "SIGKILL"),
    ('{"terminated":{"exitCode":139,"reason":"Error"}}', "SIGSEGV"),
    ("      exitCode: 134", "SIGABRT"),
]
CONTINUOUS_INTEGRATION = [
    ("Error: Process completed with exit code 139.", "SIGSEGV"),
    ("##[error]Process completed with exit code 134.", "SIGABRT"),
    ("##[error]Process completed with exit code -1073741819.", "STATUS_ACCESS_VIOLATION"),
    ("ERROR: Job failed: exit code 137", "SIGKILL"),
    ("Command exited with code 3221225477", "STATUS_ACCESS_VIOLATION"),
]
PYTHON = [
    ("subprocess.CalledProcessError: Command '['python', 't.py']' died with <Signals.SIGSEGV: 11>.", "SIGSEGV"),
    ("subprocess.CalledProcessError: Command 'python t.py' died with <Signals.SIGABRT: 6>.", "SIGABRT"),
    ("subprocess.CalledProcessError: Command 't.py' returned non-zero exit status 139.", "SIGSEGV"),
    (
        "subprocess.CalledProcessError: Command 't' returned non-zero exit status 3221225477.",
        "STATUS_ACCESS_VIOLATION",
    ),
    ("CompletedProcess(args=['python', 't.py'], returncode=-11)", "SIGSEGV"),
    ("billiard.exceptions.WorkerLostError: Worker exited prematurely: signal 11 (SIGSEGV) Job: 0.", "SIGSEGV"),
    ("E1116 failed (exitcode: -11) local_rank: 0 (pid: 4711) of binary: python", "SIGSEGV"),
]
OTHERS = [
    ('Thread 1 "python" received signal SIGSEGV, Segmentation fault.', "SIGSEGV"),
    ("Program terminated with signal SIGSEGV, Segmentation fault.", "SIGSEGV"),
    ("Program terminated with signal 11, Segmentation fault.", "SIGSEGV"),
    ("Command terminated by signal 9", "SIGKILL"),
    ("mpirun noticed that process rank 0 with PID 4711 on node a exited on signal 11 (Segmentation fault).", "SIGSEGV"),
    ("exit code: 139", "SIGSEGV"),
    ("exit status -11", "SIGSEGV"),
    ("demo.service: Main process exited, code=dumped, status=4/ILL", "SIGILL"),
    ("demo.service: Main process exited, code=killed, status=9/KILL", "SIGKILL"),
]
RUNTIMES = [
    ("SIGILL: illegal instruction\nPC=0x7f9d2c1a4a50 m=0 sigcode=2", "SIGILL"),
    ("fatal error: unexpected signal during runtime execution\n[signal SIGSEGV: segmentation violation]", "SIGSEGV"),
    ("process didn't exit successfully: `target/debug/demo` (signal: 4, SIGILL: illegal instruction)", "SIGILL"),
    ("A/libc: Fatal signal 11 (SIGSEGV), code 1, fault addr 0x70 in tid 28007", "SIGSEGV"),
    ("A/DEBUG: signal 7 (SIGBUS), code 1 (BUS_ADRALN), fault addr 0x8baaf4bd", "SIGBUS"),
    ("[4711] signal (11): Segmentation fault", "SIGSEGV"),
    ("256it [00:02, 116.18it/s]*** Received signal 11 ***", "SIGSEGV"),
    ("qemu: uncaught target signal 4 (Illegal instruction) - core dumped", "SIGILL"),
    (" *** caught illegal operation ***\naddress 0x7f3b8d3f2b60, cause 'illegal operand'", "SIGILL"),
    (" *** caught segfault ***\naddress 0x18, cause 'memory not mapped'", "SIGSEGV"),
]
WINDOWS = [
    ("Windows fatal exception: access violation", "STATUS_ACCESS_VIOLATION"),
    ("Windows fatal exception: stack overflow", "STATUS_STACK_OVERFLOW"),
    ("Windows fatal exception: int divide by zero", "STATUS_INTEGER_DIVIDE_BY_ZERO"),
    ("Windows fatal exception: float divide by zero", "STATUS_FLOAT_DIVIDE_BY_ZERO"),
    ("Windows fatal exception: float overflow", "STATUS_FLOAT_OVERFLOW"),
    ("Windows fatal exception: integer overflow", "STATUS_INTEGER_OVERFLOW"),
    ("Windows fatal exception: page error", "STATUS_IN_PAGE_ERROR"),
    ("Windows fatal exception: code 0xc0000409", "STATUS_STACK_BUFFER_OVERRUN"),
    ("Windows fatal exception: code 0xc0000374", "STATUS_HEAP_CORRUPTION"),
    ("Windows fatal exception: code 0xe06d7363", "CPP_EXCEPTION"),
    ("Exception code: 0xc0000005", "STATUS_ACCESS_VIOLATION"),
    ("  Exception Code:\tc0000409", "STATUS_STACK_BUFFER_OVERRUN"),
    ("it just ends with 0xC0000409", "STATUS_STACK_BUFFER_OVERRUN"),
    ("PS> $LASTEXITCODE\n-1073740791", "STATUS_STACK_BUFFER_OVERRUN"),
]


@pytest.mark.parametrize(("line", "name"), BASH)
def test_bash_says_it_in_words(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("120/500 [==>...........] - ETA: 1:02 - loss: 2.1371Killed", "SIGKILL"),
        ("120/500 [==>...........] - ETA: 12sSegmentation fault", "SIGSEGV"),
        ("120/500 [==>...........]Aborted", "SIGABRT"),
        (" 37%|███▋      | 37/100 [00:10<00:17,  3.61it/s] 37%Illegal instruction", "SIGILL"),
    ],
)
def test_a_progress_bar_ends_in_no_line_feed(line: str, name: str) -> None:
    assert _names(line) == {name}


def test_words_glued_to_a_word_are_no_status() -> None:
    assert _names("nobodyKilled") == set()
    assert _names("3 jobs were Killed in May") == set()


@pytest.mark.parametrize(("line", "name"), ZSH)
def test_zsh_says_it_in_lower_case(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(("line", "name"), MACOS)
def test_macos_puts_the_number_after_the_words(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(("line", "name"), FISH)
def test_fish_names_the_signal(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(("line", "name"), PYCHARM)
def test_pycharm_gives_the_number_and_what_it_makes_of_it(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(("line", "name"), VS_CODE)
def test_vs_code_gives_windows_codes_unsigned(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(("line", "name"), CONTAINERS)
def test_docker_and_kubernetes_give_128_plus_n(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(("line", "name"), CONTINUOUS_INTEGRATION)
def test_a_failed_job_gives_its_exit_code(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(("line", "name"), PYTHON)
def test_python_programs_report_how_their_children_ended(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(("line", "name"), OTHERS)
def test_debuggers_launchers_and_people(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(("line", "name"), RUNTIMES)
def test_the_runtimes_of_other_languages_have_words_of_their_own(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(("line", "name"), WINDOWS)
def test_windows_names_the_exception_or_its_code(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("exit code: `-1073740791`", "STATUS_STACK_BUFFER_OVERRUN"),
        ("exited unexpectedly with code -11", "SIGSEGV"),
        ("Process 'python' exited with exit code '-1073741571'", "STATUS_STACK_OVERFLOW"),
        ("Execution failed (exit value 134)", "SIGABRT"),
        ("finished with exit code 3221225477", "STATUS_ACCESS_VIOLATION"),
        ("returned non-zero exit status -9", "SIGKILL"),
        ("python: status=11/SEGV", "SIGSEGV"),
        ("Main process exited, code=exited, status=139/n/a", "SIGSEGV"),
        ("Exit Code 0xC0000005", "STATUS_ACCESS_VIOLATION"),
        ("[launch.py:316] Killing subprocess 4711, exits with return code = -9", "SIGKILL"),
        ("%ERRORLEVEL% = -1073741819", "STATUS_ACCESS_VIOLATION"),
        ("make: *** [Makefile:12: train] Error 139", "SIGSEGV"),
        ("exit status: signal: killed", "SIGKILL"),
        ("worker 3 exited with signal SIGKILL", "SIGKILL"),
        ("Process 12 died with signal 9", "SIGKILL"),
        ("signal 11 caught", "SIGSEGV"),
        ("SIGNAL: 11", "SIGSEGV"),
        ("Received signal 11 SEGV_MAPERR 7f6b0c580000", "SIGSEGV"),
        ("Caught signal 11 (Segmentation fault: address not mapped to object at address 0x10)", "SIGSEGV"),
        ("Process crashed due to SIGSEGV", "SIGSEGV"),
        ("[pid 12] +++ killed by SIGSEGV (core dumped) +++", "SIGSEGV"),
        ("Exception: EXCEPTION_ACCESS_VIOLATION at 0x7ffb -- unknown function", "STATUS_ACCESS_VIOLATION"),
    ],
)
def test_the_number_may_be_quoted_or_have_words_before_it(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("SEGMENTATION FAULT", "SIGSEGV"),
        ("segementation fault", "SIGSEGV"),
        ("Segmentaion fault (core dumped)", "SIGSEGV"),
        ("seg fault", "SIGSEGV"),
        ("Segfault", "SIGSEGV"),
        ("illegal instrution", "SIGILL"),
        ("Segmentation fault.", "SIGSEGV"),
        ("`Segmentation fault (core dumped)`", "SIGSEGV"),
        ("**Segmentation fault**", "SIGSEGV"),
        ("Error: Segmentation fault", "SIGSEGV"),
        ("train.py: Segmentation fault: 11", "SIGSEGV"),
        ("tests/test_a.py ....Segmentation fault (core dumped)", "SIGSEGV"),
        ("test_gpu (tests.T) ... Segmentation fault", "SIGSEGV"),
    ],
)
def test_people_misspell_it_and_forums_put_marks_around_it(line: str, name: str) -> None:
    assert _names(line) == {name}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("exit: 139", "SIGSEGV"),
        ("exit 139", "SIGSEGV"),
        ("Process exited: -6", "SIGABRT"),
        ("rc=137", "SIGKILL"),
        ("status=139", "SIGSEGV"),
        ("$? = 139", "SIGSEGV"),
        ("$ ./a.out\n$ echo $?\n139", "SIGSEGV"),
        ("[1]+  Exit 1                  python train.py", "exit 1"),
        ("codice di uscita 139", "SIGSEGV"),
        ("código de salida: 137", "SIGKILL"),
        ("код завершения 134", "SIGABRT"),
    ],
)
def test_a_terse_line_and_other_languages_give_the_number(text: str, name: str) -> None:
    assert _names(text) == {name}


@pytest.mark.parametrize("text", ["exit 1", "exit 0", "status: 1", "rc = 3"])
def test_a_terse_small_number_may_be_a_line_of_a_script(text: str) -> None:
    assert _names(text) == set()


@pytest.mark.parametrize(
    "sentence",
    [
        "What does exit code 137 mean?",
        "Bash returns 128+n for signal n, so SIGSEGV is exit code 139.",
        "If your process gets killed with exit code 137, raise the memory limit.",
        "Fix crash (SIGSEGV, exit code 139) when the list is empty",
    ],
)
def test_a_sentence_that_teaches_what_a_code_means_is_no_status(sentence: str) -> None:
    assert _names(sentence) == set()


def test_the_end_of_a_helper_is_not_the_programs() -> None:
    assert _names("ptxas exited with non-zero error code 256, output: ptxas fatal") == set()
    assert _names("llvm-symbolizer: exited with code 1") == set()


@pytest.mark.parametrize(
    "prose",
    [
        # Ray's list of what might have happened
        "There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory "
        "usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other "
        "unexpected errors.",
        "The process may be killed by signal 9 if the machine runs out of memory.",
        "If you see a segmentation fault here, please open an issue.",
        "I get a Segmentation fault when I run this",
        "Killed the old process before starting a new one",
        "Aborted by user request",
        "Terminated early: the loss did not improve",
        "Send SIGTERM or SIGKILL to stop the server",
        "a SIGSEGV handler was installed",
        "Local rendezvous is aborting with status: OUT_OF_RANGE: End of sequence",
        "kill -9 4711",
        "SIGKILL: the signal that cannot be caught",
        "we caught segfault reports from users",
        "State:          Terminated",
        "return code handling was changed in 2.4",
        "exit code is not 0",
        "if you get Segmentation fault",
        "Segmentation fault handling was improved",
        "the process might have been killed by signal 9",
        "the signal 11 handler prints a stack",
        "signal: 3 channels were read",
        "a return value of 5",
        "finished with 2 errors",
        "the request failed with status 404",
        "crashed with 3 workers",
    ],
)
def test_prose_that_only_mentions_a_signal_is_no_status(prose: str) -> None:
    assert _names(prose) == set()


@pytest.mark.parametrize(
    "line",
    [
        "Allocation of 3221225472 exceeds 10% of free system memory.",
        "Bin (268435456): Total Chunks: 1, 3221225472 requested",
        "object at 0xc0000409f8",
        "Reading from 0x7fc0000005",
    ],
)
def test_a_number_of_bytes_or_an_address_is_no_windows_status(line: str) -> None:
    """3 GiB is 3221225472, which is 0xC0000000."""
    assert _names(line) == set()


def test_statuses_come_in_the_order_of_the_text_with_their_lines() -> None:
    log = Log(2, ["worker_1 exited with code 137", "Epoch 1/5", "main exited with code 1", "", "Aborted (core dumped)"])
    seen = [(status.name, status.place and (status.place.input, status.place.line)) for _, status in exit_statuses(log)]
    assert seen == [("SIGKILL", (2, 1)), ("exit 1", (2, 3)), ("SIGABRT", (2, 5))]


def test_the_number_that_was_printed_is_kept() -> None:
    assert [status.code for _, status in exit_statuses(Log(0, ["exit code 139", "exit status -11"]))] == [139, -11]


@pytest.mark.parametrize("path", sorted((LOGS / "healthy").glob("*.log")), ids=lambda path: path.name)
def test_a_run_that_went_well_has_no_status(path: str) -> None:
    assert exit_statuses(read(Source.of(path), 0).logs[0]) == []


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("oom-killed-kubernetes.log", "SIGKILL"),
        ("oom-killed-slurm.log", "SIGKILL"),
        ("fast-fail-bare.log", "STATUS_STACK_BUFFER_OVERRUN"),
        ("illegal-instruction-import.log", "SIGILL"),
        ("cudnn-handle-check.log", "SIGABRT"),
    ],
)
def test_the_status_in_a_whole_log(name: str, status: str) -> None:
    log = read(Source.of(LOGS / "composed" / name), 0).logs[0]
    assert {seen.name for _, seen in exit_statuses(log)} == {status}


def test_a_list_that_says_what_codes_mean_tells_no_end() -> None:
    text = (
        "Exit Code 1: The application failed\n"
        "Exit Code 137: The container received SIGKILL\n"
        "Exit Code 139: The container received SIGSEGV"
    )
    assert _names(text) == set()
    assert _names("What is exit code 137 of a container?") == set()
    assert _names("server exited with code 137: no more room") == {"SIGKILL"}


def test_a_database_beside_the_program_is_not_the_program() -> None:
    assert _names("web-1 exited with code 0\ndb-1 exited with code 137") == {"exit 0"}
    assert _names("web-1 exited with code 1\nmy_postgres_1 exited with code 137") == {"exit 1"}
    assert _names("db-1 exited with code 137") == {"SIGKILL"}


def test_words_that_were_only_printed_are_denied_by_the_shell() -> None:
    assert _names("$ ./demo\nSegmentation fault\n$ echo $?\n0") == set()
    assert _names("$ ./demo\nSegmentation fault\n$ echo $?\n139") == {"SIGSEGV"}


def test_the_code_with_which_make_ends_is_not_the_program_s() -> None:
    lines = ["make: *** [op.o] Error 127", "gyp ERR! stack Error: `make` failed with exit code: 2"]
    assert [placed.status.code for placed in exit_statuses(Log(0, lines))] == [127]
