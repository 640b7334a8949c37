"""What a minidump says about a crash: which thread died of what, where, with which libraries, and what is missing."""

from __future__ import annotations

import gzip
import json
import logging
import struct
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import jsonschema
import minidumps
import pytest
from building import sentences
from minidumps import CUDNN, KERNELBASE, NTDLL, PYTHON, TENSORFLOW, DumpBuilder, tensorflow_dump

import triage
from triage.crash import Crash, Process
from triage.readers import Source, Unreadable, of_one_process, read
from triage.reports import json_report, text

ACCESS_VIOLATION = 0xC0000005


def crash_in(dump: DumpBuilder | bytes, **options: Any) -> Crash:
    """The facts that are read from a dump."""
    return read(Source.of(dump if isinstance(dump, bytes) else dump.build()), 0, **options)


def process_in(dump: DumpBuilder) -> Process:
    return crash_in(dump).processes[0]


# ---------------------------------------------------------------- how it died


def test_a_fast_fail_is_known_by_its_subcode_and_not_by_its_name() -> None:
    status = process_in(tensorflow_dump(0xC0000409, (7,))).exit
    assert status is not None
    assert (status.ntstatus, status.subcode, status.subcode_name) == (0xC0000409, 7, "FAST_FAIL_FATAL_APP_EXIT")
    assert "abort" in status.meaning and "no overrun" in status.meaning


@pytest.mark.parametrize(
    ("parameters", "access", "address", "says"),
    [
        ((0, 0x10), "read", 0x10, "null pointer"),
        ((1, 0), "write", 0, "null pointer"),
        ((8, 0), "execute", 0, "a null pointer was called"),
        ((0, (1 << 64) - 1), "read", (1 << 64) - 1, "non-canonical"),
        ((1, 0x4141414141414141), "write", 0x4141414141414141, "overwritten"),
        ((8, 0x10F200), "execute", 0x10F200, "DEP"),
        ((1, 0x10EFF8), "write", 0x10EFF8, "the stack is used up"),
    ],
)
def test_an_access_violation_says_what_kind_of_address_it_is(
    parameters: Sequence[int], access: str, address: int, says: str
) -> None:
    fault = process_in(tensorflow_dump(ACCESS_VIOLATION, parameters)).fault
    assert fault is not None
    assert (fault.access, fault.address, fault.parameters) == (access, address, tuple(parameters))
    assert says in (fault.says or "")


@pytest.mark.parametrize(
    ("state", "protection", "parameters", "says"),
    [
        (minidumps.FREE, 0, (0, 0x500010), "not there, or had been given back"),
        (minidumps.RESERVE, 0, (0, 0x500010), "never made usable"),
        (minidumps.COMMIT, 0x104, (1, 0x500010), "guard page"),
        (minidumps.COMMIT, 0x01, (0, 0x500010), "closed to any access"),
        (minidumps.COMMIT, 0x04, (8, 0x500010), "data, which may not be run as code (DEP)"),
    ],
)
def test_the_memory_map_says_what_was_at_the_address(
    state: int, protection: int, parameters: Sequence[int], says: str
) -> None:
    fault = process_in(tensorflow_dump(ACCESS_VIOLATION, parameters).region(0x500000, 0x1000, state, protection)).fault
    assert fault is not None and says in (fault.says or "")


def test_a_stack_overflow_used_all_of_its_stack() -> None:
    fault = process_in(tensorflow_dump(0xC00000FD, (1, 0x10E000))).fault
    assert fault is not None and fault.says == "the stack is used up"
    assert fault.stack_used_bytes == fault.stack_limit_bytes == 0x1000


def test_the_use_of_a_stack_is_read_from_the_thread_block() -> None:
    block = bytearray(0x1480)
    struct.pack_into("<Q", block, 8, 0x110000)
    struct.pack_into("<Q", block, 0x1478, 0x10000)
    dump = (
        DumpBuilder()
        .thread(1, {"rip": 1, "rsp": 0x10F000}, teb=0x700000)
        .exception(ACCESS_VIOLATION, 1, (0, 0))
        .memory(0x700000, bytes(block))
    )
    fault = process_in(dump).fault
    assert fault is not None
    assert (fault.stack_used_bytes, fault.stack_limit_bytes) == (0x1000, 0x100000)


