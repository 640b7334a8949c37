"""What to do about an import that failed although Python found something: which of the many reasons it was."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from triage.chains import nearest_own
from triage.crash import Crash, PythonException, base_name
from triage.frames import file_owner, is_own
from triage.patterns import compile as pattern
from triage.phrases import Phrase, fill, quote

_KINDS = frozenset(("ImportError", "ModuleNotFoundError", "AttributeError", "OSError"))
_NO_PARENT = "attempted relative import with no known parent package"
_BEYOND = "attempted relative import beyond top-level package"
_HALF = r"partially initialized module '(?P<module>[\w.]+)'"
_NO_NAME = r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'(?: \((?P<path>[^)\n]{1,400})\))?"
_NO_ATTRIBUTE = r"^module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'"
_NOT_A_PACKAGE = r"No module named '(?P<wanted>[\w.]+)'; '(?P<module>[\w.]+)' is not a package"
_UNDEFINED = r"(?P<file>[^\s:]{1,300}): undefined symbol: (?P<symbol>\w{1,200})"
_OF_PYTHON = ("Py", "_Py")


def about_import(error: PythonException, crash: Crash) -> Phrase | None:
    """One sentence for an import that failed for a reason which its words and its frames tell; else None."""
    if error.short_type not in _KINDS:
        return None
    told = (_relative(error), _circular(error), _hidden(error), _without_name(error, crash), _undefined(error))
    return next((sentence for sentence in told if sentence), None)


def _relative(error: PythonException) -> Phrase | None:
    own = nearest_own(error.frames)
    if _NO_PARENT in error.message and own is not None:
        *_, folder, name = ["", *_parts(own.file)][-2:]
        stem = name.removesuffix(".py")
        if folder.isidentifier() and stem.isidentifier():
            return fill(
                "Start it as a part of its package, from the folder above {folder}: python -m {folder}.{stem}",
                {"folder": quote(folder), "stem": quote(stem)},
            )
        return Phrase.of("Start it as a part of its package: python -m PACKAGE.MODULE, from the folder above PACKAGE.")
    if _BEYOND in error.message:
        return Phrase.of("Take a dot away, or start the program one folder higher: the dots lead out of the package.")
    return None


def _circular(error: PythonException) -> Phrase | None:
    """Two modules of the person's own that import each other."""
    half = pattern(_HALF).search(error.message)
    own = nearest_own(error.frames)
    if half is None or own is None:
        return None
    name = half["module"].rpartition(".")[2]
    asking = base_name(own.file)
    files = {base_name(frame.file) for frame in error.frames if is_own(frame)}
    if asking in (f"{name}.py", "__init__.py") or not files & {f"{name}.py", "__init__.py"}:
        return None
    return fill(
        "{module} and {file} import each other: move the import in {file} into the function that needs it, or what "
        "both need into a third module.",
        {"module": quote(half["module"]), "file": quote(asking)},
    )


def _hidden(error: PythonException) -> Phrase | None:
    """A module that is a single file where a package was expected."""
    found = pattern(_NOT_A_PACKAGE).search(error.message)
    if found is None:
        return None
    values = {"module": quote(found["module"]), "wanted": quote(found["wanted"])}
    if found["module"].partition(".")[0] in sys.stdlib_module_names:
        return fill("Correct the import: {module} of Python's own library is one file, with no {wanted}.", values)
    return fill(
        "Rename the file {module}.py that lies beside the program (and delete its __pycache__): it hides the package "
        "{module}.",
        values,
    )


def _without_name(error: PythonException, crash: Crash) -> Phrase | None:
    found = pattern(_NO_NAME).search(error.message) or pattern(_NO_ATTRIBUTE).search(error.message)
    if found is None or pattern(_HALF).search(error.message):
        return None
    module, path = found["module"], found.groupdict().get("path")
    top = module.partition(".")[0]
    values: dict[str, str] = {"name": quote(found["name"]), "module": quote(module), "top": quote(top)}
    if path == "unknown location":
        return fill(
            "Rename the folder {top} that Python finds first, or install the package {top}: the folder has no "
            "__init__.py and so no {name}.",
            values,
        )
    if path and file_owner(path) == "own":
        values["file"] = quote("/".join(_parts(path)[-2:]))
        if top in sys.stdlib_module_names:
            return fill("Rename {file}: it hides Python's own {top}.", values)
        return fill("Define {name} in {file}, or rename that file if the installed package {top} is meant.", values)
    if top in sys.stdlib_module_names:
        return None
    version = next(_versions(top, crash), None)
    values["version"] = quote(f" {version}") if version else ""
    return fill(
        "Install the release of {top} for which the code was written, or change the code: the installed{version} has "
        "no {name} in {module}.",
        values,
    )


def _versions(module: str, crash: Crash) -> Iterator[str]:
    for provider in crash.environment.providers:
        if provider.module.partition(".")[0] == module and provider.version:
            yield provider.version
    if version := crash.environment.package(module):
        yield version


def _undefined(error: PythonException) -> Phrase | None:
    found = pattern(_UNDEFINED).search(error.message)
    if found is None:
        return None
    values = {"file": quote(base_name(found["file"])), "symbol": quote(found["symbol"])}
    if found["symbol"].startswith(_OF_PYTHON):
        return fill("Build or install {file} for the Python that runs: this one has no {symbol}.", values)
    return fill(
        "Build or install {file} again for the libraries that are there now: none of them has {symbol}.",
        values,
    )


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").split("/") if part]
