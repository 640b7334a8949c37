"""What a program imports: from prompts, commands, scripts, sentences and stacks, with what is seen to follow."""

from __future__ import annotations

import pytest

import triage
from triage.crash import Imports

GREETING = 'Python 3.10.6 (main, Aug  2 2022)\nType "help", "copyright", "credits" or "license" for more information.\n'


def imports_of(text: str) -> list[tuple[tuple[str, ...], bool]]:
    return [(one.modules, one.ends_there) for one in read(text)]


def read(text: str) -> tuple[Imports, ...]:
    return triage.analyze(text.encode()).crash.imports


@pytest.mark.parametrize(
    "text",
    [
        ">>> import torch\n>>> import tensorflow as tf\nSegmentation fault\n",
        "In [1]: from torch import nn\n\nIn [2]: import tensorflow.keras as k\nSegmentation fault\n",
        '$ python -c "import torch; import tensorflow"\nSegmentation fault\n',
        "$ python3.9 -X faulthandler -c 'import torch, tensorflow as tf'\nSegmentation fault\n",
        "import torch\nfrom tensorflow.python import ops\n\nSegmentation fault (core dumped)\n",
        "    import torch\n    # then\n    import tensorflow  # <- dies here\n\nSegmentation fault (core dumped)\n",
        "import torch\nimport tensorflow\nprint('never printed')\nSegmentation fault (core dumped)\n",
        "import torch\nimport tensorflow\nfree(): invalid pointer\nAborted (core dumped)\n",
    ],
)
def test_two_imports_and_then_nothing_else(text: str) -> None:
    assert imports_of(text) == [(("torch", "tensorflow"), True)]


@pytest.mark.parametrize(
    "text",
    [
        ">>> import torch\n>>> import tensorflow\n>>> torch.ones(3)\nSegmentation fault\n",
        # a prompt after the import: it came back
        ">>> import torch\n>>> import tensorflow\n>>>\n",
        '$ python -c "import torch, tensorflow; tensorflow.ones(3)"\nSegmentation fault\n',
        "import torch\nimport tensorflow\n\nmodel = torch.nn.Linear(2, 2)\nSegmentation fault\n",
        "If I `import torch` and then `import tensorflow`, it dies.\n",
    ],
)
def test_a_program_that_goes_on_after_its_imports(text: str) -> None:
    assert imports_of(text) == [(("torch", "tensorflow"), False)]


def test_two_sessions_are_two_pieces() -> None:
    dies = ">>> import torch\n>>> import tensorflow\nSegmentation fault (core dumped)\n"
    lives = ">>> import tensorflow\n>>> import torch\n>>>\n"
    assert imports_of(GREETING + dies + "\nThe other way round it works:\n\n" + GREETING + lives) == [
        (("torch", "tensorflow"), True),
        (("tensorflow", "torch"), False),
    ]


def test_sentences_between_two_scripts_keep_them_apart() -> None:
    text = "import torch\nimport cv2\n\nThis order works:\n\nimport cv2\nimport torch\n"
    assert imports_of(text) == [(("torch", "cv2"), True), (("cv2", "torch"), True)]


@pytest.mark.parametrize(
    "text",
    [
        "import torch first\n",
        "from torch 1.0 on it crashes\n",
        "I cannot import tensorflow\n",
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    import torch\nImportError: no\n',
    ],
)
def test_sentences_and_lines_of_a_traceback_are_no_program(text: str) -> None:
    assert imports_of(text) == []


def test_a_stack_shows_which_import_is_inside_which() -> None:
    text = """Fatal Python error: Segmentation fault

Current thread 0x00007f1423b1b740 (most recent call first):
  File "<frozen importlib._bootstrap>", line 205 in _call_with_frames_removed
  File "<frozen importlib._bootstrap_external>", line 922 in create_module
  File "/opt/env/lib/python3.6/site-packages/torch/__init__.py", line 81 in <module>
  File "<frozen importlib._bootstrap>", line 205 in _call_with_frames_removed
  File "/opt/env/lib/python3.6/site-packages/petastorm/pytorch.py", line 15 in <module>
  File "train.py", line 3 in <module>
"""
    assert imports_of(text) == [(("petastorm", "torch"), True)]


def test_the_place_is_that_of_the_last_import() -> None:
    (one,) = read(GREETING + ">>> import torch\n>>> import tensorflow\nSegmentation fault\n")
    assert one.place is not None and one.place.line == 4
