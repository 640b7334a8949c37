"""What bash says about a dead process in other languages: the C library's translations, word for word."""

from __future__ import annotations

from triage import patterns, status
from triage.crash import ExitStatus, Log
from triage.readers.log.containers.interface import ContainerFacts

_WORDS = {
    "SIGSEGV": (
        "段错误",
        "段錯誤",
        "程式記憶體區段錯誤",
        "Speicherzugriffsfehler",
        "Erreur de segmentation",
        "Violación de segmento",
        "Falha de segmentação",
        "Falta de segmentação",
        "Errore di segmentazione",
        "Ошибка сегментирования",
        "Помилка адресування",
        "Naruszenie ochrony pamięci",
        "Segmentatiefout",
        "Segmenteringsfel",
        "Parçalama arızası",
        "세그멘테이션 오류",
        "세그멘테이션 결함",
        "Lỗi phân đoạn",
        "Segmentierungsfehler",
        "Erreur de segment",
        "Fallo de segmentación",
        "Violación del segmento",
        "Errore di segmento",
        "セグメンテーション違反です",
        "セグメンテーション違反",
        "内存段错误",
        "区段错误",
        "記憶體區段錯誤",
        "Сегментационная ошибка",
        "Сегментация нарушена",
        "Ошибка сегментации",
        "Segmentasyon hatası",
        "Bölümleme hatası",
        "Błąd segmentacji",
        "Szegmens hiba",
        "Szegmentálási hiba",
        "Neoprávněný přístup do paměti (SIGSEGV)",
        "Neoprávněný přístup do paměti",
        "Segmenteringsfeil",
        "Segmentointivirhe",
        "Muistialueen ylitys",
        "Eroare de segmentare",
        "세그먼테이션 오류",
        "세그먼트 오류",
    ),
    "SIGKILL": (
        "已杀死",
        "已殺死",
        "強制結束",
        "強制終了",
        "Getötet",
        "Processus arrêté",
        "Terminado (killed)",
        "Ucciso",
        "Убито",
        "Вбито",
        "Unicestwiony",
        "Geëlimineerd",
        "Dödad",
        "Süreç durduruldu",
        "죽었음",
        "Bị buộc kết thúc",
        "Morto",
        "Tué",
        "Zabity",
        "Zabit (SIGKILL)",
        "Zabit",
        "Matado",
        "Убит",
        "Öldürüldü",
        "キルされました",
        "强制终止",
        "Drept",
        "Tapettu",
        "Kilőve",
        "Omorât",
        "죽음",
    ),
    "SIGABRT": (
        "已放弃",
        "已中止",
        "中止",
        "Abgebrochen",
        "Abandon",
        "Abortado",
        "Annullato",
        "Аварийный останов",
        "Перервано",
        "Przerwane",
        "Afgebroken",
        "İptal edildi",
        "중지됨",
        "Bị hủy bỏ",
        "Przerwany",
        "Interrompido",
        "Avorté",
        "Abgebrochen (SIGABRT)",
        "アボートしました",
        "已异常终止",
        "Abandonné",
        "Аварийное завершение",
        "Прервано",
        "Durduruldu",
        "Neúspěšně ukončen (SIGABRT)",
    ),
    "SIGILL": (
        "非法指令",
        "無效指令",
        "Ungültiger Maschinenbefehl",
        "Instruction non permise",
        "Instrucción ilegal",
        "Instrução ilegal",
        "Istruzione non consentita",
        "Недопустимая инструкция",
        "Помилкова інструкція",
        "Błędna instrukcja",
        "Ongeldige instructie",
        "Yönerge kuraldışı",
        "명령어가 잘못됨",
        "不正な命令です",
        "不正命令です",
        "非法的指令",
        "Instruction illégale",
        "Instrucción no permitida",
        "Istruzione illegale",
        "Nieprawidłowa instrukcja",
        "Nielegalna instrukcja",
        "Недопустимая команда",
        "Geçersiz komut",
        "Illegaler Befehl",
        "잘못된 명령어",
        "잘못된 명령",
    ),
    "SIGBUS": (
        "总线错误",
        "匯流排錯誤",
        "バスエラー",
        "Bus-Zugriffsfehler",
        "Erreur du bus",
        "Error del bus",
        "Erro no barramento",
        "Errore di bus",
        "Ошибка шины",
        "Błąd szyny",
        "Busfout",
        "버스 오류",
        "总线出错",
        "バスエラーです",
        "Ошибка на шине",
        "Veri yolu hatası",
        "Error de bus",
        "Erreur de bus",
        "Erro de barramento",
    ),
    "SIGFPE": (
        "浮点数例外",
        "浮點數例外",
        "浮動小数点例外",
        "Gleitkomma-Ausnahme",
        "Exception en point flottant",
        "Excepción de coma flotante",
        "Exceção de ponto flutuante",
        "Eccezione in virgola mobile",
        "Исключение в операции с плавающей точкой",
        "부동 소수점 예외",
        "浮点异常",
        "浮動小数点例外です",
        "Błąd w obliczeniach zmiennoprzecinkowych",
        "Błąd obliczeń zmiennoprzecinkowych",
        "Kayan nokta istisnası",
        "Drijvendekommafout",
    ),
}
# Some languages translate only the `line 3:` before them.
_UNTRANSLATED = {"Segmentation fault": "SIGSEGV", "Illegal instruction": "SIGILL"}
_SIGNALS = {**{word: name for name, words in _WORDS.items() for word in words}, **_UNTRANSLATED}
TRIGGERS = (*(word for words in _WORDS.values() for word in words), " 行:")
# Words that other texts have alone on a line too; there bash must add that it dumped core.
_EVERYDAY = {
    "中止",
    "已中止",
    "強制終了",
    "强制终止",
    "Morto",
    "Abandon",
    "Abandonné",
    "Abortado",
    "Annullato",
    "Matado",
    "Durduruldu",
    "Drept",
    "Interrompido",
    "Прервано",
    "죽음",
    "Segmentation fault",
}
_IN_SCRIPT = r"^(?:[^\n]{1,200}[:：] {1,6}\d+ |\[\d+\][-+]? +)(?P<words>WORDS)(?: |$)"
_ALONE = r"^(?P<words>WORDS)(?P<core> *[(（][^\n]{2,60}[)）])?[.!。]?$"


def extract(log: Log) -> ContainerFacts:
    """The signals that the words mean, alone on a line or after the script, its line and the process number."""
    words = "|".join(_escaped(word) for word in sorted(_SIGNALS, key=len, reverse=True))
    found = [*_find(log, _IN_SCRIPT.replace("WORDS", words)), *_find(log, _ALONE.replace("WORDS", words))]
    return ContainerFacts(exits=tuple(seen for _, seen in sorted(found, key=lambda pair: pair[0])))


def _find(log: Log, pattern: str) -> list[tuple[int, ExitStatus]]:
    found = []
    for match in patterns.compile(pattern).finditer(log.text):
        if "core" in match.groupdict() and match["core"] is None and match["words"] in _EVERYDAY:
            continue
        seen = status.parse(_SIGNALS[match["words"]], place=log.place(match.start()))
        if seen is not None:
            found.append((match.start(), seen))
    return found


def _escaped(word: str) -> str:
    return word.replace("(", r"\(").replace(")", r"\)")
