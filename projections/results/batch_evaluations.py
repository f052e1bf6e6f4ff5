"""Writes the evaluations that a batch of events touches to the tables of `run_results`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, repeat
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from psycopg import sql

from failproof_es.core.case import family_tag_of
from failproof_es.core.costs import Prices
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import EvaluationOutcome, FoldedHistory, outcome_of
from failproof_es.events import CarriedOver, Event
from projections.protocol import Cursor, Fact, exact_text, sql_file, uuid_array
from projections.results.batch_runs import Runs
from projections.results.counters import CounterChange, GroupWords, save
from projections.results.outcome_rows import COLUMNS, outcome_row
from projections.results.streams import (
    Streams,
    StreamSlice,
    StreamSummary,
    follow_references,
    id_array,
    key_of,
    read_slices,
    summarize_stream,
)

_COPY = sql.SQL("COPY evaluations ({}) FROM STDIN").format(
    sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
)


class StoredEvaluation(NamedTuple):
    """The key and the first position of an evaluation that has a row."""

    key: EvaluationKey
    first_position: int


class TouchedEvaluation(NamedTuple):
    """An evaluation with events in the batch: its stream after the batch, and before."""

    stream: str
    first_position: int
    last_position: int
    now: StreamSummary
    before: StreamSummary | None
    key: EvaluationKey
    folded: FoldedHistory | None = None
    """`now`, folded, if that is done already."""


class _Case(NamedTuple):
    planned: int | None
    """The position at which the run planned it."""
    stored: int | None
    """The position at which it was stored."""
    words: GroupWords


def stored_evaluations(cursor: Cursor, streams: Iterable[str]) -> dict[str, StoredEvaluation]:
    """The evaluations with a row in the table `evaluations`, by stream, among these streams."""
    cursor.execute(
        "SELECT evaluation_id::text, run_id, prompt_id, model_key, repetition, first_position "
        "FROM evaluations WHERE evaluation_id = ANY (%s::uuid[])",
        (id_array(streams),),
        binary=True,
    )
    return {
        stream: StoredEvaluation(EvaluationKey(run, prompt, exact_text(model), repetition), first)
        for stream, run, prompt, model, repetition, first in cursor
    }


def touched_evaluations(
    cursor: Cursor, streams: Streams, stored: dict[str, StoredEvaluation]
) -> tuple[list[TouchedEvaluation], list[Fact]]:
    """The evaluations that the batch touches, and the events that belong to no known evaluation.

    `streams` has the batch's events by stream, `stored` the evaluations with a row.
    """
    new_streams: list[tuple[str, list[Fact], StreamSummary]] = []
    other_streams: Streams = {}
    for stream, facts in streams.items():
        if facts[0].version == 1 and stream not in stored and _consecutive(facts):
            new_streams.append((stream, facts, _summarize_facts(facts)))
        else:
            other_streams[stream] = facts
    now: dict[str, StreamSummary] = {}
    before: dict[str, StreamSummary] = {}
    touched, unplaced = [], []
    whole = [FoldedHistory.of(summary.history) for _, _, summary in new_streams]
    for (stream, facts, summary), folded in zip(new_streams, whole, strict=True):
        if (its := folded.state.key) is not None:
            first, last = facts[0].position, facts[-1].position
            touched.append(TouchedEvaluation(stream, first, last, summary, None, its, folded))
        else:
            now[stream], other_streams[stream] = summary, facts
    stretches = [
        StreamSlice(UUID(stream), facts[0].position, facts[-1].position)
        for stream, facts in other_streams.items()
        if stream not in now
    ]
    for stretch, rows in read_slices(cursor.connection, stretches) if stretches else ():
        stream = str(stretch.stream)
        now[stream] = summarize_stream(rows)
        if stream in stored:
            before[stream] = summarize_stream(r for r in rows if r.position < stretch.first)
    for stream, facts in other_streams.items():
        evaluation = stored.get(stream)
        first, key = (evaluation.first_position, evaluation.key) if evaluation else (0, None)
        for fact in facts if evaluation is None else ():
            if fact.event is not None and (key := key_of(fact.event)) is not None:
                first = fact.position
                break
            unplaced.append(fact)
        if key is not None:
            summary, earlier = now[stream], before.get(stream)
            touched.append(
                TouchedEvaluation(stream, first, facts[-1].position, summary, earlier, key)
            )
    return _with_sources(cursor, touched, stored), unplaced


def _consecutive(facts: Sequence[Fact]) -> bool:
    return [fact.version for fact in facts] == list(range(1, len(facts) + 1))


def _summarize_facts(facts: Sequence[Fact]) -> StreamSummary:
    history: list[Event] = []
    for fact in facts:
        if fact.event is None:
            return StreamSummary(history, fact.damage)
        history.append(fact.event)
    return StreamSummary(history)


def _with_sources(
    cursor: Cursor, touched: list[TouchedEvaluation], stored: dict[str, StoredEvaluation]
) -> list[TouchedEvaluation]:
    """The evaluations, with the streams of carried-over ones replaced by those of their sources."""
    places = [
        place
        for place, evaluation in enumerate(touched)
        if evaluation.now.history and type(evaluation.now.history[0]) is CarriedOver
    ]
    if places:
        references = [(touched[place].now, touched[place].first_position) for place in places]
        references += [
            (before, touched[place].first_position)
            for place in places
            if (before := touched[place].before) is not None
        ]
        resolved = iter(follow_references(cursor.connection, references))
        for place in places:
            touched[place] = touched[place]._replace(now=next(resolved), folded=None)
        for place in places:
            if touched[place].before is not None:
                touched[place] = touched[place]._replace(before=next(resolved))
    return touched


def take_evaluations(
    cursor: Cursor,
    runs: Runs,
    touched: Sequence[TouchedEvaluation],
    stored: dict[str, StoredEvaluation],
) -> None:
    """Write the rows of the touched evaluations, and update the counters of their runs.

    `stored` has the evaluations with a row, which is replaced. Each step handles all of them, which
    is much faster than evaluation by evaluation.
    """
    by_run = [(run, list(group)) for run, group in groupby(touched, _run_of)]
    runs.load(cursor, {run for run, _ in by_run})
    cases = _read_cases(cursor, [evaluation.key for evaluation in touched])
    prices = [its for run, group in by_run for its in repeat(runs.prices(run), len(group))]
    outcomes = [
        _outcome(evaluation.key, evaluation.now, its_prices, evaluation.folded)
        for evaluation, its_prices in zip(touched, prices, strict=True)
    ]
    counted = _find_counted(runs, touched, cases)
    for evaluation, outcome, case, its_prices in zip(
        touched, outcomes, counted, prices, strict=True
    ):
        if case is not None:
            _count_evaluation(runs, evaluation, outcome, case, its_prices)
    rows = (
        outcome_row(
            outcome,
            counted=case is not None,
            first_position=evaluation.first_position,
            last_position=evaluation.last_position,
        )
        for evaluation, outcome, case in zip(touched, outcomes, counted, strict=True)
    )
    _write(
        cursor, rows, [evaluation.stream for evaluation in touched if evaluation.stream in stored]
    )
    save(cursor, runs.changes)


def _run_of(touched: TouchedEvaluation) -> UUID:
    return touched.key.run_id


def _find_counted(
    runs: Runs, touched: Sequence[TouchedEvaluation], cases: Sequence[_Case]
) -> list[GroupWords | None]:
    """The attributes of the case of each evaluation that counts, else `None`; in order.

    An evaluation counts if it was planned, and its case stored, before it began.
    """
    plans: dict[tuple[str, int], bool] = {}
    run: UUID | None = None
    counted = []
    for evaluation, case in zip(touched, cases, strict=True):
        key, first = evaluation.key, evaluation.first_position
        counts = None
        if case.planned is not None and case.planned < first:
            if key.run_id is not run:
                run, plans = key.run_id, {}
            plan_key = (key.model_key, key.repetition)
            in_plan = plans.get(plan_key)
            if in_plan is None:
                in_plan = plans[plan_key] = runs.plans(key)
            if in_plan and case.stored is not None and case.stored < first:
                counts = case.words
            elif in_plan:
                runs.untold.add(key.run_id)
        counted.append(counts)
    return counted


def _count_evaluation(
    runs: Runs,
    evaluation: TouchedEvaluation,
    outcome: EvaluationOutcome,
    case: GroupWords,
    prices: Prices,
) -> None:
    run = evaluation.key.run_id
    change = runs.changes.get(run)
    if change is None:
        change = runs.changes[run] = CounterChange()
    assert change.counts.clusters is not None
    change.counts.clusters.repeated = runs.repeats(run)
    try:
        change.add(outcome, evaluation.now.history, case, prices)
        if evaluation.before is not None:
            earlier = _outcome(evaluation.key, evaluation.before, prices)
            change.add(earlier, evaluation.before.history, case, prices, -1)
    except (ValueError, ArithmeticError):
        runs.untold.add(run)


def _outcome(
    key: EvaluationKey, summary: StreamSummary, prices: Prices, folded: FoldedHistory | None = None
) -> EvaluationOutcome:
    return outcome_of(
        key,
        summary.history,
        prices,
        carried_over=summary.carried_over,
        broken=summary.broken,
        folded=folded,
    )


def _write(cursor: Cursor, rows: Iterable[Sequence[Any]], stored: Sequence[str]) -> None:
    """Write rows to `evaluations`, computing them while the server receives earlier ones.

    `stored` are the streams of the evaluations that have a row, which is deleted.
    """
    if stored:
        cursor.execute(
            "DELETE FROM evaluations WHERE evaluation_id = ANY (%s::uuid[])", (id_array(stored),)
        )
    with cursor.copy(_COPY) as copy:
        for row in rows:
            copy.write_row(row)


def _read_cases(cursor: Cursor, keys: Sequence[EvaluationKey]) -> list[_Case]:
    """The position and the attributes of the case of each of these evaluations, in this order."""
    cursor.execute(
        sql_file("run_results_cases"),
        (uuid_array(key.run_id for key in keys), uuid_array(key.prompt_id for key in keys)),
        binary=True,
    )
    words: dict[tuple[str | None, ...], GroupWords] = {}
    cases = []
    for planned, stored, *columns in cursor:
        group_words = words.get(tuple(columns))
        if group_words is None:
            suite, category, severity, case, tags = columns
            group_words = words[suite, category, severity, case, tags] = GroupWords(
                _exact(suite) or "", _exact(category), _exact(severity), _exact(case) or "",
                None if tags is None else family_tag_of(orjson.loads(tags)),
            )  # fmt: skip
        cases.append(_Case(planned, stored, group_words))
    return cases


def _exact(text: str | None) -> str | None:
    return None if text is None else exact_text(text)
