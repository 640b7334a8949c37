"""What is wrong with a pack, before it misleads anyone: each problem with its file, its line and what to write."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from triage import patterns
from triage.clues import KINDS, patterns_of
from triage.clues.interface import Clue
from triage.clues.versions import in_range, order
from triage.crash import Framework, Log
from triage.knowledge.complexity import exponential
from triage.knowledge.database import Knowledge
from triage.knowledge.pack import NOTICES, PARTS, PackData, Problem
from triage.knowledge.pack_files import line_of
from triage.knowledge.signature import Person, Signature, is_of_frameworks
from triage.knowledge.steps import first_steps, only_looks, versions_around

LEAST_LITERAL = 4
LONGEST_LINE = 120
PAGE_REQUIRED = ("title", "inside", "shows", "sure", "fix")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_GROUP = re.compile(r"\(\?P<(\w+)>")
# An install command up to its end, and a command whose first word is a placeholder.
_INSTALLS = (
    r"(?i)\b(?:pip[\d.]*|conda|mamba|uv|pipx|poetry|npm|apt|apt-get|brew)\b[^&|;\n]*\b(?:install|add)\b[^&|;\n]*"
)
_IS_A_COMMAND = r"(?:^|&&)\s*\{[a-z_]+\}"
# Words by which a sentence or a command names a framework.
_NAMED: Mapping[Framework, str] = {
    "tensorflow": r"\b[Tt]ensor[Ff]low\b|\btf\.|\bTF_[A-Z]|\bKeras\b|\bkeras\.",
    "pytorch": r"\bPy[Tt]orch\b|\btorch\b",
    "jax": r"\bJAX\b|\bjax\b|\bjaxlib\b|\bXLA_PYTHON",
}
# How a step says in words for which versions something is: "2.16 or newer", "before 2.5", "in older releases".
_SAYS_VERSIONS = re.compile(r"\d or (?:newer|later|older)\b|\b(?:before|until|since) \d|\bolder releases\b|\d on\b")
_QUOTED = re.compile(r'"[^"]*"')
_IN_SINGLE_QUOTES = re.compile(r"'[^']*'")
_POSIX_ONLY = (
    (re.compile(r";(?:\s|$)"), "two commands behind a semicolon", "&& between them, or run: {linux: …, windows: …}"),
    (
        re.compile(r"\$\(|\$\w|/dev/|/proc/|/sys/|/usr/|/tmp\b"),
        "a POSIX path or variable",
        "run: {linux: …, windows: …}",
    ),
    (re.compile(r"\w/bin/python|\bpython3(?:\.\d+)?\b"), "a Python of POSIX", "run: {linux: …, windows: py -3.11 …}"),
    (
        re.compile(
            r"(?:^|[|&] ?)(?:grep|head|tail|ls|cat|ldd|ldconfig|find|file|strings|sha256sum|ulimit|free|df|dmesg|export"
            r"|env|ln|sudo|source|gcc|g\+\+|uname|sysctl|rm|apt|ps|quota|echo \$)\b"
        ),
        "a POSIX tool",
        "run: {linux: …, windows: …}",
    ),
)
# What belongs to one machine or one build, never to a kind of failure.
_ONE_MACHINE = (
    (re.compile(r"/(?:home|Users|root|mnt|opt|usr/local|tmp)/"), "a path of one machine", "the file's name only"),
    (re.compile(r"(?i)\b[A-Z]:\\\\"), "a path of one machine", "the file's name only"),
    (re.compile(r"site-packages|dist-packages"), "a path of one installation", "the path below it"),
    (re.compile(r"\\?\.(?:cc|cpp|cu|h|py):\d"), "a source line number, which moves between versions", r"\.cc:\d+"),
    (re.compile(r"(?:\bline |\.py\", line )\d"), "a source line number, which moves between versions", r"line \d+"),
)
_HEXADECIMAL = re.compile(r"0x([0-9a-fA-F]{6,})(.?)")


def lint(
    pack: PackData,
    knowledge: Knowledge,
    healthy: Mapping[str, Log],
    computed: Mapping[str, Iterable[str]],
    from_tables: Collection[str] = (),
) -> list[Problem]:
    """Every problem of one pack. `computed` says which groups each placeholder of a calculator needs.

    `from_tables` are the placeholders whose values come from our own tables, never from a log.
    """
    own = [signature for signature in knowledge.signatures.values() if signature.id in pack.signatures]
    inside = Path(pack.directory).resolve()
    problems = [p for p in knowledge.problems if Path(p.file).resolve().is_relative_to(inside)]
    for signature in own:
        found = [
            *_framework_problems(signature),
            *_clue_problems(signature, knowledge),
            *_test_problems(signature),
            *_placeholder_problems(signature, computed),
            *_audience_problems(signature),
            *_command_problems(signature),
            *_install_problems(signature, from_tables),
            *_version_problems(signature, knowledge),
        ]
        found += _healthy_problems(signature, healthy)
        problems += [_place(pack, signature.id, *entry) for entry in found]
        looking = (_place(pack, signature.id, *entry) for entry in _first_step_problems(signature))
        problems += [problem._replace(warning=True) for problem in looking]
    problems += _duplicates(pack, own)
    problems += _table_problems(pack, knowledge)
    problems += _part_problems(pack, knowledge)
    problems += _claim_problems(pack, knowledge)
    problems += _notice_problems(pack, knowledge)
    return problems


def long_lines(pack: PackData) -> Iterator[Problem]:
    """Lines of a pack's files that are too long to read in an editor; only our own pack is checked for them."""
    for file in sorted(Path(pack.directory).rglob("*.yaml")):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if len(line) > LONGEST_LINE:
                what = f"this line has {len(line)} characters, more than {LONGEST_LINE}"
                yield Problem(str(file), number, what, "it in several lines, as CONTRIBUTING.md shows")


