"""Java's hs_err file: what Java caught, not the abort with which it ends itself."""

from container_logs import crash, exit_name, facts_of, frames, names


def test_the_signal_that_java_caught_beats_the_abort_that_the_shell_saw() -> None:
    assert exit_name("hs_err_console") == "SIGSEGV"
    (thread,) = facts_of("hs_err", "hs_err_console").threads
    assert frames(thread) == ["Unsafe_GetLong"]
    assert thread.native_stack[0].module == "libjvm.so"


def test_the_file_holds_the_whole_stack_with_javas_own_frames() -> None:
    (thread,) = facts_of("hs_err", "hs_err").threads
    assert frames(thread, 5)[0] == "Unsafe_GetLong"
    assert frames(thread, 5)[4] == "Crash.touch"
    assert len(thread.native_stack) == 24


def test_a_crash_in_tensorflow_names_its_library() -> None:
    found = facts_of("hs_err", "hs_err_tensorflow")
    assert names(found.exits) == ["SIGILL"]
    assert frames(found.threads[0], 6) == [
        "nsync::nsync_mu_init",
        "libtensorflow_jni.so+0x1f2e3",
        "org.tensorflow.NativeLibrary.load",
        "java.lang.String.hashCode",
        "StubRoutines::call_stub",
        "libjvm.so+0x68d1c6",
    ]


def test_the_features_of_the_processor() -> None:
    flags = crash("hs_err_tensorflow").environment.cpu_flags
    assert "sse4_2" in flags
    assert "avx" not in flags
    assert "avx2" in crash("hs_err").environment.cpu_flags
