"""Pages for whatever a person has in hand: codes, signals, exceptions, causes, signatures; and near misses."""

from __future__ import annotations

import re

import pytest
from building import knowledge_of, signature_data

import triage
from triage.crash import Command
from triage.diagnosis.explain import UnknownTopic
from triage.knowledge.database import Knowledge
from triage.report import Page


def section(page: Page, heading: str) -> tuple[str, ...]:
    return dict(page.sections)[heading]


@pytest.mark.parametrize(
    "topic", ["139", "-11", "SIGSEGV", "sigsegv", "segv", "Segmentation fault", " 139 ", "exit 139"]
)
def test_a_signal_has_one_page_however_it_is_written(topic: str, knowledge: Knowledge) -> None:
    page = triage.explain(topic, knowledge=knowledge)
    assert page.title == "SIGSEGV (exit 139)"
    assert "Also written 139 (shell), -11 (Python) and signal 11." in section(page, "means")


@pytest.mark.parametrize(
    "topic", ["-1073740791", "3221226505", "0xC0000409", "0xc0000409", "STATUS_STACK_BUFFER_OVERRUN"]
)
def test_a_windows_status_has_one_page_however_it_is_written(topic: str, knowledge: Knowledge) -> None:
    page = triage.explain(topic, knowledge=knowledge)
    assert page.title == "0xC0000409 (exit -1073740791)  STATUS_STACK_BUFFER_OVERRUN"
    assert "Also written 0xC0000409, -1073740791 and 3221226505." in section(page, "means")


def test_a_number_may_be_given_as_one(knowledge: Knowledge) -> None:
    assert triage.explain(-11, knowledge=knowledge) == triage.explain("-11", knowledge=knowledge)


def test_the_page_of_a_signal_lists_its_causes_the_likeliest_first(knowledge: Knowledge) -> None:
    causes = section(triage.explain("SIGSEGV", knowledge=knowledge), "likely causes")
    slugs = [re.fullmatch(r"(\d+)\. ([\w.-]+): .+", line) for line in causes]
    assert [int(match[1]) for match in slugs if match] == list(range(1, len(causes) + 1))
    page = knowledge.statuses["SIGSEGV"]["causes"]
    assert [match[2] for match in slugs if match][: len(page)] == page


def test_causes_whose_signatures_expect_the_status_follow_those_of_the_page(knowledge: Knowledge) -> None:
    causes = " ".join(section(triage.explain("0xC0000374", knowledge=knowledge), "likely causes"))
    assert "native.heap-corruption" in causes


def test_of_the_causes_that_only_signatures_name_the_more_common_comes_first() -> None:
    signatures = {
        f"{slug}/x": signature_data(title=slug, cause=f"{slug}.x", clues=[{"exit": "SIGUSR1"}]) for slug in "abc"
    }
    pages = {"statuses": {"SIGUSR1": {"means": "x", "causes": ["a.x"]}}}
    knowledge = knowledge_of(signatures, {"a.x": 0.01, "b.x": 0.02, "c.x": 0.03}, explanations=pages)
    causes = section(triage.explain("SIGUSR1", knowledge=knowledge), "likely causes")
    assert causes == ("1. a.x: About a.x", "2. c.x: About c.x", "3. b.x: About b.x")


def test_a_small_number_says_that_it_may_be_meant_as_a_signal(knowledge: Knowledge) -> None:
    page = triage.explain("11", knowledge=knowledge)
    assert page.title == "exit 11"
    assert section(page, "note") == ("As a signal number, 11 is SIGSEGV: triage explain SIGSEGV",)


def test_exit_code_0_has_no_next_command(knowledge: Knowledge) -> None:
    assert triage.explain("0", knowledge=knowledge).next is None


@pytest.mark.parametrize(
    "topic", ["139", "-11", "exit 137", "exit code 1", "Segmentation fault", "SIGSEGV", "0xC0000409"]
)
def test_the_next_command_of_a_status_is_one_that_can_be_typed(topic: str, knowledge: Knowledge) -> None:
    command = triage.explain(topic, knowledge=knowledge).next
    words = command.argv if command else ()
    assert words[:4] == ("triage", "analyze", "LOG", "--exit-code")
    assert len(words) == 5
    assert triage.analyze(b"x", exit_code=words[4], knowledge=knowledge).crash.exit is not None


