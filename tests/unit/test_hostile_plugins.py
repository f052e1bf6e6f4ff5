"""What plugins do that they must not: it is told by their name, and ends nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from failproof_es.cli.commands.export import _blaming, _write_files
from failproof_es.configuration.providers import PROVIDERS
from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Classification, Failure, ModelReply, Score, Transcript
from failproof_es.declared_gates import DECLARED
from failproof_es.dialects import dialect_named
from failproof_es.dialects.registry import DIALECTS
from failproof_es.dialects.scorers import SCORERS, Scorer, grade
from failproof_es.engine.limits.concurrency_limiter import ConcurrencyLimiter
from failproof_es.exports.exporter import ExportedFile, Pieces
from failproof_es.exports.registry import EXPORTERS
from failproof_es.models import stuck_after_s
from failproof_es.models.protocol import Answer, ModelError, PreparedRequest
from failproof_es.models.single_attempt import send_once
from failproof_es.problems import InvalidInput
from failproof_es.support.entry_points import EntryPoints
from projections.installed import OFFERED
from tests.every import every
from tests.plugin_packages import install, look_again
from tests.unit.engine.test_evaluating_at_a_limit import (
    Recorded,
    Wire,
    at_a_gate,
    evaluating,
)

GROUPS: tuple[EntryPoints[Any], ...] = (DIALECTS, SCORERS, DECLARED, PROVIDERS, OFFERED, EXPORTERS)
BAD = {
    "raises": "raise RuntimeError('on import')",
    "leaves": "import sys; sys.exit(3)",
    "syntax": "this is no Python",
    "number": "it = 7",
    "nothing": "it = None",
    "function": "def it(): return 1",
    "angry": "class it:\n    def __init__(self): raise KeyError('x')",
    "exits": "class it:\n    def __init__(self): raise SystemExit(4)",
    "absent": "",
}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield
    monkeypatch.undo()
    look_again()
    PROVIDERS.forget()


@pytest.mark.parametrize("group", GROUPS, ids=lambda each: each.group.rpartition(".")[2])
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.long
def test_what_is_offered_and_is_none_is_an_error_that_names_the_package(
    group: EntryPoints[Any], bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = {group.group: {bad: f"bad_{bad}:it"}}
    install(monkeypatch, tmp_path, "bad-package", offered, {f"bad_{bad}": BAD[bad]})
    PROVIDERS.forget()
    with pytest.raises(InvalidInput) as raised:
        group.load(bad)
    assert f"{bad!r} of the package bad-package 1.0" in str(raised.value)
    assert raised.value.problems[0].remedy


@pytest.mark.parametrize("metadata", [None, b"", b"Name: bad\n", b"\xff\xfe\x00"])
@pytest.mark.parametrize("group", GROUPS, ids=lambda each: each.group.rpartition(".")[2])
@pytest.mark.long
def test_a_package_whose_metadata_is_damaged_hides_nothing_and_is_named_by_what_it_offers(
    group: EntryPoints[Any], metadata: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = group.names()
    install(monkeypatch, tmp_path, "bad", {group.group: {"damaged": "json:loads"}})
    (stated,) = tmp_path.glob("*.dist-info/METADATA")
    stated.unlink()
    if metadata is not None:
        stated.write_bytes(metadata)
    look_again()
    PROVIDERS.forget()
    assert set(group.names()) == {*before, "damaged"}
    named = ("bad", "") if metadata == b"Name: bad\n" else ("json:loads", "")
    assert group.package_of("damaged") == named
    with pytest.raises(InvalidInput, match=f"of the package {named[0]} [a-z]"):
        group.load("damaged")


@pytest.mark.parametrize("group", GROUPS, ids=lambda each: each.group.rpartition(".")[2])
def test_a_name_that_two_packages_offer_is_nobodys(
    group: EntryPoints[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("one", "two"):
        install(monkeypatch, tmp_path / package, package, {group.group: {"same": "x:y"}})
    PROVIDERS.forget()
    with pytest.raises(InvalidInput, match=r"is offered by (one|two) 1\.0 and by (one|two) 1\.0"):
        group.load("same")


@pytest.mark.parametrize("name", ["a b", "ünïcode", "..", "a/b", "x" * 300, "\u202etxt"])
def test_an_odd_name_is_told_as_it_is_and_harms_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path, "odd", {DIALECTS.group: {name: "nowhere_at_all:it"}})
    assert name in DIALECTS
    with pytest.raises(InvalidInput, match=r"of the package odd 1\.0 can't be loaded"):
        dialect_named(name)
    assert dialect_named("failproof").name == "failproof"


# -- scorers -------------------------------------------------------------------------------

CASE = Case(
    dialect="failproof", case_id="c", suite_id="s", turns=(Turn(role="user", content="?"),),
    expectation={"pattern": "a"}, document={"tags": ["kept"]},
)  # fmt: skip
SAID = Transcript((ModelReply(0, "a", "stop"),))


class Meddler:
    """Changes all that it is given."""

    name = "meddler"
    version = "1"

    def score(self, case: Case, transcript: Transcript, classification: Classification) -> float:
        case.document["tags"].append("changed")
        case.expectation.clear()
        classification.details["choice"] = "changed"
        return 1.0


class Numbers:
    name = "numbers"
    version = "1"

    def __init__(self, returned: Any) -> None:
        self._returned = returned

    def score(self, *given: Any) -> Any:
        return self._returned


def graded(scorer: Scorer, found: Classification) -> Score | Failure:
    class Plain:
        def score(self, *given: Any) -> Score:
            return Score({"accuracy": 1.0}, "r", "s", "1", passed=True)

    return grade(Plain(), [scorer], CASE, SAID, found, None)  # type: ignore[arg-type]


def test_what_a_scorer_changes_shows_nowhere() -> None:
    before = CASE.model_dump_json()
    found = Classification("pass", {"choice": "B"}, "c", "1")
    score = graded(Meddler(), found)
    assert isinstance(score, Score) and score.scores == {"accuracy": 1, "meddler": 1}
    assert CASE.model_dump_json() == before and found.details == {"choice": "B"}


@every("returned", [float("nan"), float("inf"), "1", None, {"a": float("nan")}])
def test_what_is_no_finite_number_ends_the_evaluation_without_a_score(returned: Any) -> None:
    score = graded(Numbers(returned), Classification("pass", {}, "c", "1"))
    assert isinstance(score, Failure) and score.kind == "scorer_failed"


# -- exporters -----------------------------------------------------------------------------

EXPORTER: Any = SimpleNamespace(name="odd")
NONE = Pieces(lambda own: [])
TEXT: Any = Pieces(lambda own: ["text"])  # type: ignore[list-item]


@every(
    ("file", "defect"),
    [
        (ExportedFile("a.txt", "rows", NONE), "`name` is of type str"),  # type: ignore[arg-type]
        (ExportedFile(PurePosixPath("a"), 1, NONE), "`collection` is"),  # type: ignore[arg-type]
        (ExportedFile(PurePosixPath("a"), "rows", [b""]), "`pieces` is"),  # type: ignore[arg-type]
        ("a.txt", "gives a str whose `name`"),
        (ExportedFile(PurePosixPath("../a"), "rows", NONE), "outside of the folder"),
        (ExportedFile(PurePosixPath("/a"), "rows", NONE), "outside of the folder"),
        (ExportedFile(PurePosixPath("a"), "rows", TEXT), "of the package odd 1.0 failed: TypeErr"),
    ],
)
def test_what_an_exporter_gives_and_is_no_file_is_its_defect(
    file: Any, defect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EXPORTERS, "package_of", lambda name: (name, "1.0"))
    with pytest.raises(InvalidInput) as raised, _blaming(EXPORTER):
        list(_write_files(EXPORTER, iter([file]), tmp_path))
    (problem,) = raised.value.problems
    assert problem.code == "plugin-failed" and problem.remedy
    assert "the exporter 'odd'" in problem.message and defect in problem.message
    assert not list(tmp_path.iterdir())


# -- providers -----------------------------------------------------------------------------

REQUEST = PreparedRequest("http://here/v1", b"{}")


class Stuck(Wire):
    async def send(self, request: PreparedRequest, on_text: Any = None) -> Answer:
        await asyncio.sleep(3600)
        raise AssertionError("nobody waits so long")


class Raises(Wire):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def send(self, request: PreparedRequest, on_text: Any = None) -> Answer:
        raise self._error


@every(
    ("provider", "kind", "disposition"),
    [
        (Stuck(), "timeout", "transient"),
        (Raises(ValueError("oh")), "client_exception", "final"),
        (Raises(TimeoutError("its own")), "client_exception", "final"),
        (Raises(ModelError("overloaded", "m", "deferred")), "overloaded", "deferred"),
    ],
)
def test_an_attempt_ends_in_an_answer_or_a_model_error(
    provider: Any, kind: str, disposition: str
) -> None:
    with pytest.raises(ModelError) as raised:
        asyncio.run(send_once(provider, REQUEST, None, 0.05))
    assert (raised.value.kind, raised.value.disposition) == (kind, disposition)


@every("wire", [Stuck(), Raises(ValueError("oh"))])
def test_a_provider_that_breaks_its_promise_ends_its_evaluation_and_no_run(wire: Wire) -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        journal = Recorded()
        await evaluating(gate, journal, wire, asyncio.Event(), longest_s=0.05)
        topics = [topic for append in journal.appends for topic in append]
        assert topics[-1] == "EvaluationAbandoned" and "ErrorRecorded" in topics

    at_a_gate(work)


def test_a_model_on_this_machine_may_take_as_long_as_it_makes_progress() -> None:
    from failproof_es.configuration.schema import Model

    here = Model(provider="local", model="smollm2")
    there = Model(provider="openai", model="m", base_url="http://127.0.0.1:9/v1")
    assert stuck_after_s(here, 3.0) == float("inf")
    assert stuck_after_s(there, 3.0) == 6.0
