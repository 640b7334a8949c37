"""Whose words a line is: a person's, written around a paste, or a program's.

People call any line an error that looks like one. Their words count for what they say happened (it died, it hangs, it
does not work, it works), never for the mere words "error", "warning" or "problem".
"""

from __future__ import annotations

from triage import patterns

# Lines that a program, a shell or a program's source has.
_OF_A_PROGRAM = (
    r"^\s*(?:\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\[|\||<|[IWEFD]\d{4} |[WEFD] |I \S+[./]|File \"|Traceback|at |#\d"
    r"|\$ |>>> |\.\.\. |%|@|//|/\*|"
    r"(?:INFO|WARN|WARNING|ERROR|DEBUG|NOTE|CRITICAL|FATAL|TRACE)\b|import |from \S+ import|def |class "
    r"|return |print\(|"
    r"\w+(?:Error|Warning|Exception)\b|Thread |Process |Epoch \d|=+|-{3,}|\*{3}|Exception in|During handling|"
    r"The above exception|npm |make|gcc|g\+\+|Error (?:in|response)|\w+: (?:error|warning|fatal|line \d))"
    r"|\.(?:cc|cpp|cxx|cu|h|hpp|py|so|java|go|rs):\d+|[;{}]\s*$|^\s*\w+(?:\.\w+)* ?=|\(\w+=|\|\s*(?:WARNING"
    r"|INFO|ERROR)\s*\|"
    r"|0x[0-9a-f]{6}|\bip [0-9a-f]{8}"
)
# Fences of code, and the headings of the forms in which problems are reported.
_FORM = (
    r"(?i)^\s*(?:`{3,}[\w -]*|~{3,}|</?(?:details|summary|pre|code|em|b)>.{0,80})\s*$"
    r"|^[\s>#*_\d.)-]*(?:(?:please )?(?:describe|explain|provide) (?:the|your|any|a)\b[\w /,'()-]{0,60}"
    r"|(?:describe|description|summary|steps to reproduce|to reproduce|how to reproduce|reproduction"
    r"|system information|"
    r"system info|environment|expected behaviou?r|actual behaviou?r|current behaviou?r|observed behaviou?r|"
    r"(?:other|additional) (?:info|information|context|notes)\b[\w /]{0,20}|(?:relevant |source code / "
    r"|full )?(?:log|logs|"
    r"log output|error message|error messages|error log|error logs|output|screenshots?|stack ?trace)|"
    r"issue type|bug type|bug report|what happened|what did you expect\b.{0,40}"
    r"|(?:standalone )?code to reproduce\b.{0,20}|"
    r"have you (?:reproduced|searched|checked|read)\b.{0,80}|question|versions?|produces|output is|the output|"
    r"(?:your )?(?:problem|issue|question)))[\s:*_?]*$"
    # the fields of a form
    r"|^[\s>*_-]*(?:os|os platform\b[\w ()/]{0,30}|operating system|platform|linux ubuntu|python(?: version)?"
    r"|(?:tensorflow|tf|keras|"
    r"pytorch|torch|jax|cuda|cuda/cudnn|cudnn|bazel|gcc/compiler|gcc|driver|numpy)(?: version)?\b[\w ()/]{0,40}"
    r"|gpu model\b[\w ]{0,20}|"
    r"mobile device\b[\w (),.]{0,60}|custom code|have i written\b[^:]{0,80}|exact command\b[^:]{0,30}"
    r"|installed (?:from|using)\b[^:]{0,60})"
    r"[*_]* ?:(?: .{0,120})?$|^[\s>*_-]*(?:running (?:on|in|under) )?(?:a |my )?"
    r"(?:ubuntu|debian|centos|fedora|windows|mac ?os|macbook|linux|google colab|colab|wsl)[\w .,()/-]{0,40}$"
    # any heading of Markdown, and a line of nothing but names and versions
    r"|^\s*#{2,6} [a-z][\w /,'()?&-]{0,80}:?$"
    r"|^[\s>*_-]*(?:tensorflow|tf|keras|pytorch|torch|jax|jaxlib|cuda|cudnn|python|numpy|nvidia driver|rtx|gtx)"
    r"[ :=v-]{1,3}\d[\w.+-]*(?:[ ,;]{1,3}(?:tensorflow|tf|keras|pytorch|torch|cuda|cudnn|python|numpy|x)[ :=v-]{0,3}"
    r"\d[\w.+-]*)*\s*$"
)
# Whoever says "I" or "my" is a person, and whoever asks about "this". Programs ask too: what was meant, what runs.
_FIRST_PERSON = (
    r"(?:^|[\s(,\"'])(?:I|I'm|I've|I'd|I’m|I’ve|i'm|i've|i (?:am|have|get|got|want|was|tried|did|do|don't|see|saw"
    r"|think|run|"
    r"ran|use|used|can|met|try|guess|also|just|still|\w+ly \w+)|[Mm]y)(?:[\s,.]|$)"
)
# Words with which people talk to people.
_TALKS = (
    r"(?i)\b(?:wonder(?:ing)?|someone|anyone|anybody|somehow|strangely|weird\w*|confus(?:ed|es|ing)|appreciated?|kindly|"
    r"hopefully|in advance|guys|folks|for some reason|any (?:thoughts|ideas?|suggestions?|clues?|hints?)|"
    r"thank(?:s| you)|please help|help me|help pls|ofc|btw|fyi|obviously|clearly|apparently|unfortunately|"
    r"(?:too many|so many|a lot of|lots of|a bunch of) (?:\w+ )?(?:warnings?|messages?|errors?|lines)|"
    r"(?:is|are) (?:this|that|these|it) (?:ok|okay|normal|expected|fine|correct|a problem|an error|an issue))\b"
)
# How people announce what they paste: "the errors are as follows", "Got the following warning:".
_LEADS_IN = (
    r"(?i)^\W*(?:here(?:'s|’s| is| are| comes)?|got|gets?|getting|receiv(?:es?|ed|ing)|this|these|that|those|the|an?|"
    r"and|but|with|when|after|while|running|produces|gives|shows|throws|returns|prints|full|complete|entire|whole|below|"
    r"following|then|console|terminal|my|our|it|we|also)\b"
    r"[^\n]{0,120}\b(?:errors?|warnings?|messages?|logs?|outputs?|lines?|infos?|notices?|text|trace|information)\b"
    r"(?:[^\n:]{0,40}(?:as follows|following|below|like this|like that|comes? out|came out|appears?|appeared|pops? up"
    r"|shows? up|showed up)[\s.:]*$|[\"'`*)]*[^\n:]{0,30}:[\s`]*$)"
    r"|^\W*(?:something )?like (?:this|so|that|below)\W*$|^\W*after \w+ing\b[^\n]{0,200}[,:]\s*$"
)
# Other scripts: programs speak English, the people who paste them do not always.
_IN_ANOTHER_SCRIPT = r"[一-鿿ぁ-ヿ가-힣]{2}|[А-Яа-яЁё]{3,30}[\s,]{1,3}[А-Яа-яЁё]{2,30}"
_QUESTION = (
    r"(?i)\b(?:this|that|it|these|those|how|why|what|anyone|anybody|somebody|someone|normal|ignore|worr\w+"
    r"|get rid|warnings?)\b"
    r".{0,200}\?[\s)!?.]*$"
)
_A_PROGRAM_ASKS = (
    r"(?i)did you (?:mean|forget)|is the server running|perhaps you|have you (?:forgotten|installed)|continue\?|\[y/n"
)
_TELLS = (
    r"(?i)^\W*(?:(?:but|however|and|also|so|then|now|although|though|even though|anyway|still|afterwards|presently"
    r"|currently|recently|sometimes|always),? ){0,2}"
    r"(?:it|this|everything|the (?:[\w-]+ ){1,3}|[\w.()]+ )(?:\w+ ){0,2}?"
    r"(?:prints?|shows?|displays?|gives?|outputs?|says?|works|runs (?:fine|well|ok|okay|correctly|normally)|appears?|"
    r"keeps? (?:showing|printing|appearing)|is (?:annoying|only a warning|just a warning))\b"
)
_GREETS = (
    r"(?i)^\W*(?:hi|hello|hey|dear|thanks|thank you|thx|cheers|any help|please help|any ideas?)\b[\w ,'!.-]{0,60}$"
)
# What is said to have gone wrong, beyond the words that people use for any frightening line.
_BREAKS = (
    r"(?i)\b(?:fail(?:s|ed|ing|ures?)?|crash\w*|abort\w*|kill(?:s|ed)|die[sd]?|dying|dead|segfault\w*|seg fault\w*|"
    r"faults?|core dump\w*|hang\w*|hung|stuck|fr[eo]ez\w*|frozen|terminat\w+|quits?|exits?|exited|stop(?:s|ped)|"
    r"restart\w*|halt(?:s|ed)?|exception|traceback|out of memory|oom|"
    r"lost|corrupt\w*|NaN|wrong (?:result|output|value|answer|prediction)s?|no (?:output|result|response)s?)\b"
    r"|崩溃|崩潰|闪退|閃退|退出|卡住|卡死|卡在|死机|死掉|挂了|掛了|无法|無法|不能|不了|失败|失敗|中断|中斷|没有反应|沒有反應|终止|終止|停止|不动|"
    r"(?:时|時)候?[会就都,， ]{0,2}(?:报错|報錯|报了错|出错|出錯)|"
    r"重启|重啟|自动关闭|強制終了|落ち|固ま|止ま|できな|動かな|動作しな|クラッシュ|フリーズ|멈|죽|종료|실패"
    r"|안 ?[되됩돼]|못"
    r"|падает|вылетает|упал|завис|не работает|не запуск|закрывается|прерыва"
)
# Words of a denial: what is denied may be that it works.
_DENIES = r"(?i)\b(?:cannot|can't|can not|cant|unable|not|\w+n't|never|nothing|no gpus?)\b"
# Words of a denial that say nothing about a failure.
_NO_FAILURE = (
    r"(?i)\b(?:(?:do|did|does|am|is|are|was|were|has|have|should|could|would|ca|wo|must)(?:n't|n’t| not)"
    r"(?: (?:seem|appear)s?(?: to)?| even| really| quite)?"
    r" (?:know|sure|understand|think|mind|matter|affect|influence|impact|harm|hurt|care|worry|worried|expect|want"
    r"|figure|"
    r"find (?:any|an|a|the|out|anything|much)|an? (?:error|problem|issue|bug|failure|crash)|any (?:errors?"
    r"|problems?|effect|"
    r"impact|influence)|crash|fail|hang|stop)"
    r"|not sure|i'm not|nothing (?:crash|fail|break|is broken|to do with|serious|wrong)\w*|(?:whether|if) (?:it"
    r"|this|that|something"
    r"|anything|there)"
    r" (?:is|was|went|has|will)?[^.?!]{0,40}|no (?:errors?|problems?|crash(?:es)?)"
    r"|without (?:any )?(?:errors?|problems?|crash\w*|fail\w*|issues?)|not (?:an?|the) (?:error|problem|bug)"
    r"|how (?:can|do|to|could|should) [^.?!]{0,30}(?:stop|prevent|avoid|silence|suppress|hide|disable)\b[^.?!]{0,40}"
    r"|not (?:getting (?:it|this|that|what|why)|understanding))"
    r"|(?:n't|n’t|\bnot)(?: (?:seem|appear)s?(?: to)?)? (?:be )?caus(?:e|ing) (?:any )?(?:problems?|issues?|errors?"
    r"|trouble)"
    # A card that is not used is no failure: the program computes without it.
    r"|(?:\b(?:not|no|never|cannot|can't|can not|unable to|without|instead of|nothing)\b|n't\b|n’t\b)"
    r"[^.?!,;]{0,40}\b(?:gpus?|tpus?|cuda|graphics? cards?)\b"
    r"|\b(?:gpus?|tpus?|cuda|graphics? card)\b[^.?!;]{0,30}(?:\b(?:not|never)|n't|n’t)(?: being)?"
    r" (?:used?|utili[sz]ed?|detect\w*|found|find\w*|recogni[sz]\w+|visible|available|listed|seen|working|work"
    r"|enabled)\b"
    r"|(?:没有?|沒有?|不能|无法|無法|未)[^，。,.]{0,10}(?:GPU|gpu|显卡|cuda|CUDA)"
    r"|(?:GPU|gpu|显卡)[^，。,.]{0,8}(?:没有?|沒有?|不能|无法|未)(?:被)?(?:使用|用到?|识别|调用|检测)"
)
# An end, told without any word of failure.
_ENDS = (
    r"(?i)\b(?:it|this|which|program|script|code|window|console|terminal|server|process|python|notebook|kernel|app|"
    r"application|training|everything|session|job|computer|machine)\b(?:,? \w+){0,3}? "
    r"(?:quits?|halts|halted|closes|closed|exits|exited|stops|stopped|ends|ended|disappears?|disappeared"
    r"|vanish\w*|is gone|was gone|"
    r"goes (?:down|away|dark)|went (?:down|away|dark)|shuts? down|terminates|reboots?|rebooted)\b"
    r"|\bnothing (?:\w+ ){0,2}(?:printed|happens|happened|shown|comes|appears|more|after)\b"
)
_WELL = (
    r"(?:fine|well|correctly|ok(?:ay)?|great|perfectly|normal(?:ly)?|as (?:expected|usual)|properly|successfully"
    r"|anyway|"
    r"smoothly|al(?:l )?right|without (?:any )?(?:problems?|issues?|errors?))"
)
_WORKS = (
    rf"(?i)\bworks(?: (?:{_WELL}|though|too))?(?: (?:but|however|and|despite|although|though|even)\b|\s*[.,;!)]|\s*$)"
    rf"|\b(?:runs?|ran|running|trains?|trained|training|continues?|proceeds|goes on|finish(?:es|ed)|completed?s?"
    rf"|executed?s?)\b"
    rf"(?: \w+){{0,2}}? {_WELL}\b"
    r"|\b(?:training|(?:the|my) (?:script|program|code|model|process|server|app|training)) (?:\w+ )?(?:continues"
    r"|runs|goes on|"
    r"proceeds|trains|finishes)(?: (?:but|and|although|though|anyway)\b|\s*[.,;!]|\s*$)"
    r"|\bI(?:'m| am| was) (?:still )?able to (?:run|train|use|fit|import|load|get results?)\b"
    r"|\bI can (?:still )?(?:train|run|use|fit)\b"
    r"|\b(?:it|this|everything|all|(?:the|my) (?:code|program|script|model|training|notebook))(?:'s| is| are)"
    r" (?:still )?working\b"
    r"|\b(?:no|without|without any|not any) (?:\w+ )?(?:influence|effect|impact) on\b"
    r"|\b(?:doesn't|does not|don't|do not)(?: seem to| appear to)? (?:affect|influence|impact|harm|hurt)\b"
)
# It works elsewhere, or worked once: said by people for whom it fails here and now.
_ELSEWHERE = (
    r"(?i)\b(?:works?|runs?|running|trains?|working) (?:\w+ )?(?:on|in|with|without|under|when|if|for|only|until"
    r"|before|after|"
    r"using|from|at|outside|inside)\b|\b(?:worked|used to|before|previously|earlier|once|only|except|unless"
    r"|should|if|"
    r"expected|supposed|first|until|until now|instead|make it|to work|again after)\b"
)
_FEWEST_WORDS = 3
_LONGEST = 2000


