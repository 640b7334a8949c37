"""What people write around a log: only a sentence of a person about what happened counts."""

import pytest

from triage.crash import Log
from triage.readers.log import remarks


def _kinds(text: str) -> list[str]:
    return [message.kind for message in remarks.extract(Log(0, text.split("\n")))]


@pytest.mark.parametrize(
    "sentence",
    [
        "It crashes without any error",
        "python just exits",
        "it silently dies",
        "The kernel dies",
        "My kernel keeps dying after the import",
        "I get a Segmentation fault when I run this",
        "I'm getting a segementation fault (core dumped) error",
        "Segfault on import tensorflow",
        "Crash when loading the model",
        "When I call fit, python crashes.",
        "Jupyter notebook kernel restarts by itself",
        "The program exits without any error message.",
        "The script was killed after 10 minutes",
        "Any use of tf.math.abs crashes Python.",
        "Loading the second model kills my kernel",
    ],
)
def test_a_death_in_a_persons_words(sentence: str) -> None:
    assert _kinds(sentence) == ["remark"]


@pytest.mark.parametrize(
    "sentence",
    [
        "it hangs",
        "stuck at Epoch 1/10 forever",
        "my computer freezes",
        "model.fit never returns",
        "There is no response for 2 hours",
        "training gets stuck after the first epoch",
        "Hangs when using multiple GPUs",
        "It runs for two hours, but stops/hangs at 6s.",
        "You can't Ctrl-C it any more",
        "top doesn't show any processor load",
        "Ctrl+C does not work",
        "Pool workers stuck after the import of TensorFlow",
        "this appears to generate a deadlock",
        "it prints four steps, then it goes to pause",
        "it shows the first step and then it doesn't print anything",
    ],
)
def test_a_hang_in_a_persons_words(sentence: str) -> None:
    assert _kinds(sentence) == ["hang"]


@pytest.mark.parametrize(
    "line",
    [
        "this may hang",
        "The process may be killed by SIGKILL",
        "If you see a hang, set another number of threads",
        "2024-01-02 03:04:05.678: W demo.cc:12] the kernel hangs",
        "WARNING: the script hangs",
        "RuntimeError: it hangs",
        "Your kernel may have been built without NUMA support.",
        "This fixes a crash when loading",
        "The model does not crash any more",
        "for i in range(10): crashes.append(i)",
        "crashes = 3",
        "Killed the old process before starting a new one",
        "Training finished without any error.",
        "It works without crashing",
        "python[4711]: segfault at 0 ip 00007fce957b5216 sp 00007fccd9ff1480 error 4",
        "Skipping registering GPU devices...",
    ],
)
def test_a_programs_line_a_possibility_and_a_denial_are_none(line: str) -> None:
    assert _kinds(line) == []


def test_the_message_is_the_line_at_its_place() -> None:
    log = Log(0, ["Epoch 1/2", "then it hangs for hours"])
    (message,) = remarks.extract(log)
    assert (message.text, message.place.line) == ("then it hangs for hours", 2)