_Entry = tuple[tuple[str | int, ...], str, str]


def _place(pack: PackData, id: str, path: tuple[str | int, ...], what: str, instead: str) -> Problem:
    file = Path(pack.directory) / f"{id}.yaml"
    return Problem(str(file), line_of(file, path), what, instead)


def _all_clues(signature: Signature) -> Iterator[tuple[tuple[str | int, ...], Clue]]:
    for part, clues in (("clues", signature.clues), ("against", signature.against)):
        for number, clue in enumerate(clues):
            yield from _with_inner((part, number), clue)


def _with_inner(path: tuple[str | int, ...], clue: Clue) -> Iterator[tuple[tuple[str | int, ...], Clue]]:
    yield path, clue
    for number, inner in enumerate(clue.inner):
        yield from _with_inner((*path, clue.kind, number), inner)


def _framework_problems(signature: Signature) -> Iterator[_Entry]:
    """A framework's own cause says whose it is, so that it is never told about another's program."""
    if signature.framework is None and is_of_frameworks(signature.cause):
        what = f"'{signature.cause}' is a framework's own, and this does not say whose"
        yield ("cause",), what, "applies: {framework: tensorflow}, or any if the clues show it in any program"


def _clue_problems(signature: Signature, knowledge: Knowledge) -> Iterator[_Entry]:
    ids = [clue.id for clue in (*signature.clues, *signature.against)]
    for id in {id for id in ids if ids.count(id) > 1}:
        yield ("clues",), f"two clues are called '{id}'", "another id for one of them"
    for path, clue in _all_clues(signature):
        yield from _one_clue(path, clue, knowledge)


def _one_clue(path: tuple[str | int, ...], clue: Clue, knowledge: Knowledge) -> Iterator[_Entry]:
    families = {cause.split(".")[0] for cause in knowledge.causes}
    for cause in clue.consequence_of:
        if cause not in knowledge.causes and cause not in families:
            yield (
                (*path, "consequence_of"),
                f"unknown cause '{cause}'",
                "a slug that 'triage signatures list --causes' prints",
            )
    for below, what, instead in KINDS[clue.kind].complaints(clue.sought):
        yield (*path, *below), what, instead
    if not clue.inner:
        for kind, pattern in patterns_of(clue):
            yield from ((path, what, instead) for what, instead in pattern_problems(kind, pattern))


def pattern_problems(kind: str, pattern: str) -> Iterator[tuple[str, str]]:
    """What is wrong with one pattern, and what to write instead."""
    refused = patterns.check(pattern)
    if refused:
        yield f"RE2 does not take {pattern!r}: {refused}", "a pattern without lookaround and back-references"
        return
    if refused := exponential(pattern):  # where RE2 is missing, Python's own engine is used
        yield f"{pattern!r} may never end without RE2: {refused}", "one repeat, not a repeat inside a repeat"
    for found, what, instead in _ONE_MACHINE:
        if found.search(pattern):
            yield f"{pattern!r} holds {what}", instead
    if any(_is_address(*found.groups()) for found in _HEXADECIMAL.finditer(pattern)):
        yield f"{pattern!r} holds an address", r"0x[0-9a-f]+"
    if kind == "log":
        needed = patterns.literals(pattern)
        if not needed or min(map(len, needed)) < LEAST_LITERAL:
            yield (
                f"{pattern!r} has no fixed text of {LEAST_LITERAL} characters",
                "more of the message's own words, case as printed",
            )


