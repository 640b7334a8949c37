"""Exit statuses: every spelling that a person, a shell, an IDE or Windows uses leads to the same fact."""

from __future__ import annotations

import signal

import pytest

from triage import status
from triage.crash import Place
from triage.status_tables import EXIT_CODES, FAST_FAIL, MACOS_SIGNALS, NTSTATUS, SIGNALS

# Code, the number as a signed exit code, name, kind. From winnt.h and ntstatus.h, written down apart from our tables.
NTSTATUS_NAMES = [
    (0xC0000005, -1073741819, "STATUS_ACCESS_VIOLATION", "crash"),
    (0xC0000006, -1073741818, "STATUS_IN_PAGE_ERROR", "crash"),
    (0xC0000008, -1073741816, "STATUS_INVALID_HANDLE", "crash"),
    (0xC000000D, -1073741811, "STATUS_INVALID_PARAMETER", "crash"),
    (0xC0000017, -1073741801, "STATUS_NO_MEMORY", "out-of-memory"),
    (0xC000001D, -1073741795, "STATUS_ILLEGAL_INSTRUCTION", "crash"),
    (0xC0000025, -1073741787, "STATUS_NONCONTINUABLE_EXCEPTION", "crash"),
    (0xC0000026, -1073741786, "STATUS_INVALID_DISPOSITION", "crash"),
    (0xC0000028, -1073741784, "STATUS_BAD_STACK", "crash"),
    (0xC000007B, -1073741701, "STATUS_INVALID_IMAGE_FORMAT", "start-up"),
    (0xC000008C, -1073741684, "STATUS_ARRAY_BOUNDS_EXCEEDED", "crash"),
    (0xC000008D, -1073741683, "STATUS_FLOAT_DENORMAL_OPERAND", "crash"),
    (0xC000008E, -1073741682, "STATUS_FLOAT_DIVIDE_BY_ZERO", "crash"),
    (0xC000008F, -1073741681, "STATUS_FLOAT_INEXACT_RESULT", "crash"),
    (0xC0000090, -1073741680, "STATUS_FLOAT_INVALID_OPERATION", "crash"),
    (0xC0000091, -1073741679, "STATUS_FLOAT_OVERFLOW", "crash"),
    (0xC0000092, -1073741678, "STATUS_FLOAT_STACK_CHECK", "crash"),
    (0xC0000093, -1073741677, "STATUS_FLOAT_UNDERFLOW", "crash"),
    (0xC0000094, -1073741676, "STATUS_INTEGER_DIVIDE_BY_ZERO", "crash"),
    (0xC0000095, -1073741675, "STATUS_INTEGER_OVERFLOW", "crash"),
    (0xC0000096, -1073741674, "STATUS_PRIVILEGED_INSTRUCTION", "crash"),
    (0xC00000FD, -1073741571, "STATUS_STACK_OVERFLOW", "crash"),
    (0xC0000135, -1073741515, "STATUS_DLL_NOT_FOUND", "start-up"),
    (0xC0000138, -1073741512, "STATUS_ORDINAL_NOT_FOUND", "start-up"),
    (0xC0000139, -1073741511, "STATUS_ENTRYPOINT_NOT_FOUND", "start-up"),
    (0xC000013A, -1073741510, "STATUS_CONTROL_C_EXIT", "ended-by-user"),
    (0xC0000142, -1073741502, "STATUS_DLL_INIT_FAILED", "start-up"),
    (0xC0000194, -1073741420, "STATUS_POSSIBLE_DEADLOCK", "crash"),
    (0xC00001A5, -1073741403, "STATUS_INVALID_EXCEPTION_HANDLER", "crash"),
    (0xC0000235, -1073741259, "STATUS_HANDLE_NOT_CLOSABLE", "crash"),
    (0xC000026B, -1073741205, "STATUS_DLL_INIT_FAILED_LOGOFF", "start-up"),
    (0xC0000374, -1073740940, "STATUS_HEAP_CORRUPTION", "crash"),
    (0xC0000409, -1073740791, "STATUS_STACK_BUFFER_OVERRUN", "fast-fail"),
    (0xC000041D, -1073740771, "STATUS_FATAL_USER_CALLBACK_EXCEPTION", "crash"),
    (0xC0000417, -1073740777, "STATUS_INVALID_CRUNTIME_PARAMETER", "crash"),
    (0xC0000420, -1073740768, "STATUS_ASSERTION_FAILURE", "crash"),
    (0xC0000421, -1073740767, "STATUS_VERIFIER_STOP", "crash"),
    (0xC00002B4, -1073741132, "STATUS_FLOAT_MULTIPLE_FAULTS", "crash"),
    (0xC00002B5, -1073741131, "STATUS_FLOAT_MULTIPLE_TRAPS", "crash"),
    (0xC00002C9, -1073741111, "STATUS_REG_NAT_CONSUMPTION", "crash"),
    (0xC0000602, -1073740286, "STATUS_FAIL_FAST_EXCEPTION", "fast-fail"),
    (0xC06D007E, -1066598274, "DELAYLOAD_MODULE_NOT_FOUND", "crash"),
    (0xC06D007F, -1066598273, "DELAYLOAD_PROC_NOT_FOUND", "crash"),
    (0xE06D7363, -529697949, "CPP_EXCEPTION", "crash"),
    (0xE0434352, -532462766, "CLR_EXCEPTION", "crash"),
    (0xE0434F4D, -532459699, "CLR_EXCEPTION_V1", "crash"),
    (0x20474343, 541541187, "GCC_EXCEPTION", "crash"),
    (0xE0000008, -536870904, "CHROMIUM_OOM", "out-of-memory"),
    (0x80000001, -2147483647, "STATUS_GUARD_PAGE_VIOLATION", "crash"),
    (0x80000002, -2147483646, "STATUS_DATATYPE_MISALIGNMENT", "crash"),
    (0x80000003, -2147483645, "STATUS_BREAKPOINT", "crash"),
    (0x80000004, -2147483644, "STATUS_SINGLE_STEP", "crash"),
    (0x4000001F, 1073741855, "STATUS_WX86_BREAKPOINT", "noise"),
    (0x406D1388, 1080890248, "MS_VC_EXCEPTION", "noise"),
    (0x40010006, 1073807366, "DBG_PRINTEXCEPTION_C", "noise"),
    (0x4001000A, 1073807370, "DBG_PRINTEXCEPTION_WIDE_C", "noise"),
    (0x40010005, 1073807365, "DBG_CONTROL_C", "noise"),
]
FAST_FAIL_NAMES = {
    0: "FAST_FAIL_LEGACY_GS_VIOLATION",
    1: "FAST_FAIL_VTGUARD_CHECK_FAILURE",
    2: "FAST_FAIL_STACK_COOKIE_CHECK_FAILURE",
    3: "FAST_FAIL_CORRUPT_LIST_ENTRY",
    4: "FAST_FAIL_INCORRECT_STACK",
    5: "FAST_FAIL_INVALID_ARG",
    6: "FAST_FAIL_GS_COOKIE_INIT",
    7: "FAST_FAIL_FATAL_APP_EXIT",
    8: "FAST_FAIL_RANGE_CHECK_FAILURE",
    9: "FAST_FAIL_UNSAFE_REGISTRY_ACCESS",
    10: "FAST_FAIL_GUARD_ICALL_CHECK_FAILURE",
    11: "FAST_FAIL_GUARD_WRITE_CHECK_FAILURE",
    12: "FAST_FAIL_INVALID_FIBER_SWITCH",
    13: "FAST_FAIL_INVALID_SET_OF_CONTEXT",
    14: "FAST_FAIL_INVALID_REFERENCE_COUNT",
    18: "FAST_FAIL_INVALID_JUMP_BUFFER",
    19: "FAST_FAIL_MRDATA_MODIFIED",
    20: "FAST_FAIL_CERTIFICATION_FAILURE",
    21: "FAST_FAIL_INVALID_EXCEPTION_CHAIN",
    22: "FAST_FAIL_CRYPTO_LIBRARY",
    23: "FAST_FAIL_INVALID_CALL_IN_DLL_CALLOUT",
    24: "FAST_FAIL_INVALID_IMAGE_BASE",
    25: "FAST_FAIL_DLOAD_PROTECTION_FAILURE",
    26: "FAST_FAIL_UNSAFE_EXTENSION_CALL",
    27: "FAST_FAIL_DEPRECATED_SERVICE_INVOKED",
    28: "FAST_FAIL_INVALID_BUFFER_ACCESS",
    29: "FAST_FAIL_INVALID_BALANCED_TREE",
    30: "FAST_FAIL_INVALID_NEXT_THREAD",
    31: "FAST_FAIL_GUARD_ICALL_CHECK_SUPPRESSED",
    32: "FAST_FAIL_APCS_DISABLED",
    33: "FAST_FAIL_INVALID_IDLE_STATE",
    34: "FAST_FAIL_MRDATA_PROTECTION_FAILURE",
    35: "FAST_FAIL_UNEXPECTED_HEAP_EXCEPTION",
    36: "FAST_FAIL_INVALID_LOCK_STATE",
    37: "FAST_FAIL_GUARD_JUMPTABLE",
    38: "FAST_FAIL_INVALID_LONGJUMP_TARGET",
    39: "FAST_FAIL_INVALID_DISPATCH_CONTEXT",
    40: "FAST_FAIL_INVALID_THREAD",
    41: "FAST_FAIL_INVALID_SYSCALL_NUMBER",
    42: "FAST_FAIL_INVALID_FILE_OPERATION",
    43: "FAST_FAIL_LPAC_ACCESS_DENIED",
    44: "FAST_FAIL_GUARD_SS_FAILURE",
    45: "FAST_FAIL_LOADER_CONTINUITY_FAILURE",
    46: "FAST_FAIL_GUARD_EXPORT_SUPPRESSION_FAILURE",
    47: "FAST_FAIL_INVALID_CONTROL_STACK",
    48: "FAST_FAIL_SET_CONTEXT_DENIED",
    49: "FAST_FAIL_INVALID_IAT",
    50: "FAST_FAIL_HEAP_METADATA_CORRUPTION",
    51: "FAST_FAIL_PAYLOAD_RESTRICTION_VIOLATION",
    52: "FAST_FAIL_LOW_LABEL_ACCESS_DENIED",
    53: "FAST_FAIL_ENCLAVE_CALL_FAILURE",
    54: "FAST_FAIL_UNHANDLED_LSS_EXCEPTON",
    55: "FAST_FAIL_ADMINLESS_ACCESS_DENIED",
    56: "FAST_FAIL_UNEXPECTED_CALL",
    57: "FAST_FAIL_CONTROL_INVALID_RETURN_ADDRESS",
    58: "FAST_FAIL_UNEXPECTED_HOST_BEHAVIOR",
    59: "FAST_FAIL_FLAGS_CORRUPTION",
    60: "FAST_FAIL_VEH_CORRUPTION",
    61: "FAST_FAIL_ETW_CORRUPTION",
    62: "FAST_FAIL_RIO_ABORT",
    63: "FAST_FAIL_INVALID_PFN",
    64: "FAST_FAIL_GUARD_ICALL_CHECK_FAILURE_XFG",
    65: "FAST_FAIL_CAST_GUARD",
    66: "FAST_FAIL_HOST_VISIBILITY_CHANGE",
    67: "FAST_FAIL_KERNEL_CET_SHADOW_STACK_ASSIST",
    68: "FAST_FAIL_PATCH_CALLBACK_FAILED",
    69: "FAST_FAIL_NTDLL_PATCH_FAILED",
    70: "FAST_FAIL_INVALID_FLS_DATA",
    71: "FAST_FAIL_ASAN_ERROR",
    72: "FAST_FAIL_CLR_EXCEPTION_AOT",
    73: "FAST_FAIL_POINTER_AUTH_INVALID_RETURN_ADDRESS",
    74: "FAST_FAIL_INVALID_THREAD_STATE",
    75: "FAST_FAIL_CORRUPT_WOW64_STATE",
    76: "FAST_FAIL_INVALID_EXTENDED_STATE",
    77: "FAST_FAIL_KERNEL_POINTER_EXPECTED",
    4294967295: "FAST_FAIL_INVALID_FAST_FAIL_CODE",
}
# Signal numbers of x86 and ARM Linux, as signal(7) has them.
LINUX_SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    10: "SIGUSR1",
    11: "SIGSEGV",
    12: "SIGUSR2",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
    24: "SIGXCPU",
    25: "SIGXFSZ",
    31: "SIGSYS",
}


