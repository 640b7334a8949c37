"""Looks at versions that do not go together, by the tables of versions.yaml.

clash: card and cuda
clash: driver and cuda
clash: python and framework
clash: numpy and framework
clash: protobuf and framework
clash: keras and framework
clash: add-on and framework
clash: jax and jaxlib
clash: cudnn and framework
clash: driver and ptx
clash: system and wheel
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from triage.clues.findings import ABSENT, UNSEEN, Finding, Hit
from triage.clues.interface import At, Kind, Request
from triage.clues.versions import in_range, order
from triage.crash import Environment
from triage.patterns import compile as pattern

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written

Pair = Literal[
    "card and cuda",
    "driver and cuda",
    "python and framework",
    "numpy and framework",
    "protobuf and framework",
    "keras and framework",
    "add-on and framework",
    "jax and jaxlib",
    "cudnn and framework",
    "driver and ptx",
    "system and wheel",
]
PAIRS: tuple[Pair, ...] = get_args(Pair)
Tables = Mapping[str, Any]
Row = Mapping[str, Any]
_NAMES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}
_TABLES = {"tensorflow": "builds", "torch": "pytorch_builds", "jax": "jax_builds"}
# The last releases with wheels for Python 2.7, which Windows never had.
_LAST_OF_PYTHON_2 = {"TensorFlow": "2.1", "PyTorch": "1.4"}


class ClashSeen(NamedTuple):
    """Two parts of which the versions must fit each other."""

    pair: Pair


class ClashKind(Kind):
    """Versions that are known and do not go together: by itself that is no failure, but it explains one."""

    form = ClashSeen
    background = 0.02
    request = Request("machine", "list the packages")
    short = PAIRS
    fills = ("clash",)
    often_unknown = True
    is_setting = True

    def parse(self, written: "Written") -> ClashSeen:
        for pair in PAIRS:
            if pair == written.value:
                return ClashSeen(pair)
        raise written.refused(f"unknown pair {written.value!r}", "one of " + ", ".join(PAIRS))

    def find(self, sought: ClashSeen, facts: "Facts", after: At) -> Finding:
        answers = list(_ANSWERS[sought.pair](facts.crash.environment, facts.tables))
        clash = next((answer for answer in answers if answer), None)
        if clash is not None:
            return Hit(None, clash, values={"clash": clash})
        return ABSENT if answers else UNSEEN


# Each answer is a sentence about a clash, or an empty one where both versions are known and fit.
_Answers = Iterator[str]


def _rows(tables: Tables, name: str) -> list[Row]:
    rows: list[Row] = tables.get(name, {}).get("rows") or []
    return rows


def _builds(environment: Environment, tables: Tables) -> Iterator[tuple[str, Row]]:
    """Each framework whose version is known, as `TensorFlow 2.10.0`, with the row of its release."""
    for package, table in _TABLES.items():
        if version := environment.package(package):
            release = version.split(".")[:2]
            row = next((row for row in _rows(tables, table) if row["release"].split(".") == release), None)
            if row is not None:
                yield f"{_NAMES[package]} {version}", row


def _built(environment: Environment, tables: Tables) -> Iterator[tuple[str, str]]:
    """Who was built with which CUDA: the log's own word before the table's."""
    if cuda := environment.fact("cuda built"):
        yield "the framework", cuda
        return
    for name, row in _builds(environment, tables):
        if row.get("cuda"):
            yield f"the wheel of {name}", row["cuda"]


def _card_and_cuda(environment: Environment, tables: Tables) -> _Answers:
    for card in environment.gpus[:1] or ([""] if environment.capability else []):
        row = generation(card or None, environment.capability, tables)
        if row is None:
            continue
        named = card or f"a card of compute capability {environment.capability}"
        for who, cuda in _built(environment, tables):
            if order(cuda) < order(row["cuda"]):
                yield f"{named} needs CUDA {row['cuda']} or newer, and {who} was built with {cuda}"
            elif row.get("last_cuda") and order(cuda.split(".")[0]) > order(row["last_cuda"]):
                yield f"CUDA {row['last_cuda']} is the last for {named}, and {who} was built with {cuda}"
            else:
                yield ""


def generation(card: str | None, capability: str | None, tables: Tables) -> Row | None:
    """The row of a card's generation, by its name or its compute capability."""
    generations = _rows(tables, "generations")
    if card:
        found = next((row for row in _rows(tables, "cards") if pattern(row["pattern"]).search(card)), None)
        if found:
            return next(row for row in generations if row["name"] == found["generation"])
    if capability:
        return next((row for row in generations if order(capability) >= order(row["capability"])), None)
    return None


def _driver_and_cuda(environment: Environment, tables: Tables) -> _Answers:
    driver, system = environment.driver, environment.os
    if driver is None or system not in ("linux", "windows"):
        return
    for _, cuda in _built(environment, tables):
        row = next((row for row in _rows(tables, "drivers") if in_range(cuda, f"=={row['cuda']}")), None)
        if row is not None:
            least = str(row[system])
            old = order(driver) < order(least)
            yield f"CUDA {cuda} needs driver {least} or newer, and this is {driver}" if old else ""


def _python_and_framework(environment: Environment, tables: Tables) -> _Answers:
    if environment.python is None:
        return
    have = ".".join(environment.python.split(".")[:2])
    for name, row in _builds(environment, tables):
        wanted = (row.get("windows_python") if environment.os == "windows" else None) or row["python"]
        if have == "2.7" and environment.os != "windows" and _is_for_python_2(name, row):
            yield ""
            continue
        first, _, last = wanted.partition("-")
        fits = order(first) <= order(have) <= order(last or first)
        yield "" if fits else f"{name} has wheels for Python {wanted.replace('-', ' to ')}, and this is {have}"


