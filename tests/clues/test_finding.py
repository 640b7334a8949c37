"""Looking for clues: each kind is seen, absent although it could be seen, or of a kind that the inputs do not hold."""

from __future__ import annotations

from typing import Any

import pytest
from building import clue, crash_of, crashed_thread, exit_status

from triage.clues.facts import Facts
from triage.clues.findings import Absent, Finding, Hit, Unseen
from triage.crash import (
    Crash,
    Environment,
    Fault,
    Imports,
    Input,
    Library,
    Log,
    Memory,
    Place,
    Process,
    PythonException,
    PythonFrame,
    Resources,
    RuntimeMessage,
    Thread,
)
from triage.status import with_subcode

OOM = PythonException(
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError",
    "OOM when allocating tensor with shape[8192,128]\nand more",
    frames=(PythonFrame("C:\\work\\train.py", 6, "<module>"),),
    place=Place(0, 3),
    offset=40,
)


def find(crash: Crash, written: dict[str, Any]) -> Finding:
    """What a clue, as YAML writes it, finds among the facts of a crash."""
    return Facts(crash).find(clue(written).sought)


def hit(crash: Crash, written: dict[str, Any]) -> Hit:
    found = find(crash, written)
    assert isinstance(found, Hit)
    return found


def is_absent(crash: Crash, written: dict[str, Any]) -> bool:
    return isinstance(find(crash, written), Absent)


def is_unseen(crash: Crash, written: dict[str, Any]) -> bool:
    return isinstance(find(crash, written), Unseen)


# log


def test_a_log_line_is_seen_with_its_place_its_words_and_its_named_values() -> None:
    found = hit(crash_of("starting", "step 7 of 9 failed"), {"log": r"step (?P<step>\d+) of \d+ (?P<other>\w+ed)?"})
    assert found.place == Place(0, 2)
    assert found.quote == "step 7 of 9 failed"
    assert found.values == {"step": "7", "other": "failed"}


def test_a_group_that_took_no_part_gives_no_value() -> None:
    assert hit(crash_of("step 7"), {"log": r"step (?P<step>\d+)(?P<rest> of \d+)?"}).values == {"step": "7"}


def test_the_first_of_several_lines_is_the_evidence() -> None:
    assert hit(crash_of("no", "step 1", "step 2"), {"log": r"step \d"}).place == Place(0, 2)


def test_a_line_keeps_the_number_it_had_in_the_original() -> None:
    crash = Crash(inputs=(Input(0, "log", "a"),), logs=(Log(0, ["first", "the fault"], [10, 4711]),))
    assert hit(crash, {"log": "the fault"}).place == Place(0, 4711)


def test_a_line_in_the_second_input_is_seen_there() -> None:
    inputs = (Input(0, "log", "a"), Input(1, "log", "b"))
    crash = Crash(inputs=inputs, logs=(Log(0, ["nothing"]), Log(1, ["nothing", "the fault"])))
    assert hit(crash, {"log": "the fault"}).place == Place(1, 2)


def test_a_pattern_stays_within_its_line_and_its_ends_are_line_ends() -> None:
    crash = crash_of("first half", "second half")
    assert is_absent(crash, {"log": "first.*second"})
    assert hit(crash, {"log": "^second half$"}).place == Place(0, 2)


def test_a_line_is_absent_from_a_log_that_does_not_have_it() -> None:
    assert is_absent(crash_of("all is well"), {"log": "the fault"})


@pytest.mark.parametrize("lines", [(), ("", "   ")], ids=["no log", "blank log"])
def test_without_a_log_a_line_is_unseen(lines: tuple[str, ...]) -> None:
    assert is_unseen(crash_of(*lines, exit="139"), {"log": "the fault"})


def test_a_log_of_which_a_part_was_not_read_says_nothing_by_its_silence() -> None:
    assert is_unseen(crash_of("all is well", complete=False), {"log": "the fault"})


# exception


def test_an_exception_is_seen_by_its_type() -> None:
    found = hit(crash_of("x", exceptions=(OOM,)), {"exception": "ResourceExhaustedError$"})
    assert found.place == Place(0, 3)
    assert found.quote == "ResourceExhaustedError: OOM when allocating tensor with shape[8192,128]"