# Signals


@pytest.mark.parametrize("spelling", ["139", "-11", "245", "SIGSEGV", "sigsegv", "SEGV", "Segmentation fault", " 139 "])
def test_a_shell_says_139_python_minus_11_and_both_are_sigsegv(spelling: str) -> None:
    seen = status.parse(spelling)
    assert seen is not None
    assert (seen.signal, seen.signal_number, seen.name, seen.kind) == ("SIGSEGV", 11, "SIGSEGV", "signal")
    assert seen.label == "SIGSEGV (exit 139)"


def test_minus_one_is_a_stop_button_and_not_the_hang_up_signal() -> None:
    for code in (-1, 0xFFFFFFFF):
        stopped = status.from_code(code)
        assert (stopped.code, stopped.signal, stopped.is_death, stopped.is_failure) == (-1, None, False, True)


@pytest.mark.parametrize(("number", "name"), [(n, name) for n, name in LINUX_SIGNALS.items() if n != 1])
def test_every_signal_is_known_by_name_by_minus_n_and_by_128_plus_n(number: int, name: str) -> None:
    by_name, negative, shell = status.from_signal(name), status.from_code(-number), status.from_code(128 + number)
    assert by_name is not None
    assert by_name.signal == negative.signal == shell.signal == name
    assert by_name.signal_number == negative.signal_number == shell.signal_number == number


