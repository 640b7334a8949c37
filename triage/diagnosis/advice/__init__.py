"""What to do about a cause: the steps of its fix, with the numbers, versions and names of this crash filled in.

Each module here fills some of the {placeholders} that fixes have, and fills none that it is not sure of.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from triage.chains import in_own_code
from triage.crash import Crash, cmd_settings
from triage.diagnosis.advice.arithmetic import calculate
from triage.diagnosis.advice.launch import Launch, launch_of, with_program
from triage.knowledge.database import Knowledge
from triage.knowledge.signature import Fix, Person
from triage.phrases import Phrase, fill, placeholders, quoting
from triage.ranges import is_possible
from triage.report import FixStep

# Assignments before a command, as POSIX shells take them: NAME=value NAME=value command.
_ASSIGNMENTS = re.compile(r"(?:[A-Z_][A-Za-z0-9_]*=\S* )+")
# Frameworks whose package has another name.
_PACKAGES = {"pytorch": "torch"}
_A_WORD = r"[A-Za-z0-9_][\w.+-]*"


def holding(fixes: tuple[Fix, ...], seen: Container[str], crash: Crash) -> tuple[Fix, ...]:
    """The steps that hold for this person; `seen` are the ids of the clues that were found."""
    framework = crash.program.framework if crash.program else None
    environment = crash.environment
    package = _PACKAGES.get(framework, framework) if framework else None
    implied = [releases for name, releases in environment.implied if name == package]
    person = Person(
        framework,
        environment.package(package) if package else None,
        environment.os,
        in_own_code(crash),
        environment.card_maker or "nvidia",
        "arm" if (environment.architecture or "").startswith("arm") else "x86",
        crash.program.language if crash.program else None,
        # Several inputs that contradict each other show nothing.
        ",".join(implied) if is_possible(*implied) else None,
    )
    return tuple(fix for fix in fixes if fix.holds_for(person, seen))


def values_for(fixes: tuple[Fix, ...], caught: Mapping[str, str], crash: Crash, knowledge: Knowledge) -> dict[str, str]:
    """The value of every placeholder that can be filled: what clues caught, and what follows from it."""
    values = calculate(caught, crash.memory)
    missing = {name for fix in fixes for text in _texts(fix) for name in placeholders(text)} - values.keys()
    if missing:
        # Most fixes name no versions, and then the tables are not needed.
        from triage.diagnosis.advice.releases import fitting_releases

        framework = crash.program.framework if crash.program else None
        values = fitting_releases(crash.environment, caught, knowledge.versions, framework) | values
    if "fixed_advice" in missing:
        # This one searches the log, so only fixes that ask for it pay for it.
        from triage.diagnosis.advice.fixed_bugs import fixed_bug

        values = fixed_bug(crash, caught.get("op"), knowledge.versions) | values
    if "exception_advice" in missing:
        from triage.diagnosis.advice.exceptions import about_exception

        values = about_exception(crash) | values
    if "library_advice" in missing and "file" in caught:
        from triage.diagnosis.advice.system_libraries import missing_library

        values = missing_library(caught["file"]) | values
    if "module_advice" in missing and "module" in caught:
        from triage.diagnosis.advice.missing_modules import missing_module

        values = missing_module(caught["module"], crash, knowledge.distributions) | values
    return values


def fix_steps(
    fixes: tuple[Fix, ...],
    values: Mapping[str, str],
    caught: Mapping[str, str],
    crash: Crash,
    systems: tuple[str, ...] = (),
) -> tuple[FixStep, ...]:
    """The steps in order, without those that need an unknown value and have no wording that does without it.

    `systems` are those on which this happens at all. A step for one framework may come to the same as the one for
    everybody; it is told once.
    """
    # Words of a log may appear in a sentence, but in a command only if a shell reads them as one plain word.
    safe = {name: text for name, text in values.items() if name not in caught or re.fullmatch(_A_WORD, text)}
    told: dict[tuple[str, str | None], FixStep] = {}
    launch = launch_of(crash) if any(fix.run for fix in fixes) else None
    for fix in fixes:
        if step := _step(fix, values, safe, crash, launch, systems):
            told.setdefault((step.do, step.run), step)
    return tuple(told.values())


def command_for(run: Mapping[str, str], system: str | None) -> str | None:
    """The command for a system; where that is unknown, the general one, which is that of Linux in most cases."""
    if not run:
        return None
    if system is not None:
        return for_shell(run.get(system) or run.get("default") or run.get("otherwise"), system)
    return run.get("default") or run.get("linux") or run.get("otherwise") or next(iter(run.values()))


def _texts(fix: Fix) -> tuple[str, ...]:
    return (fix.do, fix.verify, *fix.run.values())


def _step(
    fix: Fix,
    values: Mapping[str, str],
    safe: Mapping[str, str],
    crash: Crash,
    launch: Launch | None,
    systems: tuple[str, ...],
) -> FixStep | None:
    filled_in = fill(fix.do, values)
    do = filled_in or fix.otherwise
    if do is None:
        return None
    only = fix.audience.os or systems
    system = crash.environment.os or (only[0] if len(only) == 1 else None)
    filled = {name: text for name, command in fix.run.items() if (text := fill(command, safe))}
    placed = {name: with_program(text, launch, system, crash.run_options) for name, text in filled.items()}
    run = command_for({name: one.text for name, one in placed.items()}, system)
    if run:
        used = [values[name] for command in fix.run.values() for name in placeholders(command) if name in values]
        theirs: list[str] = [value for value in used if isinstance(value, Phrase)]
        run = quoting(run, *theirs, *(words for one in placed.values() for words in one.theirs))
    verify = fill(fix.verify, values) or fix.verify
    about_exception = "exception_advice" in placeholders(fix.do)
    return FixStep(do, run, fix.risk, verify, fix.if_not, filled_in is None, about_exception)


def for_shell(text: str | None, system: str) -> str | None:
    """A command as Windows takes it: settings before each command that && joins, and programs of this folder."""
    if text is None or system != "windows":
        return text
    return " && ".join(_set_first(part) for part in _joined(text))


def _set_first(command: str) -> str:
    match = _ASSIGNMENTS.match(command)
    settings = match[0].split() if match and match.end() < len(command) else []
    line = command[len(match[0]) :] if match and settings else command
    line = f".\\{line[2:]}" if line.startswith("./") else line
    return cmd_settings(settings, line) if settings else line


def _joined(text: str) -> list[str]:
    """The commands that && joins; one inside double quotes is another shell's."""
    parts: list[str] = [""]
    for piece in text.split(" && "):
        if parts[-1].count('"') % 2:
            parts[-1] += f" && {piece}"
        elif parts == [""]:
            parts = [piece]
        else:
            parts.append(piece)
    return parts
