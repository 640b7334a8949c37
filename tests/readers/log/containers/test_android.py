"""Android: a tombstone's signal, fault address, abort message and backtrace."""

from container_logs import facts_in, frames, names

_TOMBSTONE = """\
*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
pid: 4711, tid: 4715, name: worker  >>> org.example.demo <<<
signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x18
Abort message: 'model is not loaded'
backtrace:
      #00 pc 000000000001f3a0  /data/app/org.example.demo/lib/arm64/libdemo.so (demo::Model::run(int)+48)
      #01 pc 000000000002a1b4  /data/app/org.example.demo/lib/arm64/libdemo.so (Java_org_example_Demo_run+20)
      #02 pc 000041e20  /apex/com.android.runtime/lib64/bionic/libc.so (__pthread_start(void*)+64) (BuildId: a)"""


def test_a_tombstone() -> None:
    found = facts_in("android", _TOMBSTONE)
    assert names(found.exits) == ["SIGSEGV"]
    assert frames(found.threads[0], 2) == ["demo::Model::run", "Java_org_example_Demo_run"]
    assert found.threads[0].native_stack[0].module == "libdemo.so"
    assert found.fault is not None
    assert found.fault.address == 0x18
    assert [message.text for message in found.messages] == ["model is not loaded"]


def test_the_line_of_the_c_library_is_enough() -> None:
    found = facts_in("android", "A/libc: Fatal signal 6 (SIGABRT), code -6 in tid 4711 (demo)")
    assert names(found.exits) == ["SIGABRT"]


def test_a_program_that_cannot_be_linked_never_started() -> None:
    line = 'CANNOT LINK EXECUTABLE "./demo": library "libdemo.so" not found'
    assert [message.kind for message in facts_in("android", line).messages] == ["notice"]
