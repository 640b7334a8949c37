"""Of linked exceptions, the one that tells what went wrong is named first, at the person's own line."""

from __future__ import annotations

import pytest

import triage
from triage.chains import last_chain
from triage.reports import renderer

TRACEBACK = "Traceback (most recent call last):\n"
CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
HANDLED = "\nDuring handling of the above exception, another exception occurred:\n\n"


def traceback(last: str, *frames: str) -> str:
    """A traceback whose frames are written `file:line:function:code`."""
    lines = (frame.split(":", 3) for frame in frames)
    return (
        TRACEBACK
        + "".join(f'  File "{f}", line {n}, in {name}\n    {code}\n' for f, n, name, code in lines)
        + last
        + "\n"
    )


def rows(text: str) -> str:
    """The first rows of the report, where the error and its place stand."""
    return "\n".join(renderer("text")(triage.analyze(text.encode())).splitlines()[:8])


def test_the_root_of_three_wrappers_is_named_first_and_the_last_wrapper_second() -> None:
    text = CAUSED.join(
        (
            traceback(
                "json.decoder.JSONDecodeError: Expecting value: line 3", "app/config.py:12:read:json.loads(text)"
            ),
            traceback("ValueError: not a config", "app/config.py:14:read:raise ValueError('not a config') from error"),
            traceback("RuntimeError: cannot start", "main.py:5:<module>:raise RuntimeError('cannot start') from error"),
        )
    )
    shown = rows(text)
    assert "JSONDecodeError at config.py:12 in read" in shown
    assert "it ended as RuntimeError: cannot start, at main.py:5" in shown


def test_a_package_that_raises_again_leaves_the_place_to_the_line_that_called_it() -> None:
    inner = traceback(
        "KeyError: 'price'", "/venv/lib/python3.11/site-packages/pandas/core/base.py:3805:get_loc:return x"
    )
    outer = traceback(
        "KeyError: 'price'",
        "report.py:9:total:frame['price']",
        "/venv/lib/python3.11/site-packages/pandas/core/base.py:3812:get_loc:raise KeyError(key) from err",
    )
    shown = rows(inner + CAUSED + outer)
    assert "KeyError at report.py:9 in total" in shown
    assert "it ended as" not in shown


@pytest.mark.parametrize(
    ("second", "code", "named"),
    [
        ("ConfigError: no section", "raise ConfigError('no section')", "KeyError"),
        ("NameError: name 'lgo' is not defined", "lgo.warning(error)", "NameError"),
    ],
)
def test_a_handler_that_raises_wraps_and_one_that_fails_has_its_own_fault(second, code, named) -> None:
    text = traceback("KeyError: 'a'", "m.py:3:f:d['a']") + HANDLED + traceback(second, f"m.py:5:f:{code}")
    chain = last_chain(triage.analyze(text.encode()).crash)
    assert chain is not None and chain.root.short_type == named


def test_a_cancelled_task_is_not_what_went_wrong() -> None:
    text = traceback("asyncio.exceptions.CancelledError", "m.py:3:f:await x") + CAUSED
    text += traceback("TimeoutError", "m.py:9:g:await asyncio.wait_for(f(), 1)")
    assert "TimeoutError at m.py:9" in rows(text)


def test_a_worker_has_its_own_line_and_not_that_of_the_parents_map() -> None:
    text = (
        'multiprocessing.pool.RemoteTraceback: \n"""\n'
        + traceback("ZeroDivisionError: division by zero", "jobs.py:4:share:return 1 / n")
        + '"""\n'
        + CAUSED
        + traceback("ZeroDivisionError: division by zero", "jobs.py:11:main:pool.map(share, [1, 0])")
    )
    shown = rows(text)
    assert "ZeroDivisionError at jobs.py:4 in share" in shown
    assert "it ended as" not in shown


