"""WinDbg: !analyze -v, kn, lm."""

from container_logs import crash, facts_in, facts_of, frames, names


def test_the_fast_fail_subcode_says_that_it_was_an_abort() -> None:
    ended = crash("windbg").exit
    assert ended is not None
    assert (ended.name, ended.subcode_name) == ("STATUS_STACK_BUFFER_OVERRUN", "FAST_FAIL_FATAL_APP_EXIT")


def test_stack_text_and_kn_are_two_stacks_of_the_crashed_thread() -> None:
    analyzed, shown = facts_of("windbg", "windbg").threads
    assert frames(analyzed) == [
        "abort",
        "tensorflow::internal::LogMessageFatal::~LogMessageFatal",
        "tensorflow::LaunchConv2DOp::operator()",
    ]
    assert frames(shown, 4)[2:] == ["tensorflow::CheckOp", "cudnn64_8+0x1f2e3"]
    assert shown.native_stack[0].module == "ucrtbase"
    assert analyzed.crashed
    assert shown.crashed


HEAD = "start             end                 module name"
PYTHON = "00007ff6`1a2b0000 00007ff6`1a2c9000   python     (deferred)"
NTDLL = "00007ffa`1e850000 00007ffa`1ea48000   ntdll      (pdb symbols)          c:\\symbols\\ntdll.pdb"


def test_a_whole_module_list_can_prove_that_something_is_absent() -> None:
    environment = facts_in("windbg", "0:000> lm", HEAD, PYTHON, NTDLL, "0:000> q").environment
    assert [library.name for library in environment.libraries] == ["python", "ntdll"]
    assert environment.libraries_complete


def test_a_module_list_that_is_cut_or_filtered_cannot() -> None:
    assert not facts_in("windbg", "0:000> lm", HEAD, PYTHON, NTDLL).environment.libraries_complete
    assert not facts_in("windbg", "0:000> lm m py*", HEAD, PYTHON, "0:000> q").environment.libraries_complete
    assert len(facts_of("windbg", "windbg").environment.libraries) == 4


def test_of_all_threads_the_marked_one_crashed() -> None:
    found = facts_in(
        "windbg",
        ".  0  Id: 1a2b.3c4d Suspend: 1 Teb: 000000d1`2a400000 Unfrozen",
        " # Child-SP          RetAddr               Call Site",
        "00 000000d1`2a5fe2b0 00007ff9`8a1b2c3d     ntdll!NtWaitForSingleObject+0x14",
        "",
        "#  1  Id: 1a2b.3c4e Suspend: 1 Teb: 000000d1`2a402000 Unfrozen",
        " # Child-SP          RetAddr               Call Site",
        "00 000000d1`2a6fe2b0 00007ff9`8a1b2c3d     python39!PyObject_Call+0x4e",
    )
    assert [(thread.crashed, frames(thread)) for thread in found.threads] == [
        (False, ["NtWaitForSingleObject"]),
        (True, ["PyObject_Call"]),
    ]


def test_a_second_chance_is_the_end() -> None:
    line = "(1a2c.3b4): Access violation - code c0000005 (!!! second chance !!!)"
    assert names(facts_in("windbg", line).exits) == ["STATUS_ACCESS_VIOLATION"]
    first = "(1a2c.3b4): C++ EH exception - code e06d7363 (first chance)"
    assert facts_in("windbg", first).exits == ()
