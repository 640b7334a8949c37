"""What a text says of other machines and other times: an issue form's own examples, where it works, what is required.

A system or a version in such words is not the one that failed.
"""

from __future__ import annotations

from triage import patterns

_SOFTWARE = r"(?:python|tensorflow|tf|pytorch|torch|jax|cuda|cudnn|numpy|keras)"
_PLACES = (
    r"(?:windows|linux|ubuntu|mac ?os|macos|mac|osx|wsl ?2?|debian|centos|colab|kaggle|docker|podman|kubernetes"
    r"|singularity|apptainer)"
)
_FILL_INS = (
    r"\((?:e\.?g\.?|for example|such as|i\.e\.|use command below|version)[^)\n]*\)"
    r"|\((?:windows|linux|osx|macos|mac|ubuntu)[,/|][^)\n]*\)"
)
_WORKS_THERE = (
    r"\b(?:works?|worked|runs?|ran|fine|well|ok|unlike|not) (?:well |fine |ok |just |only )?"
    r"(?:in|on|under|with|for|inside|within) (?:my |the |a |an |google )?(?:other )?"
    rf"{_PLACES}\b[ \d.]*"
)
_WORKS_WITH = (
    r"\b(?:works?|worked|runs?|ran|fine|well|ok|unlike|not|downgrad\w+|upgrad\w+|switch\w*|revert\w*|previous\w*|before|"
    r"tried|try|instead of|older|newer|requires?|required|needs?|supports?|until)"
    r"(?: (?:well|fine|ok|just|only|to|in|on|under|with|for|my|the|a|an|it|this|both|at least)){0,4} "
    rf"{_SOFTWARE}(?:[ -]?(?:gpu|version))? ?(?:>=|<=|<|>|~=)? ?v?\d[\d.]*"
    rf"|\b{_SOFTWARE} ?v?\d[\d.]*(?:\+(?:[\s,)]|$)| ?(?:or (?:later|newer|above|higher)|and (?:above|newer|later)"
    r"|works|worked))"
)
# A runner that is green, and what jaxlib says to everybody who lacks AVX.
_FINE_THERE = (
    r"\b(?:windows|linux|ubuntu|macos|mac|osx) (?:(?:runners?|machines?|builds?|ci|tests?|jobs?) )?(?:is|are) "
    r"(?:always |still |all |just )?(?:green|fine|ok|okay|passing|good)\b"
    r"|\bfrequently encountered on macos\b"
)
_ELSEWHERE = rf"(?i){_FILL_INS}|{_WORKS_THERE}|{_WORKS_WITH}|{_FINE_THERE}"


def without_elsewhere(text: str) -> str:
    """The text with such words blanked. Blanks of the same length keep the places of the rest."""
    return patterns.compile(_ELSEWHERE).sub(lambda match: " " * len(match.group()), text)
