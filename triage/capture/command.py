"""What to start: the script with the right interpreter, or the command as it was given."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from os import PathLike
from typing import NamedTuple

_CANNOT_RUN, _NOT_FOUND = 126, 127
_METADATA = b"# /// script"
_LOOKED_AT = 64 * 1024


class CannotStart(Exception):
    """A program that can't be started; the text is one sentence that says what to try, `code` the exit code."""

    def __init__(self, sentence: str, code: int = _CANNOT_RUN) -> None:
        super().__init__(sentence)
        self.code = code


class Program(NamedTuple):
    """What will be started: its arguments, the Python among them if there is one, its name for people, and notes for
    the report about how it was started."""

    arguments: tuple[str, ...]
    python: str | None
    shown: str
    notes: tuple[str, ...] = ()
    found: str | None = None

    @property
    def path(self) -> str:
        """The file to start; the program may be given another name in its first argument."""
        return self.found or self.arguments[0]


def words_of(given: Sequence[str | PathLike[str]] | str) -> tuple[str, ...]:
    """The words of a command; a single text is the name of a script, whatever is in it. Raises CannotStart."""
    words = (given,) if isinstance(given, str) else tuple(os.fspath(word) for word in given)
    if not words or not words[0]:
        raise CannotStart("there is nothing to run; give a script with its arguments.", _NOT_FOUND)
    return words


def program_for(words: Sequence[str], *, python: str | None = None, as_given: bool = False) -> Program:
    """The program behind the words of a command line; raises CannotStart.

    `as_given` means that they came after `--`: a command to be run as it is. Otherwise the first word is a script, a
    notebook, or a command on the PATH.
    """
    first = words[0]
    if as_given:
        return _command(words)
    if not os.path.exists(first):
        if not _has_folder(first) and not first.endswith((".py", ".ipynb")) and _which(first):
            return _command(words)
        raise CannotStart(f"{first} does not exist{_near(first)}; check the path.", _NOT_FOUND)
    if os.path.isdir(first):
        if os.path.exists(os.path.join(first, "__main__.py")):
            return _script(words, python)
        raise CannotStart(f"{first} is a directory without a __main__.py; give the script in it.")
    if not os.access(first, os.R_OK):
        raise CannotStart(f"{first} may not be read by you; try: chmod +r {first}")
    if first.endswith(".ipynb"):
        return _notebook(words, python)
    return _script(words, python) if _is_python(first) else _command(_as_a_path(words))


def interpreter(wanted: str | None = None) -> str:
    """The Python to run scripts with: the one asked for, the active environment's, ours, or the PATH's."""
    if wanted is not None:
        found = _which(wanted)
        if found is None:
            raise CannotStart(f"--python {wanted}: there is no such program; give the path of an interpreter.", 127)
        return found
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = os.environ.get(variable)
        # An active conda is often only its base, with the environment in use activated on top.
        if prefix and (found := _python_in(prefix)):
            return found
    if not _is_tool_install(sys.prefix):
        return sys.executable
    for name in ("python", "python3"):
        if found := _which(name):
            return found
    raise CannotStart("there is no Python on the PATH; name one with --python.", _NOT_FOUND)


def _script(words: Sequence[str], python: str | None) -> Program:
    shown = os.path.basename(words[0].rstrip(os.sep)) or words[0]
    if _has_inline_metadata(words[0]):
        if uv := _which("uv"):
            chosen = ("--python", python) if python else ()
            return Program((uv, "run", *chosen, "--script", *words), None, shown, ("it ran through uv run (PEP 723)",))
        ran = interpreter(python)
        note = "the script names its dependencies (PEP 723), but uv is not installed: they were not looked at"
        return Program((ran, *words), ran, shown, (note,))
    ran = interpreter(python)
    return Program((ran, *words), ran, shown)


