"""The format of an input, from its bytes; each one that is not read has its own sentence of refusal."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import pytest
from conftest import LOGS

from triage.readers import Source, Unreadable, read
from triage.readers.magic import SNIFF_BYTES, sniff, utf16_without_mark

LOG = b"2026-11-16 02:13:38.753865: F tensorflow/core/lib/png/png_io.cc:349] 'image' Must be non NULL\n"


def _zip() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("run.log", LOG)
    return stream.getvalue()


NOT_TEXT = [
    (b"PAGEDU64" + bytes(64), "kernel-dump", "blue screen"),
    (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00" + bytes(64), "program", "program or a library"),
    (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00" + bytes(64), "program", "program or a library"),
    (b"\xcf\xfa\xed\xfe" + bytes(8) + b"\x04\0\0\0" + bytes(64), "mac-core", "core of macOS"),
    (b"\xcf\xfa\xed\xfe" + bytes(8) + b"\x02\0\0\0" + bytes(64), "program", "program or a library"),
    (bz2.compress(LOG), "compressed", "compressed"),
    (b"\x04\x22\x4d\x18" + bytes(64), "compressed", "compressed"),
    (b"7z\xbc\xaf\x27\x1c" + bytes(64), "compressed", "compressed"),
    (_zip(), "document", "document or an archive"),
    (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "document", "document or an archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64), "document", "document or an archive"),
    (b"\x89PNG\r\n\x1a\n" + bytes(64), "image", "picture"),
    (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image", "picture"),
    (b"GIF89a" + bytes(64), "image", "picture"),
    (bytes(range(256)) * 4, "binary", "does not recognise"),
    (bytes(512), "binary", "does not recognise"),
]


@pytest.mark.parametrize(("head", "kind", "_"), NOT_TEXT)
def test_the_first_bytes_show_the_format(head: bytes, kind: str, _: str) -> None:
    assert sniff(head) == kind


@pytest.mark.parametrize(("head", "_", "words"), NOT_TEXT)
def test_what_is_not_text_is_refused_in_one_sentence_that_names_the_file(
    head: bytes, _: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(head)
    with pytest.raises(Unreadable) as refused:
        read(Source.of(path), 0)
    sentence = str(refused.value)
    assert words in sentence
    assert sentence.startswith(f"{path}: ")
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x04\x00" + bytes(64), "core"),
        (b"\x7fELF\x01\x02\x01" + bytes(9) + b"\x00\x04" + bytes(64), "core"),
        (b"MDMP\x93\xa7\x00\x00" + bytes(64), "minidump"),
        (gzip.compress(LOG), "gzip"),
        (lzma.compress(LOG), "xz"),
        (b"\x28\xb5\x2f\xfd" + bytes(64), "zstd"),
    ],
)
def test_cores_and_compressed_files_are_recognised(head: bytes, kind: str) -> None:
    assert sniff(head) == kind


def test_the_name_of_a_file_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "core.dmp"
    path.write_bytes(LOG)
    assert read(Source.of(path), 0).records[0].severity == "F"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"x",
        LOG,
        b"\n",
        b"\x1b[1m4/4\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m\x08\x08\x08\x08\r",
        b"col\tumn\x0c\x07\x1a\r\n",
        "Fehler: Größe\n".encode("latin-1"),
        "エラーが発生しました\n".encode("shift-jis"),
        "程序错误\n".encode("gbk"),
        b"caf\xe9 \xff\xfe broken utf-8",
        b"\xef\xbb\xbf" + LOG,
        b"\xff\xfe" + LOG.decode().encode("utf-16-le"),
        b"\xfe\xff" + LOG.decode().encode("utf-16-be"),
        LOG.decode().encode("utf-16-le"),
        LOG.decode().encode("utf-16-be"),
        LOG * 20 + b"\0" * 40,
    ],
)
def test_text_in_any_encoding_with_colours_and_stray_bytes_is_a_log(head: bytes) -> None:
    assert sniff(head) == "log"


@pytest.mark.parametrize("path", sorted(LOGS.rglob("*.log")), ids=lambda path: path.name)
def test_every_real_log_is_a_log(path: Path) -> None:
    assert sniff(path.read_bytes()[:SNIFF_BYTES]) == "log"


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ("Killed by".encode("utf-16-le"), "utf-16-le"),
        ("Killed by".encode("utf-16-be"), "utf-16-be"),
        ("naïve Größe ━ ok".encode("utf-16-le"), "utf-16-le"),
        ("Killed by".encode("utf-16-le")[:-1], "utf-16-le"),
        (b"Killed by", None),
        (b"K\0i\0", None),
        (bytes(64), None),
        ("K".encode("utf-32-le") * 16, None),
    ],
)
def test_utf_16_without_a_mark_has_a_zero_in_every_second_byte_and_nowhere_else(head: bytes, codec: str | None) -> None:
    assert utf16_without_mark(head) == codec
