"""Two runs on what both asked and both scored, model by model (`failproof_es.pairing`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple
from uuid import UUID

from failproof_es.case import prompt_id
from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.engine.asked_cases import question_of
from failproof_es.engine.collections import read_cases
from failproof_es.engine.recorded import WINDOW, read_chunk, read_run
from failproof_es.events import CarriedOver, Event, Scored
from failproof_es.pairing import Question, Unpaired, paired
from failproof_es.run import Run
from failproof_es.store.followed import followed
from failproof_es.store.reader import Connection, find


class Asked(NamedTuple):
    """The same question, put to a model for the n-th time."""

    prompt_id: UUID
    repetition: int


class ScoredPair(NamedTuple):
    """The accuracies of one question in two runs."""

    now: float
    before: float
    prompt_id: UUID
    family: tuple[str, str]
    """What it is not independent of."""


@dataclass(frozen=True, slots=True)
class Scores:
    """A model of one run and its counterpart in another, on what both were scored for."""

    model: str
    counterpart: str | None
    """`None` where the other run has no such model."""
    planned: int
    pairs: tuple[ScoredPair, ...]
    unpaired: tuple[Unpaired, ...]


def scores_of_both(connection: Connection, run_id: UUID, against: UUID) -> Iterator[Scores]:
    """Each model of a run with the same one of another; where each has one, these two."""
    run, other = (read_run(connection, each) for each in (run_id, against))
    models = [model.key for model in run.started.models]
    others = [model.key for model in other.started.models]
    alone = len(models) == len(others) == 1
    cases = _Cases(connection)
    asked, asked_before = cases.asked(run), cases.asked(other)
    now, before = accuracies(connection, run_id), accuracies(connection, against)
    for model in models:
        counterpart = others[0] if alone else model if model in others else None
        yield _scores(
            (model, asked, now.get(model, {})),
            (counterpart, asked_before if counterpart else [], before.get(counterpart or "", {})),
        )


class Planned(NamedTuple):
    """An evaluation of a plan, whatever model it is put to."""

    key: Asked
    question: Question
    family: tuple[str, str]
    """What it is not independent of."""


class _Cases:
    """The cases of several runs, each read once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._read: dict[str, tuple[Question, tuple[str, str]]] = {}

    def asked(self, run: Run) -> list[Planned]:
        """What a run asked, in the order of its plan."""
        run_id = run.started.originator_id
        chunks = (read_chunk(self._connection, run_id, chunk) for chunk in range(run.chunks))
        digests = list(dict.fromkeys(chain.from_iterable(chunks)))
        new = [digest for digest in digests if digest not in self._read]
        for digest, case in zip(new, read_cases(self._connection, new), strict=True):
            self._read[digest] = question_of(case), case.family
        repetitions = recorded_configuration(run.started).execution.repetitions
        return [
            Planned(Asked(prompt_id(digest), n), question._replace(repetition=n), family)
            for digest in digests
            for question, family in (self._read[digest],)
            for n in range(1, repetitions + 1)
        ]


def _scores(
    one: tuple[str, Sequence[Planned], Mapping[Asked, float]],
    other: tuple[str | None, Sequence[Planned], Mapping[Asked, float]],
) -> Scores:
    model, asked, now = one
    counterpart, asked_before, before = other
    found = paired(
        [each.question for each in asked],
        [each.question for each in asked_before],
        lambda first, second: asked[first].key in now and asked_before[second].key in before,
    )
    pairs = tuple(
        ScoredPair(
            now[asked[first].key],
            before[asked_before[second].key],
            asked[first].key.prompt_id,
            asked[first].family,
        )
        for first, second in found.pairs
    )
    return Scores(model, counterpart, len(asked), pairs, found.unpaired)


def accuracies(connection: Connection, run_id: UUID) -> dict[str, dict[Asked, float]]:
    """By model: the accuracy of everything that was scored, carried over or not."""
    found: dict[str, dict[Asked, float]] = {}
    for event in _scored(connection, run_id):
        accuracy = event.scores.get("accuracy")
        if accuracy is not None:
            asked = Asked(event.prompt_id, event.repetition)
            found.setdefault(event.model_key, {})[asked] = accuracy
    return found


def _scored(connection: Connection, run_id: UUID) -> Iterator[Scored]:
    carried_over: list[CarriedOver] = []
    topics = [Scored.__name__, CarriedOver.__name__]
    for row in find(connection, run_id=run_id, topics=topics):
        event: Event = row.event()
        if isinstance(event, Scored):
            yield event
        elif isinstance(event, CarriedOver):
            carried_over.append(event)
    remaining = iter(carried_over)
    while window := list(islice(remaining, WINDOW)):
        for history in followed(connection, window).values():
            yield from (event for event in history if isinstance(event, Scored))
