"""Whose crash a text shows: the language and the framework, each by what shows it."""

from __future__ import annotations

import pytest

import triage
from triage.crash import Crash, Program, ProgramReason, merge, program_of
from triage.programs import program_of_libraries
from triage.readers import Source, read

TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'
FROM_TORCH = '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1511, in _call_impl\n'
FROM_KERAS = '  File "/opt/venv/lib/python3.11/site-packages/keras/src/layers/layer.py", line 9, in __call__\n'
FROM_KERAS_ON_JAX = '  File "/opt/venv/lib/python3.11/site-packages/keras/src/backend/jax/core.py", line 9, in f\n'
TENSORFLOW_LINE = "2024-01-02 03:04:05.678: I tensorflow/core/platform/cpu_feature_guard.cc:182] This TensorFlow binary"
JAX_LINE = "2023-04-05 10:00:00.1: W external/org_tensorflow/tensorflow/compiler/xla/stream_executor/cuda.cc:1] no GPU"
SERVING_LINE = (
    "2018-07-02 10:00:00.1: I external/org_tensorflow/tensorflow/core/platform/cpu_feature_guard.cc:141] Your CPU"
    " supports instructions that this TensorFlow binary was not compiled to use: AVX2"
)
JVM = "# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGSEGV (0xb) at pc=0x00007f, pid=7"
ASAN = (
    "==71==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011\n"
    "    #0 0x4f5e3a in parser::Reader::next() /src/parser/reader.cc:88:12\n"
)


def program(text: str) -> Program | None:
    """What the reader of logs finds."""
    return read(Source.of(text.encode()), 0).program


def shown(text: str) -> tuple[str | None, str | None]:
    """Language and framework, None where nothing shows them."""
    found = program(text)
    return (found.language, found.framework) if found else (None, None)


