"""Frames: what a function is called, whose a frame is, and which frames are machinery, as a person reads a crash."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest

from triage.crash import NativeFrame, PythonFrame
from triage.frames import (
    Called,
    crash_frames,
    distinctive,
    file_owner,
    from_fault,
    function_name,
    is_machinery_module,
    is_own,
    module_owner,
    name_of,
    role,
    source_is_own,
    without_reporting,
)

# ---------------------------------------------------------------- what a function is called


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("main", "main"),
        ("TFE_Execute", "TFE_Execute"),
        ("cfunction_call", "cfunction_call"),
        ("tensorflow::EncodePngOp::Compute()", "tensorflow::EncodePngOp::Compute"),
        ("tensorflow::png::WriteImageToBuffer<>()", "tensorflow::png::WriteImageToBuffer"),
        ("std::vector<std::pair<int, Map<a, b>>>::at(unsigned long) const", "std::vector::at"),
        ("ns::Op<Device, float, true>::Compute(ns::Context*)", "ns::Op::Compute"),
        ("std::enable_if<!a<b>::value, c>::type ns::load<d>::call<e, f>(int)", "ns::load::call"),
        ("void std::__invoke_impl<void, A::f(std::function<void ()>)::{lambda()#1}&>(int)", "std::__invoke_impl"),
        ("ns::Status const& ns::Node::status() const", "ns::Node::status"),
        ("decltype(auto) ns::visit<ns::A>(ns::A&&)", "ns::visit"),
        ("void __cdecl ns::load(int)", "ns::load"),
        ("std::__cxx11::to_string[abi:cxx11](int)", "std::__cxx11::to_string"),
        ("tensorflow::LogMessageFatal::~LogMessageFatal()", "tensorflow::LogMessageFatal::~LogMessageFatal"),
    ],
)
def test_arguments_template_arguments_and_return_types_are_cut(symbol: str, name: str) -> None:
    assert function_name(symbol) == name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("tensorflow::(anonymous namespace)::EagerLocalExecute()", "tensorflow::{anonymous}::EagerLocalExecute"),
        ("ns::(anonymous namespace)::Run(int) const", "ns::{anonymous}::Run"),
        ("ns::{anonymous}::Run(int)", "ns::{anonymous}::Run"),
        ("ns::`anonymous namespace'::Run", "ns::{anonymous}::Run"),
        ("ns::`anonymous-namespace'::Run", "ns::{anonymous}::Run"),
    ],
)
def test_a_namespace_without_a_name_is_written_in_one_way(symbol: str, name: str) -> None:
    assert function_name(symbol) == name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        (
            "ns::make<(ns::kind)560>::build()::{lambda(int, bool)#1}::operator()(int, bool) const",
            "ns::make::build::{lambda}::operator()",
        ),
        ("ns::build()::<lambda(int, bool)>::operator()(int, bool) const", "ns::build::{lambda}::operator()"),
        ("ns::build()::<lambda()>", "ns::build::{lambda}"),
        ("ns::build()::'lambda'(int)::operator()(int) const", "ns::build::{lambda}::operator()"),
        ("ns::build()::'lambda0'(int)::operator()(int) const", "ns::build::{lambda}::operator()"),
        ("ns::build::<lambda_0123456789abcdef>::operator()", "ns::build::{lambda}::operator()"),
    ],
)
def test_a_lambda_is_written_in_one_way_whoever_printed_it(symbol: str, name: str) -> None:
    assert function_name(symbol) == name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char)", "std::operator<<"),
        ("std::function<void ()>::operator()() const", "std::function::operator()"),
        ("ns::Pointer<ns::A>::operator->() const", "ns::Pointer::operator->"),
        ("bool ns::operator< <int>(ns::A<int> const&, ns::A<int> const&)", "ns::operator<"),
        ("ns::A::operator!=(ns::A const&) const", "ns::A::operator!="),
        ("ns::A::operator[](int)", "ns::A::operator[]"),
        ("ns::Flag::operator bool() const", "ns::Flag::operator bool"),
        ("operator new(unsigned long)", "operator new"),
        ("operator delete[](void*)", "operator delete[]"),
        ("ns::cooperator f(int)", "f"),
    ],
)
def test_the_brackets_of_an_operator_are_its_name(symbol: str, name: str) -> None:
    assert function_name(symbol) == name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("core::panicking::panic_fmt::h0123456789abcdef", "core::panicking::panic_fmt"),
        ("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop::h0123456789abcdef", "alloc::vec::Vec::drop"),
        ("tokenizers::encode::{{closure}}", "tokenizers::encode::{{closure}}"),
        ("-[MPSNDArray initWithDevice:descriptor:]", "-[MPSNDArray initWithDevice:descriptor:]"),
        ("+[NSException raise:format:]", "+[NSException raise:format:]"),
        ("__45-[MPSGraph run:]_block_invoke", "__45-[MPSGraph run:]_block_invoke"),
        ("invocation function for block in ns::A::run(int)", "invocation function for block in ns::A::run"),
        ("non-virtual thunk to ns::A::run(int)", "ns::A::run"),
        ("ntdll!RtlUserThreadStart+0x21", "RtlUserThreadStart"),
        ("_pywrap_tensorflow!tensorflow::Op::Compute+0x1f", "tensorflow::Op::Compute"),
        ("?Compute@Op@tensorflow@@UEAAXPEAVOpKernelContext@2@@Z", "tensorflow::Op::Compute"),
        ("??1LogMessageFatal@internal@tsl@@QEAA@XZ", "tsl::internal::LogMessageFatal::~LogMessageFatal"),
        ("ns::A::`scalar deleting destructor'", "ns::A::`scalar deleting destructor'"),
        ("_ZN3foo3barEv.cold", "_ZN3foo3barEv"),
    ],
)
def test_names_of_other_languages_and_systems(symbol: str, name: str) -> None:
    assert function_name(symbol) == name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("clock_nanosleep@GLIBC_2.2.5", "clock_nanosleep"),
        ("__libc_start_main@@GLIBC_2.34", "__libc_start_main"),
        ("list_dealloc.part.0", "list_dealloc"),
        ("gc_collect.constprop.3.isra.0", "gc_collect"),
        ("fail.cold", "fail"),
        ("f(int) [clone .isra.0]", "f"),
        ("_PyEval_Vector (inlined)", "_PyEval_Vector"),
        ("f.1.2.3", "f"),
        ("f1.2..", "f1"),
        ("fail.cold.part.1@@LIB_1.2 [clone .isra.0] [clone .cold] (inlined)", "fail"),
        ("log.cold@@LIBM_2.29", "log"),
        ("f[clone .1](inlined)", "f"),
        ("__GI_raise", "raise"),
        ("__GI___clock_nanosleep", "clock_nanosleep"),
        ("__GI___libc_free", "free"),
        ("__libc_malloc", "malloc"),
    ],
)
def test_what_compilers_and_linkers_append_to_a_name_is_cut(symbol: str, name: str) -> None:
    assert function_name(symbol) == name


@pytest.mark.parametrize("symbol", ["_ZN3foo3barEv", "<signal handler called>", "???", "<", ")", "a" * 100_000])
def test_a_name_that_is_none_is_kept_and_never_becomes_empty(symbol: str) -> None:
    assert function_name(symbol)


@pytest.mark.parametrize("function", ["()", "(*)(int)", "<>"])
def test_a_function_that_is_nothing_but_arguments_still_has_a_name(function: str) -> None:
    assert name_of(NativeFrame(None, function)) == function


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("read.particle", "read.particle"),
        ("step.cold5", "step.cold5"),
        ("std::x.y.5z", "std::x.y.5z"),
        ("f@lower", "f@lower"),
        ("f.", "f."),
        ("a[5]", "a[5]"),
    ],
)
def test_what_only_looks_like_a_suffix_is_kept(symbol: str, name: str) -> None:
    assert function_name(symbol) == name


@pytest.mark.parametrize(
    "symbol", ["ns::make<1>::build()::{lambda(int)#1}::operator()(int) const", "std::operator<< <int>(int)"]
)
def test_a_name_that_was_cut_is_not_cut_further(symbol: str) -> None:
    assert function_name(function_name(symbol)) == function_name(symbol)


# Names in a core or a held process, which the author of the program chose.
LONG_NAMES = (
    *(f"f{piece * times}{end}" for times in (24, 900) for end in ("", "x") for piece in (
        ".1",
        ".1.",
        ".cold",
        ".part.0",
        "@A",
        "@@A1.",
        "@A_1",
        " [clone .1]",
        "[clone ",
        "(inlined)",
        " (inlined).1@A_1 [clone .1]",
        ".1@A[clone .1](inlined)",
    )),
    "f" + " " * 2000 + "x",
    "f@A" + "_1." * 600 + "x",
    "?f" + "@a" * 1000,
    "<" * 1000 + " as " * 200,
    "<lambda" * 280,
    "'lambda" * 280,
)  # fmt: skip


def test_a_name_made_to_hold_us_up_is_cut_at_once() -> None:
    """In a process of its own, because a search that never ends would take the tests along."""
    program = (
        "import ast, sys; from triage.frames import function_name; "
        "[*map(function_name, ast.literal_eval(sys.stdin.read()))]"
    )
    subprocess.run([sys.executable, "-c", program], input=repr(LONG_NAMES), text=True, timeout=30, check=True)
    assert function_name("f" + ".1" * 900) == "f"
    assert function_name("f" + ".1" * 24 + "x") == "f" + ".1" * 24 + "x"


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (NativeFrame("/usr/lib/libc.so.6", None, 0x1F), "libc.so.6+0x1f"),
        (NativeFrame(r"C:\Windows\System32\ucrtbase.dll", None, 0x7286E), "ucrtbase.dll+0x7286e"),
        (NativeFrame("libc.so.6", None, 0), "libc.so.6+0x0"),
        (NativeFrame("libc.so.6", None), "libc.so.6"),
        (NativeFrame(None, None), "unknown module"),
    ],
)
def test_a_frame_without_a_symbol_is_named_by_module_and_offset(frame: NativeFrame, name: str) -> None:
    assert name_of(frame) == name


# ---------------------------------------------------------------- whose a frame is


@pytest.mark.parametrize(
    "path",
    [
        "train.py",
        "<stdin>",
        "<ipython-input-3-0123456789ab>",
        "/home/me/project/train.py",
        "/home/me/project/lib/python_tools/a.py",
        "/home/me/project/lib/loader.py",
        "/home/me/project/Lib/loader.py",
        "/opt/app/train.py",
        "/usr/src/app/train.py",
        r"C:\Users\me\train.py",
        r"C:\Users\me\project\lib\loader.py",
        r"C:\Users\me\Documents\Python\project\lib\loader.py",
    ],
)
def test_a_file_of_the_person(path: str) -> None:
    assert file_owner(path) == "own"
    assert is_own(PythonFrame(path, 1, "f"))


@pytest.mark.parametrize(
    "path",
    [
        r"C:\Python311\Lib\multiprocessing\pool.py",
        r"C:\Python311\lib\multiprocessing\pool.py",
        r"C:\Users\me\AppData\Local\Programs\Python\Python311\lib\threading.py",
        r"C:\Users\me\anaconda3\envs\tf\lib\runpy.py",
        r"C:\ProgramData\Miniconda3\LIB\ctypes\__init__.py",
        r"C:\hostedtoolcache\windows\Python\3.10.11\x64\lib\json\decoder.py",
        r"C:\Users\me\.pyenv\pyenv-win\versions\3.11.0\lib\_strptime.py",
        r"D:\py\Lib\distutils\core.py",
        r"...\lib\multiprocessing\pool.py",
        "C:/Python311/lib/queue.py",
    ],
)
def test_on_windows_the_standard_library_is_pythons_however_its_folder_is_spelt(path: str) -> None:
    assert file_owner(path) == "python"
    assert not is_own(PythonFrame(path, 1, "f"))


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/usr/lib/python3.11/ctypes/__init__.py", "python"),
        ("/usr/lib64/python3.9/threading.py", "python"),
        ("/opt/conda/lib/python3.10/runpy.py", "python"),
        ("/home/me/.pyenv/versions/3.11.7/lib/python3.11/queue.py", "python"),
        ("/home/me/.local/share/uv/python/cpython-3.12.1-linux-x86_64-gnu/lib/python3.12/queue.py", "python"),
        ("/Library/Frameworks/Python.framework/Versions/3.11/lib/python3.11/queue.py", "python"),
        ("<frozen importlib._bootstrap>", "python"),
        ("/home/me/project/.venv/lib/python3.11/site-packages/keras/src/a.py", "package"),
        (r"C:\venv\Lib\site-packages\keras\a.py", "package"),
        (r"C:\venv\lib\Site-Packages\keras\a.py", "package"),
        ("site-packages/keras/a.py", "package"),
        ("/usr/lib/python3/dist-packages/six.py", "package"),
        ("/usr/share/app/run.py", "system"),
        ("/tmp/__autograph_generated_file1x2y.py", "generated"),
        ("<__array_function__ internals>", "generated"),
    ],
)
def test_a_file_that_is_somebody_elses(path: str, owner: str) -> None:
    assert file_owner(path) == owner


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/home/me/project/libmine.so", "own"),
        ("/home/me/project/op/mine.cpython-311-x86_64-linux-gnu.so", "own"),
        ("mine.cpython-311-x86_64-linux-gnu.so", "own"),
        ("/home/me/forge-project/libmine.so", "own"),
        ("/home/me/conda.so", "own"),
        ("/home/me/uv/libmine.so", "own"),
        ("/usr/src/app/libmine.so", "own"),
        ("/home/me/cuda_ops.so", "own"),
        (r"C:\Users\me\op\mine.dll", "own"),
        ("/home/me/project/.venv/lib/python3.11/site-packages/tensorflow/libtensorflow_cc.so.2", "package"),
        ("/home/me/miniconda3/lib/libx.so", "package"),
        ("/home/me/my-mambaforge-2/envs/x/lib/liby.so", "package"),
        ("/home/me/.pyenv/versions/3.11/lib/libz.so", "package"),
        ("/home/me/cuda/libcudnn.so.8", "package"),
        (r"D:\tools\cudnn64_8.dll", "package"),
        (r"D:\tools\zlibwapi.dll", "package"),
        (r"C:\Program Files\Vendor\x.dll", "package"),
        (r"C:\Users\me\anaconda3\Library\bin\x.dll", "package"),
        ("/usr/local/bin/python3.11", "python"),
        ("/home/me/python/libpython3.11.so.1.0", "python"),
        (r"C:\Python311\python311.dll", "python"),
        (r"C:\Python311\DLLs\_ctypes.pyd", "python"),
        ("/home/me/py/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so", "python"),
        ("_ctypes.cpython-311-x86_64-linux-gnu.so", "python"),
        ("/usr/lib/x86_64-linux-gnu/libz.so", "system"),
        ("/lib/libc.so.6", "system"),
        ("libstdc++.so.6.0.30", "system"),
        ("[vdso]", "system"),
        (r"C:\Windows\System32\d3d12.dll", "system"),
        (r"c:\windows\system32\ntdll.dll", "system"),
        (r"D:\app\VCRUNTIME140.dll", "system"),
        ("/System/Library/Frameworks/Metal.framework/Metal", "system"),
        ("/memfd:jit (deleted)", "generated"),
    ],
)
def test_whose_a_native_library_is(path: str, owner: str) -> None:
    assert module_owner(path) == owner


@pytest.mark.parametrize("module", ["NTDLL.DLL", "ucrtbase.dll", "libc.so.6", "libc-2.31.so", "libsystem_kernel.dylib"])
def test_a_module_that_only_raises_and_ends(module: str) -> None:
    assert is_machinery_module(module)


@pytest.mark.parametrize("module", ["python311.dll", "libcudnn.so.8", "libcrypto.so", "nvcuda.dll"])
def test_a_module_that_can_be_at_fault(module: str) -> None:
    assert not is_machinery_module(module)


@pytest.mark.parametrize(
    ("source", "own"),
    [
        ("/home/me/op/lookup.cc", True),
        ("/data/build-2/op.cc", True),
        ("../sysdeps/x86_64/multiarch/strlen-evex.S", False),
        ("./nptl/pthread_kill.c", False),
        ("malloc.c", False),
        ("/usr/include/c++/12/bits/invoke.h", False),
        ("/tmp/python-build.20240101/Python-3.11.7/Modules/_ctypes/_ctypes.c", False),
        ("/build/python3.11-abc/Objects/abstract.c", False),
        ("/home/conda/feedstock_root/build_artifacts/x.c", False),
        ("/root/.cache/bazel/_bazel_root/0/execroot/x/y.cc", False),
        ("/rustc/0123abcd/library/std/src/panicking.rs", False),
    ],
)
def test_a_source_file_is_where_people_work_or_where_others_build(source: str, own: bool) -> None:
    assert source_is_own(source) is own


# ---------------------------------------------------------------- which frames are machinery


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("<signal handler called>", "handling"),
        ("__restore_rt", "handling"),
        ("_sigtramp", "handling"),
        ("KiUserExceptionDispatcher", "handling"),
        ("__pthread_kill_implementation", "sending"),
        ("__GI_raise", "sending"),
        ("gsignal", "sending"),
        ("__GI_abort", "ending"),
        ("__libc_message", "reporting"),
        ("std::terminate()", "reporting"),
        ("__cxxabiv1::__terminate(void (*)())", "reporting"),
        ("std::__throw_bad_alloc()", "reporting"),
        ("__assert_fail_base.cold", "reporting"),
        ("absl::lts_20230802::log_internal::LogMessageFatal::~LogMessageFatal()", "reporting"),
        ("??1LogMessageFatal@internal@tsl@@QEAA@XZ", "reporting"),
        ("faulthandler_fatal_error", "reporting"),
        ("__libc_start_call_main", "starting"),
        ("clone3", "starting"),
        ("std::thread::_State_impl<std::thread::_Invoker<std::tuple<F> > >::_M_run()", "starting"),
        ("BaseThreadInitThunk", "starting"),
        ("_PyEval_EvalFrameDefault", "evaluating"),
        ("_PyObject_MakeTpCall", "calling"),
        ("abort_if_negative", None),
        ("kill_zombies", None),
        ("op::LogMessageOp::Compute()", None),
        ("tensorflow::ConvOp::Compute", None),
    ],
)
def test_what_a_function_does_for_the_crash_and_not_for_the_program(function: str, what: str | None) -> None:
    assert role(function_name(function)) == what


def stack(*functions: str) -> list[NativeFrame]:
    return [NativeFrame(None, function) for function in functions]


def names(frames: Iterable[NativeFrame]) -> list[str]:
    return [name_of(frame) for frame in frames]


def test_a_stack_begins_at_its_fault_and_not_in_the_handler() -> None:
    frames = stack("raise", "faulthandler_fatal_error", "<signal handler called>", "Copy()", "Run()")
    assert names(from_fault(frames)) == ["Copy", "Run"]


def test_of_two_handlers_the_fault_is_below_the_one_that_ran_first() -> None:
    frames = stack("sleep", "<signal handler called>", "raise", "<signal handler called>", "Copy()", "Run()")
    assert names(from_fault(frames)) == ["Copy", "Run"]


def test_a_stack_that_ends_in_the_handler_is_kept() -> None:
    frames = stack("raise", "<signal handler called>")
    assert from_fault(frames) == tuple(frames)


def test_an_abort_is_shown_next_to_what_asked_for_it() -> None:
    frames = stack("__pthread_kill_implementation", "__GI_raise", "__GI_abort", "std::terminate()", "Op::Compute()")
    assert names(crash_frames(frames)) == ["abort", "Op::Compute"]


def test_a_damaged_heap_is_the_reason_and_not_just_a_report() -> None:
    frames = stack("abort", "__libc_message", "malloc_printerr", "_int_free")
    assert names(crash_frames(frames)) == ["abort", "malloc_printerr", "_int_free"]


def test_a_stack_of_nothing_but_sending_is_kept() -> None:
    assert list(without_reporting([Called("raise", None), Called("kill", None)])) == [0, 1]
    assert list(without_reporting([])) == []


def test_a_stack_has_the_same_distinctive_frames_whether_a_debugger_or_a_collector_printed_it() -> None:
    printed = stack("__pthread_kill_implementation", "__GI_raise", "<signal handler called>")
    printed += [NativeFrame(None, "std::string::size", inlined=True)]
    printed += stack("decode", "std::thread::_State_impl<F>::_M_run(void)", "start_thread", "clone3")
    collected = [NativeFrame("libmine.so", "size", inlined=True), NativeFrame("libmine.so", "decode")]
    collected += [NativeFrame("libstdc++.so.6.0.30", None, 0xD44A3)]
    assert names(distinctive(printed)) == names(distinctive(collected)) == ["decode"]


def test_the_interpreters_way_of_calling_is_not_distinctive_but_what_it_calls_is() -> None:
    frames = stack("list_dealloc", "_PyEval_EvalFrameDefault", "object_repr", "tensorflow::Run()", "Py_RunMain", "main")
    assert names(distinctive(frames)) == ["list_dealloc", "tensorflow::Run"]


def test_a_function_named_like_the_interpreters_is_the_persons_in_their_own_library() -> None:
    frames = [NativeFrame("libmine.so", "method_call"), NativeFrame("libmine.so", "run")]
    assert names(distinctive(frames)) == ["method_call", "run"]


def test_machinery_alone_is_better_than_nothing() -> None:
    assert names(distinctive(stack("raise", "abort"))) == ["raise", "abort"]
