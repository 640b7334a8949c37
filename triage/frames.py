"""The one place that knows frames: what a function is called, whose a frame is, and which frames are machinery.

All of it is decided by names and paths alone, of any system, not just the one we run on. So one crash has one name for
its stack, whether it was seen live, in a core, in a dump or in a debugger's text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal, NamedTuple

from triage.crash import Crash, NativeFrame, PythonFrame, Thread, base_name
from triage.patterns import compile as pattern

# Whose a file is: the person's, an installed package's, Python's, the system's, or generated while the program ran.
Owner = Literal["own", "package", "python", "system", "generated"]
# What a function does that is not the program's own work: entering a signal handler, sending the signal, ending the
# process, reporting that; starting a program or a thread; evaluating Python code and calling functions.
FrameRole = Literal["handling", "sending", "ending", "reporting", "starting", "evaluating", "calling"]

# ---------------------------------------------------------------- what a function is called

# What compilers append to the name of a copy or a part of a function, perhaps followed by a number.
_COPIES = (".part", ".isra", ".constprop", ".cold", ".lto_priv", ".llvm", ".resolver", ".localalias", ".clone")
_INLINED = "(inlined)"
_CLONE = "[clone "
# The version of a symbol, after one @ or two: GLIBC_2.2.5
_VERSION = r"^[A-Z]\w*(?:\.[._\d]*)?$"
_NUMBERED = r"\.\d"
_ALIAS = r"^__GI_+"
# The C library's own names for its allocator.
_ALLOCATOR = r"^_*libc_(malloc|calloc|realloc|free|memalign)$"
_STANDARDS = r"\[abi:\w+\]"
_COUNT = r"#\d+\}"
_RUST_HASH = r"::h[0-9a-f]{16}$"
_OBJECTIVE_C = r"^(?:__\d+)?[-+]\["
# How Windows' debuggers write a function: ntdll!RtlUserThreadStart+0x21
_MODULE = r"^[A-Za-z_][\w.-]*!"
_OFFSET = r"\+0x[0-9a-fA-F]+$"
# A name as Microsoft's compiler writes it, without templates: ?Compute@Op@tensorflow@@ and its arguments.
_MICROSOFT = r"^\?(?P<special>\?[01])?(?P<scopes>[A-Za-z_]\w*(?:@[A-Za-z_]\w*)*)@@"
# The longer ones first, because the first match counts.
_OPERATORS = tuple(
    f"operator{sign}" for sign in ("()", "<=>", "->*", "->", "<<=", ">>=", "<<", ">>", "<=", ">=", "<", ">")
)
_ANONYMOUS = ("(anonymous namespace)", "`anonymous namespace'", "`anonymous-namespace'", "{anonymous}")
_LAMBDAS = ("<lambda", "'lambda")
_RECEIVER = "(*"
_BLOCK = "invocation function for block in "
_LONGEST = 2048


@lru_cache(maxsize=8192)  # every thread of a pool has the same frames
def function_name(symbol: str) -> str:
    """A function's name for people, without its arguments: `tensorflow::MklMaxPoolingOp::Compute`."""
    bare = _encodable(symbol[:_LONGEST]).strip()
    if microsoft := pattern(_MICROSOFT).match(bare):
        return _microsoft_name(microsoft["special"], microsoft["scopes"])
    bare = _without_suffixes(pattern(_OFFSET).sub("", pattern(_MODULE).sub("", bare)))
    if pattern(_OBJECTIVE_C).match(bare):  # its spaces and brackets are the name
        return bare
    if not bare.startswith("_Z"):  # a mangled name has dots and digits of its own
        bare = pattern(_ALLOCATOR).sub(r"\1", pattern(_RUST_HASH).sub("", pattern(_ALIAS).sub("", bare)))
    name = _without_return_type(_without_arguments(_without_trait(bare)))
    return name or bare or symbol


