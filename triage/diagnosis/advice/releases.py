"""Which releases fit this machine: the versions of a crash and the tables of signatures/versions.yaml give the numbers,
commands and sentences that fixes use as {placeholders}.

A placeholder is given only where the tables have the row: a wrong version is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from triage.clues.clash import generation, system_of, toolkit_driver, wheel_row
from triage.clues.versions import in_range, order
from triage.crash import Environment, Framework
from triage.patterns import compile as pattern

Tables = Mapping[str, Any]
Row = Mapping[str, Any]

# Each placeholder with the named groups that it needs besides facts about the machine.
PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "tensorflow_version": (),
    "tensorflow_pin": (),
    "tensorflow_before": (),
    "python_wanted": (),
    "python_range": (),
    "python_advice": (),
    "cuda_wanted": (),
    "cudnn_wanted": (),
    "gpu_advice": (),
    "gpu_install": (),
    "driver_minimum": (),
    "driver_advice": (),
    "numpy_pin": (),
    "protobuf_pin": (),
    "keras_pin": (),
    "glibc_advice": (),
    "runtime_advice": ("version",),
    "ptx_advice": (),
    "compiler_wanted": (),
    "card_advice": (),
    "card_pin": (),
    "library_wanted": ("file",),
    "jax_pin": (),
    "jaxlib_pin": (),
    "metal_advice": (),
    "metal_install": (),
    "companions_advice": (),
    "companions_install": (),
    "fixed_advice": (),
    "fixed_pin": (),
}
# The CUDA runtime and cuDNN carry their version in the file's name; the other libraries are numbered on their own.
_LIBRARY_FILES = (
    ("CUDA", r"(?:lib)?cudart(?:\.so\.|64_)(?P<version>[\d.]+)"),
    ("CUDA", r"(?:lib)?cublas(?:\.so\.|64_)(?P<version>[\d.]+)"),
    ("cuDNN", r"(?:lib)?cudnn(?:_\w+_infer|_\w+_train)?(?:\.so\.|64_)(?P<version>\d)"),
)


def fitting_releases(
    environment: Environment, values: Mapping[str, str], tables: Tables, framework: Framework | None = None
) -> dict[str, str]:
    """Every placeholder that the machine's versions and the tables fill.

    `framework` is that of the program: a TensorFlow that is only installed beside it says nothing about its CUDA.
    """
    version = environment.package("tensorflow")
    minor = ".".join(version.split(".")[:2]) if version else None
    build = next((row for row in _rows(tables, "builds") if row["release"] == minor), None)
    library = _library(values.get("file", ""))
    filled: dict[str, str] = {}
    if library:
        filled["library_wanted"] = " ".join(library)
    if version and minor and build:
        filled |= {
            "tensorflow_version": version,
            "tensorflow_pin": f"=={minor}.*",
            "tensorflow_before": f"<{minor}",
            "compiler_wanted": build["compiler"],
        }
        filled |= _pins(minor, tables) | _glibc(version, environment, tables)
        if not _contradicts(library, build):
            filled |= _gpu(version, minor, build, environment, tables)
    of_file = library[1] if library and library[0] == "CUDA" else None
    if framework in (None, "tensorflow"):
        cuda = filled.get("cuda_wanted") or of_file
    else:
        cuda = of_file or environment.fact("cuda built")
    if cuda is None and version is None:
        cuda = _cuda_of_pytorch(environment, tables)
    if cuda:
        filled |= _driver(cuda, environment, tables)
    elif environment.driver:
        filled |= _driver_alone(environment.driver, environment.os, tables)
    filled |= _jax(environment) | _metal(environment, tables) | _companions(environment, tables)
    made_with = environment.fact("cuda built") or cuda
    if made_with:
        filled |= _ptx(environment, made_with, tables)
    if "version" in values:
        filled |= _runtime(values["version"], environment, tables)
    return filled | _python(minor, build, environment, tables) | _card(minor, environment, tables)


def _rows(tables: Tables, name: str) -> list[Row]:
    rows: list[Row] = tables.get(name, {}).get("rows") or []
    return rows


def _since(tables: Tables, name: str, version: str) -> Row | None:
    """The row of the newest release that is not above this one; the newest row comes first."""
    return next((row for row in _rows(tables, name) if order(row["from"]) <= order(version)), None)


def _library(file: str) -> tuple[str, str] | None:
    """What a missing file belongs to: ("CUDA", "10.1"), ("CUDA", "11"), ("cuDNN", "8")."""
    for name, named in _LIBRARY_FILES:
        match = pattern(named).search(file)
        if match:
            digits = match.group("version").strip(".")
            if (name == "CUDA" and "." not in digits and len(digits) > 2) or digits in ("80", "90"):
                digits = f"{digits[:-1]}.{digits[-1]}"
            # From CUDA 11 on one file name serves a whole major version; cuBLAS 10 came with 10.1 and 10.2.
            return name, digits.split(".")[0] if digits.startswith(("11", "12", "13")) else digits
    return None


def _contradicts(library: tuple[str, str] | None, build: Row) -> bool:
    """Whether the missing file belongs to another release than the one that the log names."""
    if library is None:
        return False
    built = build["cuda" if library[0] == "CUDA" else "cudnn"]
    return bool(built.split(".")[0] != library[1].split(".")[0])


def _gpu(version: str, minor: str, build: Row, environment: Environment, tables: Tables) -> dict[str, str]:
    if environment.os == "macos":
        return {}
    if environment.os == "windows" and not build.get("windows"):
        last = next(row for row in _rows(tables, "builds") if row.get("windows"))
        advice = (
            f"TensorFlow {version} has no GPU support on Windows itself: use it in WSL2 with "
            f'pip install "tensorflow[and-cuda]", or go back to {last["release"]} with CUDA {last["cuda"]}, '
            f"cuDNN {last['cudnn']} and Python {_words(_pythons(last, environment))}."
        )
        return {"gpu_advice": advice, "gpu_install": "wsl --install -d Ubuntu"}
    cuda, cudnn = build["cuda"], build["cudnn"]
    filled = {"cuda_wanted": cuda, "cudnn_wanted": cudnn}
    made = f"TensorFlow {version} was built with CUDA {cuda} and cuDNN {cudnn}"
    if any(order(row["from"]) <= order(minor) for row in _rows(tables, "pip_cuda")):
        filled["gpu_advice"] = f"{made}; pip brings both."
        filled["gpu_install"] = f'python -m pip install "tensorflow[and-cuda]=={minor}.*"'
        return filled
    filled["gpu_advice"] = f"{made}; install these two and keep others off the search path."
    for row in _rows(tables, "conda_cuda"):
        if (row["cuda"], row["cudnn"]) == (cuda, cudnn):
            filled["gpu_install"] = row["run"]
    return filled


def _cuda_of_pytorch(environment: Environment, tables: Tables) -> str | None:
    """The CUDA that the torch here was built with, or that its wheel on PyPI brings."""
    torch = environment.package("torch")
    minor = ".".join(torch.split(".")[:2]) if torch else None
    row = next((row for row in _rows(tables, "pytorch_builds") if row["release"] == minor), None)
    return environment.fact("cuda built") or (row.get("cuda") if row else None)


def _driver(cuda: str, environment: Environment, tables: Tables) -> dict[str, str]:
    row = next((row for row in _rows(tables, "drivers") if in_range(cuda, f"=={row['cuda']}")), None)
    if row is None:
        return {}
    wanted = {"linux": row["linux"], "windows": row["windows"]}
    if environment.os in wanted:
        minimum = wanted[environment.os]
    else:
        minimum = f"{row['linux']} (Linux) or {row['windows']} (Windows)"
    have = environment.driver
    if have and environment.os in wanted and order(have) >= order(minimum):
        return {}  # nobody should update a driver that is new enough
    installed = f"; this machine has {have}" if have else ""
    advice = f"Update the NVIDIA driver to {minimum} or newer, which CUDA {cuda} needs{installed}."
    return {"driver_minimum": minimum, "driver_advice": advice}


def _driver_alone(have: str, system: str | None, tables: Tables) -> dict[str, str]:
    """What a driver is good for, where nothing tells which CUDA the program wants."""
    if system not in ("linux", "windows"):
        return {}
    rows = _rows(tables, "drivers")
    number = next((n for n, row in enumerate(rows) if order(have) >= order(row[system])), len(rows))
    if number == 0:
        return {}  # nobody should update the newest
    wants = f"CUDA {rows[number - 1]['cuda']} wants {rows[number - 1][system]} or newer"
    serves = f"serves CUDA {rows[number]['cuda']}" if number < len(rows) else f"is too old for CUDA {rows[-1]['cuda']}"
    return {"driver_advice": f"Update the NVIDIA driver: {have} {serves}, and {wants}."}


def _pythons(build: Row, environment: Environment) -> tuple[str, str]:
    on_windows = build.get("windows_python") if environment.os == "windows" else None
    first, _, last = (on_windows or build["python"]).partition("-")
    return first, last


def _words(pair: tuple[str, str]) -> str:
    return pair[0] if pair[0] == pair[1] else f"{pair[0]} to {pair[1]}"


def _python(minor: str | None, build: Row | None, environment: Environment, tables: Tables) -> dict[str, str]:
    """Which Python the release has wheels for, or which releases have wheels for this Python."""
    have = ".".join(environment.python.split(".")[:2]) if environment.python else None
    if build is not None and minor is not None:
        pythons = _pythons(build, environment)
        filled = {"python_wanted": pythons[1], "python_range": _words(pythons)}
        if have and not order(pythons[0]) <= order(have) <= order(pythons[1]):
            filled["python_advice"] = (
                f"TensorFlow {minor} has wheels for Python {_words(pythons)}, and this is {have}: take one of those, "
                f"or another TensorFlow."
            )
        return filled
    builds = _rows(tables, "builds")
    if have is None or minor is not None or not builds:
        return {}
    fits = [row["release"] for row in builds if order(have) >= order(_pythons(row, environment)[0])]
    fits = [minor for minor in fits if order(have) <= order(_pythons(_build(builds, minor), environment)[1])]
    if fits:
        return {"python_advice": f"Python {have} has wheels of TensorFlow {_words((fits[-1], fits[0]))} only."}
    newest = _pythons(builds[0], environment)
    if order(have) < order(newest[0]):
        return {}
    advice = f"No TensorFlow up to {builds[0]['release']} has a wheel for Python {have}: use {newest[1]} or older."
    return {"python_advice": advice, "python_wanted": newest[1]}


def _build(builds: list[Row], minor: str) -> Row:
    return next(row for row in builds if row["release"] == minor)


def _pins(minor: str, tables: Tables) -> dict[str, str]:
    row = _since(tables, "requirements", minor)
    if row is None:
        return {}
    filled = {}
    for name in ("numpy", "protobuf", "keras"):
        if name in row:
            below = f",<{row[name + '_below']}" if f"{name}_below" in row else ""
            wanted = re.sub(r",<2\.0$", "", row[name]) if below else row[name]
            filled[f"{name}_pin"] = f"{name}{wanted}{below}"
    return filled


def _jax(environment: Environment) -> dict[str, str]:
    """A jaxlib for the jax that is here: the newest that is not above it, which jax takes if it is new enough."""
    jax = environment.package("jax")
    return {"jax_pin": f"jax=={jax}", "jaxlib_pin": f"jaxlib<={jax}"} if jax and jax.count(".") == 2 else {}


def _metal(environment: Environment, tables: Tables) -> dict[str, str]:
    """The JAX for which the jax-metal that is here was made, where this is another."""
    metal, jax = environment.package("jax-metal"), environment.package("jax")
    row = next((row for row in _rows(tables, "jax_metal") if metal and in_range(metal, f"=={row['release']}")), None)
    if row is None or jax is None or in_range(jax, row["jax"]):
        return {}
    best = row["best"]
    return {
        "metal_advice": f"jax-metal {metal} was made for JAX {row['jax']}, and this is {jax}: take {best}.",
        "metal_install": f'python -m pip install "jax=={best}" "jaxlib=={best}" "jax-metal=={metal}"',
    }


def _companions(environment: Environment, tables: Tables) -> dict[str, str]:
    """The torchvision and torchaudio for the torch that is here, from the index where that torch came from."""
    torch = environment.package("torch")
    minor = ".".join(torch.split(".")[:2]) if torch else None
    row = next((row for row in _rows(tables, "pytorch_companions") if row["torch"] == minor), None)
    if torch is None or row is None:
        return {}
    built = environment.fact("cuda built")
    # Where neither the system nor the build of torch is known, pip might fetch another build than the one of torch.
    if not built and environment.os not in ("linux", "macos"):
        return {}
    vision, audio = row["torchvision"], row["torchaudio"]
    index = f" --index-url https://download.pytorch.org/whl/cu{built.replace('.', '')}" if built else ""
    pins = " ".join(f'"{pin}"' for pin in (f"torch=={torch}", f"torchvision=={vision}.*", f"torchaudio=={audio}.*"))
    # pip leaves a build for another CUDA where it is if its number fits, so the old ones go first.
    remove = "python -m pip uninstall -y torchvision torchaudio"
    return {
        "companions_advice": f"torch {torch} goes with torchvision {vision} and torchaudio {audio}",
        "companions_install": f"{remove} && python -m pip install {pins}{index}",
    }


def _glibc(version: str, environment: Environment, tables: Tables) -> dict[str, str]:
    row = wheel_row("tensorflow", version, tables)
    if row is None:
        return {}
    older = (
        r for r in _rows(tables, "wheels") if r["package"] == "tensorflow" and order(r["from"]) < order(row["from"])
    )
    below = next(older, None)
    before = f"; before {row['from']} they ask for {below['glibc']} only" if below else ""
    system = system_of(environment, tables)
    here = f", and {system['name']} has {system['glibc']}" if system else ""
    return {"glibc_advice": f"The wheels of TensorFlow {version} ask for glibc {row['glibc']} or newer{before}{here}."}


# A symbol's version as loaders name it, the column of `systems` and what has the symbol.
_RUNTIMES = r"^(?P<runtime>GLIBC|GLIBCXX|CXXABI)_(?P<number>\d+(?:\.\d+)+)$"


def _runtime(symbol: str, environment: Environment, tables: Tables) -> dict[str, str]:
    """Which systems have the C or C++ library that a symbol is of, and what this one has."""
    match = pattern(_RUNTIMES).search(symbol)
    if match is None:
        return {}
    number, compiler = match["number"], ""
    if match["runtime"] != "GLIBC":
        column = "symbol" if match["runtime"] == "GLIBCXX" else "cxxabi"
        rows = _rows(tables, "libstdcxx")
        row = next((row for row in rows if str(row.get(column)) == number), None)
        if row is None:
            return {}
        number, compiler = str(row["symbol"]), f"{symbol} came with GCC {row['gcc']}"
    column = "libstdcxx" if compiler else "glibc"
    with_it = [row for row in _rows(tables, "systems") if order(str(row[column])) >= order(number)]
    oldest = {row["name"].rpartition(" ")[0]: row["name"] for row in with_it}
    told = [compiler] if compiler else []
    if oldest:
        what = "" if compiler else f"glibc {number} or newer is in "
        told.append(f"{what}{', '.join(oldest.values())} and newer ones{' have it' if compiler else ''}")
    system = system_of(environment, tables)
    if system is not None:
        library = "libstdc++ up to GLIBCXX_" if compiler else "glibc "
        told.append(f"{system['name']} has {library}{system[column]}")
    return {"runtime_advice": "; ".join(told) + "."} if told else {}


def _ptx(environment: Environment, cuda: str, tables: Tables) -> dict[str, str]:
    """The driver that compiles the PTX of a toolkit, where this one is older or unknown."""
    shipped, have = toolkit_driver(cuda, environment, tables), environment.driver
    if shipped is None or (have and order(have) >= order(shipped)):
        return {}
    installed = f"; this machine has {have}" if have else ""
    return {"ptx_advice": f"The PTX of CUDA {cuda} needs driver {shipped} or newer{installed}."}


def _card(minor: str | None, environment: Environment, tables: Tables) -> dict[str, str]:
    """The card's generation, and the releases that have code for it."""
    name = environment.gpus[0] if environment.gpus else None
    row = generation(name, environment.capability, tables)
    if row is None:
        return {}
    card = name or f"A card of compute capability {environment.capability}"
    known = f"{card} is of the {row['name']} generation; CUDA {row['cuda']} is the first that knows it"
    builds = _rows(tables, "builds")
    first, last = row.get("tensorflow"), row.get("last_tensorflow")
    this = f" (this is {minor})" if minor else ""
    if last:
        if minor and order(minor) <= order(last):
            return {}
        advice = f"{card} is of the {row['name']} generation; TensorFlow {last} is the last with code for it{this}."
        return {"card_advice": advice, "card_pin": f"=={last}.*"}
    if not first:
        advice = f"{known}, and no TensorFlow on PyPI up to {builds[0]['release']} has code for it{this}."
        return {"card_advice": advice}
    if minor and order(minor) >= order(first):
        return {}
    advice = f"{known}, and TensorFlow {first} the first built with that{this}."
    last_windows = next(r["release"] for r in builds if r.get("windows"))
    # A program for TensorFlow 1 does not run with 2.
    if minor and minor.startswith("1.") and first.startswith("1."):
        return {"card_advice": advice, "card_pin": f">={first},<2"}
    if environment.os != "windows":
        return {"card_advice": advice, "card_pin": f">={first}"}
    if order(first) > order(last_windows):
        return {"card_advice": f"{advice} On Windows itself {last_windows} was the last with GPU support: use WSL2."}
    return {"card_advice": advice, "card_pin": f">={first},<=" + last_windows + ".1"}
