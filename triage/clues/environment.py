"""Looks at the machine.

environment: {os: windows, package: {tensorflow: '>=2.11'}, lacks_cpu_flag: avx}
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from triage.clues.findings import Finding, all_of, fits, if_known
from triage.clues.interface import At, Complaint, Field, Kind, Request
from triage.clues.versions import in_range, range_complaints

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written


class EnvironmentSeen(NamedTuple):
    """Facts about the machine that must all hold; an unknown one makes the clue unseen."""

    os: tuple[str, ...]
    python: str | None
    packages: tuple[tuple[str, str], ...]
    lacks_cpu_flag: str | None
    gpu: str | None


class EnvironmentKind(Kind):
    """What it ran on."""

    form = EnvironmentSeen
    background = 0.3
    request = Request("machine", "list the packages")
    patterns = ("gpu",)
    fields: Mapping[str, Field] = {
        "os": Field("texts", "One or several of linux, windows, macos."),
        "python": Field("text", "A range of Python versions."),
        "package": Field("ranges", "Packages with the range of their versions."),
        "lacks_cpu_flag": Field("text", "A feature that the processor does not have, such as avx."),
        "gpu": Field("text", "A pattern over the name of the card."),
    }
    often_unknown = True
    is_setting = True

    def parse(self, written: "Written") -> EnvironmentSeen:
        fields = written.fields(*self.fields)
        return EnvironmentSeen(
            os=fields["os"].texts() if "os" in fields else (),
            python=fields.text("python"),
            packages=_packages(fields["package"]) if "package" in fields else (),
            lacks_cpu_flag=fields.text("lacks_cpu_flag"),
            gpu=fields.text("gpu"),
        )

    def find(self, sought: EnvironmentSeen, facts: "Facts", after: At) -> Finding:
        environment = facts.crash.environment
        findings = []
        if sought.os:
            findings.append(if_known(environment.os, lambda value: value in sought.os, "the system is {}"))
        if wanted := sought.python:
            findings.append(if_known(environment.python, lambda value: in_range(value, wanted), "Python {}"))
        for name, version in sought.packages:
            findings.append(if_known(environment.package(name), partial(in_range, wanted=version), name + " {}"))
        if flag := sought.lacks_cpu_flag:
            flags = " ".join(environment.cpu_flags)
            findings.append(if_known(flags, lambda value: flag not in value.split(), f"the CPU does not list {flag}"))
        if gpu := sought.gpu:
            findings.append(if_known(", ".join(environment.gpus), partial(fits, gpu), "GPU {}"))
        return all_of(findings)

    def complaints(self, sought: EnvironmentSeen) -> Iterator[Complaint]:
        return range_complaints(sought.python, *(version for _, version in sought.packages))


def _packages(written: "Written") -> tuple[tuple[str, str], ...]:
    if not isinstance(written.value, Mapping):
        raise written.refused("packages are a mapping", "{tensorflow: '>=2.16'}")
    return tuple((str(name), written.below(name, version).text()) for name, version in written.value.items())


KIND = EnvironmentKind()