@pytest.mark.parametrize(
    ("text", "language", "framework"),
    [
        # exceptions and their stacks
        (TRACEBACK + "tensorflow.python.framework.errors_impl.InternalError: Blas failed", "python", "tensorflow"),
        (TRACEBACK + "torch.cuda.OutOfMemoryError: CUDA out of memory.", "python", "pytorch"),
        (TRACEBACK + "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED", "python", "jax"),
        (TRACEBACK + "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError]", "python", "onnxruntime"),
        (TRACEBACK + FROM_TORCH + "RuntimeError: bad shape", "python", "pytorch"),
        (TRACEBACK + FROM_KERAS + "ValueError: bad shape", "python", "tensorflow"),
        (TRACEBACK + FROM_KERAS_ON_JAX + "ValueError: bad shape", "python", "jax"),
        (TRACEBACK + "ZeroDivisionError: division by zero", "python", None),
        # what was raised beats what another library printed at its start
        (TENSORFLOW_LINE + "\n" + TRACEBACK + FROM_TORCH + "RuntimeError: bad shape", "python", "pytorch"),
        # lines of logs
        (TENSORFLOW_LINE, None, "tensorflow"),
        (r"E c:\tf_jenkins\workspace\tensorflow\stream_executor\cuda\cuda_dnn.cc:385] no handle", None, "tensorflow"),
        ("E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:467] Unable to register", None, "tensorflow"),
        (JAX_LINE, None, "jax"),
        (JAX_LINE + "\ntensorflow_serving/model_servers/server.cc:87] Building", None, "tensorflow"),
        (SERVING_LINE + "\n" + JAX_LINE, None, "tensorflow"),
        (JAX_LINE + "\nline 3: 8 Aborted tensorflow_model_server --port=8500", None, "tensorflow"),
        ("Non-OK-status: GpuLaunchKernel(Fill, 1, 1, 0, s) status: Internal: out of memory", None, "tensorflow"),
        ("The operator 'aten::nms' is not currently implemented for the MPS device.", None, "pytorch"),
        ("YOLOv5 v6.1-386 Python-3.9.13 torch-1.12.0 CUDA:0", None, "pytorch"),
        (r"(External) CUBLAS error(1). (at ..\paddle\phi\backends\gpu\gpu_resources.cc:235)", None, "paddle"),
        ("Compile with `TORCH_USE_HIP_DSA` to enable device-side assertions.", None, "pytorch"),
        ("[E:onnxruntime:, inference_session.cc:1533] Exception during initialization", None, "onnxruntime"),
        ("../aten/src/ATen/native/cuda/Indexing.cu:1093: indexSelectSmallIndex: block: [0,0,0]", None, "pytorch"),
        ("Using Theano backend.\nSegmentation fault", None, "theano"),
        # other languages that print TensorFlow's lines
        (TENSORFLOW_LINE + "\n" + JVM + "\n# C  [libtensorflow_jni.so+0x1]", "java", "tensorflow"),
        (TENSORFLOW_LINE + "\nUnhandled exception. System.DllNotFoundException: x", "dotnet", "tensorflow"),
        ("> library(keras)\n" + TENSORFLOW_LINE + "\n *** caught segfault ***", "r", "tensorflow"),
        ("node:internal/modules/cjs/loader:1\nError: @tensorflow/tfjs-node", "javascript", "tensorflow"),
        # imports and commands; where several are imported, none is named
        (">>> import torch\nSegmentation fault (core dumped)", "python", "pytorch"),
        ('$ python -c "import tensorflow as tf"\nIllegal instruction', "python", "tensorflow"),
        (">>> import torch\n>>> import tensorflow\nSegmentation fault", "python", None),
        # mentions: one framework, or none
        ("TensorFlow version: 2.4.1\nit crashes", None, "tensorflow"),
        ("torch==2.1.0\ntorchvision==0.16\ntensorflow==2.14.0\nKilled", None, None),
        # programs without a framework
        (JVM, "java", None),
        ('Exception in thread "main" java.lang.IllegalStateException: no plan', "java", None),
        (ASAN, "c++", None),
        ("panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()", "go", None),
        ("thread 'main' panicked at src/main.rs:2:5:\nno plan", "rust", None),
        ("error: process didn't exit successfully: `/srv/demo/target/debug/deps/demo-1` (signal: 11)", "rust", None),
        ("terminate called after throwing an instance of 'std::out_of_range'\n  what():  map::at", "c++", None),
        ("$ python run.py\nterminate called without an active exception\nAborted", "python", None),
        ("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "javascript", None),
        ("> Process 'Gradle Test Executor 4' finished with non-zero exit value 137", "java", None),
        ("Fatal error: Uncaught Error: no plan in /srv/a.php:3", "php", None),
        ("[30-Dec-2024 15:09:04] WARNING: [pool www] child 9 exited on signal 11 (SIGSEGV)", "php", None),
        ("[2024-01-01 10:05:00 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:7)", "python", None),
        ("Program received signal SIGFPE\n\nBacktrace for this error:\n#0  0x7f in ???", "fortran", None),
        ("demo: no plan\nCallStack (from HasCallStack):\n  error, called at a.hs:3:1", "haskell", None),
        ('Fatal error: exception Not_found\nRaised at file "list.ml", line 3', "ocaml", None),
        ("lua: a.lua:1: attempt to index a nil value\nstack traceback:\n\t[C]: in ?", "lua", None),
        ("Crash dump is being written to: erl_crash.dump...done", "erlang", None),
        ("a.rb:1: [BUG] Segmentation fault at 0x0\nruby 3.2.2", "ruby", None),
        ("==7==ERROR: LeakSanitizer: detected memory leaks\n    #1 0x43ef81 in main leak.c:6", "c", None),
        ("BUG: KASAN: use-after-free in ip_rcv+0x10/0x20", "c", None),
        ("Segmentation fault (core dumped)", None, None),
        ("Killed", None, None),
        ("Epoch 1/5", None, None),
    ],
)
def test_a_text_shows_language_and_framework(text: str, language: str | None, framework: str | None) -> None:
    assert shown(text) == (language, framework)


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        # TensorFlow without the module of its exceptions
        ("InvalidArgumentError (see above for traceback): Incompatible shapes: [2,3] vs. [2,4]", "tensorflow"),
        ("InvalidArgumentError: Input to reshape is a tensor with 6 values, but the shape has 8", "tensorflow"),
        ("ValueError: Shapes are [2,4] and [8,4]. for 'Assign' (op: 'Assign') with input shapes: [2,4]", "tensorflow"),
        ("Value passed to parameter 'shape' has DataType float32 not in list of allowed values: int32", "tensorflow"),
        ("Not found: Key conv1/weights not found in checkpoint", "tensorflow"),
        ("it stops with a ResourceExhaustedError after one epoch", "tensorflow"),
        ("InvalidArgumentError                Traceback (most recent call last)", "tensorflow"),
        ("TF raises an error: DLL load failed", "tensorflow"),
        (" 97/100 [===========================>..] - ETA: 2s - loss: 0.1\nKilled", "tensorflow"),
        # PyTorch by its sentences
        ("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity", "pytorch"),
        ("RuntimeError: MPS backend out of memory (MPS allocated: 8.02 GB", "pytorch"),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x2 and 4x8)", "pytorch"),
        ("RuntimeError: Error(s) in loading state_dict for Net:", "pytorch"),
        ("Expected object of scalar type Long but got scalar type Int for argument #2 'target'", "pytorch"),
        ("RuntimeError: operator torchvision::nms does not exist", "pytorch"),
        ("RuntimeError: DataLoader worker (pid 71) is killed by signal: Killed.", "pytorch"),
        ("RuntimeError: DataLoader worker (pid(s) 71, 72) exited unexpectedly", "pytorch"),
        ("[rank1]:[E626 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout", "pytorch"),
        ("CUDA kernel errors might be asynchronously reported at some other API call", "pytorch"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "pytorch"),
        # others by theirs
        ("XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed.", "jax"),
        ("RuntimeError: Resource exhausted: Out of memory while trying to allocate 64 bytes.", "jax"),
        ("RuntimeError: [ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model.", "onnxruntime"),
        ("[10:20:30] src/nnvm/legacy_json_util.cc:217: Symbol successfully upgraded!\nSegmentation fault", "mxnet"),
        ("FatalError: `Segmentation fault` is detected by the operating system.", "paddle"),
        ("(External) CUDNN error(8), CUDNN_STATUS_EXECUTION_FAILED.", "paddle"),
        ("F0101 10:20:30.1  7 syncedmem.cpp:56] Check failed: error == cudaSuccess (2 vs. 0)  out of memory", "caffe"),
        ("Check failed: error == cudaSuccess (38 vs. 0)  no CUDA-capable device is detected", "caffe"),
        ("darknet: ./src/cuda.c:36: check_error: Assertion `0' failed.", "darknet"),
        ("   79 conv    512  1 x 1 / 1    19 x  19 x1024   ->    19 x  19 x 512  0.379 BFLOPs\nKilled", "darknet"),
        ("ValueError: GpuElemwise. Input dimension mis-match.", "theano"),
        # OpenCV is a guest in the programs of others, and a list of packages does not make it more
        (" OpenCV version: 4.5.5\nmini_batch = 1, batch = 8, time_steps = 1, train = 0", "darknet"),
        ("numpy==1.26\nopencv-python==4.9\nSegmentation fault", None),
        # the same words where they say nothing
        ("selenium.common.exceptions.InvalidArgumentError: bad port", None),
        ("E cuda_dnn.cc:211] Check failed: status == CUDNN_STATUS_SUCCESS (7 vs. 0)Failed to set it", None),
        ("model.fit(X, y)\nSegmentation fault", None),
        ("jaxlib==0.4.1\ntorch==2.1.0\nKilled", None),
    ],
)
def test_a_framework_shows_in_what_it_always_says(text: str, framework: str | None) -> None:
    assert shown(text)[1] == framework


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        (TENSORFLOW_LINE, "tensorflow"),
        (TENSORFLOW_LINE + "\nSegmentation fault", "tensorflow"),
        (TENSORFLOW_LINE + "\nRuntimeError: mat1 and mat2 shapes cannot be multiplied (8x2 and 4x8)", "pytorch"),
        (TENSORFLOW_LINE + "\nimport torch\nKilled", "pytorch"),
        (TENSORFLOW_LINE + "\nI also have ComfyUI here", None),
        (TENSORFLOW_LINE + "\n2024-01-02 03:04:05.678: F tensorflow/core/framework/tensor.cc:1] x", "tensorflow"),
        (TENSORFLOW_LINE + "\nThe same model works in PyTorch.", "tensorflow"),
        (TENSORFLOW_LINE + "\n[W:onnxruntime:, session.cc:1] slow", "tensorflow"),
        ("a CUDA-enabled jaxlib is not installed. Falling back to cpu.", None),
        ("a CUDA-enabled jaxlib is not installed. Falling back to cpu.\nimport jax", "jax"),
    ],
)
def test_what_any_program_prints_that_has_tensorflow_installed_yields(text: str, framework: str | None) -> None:
    assert shown(text)[1] == framework