def test_an_exception_is_seen_by_its_message_with_named_values() -> None:
    written = {"exception": {"type": "Exhausted", "message": r"shape\[(?P<shape>[\d,]+)\]"}}
    assert hit(crash_of("x", exceptions=(OOM,)), written).values == {"shape": "8192,128"}


@pytest.mark.parametrize(
    "written", [{"type": "KeyError"}, {"message": "no such file"}, {"type": "Exhausted", "message": "no such file"}]
)
def test_another_exception_is_not_the_one_sought(written: dict[str, str]) -> None:
    assert is_absent(crash_of("x", exceptions=(OOM,)), {"exception": written})


def test_an_exception_is_absent_from_a_log_without_one() -> None:
    assert is_absent(crash_of("all is well"), {"exception": "MemoryError"})


def test_an_exception_may_be_in_the_part_of_a_log_that_was_not_read() -> None:
    assert is_unseen(crash_of("all is well", complete=False), {"exception": "MemoryError"})


def test_without_a_log_an_exception_is_unseen() -> None:
    assert is_unseen(crash_of(exit="1"), {"exception": "MemoryError"})


# exit


@pytest.mark.parametrize(
    ("ended", "sought"),
    [
        ("139", "SIGSEGV"),
        ("-11", "SIGSEGV"),
        ("-1073740791", "0xC0000409"),
        ("3221226505", "0xC0000409"),
        ("1", "exit 1"),
        ("134", ["SIGSEGV", "SIGABRT"]),
    ],
)
def test_an_exit_status_is_seen_however_it_was_written(ended: str, sought: Any) -> None:
    assert "ended with" in hit(crash_of(exit=ended), {"exit": sought}).quote


def test_another_exit_status_is_absent() -> None:
    assert is_absent(crash_of(exit="139"), {"exit": ["SIGABRT", "exit 1"]})


def test_an_unknown_exit_status_is_unseen() -> None:
    assert is_unseen(crash_of("all is well"), {"exit": "SIGSEGV"})


def test_a_hang_that_a_person_tells_of_counts_where_no_status_is_known() -> None:
    told = (RuntimeMessage("hang", "it gets stuck in predict()", Place(0, 1)),)
    assert hit(crash_of("it gets stuck in predict()", messages=told), {"exit": "timeout"}).place == Place(0, 1)
    assert is_unseen(crash_of("it gets stuck in predict()", messages=told), {"exit": "SIGSEGV"})
    assert is_absent(crash_of("it gets stuck in predict()", exit="139", messages=told), {"exit": "timeout"})


def fast_fail(subcode: int | None) -> Crash:
    status = exit_status("0xC0000409")
    return Crash(processes=(Process(exit=status if subcode is None else with_subcode(status, subcode)),))


def test_a_fast_fail_is_distinguished_by_its_subcode() -> None:
    wanted = {"exit": {"status": "0xC0000409", "subcode": 7}}
    assert isinstance(find(fast_fail(7), wanted), Hit)
    assert is_absent(fast_fail(2), wanted)
    assert is_unseen(fast_fail(None), wanted)


def test_an_abort_is_a_fast_fail_with_its_subcode_or_an_unknown_one() -> None:
    wanted = {"exit": {"status": "0xC0000409", "subcode": [7, "untold"]}}
    assert isinstance(find(fast_fail(7), wanted), Hit)
    assert isinstance(find(fast_fail(None), wanted), Hit)
    assert is_absent(fast_fail(2), wanted)


def test_a_clue_without_subcode_takes_any() -> None:
    assert isinstance(find(fast_fail(2), {"exit": "0xC0000409"}), Hit)


# native


def test_a_native_frame_is_seen_by_function_and_module() -> None:
    crash = crash_of(threads=(crashed_thread(native=("raise", "tensorflow::MklConvOp::Compute")),))
    found = hit(crash, {"native": {"function": r"Mkl\w+Op", "module": "tensorflow_cc"}})
    assert found.quote == "native frame tensorflow::MklConvOp::Compute"
    assert is_absent(crash, {"native": {"function": r"Mkl\w+Op", "module": "libcudnn"}})


def test_a_native_frame_counts_only_as_deep_as_the_clue_looks() -> None:
    crash = crash_of(threads=(crashed_thread(native=("raise", "abort", "MklConvOp")),))
    assert is_absent(crash, {"native": {"function": "MklConvOp", "within": 2}})
    assert isinstance(find(crash, {"native": {"function": "MklConvOp", "within": 3}}), Hit)


