"""The sentences about an incident: which process died, of what and where, or where it hung.

Nothing is escaped here; each format does that in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from triage.chains import last_chain, nearest_own
from triage.crash import (
    FRAMEWORKS,
    Crash,
    FactName,
    Framework,
    Gap,
    Lacking,
    Language,
    Place,
    ProgramSign,
    PythonFrame,
    Thread,
    base_name,
)
from triage.frames import crash_frames, module_owner, name_of
from triage.patterns import compile as pattern
from triage.report import DIAGNOSED, NO_CRASH, UNKNOWN, Question, Report, Sign

_NATIVE_FRAMES = 3
FRAMEWORK_NAMES: Mapping[Framework, str] = {
    "tensorflow": "TensorFlow",
    "pytorch": "PyTorch",
    "jax": "JAX",
    "onnxruntime": "ONNX Runtime",
    "mxnet": "MXNet",
    "paddle": "PaddlePaddle",
    "caffe": "Caffe",
    "darknet": "Darknet",
    "theano": "Theano",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "opencv": "OpenCV",
}
_LANGUAGES: Mapping[Language, str] = {
    "python": "Python",
    "c++": "C++",
    "c": "C",
    "java": "Java",
    "dotnet": ".NET",
    "javascript": "JavaScript",
    "r": "R",
    "go": "Go",
    "rust": "Rust",
    "julia": "Julia",
    "swift": "Swift",
    "ruby": "Ruby",
    "perl": "Perl",
    "php": "PHP",
    "fortran": "Fortran",
    "haskell": "Haskell",
    "ocaml": "OCaml",
    "lua": "Lua",
    "erlang": "Erlang or Elixir",
}
_SHOWN_BY: Mapping[ProgramSign, str] = {
    "loaded": "by what was loaded",
    "native frame": "by its native stack",
    "exception": "by what it raised",
    "python frame": "by its Python stack",
    "none loaded": "and no framework was loaded",
    "log line": "by what it printed",
    "import": "by what it imports or runs",
    "mention": "by what the text mentions",
}
# The package of a framework where it has another name, and the packages that belong to one, by the first word.
_PACKAGES = {"pytorch": "torch", "paddle": "paddlepaddle", "opencv": "opencv-python"}
_PART_OF: Mapping[str, Framework] = {
    "tensorflow": "tensorflow",
    "keras": "tensorflow",
    "tf": "tensorflow",
    "tf_keras": "tensorflow",
    "tensorboard": "tensorflow",
    "torch": "pytorch",
    "torchvision": "pytorch",
    "jax": "jax",
    "jaxlib": "jax",
}
_SYSTEMS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}
# Libraries whose unloading may have to do with the crash.
_RELEVANT_LIBRARY = (
    r"(?i)^(?:cud|cub|cuf|cus|nv|zlibwapi|_?pywrap|tensorflow|python3|libiomp|libomp|vcomp|torch|c10|onnx)"
)


class HiddenLog(NamedTuple):
    """That TensorFlow's own log, which often decides, was hidden; and the command that shows it."""

    sentence: str
    command: str


def reliability(report: Report) -> str:
    """How often answers this sure were right; empty if nobody has measured it."""
    held = report.reliability
    if held is None:
        return ""
    return f"{held.right} of {held.cases} answers this sure were right on unseen reports ({held.measured})"


def not_read(crash: Crash) -> list[str]:
    """How much of each text was not read."""
    return [
        f"{entry.left_out.label} of {entry.name}, so no cause can count as found; analyze the part around the failure "
        "on its own"
        for entry in crash.partly_read
        if entry.left_out
    ]


def unseen(report: Report) -> tuple[Gap, ...]:
    """What the inputs do not show; which part of them was not read is in `not_read`."""
    return tuple(gap for gap in report.crash.gaps if gap.why != "left-out")


# What only a process that was killed or crashed could show.
_OF_A_DEATH: frozenset[Lacking] = frozenset(("exit status", "native stack", "Python stack", "memory"))


def missed(report: Report) -> tuple[Gap, ...]:
    """What the inputs do not show and a person would miss.

    An exception that is explained needs no exit status and no native stack; and where even the end is missing, asking
    for that asks for everything else.
    """
    gaps = unseen(report)
    explained = report.verdict == DIAGNOSED and only_raised(report.crash)
    if explained or any(gap.what == "end" for gap in gaps):
        return tuple(gap for gap in gaps if gap.what not in _OF_A_DEATH)
    return gaps


def hidden_log(report: Report) -> HiddenLog | None:
    """The hidden log; None if nothing was hidden, or if a line that was printed has decided the case."""
    crash = report.crash
    command = crash.run_with_log
    if report.verdict == NO_CRASH or command is None or not crash.environment.hidden_log:
        return None
    if report.verdict == DIAGNOSED and any(e.place and e.place.line for e in report.diagnoses[0].because):
        return None
    sentence = f"run it again with TensorFlow's own log, which was hidden ({crash.environment.hidden_log}):"
    return HiddenLog(sentence, command.line(crash.environment.os))


