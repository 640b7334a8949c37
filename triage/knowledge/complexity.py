"""How long Python's own regular expression engine may take for a pattern: it backtracks through every way to match.

A pattern is turned into an automaton whose states are its characters. The number of ways is exponential where a loop
can read the same text in two ways and return to the same state, and polynomial where one loop leads to another and
both read the same text. Only lint needs this; CONTRIBUTING.md has the rule in plain words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

from triage import patterns

# ASCII, and beyond it one character of each kind: a letter, a digit, a space, a sign, an ideograph, a line end.
_ALPHABET = frozenset(map(chr, range(128))) | frozenset("é٣\u00a0€日\u2028")
# A repeat of more than this counts as unlimited.
_MANY = 16
_CHARACTERS = ("LITERAL", "NOT_LITERAL", "IN", "ANY")
_SINGLE = [[kind] for kind in _CHARACTERS]
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_CONDITIONS = ("AT", "ASSERT", "ASSERT_NOT")

_Edges = dict[int, dict[int, int]]


class _Part(NamedTuple):
    """A piece of the automaton. The numbers say in how many ways it begins, ends or is empty; 2 means two or more."""

    empty: int = 1
    first: Mapping[int, int] = MappingProxyType({})
    last: Mapping[int, int] = MappingProxyType({})
    # The states in which it may end without a further condition, such as the end of a line.
    free: frozenset[int] = frozenset()
    is_unconditional: bool = True


def exponential(pattern: str) -> str | None:
    """Why this pattern can keep Python's engine busy forever, or None."""
    if not _repeats_a_group(patterns.parse(pattern)):
        return None
    try:
        return _CONFUSED if _Automaton(pattern, re.MULTILINE, searched=False).is_confused() else None
    except _Unreadable as refused:
        return str(refused)


def slow(pattern: str | bytes, flags: int = 0, *, searched: bool = True, whole: bool = False) -> str | None:
    """Why the time for this pattern can grow faster than the text does, or None.

    `searched`: it may begin anywhere in the text; `whole`: it has to reach the end of it.
    """
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    try:
        automaton = _Automaton(text, flags, searched)
    except _Unreadable as refused:
        return str(refused)
    if automaton.is_confused():
        return _CONFUSED
    if character := automaton.meeting(whole):
        return f"two repeats meet over the same characters ({character!r} is one), so the time grows with their product"
    return None


_CONFUSED = "a repeat can match the same characters in two ways, so the time doubles with each of them"


class _Unreadable(ValueError):
    """A pattern with a part that cannot be judged."""


