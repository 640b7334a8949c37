"""Whatever a collector, a chat or a console put around a log, the same facts come out, at their original lines."""

from __future__ import annotations

import pytest

import triage
from triage.crash import Crash
from triage.readers import Source, read
from triage.report import Report

LOG = [
    "Epoch 1/5",
    "2021-09-14 11:30:03.224790: E tensorflow/stream_executor/cuda/cuda_dnn.cc:362] Loaded runtime CuDNN library: "
    "8.0.4 but source was compiled with: 8.1.0.",
    "Traceback (most recent call last):",
    '  File "train.py", line 20, in <module>',
    "    model.fit(x, y)",
    "tensorflow.python.framework.errors_impl.UnknownError: Failed to get convolution algorithm. [Op:Conv2D]",
    "Segmentation fault (core dumped)",
]
CAUSE = "gpu.cudnn-version-mismatch"


def reading(text: str | bytes) -> Crash:
    return read(Source.of(text.encode() if isinstance(text, str) else text), 0)


def assert_same_facts(text: str | bytes, *, first_line: int = 1) -> None:
    """The wrapped log gives the exception, its frame, the signal and the cause, at the lines of the original."""
    crash = reading(text)
    assert [(e.short_type, e.frames[0].line) for e in crash.exceptions] == [("UnknownError", 20)]
    assert crash.exceptions[0].place is not None
    assert crash.exceptions[0].place.line == first_line + 5
    assert crash.exit is not None
    assert (crash.exit.signal, crash.exit.place and crash.exit.place.line) == ("SIGSEGV", first_line + 6)
    report: Report = triage.analyze(text.encode() if isinstance(text, str) else text)
    assert report.diagnoses[0].cause == CAUSE


@pytest.mark.parametrize(
    "prefix",
    [
        "> ",
        "> > ",
        "trainer-1  | ",
        "web_1 | ",
        "Jun 09 14:16:22 mlworker train[575915]: ",
        "2022-01-02T10:08:37.183286+00:00 app[worker.1]: ",
        "2024-05-01T08:00:00.1234567Z ",
        "2024-05-01T08:00:00.123456789Z stderr F ",
        "[2024-05-01T08:00:00.123Z] ",
        "Nov 3, 2023, 2:09:50 AM | WARNING | ",
        "[1,3]<stderr>:",
        "[node07:4711] ",
        "(train_fn pid=4711, ip=10.0.0.2) ",
        "(RayTrainWorker pid=4711) ",
        "[rank0]: ",
        "[2024-05-01, 08:00:00 UTC] {subprocess.py:93} INFO - ",
        "24/05/01 08:00:00 INFO PythonRunner: ",
        "npm ERR! ",
        "trainer-1  | 2024-05-01T08:00:00.123Z ",
        "> trainer-1  | [1,0]<stderr>:",
    ],
)
def test_a_prefix_on_every_line_is_removed(prefix: str) -> None:
    assert_same_facts("\n".join(prefix + line for line in LOG))


def test_a_bare_log_keeps_everything_it_has() -> None:
    crash = reading("\n".join(LOG))
    assert crash.logs[0].text.split("\n") == LOG
    assert_same_facts("\n".join(LOG))


def test_windows_line_ends_and_colours() -> None:
    assert_same_facts("\r\n".join(f"\x1b[31m{line}\x1b[0m" for line in LOG))


def test_states_of_a_progress_bar_have_no_prefix_and_do_not_keep_the_others_from_losing_theirs() -> None:
    bar = "\r".join(f"{step}/120 [====] - ETA: 3s" for step in range(0, 120, 10))
    text = "\n".join(f"trainer-1  | {line}" for line in [LOG[0], bar, *LOG[1:]])
    crash = reading(text)
    assert crash.exceptions[0].place is not None
    assert crash.exceptions[0].place.line == 7


def test_a_markdown_fence_and_html_are_not_part_of_the_log() -> None:
    assert_same_facts("\n".join(["```shell", *LOG, "```"]), first_line=2)
    escaped = [line.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;") for line in LOG]
    assert_same_facts("\n".join(["<pre><code>", *escaped, "</code></pre>"]), first_line=2)
    assert reading("<pre>\n" + "\n".join(escaped)).exceptions[0].frames[0].function == "<module>"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_with_and_without_a_mark(encoding: str) -> None:
    assert_same_facts("\n".join(LOG).encode(encoding))


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp1252", "Der Vorgang wurde abgebrochen, weil die Größe überschritten wurde: Übergröße für Köln"),
        ("cp1251", "Ошибка сегментирования, память не выделена, процесс завершён"),
        ("gb18030", "段错误（核心已转储），内存不足，进程已被杀死，请减小批次大小"),
    ],
)
def test_a_legacy_encoding_is_guessed_and_read(encoding: str, words: str) -> None:
    crash = reading("\n".join([*([words] * 8), *LOG]).encode(encoding))
    assert words in crash.logs[0].text
    assert crash.exceptions[0].place is not None
    assert crash.exceptions[0].place.line == 14