def name_of(frame: NativeFrame) -> str:
    """The function's name, or the module with the offset: every frame has a name."""
    if frame.function and frame.trust == "omitted":  # a count of frames
        return frame.function
    if frame.function:
        return function_name(frame.function)
    module = base_name(frame.module or "unknown module")
    return f"{module}+0x{frame.offset:x}" if frame.offset is not None else module


def _library_name(frame: NativeFrame) -> str:
    """A nameless frame by its library; on Linux without version and offset, because a loaded name may be a link."""
    stem, shared, _ = base_name(frame.module or "").partition(".so")
    return stem.split(".cpython-")[0] if stem and shared else name_of(frame)


def is_inlined(symbol: str) -> bool:
    """Whether a collector has marked the function as inlined."""
    return symbol.endswith(_INLINED)


def _encodable(text: str) -> str:
    """The text as the pattern engine takes it: names on Linux may contain bytes that are not characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _microsoft_name(special: str | None, scopes: str) -> str:
    parts = scopes.split("@")[::-1]
    return "::".join([*parts, ("~" if special == "?1" else "") + parts[-1]] if special else parts)


def _without_suffixes(name: str) -> str:
    """The name without what compilers and linkers append to it, one piece after the other from the end."""
    while (shorter := _without_suffix(name)) != name:
        name = shorter
    return name


def _without_suffix(name: str) -> str:
    if name.endswith(_INLINED):
        return name.removesuffix(_INLINED).rstrip()
    if name.endswith("]"):
        begin = name.find(_CLONE, name.rfind("]", 0, -1) + 1)
        return name[:begin].rstrip() if begin >= 0 else name
    plain = name.rstrip(".0123456789")
    number = name[len(plain) :]
    if plain.endswith(_COPIES) and number[:1] in ("", "."):
        return plain[: plain.rindex(".")]
    at = name.rfind("@")
    if at >= 0 and pattern(_VERSION).match(name[at + 1 :]):
        return name[:at].removesuffix("@")
    numbered = pattern(_NUMBERED).search(number)
    return plain + number[: numbered.start()] if numbered else name


def _without_trait(name: str) -> str:
    """Rust's `<Vec<T> as Drop>::drop` is the drop of Vec."""
    if not name.startswith("<"):
        return name
    depth, type_end = 0, None
    for position, character in enumerate(name):
        depth += (character == "<") - (character == ">" and name[position - 1] != "-")
        if depth == 1 and name.startswith(" as ", position):
            type_end = position
        elif depth == 0:
            return name[1:type_end] + name[position + 1 :] if type_end else name
    return name


def _without_arguments(name: str) -> str:
    """The name without everything inside its outermost brackets, except those that are part of an operator's name."""
    kept: list[str] = []
    depth = position = 0
    while position < len(name):
        whole, instead = _whole(name, position)
        if whole:
            kept.append("" if depth else instead)
            position += len(whole)
            # the rest of a lambda is its arguments, up to the closing bracket
            depth += whole == _LAMBDAS[0]
            continue
        character = name[position]
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= depth > 0
        elif not depth:
            kept.append(character)
        position += 1
    text = pattern(_STANDARDS).sub("", "".join(kept))
    return pattern(_COUNT).sub("}", text).strip()


def _whole(name: str, position: int) -> tuple[str, str]:
    """A part that starts here and has a meaning as a whole, and how people write it."""
    if name[position] not in "(`{<'o":
        return "", ""
    for text in _ANONYMOUS:
        if name.startswith(text, position):
            return text, "{anonymous}"
    for text in _OPERATORS:
        if name.startswith(text, position):
            return text, text
    if name.startswith(_RECEIVER, position):  # Go's `(*Rule).option`
        end = name.find(").", position)
        if name[position + len(_RECEIVER) : end].isidentifier():
            return name[position : end + 1], name[position : end + 1]
    if name.startswith(_LAMBDAS[0], position):
        return _LAMBDAS[0], "{lambda}"
    if name.startswith(_LAMBDAS[1], position):
        end = name.find("'", position + 1)
        return name[position : end + 1], "{lambda}"
    return "", ""


