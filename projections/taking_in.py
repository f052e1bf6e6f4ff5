"""One batch of events, as the tables of `run_results` take it in.

Whether something counts depends on where events stand in the log, never on where a batch ends.
A run of which these tables cannot tell what the log tells is marked: `told` is false.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import orjson

from failproof_es.case import operations_id, review_id
from failproof_es.costs import Prices
from failproof_es.evaluation import EvaluationKey
from failproof_es.events import (
    CarriedOver,
    EvaluationEvent,
    Event,
    OperationEvent,
    PromptStored,
    Reviewed,
)
from failproof_es.outcome import EvaluationOutcome, outcome_of
from projections.counters import Change, GroupWords, save
from projections.outcome_rows import COLUMNS, OutcomeRow, outcome_row
from projections.protocol import Cursor, Fact, exact_text, sql_file, visible
from projections.runs_taken_in import RUN_TOPICS, Runs, prompts_of
from projections.streams import (
    Stretch,
    Told,
    follow_references,
    key_of,
    read_stretches,
    told_by,
)

_COPY: LiteralString = "COPY evaluations (" + ", ".join(COLUMNS) + ") FROM STDIN"


class _Stored(NamedTuple):
    """What stands of an evaluation already."""

    key: EvaluationKey
    first_position: int


class _Touched(NamedTuple):
    """An evaluation that the batch says something about: as it stands, and as it stood."""

    stream: UUID
    first_position: int
    last_position: int
    now: Told
    before: Told | None
    key: EvaluationKey


class _Prompt(NamedTuple):
    position: int
    case: GroupWords


def take_in(cursor: Cursor, facts: Sequence[Fact]) -> None:
    """Take in the next events, in order."""
    by_stream: dict[str, list[Fact]] = {}
    for fact in facts:
        by_stream.setdefault(fact.stream_id, []).append(fact)
    streams = {UUID(stream): found for stream, found in by_stream.items()}
    stored = _stored(cursor, streams)
    runs = Runs.of(cursor, streams)
    of_runs, of_evaluations, others = _sorted(streams, stored, runs.known)
    _take_prompts(cursor, runs, others)
    runs.take(cursor, of_runs)
    touched, unplaced = _touched(cursor, of_evaluations, stored)
    _note_unplaced(cursor, [*unplaced, *runs.unplaced, *_astray(others)])
    _take_evaluations(cursor, runs, touched, stored)
    runs.finish(cursor, [(each.stream, each.last_position) for each in touched])


Streams = dict[UUID, list[Fact]]


def _stored(cursor: Cursor, streams: Iterable[UUID]) -> dict[UUID, _Stored]:
    cursor.execute(
        "SELECT evaluation_id, run_id, prompt_id, model_key, repetition, first_position "
        "FROM evaluations WHERE evaluation_id = ANY (%s)",
        (list(streams),),
        binary=True,
    )
    return {
        stream: _Stored(EvaluationKey(run, prompt, exact_text(model), repetition), first)
        for stream, run, prompt, model, repetition, first in cursor
    }


def _sorted(
    streams: Streams, stored: dict[UUID, _Stored], runs: Iterable[UUID]
) -> tuple[Streams, Streams, Streams]:
    """The streams of runs, those of evaluations, and the others."""
    of_runs: Streams = {}
    of_evaluations: Streams = {}
    others: Streams = {}
    known = set(runs)
    for stream, facts in streams.items():
        if stream in known or facts[0].topic == "RunStarted":
            of_runs[stream] = facts
        elif stream in stored or any(isinstance(each.event, EvaluationEvent) for each in facts):
            of_evaluations[stream] = facts
        elif any(each.topic in RUN_TOPICS for each in facts):
            of_runs[stream] = facts
        else:
            others[stream] = facts
    return of_runs, of_evaluations, others


# -- prompts and what stands elsewhere ------------------------------------------------------------


def _take_prompts(cursor: Cursor, runs: Runs, others: Streams) -> None:
    rows = [
        _prompt_row(fact, fact.event)
        for facts in others.values()
        for fact in facts[:1]
        if isinstance(fact.event, PromptStored) and fact.version == 1
    ]
    if rows:
        cursor.execute(
            sql_file("run_results_prompts"), [list(column) for column in zip(*rows, strict=True)]
        )
    followed = [s for s, facts in others.items() if facts[-1].version > 1]
    if followed:  # the stream of a prompt holds its case alone
        cursor.execute(
            "UPDATE prompts SET spoiled = true WHERE prompt_id = ANY (%s) RETURNING prompt_id",
            (followed,),
        )
        runs.spoiled = [prompt for (prompt,) in cursor]


def _prompt_row(fact: Fact, event: PromptStored) -> tuple[Any, ...]:
    case = event.case
    return (
        event.originator_id,
        visible(case.suite_id),
        visible(case.case_id),
        _name(case.category),
        _name(case.label),
        _name(case.severity),
        orjson.dumps(fact.payload["case"]["tags"]).decode(),
        fact.position,
    )


def _astray(others: Streams) -> list[Fact]:
    """What stands on a stream that is not its own: an evaluation's may be spoiled by it."""
    found = []
    for stream, facts in others.items():
        for fact in facts:
            event = fact.event
            if isinstance(event, PromptStored):
                at_home = stream in prompts_of([event.digest])
            elif isinstance(event, Reviewed):
                at_home = stream == review_id(event.evaluation_id)
            elif isinstance(event, OperationEvent):
                at_home = stream == operations_id(event.about)
            else:
                at_home = event is not None
            if not at_home:
                found.append(fact)
    return found