@pytest.mark.parametrize(
    ("code", "instruction", "says"),
    [
        (b"\x0f\x0b", "ud2", "must never come"),
        (b"\xc5\xfd\x6f\x07", None, "AVX, AVX2 and FMA are (bytes c5 fd 6f 07"),
        (b"\x62\xf1\x7c\x48", None, "AVX-512"),
        (b"\xf3\x0f\xb8\xc0", None, "begins with the bytes f3 0f b8 c0"),
    ],
)
def test_an_instruction_that_the_processor_lacks_shows_its_extension(
    code: bytes, instruction: str | None, says: str
) -> None:
    fault = process_in(tensorflow_dump(0xC000001D, ()).memory(CUDNN + 0x1234, code + bytes(12))).fault
    assert fault is not None
    assert fault.instruction == instruction and says in (fault.says or "")


@pytest.mark.parametrize(("code", "signal"), [(6, "SIGABRT"), (8, "SIGFPE"), (11, "SIGSEGV")])
def test_on_linux_the_code_is_a_signal(code: int, signal: str) -> None:
    dump = DumpBuilder(platform=minidumps.LINUX).thread(1, {"rip": 0x1000}).exception(code, 0x45)
    crash = crash_in(dump)
    assert crash.exit is not None and crash.exit.signal == signal
    assert crash.environment.os == "linux"
    assert crash.processes[0].fault is not None
    assert crash.processes[0].fault.address == (0x45 if signal == "SIGSEGV" else None)


@pytest.mark.parametrize(
    ("code", "flags", "parameters", "signal"),
    [
        (1, 1, (), "SIGSEGV"),
        (1, 2, (), "SIGBUS"),
        (2, 1, (), "SIGILL"),
        (5, 0x10003, (5, 0x10003, 6), "SIGABRT"),
        (10, 4 << 24, (), "SIGILL"),
    ],
)
def test_on_macos_the_code_is_an_exception_of_mach(
    code: int, flags: int, parameters: Sequence[int], signal: str
) -> None:
    dump = DumpBuilder(platform=minidumps.MACOS).thread(1, {"rip": 1}).exception(code, 0, parameters, flags=flags)
    crash = crash_in(dump)
    assert crash.exit is not None and crash.exit.signal == signal
    assert crash.environment.os == "macos"


def test_a_dump_without_an_exception_is_of_no_crash() -> None:
    dump = DumpBuilder().module("python.exe", PYTHON).thread(1, {"rip": PYTHON + 5})
    report = triage.analyze(dump.build())
    assert report.verdict == "unknown"
    assert report.summary.startswith("The dump holds no exception")
    assert any("taken by hand, or because the program hung" in text for text in report.not_observable)
    assert not any(thread.crashed for thread in report.crash.threads)


def test_a_dump_that_the_program_asked_for_is_of_no_crash() -> None:
    crash = crash_in(DumpBuilder().thread(1, {"rip": 5}).exception(0x0517A7ED, 5))
    assert crash.exit is None
    assert any("asked for by the program itself" in text for text in sentences(crash.gaps))


# ---------------------------------------------------------------- where


def test_the_registers_of_the_exception_beat_those_of_its_thread() -> None:
    later = {"rip": NTDLL + 0x100, "rsp": 0x10F000}
    dump = (
        DumpBuilder()
        .module("ntdll.dll", NTDLL)
        .module(r"C:\mine\op.dll", CUDNN)
        .thread(1, later)
        .exception(ACCESS_VIOLATION, CUDNN + 0x10, (0, 0), registers={"rip": CUDNN + 0x10, "rsp": 0x10F800})
    )
    process = process_in(dump)
    (frame,) = process.threads[0].native_stack
    assert (frame.module, frame.offset, frame.trust, frame.own) == ("op.dll", 0x10, "context", True)
    assert process.faulting_module == "op.dll"
    assert process.dump is not None
    assert any("stood in ntdll.dll when the dump was written" in text for text in process.dump.contradictions)


