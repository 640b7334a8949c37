"""Private values: replaced by placeholders that stay the same, counted, and gone from the whole report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from building import crash_of, knowledge_of, signature_data
from conftest import LOGS
from fixture_logs import ROWS, report_of
from hypothesis import given
from hypothesis import strategies as st

import triage
from triage.crash import Command, Environment
from triage.diagnosis import diagnose
from triage.phrases import Phrase, quote, quoting
from triage.readers import Source, read
from triage.redaction import _THEIRS, Redactor, redacted
from triage.report import Report
from triage.reports import FORMATS, renderer

# What is secret, the text in which it stands, and what kind of value it is. None of these is a real token.
SECRETS = [
    ("alice", "/home/alice/project/train.py", "user"),
    ("alice", "/Users/alice/project/train.py", "user"),
    ("alice", "C:\\Users\\alice\\project\\train.py", "user"),
    ("alice", "C:/Users/alice/project/train.py", "user"),
    ("alice", "C:\\\\Users\\\\alice\\\\project", "user"),
    ("alice", "d:\\users\\alice", "user"),
    ("alice.smith", "/home/alice.smith/x", "user"),
    ("ålice", "/home/ålice/x", "user"),
    ("alice@example.com", "mail alice@example.com about it", "email"),
    ("a.l+i-ce@mail.example.co.uk", "<a.l+i-ce@mail.example.co.uk>", "email"),
    ("AKIA" + "ABCDEFGHIJKLMNOP", "key AKIAABCDEFGHIJKLMNOP used", "token"),
    ("ASIA" + "ABCDEFGHIJKLMNOP", "key ASIAABCDEFGHIJKLMNOP used", "token"),
    ("ghp_" + "a1B2" * 9, "using ghp_" + "a1B2" * 9, "token"),
    ("github_pat_" + "a1B2_" * 8, "using github_pat_" + "a1B2_" * 8, "token"),
    ("glpat-" + "a1B2" * 5, "using glpat-" + "a1B2" * 5, "token"),
    ("hf_" + "aBcD" * 8, "login with hf_" + "aBcD" * 8, "token"),
    ("AIza" + "a1B2c" * 7, "google AIza" + "a1B2c" * 7, "token"),
    ("xoxb-" + "1234567890-abc", "slack xoxb-1234567890-abc", "token"),
    ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMe", "jwt eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMe", "token"),
    ("sk-" + "a1B2" * 8, "openai sk-" + "a1B2" * 8, "token"),
    ("sk-ant-api03-" + "a1B2" * 8, "anthropic sk-ant-api03-" + "a1B2" * 8, "token"),
    ("dGhpcyBpcyBzZWNyZXQ=", "Authorization: Bearer dGhpcyBpcyBzZWNyZXQ=", "token"),
    ("onlysmallletters", "Authorization: Bearer onlysmallletters", "token"),
    ("a1b2c3d4e5f6", "sent bearer a1b2c3d4e5f6 to the server", "token"),
    ("dGhpcyBpcyBzZWNyZXQ=", "authorization: basic dGhpcyBpcyBzZWNyZXQ=", "token"),
    ("hunter2hunter2", "https://alice:hunter2hunter2@example.com/repo.git", "token"),
    ("hunter2", "password=hunter2", "token"),
    ("hunter2", "PASSWORD: 'hunter2'", "token"),
    ("hunter2", "DB_PASSWORD=hunter2 python train.py", "token"),
    ("hunter2", '{"api_key": "hunter2"}', "token"),
    ("0123456789abcdef0123", "WANDB_API_KEY=0123456789abcdef0123", "token"),
    ("abc123secret", "aws_secret_access_key = abc123secret", "token"),
    ("abc123secret", "HF_TOKEN=abc123secret", "token"),
]


def traceback_saying(text: str) -> bytes:
    return f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: {text}\n'.encode()


@pytest.mark.parametrize(("secret", "text", "kind"), SECRETS, ids=[text[:40] for _, text, _ in SECRETS])
@pytest.mark.parametrize("format_name", FORMATS)
def test_a_private_value_is_nowhere_in_a_report(knowledge, secret, text, kind, format_name):
    log = traceback_saying(text)
    kept = renderer("json")(triage.analyze(log, redact=False, knowledge=knowledge))
    assert secret in json.loads(kept)["crash"]["exception"]["message"], "the test would pass for the wrong reason"

    report = triage.analyze(log, knowledge=knowledge)

    text = renderer(format_name)(report)
    assert secret not in (json.dumps(json.loads(text), ensure_ascii=False) if format_name == "json" else text)
    assert dict(report.redactions).get(kind, 0) >= 1


def test_the_user_name_is_hidden_wherever_it_stands_alone_too(knowledge):
    log = b"/home/alice/venv/bin/python\n" + traceback_saying("lock of alice, see job-alice and alice's notes")
    report = triage.analyze(log, knowledge=knowledge)
    assert "of alice," not in renderer("json")(report)


@pytest.mark.parametrize("name", ["user", "root", "runner", "ubuntu"])
def test_a_name_that_says_nothing_about_a_person_is_kept(name):
    redactor = Redactor()
    assert redactor.text(f"/home/{name}/x") == f"/home/{name}/x"
    assert not redactor.counts


def test_the_name_of_an_input_is_hidden_too(knowledge, tmp_path):
    path = tmp_path / "home" / "alice" / "crash.log"
    path.parent.mkdir(parents=True)
    path.write_bytes(traceback_saying("x"))
    assert "alice" not in renderer("json")(triage.analyze(path, knowledge=knowledge))


def test_the_name_of_an_unreadable_input_is_hidden_too(run_triage, tmp_path):
    path = tmp_path / "home" / "alice" / "crash.log"
    good = LOGS / "oom_in_fit-2.21.log"
    assert "alice" not in run_triage("analyze", path, good, "--format", "json").stdout


def test_the_same_value_gets_the_same_placeholder_and_another_another(knowledge):
    log = traceback_saying("/home/alice/a /home/bobby/b /home/alice/c x@example.com y@example.com x@example.com")
    message = triage.analyze(log, knowledge=knowledge).crash.exceptions[-1].message
    alice, bobby, again = (path.split("/")[2] for path in message.split()[:3])
    assert alice == again != bobby
    first, second, third = message.split()[3:]
    assert first == third != second


def test_placeholders_are_the_same_in_every_part_of_a_report(knowledge):
    log = (
        b"Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
        b'  File "/home/alice/train.py", line 3 in <module>\n' + traceback_saying("/home/alice/data")
    )
    report = json.loads(renderer("json")(triage.analyze(log, knowledge=knowledge)))
    frame = report["crash"]["processes"][0]["threads"][0]["python_stack"][0]["file"]
    assert frame.split("/")[2] == report["crash"]["exception"]["message"].split("/")[2]


def test_replacements_are_counted():
    redactor = Redactor()
    redactor.text("/home/alice/a /home/alice/b x@example.com password=hunter2")
    assert dict(redactor.counts) == {"user": 2, "email": 1, "token": 1}


def test_no_redact_keeps_everything_and_counts_nothing(knowledge):
    text = "; ".join(text for _, text, _ in SECRETS if "\\" not in text)
    report = triage.analyze(traceback_saying(text), redact=False, knowledge=knowledge)
    assert report.crash.exceptions[-1].message == text
    assert report.redactions == ()


ORDINARY = [
    "OOM when allocating tensor with shape[8192,128] and type float on /job:localhost/replica:0/task:0/device:CPU:0",
    "F0000 00:00:1794795122.283071 6266 tensor_shape.cc:356] Check failed: d < dims() (1 vs. 1)",
    "W0000 00:00:1794795138.706454    6291 op_kernel.cc:1858] OP_REQUIRES failed at mkl_util.h:848",
    "BuildID[sha1]=0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
    '  File "/usr/local/lib/python3.11/site-packages/keras/src/trainers/trainer.py", line 399, in fit',
    '  File "C:\\Python311\\Lib\\site-packages\\tensorflow\\python\\eager\\execute.py", line 53',
    "@tf.function decorated, see https://www.tensorflow.org/guide/function#controlling_retracing",
    "tensorflow::Tensor::CheckTypeAndIsAligned(tensorflow::DataType) const",
    "Epoch 1/10 32/32 - 1s - loss: 0.6931 - accuracy: 0.5000 - val_loss: 0.6929",
    "shape=(None, 128, 128, 3), dtype=float32, numpy=array([1., 2.])",
    "KeyError: 'token'",
    "special tokens: [CLS] [SEP]; tokenizer: BertTokenizer; max_tokens=512",
    "basic block 12 of cluster_0, bearer of bad news",
    "Let the kernels use no more than the basic instructions. Basic installation, basic input/output",
]


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_text_is_untouched(line):
    redactor = Redactor()
    assert redactor.text(line) == line
    assert not redactor.counts


def test_nothing_in_our_logs_is_taken_for_private():
    for path in sorted(LOGS.rglob("*.log")):
        for line in path.read_text("utf-8").splitlines():
            redactor = Redactor()
            assert redactor.text(line) == line, path.name


def test_our_index_of_causes_does_not_change_by_redaction(knowledge):
    for row in ROWS[::5]:
        kept = triage.analyze(LOGS / row["file"], exit_code=row["exit"], redact=False, knowledge=knowledge)
        hidden = report_of(LOGS / row["file"], row["exit"])
        assert [d.cause for d in kept.diagnoses] == [d.cause for d in hidden.diagnoses]


# Users who are called like something that we say ourselves.
WORDS = ("gpu", "memory", "native", "triage", "explain", "log")
TALKATIVE = (
    "oom_in_fit-2.21.log",
    "composed/gpu-oom-tf2.log",
    "null_pointer-2.21.log",
    "killed-2.21.log",
    "memory_error-2.21.log",
)


def texts_of(before: Any, after: Any, theirs: bool = False) -> Iterator[tuple[str, str, bool]]:
    """Every text of a report with what redaction made of it, and whether all of it is the input's."""
    if isinstance(before, str):
        yield before, after, theirs
    elif isinstance(before, tuple):
        names = getattr(before, "_fields", [""] * len(before))
        owned = _THEIRS.get(type(before), ())
        for name, one, other in zip(names, before, after, strict=True):
            if name != "redactions":
                yield from texts_of(one, other, name in owned or (theirs and not hasattr(before, "_fields")))