@pytest.mark.parametrize(
    "text",
    [
        "The same network works fine in PyTorch, here it dies with a segmentation fault.",
        "It is slower than TensorFlow, and then it was Killed.",
        "I switched from Keras to this, now: Segmentation fault (core dumped)",
    ],
)
def test_a_framework_that_is_only_compared_with_is_not_the_program(text: str) -> None:
    assert shown(text)[1] is None


def test_a_reason_has_the_line_that_shows_it_and_its_place() -> None:
    found = program("starting\n" + TENSORFLOW_LINE)
    assert found is not None
    (reason,) = found.because
    assert (reason.kind, reason.shows, reason.place and reason.place.line) == ("log line", "tensorflow", 2)
    assert reason.text.startswith("2024-01-02 03:04:05.678: I tensorflow/core/")


@pytest.mark.parametrize(
    ("libraries", "language", "framework"),
    [
        (["/usr/bin/python3.11", "libtensorflow_cc.so.2", "libcudart.so.12"], "python", "tensorflow"),
        (["python311.dll", "torch_cpu.dll", "c10.dll"], "python", "pytorch"),
        (["/usr/bin/python3.11", "xla_extension.so"], "python", "jax"),
        (["/usr/bin/java", "libjvm.so", "libtensorflow_jni.so"], "java", "tensorflow"),
        (["/usr/bin/python3.11", "libtensorflow_cc.so.2", "cv2.abi3.so"], "python", "tensorflow"),
        (["/usr/bin/python3.11", "cv2.abi3.so"], "python", "opencv"),
        (["/usr/bin/python3.11", "libtensorflow_cc.so.2", "libtorch_cpu.so"], "python", None),
        (["label.exe", "VCRUNTIME140D.dll", "ucrtbased.dll"], None, None),
        (["app", "MLCompute", "Metal", "libswiftCore.dylib"], None, None),
    ],
)
def test_what_was_loaded_shows_it(libraries: list[str], language: str | None, framework: str | None) -> None:
    found = program_of_libraries(libraries, (), None, complete=True)
    assert found is not None
    assert (found.language, found.framework) == (language, framework)


