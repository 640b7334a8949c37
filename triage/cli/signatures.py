"""`triage signatures`: list, show, lint, test, new, sources."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

import triage
from triage.cli.options import report_problems, signatures_option
from triage.cli.stdio import note
from triage.knowledge.database import Knowledge
from triage.knowledge.pack import CAUSES


@click.group("signatures")
def command() -> None:
    """List, show, check and write signatures."""


def _load(packs: tuple[str, ...]) -> Knowledge:
    knowledge = triage.load_knowledge(packs)
    report_problems(knowledge)
    return knowledge


@command.command("list")
@click.option("--causes", is_flag=True, help="List the causes instead.")
@signatures_option
def list_command(causes: bool, packs: tuple[str, ...]) -> None:
    """List the signatures: id, cause, grade and title."""
    knowledge = _load(packs)
    if causes:
        rows = [(slug, cause.title) for slug, cause in knowledge.causes.items()]
    else:
        rows = [
            (s.id, f"{s.cause}  {s.grade}  {s.title}")
            for s in sorted(knowledge.signatures.values(), key=lambda s: s.id)
        ]
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        click.echo(f"{name.ljust(width)}  {text}")
    note(
        f"{len(rows)} {'causes' if causes else 'signatures'}. Next: triage explain {rows[0][0] if rows else 'SIGSEGV'}"
    )


@command.command("show")
@click.argument("id")
@signatures_option
def show_command(id: str, packs: tuple[str, ...]) -> None:
    """Print a signature's file."""
    knowledge = _load(packs)
    signature = knowledge.signatures.get(id)
    if signature is None:
        _refuse_id(id, knowledge)
    for directory in reversed(knowledge.directories):
        path = Path(directory) / f"{id}.yaml"
        if path.is_file():
            note(f"# {path}")
            click.echo(path.read_text("utf-8"), nl=False)
            return


def _refuse_id(id: str, knowledge: Knowledge) -> None:
    near = difflib.get_close_matches(id, list(knowledge.signatures), n=3, cutoff=0.4)
    hint = f" Did you mean {' or '.join(near)}?" if near else " See 'triage signatures list'."
    raise click.UsageError(f"There is no signature '{id}'.{hint}")


@command.command("lint")
@click.argument("directories", nargs=-1, metavar="[DIR]...")
def lint_command(directories: tuple[str, ...]) -> None:
    """Check signatures for mistakes that would mislead people.

    Without a DIR, the signatures that come with triage are checked.

    Exit status: 0 nothing wrong, 1 problems.
    """
    from triage.maintain.prove import lint_packs

    result = lint_packs(directories)
    for problem in result.problems:
        click.echo(str(problem))
    for text in result.not_checked:
        click.echo(f"not checked: {text}")
    warnings = sum(problem.warning for problem in result.problems)
    count = len(result.problems) - warnings
    warned = f", {_counted(warnings, 'warning')}" if warnings else ""
    note(f"{result.signatures} signatures, {_counted(count, 'problem')}{warned}.")
    sys.exit(1 if count else 0)


def _counted(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'s' if count != 1 else ''}"


@command.command("test")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@signatures_option
def test_command(ids: tuple[str, ...], packs: tuple[str, ...]) -> None:
    """Run the tests that are written in signatures.

    Also checks that no signature matches a healthy log.

    Exit status: 0 all passed, 1 a test failed, 3 nothing could be checked.
    """
    from triage.maintain.prove import FAILED, NOT_CHECKED, PASSED, test_signatures

    knowledge = _load(packs)
    for id in ids:
        if id not in knowledge.signatures:
            _refuse_id(id, knowledge)
    counts = {PASSED: 0, FAILED: 0, NOT_CHECKED: 0}
    for outcome in test_signatures(knowledge, ids):
        counts[outcome.result] += 1
        if outcome.result != PASSED:
            click.echo(f"{outcome.result}: {outcome.signature} on {outcome.log}: {outcome.why}")
    note(", ".join(f"{count} {result}" for result, count in counts.items()))
    if counts[FAILED]:
        sys.exit(1)
    sys.exit(0 if counts[PASSED] else 3)