def _without_return_type(name: str) -> str:
    """Templates are printed with their return type; the name is the last word, except in `operator new` and such."""
    if "`" in name:  # Microsoft's `scalar deleting destructor' and the like are names of several words
        return name
    if name.startswith(_BLOCK):
        return name
    words = name.removesuffix("const").rstrip(" &").split(" ")
    for number, word in enumerate(words):
        if word == "operator" or word.endswith("::operator"):
            return " ".join(words[number:])
    return words[-1]


# ---------------------------------------------------------------- whose a frame is

_PACKAGES = r"(?i)/(?:site|dist)-packages/|\.egg/"
# The standard library: lib/python3.11, but not a person's folder called lib/python_tools.
_PYTHON_FOLDER = r"(?i)(?:^|/)lib(?:32|64)?/(?:python|pypy)\d\.\d+t?(?:\.zip)?/"
_GENERATED = r"__autograph_generated|^<(?:__array_function__|decorator-gen|attrs generated)"
_SYSTEM_SCRIPTS = r"^/usr/(?:local/)?(?:lib(?:32|64|exec)?|share|s?bin)/"
_WINDOWS = r"^(?://\?/)?[A-Za-z]:/"
# On Windows the standard library is a folder called lib, and many projects have one too. The folder around it or the
# module inside it shows which one it is.
_WINDOWS_LIBRARY = r"(?i)(?:^|/)lib/(?P<module>\w+)"
_WINDOWS_PYTHON = (
    r"(?i)/(?:python-?\d[\w.-]*|c?python-\d[\w.-]*|pythonsoftwarefoundation\.[^/]+|[^/]*(?:conda|miniforge|mamba)[^/]*"
    r"|envs/[^/]+|versions/\d[^/]*|python/\d[^/]*/x(?:64|86)|pypy\d[^/]*)/lib/"
)
# Modules that older Pythons had and ours may not have.
_FORMER_MODULES = frozenset(("distutils", "imp", "asyncore", "asynchat", "smtpd", "lib2to3", "cgi", "pipes", "parser"))

