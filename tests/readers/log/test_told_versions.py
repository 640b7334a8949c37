"""Lines as TensorFlow, PyTorch, JAX, their tools and their users write them, and what each tells of the machine."""

from __future__ import annotations

import pytest

from triage.crash import Fact, Log
from triage.readers.log.elsewhere import without_elsewhere
from triage.readers.log.environment import extract
from triage.readers.log.versions import _telling, facts_of


def told_by(log: Log) -> tuple[tuple[Fact, ...], tuple[tuple[str, str], ...]]:
    return facts_of(log, log.text, without_elsewhere(log.text))


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
    "('v1.12.1-84709-g3ac5ef0', '2.8.0-dev20211203')": {"tensorflow": "2.8.0-dev20211203"},
    "- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Linux Ubuntu 20.04": {"system version": "Ubuntu 20.04"},
    "- CUDA/cuDNN version: 11.2 / 8.1.0": {"cuda": "11.2", "cudnn": "8.1.0"},
    "- GPU model and memory: GeForce GTX 1080 Ti, 11GB": {"card": "GeForce GTX 1080 Ti"},
    "- GCC/Compiler version (if compiling from source): 7.3.1": {"compiler": "7.3.1"},
    "- GCC/Compiler version (if compiling from source): gcc 7.5.0": {"compiler": "GCC 7.5.0"},
    "- GCC/Compiler version (if compiling from source): N/A\n- CUDA/cuDNN version: 10.1": {"cuda": "10.1"},
    "### GCC/compiler version\n\n_No response_\n\n### CUDA/cuDNN version\n\n11.8/8.6": {"cuda": "11.8", "cudnn": "8.6"},
    "### Python version\n\n3.10.6\n\n### GCC/compiler version\n\n9.3.0": {"python": "3.10.6", "compiler": "9.3.0"},
    "### GPU model and memory\n\nRTX 3090 24GB": {"card": "RTX 3090"},
    "- Python version: - Bazel version (if compiling from source):\n- CUDA/cuDNN version: - GPU model and memory:": {},
    "Successfully opened dynamic library libcudart.so.11.0": {},
    "Successfully opened dynamic library cudart64_101.dll": {"cuda": "10.1"},
    "tensorflow-2.10.0-cp39-cp39-win_amd64.whl is not a supported wheel on this platform.": {
        "tensorflow": "2.10.0",
        "python": "3.9",
    },
    "Using cached tensorflow_macos-2.9.2-cp310-cp310-macosx_11_0_arm64.whl": {"tensorflow": "2.9.2", "python": "3.10"},
    "unknown 2.9.0": {"tensorflow": "2.9.0"},
    "v1.12.1-117097-gecf05620570 2.19.0-dev20241016": {"tensorflow": "2.19.0-dev20241016"},
    "tf-nightly==2.5.0.dev20201230": {"tensorflow": "2.5.0.dev20201230"},
    "GTX770, CUDA 8.0, TF-GPU 1.1.0": {"card": "GTX770", "cuda": "8.0", "tensorflow": "1.1.0"},
    "win10+tensorflow1.10+cuda9.2": {"tensorflow": "1.10", "cuda": "9.2"},
    "cuda_11.2.0_460.89_win10": {"cuda": "11.2", "driver": "460.89"},
    "GeForce 860M (compute capability 5.0)": {"card": "GeForce 860M", "capability": "5.0"},
    "Apple M2 running Sonoma 14.4.1": {"cpu": "Apple M2", "system version": "macOS 14.4.1"},
    # folders that XLA searched, and one in which something is
    "Searched for CUDA in the following directories:\n  ./cuda_sdk_lib\n  /usr/local/cuda-11.8\n  /usr/local/cuda": {},
    "LD_LIBRARY_PATH=/usr/local/cuda-11.8/lib64": {"cuda": "11.8"},
    # a console broke the line after the series
    "I gpu_device.cc:1105] Found device 0 with properties:\nname: GeForce GTX 660 major: 3 minor: 0\n"
    "Creating device (/device:GPU:0) -> (device: 0, name: GeForce GTX\n660, pci bus id: 0000:01:00.0)": {
        "card": "GeForce GTX 660",
        "capability": "3.0",
    },
    "Name: tensorflow\nVersion: 2.4.1": {"tensorflow": "2.4.1"},
    "docker run --gpus all -it tensorflow/tensorflow:2.4.0-gpu bash": {
        "container": "tensorflow/tensorflow:2.4.0-gpu",
        "tensorflow": "2.4.0",
    },
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
    "GCC version: (Ubuntu 9.4.0-1ubuntu1~20.04.1) 9.4.0\nClang version: 10.0.0-4ubuntu1": {"compiler": "GCC 9.4.0"},
    "GCC version: Could not collect": {},
    "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime": {
        "container": "pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime",
        "torch": "2.1.0",
        "cuda": "12.1",
    },
    "NVIDIA-SMI\n|   0  GeForce RTX 208...  Off  | 00000000:01:00.0  On |": {},
    "NVIDIA-SMI\n|   0  NVIDIA GeForce RTX 4070 ...  WDDM  |   00000000:01:00.0  On |": {
        "card": "NVIDIA GeForce RTX 4070"
    },
    "| NVIDIA-SMI 535.86.05     KMD Version: 537.13     CUDA Version: 12.2 |": {
        "driver": "537.13",
        "cuda of driver": "12.2",
    },
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
MACHINE = {
    # compilers: the machine's own, and the one that made its Python
    "3.8.10 (default, Nov 14 2022, 12:59:47) \n[GCC 9.4.0] on linux": {"python": "3.8.10", "compiler": "GCC 9.4.0"},
    "Python 3.6.8 |Anaconda, Inc.| (default, Dec 29 2018, 19:04:46) \n"
    "[GCC 4.2.1 Compatible Clang 4.0.1 (tags/RELEASE_401/final)] on darwin": {
        "python": "3.6.8",
        "compiler": "Clang 4.0.1",
    },
    "Python 2.7.10 (default, Oct  6 2017, 22:29:07) \n"
    "[GCC 4.2.1 Compatible Apple LLVM 9.0.0 (clang-900.0.31)] on darwin": {
        "python": "2.7.10",
        "compiler": "Apple LLVM 9.0.0",
    },
    "Python 3.9.7 (tags/v3.9.7:1016ef3, Aug 30 2021, 20:19:38) [MSC v.1929 64 bit (AMD64)] on win32": {
        "python": "3.9.7",
        "compiler": "MSC v.1929 64 bit",
    },
    "gcc (Debian 6.3.0-18+deb9u1) 6.3.0 20170516": {"compiler": "GCC 6.3.0"},
    "gcc version 5.4.0 20160609 (Ubuntu 5.4.0-6ubuntu1~16.04.12)": {"compiler": "GCC 5.4.0"},
    "Apple clang version 14.0.0 (clang-1400.0.29.202)": {"compiler": "Apple Clang 14.0.0"},
    # containers and what is like them
    "12:devices:/docker/3f4e6c9a1b2d3f4e6c9a1b2d": {"container": "Docker"},
    "-rwxr-xr-x 1 root root 0 May 1 10:00 /.dockerenv": {"container": "Docker"},
    "0::/kubepods/burstable/pod1234/abc": {"container": "Kubernetes"},
    "root@3f4e6c9a1b2d:/workspace# python train.py": {"container": "Docker"},
    "0::/machine.slice/libpod-3f4e6c9a1b2d.scope": {"container": "Podman"},
    "Singularity> python train.py": {"container": "Singularity"},
    "Linux box 5.15.90.1-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux": {"container": "WSL2"},
    '  File "/mnt/c/Users/user/project/train.py", line 3': {"container": "WSL"},
    '  File "/content/train.py", line 3': {"container": "Colab"},
    "I run it in a docker container": {"container": "Docker"},
    "I'm using Google Colab": {"container": "Colab"},
    "It works in docker but not on my host": {},
    "It runs fine in Google Colab": {},
    "this is not in docker": {},
    # the machine's memory, and amounts that are not the machine's
    "          total    used    free\nMem:       15Gi   3.2Gi   8.1Gi": {"memory": "15 GB"},
    "$ free -m\n          total    used    free\nMem:      15884    3210    8000": {"memory": "15.5 GB"},
    "          total    used    free\nMem:   16265144 3210000 8000000": {"memory": "15.5 GB"},
    "          total    used    free\nMem:      15884    3210    8000": {},
    "MemTotal:       16384000 kB": {"memory": "15.6 GB"},
    "Total Physical Memory:     16,268 MB": {"memory": "15.9 GB"},
    "hw.memsize: 17179869184": {"memory": "16 GB"},
    "RAM: 16GB": {"memory": "16 GB"},
    "I have 64 GB of RAM and an RTX 3090 with 24 GB": {"memory": "64 GB", "card": "RTX 3090"},
    "It needs at least 32 GB RAM": {},
    "GTX 1060 with 6GB RAM": {"card": "GTX 1060"},
    "GPU memory: 8 GB": {},
    "It uses 12 GB of RAM and then dies": {},
    "Memory limit: 4 GB": {},
    "with 16 GB RAM it fails, with 32 GB RAM it works": {},
}


