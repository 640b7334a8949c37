"""Lines as TensorFlow, PyTorch, JAX, their tools and their users write them, and what each tells of the machine."""

from __future__ import annotations

import pytest

from triage.crash import Log
from triage.readers.log.versions import facts_of

# A line or several, and every fact and package that they tell: nothing else may be read from them.
TENSORFLOW = {
    "Loaded cuDNN version 8302": {"cudnn": "8.3.2"},
    "2024-05-01 10:00:00.123456: I xla/stream_executor/cuda/cuda_dnn.cc:529] Loaded cuDNN version 90300": {
        "cudnn": "9.3.0"
    },
    "E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Loaded runtime CuDNN library: 8.0.5 but source was compiled "
    "with: 8.1.0.": {"cudnn": "8.0.5", "cudnn built": "8.1.0"},
    "I tensorflow/stream_executor/platform/default/dso_loader.cc:49] Successfully opened dynamic library "
    "libcudart.so.10.1": {"cuda": "10.1"},
    "W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library "
    "'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file": {},
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 9683 MB memory:  -> device: 0, name: NVIDIA "
    "GeForce RTX 3080, pci bus id: 0000:01:00.0, compute capability: 8.6": {
        "card": "NVIDIA GeForce RTX 3080",
        "capability": "8.6",
    },
    "pciBusID: 0000:01:00.0 name: GeForce GTX 1050 Ti computeCapability: 6.1\ncoreClock: 1.392GHz coreCount: 6": {
        "card": "GeForce GTX 1050 Ti",
        "capability": "6.1",
    },
    "name: Tesla K80 major: 3 minor: 7 memoryClockRate(GHz): 0.8235": {"card": "Tesla K80", "capability": "3.7"},
    "kernel reported version is: 470.57.2": {"driver": "470.57.2"},
    "- TensorFlow version (use command below): v2.4.0-49-g85c8b2a817f 2.4.1": {"tensorflow": "2.4.1"},
    "('v1.12.1-84709-g3ac5ef0', '2.8.0-dev20211203')": {"tensorflow": "2.8.0"},
    "- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Linux Ubuntu 20.04": {"system version": "Ubuntu 20.04"},
    "- CUDA/cuDNN version: 11.2 / 8.1.0": {"cuda": "11.2", "cudnn": "8.1.0"},
    "- GPU model and memory: GeForce GTX 1080 Ti, 11GB": {"card": "GeForce GTX 1080 Ti"},
    "- GCC/Compiler version (if compiling from source): 7.3.1": {"compiler": "7.3.1"},
    "pip install tensorflow-gpu==1.14.0": {"tensorflow": "1.14.0"},
    "tensorflow                   2.15.1\nkeras                        2.15.0": {
        "tensorflow": "2.15.1",
        "keras": "2.15.0",
    },
    "Using cached tensorflow-2.9.1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl (511.7 MB)": {
        "tensorflow": "2.9.1",
        "python": "3.10",
    },
    "tensorflow 2.4.1 requires numpy~=1.19.2, but you have numpy 1.21.0 which is incompatible.": {
        "tensorflow": "2.4.1",
        "numpy": "1.21.0",
    },
    '  File "C:\\Users\\user\\Python\\Python38\\lib\\site-packages\\tensorflow\\x.py", line 3': {"python": "3.8"},
    ">>> tf.__version__\n'2.10.0'": {"tensorflow": "2.10.0"},
    "It worked with TensorFlow 2.3 and fails with TensorFlow 2.4": {"tensorflow": "2.4"},
    "I tried tensorflow 2.3, tensorflow 2.4 and TensorFlow 2.5.1": {},
}
PYTORCH = {
    "PyTorch version: 2.0.1+cu118": {"torch": "2.0.1", "cuda built": "11.8"},
    "CUDA used to build PyTorch: 12.1": {"cuda built": "12.1"},
    "Name: torchvision\nVersion: 0.20.1\nSummary: image and video": {"torchvision": "0.20.1"},
    "Jax-Metal - 0.1.1\nJax - 0.5.2": {"jax-metal": "0.1.1", "jax": "0.5.2"},
    "CUDA runtime version: 11.8.89": {"cuda": "11.8.89"},
    "Nvidia driver version: 525.85.12": {"driver": "525.85.12"},
    "GPU 0: NVIDIA GeForce RTX 4090": {"card": "NVIDIA GeForce RTX 4090"},
    "GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-1)": {"card": "Tesla V100-SXM2-16GB"},
    "cuDNN version: Probably one of the following:\n/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.2": {"cudnn": "8.9.2"},
    "Python version: 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] (64-bit runtime)": {
        "python": "3.10.12",
        "compiler": "GCC 11.4.0",
    },
    "OS: Ubuntu 22.04.3 LTS (x86_64)": {"system version": "Ubuntu 22.04.3"},
    "[pip3] numpy==1.24.1\n[pip3] torch==2.1.0+cu121\n[pip3] torchvision==0.16.0+cu121": {
        "numpy": "1.24.1",
        "torch": "2.1.0",
        "torchvision": "0.16.0",
        "cuda built": "12.1",
    },
    "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.": {
        "card": "NVIDIA GeForce RTX 5090",
        "capability": "12.0",
    },
    "| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |": {
        "driver": "535.104.05",
        "cuda of driver": "12.2",
    },
    "NVIDIA-SMI\n|   0  NVIDIA A100-SXM4-40GB          On  | 00000000:07:00.0 Off |": {"card": "NVIDIA A100-SXM4-40GB"},
    "Cuda compilation tools, release 11.7, V11.7.64": {"cuda": "11.7"},
    "pytorch                   1.12.1          py3.9_cuda11.3_cudnn8.3.2_0    pytorch": {"torch": "1.12.1"},
    "Successfully installed filelock-3.13.1 numpy-1.26.2 torch-2.1.1 triton-2.1.0": {
        "numpy": "1.26.2",
        "torch": "2.1.1",
        "triton": "2.1.0",
    },
    "/opt/conda/lib/python3.8/site-packages/detectron2/_C.cpython-38-x86_64-linux-gnu.so: undefined symbol": {
        "python": "3.8"
    },
    "Downloading torch-1.13.1-cp37-cp37m-manylinux1_x86_64.whl (887.5 MB)": {"torch": "1.13.1", "python": "3.7"},
    "torch: 2.3.0": {"torch": "2.3.0"},
    "I'm using pytorch 1.7.1 with CUDA 11.0 and an RTX 3090": {"torch": "1.7.1", "cuda": "11.0", "card": "RTX 3090"},
    "This package requires Python >=3.9 and PyTorch 2.0 or later": {},
}
JAX = {
    "jax:    0.4.30\njaxlib: 0.4.30\nnumpy:  1.26.4\npython: 3.11.8 (main, Feb  6 2024, 21:21:21) [Clang 17.0.6 ]": {
        "jax": "0.4.30",
        "jaxlib": "0.4.30",
        "numpy": "1.26.4",
        "python": "3.11.8",
        "compiler": "Clang 17.0.6",
    },
    "jaxlib==0.4.13+cuda11.cudnn86": {"jaxlib": "0.4.13", "cudnn built": "8.6"},
    "jaxlib version 0.4.7 is newer than and incompatible with jax version 0.4.4.": {"jaxlib": "0.4.7", "jax": "0.4.4"},
    "jax-cuda12-plugin         0.4.35": {"jax-cuda12-plugin": "0.4.35"},
    "nvidia-cudnn-cu12         9.1.0.70": {"nvidia-cudnn-cu12": "9.1.0.70"},
    "jax                       0.3.25                   pypi_0    pypi": {"jax": "0.3.25"},
    ">>> jax.__version__\n'0.4.20'": {"jax": "0.4.20"},
    "In [2]: jax.__version__\nOut[2]: '0.2.9'": {"jax": "0.2.9"},
    "/usr/local/lib/python3.10/dist-packages/jax/_src/xla_bridge.py": {"python": "3.10"},
    "/opt/homebrew/Frameworks/Python.framework/Versions/3.11/lib/python3.11/site-packages/jaxlib/xla_client.py": {
        "python": "3.11"
    },
    "W external/xla/xla/service/gpu/nvptx_compiler.cc:718] The NVIDIA driver's CUDA version is 12.2 which is older "
    "than the ptxas CUDA version (12.6.77).": {},
    "Collecting jaxlib\n  Downloading jaxlib-0.4.26-cp312-cp312-macosx_11_0_arm64.whl (69 MB)": {
        "jaxlib": "0.4.26",
        "python": "3.12",
    },
    "device info: NVIDIA GeForce RTX 4090-1, 1 local devices": {"card": "NVIDIA GeForce RTX 4090"},
    "jax version: 0.4.16, flax version: 0.7.4": {"jax": "0.4.16", "flax": "0.7.4"},
    "model name\t: AMD EPYC 7B12": {"cpu": "AMD EPYC 7B12"},
    "/usr/local/cuda-11.8/bin/ptxas": {"cuda": "11.8"},
    "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.2\\bin": {"cuda": "11.2"},
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  510.47.03  Mon Jan 24": {"driver": "510.47.03"},
    "3.9.7 | packaged by conda-forge | (default, Sep 29 2021, 19:20:46) \n[GCC 9.4.0]": {
        "python": "3.9.7",
        "compiler": "GCC 9.4.0",
    },
    "/venv/lib/python3.11/site-packages/jax-0.4.28.dist-info/METADATA": {"jax": "0.4.28", "python": "3.11"},
    "jax[cuda12]==0.4.33": {"jax": "0.4.33"},
}