def questions(report: Report) -> tuple[Question, ...]:
    """What to find out next; if the report begins with the hidden log, it is not asked for again."""
    is_asked = hidden_log(report) is not None
    return tuple(question for question in report.next if not (is_asked and question.answers == "hidden log"))


def died(crash: Crash) -> str | None:
    """Which process died, of what, and at which line; None if nothing shows that one died, or if it hung."""
    frame = _own_frame(crash)
    at = f" at {_line(frame)}" if frame else ""
    if crash.hung:
        return None
    if crash.exit and crash.exit.is_failure:
        return _who(crash) + crash.exit.label + at
    chain = last_chain(crash)
    return chain.root.short_type + at if chain and not _ended_by_a_check(crash) else None


def _ended_by_a_check(crash: Crash) -> bool:
    """Whether a fatal line ended it, and the exceptions were only printed or stand above."""
    fatal = [record.offset for record in crash.records if record.severity == "F"]
    only_printed = not any(error.frames for error in crash.exceptions)
    return bool(fatal) and (only_printed or fatal[-1] > max(error.offset for error in crash.exceptions))


def raised(crash: Crash) -> list[str]:
    """What went wrong first, in its own words, and what it became on the way out."""
    chain = last_chain(crash)
    if chain is None:
        return []
    said = f"{chain.root.short_type}: {chain.root.gist}" if chain.root.gist else chain.root.short_type
    # Without a message the type is all there is, and the row above may have said it.
    is_told = not chain.root.gist and not (crash.exit and crash.exit.is_failure)
    sentences = [] if is_told else [said]
    if chain.members > 1:
        sentences.append(f"the first of {chain.members} exceptions that were raised together")
    if chain.failed_tests:
        sentences.append(f"the first of {chain.failed_tests} failures")
    if chain.wrapper is not None:
        own = nearest_own(chain.wrapper.frames)
        at = f", at {_line(own)}" if own and own != _own_frame(crash) else ""
        said = f": {chain.wrapper.gist}" if chain.wrapper.gist else ""
        sentences.append(f"it ended as {chain.wrapper.short_type}{said}{at}")
    return sentences


def outlived(report: Report) -> str | None:
    """What ended a thread or a task of a program that itself ended with 0."""
    chain = last_chain(report.crash)
    if chain is None or not any(ground.sign == "exit 0" for ground in report.outcome.because):
        return None
    frame = _own_frame(report.crash)
    at = f" at {_line(frame)}" if frame else ""
    return chain.root.short_type + at + (f": {chain.root.gist}" if chain.root.gist else "")


def only_raised(crash: Crash) -> bool:
    """Whether an exception is all that ended it: no signal, no crashed thread, no hang."""
    by_itself = crash.exit is None or not crash.exit.is_death
    crashed = any(thread.crashed for thread in crash.threads)
    return last_chain(crash) is not None and by_itself and not crashed and not crash.hung


def raised_by_own_line(crash: Crash) -> bool:
    """Whether the exception came through a line of the person's own code, which the report names."""
    chain = last_chain(crash)
    return chain is not None and any(nearest_own(error.frames) for error in chain.links[chain.at :])


def chose_to_end(report: Report) -> bool:
    """Whether it ended with a code of its own choice, and nothing tells more: no exception, no cause, no crash."""
    crash = report.crash
    others = report.other_crashes or report.nearest or report.ruled_out or crash.partly_read
    return report.verdict == UNKNOWN and crash.chose_its_code and not others and len(crash.processes) < 2


# In which words a report says what its answer to "did anything die" rests on.
_SIGN_WORDS: Mapping[Sign, str] = {
    "crashed thread": "a thread crashed",
    "fatal line": "a fatal line",
    "killed for memory": "killed for memory",
    "last words": "the last words of its runtime",
    "sanitizer": "a sanitizer's report",
    "launcher": "what started it says so",
    "person": "a person says so",
    "hang": "it is said to stand still",
    "exception": "an exception",
}


def ended(report: Report) -> str | None:
    """How it ended, where no status, exception or timeout says it: by whose words, or that it is not told."""
    outcome, crash = report.outcome, report.crash
    if outcome.end == "not-told":
        if report.verdict == NO_CRASH or crash.rerun or not crash.logs:
            return None
        return "not told here; the last 30 lines, the exit code or a run under triage run would tell"
    if outcome.end == "lived" or crash.hung or died(crash) is not None:
        return None
    told = next((ground for ground in outcome.because if ground.sign in _SIGN_WORDS), None)
    if told is None:
        return None
    where = f" (line {told.place.line})" if told.place and told.place.line else ""
    return f"{'hung' if outcome.end == 'hung' else 'died'}: {_SIGN_WORDS[told.sign]}{where}"


