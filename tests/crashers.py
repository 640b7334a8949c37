"""The tables of fixtures/crashers for tests: what each script needs, how it ends and which cause must be named.

`table.yaml` there has those over TensorFlow and plain Python, `frameworks/table.yaml` those over other frameworks.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple, TypeVar

import yaml
from conftest import REPOSITORY

FOLDER = REPOSITORY / "fixtures" / "crashers"
FRAMEWORKS = FOLDER / "frameworks"
OPEN = ("unknown", "uncertain")
Result = TypeVar("Result")
_PRESENT = {
    "tensorflow": lambda: _has_module("tensorflow"),
    "pytorch": lambda: _has_module("torch"),
    "pytorch-cpu": lambda: _has_module("torch") and not _pytorch_has_cuda(),
    "pytorch-cuda": lambda: _has_module("torch") and _pytorch_has_cuda(),
    "jax": lambda: _has_module("jaxlib"),
    "onnxruntime": lambda: _has_module("onnxruntime"),
    "xgboost": lambda: _has_module("xgboost"),
    "lightgbm": lambda: _has_module("lightgbm"),
    "opencv": lambda: _has_module("cv2"),
    "no-nvidia": lambda: not Path("/proc/driver/nvidia").exists(),
    "numpy": lambda: _has_module("numpy"),
    "protobuf": lambda: _has_module("google.protobuf"),
    "g++": lambda: shutil.which("g++") is not None,
    "linux": lambda: sys.platform.startswith("linux"),
    "x86-64": lambda: platform.machine().lower() in ("x86_64", "amd64"),
    "python<3.12": lambda: sys.version_info < (3, 12),
}


class Crasher(NamedTuple):
    """One script; table.yaml says what each field means."""

    name: str
    exit: int
    cause: str
    decides: str
    needs: tuple[str, ...]
    line: str
    plain: str
    process: str = "main"
    timeout: float | None = None
    folder: Path = FOLDER

    @property
    def script(self) -> Path:
        """Where it is."""
        return self.folder / f"{self.name}.py"

    @property
    def patience(self) -> float | None:
        """The seconds after which a hanging script is ended; more of them on an overloaded machine."""
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
        return self.timeout and self.timeout * min(max(1.0, busy), 5.0)

    @property
    def hangs(self) -> bool:
        """Whether it must be ended from outside."""
        return self.timeout is not None

    @property
    def tensorflow(self) -> bool:
        """Whether it starts a TensorFlow, which takes seconds and hundreds of MB."""
        return "tensorflow" in self.needs

    @property
    def returncode(self) -> int | None:
        """Python's returncode of a plain run: -N for signal N, None for a script that hangs."""
        if self.hangs:
            return None
        return 128 - self.exit if self.exit > 128 else self.exit

    @property
    def missing(self) -> str | None:
        """The first of its needs that this machine lacks."""
        return next((need for need in self.needs if not _PRESENT[need]()), None)


def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _pytorch_has_cuda() -> bool:
    """Whether the PyTorch here was built for CUDA, from its own note of it: an import would take seconds."""
    found = importlib.util.find_spec("torch")
    assert found and found.origin
    return "\ncuda: Optional[str] = None" not in (Path(found.origin).parent / "version.py").read_text("utf-8")


def once_each(run: Callable[[Crasher], Result]) -> Callable[[Crasher], Result]:
    """The same function, run once per crasher for all tests; a run that failed is not tried again."""
    runs: dict[str, Future[Result]] = {}

    def result(crasher: Crasher) -> Result:
        if crasher.name not in runs:
            runs[crasher.name] = Future()
            try:
                runs[crasher.name].set_result(run(crasher))
            except Exception as error:
                runs[crasher.name].set_exception(error)
        return runs[crasher.name].result()

    return result


def all_crashers(folder: Path = FOLDER) -> list[Crasher]:
    """Every entry of a folder's table, by name."""
    table = yaml.safe_load((folder / "table.yaml").read_text(encoding="utf-8"))
    return [_crasher(name, row, folder) for name, row in sorted(table.items())]


def _crasher(name: str, row: dict[str, object], folder: Path) -> Crasher:
    """An entry with its defaults: the plain output is as good as the evidence unless the entry says otherwise."""
    filled = {"line": row["decides"], "plain": row["cause"], **row, "needs": tuple(row["needs"])}
    return Crasher(name=name, folder=folder, **filled)  # an unknown or a missing key is an error here
