"""The machine and the Python that failed: packages from their metadata, processor, cards. No package is imported.

A package whose import crashes still has its METADATA, and the interpreter that ran it can still list its search path.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from triage.capture.memory import container, read
from triage.crash import OS, Environment, Fact, Library, Provider, PythonException
from triage.patterns import compile as pattern

# The packages that decide crashes of TensorFlow programs; a star stands for whatever follows.
PACKAGES = (
    "tensorflow*",
    "tf-nightly*",
    "tf-keras*",
    "keras*",
    "numpy",
    "protobuf",
    "ml-dtypes",
    "h5py",
    "absl-py",
    "grpcio*",
    "jax*",
    "torch*",
    "nvidia-*",
    "cupy*",
    "intel-openmp",
    "mkl*",
    "onednn*",
    "onnxruntime*",
    "opencv-*",
    "pandas",
    "pyarrow",
    "scipy",
    "scikit-learn",
    "numba",
    "llvmlite",
    "pillow",
    "horovod",
    "ray",
    "tensorboard",
    "tensorrt*",
    "triton",
    "xla*",
    "wrapt",
    "typing-extensions",
    "gast",
    "flatbuffers",
)
# Other names under which TensorFlow itself is installed.
_BUILDS = ("tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "tensorflow-macos", "tensorflow-rocm")
_NIGHTLY = ("tf-nightly", "tf-nightly-cpu", "tf-nightly-gpu", "tf-nightly-intel", "tf-nightly-macos")
_PATIENCE = 5.0
_MARK = "triage:"
# Only sys is imported: with -c the working directory comes first, and a json.py of the person's would be taken.
_ASK = f"import sys; print('{_MARK}' + repr(('%d.%d.%d' % sys.version_info[:3], sys.path)))"
_ASK_CARDS = f"""
import pynvml
pynvml.nvmlInit()
as_text = lambda value: value.decode() if isinstance(value, bytes) else value
driver = as_text(pynvml.nvmlSystemGetDriverVersion())
handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
print({_MARK!r} + repr((driver, [as_text(pynvml.nvmlDeviceGetName(handle)) for handle in handles])))
"""
_NOT_FOUND = r"^No module named '?(\w+(?:\.\w+)*)"
_METADATA = (".dist-info", ".egg-info")
# What a name may be made of; metadata is text that anybody can write.
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"[A-Za-z0-9][A-Za-z0-9._+!-]*"


class Cards(NamedTuple):
    """The graphics cards by their names, and the version of NVIDIA's driver."""

    names: tuple[str, ...] = ()
    driver: str | None = None


class Interpreter(NamedTuple):
    """A Python: where it is, its version, and where it looks for packages."""

    path: str | None
    version: str | None = None
    search_path: tuple[str, ...] = ()


def environment_of(
    interpreter: str | None,
    libraries: Iterable[Library] = (),
    libraries_complete: bool = False,
    not_found: Iterable[str] = (),
    environ: Mapping[str, str] = os.environ,
    root: str = "/",
) -> Environment:
    """The machine as it is now; `interpreter` is the Python that ran, None where it was no Python.

    `not_found` are modules that it did not find; the installed metadata may know which package brings them.
    """
    python = ask_interpreter(interpreter, environ) if interpreter else Interpreter(None)
    cards = graphics_cards(root)
    packages = packages_on(python.search_path)
    return Environment(
        os=system(),
        python=python.version,
        packages=packages,
        cpu_flags=cpu_flags(root),
        gpus=cards.names,
        libraries=tuple(libraries),
        libraries_complete=libraries_complete,
        interpreter=python.path,
        driver=cards.driver,
        providers=providers_of(not_found, python.search_path),
        facts=(*_measured(python, cards, container(root, environ)), *_installed(packages)),
    )


def _measured(python: Interpreter, cards: Cards, kind_of_container: str | None) -> Iterator[Fact]:
    if python.version:
        yield Fact("python", python.version, "measured")
    if cards.driver:
        yield Fact("driver", cards.driver, "measured")
    for name in cards.names:
        yield Fact("card", name, "measured")
    if kind_of_container:
        yield Fact("container", kind_of_container, "measured")


def _installed(packages: tuple[tuple[str, str], ...]) -> Iterator[Fact]:
    """CUDA and cuDNN where pip brought them: they are there, which does not say that the program loaded them."""
    for package, version in packages:
        if package.startswith("nvidia-cuda-runtime"):
            yield Fact("cuda", version, "installed")
        elif package.startswith("nvidia-cudnn"):
            yield Fact("cudnn", version, "installed")


