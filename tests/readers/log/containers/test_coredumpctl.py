"""systemd-coredump: `coredumpctl info`, the journal's entry, `coredumpctl list`."""

from container_logs import crash, facts_in, facts_of, frames, names


def test_coredumpctl_info_has_the_signal_and_every_threads_stack() -> None:
    found = facts_of("coredumpctl", "coredumpctl")
    assert names(found.exits) == ["SIGSEGV"]
    assert [thread.crashed for thread in found.threads] == [True, False]
    assert frames(found.threads[0]) == [
        "tensorflow::Tensor::CheckTypeAndIsAligned",
        "tensorflow::MklConvOp::Compute",
        "libtensorflow_cc.so.2+0x200000",
    ]
    assert found.threads[0].native_stack[0].module == "libtensorflow_framework.so.2"


def test_no_other_format_claims_these_frames() -> None:
    assert len(crash("coredumpctl").threads) == 2


def test_the_journals_entry() -> None:
    found = facts_in(
        "coredumpctl",
        "Process 4711 (python3) of user 1000 terminated abnormally with signal 6/ABRT, processing...",
        "Process 4711 (python3) of user 1000 dumped core.",
        "Stack trace of thread 4711:",
        "#0  0x00007f01 raise (/usr/lib/libc.so.6 + 0x3c50)",
    )
    assert names(found.exits) == ["SIGABRT"]
    assert found.threads[0].native_stack[0][:3] == ("libc.so.6", "raise", 0x3C50)


def test_coredumpctl_list() -> None:
    row = "Sun 2025-11-16 03:38:46 UTC 4711 1000 1000 SIGILL  present  /usr/bin/python3.11 12.3M"
    assert names(facts_in("coredumpctl", row).exits) == ["SIGILL"]
