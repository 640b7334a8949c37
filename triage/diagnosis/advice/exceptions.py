"""One helpful sentence about an everyday exception, from its own words; none where nothing true can be said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from triage import digits
from triage.chains import last_chain, nearest_own
from triage.crash import Crash, PythonException
from triage.diagnosis.advice.imports import about_import
from triage.patterns import compile as pattern
from triage.phrases import Phrase, fill, quote

# The placeholder needs no group of a clue: it is filled from the exception.
PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {"exception_advice": ()}

_NONE = "the call that made it found nothing, or its function ends without a return."
_PACKAGES = r"(?:^|/)(?:site|dist)-packages/{name}/|(?:^|/){name}/"


class _Remark(NamedTuple):
    """A sentence for exceptions of a type whose message matches; the groups fill it."""

    type: str
    message: str
    says: str
    within: str = ""
    """A pattern of the file of a frame near where it was raised, where only that tells what it is about."""


# The first that fits is said, so the narrower ones come first.
_REMARKS = (
    # what is None
    _Remark(
        "AttributeError",
        r"'NoneType' object has no attribute '(?P<name>\w+)'",
        "What stands before .{name} there is None: " + _NONE,
    ),
    _Remark("TypeError", r"'NoneType' object (?:is not|does not support)", "A value there is None: " + _NONE),
    _Remark(
        "TypeError",
        r"unsupported operand type.*'NoneType'|not supported between instances of .*'NoneType'",
        "One of the two values there is None: " + _NONE,
    ),
    # names
    _Remark("NameError", r"Did you forget to import '(?P<name>[\w.]+)'", "Import {name} at the top of the file."),
    _Remark(
        "NameError",
        r"name '(?P<name>\w+)' is not defined\. Did you mean: '(?P<other>[\w.]+)'",
        "Write {other} for {name}, if that is meant.",
    ),
    _Remark("NameError", r"name '(?P<name>\w+)' is not defined$", "Define or import {name} before that line."),
    _Remark(
        "UnboundLocalError",
        r"local variable '(?P<name>\w+)'",
        "Give {name} a value on every way to that line; what a function assigns anywhere is local in all of it.",
    ),
    _Remark(
        "AttributeError",
        r"'DataFrame' object has no attribute 'append'|'Series' object has no attribute 'append'",
        "Use pd.concat([one, other]); pandas 2 has no append.",
    ),
    _Remark(
        "AttributeError",
        r"'(?:DataFrame|Series)' object has no attribute 'iteritems'",
        "Use items(); pandas 2 has no iteritems.",
    ),
    _Remark(
        "AttributeError",
        r"has no attribute '(?P<name>\w+)'\. Did you mean: '\.?(?P<other>[\w.]+)'",
        "Write {other} for {name}, if that is meant.",
    ),
    # calls
    _Remark(
        "TypeError",
        r"(?P<f>[\w.<>]+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: (?P<names>.{1,120})",
        "Pass {names} to {f}(), or give each a default.",
    ),
    _Remark(
        "TypeError",
        r"(?P<f>[\w.<>]+)\(\) takes (?P<want>.{1,30}) positional arguments? but (?P<have>\d+) (?:was|were) given",
        "Call {f}() with as many arguments as it takes ({want}, not {have}); of a method's, self is one.",
    ),
    _Remark(
        "TypeError",
        r"(?P<f>[\w.<>]+)\(\) got an unexpected keyword argument '(?P<name>\w+)'",
        "{f}() has no parameter {name}: correct the name, or use a release of its package that has it.",
    ),
    _Remark(
        "TypeError",
        r"unsupported operand type\(s\) for [^:]{1,6}: '(?:int|float|str)' and '(?:int|float|str)'"
        r"|can only concatenate str \(not \"(?:int|float)\"\) to str",
        "One value is text and the other a number: convert one with int(), float() or str().",
    ),
    _Remark(
        "TypeError",
        r"'(?P<kind>str|int|float|list|dict|tuple|set|bool)' object is not callable",
        "A {kind} is called there: a variable has taken the name of a function, or an operator is missing before (.",
    ),
    # keys and indices
    _Remark(
        "KeyError",
        r"^'?(?P<name>\w+)'?$",
        "Set the environment variable {name}, or read it with os.environ.get().",
        within=r"(?:^|/)os\.py$|^<frozen os>$",
    ),
    _Remark(
        "KeyError",
        r"^(?P<key>.{1,80})$",
        "There is no column or label {key}; df.columns and df.index show those that are there, blanks included.",
        within=_PACKAGES.format(name="pandas"),
    ),
    _Remark(
        "IndexError",
        r"^(?P<kind>list|tuple|string|pop|list assignment)\b.* (?:index )?(?:out of range|from empty list)",
        "The sequence has fewer elements than that index asks for; it may be empty.",
    ),
    _Remark("IndexError", r"single positional indexer is out-of-bounds", "There are fewer rows than .iloc asks for."),
    _Remark(
        "IndexError",
        r"index -?\d+ is out of bounds for axis (?P<axis>\d+) with size 0\b",
        "The array is empty along axis {axis}.",
    ),
    _Remark(
        "IndexError",
        r"index -?\d+ is out of bounds for axis (?P<axis>\d+) with size (?P<size>\d+)",
        "Axis {axis} has {size} elements, so its last index is {last}.",
    ),
    _Remark(
        "ValueError",
        r"The truth value of an? (?:Series|DataFrame|array).* is ambiguous",
        "Reduce the comparison with .any() or .all(), and join conditions with & and |, each in brackets.",
    ),
    _Remark(
        "ValueError",
        r"inconsistent numbers of samples: \[(?P<one>\d+), (?P<other>\d+)\]",
        "The first has {one} samples and the second {other}: give as many labels as rows.",
    ),
    _Remark(
        "ValueError",
        r"Data cardinality is ambiguous[\s\S]{0,80}?x'? sizes: (?P<one>\d+)[\s\S]{0,80}?y'? sizes: (?P<other>\d+)",
        "x has {one} samples and y has {other}: give as many labels as samples.",
    ),
    _Remark(
        "ParserError",
        r"Expected (?P<want>\d+) fields in line (?P<line>\d+), saw (?P<have>\d+)",
        "Line {line} of the file has {have} fields instead of {want}: correct it, or pass sep= or on_bad_lines=.",
    ),
    _Remark(
        "ValueError",
        r"invalid literal for int\(\) with base 10: '(?P<text>-?\d{1,20}\.\d{0,20})'",
        "Use int(float(...)) there; int() takes no decimal point.",
    ),
    # texts
    _Remark(
        "UnicodeDecodeError",
        r"'utf-8' codec can't decode byte 0xf[ef] in position 0:",
        "The text is UTF-16, as Windows' tools write it, or no text at all: open it with encoding='utf-16'.",
    ),
    _Remark(
        "UnicodeDecodeError",
        r"'utf-8' codec can't decode byte 0x8b in position 1:",
        "The file is compressed: open it with gzip.open().",
    ),
    _Remark(
        "UnicodeDecodeError",
        r"'utf-8' codec can't decode",
        "The bytes are not UTF-8: open the file with the encoding that it has (cp1252 is usual), or in mode 'rb'.",
    ),
    _Remark(
        "UnicodeDecodeError",
        r"'(?P<codec>ascii|charmap|cp\d+|gbk|shift_jis|euc_kr|big5)' codec can't decode",
        "Open the file with encoding='utf-8'; without it Python took {codec}.",
    ),
    _Remark(
        "UnicodeEncodeError",
        r"'(?P<codec>ascii|charmap|cp\d+|latin-1|gbk)' codec can't encode",
        "Write with encoding='utf-8', and run with PYTHONUTF8=1 if it is the console that takes only {codec}.",
    ),
    _Remark(
        "JSONDecodeError",
        r"Expecting value: line 1 column 1 \(char 0\)",
        "The text is empty or no JSON at all, an HTML page for example: print its first characters.",
    ),
    _Remark(
        "JSONDecodeError",
        r"Extra data: line",
        "Several JSON values follow each other: read them one by one, as json.loads(line) for each line.",
    ),
    _Remark(
        "JSONDecodeError",
        r"Expecting property name enclosed in double quotes",
        "JSON wants double quotes around names, and no comma after the last one.",
    ),
    _Remark("JSONDecodeError", r"Unterminated string", "The JSON text stops in the middle of a string."),
    _Remark("JSONDecodeError", r"Unexpected UTF-8 BOM", "Open the file with encoding='utf-8-sig'."),
    # files
    _Remark(
        "FileNotFoundError",
        r": '(?P<name>[^'/\\]{1,100})'$",
        "There is no program {name} on PATH: install it, or give its full path.",
        within=r"(?:^|/)subprocess\.py$",
    ),
    _Remark(
        "FileNotFoundError",
        r": '(?P<path>[^'/\\~][^':]{0,300})'$",
        "{path} is sought from the folder in which the program was started: start it there, or write the full path.",
    ),
    _Remark(
        "FileNotFoundError",
        r": '(?P<path>~[^']{0,300})'$",
        "Python leaves ~ as it is: open os.path.expanduser('{path}').",
    ),
    _Remark("IsADirectoryError", r": '(?P<path>[^']{1,300})'$", "{path} is a folder: name a file in it."),
    _Remark(
        "PermissionError",
        r"\[Errno 13\][^:]*: '(?P<path>[^']{1,300})'$",
        "Give the user who runs the program access to {path}, or take a path that is theirs.",
    ),
    # networks
    _Remark(
        "ConnectionError|ConnectTimeout|ProxyError|MaxRetryError",
        r"host='(?P<host>[\w.:-]{1,100})', port=(?P<port>\d+)[\s\S]*onnection refused",
        "Nobody accepts connections on {host}:{port}: start that server, or correct host and port.",
    ),
    _Remark(
        "ConnectionRefusedError|URLError|ConnectError|ConnectionError",
        r"onnection refused|actively refused",
        "Nobody accepts connections at that address and port: start the server, or correct them.",
    ),
    _Remark(
        "gaierror|URLError|ConnectError|ConnectionError|NameResolutionError|ClientConnectorDNSError",
        r"Name or service not known|nodename nor servname|getaddrinfo failed|Failed to resolve"
        r"|Temporary failure in name resolution|No address associated with hostname",
        "The name of the host cannot be resolved: correct it, or give the machine a network.",
    ),
    _Remark("MissingSchema", r"", "Write the address with https:// or http:// before it."),
    _Remark(
        "SSLError|SSLCertVerificationError|URLError|ConnectError",
        r"CERTIFICATE_VERIFY_FAILED",
        "Install the certificate of whoever signed the server's (a proxy's too), and name it in SSL_CERT_FILE.",
    ),
    _Remark("HTTPError", r"\b401\b", "The server wants another login or token."),
    _Remark("HTTPError", r"\b404\b", "The server has nothing at that address: correct it."),
    _Remark("HTTPError", r"\b429\b", "The server refuses so many requests: wait between them."),
    # databases
    _Remark(
        "OperationalError",
        r"database is locked",
        "Another connection is in the middle of a write: commit or close it, or wait longer with connect(timeout=30).",
    ),
    _Remark(
        "OperationalError",
        r"no such table: (?P<table>\S{1,80})",
        "The database that was opened has no table {table}; SQLite makes a new, empty file where the path is wrong.",
    ),
    _Remark(
        "OperationalError", r"unable to open database file", "Make the folder of the database file, or correct it."
    ),
    _Remark(
        "ProgrammingError",
        r"Incorrect number of bindings supplied.*uses (?P<want>\d+), and there (?:is|are) (?P<have>\d+) supplied",
        "Pass a tuple with {want} values instead of {have}; (text) is no tuple, (text,) is.",
    ),
    _Remark(
        "ProgrammingError",
        r"SQLite objects created in a thread can only be used in that same thread",
        "Open a connection of its own in each thread.",
    ),
    _Remark(
        "IntegrityError",
        r"UNIQUE constraint failed: (?P<column>[\w., ]{1,100})",
        "A row with this {column} is there already: update it, or insert with ON CONFLICT.",
    ),
    # processes
    _Remark(
        "CalledProcessError",
        r"died with <Signals\.SIGKILL: 9>",
        "The program that it started was killed from outside. dmesg says whether memory ran out; its parent or a limit "
        "may have done it too.",
    ),
    _Remark(
        "CalledProcessError",
        r"died with <Signals\.(?P<signal>SIG\w+): \d+>",
        "The program that it started died of {signal}: run its command under triage run.",
    ),
    _Remark(
        "CalledProcessError",
        r"returned non-zero exit status 127\.",
        "A program in that command is not on PATH (127).",
    ),
    _Remark(
        "CalledProcessError",
        r"returned non-zero exit status (?P<code>\d+)\.",
        "The program that it started failed; what it printed above, or error.stderr where that was captured, says why.",
    ),
    _Remark(
        "RuntimeError",
        r"before the current process has finished its bootstrapping phase",
        "Put what starts processes below if __name__ == '__main__':",
    ),
    _Remark(
        "PicklingError|AttributeError",
        r"Can't (?:get|pickle) local object|(?:Can't pickle|pickle) <function .{0,80}<lambda>",
        "Move the function to the top level of a module: only from there can another process take it.",
    ),
    # the interpreter
    _Remark(
        "RecursionError",
        r"",
        "Give the recursion an end, or write it as a loop; a higher limit only helps where the depth is bounded.",
    ),
    _Remark(
        "SystemError",
        r"returned (?:NULL without setting an exception|a result with an exception set)",
        "A compiled function broke Python's rules: update its package, or install a build of it for this Python.",
    ),
    _Remark(
        "RuntimeError",
        r"asyncio\.run\(\) cannot be called from a running event loop",
        "Use await in place of asyncio.run(); a loop runs there already.",
    ),
    _Remark("RuntimeError", r"no running event loop", "Do this inside of a coroutine that asyncio.run() runs."),
    _Remark(
        "RuntimeError", r"dictionary changed size during iteration", "Loop over a copy, list(d), and change d itself."
    ),
    _Remark("StopIteration", r"^$", "next() found nothing more: give it a default, next(it, None)."),
    _Remark("TabError", r"", "Use only blanks for indentation, or only tabs."),
)


def about_exception(crash: Crash) -> dict[str, str]:
    """`exception_advice`, where there is something to say about what went wrong first."""
    chain = last_chain(crash)
    sentence = (about_import(chain.root, crash) or next(_remarks(chain.root), None)) if chain else None
    return {} if sentence is None else {"exception_advice": sentence}


def _remarks(error: PythonException) -> Iterator[Phrase]:
    for remark in _REMARKS:
        if error.short_type not in remark.type.split("|"):
            continue
        found = pattern(remark.message).search(error.message)
        if found is None or (remark.within and not _is_within(error, remark.within)):
            continue
        values: dict[str, str] = {name: quote(text) for name, text in found.groupdict().items() if text}
        if size := digits.whole(found.groupdict().get("size")):
            values["last"] = str(size - 1)
        if sentence := fill(remark.says, values):
            yield sentence


def _is_within(error: PythonException, file: str) -> bool:
    """Whether the frames below the person's own code are of such a file."""
    own = nearest_own(error.frames)
    below = error.frames[: error.frames.index(own)] if own in error.frames else error.frames
    return any(pattern(file).search(frame.file.replace("\\", "/")) for frame in below)
