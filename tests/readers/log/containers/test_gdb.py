"""gdb: `bt` of a live process and of a core, `thread apply all bt`, on a wide screen and on one of 80 columns."""

from container_logs import crash, facts_in, facts_of, frames, names

import triage
from triage.frames import name_of


def test_bt_is_the_stack_of_the_crashed_thread() -> None:
    found = facts_of("gdb", "gdb")
    assert names(found.exits) == ["SIGSEGV"]
    (thread,) = found.threads
    assert thread.crashed
    assert frames(thread, 5) == ["__strlen_avx2", "string_at", "string_at", "libffi.so.8", "libffi.so.8"]
    assert len(thread.native_stack) == 29


def test_values_of_variables_are_not_kept() -> None:
    assert "0x8" not in repr(facts_of("gdb", "gdb").threads)


def test_a_screen_of_80_columns_breaks_frames_that_are_whole_again_here() -> None:
    wide, narrow = facts_of("gdb", "gdb").threads[0], facts_of("gdb", "gdb_wrapped").threads[0]
    assert narrow.native_stack == wide.native_stack[: len(narrow.native_stack)]
    assert len(narrow.native_stack) == 12


def test_of_all_threads_the_one_that_received_the_signal_crashed() -> None:
    found = facts_of("gdb", "gdb_threads")
    assert [thread.crashed for thread in found.threads] == [True, False, False]
    assert frames(found.threads[0], 1) == ["__strlen_avx2"]
    assert found.threads[1].name == "python3.11"


def test_the_handler_that_reported_the_crash_is_not_the_crash() -> None:
    """faulthandler raises the signal again: in a core its frames are above those of the fault."""
    (thread,) = facts_of("gdb", "gdb_core").threads
    assert frames(thread, 2) == ["__strlen_avx2", "string_at"]


def test_cpp_names_with_spaces_and_a_module_on_the_next_line() -> None:
    (thread,) = facts_in(
        "gdb",
        "#0  0x00007fff9b3c4d5e in std::function<void (tensorflow::OpKernelContext*)>::operator()"
        "(tensorflow::OpKernelContext*) const ()",
        "   from /usr/lib/libtensorflow_cc.so.2",
        "#1  0x00007fff9b3c4d5f in tensorflow::(anonymous namespace)::Run (this=0x0, name=...) at run.cc:12",
        "#2  0x0000000000000000 in ?? ()",
    ).threads
    assert thread.native_stack[0].module == "libtensorflow_cc.so.2"
    assert name_of(thread.native_stack[0]) == "std::function::operator()"
    assert thread.native_stack[1].function == "tensorflow::(anonymous namespace)::Run"
    assert thread.native_stack[2].function is None


def test_py_bt_gives_the_python_stack() -> None:
    (thread,) = facts_in(
        "gdb",
        "#0  0x00007f01 in PyObject_Call () from /usr/lib/libpython3.11.so",
        "(gdb) py-bt",
        "#9 Frame 0x7f02, for file /home/user/train.py, line 9, in main (batch=32)",
        "#12 Frame 0x7f03, for file /home/user/train.py, line 11, in <module> ()",
    ).threads
    assert [(frame.line, frame.function) for frame in thread.python_stack] == [(9, "main"), (11, "<module>")]


def test_the_rest_of_the_log_is_still_read() -> None:
    assert crash("gdb").environment.os == "linux"


def test_a_numbered_heading_is_no_frame() -> None:
    assert facts_in("gdb", "#12 Fix the crash (again)", "#1  see below", "received signal SIGSEGV").threads == ()


def test_a_stack_that_is_cut_keeps_what_it_has() -> None:
    (thread,) = facts_in("gdb", "#0  0x00007f01 in raise () from /lib/libc.so.6", "#1  0x00007f02 in tensorfl").threads
    assert frames(thread) == ["raise", "tensorfl"]


def test_a_library_in_a_folder_with_a_space_is_read_with_its_frame() -> None:
    log = (
        "#0  0x00007f0e4a in raise () from /lib/x86_64-linux-gnu/libc.so.6\n"
        "#1  0x00007f0e4b in decode (n=3) from /home/user/my clones/project/libdecode.so\n"
        "#2  0x00007f0e4c in main () from /home/user/my clones/project/tool\n"
    )
    (thread,) = triage.analyze(log.encode()).crash.threads
    assert [(frame.function, frame.module) for frame in thread.native_stack][1:] == [
        ("decode", "libdecode.so"),
        ("main", "tool"),
    ]


def test_a_process_that_ends_itself_shows_the_signal_in_its_innermost_frames() -> None:
    by_number = "#0  __GI_raise (sig=sig@entry=6) at ../sysdeps/unix/sysv/linux/raise.c:50"
    by_name = "#0  0x00007f8 in raise () from /lib/x86_64-linux-gnu/libc.so.6"
    below = "#1  0x00007ff68aded859 in __GI_abort () at abort.c:79"
    assert names(facts_in("gdb", by_number, below).exits) == ["SIGABRT"]
    assert names(facts_in("gdb", by_name, below).exits) == ["SIGABRT"]
    assert names(facts_in("gdb", by_number.replace("=6", "=11")).exits) == ["SIGSEGV"]
    assert names(facts_in("gdb", by_name).exits) == []


def test_the_sources_of_the_c_library_do_not_make_the_program_one_in_c() -> None:
    lines = (
        "(gdb) bt",
        "#0  __GI_raise (sig=sig@entry=6) at ../sysdeps/unix/sysv/linux/raise.c:50",
        "#1  0x00007ff68aded859 in __GI_abort () at abort.c:79",
        "#2  0x00007fff5338e005 in ?? () from /usr/lib/libcuda.so.1",
    )
    assert triage.analyze("\n".join(lines).encode()).crash.program is None
    own = triage.analyze("\n".join((*lines, "#3 0x00007fff5338e005 in run () at /home/user/run.c:7")).encode())
    assert own.crash.program is not None
    assert own.crash.program.language == "c"