def test_frames_of_threads_that_did_not_crash_do_not_count() -> None:
    idle = crashed_thread(native=("MklConvOp",), crashed=False)
    assert is_unseen(crash_of(threads=(idle,)), {"native": "MklConvOp"})
    assert is_absent(crash_of(threads=(idle, crashed_thread(native=("raise",)))), {"native": "MklConvOp"})


def test_without_a_native_stack_a_native_frame_is_unseen() -> None:
    assert is_unseen(crash_of("x", threads=(crashed_thread(python=("train.py:main",)),)), {"native": "MklConvOp"})


# python


def test_a_python_frame_of_the_crashed_thread_is_seen() -> None:
    crash = crash_of(threads=(crashed_thread(python=("/lib/ctypes/__init__.py:string_at", "train.py:main")),))
    found = hit(crash, {"python": {"file": r"ctypes/__init__\.py", "function": "string_at", "within": 1}})
    assert found.quote == "Python frame /lib/ctypes/__init__.py:1 in string_at"
    assert is_absent(crash, {"python": {"file": r"train\.py", "within": 1}})


def test_a_python_frame_of_an_exception_is_seen_and_windows_paths_read_like_others() -> None:
    assert hit(crash_of("x", exceptions=(OOM,)), {"python": {"file": r"work/train\.py$"}}).place == Place(0, 3)


def test_file_and_function_must_be_of_the_same_frame() -> None:
    crash = crash_of(threads=(crashed_thread(python=("a.py:load", "b.py:main")),))
    assert is_absent(crash, {"python": {"file": r"a\.py", "function": "main"}})


def test_without_a_python_stack_a_python_frame_is_unseen() -> None:
    bare = PythonException("ValueError", "no frames were pasted")
    crash = crash_of("x", exceptions=(bare,), threads=(crashed_thread(native=("raise",)),))
    assert is_unseen(crash, {"python": {"file": "ctypes"}})


def test_the_stack_of_a_thread_that_did_not_crash_is_no_python_stack() -> None:
    idle = Thread(python_stack=(PythonFrame("ctypes.py", 1, "f"),))
    assert is_unseen(crash_of(threads=(idle,)), {"python": {"file": "ctypes"}})


# module


def libraries(*names: str, complete: bool = False) -> Crash:
    """A crash with these libraries, each as NAME or NAME VERSION."""
    found = tuple(Library(*name.split(" ")) for name in names)
    return crash_of("x", environment=Environment(libraries=found, libraries_complete=complete))


def test_a_library_that_is_loaded_is_seen() -> None:
    assert hit(libraries("cudnn 8.4"), {"module": "^cudnn$"}).quote == "cudnn is loaded"


@pytest.mark.parametrize(("version", "kind"), [("8.4.1", Hit), ("8.1.0", Absent), ("9.0", Absent)])
def test_a_library_is_seen_only_in_the_range_of_versions_that_is_sought(version: str, kind: type) -> None:
    found = find(libraries(f"cudnn {version}"), {"module": {"present": "^cudnn$", "version": ">=8.3,<9"}})
    assert isinstance(found, kind)


def test_a_library_of_unknown_version_is_unseen_where_the_version_matters() -> None:
    assert is_unseen(libraries("cudnn"), {"module": {"present": "cudnn", "version": ">=8.3"}})


def test_one_library_in_the_range_is_enough() -> None:
    both = libraries("cudnn_ops 8.1", "cudnn_cnn 8.4")
    assert isinstance(find(both, {"module": {"present": "cudnn", "version": ">=8.3"}}), Hit)


def test_a_library_is_missing_only_from_a_list_that_is_complete() -> None:
    assert is_absent(libraries("cublas", complete=True), {"module": "cudnn"})
    assert is_unseen(libraries("cublas", complete=False), {"module": "cudnn"})


def test_the_absence_of_a_library_is_seen_only_where_the_list_is_complete() -> None:
    wanted = {"module": {"absent": "zlibwapi"}}
    assert isinstance(find(libraries("cudnn", complete=True), wanted), Hit)
    assert is_unseen(libraries("cudnn", complete=False), wanted)
    assert is_absent(libraries("zlibwapi.dll", complete=False), wanted)


# memory


