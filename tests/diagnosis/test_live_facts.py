"""What only a run under triage shows: who killed it, that it was interrupted or hung, how its processes were made.

`rerun` is what marks such a crash: the words after `triage run`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import clue, crash_of, crashed_thread, exit_status, sentences, signature_data
from building import knowledge_of as known
from conftest import LOGS
from fixture_logs import ALL_LOGS, crash_in

from triage.clues.facts import Facts
from triage.clues.findings import ABSENT, UNSEEN, Finding, Hit
from triage.crash import (
    Command,
    Crash,
    Duplicates,
    Environment,
    ExitStatus,
    Gap,
    Input,
    Library,
    Memory,
    NativeFrame,
    Place,
    Process,
    PythonException,
    PythonFrame,
    Thread,
)
from triage.diagnosis import diagnose
from triage.diagnosis.outcome import interrupted
from triage.diagnosis.verdict import SURE, with_all_gaps
from triage.knowledge.database import Knowledge
from triage.report import DIAGNOSED, NO_CRASH, UNCERTAIN, UNKNOWN, Outcome, Report

RERUN = Command(("train.py", "--epochs", "3"))
MEMORY = "host.out-of-memory"
LIMIT = 16 << 30
STILL_RUNNING = ExitStatus(
    code=124, name="timeout", kind="timeout", meaning="it was still running after 60 s, and triage ended it"
)


def live(*lines: str, **facts: Any) -> Crash:
    """A crash of a program that we ran ourselves."""
    return crash_of(*lines, rerun=RERUN, **facts)


def diagnosed(crash: Crash, knowledge: Knowledge) -> Report:
    return diagnose(crash, knowledge, version="test")


def found(crash: Crash, written: dict[str, Any]) -> Finding:
    """What becomes of a clue in its YAML form."""
    return Facts(crash).find(clue(written).sought)


def memory(share: float | None = None, kills: int | None = None) -> Memory:
    """The share of its limit that a process used at most, and the kills that the kernel counted."""
    return Memory(None if share is None else int(share * LIMIT), LIMIT, "the machine's memory", kills)


def error(name: str, *frames: PythonFrame) -> PythonException:
    return PythonException(name, "", frames=frames, place=Place(0, 1))


# ---------------------------------------------------------------- who sent a SIGKILL


@pytest.mark.parametrize("name", ALL_LOGS)
def test_no_log_makes_a_kill_without_a_count_a_diagnosis_of_memory(knowledge, name):
    """Not even one that says so itself: it may be of yesterday, or of another process."""
    crash = crash_in(LOGS / name)
    sigkill = (Process(4711, "main", "train.py", exit_status("SIGKILL")),)
    for figures in (memory(0.3, 0), memory(0.85, None), Memory()):
        seen = crash._replace(processes=sigkill, primary=0, memory=figures, rerun=RERUN)
        report = diagnosed(seen, knowledge)
        assert all(d.confidence < SURE for d in report.diagnoses if d.cause == MEMORY)
        assert sum(d.confidence for d in report.diagnoses) + report.unknown_confidence <= 1.001


SHOUTING = ("Reason:   OOMKilled", "Container killed by YARN for exceeding memory limits")


@pytest.mark.parametrize("figures", [memory(0.3, 0), memory(0.9, 0), memory(None, 0), Memory()], ids=str)
def test_such_a_kill_stays_a_guess(knowledge, figures):
    report = diagnosed(live(*SHOUTING, exit="SIGKILL", memory=figures), knowledge)
    assert (report.verdict, report.diagnoses[0].cause) == (UNCERTAIN, MEMORY)


@pytest.mark.parametrize("figures", [memory(0.3, 1), memory(None, 2), memory(0.97, 0), memory(0.91, None)], ids=str)
def test_a_count_or_a_peak_at_the_limit_makes_it_a_diagnosis(knowledge, figures):
    report = diagnosed(live(*SHOUTING, exit="SIGKILL", memory=figures), knowledge)
    assert (report.verdict, report.diagnoses[0].cause) == (DIAGNOSED, MEMORY)


def test_a_pasted_log_is_believed_because_nothing_else_was_seen(knowledge):
    assert diagnosed(crash_of(*SHOUTING, exit="SIGKILL"), knowledge).verdict == DIAGNOSED


@pytest.mark.parametrize("exit", ["SIGSEGV", "SIGABRT", "1"])
def test_another_end_is_not_touched_by_that_rule(exit):
    signatures = {"a/a": signature_data(cause=MEMORY, clues=[{"log": "no memory left", "p": 0.99, "b": 0.0001}])}
    report = diagnosed(live("no memory left", exit=exit), known(signatures, {MEMORY: 0.3}))
    assert report.verdict == DIAGNOSED


def test_another_cause_of_a_kill_is_not_touched_by_it():
    signatures = {"a/a": signature_data(cause="a.a", clues=[{"log": "time limit reached", "p": 0.99, "b": 0.0001}])}
    report = diagnosed(live("time limit reached", exit="SIGKILL"), known(signatures, {"a.a": 0.3}))
    assert report.verdict == DIAGNOSED


# ---------------------------------------------------------------- interrupted by hand


@pytest.mark.parametrize("errors", [(), (error("KeyboardInterrupt"),), (error("KeyboardInterrupt"),) * 2], ids=len)
def test_a_run_that_was_interrupted_did_not_crash(knowledge, errors):
    report = diagnosed(live("Epoch 1/3", exit="SIGINT", exceptions=errors), knowledge)
    assert (report.verdict, report.diagnoses, report.next) == (NO_CRASH, (), ())
    assert report.summary == "It was interrupted (SIGINT, Ctrl-C); nothing crashed."


def test_an_error_beside_the_interrupt_is_still_an_error(knowledge):
    errors = (error("ValueError"), error("KeyboardInterrupt"))
    crash = live("x", exit="SIGINT", exceptions=errors)
    assert not interrupted(crash)
    assert diagnosed(crash, knowledge).verdict != NO_CRASH


def test_a_keyboard_interrupt_without_the_signal_is_an_exception_like_others():
    assert not interrupted(live("x", exit="1", exceptions=(error("KeyboardInterrupt"),)))


def test_exit_code_0_is_not_called_an_interrupt(knowledge):
    assert "interrupted" not in diagnosed(crash_of("done", exit="0"), knowledge).summary


# ---------------------------------------------------------------- hung


def hanging(*processes: tuple[Thread, ...], primary: int = 0, **facts: Any) -> Crash:
    """A program that never ended, with the threads of each of its processes; the first is main."""
    made = tuple(
        Process(4711 + number, "worker" if number else "main", exit=STILL_RUNNING, threads=threads)
        for number, threads in enumerate(processes)
    )
    return Crash(processes=made, primary=primary, rerun=RERUN, **facts)


WAITING = crashed_thread(native=("futex_wait",), python=("train.py:main",), crashed=False)
IN_TENSORFLOW = crashed_thread(
    native=("nsync::nsync_mu_lock", "tensorflow::Run"), python=("/x/site-packages/keras/a.py:fit",), crashed=False
)


def test_a_hang_without_a_known_cause_is_called_one():
    report = diagnosed(hanging((WAITING,)), known({"a/a": signature_data()}))
    assert (report.verdict, report.summary) == (UNKNOWN, "It hung, and where it stands does not name the cause.")


def test_a_hang_with_a_known_cause_has_its_title():
    data = signature_data(title="The lock was held", cause="a.a", clues=[{"native": "nsync_mu_lock", "p": 0.9}])
    report = diagnosed(hanging((IN_TENSORFLOW,)), known({"a/a": data}, {"a.a": 0.3}))
    assert (report.verdict, report.summary) == (DIAGNOSED, "The lock was held.")


@pytest.mark.parametrize(
    "written", [{"native": "nsync_mu_lock"}, {"python": {"file": "keras/"}}], ids=lambda written: next(iter(written))
)
@pytest.mark.parametrize(
    "crash",
    [hanging((IN_TENSORFLOW,)), hanging((WAITING, IN_TENSORFLOW)), hanging((WAITING,), (WAITING, IN_TENSORFLOW))],
    ids=["main thread", "second thread", "thread of a worker"],
)
def test_of_a_hang_every_thread_of_every_process_is_looked_at(crash, written):
    assert isinstance(found(crash, written), Hit)


@pytest.mark.parametrize("written", [{"native": "nsync_mu_lock"}, {"python": {"file": "keras/"}}], ids=str)
def test_of_a_crash_only_the_thread_that_crashed_is_looked_at(written):
    crashed = crashed_thread(native=("strlen",), python=("train.py:main",))
    assert found(live(exit="139", threads=(IN_TENSORFLOW, crashed)), written) is ABSENT


def test_a_hang_of_which_no_stack_could_be_read_says_nothing_about_stacks():
    assert found(hanging(()), {"native": "nsync_mu_lock"}) is UNSEEN
    assert found(hanging(()), {"python": {"file": "keras/"}}) is UNSEEN


# ---------------------------------------------------------------- how a process was made


FORKED = {"process": {"forked_with": "tensorflow"}}


def family(*forked_with: str | None, primary: int = 0, ended: ExitStatus | None = None) -> Crash:
    made = tuple(
        Process(4711 + n, "worker" if n else "main", exit=ended or exit_status("139"), forked_with=what)
        for n, what in enumerate(forked_with)
    )
    return Crash(processes=made, primary=primary, rerun=RERUN)


def test_a_process_that_was_forked_after_tensorflow_had_started():
    hit = found(family(None, "tensorflow", primary=1), FORKED)
    assert isinstance(hit, Hit)
    assert hit.quote == "process 4712 was forked from one in which tensorflow had started"
    assert hit.values == {"pid": "4712"}


@pytest.mark.parametrize(
    "crash",
    [family(None), family("jax"), family(None, "tensorflow", primary=0)],
    ids=["not forked", "of something else", "another process than the one that died"],
)
def test_a_process_that_was_not(crash):
    assert found(crash, FORKED) is ABSENT


def test_that_no_process_was_made_so_is_a_clue_too():
    not_forked = {"process": {"not_forked_with": "tensorflow"}}
    assert isinstance(found(family(None, None, ended=STILL_RUNNING), not_forked), Hit)
    assert found(family(None, "tensorflow", ended=STILL_RUNNING), not_forked) is ABSENT
    assert found(crash_of("x", exit="139"), not_forked) is UNSEEN


def test_of_a_hang_any_process_may_be_the_forked_one():
    assert isinstance(found(family(None, "tensorflow", ended=STILL_RUNNING), FORKED), Hit)


def test_a_log_does_not_show_how_processes_were_made():
    assert found(crash_of("x", exit="139"), FORKED) is UNSEEN
    assert found(family(None, "tensorflow", primary=1)._replace(rerun=None), FORKED) is UNSEEN


def test_a_forked_worker_that_hangs_is_recognised_by_our_signatures(knowledge):
    stuck = Process(4712, "worker", exit=STILL_RUNNING, threads=(IN_TENSORFLOW,), forked_with="tensorflow")
    main = Process(4711, "main", exit=STILL_RUNNING, threads=(WAITING,))
    report = diagnosed(Crash(processes=(main, stuck), primary=1, rerun=RERUN), knowledge)
    assert (report.verdict, report.diagnoses[0].cause) == (DIAGNOSED, "native.fork-after-init")


IN_A_POOL = ("/usr/lib/python3.11/multiprocessing/popen_fork.py:_launch", "train.py:main")
WORKER_THAT_SLEEPS = crashed_thread(native=("clock_nanosleep",), python=("train.py:work", *IN_A_POOL), crashed=False)
PARENT_AT_WORK = crashed_thread(
    native=("pthread_cond_wait", "tsl::thread::ThreadPool::ParallelFor"), python=("train.py:main",), crashed=False
)
IDLE_POOL = crashed_thread(native=("pthread_cond_wait", "Eigen::ThreadPoolTempl::WaitForWork"), crashed=False)


@pytest.mark.parametrize("of_the_parent", [WAITING, PARENT_AT_WORK, IDLE_POOL], ids=["waits", "computes", "is idle"])
@pytest.mark.parametrize("forked_with", ["tensorflow", None])
def test_a_forked_worker_that_is_not_in_tensorflow_is_no_proof_of_it(knowledge, of_the_parent, forked_with):
    """What its parent's threads do says nothing about the worker."""
    worker = Process(4712, "worker", exit=STILL_RUNNING, threads=(WORKER_THAT_SLEEPS,), forked_with=forked_with)
    main = Process(4711, "main", exit=STILL_RUNNING, threads=(WAITING, of_the_parent))
    report = diagnosed(Crash(processes=(main, worker), primary=1, rerun=RERUN), knowledge)
    assert report.verdict == UNKNOWN
    assert all(one.confidence < 0.5 for one in report.diagnoses)


