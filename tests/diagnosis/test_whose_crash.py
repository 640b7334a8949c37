"""Whose crash it is decides which causes can be told: falsehoods that were once told, and are told no more."""

from __future__ import annotations

import pytest
from building import crashed_thread

import triage
from triage.crash import Crash, Environment, ExitStatus, Library, NativeFrame, Process, Program, ProgramReason, Thread
from triage.diagnosis import diagnose
from triage.knowledge.database import Knowledge
from triage.programs import program_of_libraries
from triage.report import Report
from triage.reports import text

HS_ERR_ON_ALPINE = """#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f9a3c2b1e21, pid=7, tid=12
#
# JRE version: OpenJDK Runtime Environment (17.0.10+7) (build 17.0.10+7-alpine-r0)
# Problematic frame:
# C  [libc.musl-x86_64.so.1+0x51e21]  strlen+0x1
"""
SYMBOLISER = """WARNING: ThreadSanitizer: data race (pid=71)
llvm-symbolizer: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by llvm-symbolizer)
  Write of size 4 at 0x7f by thread T1:
    #0 worker::Queue::push() /src/worker/queue.cc:31:5
"""
METAL_UNDER_PYTORCH = """/Apple/Library/BuildRoots/MPSGraph.mm:761: failed assertion `MPSNDArray: total bytes > 2**32'
Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py", line 456, in _conv_forward
RuntimeError: MPS backend failed
"""
ABSL_FATAL = "F0000 00:00:1763258400.123456    4711 session_store.cc:88] Check failed: store.is_open() \n*** Aborted"
IMAGES = "".join(f"0x1a0{n}000000 - 0x1a0{n}ffffff {name}\n" for n, name in enumerate(("MLCompute", "Metal", "UIKit")))
IPS = (
    f"Process:               Painter [812]\nException Type:        EXC_BAD_ACCESS (SIGSEGV)\n\nBinary Images:\n{IMAGES}"
)


def analyzed(log: str, knowledge: Knowledge, exit_code: int | None = None) -> Report:
    """The report of a text."""
    return triage.analyze(log.encode(), exit_code=exit_code, knowledge=knowledge)


def loaded(*libraries: str, exit: ExitStatus, threads: tuple[Thread, ...] = ()) -> Crash:
    """A dump of a process of which all libraries are known."""
    program = program_of_libraries(libraries, threads, None, complete=True)
    environment = Environment(libraries=tuple(map(Library, libraries)), libraries_complete=True)
    return Crash(processes=(Process(exit=exit, threads=threads, program=program),), environment=environment)


def first_of(report: Report) -> tuple[str, float]:
    """The cause that leads, and how sure it is."""
    return (report.diagnoses[0].cause, report.diagnoses[0].confidence) if report.diagnoses else ("", 0.0)


def test_metal_under_pytorch_is_metals_fault_and_gets_no_step_about_tensorflow(knowledge: Knowledge) -> None:
    report = triage.analyze(METAL_UNDER_PYTORCH.encode(), exit_code=1, knowledge=knowledge)
    assert first_of(report)[0] == "gpu.metal-plugin"
    steps = [step for diagnosis in report.diagnoses for step in diagnosis.fix]
    assert steps
    assert not [step for step in steps if "tensorflow" in f"{step.do} {step.run} {step.verify}".lower()]


@pytest.mark.parametrize(
    ("log", "exit_code", "signature"),
    [
        (HS_ERR_ON_ALPINE, 134, "install/musl"),
        (IPS, 139, "native/tf-bug-apple-fork"),
        (SYMBOLISER, 66, "install/glibc-too-old"),
        ("Floating point exception (core dumped)", 136, "native/tf-bug-integer-division"),
        (ABSL_FATAL, 134, "native/check-failed"),
    ],
)
def test_a_text_of_another_program_is_not_told_a_cause_of_tensorflow(
    knowledge: Knowledge, log: str, exit_code: int, signature: str
) -> None:
    report = analyzed(log, knowledge, exit_code)
    assert all(one.confidence < 0.5 for one in report.diagnoses if one.signature == signature), report.diagnoses
    assert "TensorFlow" not in report.summary