def _note_unplaced(cursor: Cursor, facts: Sequence[Fact]) -> None:
    if facts:
        rows = [(f.position, UUID(f.stream_id), _uuid(f.run_id), f.topic) for f in facts]
        cursor.execute(
            "INSERT INTO unplaced_events (position, stream_id, run_id, topic) "
            "SELECT * FROM unnest(%s::bigint[], %s::uuid[], %s::uuid[], %s::text[])",
            [list(column) for column in zip(*rows, strict=True)],
        )


# -- evaluations ----------------------------------------------------------------------------------


def _touched(
    cursor: Cursor, streams: Streams, stored: dict[UUID, _Stored]
) -> tuple[list[_Touched], list[Fact]]:
    """The evaluations that the batch touches, and events that cannot be told whose they are."""
    now: dict[UUID, Told] = {}
    before: dict[UUID, Told] = {}
    stretches = []
    for stream, facts in streams.items():
        whole = stream not in stored and facts[0].version == 1
        if whole and all(each.version == place for place, each in enumerate(facts, 1)):
            now[stream] = _told(facts)
        else:
            stretches.append(Stretch(stream, facts[0].position, facts[-1].position))
    for stretch, rows in read_stretches(cursor.connection, stretches) if stretches else ():
        now[stretch.stream] = told_by(rows)
        if stretch.stream in stored:
            before[stretch.stream] = told_by(r for r in rows if r.position < stretch.first)
    found, unplaced = [], []
    for stream, facts in streams.items():
        known = stored.get(stream)
        first, key = (known.first_position, known.key) if known else (0, None)
        for fact in facts if known is None else ():
            if fact.event is not None and (key := key_of(stream, fact.event)) is not None:
                first = fact.position
                break
            unplaced.append(fact)
        if key is not None:
            told, earlier = now[stream], before.get(stream)
            found.append(_Touched(stream, first, facts[-1].position, told, earlier, key))
    return _with_sources(cursor, found, stored), unplaced


def _told(facts: Sequence[Fact]) -> Told:
    history: list[Event] = []
    for fact in facts:
        if fact.event is None:
            return Told(history, fact.damage)
        history.append(fact.event)
    return Told(history)


