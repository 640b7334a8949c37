"""The built index: our knowledge as Python source, so that a run reads no YAML, checks nothing and compiles no unneeded
pattern. Everything in it is a named tuple, a dict, a text or a number, and so is its own source.
"""

from __future__ import annotations

from triage import patterns
from triage.clues import KINDS
from triage.knowledge.loading import Knowledge, assemble
from triage.knowledge.pack import PackData

_FORMS = "".join(f"from {kind.form.__module__} import {kind.form.__name__}\n" for kind in KINDS.values())
_IMPORTS = f"""\
{_FORMS}from triage.clues.interface import Clue
from triage.knowledge.calibration import Bin, Calibration, Counts, Reliability, Weights
from triage.knowledge.hearsay import Hearsay
from triage.knowledge.loading import Cause, Knowledge
from triage.knowledge.signature import ExampleLog, Fix, Signature
"""


def built_knowledge(pack: PackData) -> Knowledge:
    """The knowledge of a pack with the texts that each pattern needs; raises ValueError when anything is wrong."""
    knowledge = assemble([pack])
    if knowledge.problems:
        raise ValueError("\n".join(str(problem) for problem in knowledge.problems))
    literals = {pattern: patterns.literals(pattern) for pattern in sorted(knowledge.literals)}
    # The counts are in the signatures' numbers by now.
    calibration = knowledge.calibration._replace(causes={}, counts={})
    return knowledge._replace(literals=literals, directories=(), calibration=calibration)


def index_source(pack: PackData) -> str:
    """The source of `built_index.py`."""
    return (
        f'"""Made by setup.py from signatures/; do not edit."""\n\n{_IMPORTS}\nKNOWLEDGE = {built_knowledge(pack)!r}\n'
    )