@pytest.mark.parametrize(
    ("condition", "memory", "kind"),
    [
        ("oom_killed", Memory(oom_kills=1), Hit),
        ("oom_killed", Memory(oom_kills=0), Absent),
        ("oom_killed", Memory(peak_bytes=90, limit_bytes=100), Unseen),
        ("peak_below_half", Memory(peak_bytes=49, limit_bytes=100), Hit),
        ("peak_below_half", Memory(peak_bytes=50, limit_bytes=100), Absent),
        ("peak_below_half", Memory(peak_bytes=49), Unseen),
        ("peak_at_limit", Memory(peak_bytes=95, limit_bytes=100), Hit),
        ("peak_at_limit", Memory(peak_bytes=85, limit_bytes=100), Absent),
        ("peak_at_limit", Memory(limit_bytes=100), Unseen),
        ("peak_at_limit", Memory(peak_bytes=95, limit_bytes=0), Unseen),
        ("peak_below_limit", Memory(peak_bytes=79, limit_bytes=100), Hit),
        ("peak_below_limit", Memory(peak_bytes=80, limit_bytes=100), Absent),
        ("peak_below_limit", Memory(peak_bytes=80), Unseen),
        ("not_oom_killed", Memory(oom_kills=0), Hit),
        ("not_oom_killed", Memory(oom_kills=1), Absent),
        ("not_oom_killed", Memory(peak_bytes=1, limit_bytes=100), Unseen),
        ("address_space_limited", Memory(limit_bytes=100, limit_source="RLIMIT_AS"), Hit),
        ("address_space_limited", Memory(limit_bytes=100, limit_source="the machine's memory"), Absent),
        ("address_space_limited", Memory(limit_bytes=100), Unseen),
    ],
)
def test_memory_conditions_hold_fail_or_are_unknown(condition: str, memory: Memory, kind: type) -> None:
    assert isinstance(find(crash_of("x", memory=memory), {"memory": condition}), kind)


def test_the_share_of_memory_is_said_in_words() -> None:
    crash = crash_of("x", memory=Memory(peak_bytes=95, limit_bytes=100))
    assert hit(crash, {"memory": "peak_at_limit"}).quote == "peak memory was 95% of the limit"
    assert hit(crash, {"memory": "peak_at_limit"}).values["peak"] == "95 bytes"


def test_a_limit_on_address_space_is_said_with_its_size() -> None:
    crash = crash_of("x", memory=Memory(limit_bytes=400 << 20, limit_source="RLIMIT_AS"))
    found = hit(crash, {"memory": "address_space_limited"})
    assert found.quote == "the address space is limited to 400.0 MiB (RLIMIT_AS, ulimit -v)"
    assert found.values == {"address_space": "400.0 MiB"}


@pytest.mark.parametrize(
    ("condition", "resources", "kind"),
    [
        ("shm_full", Resources(shm_bytes=64 << 20, shm_free_bytes=3 << 20), Hit),
        ("shm_full", Resources(shm_bytes=64 << 20, shm_free_bytes=4 << 20), Absent),
        ("shm_full", Resources(shm_bytes=4 << 20, shm_free_bytes=1 << 19), Hit),
        ("shm_full", Resources(shm_bytes=64 << 20), Unseen),
        ("threads_at_limit", Resources(threads=95, thread_limit=100), Hit),
        ("threads_at_limit", Resources(threads=94, thread_limit=100), Absent),
        ("threads_at_limit", Resources(thread_limit=100), Unseen),
        ("threads_at_limit", Resources(threads=94), Unseen),
        ("threads_below_limit", Resources(threads=49, thread_limit=100), Hit),
        ("threads_below_limit", Resources(threads=50, thread_limit=100), Absent),
        ("threads_below_limit", Resources(thread_limit=100), Unseen),
    ],
)
def test_what_else_runs_out_is_a_condition_too(condition: str, resources: Resources, kind: type) -> None:
    assert isinstance(find(crash_of("x", resources=resources), {"memory": condition}), kind)


def test_what_ran_out_is_said_with_its_numbers() -> None:
    crash = crash_of("x", resources=Resources(99, 100, "pids.max", 64 << 20, 4096))
    assert hit(crash, {"memory": "shm_full"}).quote == "shared memory had 4.0 KiB of 64.0 MiB left"
    assert hit(crash, {"memory": "threads_at_limit"}).quote == "99 of 100 threads were in use (pids.max)"
    assert hit(crash, {"memory": "threads_at_limit"}).values == {"threads": "99", "thread_limit": "100"}


