"""Checks the regular expressions that Python's own engine runs; as a script, it lists those that could take forever.

Python's engine backtracks, so a text from outside may keep it busy forever. The time for every pattern of `re` must be
linear in the text; patterns that fail here go through triage/patterns.py, which uses RE2. Where RE2 is missing, those
run on Python's engine too, so they must at least not be exponential.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from triage.knowledge.complexity import exponential, slow

PACKAGE = Path(__file__).resolve().parents[1] / "triage"
# It compiles whatever it is given.
DOOR = "patterns.py"
_SEARCHING = {"search", "sub", "subn", "split", "findall", "finditer"}
_MATCHING = {"match", "fullmatch"}
_RUNNING = {"compile", *_SEARCHING, *_MATCHING}


def violations(package: Path = PACKAGE) -> list[str]:
    """One sentence for each expression that could take forever, or that cannot be judged."""
    wrong = []
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package) != Path(DOOR):
            module = _Module(ast.parse(path.read_text("utf-8")))
            wrong += [f"{path}:{line}: {what}" for line, what in sorted({*module.of_re(), *module.of_the_door()})]
    return wrong


class _Module:
    """A module's expressions, read without running it."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._constants: dict[str, str | bytes] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = self._text(node.value)
                if value is not None:
                    self._constants[node.targets[0].id] = value

    def of_re(self) -> Iterator[tuple[int, str]]:
        """What is wrong with the uses of Python's own engine."""
        called = {node.func: node for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom) and node.module == "re":
                yield node.lineno, "write 'import re': names imported from it cannot be followed"
            elif isinstance(node, ast.Import) and any(a.name == "re" and a.asname for a in node.names):
                yield node.lineno, "write 'import re': another name for it cannot be followed"
            elif _is_of_re(node) and node.attr in _RUNNING:
                call = called.get(node)
                pattern = self._text(_argument(call, 0, "pattern")) if call else None
                if call is None or pattern is None:
                    what = f"re.{node.attr} with a pattern that is not a constant of this module"
                    yield node.lineno, f"{what}: use patterns.compile"
                elif reason := self._judged(node.attr, call, pattern):
                    yield node.lineno, f"{pattern!r}: {reason}; use patterns.compile"

    def of_the_door(self) -> Iterator[tuple[int, str]]:
        """What is wrong with patterns that run on Python's engine where RE2 is missing; any string here may be one."""
        imports = (node for node in ast.walk(self._tree) if isinstance(node, ast.ImportFrom))
        if any(n.module == "triage.patterns" or "patterns" in {a.name for a in n.names} for n in imports):
            for line, pattern in self._texts(self._tree):
                if _REPEATS.search(pattern) and (reason := _exponential(pattern)):
                    yield line, f"{pattern!r}: {reason} where RE2 is missing"

    def _judged(self, used: str, call: ast.Call, pattern: str | bytes) -> str | None:
        uses = self._uses(call) if used == "compile" else {used}
        searched = not uses or not uses <= _MATCHING
        try:
            return slow(pattern, _flags(call), searched=searched, whole=not uses or "fullmatch" in uses)
        except re.error as error:
            return str(error)

    def _uses(self, call: ast.Call) -> set[str]:
        """How a compiled pattern is used, where it has a name; empty where that cannot be seen."""
        named = [node.targets[0] for node in self._tree.body if isinstance(node, ast.Assign) and node.value is call]
        name = named[0].id if named and isinstance(named[0], ast.Name) else None
        places = [node for node in ast.walk(self._tree) if isinstance(node, ast.Name) and node.id == name]
        read = [node for node in places if isinstance(node.ctx, ast.Load)]
        used = [n for n in ast.walk(self._tree) if isinstance(n, ast.Attribute) and n.value in read]
        return {node.attr for node in used} if name and len(used) == len(read) else set()

    def _texts(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        """Every string of a module, as a whole where it is put together from several."""
        if isinstance(node, ast.expr) and not isinstance(node, ast.Name) and (text := self._text(node)) is not None:
            if isinstance(text, str):
                yield node.lineno, text
            return
        for child in ast.iter_child_nodes(node):
            yield from self._texts(child)

    def _text(self, node: ast.AST | None) -> str | bytes | None:
        """The value of an expression made of strings and the module's own constants."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            return node.value
        if isinstance(node, ast.Name):
            return self._constants.get(node.id)
        if isinstance(node, ast.FormattedValue) and node.format_spec is None:
            return self._text(node.value)
        if isinstance(node, ast.JoinedStr):
            parts = [self._text(part) for part in node.values]
            return "".join(map(str, parts)) if all(isinstance(part, str) for part in parts) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._text(node.left), self._text(node.right)
            return left + right if isinstance(left, str) and isinstance(right, str) else None
        return None


_REPEATS = re.compile(r"[*+}]")


def _exponential(text: str) -> str | None:
    try:
        return exponential(text)
    except re.error:  # part of a pattern, or not a pattern
        return None


def _is_of_re(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re"


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    if len(call.args) > place:
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _flags(call: ast.Call) -> int:
    named = [node.attr for part in (*call.args[1:], *call.keywords) for node in ast.walk(part) if _is_of_re(node)]
    flags = 0
    for name in named:
        flags |= int(getattr(re, name)) if name.isupper() else 0
    return flags


if __name__ == "__main__":
    found = violations()
    print("\n".join(found) or "Every regular expression takes a time that is linear in the text.")
    sys.exit(1 if found else 0)