def _is_address(digits: str, following: str) -> bool:
    is_status = len(digits) == 8 and digits[0] in "cCeE" and not (following.isalnum() or following == "_")
    return not is_status and following != "]"


def _healthy_problems(signature: Signature, healthy: Mapping[str, Log]) -> Iterator[_Entry]:
    # What speaks against a cause may well be a sign of health, so only the clues must be silent.
    for path, clue in _all_clues(signature):
        if path[0] == "against" or clue.inner:
            continue
        for kind, pattern in patterns_of(clue):
            if kind == "log" and patterns.check(pattern) is None:
                for name, log in healthy.items():
                    if patterns.compile(pattern).search(log.text):
                        yield path, f"{pattern!r} fires on the healthy log {name}", "words that only the failure prints"
                        break


def _test_problems(signature: Signature) -> Iterator[_Entry]:
    if not signature.matches:
        yield ("tests",), "no positive test", "match: [fixtures/logs/NAME.log]"
    if not signature.differs:
        yield ("tests",), "no negative test", "differ: [{log: fixtures/logs/OTHER.log, cause: OTHER.CAUSE}]"


def _placeholder_problems(signature: Signature, computed: Mapping[str, Iterable[str]]) -> Iterator[_Entry]:
    groups = {name for _, clue in _all_clues(signature) for _, p in patterns_of(clue) for name in _GROUP.findall(p)}
    groups.update(name for _, clue in _all_clues(signature) for name in KINDS[clue.kind].fills)
    for number, fix in enumerate(signature.fix):
        for name in _PLACEHOLDER.findall(" ".join((fix.do, fix.verify, *fix.run.values()))):
            needs = {name} if name not in computed else set(computed[name])
            if not needs <= groups:
                yield (
                    ("fix", number),
                    f"nothing fills {{{name}}}",
                    f"named groups {', '.join(sorted(needs))} in a clue's pattern",
                )
        for field in ("otherwise", "if_not"):
            if _PLACEHOLDER.search(getattr(fix, field) or ""):
                yield ("fix", number, field), f"'{field}' has a placeholder", "the advice without numbers"
        if _PLACEHOLDER.search(fix.do) and not fix.otherwise:
            yield (
                ("fix", number),
                "a fix with placeholders and no 'otherwise'",
                "otherwise: the same advice without numbers",
            )


def _audience_problems(signature: Signature) -> Iterator[_Entry]:
    """Steps that nobody could see, or that would name a framework to people who do not have it."""
    ids = {clue.id for _, clue in _all_clues(signature)}
    for number, fix in enumerate(signature.fix):
        audience = fix.audience
        if audience.seen is not None and audience.seen not in ids:
            yield ("fix", number, "for", "seen"), f"no clue is called '{audience.seen}'", ", ".join(sorted(ids))
        for some in fix.unless:
            if some.seen is not None and some.seen not in ids:
                yield ("fix", number, "unless"), f"no clue is called '{some.seen}'", ", ".join(sorted(ids))
        if signature.framework is not None:
            continue
        texts = " ".join((fix.do, fix.otherwise or "", fix.verify, fix.if_not or "", *fix.run.values()))
        named = {name for name, words in _NAMED.items() if patterns.compile(words).search(texts)}
        # What a signature is called after is in its clues, and so in every log that it speaks of.
        own = {name for name in _NAMED if name in f"{signature.id} {signature.cause}"}
        if others := sorted(named - own - set(audience.frameworks)):
            instead = f"for: {{framework: {others[0]}}}, or the step without its name"
            yield ("fix", number), f"a step that names {others[0]} may be shown to people without it", instead
    if signature.framework is None and all(fix.audience.frameworks for fix in signature.fix):
        yield ("fix",), "no step for people whose framework is another or unknown", "a step without for: {framework: …}"


