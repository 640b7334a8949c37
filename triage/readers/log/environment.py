"""What a log shows of the machine: system, Python, package versions, libraries that were opened."""

from __future__ import annotations

import re

from triage import patterns
from triage.crash import OS, Environment, Library, Log

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
# An issue form's own examples, and systems on which it does not happen.
_NOT_HERE = (
    r"(?i)\((?:e\.?g\.?|for example|such as|i\.e\.)[^)\n]*\)|\((?:windows|linux|osx|macos|mac|ubuntu)[,/|][^)\n]*\)"
    r"|\b(?:works?|worked|runs?|ran|fine|well|ok|unlike|not) (?:well |fine |ok |just |only )?(?:in|on|under|with|for) "
    r"(?:my |the |a |an |google )?(?:other )?"
    r"(?:windows|linux|ubuntu|mac ?os|macos|mac|osx|wsl2?|debian|centos|colab|kaggle)\b[ \d.]*"
)
_PYTHON = r"(?:[Pp]ython(?: version:?)? ?|[Pp]ython)(?P<version>3\.\d{1,2}(?:\.\d{1,2})?)\b"
_PACKAGES = (
    (
        "tensorflow",
        # An issue form may have words in between: `TensorFlow version (use command below): **2.4.1**`.
        r"(?i)\btensorflow(?:[-_](?:gpu|cpu|intel|macos))?(?: version)?(?: \([^)\n]{1,40}\))?\*{0,2}"
        r"(?:==|: ?|\s{1,40}|-)?[`*]{0,2}v?(?P<version>\d\.\d{1,2}(?:\.\d{1,2})?(?:rc\d)?)\b",
    ),
    ("keras", r"(?i)\bkeras(?: version)?(?:==|: )(?P<version>\d\.\d{1,2}(?:\.\d{1,2})?)\b"),
    ("numpy", r"(?i)\bnumpy(?: version)?(?:==|: )(?P<version>\d\.\d{1,2}(?:\.\d{1,2})?)\b"),
    ("protobuf", r"(?i)\bprotobuf(?: version)?(?:==|: )(?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)\b"),
)
# What people write by hand; only used where there is nothing better.
_SHORT_TENSORFLOW = r"\b(?:TF|tf)(?: version)?(?:==|: ?| )?v?(?P<version>[12]\.\d{1,2}(?:\.\d{1,2})?)\b"
_LOOK_AT = 512 * 1024
_OPENED = r"Successfully opened (?:dynamic|CUDA) library (?P<name>[\w.+-]+)"
_CUDNN = r"Loaded cuDNN version (?P<number>\d{4,6})"
_GPU = r"name: (?P<name>(?:NVIDIA |GeForce |Tesla |Quadro |TITAN |RTX )[\w -]{2,40}?)(?:,| computeCap| major:|$)"
_GPU_LISTED = (
    r"(?m)(?:GPU model(?: and memory)?: *|\| +\d{1,2}  )"
    r"(?P<name>(?:NVIDIA |Nvidia |GeForce |Tesla |Quadro |TITAN |RTX |GTX )[\w -]{1,40}?)"
    r"(?:,|  | \d+ ?[Gg]| \(| On\b| Off\b|$)"
)
_DRIVER = (
    r"(?:[Dd]river [Vv]ersion: *|kernel reported version is: |Kernel Module  )(?P<version>\d{3}\.\d{2,3}(?:\.\d{1,2})?)"
)
_CAPABILITY = r"(?:compute ?[Cc]apability:? |major: )(?P<version>\d{1,2}(?:\.\d| minor: \d))"
_CPU_FLAGS = r"(?:^|\n)flags\s*: (?P<flags>[a-z0-9_ ]+)"


def extract(log: Log, proven_os: OS | None) -> Environment:
    """The environment as far as the text shows it; `proven_os` is what the exit status already proves."""
    # The beginning of a log, and the stacks at its end, show where it ran.
    text = log.text if len(log.text) <= 2 * _LOOK_AT else log.text[:_LOOK_AT] + "\n" + log.text[-_LOOK_AT:]
    packages = {}
    lower = text.lower()
    for name, pattern in _PACKAGES:
        if name in lower and (version := _agreed(pattern, text)):
            packages[name] = version
    if "tensorflow" not in packages and "tf" in lower and (version := _agreed(_SHORT_TENSORFLOW, text)):
        packages = {"tensorflow": version} | packages
    python = patterns.compile(_PYTHON).search(text) if "ython" in text else None
    flags = patterns.compile(_CPU_FLAGS).search(text) if "flags" in text else None
    return Environment(
        os=proven_os or _system(text),
        python=python.group("version") if python else None,
        packages=tuple(packages.items()),
        cpu_flags=tuple(flags.group("flags").split()) if flags else (),
        gpus=_gpus(text),
        libraries=_libraries(text),
        driver=_first(_DRIVER, text) if "ersion" in text or "Kernel Module" in text else None,
        capability=_capability(text),
    )


def _agreed(pattern: str, text: str) -> str | None:
    """The version of a package, if the text names only one release: people who tried several leave it open."""
    found = [match.group("version") for match in patterns.compile(pattern).finditer(text)]
    return found[0] if len({tuple(version.split(".")[:2]) for version in found}) == 1 else None


def _first(pattern: str, text: str) -> str | None:
    match = patterns.compile(pattern).search(text)
    return match.group("version") if match else None


def _gpus(text: str) -> tuple[str, ...]:
    found = [m.group("name").strip() for m in patterns.compile(_GPU).finditer(text)]
    if not found and ("GPU model" in text or "NVIDIA-SMI" in text):
        found = [m.group("name").strip() for m in patterns.compile(_GPU_LISTED).finditer(text)]
    return tuple(dict.fromkeys(found))


def _capability(text: str) -> str | None:
    if "apability" not in text and "major: " not in text:
        return None
    capability = _first(_CAPABILITY, text)
    return capability.replace(" minor: ", ".") if capability else None


def _system(text: str) -> OS | None:
    """The system with the most traces in the text: a Windows user may paste a Linux path."""
    text = patterns.compile(_NOT_HERE).sub(" ", text)
    if patterns.compile(_LINUX_INSIDE).search(text):
        return "linux"
    counts = {name: sum(1 for _ in patterns.compile(pattern).finditer(text)) for name, pattern in _SYSTEMS}
    name = max(counts, key=lambda key: counts[key])
    if counts[name]:
        return name
    return "linux" if patterns.compile(_LINUX_BUILD).search(text) else None


def _libraries(text: str) -> tuple[Library, ...]:
    found: dict[str, str | None] = {}
    if "Successfully opened" in text:
        found.update((m.group("name"), None) for m in patterns.compile(_OPENED).finditer(text))
    if "Loaded cuDNN version" in text:
        for match in patterns.compile(_CUDNN).finditer(text):
            found["cudnn"] = cudnn_version(match.group("number"))
    return tuple(Library(name, version) for name, version in found.items())


def cudnn_version(number: str) -> str:
    """cuDNN's packed number as people write it: 8302 is 8.3.2, 90300 is 9.3.0."""
    match = (
        re.fullmatch(r"(\d{1,2})(\d\d)(\d\d)", number) if len(number) > 4 else re.fullmatch(r"(\d)(\d)(\d\d)", number)
    )
    return ".".join(str(int(part)) for part in match.groups()) if match else number
