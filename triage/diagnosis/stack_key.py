"""One short text that two crashes of the same kind share: the telling frames of the stack."""

from __future__ import annotations

from triage.crash import Crash, Thread, base_name
from triage.patterns import compile as pattern

# Frames of the machinery that reports or ends a crash; the fault is below them.
_MACHINERY = (
    r"^_*(?:GI_)?(?:raise|abort|gsignal|pthread_kill(?:_implementation|_internal)?|kill|sigtramp|libc_message|malloc_printerr)$"
    r"|^(?:std::terminate|__gnu_cxx::__verbose_terminate_handler|__cxxabiv1::__terminate)$"
    r"|absl::.*(?:LogMessage|log_internal|Failure)|tsl::internal::LogMessageFatal|tensorflow::internal::LogMessageFatal"
    r"|StacktraceHandler|faulthandler|__restore_rt|KiUserExceptionDispatcher"
)
_FRAMES = 3


def stack_key(crash: Crash) -> str:
    """The key of the crashed thread's stack, native frames first; empty only when there is no stack at all."""
    stacks = [thread for thread in crash.threads if thread.native_stack or thread.python_stack]
    for thread in sorted(stacks, key=lambda thread: (not thread.crashed, not thread.native_stack)):
        return _key(thread)
    for error in reversed(crash.exceptions):
        if error.frames:
            return " < ".join(f"{base_name(f.file)}:{f.function}" for f in error.frames[:_FRAMES])
    return ""


def _key(thread: Thread) -> str:
    if thread.native_stack:
        names = [frame.name for frame in thread.native_stack if frame.trust != "omitted"]
        # A recursion is one frame that repeats, however deep it went.
        names = [name for name, before in zip(names, [None, *names], strict=False) if name != before]
        telling = [name for name in names if not pattern(_MACHINERY).search(name)] or names
        return " < ".join(telling[:_FRAMES])
    return " < ".join(f"{base_name(f.file)}:{f.function}" for f in thread.python_stack[:_FRAMES])
