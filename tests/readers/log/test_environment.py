"""What a log shows of the machine."""

from __future__ import annotations

import pytest
from conftest import LOGS

from triage.crash import Environment, Library, Log
from triage.readers import Source, read
from triage.readers.log.environment import extract
from triage.readers.log.forms import cudnn_version


def _extract(*lines: str) -> Environment:
    return extract(Log(0, lines), None)


@pytest.mark.parametrize(
    ("line", "system"),
    [
        (r'  File "C:\Users\user\project\train.py", line 58, in <module>', "windows"),
        ("Could not locate zlibwapi.dll. Please make sure it is in your library path!", "windows"),
        ("OS: Windows 10 Home", "windows"),
        ('  File "/home/user/project/train.py", line 6', "linux"),
        ("libcudnn.so.8: cannot open shared object file", "linux"),
        ("Ubuntu 22.04", "linux"),
        ('  File "/Users/user/project/train.py", line 6', "macos"),
        ("Library not loaded: @rpath/libfoo.dylib", "macos"),
        ("macOS 14.2", "macos"),
        ('  File "C:/Users/user/project/train.py", line 6', "windows"),
        (r"E tensorflow\stream_executor\cuda\cuda_dnn.cc:404] could not open: /proc/driver/nvidia/version", "windows"),
        ("- OS: Windows", "windows"),
        ("platform win10, driver 551", "windows"),
        ("foo-1.0-cp311-cp311-win_amd64.whl is not a supported wheel on this platform.", "windows"),
        ("RuntimeError: MPS backend out of memory (MPS allocated: 8.02 GB", "macos"),
        ("bash: line 1: Segmentation fault: 11", "macos"),
        ("Segmentation fault (core dumped)", "linux"),
        ("double free or corruption (!prev)", "linux"),
        ('  File "/content/project/train.py", line 6', "linux"),
        ('  File "/usr/local/lib/python3.10/dist-packages/foo/x.py", line 6', "linux"),
        ("Ubuntu18.04LTS", "linux"),
        ("user@box:~/project$ python train.py", "linux"),
        ("(env) user@box:/mnt/c/Users/user/project# python train.py", "linux"),
        ("Windows 10, in WSL2", "linux"),
        ("[GCC 11.2.0] on linux", "linux"),
        ("Killed", "linux"),
        ("zsh: killed", None),
        ("./run.sh: line 2: 37162 Aborted                 python train.py", "linux"),
        ("./run.sh: line 2: 37162 Abort trap: 6           python train.py", "macos"),
        ("[Clang 14.0.0 (clang-1400.0.29.202)] on darwin", "macos"),
        ("objc[1306]: +[__NSPlaceholderDate initialize] may have been in progress", "macos"),
        ('  File "/gpfs/data/env/lib/python3.6/site-packages/foo/x.py", line 6', "linux"),
        ("E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory", "linux"),
        (
            "E tensorflow/core/platform/windows/subprocess.cc:287] Call to CreateProcess failed. Error code: 2",
            "windows",
        ),
        ("I'm on Windows with the newest driver", "windows"),
        ("OS: macOS 15\n[+] Building 95.4s (15/23)    docker:desktop-linux", "linux"),
        ("It runs fine in Google Colab", None),
        # a form's own example, its choice of systems, and where it does not happen
        ("OS Platform and Distribution (e.g., Linux Ubuntu 16.04):", None),
        ("OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Windows 10", "windows"),
        ("**Operating system** (windows, linux, osx):", None),
        ("It works on Linux.", None),
        ("It hangs in CI. The macOS runner is always green.", None),
        ("This error is frequently encountered on macOS when running an x86 Python installation on ARM.", None),
        ("Epoch 1/5", None),
        ("", None),
    ],
)
def test_paths_and_libraries_show_the_system(line: str, system: str | None) -> None:
    assert _extract(line).os == system


def test_the_system_with_the_most_traces_wins() -> None:
    windows = [r'File "C:\Users\user\a.py"', r'File "C:\Users\user\b.py"', "cudart64_110.dll"]
    assert _extract(*windows, "docker run -v /home/user:/data").os == "windows"


def test_what_the_exit_status_proves_beats_the_paths() -> None:
    assert extract(Log(0, ["/home/user/project/train.py"]), "windows").os == "windows"


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ('  File "/usr/local/lib/python3.11/ctypes/__init__.py", line 519', "3.11"),
        ("Python 3.8.10 (default, Nov 22 2023, 10:22:35)", "3.8.10"),
        ("Python version: 3.9", "3.9"),
        ("python 3.12", "3.12"),
        ("Python 2.7.18", "2.7.18"),
        ("python3 train.py", None),
        ("Epoch 1/5", None),
    ],
)
def test_the_python_version_is_read_from_paths_and_banners(line: str, version: str | None) -> None:
    assert _extract(line).python == version


