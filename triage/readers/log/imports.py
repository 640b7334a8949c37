"""What a program imports, as a text shows it: at a prompt, behind `python -c`, in a pasted script, in a fault's stack.

Which packages were loaded, in which order, and whether anything came after the last of them is often all that a report
of a crash at start-up holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from triage import patterns
from triage.crash import Imports, Log, PythonFrame, Thread

# A session or a script of more statements than this is somebody's whole day, not a crash at start-up.
_MOST = 400
_DOTTED = r"[A-Za-z_][\w.]*"
_AS = r"(?:[ \t]+as[ \t]+\w+)?"
_IMPORT = rf"import[ \t]+{_DOTTED}{_AS}(?:[ \t]*,[ \t]*{_DOTTED}{_AS})*"
_FROM = rf"from[ \t]+{_DOTTED}[ \t]+import[ \t]+(?:\(?[ \t]*[\w*][^;#\n]*|\()"
# Only what Python would accept: "import torch first" and "from torch 1.0 on" are people's sentences.
_STATEMENT = rf"(?:{_IMPORT}|{_FROM})"
_WHOLE = rf"^[ \t]*(?P<code>{_STATEMENT})[ \t]*(?:[;#].*)?$"
_PROMPT = r"^[ \t]*(?:>>>|\.\.\.|In \[(?P<number>\d+)\]:)(?:[ \t](?P<code>.*))?$"
_COMMAND = (
    r"^[^\n]{0,300}?\b(?:python|pypy)[\d.]*(?:\.exe)?[ \t](?:[^\n\"']{0,200}?[ \t])?-[A-Za-z]*c[ \t]?"
    r"(?:\"(?P<double>[^\"\n]+)\"|'(?P<single>[^'\n]+)')"
)
_INLINE = rf"`[ \t]*(?P<code>{_STATEMENT})[ \t]*`"
# Where a new interpreter begins: its greeting, or the command that starts it.
_NEW_SESSION = r"^Python \d\.\d|^Type [\"']|^IPython \d|[$#%>] ?(?:python|ipython)[\d.]*(?:\s|$)"
# What else a script may hold; `free(): invalid pointer` is no call. Lines that only print or prepare say nothing about
# how far it came.
_BLANK = r"^\s*(?:#.*|[\"']{3}.*|)$"
_HARMLESS = (
    r"^\s*(?:print|faulthandler|warnings|logging|os\.environ|sys\.path|get_ipython|matplotlib\.use|__version__)\b"
    r"|^\s*%\w+|\.__version__\s*$"
)
_CODE = (
    r"^\s*(?:@\w|(?:def|class|with|for|if|elif|else|while|try|except|finally|return|assert|raise|del|global|async"
    r"|await|yield|pass)\b.*[:)\w]$|[A-Za-z_][\w.\[\]'\", ]*\s?[-+*/|@]?=(?:[^=]|$)"
    r"|[A-Za-z_][\w.]*\((?:[^)\n]|\)[^:\n]|\)$)|[\])}])"
)
_FRAME_LINE = r'^\s*File ".*", line '
# A package in a path, below the folder where packages are installed.
_INSTALLED = r"(?:site-packages|dist-packages)[\\/](?P<package>[A-Za-z_]\w*)"
_LOADS_NATIVE = ("create_module", "load_dynamic", "_load_unlocked", "_call_with_frames_removed")


class _Block(NamedTuple):
    """A piece of a program: the offset of its last import, what it imports, and whether something follows."""

    offset: int
    modules: list[str]
    goes_on: bool


def extract(log: Log, threads: Iterable[Thread]) -> tuple[Imports, ...]:
    """What each piece of a program in the log imports, and what the crashed threads were importing."""
    found: list[Imports] = []
    if "import" in log.text:
        for block in (*_sessions(log), *_commands(log), *_scripts(log), *_mentions(log)):
            if block.modules:
                found.append(Imports(tuple(block.modules), not block.goes_on, log.place(block.offset), block.offset))
    found += (imports for thread in threads if thread.crashed and (imports := _of_stack(thread)))
    return tuple(sorted(found, key=lambda imports: imports.offset))


def _sessions(log: Log) -> Iterator[_Block]:
    """Interactive sessions. A prompt after an import shows that the process lived on, even an empty one."""
    if ">>>" not in log.text and "In [" not in log.text:
        return
    block = _Block(0, [], False)
    end = number = 0
    for count, match in enumerate(patterns.compile(_PROMPT).finditer(log.text)):
        if count > _MOST:
            break
        told = int(match["number"] or 0) if len(match["number"] or "") < 9 else 0
        if patterns.compile(_NEW_SESSION).search(log.text[end : match.start()]) or 0 < told <= number:
            yield block
            block = _Block(0, [], False)
        modules = _modules(match["code"] or "")
        # The imports of one session belong together, whatever was typed between them.
        block = _Block(match.start() if modules else block.offset, block.modules + modules, not modules)
        end, number = match.end(), told
    yield block


def _commands(log: Log) -> Iterator[_Block]:
    """Programs that are given behind `python -c`."""
    for count, match in enumerate(patterns.compile(_COMMAND).finditer(log.text)):
        if count > _MOST:
            break
        program = match["double"] or match["single"]
        statements = [part.strip() for part in program.split(";") if part.strip()]
        modules = [module for statement in statements for module in _modules(statement)]
        goes_on = not statements or not (_modules(statements[-1]) or _is(_HARMLESS, statements[-1]))
        yield _Block(match.start(), modules, goes_on)


def _scripts(log: Log) -> Iterator[_Block]:
    """Pasted source: import statements with nothing but source between them."""
    block: _Block | None = None
    end = 0
    for count, match in enumerate(patterns.compile(_WHOLE).finditer(log.text)):
        if count > _MOST:
            break
        if _is(_FRAME_LINE, log.line(max(0, match.start() - 1))):
            continue  # the source line of a traceback's frame
        if block is not None and not _is_source(log.text[end : match.start()]):
            yield _ended(block, log.text, end)
            block = None
        before = block.modules if block else []
        block = _Block(match.start(), before + _modules(match["code"]), False)
        end = match.end()
    if block is not None:
        yield _ended(block, log.text, end)


def _mentions(log: Log) -> Iterator[_Block]:
    """Statements that a person quotes in a sentence; what else the program does is not told."""
    if "`" not in log.text:
        return
    block: _Block | None = None
    for count, match in enumerate(patterns.compile(_INLINE).finditer(log.text)):
        if count > _MOST:
            break
        block = _Block(match.start(), (block.modules if block else []) + _modules(match["code"]), True)
    if block is not None:
        yield block


def _ended(block: _Block, text: str, end: int) -> _Block:
    """A script's imports with what follows them: the first line that does something, or that is no source, decides."""
    for line in text[end : end + 4_000].split("\n")[1:40]:
        if _is(_BLANK, line) or _is(_HARMLESS, line):
            continue
        return block._replace(goes_on=_is(_CODE, line))
    return block


