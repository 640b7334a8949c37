"""TensorFlow's own signal handler."""

from container_logs import facts_in, frames

LINUX = (
    "*** Received signal 11 ***",
    "*** BEGIN MANGLED STACK TRACE ***",
    "/home/user/venv/lib/libtensorflow_framework.so.2(_ZN10tensorflow7testing17StacktraceHandlerEiP9siginfo_tPv+0xb7)"
    "[0x7f2b8c80e887]",
    "/lib/x86_64-linux-gnu/libpthread.so.0(+0x12980)[0x7f2b9a1c5980]",
    "/home/user/ops/my_op.so(_ZN4MyOp7ComputeEPN10tensorflow15OpKernelContextE+0x1f)[0x7f2b70a1201f]",
    "*** END MANGLED STACK TRACE ***",
    "",
    "*** Begin stack trace ***",
    "\ttensorflow::CurrentStackTrace()",
    "*** End stack trace ***",
)


def test_the_stack_begins_below_the_handler() -> None:
    (thread,) = facts_in("tensorflow_handler", *LINUX).threads
    assert thread.crashed
    assert frames(thread) == ["MyOp::Compute"]
    assert thread.native_stack[0].module == "my_op.so"


def test_macos_numbers_the_frames() -> None:
    lines = (
        "*** BEGIN MANGLED STACK TRACE ***",
        "0   libtensorflow_framework.2.dylib 0x000000014c80e887 _ZN10tensorflow7testingL17StacktraceHandlerEi + 183",
        "1   libsystem_platform.dylib            0x00007fff732525fd _sigtramp + 29",
        "2   ???                                 0x0000000000000000 0x0 + 0",
        "3   libomp.dylib                        0x00000001674747f9 __kmp_suspend_initialize_thread + 41",
    )
    (thread,) = facts_in("tensorflow_handler", *lines).threads
    assert frames(thread) == ["__kmp_suspend_initialize_thread"]


def test_readable_names_are_taken_where_the_others_are_missing() -> None:
    lines = (
        "*** Begin stack trace ***",
        "\ttsl::CurrentStackTrace()",
        "\t",
        "\tTF_SessionRun",
        "*** End stack trace ***",
    )
    (thread,) = facts_in("tensorflow_handler", *lines).threads
    assert frames(thread) == ["TF_SessionRun"]


def test_a_trace_that_is_cut_off_before_its_first_frame_is_none() -> None:
    assert facts_in("tensorflow_handler", "*** BEGIN MANGLED STACK TRACE ***").threads == ()
