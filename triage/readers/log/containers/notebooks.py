"""Notebooks and consoles: Jupyter, Colab, Kaggle, Databricks, SageMaker, Spyder, VS Code, RStudio, IDLE, Streamlit.

They say that the kernel or the session is gone, and seldom why.
"""

from __future__ import annotations

from triage import patterns
from triage.crash import Log, Memory
from triage.readers.log.containers.interface import ContainerFacts, count, notices

TRIGGERS = (
    "ernelRestarter: ",
    "ernel appears to have died",
    "ernel died",
    "ernel has died",
    "ernel Died",
    "root:kernel ",
    "ernel crashed",
    "ession crashed",
    "untime died",
    "kernel is unresponsive",
    "more memory than is available",
    "appears to have died",
    "ead kernel",
    "died, removing from map",
    "ernel process",
    "kernel died",
    "R Session Aborted",
    "R session Aborted",
    "R encountered a fatal error",
    "RESTART: Shell",
    "= RESTART",
    "ession was terminated",
    "ession terminated",
    "Restarting kernel...",
    "ernel Restarting",
    "Canceled future for execute_request",
    "Python process exited",
    "Python interpreter died",
    "ran out of memory",
    "out of memory and",
    "using all available RAM",
    "over its resource limits",
    "instance ran out",
    "has been terminated due to",
    "kernel died with exit code",
    "Python console",
    "unexpectedly quit",
    "quit unexpectedly",
    "has stopped working",
)
_NOTICE = (
    r"KernelRestarter: (?:restarting kernel \(\d+/\d+\)|restart failed)|(?:WARNING|ERROR):root:kernel \S+ restarted|"
    r"[Tt]he kernel (?:for \S+ )?appears to have died|[Tt]he kernel (?:has )?died(?:, restarting)?|The Kernel Died|"
    r"[Kk]ernel \S+ (?:has )?died, removing from map|[Tt]he [Kk]ernel crashed"
    r"(?: while executing code in (?:the ){1,2}current cell)?|"
    r"(?:Your |Colab |The )?[Ss]ession crashed(?: for an unknown reason| after using)?|[Rr]untime died|"
    r"DeadKernelError: Kernel died|[Dd]ead kernel\b|[Kk]ernel process (?:has )?(?:died|exited|terminated)|"
    r"The Python kernel is unresponsive|The Python process exited|Python interpreter died|"
    r"Canceled future for execute_request message before replies were done|"
    r"R [Ss]ession [Aa]borted|R encountered a fatal error|The (?:previous )?R session was (?:abnormally )?terminated|"
    r"^=+ RESTART: Shell|^=+ RESTART =+|"
    r"[Kk]ernel died with exit code|Your (?:notebook|app|session|instance) (?:has )?(?:crashed|ran out of memory)|"
    r"(?:Python|python\.exe|The Python application)\S* (?:quit unexpectedly|unexpectedly quit|has stopped working)"
)
# These services measure memory and know when it was the reason.
_MEMORY = (
    r"[Ss]ession crashed after using all available RAM|"
    r"[Nn]otebook tried to allocate more memory than is available|"
    r"[Kk]ernel (?:died|restarted|was restarted|has been terminated) (?:because|due to|since) [^\n]{0,40}"
    r"(?:memory|RAM)|"
    r"(?:notebook|kernel|instance|session|machine|app) (?:has )?ran out of memory|"
    r"(?:notebook|kernel|process|app|session) (?:was|has been) (?:killed|terminated|stopped) [^\n]{0,40}"
    r"(?:out of memory|OOM)|"
    r"app has gone over its resource limits"
)
# IDLE prints its line at every start of a script; only a bare shell's restart follows a death.
_STARTED = r"^=+ RESTART: (?:[A-Z]:|/)"


def extract(log: Log) -> ContainerFacts:
    """Notices of a dead kernel; a kill for memory where the service says so itself."""
    found = notices(log, _NOTICE)
    started = patterns.compile(_STARTED).search(log.text) is not None
    kept = tuple(message for message in found if not (started and "RESTART" in message.text))
    return ContainerFacts(messages=kept, memory=Memory(oom_kills=count(log, _MEMORY)))