def system() -> OS | None:
    """The system, by the name that the readers use."""
    names: dict[str, OS] = {"linux": "linux", "darwin": "macos", "win32": "windows", "cygwin": "windows"}
    return names.get(sys.platform)


def ask_interpreter(
    interpreter: str, environ: Mapping[str, str] = os.environ, patience: float = _PATIENCE
) -> Interpreter:
    """An interpreter's version and search path, asked of itself; from its directories where it does not start."""
    answer = _ask([interpreter, "-c", _ASK], _without_us(environ), patience)
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], list):
        return Interpreter(interpreter, str(answer[0]), tuple(str(entry) for entry in answer[1] if entry))
    return _from_directories(interpreter)


def packages_on(search_path: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The versions of the packages that matter, as their metadata on this search path has them."""
    found: dict[str, str] = {}
    for folder in _metadata_on(search_path):
        name, version = _distribution(folder)
        # The first directory that has a package is the one that it is imported from.
        if name and version and name not in found:
            found[name] = version
    for build in (*_BUILDS, *_NIGHTLY):
        if "tensorflow" not in found and build in found:
            found["tensorflow"] = found[build]
    return tuple(sorted(found.items(), key=lambda item: (item[0] != "tensorflow", item[0])))


def cpu_flags(root: str = "/") -> tuple[str, ...]:
    """The processor's features as /proc/cpuinfo names them."""
    try:
        # Only up to the first processor's list: the whole file takes long to write on a machine with many.
        with open(os.path.join(root, "proc/cpuinfo"), encoding="utf-8", errors="replace") as file:
            for line in file:
                name, _, flags = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return tuple(flags.split())
    except OSError:
        pass
    return _mac_flags() if sys.platform == "darwin" and root == "/" else ()


def graphics_cards(root: str = "/") -> Cards:
    """NVIDIA's cards with the driver's version, from its library where there is one, else from its files."""
    signs = ("proc/driver/nvidia", "dev/nvidiactl", "dev/dxg")
    may_be = sys.platform == "win32" or any(os.path.exists(os.path.join(root, path)) for path in signs)
    if not may_be:
        return Cards()
    found = _cards_from_library() if root == "/" else Cards()
    return found if found.names else _cards_from_files(root)


def modules_not_found(exceptions: Iterable[PythonException]) -> tuple[str, ...]:
    """The modules that could not be found, by the exceptions' messages, with their packages: `keras.api`."""
    matches = (pattern(_NOT_FOUND).search(error.message) for error in exceptions)
    return tuple(dict.fromkeys(str(match[1]) for match in matches if match))


def providers_of(modules: Iterable[str], search_path: Iterable[str]) -> tuple[Provider, ...]:
    """For each module the distribution that brings it, else the one that brings the package it should be in."""
    wanted = tuple(modules)
    if not wanted:
        return ()
    lists = [(folder, files) for folder in _metadata_on(search_path) if (files := _files_of(folder))]
    found = (_provider_of(module, lists) for module in wanted)
    return tuple(provider for provider in found if provider)


def _ask(command: list[str], environ: Mapping[str, str] | None, patience: float) -> object:
    """What a command prints after our mark, as a Python value; None whenever that fails."""
    import ast

    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            timeout=patience,
        )
        # The person's own site hook may print too, so only what follows our mark counts.
        _, mark, value = done.stdout.decode("utf-8", "replace").rpartition(_MARK)
        return ast.literal_eval(value.splitlines()[0]) if mark else None
    except (OSError, ValueError, SyntaxError, IndexError, MemoryError, subprocess.SubprocessError):
        return None