def test_a_worker_that_computes_with_a_tensorflow_of_its_own_is_no_proof_of_it(knowledge):
    computes = crashed_thread(
        native=("pthread_cond_wait", "tensorflow::Run"),
        python=("/x/site-packages/tensorflow/python/eager/execute.py:quick_execute", "train.py:work", *IN_A_POOL),
        crashed=False,
    )
    worker = Process(4712, "worker", exit=STILL_RUNNING, threads=(computes,))
    main = Process(4711, "main", exit=STILL_RUNNING, threads=(WAITING,))
    report = diagnosed(Crash(processes=(main, worker), rerun=RERUN), knowledge)
    assert all(one.confidence < 0.5 for one in report.diagnoses)


def test_a_forked_worker_whose_stack_could_not_be_read_is_a_guess(knowledge):
    worker = Process(4712, "worker", exit=STILL_RUNNING, forked_with="tensorflow")
    main = Process(4711, "main", exit=STILL_RUNNING, threads=(WAITING,))
    report = diagnosed(Crash(processes=(main, worker), primary=1, rerun=RERUN), knowledge)
    assert report.verdict != DIAGNOSED and report.diagnoses[0].confidence <= 0.5


# ---------------------------------------------------------------- clues of one thread


BOTH = {"thread": [{"python": {"function": "main"}}, {"native": "nsync_mu_lock"}]}
LOCKED = crashed_thread(native=("nsync::nsync_mu_lock",), python=("train.py:main",), crashed=False)
ONLY_NATIVE = crashed_thread(native=("nsync::nsync_mu_lock",), crashed=False)


