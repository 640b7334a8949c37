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
        r"|(?i:^\W*(?:os|operating system|platform|os platform and distribution)\W*[:=]\W*windows\b)"
        r"|\] on win32\b|\bplatform win32\b|\bDLLs?\b|\b(?i:on|under|using|my) [Ww]indows\b"
        # what its own parts and its debuggers say, and TensorFlow's files for it
        r"|\bplatform[/\\]windows[/\\]|(?:^|[\s:])\.\\tensorflow[/\\]|\bMicrosoft C\+\+ exception\b|\bBUGCHECK_CODE\b"
        r"|\bAccess violation (?:reading|writing|executing) location\b",
    ),
    (
        "macos",
        r"(?:^|[^\w:/.])/Users/\w|\.dylib\b|\bmacOS\b|Mac OS X|(?:mixed mode|interpreted mode)[^\n]{0,40}\bbsd-"
        r"|/System/Library/|/AppleInternal/|\bIOGPUMetal|/opt/homebrew/"
        r"|\bmacosx_\d|-darwin\.so\b|\bDarwin Kernel|\bMac[Bb]ook\b|\bM[1-4] (?:Mac|mac|Pro|Max)"
        r"|\bMPS backend out of memory|^Metal device set to|\bmetal_plugin\b"
        r"|\bEXC_BAD_ACCESS\b|\] on darwin\b|\bplatform darwin\b|\bon my (?:[Mm]ac|imac|iMac)\b|(?i:\bmacos\b)"
        # its shells print the number of a signal; its Objective-C and its heap speak with their own names
        r"|\b(?:Segmentation fault: 11|Abort trap: 6|Illegal instruction: 4|Killed: 9|Bus error: 10"
        r"|Trace/BPT trap: 5)\b"
        r"|^objc\[\d+\]: |\bmalloc: (?:\*\*\*|Incorrect checksum)|\bFailed to get CPU frequency: 0 Hz",
    ),
    (
        "linux",
        r"/home/\w|\.so(?:\.\d+)*\b|/usr/lib|/proc/(?:\d|self|sys|meminfo|cpuinfo)|\bUbuntu|\bDebian\b|\bCentOS|\bLinux\b"
        r"|/content/\w|/kaggle/\w|(?:^|[ \"'(=:])/root/|/dist-packages/|\bmanylinux|\blinux_x86_64\b|-linux-gnu\b"
        r"|\bcore dumped\b|cannot open shared object file|\bGLIBC(?:XX)?_\d"
        r"|\bdouble free or corruption|\b(?:free|malloc|munmap_chunk)\(\): "
        r"|\bProcessGroupNCCL\b|\bapt(?:-get)? install\b|^[\w.-]+@[\w.-]+:[~/][^\n$#]{0,200}[$#] |\bRLIMIT_NPROC\b"
        r"|\] on linux\b|\bplatform linux\b|\b(?i:on) linux\b|\[GCC (?:[5-9]|1\d)\.\d|\blinux[-/](?:x86|amd64|arm64"
        r"|aarch64)"
        r"|\bColab\b|(?:^|[\s\"'(=:,>])/(?:gpfs|mnt|data\d?|scratch|workspace|storage|raid|nfs|lustre|lib64|opt/conda"
        r"|tensorflow-[12]\.[\d.]+)/\w|~/\.local/lib/"
        # how bash tells an end, where macOS would add a number; the C library, the scheduler, containers
        r"|^Killed *$|: line \d+: +\d+ (?:Killed|Aborted|Segmentation fault|Illegal instruction|Bus error) "
        r"|\b__libc_start\w*_main\b|\btcmalloc: large alloc\b|\bterminate called after throwing an instance of\b"
        r"|\bslurmstepd\b|\bOOMKilled\b|\bkubectl \w|\bdocker(?:-compose)? (?:run|exec|compose|inspect|build|up|-f)\b"
        r"|\bqemu: uncaught target signal\b|\bNCCL (?:INFO|WARN)\b|\bread from SysFS\b",
    ),
)
# What only builds for Linux print, for where nothing else shows the system: TensorFlow 2.11 and newer, and JAX, have
# CUDA there only, and TensorRT was never in another build.
_LINUX_BUILD = (
    r"\b(?:xla|local_xla)/stream_executor/cuda/cuda_\w+\.cc|^E0000 00:00:[\d.]+ +\d+ cuda_\w+\.cc|\bTF-TRT Warning: "
)
# Linux inside Windows or macOS: the machine has the traces of both, the program ran on Linux.
_LINUX_INSIDE = r"/mnt/[c-z]/\w|microsoft-standard|\bWSL ?2?\b|\bdocker:desktop-linux\b"
# Apple's Metal, its format of programs and its folders are on Apple's systems alone, whatever else is in the text.
_APPLES = (
    r"\bmach-o\b|/Library/Frameworks/Python\.framework/|\bthe MPS device\b|\bMPS backend\b|\blibmetal_plugin\b"
    r"|\bMPSNDArray\b|\bMetalPerformanceShaders"
)
# An issue form's own examples, and systems on which it does not happen.
_NOT_HERE = (
    r"(?i)\((?:e\.?g\.?|for example|such as|i\.e\.)[^)\n]*\)|\((?:windows|linux|osx|macos|mac|ubuntu)[,/|][^)\n]*\)"
    r"|\b(?:works?|worked|runs?|ran|fine|well|ok|unlike|not) (?:well |fine |ok |just |only )?(?:in|on|under|with|for) "
    r"(?:my |the |a |an |google )?(?:other )?"
    r"(?:windows|linux|ubuntu|mac ?os|macos|mac|osx|wsl2?|debian|centos|colab|kaggle)\b[ \d.]*"
    r"|\b(?:windows|linux|ubuntu|macos|mac|osx) (?:(?:runners?|machines?|builds?|ci|tests?|jobs?) )?(?:is|are) "
    r"(?:always |still |all |just )?(?:green|fine|ok|okay|passing|good)\b"
    # what jaxlib says to everybody who lacks AVX
    r"|\bfrequently encountered on macos\b"
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
    if patterns.compile(_LINUX_INSIDE).search(text):
        return "linux"
    if patterns.compile(_APPLES).search(text):
        return "macos"
    counts = {name: sum(1 for _ in patterns.compile(pattern).finditer(text)) for name, pattern in _SYSTEMS}
    name = max(counts, key=lambda key: counts[key])
    if counts[name]:
        return name
    return "linux" if patterns.compile(_LINUX_BUILD).search(text) else None


def _opened(text: str) -> Iterator[Library]:
    if "Successfully opened" in text:
        for name in dict.fromkeys(match["name"] for match in patterns.compile(_OPENED).finditer(text)):
            yield Library(name)