def _command_problems(signature: Signature) -> Iterator[_Entry]:
    """Commands that cannot be copied out of a report, or that people on Windows would see and could not run."""
    for number, fix in enumerate(signature.fix):
        lines = [line for command in fix.run.values() for line in command.strip().split("\n")]
        if any(not _is_whole(line) for line in lines):
            # A report indents what it shows, and indented Python is another program.
            yield ("fix", number, "run"), "a line that is no command by itself", "one command a line, or all in one"
    if signature.os and "windows" not in signature.os:
        return
    for number, fix in enumerate(signature.fix):
        command = fix.run.get("windows") or fix.run.get("default") or fix.run.get("otherwise") or ""
        unquoted = _QUOTED.sub("", command)
        for found, what, instead in _POSIX_ONLY:
            if found.search(unquoted):
                yield ("fix", number, "run"), f"people on Windows cannot run {what}", instead
                break
        if "'" in unquoted:
            yield (
                ("fix", number, "run"),
                "cmd does not take single quotes as quotes",
                "double quotes around an argument",
            )


def _is_whole(line: str) -> bool:
    """Whether a line is a whole command: no part of a longer quote, of a here-document, or of an indented block."""
    quotes = _QUOTED.sub("", line)
    outside = _IN_SINGLE_QUOTES.sub("", quotes)
    return line == line.lstrip() and '"' not in outside and "'" not in outside and "<<" not in outside


def _version_problems(signature: Signature, knowledge: Knowledge) -> Iterator[_Entry]:
    """Steps that name an API or a variable to people whose version does not have it, by the table `since`.

    A step may say itself for which versions what it names is.
    """
    rows = [row for row in knowledge.versions.get("since", {}).get("rows") or [] if "name" in row]
    for number, fix in enumerate(signature.fix):
        texts = "\n".join((fix.do, fix.otherwise or "", *fix.run.values()))
        if _SAYS_VERSIONS.search(fix.do):
            continue
        for row in rows:
            if patterns.compile(rf"(?:^|[^\w.]){re.escape(row['name'])}(?:\W|$)").search(texts):
                frameworks = fix.audience.frameworks or (signature.framework,)
                if row["framework"] in frameworks and (without := _version_without(row, fix.audience.versions)):
                    lacking = (
                        f"{row['name']} is shown to people with {row['framework']} {without}, which does not have it"
                    )
                    wanted = ",".join(sign + row[end] for end, sign in (("from", ">="), ("until", "<")) if end in row)
                    instead = f"for: {{framework: {row['framework']}, versions: '{wanted}'}}"
                    yield ("fix", number, "for") if fix.audience.versions else ("fix", number), lacking, instead


def _version_without(row: Mapping[str, str], versions: str | None) -> str | None:
    """A version for which a step holds although the API of the row is not in it."""
    known = [f"{row[end]}" for end in ("from", "until") if end in row]
    for version in versions_around([*known, versions or ""]):
        lacks = "from" in row and order(version) < order(row["from"])
        lacks = lacks or ("until" in row and order(version) >= order(row["until"]))
        if lacks and (versions is None or in_range(version, versions)):
            return version
    return None


def _first_step_problems(signature: Signature) -> Iterator[_Entry]:
    """People who would be told to look before anything that could help them, and people who are told nothing."""
    of_frameworks = signature.framework is None and all(fix.audience.frameworks for fix in signature.fix)
    for number, person, seen in first_steps(signature):
        who = _in_words(person, seen)
        if number is None and of_frameworks:
            continue  # This is said of the whole fix already.
        if number is None:
            yield ("fix",), f"no step holds{who}", "a step for everybody"
        elif only_looks(signature.fix[number]) and not signature.fix[number].look_first:
            instead = "the step that acts before it, or look_first: why nothing can be done without looking"
            yield ("fix", number), f"the first step{who} only looks", instead
    for number, fix in enumerate(signature.fix):
        if fix.look_first and not only_looks(fix):
            yield ("fix", number, "look_first"), "'look_first' on a step that acts", "the step without it"


def _in_words(person: Person, seen: Collection[str]) -> str:
    known = [person.framework and f"{person.framework} {person.version or ''}".strip(), person.os]
    known += [None if person.own_code is None else "own code" if person.own_code else "another's code"]
    known += ["AMD" if person.card == "amd" else None, "ARM" if person.processor == "arm" else None]
    told = [*filter(None, known), *(f"{clue} seen" for clue in sorted(seen))]
    return f" ({', '.join(told)})" if told else ""


