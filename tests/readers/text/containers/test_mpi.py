"""MPI: Open MPI and UCX print the stack of a rank; mpirun, mpiexec and horovodrun tell how it ended."""

from container_logs import exit_name, frames, told


def test_open_mpi_prints_the_signal_and_the_stack() -> None:
    found = told("mpi", "mpi")
    (thread,) = found.threads
    assert {status.name for status in found.exits} == {"SIGSEGV"}
    assert frames(thread, 6)[4:] == ["libffi.so.8+0x640e", "ffi_call"]
    assert thread.native_stack[2].module == "_ctypes.cpython-311-x86_64-linux-gnu.so"
    assert len(thread.native_stack) == 19


def test_ucx_prints_one_too_below_its_own_handler() -> None:
    assert frames(told("mpi", "mpi_ucx").threads[0], 1) == ["libc.so.6+0x156219"]


def test_mpich_writes_it_in_capitals() -> None:
    assert exit_name("mpi_mpich") == "SIGSEGV"


def test_the_ranks_that_horovod_ended_afterwards_do_not_count() -> None:
    assert exit_name("mpi_horovod") == "SIGSEGV"
