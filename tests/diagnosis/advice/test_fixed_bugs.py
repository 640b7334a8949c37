"""The release that fixed a known crash of an op, and no advice where there is none."""

from __future__ import annotations

import re

import pytest
from building import crash_of, crashed_thread

from triage import analyze
from triage.clues.versions import order
from triage.crash import Crash, Environment
from triage.diagnosis.advice.fixed_bugs import fixed_bug
from triage.knowledge.database import Knowledge, load

TABLES = load().versions
ROWS = TABLES["fixed"]["rows"]


def _log(version: str, function: str) -> bytes:
    """A run of this version that a check ended in this generated function."""
    lines = (
        f"tensorflow version: {version}",
        "2022-06-01 10:00:02.860982: F tensorflow/core/framework/tensor.cc:733] Check failed: dims() == 4 (3 vs. 4)",
        "Fatal Python error: Aborted",
        "",
        "Current thread 0x00007fa79e7c7b80 (most recent call first):",
        f'  File "/venv/lib/python3.8/site-packages/tensorflow/python/ops/gen_x_ops.py", line 322 in {function}',
        '  File "train.py", line 15 in <module>',
    )
    return "\n".join(lines).encode()


def _advice(crash: Crash, op: str | None = None) -> str | None:
    return fixed_bug(crash, op, TABLES).get("fixed_advice")


def _with(version: str | None = None, python: str | None = None) -> Environment:
    return Environment(packages=(("tensorflow", version),) if version else (), python=python)


def _step(knowledge: Knowledge, version: str, function: str) -> tuple[str, str | None]:
    report = analyze(_log(version, function), exit_code=134, knowledge=knowledge)
    assert report.diagnoses[0].signature == "native/check-failed"
    (step,) = (step for step in report.diagnoses[0].fix if step.run and "pip install" in step.run)
    return step.do, step.run


def test_a_check_of_a_known_op_names_the_release_that_repaired_it(knowledge: Knowledge) -> None:
    do, run = _step(knowledge, "2.6.2", "lrn_grad")
    assert do == "A known crash of LRNGrad (CVE-2022-35985) is fixed in TensorFlow 2.10.0; you have 2.6.2."
    assert run == 'python -m pip install "tensorflow>=2.10.0"'


@pytest.mark.parametrize(("version", "function"), [("2.12.0", "lrn_grad"), ("2.9.2", "lrn_grad"), ("2.6.2", "lrn")])
def test_a_repaired_release_and_an_unknown_op_get_the_general_step(
    knowledge: Knowledge, version: str, function: str
) -> None:
    do, run = _step(knowledge, version, function)
    assert do.startswith("If the arguments are right, upgrade TensorFlow")
    assert run == "python -m pip install --upgrade tensorflow"


def test_an_older_line_stays_on_its_line() -> None:
    advice = fixed_bug(crash_of(exit="134", environment=_with("2.9.1")), "LRNGrad", TABLES)
    assert "fixed in TensorFlow 2.10.0, and for 2.9 in 2.9.2; you have 2.9.1." in advice["fixed_advice"]
    assert advice["fixed_pin"] == "tensorflow>=2.9.2,==2.9.*"


def test_an_unknown_version_gets_no_requirement() -> None:
    advice = fixed_bug(crash_of(exit="134"), "LRNGrad", TABLES)
    assert "2.10.0; yours is unknown" in advice["fixed_advice"]
    assert "fixed_pin" not in advice


def test_a_python_that_is_too_old_for_the_repair_is_named() -> None:
    advice = _advice(crash_of(exit="134", environment=_with("2.6.2", "3.6.9")), "LRNGrad")
    assert advice and "2.10.0 (which needs Python 3.7 or newer)" in advice


@pytest.mark.parametrize(
    "crash",
    [
        crash_of(
            exit="134", threads=(crashed_thread(native=("abort", "tensorflow::AvgPooling3dGradOp<D, T>::Compute")),)
        ),
        crash_of(
            "#4 0x7f in tensorflow::(anonymous namespace)::AvgPool3DGradOp::Compute(tensorflow::OpKernelContext*)"
        ),
        crash_of("failed [Op:AvgPool3DGrad]", exit="134"),
        crash_of("tf.raw_ops.AvgPool3DGrad(orig_input_shape=x)", exit="134"),
        crash_of(exit="134", threads=(crashed_thread(python=("ops/gen_nn_ops.py:avg_pool3d_grad_eager_fallback",)),)),
    ],
)
def test_the_op_is_known_by_its_many_names(crash: Crash) -> None:
    advice = _advice(crash)
    assert advice and "AvgPool3DGrad (CVE-2022-35959" in advice


def test_the_source_of_one_kernel_names_its_op() -> None:
    advice = _advice(crash_of("2022-06-01 10:00:02.8: F tensorflow/core/kernels/list_kernels.cc:1] Check failed: x"))
    assert advice is None  # a file of many ops
    advice = _advice(crash_of("F tensorflow/core/kernels/image/encode_png_op.cc:1] Check failed: x", exit="134"))
    assert advice and "EncodePng" in advice


def test_only_bugs_that_end_in_this_way_count() -> None:
    assert "CVE-2022-35996" in (_advice(crash_of(exit="SIGFPE"), "Conv2D") or "")
    assert _advice(crash_of(exit="SIGSEGV"), "Conv2D") is None


def test_several_calls_name_no_op() -> None:
    assert _advice(crash_of("tf.raw_ops.LRNGrad(a)", "tf.raw_ops.Eig(b)", exit="134")) is None


def test_the_table_is_sane() -> None:
    assert len(ROWS) > 300
    pairs = [(row["op"], row["id"]) for row in ROWS]
    assert len(pairs) == len(set(pairs))
    for row in ROWS:
        assert re.fullmatch(r"CVE-20\d\d-\d{4,5}|TFSA-20\d\d-\d{3}", row["id"]), row
        assert re.fullmatch(r"[A-Z]\w+", row["op"]), row
        assert set(row["ends"].split()) <= {"abort", "fault", "division", "heap", "crash"}, row
        releases = row["fixed"].split()
        assert all(re.fullmatch(r"[12]\.\d+\.\d+", release) for release in releases), row
        assert releases[0].endswith(".0") and releases == sorted(releases, key=order, reverse=True), row
        lines = [release.rpartition(".")[0] for release in releases]
        assert len(lines) == len(set(lines)), row
        assert re.fullmatch(r"\w+\.cc", row.get("file", "x.cc")), row
