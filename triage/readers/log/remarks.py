"""What people write above and below a log: that it crashed, that the kernel dies, that it hangs.

Only a sentence of a person counts. A program's own line may hold the same words: a warning that something may hang, a
list of what may have happened, a name in code. Those are left to the readers of programs' lines.
"""

from __future__ import annotations

from triage import patterns, prose
from triage.crash import Log, MessageKind, RuntimeMessage
from triage.readers.log import ends

_FAULT = (
    r"(?:seg(?:[em][a-z]{3,11})?[ -]?fault|core[ -]dump|sig(?:segv|abrt|ill|bus|fpe|kill)|bus error|"
    r"il+eg[a-z]{1,3} instr[a-z]{3,8}|floating[ -]point exception|access violation|stack overflow|memory corruption|"
    r"heap corruption|oom[ -]?kill|fatal (?:python )?error)"
)
_OFTEN = (
    r"(?:(?:just|always|immediately|silently|suddenly|simply|then|randomly|also|still|now|constantly|consistently|"
    r"frequently|repeatedly|eventually|instantly|directly|completely|abruptly|unexpectedly|only|even) )*"
)
_WHO = (
    r"\b(?:it|this|that|which|python(?:\d[\d.]*)?|kernel|notebook|jupyter(?:lab)?|colab|spyder|r(?:studio)?"
    r"|session|runtime|"
    r"program|script|process|worker|server|interpreter|console|terminal|code|training|import|application|app|binary|"
    r"everything|computer|machine|pc|tensorflow|tf|keras|pytorch|torch|jax|fit|predict|evaluate|example|model"
    r"|container|pod|"
    r"vs ?code|pycharm|\w+\(\))\b"
)
_DIES = (
    r"(?:crash(?:es|ed|ing)\b|keeps? (?:on )?(?:crashing|dying|restarting)|(?:has )?die[sd]\b|segfault(?:s|ed"
    r"|ing)?\b|"
    r"seg faults\b|aborts\b|(?:gets?|got|is|was|are|were|being) (?:killed|terminated|aborted)\b|core dumps\b|"
    r"(?:terminat(?:es|ed)|exit(?:s|ed)?|end(?:s|ed)|stop(?:s|ped)|quits?|clos(?:es|ed)|shuts? down"
    r"|disappears?|restart(?:s|ed))"
    r" (?:itself|silently|abruptly|immediately|unexpectedly|by itself|without (?:any|an|a|giving|showing"
    r"|printing|throwing)))"
)
_GETS = (
    r"\b(?:get|gets|got|getting|see|saw|seeing|have|receive[sd]?|encounter(?:s|ed|ing)?|fac(?:e|ed|ing)|hit|hits"
    r"|hitting|"
    r"gives?(?: me)?|gave(?: me)?|giving|result(?:s|ed|ing)? in|end(?:s|ed|ing)?(?: up)? (?:with|in)|lead(?:s"
    r"|ing)? to|"
    r"fail(?:s|ed|ing)? with|crash(?:es|ed|ing)? with|di(?:es|ed|ing) with|exit(?:s|ed|ing)? with|throws?"
    r"|threw|caus(?:es|ed|ing)|"
    r"produces?|raises?|triggers?|triggered|runs? into|ran into|experienc(?:e|ed|ing))\b"
)
_WHEN = (
    r"(?:when(?:ever)?|while|on|in|at|after|during|with|using|calling|running|importing|upon|from|if i|as soon as)\b"
)
_DEATHS = (
    rf"{_WHO}(?: [\w'()./-]+){{0,4}}? {_OFTEN}{_DIES}",
    rf"{_GETS} (?:an? |the |this |these |me |following |random |error |message |with |of "
    rf"|following error)*[\"'`*:]*{_FAULT}",
    rf"^\W*(?:\[?bug\]?:? )?(?:\w+ )?(?:{_FAULT}(?:s|ed)?|crash(?:es|ed)?|kernel (?:crash|dies|died|dying"
    rf"|restart\w*|dead)) {_WHEN}",
    r"\b(?:crash(?:es|ed|ing)|kill(?:s|ed|ing)) (?:my |the |all of |entire |whole |running )*(?:python|interpreter"
    r"|kernel|notebook|jupyter|session|runtime|program|script|process|app|application|server|worker|container"
    r"|computer|machine|pc|console)\b",
    r"\b(?:silent(?:ly)? crash|crash(?:es|ed)? silently|"
    r"no (?:error|traceback|error message|message|output)(?:s| at all)?,? (?:it )?just (?:exits?|crash\w*"
    r"|quits?|stops?|closes?|dies)|"
    r"just (?:exits|quits|dies|crashes|closes|terminates))\b",
    r"\bkern[ae]l (?:always |just |keeps? |getting |gets |is )?(?:dead|dies|dying|died|crash\w+|restart(?:s|ed"
    r"|ing))\b",
)
_STANDS = (
    rf"{_WHO}(?: [\w'()./-]+){{0,4}}? {_OFTEN}(?:hangs?|hung|freezes|froze|stalls|stalled|blocks forever"
    rf"|deadlocks|stands still)\b",
    r"\b(?:is|was|are|gets?|got|getting|be|stays?|stayed|remains?|just|always) (?:just |completely |always |then )?"
    r"(?:stuck|stucked|frozen|hanging|hung|freezing|unresponsive|not responding)\b",
    rf"{_WHO} (?:\w+ ){{0,2}}?(?:stucks?|hung|hanging)\b",
    r"^\W*(?:stuck|get stuck|hangs?|hung|frozen|freezes|deadlock) "
    r"(?:at|on|in|when|while|forever|after|during|indefinitely)\b",
    r"\bnever (?:returns?|finishes|ends|completes|starts|stops|comes? back|terminates|progresses)\b",
    r"\b(?:get|gets|got|generates?|causes?|results? in|leads? to|runs? into) an? deadlock\b",
    r"\b(?:multi-?processing|pool|workers?|process(?:es)?|child(?:ren)?|threads?|execution|jobs?) (?:\w+ )?"
    r"(?:stuck|stucks|deadlocks)\b",
    r"\b(?:go(?:es)?|went) (?:in)?to (?:a )?pause\b|\bstops? printing\b",
    r"\b(?:and|then) (?:it )?(?:doesn't|don't) print anything\b",
    r"\b(?:no (?:response|output|progress|reaction)|nothing happens|doesn't (?:respond|proceed|progress|continue"
    r"|move))"
    r"(?: (?:for|after|even)\b[^\n]{0,30})?",
    # What a person cannot do with it any more, and what it no longer does.
    r"\b(?:can't|cannot|can not|couldn't|could not|unable to|not able to|impossible to) (?:even )?"
    r"(?:ctrl ?[-+]? ?c|\^c|kill|interrupt|cancel|abort) (?:it|out|the|this|python)\b",
    r"\b(?:ctrl ?[-+]? ?c|\^c) (?:\w+ )?(?:doesn't|does not|has no|won't|will not) (?:work|help|stop|kill|effect"
    r"|do)\w*",
    r"\b(?:no|(?:doesn't|does not) show (?:any )?) ?(?:cpu|gpu|processor|disk) (?:load|usage|activity"
    r"|utili[sz]ation)\b",
    r"(?:\bbut|\band|\bthen|,) (?:it )?(?:\w+ )?(?:stops/)?(?:hangs|freezes|stalls|gets stuck)(?:/\w+)?\b",
    r"\b(?:hangs?|hung|stuck|freezes|waits?|runs?|blocks?|loops?) (?:for ?ever|indefinitely|endlessly|for "
    r"(?:hours|minutes|days|\d+))\b",
)
# A possibility, a denial, a cure, advice: the thing itself did not happen in this sentence.
_NOT_THIS_TIME = (
    r"(?i)\b(?:may|might|could|can|cannot|would|should|shouldn't|whether|unless|in case|possibl[ey]|potential|likely|"
    r"if (?:you|your|it|the|this|a|an|one|there|any)|not|no longer|never (?:crash|hang|die|segfault"
    r"|freeze)\w*|(?:doesn't|don't|didn't|"
    r"won't|isn't|wasn't|hasn't|not) (?:\w+ )?(?:crash|hang|die|segfault|freeze|stuck)\w*|fix(?:e[sd]|ing)?"
    r"|avoid\w*|prevent\w*|"
    r"solved?|resolved|workaround|without (?:crash|hang|problem|issue)\w*|used to|expected|make sure|see also"
    r"|to debug|"
    r"please (?:report|see|check)|potential root causes|handler|deprecated|instead of)\b"
)
_DENIED_HANG = (
    r"(?i)\bnever (?:returns?|finishes|ends|completes|starts|stops|comes?|terminates|progresses)\b"
    r"|\bdoesn't (?:respond|proceed|progress|continue|move)\b"
    r"|\b(?:can't|cannot|can not|couldn't|could not|not able to) (?:even )?(?:ctrl|\^c|kill|interrupt|cancel|abort)"
    r"|\b(?:ctrl ?[-+]? ?c|\^c) (?:\w+ )?(?:won't|will not|does not|doesn't)\b|\bdoes not show\b"
)
_NEEDLES = (
    "rash", "die", "Die", "dying", "fault", "ump", "kill", "Kill", "hang", "Hang", "hung", "Hung", "tuck",
    "reez", "roze", "never ", "o response", "o output", "othing happens", "restart", "ilent", "just ", "bort",
    "SIG", "orever", "ndefinitely", "stall", "doesn't", "unresponsive", "terminat", "o progress", "exit",
    "instr", "bus error", "violation", "orruption", "trl", "load", "usage", "ctivity", "ilization",
    "pause", "print", "deadlock",
)  # fmt: skip
_LONGEST_LINE = 2000
_LONGEST = 240
_MOST = 6
_FEWEST_WORDS = 2


