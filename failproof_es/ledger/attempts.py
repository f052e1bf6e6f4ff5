"""Numbers the attempts of an experiment, from the runs in an evidence bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from failproof_es.core.experiment import (
    RelatedRuns,
    RunQuestions,
    conditions,
    digest_of_sorted,
    experiment_digest_of_sorted,
    find_related,
    set_digest,
)
from failproof_es.events import COUNTED, RUN_STATUS
from failproof_es.ledger.packed import DIGEST_BYTES, Digests, PackedMap, sorted_digests

_COUNTS = ("planned", "finished", "scored", "abandoned")

TopicPayload = tuple[str, dict[str, Any]]
"""(topic, payload) of an event of a run's own stream; lists of digests in it are `Digests`."""
ReadCaseDigests = Callable[[Digests], list[tuple[bytes, bytes]]]
"""Returns (`question_digest`, `graded_digest`) of each case, by the cases' digests."""


class UnrelatedRuns(Exception):
    """The other runs do not match the run's own record, or are unrelated to it."""


@dataclass(frozen=True, slots=True)
class ProvenAttempts:
    """The attempts of a run's experiment, and the runs that overlap with it."""

    attempt: int
    """The run's place among them, from 1."""
    attempts: int
    """The number of attempts, unfinished ones included."""
    experiment: str
    """The digest of the experiment."""
    other_attempts: tuple[dict[str, Any], ...]
    """The other attempts with their results, in order."""
    overlapping: tuple[dict[str, Any], ...]
    """The overlapping runs, which are not attempts, with their results, in order."""


def read_attempts(
    own: Sequence[TopicPayload],
    other_runs: Iterable[Sequence[TopicPayload]],
    cases_told: ReadCaseDigests,
) -> ProvenAttempts:
    """Count the attempts. No related run may be missing, and no unrelated run included.

    The first event of `own` and of each other run is its `RunStarted`; `cases_told` returns the
    digests of the stored cases that `own` planned. Raises `UnrelatedRuns`.
    """
    runs = list(other_runs)
    try:
        return _count_attempts(own, runs, cases_told)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnrelatedRuns(f"the experiment of a run cannot be read: {error}") from None


def _count_attempts(
    own: Sequence[TopicPayload],
    other_runs: Sequence[Sequence[TopicPayload]],
    cases_told: ReadCaseDigests,
) -> ProvenAttempts:
    streams = {_run_id(stream): stream for stream in (own, *other_runs)}
    asking = {run_id: RunQuestions.of(it[0][1], _plan_reader(it)) for run_id, it in streams.items()}
    if len({run.number for run in asking.values()}) < 1 + len(other_runs):
        raise UnrelatedRuns("two runs have the same number")
    for run in asking.values():
        if run.questions != _planned_set_digest(streams[run.run_id]):
            raise UnrelatedRuns(f"run {run.run_id} planned other questions than it recorded")
    it = asking[_run_id(own)]
    _check_own(it, own, cases_told)
    related = find_related(it, asking.values())
    _check_complete(related, own, it.number, streams)
    _check_numbers(related, streams)
    return ProvenAttempts(
        1 + related.attempts.index(it),
        len(related.attempts),
        it.digest,
        tuple(
            {"attempt": place, **_outcome(run, streams[run.run_id])}
            for place, run in enumerate(related.attempts, 1)
            if run is not it
        ),
        tuple(
            {"shared_cases": shared, **_outcome(run, streams[run.run_id])}
            for run, shared in related.overlapping
        ),
    )


def _check_own(
    own: RunQuestions, stream: Sequence[TopicPayload], cases_told: ReadCaseDigests
) -> None:
    """Check a run's recorded digests against those computed from its cases."""
    graded = PackedMap(DIGEST_BYTES)
    for payload in _of_topic(stream, "CasesPlanned"):
        case_digests = cases_told(payload["digests"])
        for _, digest in case_digests:
            graded.add(digest)
        recorded, questions = (
            payload.get("questions"),
            b"".join(question for question, _ in case_digests),
        )
        if not isinstance(recorded, Digests) or recorded.packed != questions:
            raise UnrelatedRuns("the recorded questions are not those of the cases")
    cases = (digest.hex() for digest in graded)
    if own.digest != experiment_digest_of_sorted(conditions(stream[0][1]), cases):
        raise UnrelatedRuns("the recorded experiment is not that of the cases and models")


