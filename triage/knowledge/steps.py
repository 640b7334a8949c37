"""Which steps of a fix act and which only look, and which step each person would see first.

A step that only looks cures nobody. It belongs after the first one that acts, or into that one's `verify`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from triage import patterns
from triage.clues.versions import order
from triage.crash import CardMaker, Framework, Language
from triage.knowledge.signature import CARDS, PROCESSORS, SYSTEMS, Fix, Person, Processor, Signature


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


# What a sentence that only looks tells the person to do.
_LOOKING = _words(
    "check compare count decode find follow go list look measure note paste print read search see show suspect test",
    "verify watch",
)
# These look or act: the command that comes with them decides.
_EITHER = _words("get have let repeat run try")
# What a sentence that changes something tells the person to do.
_ACTING = _words(
    "activate add align allow avoid bound break build bring call cap cast catch change choose clear clip close compile",
    "compute configure convert copy correct create cut define delete detach disable divide do drop empty enable end",
    "exchange export feed fetch fill filter finish fit fix format free freeze give guard hand hold import increase",
    "initialise initialize install join keep leave lift limit link load lower make map mark mask mount move normalise",
    "normalize open pad pass pin point prefer preload process put raise rebuild reduce register reinstall release",
    "remove rename repair replace report request reset reshape resize restart restore return rewrite save scale send",
    "set shorten shrink shut skip specify split spread squeeze start stay stop store subclass swap switch take tell",
    "train transpose turn undo uninstall unset update upgrade use wait widen wrap write",
)
# Where one thing to do ends and the next may begin, and what may stand before its verb: On Linux let …, If …, use …
_CLAUSES = re.compile(r"[.;:] |, ")
_BEFORE_VERBS = _words("also and instead meanwhile or otherwise so then")
# Programs that change nothing, whatever they are told.
_LOOKERS = _words(
    "cat certutil compute-sanitizer cuda-memcheck df dir dmesg dumpbin echo egrep file find findstr free gdb grep head",
    "htop journalctl ldd ls lscpu lsof lspci netstat nm nproc otool printenv ps quota sacct seff sha256sum shasum sort",
    "ss stat strings systeminfo tail tasklist top typeperf uname uniq valgrind vm_stat vmstat wc where which",
)
# Programs that change nothing when they are told this.
_ASKED = patterns.compile(
    r"^(?:\S+ --?(?:version|info)"
    r"|python -V|python -c \"(?:import|from) .*print.*"
    r"|python -m (?:site|sysconfig|torch\.utils\.collect_env|py_compile)\b.*"
    r"|(?:python -m )?pip (?:list|show|check|debug|index|inspect|freeze)\b.*|conda (?:list|info)\b.*"
    r"|python (?:-X \w+ (?:-\w )?|-m (?:pdb|trace) )SCRIPT.*|python -m pdb .*"
    r"|triage\s(?:run|analyze|doctor|explain|attach)\b.*"
    r"|nvidia-smi(?: (?:-q|-L|--query|topo)\b.*)?|ldconfig -p|ulimit(?: -\w)?|set [A-Z_]+|sysctl (?:-a|-n \S+|hw\S*)"
    r"|powershell -Command \"\(?Get-.*|npm (?:ls|view) .*|kubectl (?:describe|logs|get) .*"
    r"|docker (?:inspect|logs|stats) .*|scontrol show .*|mount|env)$"
)
# Settings that make a program talk, or fail where the mistake is, and cure nothing.
_TALKATIVE = _words(
    "CUDA_LAUNCH_BLOCKING DYLD_PRINT_LIBRARIES DOTNET_DbgEnableMiniDump DOTNET_DbgMiniDumpType GOTRACEBACK",
    "HYDRA_FULL_ERROR JAX_CHECK_TRACER_LEAKS JAX_DEBUG_NANS JAX_DISABLE_JIT JAX_TRACEBACK_FILTERING LD_DEBUG",
    "MALLOC_CHECK_ MXNET_ENGINE_TYPE NCCL_DEBUG NCCL_DEBUG_SUBSYS PYTHONFAULTHANDLER PYTHONMALLOC PYTHONUNBUFFERED",
    "QT_DEBUG_PLUGINS RUST_BACKTRACE TF_CPP_MAX_VLOG_LEVEL TF_CPP_MIN_LOG_LEVEL TF_CPP_VMODULE TORCH_DISTRIBUTED_DEBUG",
    "TORCH_LOGS TORCH_SHOW_CPP_STACKTRACES",
)
# Quoted arguments are kept whole; between the others, && and ; and | end a command.
_PARTS = patterns.compile(r"""(?:"[^"]*"|'[^']*'|[^&|;"'])+""")
_SETTING = re.compile(r"([A-Z_][A-Za-z0-9_]*)=\S* ")


