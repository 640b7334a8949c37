"""What the shells of people say about a command without running it: bash and zsh themselves, and the rules of cmd."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

# What cmd has under these names on every machine that the command is meant for.
_KNOWN_VARIABLES = {"PATH", "CUDA_PATH", "USERPROFILE", "TEMP", "TMP", "LOCALAPPDATA", "CD", "CONDA_PREFIX"}
_FILTERS = {"findstr", "more", "sort", "find", "clip"}
_OF_POSIX = {
    *("ls", "cat", "grep", "export", "env", "ulimit", "sudo", "rm", "ldd", "tee", "head", "tail", "ln", "source", "df"),
    *("ldconfig", "strings", "uname", "sysctl", "free", "dmesg", "ps", "which", "apt", "apt-get", "brew", "kill"),
    *("sha256sum", "shasum", "file", "python3"),
}
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_POWERSHELL = re.compile(r'powershell -Command "([^"]*)"')
_TO_FILE = re.compile(r" ?2?> ?(?:&1|[\w.]+)")


def refused_by(shell: str, commands: Iterable[str]) -> dict[str, str]:
    """The commands that bash or zsh cannot read, each with what the shell says; nothing is run."""
    program = shutil.which(shell)
    assert program is not None, shell
    with TemporaryDirectory() as name:
        files = {}
        for number, command in enumerate(dict.fromkeys(commands)):
            file = Path(name) / str(number)
            file.write_text(f"{command}\n", "utf-8")
            files[file] = command
        loop = 'for file; do "$0" -n "$file" 2> "$file.said" || echo "$file"; done'
        done = subprocess.run(
            ["bash", "-c", loop, program, *map(str, files)], capture_output=True, text=True, check=True
        )
        return {files[Path(file)]: Path(f"{file}.said").read_text("utf-8") for file in done.stdout.splitlines()}


def posix_problem(command: str) -> str | None:
    """What bash -n and zsh -n let pass, and a person at a prompt trips over."""
    for line in command.split("\n"):
        try:
            shlex.split(line)
        except ValueError as error:
            return f"not whole by itself: {error}"
        bare = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'", "Q", line)
        if re.search(r"(?:^| )#", bare):
            return "zsh takes no comment at its prompt"
        if re.search(r"\w\[[\w,]", bare) and "[[" not in bare:
            return "zsh looks for a file with such a name"
        if "==" in bare and re.search(r"[\w.]==[\w.]*\*", bare):
            return "a shell looks for a file with such a name"
        if "<" in re.sub(r"<\(|2?<&", "", bare):
            return "a shell reads from a file"
    return None


def cmd_problem(command: str) -> str | None:
    """Why a person cannot type this into cmd, or None."""
    for line in command.split("\n"):
        if problem := _line_problem(line):
            return problem
    return None


def _line_problem(line: str) -> str | None:
    for name in re.findall(r"%([^%]*)%", line):
        if name not in _KNOWN_VARIABLES:
            return f"cmd puts a variable in the place of %{name}%"
    if line.count("%") % 2:
        return "a percent sign"
    if line.count('"') % 2:
        return "a quote that is never closed"
    if line.startswith("cmd /c "):
        return _inner_problem(line.removeprefix("cmd /c "))
    if match := _POWERSHELL.match(line):
        return _powershell_problem(match[1]) if match.end() == len(line) else "something after PowerShell's command"
    for part, before in _commands(line):
        if problem := _command_problem(part, before):
            return problem
    return None


def _inner_problem(quoted: str) -> str | None:
    """What cmd /c is given: one pair of quotes around it, and none inside, which PowerShell would end there."""
    first, *others = re.split(r'(?<=") && ', quoted)
    if not (first.startswith('"') and first.endswith('"') and first.count('"') == 2):
        return "cmd /c takes one pair of quotes"
    *settings, last = first[1:-1].split("&& ")
    for setting in settings:
        if not re.fullmatch(r"set \w+=[^&|<>^ ]*|set \w+=[^&|<>^]*[^&|<>^ ]", setting):
            return f"not a setting: {setting!r}"
    return next(filter(None, map(_line_problem, [last, *others])), None)


def _powershell_problem(text: str) -> str | None:
    if text.count("(") != text.count(")") or text.count("{") != text.count("}") or text.count("'") % 2:
        return "PowerShell waits for the other bracket or quote"
    # It stands in double quotes, in which PowerShell itself would put a value in the place of $name.
    return "PowerShell puts a value in the place of $name" if "$" in text else None


def _commands(line: str) -> Iterator[tuple[str, str]]:
    """The commands of a line, each with the sign before it."""
    before, start, quoted, at = "", 0, False, 0
    while at < len(line):
        quoted ^= line[at] == '"'
        sign = next((sign for sign in ("&&", "||", "&", "|") if line.startswith(sign, at)), "")
        if sign and not quoted and line[at - 1 : at] != ">":
            yield line[start:at], before
            before, at = sign, at + len(sign)
            start = at
        else:
            at += 1
    yield line[start:], before


def _command_problem(part: str, before: str) -> str | None:
    bare = re.sub(r'"[^"]*"', "Q", part)
    words = bare.split()
    if not words:
        return "nothing between two signs"
    if re.fullmatch(r" ?set Q ", part) is None and re.match(r" ?set Q", bare):
        return None
    if before in ("&", "||"):
        return f"{before} between two commands"
    if before == "|" and words[0] not in _FILTERS:
        return f"Windows has no filter {words[0]}"
    if _ASSIGNMENT.match(words[0]):
        return "cmd runs no command with a setting before it"
    if words[0] in _OF_POSIX or "/bin/" in words[0] or words[0].startswith("./"):
        return f"Windows has no {words[0]}"
    bare = _TO_FILE.sub("", bare)
    for character, why in (
        ("^", "cmd takes the next character as it is"),
        ("<", "cmd reads from a file"),
        (">", "cmd writes to a file"),
        ("'", "cmd knows no single quotes"),
        ("`", "cmd knows no backticks"),
        ("$", "cmd knows no $name"),
        ("(", "cmd opens a block"),
        ('\\"', "a backslash before a quote"),
    ):
        if character in bare:
            return f"{character}: {why}"
    return "a semicolon separates nothing" if re.search(r";(?: |$)", bare) else None


def python_problem(command: str, system: str) -> str | None:
    """What Python's compiler says about each program behind `python -c`."""
    for code in snippets(command, system):
        try:
            compile(code, "<command>", "exec")
        except SyntaxError as error:
            return f"Python: {error}"
    return None


def snippets(command: str, system: str) -> Iterator[str]:
    """The programs behind `python -c`, as Python gets them."""
    for match in re.finditer(r"python[\d.]* (?:-\S+ (?:[a-z]+ )?)*?-c (?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')", command):
        code = match[1] if match[1] is not None else match[2]
        yield re.sub(r'\\(["\\$`])', r"\1", code) if match[1] is not None and system != "windows" else code