def _with_sources(
    cursor: Cursor, found: list[_Touched], stored: dict[UUID, _Stored]
) -> list[_Touched]:
    """Those that were carried over, as the other run tells them."""
    places = [
        place
        for place, each in enumerate(found)
        if each.now.history and isinstance(each.now.history[0], CarriedOver)
    ]
    if places:
        wanted = [(found[place].now, found[place].first_position) for place in places]
        wanted += [
            (before, found[place].first_position)
            for place in places
            if (before := found[place].before) is not None
        ]
        told = iter(follow_references(cursor.connection, wanted))
        for place in places:
            found[place] = found[place]._replace(now=next(told))
        for place in places:
            if found[place].before is not None:
                found[place] = found[place]._replace(before=next(told))
    return found


def _take_evaluations(
    cursor: Cursor, runs: Runs, touched: Sequence[_Touched], stored: dict[UUID, _Stored]
) -> None:
    runs.load(cursor, {each.key.run_id for each in touched})
    prompts = _prompts(cursor, {each.key.prompt_id for each in touched})
    planned = _planned(cursor, {(each.key.run_id, each.key.prompt_id) for each in touched})
    changes: dict[UUID, Change] = runs.changes
    rows: list[OutcomeRow] = []
    for each in touched:
        key, run = each.key, each.key.run_id
        prices = runs.prices(cursor, run)
        outcome = _outcome(key, each.now, prices)
        place = planned.get((run, key.prompt_id))
        in_plan = place is not None and place < each.first_position and runs.plans(key)
        prompt = prompts.get(key.prompt_id)
        counted = in_plan and prompt is not None and prompt.position < each.first_position
        if in_plan and not counted:
            runs.untold.add(run)
        if counted and prompt is not None:
            change = changes.setdefault(run, Change())
            try:
                change.add(outcome, each.now.history, prompt.case, prices)
                if each.before is not None:
                    earlier = _outcome(key, each.before, prices)
                    change.add(earlier, each.before.history, prompt.case, prices, -1)
            except (ValueError, ArithmeticError):
                runs.untold.add(run)
        rows.append(
            outcome_row(
                outcome,
                counted=counted,
                first_position=each.first_position,
                last_position=each.last_position,
            )
        )
    _write(cursor, rows, [each.stream for each in touched if each.stream in stored])
    save(cursor, changes)


def _outcome(key: EvaluationKey, told: Told, prices: Prices) -> EvaluationOutcome:
    return outcome_of(key, told.history, prices, carried_over=told.carried_over, broken=told.broken)


def _write(cursor: Cursor, rows: Sequence[OutcomeRow], stored: Sequence[UUID]) -> None:
    if stored:
        cursor.execute("DELETE FROM evaluations WHERE evaluation_id = ANY (%s)", (stored,))
    if rows:
        with cursor.copy(_COPY) as copy:
            for row in rows:
                copy.write_row(row)


def _prompts(cursor: Cursor, wanted: Iterable[UUID]) -> dict[UUID, _Prompt]:
    cursor.execute(
        "SELECT prompt_id, position, suite_id, category, severity FROM prompts "
        "WHERE prompt_id = ANY (%s)",
        (list(wanted),),
        binary=True,
    )
    return {
        prompt: _Prompt(
            position,
            GroupWords(exact_text(suite), _exact(category), _exact(severity)),
        )
        for prompt, position, suite, category, severity in cursor
    }


def _planned(cursor: Cursor, wanted: Iterable[tuple[UUID, UUID]]) -> dict[tuple[UUID, UUID], int]:
    pairs = list(wanted)
    cursor.execute(
        "SELECT run_id, prompt_id, position FROM planned_cases JOIN unnest(%s::uuid[], %s::uuid[]) "
        "AS wanted (run_id, prompt_id) USING (run_id, prompt_id)",
        ([run for run, _ in pairs], [prompt for _, prompt in pairs]),
        binary=True,
    )
    return {(run, prompt): position for run, prompt, position in cursor}


def _uuid(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)


def _name(text: str | None) -> str | None:
    return None if text is None else visible(text)


def _exact(text: str | None) -> str | None:
    return None if text is None else exact_text(text)