@pytest.mark.skipif(not hasattr(signal, "SIGSTKFLT"), reason="the table is that of Linux")
def test_the_table_of_signals_is_what_this_linux_calls_them() -> None:
    here = {s.value: s.name for s in signal.Signals if s.value < 32}
    assert {number: name for number, (name, _) in SIGNALS.items()} == here


@pytest.mark.parametrize(
    ("code", "name"),
    [(247, "SIGKILL"), (245, "SIGSEGV"), (250, "SIGABRT"), (252, "SIGILL"), (249, "SIGBUS"), (248, "SIGFPE")],
)
def test_a_launcher_that_prints_256_minus_n_means_the_signal(code: int, name: str) -> None:
    seen = status.from_code(code)
    assert (seen.signal, seen.code) == (name, code)


@pytest.mark.parametrize("code", [255, 254, 243, 241, 200, 193])
def test_256_minus_n_only_counts_for_signals_that_crash_a_program(code: int) -> None:
    seen = status.from_code(code)
    assert seen.signal is None
    assert seen.name == f"exit {code}"


def test_the_number_that_was_seen_is_kept() -> None:
    assert [status.from_code(code).code for code in (-11, 139, 245)] == [-11, 139, 245]


@pytest.mark.parametrize("code", [11, 6, 9, 4])
def test_a_small_positive_number_is_an_exit_code_and_not_a_signal(code: int) -> None:
    seen = status.from_code(code)
    assert seen.signal is None
    assert seen.is_failure
    assert not seen.is_death


