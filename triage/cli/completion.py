"""`triage completion`: the script with which a shell completes triage's commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from triage.cli.options import Choice
from triage.cli.stdio import note

_ADD = {
    "bash": 'eval "$(triage completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(triage completion zsh)"   # in ~/.zshrc',
    "fish": "triage completion fish | source   # in ~/.config/fish/config.fish",
    "powershell": "triage completion powershell | Out-String | Invoke-Expression   # in $PROFILE",
}


@click.command("completion")
@click.argument("shell", type=Choice(list(_ADD)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash         eval "$(triage completion bash)"
    zsh          eval "$(triage completion zsh)"
    fish         triage completion fish | source
    powershell   triage completion powershell | Out-String | Invoke-Expression
    """
    completer = get_completion_class(shell)
    if completer is None:
        raise click.UsageError(f"This version of click has no completion for {shell}; update click.")
    root = ctx.find_root().command
    click.echo(completer(root, {}, "triage", "_TRIAGE_COMPLETE").source())
    note(f"Add this line: {_ADD[shell]}")
