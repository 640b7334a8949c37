"""py-spy dump: a process that was alive, with its threads."""

from container_logs import facts_in

_DUMP = """\
Process 4711: python train.py
Python v3.9.5 (/usr/bin/python3.9)

Thread 4711 (idle): "MainThread"
    wait (threading.py:302)
    <module> (train.py:12)
Thread 4712 (active+gil): "Thread-1"
    epoll_wait (libc-2.31.so)
    run (worker.py:4)"""


def test_nothing_crashed_and_it_stands_still() -> None:
    found = facts_in("py_spy", _DUMP)
    assert [message.kind for message in found.messages] == ["hang"]
    assert [thread.name for thread in found.threads] == ["MainThread", "Thread-1"]
    assert not any(thread.crashed for thread in found.threads)
    assert found.threads[0].python_stack[0].function == "wait"
    assert found.threads[1].native_stack[0].module == "libc-2.31.so"


def test_other_lists_of_states_are_none() -> None:
    assert facts_in("py_spy", "worker 3 (idle)", "worker 4 (active)").threads == ()