@pytest.mark.parametrize(
    ("line", "package", "version"),
    [
        ("tensorflow 2.15.1", "tensorflow", "2.15.1"),
        ("tensorflow==2.4.1", "tensorflow", "2.4.1"),
        ("tensorflow-gpu==1.14.0", "tensorflow", "1.14.0"),
        ("tensorflow_cpu-2.16.0rc0-cp311-cp311-linux_x86_64.whl", "tensorflow", "2.16.0rc0"),
        ("TensorFlow version: 2.10.0", "tensorflow", "2.10.0"),
        ("TensorFlow version 2.10", "tensorflow", "2.10"),
        ("tensorflow: v2.9.1", "tensorflow", "2.9.1"),
        ("- TensorFlow version (use command below): v2.4.0-rc4-71-g582c8d236cb 2.4.0", "tensorflow", "2.4.0"),
        ("- **TensorFlow version (use command below)**: 1.12", "tensorflow", "1.12"),
        ("### Tensorflow Version\n\n2.12.0", "tensorflow", "2.12.0"),
        ("win10+tensorflow1.10+cuda9.2", "tensorflow", "1.10"),
        ("TF 2.3.1, CUDA 10.2, RTX 2070S", "tensorflow", "2.3.1"),
        ("with tf.device('/gpu:0'):", "tensorflow", None),
        ("Keras version: 3.4.1", "keras", "3.4.1"),
        ("keras==2.15.0", "keras", "2.15.0"),
        ("numpy==1.26.4", "numpy", "1.26.4"),
        ("protobuf==3.20.3", "protobuf", "3.20.3"),
        ("tensorflow-gpu            2.1.0                h0d30ee6_0", "tensorflow", "2.1.0"),
        ("- TensorFlow version (use command below): v2.4.0-49-g85c8b2a817f 2.4.1", "tensorflow", "2.4.1"),
        ("it fails with TF 2.4 and a small model", "tensorflow", "2.4"),
        ("TF2.5.0 on Windows", "tensorflow", "2.5.0"),
        ("utf 1.2 and etf 2.3", "tensorflow", None),
        ("tensorflow-estimator 2.4.0", "tensorflow", None),
        ("tensorflow/core/util/port.cc:113] oneDNN custom operations are on", "tensorflow", None),
        ("site-packages/keras/src/engine/training.py", "keras", None),
    ],
)
def test_package_versions_are_read_where_they_are_printed(line: str, package: str, version: str | None) -> None:
    assert _extract(line).package(package) == version


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("healthy/import_only-2.15.log", "2.15.1"),
        ("healthy/import_only-2.21.log", "2.21.0"),
        ("sys_exit_3-2.15.log", "2.15.1"),
    ],
)
def test_a_program_that_prints_its_tensorflow_shows_the_version(name: str, version: str) -> None:
    assert read(Source.of(LOGS / name), 0).environment.package("tensorflow") == version


@pytest.mark.parametrize(
    ("number", "version"),
    [
        ("7605", "7.6.5"),
        ("8100", "8.1.0"),
        ("8302", "8.3.2"),
        ("8907", "8.9.7"),
        ("90300", "9.3.0"),
        ("91002", "9.10.2"),
        ("100000", "10.0.0"),
    ],
)
def test_the_packed_number_of_cudnn_is_written_as_people_write_it(number: str, version: str) -> None:
    assert cudnn_version(number) == version


def test_libraries_that_were_opened_are_listed_once_and_the_list_is_not_complete() -> None:
    opened = "2020-10-02 15:40:08.661203: I dso_loader.cc:48] Successfully opened dynamic library "
    environment = _extract(
        opened + "libcudart.so.11.0",
        opened + "cudnn64_7.dll",
        opened + "libcudart.so.11.0",
        "I cuda_dnn.cc:366] Loaded cuDNN version 8302",
    )
    assert environment.libraries == (Library("libcudart.so.11.0"), Library("cudnn64_7.dll"), Library("cudnn", "8.3.2"))
    assert not environment.libraries_complete


def test_a_library_that_could_not_be_opened_is_not_listed() -> None:
    assert _extract("Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8").libraries == ()


@pytest.mark.parametrize(
    ("line", "gpu"),
    [
        ("device: 0, name: NVIDIA GeForce GTX 1650, pci bus id: 0000:01:00.0", "NVIDIA GeForce GTX 1650"),
        ("device: 0, name: Tesla V100-SXM2-16GB, pci bus id: 0000:00:1e.0", "Tesla V100-SXM2-16GB"),
        ("name: GeForce GTX 1080 Ti major: 6 minor: 1 memoryClockRate(GHz): 1.582", "GeForce GTX 1080 Ti"),
        (
            "pciBusID: 0000:01:00.0 name: NVIDIA GeForce RTX 3090 computeCapability: 8.6",
            "NVIDIA GeForce RTX 3090",
        ),
        ("name: NVIDIA A100-SXM4-40GB, pci bus id: 0000:07:00.0", "NVIDIA A100-SXM4-40GB"),
    ],
)
def test_the_gpu_is_named_in_the_lines_of_each_generation(line: str, gpu: str) -> None:
    assert _extract(line, line).gpus == (gpu,)


def test_a_person_who_tried_several_releases_leaves_the_version_open() -> None:
    assert _extract("tensorflow==2.3.0 works", "tensorflow==2.4.1 does not").package("tensorflow") is None
    assert _extract("tensorflow==2.4.0 and", "tensorflow==2.4.1 alike").package("tensorflow") == "2.4.0"


