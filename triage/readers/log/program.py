"""Whose crash a log shows: the language and the framework, from stacks and exceptions, from what frameworks write, and
from what the program imports or the text only mentions.

A text may be long, and most of it says nothing: a word is looked for before the pattern that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from triage import programs
from triage.crash import (
    FRAMEWORKS,
    Framework,
    Language,
    Log,
    Program,
    ProgramReason,
    ProgramSign,
    PythonException,
    Thread,
    program_of,
)
from triage.patterns import Match
from triage.patterns import compile as pattern

# What only this framework writes: words that must be there, and the pattern.
_Row = tuple[Framework, tuple[str, ...], str]
# A framework and the offset at which the text shows it.
_Found = tuple[Framework, int]
# Files of TensorFlow; JAX and TensorFlow Serving build the same files below `external/org_tensorflow`.
_SOURCES = (
    r"(?P<outer>org_tensorflow[/\\])?\btensorflow[/\\](?:core|compiler|stream_executor|c|cc|lite|tsl|contrib|dtensor)[/\\]"
    r"[\w./\\-]+\.(?:cc|h|cu|c)\b"
)
_WRITTEN: tuple[_Row, ...] = (
    ("tensorflow", (":tensorflow:",), r"\b(?:DEBUG|INFO|WARNING|ERROR|FATAL):tensorflow:"),
    ("tensorflow", ("external/local_",), r"\bexternal/local_(?:xla|tsl)/"),
    (
        "tensorflow",
        ("TensorFlow", "TF-TRT", "tensorflow_model_server"),
        r"Using TensorFlow backend|This TensorFlow binary|TensorFlow binary was not compiled|The TensorFlow library was"
        r"|the native TensorFlow runtime|TF-TRT Warning|TensorFlow ModelServer|tensorflow_model_server",
    ),
    (
        "tensorflow",
        ("node", "[Op:", "__wrapped__", "OP_REQUIRES", "OOM when allocating tensor", "/replica:0/task:0"),
        r"\[\[(?:\{\{)?(?:\w+ )?[Nn]ode\b|\{\{(?:function_)?node |\[Op:\w+|__wrapped__\w+_device_|OP_REQUIRES failed at"
        r"|OOM when allocating tensor with shape|/job:\w+/replica:0/task:0",
    ),
    (
        "tensorflow",
        (
            "dso_loader",
            "cpu_feature_guard",
            "gpu_device",
            "pluggable_device",
            "meta_optimizer",
            "OpKernel",
            "Check failed",
            "Non-OK-status",
        ),
        # Since 2.19 its lines have the file's name without its folder; these names are of its core and its kernels.
        r"\b(?:dso_loader|cpu_feature_guard|gpu_device|pluggable_device_\w+|meta_optimizer)\.cc:\d+\]"
        r"|\b(?:tensor_(?:format|shape|util|slice)|tensor|op_kernel|bfc_allocator|mkl_\w+|conv_ops\w*|gpu_kernel_helper"
        r"|gpu_launch_config|png_io|jpeg_mem)\.(?:cc|h):\d+\] (?:Check failed|Non-OK-status)|No OpKernel was registered"
        r"|^(?:[^\n]{0,160}\] )?Non-OK-status: \w[^\n]{1,200} status: [A-Z_]{4,}: ",
    ),
    (
        "tensorflow",
        (
            "_pywrap_",
            "libtensorflow",
            "tensorflow.python",
            "tensorflow_core",
            "tfjs",
            "org.tensorflow",
            "org/tensorflow",
        ),
        r"_pywrap_(?:tensorflow|tfe)\w*|\blibtensorflow\w*\.|\btensorflow(?:_core)?\.python\.\w|@tensorflow/tfjs"
        r"|\btfjs-node\b|\borg[./]tensorflow[./]",
    ),
    (
        "tensorflow",  # Keras, in the words of its layers
        (
            "with the layer",
            "rror when checking",
            "encountered when calling",
            "Graph execution error",
            "tf.Tensor(",
            "Input size must be at least",
        ),
        r"is incompatible with the layer: |Error when checking (?:model )?(?:input|target)\b|^Graph execution error:"
        r"|Exception encountered when calling |\btf\.Tensor\(|Input size must be at least \d+x\d",
    ),
    (
        "tensorflow",
        ("metal_plugin", "Metal device set to"),
        r"\bmetal_plugin[/:]|\blibmetal_plugin\b|^Metal device set to",
    ),
    ("tensorflow", ("tensorflow_cc", "tensorflow.dll"), r"\btensorflow(?:_cc|_framework)?\.(?:dll|lib|so)\b"),
    (
        "tensorflow",  # what its operations and its graphs say, whatever the paste kept of the class of the exception
        (
            "(see above for traceback)",
            "ConcatOp",
            "Received a label value",
            "(op: '",
            "Assign requires shapes",
            "Input to reshape is a tensor",
            "logits and labels must be",
            'Tensor("',
            "root error(s) found",
            "Could not load dynamic library",
            "GpuLaunchKernel",
            "not in list of allowed values",
            "not found in checkpoint",
            "The Session graph is empty",
            "uninitialized value",
            "'predict_",
            "module 'tensorflow",
            "Failed to get convolution algorithm",
        ),
        r"\w+Error \(see above for traceback\)|\bConcatOp : |Received a label value of \S+ which is outside the valid"
        r"|\(op: '\w+'\) with input shapes|Assign requires shapes of both tensors|Input to reshape is a tensor with \d"
        r"|\blogits and labels must be |\bTensor\(\"[^\"\n]{1,200}:\d+\", shape=|^\d+ root error\(s\) found"
        r"|\b\w+Error: +\d+ root error\(s\) found|Could not load dynamic library '[^'\n]+'; dlerror"
        r"|Non-OK-status: GpuLaunchKernel"
        r"|has DataType \w+ not in list of allowed values|\bKey \S+ not found in checkpoint"
        r"|The Session graph is empty\.|Attempting to use uninitialized value \w"
        r"|'(?:Sequential|Functional|Model)' object has no attribute 'predict_(?:classes|proba)'"
        r"|module 'tensorflow(?:\.[\w.]+)?' has no attribute"
        r"|Failed to get convolution algorithm\. This is probably because cuDNN",
    ),
    (
        "jax",
        ("external/xla", "external/tsl", "xla_bridge", "jaxlib", "jax._src", "jax/_src"),
        r"\bexternal/(?:xla|tsl)/|\bxla_bridge\b|\bjaxlib[./\\]\w|\bjax[./]_src\b",
    ),
    (
        "jax",
        ("XlaRuntimeError", "XLA_PYTHON_CLIENT_", "jit(", "jax.errors"),
        r"\bXlaRuntimeError\b|\bXLA_PYTHON_CLIENT_[A-Z]|\bop_name=\"p?jit\(|\bjax\.errors\.\w",
    ),
    (
        "pytorch",
        ("ATen", "c10", "torch", "PyTorch", "PYTORCH", "TORCH_", "THC", "Torch was not", "Torch not"),
        r"\baten[/\\]src[/\\]|\bATen[/\\]\w|\bc10[/\\](?:core|cuda|util)[/\\]|\btorch[/\\]csrc[/\\]|PYTORCH_CUDA_ALLOC_CONF"
        r"|TORCH_USE_(?:CUDA|HIP)_DSA|THCudaCheck|reserved in total by PyTorch|allocated by PyTorch|[/\\]pytorch[/\\]"
        r"|Compile with `TORCH_|\bPYTORCH_[A-Z]\w+=|PYTORCH_MPS_HIGH_WATERMARK|\bc10d?::[A-Z]|\btorch\.Size\(\["
        r"|Torch not compiled with CUDA|\bTorch was not compiled with |`torch\.[\w.]+\([^`\n]*` is deprecated"
        r"|\btorch\.distributed\.elastic\b",
    ),
    (
        "pytorch",  # Lightning, which exists for it alone
        (" available: ", "LOCAL_RANK: ", "Trainer.fit"),
        r"\b[GTH]PU available: (?:True|False)[^\n]{0,20}, us(?:ed|ing): |\bLOCAL_RANK: \d+ - CUDA_VISIBLE_DEVICES: "
        r"|`Trainer\.fit` stopped: ",
    ),
    (
        "pytorch",  # the sentences of its memory, its checkpoints and its processes
        (
            "asynchronously reported",
            "Tried to allocate",
            "MPS backend",
            "aten::",
            " torch-",
            "state_dict",
            "loaded state dict",
            "copying a param",
            "DataLoader worker (pid",
            "ProcessGroup",
            "Watchdog caught collective",
            "weight of size",
        ),
        r"(?:CUDA|HIP) kernel errors might be asynchronously reported"
        r"|\b(?:CUDA|HIP|XPU) out of memory\. Tried to allocate \d"
        r"|'aten::[a-z_]|\bPython-3\.\d+\.\d+\S* torch-\d"
        r"|MPS backend out of memory|Error\(s\) in loading state_dict for|model and loaded state dict do not match"
        r"|copying a param (?:with|of) |DataLoader worker \(pid(?:\(s\))? [\d, ]+\)|\bProcessGroup(?:NCCL|Gloo)\b"
        r"|Watchdog caught collective operation|Given groups=\d+, weight of size",
    ),
    (
        "pytorch",  # the sentences of its operators
        (
            "mat1 and mat2",
            "to be on the same device",
            "size of tensor a",
            "Sizes of tensors must match",
            "expects each tensor",
            "for gradient computation",
            "does not require grad",
            "and weight type",
            "expected scalar type",
            "object of scalar type",
            "torchvision::",
            "backward through the graph",
        ),
        r"\bmat1 and mat2 (?:shapes|must have)|Expected all tensors to be on the same device|The size of tensor a \(\d"
        r"|Sizes of tensors must match except in dim|stack expects each tensor to be equal size"
        r"|variables needed for gradient computation|of tensors does not require grad"
        r"|Input type \([^)\n]{1,60}\) and weight type|expected scalar type \w+ but found"
        r"|Expected object of scalar type \w+ but got|No such operator torchvision::|operator torchvision::\w+ does not"
        r"|Trying to backward through the graph a second time",
    ),
    (
        "onnxruntime",
        ("onnxruntime", "ONNXRuntimeError", "OnnxRuntime"),
        r"\[[A-Z]:onnxruntime|\b(?:ai\.)?onnxruntime(?:::|/core/|\.capi|_pybind11_state|\.Ort|\.genai)"
        r"|\[ONNXRuntimeError\]|\bMicrosoft\.ML\.OnnxRuntime\.",
    ),
    (
        "mxnet",
        ("mxnet", "MXNet", "MXNET_", "src/operator/", "src/nnvm/", "src/ndarray/", "src/storage/", "src/kvstore/"),
        r"\bmxnet(?:::|\.base|/src/|\.error)|\bMXNetError\b|\bMXNET_[A-Z]{2}\w+|\bMXGetLast"
        r"|\] (?:\S*/)?src/(?:nnvm|operator|ndarray|storage|kvstore)/\S+:\d+: "
        r"|\bsrc/operator/(?:nn|tensor|contrib)/\S+:\d+: ",
    ),
    (
        "paddle",
        ("paddle", "Paddle", "is detected by the operating system"),
        r"\bpaddle(?:[/\\](?:fluid|phi)[/\\]|::|\.fluid|\.base)|PaddlePaddle|No stack trace in paddle"
        r"|^FatalError: [^\n]{1,80} is detected by the operating system",
    ),
    (
        "caffe",
        ("caffe", "layer_factory", "upgrade_proto", "syncedmem.cpp"),
        r"\bsrc/caffe/|\bcaffe\.cpp:\d|\bcaffe::|layer_factory\.hpp|\bsyncedmem\.cpp:\d",
    ),
    (
        "darknet",
        ("darknet", "BFLOPs", "dark_cuda", "mini_batch = "),
        r"\bdarknet: \./|\bdarknet/src/\w+\.c\b|(?:^|[ /\\])darknet(?:\.exe)? (?:detect|detector|classifier|yolo) "
        r"|\d BFLOPs$|\bdark_cuda\.c:\d|^ ?mini_batch = \d+, batch = \d+, time_steps = \d",
    ),
    (
        "theano",
        ("theano", "Theano", "GpuElemwise", "GpuArrayType", "CudaNdarrayType", "CNMeM", "pygpu."),
        r"Using Theano backend|\btheano\.(?:gof|tensor|compile|sandbox|gpuarray)\b|\bGpuElemwise\b|\bGpuArrayType<"
        r"|\bCudaNdarrayType\(|\(CNMeM is |\bpygpu\.\w",
    ),
    ("lightgbm", ("[LightGBM]",), r"\[LightGBM\]"),
    ("xgboost", ("xgboost", "XGBoost"), r"\bxgboost\.core\.|\bXGBoostError\b"),
    ("opencv", ("OpenCV", "cv2"), r"\bOpenCV\(\d|\bcv2\.error\b|OpenCV Error:|error: \(-\d+:[A-Z]"),
)
# Lines that a framework prints as soon as something imports it: TensorFlow, where a program of another framework has it
# installed for its charts or its tokenizers. JAX's notice comes from there too.
_AT_START = (
    "cpu_feature_guard.cc",
    "util/port.cc",
    "Unable to register cu",
    "TF-TRT Warning",
    "dso_loader.cc",
    "cudart_stub.cc",
    "computation_placer.cc",
    "TF_ENABLE_ONEDNN_OPTS",
    "This TensorFlow binary is optimized",
    "rebuild TensorFlow with the appropriate",
    "FutureWarning: Passing ",
    "CUDA-enabled jaxlib is not installed",
)
_START_LINE = r"[^\n]*(?:" + "|".join(words.replace(".", r"\.") for words in _AT_START) + r")[^\n]*"
_IMPORT = r"\b(?:import|from) +(?P<package>" + "|".join(sorted(programs.PACKAGE_NAMES, key=len, reverse=True)) + r")\b"
# A file of an installed package, wherever the text has one.
_INSTALLED = (
    r"\b(?:site|dist)-packages[/\\](?P<package>"
    + "|".join(sorted((name for name in programs.PACKAGE_NAMES if name != "keras"), key=len, reverse=True))
    + r")[/\\]"
)
# What a language's runtime prints and no other: words that must be there, and the pattern.
_LanguageRow = tuple[Language, ProgramSign, tuple[str, ...], str]
_RUNTIMES: tuple[_LanguageRow, ...] = (
    (
        "java",
        "exception",
        ("Java", "java", ".kt:", "Gradle", "gradlew"),
        r"detected by the Java Runtime Environment|^Exception in thread \"|FATAL EXCEPTION: "
        r"|\bGradle (?:build daemon|Test Executor|Worker Daemon)\b|^> Task :\S+ FAILED"
        r"|^\s*at [\w$.<>]+\([\w$]+\.(?:java|kt|scala):\d+\)|^(?:Caused by: )?java\.\w+\.[\w.]*(?:Exception|Error)\b",
    ),
    (
        "dotnet",
        "exception",
        (".cs:line", "System.", "Microsoft.ML", "Process terminated", "Stack overflow.", "OverflowException", "mono"),
        r"\.cs:line \d|^\s*(?:Unhandled [Ee]xception[.:] |--->? ?)?System\.(?:\w+\.)*\w+Exception\b"
        r"|\bMicrosoft\.ML\.\w|Process terminated\. |^Stack overflow\.\s*\n(?:Repeat|\s+at )"
        r"|^Process is terminat\w+ due to StackOverflowException|\bfatal error in the mono runtime\b",
    ),
    (
        "javascript",
        "exception",
        (
            "npm ERR!",
            "npm error",
            "node_modules",
            "node:internal",
            ".js:",
            "Node.js v",
            "internal/modules",
            ".ts:",
            "JavaScript heap",
            "JS stacktrace",
            "ELIFECYCLE",
            "Failed at the ",
            "Jest",
            "yarn run v",
            "PM2 ",
        ),
        r"^Using Jest CLI|\bJest (?:worker|did not exit)|^yarn run v\d|\bPM2 (?:log|error): "
        r"|^ELIFECYCLE\b|^Failed at the \S+ [\w:-]+ script\b"
        r"|\bnpm ERR!|^npm error\b|JavaScript heap out of memory|^<--- JS stacktrace --->"
        r"|\bnode_modules[/\\]|\bnode:internal/|^\s*at .{1,300}\(?[\w@/\\.:-]+\.(?:m?js|ts):\d+:\d+\)?$"
        r"|^Node\.js v\d|internal/modules/cjs",
    ),
    ("go", "exception", ("goroutine ",), r"^goroutine \d+ \["),
    (
        "rust",
        "exception",
        ("panicked at", "exit successfully", "overflowed its stack"),
        r"^thread '[^'\n]*'(?: \(\d+\))? panicked at|\bpanicked at '|^thread '[^'\n]*' has overflowed its stack"
        r"|process didn't exit successfully: `[^`\n]{0,400}[/\\]target[/\\]",
    ),
    (
        "r",
        "exception",
        ("*** caught", "Execution halted", "py_call_impl", "library(", "Rscript", "rsession"),
        r"^ \*\*\* caught (?:segfault|illegal|bus)|^Execution halted|\bpy_call_impl\(|^>? ?library\(\w+\)|\brsession\b",
    ),
    (
        "julia",
        "exception",
        ("in expression starting ",),
        r"^(?:while loading [^\n]{1,300}, )?in expression starting (?:at|on line) ",
    ),
    ("swift", "exception", (".swift",), r"\.swift(?::\d+|, line \d+): Fatal error|Fatal error: [^\n]{1,300}\.swift"),
    (
        "ruby",
        "exception",
        (".rb:", "[BUG] ", "rake aborted!"),
        r"^rake aborted!|\.rb:\d+:in [`']|: \[BUG\] |^\[BUG\] [^\n]*\nruby \d",
    ),
    ("perl", "exception", (" line ",), r" at [^\n]{1,200}\.p[lm] line \d+\."),
    (
        "php",
        "exception",
        ("PHP ", ".php", "[pool "),
        r"\bPHP (?:Fatal|Parse) error: |\b(?:Fatal|Parse) error: [^\n]{1,400} in \S+\.php(?: on line |:)\d"
        r"|\[pool [\w.-]+\] child \d+ (?:exited|said)",
    ),
    (
        "fortran",
        "exception",
        ("Backtrace for this error", "forrtl:", "Fortran runtime error"),
        r"^Backtrace for this error:|^forrtl: |^Fortran runtime error: ",
    ),
    (
        "haskell",
        "exception",
        ("HasCallStack", "Prelude.", ".hs:", "<<loop>>"),
        r"^\s*CallStack \(from HasCallStack\):|^[\w.-]+: Prelude\.\w+: |^[\w.-]+: <<loop>>"
        r"|^[\w.-]+: [^\n]{0,200}\.hs:\(?\d+[:,]",
    ),
    (
        "ocaml",
        "exception",
        ("Fatal error: exception ", ".ml"),
        r"^Fatal error: exception [(A-Z]|^(?:Raised|Called|Re-raised) (?:at|from) [^\n]{0,200}\.ml\", line \d",
    ),
    (
        "lua",
        "exception",
        (".lua:", "stack traceback:"),
        r"^lua[\w.]*: |\.lua:\d+: [^\n]{1,300}\n\s*stack traceback:|^\s*stack traceback:\s*\n\s+(?:\[C\]|\S+\.lua:\d)",
    ),
    (
        "erlang",
        "exception",
        ("erl_crash.dump", "pid terminated", "** (", "=CRASH REPORT", "eheap_alloc", "init terminating in do_boot"),
        r"erl_crash\.dump|\bKernel pid terminated|\beheap_alloc: Cannot|^=CRASH REPORT=|init terminating in do_boot"
        r"|^\s*\*\* \((?:Mix|EXIT|EXIT from [^)\n]{1,80}|[A-Z]\w*(?:\.\w+)*Error)\) ",
    ),
    (
        "python",
        "exception",
        ("Traceback (most", "Fatal Python error", "Windows fatal exception", "most recent call"),
        r"Traceback \(most recent call last\)|^Fatal Python error: |^Windows fatal exception: "
        r"|\(most recent call first\)",
    ),
    (
        "python",
        "exception",
        ("Error: ", ":tensorflow:", "Using TensorFlow backend", "python", "orker with pid", "(pid:", "celery"),
        r"\bcelery\.(?:worker|app|beat)\b|: \w+/(?:MainProcess|ForkPoolWorker-\d+)\]"
        r"|^[^\n]{0,60}\[\w+\] (?:WORKER TIMEOUT \(pid:|Worker with pid \d+ was terminated"
        r"|Worker \(pid: ?\d+\) was sent)"
        r"|\b(?:Import|ModuleNotFound|Attribute|UnboundLocal|ZeroDivision|FileNotFound|Memory|UnicodeDecode|OS)Error: "
        r"|^(?:INFO|WARNING|ERROR):tensorflow:|^Using TensorFlow backend|^python[\d.]*: [^\n]{1,300}ssertion",
    ),
)
# Stacks and last words of compiled programs. A compiled program may run an interpreter: these words show one.
_INTERPRETED = ("PyEval_", "libpython", "site-packages", "dist-packages", "Py_RunMain", "python3.", "python2.", ".pyd")
_COMPILED: tuple[_LanguageRow, ...] = (
    (
        "c",
        "native frame",
        ("KASAN", "Kernel panic", "kernel BUG", "handle kernel", "[<ffffff", "Internal error: Oops"),
        r"BUG: KASAN: |Kernel panic - not syncing|kernel BUG at |Unable to handle kernel|Internal error: Oops"
        r"|\[<ffffff",
    ),
    (
        "c++",
        "native frame",
        ("::", ".cc", ".cpp", ".cxx", ".hpp", ".h:", ".h(", ".mm"),
        r"^\s*#\d+:? +(?:pc +)?(?:0x)?[0-9a-fA-F]{4,16} [^\n]*(?:::|\.(?:cc|cpp|cxx|hpp|mm)\b)"
        r"|\.(?:cc|cpp|cxx|hpp|h|mm):\d+(?::\d+)?: [^\n]{0,120}(?:runtime error|ssertion|ASSERT)"
        r"|:(?:FATAL|ERROR)[: ][\w./]+\.(?:cc|h|mm|cpp)[:(]\d|^#? ?Fatal error in [^\n]+\.(?:cc|h|tq|inc)\b"
        r"|^[^\n]{0,80}\b[A-Za-z]\w*![A-Za-z_]\w*::",
    ),
    (
        "c",
        "native frame",
        (".c:",),
        r"^\s*#\d+ +(?:0x)?[0-9a-fA-F]{2,16} [^\n]*[ /][^\n :]*\.c:\d|\.c:\d+[^\n]{0,80}(?:runtime error|ssertion)",
    ),
    (
        "c++",
        "native frame",
        ("Sanitizer", "Fatal error in", "libFuzzer", "V8", "v8", "#00 pc ", "Centipede"),
        r"\b(?:Address|Memory|Thread|Leak|HWAddress|UndefinedBehavior)Sanitizer\b|^#? ?Fatal error in "
        r"|\blibFuzzer\b|^\s*#\d\d pc [0-9a-f]{8}|\bv8::|\bd8\b",
    ),
)
_LIKE_PYTHON: tuple[_LanguageRow, ...] = (
    (
        "python",
        "import",
        ("python", "Python", ">>>", "import ", ".py", "Anaconda", "conda", "pip", "ipykernel"),
        r"^\s*(?:\[[^\]\n]*\])?[$#>%]* ?(?:\S+/)?python[\d.]*(?:\.exe)? |^>>> "
        r"|^(?:\.\.\. )?(?:import \w+|from [\w.]+ import)\b|\.py\b|\bsite-packages\b"
        r"|\bipykernel\b|\bpython3?\.\d|\bPython 3|\bpython\.exe\b|\bpip3? install\b",
    ),
)
# Last words of C++'s own runtime. A Python program that calls C++ prints them too, so anything of Python's goes first.
_LIKE_COMPILED: tuple[_LanguageRow, ...] = (
    (
        "c++",
        "log line",
        ("terminat", "pure virtual"),
        r"terminate called (?:after throwing|without an active)|libc\+\+abi(?:\.dylib)?: (?:terminating|Pure virtual)"
        r"|^pure virtual method called",
    ),
)


def program_in(log: Log, threads: Sequence[Thread], exceptions: Sequence[PythonException]) -> Program | None:
    """The program as far as the log shows it."""
    reasons = [*programs.shown_by_threads(threads), *programs.shown_by_exceptions(exceptions)]
    if not any(reason.shows in FRAMEWORKS and reason.kind != "import" for reason in reasons):
        reasons += filter(None, [_framework(log)])
    # A framework's own library is C++ whoever calls it.
    is_native = not any(reason.shows in FRAMEWORKS for reason in reasons)
    if not any(programs.is_language(reason.shows) for reason in reasons):
        reasons += filter(None, [_language(log, is_native=is_native)])
    if not reasons:
        reasons += programs.compiled(threads)
    return program_of(reasons)


def _framework(log: Log) -> ProgramReason | None:
    """The framework by the strongest way in which any shows. Where several show in that way, none is named.

    What is printed at the start of any program that has TensorFlow installed counts only where nothing else does.
    """
    is_started = any(words in log.text for words in _AT_START)
    text = pattern(_START_LINE).sub(_blank, log.text) if is_started else log.text
    started = _first_of(_written(log.text, log.text)) if is_started else {}
    ways: tuple[tuple[ProgramSign, Callable[[str], Iterable[_Found]]], ...] = (
        ("log line", lambda part: _written(part, log.text)),
        ("import", _imported),
    )
    for kind, look in ways:
        first = _first_of(look(text))
        main = programs.main_ones(first)
        if main and not (started and programs.are_companions(main)):
            return _the_one(kind, first, log)
    mentioned = _first_of(_mentioned(text))
    started.pop("jax", None)
    if started:
        # Words about another framework only leave it open whose program it is.
        is_open = bool(mentioned) and not started.keys() & mentioned.keys()
        return None if is_open else _the_one("log line", started, log)
    return _the_one("mention", mentioned, log)


def _the_one(kind: ProgramSign, first: dict[Framework, int], log: Log) -> ProgramReason | None:
    main = programs.main_ones(first)
    return _reason(kind, main[0], log, first[main[0]]) if len(main) == 1 else None


def _first_of(found: Iterable[_Found]) -> dict[Framework, int]:
    first: dict[Framework, int] = {}
    for framework, offset in found:
        first.setdefault(framework, offset)
    return first


def _blank(match: Match) -> str:
    """Nothing, of the same length: every offset stays right."""
    return " " * len(match.group())


def _reason(kind: ProgramSign, shows: Framework | Language, log: Log, offset: int) -> ProgramReason:
    return ProgramReason(kind, shows, log.line(offset).strip()[:_LONGEST], log.place(offset))


def _written(text: str, whole: str) -> Iterator[_Found]:
    if "tensorflow" in text:
        yield from _sources(text, whole)
    if "-packages" in text:
        yield from _packages(_INSTALLED, text)
    for framework, words, written in _WRITTEN:
        if any(word in text for word in words) and (match := pattern(written).search(text)):
            yield framework, match.start()


def _sources(text: str, whole: str) -> Iterator[_Found]:
    """TensorFlow by its source files. Below `org_tensorflow` they are a part of another program: mostly of JAX.

    What says that it is TensorFlow Serving may stand in a line of the start, which the text no longer has.
    """
    inner = None
    for number, match in enumerate(pattern(_SOURCES).finditer(text)):
        if not match["outer"]:
            yield "tensorflow", match.start()
            return
        inner = inner or match
        if number > _ENOUGH:
            break
    if inner is not None:
        yield ("tensorflow" if any(word in whole for word in _BUILT_WITH_TENSORFLOW) else "jax"), inner.start()


def _packages(named: str, text: str) -> Iterator[_Found]:
    for number, match in enumerate(pattern(named).finditer(text)):
        if framework := programs.framework_of_package(match["package"]):
            yield framework, match.start()
        if number > _ENOUGH:
            return


def _imported(text: str) -> Iterator[_Found]:
    return _packages(_IMPORT, text) if "import " in text else iter(())


def _mentioned(text: str) -> Iterator[_Found]:
    if any(word in text for word in _COMPARED):
        text = pattern(_COMPARISON).sub(_blank, text)
    for framework, words in _NAMES:
        if found := [at for word in words if (at := text.find(word)) >= 0]:
            yield framework, min(found)
    for framework, words, likely in _LIKELY:
        if any(word in text for word in words) and (match := pattern(likely).search(text)):
            yield framework, match.start()


def _language(log: Log, *, is_native: bool) -> ProgramReason | None:
    """What only one runtime prints; then native code without an interpreter; then what merely looks like Python."""
    text = log.text
    is_native = is_native and not any(word in text for word in _INTERPRETED)
    for rows in (_RUNTIMES, _COMPILED if is_native else (), _LIKE_PYTHON, _LIKE_COMPILED if is_native else ()):
        for language, kind, words, printed in rows:
            if not any(word in text for word in words):
                continue
            for match in pattern(printed).finditer(text):
                if language != "c" or not pattern(_OF_THE_C_LIBRARY).search(match.group()):
                    return _reason(kind, language, log, match.start())
    return None


# Sources of glibc, which every program has below it.
_OF_THE_C_LIBRARY = (
    r"sysdeps/|nptl/|\.\./csu/|[ /](?:raise|abort|malloc|libc_fatal|fortify_fail|assert|libc-start|start_thread|clone"
    r"|pthread_\w+|nptl\w*|dl-\w+|futex-internal|lowlevellock)\.c:\d"
)


# Of very many matches the first ones say what the others would.
_ENOUGH = 50
_LONGEST = 200
_BUILT_WITH_TENSORFLOW = (
    "tensorflow_serving",
    "tensorflow/serving",
    "tensorflow_model_server",
    "mediapipe",
    "TensorFlow ModelServer",
    "org_tensorflow/tensorflow/cc/saved_model",
    "org_tensorflow/tensorflow/core/platform/cpu_feature_guard",
)
_NAMES: tuple[tuple[Framework, tuple[str, ...]], ...] = (
    (
        "tensorflow",
        ("tensorflow", "TensorFlow", "Tensorflow", "keras", "Keras", " tf.", "`tf.", "tf.keras", "TFLite", "tfjs"),
    ),
    ("pytorch", ("pytorch", "PyTorch", "Pytorch", "torch.", "torchvision", "libtorch", "torch==")),
    ("jax", ("jaxlib", "JAX", "import jax", "jax.")),
    ("onnxruntime", ("onnxruntime", "ONNX Runtime", "OnnxRuntime")),
    ("mxnet", ("mxnet", "MXNet")),
    ("paddle", ("paddlepaddle", "PaddlePaddle", "paddleocr", "PaddleOCR", "PaddleDetection", "ppdet")),
    ("caffe", ("caffe", "Caffe")),
    ("darknet", ("darknet", "Darknet")),
    ("theano", ("theano", "Theano")),
    ("xgboost", ("xgboost", "XGBoost")),
    ("lightgbm", ("lightgbm", "LightGBM")),
)
# A framework that is named only to say that things are different there: "the same model works in PyTorch".
_COMPARED = (
    "PyTorch",
    "Pytorch",
    "pytorch",
    "TensorFlow",
    "Tensorflow",
    "tensorflow",
    "JAX",
    "Keras",
    "Theano",
    "Caffe",
)
_COMPARISON = (
    r"(?i)\b(?:works?|worked|working|runs?|ran|fine|well|ok|okay|problems?|issues?|happen|happens|unlike|instead of"
    r"|compared (?:to|with)|than|without|not|neither|nor|(?:switch|chang|mov|port|convert)\w* (?:to|from)|equivalent)"
    r" (?:well |fine |ok |just |only )?(?:(?:in|with|on|under|using|for|of|use) )?(?:the |plain |pure )?"
    r"(?:pytorch|tensorflow|jax|keras|theano|caffe)\b"
)
# What one framework says and another might, and programs that exist for one framework only: as much as a mention.
_LIKELY: tuple[_Row, ...] = (
    (
        "tensorflow",
        (
            "InvalidArgumentError",
            "ResourceExhaustedError",
            "FailedPreconditionError",
            "UnimplementedError",
            "DataLossError",
        ),
        r"\b(?:ResourceExhausted|FailedPrecondition|DataLoss)Error\b"
        r"|^(?:InvalidArgument|Unimplemented)Error +Traceback \(most recent call last\)"
        r"|\b(?:InvalidArgument|Unimplemented)Error\b[^\n]{0,200}(?:[Ss]hape|[Tt]ensor|[Dd]imension|\b[Nn]ode|indices\["
        r"|\bOp\b|Conv2D|[Pp]laceholder|logits|label)",
    ),
    (
        "tensorflow",  # Keras at work
        ("- ETA: ", "epochs", "steps_per_epoch"),
        r"^ *\d+/\d+ \[=*>?\.*\] - (?:ETA: |\d+m?s)|\.fit(?:_generator)?\((?s:.){0,400}?\bepochs ?="
        r"|\bsteps_per_epoch ?=",
    ),
    (
        "tensorflow",
        ("TF", "tf", "rasa ", "when initializing TF", "Some layers of TF"),
        r"\b(?:TF|tf)[ -]?v?[12]\.\d|\bTF (?:raises|crashes|Serving|Lite|import|version)\b|\bTFTrain(?:er|ing\w+)\b"
        r"|\btf\.(?:function|data|nn|Session|Graph|Variable|constant|config|compat|train|GradientTape|image|io|lite"
        r"|saved_model|distribute|random|linalg|matmul|reshape|cast|contrib|convert_to_tensor|py_func)\b"
        r"|\brasa (?:train|run|shell|test)\b|when initializing TF[A-Z]\w+:|Some (?:layers|weights) of TF[A-Z]\w+ were",
    ),
    (
        "pytorch",
        (
            "CUDA error",
            "DNN error",
            "cuda runtime error",
            "loss.backward()",
            "optimizer.zero_grad",
            "[rank",
            "torch ",
            "torch-",
            "when initializing ",
            "were not initialized from",
            "with gradient checkpointing",
            "torchrun",
        ),
        r"\bRuntimeError: (?:CUDA|[Cc]uDNN) error: |\bloss\.backward\(\)|\boptimizer\.zero_grad\("
        r"|\bcuda runtime error \(\d+\) : |^\[rank\d+\]:|^torch +\d+\.\d"
        r"|^torch-(?:geometric|scatter|sparse|cluster)\b|\btorchrun\b"
        r"|when initializing (?:[A-EG-SU-Z]|T[a-z5]|F[a-km-z])\w+(?:Model|For\w+):"
        r"|Some weights of (?:[A-EG-SU-Z]|T[a-z5]|F[a-km-z])\w+ were not initialized from"
        r"|is incompatible with gradient checkpointing\b",
    ),
    (
        "pytorch",  # programs
        (
            "stable-diffusion-webui",
            "ComfyUI",
            "kohya",
            "nnUNet",
            "nnunet",
            "bitsandbytes",
            "xformers",
            "ultralytics",
            "yolov5",
            "detectron2",
            "mmdet",
            "mmcv",
            "fairseq",
            "deepspeed",
            "DeepSpeed",
            "vllm",
            "vLLM",
            "accelerate launch",
            "StableSwarmUI",
        ),
        r"\b(?:stable-diffusion-webui|ComfyUI|kohya|nnU-?Net|nnunet|bitsandbytes|xformers|ultralytics|yolov5|detectron2"
        r"|mmdet|mmcv|fairseq|[Dd]eep[Ss]peed|v(?:llm|LLM)|accelerate launch|StableSwarmUI)",
    ),
    (
        "jax",
        ("RuntimeError: R", "RuntimeError: I", "RuntimeError: F", "RuntimeError: U"),
        r"\bRuntimeError: (?:RESOURCE_EXHAUSTED|INTERNAL|FAILED_PRECONDITION|UNIMPLEMENTED|INVALID_ARGUMENT): "
        r"|\bRuntimeError: Resource exhausted: Out of memory while trying to allocate",
    ),
    (
        "caffe",  # other programs check so too; weaker than a word of theirs
        ("cudaSuccess (", "_STATUS_SUCCESS ("),
        r"Check failed: (?:error == cudaSuccess|status == CU(?:DNN|BLAS)_STATUS_SUCCESS) \(\d+ vs\. 0\)  ?\w",
    ),
    ("paddle", ("error(",), r"\b(?:CUDA|CUDNN|CUBLAS) error\(\d+\), "),
    ("theano", ("Apply node that caused the error",), r"^Apply node that caused the error: "),
    ("darknet", ("filters", "/cuda.c:"), r"^layer +filters +size +input +output|\./src/(?:cuda|utils)\.c:\d+: "),
)