def _check_complete(
    related: RelatedRuns, own: Sequence[TopicPayload], number: int, streams: Mapping[str, object]
) -> None:
    """Check that every run is an attempt or overlaps, with no earlier overlapping run missing."""
    overlapping = {overlap.run.run_id for overlap in related.overlapping}
    if strange := set(streams) - overlapping - {run.run_id for run in related.attempts}:
        raise UnrelatedRuns(
            f"run {min(strange)} is no attempt of this experiment and does not overlap"
        )
    recorded = own[0][1]["experiment"]["overlapping"]
    before = sum(overlap.run.number < number for overlap in related.overlapping)
    if type(recorded) is not int or recorded != before:
        raise UnrelatedRuns(
            "an overlapping run is missing or was added: "
            f"the run recorded {recorded} before it, and {before} are here"
        )


def _check_numbers(related: RelatedRuns, streams: Mapping[str, Sequence[TopicPayload]]) -> None:
    """Check that the attempt number that each attempt recorded is its place among the attempts."""
    for place, run in enumerate(related.attempts, 1):
        recorded = streams[run.run_id][0][1].get("attempt")
        if type(recorded) is not int or recorded != place:
            raise UnrelatedRuns(
                f"a run of this experiment is missing: attempt {recorded} is number {place} here"
            )


def _run_id(stream: Sequence[TopicPayload]) -> str:
    run_id = stream[0][1]["run_id"]
    if type(run_id) is not str:
        raise ValueError("its id is not text")
    return run_id


def _plan_reader(stream: Sequence[TopicPayload]) -> Callable[[], frozenset[str]]:
    """A function that reads the plan. An invalid plan raises `ValueError` here already."""
    if any(type(questions) is list for questions in _question_lists(stream)):
        _planned_questions(stream)
    return lambda: _planned_questions(stream)


def _planned_questions(stream: Sequence[TopicPayload]) -> frozenset[str]:
    digests = frozenset(digest for questions in _question_lists(stream) for digest in questions)
    if any(type(digest) is not str for digest in digests):
        raise ValueError("its plan holds something that is not a digest")
    return digests


def _question_lists(stream: Sequence[TopicPayload]) -> list[Any]:
    question_lists = [payload.get("questions") for payload in _of_topic(stream, "CasesPlanned")]
    if any(type(questions) not in (list, Digests) for questions in question_lists):
        raise ValueError("its plan is not a list")
    return question_lists


def _planned_set_digest(stream: Sequence[TopicPayload]) -> str:
    """The `set_digest` of a run's planned questions."""
    question_lists = _question_lists(stream)
    if all(type(questions) is Digests for questions in question_lists):
        return digest_of_sorted(sorted_digests(question_lists))
    return set_digest(_planned_questions(stream))


def _of_topic(stream: Sequence[TopicPayload], topic: str) -> list[dict[str, Any]]:
    return [payload for name, payload in stream if name == topic]


def _outcome(run: RunQuestions, stream: Sequence[TopicPayload]) -> dict[str, Any]:
    """The status, counts and gates of a run, from the events of its stream that are here."""
    status, counts, gates_met = "running", None, None
    for topic, payload in stream:
        status = RUN_STATUS.get(topic, status)
        if topic in COUNTED:
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


def lines(attempts: ProvenAttempts, configuration_digest: str) -> list[str]:
    """The lines of a summary about the attempts and the overlapping runs."""
    return [
        f"attempt {attempts.attempt} of {attempts.attempts} of experiment {attempts.experiment}, "
        f"configuration {configuration_digest}",
        *(f"attempt {run['attempt']} was {_describe_run(run)}" for run in attempts.other_attempts),
        *(
            f"overlapping, with {run['shared_cases']} of the same cases: {_describe_run(run)}"
            for run in attempts.overlapping
        ),
    ]


def _describe_run(run: Mapping[str, Any]) -> str:
    counts, met = run["counts"], run["gates_met"]
    count_text = (
        "no counts" if counts is None else ", ".join(f"{name} {counts[name]}" for name in _COUNTS)
    )
    gates = {True: "gates met", False: "gates not met", None: "no gates judged"}[met]
    return f"run {run['run_number']} ({run['run_id']}): {run['status']}, {count_text}, {gates}"