def our_words(text: str) -> str:
    """A pattern for a text in which all but what it quotes from the input is as it was."""
    parts, at = [], 0
    for start, stop in text.quoted if isinstance(text, Phrase) else ():
        parts += [re.escape(text[at:start]), "(?s:.*)"]
        at = stop
    return "".join([*parts, re.escape(text[at:])])


def report_for(name: str, log: str, knowledge: Any, folder: Path) -> Report:
    """A log of a user of that name, in the user's home folder; not redacted."""
    file = folder / "home" / name / "crash.log"
    file.parent.mkdir(parents=True)
    file.write_text(f"/home/{name}/venv/bin/python train.py\n" + (LOGS / log).read_text("utf-8"), "utf-8")
    return triage.analyze(file, redact=False, knowledge=knowledge)


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("log", TALKATIVE)
def test_a_user_who_is_called_like_a_word_of_ours_changes_only_what_is_quoted(knowledge, name, log, tmp_path):
    kept = report_for(name, log, knowledge, tmp_path)
    hidden = redacted(kept)
    assert dict(hidden.redactions).get("user"), "the name was found"
    for before, after, theirs in texts_of(kept, hidden):
        if not theirs and "/home/" not in before:
            assert re.fullmatch(our_words(before), after), (before, after)
    assert [d.cause for d in kept.diagnoses] == [d.cause for d in hidden.diagnoses]


