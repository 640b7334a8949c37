"""Which packages bring a library of the system that an extension module does not find."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from triage.patterns import compile as pattern
from triage.phrases import quoting

PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "library_advice": ("file",),
    "library_install": ("file",),
}


class _Source(NamedTuple):
    """The packages that have a library: Debian's and Ubuntu's, Fedora's and RHEL's, conda-forge's."""

    file: str
    debian: str
    rpm: str
    conda: str


# Debian's names are from the file lists of Debian 12 (2026-11-18); the others are the names that they have there.
_SOURCES = (
    _Source(r"^libGL\.so", "libgl1", "mesa-libGL", "libgl"),
    _Source(r"^libEGL\.so", "libegl1", "mesa-libEGL", "libegl"),
    _Source(r"^libgthread-2\.0\.so|^libglib-2\.0\.so", "libglib2.0-0", "glib2", "glib"),
    _Source(r"^libSM\.so", "libsm6", "libSM", "xorg-libsm"),
    _Source(r"^libICE\.so", "libice6", "libICE", "xorg-libice"),
    _Source(r"^libXext\.so", "libxext6", "libXext", "xorg-libxext"),
    _Source(r"^libXrender\.so", "libxrender1", "libXrender", "xorg-libxrender"),
    _Source(r"^libX11\.so", "libx11-6", "libX11", "xorg-libx11"),
    _Source(r"^libsndfile\.so", "libsndfile1", "libsndfile", "libsndfile"),
    _Source(r"^libportaudio\.so", "libportaudio2", "portaudio", "portaudio"),
    _Source(r"^libgomp\.so", "libgomp1", "libgomp", "libgomp"),
    _Source(r"^libgfortran\.so\.5", "libgfortran5", "libgfortran", "libgfortran5"),
    _Source(r"^libstdc\+\+\.so", "libstdc++6", "libstdc++", "libstdcxx-ng"),
    _Source(r"^libopenblas\.so", "libopenblas0", "openblas", "libopenblas"),
    _Source(r"^lib(?:f77blas|cblas|atlas)\.so", "libatlas3-base", "atlas", "libcblas"),
    _Source(r"^libsqlite3\.so", "libsqlite3-0", "sqlite-libs", "libsqlite"),
    _Source(r"^libpq\.so", "libpq5", "libpq", "libpq"),
    _Source(r"^libxml2\.so", "libxml2", "libxml2", "libxml2"),
    _Source(r"^libusb-1\.0\.so", "libusb-1.0-0", "libusb1", "libusb"),
    _Source(r"^libffi\.so", "libffi8", "libffi", "libffi"),
    _Source(r"^libnuma\.so", "libnuma1", "numactl-libs", "libnuma"),
)
_PYTHON = r"^libpython(?P<version>3\.\d{1,2})m?\.so"


def missing_library(file: str) -> dict[str, str]:
    """`library_advice`, and `library_install` where the package that has the library is known."""
    file = file.rpartition("/")[2]
    if python := pattern(_PYTHON).match(file):
        version = python["version"]
        return {
            "library_advice": f"Install the shared library of Python {version}, or run it with a Python that has it; a "
            f"package was built for {version} (Fedora: python3-libs, conda: python={version}).",
            "library_install": f"sudo apt-get install -y libpython{version}",
        }
    source = next((source for source in _SOURCES if pattern(source.file).search(file)), None)
    if source is None:
        return {}
    sentence = f"Install the package that has {file}: {source.debian} on Debian and Ubuntu, {source.rpm} on Fedora and "
    sentence += f"RHEL, {source.conda} of conda-forge in an environment of conda; pip does not bring it."
    return {
        "library_advice": quoting(sentence, file),
        "library_install": f"sudo apt-get update && sudo apt-get install -y {source.debian}",
    }