@pytest.mark.parametrize("topic", ["exit 139", "exit: 139", "Exit code: 139", "exit status 139", "EXIT::139"])
def test_an_exit_code_is_found_behind_its_words(topic: str, knowledge: Knowledge) -> None:
    assert "SIGSEGV" in triage.explain(topic, knowledge=knowledge).title


@pytest.mark.parametrize(
    "topic",
    ["0xC0000409 subcode 7", "0xc0000409, 7", "0xC0000409: (Subcode: 0x7)", "0xC0000409 sub-code:7", "0xC0000409 007"],
)
def test_a_subcode_is_found_however_it_is_set_apart(topic: str, knowledge: Knowledge) -> None:
    page = triage.explain(topic, knowledge=knowledge)
    assert page == triage.explain("0xC0000409 7", knowledge=knowledge)._replace(title=page.title)


def test_a_subcode_that_no_number_can_be_is_passed_over(knowledge: Knowledge) -> None:
    page = triage.explain("0xC0000409 " + "9" * 5000, knowledge=knowledge)
    assert page == triage.explain("0xC0000409", knowledge=knowledge)


@pytest.mark.parametrize(
    "topic",
    [
        "ResourceExhaustedError",
        "ResourceExhausted",
        "RESOURCE_EXHAUSTED",
        "tf.errors.ResourceExhaustedError",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError",
    ],
)
def test_an_exception_has_one_page_however_it_is_written(topic: str, knowledge: Knowledge) -> None:
    page = triage.explain(topic, knowledge=knowledge)
    assert (page.title, page.next) == ("ResourceExhaustedError", Command(("triage", "analyze", "LOG")))
    assert section(page, "likely causes")[0].startswith("1. gpu.out-of-memory: ")


def test_every_cause_has_a_page(knowledge: Knowledge) -> None:
    for slug in knowledge.causes:
        page = triage.explain(slug, knowledge=knowledge)
        assert page.title.startswith(f"{slug}  ")
        assert {"what happens inside", "how it shows", "how to be sure", "fix"} <= set(dict(page.sections))


def test_the_page_of_a_cause_leads_to_its_signatures(knowledge: Knowledge) -> None:
    page = triage.explain("host.out-of-memory", knowledge=knowledge)
    own = [s for s in knowledge.signatures.values() if s.cause == "host.out-of-memory"]
    assert section(page, "signatures") == tuple(f"{s.id} ({s.grade}): {s.title}" for s in own)
    assert page.next == Command(("triage", "signatures", "show", next(s.id for s in own if s.grade == "reproduced")))
    assert any(line.startswith("gpu.out-of-memory: ") for line in section(page, "mistaken for"))


def test_every_signature_has_a_page_that_leads_to_its_cause(knowledge: Knowledge) -> None:
    for signature in knowledge.signatures.values():
        page = triage.explain(signature.id, knowledge=knowledge)
        assert page.title == f"{signature.id}  {signature.title}"
        assert page.next == Command(("triage", "explain", signature.cause))
        assert len(section(page, "clues")) == len(signature.clues)
        assert len(section(page, "fix")) == len(signature.fix)


def test_no_page_shows_a_placeholder(knowledge: Knowledge) -> None:
    pages = [triage.explain(id, knowledge=knowledge) for id in knowledge.signatures]
    texts = [text for page in pages for _, paragraphs in page.sections for text in paragraphs]
    assert [text for text in texts if re.search(r"\{[a-z_]+\}", text)] == []


@pytest.mark.parametrize(
    ("topic", "near"),
    [
        ("gpu.out-of-memry", "gpu.out-of-memory"),
        ("SIGSEG", "SIGSEGV"),
        ("ResourceExhaustdError", "ResourceExhaustedError"),
        ("KeyEror", "KeyError"),
        ("PYTORCH_CUDA_ALOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"),
        ("torch.cuda.OutOfMemmoryError", "OutOfMemoryError"),
    ],
)
def test_a_near_miss_names_what_was_perhaps_meant(topic: str, near: str, knowledge: Knowledge) -> None:
    with pytest.raises(UnknownTopic) as unknown:
        triage.explain(topic, knowledge=knowledge)
    assert near in unknown.value.near


