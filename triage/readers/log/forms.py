"""The forms in which a text tells a fact of the software or the machine: a pattern each, and how well it knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from triage.crash import FactName

# How well a form knows: what was really there, what was filled in or asked for, what somebody wrote.
SHOWN, FILLED_IN, WRITTEN = range(3)
# The build of torch itself, where those of its companions stand beside it.
_OF_TORCH = -1
_NUMBER = r"\d{1,3}(?:\.\d{1,4}){1,3}"
_PACKED_PYTHON = r"(?P<packed>3\d{1,2}|2[67])"
_CARD = (
    r"(?:(?:NVIDIA|Nvidia) \d{4}(?: [\w-]{1,12})?"
    r"|(?:NVIDIA |Nvidia )?(?:GeForce |Quadro |Tesla |TITAN |Titan |RTX |GTX |GRID )[\w -]{1,30}?"
    r"|(?:NVIDIA |Nvidia )?(?:[AHLBV]\d{2,3}(?:[- ][\w-]{1,20}){0,3}|[TKMP]\d{1,3}\b))"
)


def _plain(text: str) -> str:
    return text


def _dotted(digits: str) -> str:
    """Two numbers that are written as one: 38 is 3.8, 310 is 3.10, 118 is 11.8, 92 is 9.2."""
    cut = 1 if digits[0] in "23" or len(digits) == 2 else 2
    return f"{digits[:cut]}.{digits[cut:]}"


def cudnn_version(number: str) -> str:
    """cuDNN's packed number as people write it: 8302 is 8.3.2, 90300 is 9.3.0."""
    if not number.isdigit() or len(number) not in (4, 5, 6):
        return number
    major = number[:1] if len(number) == 4 else number[:-4]
    rest = number[len(major) :]
    minor, patch = (rest[:1], rest[1:]) if len(rest) == 3 else (rest[:2], rest[2:])
    return f"{int(major)}.{int(minor)}.{int(patch)}"


def _is(kind: str) -> Callable[[str], str]:
    return lambda text: kind


def _gcc(number: str) -> str:
    return f"GCC {number}"


def _clang(text: str) -> str:
    number = text.rsplit(" ", 1)[-1]
    return f"Apple Clang {number}" if text[:1] in "Aa" else f"Clang {number}"


_COMPILERS = {"gcc": "GCC ", "g++": "GCC ", "clang": "Clang ", "msvc": "MSVC ", "visual studio": "Visual Studio "}


def _compiler(text: str) -> str:
    """What a form says of the compiler: its name, where it stands there, and the number."""
    lower = text.lower()
    name = next((name for word, name in _COMPILERS.items() if lower.startswith(word)), "")
    return name + text[text.rfind(" ") + 1 :].lstrip("vV-:=")


_CONTAINERS = {"colab": "Colab", "wsl2": "WSL2", "wsl": "WSL"}


def _container(text: str) -> str:
    word = text.lower().replace(" ", "")
    return _CONTAINERS.get(word, word.capitalize())


_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _memory(text: str) -> str:
    """An amount of memory as people say it: 16384000 kB is 15.6 GB, 16Gi is 16 GB."""
    number = text.rstrip(" BKMGTikmgtb")
    unit = text[len(number) :].strip().upper()[:1]
    size = float(number) * _UNITS.get(unit.replace("B", ""), 1) / 2**30
    return f"{size:.1f} GB".replace(".0 ", " ")


# Words before an amount of memory that is the card's, another machine's, or what something takes.
_NOT_THE_MACHINES = (
    r"(?i)gpu|card|vram|\b[gr]tx\b|tesla|nvidia|geforce|\bcuda\b|work|need|requir|at least|another|other"
    r"|\bus(?:e|es|ing|ed)\b|tak(?:e|es|ing)|took|consum|allocat|limit|up to|more than|over|\bate\b|eat|fill|free"
    r"|upgrad|even (?:with|on)|only"
)
# XLA lists the folders in which it looked for CUDA, one below the other, whether they are there or not.
_SEARCHED = r"^ {2,}/[\w/.-]*/cuda-\d{1,2}\.\d$"
# Images whose name and tag say what is in them.
_IMAGE = (
    r"(?P<version>(?:\b(?:tensorflow/tensorflow|pytorch/pytorch|jupyter/[\w-]{1,40}|rocm/[\w-]{1,20})"
    r"|\b(?:[\w-]{2,20}\.io/)?nvidia/(?:cuda|tensorflow|pytorch|jax|k8s/[\w-]{1,30})):[\w.-]{1,80}\w)"
)