def test_the_crashed_thread_comes_first_with_its_name() -> None:
    threads = process_in(tensorflow_dump()).threads
    assert [(thread.id, thread.name, thread.crashed) for thread in threads] == [
        (1, "MainThread", True),
        (7, "worker", False),
    ]


@pytest.mark.parametrize("base", [NTDLL, KERNELBASE])
def test_a_lone_frame_in_the_systems_machinery_blames_nobody(base: int) -> None:
    crash = crash_in(tensorflow_dump(0xE06D7363, (0x19930520,), pc=base + 0x100))
    assert crash.processes[0].faulting_module is None
    assert any(text.startswith("faulting module: ") for text in sentences(crash.gaps))


def test_arm64_and_x86_registers_are_read() -> None:
    arm = DumpBuilder("arm64").module("op.dll", 0x1000).thread(1, {}).exception(
        ACCESS_VIOLATION, 0x1010, (1, 0), registers={"pc": 0x1010, "sp": 0x900, "lr": 0x77, "x28": 3}
    )  # fmt: skip
    fault = process_in(arm).fault
    assert fault is not None
    assert {name: dict(fault.registers)[name] for name in ("pc", "sp", "lr", "x28")} == {
        "pc": 0x1010,
        "sp": 0x900,
        "lr": 0x77,
        "x28": 3,
    }
    x86 = DumpBuilder("x86").thread(1, {"eip": 0x401000, "esp": 0x12F000, "ebp": 0x12F010})
    process = process_in(x86.exception(ACCESS_VIOLATION, 0x401000, (0, 0xFFFFFFFF00000045)))
    assert process.fault is not None
    assert dict(process.fault.registers)["eip"] == 0x401000
    assert process.fault.address == 0x45
    assert process.dump is not None
    assert any("upper half was dropped" in text for text in process.dump.contradictions)


def test_the_library_that_a_delay_load_did_not_find_is_named() -> None:
    record = struct.pack("<I4xQQQI4xQQQI", 72, TENSORFLOW + 8, 0, 0x3000, 1, 0x3100, 0, 0, 126)
    dump = tensorflow_dump(0xC06D007E, (0x2000,), pc=KERNELBASE + 0x100)
    dump.memory(0x2000, record.ljust(128, b"\0")).memory(0x3000, b"cublas64_99.dll\0".ljust(0x100, b"\0"))
    fault = process_in(dump.memory(0x3100, b"cublasCreate\0".ljust(0x400, b"\0"))).fault
    assert fault is not None and fault.missing_library == "cublas64_99.dll"
    assert fault.says == (
        "could not load cublas64_99.dll, which _pywrap_tensorflow_internal.pyd needs for cublasCreate "
        "(Windows error 126)"
    )


def test_a_folder_of_dlls_that_is_not_there_is_reported() -> None:
    unread = sentences(crash_in(tensorflow_dump(), pe_directories=["/no/such/folder"]).gaps)
    assert any("/no/such/folder" in text for text in unread)


# ---------------------------------------------------------------- among what


def test_libraries_have_the_names_and_versions_that_signatures_ask_for() -> None:
    environment = crash_in(tensorflow_dump()).environment
    libraries = {library.name: library.version for library in environment.libraries}
    assert libraries["cudnn"] == "8.1.0.77"
    assert "_pywrap_tensorflow_internal.pyd" in libraries
    assert environment.libraries_complete
    assert environment.python == "3.11.9"
    assert environment.interpreter == r"C:\Users\First Last\venv\Scripts\python.exe"
    assert (environment.os, environment.architecture) == ("windows", "x64")
    assert environment.os_version == "10.0.19045 (19041.1.amd64fre.vb_release.191206-1406)"


