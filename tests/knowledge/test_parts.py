"""Parts that patterns share: written once, put where a pattern names them, and refused where the name is unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import knowledge_of, line_with, signature_data, write_pack

from triage import patterns
from triage.clues import patterns_of
from triage.clues.interface import SignatureError
from triage.knowledge.database import Knowledge, load
from triage.knowledge.parts import parts_over, with_parts
from triage.maintain.prove import lint_packs

LIBRARIES = [
    "libcudart.so.11.0",
    "libcublasLt.so.12",
    "cublasLt64_12.dll",
    "nvrtc64_112_0.dll",
    "libnvrtc-builtins.so.11.1",
    "cusolver64_11.dll",
    "libcublas.8.0.dylib",
    "libnvJitLink.so.12",
]


def log_patterns(knowledge: Knowledge, id: str) -> list[str]:
    return [pattern for clue in knowledge.signatures[id].clues for _, pattern in patterns_of(clue)]


def test_a_name_in_a_pattern_is_replaced_wherever_the_pattern_stands() -> None:
    clues = [
        {"id": "a", "any": [{"log": "lost {a_file}"}, {"exception": {"type": "Error$", "message": "no {a_file} here"}}]}
    ]
    knowledge = knowledge_of({"house/a": signature_data(clues=clues)}, parts={"a_file": r"lib\w+\.so"})
    assert log_patterns(knowledge, "house/a") == [r"lost (?:lib\w+\.so)", "Error$", r"no (?:lib\w+\.so) here"]


def test_a_sentence_keeps_its_braces_for_what_the_pattern_caught() -> None:
    clue = {"id": "a", "log": "lost (?P<file>{a_file})", "says": "{file} is lost"}
    filled = with_parts({"clues": [clue]}, {"a_file": "lib.*so"})
    assert filled["clues"][0]["says"] == "{file} is lost"


def test_repeats_and_escaped_braces_are_no_names() -> None:
    clue = {"id": "a", "log": r"x{2,3} \{\{node y{4}"}
    assert with_parts({"clues": [clue]}, {})["clues"] == [clue]


def test_a_part_may_use_those_before_it() -> None:
    assert parts_over({}, {"name": "a|b", "file": "{name}[.]so"})["file"] == "(?:a|b)[.]so"
    with pytest.raises(SignatureError, match=r"\{name\}"):
        parts_over({}, {"file": "{name}[.]so", "name": "a|b"})


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_list_knows_cudas_libraries_on_every_system(library: str, knowledge: Knowledge) -> None:
    assert patterns.compile(f"^(?:{knowledge.parts['cuda_file']})$").search(library)
    assert not patterns.compile(f"^(?:{knowledge.parts['cudnn_file']})$").search(library)


@pytest.mark.parametrize("library", ["cudnn64_8.dll", "libcudnn_cnn_infer.so.8", "libcudnn.5.dylib"])
def test_the_list_knows_the_parts_of_cudnn(library: str, knowledge: Knowledge) -> None:
    assert patterns.compile(f"^(?:{knowledge.parts['cudnn_file']})$").search(library)
    assert not patterns.compile(f"^(?:{knowledge.parts['cuda_file']})$").search(library)


def test_a_private_pack_uses_our_parts_and_its_own(tmp_path: Path) -> None:
    clues = [{"id": "a", "log": "our_loader: {cuda_file} or {our_file} is gone"}]
    pack = write_pack(tmp_path / "house", {"house/a": signature_data(clues=clues)}, parts={"our_file": "lib_our_own"})
    knowledge = load((str(pack),))
    assert knowledge.problems == ()
    (pattern,) = log_patterns(knowledge, "house/a")
    assert patterns.compile(pattern).search("our_loader: libcudart.so.12 or lib_our_own is gone")


def problems(directory: Path, log: str, **parts: Any) -> list[str]:
    pack = write_pack(directory / "house", {"house/a": signature_data(clues=[{"id": "a", "log": log}])}, parts=parts)
    return [f"{Path(p.file).name}:{p.line}: {p.what}" for p in lint_packs((str(pack),)).problems]


def test_lint_names_an_unknown_part_and_its_line(tmp_path: Path) -> None:
    found = problems(tmp_path, "lost the {unheard_of} file")
    line = line_with(tmp_path / "house" / "house" / "a.yaml", "unheard_of")
    assert found == [f"a.yaml:{line}: no part is called {{unheard_of}}"]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("a (?=b)", "RE2 does not take"),
        ("(?P<file>lib.*)", "{a_part} names a group"),
        ("never used", "no pattern uses"),
    ],
)
def test_lint_refuses_a_part_that_cannot_be_used(tmp_path: Path, pattern: str, words: str) -> None:
    log = "words without it" if words == "no pattern uses" else "the words before {a_part}"
    assert any(
        words in problem and problem.startswith("parts.yaml:1") for problem in problems(tmp_path, log, a_part=pattern)
    )
