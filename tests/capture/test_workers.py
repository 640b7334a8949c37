"""A crash in a worker: the report is about that worker, and shows what became of the rest of the run."""

from __future__ import annotations

import shlex
import sys

import pytest
from running import CRASH, functions_of, is_alive, primary_of, report_on, with_triage

GUARD = "if __name__ == '__main__':\n"


def script(body: str) -> str:
    """A script whose functions a spawned worker can import, with its main part guarded."""
    return (
        CRASH + "import concurrent.futures as futures\nimport multiprocessing, os, signal, subprocess, sys, time\n"
        "def die_in_a_loop():\n    for _ in range(3):\n        die()\n"
        "def abort_here():\n    os.abort()\n"
        "if sys.argv[1:] == ['die']:\n    die()\n" + GUARD + "".join(f"    {line}\n" for line in body.splitlines())
    )


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_crashed_worker_is_the_primary_and_a_well_ended_run_stays_one(tmp_path, method):
    (tmp_path / "script.py").write_text(
        script(f"""\
process = multiprocessing.get_context({method!r}).Process(target=die_in_a_loop)
process.start()
process.join()
print(process.exitcode)""")
    )
    done, report = report_on(tmp_path, "script.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"-11\n", b"")
    main, worker = report["crash"]["processes"]
    assert report["crash"]["primary"] == 1
    assert (main["role"], main["command"], main["exit"]["code"]) == ("main", "script.py", 0)
    assert (worker["role"], worker["exit"]["signal"]) == ("worker", "SIGSEGV")
    assert functions_of(worker)[:3] == ["string_at", "die", "die_in_a_loop"]
    assert report["verdict"] != "no-crash"


def test_the_code_of_the_parent_is_the_code_of_the_run(tmp_path):
    (tmp_path / "script.py").write_text(
        script("""\
process = multiprocessing.get_context("fork").Process(target=die)
process.start()
process.join()
sys.exit(process.exitcode and 4)""")
    )
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 4
    assert report["crash"]["processes"][0]["exit"]["code"] == 4
    assert primary_of(report)["exit"]["signal"] == "SIGSEGV"


def test_a_broken_pool(tmp_path):
    (tmp_path / "script.py").write_text(
        script("""\
with futures.ProcessPoolExecutor(2) as pool:
    pool.submit(die).result()""")
    )
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 1
    assert b"BrokenProcessPool" in done.stderr
    assert report["crash"]["exception"]["type"].endswith("BrokenProcessPool")
    assert functions_of(primary_of(report))[:2] == ["string_at", "die"]
    assert report["crash"]["processes"][0]["exit"]["code"] == 1


def test_a_checked_subprocess(tmp_path):
    (tmp_path / "script.py").write_text(script("subprocess.run([sys.executable, __file__, 'die'], check=True)"))
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 1
    assert b"CalledProcessError" in done.stderr
    assert functions_of(primary_of(report))[:2] == ["string_at", "die"]
    assert primary_of(report)["exit"]["signal"] == "SIGSEGV"


@pytest.mark.parametrize(
    ("line", "code"), [("{} script.py die; exit 3", 3), ("{} script.py die", 139), ("{} script.py die || true", 0)]
)
def test_a_python_below_a_shell(tmp_path, line, code):
    (tmp_path / "script.py").write_text(script("pass"))
    done, report = report_on(tmp_path, "--", "bash", "-c", line.format(shlex.quote(sys.executable)))
    assert done.returncode == code
    assert functions_of(primary_of(report))[:2] == ["string_at", "die"]
    assert primary_of(report)["exit"]["signal"] == "SIGSEGV"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('echo "INFO: see the FAQ for Segmentation fault (core dumped)" >&2; exit 4', 4),
        ('echo "Process finished with exit code -1073740791" >&2; exit 1', 1),
        ('echo "worker exited with exit code 0xC0000005" >&2; exit 139', 139),
        ("exit 139", 139),
        ("exit 245", 245),
    ],
)
def test_words_and_numbers_are_not_a_death(tmp_path, line, code):
    done, report = report_on(tmp_path, "--", "bash", "-c", line)
    assert done.returncode == code
    (process,) = report["crash"]["processes"]
    assert (process["exit"]["name"], process["exit"]["code"], process["exit"]["signal"]) == (f"exit {code}", code, None)
    assert not any("before its handler could run" in sentence for sentence in report["not_observable"])


@pytest.mark.parametrize(
    "line",
    [
        "bash -c 'kill -SEGV $$'; exit 4",
        "bash -c 'kill -SEGV $$'; exit 139",
        f"{shlex.quote(sys.executable)} -c"
        " \"import subprocess; subprocess.run(['sh', '-c', 'kill -SEGV \\$\\$'], check=True)\"",
    ],
    ids=["shell", "handed on", "subprocess"],
)
def test_a_child_whose_parent_reports_its_death(tmp_path, line):
    _, report = report_on(tmp_path, "--", "bash", "-c", line)
    assert [process["role"] for process in report["crash"]["processes"]] == ["main", "child"]
    assert primary_of(report)["exit"]["signal"] == "SIGSEGV"


