"""The one place that knows whose a name is: which language or framework a library, a function, a source file, a Python
package or an exception belongs to.

Each name is judged by itself, on any system. What counts more, where names of several frameworks are seen, is decided
in `crash.program_of` and by whoever looks at them in the order of a stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from triage.crash import (
    FRAMEWORKS,
    LANGUAGES,
    Framework,
    Language,
    NativeFrame,
    Place,
    Program,
    ProgramReason,
    ProgramSign,
    PythonException,
    PythonFrame,
    Thread,
    base_name,
    program_of,
)
from triage.frames import function_name, role
from triage.patterns import compile as pattern

# Libraries that programs of other frameworks use too: they count only where nothing else is there.
_COMPANIONS: frozenset[Framework] = frozenset(("onnxruntime", "xgboost", "lightgbm", "opencv"))

# ---------------------------------------------------------------- libraries

# A library that every process of a system has, or that others bring along, shows nothing: MLCompute, libxla, libswift.
_LIBRARIES: tuple[tuple[Framework, str], ...] = (
    ("tensorflow", r"(?i)^(?:lib)?_?(?:pywrap_)?tensorflow|^_pywrap_(?:tfe|tf_session|toco|tfcompile|tensorflow)"),
    ("pytorch", r"(?i)^(?:lib)?(?:torch(?:_\w+)?|c10(?:_cuda|_hip)?|caffe2(?:_\w+)?)(?:-\w+)?\.(?:so|dylib|dll|pyd)"),
    ("jax", r"(?i)^(?:xla_extension|libjax_common|_jax)\b|^jaxlib"),
    ("onnxruntime", r"(?i)^(?:lib)?onnxruntime"),
    ("mxnet", r"(?i)^(?:lib)?mxnet\.(?:so|dll|dylib)"),
    ("paddle", r"(?i)^(?:lib)?paddle(?:_\w+)?\.(?:so|pyd|dll|dylib)|^core_(?:no)?avx\.(?:so|pyd)"),
    ("caffe", r"(?i)^(?:lib|_)?caffe(?:-d)?\.(?:so|dll|dylib|pyd)"),
    ("xgboost", r"(?i)^(?:lib)?xgboost\.(?:so|dll|dylib)"),
    ("lightgbm", r"(?i)^lib_lightgbm\.(?:so|dll|dylib)"),
    ("opencv", r"(?i)^cv2\.|^(?:lib)?opencv_\w+\d*\.(?:so|dll|dylib)"),
)
_RUNTIMES: tuple[tuple[Language, str], ...] = (
    (
        "python",
        r"(?i)^(?:lib)?python(?:w|[23][.\d]*)?[dtm]?(?:_d)?(?:\.so|\.dll|\.exe|\.dylib|$)|^_pywrap_|\.cpython-|\.pyd$",
    ),
    ("java", r"(?i)^(?:lib)?jvm\.(?:so|dll|dylib)$|^javaw?(?:\.exe)?$"),
    ("dotnet", r"(?i)^(?:lib)?(?:coreclr|mscorwks|monosgen-2\.0)\.(?:so|dll|dylib)|^clr\.dll$|^dotnet(?:\.exe)?$"),
    ("javascript", r"(?i)^(?:node|nodejs|electron|deno|bun)(?:\.exe)?$|^libnode\.(?:so|dll|dylib)"),
    ("r", r"^libR\.(?:so|dylib)|^R\.dll$|^(?:R|Rscript|rsession)(?:\.exe)?$"),
    ("julia", r"(?i)^libjulia(?:-internal)?\.|^julia(?:\.exe)?$"),
    ("ruby", r"(?i)^libruby|^ruby(?:\.exe)?$"),
    ("perl", r"(?i)^libperl\.|^perl(?:\.exe|5[.\d]*)?$"),
    ("php", r"(?i)^php(?:-fpm|-cgi)?[\d.]*(?:\.exe)?$|^libphp"),
)


def shown_by_libraries(names: Iterable[str], place: Place | None, *, complete: bool) -> list[ProgramReason]:
    """What the libraries of a process show, its program first among them; `complete`: no other library was loaded."""
    files = list(dict.fromkeys(base_name(name) for name in names))
    reasons = [ProgramReason("loaded", what, file, place) for file in files if (what := _runtime(file))][:1]
    loaded: dict[Framework, str] = {}
    for file in files:
        if framework := _of_library(file):
            loaded.setdefault(framework, file)
    main = main_ones(loaded)
    if len(main) == 1:
        reasons.append(ProgramReason("loaded", main[0], loaded[main[0]], place))
    elif complete and files and not loaded:
        reasons.append(ProgramReason("none loaded", None, f"{len(files)} libraries", place))
    return reasons


def is_language(shown: Language | Framework | None) -> bool:
    """Whether it is a language that is shown, not a framework."""
    return shown in LANGUAGES


def main_ones(frameworks: Iterable[Framework]) -> list[Framework]:
    """Those that make a program what it is; companions only where there is nothing else."""
    found = list(frameworks)
    return [framework for framework in found if framework not in _COMPANIONS] or found


def are_companions(frameworks: Iterable[Framework]) -> bool:
    """Whether none of them makes a program what it is where another one is there."""
    return _COMPANIONS.issuperset(frameworks)


def _of_library(file: str) -> Framework | None:
    return next((framework for framework, is_it in _LIBRARIES if pattern(is_it).search(_text(file))), None)


def _runtime(file: str) -> Language | None:
    return next((language for language, is_it in _RUNTIMES if pattern(is_it).search(_text(file))), None)


def language_of_command(command: str | None) -> Language | None:
    """The language whose interpreter or virtual machine a command starts."""
    words = (command or "").split()
    return _runtime(base_name(words[0])) if words else None


# ---------------------------------------------------------------- frames

# Namespaces of C++, and the beginnings of C functions. xla:: and stream_executor:: are TensorFlow's and JAX's.
_FUNCTIONS: tuple[tuple[Framework, str], ...] = (
    ("tensorflow", r"\b(?:tensorflow|tflite|tfdml_plugin)::|\bTFE?_[A-Z]\w+|\bTfLite[A-Z]\w+|\borg[./]tensorflow[./]"),
    ("pytorch", r"\b(?:c10|caffe2|torch)::|\bat::(?:native|_ops|cuda|Tensor|Context|TensorBase|functorch|meta)\b"),
    ("jax", r"\b(?:jax|jaxlib)::"),
    ("onnxruntime", r"\bonnxruntime::"),
    ("mxnet", r"\bmxnet::"),
    ("paddle", r"\bpaddle::|\bphi::(?:\w+Kernel|backends|dynload|funcs)"),
    ("caffe", r"\bcaffe::"),
    ("xgboost", r"\bxgboost::"),
    ("lightgbm", r"\bLightGBM::"),
    ("opencv", r"\bcv::(?:Mat|UMat|dnn|ocl|hal|error|imread|resize|cvtColor|_InputArray)\b"),
)
_NAMESPACES = ("::", "TF", "TfLite", "tensorflow")
# Python packages: each framework with what is built on it alone.
_PACKAGES: dict[str, Framework] = {
    "tensorflow": "tensorflow",
    "tensorflow_core": "tensorflow",
    "tensorflow_estimator": "tensorflow",
    "tensorflow_hub": "tensorflow",
    "tensorflow_addons": "tensorflow",
    "tensorflow_datasets": "tensorflow",
    "tensorflow_probability": "tensorflow",
    "tensorflow_text": "tensorflow",
    "tensorflow_io": "tensorflow",
    "tensorflow_transform": "tensorflow",
    "tensorflow_federated": "tensorflow",
    "tensorflow_decision_forests": "tensorflow",
    "tensorflow_model_optimization": "tensorflow",
    "tensorflow_serving": "tensorflow",
    "tf_keras": "tensorflow",
    "tf_agents": "tensorflow",
    "tf_slim": "tensorflow",
    "tflearn": "tensorflow",
    "tensorlayer": "tensorflow",
    "tensorpack": "tensorflow",
    "tensor2tensor": "tensorflow",
    "object_detection": "tensorflow",
    "deepspeech": "tensorflow",
    "deeplab": "tensorflow",
    "tflite_runtime": "tensorflow",
    "torch": "pytorch",
    "torchvision": "pytorch",
    "torchaudio": "pytorch",
    "torchtext": "pytorch",
    "pytorch_lightning": "pytorch",
    "lightning": "pytorch",
    "fastai": "pytorch",
    "ultralytics": "pytorch",
    "detectron2": "pytorch",
    "vllm": "pytorch",
    "deepspeed": "pytorch",
    "xformers": "pytorch",
    "bitsandbytes": "pytorch",
    "accelerate": "pytorch",
    "diffusers": "pytorch",
    "lightning_fabric": "pytorch",
    "torch_geometric": "pytorch",
    "torch_scatter": "pytorch",
    "torchmetrics": "pytorch",
    "timm": "pytorch",
    "mmcv": "pytorch",
    "mmdet": "pytorch",
    "mmengine": "pytorch",
    "mmseg": "pytorch",
    "fairseq": "pytorch",
    "flash_attn": "pytorch",
    "peft": "pytorch",
    "trl": "pytorch",
    "monai": "pytorch",
    "nnunet": "pytorch",
    "nnunetv2": "pytorch",
    "kornia": "pytorch",
    "easyocr": "pytorch",
    "sentence_transformers": "pytorch",
    "jax": "jax",
    "jaxlib": "jax",
    "jax_plugins": "jax",
    "flax": "jax",
    "haiku": "jax",
    "optax": "jax",
    "orbax": "jax",
    "chex": "jax",
    "equinox": "jax",
    "numpyro": "jax",
    "onnxruntime": "onnxruntime",
    "mxnet": "mxnet",
    "gluoncv": "mxnet",
    "gluonnlp": "mxnet",
    "paddle": "paddle",
    "paddleocr": "paddle",
    "paddlex": "paddle",
    "paddlenlp": "paddle",
    "caffe": "caffe",
    "theano": "theano",
    "lasagne": "theano",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "cv2": "opencv",
}
_PACKAGE = r"(?:^|/)(?:site|dist)-packages/(?:[\w.-]+\.egg/)?(?P<package>\w+)"
# A framework's own tree, where it runs from its sources, a zip or a sandbox of Bazel.
_TREE = (
    r"(?:^|/)(?:(?P<tensorflow>tensorflow(?:_core)?/python/)|(?P<jax>jax/_src/)"
    r"|(?P<pytorch>torch/(?:nn|utils|cuda|autograd|optim|distributed)/))"
)
_KERAS = r"(?:^|/)(?:site|dist)-packages/keras(?:/|-|$)"
_BACKEND = r"(?:^|/)keras/(?:src/)?(?:backend|backends)/(?P<backend>tensorflow|torch|jax|theano|mxnet)"
_BACKENDS: dict[str, Framework] = {
    "tensorflow": "tensorflow",
    "torch": "pytorch",
    "jax": "jax",
    "theano": "theano",
    "mxnet": "mxnet",
}


def shown_by_threads(threads: Sequence[Thread], place: Place | None = None) -> Iterator[ProgramReason]:
    """What the stacks show, those of crashed threads first; the frame nearest to the crash decides."""
    ordered = sorted(threads, key=lambda thread: not thread.crashed)
    for thread in ordered:
        where = thread.place or place
        yield from _shown_by_native(thread.native_stack, where)
        if thread.python_stack:
            yield from shown_by_python(thread.python_stack, where)


def _shown_by_native(frames: Sequence[NativeFrame], place: Place | None) -> Iterator[ProgramReason]:
    found = ((framework, text) for frame in frames for framework, text in [_of_native(frame)] if framework)
    yield from _nearest("native frame", found, place)
    for frame in frames:
        if frame.module and (language := _runtime(base_name(frame.module))):
            yield ProgramReason("native frame", language, base_name(frame.module), place)
            return


def _of_native(frame: NativeFrame) -> tuple[Framework | None, str]:
    function = frame.function or ""
    if any(part in function for part in _NAMESPACES):
        for framework, is_it in _FUNCTIONS:
            if pattern(is_it).search(_text(function)):
                return framework, function
    file = base_name(frame.module or "")
    return (_of_library(file) if file else None), file


def shown_by_python(frames: Sequence[PythonFrame], place: Place | None) -> Iterator[ProgramReason]:
    """What a Python stack shows; it shows at least that it is Python."""
    found = ((framework, frame.file) for frame in frames if (framework := _of_file(frame.file)))
    yield from _nearest("python frame", found, place)
    keras = next((frame.file for frame in frames if pattern(_KERAS).search(_path(frame.file))), None)
    if keras:
        yield ProgramReason("import", "tensorflow", keras, place)
    if frames:
        yield ProgramReason("python frame", "python", frames[0].file, place)


def _nearest(kind: ProgramSign, found: Iterable[tuple[Framework, str]], place: Place | None) -> Iterator[ProgramReason]:
    """The framework of the innermost frame that has one; a companion only where no other is on the stack."""
    pairs = list(found)
    framework, text = next((one for one in pairs if one[0] not in _COMPANIONS), pairs[0] if pairs else (None, ""))
    if framework:
        yield ProgramReason(kind, framework, text, place)


def _of_file(file: str) -> Framework | None:
    """The framework that a Python file is part of; Keras is what its backend is."""
    path = _path(file)
    if backend := pattern(_BACKEND).search(path):
        return _BACKENDS[backend["backend"]]
    if (package := pattern(_PACKAGE).search(path)) and (framework := _PACKAGES.get(package["package"])):
        return framework
    tree = pattern(_TREE).search(path)
    return next((name for name in FRAMEWORKS if tree.groupdict().get(name)), None) if tree else None


# ---------------------------------------------------------------- exceptions and packages


def shown_by_exceptions(exceptions: Sequence[PythonException]) -> Iterator[ProgramReason]:
    """What exceptions show, the last one first: by their class, and by the stack that they came through."""
    for error in reversed(exceptions):
        package = error.type.split(".")[0]
        if "." in error.type and (framework := _PACKAGES.get(package)):
            yield ProgramReason("exception", framework, error.type, error.place)
            yield ProgramReason("exception", "python", error.type, error.place)
        yield from shown_by_python(error.frames, error.place)


def framework_of_package(name: str) -> Framework | None:
    """The framework that a Python package is, or is built on; Keras is TensorFlow's unless something says otherwise."""
    return "tensorflow" if name == "keras" else _PACKAGES.get(name)


