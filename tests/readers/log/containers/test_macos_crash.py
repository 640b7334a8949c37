"""macOS crash reports: the text form, the JSON form, and the JSON form cut off in the middle."""

from container_logs import crash, facts_in, facts_of, frames, names


def test_a_crash_report_has_the_signal_and_the_crashed_threads_stack() -> None:
    found = facts_of("macos_crash", "macos_crash")
    assert names(found.exits) == ["SIGILL"]
    assert [thread.crashed for thread in found.threads] == [True, False]
    assert frames(found.threads[0], 4) == [
        "nsync::nsync_mu_init",
        "_GLOBAL__sub_I_allocator_registry_impl.cc",
        "invocation function for block in dyld4::Loader::runInitializers",
        "_pywrap_tensorflow_internal.so+0x13a4b5c",
    ]


def test_a_translated_program_has_no_avx_before_macos_15() -> None:
    environment = crash("macos_crash").environment
    assert environment.os == "macos"
    assert environment.cpu_flags
    assert "avx" not in environment.cpu_flags
    newer = facts_in(
        "macos_crash",
        "Code Type:             X86-64 (Translated)",
        "OS Version:            macOS 15.1 (24B83)",
        "Exception Type:        EXC_BAD_ACCESS (SIGSEGV)",
    )
    assert newer.environment.cpu_flags == ()


def test_the_image_list_names_the_libraries() -> None:
    environment = facts_of("macos_crash", "macos_crash").environment
    assert [library.name for library in environment.libraries] == [
        "libtensorflow_framework.2.dylib",
        "_pywrap_tensorflow_internal.so",
    ]
    assert not environment.libraries_complete


def test_an_ips_file_is_two_json_documents() -> None:
    found = facts_of("macos_crash", "macos_crash_ips")
    assert names(found.exits) == ["SIGSEGV"]
    assert frames(found.threads[0]) == ["strlen", "_pywrap_tensorflow_internal.so+0x13a4b5c", "_pthread_start"]
    assert found.threads[0].native_stack[0].module == "libsystem_platform.dylib"
    assert found.environment.os == "macos"


def test_an_ips_file_that_is_cut_is_read_up_to_the_cut() -> None:
    found = facts_of("macos_crash", "macos_crash_ips_cut")
    assert names(found.exits) == ["SIGSEGV"]
    assert frames(found.threads[0]) == ["strlen", "unknown module+0x13a4b5c"]


def test_json_that_is_nested_to_confuse_is_no_trouble() -> None:
    found = facts_in("macos_crash", '{"bug_type":"309"}', '{"type": "EXC_CRASH", "threads": ' + "[" * 100_000)
    assert found.threads == ()


def test_plcrashreporter_names_the_signal_without_a_mach_exception() -> None:
    found = facts_in(
        "macos_crash",
        "Exception Type:  SIGSEGV",
        "Exception Codes: SEGV_ACCERR at 0x10",
        "Crashed Thread:  0",
        "",
        "Thread 0 Crashed:",
        "0   Demo                                0x0000000102f3a5b0 demo_run + 28",
    )
    assert names(found.exits) == ["SIGSEGV"]
    assert found.threads[0].crashed


def test_a_head_in_json_may_have_the_old_text_below() -> None:
    found = facts_in(
        "macos_crash",
        '{"app_name":"Demo","bug_type":"109","os_version":"macOS 12.1 (21C52)"}',
        "Process:               Demo [4711]",
        "Exception Type:        EXC_BAD_ACCESS (SIGSEGV)",
        "Thread 0 Crashed:",
        "0   Demo                                0x0000000102f3a5b0 demo_run + 28",
    )
    assert names(found.exits) == ["SIGSEGV"]
    assert found.threads[0].native_stack[0].function == "demo_run"


def test_a_type_without_a_signal_is_still_a_crash() -> None:
    found = facts_in("macos_crash", "Exception Type:  EXC_CRASH")
    assert [message.kind for message in found.messages] == ["notice"]
