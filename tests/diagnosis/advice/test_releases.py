"""Releases that fit each other, and commands for the person's system."""

from __future__ import annotations

import pytest

from triage.crash import Environment, Fact
from triage.diagnosis.advice import command_for
from triage.diagnosis.advice.releases import PLACEHOLDERS, fitting_releases
from triage.knowledge.database import load

TABLES = load().versions


def _fit(version: str | None = None, file: str = "", **machine: object) -> dict[str, str]:
    packages = (("tensorflow", version),) if version else ()
    return fitting_releases(Environment(packages=packages, **machine), {"file": file}, TABLES)  # type: ignore[arg-type]


def test_every_table_names_its_source_and_the_day_it_was_checked() -> None:
    assert all(table["source"] and table["checked"] and table["rows"] for table in TABLES.values())


def test_pip_brings_cuda_on_linux() -> None:
    filled = _fit("2.15.1", os="linux")
    assert (filled["cuda_wanted"], filled["cudnn_wanted"]) == ("12.2", "8.9")
    assert filled["gpu_install"] == 'python -m pip install "tensorflow[and-cuda]==2.15.*"'


def test_conda_brings_it_where_pip_does_not() -> None:
    assert _fit("2.10.0", os="windows")["gpu_install"].startswith("conda install")


def test_windows_itself_has_no_gpu_after_2_10() -> None:
    filled = _fit("2.12.0", os="windows")
    assert "no GPU support on Windows" in filled["gpu_advice"]
    assert "cuda_wanted" not in filled


def test_a_missing_file_of_another_cuda_beats_the_version_in_the_text() -> None:
    filled = _fit("2.10.0", "cudart64_101.dll", os="windows")
    assert filled["library_wanted"] == "CUDA 10.1"
    assert "cuda_wanted" not in filled


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("cudart64_110.dll", "CUDA 11"),
        ("libcudart.so.11.0", "CUDA 11"),
        ("libcudart.so.10.1", "CUDA 10.1"),
        ("cudart64_90.dll", "CUDA 9.0"),
        ("libcudnn.so.8", "cuDNN 8"),
        ("cudnn64_7.dll", "cuDNN 7"),
    ],
)
def test_the_name_of_a_file_gives_its_version(file: str, wanted: str) -> None:
    assert _fit(file=file)["library_wanted"] == wanted


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        ("384.69", "384.69 serves CUDA 8.0, and CUDA 9.0 wants 384.81"),
        ("340.10", "340.10 is too old for CUDA 8.0, and CUDA 8.0 wants 367.48"),
        ("525.147.05", "525.147.05 serves CUDA 12, and CUDA 13 wants 580"),
    ],
)
def test_a_driver_alone_tells_which_cuda_it_serves(driver: str, words: str) -> None:
    assert words in _fit(os="linux", driver=driver)["driver_advice"]
    assert "driver_advice" not in _fit(driver=driver)
    assert "driver_advice" not in _fit(os="linux", driver="580.10")


def test_the_release_before_is_told_of_a_release_that_the_table_knows() -> None:
    assert _fit("1.11.0")["tensorflow_before"] == "<1.11"
    assert "tensorflow_before" not in _fit('1.11"; rm')


def test_a_driver_that_is_new_enough_is_not_to_be_updated() -> None:
    assert "driver_advice" not in _fit("2.15.0", os="linux", driver="535.54.03")
    assert "470.57.02" in _fit("2.15.0", os="linux", driver="470.57.02")["driver_advice"]


def test_the_cuda_of_a_tensorflow_that_only_lies_beside_the_program_is_not_its_own() -> None:
    packages = (("tensorflow", "2.3.0"), ("torch", "2.5.1"))
    built = (Fact("cuda built", "12.1", "told"),)
    alone = fitting_releases(Environment("linux", packages=packages), {}, TABLES, "pytorch")
    assert "driver_advice" not in alone
    told = fitting_releases(Environment("linux", packages=packages, facts=built), {}, TABLES, "pytorch")
    assert "CUDA 12.1" in told["driver_advice"]
    assert "CUDA 10.1" in fitting_releases(Environment("linux", packages=packages), {}, TABLES)["driver_advice"]


