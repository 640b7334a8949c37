"""lldb: the stop reason and `bt`."""

from container_logs import facts_in, facts_of, frames, names


def test_bt_is_the_stack_of_the_thread_that_stopped() -> None:
    found = facts_of("lldb", "lldb")
    assert set(names(found.exits)) == {"SIGSEGV"}
    (thread,) = found.threads
    assert thread.name == "python3.11"
    assert frames(thread, 5) == ["__strlen_avx2", "string_at", "string_at", "libffi.so.8", "libffi.so.8"]
    assert thread.native_stack[0].module == "libc.so.6"
    assert len(thread.native_stack) == 28


def test_values_of_variables_are_not_kept() -> None:
    assert "size=" not in repr(facts_of("lldb", "lldb").threads)


def test_macos_names_a_mach_exception() -> None:
    found = facts_in(
        "lldb",
        "* thread #1, queue = 'com.apple.main-thread', stop reason = EXC_BAD_ACCESS (code=1, address=0x0)",
        "  * frame #0: 0x00007fff6d00 libsystem_platform.dylib`_platform_strlen + 18",
        "    frame #1: 0x000000010c _pywrap_tensorflow_internal.so`stream_executor::Foo(char const*) + 12",
        "  thread #2",
        "    frame #0: 0x00007fff6e00 libsystem_kernel.dylib`__psynch_cvwait + 10",
    )
    assert names(found.exits) == ["SIGSEGV"]
    assert [(thread.crashed, frames(thread)) for thread in found.threads] == [
        (True, ["_platform_strlen", "stream_executor::Foo"]),
        (False, ["__psynch_cvwait"]),
    ]
