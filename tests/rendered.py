"""Every command of every fix, as each person would see it: every system, framework and version, with and without the
values that a crash tells, and however the program was started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from triage.clues import KINDS, patterns_of
from triage.clues.interface import Clue
from triage.crash import Command, Crash, Environment, Framework, Process, Program, ProgramReason
from triage.diagnosis.advice import fix_steps, holding, values_for
from triage.diagnosis.advice.launch import Launch
from triage.knowledge.database import Knowledge
from triage.knowledge.signature import Signature
from triage.patterns import compile as pattern

SYSTEMS = ("linux", "macos", "windows")
VERSIONS: tuple[tuple[Framework | None, str | None], ...] = (
    *(("tensorflow", version) for version in ("1.15.5", "2.4.1", "2.10.0", "2.15.1", "2.21.0", None)),
    *(("pytorch", version) for version in ("1.13.1", "2.6.0")),
    ("jax", "0.4.30"),
    (None, None),
)
_PACKAGES = {"pytorch": "torch"}
# How programs were started, each as the words after `triage run`.
STARTED: dict[str, tuple[str, ...] | None] = {
    "unknown": None,
    "script": ("train.py", "--epochs", "3"),
    "spaces": ("my models/train it's.py", "a b", "x&y"),
    "module": ("--", "python", "-m", "package.train", "--lr", "0.1"),
    "launcher": ("--", "torchrun", "--nproc-per-node=2", "train.py"),
    "tests": ("--", "python", "-m", "pytest", "tests/test_a.py::test_b"),
    "program": ("--", "./simulate", "--steps", "10"),
}
NOTEBOOK = Launch("notebook")
# Values for what clues catch; anything else that is a word will do.
_CAUGHT = {
    "shape": "32,64,64,128",
    "dtype": "float",
    "file": "libcudart.so.11.0",
    "module": "cv2",
    "path": "/data/my set/part 1.bin",
    "op": "MaxPoolGrad",
    "version": "1.2.3",
}


class Rendered(NamedTuple):
    """A command as somebody on this system would see it, and the signature that it comes from."""

    signature: str
    system: str
    text: str


def person(
    system: str, framework: Framework | None, version: str | None, started: tuple[str, ...] | None = None, **more: Any
) -> Crash:
    """A crash of this person, of which nothing else is known."""
    packages = ((_PACKAGES.get(framework, framework), version),) if framework and version else ()
    reasons = (ProgramReason("loaded", framework, "loaded"),) if framework else ()
    program = Program("python", framework, reasons)
    environment = Environment(os=system, packages=packages, **more)
    rerun = Command(started) if started else None
    return Crash(processes=(Process(program=program),), environment=environment, rerun=rerun)


def _groups(signature: Signature) -> dict[str, str]:
    def inner(clue: Clue) -> Iterator[Clue]:
        yield clue
        for one in clue.inner:
            yield from inner(one)

    clues = [one for clue in signature.clues for one in inner(clue)]
    names = {name for clue in clues for _, text in patterns_of(clue) for name in pattern(r"\(\?P<(\w+)>").findall(text)}
    names.update(name for clue in clues for name in KINDS[clue.kind].fills)
    return {name: _CAUGHT.get(name, "numpy") for name in names}


def of_signature(signature: Signature, crash: Crash, knowledge: Knowledge, known: bool) -> Iterator[str]:
    """The commands of all steps that may be shown to this person, whichever clues were found."""
    ids = {clue.id for clue in signature.clues} | {one.id for clue in signature.clues for one in clue.inner}
    fixes = holding(signature.fix, ids, crash)
    caught = _groups(signature) if known else {}
    values = values_for(fixes, caught, crash, knowledge)
    yield from (step.run for step in fix_steps(fixes, values, caught, crash, signature.os) if step.run)


def rendered(knowledge: Knowledge) -> tuple[Rendered, ...]:
    """Everything that anybody could see, each command once for a system."""
    found: dict[tuple[str, str], str] = {}
    for signature in knowledge.signatures.values():
        if not any(fix.run for fix in signature.fix):
            continue
        for system in signature.os or SYSTEMS:
            crashes = [person(system, *version) for version in VERSIONS]
            crashes.append(person(system, "tensorflow", "2.10.0", python="3.12", gpus=("GeForce RTX 3080",)))
            crashes += [person(system, signature_framework(signature), None, words) for words in STARTED.values()]
            for crash in crashes:
                for known in (True, False):
                    for text in of_signature(signature, crash, knowledge, known):
                        found.setdefault((system, text), signature.id)
    return tuple(Rendered(signature, system, text) for (system, text), signature in found.items())


def signature_framework(signature: Signature) -> Framework | None:
    """The framework of those who have this failure, where it is one framework's."""
    return next((name for name in ("tensorflow", "pytorch", "jax") if name == signature.framework), None)