def is_of_a_program(line: str) -> bool:
    """Whether a line has the form of what a program, a shell or a program's source has."""
    return _has(_OF_A_PROGRAM, line)


def is_of_a_form(line: str) -> bool:
    """Whether a line is a fence around code or the heading of a form."""
    return len(line) <= _LONGEST and _has(_FORM, line)


def is_of_a_person(line: str) -> bool:
    """Whether a line is a sentence that somebody wrote about what a program printed."""
    if len(line) > _LONGEST or is_of_a_program(line):
        return False
    if _has(_GREETS, line) or _has(_IN_ANOTHER_SCRIPT, line):
        return True
    if len(line.split()) < _FEWEST_WORDS or _has(_A_PROGRAM_ASKS, line):
        return False
    return any(_has(form, line) for form in (_FIRST_PERSON, _QUESTION, _TELLS, _TALKS, _LEADS_IN, _WORKS))


def tells_an_end(line: str) -> bool:
    """Whether somebody may say that it ended or shows nothing more, in words that are none of failure."""
    if len(line) > _LONGEST or is_of_a_program(line):
        return False
    return _has(_ENDS, patterns.compile(_NO_FAILURE).sub("", line))


def says_that_it_fails(line: str) -> bool:
    """Whether a person's sentence speaks of something that went wrong, or denies something, not only of a message."""
    return says_that_it_breaks(line) or _has(_DENIES, patterns.compile(_NO_FAILURE).sub("", line))


def says_that_it_breaks(line: str) -> bool:
    """Whether a person's sentence has a word for a failure or an end, not only a denial."""
    return _has(_BREAKS, patterns.compile(_NO_FAILURE).sub("", line))


def says_that_it_works(line: str) -> bool:
    """Whether a person says that it works all the same, here and now."""
    for sentence in line.replace("! ", ". ").replace("? ", ". ").split(". "):
        rest = patterns.compile(_NO_FAILURE).sub("", sentence)
        fails = _has(_BREAKS, rest) or _has(_DENIES, rest)
        if _has(_WORKS, sentence) and not _has(_ELSEWHERE, rest) and not fails:
            return True
    return False


def _has(pattern: str, line: str) -> bool:
    return patterns.compile(pattern).search(line) is not None
