"""Whose words a line is, and what a person's words say about the end."""

import pytest

from triage import prose


@pytest.mark.parametrize(
    "line",
    [
        "I just want to know if this is a warning or an error.",
        "How do I get rid of this warning?",
        "Is this normal?",
        "However, it prints some strange error messages.",
        "My script shows the lines below",
        "i get the error message with every card",
        "The conversion works.",
        "Thanks in advance!",
    ],
)
def test_a_sentence_of_a_person(line: str) -> None:
    assert prose.is_of_a_person(line)
    assert not prose.says_that_it_fails(line)


@pytest.mark.parametrize(
    "line",
    [
        "2024-05-01 08:00:00.1: E tensorflow/core/x.cc:12] I cannot open my file",
        "ValueError: is this a file?",
        "ERROR: what is this?",
        "did you mean 'fit'?",
        "Is the server running on that host and accepting connections?",
        "Could not load the shard",
        "for i in range(10):",
        "loading the model",
        "Killed",
        "error: command 'gcc' failed with exit status 1",
    ],
)
def test_a_line_of_a_program_is_no_persons(line: str) -> None:
    assert not prose.is_of_a_person(line)


@pytest.mark.parametrize(
    "line",
    [
        "```",
        "```bash",
        "**Describe the problem**",
        "### Steps to reproduce",
        "Expected behavior:",
        "OS Platform: Linux",
    ],
)
def test_a_form_has_headings_fields_and_fences(line: str) -> None:
    assert prose.is_of_a_form(line)


@pytest.mark.parametrize(
    "line",
    ["Segmentation fault", "Error: no such file", "Killed", "Problem: the disk is full", "Error message: no file"],
)
def test_a_failure_is_no_heading(line: str) -> None:
    assert not prose.is_of_a_form(line)


@pytest.mark.parametrize(
    "line",
    [
        "I can't run it",
        "It does not work for me",
        "My program stops here",
        "I think it failed",
        "Why does this crash?",
        "I get no output",
        "My program does not start",
        "I got this message, and then it halted.",
        "程序运行到这里就崩溃了",
        "会一直卡在这里",
        "训练的时候会报错",
        "微调时报错",
    ],
)
def test_what_a_person_says_went_wrong(line: str) -> None:
    assert prose.says_that_it_fails(line)
    assert not prose.says_that_it_works(line)


@pytest.mark.parametrize(
    "line",
    [
        "My GPU is not found",
        "Why is it not using my GPU?",
        "I have a GPU, why it's not finding it?",
        "The GPU isn't being used during training",
        "It doesn't seem to be causing any problems other than the warning",
        "请问为什么没有使用GPU",
    ],
)
def test_a_card_that_is_not_used_is_no_failure(line: str) -> None:
    assert not prose.says_that_it_fails(line)


@pytest.mark.parametrize("line", ["It does not use the GPU and then it crashes", "The GPU is not found, so it exits"])
def test_a_failure_beside_an_unused_card_is_one(line: str) -> None:
    assert prose.says_that_it_fails(line)


@pytest.mark.parametrize(
    "line",
    [
        "The errors are as follows",
        "Got the following error:",
        'Here the complete "Warning":',
        "Produces an ominous warning:",
        "After updating the library to the latest version,",
        "too many warnings after the import",
        "运行的时候，出现这个错误，请问怎么解决",
        "Just wondering if someone can explain the following",
    ],
)
def test_how_people_announce_what_they_paste(line: str) -> None:
    assert prose.is_of_a_person(line)


@pytest.mark.parametrize(
    "line",
    ["The above exception was the direct cause of the following exception:", "Error: the following packages failed:"],
)
def test_a_program_announces_a_failure_itself(line: str) -> None:
    assert not prose.is_of_a_person(line)


@pytest.mark.parametrize(
    "line",
    [
        "The data generation works. However, it prints strange messages.",
        "I am able to train despite the message.",
        "Although it has no influence on the training, I want to check if something is wrong.",
        "The script runs but I get this error:",
        "Training continues.",
        "Everything works fine, but this line worries me.",
        "It doesn't affect the result.",
    ],
)
def test_a_person_says_that_it_works(line: str) -> None:
    assert prose.says_that_it_works(line)


@pytest.mark.parametrize(
    "line",
    [
        "It works on the CPU.",
        "It worked yesterday.",
        "It works only without the GPU.",
        "It should work.",
        "I am not able to train.",
        "It works in version 2.3, but here it dies.",
        "It used to work fine.",
        "How do I make it work?",
        "It works with Python 3.8",
    ],
)
def test_that_it_works_elsewhere_or_once_says_nothing_about_here_and_now(line: str) -> None:
    assert not prose.says_that_it_works(line)
