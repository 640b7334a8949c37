"""The JSON report: a contract (report.schema.json), to which fields are added and in which none is renamed."""

from __future__ import annotations

import json
from typing import Any

from triage.crash import Crash, Dump, ExitStatus, Fault, Input, NativeFrame, Process, Thread
from triage.report import Diagnosis, Evidence, OtherCrash, Reliability, Report

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
        "nearest": [
            {"signature": n.signature, "cause": n.cause, "seen": list(n.seen), "missing": list(n.missing)}
            for n in report.nearest
        ],
        "other_crashes": [_other(crash) for crash in report.other_crashes],
        "redactions": dict(report.redactions),
        "reliability": _reliability(report.reliability) if report.reliability else None,
        "hearsay": [{"claim": one.claim, "document": one.document, "text": one.text} for one in report.hearsay],
    }


def _reliability(reliability: Reliability) -> dict[str, Any]:
    return {
        "from": reliability.least,
        "cases": reliability.cases,
        "right": reliability.right,
        "measured": reliability.measured,
        "commit": reliability.commit,
    }


def _crash(crash: Crash) -> dict[str, Any]:
    last = crash.exceptions[-1] if crash.exceptions else None
    memory, resources, environment = crash.memory, crash.resources, crash.environment
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
            "machine_bytes": memory.machine_bytes,
            "machine_free_bytes": memory.machine_free_bytes,
        },
        "resources": {
            "threads": resources.threads,
            "thread_limit": resources.thread_limit,
            "thread_limit_source": resources.thread_limit_source,
            "shm_bytes": resources.shm_bytes,
            "shm_free_bytes": resources.shm_free_bytes,
        },
        "environment": {
            "os": environment.os,
            "python": environment.python,
            "packages": dict(environment.packages),
            "cpu_flags": list(environment.cpu_flags),
            "gpus": list(environment.gpus),
            "libraries": [{"name": library.name, "version": library.version} for library in environment.libraries],
            "libraries_complete": environment.libraries_complete,
            "loaded_twice": list(environment.loaded_twice),
            "interpreter": environment.interpreter,
            "hidden_log": environment.hidden_log,
            "driver": environment.driver,
            "capability": environment.capability,
            "os_version": environment.os_version,
            "architecture": environment.architecture,
            "cpu": environment.cpu,
            "providers": [provider._asdict() for provider in environment.providers],
        },
        "inputs": [_input(entry) for entry in crash.inputs],
    }


def _input(entry: Input) -> dict[str, Any]:
    left_out = entry.left_out._asdict() if entry.left_out else None
    return {"id": entry.id, "kind": entry.kind, "name": entry.name, "complete": entry.complete, "left_out": left_out}


def _process(process: Process) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "role": process.role,
        "command": process.command,
        "exit": _exit(process.exit) if process.exit else None,
        "threads": [_thread(thread) for thread in process.threads],
        "fault": _fault(process.fault) if process.fault else None,
        "forked_with": process.forked_with,
        "faulting_module": process.faulting_module,
        "dump": _dump(process.dump) if process.dump else None,
    }


def _dump(dump: Dump) -> dict[str, Any]:
    return {
        "taken": dump.taken,
        "started": dump.started,
        "user_seconds": dump.user_seconds,
        "kernel_seconds": dump.kernel_seconds,
        "full_memory": dump.full_memory,
        "contradictions": list(dump.contradictions),
        "unloaded": [{"name": library.name, "version": library.version} for library in dump.unloaded],
        "handles": dict(dump.handles),
        "comments": list(dump.comments),
    }


def _fault(fault: Fault) -> dict[str, Any]:
    return {
        "signal": fault.signal,
        "address": _hex(fault.address),
        "access": fault.access,
        "instruction": fault.instruction,
        "registers": {name: _hex(value) for name, value in fault.registers},
        "stack_used_bytes": fault.stack_used_bytes,
        "stack_limit_bytes": fault.stack_limit_bytes,
        "parameters": [_hex(value) for value in fault.parameters],
        "says": fault.says,
        "missing_library": fault.missing_library,
    }


def _hex(value: int | None) -> str | None:
    return None if value is None else f"0x{value:x}"


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
        "seen_modules": list(thread.seen_modules),
        "id": thread.id,
    }


def _native(frame: NativeFrame) -> dict[str, Any]:
    return {
        "module": frame.module,
        "function": frame.function,
        "offset": _hex(frame.offset),
        "trust": frame.trust,
        "source": frame.source,
        "own": frame.own,
        "inlined": frame.inlined,
    }


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "rank": diagnosis.rank,
        "cause": diagnosis.cause,
        "signature": diagnosis.signature,
        "title": diagnosis.title,
        "confidence": diagnosis.confidence,
        "because": [_evidence(evidence) for evidence in diagnosis.because],
        "against": [_evidence(evidence) for evidence in diagnosis.against],
        "fix": [s._asdict() for s in diagnosis.fix],
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
