"""Which releases of TensorFlow files and words of a text leave open, where no version stands there."""

from __future__ import annotations

import pytest
import yaml
from conftest import REPOSITORY

import triage
from triage.clues.versions import order
from triage.ranges import is_possible
from triage.readers.log.implied import _BY_PYTHON, tensorflow_releases


def _majors(text: str, python: str | None = None) -> str:
    """The major versions that a text leaves open."""
    releases = tensorflow_releases(text, python) or ">=0"
    return "".join(major for major, of_it in (("1", ">=1,<2"), ("2", ">=2,<3")) if is_possible(releases, of_it))


@pytest.mark.parametrize(
    "line",
    [
        '  File "/home/user/venv/lib/python/site-packages/tensorflow/contrib/layers/python/layers.py", line 3, in fc',
        "#3 0x00007f in tensorflow::Run () from /x/site-packages/tensorflow/python/../libtensorflow_framework.so",
        "/x/site-packages/tensorflow/libtensorflow_framework.so(+0x5f3a0d)[0x7f1]",
        "#3 0x00007f in tensorflow::Run () from /x/tensorflow/python/../libtensorflow_framework.so.1",
        "         [[Node: conv1/Conv2D = Conv2D[T=DT_FLOAT, strides=[1, 1, 1, 1]](x, w)]]",
        "Caused by op 'loss/sub', defined at:",
        "I tensorflow/stream_executor/dso_loader.cc:135] successfully opened CUDA library libcublas.so locally",
        "W tensorflow/core/platform/cpu_feature_guard.cc:45] The TensorFlow library wasn't compiled to use AVX",
        "ImportError: libcublas.so.9.0: cannot open shared object file: No such file or directory",
        "Could not load dynamic library 'cublas64_90.dll'; dlerror: not found",
        r"E c:\tf_jenkins\home\workspace\release-win\tensorflow\stream_executor\cuda\cuda_dnn.cc:359] no handle",
        '  File "/x/site-packages/tensorflow/python/client/session.py", line 1335, in _do_call',
        "sess = tf.Session()",
    ],
)
def test_what_only_tensorflow_1_has_or_prints(line: str) -> None:
    assert _majors(f"before\n{line}\nbehind") == "1"


@pytest.mark.parametrize(
    "line",
    [
        "#3 0x00007f in tensorflow::Run () from /x/tensorflow/python/../libtensorflow_framework.so.2",
        "0 libtensorflow_framework.2.dylib 0x1 tensorflow::Run + 3",
        "/x/tensorflow/libtensorflow_framework.so.2.4.1(+0xf0668d)[0x7f1]",
        "I tensorflow/core/util/port.cc:113] oneDNN custom operations are on. You may see slightly different results",
        '  File "/x/site-packages/keras/utils/traceback_utils.py", line 70, in error_handler',
        "    tensors = pywrap_tfe.TFE_Py_Execute(ctx._handle, device_name, op_name,",
        "E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed call to cuInit",
    ],
)
def test_what_only_tensorflow_2_has_or_prints(line: str) -> None:
    assert _majors(f"before\n{line}\nbehind") == "2"


@pytest.mark.parametrize(
    "line",
    [
        # looked for in vain: it is what the op was built with
        "ImportError: libtensorflow_framework.so.2: cannot open shared object file: No such file or directory",
        "ImportError: libtensorflow_framework.so: cannot open shared object file: No such file or directory",
        "ModuleNotFoundError: No module named 'tensorflow.contrib'",
        "AttributeError: module 'tensorflow' has no attribute 'Session'\n    sess = tf.Session()",
        "import tensorflow.compat.v1 as tf\nsess = tf.Session()",
        "E external/org_tensorflow/tensorflow/core/framework/op_kernel.cc:1] no",
        "gcc -shared op.cc -o op.so -ltensorflow_framework",
        '  File "/x/site-packages/tensorflow_core/python/framework/ops.py", line 3, in f',
    ],
)
def test_what_both_have_or_what_somebody_else_was_built_with_leaves_it_open(line: str) -> None:
    assert _majors(f"before\n{line}\nbehind") == "12"


def test_tensorflow_core_was_the_folder_of_three_releases() -> None:
    releases = tensorflow_releases('  File "/x/tensorflow_core/python/framework/ops.py", line 3, in f', None)
    assert releases == ">=1.15,<2.2"


@pytest.mark.parametrize(
    ("python", "majors"), [("2.7", "1"), ("3.4", "1"), ("3.4.2", "1"), ("3.6", "12"), ("3.12.1", "2"), ("3.99", "12")]
)
def test_a_python_for_which_only_some_releases_have_a_wheel(python: str, majors: str) -> None:
    assert _majors("nothing", python) == majors


def test_what_is_rare_gives_way_to_what_is_certain() -> None:
    """2.0 and 2.1 ran on Python 2.7, and sessions live on below compat.v1."""
    assert _majors("from /x/tensorflow/libtensorflow_framework.so.2", "2.7") == "2"
    assert _majors('File "/x/tensorflow/python/client/session.py", line 1, in _do_run', "3.8") == "12"


def test_signs_that_contradict_each_other_show_nothing() -> None:
    both = "from /x/tensorflow/libtensorflow_framework.so.2\nfrom /y/tensorflow/libtensorflow_framework.so.1"
    assert tensorflow_releases(both, None) is None


def test_the_wheels_for_a_python_are_those_of_the_table() -> None:
    rows = yaml.safe_load((REPOSITORY / "signatures" / "versions.yaml").read_text())["builds"]["rows"]
    pythons = {row["release"]: [order(python) for python in row["python"].split("-")] for row in rows}
    for python, releases in _BY_PYTHON.items():
        wheels = [release for release, (first, last) in pythons.items() if first <= order(python) <= last]
        assert wheels, python
        assert all(is_possible(f"=={release}", releases) for release in wheels), python
        # The bound is as near as the table has it.
        beyond = [release for release in pythons if release not in wheels and is_possible(f"=={release}", releases)]
        newer = [release for release in beyond if order(release) > order(wheels[0])]
        older = [release for release in beyond if order(release) < order(wheels[-1])]
        assert not (newer if releases[0] == "<" and releases != "<2" else older if releases[0] == ">" else []), python


def test_the_range_is_a_fact_of_the_machine() -> None:
    crash = triage.analyze(b"Caused by op 'loss/sub', defined at:\n").crash
    assert crash.environment.implied == (("tensorflow", "<2"),)