def test_a_number_of_the_driver_is_not_taken_for_cudnns() -> None:
    dump = DumpBuilder().module("cudnn64_7.dll", CUDNN, version=(6, 14, 11, 10020))
    dump.module("cudart64_110.dll", NTDLL, version=(6, 14, 11, 11020))
    libraries = {library.name: library.version for library in crash_in(dump).environment.libraries}
    assert libraries == {"cudnn": None, "cudart64_110.dll": "11.2"}


@pytest.mark.parametrize("second", ["vcomp140.dll", "VCOMP140.DLL", "libomp140.x86_64.dll", "libomp.dll"])
def test_two_openmp_runtimes_are_reported(second: str) -> None:
    dump = DumpBuilder().module(r"C:\a\libiomp5md.dll", 0x10000).module(rf"C:\b\{second}", 0x90000)
    (found,) = crash_in(dump).environment.loaded_twice
    assert found.sentence == f"two OpenMP runtimes are loaded: libiomp5md.dll and {second}"


def test_what_is_not_loaded_is_known_not_to_be() -> None:
    """cuDNN 8.4 without zlibwapi.dll among the modules is what that signature looks for."""
    dump = tensorflow_dump(0xC0000409, (7,))
    dump = dump.module(r"C:\cuda\bin\cudnn_cnn_infer64_8.dll", CUDNN + 0x2000000, version=(8, 4, 0, 27))
    report = triage.analyze(dump.build())
    assert report.crash.environment.libraries_complete
    assert not any("zlibwapi" in library.name for library in report.crash.environment.libraries)


def test_memory_times_handles_and_comments_are_read() -> None:
    dump = tensorflow_dump().handle("File", r"\Device\x").handle("File").handle("Event").comment("by a nightly job")
    crash = crash_in(dump.unloaded("cublas64_11.dll", 0x7FF900000000))
    process = crash.processes[0]
    assert process.pid == 4711
    assert process.dump is not None
    assert process.dump.handles == (("File", 2), ("Event", 1))
    assert process.dump.comments == ("by a nightly job",)
    assert [library.name for library in process.dump.unloaded] == ["cublas64_11.dll"]
    assert (process.dump.started, process.dump.user_seconds, process.dump.kernel_seconds) == (1700000000, 12, 3)
    assert (crash.memory.peak_bytes, crash.memory.limit_bytes, crash.memory.machine_bytes) == (
        6 << 30,
        32 << 30,
        16 << 30,
    )


def test_copies_of_proc_files_are_read_from_the_dump_of_a_linux_process() -> None:
    dump = DumpBuilder(platform=minidumps.LINUX).thread(1, {"rip": 1}).exception(11)
    dump.streams[minidumps.COMMAND_LINE] = b"python3\0train.py\0"
    dump.streams[minidumps.PROC_STATUS] = b"Name:\tpython3\nPid:\t99\nVmHWM:\t  2048 kB\nThreads:\t12\n"
    dump.streams[minidumps.CPU_INFO] = b"processor\t: 0\nmodel name\t: A Processor\nflags\t\t: sse avx\n"
    dump.streams[minidumps.RELEASE] = b'PRETTY_NAME="Debian GNU/Linux 12"\n'
    crash = crash_in(dump)
    assert (crash.processes[0].command, crash.processes[0].pid) == ("python3 train.py", 99)
    assert (crash.memory.peak_bytes, crash.resources.threads) == (2048 * 1024, 12)
    assert crash.environment.cpu_flags == ("sse", "avx")
    assert "Debian GNU/Linux 12" in (crash.environment.os_version or "")


def test_a_failed_check_of_the_c_runtime_is_a_message() -> None:
    texts = b"".join(part.encode("utf-16-le").ljust(256, b"\0") for part in ("p != nullptr", "f", "op.cc"))
    dump = tensorflow_dump()
    dump.streams[minidumps.ASSERTION] = texts + struct.pack("<II", 12, 1)
    (message,) = crash_in(dump).messages
    assert message.text == "invalid parameter: p != nullptr (f, op.cc:12)"


# ---------------------------------------------------------------- what does not fit together