class Form(NamedTuple):
    """A way in which a fact is told. Where the line up to the match says `unless`, it tells something else.

    `needs` are words in lower case, with `|` between them: without any of them the pattern cannot occur.
    """

    fact: FactName
    trust: int
    needs: str
    pattern: str
    read: Callable[[str], str] = _plain
    unless: str = ""


FORMS: tuple[Form, ...] = (
    # Python
    Form("python", SHOWN, "python", r"[/\\]python(?P<version>[23]\.\d{1,2})[/\\](?:site|dist)-packages"),
    Form("python", SHOWN, "lib/python", r"/lib(?:64)?/python(?P<version>[23]\.\d{1,2})/"),
    Form("python", SHOWN, "python.framework", r"Python\.framework/Versions/(?P<version>[23]\.\d{1,2})/"),
    Form("python", SHOWN, "python", rf"(?i)[/\\]python{_PACKED_PYTHON}(?:[-_](?:32|64))?[/\\]", _dotted),
    Form("python", SHOWN, "pythonsoftware", r"PythonSoftwareFoundation\.Python\.(?P<version>3\.\d{1,2})_"),
    Form("python", SHOWN, ".cp", rf"\.cp(?:ython-)?{_PACKED_PYTHON}m?-(?:win|x86|darwin|aarch)", _dotted),
    Form(
        "python",
        SHOWN,
        "(default|(main|(tags/|(heads/|(v|(r|(conda",
        r"\b(?P<version>[23]\.\d{1,2}\.\d{1,2})\+? (?:\|[^|\n]{1,60}\| ?)?"
        r"\((?:default|main|tags/|heads/|v\d|r\d|remotes/|conda)",
    ),
    Form("python", SHOWN, "python", r"^Python (?P<version>[23]\.\d{1,2}\.\d{1,2})\W{0,2}$"),
    Form(
        "python",
        FILLED_IN,
        "python",
        r"(?i)\bpython(?: and pip)?(?: version)?\W{0,4}(?:\([^)\n]{0,60}\))?\W{0,3}[:=]\W{0,6}(?:python ?)?v?"
        r"(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)\b",
    ),
    Form("python", WRITTEN, "python", r"(?i)\bpython(?: version)? ?v?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)\b"),
    Form("python", WRITTEN, "-cp", rf"-cp{_PACKED_PYTHON}-(?:cp\d+m?|abi3|none)-\w", _dotted),
    Form(
        "python",
        FILLED_IN,
        "python version",
        r"^#{1,4} Python version\s{1,4}(?:Python ?)?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)\s*$",
    ),
    # CUDA: what the framework was built with, what is there, and the newest that the driver takes.
    Form(
        "cuda built",
        _OF_TORCH,
        "+cu",
        r"(?:^Name: torch\s{1,2}Version: |\btorch(?:==|[ \t]{1,60}))\d+\.\d+\.\d+\+cu(?P<packed>\d{2,3})\b",
        _dotted,
    ),
    Form("cuda built", SHOWN, "+cu", r"\+cu(?P<packed>\d{2,3})\b", _dotted),
    Form("cuda built", SHOWN, "used to build", rf"CUDA used to build PyTorch: (?P<version>{_NUMBER})"),
    Form("cuda built", SHOWN, "cuda_version", rf"['\"]cuda_version['\"]\W{{1,4}}(?P<version>{_NUMBER})"),
    Form("cuda", SHOWN, "release", rf"\brelease (?P<version>{_NUMBER}), V\d"),
    Form("cuda", SHOWN, "runtime version", rf"^CUDA runtime version: (?P<version>{_NUMBER})"),
    Form(
        "cuda",
        SHOWN,
        "cuda",
        r"(?i)[/\\]cuda(?:-|/v?|\\+v?)(?P<version>\d{1,2}\.\d)\b",
        unless=_SEARCHED,
    ),
    # From CUDA 11 on one file name serves a whole major version.
    Form(
        "cuda",
        SHOWN,
        "opened",
        r"Successfully opened (?:dynamic|CUDA) library libcudart\.so\.(?P<version>(?:[6-9]|10)\.\d)",
    ),
    Form(
        "cuda",
        SHOWN,
        "opened",
        r"Successfully opened (?:dynamic|CUDA) library cudart64_(?P<packed>[6-9]\d|10\d)\.dll",
        _dotted,
    ),
    Form("cuda", FILLED_IN, "-cuda", r"\bpytorch:[\d.]+-cuda(?P<version>\d{1,2}\.\d)-cudnn"),
    Form("cuda", FILLED_IN, "nvidia/cuda:", r"\bnvidia/cuda:(?P<version>\d{1,2}\.\d)\b"),
    Form("cuda", FILLED_IN, "cudatoolkit", r"(?i)\bcudatoolkit(?:\s+|==?)(?P<version>\d{1,2}\.\d)"),
    Form(
        "cuda",
        FILLED_IN,
        "cuda",
        r"(?i)\bCUDA ?(?:/|and|&) ?cuDNN versions?\W{0,6}(?:CUDA ?)?[vV]?(?P<version>\d{1,2}\.\d{1,2})",
    ),
    Form(
        "cuda",
        FILLED_IN,
        "cuda",
        r"^\W{0,6}(?i:CUDA(?: toolkit)?(?: version)?)\W{0,3}[:=]\W{0,4}v?(?P<version>\d{1,2}\.\d)\b",
    ),
    Form(
        "cuda",
        WRITTEN,
        "cuda",
        r"(?i)\bCUDA(?: Toolkit)?(?: version)?[ -]?v?(?P<version>\d{1,2}\.\d)\b",
        unless=_SEARCHED,
    ),
    # The name of its installer has the driver that comes with it, too.
    Form("cuda", WRITTEN, "cuda_", r"\bcuda_(?P<version>\d{1,2}\.\d)\.\d{1,3}_\d{3}\.\d{2}"),
    Form("driver", WRITTEN, "cuda_", r"\bcuda_\d{1,2}\.\d\.\d{1,3}_(?P<version>\d{3}\.\d{2,3}(?:\.\d{1,2})?)"),
    Form("cuda of driver", SHOWN, "cuda version", r"\| NVIDIA-SMI [^\n]*CUDA Version: (?P<version>\d{1,2}\.\d)"),
    # cuDNN
    Form("cudnn", SHOWN, "cudnn version", r"Loaded cuDNN version (?P<version>\d{4,6})\b", cudnn_version),
    Form("cudnn", SHOWN, "runtime cudnn", rf"Loaded runtime CuDNN library: (?P<version>{_NUMBER})"),
    Form("cudnn built", SHOWN, "compiled with", rf"but source was compiled with: (?P<version>{_NUMBER})"),
    Form("cudnn built", SHOWN, ".cudnn", r"\+cuda\d+\.cudnn(?P<packed>\d{2,3})\b", _dotted),
    Form("cudnn", SHOWN, "libcudnn.so.", rf"libcudnn\.so\.(?P<version>{_NUMBER})\b"),
    Form(
        "cudnn",
        FILLED_IN,
        "cudnn",
        r"(?i)\bcudnn(?: version)?(?:\s*[:=]\s*|==?|\s{2,}|-)v?(?P<version>\d(?:\.\d{1,4}){1,3})\b",
    ),
    Form(
        "cudnn",
        FILLED_IN,
        "cudnn",
        r"(?i)\bCUDA ?(?:/|and|&) ?cuDNN versions?\W{0,6}(?:CUDA ?)?v?\d{1,2}\.\d{1,2}(?:\.\d+)?\W{1,4}"
        r"(?:and |cudnn ?){0,2}"
        r"v?(?P<version>\d\.\d{1,2}(?:\.\d{1,2})?)",
    ),
    Form("cudnn", WRITTEN, "cudnn", r"(?i)\bcuDNN(?: version)? ?v?(?P<version>\d\.\d{1,2}(?:\.\d{1,2})?)\b"),
    # the driver and the card
    Form("driver", SHOWN, "driver version", r"(?i)\bdriver version: *(?P<version>\d{3}\.\d{2,3}(?:\.\d{1,2})?)"),
    Form(
        "driver", SHOWN, "kernel", r"kernel (?:reported )?version(?: is)?:? (?P<version>\d{3}\.\d{1,3}(?:\.\d{1,2})?)"
    ),
    # Inside WSL the driver is that of Windows.
    Form("driver", SHOWN, "kmd version", r"\bKMD Version: *(?P<version>\d{3}\.\d{2,3}(?:\.\d{1,2})?)"),
    Form("driver", SHOWN, "kernel module", r"Kernel Module +(?P<version>\d{3}\.\d{2,3}(?:\.\d{1,2})?)"),
    Form("capability", SHOWN, "apability", r"(?i)compute ?capability:? (?P<version>\d{1,2}\.\d)\b"),
    Form(
        "capability",
        SHOWN,
        "major:",
        r"\bmajor: (?P<version>\d{1,2} minor: \d)\b",
        lambda text: text.replace(" minor: ", "."),
    ),
    Form(
        "capability",
        SHOWN,
        "sm_",
        r"(?i)with CUDA capability sm_(?P<packed>\d{2,3})\b",
        lambda text: f"{text[:-1]}.{text[-1]}",
    ),
    Form("card", SHOWN, "name:", rf"\bname: (?P<version>{_CARD})(?:,| computeCap| major:|$)"),
    Form("card", SHOWN, "nvidia-smi", rf"^\| +\d{{1,2}}  (?P<version>{_CARD}) +(?:On|Off|WDDM|TCC|MCDM|\.\.\.|\|)"),
    Form("card", SHOWN, "gpu ", rf"^(?:\W{{0,3}})GPU \d{{1,2}}: (?P<version>{_CARD})(?: \(UUID|$)"),
    Form("card", SHOWN, "with cuda capability", rf"(?:^|: )(?P<version>{_CARD}) with CUDA capability"),
    Form(
        "card",
        FILLED_IN,
        "gpu model",
        rf"(?i:GPU models?(?: and (?:memory|configuration))?)\W{{0,6}}(?P<version>{_CARD})(?:,| \d+ ?[Gg]| \(|\W*$)",
    ),
    Form(
        "card",
        WRITTEN,
        "gtx|rtx|geforce",
        r"\b(?P<version>(?:(?:NVIDIA |GeForce |NVIDIA GeForce )?[GR]TX ?|(?:NVIDIA )?GeForce (?:MX ?)?)"
        r"(?:A?\d{4}|\d{3})(?:M|MX| ?(?:Ti|SUPER|Super))?)(?:[^\w.]|\.?$|\.\s)",
    ),
    # the machine
    # The machine's compiler, then the one that made its Python.
    Form(
        "compiler",
        SHOWN,
        "gcc|g++",
        r"(?:^|\s)(?:gcc|g\+\+)(?:-\d+)? \([^)\n]{2,60}\) (?P<version>\d+\.\d[\d.]*)",
        _gcc,
    ),
    Form("compiler", SHOWN, "gcc version", r"\bgcc version (?P<version>\d+\.\d[\d.]*)", _gcc),
    Form(
        "compiler",
        SHOWN,
        "gcc version:",
        r"^\W{0,4}GCC version\W{1,6}(?:\([^)\n]{2,60}\) )?(?P<version>\d+\.\d[\d.]*)",
        _gcc,
    ),
    Form("compiler", SHOWN, "clang version", r"(?i)\b(?P<version>(?:Apple )?clang version \d+\.\d[\d.]*)", _clang),
    Form(
        "compiler",
        FILLED_IN,
        "compiler|gcc",
        r"(?i)\b(?:GCC ?/ ?)?(?:GCC|compiler) version\W{0,4}(?:\([^)\n]{1,60}\))?\W{1,8}"
        r"(?P<version>(?:(?:gcc|g\+\+|clang|msvc|visual studio)\W{1,3}(?:version ?)?v?)?\d{1,4}(?:\.\d{1,5}){1,3})\b",
        _compiler,
    ),
    Form("compiler", FILLED_IN, "[gcc", r"\[(?P<version>GCC \d+\.[\d.]*\d)(?:\]| \()"),
    Form("compiler", FILLED_IN, "llvm", r"\[GCC [\d.]+ Compatible (?P<version>Apple LLVM \d+\.[\d.]*\d)"),
    Form("compiler", FILLED_IN, "clang", r"\[(?:GCC (?:[\d.]+ Compatible )?)?(?P<version>Clang \d+\.[\d.]*\d)"),
    Form("compiler", FILLED_IN, "[msc", r"\[(?P<version>MSC v\.\d{4} \d\d bit)"),
    # Where it ran: what only the inside of a container shows, a command that starts one, what somebody says.
    Form(
        "container",
        SHOWN,
        "/kubepods",
        r"[:/= ]/kubepods[./]|/kubepods-(?:burstable|besteffort|pod)",
        _is("Kubernetes"),
    ),
    Form(
        "container",
        SHOWN,
        "/var/run/secrets/kubernetes|crashloopbackoff",
        r"/var/run/secrets/kubernetes\.io|CrashLoopBackOff",
        _is("Kubernetes"),
    ),
    Form(
        "container",
        SHOWN,
        "docker",
        r"(?:^|\s)/\.dockerenv\b|[:=]/docker/[0-9a-f]{12}|docker-[0-9a-f]{12,64}\.scope",
        _is("Docker"),
    ),
    Form("container", SHOWN, "root@", r"^(?:\([^)\n]{1,40}\) )?root@[0-9a-f]{12}:[/~][^\n#]{0,120}#", _is("Docker")),
    Form("container", SHOWN, "libpod|.containerenv", r"/libpod-[0-9a-f]{12}|/run/\.containerenv\b", _is("Podman")),
    Form("container", SHOWN, "singularity", r"/\.singularity\.d/|^Singularity> ", _is("Singularity")),
    Form("container", SHOWN, "apptainer> ", r"^Apptainer> ", _is("Apptainer")),
    Form(
        "container",
        SHOWN,
        "/content/|colab",
        r"[\"' ]/content/(?:drive|sample_data|[\w-]+\.py)|/google/colab/|google\.colab\b|/tools/colab",
        _is("Colab"),
    ),
    Form("container", SHOWN, "/kaggle/", r"/kaggle/(?:working|input|lib)\b", _is("Kaggle")),
    Form(
        "container",
        SHOWN,
        "wsl2|/usr/lib/wsl/|/dev/dxg",
        r"microsoft-standard-WSL2|/usr/lib/wsl/|/dev/dxg\b",
        _is("WSL2"),
    ),
    Form("container", SHOWN, "/mnt/", r"/mnt/[cd]/(?:Users|Program|Windows|Python|Anaconda)\w*", _is("WSL")),
    Form("container", FILLED_IN, "tensorflow/tensorflow:|pytorch/pytorch:|nvidia/|jupyter/|rocm/", _IMAGE),
    Form(
        "container", FILLED_IN, "docker", r"\bdocker(?:-compose| compose)? (?:run|exec|start|up|logs)\b", _is("Docker")
    ),
    Form("container", FILLED_IN, "podman", r"\bpodman (?:run|exec|start|logs)\b", _is("Podman")),
    Form("container", FILLED_IN, "singularity", r"\bsingularity (?:run|exec|shell)\b", _is("Singularity")),
    Form("container", FILLED_IN, "apptainer", r"\bapptainer (?:run|exec|shell)\b", _is("Apptainer")),
    Form(
        "container",
        FILLED_IN,
        "kubectl",
        r"\bkubectl (?:logs|exec|describe pods?|get pods?|apply)\b",
        _is("Kubernetes"),
    ),
    Form(
        "container",
        WRITTEN,
        "docker|podman|singularity|apptainer|kubernetes|colab|kaggle|wsl",
        r"(?i)\b(?:in|inside|within|using|under|on|environment:|platform:) ?(?:a |an |the |my |google |official ){0,2}"
        r"(?:[\w/.:-]{1,40} )?(?P<version>docker|podman|singularity|apptainer|kubernetes|colab|kaggle|wsl ?2?)\b",
        _container,
        unless=r"(?i)\bnot? [\w ]{0,20}$|without|instead",
    ),
    # The machine's memory, never the card's.
    Form("memory", SHOWN, "memtotal", r"\bMemTotal: +(?P<version>\d{6,10} kB)", _memory),
    Form("memory", SHOWN, "mem:", r"^Mem: +(?P<version>\d[\d.]{0,6} ?[KMGT]i?)B?\s", _memory),
    Form("memory", SHOWN, "mem:", r"^Mem: +(?P<version>\d{7,10}) +\d", lambda text: _memory(text + " kB")),
    Form(
        "memory",
        SHOWN,
        "free -m",
        r"\bfree -m\b[^\n]*\n[^\n]{0,120}\nMem: +(?P<version>\d{3,8}) +\d",
        lambda text: _memory(text + " MiB"),
    ),
    Form(
        "memory",
        SHOWN,
        "free -g",
        r"\bfree -g\b[^\n]*\n[^\n]{0,120}\nMem: +(?P<version>\d{1,5}) +\d",
        lambda text: _memory(text + " GiB"),
    ),
    Form(
        "memory",
        SHOWN,
        "total physical memory",
        r"\bTotal Physical Memory: +(?P<version>\d{1,3}(?:[.,]\d{3})* MB)",
        lambda text: _memory(text.replace(",", "").replace(".", "")),
    ),
    Form("memory", SHOWN, "hw.memsize", r"\bhw\.memsize: ?(?P<version>\d{9,13})\b", lambda text: _memory(text + " B")),
    Form("memory", SHOWN, "svmem", r"\bsvmem\(total=(?P<version>\d{9,13})\b", lambda text: _memory(text + " B")),
    Form(
        "memory",
        SHOWN,
        "miib mem",
        r"^MiB Mem ?: +(?P<version>\d{3,8})(?:[.,]\d)? total",
        lambda text: _memory(text + " MiB"),
    ),
    Form("memory", SHOWN, "kib mem", r"^KiB Mem ?: +(?P<version>\d{6,11}) total", lambda text: _memory(text + " KiB")),
    Form(
        "memory",
        FILLED_IN,
        "ram|memory",
        r"(?i)^\W{0,6}(?:System |Total |Physical |Installed |CPU )?(?:RAM|memory)(?: size)?\W{0,3}[:=]\W{0,4}"
        r"(?P<version>\d{1,4}(?:\.\d)? ?[GM]i?B)\b",
        _memory,
        unless=r"(?i)gpu|vram|video|graphic|\bper\b|limit",
    ),
    Form(
        "memory",
        WRITTEN,
        "ram",
        r"(?i)\b(?P<version>\d{1,4} ?Gi?B?)(?: of)?(?: DDR[345]\w?| system| main| CPU)? RAM\b",
        _memory,
        unless=_NOT_THE_MACHINES,
    ),
    Form(
        "memory",
        WRITTEN,
        "ram",
        r"(?i)\bRAM\W{1,3}(?:of |is |size )?(?P<version>\d{1,4} ?Gi?B)\b",
        _memory,
        unless=_NOT_THE_MACHINES,
    ),
    Form("cpu", SHOWN, "model name", r"(?i)^model name\s*:\s+(?P<version>[^\n]{4,80}?)\s*$"),
    Form("cpu", WRITTEN, "apple m", r"\b(?P<version>Apple M\d(?: (?:Pro|Max|Ultra))?)\b"),
    Form(
        "system version",
        WRITTEN,
        "catalina|big sur|monterey|ventura|sonoma|sequoia",
        r"\b(?:Catalina|Big Sur|Monterey|Ventura|Sonoma|Sequoia) (?P<version>1\d(?:\.\d{1,2}){1,2})(?:[^\w.-]|\.?$)",
        lambda number: f"macOS {number}",
    ),
    Form(
        "system version",
        FILLED_IN,
        "ubuntu|debian|centos|fedora|windows|mac|rhel|red hat|rocky|linux",
        r"\b(?P<version>(?:Ubuntu|Debian|CentOS|Fedora|Windows|macOS|Mac OS X|RHEL|Red Hat Enterprise|Rocky Linux"
        r"|Alma ?Linux|Amazon Linux|Arch Linux)"
        r"(?: GNU/Linux| Linux)?(?: release)? (?:2023|\d{1,2})(?:\.\d{1,2}){0,2})(?:[^\w.-]|\.?$|\.\s)",
    ),
)
