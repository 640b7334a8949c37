"""`triage signatures`: list, show, lint, test, new, sources."""

from __future__ import annotations

import re

import pytest
import yaml
from conftest import LOGS, REPOSITORY

GOOD = """\
title: The licence server was not reachable
cause: data.index-out-of-range
grade: claimed
clues:
  - id: message
    log: 'LICENCE SERVER UNREACHABLE'
    p: 0.99
    b: 0.0001
    says: the licence server did not answer
fix:
  - do: Start the licence server.
    risk: low
    verify: the run starts
sources: [{issue: example/example#1}]
tests:
  match: [{log: match.log, exit: 1}]
  differ: [{log: differ.log, exit: 1, cause: unknown}]
"""
CLUE = (5, 6)  # the lines of the clue and of its pattern


@pytest.fixture
def pack(tmp_path):
    """A private pack with one sound signature."""
    folder = tmp_path / "pack"
    (folder / "own").mkdir(parents=True)
    (folder / "pack.yaml").write_text("schema: 1\nname: ours\n")
    (folder / "own" / "licence.yaml").write_text(GOOD)
    (folder / "match.log").write_text("LICENCE SERVER UNREACHABLE\n")
    (folder / "differ.log").write_bytes((LOGS / "bus_error-2.21.log").read_bytes())
    return folder


def ids_on_disk() -> list[str]:
    paths = (REPOSITORY / "signatures").glob("*/*.yaml")
    return sorted(
        f"{path.parent.name}/{path.stem}"
        for path in paths
        if path.name != "causes.yaml" and path.parent.name != "notices"
    )


# ---------------------------------------------------------------- list


def test_list_prints_every_signature_of_the_folder(run_triage):
    done = run_triage("signatures", "list")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ids_on_disk()
    assert f"{len(ids_on_disk())} signatures." in done.stderr
    assert done.returncode == 0


def test_list_says_cause_grade_and_title(run_triage):
    lines = run_triage("signatures", "list").stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("host/oom-in-onednn-kernel ")]
    data = yaml.safe_load((REPOSITORY / "signatures/host/oom-in-onednn-kernel.yaml").read_text("utf-8"))
    assert line.split(maxsplit=1)[1] == f"{data['cause']}  {data['grade']}  {data['title']}"


def test_list_causes_prints_every_cause_family_by_family_as_the_files_have_them(run_triage):
    done = run_triage("signatures", "list", "--causes")
    families = yaml.safe_load((REPOSITORY / "signatures/pack.yaml").read_text("utf-8"))["families"]
    files = [REPOSITORY / "signatures" / family / "causes.yaml" for family in families]
    assert sorted(files) == sorted((REPOSITORY / "signatures").rglob("causes.yaml"))
    causes = [slug for file in files for slug in yaml.safe_load(file.read_text("utf-8"))]
    assert [line.split()[0] for line in done.stdout.splitlines()] == causes
    assert f"{len(causes)} causes." in done.stderr


def test_list_shows_a_private_pack(run_triage, pack):
    done = run_triage("signatures", "list", "--signatures", pack)
    assert "own/licence" in done.stdout
    assert len(done.stdout.splitlines()) == len(ids_on_disk()) + 1


def test_a_pack_can_disable_one_of_ours(run_triage, pack):
    (pack / "pack.yaml").write_text("schema: 1\nname: ours\ndisables: [host/oom-in-onednn-kernel]\n")
    done = run_triage("signatures", "list", "--signatures", pack)
    assert "host/oom-in-onednn-kernel" not in done.stdout


# ---------------------------------------------------------------- show


def test_show_prints_the_file(run_triage):
    done = run_triage("signatures", "show", "gpu/out-of-memory")
    assert done.returncode == 0
    assert done.stdout == (REPOSITORY / "signatures/gpu/out-of-memory.yaml").read_text("utf-8")


def test_show_prints_the_private_file_that_lies_over_ours(run_triage, pack):
    (pack / "gpu").mkdir()
    (pack / "gpu" / "out-of-memory.yaml").write_text(GOOD)
    done = run_triage("signatures", "show", "gpu/out-of-memory", "--signatures", pack)
    assert done.stdout == GOOD


def test_show_of_a_near_miss_suggests(run_triage):
    done = run_triage("signatures", "show", "gpu/out-of-memry")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean" in done.stderr and "gpu/out-of-memory" in done.stderr