def test_a_person_who_means_the_signal_gets_its_name_from_the_bare_number() -> None:
    assert status.signal_named_by_number(11) == "SIGSEGV"
    assert status.signal_named_by_number(99) is None


@pytest.mark.parametrize("code", [-34, -64])
def test_a_real_time_signal_is_a_death_even_without_a_name_in_our_table(code: int) -> None:
    seen = status.from_code(code)
    assert seen.is_death
    assert seen.signal == f"signal {-code}"


@pytest.mark.parametrize(("number", "mac"), MACOS_SIGNALS.items())
def test_a_number_that_means_another_signal_on_macos_says_so(number: int, mac: str) -> None:
    assert f"on macOS this number is {mac}" in status.from_code(128 + number).meaning


@pytest.mark.parametrize("words", ["Bus error", "SIGBUS", "bus"])
def test_a_signal_that_is_told_by_its_name_is_the_same_on_every_system(words: str) -> None:
    seen = status.parse(words)
    assert seen is not None and seen.signal == "SIGBUS" and "macOS" not in seen.meaning


@pytest.mark.parametrize("number", [6, 9, 11])
def test_a_number_that_is_the_same_everywhere_does_not_mention_macos(number: int) -> None:
    assert "macOS" not in status.from_code(128 + number).meaning


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Segmentation fault", "SIGSEGV"),
        ("segmentation fault", "SIGSEGV"),
        ("Aborted", "SIGABRT"),
        ("abort", "SIGABRT"),
        ("Abort trap", "SIGABRT"),
        ("IOT instruction", "SIGABRT"),
        ("Illegal instruction", "SIGILL"),
        ("illegal hardware instruction", "SIGILL"),
        ("Bus error", "SIGBUS"),
        ("Floating point exception", "SIGFPE"),
        ("Killed", "SIGKILL"),
        ("Terminated", "SIGTERM"),
        ("Trace/breakpoint trap", "SIGTRAP"),
        ("Bad system call", "SIGSYS"),
        ("access violation", "STATUS_ACCESS_VIOLATION"),
        ("stack overflow", "STATUS_STACK_OVERFLOW"),
        ("int divide by zero", "STATUS_INTEGER_DIVIDE_BY_ZERO"),
    ],
)
def test_the_words_of_a_shell_or_of_faulthandler_name_the_status(words: str, name: str) -> None:
    seen = status.from_words(words)
    assert seen is not None
    assert seen.name == name