_MADE_IN_MEMORY = ("/dev/zero", "/memfd:", "/anon_hugepage", "//anon")
_PYTHON_FILE = r"(?i)^(?:lib|vrt)?python(?:w|\d(?:\.?\d+)?)?(?:[td]|_d)?(?:\.exe$|\.dll$|\.so|\.dylib|$)"
_PYTHON_MODULE = r"(?i)/lib-dynload/|/DLLs/[^/]+$"
_EXTENSION = r"^(?P<module>\w+)\.(?:cpython-\w|cp\d+-|pyd$)"
_SYSTEM_FOLDERS = (
    r"(?i)^(?://\?/)?[A-Z]:/(?:windows|winnt)/|^/SystemRoot/|^/(?:lib|lib32|lib64|opt|snap|nix|system|library)/"
    r"|^/usr/(?:[^s/]|s[^r/]|sr[^c/]|src[^/])|^\["
)
# Where installers put things in a person's own folders.
_INSTALLED = (
    r"(?i)^[A-Z]:/Program Files(?: \(x86\))?/|/Library/(?:bin|mingw\w*)/|/\.?pyenv/versions/|/\.pixi/envs/"
    r"|/uv/(?:python|tools|archive-v\d+)/|/(?:[^/]*(?:anaconda|miniconda|microconda|miniforge|mamba)[^/]*|conda\d*)/"
)
# Libraries of others that people copy anywhere.
_OF_OTHERS = (
    r"(?i)^(?:lib)?(?:cu(?:dnn|blas|fft|rand|solver|sparse|pti|dart)|cuda\.|iomp|omp\d*\.|omp\d*md|vcomp|mkl_|zlib|_pywrap_"
    r"|nv(?:cuda|ml|rtc|tools|infer|onnx|api|jpeg|jit|blas|enc|wgf|load|umd|d3d|og|insp|fat|perf|ptx|gpu|vm|inject))"
    r"|^_pywrap_"
)
# Cython names its sources as they lay where the package was built.
_CYTHON = r"^[^/].*\.p(?:yx|xi|xd)$"
# The machinery that raises, reports and ends; the mistake is in whatever called it.
_MACHINERY_FILE = (
    r"(?i)^(?:ntdll|kernelbase|kernel32|ucrtbased?|msvcrt|vcruntime\d\w*|msvcp\d\w*|msvcr\d\w*|concrt\d+|wow64\w*|"
    r"wer\w*|dbghelp|dbgcore|faultrep|verifier)\.dll$"
    r"|^(?:libc|libpthread|ld|linux-gate|linux-vdso|libstdc\+\+|libgcc_s)\b.*\.so|^libsystem_\w+\.dylib$|^libc\+\+"
)
_SYSTEM_FILE = r"^(?:lib(?:c|m|dl|rt|pthread|stdc\+\+|gcc_s|ffi)[-.\d]|ld[-.]|linux-(?:gate|vdso)|\[)"
_RUNTIME = r"^(?:libc|libstdc\+\+)[-.\d]"
_INTERPRETER = r"^(?:libpython\d|python\d*(?:\.\d+)*[a-z]*$)"
# Where source files were when others built what is installed here.
_BUILT_ELSEWHERE = (
    r"(?i)^[^/]|^/(?:build|builddir|croot|io|rustc|buildroot)/|^/(?:usr|lib|opt|nix|snap|system|library)/|^/dt\d*-src/"
    r"|/proc/self/cwd/|/_?bazel[^/]*/|/execroot/|/(?:feedstock_root|conda-bld)/|/Python-\d|/cpython[^/]*/|/c\+\+/"
    r"|/tmp/(?:pip-|python-build|build)"
)


def file_owner(path: str) -> Owner:
    """Whose a Python file is."""
    file = _encodable(path).replace("\\", "/")
    if file.startswith("<frozen"):
        return "python"
    if pattern(_GENERATED).search(file):
        return "generated"
    if pattern(_PACKAGES).search(f"/{file}") or pattern(_CYTHON).match(file):
        return "package"
    if pattern(_PYTHON_FOLDER).search(file) or _is_in_windows_library(path, file):
        return "python"
    return "system" if pattern(_SYSTEM_SCRIPTS).match(file) else "own"


def is_own(frame: PythonFrame) -> bool:
    """Whether a frame belongs to the program itself, not to an installed package, Python or generated code."""
    return file_owner(frame.file) == "own"


def _is_in_windows_library(path: str, file: str) -> bool:
    if pattern(_WINDOWS_PYTHON).search(f"/{file}"):
        return True
    if "\\" not in path and not pattern(_WINDOWS).match(file):
        return False
    names = [match["module"] for match in pattern(_WINDOWS_LIBRARY).finditer(file)]
    return any(name in sys.stdlib_module_names or name in _FORMER_MODULES for name in names)


def module_owner(path: str) -> Owner:
    """Whose a native library or program is; without a folder, any but the well-known ones count as the person's."""
    file = _encodable(path).replace("\\", "/").removesuffix(" (deleted)")
    name = base_name(file)
    if file.startswith(_MADE_IN_MEMORY):
        return "generated"
    if pattern(_PACKAGES).search(file):
        return "package"
    in_python = pattern(_PYTHON_MODULE).search(file) or pattern(_PYTHON_FOLDER).search(file)
    if in_python or pattern(_PYTHON_FILE).match(name):
        return "python"
    if pattern(_SYSTEM_FOLDERS).search(file) or pattern(_SYSTEM_FILE).match(name) or is_machinery_module(name):
        return "system"
    if pattern(_INSTALLED).search(file) or pattern(_OF_OTHERS).match(name):
        return "package"
    extension = pattern(_EXTENSION).match(name)
    return "python" if extension and "/" not in file and extension["module"] in sys.stdlib_module_names else "own"


