"""Only commands that exist are named: every `triage ...` that a person can read is given to the real parser."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator

import click
import pytest
import yaml
from conftest import LOGS, REPOSITORY

import triage
from triage import status
from triage.cli import _group
from triage.reports import renderer
from triage.reports.pages import render_page
from triage.reports.text import layout

# A command stands at the start of a line, in quotes or backticks, or after a label, a colon, a pipe or a prompt; in
# "a file that triage does not recognise" it stands after a word, and is none.
NAMED = re.compile(r"(?:^|[`'\"|:;$(]\s*|\s{2,})triage[ \t]+([^`'\"\n|;]*)", re.MULTILINE)
NOT_A_COMMAND = re.compile(r"\d|\[OPTIONS\]|COMMAND\b")  # "triage 0.1.0" and the usage lines of click


def named_commands(text: str) -> Iterator[str]:
    """What follows `triage` wherever a text names a command; a code span may be broken over two lines."""
    text = re.sub(r"`[^`]{1,200}`", lambda span: " ".join(span[0].split()), text)
    for match in NAMED.finditer(text):
        words = re.split(r"\s{2,}|, | and |\[OPTIONS\]", match[1])[0].strip().rstrip(".,:)")
        if words and not NOT_A_COMMAND.match(words):
            yield words


def problem_with(words: str) -> str | None:
    """What the real parser says against `triage WORDS`, or None."""
    command: click.Command = _group
    context = click.Context(_group, info_name="triage")
    given = shlex.split(words)
    while isinstance(command, click.Group) and given and not given[0].startswith("-"):
        name = given.pop(0)
        found = command.get_command(context, name)
        if found is None:
            return f"there is no command 'triage {words}'"
        command, context = found, click.Context(found, info_name=name, parent=context)
    if isinstance(command, click.Group) and not given:
        return None
    try:
        command.make_context("triage", given, parent=context.parent)
    except click.MissingParameter:
        return None  # a command mentioned by its name alone
    except click.exceptions.Exit:
        return None  # --help, --version
    except click.UsageError as error:
        return f"'triage {words}': {error.format_message()}"
    return None


def problems_in(text: str) -> list[str]:
    return [problem for words in named_commands(text) if (problem := problem_with(words))]


def strings_in(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from strings_in(key)
            yield from strings_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from strings_in(value)


# ---------------------------------------------------------------- the check itself


@pytest.mark.parametrize(
    "text",
    [
        "triage mend train.py",
        "run it again with `triage mend train.py`",
        " more   triage mend train.py",
        "then: triage doctor",
        "python train.py 2>&1 | triage analyse -",
        "`triage analyze LOG --exitcode 139`",
        "`triage analyze LOG --format html`",
        "`triage signatures lst`",
        "a span `triage\n  mend train.py` over two lines",
    ],
)
def test_a_command_that_does_not_exist_is_caught(text):
    assert problems_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "triage analyze LOG --exit-code -1073740791",
        "`triage explain -11`",
        "'triage signatures list --causes'",
        "`triage explain`",
        "triage --version",
        " next   triage analyze LOG --exit-code CODE",
    ],
)
def test_a_command_that_exists_is_seen_and_passes(text):
    assert list(named_commands(text))
    assert not problems_in(text)


@pytest.mark.parametrize("text", ["a file that triage does not recognise", "triage: unknown", "triage 0.1.0"])
def test_prose_is_not_taken_for_a_command(text):
    assert not list(named_commands(text))


# ---------------------------------------------------------------- everything a person can read


@pytest.fixture(scope="module")
def fixture_reports(knowledge):
    rows = {row["file"]: row["exit"] for row in yaml.safe_load((LOGS / "index.yaml").read_text("utf-8"))}
    found = []
    for path in sorted(LOGS.rglob("*.log")):
        for exit_code in {None, rows.get(path.relative_to(LOGS).as_posix())}:
            found.append(triage.analyze(path, exit_code=exit_code, knowledge=knowledge))
    for code in ("139", "-9", "1", "0xC0000409", "-1073740791"):
        found.append(triage.analyze(b"", exit_code=code, knowledge=knowledge))
    return found


@pytest.mark.parametrize("format_name", ["text", "markdown"])
def test_in_reports(fixture_reports, format_name):
    texts = [renderer(format_name)(report) for report in fixture_reports]
    if format_name == "markdown":
        texts = [re.sub(r"\\([^\w\s])", r"\1", text) for text in texts]
    assert not [problem for text in texts for problem in problems_in(text)]
    if format_name == "text":
        assert sum(1 for text in texts for _ in named_commands(text)) > len(texts) // 2


def test_on_the_screen(fixture_reports):
    texts = ["\n".join(map(str, layout(report, 80))) for report in fixture_reports]
    assert not [problem for text in texts for problem in problems_in(text)]


def test_in_what_the_json_report_offers_to_run(fixture_reports):
    offered = [q.run.line() for report in fixture_reports for q in report.next if q.run]
    offered += [step.run for report in fixture_reports for d in report.diagnoses for step in d.fix if step.run]
    assert offered
    assert not [problem for text in offered for problem in problems_in(text)]


def test_every_page_that_a_report_names_exists(fixture_reports, knowledge):
    for report in fixture_reports:
        for words in named_commands(renderer("text")(report)):
            if words.startswith("explain "):
                assert triage.explain(words.removeprefix("explain "), knowledge=knowledge)


@pytest.mark.parametrize("name", ["MyOwnError", "ValueError", "KeyError", "subprocess.CalledProcessError"])
def test_the_page_named_for_an_exception_exists(run_triage, knowledge, name):
    log = f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n{name}: it broke\n'
    last = run_triage("analyze", "-", input=log).stdout.splitlines()[-1]
    (words,) = named_commands(last)
    if words.startswith("explain "):
        assert triage.explain(words.removeprefix("explain "), knowledge=knowledge)


def test_in_explanations(knowledge):
    codes = ("0", "1", "2", "3", "9", "11", "124", "127", "134", "135", "136", "137", "139", "-1", "-9", "-11", "250")
    topics = [
        *knowledge.causes,
        *knowledge.exceptions,
        *knowledge.names,
        *knowledge.signatures,
        *status.known_names(),
        *codes,
    ]
    pages = [render_page(triage.explain(topic, knowledge=knowledge)) for topic in topics]
    pages.append(render_page(triage.sources(knowledge)))
    assert not [problem for page in pages for problem in problems_in(page)]
    assert sum(1 for page in pages for _ in named_commands(page)) >= len(pages) // 2


def test_in_the_knowledge():
    files = sorted((REPOSITORY / "signatures").rglob("*.yaml"))
    texts = [text for file in files for text in strings_in(yaml.safe_load(file.read_text("utf-8")))]
    assert len(files) > 12
    assert not [problem for text in texts for problem in problems_in(text)]


def test_in_help_texts(run_triage):
    commands = ([], ["analyze"], ["explain"], ["signatures"], *(["signatures", n] for n in _signature_commands()))
    for command in commands:
        text = run_triage(*command, "--help").stdout
        assert not problems_in(text), command


def _signature_commands() -> list[str]:
    group = _group.get_command(click.Context(_group), "signatures")
    assert isinstance(group, click.Group)
    return list(group.commands)


def test_in_every_sentence_of_the_program():
    found = []
    for path in sorted((REPOSITORY / "triage").rglob("*.py")):
        for line, text in sentences_in(ast.parse(path.read_text("utf-8"))):
            found += [f"{path.name}:{line}: {problem}" for problem in problems_in(text)]
    assert not found


def sentences_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text of a module with its line; what an f-string fills in is a 1."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = (part.value if isinstance(part, ast.Constant) else "1" for part in node.values)
            yield node.lineno, "".join(pieces)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        else:
            yield from sentences_in(node)


DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "Makefile",
    *sorted(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md")),
]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_in_documents(name):
    path = REPOSITORY / name
    if not path.exists():
        pytest.skip(f"there is no {name} yet")
    assert not problems_in(path.read_text("utf-8"))
