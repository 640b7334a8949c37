"""The command line: each command is a module of its own, imported when it is called."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

from triage import __version__

_COMMANDS = {
    "run": "triage.cli.run",
    "analyze": "triage.cli.analyze",
    "explain": "triage.cli.explain",
    "signatures": "triage.cli.signatures",
    "completion": "triage.cli.completion",
}
_HELP = {
    "run": "Run a program and, where it fails, say why.",
    "analyze": "Say why a process died, from what it left behind.",
    "explain": "Say what a code, signal, exception, cause or signature means.",
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

    Reads what a crash left behind and prints the cause, the reasons, what was ruled out and the fix. Works offline:
    nothing is ever sent anywhere.
    """


def main() -> None:
    """Run the command line; a closed pipe ends it quietly, Ctrl-C with 130."""
    # A short run makes no garbage worth looking for, and looking takes a tenth of it.
    gc.set_threshold(100_000)
    for stream in (sys.stdout, sys.stderr):
        # A console that cannot show a character shows a question mark instead of a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        sys.exit(_group.main(prog_name="triage", standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo(err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