@pytest.mark.parametrize("topic", ["", "qqqqqqqq", "99999999999999999999", "exit zero", "0x"])
def test_what_is_like_nothing_has_no_near_name(topic: str, knowledge: Knowledge) -> None:
    with pytest.raises(UnknownTopic) as unknown:
        triage.explain(topic, knowledge=knowledge)
    assert (unknown.value.topic, unknown.value.near) == (topic, [])


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Skipping registering GPU devices...", "gpu.cuda-library-missing"),
        ("skipping registering gpu devices", "gpu.cuda-library-missing"),
        ("OMP: Info #276", "tools/openmp-nested"),
        ("OOMKilled", "host.out-of-memory"),
        ("No module named 'cv2'", "ModuleNotFoundError"),
        ("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB", "gpu.out-of-memory"),
        ("OSError: libGL.so.1: cannot open shared object file", "libGL"),
        ("Process finished with exit code -1073741819 (0xC0000005)", "0xC0000005"),
        ("Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)", "SIGSEGV"),
        ("subprocess returned non-zero exit status 137.", "SIGKILL"),
        ("Fatal Python error: Segmentation fault", "SIGSEGV"),
        ("Exception Type:        EXC_CRASH (SIGABRT)", "SIGABRT"),
        ("KeyError: 'labels'", "KeyError"),
        ("OSError: [Errno 24] Too many open files", "EMFILE"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "gpu.cudnn-init-memory"),
        ("RuntimeError: Expected all tensors to be on the same device", "other.pytorch"),
        ("Out of memory: Killed process 4711 (python) total-vm:12345kB", "host.out-of-memory"),
        ("[1]    4711 segmentation fault (core dumped)  python train.py", "SIGSEGV"),
        ("./run.sh: line 3:  4711 Killed                  python train.py", "SIGKILL"),
        ("Unhandled exception at 0x00007FFA in python.exe: 0xC0000005: Access violation", "0xC0000005"),
        ("CUDA error: 700", "gpu.illegal-address"),
        ('Input 0 of layer "dense" is incompatible with the layer', "Input 0 of layer"),
        ("kernel died", "DeadKernelError"),
        ("The kernel appears to have died. It will restart automatically.", "DeadKernelError"),
        ("unable to register cufft factory", "xla/factory-registered"),
        ("no gpu/tpu found", "jax/no-gpu-found"),
        ("Segmentation fault (core dumped)", "SIGSEGV"),
        ("zsh: killed     python train.py", "SIGKILL"),
        ("Bus error: 10", "SIGBUS"),
        ("failed to get convolution algorithm", "gpu.cudnn-init-memory"),
        ("out of memory", "out of memory  "),
    ],
)
def test_a_line_is_found_as_people_paste_it(line: str, title: str, knowledge: Knowledge) -> None:
    assert triage.explain(line, knowledge=knowledge).title.startswith(title)


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("cudart64_110.dll", "cudart64_110.dll  CUDA's runtime library"),
        ("libcudart.so.11.0", "libcudart.so.11.0  CUDA's runtime library"),
        ("cudnn_ops_infer64_8.dll", "cudnn_ops_infer64_8.dll  NVIDIA's library"),
        (r"C:\Windows\System32\VCRUNTIME140_1.dll", r"C:\Windows\System32\VCRUNTIME140_1.dll  Microsoft's C++ runtime"),
        ("libiomp5md.dll", "install.openmp-duplicate"),
        ("zlibwapi", "gpu.cudnn-zlibwapi-missing"),
        ("libcuda.so.1", "gpu.driver-missing"),
        ("shm.dll", "shm.dll  One of PyTorch's"),
        ("shm-size", "host.shm-exhausted"),
        ("c10.dll", "c10.dll  One of PyTorch's"),
        ("python311.dll", "python311.dll  Python's own library"),
        ("GLIBCXX_3.4.29", "GLIBCXX_3.4.29  The C++ library"),
        ("GLIBC_2.28", "GLIBC_2.28  The C library"),
        ("sm_86", "sm_86  The generation"),
        ("manylinux2014", "manylinux2014  "),
        ("Xid 79", "Xid 79  "),
        ("[Errno 24]", "[Errno 24]  Too many open files"),
        ("WinError 126", "WinError 126  Windows did not find a DLL"),
        ("errno 99", "errno 99  An error number"),
        ("TF_ENABLE_ONEDNN_OPTS", "TF_ENABLE_ONEDNN_OPTS  "),
        ("pytorch_cuda_alloc_conf", "pytorch_cuda_alloc_conf  How PyTorch"),
        ("CUDA OOM", "gpu.out-of-memory"),
        ("oom", "oom  Memory ran out"),
        ("core dumped", "core dumped  A signal"),
        ("*** stack smashing detected ***: terminated", "*** stack smashing detected ***: terminated  A buffer"),
        ("double free", "native.heap-corruption"),
        ("openmp-duplicate", "install.openmp-duplicate"),
        ("GPU.Out-Of-Memory", "gpu.out-of-memory"),
    ],
)
def test_a_name_is_found_with_its_numbers_and_in_any_case(topic: str, title: str, knowledge: Knowledge) -> None:
    assert triage.explain(topic, knowledge=knowledge).title.startswith(title)


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("rc=-11", "SIGSEGV (exit 139)"),
        ("returncode=-6", "SIGABRT (exit 134)"),
        ("exited with code 134", "SIGABRT (exit 134)"),
        ("signal 11", "SIGSEGV (exit 139)"),
        ("signal: killed", "SIGKILL (exit 137)"),
        ("EXCEPTION_ACCESS_VIOLATION", "0xC0000005 (exit -1073741819)  STATUS_ACCESS_VIOLATION"),
        ("Exception Code: c0000005", "0xC0000005 (exit -1073741819)  STATUS_ACCESS_VIOLATION"),
        ("exit 247", "exit 247 (SIGKILL)"),
    ],
)
def test_a_status_is_found_behind_other_words(topic: str, title: str, knowledge: Knowledge) -> None:
    assert triage.explain(topic, knowledge=knowledge).title == title


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("keyerror", "KeyError"),
        ("ModuleNotFound", "ModuleNotFoundError"),
        ("torch.cuda.OutOfMemoryError", "OutOfMemoryError"),
        ("jaxlib.xla_extension.XlaRuntimeError", "XlaRuntimeError"),
        ("json.decoder.JSONDecodeError", "JSONDecodeError"),
        ("UnboundLocalError", "NameError"),
    ],
)
def test_the_exceptions_of_python_and_of_other_packages_have_a_page(
    name: str, title: str, knowledge: Knowledge
) -> None:
    assert triage.explain(name, knowledge=knowledge).title == title