def _install_problems(signature: Signature, from_tables: Collection[str]) -> Iterator[_Entry]:
    """Names from a log that somebody would install: whoever owns the name on PyPI could run code on that machine."""
    for number, fix in enumerate(signature.fix):
        texts = (fix.do, fix.verify, *fix.run.values())
        parts = [part for text in texts for part in patterns.compile(_INSTALLS).findall(text)]
        parts += [part for command in fix.run.values() for part in patterns.compile(_IS_A_COMMAND).findall(command)]
        for name in dict.fromkeys(name for part in parts for name in _PLACEHOLDER.findall(part)):
            if name not in from_tables:
                what = f"{{{name}}} comes from a log, and nobody knows what would be installed or run under that name"
                yield ("fix", number), what, "{module_install}, or PACKAGE and a sentence on how to find its name"


def _duplicates(pack: PackData, own: list[Signature]) -> Iterator[Problem]:
    by_title: dict[str, list[Signature]] = defaultdict(list)
    by_patterns: dict[frozenset[str], list[Signature]] = defaultdict(list)
    backgrounds: dict[tuple[str, str], dict[float, str]] = defaultdict(dict)
    for signature in own:
        by_title[signature.title.lower()].append(signature)
        by_patterns[frozenset(p for clue in signature.clues for _, p in patterns_of(clue))].append(signature)
        # As written: counted reports move the same pattern's number by what else its signature is seen with.
        written = {clue.get("id"): clue.get("b") for clue in pack.signatures[signature.id].get("clues", ())}
        for clue in signature.clues:
            if not clue.inner:
                for kind, pattern in patterns_of(clue):
                    backgrounds[kind, pattern][written.get(clue.id) or clue.b] = signature.id
    for group in by_title.values():
        for other in group[1:]:
            yield _place(
                pack, other.id, ("title",), f"the same title as {group[0].id}", "what sets this way of showing apart"
            )
    for texts, group in by_patterns.items():
        for other in group[1:] if texts else ():
            yield _place(pack, other.id, ("clues",), f"the same patterns as {group[0].id}", "one signature for both")
    for (_, pattern), values in backgrounds.items():
        if len(values) > 1:
            first, *rest = values.values()
            yield _place(
                pack,
                rest[0],
                ("clues",),
                f"{pattern!r} has another background b in {first}",
                "the same b: it belongs to the pattern",
            )


def _table_problems(pack: PackData, knowledge: Knowledge) -> Iterator[Problem]:
    directory = Path(pack.directory)
    for slug, page in pack.tables.get("causes", {}).items():
        file = Path(pack.file_of_cause(slug))
        missing = [key for key in PAGE_REQUIRED if not page.get(key)]
        if missing:
            yield Problem(str(file), line_of(file, (slug,)), f"'{slug}' has no {missing[0]}", f"{missing[0]}: …")
        for neighbour in page.get("mistaken_for") or {}:
            if neighbour not in knowledge.causes:
                yield Problem(
                    str(file), line_of(file, (slug, "mistaken_for", neighbour)), f"unknown cause '{neighbour}'"
                )
    yield from _stale_counts(pack, knowledge)
    for source, table in (("explanations", "statuses"), ("explanations", "exceptions"), ("names", "pages")):
        file = directory / f"{source}.yaml"
        for name, page in (pack.tables.get(source, {}).get(table) or {}).items():
            for slug in page.get("causes") or ():
                if slug not in knowledge.causes:
                    yield Problem(str(file), line_of(file, (table, name, "causes")), f"unknown cause '{slug}'")
    yield from _name_problems(pack, knowledge)
    for table in ("noise", "life"):
        for number, pattern in enumerate(pack.tables.get("noise", {}).get(table) or ()):
            for what, instead in pattern_problems("log", pattern):
                file = directory / "noise.yaml"
                yield Problem(str(file), line_of(file, (table, number)), what, instead)


def _name_problems(pack: PackData, knowledge: Knowledge) -> Iterator[Problem]:
    """Names of unknown causes, pages without a title or a meaning, and words that lead to two places."""
    file = Path(pack.directory) / "names.yaml"
    table = pack.tables.get("names", {})
    taken: dict[str, str] = {}
    for slug in table.get("causes") or {}:
        if slug not in knowledge.causes:
            yield Problem(str(file), line_of(file, ("causes", slug)), f"unknown cause '{slug}'")
    for name, page in (table.get("pages") or {}).items():
        if missing := [key for key in ("title", "means") if not page.get(key)]:
            what = f"'{name}' has no {missing[0]}"
            yield Problem(str(file), line_of(file, ("pages", name)), what, f"{missing[0]}: …")
    meant = [("causes", slug, words) for slug, words in (table.get("causes") or {}).items()]
    meant += [("pages", name, [name, *(page.get("also") or ())]) for name, page in (table.get("pages") or {}).items()]
    for part, leads_to, words in meant:
        for word in words:
            if other := taken.get(word.lower()):
                what = f"'{word}' leads to {leads_to} and to {other}"
                yield Problem(str(file), line_of(file, (part, leads_to)), what, "it in only one of them")
            taken[word.lower()] = leads_to


