"""C++ names as the compiler writes them, for reporters that do not translate them.

Only the qualified name is read, which is what a person looks for: `_ZN10tensorflow6Tensor4dataEv` is
`tensorflow::Tensor::data`. Template arguments are skipped; what is not understood is left as it is.
"""

from __future__ import annotations

from triage import digits

_OPENERS = "NIXLJF"
_PLAIN_TYPES = "vwbcahstijlmxynofdegzPROKVUC"
_STANDARD = {
    "St": "std",
    "Ss": "std::string",
    "Sa": "std::allocator",
    "Sb": "std::basic_string",
    "Si": "std::istream",
    "So": "std::ostream",
    "Sd": "std::iostream",
}
_OPERATORS = {"cl": "operator()", "ix": "operator[]", "aS": "operator=", "pt": "operator->", "de": "operator*"}


def qualified_name(symbol: str) -> str:
    """The name with its namespaces and classes, or the symbol as it came."""
    if not symbol.startswith("_Z"):
        return symbol
    try:
        return _nested(symbol, 3) if symbol.startswith("_ZN") else _identifier(symbol, 2)[0]
    except (IndexError, ValueError):
        return symbol


def _nested(symbol: str, at: int) -> str:
    while symbol[at] in "KVrRO":
        at += 1
    parts: list[str] = []
    while symbol[at] != "E":
        pair = symbol[at : at + 2]
        if symbol[at].isdigit():
            name, at = _identifier(symbol, at)
            parts.append("(anonymous namespace)" if name.startswith("_GLOBAL__N") else name)
        elif symbol[at] == "I":
            at = _past_group(symbol, at)
        elif pair in _STANDARD:
            parts.append(_STANDARD[pair])
            at += 2
        elif pair[0] in "CD" and pair[1] in "0123456789":
            parts.append(("~" if pair[0] == "D" else "") + parts[-1])
            at += 2
        elif pair in _OPERATORS:
            parts.append(_OPERATORS[pair])
            at += 2
        else:
            raise ValueError(pair)
    return "::".join(parts)


def _identifier(symbol: str, at: int) -> tuple[str, int]:
    start = at
    while symbol[at].isdigit():
        at += 1
    length = digits.whole(symbol[start:at])
    end = at + (len(symbol) if length is None else length)
    if end > len(symbol):
        raise ValueError(symbol)
    return symbol[at:end], end


def _past_group(symbol: str, at: int) -> int:
    """Where the group that opens here ends; groups hold identifiers, types and other groups."""
    depth = 0
    while True:
        letter = symbol[at]
        if letter.isdigit():
            _, at = _identifier(symbol, at)
            continue
        if letter == "L":
            at = symbol.index("E", at) + 1
        elif letter in _OPENERS:
            depth += 1
            at += 1
        elif letter == "E":
            depth -= 1
            at += 1
        elif letter in "ST":
            at = at + 2 if symbol[at + 1] in "tasbiod" else symbol.index("_", at) + 1
        elif letter == "D":
            at += 2
        elif letter in _PLAIN_TYPES:
            at += 1
        else:
            raise ValueError(letter)
        if depth == 0:
            return at