def test_a_word_of_many_titles_lists_the_pages(knowledge: Knowledge) -> None:
    page = triage.explain("protobuf", knowledge=knowledge)
    assert any(line.startswith("install.protobuf-mismatch: ") for line in section(page, "causes, the commonest first"))
    assert any(line.startswith("protobuf/") for line in section(page, "lines that frighten and end nothing"))
    many = triage.explain("tensorflow", knowledge=knowledge)
    assert section(many, "lines that frighten and end nothing")[-1].startswith("and ")


def test_words_that_several_causes_print_name_them_all(knowledge: Knowledge) -> None:
    page = triage.explain("wrong ELF class", knowledge=knowledge)
    causes = section(page, "printed with these causes, the commonest first")
    assert page.title == f"wrong ELF class  {len(causes)} causes"
    assert {line.split(": ")[0].split(". ", 1)[1] for line in causes} >= {"install.wrong-architecture"}


def test_every_name_leads_to_its_page(knowledge: Knowledge) -> None:
    for slug, words in knowledge.words.items():
        for word in words:
            assert triage.explain(word, knowledge=knowledge).title.startswith(f"{slug}  "), word
    for name, page in knowledge.names.items():
        for word in (name, *(page.get("also") or ())):
            assert triage.explain(word, knowledge=knowledge).title == f"{word}  {page['title']}"


@pytest.mark.parametrize("line", ["hello world", "python train.py", "error", "it crashed", "why"])
def test_words_of_nobody_have_no_page(line: str, knowledge: Knowledge) -> None:
    with pytest.raises(UnknownTopic):
        triage.explain(line, knowledge=knowledge)
