"""Names of native functions, cut down to what a person reads: no template arguments, no parameters, no suffixes."""

from __future__ import annotations

import re
from functools import lru_cache

# What compilers hang on a name of which they made a copy or a part, perhaps with a number behind it.
_COPIES = (".part", ".isra", ".constprop", ".cold", ".lto_priv", ".llvm", ".resolver", ".localalias", ".clone")
_INLINED = "(inlined)"
_CLONE = "[clone "
# The version of a symbol, behind one @ or two: GLIBC_2.2.5
_VERSION = re.compile(r"[A-Z]\w*(?:\.[._\d]*)?")
_NUMBERED = re.compile(r"\.\d")
_ALIAS = re.compile(r"^__GI_+")
# The longer ones first: the first that fits is taken.
_OPERATORS = tuple(
    f"operator{sign}" for sign in ("()", "<=>", "->*", "->", "<<=", ">>=", "<<", ">>", "<=", ">=", "<", ">")
)
_ANONYMOUS = ("(anonymous namespace)", "{anonymous}")
_LONGEST = 2048


@lru_cache(maxsize=8192)  # a stack pool has the same frames in every thread
def short(symbol: str) -> str:
    """A function's name for people: `tensorflow::MklMaxPoolingOp::Compute`."""
    bare = _without_suffixes(symbol[:_LONGEST].strip())
    if not bare.startswith("_Z"):  # a mangled name has dots and digits of its own
        bare = _ALIAS.sub("", bare)
    name = _without_return_type(_without_arguments(bare))
    return name or bare or symbol


def _without_suffixes(name: str) -> str:
    """The name without what compilers and linkers hang on it, one piece after the other from the end."""
    while (shorter := _without_suffix(name)) != name:
        name = shorter
    return name


def _without_suffix(name: str) -> str:
    if name.endswith(_INLINED):
        return name.removesuffix(_INLINED).rstrip()
    if name.endswith("]"):
        begin = name.find(_CLONE, name.rfind("]", 0, -1) + 1)
        return name[:begin].rstrip() if begin >= 0 else name
    plain = name.rstrip(".0123456789")
    number = name[len(plain) :]
    if plain.endswith(_COPIES) and number[:1] in ("", "."):
        return plain[: plain.rindex(".")]
    at = name.rfind("@")
    if at >= 0 and _VERSION.fullmatch(name, at + 1):
        return name[:at].removesuffix("@")
    numbered = _NUMBERED.search(number)
    return plain + number[: numbered.start()] if numbered else name


def _without_arguments(name: str) -> str:
    """The name with everything between its outermost brackets gone, save what the brackets of an operator mean."""
    kept: list[str] = []
    depth = position = 0
    while position < len(name):
        anonymous = next((text for text in _ANONYMOUS if name.startswith(text, position)), None)
        operator = next((text for text in _OPERATORS if name.startswith(text, position)), None)
        if anonymous or operator:
            whole = anonymous or operator or ""
            kept.append("" if depth else _ANONYMOUS[1] if anonymous else whole)
            position += len(whole)
            continue
        character = name[position]
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= depth > 0
        elif not depth:
            kept.append(character)
        position += 1
    return re.sub(r"#\d+(?=\})", "", "".join(kept)).strip()


def _without_return_type(name: str) -> str:
    """Templates are printed with what they return; the name is the last word, unless it is `operator new` and such."""
    words = name.removesuffix("const").rstrip(" &").split(" ")
    for number, word in enumerate(words):
        if word.endswith("operator"):
            return " ".join(words[number:])
    return words[-1]