def test_a_debug_runtime_without_tensorflow_is_no_clash_with_it(knowledge: Knowledge) -> None:
    frames = (NativeFrame("VCRUNTIME140D.dll", "_invoke_watson"), NativeFrame("label.exe", "main"))
    died = ExitStatus(code=-1073740791, ntstatus=0xC0000409, name="0xC0000409", kind="fast-fail", subcode=5)
    stack = (Thread(crashed=True, native_stack=frames),)
    modules = ("label.exe", "VCRUNTIME140D.dll", "ucrtbased.dll")
    without = diagnose(loaded(*modules, exit=died, threads=stack), knowledge, version="test")
    beside = diagnose(loaded(*modules, "tensorflow_cc.dll", exit=died, threads=stack), knowledge, version="test")
    assert "native.custom-op-abi" not in [one.cause for one in without.diagnoses]
    assert "native.custom-op-abi" in [one.cause for one in beside.diagnoses]


def test_the_same_frames_are_told_about_tensorflow_only_where_it_may_have_been(knowledge: Knowledge) -> None:
    segfault = ExitStatus(code=139, signal="SIGSEGV", signal_number=11, name="SIGSEGV", kind="signal")
    stack = (crashed_thread(native=("tensorflow::grappler::ConstantFolding::Optimize",)),)
    own = loaded("python3", "libtensorflow_cc.so.2", exit=segfault, threads=stack)
    (process,) = own.processes
    others = own._replace(processes=(process._replace(program=Program("python", "pytorch", _by_loaded())),))
    assert "native.tf-bug" in [one.cause for one in diagnose(own, knowledge, version="test").diagnoses]
    assert "native.tf-bug" not in [one.cause for one in diagnose(others, knowledge, version="test").diagnoses]


def _by_loaded() -> tuple[ProgramReason, ...]:
    found = program_of_libraries(["python3", "libtorch_cpu.so"], (), None, complete=True)
    return found.because if found else ()


def test_a_framework_of_which_nothing_is_seen_is_never_likelier_than_half(knowledge: Knowledge) -> None:
    report = analyzed(
        "==7==ERROR: AddressSanitizer: heap-buffer-overflow\n    #0 0x4f in a::b() /src/a.cc:3:1", knowledge
    )
    framework = [one for one in report.diagnoses if knowledge.signatures[one.signature].framework == "tensorflow"]
    assert all(one.confidence < 0.5 for one in framework)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("c++: fatal error: Killed signal terminated program cc1plus", "compiler"),
        ("LOG:  server process (PID 123) was terminated by signal 9: Killed", "database"),
    ],
)
def test_it_says_who_was_killed_where_the_text_does(knowledge: Knowledge, line: str, words: str) -> None:
    report = analyzed(line, knowledge)
    assert first_of(report)[0] == "host.out-of-memory"
    assert words in report.diagnoses[0].title


def test_an_installed_tensorflow_is_named_only_where_it_was_in_the_process(knowledge: Knowledge) -> None:
    segfault = ExitStatus(code=139, signal="SIGSEGV", signal_number=11, name="SIGSEGV", kind="signal")
    packages = (("tensorflow", "2.21.0"), ("keras", "3.9.0"), ("numpy", "2.1.0"))
    for libraries, named in ((("python3", "libtensorflow_cc.so.2"), True), (("python3", "libm.so.6"), False)):
        crash = loaded(*libraries, exit=segfault)
        crash = crash._replace(environment=crash.environment._replace(packages=packages))
        said = text.render(diagnose(crash, knowledge, version="test"))
        assert ("TensorFlow 2.21.0" in said, "keras 3.9.0" in said) == (named, named)
        assert "numpy 2.1.0" in said
