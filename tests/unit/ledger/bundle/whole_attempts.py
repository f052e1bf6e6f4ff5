"""The attempts of an experiment, from plans and cases that are whole in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from failproof_es.core.experiment import (
    RelatedRuns,
    RunQuestions,
    conditions,
    experiment_digest,
    find_related,
    graded_digest,
    question_digest,
    set_digest,
)
from failproof_es.ledger.attempts import ProvenAttempts, UnrelatedRuns

_STATUS = {
    "RunStarted": "running",
    "RunResumed": "running",
    "RunPaused": "paused",
    "RunCompleted": "completed",
    "RunFailed": "failed",
    "RunGivenUp": "given_up",
}
_COUNTS = ("planned", "finished", "scored", "abandoned")

Told = tuple[str, dict[str, Any]]


def read_attempts(
    own: Sequence[Told], others: Iterable[Sequence[Told]], case_of: Callable[[str], Any]
) -> ProvenAttempts:
    """Count the attempts. No run may be missing, and none may be here that is unrelated.

    The first of `own` and of each other run is its `RunStarted`; `case_of` gives the stored case
    of a digest that `own` planned. Raises `UnrelatedRuns`.
    """
    runs = list(others)
    try:
        return _by_experiment(own, runs, case_of)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnrelatedRuns(f"the experiment of a run cannot be read: {error}") from None


def _by_experiment(
    own: Sequence[Told], others: Sequence[Sequence[Told]], case_of: Callable[[str], Any]
) -> ProvenAttempts:
    streams = {_run_id(stream): stream for stream in (own, *others)}
    asking = {run_id: RunQuestions.of(it[0][1], _reader(it)) for run_id, it in streams.items()}
    if len({each.number for each in asking.values()}) < 1 + len(others):
        raise UnrelatedRuns("two runs have the same number")
    for each in asking.values():
        if each.questions != set_digest(each.read_questions()):
            raise UnrelatedRuns(f"run {each.run_id} planned other questions than it recorded")
    it = asking[_run_id(own)]
    _check_own(it, own, case_of)
    found = find_related(it, asking.values())
    _check_complete(found, own, it.number, streams)
    _check_numbers(found, streams)
    return ProvenAttempts(
        1 + found.attempts.index(it),
        len(found.attempts),
        it.digest,
        tuple(
            {"attempt": place, **_outcome(each, streams[each.run_id])}
            for place, each in enumerate(found.attempts, 1)
            if each is not it
        ),
        tuple(
            {"shared_cases": shared, **_outcome(each, streams[each.run_id])}
            for each, shared in found.overlapping
        ),
    )


def _check_own(own: RunQuestions, stream: Sequence[Told], case_of: Callable[[str], Any]) -> None:
    """Check a run's recorded digests: they are computed again from the cases themselves."""
    questions, graded = [], []
    for payload in _of_topic(stream, "CasesPlanned"):
        cases = [case_of(digest) for digest in payload["digests"]]
        graded += [graded_digest(case) for case in cases]
        questions = [question_digest(case) for case in cases]
        if payload.get("questions") != questions:
            raise UnrelatedRuns("the recorded questions are not those of the cases")
    if own.digest != experiment_digest(conditions(stream[0][1]), graded):
        raise UnrelatedRuns("the recorded experiment is not that of the cases and models")


def _check_complete(
    found: RelatedRuns, own: Sequence[Told], number: int, streams: Mapping[str, object]
) -> None:
    """Every run here is an attempt or overlaps, and no earlier overlapping run is missing."""
    overlapping = {each.run.run_id for each in found.overlapping}
    if strange := set(streams) - overlapping - {each.run_id for each in found.attempts}:
        raise UnrelatedRuns(
            f"run {min(strange)} is no attempt of this experiment and does not overlap"
        )
    said = own[0][1]["experiment"]["overlapping"]
    before = sum(each.run.number < number for each in found.overlapping)
    if type(said) is not int or said != before:
        raise UnrelatedRuns(
            "an overlapping run is missing or was added: "
            f"the run recorded {said} before it, and {before} are here"
        )


def _check_numbers(found: RelatedRuns, streams: Mapping[str, Sequence[Told]]) -> None:
    """The number that each attempt recorded is its place among the attempts here."""
    for place, each in enumerate(found.attempts, 1):
        said = streams[each.run_id][0][1].get("attempt")
        if type(said) is not int or said != place:
            raise UnrelatedRuns(
                f"a run of this experiment is missing: attempt {said} is number {place} here"
            )


def _run_id(stream: Sequence[Told]) -> str:
    run_id = stream[0][1]["run_id"]
    if type(run_id) is not str:
        raise ValueError("its id is not text")
    return run_id


def _reader(stream: Sequence[Told]) -> Callable[[], frozenset[str]]:
    listed: list[Any] = [payload.get("questions") for payload in _of_topic(stream, "CasesPlanned")]
    if any(type(each) is not list for each in listed):
        raise ValueError("its plan is not a list")
    digests = frozenset(digest for each in listed for digest in each)
    if any(type(digest) is not str for digest in digests):
        raise ValueError("its plan holds something that is not a digest")
    return lambda: digests


def _of_topic(stream: Sequence[Told], topic: str) -> list[dict[str, Any]]:
    return [payload for name, payload in stream if name == topic]


def _outcome(run: RunQuestions, stream: Sequence[Told]) -> dict[str, Any]:
    """The status, counts and gates of a run, as far as its stream is here."""
    status, counts, gates_met = "running", None, None
    for topic, payload in stream:
        status = _STATUS.get(topic, status)
        if topic in ("RunPaused", "RunCompleted", "RunFailed", "RunGivenUp"):
            counts = {name: payload["counts"][name] for name in _COUNTS}
            if any(type(count) is not int for count in counts.values()):
                raise ValueError("its counts are not numbers")
        if topic == "RunCompleted":
            gates = list(payload.get("gates", {}).values())
            gates_met = all(gate["met"] is True for gate in gates) if gates else None
    return {
        "run_id": run.run_id,
        "run_number": run.number,
        "status": status,
        "counts": counts,
        "gates_met": gates_met,
    }
