"""What a person sees of a native stack: plain lists of frames in, relevant frames out."""

from __future__ import annotations

import pytest

from triage.crash import NativeFrame, PythonFrame
from triage.frames import name_of
from triage.stacks.native_stack import RawFrame, fault_index, trimmed, trimmed_python

LIBC, PYTHON, OP = "/lib/libc.so.6", "/opt/lib/libpython3.11.so.1.0", "/opt/libop.so"


def frames(*names: str) -> list[RawFrame]:
    """Frames written as `libc:sleep`, each with an address of its own; a trampoline has always the same."""
    modules = {"libc": LIBC, "python": PYTHON, "op": OP, "exe": "/usr/bin/python3.11"}
    modules["cxx"] = "/lib/libstdc++.so.6.0.30"
    found = []
    for number, text in enumerate(names):
        module, _, symbol = text.partition(":")
        address = 0x7000 if symbol in ("__restore_rt", "?") else 0x1000 + 16 * number
        found.append(RawFrame(address, None if symbol == "?" else symbol, modules[module]))
    return found


def seen(stack: tuple[NativeFrame, ...]) -> list[str]:
    return [name_of(frame) for frame in stack]


HANDLER = ("libc:clock_nanosleep@GLIBC_2.2.5", "libc:__nanosleep", "libc:sleep", "libc:__restore_rt")
HANDLER += ("libc:__pthread_kill_implementation", "libc:raise", "libc:__restore_rt")


def test_the_handler_that_reported_the_crash_is_not_part_of_it() -> None:
    stack = frames(*HANDLER, "op:Op::Compute()", "op:Run()")
    assert seen(trimmed(stack, crashed=True)) == ["Op::Compute", "Run"]


def test_a_stripped_c_library_does_not_name_the_way_into_a_handler_but_it_is_the_same_twice() -> None:
    nameless = [name.replace("__restore_rt", "?") for name in HANDLER]
    stack = frames(*nameless, "op:Op::Compute()", "op:Run()")
    assert fault_index(stack) == len(HANDLER)
    assert seen(trimmed(stack, crashed=True)) == ["Op::Compute", "Run"]


def test_the_address_of_the_fault_beats_all_names() -> None:
    stack = frames("libc:sleep", "libc:memmove", "op:Copy()", "op:Run()")
    assert seen(trimmed(stack, crashed=True, fault_pc=stack[1].address)) == ["memmove", "Copy", "Run"]


def test_a_thread_that_did_not_crash_keeps_what_it_sleeps_in() -> None:
    assert seen(trimmed(frames("libc:clock_nanosleep", "libc:sleep", "op:Poll()"))) == [
        "clock_nanosleep",
        "sleep",
        "Poll",
    ]


def test_of_an_abort_stays_who_asked_for_it_and_not_how_it_was_sent() -> None:
    stack = frames(*HANDLER, "libc:__pthread_kill_implementation", "libc:raise", "libc:abort", "op:Fail()")
    assert seen(trimmed(stack, crashed=True)) == ["abort", "Fail"]


def test_an_abort_faces_the_same_address_twice_and_the_outer_one_counts() -> None:
    raised = ("libc:__pthread_kill_implementation", "libc:raise", "libc:abort", "op:Fail()")
    stack = frames(*HANDLER, *raised)
    stack = [frame._replace(address=0x42) if "kill" in (frame.symbol or "") else frame for frame in stack]
    assert fault_index(stack, 0x42) == len(HANDLER)


def test_a_nameless_function_of_libc_that_faulted_is_kept() -> None:
    stack = frames(*HANDLER)
    stack += [RawFrame(0x99, None, LIBC), *frames("op:Copy()", "op:Run()")]
    cleaned = trimmed(stack, crashed=True, base=lambda module: 0x90)
    assert seen(cleaned) == ["libc.so.6+0x9", "Copy", "Run"]


def test_the_insides_of_the_interpreter_are_folded_into_the_python_lines_that_stand_beside() -> None:
    stack = frames(
        "op:Op::Compute()",
        "op:pybind11::cpp_function::dispatcher(_object*)",
        "python:cfunction_call",
        "python:_PyObject_MakeTpCall",
        "python:_PyEval_EvalFrameDefault",
        "python:_PyFunction_Vectorcall",
        "python:slot_tp_call",
        "python:_PyEval_EvalFrameDefault",
        "python:Py_RunMain",
        "libc:__libc_start_call_main",
        "exe:_start",
    )
    assert seen(trimmed(stack, crashed=True)) == ["Op::Compute", "pybind11::cpp_function::dispatcher"]


