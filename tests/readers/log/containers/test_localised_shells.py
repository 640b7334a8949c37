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
        ("Ошибка сегментирования (образ памяти сброшен на диск)", "SIGSEGV"),
        ("Naruszenie ochrony pamięci (zrzut pamięci)", "SIGSEGV"),
        ("Parçalama arızası (çekirdek kopyası (core) oluşturuldu)", "SIGSEGV"),
        ("セグメンテーション違反です (コアダンプ)", "SIGSEGV"),
        ("中止 (コアダンプ)", "SIGABRT"),
        ("不正な命令です (コアダンプ)", "SIGILL"),
        ("세그멘테이션 오류 (코어 덤프됨)", "SIGSEGV"),
        ("Falha de segmentação (imagem do núcleo gravada)", "SIGSEGV"),
        ("Errore di segmentazione (core dump creato)", "SIGSEGV"),
    ],
)
def test_a_terminal_has_the_words_alone_on_the_line(line: str, name: str) -> None:
    assert names(facts_in("localised_shells", line).exits) == [name]


@pytest.mark.parametrize(
    "line", ["Abandon", "中止", "Morto di sete", "Abortado por el usuario", "Getötet wurde nichts"]
)
def test_prose_is_no_status(line: str) -> None:
    assert facts_in("localised_shells", line).exits == ()