@pytest.mark.parametrize("id", ["../causes", "gpu/causes", "pack", "zzzz", "../../setup"])
def test_show_prints_signatures_only(run_triage, id):
    done = run_triage("signatures", "show", id)
    assert (done.returncode, done.stdout) == (2, "")


# ---------------------------------------------------------------- lint


def test_lint_finds_nothing_wrong_in_ours(run_triage):
    done = run_triage("signatures", "lint")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"{len(ids_on_disk())} signatures, no problems.\n"


def test_lint_finds_nothing_wrong_in_a_sound_private_pack(run_triage, pack):
    done = run_triage("signatures", "lint", pack)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "1 signatures, no problems.\n"


@pytest.mark.parametrize(
    ("old", "new", "lines", "says"),
    [
        ("cause: data.index-out-of-range", "cause: data.no-such-cause", (2,), "unknown cause"),
        ("    log: 'LICENCE", "    lgo: 'LICENCE", None, "lgo"),
        ("'LICENCE SERVER UNREACHABLE'", "'LICENCE (?=SERVER)'", CLUE, ""),
        ("'LICENCE SERVER UNREACHABLE'", r"'\d+ .* x'", CLUE, ""),
        ("'LICENCE SERVER UNREACHABLE'", "'LICENCE in /home/alice/project'", CLUE, "a path of one machine"),
        ("'LICENCE SERVER UNREACHABLE'", "'LICENCE at 0x7fdee3fff040'", CLUE, "an address"),
        ("'LICENCE SERVER UNREACHABLE'", r"'licence\.cc:123 failed'", CLUE, "a source line number"),
        ("'LICENCE SERVER UNREACHABLE'", "'oneDNN custom operations are on'", CLUE, "fires on the healthy log"),
        ("    verify: the run starts\n", "", None, "verify"),
        ("  match: [{log: match.log, exit: 1}]\n", "", None, "no positive test"),
        ("  differ: [{log: differ.log, exit: 1, cause: unknown}]\n", "", None, "no negative test"),
        ("Start the licence server.", "Lower the batch to {batch_advice}.", None, ""),
    ],
)
def test_lint_names_file_line_and_what_is_wrong(run_triage, pack, old, new, lines, says):
    assert old in GOOD
    (pack / "own" / "licence.yaml").write_text(GOOD.replace(old, new))
    done = run_triage("signatures", "lint", pack)
    assert done.returncode == 1
    first = done.stdout.splitlines()[0]
    place = re.match(r"(?P<file>.*licence\.yaml):(?P<line>\d+): ", first)
    assert place, first
    assert lines is None or int(place["line"]) in lines
    assert says in first
    assert "Traceback" not in done.stderr


def test_lint_refuses_duplicates(run_triage, pack):
    (pack / "own" / "again.yaml").write_text(GOOD)
    done = run_triage("signatures", "lint", pack)
    assert done.returncode == 1
    assert "the same title as own/" in done.stdout
    assert "the same patterns as own/" in done.stdout


def test_lint_says_what_to_write_instead(run_triage, pack):
    (pack / "own" / "licence.yaml").write_text(GOOD.replace("LICENCE SERVER", "licence.py:12 SERVER"))
    assert "; write " in run_triage("signatures", "lint", pack).stdout


def test_lint_of_a_folder_that_is_not_there_is_a_problem(run_triage):
    done = run_triage("signatures", "lint", "no-such-folder")
    assert done.returncode == 1
    assert "no-such-folder" in done.stdout and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text", ["", "- a list\n", "just words\n", "title: 3\ncause: [1]\nclues: 7\n", "clues: {a: b}\n"]
)
def test_lint_survives_whatever_stands_in_a_file(run_triage, pack, text):
    (pack / "own" / "odd.yaml").write_text(text)
    done = run_triage("signatures", "lint", pack)
    assert done.returncode == 1
    assert "odd.yaml" in done.stdout
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- test


def test_our_signatures_pass_their_own_tests(run_triage):
    done = run_triage("signatures", "test")
    assert done.returncode == 0, done.stdout
    passed, failed, not_checked = map(int, re.findall(r"\d+", done.stderr))
    assert passed >= 2 * len(ids_on_disk())
    assert failed == 0
    # What only shows in a program that runs is run by tests/capture/test_crashers_run.py.
    assert done.stdout.count("a program to run") == not_checked == len(done.stdout.splitlines())


