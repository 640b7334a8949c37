"""Which releases of TensorFlow a text leaves open where it names none: files and words that only some of them have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from triage import digits
from triage.patterns import compile as pattern
from triage.ranges import is_possible


class _Sign(NamedTuple):
    """A pattern that only releases of this range print, and a word without which it cannot occur."""

    releases: str
    needs: str
    printed: str


# A file that was looked for in vain is what somebody else was built against, so no sign matches where it only is named.
_ENDS = r"(?:[)(+\s'\",]|$)"
_SIGNS: tuple[_Sign, ...] = (
    # The number of the library came with 1.14; in the wheels of 1.13 and older it has none.
    _Sign(">=2", "libtensorflow_", rf"[/ (]libtensorflow_(?:framework|cc)\.(?:so\.2|2\.dylib)(?:\.\d+)*{_ENDS}"),
    _Sign("<2", "libtensorflow_", rf"[/ (]libtensorflow_(?:framework|cc)\.so\.1(?:\.\d+)*{_ENDS}"),
    _Sign("<2", "libtensorflow_", rf"/tensorflow/(?:python/\.\./)?libtensorflow_framework\.so{_ENDS}"),
    _Sign(">=1.15,<2.2", "tensorflow_core", r"[/\\]tensorflow_core[/\\](?:python|contrib|_api|libtensorflow_)"),
    _Sign("<2", "contrib", r"[/\\]tensorflow[/\\]contrib[/\\][\w/\\.-]+\.(?:py|so|cc|h)\b"),
    # What it printed until it said it in other words.
    _Sign("<2", "[[Node: ", r"\[\[Node: \S+ = \w+\["),
    _Sign("<2", "Caused by op", r"^Caused by op [^\n]{1,300}, defined at:"),
    _Sign("<2", "successfully opened", r"\bdso_loader\.cc:\d+\] successfully opened CUDA library "),
    _Sign("<2", "wasn't compiled", r"\bThe TensorFlow library wasn't compiled to use "),
    _Sign("<2", "Creating TensorFlow device", r"\bgpu_device\.cc:\d+\] Creating TensorFlow device \(/"),
    _Sign("<2", "tf_jenkins", r"[/\\]tf_jenkins[/\\](?:home[/\\])?workspace[/\\]"),
    # The libraries of CUDA 9 and older that it opened or asked for.
    _Sign(
        "<2",
        "brary",
        r"(?:opened (?:dynamic |CUDA )?library |open CUDA library |load dynamic library ['\"]?)"
        r"(?:lib\w+\.so\.[789]\.\d|cu[a-z]+64_[789]\d\.dll)",
    ),
    _Sign("<2", "ImportError: libcu", r"^ImportError: libcu[a-z]+\.so\.[789]\.\d: cannot open shared object file"),
    # What it prints and where its files are since.
    _Sign(">=2.5", "oneDNN custom operations", r"\boneDNN custom operations are on\b"),
    _Sign(">=2", "oneAPI Deep", r"This TensorFlow binary is optimized with oneAPI Deep Neural Network Library"),
    _Sign(
        ">=2.7",
        "traceback_utils",
        r"[/\\](?:tensorflow[/\\]python|keras(?:[/\\]src)?)[/\\]utils?[/\\]traceback_utils\.py",
    ),
    _Sign(">=2.8", "polymorphic_function", r"[/\\]tensorflow[/\\]python[/\\]eager[/\\]polymorphic_function[/\\]"),
    _Sign(">=2.2", "pywrap_tfe", r"\bpywrap_tfe\.TFE_Py_"),
    _Sign(">=2.9", "tsl", r"\btensorflow[/\\]tsl[/\\]\w"),
    _Sign(">=2.14", "external", r"\bexternal[/\\]local_(?:xla|tsl)[/\\]"),
)
# The releases that have a wheel for a Python. Those of NVIDIA go on with 1.15 for 3.8.
_BY_PYTHON = {
    **dict.fromkeys(("3.3", "3.4"), "<2"),
    "3.5": "<2.4",
    "3.6": "<2.7",
    "3.7": "<2.12",
    "3.8": "<2.14",
    "3.9": ">=2.5",
    "3.10": ">=2.8",
    "3.11": ">=2.12",
    "3.12": ">=2.16",
    "3.13": ">=2.20",
}
# 2.0 and 2.1 still had wheels for Python 2.7, and sessions live on in `compat.v1`; hardly anybody used either.
_LAST_OF_PYTHON_2 = "2.7"
_NEWEST_WITH_SESSIONS = (3, 7)
_SESSION = (
    r"[/\\]python[/\\]client[/\\]session\.py\b[^\n]{0,40} in _?(?:do_)?(?:run|call)\b"
    r"|\btf\.Session\(|\bsess(?:ion)?\.run\("
)
_SESSIONS_OF_TODAY = ("compat.v1", "compat/v1", "compat\\v1", "disable_v2", "no attribute 'Session'")


def tensorflow_releases(text: str, python: str | None) -> str | None:
    """The range of releases; None where nothing shows one, or where the signs contradict each other."""
    ranges = list(dict.fromkeys(_shown(text)))
    release = ".".join(python.split(".")[:2]) if python else ""
    if release in _BY_PYTHON:
        ranges.append(_BY_PYTHON[release])
    if not is_possible(*ranges):
        return None
    if (release == _LAST_OF_PYTHON_2 or _has_sessions(text, release)) and is_possible(*ranges, "<2"):
        ranges.append("<2")
    return ",".join(dict.fromkeys(ranges)) or None


def _shown(text: str) -> Iterator[str]:
    for sign in _SIGNS:
        if sign.needs in text and pattern(sign.printed).search(text):
            yield sign.releases


def _has_sessions(text: str, python: str) -> bool:
    newest = tuple(digits.whole(part) or 0 for part in python.split(".")) if python else ()
    if newest > _NEWEST_WITH_SESSIONS or any(word in text for word in _SESSIONS_OF_TODAY):
        return False
    return ("ession" in text or "sess" in text) and pattern(_SESSION).search(text) is not None