def _without_us(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without our variables and our hook, which would arm this interpreter for a crash too."""
    ours = Path(__file__).resolve().parents[1]
    kept = {name: value for name, value in environ.items() if not name.startswith("TRIAGE_")}
    if "PYTHONPATH" in kept:
        entries = [entry for entry in kept["PYTHONPATH"].split(os.pathsep) if entry]
        kept["PYTHONPATH"] = os.pathsep.join(e for e in entries if not Path(e).resolve().is_relative_to(ours))
        if not kept["PYTHONPATH"]:
            del kept["PYTHONPATH"]
    return kept


def _from_directories(interpreter: str) -> Interpreter:
    """The version and site-packages of an interpreter that does not start, from where they lie beside it."""
    try:
        prefix = Path(interpreter).parent.parent
        places = sorted(prefix.glob("lib/python3*/site-packages")) or sorted(prefix.glob("Lib/site-packages"))
        config = read(str(prefix), "pyvenv.cfg")
    except (OSError, ValueError):
        return Interpreter(interpreter)
    configured = re.search(r"(?m)^version(?:_info)?\s*=\s*(\d+\.\d+\.\d+)", config)
    folders = [place.parent.name.removeprefix("python") for place in places if place.parent.name != "Lib"]
    version = configured[1] if configured else next(iter(folders), None)
    return Interpreter(interpreter, version, tuple(str(place) for place in places))


def _distribution(folder: Path) -> tuple[str | None, str | None]:
    """Name and version of a package from its metadata directory, None for one that does not matter."""
    name, _, rest = folder.stem.partition("-")
    name = re.sub(r"[-_.]+", "-", name).lower()
    if not _matters(name):
        return None, None
    from importlib.metadata import PathDistribution

    try:
        version: str | None = PathDistribution(folder).version
    except Exception:  # a broken METADATA fails in a different way in every version of Python
        version = None
    # An egg's name goes on with the Python it was made for; a wheel's name ends with the version.
    return name, version or rest.partition("-")[0] or None


def _matters(name: str) -> bool:
    return any(name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted for wanted in PACKAGES)


def _mac_flags() -> tuple[str, ...]:
    try:
        features = subprocess.run(
            ["sysctl", "-n", "machdep.cpu.features", "machdep.cpu.leaf7_features"],
            capture_output=True,
            timeout=_PATIENCE,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    # Apple writes AVX1.0 and SSE4.2 for what Linux calls avx and sse4_2.
    flags = features.decode("ascii", "replace").lower().replace("avx1.0", "avx").replace(".", "_").split()
    return (*flags, platform.machine().lower()) if flags else ()


def _cards_from_library() -> Cards:
    """The cards as NVIDIA's own library names them, asked in a process of its own: a broken driver may kill it."""
    from importlib.util import find_spec

    try:
        if find_spec("pynvml") is None:
            return Cards()
    except (ImportError, ValueError):
        return Cards()
    answer = _ask([sys.executable, "-c", _ASK_CARDS], None, _PATIENCE)
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], list):
        return Cards(tuple(map(str, answer[1])), str(answer[0]) if answer[0] else None)
    return Cards()


def _cards_from_files(root: str) -> Cards:
    version = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", read(root, "proc/driver/nvidia/version"))
    try:
        cards = sorted(Path(root, "proc/driver/nvidia/gpus").iterdir())
    except OSError:
        cards = []
    models = [re.search(r"(?m)^Model:(.*)", read(str(card), "information")) for card in cards]
    names = tuple(model[1].strip() for model in models if model and model[1].strip())
    return Cards(names, version[1] if version and names else None)


def _provider_of(module: str, lists: list[tuple[Path, str]]) -> Provider | None:
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        path = re.escape("/".join(parts[:length]))
        # A folder without __init__.py may belong to several; a compiled module has its Python version in its name.
        holds = pattern(rf"^{path}(?:/__init__\.py|\.py|(?:\.[\w-]+)?\.(?:so|pyd))(?:,|$)")
        for folder, files in lists:
            if holds.search(files) and (distribution := _name_and_version(folder)):
                return Provider(".".join(parts[:length]), *distribution)
    return None


def _metadata_on(search_path: Iterable[str]) -> Iterator[Path]:
    for directory in dict.fromkeys(search_path):
        try:
            entries = sorted(os.listdir(directory))
        except (OSError, ValueError):  # a zip file, or a directory that is not there: both are usual on a search path
            continue
        yield from (Path(directory, entry) for entry in entries if entry.endswith(_METADATA))


def _files_of(folder: Path) -> str:
    """The list of files that an installer left; where there is none, the names of the packages as such a list."""
    for name in ("RECORD", "top_level.txt"):
        try:
            text = (folder / name).read_text("utf-8", "replace")
        except OSError:
            continue
        return text if name == "RECORD" else "\n".join(f"{package}/__init__.py" for package in text.split())
    return ""


def _name_and_version(folder: Path) -> tuple[str, str] | None:
    from importlib.metadata import PathDistribution

    try:
        distribution = PathDistribution(folder)
        name, version = str(distribution.metadata["Name"]), str(distribution.version)
    except Exception:  # a broken METADATA fails in a different way in every version of Python
        return None
    return (name, version) if re.fullmatch(_NAME, name) and re.fullmatch(_VERSION, version) else None