def test_what_is_printed_beats_what_is_written_by_hand() -> None:
    assert _extract("TF 2.3 was better", "tensorflow==2.4.1").package("tensorflow") == "2.4.1"


@pytest.mark.parametrize(
    ("line", "driver"),
    [
        ("| NVIDIA-SMI 535.54.03    Driver Version: 535.54.03    CUDA Version: 12.2     |", "535.54.03"),
        ("cuda_diagnostics.cc:310] kernel reported version is: 384.69.0", "384.69.0"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  384.69  Wed Aug 16 19:34:54 PDT 2017", "384.69"),
        ("CUDA driver version is insufficient for CUDA runtime version", None),
        ("needs driver version 450 or newer", None),
    ],
)
def test_the_version_of_the_driver_is_read_where_it_is_printed(line: str, driver: str | None) -> None:
    assert _extract(line).driver == driver


@pytest.mark.parametrize(
    ("line", "capability"),
    [
        ("name: GeForce RTX 2080, pci bus id: 0000:01:00.0, compute capability: 7.5)", "7.5"),
        ("name: GeForce GTX 1080 Ti major: 6 minor: 1 memoryClockRate(GHz): 1.582", "6.1"),
        ("coreClock: 1.71GHz computeCapability: 8.6", "8.6"),
        ("binaries compatible with compute capability 12.0. CUDA kernels", "12.0"),
        ("The minimum required Cuda capability is 3.5.", None),
    ],
)
def test_the_compute_capability_is_that_of_the_card(line: str, capability: str | None) -> None:
    assert _extract(line).capability == capability


@pytest.mark.parametrize(
    ("lines", "gpu"),
    [
        (["- GPU model and memory: GeForce RTX 2080Ti 11GB"], "GeForce RTX 2080Ti"),
        (["- GPU model and memory: RTX 3060 (6gb)"], "RTX 3060"),
        (["GPU model and memory: N/A"], None),
        (
            [
                "| NVIDIA-SMI 470.57  Driver Version: 470.57 |",
                "|   0  Tesla K80           Off  | 00000000:00:1E.0 Off |",
            ],
            "Tesla K80",
        ),
    ],
)
def test_the_card_is_read_from_what_people_paste(lines: list[str], gpu: str | None) -> None:
    assert _extract(*lines).gpus == ((gpu,) if gpu else ())


def test_the_flags_of_the_processor_are_read_from_cpuinfo() -> None:
    flags = read(Source.of(LOGS / "composed" / "illegal-instruction-import.log"), 0).environment.cpu_flags
    assert {"sse4_2", "popcnt"} <= set(flags)
    assert "avx" not in flags


def test_rebuild_with_the_appropriate_compiler_flags_names_no_flags() -> None:
    assert read(Source.of(LOGS / "null_pointer-2.21.log"), 0).environment.cpu_flags == ()


def test_a_log_without_such_lines_leaves_everything_unknown() -> None:
    assert _extract("Epoch 1/5") == Environment()


@pytest.mark.parametrize(
    ("line", "maker"),
    [
        ("RuntimeError: No HIP GPUs are available", "amd"),
        ("PyTorch 2.3.1+rocm6.0", "amd"),
        ("VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 21 [Radeon RX 6800]", "amd"),
        ("ROCM used to build PyTorch: 6.0.32830", "amd"),
        ("rocBLAS error: Cannot read TensileLibrary.dat: No such file for GPU arch : gfx1031", "amd"),
        ("| NVIDIA-SMI 535.54.03   Driver Version: 535.54.03   CUDA Version: 12.2 |", "nvidia"),
        ("name: GeForce GTX 1080 major: 6 minor: 1", "nvidia"),
        # what is printed on every machine
        ("ROCM used to build PyTorch: N/A", None),
        ("Unable to initialize backend 'rocm': module 'jaxlib.xla_extension' has no attribute", None),
        ("Please check that you have an NVIDIA GPU and installed a driver", None),
        # a laptop with both
        ("Radeon Graphics; NVIDIA GeForce RTX 3060 Laptop GPU", None),
    ],
)
def test_who_made_the_card(line: str, maker: str | None) -> None:
    assert _extract(line).card_maker == maker


@pytest.mark.parametrize(
    ("line", "architecture"),
    [
        ("Linux raspberrypi 6.1.0-rpi7 #1 SMP aarch64 GNU/Linux", "arm64"),
        ("/usr/lib/aarch64-linux-gnu/libgomp.so.1", "arm64"),
        ("Linux pi 5.10.63-v7l+ #1459 SMP armv7l GNU/Linux", "arm"),
        ("/usr/lib/x86_64-linux-gnu/libgomp.so.1", None),
        ("platform (linux/arm64/v8) does not match the detected host platform (linux/amd64)", None),
        ("it ends at once", None),
    ],
)
def test_a_processor_is_arm_where_no_other_is_named(line: str, architecture: str | None) -> None:
    assert _extract(line).architecture == architecture