def test_native_code_between_two_python_frames_stays() -> None:
    stack = frames("op:Inner()", "python:_PyEval_EvalFrameDefault", "op:Callback()", "python:_PyEval_EvalFrameDefault")
    assert seen(trimmed(stack)) == ["Inner", "Callback"]


def test_a_crash_inside_the_interpreter_keeps_what_it_did_for_the_python_line() -> None:
    stack = frames("python:list_dealloc", "python:PyObject_Vectorcall", "python:_PyEval_EvalFrameDefault", "exe:main")
    assert seen(trimmed(stack, crashed=True)) == ["list_dealloc"]


def test_a_stack_that_is_the_interpreters_through_and_through_is_not_emptied() -> None:
    assert seen(trimmed(frames("python:_PyEval_EvalFrameDefault", "python:Py_RunMain"))) == [
        "_PyEval_EvalFrameDefault",
        "Py_RunMain",
    ]


def test_no_frames_are_no_frames() -> None:
    assert trimmed([]) == ()
    assert trimmed([], crashed=True, fault_pc=1) == ()


def test_a_function_that_was_inlined_into_itself_is_one_frame() -> None:
    twice = [
        RawFrame(0x10, "string_at (inlined)", OP),
        RawFrame(0x10, "string_at", OP),
        RawFrame(0x20, "string_at", OP),
    ]
    assert seen(trimmed(twice)) == ["string_at", "string_at"]
    assert not any(frame.inlined for frame in trimmed(twice)), "its frame is real"


def test_a_function_that_was_inlined_into_another_says_so() -> None:
    stack = trimmed([RawFrame(0x10, "size (inlined)", OP), RawFrame(0x10, "decode", OP)])
    assert [(frame.function, frame.inlined) for frame in stack] == [("size", True), ("decode", False)]


def test_a_recursion_is_shown_with_enough_repeats_its_count_and_what_called_it() -> None:
    stack = trimmed(frames(*["op:walk(Node*)"] * 5000, *(f"op:caller_{number}()" for number in range(30))))
    names = seen(stack)
    assert 50 <= names.count("walk") <= 100
    assert names[60] == "[4,950 more frames]"
    assert stack[60].trust == "omitted"
    assert names[-1] == "caller_29"
    assert len(stack) < 100


def test_a_recursion_through_several_functions_repeats_often_enough_too() -> None:
    names = seen(trimmed(frames(*["op:a()", "op:b()", "op:c()"] * 2000)))
    assert names.count("a") >= 50
    assert len(names) < 300


def test_a_recursion_returns_to_one_address_and_is_no_repetition_of_the_unwinder() -> None:
    walk = [RawFrame(0x10, "walk(Node*)", OP)] * 1300
    names = seen(trimmed(walk + frames("op:caller()", "libc:_start"), left_out=529))
    assert names[:60] == ["walk"] * 60
    assert names[60] == "[1,750 more frames]"
    assert names[-1] == "caller"


def test_frames_that_pystack_left_out_are_counted_even_if_few_are_shown() -> None:
    stack = frames("op:inner()", *["python:_PyEval_EvalFrameDefault"] * 1299)
    stack[-1] = stack[-1]._replace(symbol="outer()", module=OP)
    assert seen(trimmed(stack, left_out=529)) == ["inner", "[529 more frames]", "outer"]


CHECK = (
    "op:absl::lts_20250814::log_internal::LogMessage::FailWithoutStackTrace()",
    "op:absl::lts_20250814::log_internal::LogMessage::SendToLog()",
    "op:absl::lts_20250814::log_internal::LogMessageFatal::~LogMessageFatal()",
)
OLDER_CHECK = ("op:tsl::internal::LogMessageFatal::~LogMessageFatal()",)
OTHER_CHECK = ("op:absl::log_internal::v2::CheckLogMessageMaker::Make()", "op:LogMessage::Die()")
GLOG_CHECK = ("op:google::LogMessage::Fail()", "op:google::LogMessageFatal::~LogMessageFatal()")
THROW = (
    "cxx:__gnu_cxx::__verbose_terminate_handler()",
    "cxx:?",
    "cxx:std::terminate()",
    "cxx:__cxa_throw",
    "cxx:std::__throw_bad_alloc()",
)
STRIPPED_HEAP = ("libc:?", "libc:?")
ASSERTION = ("libc:__assert_fail_base.cold", "libc:__GI___assert_fail")


