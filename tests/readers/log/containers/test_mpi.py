"""MPI: Open MPI and UCX print the stack of a rank; mpirun, mpiexec and horovodrun report how it ended."""

from container_logs import exit_name, facts_in, facts_of, frames


def test_open_mpi_prints_the_signal_and_the_stack() -> None:
    found = facts_of("mpi", "mpi")
    (thread,) = found.threads
    assert {status.name for status in found.exits} == {"SIGSEGV"}
    assert frames(thread, 6)[4:] == ["libffi.so.8+0x640e", "ffi_call"]
    assert thread.native_stack[2].module == "_ctypes.cpython-311-x86_64-linux-gnu.so"
    assert len(thread.native_stack) == 19


def test_ucx_prints_one_too_below_its_own_handler() -> None:
    assert frames(facts_of("mpi", "mpi_ucx").threads[0], 1) == ["libc.so.6+0x156219"]


def test_mpich_writes_it_in_capitals() -> None:
    assert exit_name("mpi_mpich") == "SIGSEGV"


def test_the_ranks_that_horovod_ended_afterwards_do_not_count() -> None:
    assert exit_name("mpi_horovod") == "SIGSEGV"


def test_mpirun_puts_its_rank_in_the_middle_of_a_frame_too() -> None:
    found = facts_in(
        "mpi",
        "[node1:4711] [ 0] [1,2]<stderr>:/lib/libc.so.6(+0x3ef20)[0x7f01]",
        "[node1:4711] [ 1] /lib/mpi_lib.so(_ZN7horovod6common4initEv+0x1f)[0x7f02]",
    )
    assert frames(found.threads[0]) == ["libc.so.6+0x3ef20", "horovod::common::init"]
