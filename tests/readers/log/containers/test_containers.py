"""The list of container formats: what is in it, and that it costs nothing where none of them is found."""

import subprocess
import sys
from pathlib import Path

import container_triggers
import pytest
from conftest import LOGS

from triage import patterns
from triage.readers import Source, read
from triage.readers.log import containers
from triage.readers.log.containers.triggers import TRIGGERS

MODULES = Path(containers.__file__).parent
TOOLS = {"__init__", "interface", "printed_stacks", "triggers"}


def test_every_module_is_in_the_list() -> None:
    assert {path.stem for path in MODULES.glob("*.py")} - TOOLS == set(containers.FORMATS)


@pytest.mark.parametrize("name", containers.FORMATS)
def test_every_container_has_a_test_of_its_name(name: str) -> None:
    assert (Path(__file__).parent / f"test_{name}.py").exists()


@pytest.mark.parametrize("name", containers.FORMATS)
def test_every_pattern_compiles_in_both_engines(name: str) -> None:
    module = containers.load(name)
    texts = [value for key, value in vars(module).items() if key.startswith("_") and isinstance(value, str)]
    assert [text for text in texts if "(?P<" in text and patterns.check(text)] == []


@pytest.mark.parametrize("path", sorted((LOGS / "healthy").glob("*.log")), ids=lambda path: path.name)
def test_a_run_that_went_well_needs_no_container(path: Path) -> None:
    assert containers.seen_in(read(Source.of(path), 0).logs[0].text) == []


def test_the_table_of_trigger_words_is_what_the_modules_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert container_triggers.main(container_triggers.TABLE, write=False) == 0, capsys.readouterr().out


def test_a_table_that_is_out_of_date_is_noticed_and_written_anew(tmp_path: Path) -> None:
    table = tmp_path / "triggers.py"
    table.write_text(container_triggers.source().replace('"WorkerLostError",', ""), "utf-8")
    assert container_triggers.main(table, write=False) == 1
    assert container_triggers.main(table, write=True) == 0
    assert container_triggers.main(table, write=False) == 0


def test_no_trigger_of_one_container_hides_in_a_trigger_of_another() -> None:
    """All triggers are searched for in one pass, which finds only the first of two that overlap."""
    words = [(name, word) for name in containers.FORMATS for word in TRIGGERS[name]]
    hidden = [(a, b) for a in words for b in words if a[0] != b[0] and a[1] in b[1]]
    assert hidden == [(("kubernetes", "OOMKilled"), ("docker", '"OOMKilled":'))]


def test_no_module_is_imported_before_its_triggers_are_seen() -> None:
    code = (
        "import sys; from triage.crash import Log; from triage.readers.log import containers;"
        "containers.extract(Log(0, ['Epoch 1/5', 'loss: 0.1']));"
        "print(*(m.rsplit('.', 1)[1] for m in sys.modules if m.startswith('triage.readers.log.containers.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["interface", "triggers"]
