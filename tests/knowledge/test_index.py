"""The index in a wheel: our pack as a Python module with exactly the content of the YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import signature_data, write_pack
from conftest import LOGS

from triage import patterns
from triage.diagnosis import diagnose
from triage.knowledge.database import Knowledge, assemble, index_source
from triage.knowledge.pack import our_directory
from triage.knowledge.pack_files import read_pack
from triage.readers import Source, read
from triage.report import DIAGNOSED


@pytest.fixture(scope="module")
def indexed() -> Knowledge:
    """Our knowledge as an installed triage has it."""
    module: dict[str, Any] = {}
    exec(compile(index_source(read_pack(our_directory(), "triage")), "built_index.py", "exec"), module)
    return module["KNOWLEDGE"]


def test_the_index_gives_the_same_knowledge_as_the_yaml(indexed: Knowledge) -> None:
    from_yaml = assemble([read_pack(our_directory(), "triage")])
    parts = (
        "signatures",
        "causes",
        "noise",
        "life",
        "statuses",
        "exceptions",
        "documents",
        "digest",
        "problems",
        "notices",
    )
    weighing = ("weights", "reliability", "cases")
    for part in parts:
        assert getattr(indexed, part) == getattr(from_yaml, part), part
    for part in weighing:
        assert getattr(indexed.calibration, part) == getattr(from_yaml.calibration, part), part
    assert indexed.signatures


def test_the_order_of_causes_and_signatures_is_kept(indexed: Knowledge) -> None:
    from_yaml = assemble([read_pack(our_directory(), "triage")])
    assert list(indexed.causes) == list(from_yaml.causes)
    assert list(indexed.signatures) == list(from_yaml.signatures)


def test_the_literals_are_those_that_matching_would_compute(indexed: Knowledge) -> None:
    assert indexed.literals == {pattern: patterns.literals(pattern) for pattern in indexed.literals}


def test_every_pattern_over_logs_is_in_the_index(indexed: Knowledge) -> None:
    assert {*indexed.noise, *indexed.life} <= set(indexed.literals)
    assert {pattern for notice in indexed.notices.values() for pattern in notice.match} <= set(indexed.literals)
    assert "Dst tensor is not initialized" in indexed.literals, "a pattern inside a combinator"


def test_a_diagnosis_with_the_index_is_the_diagnosis_with_the_yaml(indexed: Knowledge, knowledge: Knowledge) -> None:
    crash = read(Source(str(LOGS / "oom_in_fit-2.21.log")), 0)
    with_index = diagnose(crash, indexed, version="test")
    assert with_index.verdict == DIAGNOSED
    assert with_index.diagnoses == diagnose(crash, knowledge, version="test").diagnoses


def test_a_faulty_pack_is_not_built(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {"house/broken": signature_data(cause="house.unheard-of")})
    with pytest.raises(ValueError, match=r"broken\.yaml:2: unknown cause 'house\.unheard-of'"):
        index_source(read_pack(str(pack)))
