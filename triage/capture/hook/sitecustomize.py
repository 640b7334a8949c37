"""Runs in the child's Python, before the script: arms faulthandler and hands over to the environment's own hook.

`triage run` puts this folder first on PYTHONPATH. The child's Python runs it, 3.8 or newer, not ours: so it uses no
newer syntax, imports only what is built in, and gives up quietly, because a child must never fail because of us.

What it leaves in the directory that TRIAGE_DIR names:
  note.PID   who this process is (its interpreter), and what the script did that matters to triage
  fault.PID  empty, until faulthandler writes its dump there
  own.PID    the script armed faulthandler itself, and the dump goes where the script wants it
  hang.PID   Windows: every thread's stack at the moment when --timeout ends the run
  done.PID   Windows: Python has ended by itself
"""


def _arm(directory):
    import faulthandler
    import os
    import sys

    def open_file(kind):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
        return os.open("%s/%s.%d" % (directory, kind, os.getpid()), flags, 0o600)

    def note(text, kind="note"):
        try:
            file = open_file(kind)
            try:
                os.write(file, (text + "\n").encode("utf-8", "surrogateescape"))
            finally:
                os.close(file)
        except OSError:
            pass

    def duplicate(file, number):
        if os.name == "nt":
            return os.dup2(file, number, inheritable=False)
        import fcntl

        return fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, number)

    def open_fault_file():
        """A descriptor with a number so high that the script will hardly ever get it; None if there is none.

        A script that closes everything and opens files of its own would find our dump in the one that has our number.
        Much higher ones would cost memory and time at each fork, for the kernel keeps a table as long as the highest.
        """
        file = open_file("fault")
        try:
            for number in (4000, 1000, 500, 240, 100):
                try:
                    return duplicate(file, number)
                except (OSError, ValueError):
                    pass
        finally:
            os.close(file)
        note("no fault file")
        return None

    def is_still_ours(file):
        """Whether a number is still our file's: a script may have closed it and use the number for another file."""
        try:
            return file is not None and os.path.samestat(os.fstat(file), state["stat"])
        except OSError:
            return False

    enable, disable = faulthandler.enable, faulthandler.disable
    # `theirs`: the script (or -X faulthandler) wants the dump for itself; `file`: where it goes otherwise.
    state = {"theirs": faulthandler.is_enabled(), "file": None, "stat": None}

    def enable_ours():
        if is_still_ours(state["file"]):
            enable(file=state["file"], all_threads=True)
            if os.name == "nt":
                _leave_signals_alone()
        else:
            disable()

    def open_ours():
        previous = state["file"] if is_still_ours(state["file"]) else None
        state["file"] = None
        if previous is not None:
            os.close(previous)
        state["file"] = open_fault_file()
        if state["file"] is not None:
            state["stat"] = os.fstat(state["file"])

    def their_enable(*arguments, **named):
        enable(*arguments, **named)
        if not state["theirs"]:
            note("", "own")
        state["theirs"] = True

    def their_disable():
        was, state["theirs"] = state["theirs"], False
        enable_ours()
        return was

    def after_fork():
        try:
            _let_holder_trace()
            note("python " + (sys.executable or ""))
            if _tensorflow_has_started():
                note("forked tensorflow")
            elif _jax_has_started():
                note("forked jax")
            if state["theirs"]:
                note("", "own")
            open_ours()
            if not state["theirs"]:
                enable_ours()
        except OSError:
            # faulthandler would still write to the parent's file, and it is not the parent that would have crashed.
            if not state["theirs"]:
                disable()

    note("python " + (sys.executable or ""))
    disable()
    open_ours()
    # A crash that nobody can notice must not be held.
    if state["file"] is not None and os.environ.get("TRIAGE_HOLDER"):
        _let_holder_trace()
        _hold_on_fatal_signals()
        _give_threads_a_signal_stack()
    if state["theirs"]:
        enable()
        note("", "own")
    else:
        enable_ours()
    faulthandler.enable, faulthandler.disable = their_enable, their_disable
    faulthandler.is_enabled = lambda: state["theirs"]
    if os.name == "nt":
        _mark_the_end(note)
        _show_stacks_at(os.environ.get("TRIAGE_DEADLINE", ""), open_file)
    else:
        os.register_at_fork(after_in_child=after_fork)
    _watch_log_level(note)


def _leave_signals_alone():
    """Remove faulthandler's handlers of two signals again on Windows, where it sees the exceptions anyway.

    With them the C runtime would turn an illegal instruction into an exit with 3, and no debugger would see it.
    """
    import _signal

    for number in (_signal.SIGILL, _signal.SIGFPE):
        try:
            _signal.signal(number, _signal.SIG_DFL)
        except ValueError:  # not the main thread
            pass


def _mark_the_end(note):
    """Leave a mark when Python ends by itself; a process killed by an error that it could not handle leaves none.

    What is registered first is called last.
    """
    import atexit

    atexit.register(note, "", "done")


def _show_stacks_at(deadline, open_file):
    """Have faulthandler's watchdog write every thread's stack at the --timeout; the program need not cooperate."""
    import faulthandler
    import time

    left = float(deadline) - time.time() if deadline else 0
    if left > 0:
        faulthandler.dump_traceback_later(left, file=open_file("hang"))