@pytest.mark.parametrize("name", WORDS)
def test_causes_commands_and_sentences_are_the_same_for_every_user(knowledge, name, tmp_path):
    """The same crash of somebody whose name says nothing: the printed answer differs only in what it quotes."""
    one, other = (redacted(report_for(user, "killed-2.21.log", knowledge, tmp_path)) for user in (name, "zoltan"))
    # The explained notices are lines of the log, in which the name is hidden too.
    assert renderer("text")(one._replace(notices=())) == renderer("text")(other._replace(notices=()))
    assert [notice.id for notice in one.notices] == [notice.id for notice in other.notices]


def test_a_card_that_is_full_is_called_so_for_a_user_called_gpu(run_triage):
    log = (
        'Traceback (most recent call last):\n  File "/home/gpu/train.py", line 3, in <module>\n'
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with "
        "shape[512,64,112,112] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc "
        "(/home/gpu/train.py)\n"
    )
    done = run_triage("analyze", "-", input=log)
    assert done.stdout.splitlines()[:2] == ["The GPU's memory is full   99 %", "gpu.out-of-memory"]
    assert "triage explain gpu.out-of-memory" in done.stdout
    data = json.loads(run_triage("analyze", "-", "--format", "json", input=log).stdout)
    assert (data["diagnoses"][0]["cause"], data["diagnoses"][0]["signature"].split("/")[0]) == (
        "gpu.out-of-memory",
        "gpu",
    )
    assert "/home/<user-1>/train.py" in json.dumps(data)


