"""Notebooks: nearly all of them only say that the kernel is gone."""

import pytest
from container_logs import crash, exit_name, facts_in, facts_of, notices


@pytest.mark.parametrize(
    ("name", "notice"),
    [
        ("notebooks_jupyter", "KernelRestarter: restarting kernel (1/5)"),
        ("notebooks_nbclient", "DeadKernelError: Kernel died"),
        ("notebooks_colab", "KernelRestarter: restarting kernel (1/5)"),
        ("notebooks_spyder", "The kernel died, restarting"),
        ("notebooks_vs_code", "The Kernel crashed while executing code in the current cell"),
    ],
)
def test_a_dead_kernel_is_a_notice_and_no_cause(name: str, notice: str) -> None:
    found = facts_of("notebooks", name)
    assert notice in notices(found)
    assert found.exits == ()
    assert found.memory.oom_kills is None


@pytest.mark.parametrize(
    "line",
    [
        "The kernel appears to have died. It will restart automatically.",
        "The kernel for train.ipynb appears to have died. It will restart automatically.",
        "Your session crashed for an unknown reason.",
        "Fatal error: The Python kernel is unresponsive.",
        "[I 12:00:00.000 NotebookApp] KernelRestarter: restarting kernel (1/5), keep random ports",
        "[W 12:00:00.000 ServerApp] AsyncIOLoopKernelRestarter: restart failed",
        "The kernel has died, and the automatic restart has failed.",
        "Kernel 3e8d32ad-bdc3 died, removing from map.",
        "Runtime died. Automatically restarting.",
        "Dead kernel",
        "Canceled future for execute_request message before replies were done",
        "R Session Aborted",
        "R encountered a fatal error.",
        "=============================== RESTART: Shell ===============================",
        "Python quit unexpectedly while using the libdemo.dylib plug-in.",
    ],
)
def test_the_words_of_the_browser(line: str) -> None:
    assert len(notices(facts_in("notebooks", line))) == 1


def test_colab_knows_when_it_was_memory() -> None:
    assert crash("notebooks_colab_memory").memory.oom_kills == 1


def test_the_terminal_of_vs_code_gives_windows_codes_unsigned() -> None:
    assert exit_name("vs_code_terminal") == "STATUS_STACK_BUFFER_OVERRUN"


@pytest.mark.parametrize(
    "line",
    [
        "Your session crashed after using all available RAM.",
        "Your notebook tried to allocate more memory than is available. It has restarted.",
        "This app has gone over its resource limits.",
        "The instance ran out of memory.",
    ],
)
def test_services_that_measure_memory(line: str) -> None:
    assert facts_in("notebooks", line).memory.oom_kills == 1


@pytest.mark.parametrize(
    "line",
    [
        "= RESTART: /home/user/train.py =",
        "the kernel of the convolution is 3x3",
        "Restarting the kernel is not needed",
        "a session crash course",
    ],
)
def test_other_kernels_and_sessions(line: str) -> None:
    found = facts_in("notebooks", line)
    assert found.messages == ()
    assert found.memory.oom_kills is None
