"""What installed metadata says about a module that was not found, and the whole way through a real run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from running import environment, report_on

from triage.capture.machine import modules_not_found, providers_of
from triage.crash import Provider, PythonException


def installed(folder: Path, name: str, version: str, files: dict[str, str], *, record: bool = True) -> None:
    """A distribution as pip leaves it."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if record:
        (metadata / "RECORD").write_text("".join(f"{path},,\n" for path in files))
    else:
        (metadata / "top_level.txt").write_text("\n".join({path.split("/")[0] for path in files}))


def test_the_module_of_an_exception_is_named_with_its_package() -> None:
    errors = [
        PythonException("ModuleNotFoundError", "No module named 'a.b_c'; 'a' is not a package"),
        PythonException("ImportError", "No module named cv2"),
        PythonException("ImportError", "cannot import name 'x' from 'y'"),
    ]
    assert modules_not_found(errors) == ("a.b_c", "cv2")


@pytest.mark.parametrize(
    ("file", "module", "brought"),
    [
        ("cv2/__init__.py", "cv2", "cv2"),
        ("cv2/__init__.py", "cv2.gapi.wip", "cv2"),
        ("pkg/core/__init__.py", "pkg.core.part", "pkg.core"),
        ("single.py", "single", "single"),
        ("_fast.cpython-311-x86_64-linux-gnu.so", "_fast", "_fast"),
        ("_fast.pyd", "_fast", "_fast"),
    ],
)
def test_the_list_of_files_shows_which_distribution_brings_it(
    file: str, module: str, brought: str, tmp_path: Path
) -> None:
    installed(tmp_path, "the-one", "1.2", {file: ""})
    installed(tmp_path, "another", "3", {"cv22/__init__.py": "", "pkg/other.py": "", "data/single.py": ""})
    assert providers_of([module], ["/no/such/folder", str(tmp_path)]) == (Provider(brought, "the-one", "1.2"),)


def test_a_namespace_that_several_share_is_brought_by_nobody(tmp_path: Path) -> None:
    installed(tmp_path, "google-auth", "2.0", {"google/auth/__init__.py": ""})
    assert providers_of(["google.protobuf"], [str(tmp_path)]) == ()


def test_an_older_installer_left_the_names_of_the_packages_only(tmp_path: Path) -> None:
    installed(tmp_path, "old-one", "0.1", {"old/__init__.py": ""}, record=False)
    assert providers_of(["old.part"], [str(tmp_path)]) == (Provider("old", "old-one", "0.1"),)


def test_metadata_that_is_no_name_is_not_believed(tmp_path: Path) -> None:
    installed(tmp_path, "bad", "1", {"bad/__init__.py": ""})
    (tmp_path / "bad-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: x; rm -rf ~\nVersion: 1\n")
    assert providers_of(["bad.part"], [str(tmp_path)]) == ()


def run_with(folder: Path, script: str, tmp_path: Path) -> dict:
    (tmp_path / "script.py").write_text(script)
    env = environment(PYTHONPATH=os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))
    _, report = report_on(tmp_path, "script.py", env=env)
    return report


def test_a_package_that_is_there_and_broken_inside_is_not_to_be_installed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    installed(target, "fancy-tools", "2.5", {"fancy/__init__.py": "from fancy.engine import start\n"})
    first = run_with(target, "import fancy\n", tmp_path)["diagnoses"][0]
    assert first["signature"] == "other/python-module-missing"
    assert "fancy-tools 2.5 is installed, and fancy is found, but no fancy.engine in it" in first["fix"][0]["do"]
    assert [step["run"] for step in first["fix"] if "install" in (step["run"] or "")] == []


def test_a_package_of_the_table_that_is_there_and_broken_inside_is_repaired_by_its_own_name(tmp_path: Path) -> None:
    target = tmp_path / "target"
    installed(target, "opencv-python-headless", "4.9.0.80", {"elsewhere/__init__.py": ""})
    installed(target, "retina-face", "0.0.17", {"retinaface/__init__.py": "import retinaface.model\n"})
    report = run_with(target, "import retinaface\n", tmp_path)
    assert report["crash"]["environment"]["providers"] == [
        {"module": "retinaface", "distribution": "retina-face", "version": "0.0.17"}
    ]
    runs = [step["run"] for step in report["diagnoses"][0]["fix"]]
    assert runs[0] == 'python -m pip install --force-reinstall --no-deps "retina-face==0.0.17"'


def test_a_module_that_nothing_installed_brings_is_only_looked_up(tmp_path: Path) -> None:
    report = run_with(tmp_path / "empty", "import no_such_module_at_all\n", tmp_path)
    assert report["crash"]["environment"]["providers"] == []
    assert report["diagnoses"][0]["fix"][0]["do"].startswith("Find out which package provides no_such_module_at_all")