def test_two_clues_of_one_thread():
    assert isinstance(found(hanging((WAITING,), (IN_TENSORFLOW, LOCKED)), BOTH), Hit)


@pytest.mark.parametrize(
    "crash",
    [hanging((WAITING, IN_TENSORFLOW)), hanging((WAITING,), (IN_TENSORFLOW,)), hanging((WAITING, ONLY_NATIVE))],
    ids=["two threads", "two processes", "a thread that runs no Python"],
)
def test_two_clues_of_two_threads_are_not_of_one(crash):
    assert found(crash, BOTH) is ABSENT


def test_a_process_that_could_not_be_read_may_have_had_that_thread():
    assert found(hanging((WAITING,), ()), BOTH) is UNSEEN
    assert found(crash_of("a log without stacks"), BOTH) is UNSEEN


def test_of_a_crash_the_thread_is_the_one_that_crashed():
    assert isinstance(found(live(exit="139", threads=(LOCKED._replace(crashed=True),)), BOTH), Hit)
    assert found(live(exit="139", threads=(LOCKED, WAITING._replace(crashed=True))), BOTH) is ABSENT


def test_an_exception_is_a_thread_that_only_python_saw():
    written = {"thread": [{"python": {"function": "main"}}, {"python": {"file": "keras"}}]}
    in_keras, in_main = PythonFrame("keras/a.py", 3, "fit"), PythonFrame("train.py", 9, "main")
    assert isinstance(found(live(exceptions=(error("E", in_keras, in_main),)), written), Hit)
    assert found(live(exceptions=(error("E", in_keras), error("E", in_main))), written) is ABSENT