# fault

STACK = 0x7FFC_0000_0000
MIB = 1 << 20


def faulted(fault: Fault | None, **facts: Any) -> Crash:
    crash = crash_of("x", exit="SIGSEGV", **facts)
    return crash._replace(processes=(crash.processes[0]._replace(fault=fault),))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (0x0, {"null", "any"}),
        (0xFFFF, {"null", "any"}),
        (0x10000, {"near-null", "any"}),
        (0x7F00_0000_1000, {"any"}),
        (STACK - 8, {"stack-guard", "any"}),
        (STACK + 0x8000, {"stack-guard", "any"}),
        (STACK - 0x2000, {"any"}),
        (0xDEAD_BEEF_DEAD_BEEF, {"noncanonical", "any"}),
        (0xFFFF_FFFF_FFFF_FFF8, {"any"}),
    ],
)
def test_a_faults_address_is_of_a_kind(address: int, words: set[str]) -> None:
    crash = faulted(Fault(address=address, registers=(("rsp", STACK),)))
    kinds = ("null", "near-null", "noncanonical", "stack-guard", "any")
    assert {kind for kind in kinds if isinstance(find(crash, {"fault": {"address": kind}}), Hit)} == words
    assert hit(crash, {"fault": {"address": "any"}}).quote == f"the fault was at address 0x{address:x}"


def test_another_processor_has_more_addresses() -> None:
    crash = faulted(Fault(address=0xFFFF_0000_0000, registers=(("x0", 1), ("sp", STACK))))
    assert is_absent(crash, {"fault": {"address": "noncanonical"}})


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ({"access": "write"}, Hit),
        ({"access": "read"}, Absent),
        ({"instruction": "movaps|vmovaps"}, Hit),
        ({"instruction": "^div"}, Absent),
        ({"access": "write", "instruction": "vmovaps", "address": "null"}, Hit),
        ({"access": "write", "instruction": "^div"}, Absent),
        ({"access": "write", "stack_full": True}, Unseen),
        ({"needs_missing_flag": True}, Unseen),
    ],
)
def test_every_field_of_a_fault_must_hold(written: dict[str, Any], kind: type) -> None:
    crash = faulted(Fault(address=8, access="write", instruction="vmovaps %ymm0,(%rax)"))
    assert isinstance(find(crash, {"fault": written}), kind)
    assert is_unseen(faulted(None), {"fault": written})
    assert is_unseen(faulted(Fault()), {"fault": written})
    assert is_unseen(crash_of("x"), {"fault": written})


@pytest.mark.parametrize(
    ("instruction", "flags", "is_missing"),
    [
        ("vpaddd %ymm0,%ymm1,%ymm2", ("sse2", "avx"), True),
        ("vpaddd %ymm0,%ymm1,%ymm2", ("sse2", "avx", "avx2"), False),
        ("ud2", ("sse2",), False),
    ],
)
def test_an_instruction_is_compared_with_what_the_processor_lists(
    instruction: str, flags: tuple[str, ...], is_missing: bool
) -> None:
    crash = faulted(Fault(instruction=instruction), environment=Environment(cpu_flags=flags))
    assert isinstance(find(crash, {"fault": {"needs_missing_flag": is_missing}}), Hit)
    assert is_absent(crash, {"fault": {"needs_missing_flag": not is_missing}})


def test_the_missing_feature_is_named() -> None:
    crash = faulted(Fault(instruction="vfmadd231ps %ymm0,%ymm1,%ymm2"), environment=Environment(cpu_flags=("sse2",)))
    found = hit(crash, {"fault": {"needs_missing_flag": True}})
    assert found.quote == "'vfmadd231ps %ymm0,%ymm1,%ymm2' needs fma, which the processor does not list"
    assert found.values["flag"] == "fma"