def test_one_signature_is_tested_by_its_id(run_triage):
    done = run_triage("signatures", "test", "gpu/out-of-memory")
    assert done.returncode == 0
    assert 2 <= int(re.findall(r"\d+", done.stderr)[0]) < 20


def test_a_private_pack_is_tested_with_its_own_logs(run_triage, pack):
    done = run_triage("signatures", "test", "own/licence", "--signatures", pack)
    assert done.stderr == "2 passed, 0 failed, 0 not checked\n", done.stdout
    assert done.returncode == 0


def test_a_failing_test_is_told_with_what_came_out(run_triage, pack):
    (pack / "match.log").write_text("nothing of the kind\n")
    done = run_triage("signatures", "test", "own/licence", "--signatures", pack)
    assert done.returncode == 1
    assert done.stdout.startswith("failed: own/licence on match.log: wanted data.index-out-of-range")


def test_a_log_that_is_not_there_is_not_checked(run_triage, pack):
    (pack / "match.log").unlink()
    (pack / "differ.log").unlink()
    done = run_triage("signatures", "test", "own/licence", "--signatures", pack)
    assert done.returncode == 3
    assert done.stdout.count("not checked: own/licence") == 2


def test_testing_an_unknown_signature_suggests(run_triage):
    done = run_triage("signatures", "test", "gpu/out-of-memry")
    assert done.returncode == 2
    assert "gpu/out-of-memory" in done.stderr


# ---------------------------------------------------------------- new


def test_new_prints_a_signature_to_fill_in(run_triage):
    done = run_triage("signatures", "new", "own/slug", "--cause", "gpu.out-of-memory", "--title", "It broke")
    data = yaml.safe_load(done.stdout)
    assert done.returncode == 0
    assert (data["title"], data["cause"]) == ("It broke", "gpu.out-of-memory")


@pytest.mark.parametrize("title", ["It broke: twice", "# not a comment", "say 'hi' \"there\"", "[a, b]", "{x}"])
def test_new_keeps_any_title(run_triage, title):
    done = run_triage("signatures", "new", "own/slug", "--cause", "gpu.out-of-memory", "--title", title)
    assert yaml.safe_load(done.stdout)["title"] == title


def test_new_writes_into_a_pack_that_lint_then_reads(run_triage, tmp_path):
    done = run_triage("signatures", "new", "own/slug", "--cause", "gpu.out-of-memory", "--into", "mine")
    assert done.returncode == 0
    assert (tmp_path / "mine" / "own" / "slug.yaml").is_file()
    assert done.stdout.endswith("triage signatures lint mine\n")
    listed = run_triage("signatures", "list", "--signatures", "mine")
    assert "own/slug" in listed.stdout and "skipped" not in listed.stderr


def test_new_never_overwrites(run_triage, tmp_path):
    arguments = ("signatures", "new", "own/slug", "--cause", "gpu.out-of-memory", "--into", "mine")
    run_triage(*arguments)
    (tmp_path / "mine" / "own" / "slug.yaml").write_text("precious")
    done = run_triage(*arguments)
    assert done.returncode != 0
    assert "already exists" in done.stderr
    assert (tmp_path / "mine" / "own" / "slug.yaml").read_text() == "precious"


LEASE = """\
Traceback (most recent call last):
  File "train.py", line 44, in main
    lease = acquire(17)
acme.pool.LeaseError: lease 4711 expired after 3600.5 s
"""


def test_new_from_a_log_writes_a_pack_that_lints_passes_its_tests_and_answers(run_triage, tmp_path):
    (tmp_path / "my crash.log").write_text(LEASE)
    done = run_triage("signatures", "new", "--from", "my crash.log", "--exit-code", "1", "--into", "mine")
    assert done.returncode == 0, done.stderr
    assert "Next: read " in done.stdout
    assert run_triage("signatures", "lint", "mine").returncode == 0
    tested = run_triage("signatures", "test", "--signatures", "mine")
    assert tested.returncode == 0, tested.stdout
    (tmp_path / "next.log").write_text(LEASE.replace("4711", "9"))
    found = run_triage("analyze", "next.log", "--signatures", "mine", "--exit-code", "1")
    assert found.returncode == 0
    assert "LeaseError" in found.stdout