def test_a_bare_name_is_replaced_in_what_our_sentences_quote():
    clues = [
        {"id": "line", "log": "memory ran away"},
        {"id": "value", "log": "lock of (?P<who>\\w+)", "says": "the memory of {who} is gone"},
    ]
    crash = crash_of("/home/memory/venv/bin/python", "the memory ran away", "lock of memory")
    report = redacted(diagnose(crash, knowledge_of({"a/a": signature_data(clues=clues)}), version="test"))
    told = {evidence.text for evidence in report.diagnoses[0].because}
    assert told == {"the <user-1> ran away", "the memory of <user-1> is gone"}


def test_the_persons_script_is_replaced_in_the_commands_that_we_suggest(knowledge):
    crash = read(Source.of(b"import tensorflow as tf\n/home/native/venv\nSegmentation fault\n"), 0)
    hidden_log = Environment(hidden_log="TF_CPP_MIN_LOG_LEVEL=3", interpreter="/home/native/venv/bin/python")
    crash = crash._replace(rerun=Command(("native/train.py", "--name", "native")), environment=hidden_log)
    report = redacted(diagnose(crash, knowledge, version="test"))
    commands = [question.run for question in report.next]
    assert Command(("triage", "run", "--framework-log", "<user-1>/train.py", "--name", "<user-1>")) in commands
    assert report.crash.rerun == Command(("<user-1>/train.py", "--name", "<user-1>"))


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("train.py", "--api-key", "correct-horse"), ("train.py", "--api-key", "<token-1>")),
        (
            ("train.py", "-H", "Authorization: Bearer", "c29tZS1zZWNyZXQ="),
            ("train.py", "-H", "Authorization: Bearer", "<token-1>"),
        ),
        (("train.py", "--max-token", "4096"), ("train.py", "--max-token", "4096")),
        (("train.py", "--tokens", "corpus.txt"), ("train.py", "--tokens", "corpus.txt")),
    ],
)
def test_an_argument_that_announces_a_secret_hides_the_next_one(knowledge, argv, expected):
    crash = read(Source.of(traceback_saying("x")), 0)._replace(rerun=Command(argv))
    assert redacted(diagnose(crash, knowledge, version="test")).crash.rerun == Command(expected)


def test_a_sentence_about_a_file_hides_the_name_in_the_file_only(run_triage, tmp_path):
    missing = tmp_path / "home" / "triage" / "triage run.log"
    done = run_triage("analyze", missing, LOGS / "oom_in_fit-2.21.log", "--format", "json")
    told = json.loads(done.stdout)["not_observable"]
    assert any("<user-1> run.log" in text for text in told)
    assert "triage run" in " ".join(
        json.loads(run_triage("analyze", LOGS / "killed-2.21.log", "--format", "json").stdout)["not_observable"]
    )


def test_a_phrase_knows_what_it_quotes_from_the_input():
    phrase = Phrase.of("'", quote("gpu"), "' is explained by gpu.out-of-memory")
    assert [phrase[start:stop] for start, stop in phrase.quoted] == ["gpu"]
    command = quoting("triage run --framework-log run.py run.py", "run.py")
    assert command == "triage run --framework-log run.py run.py"
    assert [command[start:stop] for start, stop in command.quoted] == ["run.py", "run.py"]
    assert quoting("nothing of theirs", "", "theirs?").quoted == ()


@given(st.text(max_size=200))
def test_any_text_can_be_redacted_twice(text):
    """No text breaks it, and what is hidden once is not hidden again in another way."""
    once = Redactor().text(text)
    assert Redactor().text(once) == once