@pytest.mark.parametrize(
    ("fault", "full", "not_full"),
    [
        (Fault(stack_used_bytes=8 * MIB, stack_limit_bytes=8 * MIB), Hit, Absent),
        (Fault(stack_used_bytes=7 * MIB, stack_limit_bytes=8 * MIB), Absent, Absent),
        (Fault(stack_used_bytes=MIB, stack_limit_bytes=8 * MIB), Absent, Hit),
        (Fault(address=STACK - 8, registers=(("rsp", STACK),)), Hit, Absent),
        (Fault(address=0, registers=(("rsp", STACK),)), Absent, Unseen),
        (Fault(address=0), Unseen, Unseen),
        # Code on the stack is refused where the stack is, and the stack need not be full for that.
        (Fault(address=STACK + 64, access="execute", registers=(("rsp", STACK),)), Absent, Unseen),
    ],
)
def test_a_stack_is_full_or_far_from_it_or_neither(fault: Fault, full: type, not_full: type) -> None:
    assert isinstance(find(faulted(fault), {"fault": {"stack_full": True}}), full)
    assert isinstance(find(faulted(fault), {"fault": {"stack_full": False}}), not_full)


def test_a_full_stack_is_said_with_its_numbers() -> None:
    crash = faulted(Fault(stack_used_bytes=8 * MIB, stack_limit_bytes=8 * MIB))
    assert hit(crash, {"fault": {"stack_full": True}}).quote == "8.0 MiB of 8.0 MiB of the stack were in use"


def test_an_unknown_fault_does_not_hide_that_the_log_is_silent() -> None:
    assert is_absent(crash_of("x"), {"any": [{"log": "overflow"}, {"fault": {"stack_full": True}}]})


# environment

MACHINE = Environment(
    os="windows", python="3.11.7", packages=(("numpy", "1.26.4"),), cpu_flags=("sse4_2", "avx2"), gpus=("RTX 3090",)
)


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ({"os": "windows"}, Hit),
        ({"os": ["linux", "windows"]}, Hit),
        ({"os": "linux"}, Absent),
        ({"python": ">=3.11"}, Hit),
        ({"python": ">=3.12"}, Absent),
        ({"package": {"numpy": "<2"}}, Hit),
        ({"package": {"numpy": ">=2"}}, Absent),
        ({"package": {"keras": ">=3"}}, Unseen),
        ({"lacks_cpu_flag": "avx"}, Hit),
        ({"lacks_cpu_flag": "avx2"}, Absent),
        ({"gpu": "RTX 30"}, Hit),
        ({"gpu": "A100"}, Absent),
        ({"os": "windows", "python": ">=3.11"}, Hit),
        ({"os": "windows", "python": ">=3.12"}, Absent),
        ({"os": "windows", "package": {"keras": ">=3"}}, Unseen),
        ({"os": "linux", "package": {"keras": ">=3"}}, Absent),
    ],
    ids=str,
)
def test_facts_of_the_machine_must_all_hold(written: dict[str, Any], kind: type) -> None:
    assert isinstance(find(crash_of("x", environment=MACHINE), {"environment": written}), kind)


@pytest.mark.parametrize(
    "written", [{"os": "linux"}, {"python": ">=3"}, {"lacks_cpu_flag": "avx"}, {"gpu": "RTX"}], ids=str
)
def test_what_is_unknown_of_the_machine_is_unseen(written: dict[str, Any]) -> None:
    assert is_unseen(crash_of("x"), {"environment": written})


# any


def test_any_wording_will_do() -> None:
    wordings = {"any": [{"log": "not this"}, {"log": "but this"}]}
    assert hit(crash_of("well", "but this"), wordings).place == Place(0, 2)


def test_the_earliest_wording_is_the_evidence_and_all_of_them_give_values() -> None:
    wordings = {"any": [{"log": r"size (?P<size>\d+)"}, {"log": r"batch (?P<batch>\d+)"}]}
    found = hit(crash_of("batch 32", "size 64"), wordings)
    assert found.place == Place(0, 1)
    assert found.values == {"batch": "32", "size": "64"}


def test_of_two_values_of_one_name_that_of_the_evidence_counts() -> None:
    wordings = {"any": [{"log": r"late (?P<n>\d+)"}, {"log": r"early (?P<n>\d+)"}]}
    assert hit(crash_of("early 1", "late 2"), wordings).values == {"n": "1"}


def test_no_wording_among_those_that_could_be_seen_is_absent() -> None:
    assert is_absent(crash_of("well"), {"any": [{"log": "not this"}, {"log": "nor this"}]})