def source_is_own(path: str) -> bool:
    """Whether a source file in debug information is in a place where people work, not where others build."""
    return not pattern(_BUILT_ELSEWHERE).search(_encodable(path))


def is_machinery_module(name: str) -> bool:
    """Whether a module only raises, reports or ends what others have done."""
    return pattern(_MACHINERY_FILE).match(_encodable(base_name(name))) is not None


def is_interpreter(module: str | None) -> bool:
    """Whether a module is Python itself: its library, or a program that contains it."""
    return pattern(_INTERPRETER).match(_encodable(base_name(module or ""))) is not None


def _is_runtime(module: str | None) -> bool:
    """Whether a module is the C or C++ library, whose local functions have no names where it is stripped."""
    return pattern(_RUNTIME).match(_encodable(base_name(module or ""))) is not None


# ---------------------------------------------------------------- which frames are machinery

_HANDLING = (
    r"^(?:__restore(?:_rt)?|<signal handler called>|__kernel_rt_sigreturn|_*sigtramp|KiUserExceptionDispatch(?:er)?)$"
)
_SENDING = r"^_*(?:GI_+)?(?:raise|gsignal|t?g?kill|pthread_kill(?:_implementation|_internal)?)(?:64)?$"
_ABORT = r"^_*(?:GI_+)?abort$"
# Between a failed check, an assertion or a throw and the abort that ends it.
_REPORTING = (
    r"^std::(?:terminate|rethrow_exception|__throw_\w+)$|^__cxxabiv1::|^_*cxa_(?:re)?throw$|verbose_terminate_handler"
    r"|^_*(?:GI_+)?(?:malloc_printerr|libc_message(?:_impl|_wrapper)?|libc_fatal|fortify_fail\w*"
    r"|assert(?:_perror)?_fail(?:_base)?)$|StacktraceHandler|^_?faulthandler_"
    r"|^_?CxxThrowException$|^(?:Rtl)?RaiseException$"
)
# The same of others: the sanitizers' own functions and interceptors, fuzzers, test frameworks, Chromium and V8, GLib,
# the panics of Rust and Go.
_REPORTING_OF_OTHERS = (
    r"^_*(?:interceptor|asan|hwasan|msan|tsan|ubsan|lsan|sanitizer|cfi|wrap)_|^_*(?:asan|hwasan|sanitizer|gwp_asan)::"
    r"|^(?:fuzzer|fuzztest::internal|testing::internal|testing::UnitTest|honggfuzz)::|^HF_|^libfuzzer_sys::"
    r"|^base::debug::|^(?:logging|google)::\w*(?:LogMessage\w*::|CheckError|NotReached|CheckFail|RawLog)|^logging::Handle"
    r"|^V8_(?:Fatal|Dcheck|\w*Abort)|^v8::base::(?:OS::Abort|FatalOOM|FatalDCheck|Fatal|debug::|\w*Dcheck)"
    r"|^v8::(?:internal::)?(?:V8::FatalProcessOutOfMemory|PrintStackTrace)|Runtime_Abort|^WTFCrash|^WTF::\w*Crash"
    r"|^g_(?:assertion_message\w*|assert_warning|logv?|log_\w+|error)$|^abort_message$|^__libcpp_verbose_abort"
    r"|terminate_handler|^std::__terminate|^demangling_|^(?:std|core)::panicking::|^rust_(?:begin_unwind|panic)|panic_abort::"
    r"|^_*rust_start_panic|^std::(?:process::abort|sys(?:_common)?::|backtrace|rt::)|^core::(?:result|option)::\w+_failed"
    r"|^runtime\.(?:raise|gopanic|panic\w*|sigpanic|dieFromSignal|crash|fatal\w*|goPanic\w*|throw|sigfwd\w*|sighandler"
    r"|sigtrampgo|systemstack|printpanics|preprintpanics|addOneOpenDeferFrame|recovery|goexit)\b|^panic$|^log\.Panic"
)
# Only the reporting function shows that the heap is damaged.
_REASONS = ("malloc_printerr",)
_REPORTING_DEPTH = 24
_LOGGING = ("log_internal", "internal", "google", "logging_internal")
_STARTING = (
    r"^_*(?:start|libc_start_(?:call_)?main(?:_impl)?|clone3?|start_thread|thread_start|main_thread|pthread_start)$"
    r"|^std::thread::_(?:State_impl|Invoker)::|^(?:std::)?execute_native_thread_routine$"
    r"|^(?:RtlUserThreadStart|BaseThreadInitThunk|__scrt_common_main_seh|invoke_main)$"
)
_EVALUATION = r"^_?PyEval_(?:EvalFrame|EvalCode|Vector)|^_PyEval_|^_TAIL_CALL_"
# How the interpreter calls things: the Python stack shows the same in the person's own code.
_CALLING = (
    r"^_?Py(?:Object_(?:Vectorcall|Call|FastCall|MakeTpCall)|Vectorcall_|Function_Vectorcall|CFunction_|Eval_)"
    r"|^_?PyRun_|^Py_(?:BytesMain|RunMain|Main)$|^py(?:main|run)_|^run_(?:mod|eval_code_obj)$|vectorcall"
    r"|^(?:cfunction|method|type|slot_tp|object|partial|wrapper|wrap|function)_(?:call|new|init|FastCall|Vectorcall)"
    r"|^(?:call_function|do_call_core|context_run|thread_run|pythread_wrapper|bootstrap|trampoline_vectorcall)$"
    r"|^builtin_(?:exec|eval)(?:_impl)?$|^vectorcall_method$|^PyInit_"
)
_OF_CRASHES: tuple[FrameRole, ...] = ("handling", "sending", "ending", "reporting")
# The faulting frame is no deeper than this below the handlers that ran because of it.
HANDLER_DEPTH = 40


