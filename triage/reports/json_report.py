"""The JSON report: a contract (report.schema.json), to which fields are added and in which none is renamed."""

from __future__ import annotations

import json
from typing import Any

from triage.crash import Crash, ExitStatus, NativeFrame, Process, Thread
from triage.report import Diagnosis, Evidence, OtherCrash, Report

SCHEMA = "triage.report/1"


def render(report: Report) -> str:
    """One line of JSON, ASCII only, so that any console and any pipe carries it."""
    return json.dumps(as_dict(report)) + "\n"


def as_dict(report: Report) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "schema": SCHEMA,
        "tool": {"version": report.version, "signatures": report.signatures, "packs": list(report.packs)},
        "verdict": report.verdict,
        "summary": report.summary,
        "stack_key": report.stack_key,
        "crash": _crash(report.crash),
        "diagnoses": [_diagnosis(diagnosis) for diagnosis in report.diagnoses],
        "unknown_confidence": report.unknown_confidence,
        "ruled_out": [{"cause": entry.cause, "because": entry.because} for entry in report.ruled_out],
        "not_observable": list(report.not_observable),
        "next": [{"ask": q.ask, "run": q.run, "would_separate": list(q.would_separate)} for q in report.next],
        "other_crashes": [_other(crash) for crash in report.other_crashes],
        "redactions": dict(report.redactions),
    }


def _crash(crash: Crash) -> dict[str, Any]:
    last = crash.exceptions[-1] if crash.exceptions else None
    memory, environment = crash.memory, crash.environment
    return {
        "primary": crash.primary if crash.processes else None,
        "processes": [_process(process) for process in crash.processes],
        "exception": {
            "type": last.type,
            "message": last.message,
            "chain": [{"type": e.type, "message": e.message, "link": e.link} for e in crash.exceptions[:-1]],
        }
        if last
        else None,
        "memory": {
            "peak_bytes": memory.peak_bytes,
            "limit_bytes": memory.limit_bytes,
            "limit_source": memory.limit_source,
            "oom_kills": memory.oom_kills,
        },
        "environment": {
            "os": environment.os,
            "python": environment.python,
            "packages": dict(environment.packages),
            "cpu_flags": list(environment.cpu_flags),
            "gpus": list(environment.gpus),
            "libraries": [{"name": library.name, "version": library.version} for library in environment.libraries],
        },
        "inputs": [{"id": i.id, "kind": i.kind, "name": i.name, "complete": i.complete} for i in crash.inputs],
    }


def _process(process: Process) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "role": process.role,
        "command": process.command,
        "exit": _exit(process.exit) if process.exit else None,
        "threads": [_thread(thread) for thread in process.threads],
    }


def _exit(status: ExitStatus) -> dict[str, Any]:
    return {
        "code": status.code,
        "signal": status.signal,
        "ntstatus": None if status.ntstatus is None else f"0x{status.ntstatus:08X}",
        "name": status.name,
        "subcode": status.subcode,
        "subcode_name": status.subcode_name,
        "meaning": status.meaning,
    }


def _thread(thread: Thread) -> dict[str, Any]:
    return {
        "name": thread.name,
        "crashed": thread.crashed,
        "python_stack": [{"file": f.file, "line": f.line, "function": f.function} for f in thread.python_stack],
        "native_stack": [_native(frame) for frame in thread.native_stack],
    }


def _native(frame: NativeFrame) -> dict[str, Any]:
    offset = None if frame.offset is None else f"0x{frame.offset:x}"
    return {"module": frame.module, "function": frame.function, "offset": offset, "trust": frame.trust}


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "rank": diagnosis.rank,
        "cause": diagnosis.cause,
        "signature": diagnosis.signature,
        "title": diagnosis.title,
        "confidence": diagnosis.confidence,
        "because": [_evidence(evidence) for evidence in diagnosis.because],
        "against": [_evidence(evidence) for evidence in diagnosis.against],
        "fix": [{"do": s.do, "run": s.run, "risk": s.risk, "verify": s.verify} for s in diagnosis.fix],
        "grade": diagnosis.grade,
        "sources": list(diagnosis.sources),
    }


def _other(crash: OtherCrash) -> dict[str, Any]:
    return {
        "verdict": crash.verdict,
        "cause": crash.cause,
        "confidence": crash.confidence,
        "summary": crash.summary,
        "input": crash.place.input if crash.place else None,
        "line": crash.place.line if crash.place else None,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    place = evidence.place
    return {
        "text": evidence.text,
        "input": place.input if place else None,
        "line": place.line if place else None,
        "weight": evidence.weight,
    }