def contradictions(dump: DumpBuilder) -> str:
    found = process_in(dump).dump
    assert found is not None
    return "; ".join(found.contradictions)


def test_a_crashed_thread_that_is_not_listed_is_reported_and_still_comes_first() -> None:
    dump = DumpBuilder().module("op.dll", CUDNN).thread(5, {"rip": 1})
    dump.exception(ACCESS_VIOLATION, CUDNN + 1, (0, 0), thread=9, registers={"rip": CUDNN + 1})
    assert "the thread that crashed (9) is not in the list of threads" in contradictions(dump)
    assert process_in(dump).threads[0].id == 9


def test_addresses_that_differ_are_reported() -> None:
    dump = DumpBuilder().module("op.dll", CUDNN).thread(1, {"rip": CUDNN + 2})
    dump.exception(ACCESS_VIOLATION, CUDNN + 0x500, (0, 0), registers={"rip": CUDNN + 2})
    assert f"names the address 0x{CUDNN + 0x500:x}" in contradictions(dump)


def test_a_crash_where_a_library_had_been_names_it() -> None:
    dump = DumpBuilder().module("python.exe", PYTHON).unloaded("plugin.dll", 0x500000).thread(1, {"rip": 0x500010})
    dump.exception(ACCESS_VIOLATION, 0x500010, (8, 0x500010), registers={"rip": 0x500010})
    assert "in no module, and plugin.dll had been there before it was unloaded" in contradictions(dump)


def test_modules_that_overlap_and_names_that_only_look_right_are_reported() -> None:
    dump = DumpBuilder().module("a.dll", 0x10000, 0x10000).module("b.dll", 0x18000, 0x10000)
    assert "a.dll and b.dll claim the same addresses" in contradictions(dump)
    assert "ntd1l.dll, which looks like ntdll.dll" in contradictions(DumpBuilder().module("ntd1l.dll", NTDLL))


def test_two_modules_at_the_same_address_are_both_read() -> None:
    dump = DumpBuilder().module("a.dll", 0x10000).module("a.dll", 0x10000, version=(1, 2, 3, 4))
    assert "a.dll and a.dll claim the same addresses" in contradictions(dump)


def test_a_32_bit_program_that_a_64_bit_tool_dumped_is_reported() -> None:
    dump = DumpBuilder().module(r"C:\Windows\System32\wow64cpu.dll", CUDNN)
    assert "a 64-bit tool dumped this 32-bit program" in contradictions(dump)