def test_the_card_decides_which_tensorflow_is_needed() -> None:
    assert _fit("1.15.0", os="linux", gpus=("GeForce RTX 3080",))["card_pin"] == ">=2.4"
    assert _fit("2.17.0", os="linux", gpus=("Tesla K80",))["card_pin"] == "==2.14.*"
    assert "no TensorFlow on PyPI" in _fit("2.20.0", gpus=("NVIDIA GeForce RTX 5090",))["card_advice"]
    assert "card_advice" not in _fit("2.10.0", gpus=("GeForce RTX 3080",))
    assert "Turing" in _fit("1.12.0", capability="7.5")["card_advice"]


def test_python_and_tensorflow_must_have_a_wheel_in_common() -> None:
    assert "3.7 to 3.10" in _fit("2.10.0", python="3.12.1")["python_advice"]
    assert "2.16 to 2.21" in _fit(python="3.12")["python_advice"]
    assert "python_advice" not in _fit("2.10.0", python="3.9")


def test_numpy_and_protobuf_are_pinned() -> None:
    filled = _fit("2.10.0")
    assert (filled["numpy_pin"], filled["protobuf_pin"]) == ("numpy>=1.20,<1.24", "protobuf>=3.9.2,<3.20")


def test_nothing_is_made_up_for_an_unknown_release() -> None:
    assert _fit("9.9.0") == _fit() == {}


def _with(packages: dict[str, str], **machine: object) -> dict[str, str]:
    environment = Environment(packages=tuple(packages.items()), **machine)  # type: ignore[arg-type]
    return fitting_releases(environment, {}, TABLES)


def test_a_jaxlib_is_pinned_to_the_jax_that_is_here() -> None:
    filled = _with({"jax": "0.4.20", "jaxlib": "0.4.31"})
    assert (filled["jax_pin"], filled["jaxlib_pin"]) == ("jax==0.4.20", "jaxlib<=0.4.20")
    assert "jax_pin" not in _with({"jaxlib": "0.4.31"})


def test_torchvision_and_torchaudio_are_pinned_to_the_torch_that_is_here() -> None:
    built = Fact("cuda built", "12.1", "told", None)
    filled = _with({"torch": "2.4.0", "torchvision": "0.20.1"}, os="windows", facts=(built,))
    assert filled["companions_advice"] == "torch 2.4.0 goes with torchvision 0.19 and torchaudio 2.4"
    assert filled["companions_install"].endswith(
        '"torch==2.4.0" "torchvision==0.19.*" "torchaudio==2.4.*" --index-url https://download.pytorch.org/whl/cu121'
    )
    # On Windows PyPI has the build for the CPU alone, so without the CUDA no command is sure.
    assert _with({"torch": "2.4.0"}, os="windows").keys() & {"companions_advice", "companions_install"} == set()
    assert "--index-url" not in _with({"torch": "1.13.1"}, os="linux")["companions_install"]
    assert "companions_advice" not in _with({"torch": "0.4.1"}, os="linux")


def test_jax_is_pinned_to_what_metal_was_made_for() -> None:
    filled = _with({"jax-metal": "0.1.1", "jax": "0.5.2"})
    assert filled["metal_install"] == 'python -m pip install "jax==0.5.0" "jaxlib==0.5.0" "jax-metal==0.1.1"'
    assert "metal_install" not in _with({"jax-metal": "0.1.1", "jax": "0.5.0"})


def test_the_driver_of_a_torch_is_that_of_its_cuda() -> None:
    assert _with({"torch": "2.3.0"}, os="linux")["driver_minimum"] == "525.60.13"
    assert _with({"torch": "1.12.0"}, os="linux")["driver_minimum"] == "440.33"
    assert "driver_minimum" not in _with({"torch": "0.1.12"}, os="linux")


def test_every_placeholder_that_is_given_is_known_to_lint() -> None:
    given = _fit("1.12.0", "cudart64_90.dll", os="linux", python="3.12", gpus=("GeForce RTX 3080",))
    other = _with({"torch": "2.4.0", "jax": "0.5.2", "jax-metal": "0.1.1"}, os="macos")
    assert set(given) | set(other) <= set(PLACEHOLDERS)