@command.command("new")
@click.argument("id", metavar="[FAMILY/SLUG]", required=False)
@click.option(
    "--from", "log", metavar="LOG", help="Draft the signature and its test from this log; '-' reads standard input."
)
@click.option("--exit-code", metavar="CODE", help="With --from: the exit code that came with the log.")
@click.option("--cause", help="The cause: a slug from 'triage signatures list --causes'.")
@click.option("--title", help="One plain sentence.")
@click.option(
    "--into", metavar="DIR", help="The pack to write to, created if needed; without it the signature is printed."
)
@click.option("--force", is_flag=True, help="With --from: draft one even if a signature already diagnoses the log.")
def new_command(
    id: str | None,
    log: str | None,
    exit_code: str | None,
    cause: str | None,
    title: str | None,
    into: str | None,
    force: bool,
) -> None:
    """Write a new signature: a blank one, or a draft from a log.

    \b
    triage signatures new gpu/my-failure --cause gpu.launch-failed
    triage signatures new --from crash.log --into mypack
    triage analyze crash.log --signatures mypack

    With --from, the significant lines of the log become patterns, and a copy of it without personal names, paths and
    keys becomes the test; the draft has passed lint, its test and the healthy logs. Without --cause, the failure
    becomes a new cause in the pack, and the closest known causes are named. No file is overwritten.

    Exit status: 0 written or printed, 1 nothing to draft or the file exists, 2 wrong usage.
    """
    if id is not None and not re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", id):
        raise click.UsageError(f"'{id}' is not an id. Write FAMILY/SLUG in lower case, such as gpu/out-of-memory.")
    if id is not None and id.endswith(f"/{CAUSES}"):
        raise click.UsageError(
            f"{id}.yaml is the file for the causes of the family; choose another SLUG for a signature."
        )
    if cause is not None or log is None:
        _refuse_cause(cause, triage.load_knowledge((into,) if into and Path(into, "pack.yaml").is_file() else ()))
    if log is not None:
        _draft_from(log, id, exit_code, cause, title, into, force)
        return
    if id is None:
        raise click.UsageError("Give the id, FAMILY/SLUG, or a log to draft from: --from LOG.")
    _draft_to_fill_in(id, cause or "", title or "What happened, in one plain sentence", into)


def _refuse_cause(cause: str | None, knowledge: Knowledge) -> None:
    if cause is None:
        raise click.UsageError("Give the cause: --cause SLUG, with a slug from 'triage signatures list --causes'.")
    if cause not in knowledge.causes:
        near = difflib.get_close_matches(cause, list(knowledge.causes), n=2, cutoff=0.5)
        hint = f"Did you mean {' or '.join(near)}?" if near else "See 'triage signatures list --causes'."
        raise click.UsageError(f"There is no cause '{cause}'. {hint}")


@contextmanager
def _refusing(into: str | None) -> Iterator[None]:
    """Turn a file that exists, or a pack that cannot be written, into an error message."""
    try:
        yield
    except FileExistsError as error:
        raise click.ClickException(f"{error.filename or error} already exists; choose another FAMILY/SLUG.") from None
    except OSError as error:
        raise click.ClickException(f"{into} could not be written ({error.strerror}); choose another --into.") from None


def _draft_from(
    log: str,
    id: str | None,
    exit_code: str | None,
    cause: str | None,
    title: str | None,
    into: str | None,
    force: bool,
) -> None:
    import shlex

    from triage.maintain.draft import NothingToLearn, learn, suggestions, write

    try:
        with _refusing(into):
            draft = learn(log, id=id, cause=cause, title=title, exit_code=exit_code, into=into, force=force)
            written = write(draft, into) if into is not None else []
    except triage.NotAnExitCode as error:
        raise click.UsageError(str(error)) from None
    except NothingToLearn as error:
        raise click.ClickException(str(error)) from None
    if into is None:
        click.echo(draft.signature, nl=False)
    for path in written:
        click.echo(f"{path} written.")
    for sentence in suggestions(draft):
        if into is None:
            note(sentence)
        else:
            click.echo(sentence)
    if into is not None:
        pack = shlex.quote(into)
        click.echo(f"Next: read {draft.id}.yaml, then triage signatures lint {pack}")
        click.echo(f"      triage analyze {shlex.quote(log)} --signatures {pack}")


def _draft_to_fill_in(id: str, cause: str, title: str, into: str | None) -> None:
    from triage.maintain.draft.template import blank_signature

    text = blank_signature(title, cause)
    if into is None:
        click.echo(text, nl=False)
        return
    path = Path(into) / f"{id}.yaml"
    with _refusing(into):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        pack = Path(into) / "pack.yaml"
        if not pack.exists():
            pack.write_text(f"schema: 1\nname: {Path(into).resolve().name}\n", encoding="utf-8")
    click.echo(f"{path} written. Fill it in, then: triage signatures lint {into}")


@command.command("sources")
@signatures_option
def sources_command(packs: tuple[str, ...]) -> None:
    """Print what the signatures are based on.

    First each document, claim by claim with its grade, then all other sources.
    """
    from triage.reports.terminal import show_page

    show_page(triage.sources(_load(packs)), sys.stdout)
