"""What is installed works: from a wheel, editable, and from bare source, with the same signatures in all three."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import LOGS, REPOSITORY, clean_environment

import triage

HOOK = "triage/capture/hook/sitecustomize.py"
SIGNATURES = sorted(path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "signatures").rglob("*.yaml"))


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = clean_environment(PIP_DISABLE_PIP_VERSION_CHECK="1")
    env.pop("PYTHONPATH", None)  # it would lead to a triage that is not the one under test
    env.update(environment)
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, cwd=cwd, env=env, timeout=300
    )


def must_run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = run(*command, cwd=cwd, **environment)
    assert done.returncode == 0, f"{done.args}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def can_build_without_isolation() -> bool:
    """Whether this environment has what pyproject.toml asks for; else pip fetches it."""
    try:
        major, minor = importlib.metadata.version("setuptools").split(".")[:2]
    except importlib.metadata.PackageNotFoundError:
        return False
    # Since 70.1 setuptools makes wheels by itself.
    return (int(major), int(minor)) >= (70, 1) and importlib.util.find_spec("yaml") is not None


@dataclass(frozen=True)
class Installed:
    """One way of having triage: the Python that has it and what to set for it."""

    python: Path
    environment: dict[str, str]
    cwd: Path

    def triage(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return run(self.python, "-m", "triage", *arguments, cwd=self.cwd, **self.environment)

    def python_says(self, code: str) -> str:
        return must_run(self.python, "-c", code, cwd=self.cwd, **self.environment)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("packaging")


@pytest.fixture(scope="module")
def source(workshop) -> Path:
    """A copy of the source tree, so that nothing made here is left in it and nothing left in it is used here."""
    made = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    return Path(shutil.copytree(REPOSITORY, workshop / "source", ignore=made))


@pytest.fixture(scope="module")
def distributions(workshop, source) -> dict[str, Path]:
    """The sdist of the tree, the wheel of the tree, and the wheel of the sdist."""
    how = ["--no-isolation"] if can_build_without_isolation() else []
    built = {}
    for name, kind, origin in (("sdist", "--sdist", source), ("wheel", "--wheel", source), ("again", "--wheel", None)):
        if origin is None:
            origin = workshop / "unpacked"
            with tarfile.open(built["sdist"]) as archive:
                archive.extractall(origin, filter="data")
            (origin,) = origin.iterdir()
        must_run(sys.executable, "-m", "build", kind, *how, "--outdir", workshop / name, origin, cwd=workshop)
        (built[name],) = (workshop / name).iterdir()
    return built


def bare_python(folder: Path) -> Path:
    """A fresh virtual environment with nothing in it."""
    venv.create(folder, with_pip=False)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def lend_dependencies(python: Path) -> None:
    """Let a virtual environment see our dependencies without fetching them; editable installs do not follow."""
    where = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    ours = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(where, "lent.pth").write_text("\n".join(sorted(ours)) + "\n")


def pip_install(python: Path, *what: str | Path, cwd: Path) -> None:
    must_run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", *what, cwd=cwd)


@pytest.fixture(scope="module")
def elsewhere(workshop) -> Path:
    """A working directory from which the source is not found by accident."""
    folder = workshop / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def wheel(workshop, distributions, elsewhere) -> Installed:
    python = bare_python(workshop / "venv-wheel")
    pip_install(python, distributions["wheel"], cwd=elsewhere)
    lend_dependencies(python)
    return Installed(python, {}, elsewhere)


@pytest.fixture(scope="module")
def editable(workshop, source, elsewhere) -> Installed:
    python = bare_python(workshop / "venv-editable")
    pip_install(python, "--editable", source, cwd=elsewhere)
    lend_dependencies(python)
    return Installed(python, {}, elsewhere)


@pytest.fixture(scope="module")
def bare_source(workshop, source, elsewhere) -> Installed:
    python = bare_python(workshop / "venv-bare")
    lend_dependencies(python)
    return Installed(python, {"PYTHONPATH": str(source)}, elsewhere)


@pytest.fixture(params=["wheel", "editable", "bare_source"])
def installed(request) -> Installed:
    return request.getfixturevalue(request.param)


# ---------------------------------------------------------------- three ways of having it


def test_the_signatures_are_found(installed, run_triage):
    done = installed.triage("signatures", "list")
    assert done.returncode == 0, done.stderr
    assert done.stdout == run_triage("signatures", "list").stdout
    assert len(done.stdout.splitlines()) >= 12


def test_the_same_log_gets_the_same_report(installed, run_triage):
    arguments = ("analyze", LOGS / "oom_in_fit-2.21.log", "--exit-code", "139", "--format", "json")
    assert installed.triage(*arguments).stdout == run_triage(*arguments).stdout


def test_a_signature_can_be_shown_and_explained(installed, run_triage):
    for arguments in (
        ("signatures", "show", "gpu/out-of-memory"),
        ("explain", "0xC0000409"),
        ("signatures", "sources"),
    ):
        assert installed.triage(*arguments).stdout == run_triage(*arguments).stdout != ""


def test_private_packs_work(installed, tmp_path):
    drafted = installed.triage(
        "signatures", "new", "own/slug", "--cause", "gpu.out-of-memory", "--into", tmp_path / "p"
    )
    assert drafted.returncode == 0, drafted.stderr
    assert "own/slug" in installed.triage("signatures", "list", "--signatures", tmp_path / "p").stdout


@pytest.mark.skipif(os.name != "posix", reason="triage run works on Linux and macOS")
def test_a_crash_under_run_has_its_python_stack(installed, tmp_path):
    """The hook is not imported but put before the child's own Python, so it must be a file that is found."""
    script = tmp_path / "train.py"
    script.write_text("import ctypes\ndef fit():\n    ctypes.string_at(8)\nfit()\n")
    output = tmp_path / "report.json"
    options = ("--no-native", "--python", installed.python, "--format", "json", "--output", output)
    done = installed.triage("run", *options, script)
    assert done.returncode == 139, done.stderr
    crash = json.loads(output.read_text("utf-8"))["crash"]
    (thread,) = [thread for thread in crash["processes"][0]["threads"] if thread["crashed"]]
    assert [(Path(f["file"]).name, f["line"]) for f in thread["python_stack"][1:]] == [("train.py", 3), ("train.py", 4)]
    assert Path(crash["environment"]["interpreter"]).parent == installed.python.parent


