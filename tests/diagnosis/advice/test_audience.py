"""A step of a fix is shown only to the people for whom it holds."""

from __future__ import annotations

from typing import Any

import pytest
from building import crash_of, signature_data

from triage.crash import Crash, Environment, Process, Program, ProgramReason, PythonException, PythonFrame
from triage.diagnosis.advice import fix_steps, holding
from triage.knowledge.signature import parse_signature

EVERYBODY = {"do": "Wait.", "risk": "low", "verify": "it passes"}


def is_shown(audience: dict[str, Any], crash: Crash, *seen: str) -> bool:
    """Whether a step for these people is among those that are shown, beside one for everybody."""
    fix = [EVERYBODY, {**EVERYBODY, "do": "Do this.", "for": audience}]
    steps = holding(parse_signature("host/one", "triage", signature_data(fix=fix)).fix, seen, crash)
    assert steps[0].do == "Wait."
    return len(steps) == 2


def with_framework(name: str | None, **environment: Any) -> Crash:
    reasons = (ProgramReason("loaded", name, "loaded"),) if name else ()  # type: ignore[arg-type]
    program = Program("python", name, reasons)  # type: ignore[arg-type]
    return Crash(processes=(Process(program=program),), environment=Environment(**environment))


@pytest.mark.parametrize(
    ("framework", "shown"), [("pytorch", True), ("tensorflow", False), ("jax", False), (None, False)]
)
def test_a_step_for_one_framework_needs_that_framework_to_be_shown(framework: str | None, shown: bool) -> None:
    """Where nothing shows a framework, most programs have none."""
    assert is_shown({"framework": "pytorch"}, with_framework(framework)) is shown


def test_a_step_may_be_for_several_frameworks() -> None:
    two = {"framework": ["jax", "tensorflow"]}
    assert [is_shown(two, with_framework(name)) for name in ("jax", "tensorflow", "pytorch")] == [True, True, False]


@pytest.mark.parametrize(("version", "shown"), [("2.4.1", True), ("1.13.1", False), (None, True)])
def test_versions_are_those_of_the_framework_and_an_unknown_one_rules_nothing_out(
    version: str | None, shown: bool
) -> None:
    packages = (("torch", version),) if version else ()
    crash = with_framework("pytorch", packages=packages)
    assert is_shown({"framework": "pytorch", "versions": ">=2.0"}, crash) is shown


@pytest.mark.parametrize(
    ("implied", "old", "new"),
    [
        ((), True, True),
        ((("tensorflow", "<2"),), True, False),
        ((("tensorflow", ">=2.7,<2.12"),), False, True),
        ((("tensorflow", ">=1.15,<2.2"),), True, True),
        # of another package, and of two inputs that contradict each other
        ((("torch", "<2"),), True, True),
        ((("tensorflow", "<2"), ("tensorflow", ">=2")), True, True),
    ],
)
def test_where_the_text_shows_only_a_range_steps_for_other_versions_are_left_out(
    implied: tuple[tuple[str, str], ...], old: bool, new: bool
) -> None:
    crash = with_framework("tensorflow", implied=implied)
    assert is_shown({"framework": "tensorflow", "versions": "<2"}, crash) is old
    assert is_shown({"framework": "tensorflow", "versions": ">=2"}, crash) is new


def test_a_version_that_is_known_counts_more_than_a_range() -> None:
    crash = with_framework("tensorflow", packages=(("tensorflow", "2.1.0"),), implied=(("tensorflow", "<2"),))
    assert is_shown({"framework": "tensorflow", "versions": ">=2"}, crash)


@pytest.mark.parametrize(("system", "shown"), [("linux", True), ("windows", False), (None, True)])
def test_a_step_for_one_system(system: str | None, shown: bool) -> None:
    assert is_shown({"os": "linux"}, with_framework(None, os=system)) is shown


@pytest.mark.parametrize(
    ("file", "own"),
    [("/home/user/train.py", True), ("/home/user/venv/lib/python3.11/site-packages/keras/x.py", False), (None, None)],
)
def test_a_step_for_those_who_can_change_the_code_that_failed(file: str | None, own: bool | None) -> None:
    frames = (PythonFrame(file, 3, "fit"),) if file else ()
    crash = crash_of("ValueError: no", exceptions=(PythonException("ValueError", "no", frames=frames),))
    assert is_shown({"own_code": True}, crash) is (own is not False)
    assert is_shown({"own_code": False}, crash) is (own is not True)


def test_a_step_for_those_whose_log_has_a_certain_line() -> None:
    crash = with_framework(None)
    assert is_shown({"seen": "took-it"}, crash, "took-it")
    assert not is_shown({"seen": "took-it"}, crash, "other")


@pytest.mark.parametrize(("language", "shown"), [("java", True), ("python", False), (None, False)])
def test_a_step_for_one_language_needs_that_language_to_be_shown(language: Any, shown: bool) -> None:
    program = Program(language, None) if language else None
    crash = Crash(processes=(Process(program=program),))
    assert is_shown({"language": ["java", "dotnet"]}, crash) is shown


def test_a_step_is_kept_from_those_who_get_another_in_its_place() -> None:
    unless = [{"framework": "pytorch"}, {"seen": "took-it"}]
    fix = parse_signature("host/one", "triage", signature_data(fix=[{**EVERYBODY, "unless": unless}])).fix
    told = [(None, ()), ("jax", ("other",)), ("pytorch", ()), ("jax", ("took-it",))]
    assert [len(holding(fix, seen, with_framework(name))) for name, seen in told] == [1, 1, 0, 0]


def test_a_step_that_comes_to_the_same_as_an_earlier_one_is_told_once() -> None:
    for_one = {"do": "Take {version}.", "otherwise": "Wait.", "risk": "low", "verify": "it passes"}
    fix = parse_signature("host/one", "triage", signature_data(fix=[for_one, EVERYBODY])).fix
    assert [step.do for step in fix_steps(fix, {}, {}, Crash())] == ["Wait."]
    assert [step.do for step in fix_steps(fix, {"version": "2"}, {}, Crash())] == ["Take 2.", "Wait."]


@pytest.mark.parametrize(("maker", "shown"), [("nvidia", ["nvidia"]), ("amd", ["amd"]), (None, ["nvidia"])])
def test_a_card_that_nothing_shows_is_taken_for_the_usual_one(maker: str | None, shown: list[str]) -> None:
    crash = with_framework(None, card_maker=maker)
    assert [card for card in ("nvidia", "amd") if is_shown({"card": card}, crash)] == shown


@pytest.mark.parametrize(
    ("architecture", "shown"), [("x64", ["x86"]), ("arm64", ["arm"]), ("arm", ["arm"]), (None, ["x86"])]
)
def test_a_step_for_one_kind_of_processor(architecture: str | None, shown: list[str]) -> None:
    crash = with_framework(None, architecture=architecture)
    assert [kind for kind in ("x86", "arm") if is_shown({"processor": kind}, crash)] == shown
