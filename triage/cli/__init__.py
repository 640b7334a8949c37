"""The command line: each command is a module of its own, imported when it is called."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

from triage import __version__, defects
from triage.cli import stdio

_COMMANDS = {
    "run": "triage.cli.run",
    "analyze": "triage.cli.analyze",
    "explain": "triage.cli.explain",
    "signatures": "triage.cli.signatures",
    "completion": "triage.cli.completion",
}
_HELP = {
    "run": "Run a program and, if it fails, say why.",
    "analyze": "Say why a process died, from its log, core or dump.",
    "explain": "Say what a code, error, library, setting or line of a log means.",
    "signatures": "List, show, check and write signatures.",
    "completion": "Print the completion script for a shell.",
}


class _Commands(click.Group):
    """A group that imports a command only when it is called: start-up is a feature."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(_COMMANDS[cmd_name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], list(_COMMANDS), n=1)
            ctx.fail(f"No such command '{args[0]}'." + (f" Did you mean '{near[0]}'?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _HELP[name]) for name in _COMMANDS])


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  triage run train.py
  triage analyze crash.log
  triage analyze crash.log --exit-code -1073740791
  python train.py 2>&1 | triage analyze -
  triage explain 139""",
)
@click.version_option(__version__, prog_name="triage", message="%(prog)s %(version)s")
def _group() -> None:
    """Why did my Python or TensorFlow process die, and what fixes it?

    Reads what a crash left behind and prints the cause, the reasons, what was ruled out, and the fix. Works offline:
    nothing is ever sent anywhere.
    """


def main() -> NoReturn:
    """Run the command line; whatever goes wrong ends in one sentence and an exit code."""
    # A short run makes no garbage worth collecting, and collecting takes a tenth of its time.
    gc.set_threshold(100_000)
    stdio.prepare()
    sys.exit(stdio.ended(_status()))


def program() -> NoReturn:
    """Run the command line as the whole program, which ends with it."""
    try:
        main()
    except SystemExit as leaving:
        _leave(leaving.code if isinstance(leaving.code, int) else 0)


def _leave(status: int) -> NoReturn:
    """Exit without the interpreter's own clean-up, which takes a tenth of the time of a short run.

    Exit handlers still run, and our files are closed and removed where they are used. If a thread is still running, or
    the status is one that only Windows has, exit in the usual way.
    """
    import atexit
    import threading

    if threading.active_count() > 1 or not 0 <= status < 256:
        sys.exit(status)
    atexit._run_exitfuncs()
    os._exit(status)


def _status() -> int:
    """The exit code of the command that was called; Ctrl-C is 130."""
    try:
        return _group.main(prog_name="triage", standalone_mode=False) or 0
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    except click.ClickException as error:
        if sys.stderr is not None:
            with suppress(OSError):
                error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        stdio.note()
        return 130
    except Exception as error:
        # A failure of standard output is reported at the end, for every command.
        if not (isinstance(error, OSError) and stdio.failure()):
            stdio.say(f"{defects.sentence(error)}.")
        return defects.EXIT_CODE
