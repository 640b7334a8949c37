"""What a log shows of the machine: system, Python, package versions, libraries that were opened."""

from __future__ import annotations

from collections.abc import Iterator

from triage import patterns
from triage.crash import OS, Environment, Library, Log
from triage.readers.log.versions import facts_of

# Paths, prompts, libraries, wheels, what the system's own parts print, and its name.
_SYSTEMS: tuple[tuple[OS, str], ...] = (
    (
        "windows",
        r"\b[A-Za-z]:(?:\\{1,2}[\w ]|/(?:Users|Program|Windows|Python|Anaconda|anaconda)\w*/)|\.dll\b|\.pyd\b|\.exe\b"
        r"|\bWindows[ -]?(?:10|11|7|8|Server|NT)\b|\b[Ww]in(?:dows)? ?1[01]\b"
        r"|\bWindows fatal exception|\bDLL load failed"
        r"|\b(?:tensorflow|site-packages|stream_executor|AppData)\\{1,2}\w|\bwin_amd64\b|\[MSC v\.\d"
        r"|(?i:^\W*(?:os|operating system|platform|os platform and distribution)\W*[:=]\W*windows\b)",
    ),
    (
        "macos",
        r"(?:^|[^\w:/.])/Users/\w|\.dylib\b|\bmacOS\b|Mac OS X|(?:mixed mode|interpreted mode)[^\n]{0,40}\bbsd-"
        r"|/System/Library/|\bmacosx_\d|-darwin\.so\b|\bDarwin Kernel|\bMac[Bb]ook\b|\bM[1-4] (?:Mac|mac|Pro|Max)"
        r"|\bMPS backend out of memory|^Metal device set to|\bmetal_plugin\b"
        r"|: Segmentation fault: 11|\bEXC_BAD_ACCESS\b",
    ),
    (
        "linux",
        r"/home/\w|\.so(?:\.\d+)*\b|/usr/lib|/proc/(?:\d|self|sys|meminfo|cpuinfo)|\bUbuntu|\bDebian\b|\bCentOS|\bLinux\b"
        r"|/content/\w|/kaggle/\w|(?:^|[ \"'(=:])/root/|/dist-packages/|\bmanylinux|\blinux_x86_64\b|-linux-gnu\b"
        r"|\(core dumped\)|cannot open shared object file|\bGLIBC(?:XX)?_\d"
        r"|\bdouble free or corruption|\b(?:free|malloc|munmap_chunk)\(\): "
        r"|\bProcessGroupNCCL\b|\bapt(?:-get)? install\b|^[\w.-]+@[\w.-]+:[~/][^\n$#]{0,200}[$#] |\bRLIMIT_NPROC\b",
    ),
)
# Linux on Windows: the machine has the traces of both, the program ran on Linux.
_WSL = r"/mnt/[c-z]/\w|microsoft-standard|\bWSL ?2?\b"
# An issue form's own examples, and systems on which it does not happen.
_NOT_HERE = (
    r"(?i)\((?:e\.?g\.?|for example|such as|i\.e\.)[^)\n]*\)|\((?:windows|linux|osx|macos|mac|ubuntu)[,/|][^)\n]*\)"
    r"|\b(?:works?|worked|runs?|ran|fine|well|ok|unlike|not) (?:well |fine |ok |just |only )?(?:in|on|under|with|for) "
    r"(?:my |the |a |an )?(?:other )?(?:windows|linux|ubuntu|mac ?os|macos|mac|osx|wsl2?|debian|centos)\b[ \d.]*"
)
_LOOK_AT = 512 * 1024
_OPENED = r"Successfully opened (?:dynamic|CUDA) library (?P<name>[\w.+-]+)"
_CPU_FLAGS = r"(?:^|\n)flags\s*: (?P<flags>[a-z0-9_ ]+)"


def extract(log: Log, proven_os: OS | None) -> Environment:
    """The environment as far as the text shows it; `proven_os` is what the exit status already proves."""
    # The beginning of a log, and the stacks at its end, show where it ran.
    text = log.text if len(log.text) <= 2 * _LOOK_AT else log.text[:_LOOK_AT] + "\n" + log.text[-_LOOK_AT:]
    flags = patterns.compile(_CPU_FLAGS).search(text) if "flags" in text else None
    facts, packages = facts_of(log, text)
    told = {fact.name: fact.value for fact in reversed(facts)}
    cudnn = (Library("cudnn", told["cudnn"]),) if "Loaded" in text and "cudnn" in told else ()
    return Environment(
        os=proven_os or _system(text),
        python=told.get("python"),
        packages=packages,
        cpu_flags=tuple(flags.group("flags").split()) if flags else (),
        gpus=tuple(fact.value for fact in facts if fact.name == "card"),
        libraries=(*_opened(text), *cudnn),
        driver=told.get("driver"),
        capability=told.get("capability"),
        cpu=told.get("cpu"),
        facts=facts,
    )


def _system(text: str) -> OS | None:
    """The system with the most traces in the text: a Windows user may paste a Linux path."""
    text = patterns.compile(_NOT_HERE).sub(" ", text)
    if patterns.compile(_WSL).search(text):
        return "linux"
    counts = {name: sum(1 for _ in patterns.compile(pattern).finditer(text)) for name, pattern in _SYSTEMS}
    name = max(counts, key=lambda key: counts[key])
    return name if counts[name] else None


def _opened(text: str) -> Iterator[Library]:
    if "Successfully opened" in text:
        for name in dict.fromkeys(match["name"] for match in patterns.compile(_OPENED).finditer(text)):
            yield Library(name)