@pytest.mark.parametrize(
    ("text", "told"),
    [*TENSORFLOW.items(), *PYTORCH.items(), *JAX.items(), *MACHINE.items()],
    ids=[
        *(f"tensorflow-{n}" for n in range(len(TENSORFLOW))),
        *(f"pytorch-{n}" for n in range(len(PYTORCH))),
        *(f"jax-{n}" for n in range(len(JAX))),
        *(f"machine-{n}" for n in range(len(MACHINE))),
    ],
)
def test_what_a_line_tells(text: str, told: dict[str, str]) -> None:
    log = Log(0, tuple(text.split("\n")))
    facts, packages = told_by(log)
    assert {fact.name: fact.value for fact in facts} | dict(packages) == told


def test_each_framework_has_twenty() -> None:
    assert min(len(TENSORFLOW), len(PYTORCH), len(JAX)) >= 20


def test_a_fact_has_its_place() -> None:
    log = Log(0, ("starting", "CUDA runtime version: 11.8.89"))
    (fact,) = told_by(log)[0]
    assert (fact.known, fact.place and fact.place.line) == ("told", 2)


def test_a_path_is_believed_before_a_sentence_that_contradicts_it() -> None:
    log = Log(0, ("I use Python 3.6", '  File "/venv/lib/python3.8/site-packages/jax/x.py", line 2, in f'))
    assert [fact.value for fact in told_by(log)[0]] == ["3.8"]


def test_two_paths_that_disagree_leave_it_open() -> None:
    log = Log(0, ("/a/lib/python3.6/site-packages/x.py", "/b/lib/python3.8/site-packages/y.py"))
    assert told_by(log)[0] == ()


def test_a_fact_keeps_its_place_among_lines_that_tell_nothing() -> None:
    nothing = ["the worker went on"] * 40
    log = Log(0, (*nothing, "CUDA runtime version: 11.8.89", *nothing, "Nvidia driver version: 525.85.12", *nothing))
    places = {fact.name: fact.place and fact.place.line for fact in told_by(log)[0]}
    assert places == {"cuda": 41, "driver": 82}


def test_lines_that_can_tell_nothing_are_not_looked_at() -> None:
    text = "the worker went on\n" * 1000
    assert _telling(text, text).text == ""


def test_letters_that_are_not_ascii_move_no_place() -> None:
    log = Log(0, ("größer als 4 °C, „fertig“", '  File "/home/jürgen/lib/python3.8/site-packages/x.py"'))
    (fact,) = extract(log, None).facts
    assert (fact.name, fact.value, fact.place and fact.place.line) == ("python", "3.8", 2)
