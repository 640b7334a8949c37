"""GNU time and macOS' time."""

from container_logs import crash, exit_name, facts_in


def test_gnu_time_reports_the_signal_and_the_peak() -> None:
    assert exit_name("shell_time") == "SIGSEGV"
    assert crash("shell_time").memory.peak_bytes == 14052 * 1024


def test_macos_counts_in_bytes() -> None:
    assert facts_in("shell_time", "           14389248  maximum resident set size").memory.peak_bytes == 14389248
