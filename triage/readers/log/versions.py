"""What a text tells of the software and the card: Python, packages, CUDA, cuDNN, the driver; each with its place.

The same thing is told in many ways, and they are not equally good: a path or a tool's own list shows what was there, a
form says what the person believes, and a sentence may be about another machine. The best way that occurs decides, and
only if all that it says agrees; a wrong version is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from triage import patterns
from triage.crash import Fact, FactName, Log

# How well a form knows: what was really there, what was filled in or asked for, what somebody wrote.
_SHOWN, _FILLED_IN, _WRITTEN = range(3)
# The build of torch itself, where those of its companions stand beside it.
_OF_TORCH = -1
_NUMBER = r"\d{1,3}(?:\.\d{1,4}){1,3}"
# Packages whose versions decide something, by the names that lists and files have for them.
_NAMES: Mapping[str, str] = {
    "tensorflow_gpu": "tensorflow",
    "tensorflow_cpu": "tensorflow",
    "tensorflow_intel": "tensorflow",
    "tensorflow_macos": "tensorflow",
    "tensorflow_rocm": "tensorflow",
    "tf_nightly": "tensorflow",
    "tf_nightly_gpu": "tensorflow",
    "tensorflow_base": "tensorflow",
    "pytorch": "torch",
    "onnxruntime_gpu": "onnxruntime",
    "xgboost_cpu": "xgboost",
    "opencv_python": "opencv",
    "opencv_python_headless": "opencv",
}
_PACKAGE = (
    r"tensorflow(?:[-_](?:gpu|cpu|intel|macos|rocm"
    r"|base|io|text|addons|probability|metal|directml(?:[-_]plugin)?))?"
    r"|tf[-_]nightly(?:[-_]gpu)?|tf[-_]keras|keras|torch|pytorch|torchvision|torchaudio"
    r"|jax|jaxlib|jax[-_]metal|jax[-_]cuda1\d[-_]plugin"
    r"|numpy|protobuf|transformers|onnxruntime(?:[-_]gpu)?|xgboost(?:[-_]cpu)?|lightgbm|opencv[-_]python"
    r"(?:[-_]headless)?|h5py|scipy|pandas|grpcio|nvidia[-_]cudnn[-_]cu1\d|nvidia[-_]cuda[-_]runtime[-_]cu1\d"
    r"|horovod|triton|ml[-_]dtypes|flax"
)
_VERSION = r"(?P<version>\d{1,4}(?:\.\d{1,8}){1,3}(?:rc\d+)?)(?:[-.]?(?:a|b|dev|post)\d*)?(?P<local>\+[\w.]+)?"
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


class _Form(NamedTuple):
    """A way in which a fact is told. `needs` is a text without which the pattern cannot occur, in lower case."""

    fact: FactName
    trust: int
    needs: str
    pattern: str
    read: Callable[[str], str] = _plain


_FORMS: tuple[_Form, ...] = (
    # Python
    _Form("python", _SHOWN, "python", r"[/\\]python(?P<version>[23]\.\d{1,2})[/\\](?:site|dist)-packages"),
    _Form("python", _SHOWN, "lib/python", r"/lib(?:64)?/python(?P<version>[23]\.\d{1,2})/"),
    _Form("python", _SHOWN, "python.framework", r"Python\.framework/Versions/(?P<version>[23]\.\d{1,2})/"),
    _Form("python", _SHOWN, "python", rf"(?i)[/\\]python{_PACKED_PYTHON}(?:[-_](?:32|64))?[/\\]", _dotted),
    _Form("python", _SHOWN, "pythonsoftware", r"PythonSoftwareFoundation\.Python\.(?P<version>3\.\d{1,2})_"),
    _Form("python", _SHOWN, ".cp", rf"\.cp(?:ython-)?{_PACKED_PYTHON}m?-(?:win|x86|darwin|aarch)", _dotted),
    _Form(
        "python",
        _SHOWN,
        "(",
        r"\b(?P<version>[23]\.\d{1,2}\.\d{1,2})\+? (?:\|[^|\n]{1,60}\| ?)?"
        r"\((?:default|main|tags/|heads/|v\d|r\d|remotes/|conda)",
    ),
    _Form("python", _SHOWN, "python", r"^Python (?P<version>[23]\.\d{1,2}\.\d{1,2})\W{0,2}$"),
    _Form(
        "python",
        _FILLED_IN,
        "python",
        r"(?i)\bpython(?: and pip)?(?: version)?\W{0,4}(?:\([^)\n]{0,60}\))?\W{0,3}[:=]\W{0,6}(?:python ?)?v?"
        r"(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)\b",
    ),
    _Form("python", _WRITTEN, "python", r"(?i)\bpython(?: version)? ?v?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)\b"),
    _Form("python", _WRITTEN, "-cp", rf"-cp{_PACKED_PYTHON}-(?:cp\d+m?|abi3|none)-\w", _dotted),
    # CUDA: what the framework was built with, what is there, and the newest that the driver takes.
    _Form(
        "cuda built",
        _OF_TORCH,
        "+cu",
        r"(?:^Name: torch\s{1,2}Version: |\btorch(?:==|[ \t]{1,60}))\d+\.\d+\.\d+\+cu(?P<packed>\d{2,3})\b",
        _dotted,
    ),
    _Form("cuda built", _SHOWN, "+cu", r"\+cu(?P<packed>\d{2,3})\b", _dotted),
    _Form("cuda built", _SHOWN, "used to build", rf"CUDA used to build PyTorch: (?P<version>{_NUMBER})"),
    _Form("cuda built", _SHOWN, "cuda_version", rf"['\"]cuda_version['\"]\W{{1,4}}(?P<version>{_NUMBER})"),
    _Form("cuda", _SHOWN, "release", rf"\brelease (?P<version>{_NUMBER}), V\d"),
    _Form("cuda", _SHOWN, "runtime version", rf"^CUDA runtime version: (?P<version>{_NUMBER})"),
    _Form("cuda", _SHOWN, "cuda", r"(?i)[/\\]cuda(?:-|/v?|\\+v?)(?P<version>\d{1,2}\.\d)\b"),
    _Form(
        "cuda", _SHOWN, "opened", r"Successfully opened (?:dynamic|CUDA) library libcudart\.so\.(?P<version>\d+\.\d)"
    ),
    _Form("cuda", _FILLED_IN, "cudatoolkit", r"(?i)\bcudatoolkit(?:\s+|==?)(?P<version>\d{1,2}\.\d)"),
    _Form(
        "cuda",
        _FILLED_IN,
        "cuda",
        r"(?i)\bCUDA ?(?:/|and|&) ?cuDNN versions?\W{0,6}(?:CUDA ?)?[vV]?(?P<version>\d{1,2}\.\d{1,2})",
    ),
    _Form(
        "cuda",
        _FILLED_IN,
        "cuda",
        r"^\W{0,6}(?i:CUDA(?: toolkit)?(?: version)?)\W{0,3}[:=]\W{0,4}v?(?P<version>\d{1,2}\.\d)\b",
    ),
    _Form("cuda", _WRITTEN, "cuda", r"(?i)\bCUDA(?: Toolkit)?(?: version)?[ -]v?(?P<version>\d{1,2}\.\d)\b"),
    _Form("cuda of driver", _SHOWN, "cuda version", r"\| NVIDIA-SMI [^\n]*CUDA Version: (?P<version>\d{1,2}\.\d)"),
    # cuDNN
    _Form("cudnn", _SHOWN, "cudnn version", r"Loaded cuDNN version (?P<version>\d{4,6})\b", cudnn_version),
    _Form("cudnn", _SHOWN, "runtime cudnn", rf"Loaded runtime CuDNN library: (?P<version>{_NUMBER})"),
    _Form("cudnn built", _SHOWN, "compiled with", rf"but source was compiled with: (?P<version>{_NUMBER})"),
    _Form("cudnn built", _SHOWN, ".cudnn", r"\+cuda\d+\.cudnn(?P<packed>\d{2,3})\b", _dotted),
    _Form("cudnn", _SHOWN, "libcudnn.so.", rf"libcudnn\.so\.(?P<version>{_NUMBER})\b"),
    _Form(
        "cudnn",
        _FILLED_IN,
        "cudnn",
        r"(?i)\bcudnn(?: version)?(?:\s*[:=]\s*|==?|\s{2,}|-)v?(?P<version>\d(?:\.\d{1,4}){1,3})\b",
    ),
    _Form(
        "cudnn",
        _FILLED_IN,
        "cudnn",
        r"(?i)\bCUDA ?(?:/|and|&) ?cuDNN versions?\W{0,6}(?:CUDA ?)?v?\d{1,2}\.\d{1,2}(?:\.\d+)?\W{1,4}"
        r"(?:and |cudnn ?){0,2}"
        r"v?(?P<version>\d\.\d{1,2}(?:\.\d{1,2})?)",
    ),
    _Form("cudnn", _WRITTEN, "cudnn", r"(?i)\bcuDNN(?: version)? ?v?(?P<version>\d\.\d{1,2}(?:\.\d{1,2})?)\b"),
    # the driver and the card
    _Form("driver", _SHOWN, "driver version", r"(?i)\bdriver version: *(?P<version>\d{3}\.\d{2,3}(?:\.\d{1,2})?)"),
    _Form(
        "driver", _SHOWN, "kernel", r"kernel (?:reported )?version(?: is)?:? (?P<version>\d{3}\.\d{1,3}(?:\.\d{1,2})?)"
    ),
    _Form("driver", _SHOWN, "kernel module", r"Kernel Module +(?P<version>\d{3}\.\d{2,3}(?:\.\d{1,2})?)"),
    _Form("capability", _SHOWN, "apability", r"(?i)compute ?capability:? (?P<version>\d{1,2}\.\d)\b"),
    _Form(
        "capability",
        _SHOWN,
        "major:",
        r"\bmajor: (?P<version>\d{1,2} minor: \d)\b",
        lambda text: text.replace(" minor: ", "."),
    ),
    _Form(
        "capability",
        _SHOWN,
        "sm_",
        r"(?i)with CUDA capability sm_(?P<packed>\d{2,3})\b",
        lambda text: f"{text[:-1]}.{text[-1]}",
    ),
    _Form("card", _SHOWN, "name:", rf"\bname: (?P<version>{_CARD})(?:,| computeCap| major:|$)"),
    _Form("card", _SHOWN, "nvidia-smi", rf"^\| +\d{{1,2}}  (?P<version>{_CARD}) +(?:On|Off|WDDM|TCC|\.\.\.|\|)"),
    _Form("card", _SHOWN, "gpu ", rf"^(?:\W{{0,3}})GPU \d{{1,2}}: (?P<version>{_CARD})(?: \(UUID|$)"),
    _Form("card", _SHOWN, "with cuda capability", rf"(?:^|: )(?P<version>{_CARD}) with CUDA capability"),
    _Form(
        "card",
        _FILLED_IN,
        "gpu model",
        rf"(?i:GPU models?(?: and (?:memory|configuration))?)\W{{0,6}}(?P<version>{_CARD})(?:,| \d+ ?[Gg]| \(|\W*$)",
    ),
    _Form(
        "card",
        _WRITTEN,
        "tx ",
        r"\b(?P<version>(?:NVIDIA |GeForce |NVIDIA GeForce )?[GR]TX ?(?:A?\d{4}|\d{3})(?: ?(?:Ti|SUPER|Super))?)\b",
    ),
    # the machine
    _Form("compiler", _SHOWN, "[", r"\[(?P<version>(?:GCC|Clang) \d+\.[\d.]*\d|MSC v\.\d{4} \d\d bit)"),
    _Form(
        "compiler",
        _FILLED_IN,
        "compiler version",
        r"(?i)GCC/compiler version[^:\n]{0,40}:\W{0,4}(?:gcc ?)?(?P<version>\d+\.[\d.]*\d)",
    ),
    _Form("cpu", _SHOWN, "model name", r"(?i)^model name\s*:\s+(?P<version>[^\n]{4,80}?)\s*$"),
    _Form(
        "system version",
        _FILLED_IN,
        "",
        r"\b(?P<version>(?:Ubuntu|Debian|CentOS|Fedora|Windows|macOS|Mac OS X|RHEL|Rocky Linux|Arch Linux)"
        r"(?: GNU/Linux| Linux)?(?: release)? \d{1,2}(?:\.\d{1,2}){0,2})\b",
    ),
)
# Where packages stand with their versions.
_LISTED: tuple[tuple[int, str, str], ...] = (
    (_SHOWN, "-info", rf"[/\\](?P<name>{_PACKAGE})-{_VERSION}(?:-py\d[\d.]*)?\.(?:dist|egg)-info"),
    (
        _SHOWN,
        "",
        rf"(?i)^\W{{0,3}}(?P<name>{_PACKAGE})[ \t]{{2,60}}{_VERSION}(?:[ \t]+[\w.]+(?:[ \t]+[\w/.-]+)?)?[ \t]*\|?$",
    ),
    (_SHOWN, "] ", rf"^\[(?:pip3?|conda)\] (?P<name>{_PACKAGE})(?:==|\s+){_VERSION}"),
    (_SHOWN, ":", rf"^(?P<name>jax|jaxlib|numpy):\s{{2,8}}{_VERSION}\s*$"),
    (_SHOWN, "name: ", rf"^Name: (?P<name>{_PACKAGE})\s{{1,2}}Version: {_VERSION}\s*$"),
    (_SHOWN, "you have", rf"(?i)\byou have (?P<name>{_PACKAGE})[ =]{{1,2}}{_VERSION}"),
    (_SHOWN, " requires ", rf"(?i)\b(?P<name>{_PACKAGE}) {_VERSION} (?:requires|has requirement) "),
    (_FILLED_IN, "==", rf"(?i)(?:^|[\s\"'`(])(?P<name>{_PACKAGE})(?:\[[\w,-]+\])?=={_VERSION}"),
    (
        _FILLED_IN,
        "version",
        rf"(?i)\b(?P<name>{_PACKAGE})(?:\.?__version__|(?:['’]s)? version)\W{{0,3}}(?:\([^)\n]{{1,60}}\))?"
        rf"[\s:=*`'\"(>]{{1,12}}v?{_VERSION}",
    ),
    (_FILLED_IN, "", rf"(?i)^\W{{0,6}}(?P<name>{_PACKAGE})\*{{0,2}}(?: ?[:=] ?| - )[`*'\"]{{0,2}}v?{_VERSION}"),
    (_FILLED_IN, ".whl", rf"(?i)\b(?P<name>{_PACKAGE})-{_VERSION}-(?:cp|py)\d[^\s]{{0,80}}\.whl"),
    (_WRITTEN, "", rf"(?i)\b(?P<name>{_PACKAGE})[ -]?v?{_VERSION}(?:[^\w.-]|\.?$|\.\s)"),
)
_INSTALLED = r"^Successfully installed (?P<all>[^\n]+)$"
# TensorFlow's own: the version of its repository and its version, as the issue form asks for them.
_GIT = rf"\bv\d\.\d{{1,2}}\.\d{{1,2}}(?:-rc\d)?-\d+-g[0-9a-f]{{7,12}}\W{{1,6}}{_VERSION}"
_SHORT = r"\b(?:TF|tf)(?: ?version)?(?:==|: ?| )?v?(?P<version>[12]\.\d{1,2}(?:\.\d{1,2})?)\b"
_ALIASES = {"tf": "tensorflow", "np": "numpy", "torch": "torch", "jax": "jax", "keras": "keras"}
_ASKED = (
    r"\b(?P<name>tf|np|torch|jax|keras|tensorflow|numpy)\.(?:__version__|version\.VERSION)\)?[^\n]{0,20}\n"
    r"(?:Out\[\d+\]: ?)?['\"]?(?P<version>\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:rc\d+)?)(?:[-.]?dev\d*)?(?:\+\w+)?['\"]?\s*$"
)
# Sentences about other machines and other times, a form's own examples, and what something asks for.
_SOFTWARE = r"(?:python|tensorflow|tf|pytorch|torch|jax|cuda|cudnn|numpy|keras)"
_NOT_HERE = (
    r"(?i)\((?:e\.?g\.?|for example|such as|i\.e\.|use command below|version)[^)\n]*\)"
    r"|\b(?:works?|worked|runs?|ran|fine|well|ok|unlike|not|downgrad\w+|upgrad\w+|switch\w*|revert\w*|previous\w*|before|"
    r"tried|try|instead of|older|newer|requires?|required|needs?|supports?|until)"
    r"(?: (?:well|fine|ok|just|only|to|in|on|under|with|for|my|the|a|an|it|this|both|at least)){0,4} "
    rf"{_SOFTWARE}(?:[ -]?(?:gpu|version))? ?(?:>=|<=|<|>|~=)? ?v?\d[\d.]*"
    rf"|\b{_SOFTWARE} ?v?\d[\d.]*(?:\+(?:[\s,)]|$)| ?(?:or (?:later|newer|above|higher)|and (?:above|newer|later)"
    r"|works|worked))"
)
# Of these a text may name several without contradicting itself.
_MANY: tuple[FactName, ...] = ("card", "capability", "cpu", "compiler", "system version", "driver")


class _Told(NamedTuple):
    trust: int
    value: str
    offset: int


def facts_of(log: Log, text: str) -> tuple[tuple[Fact, ...], tuple[tuple[str, str], ...]]:
    """The facts of a text, and the packages with their versions; `text` is what of the log is looked at."""
    lower = text.lower()
    told: dict[FactName, list[_Told]] = {}
    # Blanks of the same length keep the places of the rest.
    own = patterns.compile(_NOT_HERE).sub(lambda match: " " * len(match.group()), text)
    for form in _FORMS:
        if form.needs in lower:
            for match in patterns.compile(form.pattern).finditer(own if form.trust else text):
                groups = match.groupdict()
                value = form.read(groups.get("version") or groups.get("packed") or "")
                told.setdefault(form.fact, []).append(_Told(form.trust, value, match.start()))
    facts = [
        Fact(name, one.value, "told", log.place(one.offset) if text is log.text else None)
        for name, all_told in told.items()
        for one in (_cards(all_told) if name == "card" else (_first if name in _MANY else _agreed)(all_told))
    ]
    return tuple(facts), tuple(_packages(text, own, lower))


def _packages(text: str, own: str, lower: str) -> Iterator[tuple[str, str]]:
    found: dict[str, list[_Told]] = {}

    def note(name: str, trust: int, version: str, offset: int) -> None:
        plain = name.lower().replace("-", "_")
        found.setdefault(_NAMES.get(plain, plain).replace("_", "-"), []).append(_Told(trust, version, offset))

    for trust, needs, pattern in _LISTED:
        if needs in lower:
            for match in patterns.compile(pattern).finditer(own if trust == _WRITTEN else text):
                note(match["name"], trust, match["version"], match.start())
    if "successfully installed" in lower:
        for match in patterns.compile(_INSTALLED).finditer(text):
            for one in patterns.compile(rf"(?P<name>{_PACKAGE})-{_VERSION}(?: |$)").finditer(match["all"]):
                note(one["name"], _SHOWN, one["version"], match.start())
    if "-g" in lower:
        for match in patterns.compile(_GIT).finditer(text):
            note("tensorflow", _SHOWN, match["version"], match.start())
    if "version" in lower:
        for match in patterns.compile(_ASKED).finditer(text):
            note(_ALIASES.get(match["name"], match["name"]), _SHOWN, match["version"], match.start())
    if "tensorflow" not in found and "tf" in lower:
        for match in patterns.compile(_SHORT).finditer(own):
            note("tensorflow", _WRITTEN, match["version"], match.start())
    for name, all_told in found.items():
        for best in _agreed(all_told):
            yield name, best.value


def _cards(told: list[_Told]) -> Iterator[_Told]:
    """Every card that the best way of telling names, once."""
    best = min(one.trust for one in told)
    seen: set[str] = set()
    for one in sorted(told, key=lambda one: one.offset):
        if one.trust == best and one.value not in seen:
            seen.add(one.value)
            yield one


def _first(told: list[_Told]) -> Iterator[_Told]:
    """The first that the best way of telling names."""
    yield min(told, key=lambda one: (one.trust, one.offset))


def _agreed(told: list[_Told]) -> Iterator[_Told]:
    """What the best way of telling says, if it says one release: people who tried several leave it open.

    Another way may tell the same release more exactly.
    """
    (best,) = _first(told)
    if all(_release(one) == _release(best) for one in told if one.trust == best.trust):
        yield max(
            (one for one in told if _release(one) == _release(best)), key=lambda one: (len(one.value), -one.trust)
        )


def _release(one: _Told) -> tuple[str, ...]:
    return tuple(one.value.split("rc")[0].split(".")[:2])