def reaction(crash: Crash) -> str | None:
    """What the program did after one of its processes had died."""
    if not crash.processes or crash.processes[crash.primary].role == "main" or crash.hung:
        return None
    main = next((process for process in crash.processes if process.role == "main"), None)
    if main is None or main.exit is None:
        return None
    if main.exit.kind == "timeout":
        return f"the program kept waiting: {main.exit.meaning}"
    ended = main.exit.label if main.exit.is_failure else "exit 0, as if nothing had happened"
    return f"the program itself ended with {ended}"


def hung(crash: Crash) -> list[str]:
    """How long a hanging program ran, and where each of its processes was blocked, the primary one first."""
    if not crash.hung:
        return []
    sentences = [process.exit.meaning for process in crash.processes[:1] if process.exit]
    blocked = [
        (process, thread) for process in crash.processes if (thread := _main_thread(process.threads)) is not None
    ]
    blocked.sort(key=lambda pair: pair[0] is not crash.processes[crash.primary])
    for process, thread in blocked:
        frame = _nearest(thread.python_stack)
        at = _line(frame) if frame else "no Python frame"
        inside = f", in {name_of(thread.native_stack[0])}" if thread.native_stack else ""
        sentences.append(f"{process.role} {process.pid}: {at}{inside}")
    return sentences


def native_frames(crash: Crash) -> str | None:
    """The innermost native functions of the thread that crashed."""
    thread = _native_thread(crash)
    if thread is None:
        return None
    shown = [frame for frame in crash_frames(thread.native_stack) if frame.trust != "omitted"]
    return " < ".join(map(name_of, shown[:_NATIVE_FRAMES]))


def own_source(crash: Crash) -> str | None:
    """The innermost source line outside the C library and Python: mostly the user's own native code."""
    thread = _native_thread(crash)
    for frame in thread.native_stack if thread else ():
        if frame.source and frame.module and module_owner(frame.module) not in ("system", "python"):
            return frame.source
    return None


def fault(crash: Crash) -> str | None:
    """What the processor could not do."""
    found = crash.processes[crash.primary].fault if crash.processes else None
    if found is None:
        return None
    touched = f"{found.access or 'access'} of address 0x{found.address:x}" if found.address is not None else ""
    instruction = " ".join((found.instruction or "").split())
    what = " by ".join(part for part in (touched, instruction) if part)
    return ": ".join(part for part in (what, found.says) if part) or None


def fast_fail(crash: Crash) -> str | None:
    """What the subcode of a fast fail says, which the name of 0xC0000409 does not."""
    status = crash.exit
    if status is None or status.subcode is None:
        return None
    return f"subcode {status.subcode} ({status.subcode_name or 'unnamed'}): {status.meaning}"


def faulting_module(crash: Crash) -> str | None:
    """The module in which a dump has the crash, with its version, and the name of the thread."""
    process = crash.processes[crash.primary] if crash.processes else None
    if process is None or process.faulting_module is None:
        return None
    name = process.faulting_module
    # Signatures know cuDNN by one name, whatever its file is called.
    called = {name.lower(), "cudnn"} if name.lower().startswith("cudnn64_") else {name.lower()}
    version = next((one.version for one in crash.environment.libraries if one.name.lower() in called), None)
    thread = next((thread.name for thread in process.threads if thread.crashed and thread.name), None)
    return f"faulting module {name}" + (f" {version}" if version else "") + (f", thread {thread}" if thread else "")


def seen_on_stack(crash: Crash) -> str | None:
    """Modules with addresses on the stack of the crashed thread; that does not make them callers."""
    thread = next((thread for thread in crash.threads if thread.crashed and thread.seen_modules), None)
    if thread is None:
        return None
    return f"modules seen on the stack (not all of them were called): {', '.join(thread.seen_modules)}"


def odd(crash: Crash) -> tuple[str, ...]:
    """What in a dump does not fit together, and relevant libraries that were unloaded before the crash."""
    dump = crash.processes[crash.primary].dump if crash.processes else None
    if dump is None:
        return ()
    gone = [library.name for library in dump.unloaded if pattern(_RELEVANT_LIBRARY).search(library.name)]
    unloaded = (f"unloaded before the end: {', '.join(dict.fromkeys(gone))}",) if gone else ()
    return dump.contradictions + unloaded