@pytest.mark.parametrize(
    "reporting", [CHECK, OLDER_CHECK, OTHER_CHECK, GLOG_CHECK, THROW, STRIPPED_HEAP, ASSERTION, ()]
)
def test_an_abort_is_followed_by_what_failed_and_not_by_what_reported_it(reporting: tuple[str, ...]) -> None:
    stack = frames("libc:abort", *reporting, "op:Shape::dim_size(int)", "op:Op::Compute()")
    assert seen(trimmed(stack, crashed=True)) == ["abort", "Shape::dim_size", "Op::Compute"]


def test_an_abort_over_a_damaged_heap_keeps_the_one_frame_that_says_so() -> None:
    stack = frames("libc:abort", "libc:__libc_message", "libc:malloc_printerr", "libc:_int_free", "op:Op::Compute()")
    assert seen(trimmed(stack, crashed=True)) == ["abort", "malloc_printerr", "_int_free", "Op::Compute"]


@pytest.mark.parametrize(
    "name",
    [
        "op::LogMessageOp::Compute()",
        "google::LogMessage()",
        "internal::(anonymous namespace)::LogMessages::f()",
        "my_internal::LogMessages::f()",
    ],
)
def test_an_op_that_is_named_like_the_logging_library_is_what_failed(name: str) -> None:
    stack = frames("libc:abort", f"op:{name}")
    assert len(trimmed(stack, crashed=True)) == 2


@pytest.mark.parametrize(
    ("module", "own"),
    [
        ("/home/me/project/libmine.so", True),
        ("/home/me/conda.so", True),
        ("/home/me/miniconda3/lib/libx.so", False),
        ("/home/me/my-mambaforge-2/envs/x/lib/liby.so", False),
        ("/home/me/.pyenv/versions/3.11/lib/libz.so", False),
        ("/usr/lib/libz.so", False),
        ("/data/\udcff/libmine.so", True),
    ],
)
def test_a_library_is_the_persons_own_unless_somebody_installed_it(module: str, own: bool) -> None:
    (frame,) = trimmed([RawFrame(0x10, "f", module)])
    assert frame.own is own


def test_what_reports_further_out_is_not_the_reason_of_this_abort() -> None:
    stack = frames("libc:abort", "op:Handler()", "cxx:std::terminate()", "op:Op::Compute()")
    assert seen(trimmed(stack, crashed=True)) == ["abort", "Handler", "std::terminate", "Op::Compute"]


def test_a_nameless_frame_next_to_an_abort_can_be_what_failed() -> None:
    stack = [*frames("libc:abort"), RawFrame(0x5020, None, OP), *frames("op:Op::Compute()")]
    assert seen(trimmed(stack, crashed=True, base=lambda _: 0x5000)) == ["abort", "libop.so+0x20", "Op::Compute"]


def test_frames_that_the_collector_left_out_are_counted() -> None:
    assert seen(trimmed(frames("op:a()", "op:b()"), left_out=7)) == ["a", "b", "[7 more frames]"]


def test_a_python_recursion_is_cut_in_the_same_way() -> None:
    stack = trimmed_python([PythonFrame("a.py", 3, "f")] * 3000 + [PythonFrame("a.py", 9, "<module>")], left_out=100)
    assert sum(frame.function == "f" for frame in stack) < 100
    assert "[3,021 more frames]" in {frame.function for frame in stack}
    assert stack[-1].function == "<module>"


def test_a_frame_without_a_name_has_its_place_in_the_file_and_every_frame_says_how_it_was_found() -> None:
    (named, nameless) = trimmed(
        [RawFrame(0x5010, "f", OP, "/build/src/op.cc", 7), RawFrame(0x5020, None, OP)], base=lambda _: 0x5000
    )
    assert named == NativeFrame("libop.so", "f", None, "cfi", "op.cc:7")
    assert nameless == NativeFrame("libop.so", None, 0x20, "cfi", None)


def test_code_that_was_made_while_the_program_ran_has_no_file() -> None:
    assert trimmed([RawFrame(0x10, None, "/dev/zero (deleted)")]) == (NativeFrame(None, None, None, "cfi"),)
    assert trimmed([RawFrame(0x10, "f", "/opt/libop.so (deleted)")])[0].module == "libop.so"
