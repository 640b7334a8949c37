"""Which file is used for a module, which is not, and what is reported about it."""

import os

import pytest
from pe_builder import BASE, CODE, SIZE, TIMESTAMP, FakeMemory, as_loaded, make_pe, unwind_info

from triage.readers.minidump.memory import NotHeld
from triage.readers.minidump.pe import ExportTable, ImageFinder, exact_name, local_path, memory_image
from triage.readers.minidump.streams import Module

LIBRARY = Module(BASE, SIZE, "C:\\tools\\Cudnn64_8.DLL", TIMESTAMP)


def test_a_file_is_found_by_name_whatever_its_case_and_folder(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "cuDNN64_8.dll").write_bytes(make_pe(b"\x90"))
    with ImageFinder(None, [str(tmp_path)]) as finder:
        image = finder.image(LIBRARY)
        assert image.kind == "file"
        assert image.read(CODE, 1) == b"\x90"
    assert image.read(CODE, 1) == b""  # the file was let go


def test_the_right_one_of_two_builds_is_taken(tmp_path):
    for number, timestamp in enumerate((1, TIMESTAMP)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "cudnn64_8.dll").write_bytes(make_pe(bytes([number]), timestamp=timestamp))
    with ImageFinder(None, [str(tmp_path)]) as finder:
        assert finder.image(LIBRARY).read(CODE, 1) == b"\x01"
        assert finder.notes == []


def test_another_build_is_not_used_and_that_is_reported(tmp_path):
    (tmp_path / "cudnn64_8.dll").write_bytes(make_pe(timestamp=1))
    with ImageFinder(None, [str(tmp_path)]) as finder:
        assert finder.image(LIBRARY) is None
        assert finder.image(LIBRARY) is None
        [note] = finder.notes
    assert "another build" in note
    assert "not used" in note


def test_without_a_timestamp_the_checksum_decides(tmp_path):
    (tmp_path / "cudnn64_8.dll").write_bytes(make_pe(timestamp=0))
    with ImageFinder(None, [str(tmp_path)]) as finder:
        assert finder.image(LIBRARY._replace(timestamp=0)) is None
        assert finder.image(LIBRARY._replace(timestamp=0, checksum=0xC0FFEE)) is not None


def test_the_path_of_the_module_itself_is_tried_first(tmp_path):
    path = tmp_path / "cudnn64_8.dll"
    path.write_bytes(make_pe(b"\x42"))
    with ImageFinder() as finder:
        image = finder.image(LIBRARY._replace(name=str(path)))
        assert image.read(CODE, 1) == b"\x42"


@pytest.mark.parametrize(
    "name",
    ["\\\\server\\share\\a.dll", "//server/share/a.dll", "\\??\\UNC\\server\\a.dll", "\\\\.\\pipe\\a", "a.dll", ""],
)
def test_a_dump_cannot_make_us_ask_another_machine(name):
    assert not local_path(name, windows=True)


@pytest.mark.skipif(os.name == "nt", reason="its places are those of other systems")
def test_a_dump_cannot_make_us_open_what_is_no_plain_file(tmp_path):
    """Not even through a link, and not where the kernel keeps this very process."""
    (tmp_path / "cudnn64_8.dll").write_bytes(make_pe(b"\x42"))
    held = os.open(tmp_path / "cudnn64_8.dll", os.O_RDONLY)
    link = tmp_path / "link.dll"
    link.symlink_to(f"/proc/self/fd/{held}")
    try:
        for name in (f"/proc/self/fd/{held}", str(link)):
            with ImageFinder() as finder:
                assert finder.image(LIBRARY._replace(name=name)) is None
    finally:
        os.close(held)


def test_a_path_on_a_drive_is_local():
    assert local_path("C:\\Windows\\System32\\ntdll.dll", windows=True)
    assert not local_path("C:\\Windows\\System32\\ntdll.dll", windows=False)


def test_the_image_in_the_dump_is_taken_where_no_file_is():
    memory = FakeMemory({BASE: as_loaded(make_pe(b"\x90"))})
    finder = ImageFinder(memory)
    assert finder.image(LIBRARY).kind == "dump"
    assert finder.image(LIBRARY._replace(timestamp=1)) is None


def test_what_is_no_file_is_passed_over(tmp_path):
    os.mkfifo(tmp_path / "cudnn64_8.dll")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "cudnn64_8.dll").touch()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "cudnn64_8.dll").write_text("no library")
    with ImageFinder(None, [str(tmp_path), str(tmp_path / "absent")]) as finder:
        assert finder.image(LIBRARY) is None
        [note] = finder.notes
    assert "absent is no directory" in note


def test_only_a_function_that_begins_at_an_export_has_its_name():
    functions = [(CODE, CODE + 0x10, unwind_info()), (CODE + 0x10, CODE + 0x20, unwind_info())]
    image = memory_image(FakeMemory({BASE: as_loaded(make_pe(functions=functions, exports={"Run": CODE}))}), BASE)
    exports = ExportTable(image)
    assert exact_name(image, exports, CODE + 5) == ("Run", CODE)
    assert exact_name(image, exports, CODE + 0x15) is None
    assert exact_name(image, exports, CODE + 0x25) is None


def test_a_cold_part_has_the_name_of_its_function():
    part = unwind_info(flags=4, parent=(CODE, CODE + 0x10, 0x4000))
    functions = [(CODE, CODE + 0x10, unwind_info()), (CODE + 0x10, CODE + 0x20, part)]
    image = memory_image(FakeMemory({BASE: as_loaded(make_pe(functions=functions, exports={"Run": CODE}))}), BASE)
    assert exact_name(image, ExportTable(image), CODE + 0x15) == ("Run", CODE)


def test_without_a_table_functions_are_unknown():
    image = memory_image(FakeMemory({BASE: as_loaded(make_pe())}), BASE)
    with pytest.raises(NotHeld):
        image.function_at(CODE)