def _is_source(text: str) -> bool:
    """Whether the lines between two imports are lines of a program."""
    lines = text.split("\n")
    return len(lines) < 60 and all(_is(_BLANK, line) or _is(_HARMLESS, line) or _is(_CODE, line) for line in lines)


def _of_stack(thread: Thread) -> Imports | None:
    """The packages that a crashed thread was importing, the outermost first."""
    modules: list[str] = []
    for frame in reversed(thread.python_stack):
        package = _package(frame)
        if package and frame.function == "<module>" and package not in modules:
            modules.append(package)
    loading = any(frame.function in _LOADS_NATIVE for frame in thread.python_stack[:3])
    return Imports(tuple(modules), loading, thread.place) if modules else None


def _package(frame: PythonFrame) -> str | None:
    match = patterns.compile(_INSTALLED).search(frame.file)
    return match["package"] if match else None


def _modules(code: str) -> list[str]:
    """The top-level names that a line imports, in their order."""
    names: list[str] = []
    for statement in code.split(";"):
        match = patterns.compile(_WHOLE).match(statement)
        if match is None:
            continue
        words = match["code"].split()
        if words[0] == "from":
            names.append(words[1].partition(".")[0])
        else:
            names += (part.split()[0].partition(".")[0] for part in match["code"][len("import") :].split(","))
    return names


def _is(pattern: str, line: str) -> bool:
    return patterns.compile(pattern).match(line) is not None