# Windows


@pytest.mark.parametrize(("code", "signed", "name", "kind"), NTSTATUS_NAMES)
def test_every_windows_code_has_the_name_and_kind_of_the_headers(code: int, signed: int, name: str, kind: str) -> None:
    assert NTSTATUS[code][:2] == (name, kind)
    assert NTSTATUS[code][2]


@pytest.mark.parametrize(("code", "signed", "name", "kind"), NTSTATUS_NAMES)
def test_a_windows_code_is_one_status_signed_unsigned_in_hex_and_by_name(
    code: int, signed: int, name: str, kind: str
) -> None:
    spellings = [str(code), str(signed), f"0x{code:08X}", f"0x{code:x}", name, name.lower()]
    seen = [status.parse(spelling) for spelling in spellings]
    assert [one and (one.ntstatus, one.name, one.kind) for one in seen] == [(code, name, kind)] * len(spellings)


def test_the_windows_table_has_nothing_that_this_test_does_not_know() -> None:
    # STATUS_FATAL_APP_EXIT is what abort() gives on older Windows, STATUS_COMMITMENT_LIMIT a full page file.
    assert set(NTSTATUS) - {code for code, *_ in NTSTATUS_NAMES} == {0x40000015, 0xC000012D}


@pytest.mark.parametrize("spelling", ["c0000409", "C0000409", "STACK_BUFFER_OVERRUN", "stack_buffer_overrun"])
def test_the_prefixes_0x_and_status_may_be_left_out(spelling: str) -> None:
    seen = status.parse(spelling)
    assert seen is not None
    assert seen.ntstatus == 0xC0000409


def test_a_windows_status_is_labelled_with_hex_and_the_number_an_ide_prints() -> None:
    assert status.from_code(3221226505).label == "0xC0000409 (exit -1073740791)"
    assert status.from_code(-1073740791).label == "0xC0000409 (exit -1073740791)"
    assert status.from_code(-1073740791, 7).label == "0xC0000409 (exit -1073740791, subcode 7)"


def test_an_ntstatus_that_is_not_in_the_table_is_still_a_windows_death() -> None:
    seen = status.from_code(0xC0001234)
    assert (seen.ntstatus, seen.name, seen.kind) == (0xC0001234, "0xC0001234", "crash")
    assert seen.is_death
    assert "not in our table" in seen.meaning


@pytest.mark.parametrize("code", [0xFFFFFFFF, 0xFFFFFFFE])
def test_a_small_negative_exit_code_seen_unsigned_is_not_an_ntstatus(code: int) -> None:
    assert status.from_code(code).ntstatus is None


# Fast-fail


@pytest.mark.parametrize(("subcode", "name"), FAST_FAIL_NAMES.items())
def test_every_fast_fail_subcode_has_the_name_of_winnt_h(subcode: int, name: str) -> None:
    assert FAST_FAIL[subcode][0] == name
    seen = status.from_code(-1073740791, subcode)
    assert (seen.subcode, seen.subcode_name, seen.meaning) == (subcode, *FAST_FAIL[subcode])