@pytest.mark.parametrize(
    ("text", "told"),
    [*TENSORFLOW.items(), *PYTORCH.items(), *JAX.items()],
    ids=[
        *(f"tensorflow-{n}" for n in range(len(TENSORFLOW))),
        *(f"pytorch-{n}" for n in range(len(PYTORCH))),
        *(f"jax-{n}" for n in range(len(JAX))),
    ],
)
def test_what_a_line_tells(text: str, told: dict[str, str]) -> None:
    log = Log(0, tuple(text.split("\n")))
    facts, packages = facts_of(log, log.text)
    assert {fact.name: fact.value for fact in facts} | dict(packages) == told


def test_each_framework_has_twenty() -> None:
    assert min(len(TENSORFLOW), len(PYTORCH), len(JAX)) >= 20


def test_a_fact_has_its_place() -> None:
    log = Log(0, ("starting", "CUDA runtime version: 11.8.89"))
    (fact,) = facts_of(log, log.text)[0]
    assert (fact.known, fact.place and fact.place.line) == ("told", 2)


def test_a_path_is_believed_before_a_sentence_that_contradicts_it() -> None:
    log = Log(0, ("I use Python 3.6", '  File "/venv/lib/python3.8/site-packages/jax/x.py", line 2, in f'))
    assert [fact.value for fact in facts_of(log, log.text)[0]] == ["3.8"]


def test_two_paths_that_disagree_leave_it_open() -> None:
    log = Log(0, ("/a/lib/python3.6/site-packages/x.py", "/b/lib/python3.8/site-packages/y.py"))
    assert facts_of(log, log.text)[0] == ()
