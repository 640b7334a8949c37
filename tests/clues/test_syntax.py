"""Clues as YAML says them: what each kind becomes, what is filled in, and what is refused in words."""

from __future__ import annotations

from typing import Any

import pytest
from building import clue

from triage.clues import KINDS, exit, patterns_of
from triage.clues.any import AnyOf
from triage.clues.environment import EnvironmentSeen
from triage.clues.exception import ExceptionSeen
from triage.clues.exit import ExitSeen
from triage.clues.fault import FaultSeen
from triage.clues.interface import SignatureError
from triage.clues.log import LogSeen
from triage.clues.memory import MemorySeen
from triage.clues.module import ModuleSeen
from triage.clues.native import NativeSeen
from triage.clues.process import ProcessSeen
from triage.clues.python import PythonSeen
from triage.clues.sequence import InSequence


@pytest.mark.parametrize(
    ("written", "sought"),
    [
        ({"log": "OOM when"}, LogSeen("OOM when")),
        ({"exception": "MemoryError"}, ExceptionSeen("MemoryError", None)),
        ({"exception": {"type": "Error$", "message": "no room"}}, ExceptionSeen("Error$", "no room")),
        ({"exit": "SIGSEGV"}, ExitSeen(("SIGSEGV",))),
        ({"exit": ["SIGSEGV", "exit 1"]}, ExitSeen(("SIGSEGV", "exit 1"))),
        ({"exit": {"status": "0xC0000409", "subcode": 7}}, ExitSeen(("0xC0000409",), (7,))),
        ({"exit": {"status": "0xC0000409", "subcode": [7, "untold"]}}, ExitSeen(("0xC0000409",), (7, None))),
        ({"native": "MklConvOp"}, NativeSeen("MklConvOp", None, None)),
        ({"native": {"module": "libcudnn", "within": 3}}, NativeSeen(None, "libcudnn", 3)),
        ({"python": {"file": "nn_ops", "function": "pool", "within": 6}}, PythonSeen("nn_ops", "pool", 6)),
        ({"module": "cudnn"}, ModuleSeen("cudnn", False, None)),
        ({"module": {"present": "cudnn", "version": ">=8.3,<9"}}, ModuleSeen("cudnn", False, ">=8.3,<9")),
        ({"module": {"absent": "zlibwapi"}}, ModuleSeen("zlibwapi", True, None)),
        ({"memory": "oom_killed"}, MemorySeen("oom_killed")),
        ({"memory": "shm_full"}, MemorySeen("shm_full")),
        ({"fault": {"address": "null", "access": "write"}}, FaultSeen("null", "write")),
        ({"fault": {"address": None}}, FaultSeen("null")),
        ({"fault": {"instruction": "div", "needs_missing_flag": True}}, FaultSeen(None, None, "div", True)),
        ({"fault": {"stack_full": False}}, FaultSeen(stack_full=False)),
        ({"process": {"forked_with": "tensorflow"}}, ProcessSeen("tensorflow")),
        ({"process": {"not_forked_with": "tensorflow"}}, ProcessSeen("tensorflow", absent=True)),
        ({"environment": {"os": "windows"}}, EnvironmentSeen(("windows",), None, (), None, None)),
        (
            {"environment": {"package": {"numpy": "<2"}, "python": ">=3.12", "lacks_cpu_flag": "avx", "gpu": "RTX"}},
            EnvironmentSeen((), ">=3.12", (("numpy", "<2"),), "avx", "RTX"),
        ),
    ],
)
def test_each_kind_is_read_into_its_own_form(written: dict[str, Any], sought: object) -> None:
    found = clue(written).sought
    assert type(found) is type(sought)
    assert found == sought


def test_combinators_hold_clues_of_their_own() -> None:
    found = clue({"any": [{"log": "one thing"}, {"sequence": [{"log": "first"}, {"exit": "SIGKILL"}]}]})
    assert isinstance(found.sought, AnyOf)
    inner = found.sought.clues[1].sought
    assert isinstance(inner, InSequence)
    assert [c.kind for c in inner.clues] == ["log", "exit"]


def test_what_is_not_said_has_a_value_by_its_kind() -> None:
    found = clue({"log": "OOM when"}, p=0.8)
    assert (found.id, found.p, found.b, found.says, found.consequence_of) == (
        "log",
        0.8,
        KINDS["log"].background,
        None,
        (),
    )


def test_what_is_said_beats_those_values() -> None:
    found = clue({"id": "oom", "log": "OOM when", "p": 0.5, "b": 0.002, "says": "no room", "consequence_of": "gpu.x"})
    assert (found.id, found.p, found.b, found.says) == ("oom", 0.5, 0.002, "no room")
    assert found.consequence_of == ("gpu.x",)


