"""C++ names in stacks of reporters that do not demangle them."""

import pytest

from triage.readers.log.containers.printed_stacks import qualified_name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN10tensorflow6Tensor4dataEv", "tensorflow::Tensor::data"),
        ("_ZNK10tensorflow6Tensor21CheckTypeAndIsAlignedENS_8DataTypeE", "tensorflow::Tensor::CheckTypeAndIsAligned"),
        (
            "_ZN10tensorflow8BinaryOpIN5Eigen16ThreadPoolDeviceENS_7functor3addIfEEE7ComputeEPNS_15OpKernelContextE",
            "tensorflow::BinaryOp::Compute",
        ),
        ("_ZN10tensorflow6TensorC1Ev", "tensorflow::Tensor::Tensor"),
        ("_ZN10tensorflow6TensorD2Ev", "tensorflow::Tensor::~Tensor"),
        ("_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run"),
        ("_ZNSt6thread4joinEv", "std::thread::join"),
        ("_ZNSt8functionIFvllEEclEll", "std::function::operator()"),
        ("_Z5trainv", "train"),
        ("PyObject_Call", "PyObject_Call"),
    ],
)
def test_the_qualified_name_is_read(symbol: str, name: str) -> None:
    assert qualified_name(symbol) == name


@pytest.mark.parametrize("symbol", ["_Z", "_ZN", "_ZN99x", "_ZN1", "_ZNSt6threadI", "_ZN1aIIIIIII", "_ZTIN3fooE"])
def test_what_is_not_understood_stays_as_it_is(symbol: str) -> None:
    assert qualified_name(symbol) == symbol