def test_the_members_of_a_group_are_told_and_not_the_group() -> None:
    text = (
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "crawl.py", line 20, in <module>\n'
        "  |     asyncio.run(main())\n"
        "  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)\n"
        "  +-+---------------- 1 ----------------\n"
        "    | Traceback (most recent call last):\n"
        '    |   File "crawl.py", line 7, in fetch\n'
        "    |     raise ValueError('no title')\n"
        "    | ValueError: no title\n"
        "    +---------------- 2 ----------------\n"
        "    | Traceback (most recent call last):\n"
        '    |   File "crawl.py", line 12, in store\n'
        "    |     rows['id']\n"
        "    | KeyError: 'id'\n"
        "    +------------------------------------\n"
    )
    shown = rows(text)
    assert "ValueError at crawl.py:7 in fetch" in shown
    assert "the first of 2 exceptions that were raised together" in shown


@pytest.mark.parametrize(
    "text",
    [
        # the long form
        "=== FAILURES ===\n____ test_total ____\n\n    def test_total():\n>       assert total([]) == 0\n\n"
        "tests/test_shop.py:6: \n_ _ _ _ _\n\n    def total(prices):\n>       return prices[0]\n"
        "E       IndexError: list index out of range\n\nshop.py:3: IndexError\n=== 1 failed in 0.02s ===\n",
        # --tb=short
        "=== FAILURES ===\n____ test_total ____\ntests/test_shop.py:6: in test_total\n    assert total([]) == 0\n"
        "shop.py:3: in total\n    return prices[0]\nE   IndexError: list index out of range\n"
        "=== 1 failed in 0.02s ===\n",
        # --tb=line
        "=== FAILURES ===\n/work/shop/shop.py:3: IndexError: list index out of range\n=== 1 failed in 0.02s ===\n",
    ],
    ids=["long", "short", "line"],
)
def test_pytest_names_the_line_that_raised(text: str) -> None:
    shown = rows(text.replace("===", "=" * 30).replace("____", "_" * 30))
    assert "IndexError" in shown
    assert "shop.py:3" in shown


def test_a_failed_assertion_of_pytest_has_its_type_from_below() -> None:
    text = (
        "=================== FAILURES ===================\n________________ test_sum ________________\n\n"
        "    def test_sum():\n>       assert add(2, 2) == 5\nE       assert 4 == 5\nE        +  where 4 = add(2, 2)\n\n"
        "test_math.py:7: AssertionError\n=========== 1 failed in 0.01s ===========\n"
    )
    shown = rows(text)
    assert "AssertionError at test_math.py:7" in shown or "at test_math.py:7" in shown
    assert "assert 4 == 5" in shown


def test_a_script_with_wrong_syntax_has_no_traceback_and_still_a_place() -> None:
    shown = rows('  File "train.py", line 3\n    if x = 1:\n       ^^^^^\nSyntaxError: invalid syntax\n')
    assert "SyntaxError at train.py:3" in shown


def test_an_arrow_gives_the_line_where_a_notebook_names_none() -> None:
    text = (
        "---------------------------------------------------------------------------\n"
        "KeyError                                  Traceback (most recent call last)\n"
        "<ipython-input-4-1f> in load(name)\n      1 def load(name):\n----> 2     return table[name]\n\n"
        "KeyError: 'a'\n"
    )
    (error,) = triage.analyze(text.encode()).crash.exceptions
    assert error.frames[0].line == 2


def test_the_functions_inside_user_code_are_deeper_than_the_call_of_fit() -> None:
    text = traceback(
        "ValueError: in user code:\n\n"
        '    File "/venv/lib/python3.11/site-packages/keras/engine/training.py", line 1051, in train_function  *\n'
        "        return step_function(self, iterator)\n"
        '    File "model.py", line 8, in call  *\n'
        "        return x + self.bias\n\n"
        "    ValueError: Dimensions must be equal\n",
        "train.py:30:<module>:model.fit(x, y)",
    )
    assert "model.py:8 in call" in rows(text)


def test_both_sizes_of_a_keras_error_are_quoted() -> None:
    text = traceback(
        "ValueError: Data cardinality is ambiguous:\n  x sizes: 10\n  y sizes: 8\nMake sure.", "t.py:1:f:fit()"
    )
    assert "x sizes: 10 y sizes: 8" in rows(text)