def _tensorflow_has_started():
    """Whether TensorFlow has started its threads; after a fork they are gone, but TensorFlow does not know it."""
    import sys

    context = sys.modules.get("tensorflow.python.eager.context")
    if getattr(getattr(context, "_context", None), "_initialized", False):
        return True
    # A graph runs in a session, which knows nothing of that context; the stack of sessions shows those in use.
    for name in ("stack", "ops"):
        module = sys.modules.get("tensorflow.python.framework." + name)
        if getattr(getattr(module, "_default_session_stack", None), "stack", None):
            return True
    return False


def _jax_has_started():
    """Whether JAX has started a backend with its threads, which are gone after a fork."""
    import sys

    return bool(getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None))


def _let_holder_trace():
    """Allow triage and the collectors that it starts to trace this process, where only a parent may trace its children.

    A forked child has to allow it again.
    """
    import os

    holder = os.environ.get("TRIAGE_HOLDER", "")
    if not holder.isdigit() or not os.path.exists("/proc/sys/kernel/yama/ptrace_scope"):
        return
    try:
        import _ctypes

        class Number(_ctypes._SimpleCData):
            _type_ = "L"

        prctl = _ctypes.dlsym(_ctypes.dlopen(None, 2), "prctl")
        _ctypes.call_function(prctl, (0x59616D61, Number(int(holder)), 0, 0, 0))
    except (ImportError, AttributeError, OSError, ValueError):
        pass


def _hold_on_fatal_signals():
    """Make a crashed thread wait a few seconds, its stack intact, for triage to look at it.

    faulthandler writes its dump, puts back the handler that was there before, and raises the signal again. That
    handler is libc's own sleep(), called with the signal's number: no code of ours runs in a broken process, the wait
    is bounded, and System V semantics have put the default back, so the next signal ends the process as it should.
    """
    try:
        import _ctypes
        import _signal

        class Pointer(_ctypes._SimpleCData):
            _type_ = "P"

        libc = _ctypes.dlopen(None, 2)
        set_handler = _ctypes.dlsym(libc, "__sysv_signal")
        sleep = Pointer(_ctypes.dlsym(libc, "sleep"))
    except (ImportError, AttributeError, OSError, ValueError):
        return
    for number in (_signal.SIGSEGV, _signal.SIGABRT, _signal.SIGBUS, _signal.SIGFPE, _signal.SIGILL):
        _ctypes.call_function(set_handler, (number, sleep))


def _give_threads_a_signal_stack():
    """Let a thread that has used up its stack still run faulthandler; by default only the main thread can."""
    import sys

    if sys.maxsize < 1 << 32 or sys.byteorder != "little":
        return
    try:
        import _ctypes
        import _thread

        class Text(_ctypes._SimpleCData):
            _type_ = "z"

        sigaltstack = _ctypes.dlsym(_ctypes.dlopen(None, 2), "sigaltstack")
    except (ImportError, AttributeError, OSError, ValueError):
        return
    size, disabled = 64 * 1024, 2

    def use(address, flags):
        description = b"".join(number.to_bytes(8, "little") for number in (address, flags, size))
        _ctypes.call_function(sigaltstack, (Text(description), None))

    def with_signal_stack(function):
        def run(*arguments, **named):
            stack = bytes(size)
            use(id(stack) + bytes.__basicsize__ - 1, 0)
            try:
                return function(*arguments, **named)
            finally:
                use(0, disabled)

        return run if callable(function) else function

    def wrapped(start):
        return lambda function, *rest, **named: start(with_signal_stack(function), *rest, **named)

    for name in ("start_new_thread", "start_joinable_thread"):
        if hasattr(_thread, name):
            start = wrapped(getattr(_thread, name))
            setattr(_thread, name, start)
            if "threading" in sys.modules:
                setattr(sys.modules["threading"], "_" + name, start)


def _watch_log_level(note):
    """Note that TensorFlow's log is hidden; with --tf-log, keep the script from hiding it."""
    import os

    name = "TF_CPP_MIN_LOG_LEVEL"
    wanted = bool(os.environ.get("TRIAGE_TF_LOG"))
    real = os.putenv

    def putenv(key, value):
        if key in (name, name.encode()):
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            note("log level %s script" % text)
            if wanted:
                return
        real(key, value)

    if name in os.environ:
        note("log level %s environment" % os.environ[name])
    if wanted:
        # TensorFlow asks the C library, so the script still reads what it wrote itself.
        real(name, "0")
    os.putenv = putenv
    if hasattr(os.environ, "putenv"):  # Python 3.8 keeps its own reference
        os.environ.putenv = putenv
        if os.supports_bytes_environ:
            os.environb.putenv = putenv


def _begin():
    import os
    import sys

    directory = os.environ.get("TRIAGE_DIR")
    if directory and sys.version_info >= (3, 8) and os.path.isdir(directory):
        _arm(directory)


def _hand_over():
    """Take ourselves off sys.path and run the sitecustomize that would have run without us."""
    import os
    import sys
    from importlib.machinery import PathFinder

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    found = PathFinder.find_spec("sitecustomize", sys.path)
    if found is None or found.loader is None:
        # site expects this where there is none; nothing of ours stays in sys.modules.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    from importlib.util import module_from_spec

    module = module_from_spec(found)
    sys.modules["sitecustomize"] = module
    found.loader.exec_module(module)


try:
    _begin()
except Exception:
    pass
_hand_over()