def test_of_a_storm_only_the_first_are_read_natively(tmp_path):
    (tmp_path / "script.py").write_text(
        script("""\
for _ in range(8):
    os.fork() or die()
for _ in range(8):
    os.wait()""")
    )
    done, report = report_on(tmp_path, "script.py", native=True)
    assert done.returncode == 0
    workers = report["crash"]["processes"][1:]
    assert [process["exit"]["signal"] for process in workers] == ["SIGSEGV"] * 8
    assert all("die" in functions_of(process) for process in workers)
    natively = [any(thread["native_stack"] for thread in process["threads"]) for process in workers]
    assert not any(natively[3:])
    if natively[0]:  # gdb or pystack is there
        assert natively[:3] == [True] * 3


def test_two_crashes_do_not_share_their_stacks(tmp_path):
    """The first to crash is what the incident is about."""
    (tmp_path / "script.py").write_text(
        script("""\
for target in (die_in_a_loop, abort_here):
    process = multiprocessing.get_context("fork").Process(target=target)
    process.start()
    process.join()
    time.sleep(0.3)""")
    )
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 0
    main, first, second = report["crash"]["processes"]
    assert report["crash"]["primary"] == 1
    assert first["exit"]["signal"] == "SIGSEGV"
    assert "die_in_a_loop" in functions_of(first)
    assert "abort_here" not in functions_of(first)
    assert second["exit"]["signal"] == "SIGABRT"
    assert "abort_here" in functions_of(second)
    assert "die_in_a_loop" not in functions_of(second)
    assert not functions_of(main)


def test_of_two_at_once_the_first_is_the_primary(tmp_path):
    """Process numbers do not show who was first: here the younger one dies before the older."""
    (tmp_path / "script.py").write_text(
        script("""\
r, w = os.pipe()
if os.fork() == 0:
    os.read(r, 1)
    die_in_a_loop()
if os.fork() == 0:
    pid = os.fork()
    if pid == 0:
        abort_here()
    os.waitpid(pid, 0)
    time.sleep(0.02)
    os.write(w, b".")
    os._exit(0)
os.wait()
os.wait()""")
    )
    _, report = report_on(tmp_path, "script.py")
    assert primary_of(report)["exit"]["signal"] == "SIGABRT"


def test_many_at_once_are_all_seen(tmp_path):
    (tmp_path / "script.py").write_text(
        script("""\
for _ in range(6):
    os.fork() or die()
for _ in range(6):
    print(os.wait()[1], flush=True)""")
    )
    done, report = report_on(tmp_path, "script.py")
    assert (done.returncode, done.stdout) == (0, b"11\n" * 6)
    assert len(report["crash"]["processes"]) == 7
    assert all(functions_of(process)[:2] == ["string_at", "die"] for process in report["crash"]["processes"][1:])


def test_a_worker_is_read_while_it_is_held(tmp_path):
    """With native stacks: the worker waits for us, dies of its own signal, and its parent sees that."""
    (tmp_path / "script.py").write_text(
        script("""\
process = multiprocessing.get_context("fork").Process(target=die)
process.start()
process.join()
print(process.pid, process.exitcode)""")
    )
    done, report = report_on(tmp_path, "script.py", native=True)
    pid, code = map(int, done.stdout.split())
    assert (done.returncode, code) == (0, -11)
    assert not is_alive(pid)
    assert primary_of(report)["pid"] == pid
    assert "die" in functions_of(primary_of(report))
    assert report["crash"]["environment"]["libraries"]


def test_main_and_worker_both_crash(tmp_path):
    (tmp_path / "script.py").write_text(
        script("""\
process = multiprocessing.get_context("fork").Process(target=abort_here)
process.start()
process.join()
die_in_a_loop()""")
    )
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 139
    main, worker = report["crash"]["processes"]
    assert (main["exit"]["signal"], worker["exit"]["signal"]) == ("SIGSEGV", "SIGABRT")
    assert report["crash"]["primary"] == 1
    assert "die_in_a_loop" in functions_of(main)
    assert "die_in_a_loop" not in functions_of(worker)


def test_a_worker_that_is_killed_from_outside(tmp_path):
    """No stack can be had; what the parent says about it is kept."""
    (tmp_path / "script.py").write_text(
        script("""\
with futures.ProcessPoolExecutor(1) as pool:
    pool.submit(os.kill, os.getpid(), 0).result()
    os.kill(next(iter(pool._processes)), signal.SIGKILL)
    pool.submit(time.sleep, 1).result()""")
    )
    done, report = report_on(tmp_path, "script.py")
    assert done.returncode == 1
    assert report["crash"]["exception"]["type"].endswith("BrokenProcessPool")
    assert report["crash"]["processes"][0]["exit"]["code"] == 1


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_healthy_run_with_workers_prints_nothing(tmp_path, method):
    (tmp_path / "script.py").write_text(
        script(f"""\
with futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context({method!r})) as pool:
    print(sum(pool.map(abs, range(-50, 0))))""")
    )
    done = with_triage("script.py", options=("--output", "report.txt"), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1275\n", b"")
    assert not (tmp_path / "report.txt").exists()
