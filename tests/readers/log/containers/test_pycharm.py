"""PyCharm in other languages: the number is the same in all of them."""

import pytest
from container_logs import exit_name, facts_in, names


def test_pycharm_in_chinese() -> None:
    assert exit_name("pycharm") == "STATUS_STACK_BUFFER_OVERRUN"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("进程已结束，退出代码为 -1073741819 (0xC0000005)", "STATUS_ACCESS_VIOLATION"),
        ("进程已结束，退出代码 139 (interrupted by signal 11:SIGSEGV)", "SIGSEGV"),
        ("进程已结束,退出代码0", "exit 0"),
        ("Prozess beendet mit Exit-Code 134 (interrupted by signal 6: SIGABRT)", "SIGABRT"),
        ("Prozess beendet mit Exit-Code -1073740791 (0xC0000409)", "STATUS_STACK_BUFFER_OVERRUN"),
        ("プロセスは終了コード 139 (interrupted by signal 11:SIGSEGV) で終了しました", "SIGSEGV"),
        ("종료 코드 137(으)로 완료된 프로세스", "SIGKILL"),
    ],
)
def test_each_language_is_read_by_its_number(line: str, name: str) -> None:
    assert names(facts_in("pycharm", line).exits) == [name]