def system(crash: Crash) -> str | None:
    """Which system it was, with its release or build if that is known."""
    environment = crash.environment
    name = _SYSTEMS.get(environment.os or "", environment.os)
    release = environment.fact("system version")
    if name and release and (environment.os == "linux") != release.startswith(("Windows", "mac", "Mac")):
        name = release if release.startswith(name) or environment.os == "linux" else name
    if environment.os == "linux" and (inside := environment.fact("container")) and inside.startswith("WSL"):
        name = f"Linux in {inside}"
    return " ".join(filter(None, (name, environment.os_version, environment.architecture))) or None


def program(crash: Crash) -> str | None:
    """Which language and framework it was, and by what that shows."""
    known = crash.program
    if known is None:
        return None
    *_, last = known.because
    language = _LANGUAGES[known.language] if known.language else "a program"
    framework = f" with {FRAMEWORK_NAMES[known.framework]}" if known.framework else ""
    return f"{language}{framework}, {_SHOWN_BY[last.kind]}"


_OF_CARDS: tuple[tuple[str, FactName], ...] = (("driver", "driver"), ("CUDA", "cuda"), ("cuDNN", "cudnn"))


def program_place(crash: Crash) -> Place | None:
    """Where it shows which program it was."""
    return crash.program.because[-1].place if crash.program else None


def framework(crash: Crash) -> str | None:
    """The framework with its version; one that is installed but was not in the process has nothing to do with it.

    Where a text shows a program with several, all that it tells the version of.
    """
    name = crash.program.framework if crash.program else None
    names = (name,) if name else FRAMEWORKS if _imports_several(crash) else ()
    versions = ((name, crash.environment.package(_PACKAGES.get(name, name))) for name in names)
    return ", ".join(f"{FRAMEWORK_NAMES[name]} {version}" for name, version in versions if version) or None


def _imports_several(crash: Crash) -> bool:
    """Whether the text shows a program that imports several frameworks, so that it is not known to be one's own."""
    imported = {_PART_OF.get(module) for one in crash.imports for module in one.modules}
    return len(imported - {None}) > 1


def other_packages(crash: Crash) -> list[str]:
    """The other packages with their versions; those of a framework only where it was in the process."""
    name = crash.program.framework if crash.program else None
    return [
        f"{package} {version}"
        for package, version in crash.environment.packages
        if package != _PACKAGES.get(name or "", name) and _PART_OF.get(package.split("-")[0], name) in (name, None)
    ]


def hardware(crash: Crash) -> str | None:
    """The card with what it needs, as far as it is known: `RTX 3080, driver 470.57, CUDA 11.2, cuDNN 8.1`."""
    environment = crash.environment
    shown = [f"{name} {value}" for name, fact in _OF_CARDS if (value := environment.fact(fact))]
    if built := environment.fact("cuda built"):
        shown.append(f"built for CUDA {built}")
    return ", ".join((*environment.gpus, *shown)) or None


def python(crash: Crash) -> str | None:
    """Which Python it was, and its path."""
    environment = crash.environment
    where = f" ({environment.interpreter})" if environment.interpreter else ""
    return f"Python {environment.python}{where}" if environment.python else None


def _who(crash: Crash) -> str:
    """Which process died, if it was not the program itself."""
    process = crash.processes[crash.primary]
    if process.role == "main":
        return ""
    number = f" {process.pid}" if process.pid else ""
    return f"{process.role}{number}: "


def _line(frame: PythonFrame) -> str:
    line = "" if frame.line is None else f":{frame.line}"
    function = f" in {frame.function}" if frame.function else ""
    return f"{base_name(frame.file)}{line}{function}"


def _native_thread(crash: Crash) -> Thread | None:
    return next((thread for thread in crash.threads if thread.crashed and thread.native_stack), None)


def _main_thread(threads: Sequence[Thread]) -> Thread | None:
    """The thread that runs the script, else one that runs Python, else any."""
    running = [thread for thread in threads if thread.python_stack]
    started = (thread for thread in running if thread.python_stack[-1].function == "<module>")
    return next(started, next(iter((*running, *threads)), None))


def _own_frame(crash: Crash) -> PythonFrame | None:
    """The innermost frame of the user's own code on the first stack, else its innermost frame.

    Of linked exceptions the root decides; where it was raised among frames of a package alone, the one that it became.
    """
    for thread in crash.threads:
        # Beside an exception the stack of a thread that did not crash is that of something else.
        if thread.python_stack and (thread.crashed or crash.hung or not crash.exceptions):
            return _nearest(thread.python_stack)
    chain = last_chain(crash)
    stacks = [error.frames for error in chain.links[chain.at :]] if chain else []
    stacks += [error.frames for error in reversed(crash.exceptions)]
    own = (frame for stack in stacks if (frame := nearest_own(stack)))
    return next(own, next((stack[0] for stack in stacks if stack), None))


def _nearest(stack: Sequence[PythonFrame]) -> PythonFrame | None:
    """The innermost frame of the user's own code, else the innermost of all."""
    return nearest_own(stack) or (stack[0] if stack else None)
