"""The native libraries of a process, with versions from file names and wheels; no library is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable

from triage.crash import Duplicates, Library, base_name

# The version in a file name. A single number is the version of the interface, not a release, so two are required.
_VERSIONS = (
    re.compile(r"^libpython(?P<version>\d\.\d+)"),
    re.compile(r"\.so\.(?P<version>\d+(?:\.\d+)+)$"),
    # OpenBLAS adds its version and a mark of the build: libopenblasp-r0.3.21.so, libopenblas64_p-r0-0cf96a72.3.23.so
    re.compile(r"-r(?P<first>0)-[0-9a-f]{8}\.(?P<version>\d+\.\d+)(?:\.dev)?\.so"),
    re.compile(r"-r?(?P<version>\d+(?:\.\d+)+)(?:\.dev)?\.so"),
    re.compile(r"[^\d.]\d*\.(?P<version>\d+(?:\.\d+)+)\.dylib$"),
)
_IS_LIBRARY = re.compile(r"\.so(?:\.|$)|\.dylib$|\.(?:dll|pyd)$", re.IGNORECASE)
_CUDNN = re.compile(r"(?i)libcudnn\.so|libcudnn\.\d*\.?dylib|cudnn64_\d+\.dll")
# A process should have one of each of these; a second copy has its own state for the same things.
_ONE_OF = (
    ("OpenMP runtimes", re.compile(r"(?i)^(?:lib(?:iomp5|omp5?|omp\d{3}|gomp|iomp5md)(?:md)?\b|vcomp\d+)")),
    ("protobufs", re.compile(r"^libprotobuf(?:-[0-9a-f]{8})?(?:\.|$)")),
    ("cuDNNs", re.compile(r"^(?:libcudnn\b|cudnn64_\d+)")),
    ("CUDA runtimes", re.compile(r"^(?:libcudart\b|cudart64_\d+)")),
    ("cuBLASs", re.compile(r"^(?:libcublas\b|cublas64_\d+)")),
    ("C++ runtimes", re.compile(r"^libstdc\+\+")),
)
_IN_PACKAGES = re.compile(r"^(?P<packages>.*[/\\](?:site|dist)-packages)[/\\](?P<folder>[^/\\]+)[/\\](?P<part>[^/\\]+)")
# The distributions that install a folder of site-packages under another name.
_FILLED_BY = {"tensorflow": ("tensorflow", "tf_nightly")}


def paths_of(pid: int) -> tuple[str, ...]:
    """The files of the libraries of a live process."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            return paths_in(maps.read())
    except OSError:
        return ()


def paths_in(maps: str) -> tuple[str, ...]:
    """The files of the libraries in the text of a /proc/PID/maps, in the order of their addresses."""
    paths = (fields[5] for line in maps.splitlines() if len(fields := line.split(None, 5)) == 6)
    return tuple(dict.fromkeys(path for path in map(_undeleted, paths) if _is_library(path)))


def libraries_at(paths: Iterable[str], untrusted: Collection[str] = ()) -> tuple[Library, ...]:
    """The libraries in these files; those come first of which a process should have only one.

    The folders of `untrusted` files are not read.
    """
    files = [path for path in map(_undeleted, paths) if _is_library(path)]
    return _most_relevant_first(dict.fromkeys(_library(path, is_untrusted=path in untrusted) for path in files))


def libraries_with(files: Iterable[tuple[str, str | None]]) -> tuple[Library, ...]:
    """The same for files of another machine, each with the version that a dump has for it."""
    found: dict[Library, None] = {}
    for path, version in files:
        name = base_name(path)
        if _is_library(path):
            found[Library("cudnn" if _CUDNN.match(name) else name, version or _version_in_name(name))] = None
    return _most_relevant_first(found)


def loaded_twice(paths: Iterable[str]) -> tuple[Duplicates, ...]:
    """The libraries of which a process should have one and has more: OpenMP runtimes, protobufs, cuDNNs."""
    kinds: dict[str, list[str]] = {}
    for path in dict.fromkeys(map(_undeleted, paths)):
        if kind := _kind(base_name(path)):
            kinds.setdefault(kind, []).append(path)
    return tuple(Duplicates(kind, tuple(files)) for kind, files in kinds.items() if len(files) > 1)


def _most_relevant_first(found: Iterable[Library]) -> tuple[Library, ...]:
    return tuple(sorted(found, key=lambda library: not (library.name == "cudnn" or _kind(library.name))))


def _is_library(path: str) -> bool:
    # Python's own modules are in every process and mean nothing.
    is_python = path[:1] in ("[", "") or "/lib-dynload/" in path
    return not is_python and bool(_IS_LIBRARY.search(base_name(path)))


def _undeleted(path: str) -> str:
    return path.strip().removesuffix(" (deleted)")


def _kind(name: str) -> str | None:
    return next((kind for kind, pattern in _ONE_OF if pattern.search(name)), None)


def _library(path: str, *, is_untrusted: bool) -> Library:
    name = base_name(path)
    version = (None if is_untrusted else _version_of_wheel(path)) or _version_in_name(name)
    # A log has the version of cuDNN without a file, and signatures look for it by this name.
    return Library("cudnn" if _CUDNN.match(name) else name, version)


def _version_in_name(name: str) -> str | None:
    for pattern in _VERSIONS:
        if match := pattern.search(name):
            parts = match.groupdict()
            return f"{parts['first']}.{parts['version']}" if parts.get("first") else parts["version"]
    return None


def _version_of_wheel(path: str) -> str | None:
    """The release of the wheel that a library is from; only for NVIDIA and TensorFlow, whose folders are known."""
    match = _IN_PACKAGES.match(path)
    if match is None:
        return None
    folder, part = match["folder"], match["part"]
    prefixes = (f"nvidia_{part}",) if folder == "nvidia" else _FILLED_BY.get(folder, ())
    # A folder below tensorflow/ may hold anything; TensorFlow's own libraries have its name.
    if not prefixes or (folder == "tensorflow" and not base_name(path).startswith("libtensorflow")):
        return None
    try:
        names = sorted(os.listdir(match["packages"]))
    except OSError:
        return None
    for name in names:
        distribution, _, version = name.removesuffix(".dist-info").partition("-")
        if name.endswith(".dist-info") and _is_variant(distribution.lower(), prefixes):
            return version or None
    return None


def _is_variant(distribution: str, prefixes: tuple[str, ...]) -> bool:
    """Whether a distribution is one of these or a build of it: nvidia_cudnn_cu12, tensorflow_cpu."""
    builds = ("cpu", "gpu", "intel", "macos", "rocm", "aws", "cpu_aws")
    for prefix in prefixes:
        rest = distribution.removeprefix(prefix).removeprefix("_") if distribution.startswith(prefix) else None
        if rest is not None and (rest == "" or rest in builds or re.fullmatch(r"cu\d+", rest)):
            return True
    return False
