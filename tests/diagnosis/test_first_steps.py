"""Where one cause has several cures, the wording of the message decides which one is told first."""

from __future__ import annotations

import pytest

import triage


def first_step(*lines: str) -> str:
    """The first step of the first answer, with its command."""
    diagnosis = triage.analyze("\n".join(lines).encode()).diagnoses[0]
    return f"{diagnosis.fix[0].do} {diagnosis.fix[0].run or ''}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("RuntimeError: module compiled against API version 0xc but this version of numpy is 0xb", "--upgrade numpy"),
        ("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.1 as it may crash.", '"numpy<2"'),
        ("TypeError: Descriptors cannot not be created directly.", '"protobuf==3.20.*"'),
        ("TypeError: __init__() got an unexpected keyword argument 'serialized_options'", "--upgrade protobuf"),
        ("ImportError: /lib/libm.so.6: version `GLIBC_2.29' not found (required by /x/a.so)", "a newer distribution"),
        (
            "ImportError: /opt/conda/envs/a/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by a)",
            "conda install -c conda-forge",
        ),
        ("RuntimeError: No CUDA GPUs are available", "CUDA_VISIBLE_DEVICES"),
        ("RuntimeError: No HIP GPUs are available", "usermod -a -G render,video"),
        ("exec /usr/bin/python3: exec format error", "docker buildx build"),
        ("exec /entrypoint.sh: exec format error", "the very first line of the script"),
        ("trainer.service: Main process exited, code=exited, status=203/EXEC", "ExecStart="),
        ("trainer.service: Main process exited, code=exited, status=200/CHDIR", "WorkingDirectory="),
        ("Error: Cannot find module 'express'", "npm install"),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'express' imported from /home/user/a.mjs", "npm install"),
        ("TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()", "x.detach().cpu().numpy()"),
        ("RuntimeError: Expected all tensors to be on the same device, but found at least two", "model.to(device)"),
        ("AttributeError: Can't pickle local object 'main.<locals>.<lambda>'", "at the top level of a module"),
        ("AttributeError: Can't get local object 'main.<locals>.<lambda>'", "at the top level of a module"),
        ("TypeError: cannot pickle '_thread.lock' object", "in the worker"),
        ("InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx", "C++ compiler"),
        ("OSError: libcuda.so.1: file too short", "--gpus all"),
        ("ModuleNotFoundError: No module named 'tensorflow.contrib'", "tensorflow==1.15"),
        ("AttributeError: module 'tensorflow' has no attribute 'Session'", "tensorflow.compat.v1"),
        ("AttributeError: 'Sequential' object has no attribute 'predict_classes'", "np.argmax"),
        ("ValueError: Data cardinality is ambiguous:\n  x sizes: 10\n  y sizes: 8", "same number of samples"),
        ("/x/lib/a.so: invalid ELF header", "--no-cache-dir"),
        ("tcmalloc.cc:332] Attempt to free invalid pointer 0x7f00\nAborted (core dumped)", "without a preloaded"),
    ],
)
def test_the_wording_decides_which_cure_is_told_first(line: str, words: str) -> None:
    assert words in first_step(line)


CV = "cv2.error: OpenCV(4.8.0) /io/opencv/modules/"
ORT = "onnxruntime.capi.onnxruntime_pybind11_state."
LOAD = "RuntimeError: Error(s) in loading state_dict for Net:\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"{CV}imgproc/src/color.cpp:182: error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'", "path"),
        (
            f"{CV}highgui/src/window.cpp:1272: error: (-2:Unspecified error) The function is not implemented. Rebuild "
            "the library with Windows, GTK+ 2.x or Cocoa support. in function 'cvShowImage'",
            "uninstall -y opencv-python-headless",
        ),
        (
            "cv2.error: OpenCV(4.8.0) :-1: error: (-5:Bad argument) in function 'circle'\n> Overload resolution failed:"
            "\n>  - Can't parse 'center'. Sequence item with index 0 has a wrong type",
            "int(v)",
        ),
        (
            f"{ORT}Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from a.onnx failed:/x/model.cc:149 Unsupported "
            "model IR version: 10, max supported IR version: 9",
            "--upgrade onnxruntime",
        ),
        ("lightgbm.basic.LightGBMError: Do not support special JSON characters in feature name.", "Rename the columns"),
        (
            "xgboost.core.XGBoostError: [10:00:00] /x/data.cc:507: Check failed: valid: Label contains NaN, infinity "
            "or a value too large.",
            "np.isfinite",
        ),
        (
            "RuntimeError: Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present.",
            "jax[cuda12]",
        ),
        (
            "jax.errors.TracerArrayConversionError: The numpy.ndarray conversion method __array__() was called on "
            "traced array",
            "jnp",
        ),
        (
            "jax.errors.UnexpectedTracerError: Encountered an unexpected tracer. A function transformed by JAX had a "
            "side effect",
            "Return the value",
        ),
        (f'{LOAD}\tUnexpected key(s) in state_dict: "module.conv1.weight", "module.conv1.bias".', '"module."'),
        (f'{LOAD}\tMissing key(s) in state_dict: "module.conv1.weight", "module.conv1.bias".', "model.module"),
        ("AssertionError: Torch not compiled with CUDA enabled", "download.pytorch.org"),
        (
            "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
            "map_location",
        ),
        (
            "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
            "cpu!",
            "x.to(device)",
        ),
        ("ValueError: Expected more than 1 value per channel when training, got input size [1, 256]", "drop_last"),
        ("RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn", "requires_grad"),
        ("RuntimeError: Trying to backward through the graph a second time, but the saved", "hidden.detach()"),
        ("RuntimeError: grad can be implicitly created only for scalar outputs", "loss.mean()"),
        (
            "RuntimeError: stack expects each tensor to be equal size, but got [3, 4] at entry 0 and [3, 5]",
            "collate_fn",
        ),
        (
            "RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead.",
            "x.reshape",
        ),
        ("RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'", "model.float()"),
        ("RuntimeError: all elements of input should be between 0 and 1", "sigmoid"),
        (
            "../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [0,0,0], thread: [0,0,0] "
            "Assertion `srcIndex < srcSelectDimSize` failed.\nRuntimeError: CUDA error: device-side assert triggered",
            "larger than the largest index",
        ),
    ],
)
def test_the_wording_of_other_libraries_decides_too(line: str, words: str) -> None:
    assert words in first_step(line)


def test_a_program_of_tensorflow_1_is_told_no_upgrade_to_2_for_its_card() -> None:
    step = first_step(
        "TensorFlow version: 1.10.1, CUDA 9.0",
        "name: GeForce RTX 2080 Ti major: 7 minor: 5",
        "failed to run cuBLAS routine cublasSgemm_v2: CUBLAS_STATUS_EXECUTION_FAILED",
        "Segmentation fault (core dumped)",
    )
    assert '"tensorflow>=1.13,<2"' in step
