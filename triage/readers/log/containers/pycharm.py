"""PyCharm and other JetBrains IDEs in other languages: `Process finished with exit code`, translated.

The English line is read with the exit lines.
"""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, statuses

TRIGGERS = (
    "进程已结束",
    "處理程序已結束",
    "プロセスは終了コード",
    "종료 코드",
    "Prozess beendet",
    "Prozess wurde beendet",
    "Processus terminé",
    "Proceso finalizado",
    "Processo finalizado",
    "Processo terminato",
    "Процесс завершен",
    "Процесс завершён",
)
_LINE = rf"^(?:{'|'.join(TRIGGERS)})[^\d\n]{{0,60}}?(?P<code>-?\d{{1,10}})\b"


def extract(log: Log) -> ContainerFacts:
    """The exit code after the words of any of these languages."""
    return ContainerFacts(exits=statuses(log, _LINE))
