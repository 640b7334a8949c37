"""`triage signatures`: list, show, lint, test, new, sources."""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path

import click

import triage
from triage.cli.options import report_problems, signatures_option
from triage.knowledge.loading import Knowledge


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
    click.echo(
        f"{len(rows)} {'causes' if causes else 'signatures'}. Next: triage explain {rows[0][0] if rows else 'SIGSEGV'}",
        err=True,
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
            click.echo(f"# {path}", err=True)
            click.echo(path.read_text("utf-8"), nl=False)
            return


def _refuse_id(id: str, knowledge: Knowledge) -> None:
    near = difflib.get_close_matches(id, list(knowledge.signatures), n=3, cutoff=0.4)
    hint = f" Did you mean {' or '.join(near)}?" if near else " See 'triage signatures list'."
    raise click.UsageError(f"There is no signature '{id}'.{hint}")


@command.command("lint")
@click.argument("directories", nargs=-1, metavar="[DIR]...")
def lint_command(directories: tuple[str, ...]) -> None:
    """Check a pack (ours where no DIR is given) for what would mislead people.

    Exit status: 0 nothing wrong, 1 problems.
    """
    from triage.proving import lint_packs

    result = lint_packs(directories)
    for problem in result.problems:
        click.echo(str(problem))
    for text in result.not_checked:
        click.echo(f"not checked: {text}")
    count = len(result.problems)
    click.echo(f"{result.signatures} signatures, {count or 'no'} problem{'s' if count != 1 else ''}.", err=True)
    sys.exit(1 if result.problems else 0)


@command.command("test")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@signatures_option
def test_command(ids: tuple[str, ...], packs: tuple[str, ...]) -> None:
    """Run the tests that signatures carry, and the healthy logs on which none may fire.

    Exit status: 0 all passed, 1 a test failed, 3 nothing could be checked.
    """
    from triage.proving import FAILED, NOT_CHECKED, PASSED, test_signatures

    knowledge = _load(packs)
    for id in ids:
        if id not in knowledge.signatures:
            _refuse_id(id, knowledge)
    counts = {PASSED: 0, FAILED: 0, NOT_CHECKED: 0}
    for outcome in test_signatures(knowledge, ids):
        counts[outcome.result] += 1
        if outcome.result != PASSED:
            click.echo(f"{outcome.result}: {outcome.signature} on {outcome.log}: {outcome.why}")
    click.echo(", ".join(f"{count} {result}" for result, count in counts.items()), err=True)
    if counts[FAILED]:
        sys.exit(1)
    sys.exit(0 if counts[PASSED] else 3)


@command.command("new")
@click.argument("id", metavar="FAMILY/SLUG")
@click.option(
    "--cause", required=True, help="The cause it shows: a slug that 'triage signatures list --causes' prints."
)
@click.option("--title", default="What happened, in one plain sentence", help="One plain sentence.")
@click.option("--into", metavar="DIR", help="The pack to write to; without it the text is printed.")
def new_command(id: str, cause: str, title: str, into: str | None) -> None:
    """Write a new signature to fill in."""
    from triage.knowledge.drafting import draft

    knowledge = triage.load_knowledge()
    if not re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", id):
        raise click.UsageError(f"'{id}' is not an id. Write FAMILY/SLUG in small letters, such as gpu/out-of-memory.")
    if cause not in knowledge.causes:
        near = difflib.get_close_matches(cause, list(knowledge.causes), n=2, cutoff=0.5)
        hint = f"Did you mean {' or '.join(near)}?" if near else "See 'triage signatures list --causes'."
        raise click.UsageError(f"There is no cause '{cause}'. {hint}")
    text = draft(title, cause)
    if into is None:
        click.echo(text, nl=False)
        return
    path = Path(into) / f"{id}.yaml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        pack = Path(into) / "pack.yaml"
        if not pack.exists():
            pack.write_text(f"schema: 1\nname: {Path(into).resolve().name}\n", encoding="utf-8")
    except FileExistsError:
        raise click.ClickException(f"{path} is there already; choose another id.") from None
    except OSError as error:
        raise click.ClickException(f"{path} could not be written ({error.strerror}); choose another --into.") from None
    click.echo(f"{path} written. Fill it in, then: triage signatures lint {into}")


@command.command("sources")
@signatures_option
def sources_command(packs: tuple[str, ...]) -> None:
    """Print what the signatures rest on: documents claim by claim with their grade, then the other sources."""
    from triage.reports.terminal import show_page

    show_page(triage.sources(_load(packs)), sys.stdout)
