"""bash in fourteen languages, each with a fault, an abort and a kill: what it really printed."""

import pytest
from container_logs import exit_name, facts_in, facts_of, names


def test_a_script_in_fourteen_languages() -> None:
    assert names(facts_of("localised_shells", "localised_shells").exits) == ["SIGSEGV", "SIGABRT", "SIGKILL"] * 14
    assert exit_name("localised_shells") == "SIGKILL"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("段错误 (核心已转储)", "SIGSEGV"),
        ("段错误（核心已转储）", "SIGSEGV"),
        ("已杀死", "SIGKILL"),
        ("Speicherzugriffsfehler (Speicherabzug geschrieben)", "SIGSEGV"),
        ("Getötet", "SIGKILL"),
        ("Violación de segmento (`core' generado)", "SIGSEGV"),
        ("Erreur de segmentation (core dumped)", "SIGSEGV"),
        ("Ungültiger Maschinenbefehl (Speicherabzug geschrieben)", "SIGILL"),
        ("Abandon (core dumped)", "SIGABRT"),
    ],
)
def test_a_terminal_has_the_words_alone_on_the_line(line: str, name: str) -> None:
    assert names(facts_in("localised_shells", line).exits) == [name]


@pytest.mark.parametrize(
    "line", ["Abandon", "中止", "Morto di sete", "Abortado por el usuario", "Getötet wurde nichts"]
)
def test_prose_is_no_status(line: str) -> None:
    assert facts_in("localised_shells", line).exits == ()