class _Automaton:
    """The states of a pattern, which characters each reads, and which may follow which, in how many ways."""

    def __init__(self, pattern: str, flags: int, searched: bool) -> None:
        tree = patterns.parse(pattern, flags)
        self._flags = int(tree.state.flags)
        self._alphabet = _ALPHABET | frozenset(_named_in(tree))
        self._reads: list[frozenset[str]] = []
        self._edges: _Edges = defaultdict(dict)
        whole = list(tree)
        branches = whole[0][1][1] if len(whole) == 1 and str(whole[0][0]) == "BRANCH" else [whole]
        first, *others = [self._begun(list(branch), searched) for branch in branches]
        self._free = first.free.union(*(part.free for part in others))
        self._component = _components(self._edges, len(self._reads))

    def _begun(self, nodes: list[Any], searched: bool) -> _Part:
        """A branch after a loop that reads the text before it, up to a line's end where the branch is anchored."""
        anchored = _is_anchored(nodes)
        part = self._sequence(nodes)
        if not searched or (anchored and not self._flags & re.MULTILINE):
            return part
        before = self._loop(self._state(self._alphabet))
        if anchored:
            before = self._option(self._chain(before, self._state(frozenset("\n"))))
        return self._chain(before, part)

    def is_confused(self) -> bool:
        """Whether a loop reads a text in two ways from a state back to the same state."""
        for states in self._loops():
            twice = any(self._edges[a].get(b, 0) > 1 for a, b in product(states, states))
            if twice or self._splits(states):
                return True
        return False

    def _splits(self, states: frozenset[int]) -> bool:
        """Whether two ways through a loop split and meet again over the same text."""
        pairs = [pair for pair in product(states, states) if self._common(pair)]
        number: dict[tuple[int, ...], int] = {pair: index for index, pair in enumerate(pairs)}
        edges: _Edges = defaultdict(dict)
        for pair in pairs:
            for following in self._steps(pair, (states, states)):
                edges[number[pair]][number[following]] = 1
        component = _components(edges, len(pairs))
        equal = {component[number[pair]] for pair in pairs if pair[0] == pair[1]}
        return any(component[number[pair]] in equal for pair in pairs if pair[0] != pair[1])

    def meeting(self, whole: bool) -> str | None:
        """A character that two loops read, where one leads to the other over a text that both can read."""
        everything = frozenset(range(len(self._reads)))
        loops = list(self._loops())
        for before, behind in product(loops, loops):
            for p, q in product(before, behind):
                # Where the second loop may end at any time, the engine has its match and tries no other way.
                if p == q or (q in self._free and not whole) or not self._common((p, q)):
                    continue
                if self._reaches((p, p, q), (p, q, q), (before, everything, behind)):
                    return min(self._common((p, q)), key=lambda c: (not c.isprintable(), c))
        return None

    def _reaches(self, start: tuple[int, ...], end: tuple[int, ...], among: tuple[frozenset[int], ...]) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            for following in self._steps(waiting.pop(), among):
                if following == end:
                    return True
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return False

    def _steps(self, states: tuple[int, ...], among: tuple[frozenset[int], ...]) -> Iterator[tuple[int, ...]]:
        """Where several readers of the same text may be after one more character."""
        ways = [self._edges[state].keys() & allowed for state, allowed in zip(states, among, strict=True)]
        return (following for following in product(*ways) if self._common(following))

    def _common(self, states: Iterable[int]) -> frozenset[str]:
        return frozenset.intersection(*(self._reads[state] for state in states))

    def _loops(self) -> Iterator[frozenset[int]]:
        members: dict[int, set[int]] = defaultdict(set)
        for state, component in enumerate(self._component):
            members[component].add(state)
        for states in members.values():
            if any(b in self._edges[a] for a, b in product(states, states)):
                yield frozenset(states)

    # Putting the pieces together

    def _state(self, characters: frozenset[str]) -> _Part:
        self._reads.append(characters)
        number = len(self._reads) - 1
        return _Part(0, {number: 1}, {number: 1}, frozenset([number]), is_unconditional=False)

    def _join(self, ends: Mapping[int, int], beginnings: Mapping[int, int]) -> None:
        for (a, ways), (b, more) in product(ends.items(), beginnings.items()):
            self._edges[a][b] = min(2, self._edges[a].get(b, 0) + ways * more)

    def _chain(self, a: _Part, b: _Part) -> _Part:
        self._join(a.last, b.first)
        return _Part(
            min(2, a.empty * b.empty),
            _sum(a.first, b.first, a.empty),
            _sum(b.last, a.last, b.empty),
            b.free | (a.free if b.is_unconditional else frozenset()),
            a.is_unconditional and b.is_unconditional,
        )

    def _choice(self, a: _Part, b: _Part) -> _Part:
        return _Part(
            min(2, a.empty + b.empty),
            _sum(a.first, b.first),
            _sum(a.last, b.last),
            a.free | b.free,
            a.is_unconditional or b.is_unconditional,
        )

    def _option(self, part: _Part) -> _Part:
        return self._choice(part, _Part())

    def _loop(self, part: _Part) -> _Part:
        self._join(part.last, part.first)
        return self._option(part)

    def _sequence(self, nodes: Iterable[Any]) -> _Part:
        part = _Part()
        for node in nodes:
            part = self._chain(part, self._node(*node))
        return part

    def _node(self, name: Any, argument: Any) -> _Part:
        kind = str(name)
        if kind in _CHARACTERS:
            named = tuple(argument) if kind == "IN" else argument
            return self._state(_read_by(kind, named, self._flags & (re.DOTALL | re.IGNORECASE), self._alphabet))
        if kind == "SUBPATTERN":
            return self._group(*argument)
        if kind == "ATOMIC_GROUP":
            return self._sequence(argument)
        if kind == "BRANCH":
            first, *others = argument[1]
            part = self._sequence(first)
            for other in others:
                part = self._choice(part, self._sequence(other))
            return part
        if kind in _REPEATS:
            return self._repeat(*argument)
        if kind in _CONDITIONS:
            if kind != "AT" and argument[1].getwidth()[1] > _MANY:
                raise _Unreadable("it looks ahead or behind without a limit")
            return _Part(is_unconditional=False)
        raise _Unreadable(f"it has a part that cannot be judged ({kind.lower()})")

    def _group(self, number: Any, added: int, removed: int, body: Any) -> _Part:
        outside = self._flags
        self._flags = (outside | added) & ~removed
        part = self._sequence(body)
        self._flags = outside
        return part

    def _repeat(self, least: int, most: Any, body: Any) -> _Part:
        is_endless = int(most) > _MANY
        part = _Part()
        for _ in range(min(int(least), _MANY) - (1 if is_endless and least else 0)):
            part = self._chain(part, self._sequence(body))
        if is_endless:
            repeated = self._sequence(body)
            self._join(repeated.last, repeated.first)
            return self._chain(part, repeated if least else self._option(repeated))
        rest = _Part()
        for _ in range(int(most) - int(least)):
            rest = self._option(self._chain(self._sequence(body), rest))
        return self._chain(part, rest)