def _is_for_python_2(name: str, row: Row) -> bool:
    last = _LAST_OF_PYTHON_2.get(name.partition(" ")[0])
    return last is not None and order(row["release"]) <= order(last)


def _requirement(package: str) -> Callable[[Environment, Tables], _Answers]:
    """Whether a package is of a version that TensorFlow's own metadata allows."""

    def answers(environment: Environment, tables: Tables) -> _Answers:
        have, version = environment.package(package), environment.package("tensorflow")
        if have is None or version is None:
            return
        row = next((row for row in _rows(tables, "requirements") if order(row["from"]) <= order(version)), None)
        if row is None or package not in row:
            return
        wanted = row[package] + (f",<{row[package + '_below']}" if f"{package}_below" in row else "")
        fits = in_range(have, wanted)
        yield "" if fits else f"TensorFlow {version} wants {package}{wanted}, and this is {have}"

    return answers


def _keras_and_framework(environment: Environment, tables: Tables) -> _Answers:
    keras, version = environment.package("keras"), environment.package("tensorflow")
    if keras is None or version is None:
        return
    modern, three = order(version) >= (2, 16), order(keras) >= (3,)
    if three and not modern:
        yield f"Keras {keras} is for TensorFlow 2.16 and newer, and this is {version}"
    elif modern and not three:
        yield f"TensorFlow {version} comes with Keras 3, and this is Keras {keras}"
    else:
        yield ""


def _addon_and_framework(environment: Environment, tables: Tables) -> _Answers:
    version = environment.package("tensorflow")
    if version is None:
        return
    for package, have in environment.packages:
        row = next((row for row in _rows(tables, "addons") if _is_row_of(row, package, have)), None)
        if row is None:
            continue
        if row["tensorflow"] == "none":
            yield f"{package} {have} has nothing for TensorFlow any more"
            continue
        wanted = row["tensorflow"]
        fits = in_range(version, wanted)
        yield "" if fits else f"{package} {have} is made for TensorFlow {wanted}, and this is {version}"


def _is_row_of(row: Row, package: str, version: str) -> bool:
    return bool(row["package"] == package) and in_range(version, f"=={row['release']}")


def _jax_and_jaxlib(environment: Environment, tables: Tables) -> _Answers:
    jax, jaxlib = environment.package("jax"), environment.package("jaxlib")
    if jax and jaxlib:
        newer = order(jaxlib)[:3] > order(jax)[:3]
        yield f"jaxlib {jaxlib} is newer than jax {jax}; the two must be of one release" if newer else ""


def _cudnn_and_framework(environment: Environment, tables: Tables) -> _Answers:
    have = environment.fact("cudnn")
    if have is None:
        return
    built = environment.fact("cudnn built")
    wanted = [("it", built)] if built else [(n, r["cudnn"]) for n, r in _builds(environment, tables) if r.get("cudnn")]
    for who, wants in wanted:
        # A newer minor version of the same major one serves; an older one does not.
        fits = order(have)[:1] == order(wants)[:1] and order(have)[:2] >= order(wants)[:2]
        yield "" if fits else f"{who} was built with cuDNN {wants}, and this is {have}"


def _driver_and_ptx(environment: Environment, tables: Tables) -> _Answers:
    """Whether the driver is older than the toolkit: it runs finished code of its major version, and compiles no PTX."""
    for _, cuda in _built(environment, tables):
        shipped = toolkit_driver(cuda, environment, tables)
        if shipped is not None and environment.driver is not None:
            old = order(environment.driver) < order(shipped)
            yield f"CUDA {cuda} came with driver {shipped}, and this is {environment.driver}" if old else ""


def toolkit_driver(cuda: str, environment: Environment, tables: Tables) -> str | None:
    """The driver that came with a toolkit, on this system."""
    row = next((row for row in _rows(tables, "toolkit_drivers") if in_range(cuda, f"=={row['cuda']}")), None)
    system = environment.os or ""
    return str(row[system]) if row is not None and system in row else None


def _system_and_wheel(environment: Environment, tables: Tables) -> _Answers:
    system = system_of(environment, tables)
    if system is None:
        return
    for package in ("tensorflow", "torch", "jaxlib"):
        version = environment.package(package)
        row = version and wheel_row(package, version, tables)
        if row:
            old = order(str(system["glibc"])) < order(row["glibc"])
            name = _NAMES.get(package, package)
            told = (
                f"the wheels of {name} {version} want glibc {row['glibc']}, and {system['name']} has {system['glibc']}"
            )
            yield told if old else ""


def wheel_row(package: str, version: str, tables: Tables) -> Row | None:
    """What the wheels of a release ask of the system; the newest row comes first."""
    rows = (row for row in _rows(tables, "wheels") if row["package"] == package)
    return next((row for row in rows if order(str(row["from"])) <= order(version)), None)


def system_of(environment: Environment, tables: Tables) -> Row | None:
    """The row of this Linux, if it is known which one it is."""
    told = environment.fact("system version")
    return next((row for row in _rows(tables, "systems") if told and pattern(row["pattern"]).search(told)), None)


_ANSWERS: Mapping[Pair, Callable[[Environment, Tables], _Answers]] = {
    "card and cuda": _card_and_cuda,
    "driver and cuda": _driver_and_cuda,
    "python and framework": _python_and_framework,
    "numpy and framework": _requirement("numpy"),
    "protobuf and framework": _requirement("protobuf"),
    "keras and framework": _keras_and_framework,
    "add-on and framework": _addon_and_framework,
    "jax and jaxlib": _jax_and_jaxlib,
    "cudnn and framework": _cudnn_and_framework,
    "driver and ptx": _driver_and_ptx,
    "system and wheel": _system_and_wheel,
}
KIND = ClashKind()