def _notebook(words: Sequence[str], python: str | None) -> Program:
    """Runs a notebook from its first cell to its last; what the cells print is not kept."""
    import subprocess

    from triage.capture.hook_files import without_hook

    ran = interpreter(python)
    try:
        done = subprocess.run(
            [ran, "-c", "import nbclient, ipykernel"],
            capture_output=True,
            timeout=60,
            env=without_hook(dict(os.environ)),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotStart(f"{ran} could not be started ({error}); name another with --python.") from None
    if done.returncode:
        from triage.crash import Command

        install = Command((ran, "-m", "pip", "install", "nbclient", "ipykernel"))
        raise CannotStart(
            f"{words[0]} is a notebook, and {ran} has no nbclient and ipykernel; try: "
            + install.line("windows" if os.name == "nt" else None)
        )
    start = "import sys; from nbclient.cli import main; sys.exit(main())"
    return Program((ran, "-c", start, *words), ran, os.path.basename(words[0]))


def _command(words: Sequence[str]) -> Program:
    found = _which(words[0])
    if found is None:
        if os.path.isdir(words[0]):
            raise CannotStart(f"{words[0]} is a directory, not a program.")
        if os.path.exists(words[0]):
            raise CannotStart(f"{words[0]} may not be run by you; try: chmod +x {words[0]}")
        raise CannotStart(f"{words[0]}: there is no such program on the PATH.", _NOT_FOUND)
    name = os.path.basename(words[0])
    # The first argument stays as it was given: a shell begins its messages with it.
    return Program(tuple(words), found if name.startswith("python") else None, shortened(words), found=found)


def is_triage(program: Program) -> bool:
    """Whether it is `triage run` once more, which reports on what it runs itself."""
    words = [os.path.basename(program.arguments[0]).removesuffix(".exe"), *program.arguments[1:]]
    if words[0].startswith("python"):
        words = words[2:] if words[1:2] == ["-m"] else [os.path.basename(word) for word in words[1:2]] + words[2:]
    return words[:2] == ["triage", "run"]


def _as_a_path(words: Sequence[str]) -> Sequence[str]:
    """A file in the working directory is not looked for on the PATH."""
    return words if _has_folder(words[0]) else (os.path.join(os.curdir, words[0]), *words[1:])


def _has_folder(word: str) -> bool:
    return os.sep in word or (os.altsep is not None and os.altsep in word)


def shortened(words: Sequence[str]) -> str:
    """A command for people, without the arguments of the script, which may hold secrets."""
    name = os.path.basename(words[0])
    for number, word in enumerate(words[1:], 1):
        if word in ("-c", "-m"):
            code = "multiprocessing worker" if any("multiprocessing" in w for w in words[number:]) else "…"
            return f"{name} {word} " + (words[number + 1] if word == "-m" and len(words) > number + 1 else code)
        if not word.startswith("-"):
            return f"{name} {os.path.basename(word)}"
    return name


def _python_in(prefix: str) -> str | None:
    # On Windows a virtual environment has it in Scripts, conda in its top folder.
    places = (("Scripts", "python.exe"), ("python.exe",)) if os.name == "nt" else (("bin", "python"),)
    candidates = (os.path.join(prefix, *place) for place in places)
    return next((candidate for candidate in candidates if os.access(candidate, os.X_OK)), None)


def _is_tool_install(prefix: str) -> bool:
    """Whether this Python belongs to us alone, as pipx and `uv tool` install: a script's packages are not in it."""
    return any(os.path.exists(os.path.join(prefix, name)) for name in ("pipx_metadata.json", "uv-receipt.toml"))


def _is_python(path: str) -> bool:
    """A file is taken for Python, whatever its name, unless its `#!` line names something else."""
    if path.endswith((".py", ".pyw", ".pyz")):
        return True
    head = _head(path)
    first = head.split(b"\n", 1)[0]
    if first.startswith(b"#!"):
        return b"python" in first
    if os.name == "nt":  # where every file may be run, and the suffix decides what is a program
        endings = os.environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").lower().split(";")
        return os.path.splitext(path)[1].lower() not in endings
    return not head.startswith(b"\x7fELF") and not os.access(path, os.X_OK)


def _has_inline_metadata(path: str) -> bool:
    return os.path.isfile(path) and any(line.rstrip() == _METADATA for line in _head(path).split(b"\n"))


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LOOKED_AT)
    except OSError as error:
        raise CannotStart(f"{path} could not be read ({error.strerror}); check its permissions.") from None


def _near(path: str) -> str:
    import difflib

    try:
        names = os.listdir(os.path.dirname(path) or ".")
    except OSError:
        return ""
    near = difflib.get_close_matches(os.path.basename(path), names, n=1, cutoff=0.6)
    return f" (did you mean {os.path.join(os.path.dirname(path), near[0])}?)" if near else ""


def _which(name: str) -> str | None:
    import shutil

    return shutil.which(name)
