"""What to do about a module that Python does not find, from installed metadata and signatures/distributions.yaml.

Only a package that one of the two knows is installed by a command: a guessed name may be somebody else's package.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from triage.crash import Crash, Environment, Provider, PythonException
from triage.diagnosis.advice.imports import about_import
from triage.frames import is_own
from triage.patterns import compile as pattern

# Each placeholder with the named groups that it needs.
PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {"module_advice": ("module",), "module_install": ("module",)}
# What pip prints of a package that it needs not install, and the folder that is an environment's.
_SATISFIED = r"(?m)^Requirement already satisfied: (?P<name>[\w.-]+)[^\n]{0,200}? in (?P<folder>[^\n(]{1,300})"
_FOLDER = r"^(.{1,200}?)(?:/lib/python\d[\d.]*|/[Ll]ib)/"
_PACKAGES = r"(?:site|dist)-packages/([\w.-]+)"


class Advice(NamedTuple):
    """What to do, and what to install for it where that is known."""

    sentence: str
    install: str | None = None


def missing_module(module: str, crash: Crash, tables: Mapping[str, Any]) -> dict[str, str]:
    """`module_advice`, and `module_install` where the package that has the module is known."""
    advice = _advice(module, crash, tables)
    filled = {"module_advice": f"{advice.sentence}."}
    return filled | ({"module_install": f"python -m pip install {advice.install}"} if advice.install else {})


def _advice(module: str, crash: Crash, tables: Mapping[str, Any]) -> Advice:
    error = _error_about(module, crash)
    if error is not None and (hidden := about_import(error, crash)):
        return Advice(hidden.removesuffix("."))
    if elsewhere := _installed_elsewhere(module, crash, tables):
        return elsewhere
    packages = _rows(tables, "packages")
    if provider := _installed(module, crash.environment):
        return _broken(module, provider, packages)
    for table in ("standard_library", "elsewhere"):
        if sentence := _nearest(module, _rows(tables, table)):
            return Advice(sentence)
    if module not in packages and "." in module and _found_its_package(module, error):
        return Advice(_without_part(module, packages))
    if distribution := _nearest(module, packages):
        return _to_install(module, distribution, crash.environment)
    return Advice(_unknown(module, error))


def _installed_elsewhere(module: str, crash: Crash, tables: Mapping[str, Any]) -> Advice | None:
    """What pip said that it has in another environment than the one whose files the traceback shows."""
    wanted = _normal(_name(_nearest(module, _rows(tables, "packages")) or module.partition(".")[0]))
    ours = {folder for error in crash.exceptions for frame in error.frames if (folder := _site_folder(frame.file))}
    for log in crash.logs:
        for found in pattern(_SATISFIED).finditer(log.text):
            folder = _site_folder(f"{found['folder'].rstrip()}/")
            if _normal(found["name"]) == wanted and folder and ours and folder not in ours:
                return Advice(
                    f"Install it with the pip of the Python that runs the program: pip has {found['name']} in "
                    f"{folder}, and the program takes its packages from {min(ours)}",
                    _nearest(module, _rows(tables, "packages")),
                )
    return None


def _site_folder(file: str) -> str | None:
    match = pattern(_FOLDER).match(file.replace("\\", "/"))
    return match[1] if match else None


def _nearest(module: str, rows: Mapping[str, str]) -> str | None:
    """The row of a module, or of the closest package around it."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((rows[name] for name in names if name in rows), None)


def _without_part(module: str, packages: Mapping[str, str]) -> str:
    package = module.rpartition(".")[0]
    brought = _nearest(package, packages)
    return (
        f"Python finds {module.partition('.')[0]}, but no {module} in it: {_name(brought or package)} is incomplete or "
        f"another release than the program wants, or a file of yours has the name of the package"
    )


def _error_about(module: str, crash: Crash) -> PythonException | None:
    return next((error for error in reversed(crash.exceptions) if module in error.message), None)


def _found_its_package(module: str, error: PythonException | None) -> bool:
    """Whether the package of a dotted name was found. Python 3 quotes the part that it did not find; Python 2 quotes
    nothing, and names the whole module even where its package is missing."""
    return error is not None and f"'{module}'" in error.message


def _installed(module: str, environment: Environment) -> Provider | None:
    """The installed distribution that has the module, or the package that it should be in."""
    fitting = [p for p in environment.providers if module == p.module or module.startswith(f"{p.module}.")]
    return max(fitting, key=lambda provider: len(provider.module), default=None)


def _broken(module: str, provider: Provider, packages: Mapping[str, str]) -> Advice:
    """A package that is there and broken: it must be repaired, not installed."""
    named = f"{provider.distribution} {provider.version}"
    if provider.module == module:
        what = f"{named} is installed and should bring {module}, but Python does not find it: its files are missing"
    else:
        what = (
            f"{named} is installed, and {provider.module} is found, but no {module} in it: it is incomplete or broken "
            f"inside, another release than the program wants, or hidden by a file of yours called {provider.module}.py"
        )
    if _normal(provider.distribution) in {_normal(_name(one)) for one in packages.values()}:
        again = f'--force-reinstall --no-deps "{provider.distribution}=={provider.version}"'
        return Advice(f"{what}; install the same release again", again)
    return Advice(f"{what}; install it again from where it came from, or ask its authors")


def _to_install(module: str, distribution: str, environment: Environment) -> Advice:
    name = _name(distribution)
    version = {_normal(package): version for package, version in environment.packages}.get(_normal(name))
    if version:
        again = f'--force-reinstall --no-deps "{name}=={version}"' if re.fullmatch(r"[\w.+]+", version) else None
        return Advice(
            f"{name} {version}, which brings {module}, is installed: another Python runs the program than the one that "
            "has it, or its files are missing; then install the same release again",
            again,
        )
    called = "" if _normal(name) == _normal(module) else f" (the package is not called {module})"
    quoted = distribution if distribution == name else f'"{distribution}"'
    return Advice(f"{name} brings {module}{called}: install it into the Python that runs the program", quoted)


def _unknown(module: str, error: PythonException | None) -> str:
    by = _importing_package(error)
    what = f"Find out which package provides {module}"
    if by:
        return f"{what}: it is imported by {by}, whose documentation says what it needs, or which is incomplete itself"
    return (
        f"{what}, if it is not a file of the project: the name to install is often another than the one to import, and "
        "a package that only has the same name may be anybody's"
    )


def _importing_package(error: PythonException | None) -> str | None:
    """The installed package that has the failing import."""
    if error is None or not error.frames or is_own(error.frames[0]):
        return None
    match = re.search(_PACKAGES, error.frames[0].file.replace("\\", "/"))
    return match[1].removesuffix(".py") if match else None


def _rows(tables: Mapping[str, Any], name: str) -> Mapping[str, str]:
    rows: Mapping[str, str] = tables.get(name, {}).get("rows") or {}
    return rows


def _name(requirement: str) -> str:
    """The distribution of a requirement, without the releases that it allows."""
    return re.split(r"[<>=!~\[]", requirement, maxsplit=1)[0]


def _normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()
