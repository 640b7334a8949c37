"""`python -m triage` is the command `triage`."""

from triage.cli import program

program()
