"""C++ names as a person would say them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from triage.native.names import short


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("main", "main"),
        ("ns::Op<Device, float, true>::Compute(ns::Context*)", "ns::Op::Compute"),
        ("ns::(anonymous namespace)::Run(int) const", "ns::{anonymous}::Run"),
        ("ns::make<(ns::kind)560>::build()::{lambda(int, bool)#1}::operator()(int, bool) const",
         "ns::make::build::{lambda}::operator()"),
        ("std::enable_if<!a<b>::value, c>::type ns::load<d>::call<e, f>(int)", "ns::load::call"),
        ("void std::__invoke_impl<void, A::f(std::function<void ()>)::{lambda()#1}&>(int)", "std::__invoke_impl"),
        ("ns::Status const& ns::Node::status() const", "ns::Node::status"),
        ("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char)", "std::operator<<"),
        ("ns::Flag::operator bool() const", "ns::Flag::operator bool"),
        ("operator new(unsigned long)", "operator new"),
    ],
)  # fmt: skip
def test_template_arguments_parameters_and_return_types_are_cut(symbol: str, name: str) -> None:
    assert short(symbol) == name


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
    ],
)
def test_what_compilers_and_linkers_hang_on_a_name_is_cut(symbol: str, name: str) -> None:
    assert short(symbol) == name


@pytest.mark.parametrize("symbol", ["_ZN3foo3barEv", "<signal handler called>", "???", "<", ")", "a" * 100_000])
def test_a_name_that_is_none_is_kept_and_never_becomes_empty(symbol: str) -> None:
    assert short(symbol)


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
    assert short(symbol) == name


# Names of a core or of a held process, which whoever wrote the program chose.
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
)  # fmt: skip


def test_a_name_made_to_hold_us_up_is_cut_at_once() -> None:
    """In a process of its own, because a search that never ends would take the tests along."""
    program = (
        "import ast, sys; from triage.native.names import short; [*map(short, ast.literal_eval(sys.stdin.read()))]"
    )
    subprocess.run([sys.executable, "-c", program], input=repr(LONG_NAMES), text=True, timeout=30, check=True)
    assert short("f" + ".1" * 900) == "f"
    assert short("f" + ".1" * 24 + "x") == "f" + ".1" * 24 + "x"
