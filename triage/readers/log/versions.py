"""What a text tells of the software and the card: Python, packages, CUDA, cuDNN, the driver; each with its place.

The same thing is told in many ways, and they are not equally good: a path or a tool's own list shows what was there, a
form says what the person believes, and a sentence may be about another machine. The best way that occurs decides, and
only if all that it says agrees; a wrong version is worse than none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from triage import patterns
from triage.crash import Fact, FactName, Log
from triage.readers.log.forms import FILLED_IN, FORMS, SHOWN, WRITTEN

# Packages whose versions decide something, by the names that lists and files have for them.
_NAMES: Mapping[str, str] = {
    "tensorflow_gpu": "tensorflow",
    "tensorflow_cpu": "tensorflow",
    "tensorflow_intel": "tensorflow",
    "tensorflow_macos": "tensorflow",
    "tensorflow_rocm": "tensorflow",
    "tf_nightly": "tensorflow",
    "tf_nightly_gpu": "tensorflow",
    "tensorflow_base": "tensorflow",
    "pytorch": "torch",
    "onnxruntime_gpu": "onnxruntime",
    "xgboost_cpu": "xgboost",
    "opencv_python": "opencv",
    "opencv_python_headless": "opencv",
}
_PACKAGE = (
    r"tensorflow(?:[-_](?:gpu|cpu|intel|macos|rocm"
    r"|base|io|text|addons|probability|metal|directml(?:[-_]plugin)?))?"
    r"|tf[-_]nightly(?:[-_]gpu)?|tf[-_]keras|keras|torch|pytorch|torchvision|torchaudio"
    r"|jax|jaxlib|jax[-_]metal|jax[-_]cuda1\d[-_]plugin"
    r"|numpy|protobuf|transformers|onnxruntime(?:[-_]gpu)?|xgboost(?:[-_]cpu)?|lightgbm|opencv[-_]python"
    r"(?:[-_]headless)?|h5py|scipy|pandas|grpcio|nvidia[-_]cudnn[-_]cu1\d|nvidia[-_]cuda[-_]runtime[-_]cu1\d"
    r"|horovod|triton|ml[-_]dtypes|flax"
)
# One of these is in every name of a package.
_STEMS = (
    *("tensor", "tf", "keras", "torch", "jax", "numpy", "np.", "proto", "transformers", "onnx", "xgb", "lightgbm"),
    *("-g", "unknown", "opencv", "h5py", "scipy", "pandas", "grpc", "nvidia", "horovod", "triton", "dtypes", "flax"),
)
# The day of a nightly build is a part of its name.
_VERSION = (
    r"(?P<version>\d{1,4}(?:\.\d{1,8}){1,3}(?:rc\d+|[-.]?dev20\d{6})?)(?:[-.]?(?:a|b|dev|post)\d*)?"
    r"(?P<local>\+[\w.]+)?"
)
# Where packages stand with their versions.
_LISTED: tuple[tuple[int, str, str], ...] = (
    (SHOWN, "-info", rf"[/\\](?P<name>{_PACKAGE})-{_VERSION}(?:-py\d[\d.]*)?\.(?:dist|egg)-info"),
    (
        SHOWN,
        "",
        rf"(?i)^\W{{0,3}}(?P<name>{_PACKAGE})[ \t]{{2,60}}{_VERSION}(?:[ \t]+[\w.]+(?:[ \t]+[\w/.-]+)?)?[ \t]*\|?$",
    ),
    (SHOWN, "] ", rf"^\[(?:pip3?|conda)\] (?P<name>{_PACKAGE})(?:==|\s+){_VERSION}"),
    (SHOWN, ":", rf"^(?P<name>jax|jaxlib|numpy):\s{{2,8}}{_VERSION}\s*$"),
    (SHOWN, "name: ", rf"(?i)^Name: (?P<name>{_PACKAGE})\nVersion: {_VERSION}\s*$"),
    (SHOWN, "you have", rf"(?i)\byou have (?P<name>{_PACKAGE})[ =]{{1,2}}{_VERSION}"),
    (SHOWN, " requires ", rf"(?i)\b(?P<name>{_PACKAGE}) {_VERSION} (?:requires|has requirement) "),
    (FILLED_IN, "==", rf"(?i)(?:^|[\s\"'`(])(?P<name>{_PACKAGE})(?:\[[\w,-]+\])?=={_VERSION}"),
    (
        FILLED_IN,
        "version",
        rf"(?i)\b(?P<name>{_PACKAGE})(?:\.?__version__|(?:['’?]s)? version)\W{{0,3}}(?:\([^)\n]{{1,60}}\))?"
        rf"[\s:=*`'\"(>]{{1,12}}v?{_VERSION}",
    ),
    (FILLED_IN, "", rf"(?i)^\W{{0,6}}(?P<name>{_PACKAGE})\*{{0,2}}(?: ?[:=] ?| - )[`*'\"]{{0,2}}v?{_VERSION}"),
    (FILLED_IN, "tensorflow:", rf"\btensorflow/(?P<name>tensorflow):{_VERSION}"),
    (FILLED_IN, "pytorch:", rf"\bpytorch/(?P<name>pytorch):{_VERSION}"),
    (FILLED_IN, ".whl", rf"(?i)\b(?P<name>{_PACKAGE})-{_VERSION}-(?:cp|py)\d[^\s]{{0,80}}\.whl"),
    (WRITTEN, "", rf"(?i)\b(?P<name>{_PACKAGE})[ -]?v?{_VERSION}(?:[^\w.-]|\.?$|\.\s)"),
)
_INSTALLED = r"^Successfully installed (?P<all>[^\n]+)$"
# TensorFlow's own: the version of its repository and its version, as the issue form asks for them.
# Builds that do not come from that repository say "unknown".
_GIT = rf"(?:\bv\d\.\d{{1,2}}\.\d{{1,2}}(?:-rc\d)?-\d+-g[0-9a-f]{{7,12}}\W{{1,6}}|^unknown ){_VERSION}"
_SHORT = (
    r"\b(?:TF|tf)(?:[-_ ]?(?:GPU|gpu|CPU|cpu))?(?: ?version)?"
    r"(?:==|: ?| )?v?(?P<version>[12]\.\d{1,2}(?:\.\d{1,2})?)\b"
)
_ALIASES = {"tf": "tensorflow", "np": "numpy", "torch": "torch", "jax": "jax", "keras": "keras"}
_ASKED = (
    r"\b(?P<name>tf|np|torch|jax|keras|tensorflow|numpy)\.(?:__version__|version\.VERSION)\)?[^\n]{0,20}\n"
    r"(?:Out\[\d+\]: ?)?['\"]?(?P<version>\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:rc\d+)?)(?:[-.]?dev\d*)?(?:\+\w+)?['\"]?\s*$"
)
# One pass over the text for a word of any form: a log without any pays for no other pattern.
_WORDS = {word for form in FORMS for word in form.needs.split("|")} | set(_STEMS)
_TELLING = rf"(?i)(?:{'|'.join(map(re.escape, sorted(_WORDS)))})[^\n]*"
# A question of an issue form, a blank line, the answer.
_LINES_BEHIND = 3
# Of these a text may name several without contradicting itself.
_MANY: tuple[FactName, ...] = ("card", "capability", "cpu", "compiler", "container", "system version", "driver")


class _Told(NamedTuple):
    trust: int
    value: str
    offset: int


class _Part(NamedTuple):
    """The lines of a text that may tell something, as one text that still knows where they were."""

    text: str
    here: str
    starts: tuple[int, ...]
    places: tuple[int, ...]

    def offset(self, offset: int) -> int:
        """Where in the whole text something is."""
        number = bisect_right(self.starts, offset) - 1
        return self.places[number] + offset - self.starts[number]


def facts_of(log: Log, text: str, here: str) -> tuple[tuple[Fact, ...], tuple[tuple[str, str], ...]]:
    """The facts of a text, and the packages with their versions; `text` is what of the log is looked at.

    `here` is the same text without what it says of other machines.
    """
    part = _telling(text, here)
    if not part.text:
        return (), ()
    lower = part.text.lower()
    told: dict[FactName, list[_Told]] = {}
    for form in FORMS:
        if any(word in lower for word in form.needs.split("|")):
            for match in patterns.compile(form.pattern).finditer(part.here if form.trust else part.text):
                if form.unless and patterns.compile(form.unless).search(_line_around(part.text, match)):
                    continue
                groups = match.groupdict()
                value = form.read(groups.get("version") or groups.get("packed") or "")
                told.setdefault(form.fact, []).append(_Told(form.trust, value, match.start()))
    is_whole = len(text) == len(log.text)
    facts = [
        Fact(name, one.value, "told", log.place(part.offset(one.offset)) if is_whole else None)
        for name, all_told in told.items()
        for one in (_cards(all_told) if name == "card" else (_first if name in _MANY else _agreed)(all_told))
    ]
    is_version = any(name in lower for name in _STEMS) and patterns.compile(r"\d\.\d").search(part.text)
    return tuple(facts), tuple(_packages(part.text, part.here, lower)) if is_version else ()


def _telling(text: str, here: str) -> _Part:
    """The lines with a word of any form, and those behind them: the answer to a question stands below it."""
    spans: list[tuple[int, int]] = []
    for match in patterns.compile(_TELLING).finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end()) + 1 or len(text)
        for _ in range(_LINES_BEHIND):
            end = text.find("\n", end) + 1 or len(text)
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    lengths = accumulate((end - start for start, end in spans), initial=0)
    return _Part(
        "".join(text[start:end] for start, end in spans),
        "".join(here[start:end] for start, end in spans),
        tuple(lengths)[:-1],
        tuple(start for start, _ in spans),
    )


def _line_around(text: str, match: patterns.Match) -> str:
    """The line in which a match begins, up to its end."""
    return text[text.rfind("\n", 0, match.start() + 1) + 1 : match.end()]


def _packages(text: str, here: str, lower: str) -> Iterator[tuple[str, str]]:
    found: dict[str, list[_Told]] = {}

    def note(name: str, trust: int, version: str, offset: int) -> None:
        plain = name.lower().replace("-", "_")
        found.setdefault(_NAMES.get(plain, plain).replace("_", "-"), []).append(_Told(trust, version, offset))

    for trust, needs, pattern in _LISTED:
        if needs in lower:
            for match in patterns.compile(pattern).finditer(here if trust == WRITTEN else text):
                note(match["name"], trust, match["version"], match.start())
    if "successfully installed" in lower:
        for match in patterns.compile(_INSTALLED).finditer(text):
            for one in patterns.compile(rf"(?P<name>{_PACKAGE})-{_VERSION}(?: |$)").finditer(match["all"]):
                note(one["name"], SHOWN, one["version"], match.start())
    if "-g" in lower or "unknown " in lower:
        for match in patterns.compile(_GIT).finditer(text):
            note("tensorflow", SHOWN, match["version"], match.start())
    if "version" in lower:
        for match in patterns.compile(_ASKED).finditer(text):
            note(_ALIASES.get(match["name"], match["name"]), SHOWN, match["version"], match.start())
    if "tensorflow" not in found and "tf" in lower:
        for match in patterns.compile(_SHORT).finditer(here):
            note("tensorflow", WRITTEN, match["version"], match.start())
    for name, all_told in found.items():
        for best in _agreed(all_told):
            yield name, best.value


def _cards(told: list[_Told]) -> Iterator[_Told]:
    """Every card that the best way of telling names, once."""
    best = min(one.trust for one in told)
    seen: set[str] = set()
    named = [one for one in sorted(told, key=lambda one: one.offset) if one.trust == best]
    for one in named:
        if one.value not in seen and not any(_is_broken_off(one.value, other.value) for other in named):
            seen.add(one.value)
            yield one


def _is_broken_off(name: str, whole: str) -> bool:
    """Whether a name of a card lacks the number that stands on the next line of a narrow console."""
    return whole.startswith(f"{name} ") and not any(map(str.isdigit, name))


def _first(told: list[_Told]) -> Iterator[_Told]:
    """The first that the best way of telling names; an image says more than the program that runs it."""
    yield min(told, key=lambda one: (one.trust, ":" not in one.value, one.offset))


def _agreed(told: list[_Told]) -> Iterator[_Told]:
    """What the best way of telling says, if it says one release: people who tried several leave it open.

    Another way may tell the same release more exactly.
    """
    (best,) = _first(told)
    if all(_release(one) == _release(best) for one in told if one.trust == best.trust):
        yield max(
            (one for one in told if _release(one) == _release(best)), key=lambda one: (len(one.value), -one.trust)
        )


def _release(one: _Told) -> tuple[str, ...]:
    return tuple(one.value.split("rc")[0].split(".")[:2])