PACKAGE_NAMES = (*_PACKAGES, "keras")


def program_of_libraries(
    names: Iterable[str], threads: Sequence[Thread], place: Place | None, *, complete: bool
) -> Program | None:
    """What a live process, a core or a dump was, from its libraries and its stacks."""
    reasons = [*shown_by_libraries(names, place, complete=complete), *shown_by_threads(threads, place)]
    if all(reason.shows is None for reason in reasons):
        reasons += compiled(threads, place)
    return program_of(reasons)


_COMPILED: tuple[tuple[Language, str], ...] = (
    ("c++", r"::|^_ZN|\.(?:cc|cpp|cxx|hpp|mm)\b"),
    ("c", r"^/[^\n]*\.c(?::\d+)*$"),
)


def compiled(threads: Sequence[Thread], place: Place | None = None) -> Iterator[ProgramReason]:
    """C++ or C, where native frames show it; whoever asks knows that no interpreter and no framework runs there."""
    for thread in sorted(threads, key=lambda thread: not thread.crashed):
        shown = [frame for frame in thread.native_stack if frame.function and not role(function_name(frame.function))]
        for language, is_it in _COMPILED:
            texts = (text for frame in shown for text in (frame.function, frame.source) if text and _is(is_it, text))
            for text in texts:
                yield ProgramReason("native frame", language, text, thread.place or place)
                return


def _is(expression: str, text: str) -> bool:
    return pattern(expression).search(_text(text)) is not None


def _path(file: str) -> str:
    return _text(file).replace("\\", "/")


def _text(text: str) -> str:
    """The text as the pattern engine takes it: names on Linux may contain bytes that are not characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