def only_looks(fix: Fix) -> bool:
    """Whether a step begins with a look: the first thing that it tells the person to do changes nothing."""
    for clause in _CLAUSES.split(fix.otherwise or fix.do):
        verb, rest = _verb(clause)
        if verb == "go" and rest.startswith("back to "):
            return False
        if verb in _LOOKING or verb in _ACTING:
            return verb in _LOOKING
        if verb in _EITHER:
            # Only a run of the person's own program can be the run that is meant.
            own = verb != "run" or any("SCRIPT" in text or "PROGRAM" in text for text in fix.run.values())
            return bool(fix.run) and own and all(map(command_only_looks, fix.run.values()))
    return False


def _verb(clause: str) -> tuple[str, str]:
    """The first word that can be what is to be done, and what follows: On Linux then let it … is 'let', 'it …'."""
    words = iter(clause.lower().split())
    for word in words:
        if word == "on":
            next(words, None)
        elif word not in _BEFORE_VERBS:
            return word, " ".join(words)
    return "", ""


def command_only_looks(command: str) -> bool:
    """Whether a command changes nothing, wherever it is run."""
    return all(_part_only_looks(part.strip()) for part in _PARTS.findall(command))


def _part_only_looks(part: str) -> bool:
    names: list[str] = []
    while setting := _SETTING.match(part):
        names.append(setting[1])
        part = part[setting.end() :]
    if names and all(name in _TALKATIVE for name in names):
        return True
    return part.partition(" ")[0] in _LOOKERS or ("\n" not in part and _ASKED.match(part) is not None)


class FirstStep(NamedTuple):
    """The step that some person would see first (its number, None where no step holds), and one such person."""

    number: int | None
    person: Person
    seen: frozenset[str]


def first_steps(signature: Signature) -> Iterator[FirstStep]:
    """For every kind of person that `for` tells apart, the first step that holds; each step once."""
    told: set[int | None] = set()
    for person, seen in _people(signature):
        number = next((n for n, fix in enumerate(signature.fix) if fix.holds_for(person, seen)), None)
        if number not in told:
            told.add(number)
            yield FirstStep(number, person, seen)


def _people(signature: Signature) -> Iterator[tuple[Person, frozenset[str]]]:
    audiences = [one for fix in signature.fix for one in (fix.audience, *fix.unless)]
    named = {name for audience in audiences for name in audience.frameworks}
    frameworks: list[Framework | None] = [*sorted(named), None]
    if signature.framework not in (None, "any"):
        frameworks = [name for name in frameworks if name == signature.framework] or [None]
    cards: Sequence[CardMaker] = CARDS if any(audience.card for audience in audiences) else CARDS[:1]
    processors: Sequence[Processor] = PROCESSORS if any(a.processor for a in audiences) else PROCESSORS[:1]
    # What no step asks for tells nobody apart.
    systems: list[str | None] = [system for system in SYSTEMS if not signature.os or system in signature.os]
    systems = systems if any(audience.os for audience in audiences) else [None]
    whose = [None, True, False] if any(audience.own_code is not None for audience in audiences) else [None]
    languages: list[Language | None] = [None, *sorted({name for audience in audiences for name in audience.languages})]
    clues = sorted({audience.seen for audience in audiences if audience.seen is not None})
    # Where each clue is named, at least one of them was found.
    least = 1 if {clue.id for clue in signature.clues} <= set(clues) else 0
    seen = [frozenset(some) for many in range(least, len(clues) + 1) for some in itertools.combinations(clues, many)]
    for framework in frameworks:
        ranges = [a.versions for a in audiences if a.versions and framework in a.frameworks]
        people = itertools.product([None, *versions_around(ranges)], systems, whose, cards, processors, languages)
        for person, clue in itertools.product(people, seen):
            yield Person(framework, *person), clue


def versions_around(ranges: list[str]) -> list[str]:
    """A version at, below and above each bound of the ranges."""
    versions: list[str] = []
    for bound in sorted({found for text in ranges for found in re.findall(r"[\d.]+", text)}, key=order):
        *above, last = order(bound) or (0,)
        for number in (last - 1, last, last + 1):
            if number >= 0:
                versions.append(".".join(map(str, (*above, number))))
    return versions