def test_a_stray_byte_is_damage_and_not_an_encoding() -> None:
    crash = reading(b"caf\xe9\n" + "\n".join(LOG).encode())
    assert crash.logs[0].text.startswith("caf\ufffd\n")


def test_a_console_of_80_columns_broke_the_lines_and_they_are_whole_again() -> None:
    broken = [line[start : start + 80] for line in LOG for start in range(0, max(1, len(line)), 80)]
    crash = reading("\r\n".join(broken))
    assert LOG[1] in crash.logs[0].text.split("\n")
    assert triage.analyze("\n".join(broken).encode()).diagnoses[0].cause == CAUSE
    assert crash.exit is not None
    assert crash.exit.place is not None
    assert crash.exit.place.line == len(broken)


def test_lines_that_are_long_by_themselves_are_not_glued_together() -> None:
    full = ["a" * 80, "b" * 70, "  File " + "c" * 20, "d" * 80, "", "e"]
    assert reading("\n".join(full)).logs[0].text.split("\n") == full


MESSAGE = (
    'ValueError: Input 0 of layer "conv1d" is incompatible with the layer: expected axis -1 of input shape to have '
    "value 1, but received input with shape (None, 100, 6)"
)


@pytest.mark.parametrize("width", [80, 120])
def test_a_short_paste_with_one_broken_message_is_whole_again(width: int) -> None:
    broken = [MESSAGE[start : start + width].rstrip() for start in range(0, len(MESSAGE), width)]
    assert reading("\n".join(broken)).logs[0].text == MESSAGE


@pytest.mark.parametrize("follower", ["Segmentation fault", '  File "a.py", line 1', "[Op:Conv2D]", "", "$ echo"])
def test_one_line_that_happens_to_fill_the_console_is_left_alone(follower: str) -> None:
    line = MESSAGE[:120]
    assert reading(f"{line}\n{follower}\nend").logs[0].text.split("\n") == [line, follower, "end"]


def test_a_log_that_shows_the_newest_first_is_turned_round() -> None:
    rows = [f"Nov 3, 2023, 2:{minute:02}:50 AM | WARNING | {line}" for minute, line in enumerate(LOG)]
    crash = reading("\n".join(reversed(rows)))
    assert crash.logs[0].text.split("\n") == LOG
    assert crash.exit is not None
    assert crash.exit.place is not None
    assert crash.exit.place.line == 1


def test_tensorflows_own_times_show_the_order_too() -> None:
    rows = [f"2021-09-14 11:30:0{n}.000000: I tensorflow/core/a.cc:1] step {n}" for n in range(6)]
    assert reading("\n".join(reversed(rows))).logs[0].text.split("\n") == rows
    assert reading("\n".join(rows)).logs[0].text.split("\n") == rows


def test_two_processes_whose_lines_alternate_are_read_one_after_the_other() -> None:
    other = [f"step {n}" for n in range(len(LOG))]
    mixed = [row for a, b in zip(LOG, other, strict=True) for row in (f"[1,0]<stderr>:{a}", f"[1,1]<stdout>:{b}")]
    crash = reading("\n".join(mixed))
    assert crash.logs[0].text.split("\n") == [*LOG, *other]
    assert crash.exceptions[0].place is not None
    assert crash.exceptions[0].place.line == 11


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (LOG[3:], "the beginning of the log"),
        (LOG[:4], "the end of the log"),
        (["Epoch 1/5", "[... output truncated ...]", *LOG], "says itself that it was cut"),
    ],
)
def test_a_log_that_was_cut_says_so_in_what_could_not_be_seen(lines: list[str], words: str) -> None:
    report = triage.analyze("\n".join(lines).encode())
    assert any(words in text for text in report.not_observable)


def test_a_whole_log_is_not_called_cut() -> None:
    assert not [text for text in triage.analyze("\n".join(LOG).encode()).not_observable if "of the log" in text]


def test_a_syntax_error_starts_with_its_file_and_is_whole() -> None:
    text = '  File "train.py", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax\n'
    assert not [text for text in triage.analyze(text.encode(), exit_code=1).not_observable if "of the log" in text]


def test_a_python_prompt_is_not_a_quote() -> None:
    text = ">>> import tensorflow as tf\n>>> tf.zeros(3)\n>>> exit()\nIllegal instruction (core dumped)"
    assert reading(text).logs[0].text == text


def test_an_entity_with_thousands_of_digits_is_left_as_it_is() -> None:
    line = f"ValueError: &lt;b&gt; &#{'9' * 5000};"
    report = triage.analyze(f"Traceback (most recent call last):\n  File 'a.py', line 1\n{line}\n".encode())
    assert report.crash.logs[0].text.splitlines()[-1] == line