@lru_cache(maxsize=8192)
def role(name: str) -> FrameRole | None:
    """The role of a function, None for the program's own work; `name` comes from `function_name`."""
    for is_it, what in _ROLES:
        if pattern(is_it).search(name):
            return what
    return "reporting" if _is_logging(name) else None


_ROLES: tuple[tuple[str, FrameRole], ...] = (
    (_HANDLING, "handling"),
    (_SENDING, "sending"),
    (_ABORT, "ending"),
    (_REPORTING, "reporting"),
    (_REPORTING_OF_OTHERS, "reporting"),
    (_STARTING, "starting"),
    (_EVALUATION, "evaluating"),
    (_CALLING, "calling"),
)


def _is_logging(name: str) -> bool:
    """Whether a function belongs to the library that writes the message about an abort."""
    in_logging = False
    for scope in name.split("::")[:-1]:
        if scope in ("LogMessage", "LogMessageFatal"):
            return True
        if in_logging and scope.startswith(("LogMessage", "CheckLogMessage")):
            return True
        # a scope that is not a plain name, such as {anonymous}, ends the logging library
        in_logging = scope in _LOGGING or (in_logging and scope.replace("_", "a").isalnum())
    return False


def last_handling(symbols: Sequence[str | None]) -> int | None:
    """The number of the frame that entered the signal handler; of several, the outermost. The fault is below it."""
    entries = [
        number
        for number, symbol in enumerate(symbols[:HANDLER_DEPTH])
        if symbol and role(function_name(symbol)) == "handling"
    ]
    return entries[-1] if entries else None


def from_fault(frames: Sequence[NativeFrame]) -> tuple[NativeFrame, ...]:
    """The stack as it was when the signal came, without the handler that ran afterwards."""
    entry = last_handling([frame.function for frame in frames])
    return tuple(frames if entry is None or entry + 1 == len(frames) else frames[entry + 1 :])