def _part_problems(pack: PackData, knowledge: Knowledge) -> Iterator[Problem]:
    """Shared parts of patterns that nothing uses, or that catch what only the signature knows a name for."""
    file = Path(pack.directory) / f"{PARTS}.yaml"
    table = pack.tables.get(PARTS, {})
    users = [*table.values(), *(str(data) for data in pack.signatures.values())]
    for name in table:
        pattern = knowledge.parts.get(name, "")
        line = line_of(file, (name,))
        if not any(f"{{{name}}}" in str(user) for user in users):
            yield Problem(str(file), line, f"no pattern uses {{{name}}}", "it into one, or remove it")
        if refused := patterns.check(pattern):
            yield Problem(str(file), line, f"RE2 does not take {pattern!r}: {refused}")
        elif _GROUP.search(pattern):
            yield Problem(str(file), line, f"{{{name}}} names a group", f"the group around it: (?P<file>{{{name}}})")


def _notice_problems(pack: PackData, knowledge: Knowledge) -> Iterator[Problem]:
    """Patterns that would explain anything away, and notices that do not know their own lines."""
    for id in pack.tables.get(NOTICES, {}):
        notice = knowledge.notices.get(id)
        if notice is None:
            continue  # named among the knowledge's problems
        source, _, name = id.partition("/")
        file = Path(pack.directory) / NOTICES / f"{source}.yaml"
        for number, pattern in enumerate(notice.match):
            for what, instead in pattern_problems("log", pattern):
                yield Problem(str(file), line_of(file, (name, "match", number)), what, instead)
        if not any(patterns.compile(pattern).search(line) for pattern in notice.match for line in notice.lines):
            what = f"no pattern of {id} finds any of its own lines"
            yield Problem(str(file), line_of(file, (name, "lines")), what, "a line as it is printed")


def _stale_counts(pack: PackData, knowledge: Knowledge) -> Iterator[Problem]:
    """Counts of signatures and clues that were renamed or removed: what labelled reports say about them is lost."""
    file = Path(pack.directory) / "calibration.yaml"
    for id, row in (pack.tables.get("calibration", {}).get("signatures") or {}).items():
        signature = knowledge.signatures.get(id)
        known = {clue.id for clue in (*signature.clues, *signature.against)} if signature else set()
        gone = sorted(set(row["clues"]) - known) if signature else [""]
        for clue in gone:
            what = f"counts the clue '{clue}' of {id}" if clue else f"counts the signature {id}"
            yield Problem(str(file), line_of(file, ("signatures", id)), f"{what}, which is not there", "make calibrate")


def _claim_problems(pack: PackData, knowledge: Knowledge) -> Iterator[Problem]:
    file = Path(pack.directory) / "documents.yaml"
    tables = pack.tables.get("documents", {})
    claims = tables.get("claims") or {}
    families = {slug.split(".")[0] for slug in knowledge.causes}

    def problem(path: tuple[str | int, ...], what: str, instead: str = "") -> Problem:
        return Problem(str(file), line_of(file, ("claims", *path)), what, instead)

    for number, claim in claims.items():
        for document in (claim.get("document"), *(claim.get("also_in") or ())):
            if document is not None and document not in (tables.get("documents") or {}):
                yield problem((number, "document"), f"unknown document '{document}'", "one that is listed above")
        for id in claim.get("supports") or ():
            if id not in knowledge.signatures:
                yield problem((number, "supports"), f"unknown signature '{id}'", "an id of 'triage signatures list'")
        for cause in claim.get("except_for") or ():
            if cause not in knowledge.causes and cause not in families:
                yield problem((number, "except_for"), f"unknown cause '{cause}'", "a cause or a family of causes")
    for one in (one for one in knowledge.claims if one.number in claims):
        for part, clue in (("heard_when", one.when), ("unless", one.unless)):
            for path, inner in _with_inner((one.number, part), clue) if clue else ():
                for where, what, instead in _one_clue(path, inner, knowledge):
                    yield problem(where, what, instead)
