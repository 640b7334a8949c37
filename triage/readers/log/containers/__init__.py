"""Formats that are their own: schedulers, crash reporters, debuggers; one module each, imported at need."""

from __future__ import annotations

import re
from importlib import import_module

from triage import patterns
from triage.crash import Log
from triage.readers.log.containers.interface import Container, Told

# The module of each format, and texts of which one must be in the log before it is even imported. The first ones tell
# how a worker ended to whoever waited for it; the last ones saw the crash itself, and their word counts last.
FORMATS: dict[str, tuple[str, ...]] = {
    # runners and services
    "docker": ('"OOMKilled":', '"ExitCode":'),
    "kubernetes": (
        "OOMKilled",
        "OOMKilling",
        "Last State:",
        "containerStatuses",
        "CrashLoopBackOff",
        "restarting failed container",
        "was low on resource",
        "local storage usage exceeds",
    ),
    "slurm": ("slurmstepd", "srun: error", "OUT_OF_ME+", "State: OUT_OF_MEM", "ExitCode=", "Memory Utilized:", "JobID"),
    "spark": ("killed by YARN", "ExecutorLostFailure", "Lost executor", "Python worker exited", "Container marked as"),
    "ray": (
        "worker process has died",
        "worker died unexpectedly",
        "A worker died or was",
        "node running low on memory",
    ),
    "celery": ("exited with 'signal ", "exited with 'exitcode ", "WorkerLostError"),
    "gunicorn": (") was sent SIG", "was terminated due to signal", "WORKER TIMEOUT (", "DAMN ! worker"),
    "airflow": ("Negsignal.", "zombie job", "Task received SIGTERM", "exit_code=", "been externally set to"),
    "pytest": ("node down: Not properly", "crashed while running '"),
    "heroku": ("Error R15", "Process running mem=", "Stopping process with SIGKILL", " to crashed"),
    "github_actions": ("lost communication with the server", "received a shutdown signal", "operation was canceled"),
    "sagemaker": ("ExecuteUserScriptError", "instance type with more memory"),
    "tf_serving": ("TensorFlow ModelServer:", "TensorFlow Library:"),
    "worker_pools": (
        "exit codes of the workers are",
        "process pool was terminated",
        "managed by the executor",
        "DataLoader worker (pid",
        ") received by PID",
        "exitcode  :",
    ),
    "notebooks": (
        "KernelRestarter: restarting",
        "kernel appears to have died",
        "kernel died",
        "Kernel died",
        "root:kernel ",
        "Kernel crashed while",
        "session crashed",
        "kernel is unresponsive",
        "allocate more memory than is available",
        "appears to have died",
    ),
    "pycharm": (
        "进程已结束",
        "處理程序已結束",
        "終了コード",
        "종료 코드",
        "Prozess beendet",
        "Prozess wurde beendet",
        "Processus terminé",
        "Proceso finalizado",
        "Processo finalizado",
        "Processo terminato",
        "Процесс заверш",
    ),
    "shell_time": ("aximum resident set size",),
    "localised_shells": (
        *("段错误", "段錯誤", "區段錯誤", "已杀死", "已殺死", "強制結束", "強制終了", "已放弃", "已中止", "中止"),
        *("非法指令", "無效指令", "总线错误", "匯流排錯誤", "バスエラー", "例外", " 行:", "오류", "죽었음", "중지됨"),
        *("Speicherzugriffsfehler", "Getötet", "Abgebrochen", "Maschinenbefehl", "Bus-Zugriffsfehler", "Gleitkomma-"),
        *("Erreur de segm", "Erreur du bus", "Processus arrêté", "Abandon", "non permise", "point flottant"),
        *(
            "Violación de segm",
            "Terminado (killed)",
            "Abortado",
            "Instrucción ilegal",
            "Error del bus",
            "coma flotante",
        ),
        *("de segmentação", "Morto", "Instrução ilegal", "Erro no barramento", "ponto flutuante"),
        *("Errore di segm", "Ucciso", "Annullato", "non consentita", "Errore di bus", "virgola mobile"),
        *("сегментирования", "Убито", "Аварийный останов", "Недопустимая инстр", "Ошибка шины", "плавающей точкой"),
        *("Помилка адрес", "Вбито", "Перервано", "Помилкова інстр", "ochrony pamięci", "Unicestwiony", "Przerwane"),
        *("Błędna instrukcja", "Błąd szyny", "Segmentatiefout", "Geëlimineerd", "Afgebroken", "Busfout", "ldige instr"),
        *("Segmenteringsfel", "Dödad", "Parçalama", "Süreç durduruldu", "İptal edildi", "kuraldışı", "명령어가 잘못됨"),
        *("Lỗi phân đoạn", "Bị buộc kết thúc", "Bị hủy bỏ", "부동 소수점"),
    ),
    "node": (
        "FATAL ERROR: ",
        "npm ERR!",
        "npm error",
        "ELIFECYCLE",
        "Command failed with signal",
        "code null",
        "via signal [",
    ),
    # crash reporters and debuggers
    "failure_signal": (" received at time=",),
    "tensorflow_handler": ("BEGIN MANGLED STACK TRACE", "*** Begin stack trace ***"),
    "mpi": (
        "*** Process received signal ***",
        "Caught signal ",
        "noticed that process rank",
        "WITH THE EXIT STRING",
        "EXIT CODE: ",
        "KILLED BY SIGNAL",
        " exit with status code ",
    ),
    "kernel_log": (
        ": segfault at ",
        "traps: ",
        "ut of memory: Kill",
        "Killed process ",
        "ANOM_ABEND",
        "]: unhandled ",
        "Unhandled fault: align",
        "Alignment trap",
    ),
    "coredumpctl": ("Stack trace of thread ", "terminated abnormally with signal", "COREFILE", "dumped core"),
    "hs_err": ("by the Java Runtime Environment", "memory for the Java Runtime"),
    "windows_events": (
        "Faulting application name",
        "Fault Module Name",
        "APPCRASH",
        "BEX64",
        "错误应用程序名称",
        "出错应用程序名称",
        "障害が発生しているアプリケーション",
        "fehlerhaften Anwendung",
        "application défaillante",
        "aplicación con errores",
        "applicazione che ha generato",
        "aplicativo com falha",
        "сбойного приложения",
    ),
    "macos_crash": ("Exception Type:  EXC_", "Crashed Thread:", '"bug_type"', "Thread 0 Crashed"),
    "lldb": ("frame #0: 0x", "stop reason = "),
    "gdb": ("#0  ", "received signal SIG", "terminated with signal SIG"),
    "windbg": (
        "!analyze -v",
        "STACK_TEXT:",
        "ExceptionCode: ",
        "Child-SP",
        "ChildEBP",
        "second chance",
        "  module name",
    ),
}


def extract(log: Log) -> list[Told]:
    """What every container whose words are in the log tells, in the order of the table."""
    told = []
    for name in seen_in(log.text):
        container: Container = import_module(f"triage.readers.log.containers.{name}")
        told.append(container.extract(log))
    return told


def seen_in(text: str) -> list[str]:
    """The containers whose words are in a text: one pass for all words, where looking for each takes a hundred."""
    words = patterns.compile("|".join(re.escape(needle) for needles in FORMATS.values() for needle in needles))
    found = set(words.findall(text))
    return [name for name, needles in FORMATS.items() if not found.isdisjoint(needles)]