# ---------------------------------------------------------------- whose code it was


LIBC = NativeFrame("/usr/lib/x86_64-linux-gnu/libc.so.6", "strlen")
OURS = NativeFrame("/home/user/project/_op.so", "Compute", own=True)


def native(*frames: NativeFrame) -> Crash:
    return live(exit="139", threads=(Thread(crashed=True, native_stack=frames),))


def test_a_frame_in_a_library_of_the_person():
    assert isinstance(found(native(LIBC, OURS), {"native": {"own": True}}), Hit)
    assert isinstance(found(native(LIBC, OURS), {"native": {"own": True, "function": "Compute"}}), Hit)


@pytest.mark.parametrize(
    ("crash", "written"),
    [
        (native(LIBC), {"own": True}),
        (native(LIBC, OURS), {"own": True, "within": 1}),
        (native(LIBC, OURS), {"own": True, "function": "strlen"}),
    ],
    ids=["only system libraries", "further out than asked", "the function is another library's"],
)
def test_no_such_frame(crash, written):
    assert found(crash, {"native": written}) is ABSENT


def test_without_a_native_stack_nobody_knows_whose_code_it_was():
    assert found(live(exit="139"), {"native": {"own": True}}) is UNSEEN


@pytest.mark.parametrize(
    ("file", "is_own"),
    [
        ("/home/user/project/train.py", True),
        ("train.py", True),
        ("C:\\Users\\me\\train.py", True),
        ("/venv/lib/python3.11/site-packages/keras/src/a.py", False),
        ("C:\\venv\\Lib\\site-packages\\keras\\a.py", False),
        ("/usr/lib/python3/dist-packages/six.py", False),
        ("/usr/lib/python3.11/ctypes/__init__.py", False),
        ("<frozen importlib._bootstrap>", False),
        ("/tmp/__autograph_generated_file1x2y.py", False),
    ],
)
def test_a_python_frame_of_the_program_itself(file, is_own):
    crash = live(exit="1", exceptions=(error("ValueError", PythonFrame(file, 1, "f")),))
    assert isinstance(found(crash, {"python": {"own": True}}), Hit) == is_own