def test_each_is_taken_from_where_it_should_be(wheel, editable, bare_source, source):
    where = "import triage; print(triage.__file__)"
    assert str(source) not in wheel.python_says(where)
    assert str(source / "triage") in editable.python_says(where)
    assert str(source / "triage") in bare_source.python_says(where)


# ---------------------------------------------------------------- the wheel


def test_the_wheel_holds_the_knowledge_and_nothing_else(distributions):
    names = zipfile.ZipFile(distributions["wheel"]).namelist()
    for path in SIGNATURES:
        assert f"triage/{path}" in names
    schemas = ("triage/reports/report.schema.json", "triage/signatures/signature.schema.json")
    for path in ("triage/py.typed", *schemas, "triage/knowledge/built_index.py", HOOK):
        assert path in names
    tops = {name.split("/")[0] for name in names}
    assert tops == {"triage", f"crash_triage-{triage.__version__}.dist-info"}
    assert not [
        name for name in names if re.search(r"(^|/)(tests?|fixtures|benchmarks)/|test_|conftest|\.log$|\.pyc$", name)
    ]


def test_the_wheel_has_every_module_of_the_source(distributions, source):
    names = set(zipfile.ZipFile(distributions["wheel"]).namelist())
    modules = {path.relative_to(source).as_posix() for path in (source / "triage").rglob("*.py")}
    assert not modules - names


def test_the_wheel_says_what_it_is(distributions):
    archive = zipfile.ZipFile(distributions["wheel"])
    (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    text = archive.read(metadata).decode()
    assert f"\nName: crash-triage\nVersion: {triage.__version__}\n" in text
    assert "\nRequires-Python: >=3.10\n" in text
    assert "\nLicense-Expression: Apache-2.0\n" in text or "\nLicense: Apache-2.0\n" in text
    assert distributions["wheel"].name == f"crash_triage-{triage.__version__}-py3-none-any.whl"


def test_the_wheel_installs_the_command(wheel, elsewhere):
    script = wheel.python.with_name("triage")
    assert must_run(script, "--version", cwd=elsewhere) == f"triage {triage.__version__}\n"


@pytest.mark.parametrize("command", ["analyze", "explain"])
def test_the_installed_wheel_reads_no_yaml(wheel, command):
    arguments = {
        "analyze": ["analyze", str(LOGS / "oom_in_fit-2.21.log"), "--format", "json"],
        "explain": ["explain", "139"],
    }
    says = wheel.python_says(
        "import sys\nfrom triage.cli import main\n"
        f"sys.argv = ['triage', *{arguments[command]!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    status = end.code or 0\n"
        "print()\nprint(status, 'yaml' in sys.modules, 'triage.knowledge.built_index' in sys.modules)"
    )
    assert says.splitlines()[-1] == "0 False True"


def test_without_fixtures_tests_are_not_checked(wheel):
    done = wheel.triage("signatures", "test")
    assert done.returncode == 3
    assert "not checked" in done.stdout
    assert re.fullmatch(r"0 passed, 0 failed, [1-9]\d* not checked\n", done.stderr)


def test_without_fixtures_lint_says_what_it_did_not_check(wheel):
    done = wheel.triage("signatures", "lint")
    assert done.returncode == 0, done.stdout
    assert "not checked: healthy logs" in done.stdout


# ---------------------------------------------------------------- editable and source


def test_an_edit_counts_at_once(editable, source):
    path = source / "signatures" / "gpu" / "out-of-memory.yaml"
    text = path.read_text("utf-8")
    try:
        path.write_text(re.sub(r"^title: .*$", "title: Edited just now", text, count=1, flags=re.MULTILINE), "utf-8")
        assert "Edited just now" in editable.triage("signatures", "list").stdout
    finally:
        path.write_text(text, "utf-8")


def test_the_sdist_holds_what_a_build_needs(distributions):
    with tarfile.open(distributions["sdist"]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"setup.cfg", "setup.py", "pyproject.toml", "LICENSE", "README.md", *SIGNATURES} <= names
    assert {"triage/reports/report.schema.json", "signatures/signature.schema.json", HOOK} <= names


def test_the_sdist_builds_the_same_wheel_again(distributions):
    first, again = (zipfile.ZipFile(distributions[name]) for name in ("wheel", "again"))
    assert sorted(first.namelist()) == sorted(again.namelist())
    for name in first.namelist():
        if name.endswith((".py", ".yaml", ".json")):
            assert first.read(name) == again.read(name), name
