"""Which release fixed the op that a crash names: the table `fixed` of signatures/versions.yaml.

There is no advice where the installed version already has the fix, or where no op of the table is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from triage.clues.versions import order
from triage.crash import Crash, Environment, base_name
from triage.patterns import compile as pattern

Row = Mapping[str, Any]

# A kernel's method in a stack, resolved or printed: tensorflow::(anonymous namespace)::MaxPoolingGradOp<…>::Compute
_KERNEL = (
    r"tensorflow::(?:[\w(){} ]+::){0,4}(\w+)(?:<[^\n]{0,400}?>)?::(?:Compute|ComputeAsync|DoCompute|operator\(\))\b"
)
# TensorFlow puts the op that failed after its message, and faulthandler shows the generated function that called it.
_OP = r"\bOp:(\w+)"
_GENERATED = r"\bgen_\w+_ops\.py\"?, line \d+,? in (\w+)"
_RAW = r"\braw_ops\.(\w+)\("
_FATAL = r"(?:^|: |\s)F(?:\d{4} [\d:.]+\s+\d+)? ?[\w\\/.\-:]*?([\w\-]+\.cc):\d+[\]}]"
_SOURCE = r"tensorflow[\\/]core[\\/]kernels[\\/][\w\\/]*?(\w+\.cc):\d+"
_FALLBACK = "_eager_fallback"
# How each death may show: memory that was overwritten ends in a fault, or in abort() once the allocator notices.
_ENDS = {
    "SIGABRT": {"abort", "heap"},
    "SIGSEGV": {"fault", "heap"},
    "SIGBUS": {"fault", "heap"},
    "SIGFPE": {"division"},
    0xC0000005: {"fault", "heap"},
    0xC0000409: {"abort", "heap"},
    0xC0000374: {"abort", "heap"},
    0xC0000094: {"division"},
}
_MOST_IDS = 2


def fixed_bug(crash: Crash, op: str | None, tables: Mapping[str, Any]) -> dict[str, str]:
    """`fixed_advice` and `fixed_pin` for the first op that the crash names and the table has."""
    rows: list[Row] = tables.get("fixed", {}).get("rows") or []
    ends = _ends(crash)
    rows = [row for row in rows if row["ends"] == "crash" or not ends or ends.intersection(row["ends"].split())]
    found = _rows_of(_ops(crash, op), rows) or _rows_in_file(crash, rows)
    version = crash.environment.package("tensorflow")
    still_open = [row for row in found if version is None or not _has(version, row)]
    return _advice(still_open, version, crash.environment, tables) if still_open else {}


def _ends(crash: Crash) -> set[str]:
    """How the process ended, in the words of the table; empty where that is unknown."""
    if any(record.severity == "F" for record in crash.records):
        return {"abort"}
    if crash.exit is None:
        return set()
    return _ENDS.get(crash.exit.signal or "", set()) or _ENDS.get(crash.exit.ntstatus or 0, set())


def _ops(crash: Crash, op: str | None) -> Iterator[str]:
    """The names of ops and kernels in a crash, the most certain first."""
    if op:
        yield op
    for thread in crash.threads[:1]:
        for frame in thread.native_stack:
            yield from pattern(_KERNEL).findall(frame.function or "")
        for place in thread.python_stack:
            if base_name(place.file).startswith("gen_"):
                yield place.function
    for names in (_KERNEL, _OP, _GENERATED):
        for log in crash.logs:
            yield from pattern(names).findall(log.text)
    called = {name for log in crash.logs for name in pattern(_RAW).findall(log.text)}
    if len(called) == 1:  # of several, any may be the one that crashed
        yield from called


def _rows_of(ops: Iterator[str], rows: list[Row]) -> list[Row]:
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(_bare(row["op"]), []).append(row)
    for op in ops:
        # FusedBatchNormV3 runs the kernel of FusedBatchNorm, but not the other way round.
        if found := by_name.get(_bare(op)) or by_name.get(pattern(r"v\d$").sub("", _bare(op))):
            return found
    return []


def _rows_in_file(crash: Crash, rows: list[Row]) -> list[Row]:
    """The rows of the kernel source that the fatal line or a frame names, if it is about one op."""
    files = [found for log in crash.logs for names in (_FATAL, _SOURCE) for found in pattern(names).findall(log.text)]
    for thread in crash.threads[:1]:
        files += [base_name(frame.source.split(":")[0]) for frame in thread.native_stack if frame.source]
    for file in files:
        found = [row for row in rows if row.get("file") == file]
        if len({row["op"] for row in found}) == 1:
            return found
    return []


def _bare(name: str) -> str:
    """What op, kernel class and generated function have in common: MaxPoolGrad, MaxPoolingGradOp, max_pool_grad."""
    bare = name.removesuffix(_FALLBACK).replace("_", "").lower().replace("pooling", "pool")
    for suffix in ("kernel", "op", "base"):
        bare = bare.removesuffix(suffix) or bare
    return bare


def _has(version: str, row: Row) -> bool:
    """Whether a release has the fix: the one of the main line, or the one of its own older line."""
    releases = row["fixed"].split()
    own = _of_line(version, releases)
    return order(version) >= order(own or releases[0])


def _of_line(version: str, releases: list[str]) -> str | None:
    line = version.split(".")[:2]
    return next((release for release in releases if release.split(".")[:2] == line), None)


def _advice(
    rows: list[Row], version: str | None, environment: Environment, tables: Mapping[str, Any]
) -> dict[str, str]:
    """The sentence and the requirement for the release that has all of these fixes."""
    rows = sorted(rows, key=lambda row: order(row["fixed"].split()[0]), reverse=True)
    first = str(rows[0]["fixed"].split()[0])
    ids = [row["id"] for row in rows]
    more = f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
    what = "A known crash of {} ({}) is" if len(ids) == 1 else "Known crashes of {} ({}) are"
    named = what.format(rows[0]["op"], ", ".join(ids[:_MOST_IDS]) + more)
    needs = _python_needed(first, environment, tables)
    if version is None:
        # No requirement: it would be useless to people who have a newer release already.
        unsure = "yours is unknown, and if it is newer, this is another bug"
        return {"fixed_advice": f"{named} fixed in TensorFlow {first}{needs}; {unsure}."}
    line = ".".join(version.split(".")[:2])
    own = [_of_line(version, row["fixed"].split()) for row in rows]
    patch = max((release for release in own if release), key=order, default=None) if all(own) else None
    if patch is None or patch == first:
        advice = f"{named} fixed in TensorFlow {first}{needs}; you have {version}."
        return {"fixed_advice": advice, "fixed_pin": f"tensorflow>={first}"}
    # The smallest upgrade breaks the least.
    advice = f"{named} fixed in TensorFlow {first}{needs}, and for {line} in {patch}; you have {version}."
    return {"fixed_advice": advice, "fixed_pin": f"tensorflow>={patch},=={line}.*"}


def _python_needed(release: str, environment: Environment, tables: Mapping[str, Any]) -> str:
    """The Python that a release needs, where this machine's is too old for it."""
    line = ".".join(release.split(".")[:2])
    builds: list[Row] = tables.get("builds", {}).get("rows") or []
    least = next((row["python"].partition("-")[0] for row in builds if row["release"] == line), None)
    if least is None or environment.python is None or order(environment.python) >= order(least):
        return ""
    return f" (which needs Python {least} or newer)"