def extract(log: Log) -> list[RuntimeMessage]:
    """Each line in which a person says that it ended (`remark`) or stands still (`hang`), in the order of the text."""
    if not any(needle in log.text for needle in _NEEDLES):
        return []
    found: list[RuntimeMessage] = []
    definitions = ends.definitions_of_codes(log)
    for offset, line in log.lines():
        if len(found) >= _MOST:
            break
        if offset in definitions:
            continue
        if not 8 <= len(line) <= _LONGEST_LINE or not any(needle in line for needle in _NEEDLES):
            continue
        if (kind := _kind(line)) is not None:
            found.append(RuntimeMessage(kind, line.strip()[:_LONGEST], log.place(offset), offset))
    return found


def _kind(line: str) -> MessageKind | None:
    """Whether a line is a person's sentence about a death or a hang."""
    if len(line.split()) < _FEWEST_WORDS or prose.is_of_a_program(line):
        return None
    for sentence in line.replace("! ", ". ").replace("? ", ". ").split(". "):
        if _says(_DEATHS, sentence) and not patterns.compile(_NOT_THIS_TIME).search(sentence):
            return "remark"
        if _says(_STANDS, sentence):
            denied = patterns.compile(_DENIED_HANG).sub("", sentence)
            if not patterns.compile(_NOT_THIS_TIME).search(denied):
                return "hang"
    return None


def _says(forms: tuple[str, ...], sentence: str) -> bool:
    return any(patterns.compile("(?i)" + form).search(sentence) for form in forms)
