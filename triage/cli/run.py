"""`triage run`: the program runs as it would without triage; a report follows only if it fails."""

from __future__ import annotations

import math
import os
import signal
import sys

import click

import triage
from triage import defects
from triage.cli.options import report_options
from triage.cli.output import is_stream, refuse_what_is_read, refuse_what_lies_in, remove_older_report, write_report
from triage.cli.stdio import say

_FAILED = 125


class _Run(click.Command):
    """Passes everything after the script to the script, and remembers whether there was a `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["as_given"] = _separator_comes_first(self, ctx, args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name in ("-m", "-c"):
                raise click.UsageError(
                    f"{error.option_name} is an option of Python; write the whole command after --: "
                    f"triage run -- python {error.option_name} …",
                    ctx,
                ) from None
            raise


def _separator_comes_first(command: click.Command, ctx: click.Context, args: list[str]) -> bool:
    """Whether `--` comes before the first word that is neither an option of triage nor its value."""
    takes_value = {
        name
        for parameter in command.get_params(ctx)
        if isinstance(parameter, click.Option) and not parameter.is_flag
        for name in parameter.opts
    }
    words = iter(args)
    for word in words:
        if word == "--":
            return True
        if not word.startswith("-"):
            return False
        if word in takes_value:
            next(words, None)
    return False


@click.command(
    "run",
    cls=_Run,
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS]",
    epilog="""\b
Examples:
  triage run train.py --epochs 3
  triage run --timeout 600 -- python -m package.train
  triage run -- pytest tests
  triage run --tf-log train.py""",
)
@click.argument(
    "words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]... | -- COMMAND [ARGS]..."
)
@click.option("--python", metavar="PATH", help="The interpreter for SCRIPT, instead of the active environment's.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="After S seconds, collect the stacks of all processes and end them (exit 124).",
)
@click.option(
    "--framework-log",
    "--tf-log",
    "framework_log",
    is_flag=True,
    help="Show what TensorFlow, PyTorch, NCCL and JAX hide: TensorFlow's own log, even if the script hides it.",
)
@click.option("--no-native", is_flag=True, help="Do not stop a crashed process to read its native stack.")
@click.option(
    "--save",
    metavar="PATH",
    help="Windows: a file or directory for the dump of a crash; otherwise the ten newest are kept for you.",
)
@click.option("--full", is_flag=True, help="Windows: dump all of the program's memory; the file gets large.")
@click.option("--no-debugger", is_flag=True, help="Windows: do not attach as a debugger (see above).")
@report_options
@click.pass_context
def command(
    ctx: click.Context,
    words: tuple[str, ...],
    python: str | None,
    timeout: float | None,
    framework_log: bool,
    no_native: bool,
    save: str | None,
    full: bool,
    no_debugger: bool,
    format_name: str,
    output: str | None,
    top: int,
    no_redact: bool,
    packs: tuple[str, ...],
) -> None:
    """Run a program and, if it fails, say why.

    The program keeps its input, output, terminal, signals and exit code. If it ends well, nothing is printed. If it
    fails, or ends with 0 although one of its processes crashed, the report follows on standard error. Ctrl-C goes to
    the program; if a second one has no effect for five seconds, or at a third, triage shows where it hangs and ends it.

    A process that crashes is stopped for a few seconds while its stack is read, and then dies of its own signal.

    On Windows, triage attaches as a debugger to the program and all that it starts, and writes a dump of what crashes.
    The program can tell (IsDebuggerPresent), its own crash reporters do not run, and every exception in it, even one
    that it handles, takes a little longer. --no-debugger avoids all that; then there is a dump only if an administrator
    has set up Windows to keep them.

    Exit status: the program's own (128+n for signal n; on Windows all 32 bits), 124 after a timeout, 125 if triage
    itself failed, 126 or 127 if the program could not be started.
    """
    if timeout is not None and not math.isfinite(timeout):
        raise click.BadParameter("is a number of seconds, such as 600.", param_hint="--timeout")
    _refuse_elsewhere(("--save", save is not None), ("--full", full), ("--no-debugger", no_debugger))
    if output is not None:
        _make_way(output, words, python, packs)
    try:
        outcome = triage.run(
            words,
            as_given=ctx.meta["as_given"],
            python=python,
            timeout=timeout,
            native=not no_native,
            framework_log=framework_log,
            save=save,
            debugger=not no_debugger,
            full=full,
            top=top,
            redact=not no_redact,
            signatures=packs,
        )
    except triage.CannotStart as error:
        say(str(error))
        sys.exit(error.code)
    except Exception as error:
        say(f"{defects.sentence(error)}.")
        sys.exit(_FAILED)
    _say(outcome, format_name, output)
    _end_like_the_child(outcome)


def _make_way(output: str, words: tuple[str, ...], python: str | None, packs: tuple[str, ...]) -> None:
    """Refuse an output that the program needs, and remove an older report, which is not about this run."""
    from triage.knowledge.pack import private_directories

    refuse_what_is_read(output, "the script or a file named in its command", (*words, *filter(None, [python])))
    refuse_what_is_read(output, "what the program reads", (0,))
    if not is_stream(output):  # --output /dev/stdout asks for the report after what the program prints there
        refuse_what_is_read(output, "where the program's own output goes", (1, 2))
    refuse_what_lies_in(output, "part of a signature pack", private_directories(packs))
    remove_older_report(output)


def _refuse_elsewhere(*given: tuple[str, bool]) -> None:
    """Refuse the options about Windows' dumps on other systems."""
    names = [name for name, is_given in given if is_given]
    if names and os.name != "nt":
        raise click.UsageError(
            f"{' and '.join(names)}: for Windows, where a crash leaves a minidump; here the stack is read directly."
        )


def _say(outcome: triage.Ran, format_name: str, output: str | None) -> None:
    """Print the report and other messages; whatever goes wrong here, the program's exit code must be passed on."""
    if sys.stderr is None:  # it was closed before triage started
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        for sentence in outcome.problems:
            say(sentence)
        if outcome.report is not None:
            write_report(outcome.report, format_name, output)
        for sentence in outcome.said:
            say(sentence)
    except Exception as error:
        say(f"the report could not be written: {defects.sentence(error)}.")


def _end_like_the_child(outcome: triage.Ran) -> None:
    """Leave with the program's exit code; after an interrupt die of SIGINT too, so that a shell ends its loop."""
    if outcome.signal == signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(outcome.exit_code)
