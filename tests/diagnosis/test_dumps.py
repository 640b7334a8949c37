"""What a Windows dump is diagnosed as: by its frames, by the libraries that are there, and by those that are not."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from minidumps import CUDNN, KERNELBASE, TENSORFLOW, DumpBuilder, tensorflow_dump

import triage
from triage.knowledge.database import Knowledge
from triage.report import Report

DUMPS = Path(__file__).resolve().parents[2] / "fixtures" / "dumps"
ACCESS_VIOLATION, FAST_FAIL, ILLEGAL = 0xC0000005, 0xC0000409, 0xC000001D
FATAL_LINE = (
    b"2024-01-01 10:00:00.000000: F tensorflow/core/framework/tensor.cc:733] Check failed: 1 == NumElements()\n"
)
CUDNN_LINE = b"Could not load library cudnn_cnn_infer64_8.dll. Error code 126\r\n"


def diagnosed(knowledge: Knowledge, *inputs: bytes | Path, pe: tuple[Path, ...] = ()) -> Report:
    return triage.analyze(*inputs, knowledge=knowledge, pe_directories=pe)


def newer_cudnn() -> bytes:
    """A process that cuDNN 8.6 has ended, without the zlibwapi.dll which that one needs."""
    registers = {"rip": CUDNN + 0x1234, "rsp": 0x10F000}
    dump = DumpBuilder()
    dump.module(r"C:\Python311\python311.dll", KERNELBASE, version=(3, 11, 9150, 1013))
    dump.module(r"C:\cuda\bin\cudnn64_8.dll", CUDNN, version=(8, 6, 0, 163))
    return dump.thread(1, registers).exception(FAST_FAIL, CUDNN + 0x1234, (7,), registers=registers).build()


def first(report: Report) -> tuple[str, bool]:
    """The first cause, and whether it is a diagnosis."""
    return report.diagnoses[0].cause, report.verdict == "diagnosed"


def test_an_abort_inside_tensorflows_library_is_a_failed_check(knowledge: Knowledge) -> None:
    report = diagnosed(knowledge, tensorflow_dump(pc=TENSORFLOW + 0x1000).build())
    assert first(report) == ("native.check-failed", True)
    assert any("FAST_FAIL_FATAL_APP_EXIT" in (process.exit.subcode_name or "") for process in report.crash.processes)


def test_an_access_violation_inside_tensorflows_library_is_no_failed_check(knowledge: Knowledge) -> None:
    report = diagnosed(knowledge, tensorflow_dump(ACCESS_VIOLATION, (0, 0x10), TENSORFLOW + 0x1000).build())
    assert "native.check-failed" not in [diagnosis.cause for diagnosis in report.diagnoses[:1]]


def test_cudnn_that_ends_the_process_with_its_parts_absent_lacks_a_part(knowledge: Knowledge) -> None:
    assert first(diagnosed(knowledge, DUMPS / "fast-fail-7.dmp")) == ("gpu.cudnn-library-missing", True)


def test_with_its_parts_there_nothing_of_cudnn_is_missing(knowledge: Knowledge) -> None:
    dump = tensorflow_dump()
    for number, part in enumerate(("ops", "cnn")):
        dump.module(rf"C:\cuda\bin\cudnn_{part}_infer64_8.dll", 0x7FFC00000000 + 0x1000000 * number)
    report = diagnosed(knowledge, dump.build())
    assert "gpu.cudnn-library-missing" not in [d.cause for d in report.diagnoses if d.confidence >= 0.5]


@pytest.mark.parametrize("name", ["read.dmp", "illegal.dmp"])
def test_a_fault_inside_cudnn_is_no_missing_part(name: str, knowledge: Knowledge) -> None:
    assert diagnosed(knowledge, DUMPS / name).verdict == "unknown"


def test_a_newer_cudnn_without_zlibwapi_lacks_zlibwapi(knowledge: Knowledge) -> None:
    assert first(diagnosed(knowledge, newer_cudnn())) == ("gpu.cudnn-zlibwapi-missing", True)


def test_a_dump_and_the_log_of_the_same_crash_are_one_diagnosis(knowledge: Knowledge) -> None:
    dump = tensorflow_dump(pc=TENSORFLOW + 0x1000).build()
    report = diagnosed(knowledge, dump, FATAL_LINE)
    assert first(report) == ("native.check-failed", True)
    assert "1 == NumElements()" in " ".join(evidence.text for evidence in report.diagnoses[0].because)
    assert (report.crash.exit and report.crash.exit.subcode) == 7


def test_a_log_that_blames_cudnn_and_a_dump_without_zlibwapi_agree(knowledge: Knowledge) -> None:
    report = diagnosed(knowledge, newer_cudnn(), CUDNN_LINE)
    assert first(report) == ("gpu.cudnn-zlibwapi-missing", True)
    assert report.diagnoses[0].confidence > diagnosed(knowledge, CUDNN_LINE).diagnoses[0].confidence


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (b"\xc5\xfc\x28\x01", ("cpu.missing-instructions", True)),
        (b"\x62\xf1\x7c\x48\x28\x01", ("cpu.missing-instructions", True)),
    ],
    ids=["AVX", "AVX-512"],
)
def test_an_instruction_that_the_processor_lacks_is_known_by_its_bytes(
    code: bytes, cause: tuple[str, bool], knowledge: Knowledge
) -> None:
    pc = TENSORFLOW + 0x51000
    assert first(diagnosed(knowledge, tensorflow_dump(ILLEGAL, (), pc).memory(pc, code + bytes(12)).build())) == cause


def test_a_trap_that_the_compiler_put_there_is_no_missing_instruction(knowledge: Knowledge) -> None:
    pc = TENSORFLOW + 0x51000
    report = diagnosed(knowledge, tensorflow_dump(ILLEGAL, (), pc).memory(pc, b"\x0f\x0b" + bytes(12)).build())
    assert report.verdict != "diagnosed"


def test_a_delay_load_names_the_library_where_the_programs_files_are_at_hand(knowledge: Knowledge) -> None:
    assert first(diagnosed(knowledge, DUMPS / "delay-load.dmp")) == ("install.dll-load-failed", True)
    report = diagnosed(knowledge, DUMPS / "delay-load.dmp", pe=(DUMPS / "pe",))
    assert first(report) == ("gpu.cuda-library-missing", True)
    assert "cublas64_99.dll" in " ".join(evidence.text for evidence in report.diagnoses[0].because)


def test_a_used_up_stack_is_one(knowledge: Knowledge) -> None:
    assert first(diagnosed(knowledge, DUMPS / "stack.dmp.xz")) == ("native.stack-overflow", True)


def test_a_damaged_heap_is_one(knowledge: Knowledge) -> None:
    report = diagnosed(knowledge, tensorflow_dump(0xC0000374, (), KERNELBASE + 0x1000).build())
    assert first(report) == ("native.heap-corruption", True)


@pytest.mark.parametrize(("code", "parameters"), [(FAST_FAIL, (5,)), (0xC0000417, ())])
def test_an_invalid_parameter_leads_to_objects_of_another_runtime(
    code: int, parameters: tuple[int, ...], knowledge: Knowledge
) -> None:
    report = diagnosed(knowledge, tensorflow_dump(code, parameters, KERNELBASE + 0x1000).build())
    assert "native.custom-op-abi" in [diagnosis.cause for diagnosis in report.diagnoses[:3]]


def test_the_driver_is_suspected_where_its_part_of_the_process_faulted(knowledge: Knowledge) -> None:
    pc = 0x7FF900001000
    dump = tensorflow_dump(ACCESS_VIOLATION, (0, 0x10), pc).module(r"C:\Windows\System32\nvcuda64.dll", pc - 0x1000)
    assert first(diagnosed(knowledge, dump.build())) == ("gpu.driver-bug", True)


def test_a_program_without_python_is_somebody_elses(knowledge: Knowledge) -> None:
    report = diagnosed(knowledge, DUMPS / "built" / "program-without-python.dmp")
    assert first(report) == ("other.native-program", True)


def test_the_built_dumps_are_those_that_the_script_builds() -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("build_dumps", DUMPS / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    built = {f"{make.__name__.replace('_', '-')}.dmp": make().build() for make in module.BUILT}
    assert {path.name: path.read_bytes() for path in (DUMPS / "built").iterdir()} == built
    assert struct.unpack("<4s", next(iter(built.values()))[:4]) == (b"MDMP",)