@pytest.mark.parametrize(
    ("os", "shown"),
    [
        ("linux", "A=1 python x.py"),
        ("windows", 'cmd /c "set A=1&& python x.py"'),
        (None, "A=1 python x.py"),
    ],
)
def test_settings_before_a_command_are_written_for_the_system(os: str | None, shown: str) -> None:
    assert command_for({"default": "A=1 python x.py"}, os) == shown


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("A=1 B_2=x=y python x.py A=3", 'cmd /c "set A=1&& set B_2=x=y&& python x.py A=3"'),
        ("A= python -c 'x\ny'", "cmd /c \"set A=&& python -c 'x\ny'\""),
        ("a=1 python", "a=1 python"),
        ("A=1 ", "A=1 "),
        ("python A=1 x", "python A=1 x"),
    ],
)
def test_only_settings_at_the_beginning_of_a_command_are_rewritten(command: str, shown: str) -> None:
    assert command_for({"default": command}, "windows") == shown


def test_a_command_for_another_system_is_not_shown() -> None:
    assert command_for({"linux": "df -h"}, "windows") is None
    assert command_for({"linux": "df -h", "windows": "dir"}, "windows") == "dir"
    assert command_for({"otherwise": "pip list"}, "macos") == "pip list"


def test_a_program_of_tensorflow_1_stays_with_1_where_a_release_of_it_knows_the_card() -> None:
    assert _fit("1.10.0", os="linux", gpus=("GeForce RTX 2080 Ti",))["card_pin"] == ">=1.13,<2"


def _runtime(symbol: str, system: str = "") -> str | None:
    facts = (Fact("system version", system, "told"),) if system else ()
    return fitting_releases(Environment(facts=facts), {"version": symbol}, TABLES).get("runtime_advice")


def test_a_system_with_the_c_library_that_is_asked_for() -> None:
    assert _runtime("GLIBC_2.27", "CentOS Linux release 7.9") == (
        "glibc 2.27 or newer is in Ubuntu 18.04, Debian 10, RHEL 8, Amazon Linux 2023 and newer ones; "
        "CentOS 7 has glibc 2.17."
    )
    assert _runtime("GLIBC_2.99") is None


@pytest.mark.parametrize(
    ("symbol", "gcc"),
    [("GLIBCXX_3.4.19", "4.8.3"), ("GLIBCXX_3.4.26", "9.1"), ("GLIBCXX_3.4.30", "12.1"), ("CXXABI_1.3.13", "11.1")],
)
def test_the_compiler_that_a_symbol_came_with(symbol: str, gcc: str) -> None:
    assert str(_runtime(symbol)).startswith(f"{symbol} came with GCC {gcc}; ")


def test_a_symbol_that_is_in_no_table_is_not_explained() -> None:
    assert _runtime("GLIBCXX_3.4.99") is None
    assert _runtime("GCC_7.0.0") is None


def test_the_driver_that_compiles_the_code_of_a_toolkit() -> None:
    built = (Fact("cuda built", "12.4", "told"),)
    old = Environment(os="linux", driver="535.104.05", facts=built)
    assert fitting_releases(old, {}, TABLES)["ptx_advice"] == (
        "The PTX of CUDA 12.4 needs driver 550.54.14 or newer; this machine has 535.104.05."
    )
    assert "ptx_advice" not in fitting_releases(old._replace(driver="550.54.14"), {}, TABLES)
    # No driver for Windows came with these.
    assert "ptx_advice" not in fitting_releases(
        Environment(os="windows", driver="580.88", facts=(Fact("cuda built", "13.2", "told"),)), {}, TABLES
    )


def test_tables_have_the_newest_row_first() -> None:
    for name, column in (
        ("toolkit_drivers", "cuda"),
        ("drivers", "cuda"),
        ("libstdcxx", "symbol"),
        ("builds", "release"),
    ):
        numbers = [[int(part) for part in str(row[column]).split(".")] for row in TABLES[name]["rows"]]
        assert numbers == sorted(numbers, reverse=True), name