def test_a_process_without_a_framework_is_known_to_have_none() -> None:
    bare = program_of_libraries(["/usr/bin/python3.11", "libm.so.6"], (), None, complete=True)
    both = program_of_libraries(["python3", "libtensorflow_cc.so.2", "libtorch_cpu.so"], (), None, complete=True)
    partly = program_of_libraries(["/usr/bin/python3.11"], (), None, complete=False)
    assert bare is not None and bare.lacks("tensorflow")
    assert both is not None and not both.lacks("tensorflow")
    assert partly is not None and not partly.lacks("tensorflow")


def test_what_was_loaded_beats_what_a_log_says() -> None:
    log = read(Source.of(b">>> import torch\n" + TENSORFLOW_LINE.encode()), 0)
    loaded = program_of_libraries(["python3", "libtorch_cpu.so"], (), None, complete=True)
    core = Crash(processes=(log.processes[0]._replace(program=loaded),))
    for merged in (merge([log, core]), merge([core, log])):
        assert merged.program is not None and merged.program.framework == "pytorch"


def test_a_framework_whose_import_failed_was_not_loaded_but_raised() -> None:
    none = ProgramReason("none loaded", None, "40 libraries")
    raised = ProgramReason("python frame", "tensorflow", "site-packages/tensorflow/__init__.py")
    found = program_of([none, raised])
    assert found is not None and found.framework == "tensorflow"


def test_a_mention_of_another_framework_does_not_prove_that_this_one_was_not_there() -> None:
    mentioned = program_of([ProgramReason("mention", "pytorch", "I also use PyTorch")])
    printed = program_of([ProgramReason("log line", "pytorch", "ATen/native")])
    assert mentioned is not None and not mentioned.lacks("tensorflow")
    assert printed is not None and printed.lacks("tensorflow")


def test_the_report_has_it_in_every_format() -> None:
    from triage.reports import json_report, markdown, text

    report = triage.analyze((TRACEBACK + "torch.cuda.OutOfMemoryError: CUDA out of memory.").encode())
    assert "Python with PyTorch, by what it raised" in text.render(report)
    assert "**program**: Python with PyTorch" in markdown.render(report)
    written = json_report.as_dict(report)["crash"]["program"]
    assert (written["language"], written["framework"], written["because"][0]["line"]) == ("python", "pytorch", 3)


def test_what_a_worker_of_torchserve_prints_stands_behind_its_prefix() -> None:
    prefix = "2022-11-16T23:57:50,418 [WARN ] W-9000-digits_1.0-stderr MODEL_LOG - "
    lines = ("Traceback (most recent call last):", '  File "a.py", line 1, in <module>', "KeyError: 'digits'")
    report = triage.analyze("\n".join(prefix + line for line in lines).encode())
    assert [error.type for error in report.crash.exceptions] == ["KeyError"]
