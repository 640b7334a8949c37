"""What a log shows of the machine: system, Python, package versions, libraries that were opened."""

from __future__ import annotations

from collections.abc import Iterator

from triage import patterns
from triage.crash import OS, CardMaker, Environment, Library, Log
from triage.readers.log.elsewhere import without_elsewhere
from triage.readers.log.implied import tensorflow_releases
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
        r"|\bAccess violation (?:reading|writing|executing) location\b|\bcuda_[\d._]+_win(?:10|dows)\b",
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
# Whose card computes: tools, drivers, names of cards and the words of errors. PyTorch says "cuda" on both, and lists of
# backends name ROCm where there is none.
_AMD_CARD = (
    r"\+rocm\d|\brocm-?\d+\.\d|/opt/rocm|\brocm-smi\b|\brocminfo\b|\bROCm \d|\bROCM used to build PyTorch: \d"
    r"|\[AMD/ATI\]|\bHIP (?:error|out of memory|kernel errors|runtime error|GPUs)|\bhipError[A-Z]\w+|\bamdgpu\b"
    r"|\bMIOpen\b|\bmiopen\w+"
    r"|\bgfx(?:9|1[0-2])[0-9a-f]{2,3}\b|\bRadeon\b|\bTORCH_USE_HIP_DSA\b|\bPYTORCH_HIP_ALLOC_CONF\b|\bInstinct MI\d"
    r"|\bRX ?[5679]\d{3}\b|\bROCm (?:GPU|device|build|version)"
)
_NVIDIA_CARD = (
    r"\bNVIDIA-SMI \d|\bGeForce\b|\bRTX ?(?:A?\d{4}|\d{4})|\bGTX ?\d{3,4}|\bTesla [A-Z]\d+|\bQuadro\b"
    r"|\bNVIDIA [AHLVT]\d+\b|\bCUDA_ERROR_[A-Z]|\bcudaError[A-Z]|\blibcuda\.so|\bnvcuda\.dll|\bCUDNN_STATUS"
)
# The processor, where it is not the usual one.
_ARM = (
    r"\baarch64\b|\barm64\b|\bApple M\d|\bM[1-4] (?:Mac|mac|Pro|Max|Ultra)|\bRaspberry Pi\b|\bJetson\b"
    r"|\bGraviton\b|\bNeoverse\b|\bCortex-A\d"
)
_ARM_OF_32_BITS = r"\barmv[67]l\b|\barmhf\b|\blinux_armv[67]l\b"
_X86 = r"\bx86_64\b|\bamd64\b|\bAMD64\b|\bIntel\(R\)|\bRyzen\b|\bEPYC\b|\bXeon\b|\bCore\(TM\)|\bX86-64\b"
_LOOK_AT = 512 * 1024
_OPENED = r"Successfully opened (?:dynamic|CUDA) library (?P<name>[\w.+-]+)"
_CPU_FLAGS = r"(?:^|\n)flags\s*: (?P<flags>[a-z0-9_ ]+)"


def extract(log: Log, proven_os: OS | None) -> Environment:
    """The environment as far as the text shows it; `proven_os` is what the exit status already proves."""
    # The beginning of a log, and the stacks at its end, show where it ran.
    text = log.text if len(log.text) <= 2 * _LOOK_AT else log.text[:_LOOK_AT] + "\n" + log.text[-_LOOK_AT:]
    # All that is looked for is ASCII, and the engine is ten times slower on other texts. Every place stays the same.
    text = text.encode("ascii", "replace").decode("ascii")
    flags = patterns.compile(_CPU_FLAGS).search(text) if "flags" in text else None
    here = without_elsewhere(text)
    facts, packages = facts_of(log, text, here)
    told = {fact.name: fact.value for fact in reversed(facts)}
    cudnn = (Library("cudnn", told["cudnn"]),) if "Loaded" in text and "cudnn" in told else ()
    releases = tensorflow_releases(text, told.get("python"))
    return Environment(
        os=proven_os or _system(here),
        python=told.get("python"),
        packages=packages,
        cpu_flags=tuple(flags.group("flags").split()) if flags else (),
        gpus=tuple(fact.value for fact in facts if fact.name == "card"),
        libraries=(*_opened(text), *cudnn),
        driver=told.get("driver"),
        capability=told.get("capability"),
        card_maker=_card_maker(text),
        architecture=_architecture(text),
        cpu=told.get("cpu"),
        implied=(("tensorflow", releases),) if releases else (),
        facts=facts,
    )


def _system(text: str) -> OS | None:
    """The system with the most traces in the text: a Windows user may paste a Linux path."""
    if patterns.compile(_LINUX_INSIDE).search(text):
        return "linux"
    if patterns.compile(_APPLES).search(text):
        return "macos"
    counts = {name: sum(1 for _ in patterns.compile(pattern).finditer(text)) for name, pattern in _SYSTEMS}
    name = max(counts, key=lambda key: counts[key])
    if counts[name]:
        return name
    return "linux" if patterns.compile(_LINUX_BUILD).search(text) else None


def _card_maker(text: str) -> CardMaker | None:
    """Who made the card, if the text speaks of one maker's alone."""
    is_amd = patterns.compile(_AMD_CARD).search(text) is not None
    is_nvidia = patterns.compile(_NVIDIA_CARD).search(text) is not None
    return None if is_amd == is_nvidia else "amd" if is_amd else "nvidia"


def _architecture(text: str) -> str | None:
    """An ARM processor, if the text speaks of no other; that of most machines is not worth a word."""
    if patterns.compile(_X86).search(text):
        return None
    if patterns.compile(_ARM_OF_32_BITS).search(text):
        return "arm"
    return "arm64" if patterns.compile(_ARM).search(text) else None


def _opened(text: str) -> Iterator[Library]:
    if "Successfully opened" in text:
        for name in dict.fromkeys(match["name"] for match in patterns.compile(_OPENED).finditer(text)):
            yield Library(name)
