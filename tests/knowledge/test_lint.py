"""Lint refuses what would mislead people: each refusal with its file, its line and what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import crash_of, line_with, signature_data, write_log, write_pack
from conftest import LOGS

from triage.clues import parse_clue
from triage.clues.facts import Facts
from triage.clues.findings import Hit
from triage.knowledge.pack import Problem
from triage.knowledge.pack_files import read_pack
from triage.maintain.prove import lint_packs

SLUG = "house/scheduler"
FIX = {"do": "Wait.", "risk": "low", "verify": "it is over"}


def problems_of(directory: Path, **changes: Any) -> list[Problem]:
    """What lint says about a pack with one signature that is flawless except for these changes."""
    pack = write_pack(directory / "house", {SLUG: signature_data(**changes)})
    return list(lint_packs((str(pack),)).problems)


def assert_refused(directory: Path, words: str, at: str, instead: str, **changes: Any) -> None:
    """Lint says only this, at the line with `at`, and says what to write."""
    (problem,) = problems_of(directory, **changes)
    file = directory / "house" / f"{SLUG}.yaml"
    assert words in problem.what
    assert problem.file == str(file)
    assert problem.line == line_with(file, at)
    assert instead in problem.instead
    assert str(problem) == f"{file}:{problem.line}: {problem.what}; write {problem.instead}"


def test_our_own_pack_has_no_problem() -> None:
    result = lint_packs()
    assert [str(problem) for problem in result.problems] == []
    assert result.signatures > 0
    assert result.not_checked == ()


def test_a_flawless_signature_has_no_problem(tmp_path: Path) -> None:
    assert problems_of(tmp_path) == []


LOOK = {"do": "See which driver is installed.", "run": "nvidia-smi", "risk": "low", "verify": "you know it"}
ACT = {"do": "Update the driver.", "risk": "low", "verify": "the program runs"}


def test_a_first_step_that_only_looks(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, fix=[LOOK, ACT])
    assert problem.what == "the first step only looks"
    assert "the step that acts before it" in problem.instead
    assert problem.line == line_with(tmp_path / "house" / f"{SLUG}.yaml", "do: See")
    assert problem.warning


def test_in_our_own_pack_a_first_step_that_only_looks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature = signature_data(cause="house.bare", fix=[LOOK, ACT])
    causes = {"house.bare": {"title": "Bare"}}
    pack = write_pack(tmp_path / "house", {SLUG: signature}, causes=causes)
    monkeypatch.setattr("triage.maintain.prove.our_pack", lambda: read_pack(str(pack)))
    problems = [problem for problem in lint_packs().problems if problem.what == "the first step only looks"]
    assert [problem.warning for problem in problems] == [False]


def test_the_first_step_of_some_people_only_looks(tmp_path: Path) -> None:
    act = {**ACT, "for": {"os": ["linux", "macos"]}}
    (problem,) = problems_of(tmp_path, fix=[act, LOOK])
    assert problem.what == "the first step (windows) only looks"


def test_a_look_that_must_come_first_says_why(tmp_path: Path) -> None:
    assert problems_of(tmp_path, fix=[{**LOOK, "look_first": "two drivers fail alike"}, ACT]) == []
    (problem,) = problems_of(tmp_path / "acting", fix=[{**ACT, "look_first": "two drivers fail alike"}])
    assert problem.what == "'look_first' on a step that acts"


def test_people_for_whom_no_step_holds(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, fix=[{**ACT, "for": {"os": ["linux", "macos"]}}])
    assert problem.what == "no step holds (windows)"


def test_an_unknown_cause(tmp_path: Path) -> None:
    words = "unknown cause 'house.unheard-of'"
    assert_refused(tmp_path, words, "cause:", "triage signatures list --causes", cause="house.unheard-of")


def test_an_unknown_clue_kind(tmp_path: Path) -> None:
    clues = [{"id": "nose", "smell": "burnt"}]
    assert_refused(tmp_path, "unknown clue kind 'smell'", "smell:", "one of log, exception, exit", clues=clues)


@pytest.mark.parametrize("pattern", ["lines (?=ahead)", "lines (?<!behind)", r"(twice) and \1", "lines (unclosed"])
def test_a_pattern_that_re2_does_not_take(tmp_path: Path, pattern: str) -> None:
    clues = [{"id": "bad", "log": pattern}]
    assert_refused(tmp_path, "RE2 does not take", "log:", "without lookaround", clues=clues)


@pytest.mark.parametrize("kind", ["exception", "native", "module"])
def test_a_pattern_of_any_kind_must_work_with_re2(tmp_path: Path, kind: str) -> None:
    clues = [{"id": "bad", kind: "lines (?=ahead)"}]
    assert_refused(tmp_path, "RE2 does not take", f"{kind}:", "without lookaround", clues=clues)


@pytest.mark.parametrize("kind", ["log", "native"])
def test_a_pattern_that_may_never_end_where_re2_is_missing(tmp_path: Path, kind: str) -> None:
    clues = [{"id": "endless", kind: r"these words: (?:\w+ ?)+!"}]
    assert_refused(tmp_path, "may never end without RE2", "- id: endless", "not a repeat inside a repeat", clues=clues)


@pytest.mark.parametrize("pattern", [r"<\d+>", "OOM", "(?i)out of memory", "a long alternative|OOM"])
def test_a_log_pattern_without_four_fixed_characters(tmp_path: Path, pattern: str) -> None:
    clues = [{"id": "loose", "log": pattern}]
    assert_refused(tmp_path, "no fixed text of 4 characters", "- id: loose", "the message's own words", clues=clues)


def test_patterns_that_do_not_go_over_logs_may_be_short(tmp_path: Path) -> None:
    assert problems_of(tmp_path, clues=[{"id": "short", "native": "Mkl"}]) == []


@pytest.mark.parametrize(
    ("pattern", "what", "instead"),
    [
        ("cannot open /home/anna/train.py", "a path of one machine", "the file's name only"),
        ("cannot open /Users/anna/train.py", "a path of one machine", "the file's name only"),
        (r"cannot open C:\\data\\train", "a path of one machine", "the file's name only"),
        ("in site-packages/tensorflow", "a path of one installation", "the path below it"),
        ("fault at 0x7f3a12345678", "an address", "0x[0-9a-f]+"),
        ("code 0xC0000005 at 0x7f3a12", "an address", "0x[0-9a-f]+"),
        ("code 0xC0000005f", "an address", "0x[0-9a-f]+"),
        ("code 0xC0000005_f", "an address", "0x[0-9a-f]+"),
        (r"failed at mkl_util\.h:212", "a source line number", r"\.cc:\d+"),
        ("failed at conv_ops.cc:1023", "a source line number", r"\.cc:\d+"),
        (r'train\.py", line 42', "a source line number", r"line \d+"),
    ],
)
def test_a_pattern_that_fits_only_one_machine_or_one_build(
    tmp_path: Path, pattern: str, what: str, instead: str
) -> None:
    clues = [{"id": "mine", "log": pattern}]
    assert_refused(tmp_path, what, "- id: mine", instead, clues=clues)


@pytest.mark.parametrize(
    "pattern",
    [
        r"failed at mkl_util\.h:\d+ : OOM when",
        r"fault at 0x[0-9a-f]+ in kernel",
        r"train\.py, line \d+",
        r"ended with 0xC0000005",
        r"raised 0xe06d7363\b here",
        r"one of [0xabcdef]",
    ],
)
def test_what_lint_suggests_is_accepted(tmp_path: Path, pattern: str) -> None:
    assert problems_of(tmp_path, clues=[{"id": "general", "log": pattern}]) == []


def test_a_pattern_inside_a_combinator_is_looked_at_and_its_own_line_is_named(tmp_path: Path) -> None:
    clues = [{"id": "either", "any": [{"log": "these words"}, {"log": "cannot open /home/anna/x"}]}]
    assert_refused(tmp_path, "a path of one machine", "/home/anna", "the file's name only", clues=clues)


def test_a_pattern_that_fires_on_a_healthy_log(tmp_path: Path) -> None:
    assert "oneDNN custom operations are on" in (LOGS / "healthy" / "fit-2.21.log").read_text("utf-8")
    clues = [{"id": "hasty", "log": "oneDNN custom operations are on"}]
    assert_refused(tmp_path, "fires on the healthy log", "- id: hasty", "only the failure prints", clues=clues)


def test_a_pattern_that_fires_on_a_healthy_log_of_the_pack_itself(tmp_path: Path) -> None:
    write_log(tmp_path / "house", "healthy/quiet.log", "all is well in this house")
    clues = [{"id": "hasty", "log": "all is well"}]
    words = "fires on the healthy log quiet.log"
    assert_refused(tmp_path, words, "- id: hasty", "only the failure prints", clues=clues)


def test_a_clue_against_may_fire_on_a_healthy_log(tmp_path: Path) -> None:
    against = [{"id": "worked", "log": "oneDNN custom operations are on"}]
    assert problems_of(tmp_path, against=against) == []


def test_a_fix_without_verify(tmp_path: Path) -> None:
    assert_refused(tmp_path, "a fix without 'verify'", "- do:", "how the person sees", fix=[{"do": "Wait."}])


@pytest.mark.parametrize(
    ("audience", "words", "instead"),
    [
        ({"framework": "fortran"}, "unknown framework 'fortran'", "one of tensorflow"),
        ({"framework": ["jax", "pytorch"], "versions": ">=2"}, "versions of which framework?", "name one framework"),
        ({"framework": "jax", "versions": "new"}, "'new' is not a version range", ">=2.16"),
        ({"os": ["dos"]}, "unknown system 'dos'", "one of linux"),
        ({"own_code": "maybe"}, "'own_code' is true or false", "own_code: true"),
        ({"everybody": True}, "'for' says for whom a step holds", "{framework: pytorch"),
        ({"seen": "nowhere"}, "no clue is called 'nowhere'", "took-it"),
        ({"language": "english"}, "unknown language 'english'", "one of python"),
    ],
)
def test_a_step_for_people_who_cannot_be_told(
    tmp_path: Path, audience: dict[str, object], words: str, instead: str
) -> None:
    where = "for:" if "everybody" in audience else next(reversed(audience)) + ":"
    assert_refused(tmp_path, words, where, instead, fix=[FIX, {**FIX, "for": audience}])


@pytest.mark.parametrize(
    ("step", "audience", "without"),
    [
        ("Turn oneDNN off with TF_ENABLE_ONEDNN_OPTS=0.", {}, "2.4"),
        ("Call tf.sysconfig.get_build_info().", {"framework": "tensorflow", "versions": ">=2.1"}, "2.1"),
        ("Call tf.sysconfig.get_build_info().", {"framework": "tensorflow", "versions": "<2"}, "1"),
        ("Use tf.keras.optimizers.legacy.Adam.", {"framework": "tensorflow", "versions": ">=2.9"}, "2.16"),
    ],
)
def test_a_step_that_names_what_a_version_does_not_have(
    tmp_path: Path, step: str, audience: dict[str, str], without: str
) -> None:
    changes = {
        "applies": {"framework": "tensorflow"},
        "fix": [{**FIX, "do": step, **({"for": audience} if audience else {})}],
    }
    (problem,) = [one for one in problems_of(tmp_path, **changes) if not one.warning]
    assert f"tensorflow {without}, which does not have it" in problem.what
    assert "for: {framework: tensorflow, versions: '>=" in problem.instead


@pytest.mark.parametrize(
    ("step", "audience"),
    [
        ("Turn oneDNN off with TF_ENABLE_ONEDNN_OPTS=0.", {"framework": "tensorflow", "versions": ">=2.5"}),
        ("With TensorFlow 2.5 or newer set TF_ENABLE_ONEDNN_OPTS=0.", {}),
        ("Set MY_TF_ENABLE_ONEDNN_OPTS_TOO=0.", {}),
    ],
)
def test_a_step_that_names_what_all_who_see_it_have(tmp_path: Path, step: str, audience: dict[str, str]) -> None:
    fix = [{**FIX, "do": step, **({"for": audience} if audience else {})}]
    problems = problems_of(tmp_path, applies={"framework": "tensorflow"}, fix=[*fix, FIX])
    assert [one for one in problems if not one.warning] == []


def test_a_step_that_names_a_framework_to_everybody(tmp_path: Path) -> None:
    words = "a step that names pytorch may be shown to people without it"
    fix = [FIX, {**FIX, "do": "Update PyTorch."}]
    assert_refused(tmp_path, words, "- do: Update", "for: {framework: pytorch}", fix=fix)
    fix = [FIX, {**FIX, "do": "Update PyTorch.", "for": {"framework": "pytorch"}}]
    assert problems_of(tmp_path, fix=fix) == []


def test_a_signature_of_the_machine_has_a_step_for_everybody(tmp_path: Path) -> None:
    fix = [{**FIX, "for": {"framework": "jax"}}]
    words = "no step for people whose framework is another or unknown"
    assert_refused(tmp_path, words, "fix:", "a step without for: {framework", fix=fix)


def test_a_signature_without_a_positive_test(tmp_path: Path) -> None:
    tests = {"differ": [{"log": "fixtures/logs/other.log"}]}
    assert_refused(tmp_path, "no positive test", "tests:", "match: [", tests=tests)


def test_a_signature_without_a_negative_test(tmp_path: Path) -> None:
    tests = {"match": ["fixtures/logs/taken.log"]}
    assert_refused(tmp_path, "no negative test", "tests:", "differ: [", tests=tests)


def test_a_placeholder_that_nothing_fills(tmp_path: Path) -> None:
    fix = [{**FIX, "do": "Wait {minutes} minutes.", "otherwise": "Wait."}]
    assert_refused(tmp_path, "nothing fills {minutes}", "- do:", "named groups minutes in a clue's pattern", fix=fix)


def test_a_placeholder_of_a_calculator_whose_groups_no_pattern_has(tmp_path: Path) -> None:
    fix = [{**FIX, "do": "{label_advice}", "otherwise": "Map the labels."}]
    assert_refused(tmp_path, "nothing fills {label_advice}", "- do:", "named groups classes, label", fix=fix)


def test_a_placeholder_that_a_named_group_fills(tmp_path: Path) -> None:
    clues = [{"id": "slot", "log": r"your slot of (?P<minutes>\d+) minutes is over"}]
    fix = [{**FIX, "do": "Ask for more than {minutes} minutes.", "otherwise": "Ask for more."}]
    assert problems_of(tmp_path, clues=clues, fix=fix) == []


def test_a_placeholder_without_otherwise(tmp_path: Path) -> None:
    clues = [{"id": "slot", "log": r"your slot of (?P<minutes>\d+) minutes is over"}]
    fix = [{**FIX, "do": "Ask for more than {minutes} minutes."}]
    assert_refused(tmp_path, "no 'otherwise'", "- do:", "otherwise: the same advice", clues=clues, fix=fix)


def test_an_otherwise_that_needs_filling_itself(tmp_path: Path) -> None:
    clues = [{"id": "slot", "log": r"your slot of (?P<minutes>\d+) minutes is over"}]
    fix = [{**FIX, "do": "Ask for more than {minutes}.", "otherwise": "Ask for {minutes} or more."}]
    assert_refused(tmp_path, "otherwise", "otherwise:", "without", clues=clues, fix=fix)


@pytest.mark.parametrize(
    "run",
    [
        "python -m pip install {package}",
        "pip3 install --upgrade numpy {package}",
        {"linux": "uv pip install {package}", "windows": "py -m pip install {package}"},
        "python -m pip install --upgrade pip && python -m pip install --only-binary=:all: {package}",
        "conda install -c conda-forge {package}",
        "{package}",
    ],
)
def test_a_name_from_a_log_that_would_be_installed(tmp_path: Path, run: Any) -> None:
    clues = [{"id": "slot", "log": r"your package (?P<package>\w+) is not there"}]
    fix = [{**FIX, "run": run}]
    assert_refused(tmp_path, "{package} comes from a log", "- do:", "{module_install}", clues=clues, fix=fix)


def test_a_name_from_a_log_that_a_sentence_says_to_install(tmp_path: Path) -> None:
    clues = [{"id": "slot", "log": r"your package (?P<package>\w+) is not there"}]
    fix = [{**FIX, "do": "Try pip install {package}.", "otherwise": "Install it."}]
    assert_refused(tmp_path, "{package} comes from a log", "- do:", "PACKAGE", clues=clues, fix=fix)


@pytest.mark.parametrize("run", ['python -m pip install "{numpy_pin}"', "{module_install}"])
def test_what_the_tables_give_may_be_installed(tmp_path: Path, run: str) -> None:
    clues = [{"id": "slot", "log": r"your package (?P<module>\w+) is not there"}]
    assert problems_of(tmp_path, clues=clues, fix=[{**FIX, "run": run}]) == []


def test_two_signatures_with_the_same_title(tmp_path: Path) -> None:
    other = signature_data(clues=[{"id": "else", "log": "something else happened"}])
    pack = write_pack(tmp_path / "house", {"house/a": signature_data(), "house/b": other})
    (problem,) = lint_packs((str(pack),)).problems
    assert problem.what == "the same title as house/a"
    assert (problem.file, problem.line) == (str(pack / "house/b.yaml"), line_with(pack / "house/b.yaml", "title:"))
    assert problem.instead


def test_two_signatures_with_the_same_patterns(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {"house/a": signature_data(), "house/b": signature_data(title="Another")})
    (problem,) = lint_packs((str(pack),)).problems
    assert problem.what == "the same patterns as house/a"
    assert (problem.file, problem.line) == (str(pack / "house/b.yaml"), line_with(pack / "house/b.yaml", "clues:"))
    assert problem.instead == "one signature for both"


def test_another_b_for_the_same_pattern(tmp_path: Path) -> None:
    shared = {"id": "shared", "log": "the scheduler spoke"}
    first = signature_data(clues=[{**shared, "b": 0.01}, {"id": "a", "log": "words of the first"}])
    second = signature_data(title="Another", clues=[{**shared, "b": 0.02}, {"id": "b", "log": "words of the second"}])
    pack = write_pack(tmp_path / "house", {"house/a": first, "house/b": second})
    (problem,) = lint_packs((str(pack),)).problems
    assert problem.what == "'the scheduler spoke' has another background b in house/a"
    assert (problem.file, problem.line) == (str(pack / "house/b.yaml"), line_with(pack / "house/b.yaml", "clues:"))
    assert problem.instead.startswith("the same b")


def test_two_clues_with_the_same_id(tmp_path: Path) -> None:
    clues = [{"id": "twice", "log": "the first words"}, {"id": "twice", "log": "the other words"}]
    assert_refused(tmp_path, "two clues are called 'twice'", "clues:", "another id", clues=clues)


def test_a_consequence_of_an_unknown_cause(tmp_path: Path) -> None:
    clues = [{"id": "late", "log": "words that follow", "consequence_of": ["house.unheard-of"]}]
    assert_refused(tmp_path, "unknown cause 'house.unheard-of'", "consequence_of", "list --causes", clues=clues)


def test_an_exit_status_that_does_not_exist(tmp_path: Path) -> None:
    clues = [{"id": "end", "exit": "SIGNONSENSE"}]
    assert_refused(tmp_path, "unknown exit status 'SIGNONSENSE'", "exit:", "SIGSEGV", clues=clues)


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("SIGSEGV", "139"),
        ("exit 1", "1"),
        ("0xC0000409", "-1073740791"),
        ("STATUS_STACK_BUFFER_OVERRUN", "-1073740791"),
        ("139", "139"),
        ("segv", "139"),
        ("0xc0000409", "-1073740791"),
    ],
)
def test_an_exit_status_that_lint_accepts_can_occur(tmp_path: Path, written: str, seen: str) -> None:
    refused = problems_of(tmp_path, clues=[{"id": "end", "exit": written}])
    finding = Facts(crash_of(exit=seen)).find(parse_clue({"exit": written}, (), p=0.9).sought)
    assert refused or isinstance(finding, Hit)


@pytest.mark.parametrize(
    "clue",
    [{"module": {"present": "cudnn", "version": "8.x"}}, {"environment": {"package": {"numpy": "2.0"}}}],
    ids=["module", "environment"],
)
def test_a_version_range_that_cannot_be_read(tmp_path: Path, clue: dict[str, Any]) -> None:
    clues = [{"id": "which", **clue}]
    assert_refused(tmp_path, "is not a version range", "- id: which", "'>=2.16'", clues=clues)


def test_a_cause_without_a_page(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", causes={"house.bare": {"title": "Bare"}})
    (problem,) = lint_packs((str(pack),)).problems
    assert (problem.file, problem.line) == (str(pack / "causes.yaml"), 1)
    assert problem.what == "'house.bare' has no inside"


def test_a_problem_with_a_cause_is_located_in_the_file_of_its_family(tmp_path: Path) -> None:
    whole = {"title": "Whole", "inside": "x", "shows": "x", "sure": "x", "fix": "x"}
    causes = {
        "house.whole": whole,
        "house.bare": {"title": "Bare"},
        "house.lost": {**whole, "mistaken_for": {"x.y": "z"}},
    }
    pack = write_pack(tmp_path / "house", {"house/causes": causes})
    found = [(p.file, p.line, p.what) for p in lint_packs((str(pack),)).problems]
    file = pack / "house" / "causes.yaml"
    assert found == [
        (str(file), line_with(file, "house.bare"), "'house.bare' has no inside"),
        (str(file), line_with(file, "x.y"), "unknown cause 'x.y'"),
    ]


NAME = {"title": "The house's queue", "means": "It hands out nodes."}


@pytest.mark.parametrize(
    ("names", "what", "at"),
    [
        ({"causes": {"house.unheard-of": ["queue"]}}, "unknown cause 'house.unheard-of'", "house.unheard-of"),
        ({"pages": {"queue": {**NAME, "causes": ["house.none"]}}}, "unknown cause 'house.none'", "causes:"),
        ({"pages": {"queue": {"title": "The house's queue"}}}, "'queue' has no means", "queue:"),
        (
            {"pages": {"queue": NAME, "lane": {**NAME, "also": ["Queue"]}}},
            "'Queue' leads to lane and to queue",
            "lane:",
        ),
    ],
)
def test_a_name_that_leads_nowhere_or_to_two_places(tmp_path: Path, names: dict[str, Any], what: str, at: str) -> None:
    pack = write_pack(tmp_path / "house", {SLUG: signature_data()}, names=names)
    (problem,) = lint_packs((str(pack),)).problems
    assert (problem.file, problem.what) == (str(pack / "names.yaml"), what)
    assert problem.line == line_with(pack / "names.yaml", at)


def test_noise_that_would_hide_anything(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", noise={"noise": ["house greeting", r"\w+"]})
    (problem,) = lint_packs((str(pack),)).problems
    assert (problem.file, problem.line) == (str(pack / "noise.yaml"), line_with(pack / "noise.yaml", r"\w+"))
    assert "no fixed text" in problem.what


def test_a_line_that_is_too_long_is_named_in_our_files_and_left_alone_in_private_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = write_pack(
        tmp_path / "house",
        noise="noise:\n  - '" + "house greeting " + "ü" * 99 + "'\n  - '" + "house greeting " * 10 + "'\n",
    )
    assert lint_packs((str(pack),)).problems == ()
    monkeypatch.setattr("triage.maintain.prove.our_pack", lambda: read_pack(str(pack)))
    (problem,) = lint_packs().problems
    assert (problem.file, problem.line) == (str(pack / "noise.yaml"), 3)
    assert problem.what == "this line has 156 characters, more than 120"


def test_a_pack_given_as_the_current_directory_is_linted_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_pack(tmp_path / "house", {SLUG: signature_data(grade="certain")}))
    assert [problem.what for problem in lint_packs((".",)).problems] == ["unknown grade 'certain'"]


def test_a_problem_is_named_once_where_one_pack_begins_like_another(tmp_path: Path) -> None:
    packs = [
        write_pack(tmp_path / name, {f"{name}/broken": signature_data(grade="certain")}) for name in ("pack", "pack2")
    ]
    assert len(lint_packs(tuple(map(str, packs))).problems) == 2


def test_the_command_prints_each_problem_and_exits_with_1(tmp_path: Path, run_triage: Any) -> None:
    pack = write_pack(tmp_path / "house", {SLUG: signature_data(cause="house.unheard-of")})
    done = run_triage("signatures", "lint", pack)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{pack}/{SLUG}.yaml:2: unknown cause 'house.unheard-of'; write ")


@pytest.mark.parametrize(
    ("run", "refused"),
    [
        ('python -c "import os\nprint(os.name)"', True),
        ("python <<'END'\nimport os\nEND", True),
        ("python x.py\n  python y.py", True),
        ("python x.py\npython y.py", False),
    ],
)
def test_each_line_of_a_command_is_whole_because_reports_indent_it(tmp_path: Path, run: str, refused: bool) -> None:
    fix = {"do": "Use this.", "run": run, "risk": "low", "verify": "it prints a name"}
    assert ("no command by itself" in str(problems_of(tmp_path, fix=[fix]))) is refused
