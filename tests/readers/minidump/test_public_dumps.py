"""Real dumps that others published: what their own tools say of them, ours must say too."""

from __future__ import annotations

from pathlib import Path

import pytest
from minidumps import PUBLIC

import triage
from triage.crash import Crash
from triage.frames import name_of
from triage.readers import Source, Unreadable, read
from triage.reports import json_report, text

pytestmark = pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public dumps are not here")
DUMPS = sorted(PUBLIC.glob("*/*.dmp")) if PUBLIC.is_dir() else []
# No stream of theirs can be read.
BROKEN = {"invalid-range.dmp", "invalid-record-count.dmp"}


def crash_in(name: str) -> Crash:
    return read(Source.of(PUBLIC / name), 0)


def test_a_real_fast_fail_is_an_abort_and_not_a_stack_buffer_overrun() -> None:
    report = triage.analyze(PUBLIC / "breakpad/tiny-exe-fastfail.dmp")
    shown = text.render(report)
    assert "0xC0000409 (exit -1073740791, subcode 7)" in shown
    assert "subcode 7 (FAST_FAIL_FATAL_APP_EXIT): abort()" in shown
    assert "BUFFER_OVERRUN" not in shown and "buffer overrun" not in shown.lower()


# What Breakpad's own processor prints: code or signal, the address that was touched, and where.
KNOWN = [
    ("breakpad/ascii_read_av.dmp", "0xC0000005", "read", 0x41414141, "crashme.exe+0xa6cd"),
    ("breakpad/ascii_write_av.dmp", "0xC0000005", "write", 0x41414141, "crashme.exe+0xa6cd"),
    ("breakpad/exec_av_on_stack.dmp", "0xC0000005", "execute", 0x3DF944, "unknown module"),
    ("breakpad/linux_divide_by_zero.dmp", "SIGFPE", None, None, "driver+0x1f27"),
    ("breakpad/linux_inline.dmp", "SIGILL", None, None, "linux_inline+0x161b6"),
    ("breakpad/linux_jmp_to_0.dmp", "SIGSEGV", "execute", 0, "unknown module"),
    ("breakpad/linux_null_dereference.dmp", "SIGSEGV", None, 0, "driver+0x1f26"),
    ("breakpad/linux_raise_sigabrt.dmp", "SIGABRT", None, None, "libpthread-2.19.so+0x1020b"),
    ("breakpad/minidump2.dmp", "0xC0000005", "write", 0x45, "test_app.exe+0x429e"),
    ("breakpad/minidump_32bit_crash_addr.dmp", "0xC0000005", "write", 0x45, "test_app.exe+0x429e"),
    ("breakpad/null_read_av.dmp", "0xC0000005", "read", 0, "crashme.exe+0xa6cd"),
    ("breakpad/stack_exhaustion.dmp", "0xC00000FD", "read", 0x102000, "crashme.exe+0xa637"),
    ("breakpad/thread_name_list.dmp", "0xC0000005", "read", 0xF1004, "allocer32.exe+0x15fd"),
    ("breakpad/write_av_non_canonical.dmp", "0xC0000005", "read", (1 << 64) - 1, "crash.exe+0x1331"),
    ("node-minidump/mac.dmp", "SIGILL", None, None, "Electron Framework+0xf34e4"),
    ("rust-minidump/linux-mini.dmp", "SIGSEGV", None, 0x45, "crash+0x1d72"),
]


@pytest.mark.parametrize(("name", "code", "access", "address", "frame"), KNOWN)
def test_code_address_and_place_are_those_of_breakpad(
    name: str, code: str, access: str | None, address: int | None, frame: str
) -> None:
    crash = crash_in(name)
    process = crash.processes[0]
    assert process.exit is not None and process.exit.typed == code
    assert process.fault is not None and (process.fault.access, process.fault.address) == (access, address)
    assert process.threads[0].crashed and name_of(process.threads[0].native_stack[0]) == frame


def test_names_of_threads_and_a_module_that_only_looks_like_ntdll() -> None:
    process = crash_in("breakpad/thread_name_list.dmp").processes[0]
    assert process.threads[0].name == "overflow thread"
    assert process.dump is not None
    assert any("ntd1l.dll, which looks like ntdll.dll" in sentence for sentence in process.dump.contradictions)


def test_frames_that_are_computed_are_a_stack_and_what_lies_about_is_not() -> None:
    walked = crash_in("breakpad/thread_name_list.dmp").processes[0].threads[0]
    assert [(frame.module, frame.trust) for frame in walked.native_stack] == [
        ("allocer32.exe", "context"),
        ("kernel32.dll", "frame_pointer"),
        ("ntdll.dll", "frame_pointer"),
        ("ntdll.dll", "frame_pointer"),
    ]
    alone = crash_in("breakpad/tiny-exe-fastfail.dmp").processes[0].threads[0]
    assert [name_of(frame) for frame in alone.native_stack] == ["tiny.exe+0x1af42"]
    assert "ntdll.dll" in alone.seen_modules
    shown = text.render(triage.analyze(PUBLIC / "breakpad/tiny-exe-fastfail.dmp"))
    assert "modules seen on the stack (not all of them were called): " in shown
    assert "--pe-dir" in shown


@pytest.mark.parametrize("name", ["breakpad/linux_inline.dmp", "breakpad/linux_null_dereference.dmp"])
def test_the_kernel_release_is_short(name: str) -> None:
    """Crashpad and Breakpad store it in different ways."""
    version = crash_in(name).environment.os_version or ""
    assert version.startswith(("5.10.28-1rodete2-amd64", "3.13.0-53-generic (Ubuntu 14.04")) and "SMP" not in version


def test_a_dump_of_a_living_process_with_handles_and_unloaded_modules() -> None:
    crash = crash_in("breakpad/tiny-exe-with-cet-xsave.dmp")
    assert crash.exit is None
    dump = crash.processes[0].dump
    assert dump is not None
    assert sum(count for _, count in dump.handles) > 10 and dict(dump.handles)["File"] > 0
    assert [library.name.lower() for library in dump.unloaded] and crash.environment.os_version


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.name)
def test_every_public_dump_ends_in_a_report_or_in_one_sentence(path: Path) -> None:
    if path.name in BROKEN:
        with pytest.raises(Unreadable, match="cannot be read as a minidump"):
            read(Source.of(path), 0)
        return
    report = triage.analyze(path)
    assert report.crash.inputs[0].kind == "minidump" and report.crash.inputs[0].complete
    assert text.render(report) and json_report.render(report)
    assert report.crash.environment.libraries_complete
    trusts = {frame.trust for thread in report.crash.threads for frame in thread.native_stack}
    assert trusts <= {"context", "cfi", "leaf", "frame_pointer", "omitted"}
