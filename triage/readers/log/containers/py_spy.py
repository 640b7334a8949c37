"""`py-spy dump`: the Python stacks of a process that was alive, which people take because it stands still."""

from __future__ import annotations

from triage import digits, patterns
from triage.crash import Log, NativeFrame, PythonFrame, RuntimeMessage, Thread
from triage.readers.log.containers.interface import ContainerFacts

TRIGGERS = ("(idle)", "(active)", "(active+gil)", "(idle+gil)")
_HEAD = r'^[ \t]*Thread (?:0x[0-9A-Fa-f]+|\d+)?[ \t]*\((?:idle|active)(?:\+gil)?\)(?:: "?(?P<name>[^"\n]*)"?)?$'
_FRAME = r"^[ \t]+(?P<function>[^\s(][^\n]*?) \((?P<file>[^()\n]+?)(?::(?P<line>\d+))?\)$"
_MOST_FRAMES = 500


def extract(log: Log) -> ContainerFacts:
    """Every thread with its Python frames; none of them crashed."""
    threads = []
    heads = list(patterns.compile(_HEAD).finditer(log.text))
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(log.text)
        python: list[PythonFrame] = []
        native: list[NativeFrame] = []
        for line in log.text[head.end() : end].split("\n")[1:_MOST_FRAMES]:
            match = patterns.compile(_FRAME).match(line)
            if match is None:
                break
            if ".py" in match["file"] or match["file"].startswith("<"):
                python.append(PythonFrame(match["file"], digits.whole(match["line"]), match["function"]))
            else:
                native.append(NativeFrame(match["file"], match["function"]))
        if python or native:
            place = log.place(head.start())
            threads.append(Thread(head["name"] or "", False, tuple(python), tuple(native), place))
    if not threads:
        return ContainerFacts()
    start = heads[0].start()
    message = RuntimeMessage("hang", log.line(start).strip(), log.place(start), start)
    return ContainerFacts(threads=tuple(threads), messages=(message,))