def test_the_own_frame_must_stand_where_it_is_asked_for():
    frames = (PythonFrame("/v/lib/python3.11/site-packages/keras/a.py", 1, "fit"), PythonFrame("train.py", 9, "main"))
    crash = live(exit="1", exceptions=(error("ValueError", *frames),))
    assert found(crash, {"python": {"own": True, "within": 1}}) is ABSENT
    hit = found(crash, {"python": {"own": True, "within": 2}})
    assert isinstance(hit, Hit) and hit.quote == "Python frame train.py:9 in main"


# ---------------------------------------------------------------- two of one library


TWICE = {"module": {"twice": "OpenMP runtime"}}
TWO = Duplicates("OpenMP runtimes", ("/a/libgomp.so.1", "/b/libiomp5.so"))


def loaded(*libraries: str, twice: tuple[Duplicates, ...] = (), complete: bool = True) -> Crash:
    told_of = tuple(Library(name) for name in libraries)
    return live(exit="139", environment=Environment(libraries=told_of, libraries_complete=complete, loaded_twice=twice))


def test_two_of_a_library_in_one_process():
    hit = found(loaded("libgomp.so.1", "libiomp5.so", twice=(TWO,)), {"module": {"twice": "OpenMP runtimes"}})
    assert isinstance(hit, Hit) and hit.quote == "two OpenMP runtimes are loaded: libgomp.so.1 and libiomp5.so"


def test_two_of_another_library_do_not_count():
    assert (
        found(
            loaded("libprotobuf.so", twice=(Duplicates("protobufs", ("/a/libprotobuf.so", "/b/libprotobuf.so")),)),
            TWICE,
        )
        is ABSENT
    )


def test_one_of_it_is_not_two():
    assert found(loaded("libgomp.so.1"), TWICE) is ABSENT


def test_a_list_that_is_not_whole_proves_nothing():
    assert found(loaded("libgomp.so.1", complete=False), TWICE) is UNSEEN


# ---------------------------------------------------------------- what to find out next


SEEN_LIVE: dict[str, dict[str, Any]] = {
    "exit": {"exit": "SIGFPE"},
    "python": {"python": {"file": "ctypes"}},
    "native": {"native": "MklConvOp"},
    "fault": {"fault": {"address": "null"}},
    "memory": {"memory": "oom_killed"},
    "module": {"module": "cudnn"},
    "process": FORKED,
    "environment": {"environment": {"os": "windows"}},
}
WORDS = {"id": "words", "log": "the telling words", "p": 0.9, "b": 0.01}


def asked(crash: Crash, *clues: dict[str, Any], **tables: Any) -> list[tuple[str, str | None]]:
    knowledge = known({"a/a": signature_data(cause="a.a", clues=[{"p": 0.9, "b": 0.01, **c} for c in clues])}, **tables)
    return [
        (question.ask, question.run.line() if question.run else None) for question in diagnosed(crash, knowledge).next
    ]