class Called(NamedTuple):
    """What matters here of a frame of any collector: the function as it was written, and the file."""

    function: str | None
    module: str | None


def crash_frames(frames: Sequence[NativeFrame]) -> list[NativeFrame]:
    """The stack of a crash for people: what asked for an abort, not how it was sent and reported."""
    return [frames[number] for number in without_reporting([Called(f.function, f.module) for f in frames])]


def without_reporting(frames: Sequence[Called]) -> Sequence[int]:
    """The numbers of the frames that neither send a signal nor report an abort; the abort itself stays."""
    first = next((number for number in range(len(frames)) if not _is_sending(frames, number)), 0)
    if not frames or _role(frames[first]) != "ending":
        return range(first, len(frames))
    end = first + 1
    for number in range(end, min(len(frames), first + _REPORTING_DEPTH)):
        frame = frames[number]
        if frame.function and (_role(frame) != "reporting" or function_name(frame.function) in _REASONS):
            break
        if frame.function or _is_runtime(frame.module):
            end = number + 1
    return [first, *range(end, len(frames))]


def _role(frame: Called) -> FrameRole | None:
    return role(function_name(frame.function)) if frame.function else None


def _is_sending(frames: Sequence[Called], number: int) -> bool:
    if frames[number].function is None:
        # the innermost is a local function, without a name where the C library is stripped
        return number == 0 and len(frames) > 1 and bool(frames[1].function) and _is_sending(frames, 1)
    return _role(frames[number]) == "sending"


def distinctive(frames: Sequence[NativeFrame]) -> list[NativeFrame]:
    """The frames that distinguish one crash from another, innermost first; all of them where none does.

    Machinery is left out, and so are inlined functions, which have frames only where there is debug information.
    """
    shown = [frame for frame in frames if frame.trust != "omitted"]
    real = [frame for frame in from_fault(shown) if not frame.inlined] or shown
    return [*_distinctive(real)] or real


def _distinctive(frames: Sequence[NativeFrame]) -> Iterator[NativeFrame]:
    in_python = False
    for frame in frames:
        if not frame.function:
            if not _is_runtime(frame.module):
                yield frame
            continue
        name = function_name(frame.function)
        what = role(name)
        # a debugger that knows the source does not name the module
        may_be_interpreter = frame.module is None or is_interpreter(frame.module)
        in_python = in_python or (may_be_interpreter and what == "evaluating")
        if what in _OF_CRASHES or what == "starting":
            continue
        is_pythons = may_be_interpreter and (what is not None or (in_python and "::" not in name))
        if not is_pythons:
            yield frame


# ---------------------------------------------------------------- what a stack is called

_KEY_FRAMES = 3


def stack_key(crash: Crash) -> str:
    """The key of the crashed thread's stack, native frames first; empty only when there is no stack at all."""
    stacks = [thread for thread in crash.threads if thread.native_stack or thread.python_stack]
    for thread in sorted(stacks, key=lambda thread: (not thread.crashed, not thread.native_stack)):
        return _thread_key(thread)
    for error in reversed(crash.exceptions):
        if error.frames:
            return " < ".join(f"{base_name(f.file)}:{f.function}" for f in error.frames[:_KEY_FRAMES])
    return ""


def _thread_key(thread: Thread) -> str:
    if thread.native_stack:
        # A recursion is one frame that repeats, however deep it went.
        return " < ".join([name for name, _ in groupby(_key_names(distinctive(thread.native_stack)))][:_KEY_FRAMES])
    return " < ".join(f"{base_name(f.file)}:{f.function}" for f in thread.python_stack[:_KEY_FRAMES])


def _key_names(frames: Sequence[NativeFrame]) -> list[str]:
    """The names; of a library that is stripped its name alone, where others tell enough: gdb prints no offset."""
    if not any(frame.function for frame in frames):
        return [name_of(frame) for frame in frames]
    return [name_of(frame) if frame.function else _library_name(frame) for frame in frames]
