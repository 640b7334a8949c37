"""Private packs laid over ours: what they add, replace and switch off, and how a broken one is named and left out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from building import PRIVATE_CAUSE, PRIVATE_LINE, crash_of, line_with, signature_data, write_pack

import triage
from triage.crash import Environment, Place
from triage.diagnosis import diagnose
from triage.knowledge.database import UNKNOWN_CAUSE_PRIOR, Knowledge, load
from triage.knowledge.pack import private_directories

OURS = "gpu/out-of-memory"
# What a private signature may get wrong, by the words of the problem.
BROKEN = {
    "unknown clue kind 'smell'": signature_data(clues=[{"id": "nose", "smell": "burnt"}]),
    "unknown cause 'house.unheard-of'": signature_data(cause="house.unheard-of"),
    "a fix without 'verify'": signature_data(fix=[{"do": "Wait."}]),
    "unknown grade 'certain'": signature_data(grade="certain"),
    "'tests' is missing": signature_data(tests=None),
}


def test_our_own_pack_has_no_problem_and_no_private_pack_over_it(knowledge: Knowledge) -> None:
    assert knowledge.signatures
    assert (knowledge.problems, knowledge.packs) == ((), ())


def test_every_signature_of_ours_has_a_cause_with_a_page(knowledge: Knowledge) -> None:
    assert {s.cause for s in knowledge.signatures.values()} <= set(knowledge.causes)


def test_a_private_pack_is_laid_over_ours(tmp_path: Path, knowledge: Knowledge) -> None:
    both = load((str(write_pack(tmp_path / "house", {"house/scheduler": signature_data()})),))
    assert set(both.signatures) == {*knowledge.signatures, "house/scheduler"}
    assert both.signatures["house/scheduler"].pack == "house"
    assert both.packs == ("house",)
    assert both.problems == ()


def test_a_private_signature_replaces_ours_with_the_same_id(tmp_path: Path) -> None:
    data = signature_data(title="The card of this house is full", cause="gpu.out-of-memory")
    both = load((str(write_pack(tmp_path / "house", {OURS: data})),))
    assert both.signatures[OURS].title == "The card of this house is full"


def test_the_last_pack_lies_on_top(tmp_path: Path) -> None:
    packs = [
        write_pack(tmp_path / name, {"house/scheduler": signature_data(title=f"Title of {name}")})
        for name in ("first", "second")
    ]
    both = load(tuple(map(str, packs)))
    assert both.signatures["house/scheduler"].title == "Title of second"
    assert both.packs == ("first", "second")


def test_a_private_pack_can_switch_off_a_signature_of_ours(tmp_path: Path, knowledge: Knowledge) -> None:
    both = load((str(write_pack(tmp_path / "house", pack={"schema": 1, "name": "house", "disables": [OURS]})),))
    assert set(both.signatures) == set(knowledge.signatures) - {OURS}


def test_a_pack_may_replace_what_it_switches_off(tmp_path: Path) -> None:
    tables = {"pack": {"schema": 1, "name": "house", "disables": [OURS]}}
    data = signature_data(cause="gpu.out-of-memory")
    both = load((str(write_pack(tmp_path / "house", {OURS: data}, **tables)),))
    assert both.signatures[OURS].pack == "house"


def test_a_private_pack_may_have_its_own_causes_noise_and_pages(tmp_path: Path, knowledge: Knowledge) -> None:
    pack = write_pack(
        tmp_path / "house",
        {"house/scheduler": signature_data(cause=PRIVATE_CAUSE)},
        causes={PRIVATE_CAUSE: {"title": "The house took the node", "prior": 0.03}, "house.rare": {"title": "Rare"}},
        noise={"noise": ["house greeting of the day"]},
        explanations={"statuses": {"exit 77": {"means": "The slot is over."}}},
    )
    both = load((str(pack),))
    assert both.problems == ()
    assert both.causes[PRIVATE_CAUSE].prior == 0.03
    assert both.causes["house.rare"].prior == UNKNOWN_CAUSE_PRIOR
    assert both.noise == (*knowledge.noise, "house greeting of the day")
    assert both.statuses["exit 77"]["means"] == "The slot is over."
    assert both.statuses["SIGSEGV"] == knowledge.statuses["SIGSEGV"]


def test_a_private_pack_adds_its_modules_to_ours(tmp_path: Path, knowledge: Knowledge) -> None:
    pack = write_pack(tmp_path / "house", {}, distributions={"packages": {"rows": {"house": "house-tools>=2"}}})
    both = load((str(pack),))
    assert both.problems == ()
    ours = knowledge.distributions["packages"]["rows"]
    assert both.distributions["packages"]["rows"] == {**ours, "house": "house-tools>=2"}
    assert both.distributions["elsewhere"] == knowledge.distributions["elsewhere"]


def test_a_private_signature_can_be_the_diagnosis(tmp_path: Path) -> None:
    pack = write_pack(
        tmp_path / "house",
        {"house/scheduler": signature_data(cause=PRIVATE_CAUSE)},
        causes={PRIVATE_CAUSE: {"title": "The house took the node", "prior": 0.03}},
    )
    report = diagnose(crash_of("step 4", PRIVATE_LINE), load((str(pack),)), version="test")
    assert (report.diagnoses[0].cause, report.diagnoses[0].because[0].place) == (PRIVATE_CAUSE, Place(0, 2))


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_private_signature_is_named_and_skipped_while_the_rest_works(tmp_path: Path, what: str) -> None:
    pack = write_pack(tmp_path / "house", {"house/broken": BROKEN[what], "house/scheduler": signature_data()})
    both = load((str(pack),))
    (problem,) = both.problems
    assert what in problem.what
    assert problem.file == str(pack / "house" / "broken.yaml")
    assert problem.line
    assert problem.instead
    assert "house/broken" not in both.signatures
    assert {"house/scheduler", OURS} <= set(both.signatures)


def test_the_line_is_that_of_the_fault(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {"house/broken": BROKEN["unknown clue kind 'smell'"]})
    (problem,) = load((str(pack),)).problems
    assert problem.line == line_with(pack / "house" / "broken.yaml", "smell")
    assert str(problem).startswith(f"{problem.file}:{problem.line}: unknown clue kind 'smell'; write one of log,")


def test_a_broken_private_signature_leaves_ours_with_the_same_id_in_place(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {OURS: signature_data(grade="certain")})
    both = load((str(pack),))
    assert both.signatures[OURS].pack == "triage"


def test_a_file_that_is_not_yaml_is_named_with_its_line(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {"house/broken": "title: fine\ncause: [unclosed\n"})
    (problem,) = load((str(pack),)).problems
    assert problem.what.startswith("not YAML")
    assert problem.line in (2, 3)


def test_a_file_with_an_impossible_date_is_named_and_skipped(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {"house/broken": "title: 2024-13-45\n", "house/scheduler": signature_data()})
    both = load((str(pack),))
    assert [problem.file for problem in both.problems] == [str(pack / "house" / "broken.yaml")]
    assert "house/scheduler" in both.signatures


def test_a_pattern_that_re2_does_not_take_is_named_and_skipped(tmp_path: Path) -> None:
    clues = [{"id": "ahead", "log": "this line (?=and the next)"}]
    pack = write_pack(tmp_path / "house", {"house/broken": signature_data(clues=clues)})
    both = load((str(pack),))
    report = diagnose(crash_of("this line and the next"), both, version="test")
    assert report.verdict == "unknown"
    (problem,) = both.problems
    assert "RE2" in problem.what
    assert problem.line == line_with(pack / "house" / "broken.yaml", "this line")


def test_a_pattern_over_cards_that_re2_does_not_take_is_named_and_skipped(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {"house/a": signature_data(clues=[{"environment": {"gpu": "RTX (?=4090)"}}])})
    both = load((str(pack),))
    assert diagnose(crash_of("words", environment=Environment(gpus=("RTX 4090",))), both, version="test")
    (problem,) = both.problems
    assert "RE2" in problem.what


def test_every_pattern_over_logs_is_listed_for_the_search(tmp_path: Path) -> None:
    clues = [{"log": "plain words"}, {"id": "x", "any": [{"log": "inner words"}, {"exception": "TypeError"}]}]
    noise = {"noise": ["noisy words"], "life": ["words of life"]}
    pack = write_pack(tmp_path / "house", {"house/a": signature_data(clues=clues)}, noise=noise)
    ours, both = load(), load((str(pack),))
    assert set(both.literals) - set(ours.literals) == {"plain words", "inner words", "noisy words", "words of life"}
    assert {*ours.noise, *ours.life} <= set(ours.literals)


@pytest.mark.parametrize(
    "tables",
    [
        {"causes": ["not", "a", "mapping"]},
        {"causes": {"house.a": None}},
        {"causes": {"house.a": {"prior": "often"}}},
        {"causes": {"house.a": {"prior": 0}}},
        {"noise": ["not", "a", "mapping"]},
        {"noise": {"noise": ["an (unclosed group"]}},
        {"distributions": {"packages": ["not", "a", "mapping"]}},
        {"distributions": {"packages": {"rows": {"house": "house-tools && curl x"}}}},
        {"distributions": {"elsewhere": {"rows": {"house": ["not", "a", "text"]}}}},
        {"explanations": ["not", "a", "mapping"]},
        {"pack": {"schema": 1, "name": "house", "disables": OURS}},
    ],
    ids=str,
)
def test_a_broken_table_is_named_while_the_signatures_work(tmp_path: Path, tables: dict[str, Any]) -> None:
    data = signature_data(cause="house.a") if "causes" in tables else signature_data()
    pack = write_pack(tmp_path / "house", {"house/scheduler": data}, **tables)
    both = load((str(pack),))
    diagnose(crash_of("Traceback of something", exit="1"), both, version="test")
    assert any(problem.file == str(pack / f"{next(iter(tables))}.yaml") for problem in both.problems)
    assert OURS in both.signatures


def test_a_pack_may_have_its_causes_in_one_file_in_its_families_or_in_both(
    tmp_path: Path, knowledge: Knowledge
) -> None:
    pack = write_pack(
        tmp_path / "house",
        {
            "attic/causes": {"attic.a": {"prior": 0.01}},
            "house/causes": {"house.b": {"prior": 0.01}, "house.a": {"prior": 0.02}},
            "yard/causes": {"yard.a": {"prior": 0.01}, "yard": {"prior": 0.01}},
            "house/scheduler": signature_data(cause="house.a"),
        },
        pack={"schema": 1, "name": "house", "families": ["yard", "house"]},
        causes={"house.top": {"prior": 0.01}},
    )
    both = load((str(pack),))
    assert both.problems == ()
    own = [slug for slug in both.causes if slug not in knowledge.causes]
    assert own == ["house.top", "yard.a", "yard", "house.b", "house.a", "attic.a"]
    assert both.causes["house.a"].prior == 0.02
    assert set(both.signatures) - set(knowledge.signatures) == {"house/scheduler"}


@pytest.mark.parametrize(
    ("causes", "words", "what"),
    [
        (
            {"house.a": {"prior": 0.01}, "yard.b": {"prior": 0.01}},
            "yard.b",
            "'yard.b' is not a cause of the family house",
        ),
        ({"house.a": {"prior": 0.01}, "house.b": {"prior": 2}}, "house.b", "'house.b' is not a page"),
        ({"house.a": {"prior": 0.01}, "house.top": {"prior": 0.01}}, "house.top", "'house.top' is in"),
        ("house.a: {prior: 0.01}\nhouse.b: ]", "house.b", "not YAML"),
        (["not", "a", "mapping"], "not", "this file is not a mapping"),
        (signature_data(), "title", "no signature can have this name"),
    ],
    ids=["of another family", "no page", "twice", "no YAML", "no mapping", "a signature"],
)
def test_a_wrong_cause_is_named_with_the_file_and_line_of_its_family_while_the_others_work(
    tmp_path: Path, causes: Any, words: str, what: str
) -> None:
    pack = write_pack(tmp_path / "house", {"house/causes": causes}, causes={"house.top": {"prior": 0.03}})
    both = load((str(pack),))
    file = pack / "house" / "causes.yaml"
    (problem,) = both.problems
    assert (problem.file, problem.line) == (str(file), line_with(file, words))
    assert what in problem.what
    assert both.causes["house.top"].prior == 0.03
    assert ("house.a" in both.causes) == (isinstance(causes, dict) and "house.a" in causes)
    assert not [id for id in both.signatures if id.endswith("/causes")]


def test_a_pack_without_schema_is_named_and_its_signatures_are_still_used(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {"house/scheduler": signature_data()}, pack={"name": "house"})
    both = load((str(pack),))
    assert [(p.file, p.instead) for p in both.problems] == [(str(pack / "pack.yaml"), "schema: 1")]
    assert "house/scheduler" in both.signatures


def test_a_pack_that_does_not_exist_is_named(tmp_path: Path, knowledge: Knowledge) -> None:
    both = load((str(tmp_path / "nowhere"),))
    (problem,) = both.problems
    assert problem.file == str(tmp_path / "nowhere")
    assert set(both.signatures) == set(knowledge.signatures)


def test_packs_in_triage_signatures_come_after_those_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_SIGNATURES", os.pathsep.join(["/packs/a", "", "/packs/b"]))
    assert private_directories(("/packs/given",)) == ("/packs/given", "/packs/a", "/packs/b")


def test_without_triage_signatures_only_those_given_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIAGE_SIGNATURES", raising=False)
    assert private_directories(()) == ()


def test_the_library_loads_the_packs_of_triage_signatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = write_pack(tmp_path / "house", {"house/scheduler": signature_data()})
    monkeypatch.setenv("TRIAGE_SIGNATURES", str(pack))
    assert triage.load_knowledge().packs == ("house",)


def test_the_command_names_a_broken_private_signature_and_still_answers(tmp_path: Path, run_triage: Any) -> None:
    pack = write_pack(tmp_path / "house", {"house/broken": signature_data(grade="certain")})
    done = run_triage("explain", "SIGSEGV", TRIAGE_SIGNATURES=str(pack))
    assert "SIGSEGV" in done.stdout
    assert done.returncode == 0


def test_the_command_analyses_with_a_broken_private_signature_named_on_stderr(tmp_path: Path, run_triage: Any) -> None:
    broken = signature_data(grade="certain")
    pack = write_pack(tmp_path / "house", {"house/broken": broken, "house/scheduler": signature_data()})
    done = run_triage("analyze", "-", input=PRIVATE_LINE + "\n", TRIAGE_SIGNATURES=str(pack))
    line = line_with(pack / "house" / "broken.yaml", "grade")
    assert f"{pack / 'house' / 'broken.yaml'}:{line}: unknown grade 'certain'" in done.stderr
    assert "host.out-of-memory" in done.stdout