def test_reading_a_dump_neither_writes_to_nor_switches_off_the_logging_of_the_program(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other threads of a program that uses us as a library go on logging while a dump is read."""
    switched_off: list[int] = []
    with caplog.at_level(logging.DEBUG), monkeypatch.context() as watched:
        watched.setattr(logging, "disable", switched_off.append)
        dump = process_in(tensorflow_dump().handle("File")).dump
    assert dump is not None and dump.handles == (("File", 1),)
    assert not caplog.records and not switched_off


# ---------------------------------------------------------------- what is broken


@pytest.mark.parametrize("kind", [minidumps.THREADS, minidumps.MODULES, minidumps.MEMORY, minidumps.HANDLES,
                                  minidumps.UNLOADED, minidumps.REGIONS, minidumps.THREAD_NAMES])  # fmt: skip
@pytest.mark.parametrize("count", [0xFFFFFFFF, 1_000_000])
def test_an_absurd_count_is_a_note_and_the_rest_is_read(kind: int, count: int) -> None:
    dump = tensorflow_dump().memory(0x10F000, bytes(64)).handle("File").unloaded("x.dll", 1).region(0, 4096)
    dump.counts[kind] = count
    crash = crash_in(dump)
    assert crash.exit is not None and crash.exit.subcode == 7
    assert not crash.inputs[0].complete
    assert any(f"claims {count:,} entries" in text for text in sentences(crash.gaps))
    assert crash.environment.libraries_complete == (kind != minidumps.MODULES)


def test_a_full_memory_list_with_an_absurd_count_is_a_note() -> None:
    dump = DumpBuilder(flags=minidumps.FULL_MEMORY).thread(1, {"rip": 5}).memory(0x1000, b"x" * 64)
    dump.counts[minidumps.MEMORY64] = 1 << 60
    assert any("claims 1,152,921,504,606,846,976 entries" in text for text in sentences(crash_in(dump).gaps))


def test_a_dump_that_is_cut_off_says_so() -> None:
    whole = DumpBuilder(flags=minidumps.FULL_MEMORY).thread(1, {"rip": 5}).memory(0x1000, b"x" * 100_000).build()
    crash = crash_in(whole[:-50_000])
    assert not crash.inputs[0].complete
    assert any("is cut off: 49 KiB of the memory" in text for text in sentences(crash.gaps))


@pytest.mark.parametrize("length", [4, 20, 31, 32, 100])
def test_the_start_of_a_dump_alone_is_refused_in_one_sentence(length: int) -> None:
    with pytest.raises(Unreadable, match=r"cannot be read as a minidump \(.*\); copy it again"):
        crash_in(tensorflow_dump().build()[:length])


def test_a_header_that_claims_billions_of_streams_is_refused() -> None:
    header = struct.pack("<4sIIIIIQ", b"MDMP", 0xA793, 0xFFFFFFFF, 32, 0, 0, 0)
    with pytest.raises(Unreadable):
        crash_in(header + bytes(1 << 20))


# ---------------------------------------------------------------- how it is given, and how it is shown


def test_a_packed_dump_is_read_like_a_plain_one(tmp_path) -> None:
    path = tmp_path / "crash.dmp.gz"
    path.write_bytes(gzip.compress(tensorflow_dump().build()))
    assert read(Source.of(path), 0).processes == crash_in(tensorflow_dump()).processes


def test_the_dump_of_another_process_is_left_out_and_named() -> None:
    one, other = crash_in(tensorflow_dump()), crash_in(tensorflow_dump().process(4712))
    first, second = of_one_process([one, other])
    assert first is one
    assert second.processes == () and "is the dump of another process (4712, not 4711)" in sentences(second.gaps)[0]


def test_log_and_dump_are_one_incident() -> None:
    log = b"2024-01-01 10:00:00.000000: F tensorflow/core/x.cc:1] Check failed: n > 0 (0 vs. 0)\n"
    report = triage.analyze(log, tensorflow_dump().build(), exit_code="0xC0000409")
    assert report.crash.processes[0].faulting_module == "cudnn64_8.dll"
    assert report.crash.processes[0].dump is not None
    assert report.crash.records and report.diagnoses[0].cause == "native.check-failed"


def test_the_json_of_a_dump_keeps_to_its_schema() -> None:
    schema = json.loads(files("triage.reports").joinpath("report.schema.json").read_text("utf-8"))
    dump = tensorflow_dump(ACCESS_VIOLATION, (1, 5)).handle("File").unloaded("x.dll", 1).comment("hello")
    report = json.loads(json_report.render(triage.analyze(dump.build())))
    jsonschema.validate(report, schema)
    (process,) = report["crash"]["processes"]
    assert process["faulting_module"] == "cudnn64_8.dll"
    assert process["dump"]["handles"] == {"File": 1} and process["dump"]["comments"] == ["hello"]
    assert process["fault"]["parameters"] == ["0x1", "0x5"] and "null pointer" in process["fault"]["says"]
    assert process["threads"][0]["id"] == 1 and process["threads"][0]["seen_modules"] == []


def test_a_dump_is_read_from_standard_input(run_triage) -> None:
    done = run_triage("analyze", "-", "--format", "json", input=tensorflow_dump().build())
    assert json.loads(done.stdout)["crash"]["processes"][0]["exit"]["subcode"] == 7


def test_the_report_hides_who_it_was() -> None:
    report = triage.analyze(tensorflow_dump().comment("mail me@example.org").build())
    shown = text.render(report) + json_report.render(report)
    assert "First" not in shown and "Last" not in shown and "example.org" not in shown