def test_wordings_of_which_none_could_be_seen_are_unseen() -> None:
    assert is_unseen(crash_of(exit="139"), {"any": [{"log": "not this"}, {"native": "nor this"}]})


# sequence


def in_order(*words: str) -> dict[str, Any]:
    return {"sequence": [{"log": word} for word in words]}


def test_lines_in_their_order_are_seen_at_the_last_of_them() -> None:
    found = hit(crash_of("loaded 8401", "other", "failed 126"), {"sequence": [
        {"log": r"loaded (?P<version>\d+)"}, {"log": r"failed (?P<error>\d+)"},
    ]})  # fmt: skip
    assert found.place == Place(0, 3)
    assert found.values == {"version": "8401", "error": "126"}


def test_lines_in_the_other_order_are_absent() -> None:
    assert is_absent(crash_of("failed", "loaded"), in_order("loaded", "failed"))


def test_a_later_repetition_can_complete_the_order() -> None:
    assert hit(crash_of("failed", "loaded", "failed"), in_order("loaded", "failed")).place == Place(0, 3)


def test_one_line_cannot_be_both() -> None:
    assert is_absent(crash_of("loaded"), in_order("loaded", "loaded"))


def test_the_order_runs_from_one_input_into_the_next() -> None:
    inputs = (Input(0, "log", "a"), Input(1, "log", "b"))
    crash = Crash(inputs=inputs, logs=(Log(0, ["loaded"]), Log(1, ["failed"])))
    assert isinstance(find(crash, in_order("loaded", "failed")), Hit)
    assert is_absent(crash, in_order("failed", "loaded"))


def test_an_exception_has_its_place_in_the_order() -> None:
    crash = crash_of("before it, a line that is long enough", "x", "after", exceptions=(OOM,))
    assert isinstance(find(crash, {"sequence": [{"log": "before it"}, {"exception": "Exhausted"}]}), Hit)
    assert is_absent(crash, {"sequence": [{"log": "after"}, {"exception": "Exhausted"}]})


def test_the_exit_comes_after_everything() -> None:
    crash = crash_of("loaded", exit="139")
    assert isinstance(find(crash, {"sequence": [{"log": "loaded"}, {"exit": "SIGSEGV"}]}), Hit)
    assert is_absent(crash, {"sequence": [{"exit": "SIGSEGV"}, {"log": "loaded"}]})


def test_an_order_of_lines_without_a_log_is_unseen() -> None:
    assert is_unseen(crash_of(exit="139"), in_order("loaded", "failed"))


# what the index has worked out


def test_literals_of_the_index_change_nothing_but_the_work() -> None:
    crash = crash_of("well", "step 7 failed")
    written = clue({"log": r"step \d failed"})
    assert Facts(crash, {r"step \d failed": ("step ",)}).find(written.sought) == Facts(crash).find(written.sought)


# imports

GROUPS = ["tensorflow keras", "torch torchvision", "cv2"]


def importing(*modules: str, ends_there: bool = True) -> Crash:
    return crash_of("a line", exit="139", imports=(Imports(modules, ends_there, Place(0, 1)),))


def test_packages_of_one_group_count_as_one() -> None:
    seen = hit(importing("torch", "keras"), {"imports": {"packages": GROUPS, "several": True}})
    assert dict(seen.values) == {"first": "torch", "second": "keras"}
    assert is_absent(importing("torch", "torchvision"), {"imports": {"packages": GROUPS, "several": True}})
    assert hit(importing("torch", "torchvision"), {"imports": {"packages": GROUPS, "several": False}})


def test_whether_the_program_went_on_after_its_imports() -> None:
    last = {"imports": {"packages": GROUPS, "last": True}}
    assert hit(importing("json", "cv2", "mine"), last)
    assert is_absent(importing("cv2", ends_there=False), last)
    assert hit(importing("cv2", ends_there=False), {"imports": {"packages": GROUPS, "last": False}})


def test_a_text_without_source_does_not_show_what_is_imported() -> None:
    assert is_unseen(crash_of("a line", exit="139"), {"imports": {"packages": GROUPS}})


def test_any_package_is_one_that_is_not_of_the_standard_library() -> None:
    anything = {"imports": {"packages": "any", "several": True}}
    assert hit(importing("os", "fastproj", "rtree"), anything).values == {}
    assert is_absent(importing("os", "json", "rtree"), anything)