def test_a_common_exit_status_says_less_than_a_rare_one() -> None:
    assert clue({"exit": "SIGSEGV"}).b == exit.BACKGROUND["SIGSEGV"]
    assert clue({"exit": "SIGFPE"}).b < clue({"exit": "SIGSEGV"}).b


def test_several_exit_statuses_are_as_common_as_all_of_them_together() -> None:
    both = clue({"exit": ["SIGSEGV", "SIGABRT"]})
    assert both.b == pytest.approx(exit.BACKGROUND["SIGSEGV"] + exit.BACKGROUND["SIGABRT"])


REFUSED = [
    ("just text", (), "a clue is a mapping"),
    ({"smell": "burnt"}, ("smell",), "unknown clue kind 'smell'"),
    ({"id": "nothing", "p": 0.9}, (), "exactly one kind"),
    ({"log": "a", "exit": "SIGSEGV"}, (), "exactly one kind"),
    ({"log": 5}, ("log",), "5 is not a text"),
    ({"log": ""}, ("log",), "is not a text"),
    ({"exception": {"kind": "x"}}, ("exception", "kind"), "unknown field 'kind'"),
    ({"exit": 139}, ("exit",), "139 is not a text"),
    ({"exit": ["SIGSEGV", 1]}, ("exit", 1), "1 is not a text"),
    ({"exit": {"subcode": 7}}, ("exit",), "names a status"),
    ({"exit": {"status": "0xC0000409", "subcode": "seven"}}, ("exit", "subcode"), "is not a whole number"),
    ({"native": {"function": "f", "within": -1}}, ("native", "within"), "is not a whole number"),
    ({"python": {}}, ("python",), "this clue is a mapping"),
    ({"module": {"present": "a", "absent": "b"}}, ("module",), "either present or absent"),
    ({"module": {"version": ">=2"}}, ("module",), "either present or absent"),
    ({"memory": "tired"}, ("memory",), "unknown memory condition"),
    ({"fault": "null"}, ("fault",), "this clue is a mapping"),
    ({"fault": {"place": "null"}}, ("fault", "place"), "unknown field 'place'"),
    ({"fault": {"address": "far"}}, ("fault", "address"), "unknown address 'far'"),
    ({"fault": {"access": "jump"}}, ("fault", "access"), "unknown access 'jump'"),
    ({"fault": {"stack_full": "yes"}}, ("fault", "stack_full"), "neither true nor false"),
    ({"environment": {"package": "numpy"}}, ("environment", "package"), "packages are a mapping"),
    ({"any": []}, ("any",), "at least 1"),
    ({"sequence": [{"log": "alone"}]}, ("sequence",), "at least 2"),
    ({"thread": [{"native": "alone"}]}, ("thread",), "at least 2"),
    ({"thread": [{"native": "f"}, {"log": "a"}]}, ("thread", 1), "a thread has no clue of the kind 'log'"),
    ({"process": {"forked_with": "a", "not_forked_with": "b"}}, ("process",), "with something, or was not"),
    ({"any": [{"log": "fine"}, {"smell": "burnt"}]}, ("any", 1, "smell"), "unknown clue kind 'smell'"),
    ({"log": "a", "p": 1.0}, ("p",), "1.0 is not a probability"),
    ({"log": "a", "p": True}, ("p",), "True is not a probability"),
    ({"log": "a", "b": 0}, ("b",), "0 is not a probability"),
    ({"log": "a", "consequence_of": 5}, ("consequence_of",), "5 is not a text"),
    ({"log": "a", "says": 5}, ("says",), "5 is not a text"),
]


@pytest.mark.parametrize(("written", "path", "what"), REFUSED, ids=[what for _, _, what in REFUSED])
def test_a_clue_that_cannot_be_used_is_refused_with_its_place(written: Any, path: tuple[Any, ...], what: str) -> None:
    with pytest.raises(SignatureError) as refused:
        clue(written)
    assert what in refused.value.what
    assert refused.value.path == ("clues", 0, *path)
    assert refused.value.instead


def test_the_refusal_of_an_unknown_kind_lists_the_kinds() -> None:
    with pytest.raises(SignatureError) as refused:
        clue({"smell": "burnt"})
    assert all(kind in refused.value.instead for kind in KINDS)


def test_patterns_are_found_inside_combinators_too() -> None:
    nested = clue(
        {
            "any": [
                {"log": "in the log"},
                {"sequence": [{"exception": {"type": "T", "message": "M"}}, {"python": {"file": "F"}}]},
                {"native": {"function": "N", "module": "so"}},
                {"module": {"absent": "dll"}},
                {"exit": "SIGSEGV"},
            ]
        }
    )
    assert list(patterns_of(nested)) == [
        ("log", "in the log"),
        ("exception", "T"),
        ("exception", "M"),
        ("python", "F"),
        ("native", "N"),
        ("native", "so"),
        ("module", "dll"),
    ]
