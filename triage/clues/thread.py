"""Looks at clues about one and the same thread: its stacks, and how its process was started.

thread: [{process: {forked_with: tensorflow}}, {native: 'ParallelFor'}]
"""

from typing import TYPE_CHECKING, NamedTuple

from triage.clues.findings import UNSEEN, Absent, Finding, Hit, Unseen, all_of
from triage.clues.interface import At, Clue, Kind

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written


class OfOneThread(NamedTuple):
    """Clues that must all hold for one thread: its stacks, and how its process was started."""

    clues: tuple[Clue, ...]


class ThreadKind(Kind):
    """Several about one thread."""

    form = OfOneThread
    background = 0.003
    least_inner = 2

    def parse(self, written: "Written") -> OfOneThread:
        clues = written.clues(self.least_inner)
        for number, clue in enumerate(clues):
            if not written.kinds[clue.kind].of_a_thread:
                one_of = "one of " + ", ".join(name for name, kind in written.kinds.items() if kind.of_a_thread)
                what = f"a thread has no clue of the kind '{clue.kind}'"
                raise written.below(number, clue).refused(what, one_of)
        return OfOneThread(clues)

    def find(self, sought: OfOneThread, facts: "Facts", after: At) -> Finding:
        of_each = []
        for threads in facts.each_process_by_threads:
            findings = [all_of([alone.find(clue.sought) for clue in sought.clues]) for alone in threads]
            # A thread that runs no Python has no Python stack, which is no gap as long as another thread has one.
            of_each.append(_first_of(findings, Hit, Absent))
        # A process that could not be read at all may be the one.
        return _first_of(of_each, Hit, Unseen)


def _first_of(findings: list[Finding], *kinds: type[Finding]) -> Finding:
    """The first finding of these types, tried in order; without any finding, nothing could be seen."""
    in_order = (finding for kind in kinds for finding in findings if isinstance(finding, kind))
    return next(in_order, findings[0] if findings else UNSEEN)


KIND = ThreadKind()
