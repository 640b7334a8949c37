"""Uncaught exceptions and panics of other languages, with their frames; logged exceptions are no end."""

import pytest
from container_logs import facts_in, frames

JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: no session
\tat org.example.Demo.run(Demo.java:31)
\tat org.example.Main.main(Main.java:7)
Caused by: java.io.IOException: closed"""
ANDROID = """\
E/AndroidRuntime: FATAL EXCEPTION: main
E/AndroidRuntime: Process: org.example.demo, PID: 4711
E/AndroidRuntime: java.lang.NullPointerException: model
\tat org.example.Demo.run(Demo.java:31)"""
DOTNET = """\
Unhandled exception. System.InvalidOperationException: no session
   at Demo.Model.Run(String name) in /home/user/Model.cs:line 31
   at Demo.Program.Main() in /home/user/Program.cs:line 7"""
NODE = """\
/home/user/demo.js:3
    throw new TypeError("no session")
    ^

TypeError: no session
    at run (/home/user/demo.js:3:11)
    at Object.<anonymous> (/home/user/demo.js:7:1)"""
GO = """\
panic: runtime error: index out of range [3] with length 2

goroutine 1 [running]:
example.org/demo.(*Model).Run(0xc000010000, {0x0, 0x1})
\t/home/user/model.go:31 +0x1d
main.main()
\t/home/user/main.go:7 +0x2f"""
RUST = """\
thread 'main' panicked at src/model.rs:31:9:
no session
stack backtrace:
   0: rust_begin_unwind
             at /rustc/a1/library/std/src/panicking.rs:645:5
   1: demo::model::run
             at ./src/model.rs:31:9"""
RUBY = """\
model.rb:31:in `run': no session (RuntimeError)
\tfrom main.rb:7:in `<main>'"""
PHP = """\
PHP Fatal error:  Uncaught Error: no session in /home/user/model.php:31
Stack trace:
#0 /home/user/main.php(7): Demo\\Model->run()"""
HASKELL = """\
demo: no session
CallStack (from HasCallStack):
  error, called at src/Model.hs:31:9 in demo-0.1-inplace:Model"""
OCAML = """\
Fatal error: exception Failure("no session")
Raised at Model.run in file "model.ml", line 31, characters 9-24"""
LUA = """\
lua: model.lua:31: attempt to index a nil value (local 'session')
stack traceback:
\tmodel.lua:31: in function 'run'
\t[C]: in ?"""
ELIXIR = """\
** (RuntimeError) no session
    (demo 0.1.0) lib/model.ex:31: Demo.Model.run/1"""
OVERFLOW = """\
Stack overflow.
Repeat 24088 times:
--------------------------------
   at Demo.Model.<<Run>$>g__Again|0_8(Int32)
--------------------------------"""
R = """\
Error in run(model) : no session
Calls: main -> run
Execution halted"""


@pytest.mark.parametrize(
    ("text", "top"),
    [
        (JAVA, "org.example.Demo.run"),
        (ANDROID, "org.example.Demo.run"),
        (DOTNET, "Demo.Model.Run"),
        (NODE, "run"),
        (GO, "demo.(*Model).Run"),
        (RUBY, "<main>"),
        (PHP, "Demo\\Model->run"),
        (HASKELL, "error"),
        (OCAML, "Model.run"),
        (LUA, "'run'"),
        (ELIXIR, "Demo.Model.run/1"),
        (OVERFLOW, "Demo.Model.<<Run>$>g__Again|0_8"),
    ],
    ids=[
        *("java", "android", "dotnet", "node", "go", "ruby", "php"),
        *("haskell", "ocaml", "lua", "elixir", "dotnet-overflow"),
    ],
)
def test_the_heading_is_the_message_and_the_frames_crashed(text: str, top: str) -> None:
    found = facts_in("languages", text)
    assert [message.kind for message in found.messages] == ["exception"]
    assert found.threads[0].crashed
    first = found.threads[0].native_stack[0]
    assert top in (frames(found.threads[0], 1)[0], first.function)
    assert found.threads[0].python_stack == ()


def test_rust_has_its_own_frame_below_those_of_the_panic() -> None:
    from triage.frames import distinctive, name_of

    found = facts_in("languages", RUST)
    assert name_of(distinctive(found.threads[0].native_stack)[0]) == "demo::model::run"


def test_r_stops_a_script_with_two_lines() -> None:
    assert len(facts_in("languages", R).messages) == 1


@pytest.mark.parametrize(
    "line",
    [
        "Process terminated. Infinite recursion during resource lookup within System.Private.CoreLib.",
        "Fatal error. System.AccessViolationException: Attempted to read or write protected memory.",
        "Unhandled Exception: System.DllNotFoundException: Unable to load DLL 'tensorflow'",
        "thread 'worker' panicked at 'no session', src/model.rs:31:9",
        "Uncaught TypeError: Cannot read properties of undefined",
        "Fatal error: Allowed memory size of 134217728 bytes exhausted (tried to allocate 9) in /srv/a.php on line 3",
        "Fatal error: exception Stack_overflow",
        "demo: Prelude.head: empty list",
        "Kernel pid terminated (application_controller) ({application_start_failure,demo,{bad_return,x}})",
        "Can't locate Demo.pm in @INC (you may need to install the Demo module) at demo.pl line 1.",
        "main.swift:4: Fatal error: Unexpectedly found nil while unwrapping an Optional value",
    ],
)
def test_headings_that_are_certain_without_frames(line: str) -> None:
    assert [message.kind for message in facts_in("languages", line).messages] == ["exception"]


@pytest.mark.parametrize(
    "text",
    [
        "24/01/02 03:04:05 WARN Demo: lost task\njava.io.IOException: closed\n\tat org.example.Demo.run(Demo.java:31)",
        "The docs say: an exception in thread pools is swallowed",
        "ValueError: no session",
        "do not panic: it is only a test",
        "Error: no such option: --demo",
        "Use of uninitialized value $n in addition (+) at demo.pl line 3.",
        "conf.lua:3: loaded",
    ],
)
def test_what_was_logged_or_only_mentioned_is_no_end(text: str) -> None:
    assert facts_in("languages", text).messages == ()