def test_the_fast_fail_table_has_nothing_that_this_test_does_not_know() -> None:
    assert set(FAST_FAIL) == set(FAST_FAIL_NAMES)


def test_subcode_7_turns_the_misleading_overrun_into_an_abort() -> None:
    bare, specific = status.from_code(0xC0000409), status.from_code(0xC0000409, 7)
    assert bare.subcode is None
    assert "abort()" in bare.meaning
    assert specific.subcode_name == "FAST_FAIL_FATAL_APP_EXIT"
    assert "no overrun" in specific.meaning


def test_subcode_2_is_a_real_overrun() -> None:
    assert "real stack buffer overrun" in status.from_code(0xC0000409, 2).meaning


@pytest.mark.parametrize("subcode", [15, 16, 17, 78])
def test_a_subcode_that_winnt_h_does_not_name_has_no_name(subcode: int) -> None:
    seen = status.from_code(0xC0000409, subcode)
    assert (seen.subcode, seen.subcode_name) == (subcode, None)
    assert "winnt.h does not name" in seen.meaning


def test_a_subcode_belongs_to_a_fast_fail_and_to_nothing_else() -> None:
    assert status.from_code(0xC0000005, 7).subcode is None
    assert status.from_code(139, 7).subcode is None


# Plain exit codes and what is no status at all


@pytest.mark.parametrize("code", sorted(set(EXIT_CODES) - {247, 0xFFFFFFFF}))
def test_a_plain_exit_code_says_what_it_usually_means(code: int) -> None:
    seen = status.from_code(code)
    assert (seen.name, seen.kind, seen.meaning) == (f"exit {code}", "exit", EXIT_CODES[code])
    assert not seen.is_death


def test_zero_is_the_only_code_that_is_no_failure() -> None:
    assert not status.from_code(0).is_failure
    assert status.from_code(1).is_failure


@pytest.mark.parametrize("code", [3, 42, 128, 160, 192, 256, 65536, -65, 12345678])
def test_a_code_that_no_signal_or_windows_status_explains_was_chosen_by_the_program(code: int) -> None:
    seen = status.from_code(code)
    assert (seen.code, seen.signal, seen.ntstatus, seen.name) == (code, None, None, f"exit {code}")


@pytest.mark.parametrize(("text", "code"), [("0x0", 0), ("0x1", 1), ("0X8B", 139), ("0", 0), ("00000003", 3)])
def test_hexadecimal_works_for_small_codes_too(text: str, code: int) -> None:
    seen = status.parse(text)
    assert seen is not None
    assert seen.code == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "hello",
        "SIG",
        "SIGFOO",
        "SIGSEGVV",
        "SIG11",
        "--11",
        "+139",
        "139.0",
        "1e3",
        "13 9",
        "0x",
        "0xG",
        "0xC00004099F",
        "x0C0000409",
        "STATUS_",
        "STATUS_STACK_BUFFER",
        "4294967296",
        "-2147483649",
        "99999999999999999999",
        "9" * 5000,
        "Segmentation",
        "segmentation fault at 0x0",
    ],
)
def test_what_only_looks_like_a_status_is_none(text: str) -> None:
    assert status.parse(text) is None


@pytest.mark.parametrize("text", ["2147483647", "-2147483648", "4294967294"])
def test_the_largest_and_smallest_numbers_of_32_bits_are_accepted(text: str) -> None:
    seen = status.parse(text)
    assert seen is not None
    assert seen.code == int(text)


def test_a_status_keeps_the_place_it_was_read_from() -> None:
    place = Place(2, 41)
    seen = [
        status.from_code(139, place=place),
        status.from_code(0xC0000409, 7, place=place),
        status.from_code(3, place=place),
        status.from_signal("SIGSEGV", place=place),
        status.from_words("Aborted", place=place),
        status.parse("STATUS_HEAP_CORRUPTION", place=place),
    ]
    assert [one and one.place for one in seen] == [place] * len(seen)


def test_parse_accepts_every_known_name() -> None:
    names = status.known_names()
    assert {"SIGSEGV", "STATUS_STACK_BUFFER_OVERRUN"} <= set(names)
    assert [name for name in names if getattr(status.parse(name), "name", None) != name] == []
