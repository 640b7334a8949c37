"""What to do about a cause: the steps of its fix, with the numbers, versions and names of this crash filled in.

Each module here fills some of the {placeholders} that fixes have, and fills none that it is not sure of.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from triage.crash import Command, Crash
from triage.diagnosis.advice.arithmetic import calculate
from triage.frames import in_own_code
from triage.knowledge.database import Knowledge
from triage.knowledge.signature import Fix, Person
from triage.phrases import Phrase, fill, placeholders, quoting
from triage.report import FixStep

# Assignments before a command, as POSIX shells take them: NAME=value NAME=value command.
_ASSIGNMENTS = re.compile(r"(?:[A-Z_][A-Z0-9_]*=\S* )+")
_SYSTEMS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}
# Frameworks whose package has another name.
_PACKAGES = {"pytorch": "torch"}
_A_WORD = r"[A-Za-z0-9_][\w.+-]*"


def holding(fixes: tuple[Fix, ...], seen: Container[str], crash: Crash) -> tuple[Fix, ...]:
    """The steps that hold for this person; `seen` are the ids of the clues that were found."""
    framework = crash.program.framework if crash.program else None
    version = crash.environment.package(_PACKAGES.get(framework, framework)) if framework else None
    language = crash.program.language if crash.program else None
    person = Person(framework, version, crash.environment.os, in_own_code(crash), language)
    return tuple(fix for fix in fixes if fix.holds_for(person, seen))


def values_for(fixes: tuple[Fix, ...], caught: Mapping[str, str], crash: Crash, knowledge: Knowledge) -> dict[str, str]:
    """The value of every placeholder that can be filled: what clues caught, and what follows from it."""
    values = calculate(caught, crash.memory)
    missing = {name for fix in fixes for text in _texts(fix) for name in placeholders(text)} - values.keys()
    if missing:
        # Most fixes name no versions, and then the tables are not needed.
        from triage.diagnosis.advice.releases import fitting_releases

        values = fitting_releases(crash.environment, caught, knowledge.versions) | values
    if "fixed_advice" in missing:
        # This one searches the log, so only fixes that ask for it pay for it.
        from triage.diagnosis.advice.fixed_bugs import fixed_bug

        values = fixed_bug(crash, caught.get("op"), knowledge.versions) | values
    if "module_advice" in missing and "module" in caught:
        from triage.diagnosis.advice.missing_modules import missing_module

        values = missing_module(caught["module"], crash, knowledge.distributions) | values
    return values


def fix_steps(
    fixes: tuple[Fix, ...], values: Mapping[str, str], caught: Mapping[str, str], crash: Crash
) -> tuple[FixStep, ...]:
    """The steps in order, without those that need an unknown value and have no wording that does without it.

    A step for one framework may come to the same as the one for everybody; it is told once.
    """
    # Words of a log may appear in a sentence, but in a command only if a shell reads them as one plain word.
    safe = {name: text for name, text in values.items() if name not in caught or re.fullmatch(_A_WORD, text)}
    told: dict[tuple[str, str | None], FixStep] = {}
    for fix in fixes:
        if step := _step(fix, values, safe, crash):
            told.setdefault((step.do, step.run), step)
    return tuple(told.values())


def command_for(run: Mapping[str, str], system: str | None) -> str | None:
    """The command for a system; where that is unknown, the general one followed by the Windows form."""
    if not run:
        return None
    if system is not None:
        return _translated(run.get(system) or run.get("default") or run.get("otherwise"), system)
    text = run.get("default") or run.get("linux") or run.get("otherwise")
    if text is None:
        name, text = next(iter(run.items()))
        return f"{text}  # {_SYSTEMS[name]}"
    windows = _translated(run.get("windows") or run.get("default") or run.get("otherwise"), "windows")
    return text if windows in (text, None) else f"{text}  # Windows: {windows}"


def _texts(fix: Fix) -> tuple[str, ...]:
    return (fix.do, fix.verify, *fix.run.values())


def _step(fix: Fix, values: Mapping[str, str], safe: Mapping[str, str], crash: Crash) -> FixStep | None:
    do = fill(fix.do, values) or fix.otherwise
    if do is None:
        return None
    filled = {system: text for system, command in fix.run.items() if (text := fill(command, safe))}
    run = command_for(filled, crash.environment.os)
    if run:
        used = [values[name] for command in fix.run.values() for name in placeholders(command) if name in values]
        theirs: list[str] = [value for value in used if isinstance(value, Phrase)]
        if crash.rerun and crash.rerun.argv[0] != "--":
            system = crash.environment.os
            rerun, script = crash.rerun.line(system), Command(crash.rerun.argv[:1]).line(system)
            run = _for_this_script(run, rerun, script, Command(crash.run_options).line(system))
            theirs += [rerun, script]
        run = quoting(run, *theirs)
    return FixStep(do, run, fix.risk, fill(fix.verify, values) or fix.verify, fix.if_not)


def _for_this_script(run: str, rerun: str, script: str, options: str) -> str:
    """A command with the person's own script in it, where we ran it and know its name, arguments and options."""
    if "SCRIPT.js" in run:
        return run
    run = run.replace("SCRIPT.py", "SCRIPT")
    if options:
        run = run.replace("triage run ", f"triage run {options} ")
    for before in ("python ", "triage run ", "--tf-log ", "continue "):
        run = run.replace(f"{before}SCRIPT", f"{before}{rerun}")
    return run.replace("SCRIPT", script)


def _translated(text: str | None, system: str) -> str | None:
    """Leading assignments as Windows takes them, in a form that cmd and PowerShell both run."""
    match = _ASSIGNMENTS.match(text) if text and system == "windows" else None
    if text is None or match is None or match.end() == len(text):
        return text
    # No space before &&: cmd would make it a part of the value.
    settings = "".join(f"set {assignment}&& " for assignment in match[0].split())
    return f'cmd /c "{settings}{text[match.end() :]}"'