def _sum(ways: Mapping[int, int], more: Mapping[int, int], times: int = 1) -> Mapping[int, int]:
    if not times:
        return ways
    return {state: min(2, ways.get(state, 0) + more.get(state, 0) * times) for state in ways.keys() | more.keys()}


def _is_anchored(nodes: list[Any]) -> bool:
    """Whether a pattern can only match at the beginning of a line or of the text."""
    if not nodes:
        return False
    kind, argument = str(nodes[0][0]), nodes[0][1]
    if kind == "SUBPATTERN":
        return _is_anchored(list(argument[3]))
    if kind == "BRANCH":
        return all(_is_anchored(list(branch)) for branch in argument[1])
    return kind == "AT" and str(argument) in ("AT_BEGINNING", "AT_BEGINNING_STRING")


def _repeats_a_group(nodes: Iterable[Any]) -> bool:
    """Whether anything but a single character is repeated: only such a loop can read a text in two ways."""
    for name, argument in nodes:
        bodies = _bodies(str(name), argument)
        if str(name) in _REPEATS and int(argument[1]) > _MANY and [str(n) for n, _ in bodies[0]] not in _SINGLE:
            return True
        if any(map(_repeats_a_group, bodies)):
            return True
    return False


def _bodies(kind: str, argument: Any) -> list[Any]:
    """The sequences inside a node."""
    if kind in _REPEATS:
        return [argument[2]]
    if kind == "SUBPATTERN":
        return [argument[3]]
    if kind == "BRANCH":
        return list(argument[1])
    return [argument] if kind == "ATOMIC_GROUP" else []


def _named_in(nodes: Iterable[Any]) -> Iterator[str]:
    """Every character that a pattern names, and the ends of its ranges."""
    for entry in nodes:
        if isinstance(entry, (tuple, list)) or hasattr(entry, "data"):
            if len(entry) == 2 and str(entry[0]) in ("LITERAL", "NOT_LITERAL"):
                yield chr(entry[1])
            elif len(entry) == 2 and str(entry[0]) == "RANGE":
                yield from map(chr, entry[1])
            else:
                yield from _named_in(entry)


@cache
def _read_by(kind: str, argument: Any, flags: int, alphabet: frozenset[str]) -> frozenset[str]:
    return frozenset(character for character in alphabet if _reads(kind, argument, character, flags))


def _reads(kind: str, argument: Any, character: str, flags: int) -> bool:
    """Whether one character is read by a node of the parser."""
    if kind == "ANY":
        return character != "\n" or bool(flags & re.DOTALL)
    spellings = {character, character.lower(), character.upper()} if flags & re.IGNORECASE else {character}
    if kind == "LITERAL":
        return chr(argument) in spellings
    if kind == "NOT_LITERAL":
        return chr(argument) not in spellings
    items = [(str(name), value) for name, value in argument]
    is_in = any(_holds(name, value, one) for name, value in items for one in spellings)
    return is_in != (items[0][0] == "NEGATE")


def _holds(name: str, value: Any, character: str) -> bool:
    if name == "LITERAL":
        return chr(value) == character
    if name == "RANGE":
        return len(character) == 1 and value[0] <= ord(character) <= value[1]
    if name == "CATEGORY":
        kind = str(value).removeprefix("CATEGORY_")
        is_in = {
            "DIGIT": character.isdecimal(),
            "SPACE": character.isspace(),
            "WORD": character.isalnum() or character == "_",
        }[kind.removeprefix("NOT_")]
        return is_in != kind.startswith("NOT_")
    return False


def _components(edges: _Edges, count: int) -> list[int]:
    """For each state the number of its strongly connected component (Tarjan, without recursion)."""
    component, index, low = [-1] * count, [-1] * count, [0] * count
    stack: list[int] = []
    counter = found = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        index[root] = low[root] = counter
        counter += 1
        stack.append(root)
        path = [(root, iter(list(edges[root])))]
        while path:
            state, following = path[-1]
            for other in following:
                if index[other] < 0:
                    index[other] = low[other] = counter
                    counter += 1
                    stack.append(other)
                    path.append((other, iter(list(edges[other]))))
                    break
                if component[other] < 0:
                    low[state] = min(low[state], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[state])
                if low[state] == index[state]:
                    while component[state] < 0:
                        component[stack.pop()] = found
                    found += 1
    return component
