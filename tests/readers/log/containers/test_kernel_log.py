"""dmesg and audit: the kernel saw who died, of what, and in which library."""

import pytest
from container_logs import crash, facts_in, facts_of, frames, names

GIB = 1024**3


def test_a_segfault_and_a_trap_name_the_library() -> None:
    found = facts_of("kernel_log", "kernel_log")
    assert names(found.exits) == ["SIGILL", "SIGSEGV"]
    assert [thread.native_stack[0][:3] for thread in found.threads] == [
        ("libtensorflow_framework.so.2", None, 0x7F3B4C5D6E7F - 0x7F3B4B000000),
        ("zero_out.so", None, 0x2D5E),
    ]


def test_other_programs_of_the_machine_do_not_count_beside_python() -> None:
    assert all(thread.name == "python3" for thread in facts_of("kernel_log", "kernel_log").threads)


def test_a_single_line_counts_whatever_the_program_is_called() -> None:
    line = "trainer[9]: segfault at 0 ip 0000000000401136 sp 00007ffe error 6 in trainer[401000+1000]"
    assert names(facts_in("kernel_log", line).exits) == ["SIGSEGV"]


def test_a_line_whose_beginning_was_cut_off_still_names_the_library() -> None:
    line = "segfault at 0 ip 00007fce957b5216 sp 00007fccd9ff1480 error 4 in libfoo.so[7fce90acb000+2aa45000]"
    found = facts_in("kernel_log", line)
    assert names(found.exits) == ["SIGSEGV"]
    assert found.threads[0].native_stack[0].module == "libfoo.so"


def test_the_oom_killer_reports_the_limit_and_what_was_used() -> None:
    memory = crash("kernel_log_oom").memory
    assert (memory.oom_kills, memory.limit_bytes, memory.limit_source) == (1, 8 * GIB, "control group")
    assert memory.peak_bytes == (8120320 + 102400) * 1024
    assert names(facts_of("kernel_log", "kernel_log_oom").exits) == ["SIGKILL"]


def test_a_group_without_a_limit_has_none() -> None:
    line = "memory: usage 8388608kB, limit 9007199254740988kB, failcnt 0"
    assert facts_in("kernel_log", line).memory.limit_bytes is None


def test_an_audit_record() -> None:
    assert names(facts_of("kernel_log", "kernel_log_audit").exits) == ["SIGILL"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("traps: python[4711] general protection fault ip:7f01 sp:7f02 error:0 in libc.so.6[7f00+1000]", "SIGSEGV"),
        ("traps: python[4711] trap divide error ip:7f01 sp:7f02 error:0 in _pywrap.so[7f00+1000]", "SIGFPE"),
        (
            "python3[9]: unhandled level 1 translation fault (11) at 0x00000008, esr 0x92000005, in a.so[7f+10]",
            "SIGSEGV",
        ),
        ("Alignment trap: not handling instruction e1923f9f at [<b6e5ac54>]", "SIGBUS"),
        ("Out of memory: Kill process 4711 (python) score 912 or sacrifice child", "SIGKILL"),
    ],
)
def test_each_wording_of_the_kernel(line: str, name: str) -> None:
    assert names(facts_in("kernel_log", line).exits) == [name]


def test_the_kernels_own_crash_has_its_stack_without_the_reports_functions() -> None:
    found = facts_in(
        "kernel_log",
        "BUG: KASAN: use-after-free in demo_write+0x208/0x390",
        "CPU: 4 PID: 8262 Comm: demo Tainted: G",
        "Call trace:",
        "[<0000000036c0b44e>] dump_backtrace+0x0/0x688",
        "[<000000000aee7e49>] kasan_report+0xa4/0xa8",
        "[<00000000cdab1de8>] demo_write+0x208/0x390",
        "[<00000000743e9cdb>] vfs_write+0x110/0x2bc",
    )
    assert [message.kind for message in found.messages] == ["notice"]
    assert frames(found.threads[0]) == ["demo_write", "vfs_write"]
    assert found.exits == ()


def test_a_panic_names_the_function_of_its_instruction_first() -> None:
    found = facts_in("kernel_log", "general protection fault: 0000 [#1] SMP", "RIP: 0010:demo_destroy+0xe2/0x186")
    assert frames(found.threads[0]) == ["demo_destroy"]
