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
        ("AttributeError: Can't pickle local object 'main.<locals>.<lambda>'", "at the top of a module"),
        ("AttributeError: Can't get local object 'main.<locals>.<lambda>'", "at the top of a module"),
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


def test_a_program_of_tensorflow_1_is_told_no_upgrade_to_2_for_its_card() -> None:
    step = first_step(
        "TensorFlow version: 1.10.1, CUDA 9.0",
        "name: GeForce RTX 2080 Ti major: 7 minor: 5",
        "failed to run cuBLAS routine cublasSgemm_v2: CUBLAS_STATUS_EXECUTION_FAILED",
        "Segmentation fault (core dumped)",
    )
    assert '"tensorflow>=1.13,<2"' in step
