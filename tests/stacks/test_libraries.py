"""Native libraries: their versions from names and wheels, and what a process has two of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triage.crash import Library
from triage.stacks.libraries import libraries_at, loaded_twice, paths_in, paths_of

TWO_OPENMP = """\
55d0c6a00000-55d0c6a01000 r--p 00000000 08:01 11                         /usr/bin/python3.11
7f10a0000000-7f10a0100000 r-xp 00000000 08:01 12                         /env/lib/libiomp5.so
7f10a0100000-7f10a0200000 rw-p 00100000 08:01 12                         /env/lib/libiomp5.so
7f10a1000000-7f10a1100000 r-xp 00000000 08:01 13                         /env/a b.libs/libgomp-a34b3233.so.1.0.0
7f10a2000000-7f10a2100000 r-xp 00000000 08:01 14                         /env/lib/libstdc++.so.6.0.30 (deleted)
7f10a3000000-7f10a3100000 r-xp 00000000 08:01 15                         /env/lib/lib-dynload/_json.cpython-311.so
7f10a4000000-7f10a4001000 rw-p 00000000 00:00 0
7ffc0a000000-7ffc0a021000 rw-p 00000000 00:00 0                          [stack]
"""


def names(libraries: tuple[Library, ...]) -> list[str]:
    return [library.name for library in libraries]


def test_a_maps_text_names_each_library_once_and_nothing_else() -> None:
    assert names(libraries_at(paths_in(TWO_OPENMP))) == [
        "libiomp5.so",
        "libgomp-a34b3233.so.1.0.0",
        "libstdc++.so.6.0.30",
    ]


def test_a_real_process_is_read() -> None:
    found = libraries_at(paths_of(os.getpid()))
    assert any(name.startswith("libc") for name in names(found))
    assert paths_of(2**22 + 1) == ()


@pytest.mark.parametrize(
    ("file", "name", "version"),
    [
        ("/usr/lib/libcudnn.so.8.9.7", "cudnn", "8.9.7"),
        ("/usr/lib/libcudnn_cnn_infer.so.8.9.7", "libcudnn_cnn_infer.so.8.9.7", "8.9.7"),
        ("/usr/local/cuda/lib64/libcudart.so.12.4.127", "libcudart.so.12.4.127", "12.4.127"),
        ("/usr/lib/libcuda.so.535.104.05", "libcuda.so.535.104.05", "535.104.05"),
        ("/usr/lib/libstdc++.so.6.0.30", "libstdc++.so.6.0.30", "6.0.30"),
        ("/lib/libc-2.31.so", "libc-2.31.so", "2.31"),
        ("/lib/libc.so.6", "libc.so.6", None),
        ("/env/lib/libcudnn.so.8", "cudnn", None),
        ("/env/lib/libopenblasp-r0.3.21.so", "libopenblasp-r0.3.21.so", "0.3.21"),
        ("/env/libopenblas64_p-r0-0cf96a72.3.23.dev.so", "libopenblas64_p-r0-0cf96a72.3.23.dev.so", "0.3.23"),
        ("/env/libscipy_openblas64_-32a4b2a6.so", "libscipy_openblas64_-32a4b2a6.so", None),
        ("/env/lib/libmkl_rt.so.2", "libmkl_rt.so.2", None),
        ("/env/lib/libpython3.11.so.1.0", "libpython3.11.so.1.0", "3.11"),
        ("/env/lib/libprotobuf.so.3.21.12.0", "libprotobuf.so.3.21.12.0", "3.21.12.0"),
        ("/opt/lib/libomp.1.2.dylib", "libomp.1.2.dylib", "1.2"),
        ("/opt/lib/liba2.3.4.dylib", "liba2.3.4.dylib", "3.4"),
        ("/opt/lib/libz.1.dylib", "libz.1.dylib", None),
        ("C:\\env\\cudnn64_8.dll", "cudnn", None),
    ],
)
def test_the_version_is_in_the_name_where_it_is_a_whole_one(file: str, name: str, version: str | None) -> None:
    assert libraries_at([file]) == (Library(name, version),)


@pytest.mark.parametrize(
    ("wheel", "file", "library"),
    [
        ("nvidia_cudnn_cu12-9.1.0.70.dist-info", "nvidia/cudnn/lib/libcudnn.so.9", Library("cudnn", "9.1.0.70")),
        (
            "nvidia_cuda_runtime_cu12-12.4.127.dist-info",
            "nvidia/cuda_runtime/lib/libcudart.so.12",
            Library("libcudart.so.12", "12.4.127"),
        ),
        (
            "tensorflow_cpu-2.21.0.dist-info",
            "tensorflow/libtensorflow_cc.so.2",
            Library("libtensorflow_cc.so.2", "2.21.0"),
        ),
        ("tf_nightly-2.22.0.dev1.dist-info", "tensorflow/libtensorflow_framework.so.2", None),
        ("tensorflow_io-0.37.0.dist-info", "tensorflow/libtensorflow_cc.so.2", Library("libtensorflow_cc.so.2", None)),
        ("nvidia_cublas_cu12-12.4.5.dist-info", "nvidia/cudnn/lib/libcudnn.so.9", Library("cudnn", None)),
    ],
)
def test_the_version_is_that_of_the_wheel_around_it(
    tmp_path: Path, wheel: str, file: str, library: Library | None
) -> None:
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    (packages / wheel).mkdir(parents=True)
    expected = library or Library("libtensorflow_framework.so.2", "2.22.0.dev1")
    assert libraries_at([str(packages / file)]) == (expected,)


def test_what_should_be_there_once_comes_first() -> None:
    found = libraries_at(["/a/libz.so.1.2.13", "/a/libcudnn.so.8.9.7", "/a/_x.so", "/a/libgomp.so.1.0.0"])
    assert names(found) == ["cudnn", "libgomp.so.1.0.0", "libz.so.1.2.13", "_x.so"]


def test_two_openmp_runtimes_are_named() -> None:
    (found,) = loaded_twice(paths_in(TWO_OPENMP))
    assert found.sentence == "two OpenMP runtimes are loaded: libiomp5.so and libgomp-a34b3233.so.1.0.0"


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            ("/a/libprotobuf.so.23.0.4", "/b/libprotobuf.so.25.1.0"),
            "two protobufs are loaded: libprotobuf.so.23.0.4 and libprotobuf.so.25.1.0",
        ),
        (("/a/libcudnn.so.8", "/b/libcudnn.so.8"), "two cuDNNs are loaded: /a/libcudnn.so.8 and /b/libcudnn.so.8"),
        (
            ("/a/libomp.so", "/a/libiomp5.so", "/a/libgomp.so.1.0.0"),
            "three OpenMP runtimes are loaded: libomp.so and libiomp5.so and libgomp.so.1.0.0",
        ),
    ],
)
def test_copies_of_what_a_process_should_have_once_are_reported(files: tuple[str, ...], sentence: str) -> None:
    assert [found.sentence for found in loaded_twice(files)] == [sentence]


@pytest.mark.parametrize(
    "files",
    [
        (),
        ("/a/libgomp.so.1.0.0", "/a/libgomp.so.1.0.0"),
        ("/a/libcudnn.so.8.9.7", "/a/libcudnn_ops_infer.so.8.9.7", "/a/libcudnn_cnn_infer.so.8.9.7"),
        ("/a/libprotobuf.so.23.0.4", "/a/libprotobuf-lite.so.23.0.4", "/a/libprotobuf-c.so.1.0.0"),
        ("/a/libcublas.so.12.4.5", "/a/libcublasLt.so.12.4.5"),
    ],
)
def test_parts_of_one_thing_are_not_two(files: tuple[str, ...]) -> None:
    assert loaded_twice(files) == ()