@pytest.mark.parametrize("kind", SEEN_LIVE)
def test_what_a_run_shows_is_asked_about_a_paste_only(kind):
    paste = crash_of("nothing known", exit=None if kind == "exit" else "3")
    assert len(asked(paste, SEEN_LIVE[kind])) == 1
    assert asked(paste._replace(rerun=RERUN), SEEN_LIVE[kind]) == []


def hidden(crash: Crash) -> Crash:
    return crash._replace(environment=Environment(hidden_log="TF_CPP_MIN_LOG_LEVEL=3, set by the script"))


def test_a_hidden_log_is_asked_for_first_with_the_command_that_shows_it():
    pages = {"statuses": {"SIGSEGV": {"means": "x", "next": "Run it with faulthandler.", "causes": ["a.a"]}}}
    questions = asked(hidden(live(exit="139")), WORDS, explanations=pages)
    assert questions[0] == (
        "What does TensorFlow's own log say? It was hidden (TF_CPP_MIN_LOG_LEVEL=3, set by the script).",
        "triage run --framework-log train.py --epochs 3",
    )
    assert questions[1][0] == "Run it with faulthandler."


def test_a_hidden_log_of_a_program_that_we_cannot_run_again_is_not_asked_for():
    assert not [ask for ask, _ in asked(hidden(crash_of("nothing known", exit="3")), WORDS) if "hidden" in ask]


def test_a_diagnosis_does_not_ask_for_the_hidden_log():
    signatures = {"a/a": signature_data(cause="a.a", clues=[WORDS])}
    report = diagnosed(hidden(live("the telling words", exit="139")), known(signatures, {"a.a": 0.5}))
    assert (report.verdict, report.next) == (DIAGNOSED, ())


def test_advice_to_run_it_under_triage_is_not_given_after_such_a_run():
    page = {"means": "x", "next": "Look at its stack.", "remedy": "run-under-triage", "causes": ["a.a"]}
    pages = {"statuses": {"SIGSEGV": page}}
    crash = live("nothing known", exit="139", threads=(crashed_thread(native=("strlen",)),))
    assert asked(crash, {"native": "MklConvOp"}, explanations=pages) == []
    assert asked(crash._replace(rerun=None), {"native": "MklConvOp"}, explanations=pages)


# ---------------------------------------------------------------- what could not be seen


def missing(crash: Crash) -> str:
    return "\n".join(sentences(with_all_gaps(crash, Outcome("died"), known({"a/a": signature_data()})).gaps))


def test_where_an_exception_ended_it_no_native_stack_is_missed():
    raised = error("ValueError", PythonFrame("train.py", 3, "main"))
    assert "native stack" not in missing(live("x", exit="1", exceptions=(raised,)))
    assert "native stack" in missing(live("x", exit="139", exceptions=(raised,)))
    assert "native stack" in missing(crash_of("x", exceptions=(raised,)))


def test_triage_run_is_recommended_for_what_was_pasted():
    assert "Python stack: there is none (run it with triage run)" in missing(crash_of("x", exit="139"))
    assert "native stack: the log holds none (run it with triage run)" in missing(crash_of("x", exit="139"))


@pytest.mark.parametrize(
    "reason",
    [
        Gap("native stack", "killed", detail="a process that is killed leaves none"),
        Gap("native stack", "not-hooked", detail="our hook did not run in this process"),
        Gap("native stack", "killed", detail="in the words of another language"),
    ],
)
def test_it_is_not_recommended_to_one_who_did_just_that(reason):
    text = missing(live("x", exit="SIGKILL", gaps=(reason,)))
    assert "run it with triage run" not in text
    assert text.count("native stack") == 1
    assert "Python stack: there is none" in text.splitlines()


@pytest.mark.parametrize("exit", ["SIGSEGV", "SIGTERM", "5"], ids=["--no-native", "SIGTERM", "os._exit(5)"])
def test_nor_where_a_run_gave_no_reason(exit):
    assert "run it with triage run" not in missing(live("x", exit=exit))


def test_an_input_without_end_or_memory_says_so(tmp_path: Path):
    crash = Crash(inputs=(Input(0, "log", str(tmp_path / "x.log")),), logs=crash_of("x").logs)
    assert [line.split(":")[0] for line in missing(crash).splitlines()] == [
        "exit status",
        "native stack",
        "Python stack",
        "memory",
    ]