def test_new_from_a_log_tests_that_healthy_logs_stay_silent(run_triage, tmp_path):
    (tmp_path / "crash.log").write_text(LEASE)
    run_triage("signatures", "new", "own/lease", "--from", "crash.log", "--exit-code", "1", "--into", "mine")
    healthy = sorted((tmp_path / "mine" / "fixtures" / "logs" / "healthy").glob("*.log"))
    assert [path.name for path in healthy] == sorted(path.name for path in (LOGS / "healthy").glob("*.log"))


def test_new_from_a_log_prints_the_draft_where_no_pack_is_given(run_triage, tmp_path):
    (tmp_path / "crash.log").write_text(LEASE)
    done = run_triage("signatures", "new", "own/lease", "--from", "crash.log", "--cause", "data.corrupt-input")
    data = yaml.safe_load(done.stdout)
    assert done.returncode == 0, done.stderr
    assert data["cause"] == "data.corrupt-input"
    assert data["tests"]["match"]


def test_new_from_a_log_that_says_nothing_is_refused_in_one_sentence(run_triage, tmp_path):
    (tmp_path / "crash.log").write_text("")
    done = run_triage("signatures", "new", "--from", "crash.log")
    assert done.returncode != 0
    assert "is empty" in done.stderr
    assert "Traceback" not in done.stderr


def test_new_with_an_unknown_cause_suggests(run_triage):
    done = run_triage("signatures", "new", "own/slug", "--cause", "gpu.out-of-memry")
    assert done.returncode == 2
    assert "Did you mean" in done.stderr and "gpu.out-of-memory" in done.stderr


@pytest.mark.parametrize("id", ["slug", "../escape", "a/b/c", "Own/Slug", "/etc/passwd"])
def test_new_refuses_what_is_no_id(run_triage, tmp_path, id):
    done = run_triage("signatures", "new", id, "--cause", "gpu.out-of-memory", "--into", "mine")
    assert done.returncode == 2
    assert "FAMILY/SLUG" in done.stderr
    assert not (tmp_path / "mine").exists()


def test_new_refuses_a_signature_in_the_place_of_a_familys_causes(run_triage, tmp_path):
    done = run_triage("signatures", "new", "own/causes", "--cause", "gpu.out-of-memory", "--into", "mine")
    assert done.returncode == 2
    assert "choose another SLUG" in done.stderr
    assert not (tmp_path / "mine").exists()


def test_new_from_a_log_writes_a_new_cause_into_the_file_of_its_family(run_triage, tmp_path):
    for name, error in (("lease", LEASE), ("pool", LEASE.replace("LeaseError: lease", "PoolError: pool"))):
        (tmp_path / "crash.log").write_text(error)
        done = run_triage(
            "signatures", "new", f"own/{name}", "--from", "crash.log", "--exit-code", "1", "--into", "mine"
        )
        assert done.returncode == 0, done.stderr
    causes = yaml.safe_load((tmp_path / "mine" / "own" / "causes.yaml").read_text("utf-8"))
    assert list(causes) == ["own.lease", "own.pool"]
    assert not (tmp_path / "mine" / "causes.yaml").exists()


# ---------------------------------------------------------------- sources


def test_sources_lists_documents_with_their_claims_and_what_cites_them(run_triage):
    done = run_triage("signatures", "sources")
    documents = yaml.safe_load((REPOSITORY / "signatures/documents.yaml").read_text("utf-8"))
    assert done.returncode == 0
    assert done.stdout.startswith(f"{len(documents['claims'])} claims: ")
    for name in documents["documents"]:
        assert f"\n {name}  " in done.stdout
    assert "(see " in done.stdout
    assert "fixtures/crashers/oom_in_fit.py" in done.stdout


def test_a_mistyped_subcommand_suggests(run_triage):
    done = run_triage("signatures", "lst")
    assert done.returncode == 2
    assert "list" in done.stderr


def test_the_group_alone_says_what_there_is(run_triage):
    done = run_triage("signatures")
    text = done.stdout + done.stderr
    for name in ("list", "show", "lint", "test", "new", "sources"):
        assert f"  {name} " in text
    assert str(REPOSITORY) not in text
