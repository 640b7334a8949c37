"""Event Viewer and Windows Error Reporting: the exception and the module in which it happened."""

from container_logs import crash, exit_name, facts_of

from triage.crash import NativeFrame


def test_event_viewer_names_the_module_the_code_and_the_offset() -> None:
    found = facts_of("windows_events", "windows_events")
    assert [(status.name, status.subcode) for status in found.exits] == [("STATUS_STACK_BUFFER_OVERRUN", None)]
    assert [thread.native_stack for thread in found.threads] == [(NativeFrame("ucrtbase.dll", None, 0x7286E),)]
    assert found.threads[0].crashed
    assert found.environment.os == "windows"


def test_a_record_in_another_language_is_read_by_its_shape() -> None:
    found = facts_of("windows_events", "windows_events_german")
    assert [status.name for status in found.exits] == ["STATUS_ILLEGAL_INSTRUCTION"]
    assert found.threads[0].native_stack[0].module == "_pywrap_tensorflow_internal.pyd"


def test_the_problem_signature_of_a_fast_fail_holds_the_subcode() -> None:
    ended = crash("windows_events_wer").exit
    assert ended is not None
    assert (ended.name, ended.subcode_name) == ("STATUS_STACK_BUFFER_OVERRUN", "FAST_FAIL_FATAL_APP_EXIT")


def test_the_numbered_fields_of_event_1001() -> None:
    found = facts_of("windows_events", "windows_events_bucket")
    assert exit_name("windows_events_bucket") == "STATUS_ACCESS_VIOLATION"
    assert found.threads[0].native_stack[0][:3] == ("cudart64_90.dll", None, 0x1A2B3)
