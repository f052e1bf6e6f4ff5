"""Applies one batch of events to the tables of `run_results`.

Whether something counts depends on where events stand in the log, never on where a batch ends.
A run of which these tables cannot tell what the log tells is marked: `told` is false.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby, repeat
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import orjson

from failproof_es.core.case import digest_number, operations_id, review_id
from failproof_es.core.costs import Prices
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import EvaluationOutcome, Folded, outcome_of
from failproof_es.events import (
    CarriedOver,
    Event,
    OperationEvent,
    PromptStored,
    Reviewed,
    RunStarted,
    topics,
)
from projections.protocol import Cursor, Fact, exact_text, sql_file, uuid_array, visible
from projections.results.batch_runs import RUN_TOPICS, Runs
from projections.results.counters import Change, GroupWords, save
from projections.results.outcome_rows import COLUMNS, OutcomeRow, outcome_row
from projections.results.streams import (
    StreamSlice,
    StreamSummary,
    follow_references,
    key_of,
    read_slices,
    summarize_stream,
)

_EVALUATION_TOPICS = frozenset(topics("evaluation"))
_COPY: LiteralString = "COPY evaluations (" + ", ".join(COLUMNS) + ") FROM STDIN"


class _Stored(NamedTuple):
    """What stands of an evaluation already."""

    key: EvaluationKey
    first_position: int


class _Touched(NamedTuple):
    """An evaluation that the batch says something about: as it stands, and as it stood."""

    stream: str
    first_position: int
    last_position: int
    now: StreamSummary
    before: StreamSummary | None
    key: EvaluationKey
    folded: Folded | None = None
    """What `now` amounts to, where that is known already."""


Streams = dict[str, list[Fact]]
"""By their ids as text: a `UUID` takes ten times as long to look up."""


class _Case(NamedTuple):
    planned: int | None
    """Where the run's plan names it."""
    stored: int | None
    """Where it was recorded."""
    words: GroupWords


def apply_batch(cursor: Cursor, facts: Sequence[Fact]) -> None:
    """Take in the next events, in order. What is written is what one after the other would give."""
    while facts:
        facts = facts[_apply_first(cursor, facts) :]


def _apply_first(cursor: Cursor, facts: Sequence[Fact]) -> int:
    """Take in the first of these events, as many as can be taken in together; how many."""
    streams: Streams = {}
    for fact in facts:
        found = streams.get(fact.stream_id)
        if found is None:
            streams[fact.stream_id] = [fact]
        else:
            found.append(fact)
    stored = _stored(cursor, streams)
    runs = Runs.of(cursor, streams)
    if (turn := _first_turn(streams, stored, runs.known)) is not None:
        count = sum(fact.position < turn for fact in facts)
        apply_batch(cursor, facts[:count])
        return count
    of_runs, of_evaluations, others = _sorted(streams, stored, runs.known)
    known = {str(each) for each in runs.known}
    strangers = {
        stream: found
        for stream, found in (of_runs | of_evaluations).items()
        if stream not in known and stream not in stored
    }
    _take_prompts(cursor, runs, others, strangers)
    runs.take(cursor, {UUID(stream): found for stream, found in of_runs.items()})
    touched, unplaced = _touched(cursor, of_evaluations, stored)
    _note_unplaced(cursor, [*unplaced, *runs.unplaced, *_astray(others)])
    if touched:
        _take_evaluations(cursor, runs, touched, stored)
    else:
        save(cursor, runs.changes)
    runs.finish(cursor, [(each.stream, each.last_position) for each in touched])
    return len(facts)


def _first_turn(
    streams: Streams, stored: Mapping[str, object], runs: Collection[UUID]
) -> int | None:
    """The first position at which a stream goes on whose kind its first event does not settle.

    Such a stream holds events that do not belong together. Where nobody tampered there is none.
    """
    known = {str(each) for each in runs}
    turns = [
        facts[1].position
        for stream, facts in streams.items()
        if len(facts) > 1 and stream not in known and stream not in stored and not _settled(facts)
    ]
    return min(turns, default=None)


def _settled(facts: Sequence[Fact]) -> bool:
    """Whether all of a stream's events are of the kind of its first one."""
    first = facts[0]
    event = first.event
    if event is not None and key_of(event) is not None:
        return True  # of an evaluation, and so is what follows
    if first.topic in RUN_TOPICS:
        begins = isinstance(event, RunStarted) and first.version == 1
        own = event is not None and event.run_id == event.originator_id
        return (begins and own) or all(each.topic in RUN_TOPICS for each in facts)
    return not any(each.topic in RUN_TOPICS or _of_evaluation(each) for each in facts)


def _stored(cursor: Cursor, streams: Iterable[str]) -> dict[str, _Stored]:
    cursor.execute(
        "SELECT evaluation_id::text, run_id, prompt_id, model_key, repetition, first_position "
        "FROM evaluations WHERE evaluation_id = ANY (%s::uuid[])",
        (_array(streams),),
        binary=True,
    )
    return {
        stream: _Stored(EvaluationKey(run, prompt, exact_text(model), repetition), first)
        for stream, run, prompt, model, repetition, first in cursor
    }


def _sorted(
    streams: Streams, stored: dict[str, _Stored], runs: Iterable[UUID]
) -> tuple[Streams, Streams, Streams]:
    """The streams of runs, those of evaluations, and the others."""
    of_runs: Streams = {}
    of_evaluations: Streams = {}
    others: Streams = {}
    known = {str(each) for each in runs}
    for stream, facts in streams.items():
        if stream in known:
            of_runs[stream] = facts
        elif stream in stored:  # what follows an evaluation's first event is of it, whatever it is
            of_evaluations[stream] = facts
        elif facts[0].topic == "RunStarted":
            of_runs[stream] = facts
        elif any(map(_of_evaluation, facts)):
            of_evaluations[stream] = facts
        elif any(each.topic in RUN_TOPICS for each in facts):
            of_runs[stream] = facts
        else:
            others[stream] = facts
    return of_runs, of_evaluations, others


def _of_evaluation(fact: Fact) -> bool:
    return fact.topic in _EVALUATION_TOPICS and fact.event is not None


# -- prompts and what stands elsewhere ------------------------------------------------------------


def _take_prompts(cursor: Cursor, runs: Runs, others: Streams, strangers: Streams) -> None:
    """Write the cases of `others`. `strangers` may follow a case, in its stream."""
    rows = [
        _prompt_row(fact, fact.event)
        for facts in others.values()
        for fact in facts[:1]
        if isinstance(fact.event, PromptStored) and fact.version == 1
    ]
    if rows:
        ids, *columns = zip(*rows, strict=True)
        cursor.execute(
            sql_file("run_results_prompts"), [_array(ids), *(list(each) for each in columns)]
        )
    followed = [s for s, facts in others.items() if facts[-1].version > 1]
    followed += [s for s, facts in strangers.items() if facts[0].version > 1]
    if followed:  # the stream of a prompt holds its case alone
        cursor.execute(
            "UPDATE prompts SET spoiled = true WHERE prompt_id = ANY (%s::uuid[]) "
            "RETURNING prompt_id",
            (followed,),
        )
        runs.spoiled = [prompt for (prompt,) in cursor]


def _prompt_row(fact: Fact, event: PromptStored) -> tuple[Any, ...]:
    case = event.case
    return (
        fact.stream_id,
        visible(case.suite_id),
        visible(case.case_id),
        _name(case.category),
        _name(case.label),
        _name(case.severity),
        orjson.dumps(case.tags).decode(),
        fact.position,
    )


def _astray(others: Streams) -> list[Fact]:
    """What stands on a stream that is not its own: an evaluation's may be spoiled by it."""
    found = []
    for facts in others.values():
        for fact in facts:
            event = fact.event
            if isinstance(event, PromptStored):
                at_home = _stored_as(event)
            elif isinstance(event, Reviewed):
                at_home = event.originator_id == review_id(event.evaluation_id)
            elif isinstance(event, OperationEvent):
                at_home = event.originator_id == operations_id(event.about)
            else:
                at_home = event is not None
            if not at_home:
                found.append(fact)
    return found


def _stored_as(event: PromptStored) -> bool:
    """Whether it stands in the stream that its digest names."""
    try:
        return digest_number(bytes.fromhex(event.digest)) == event.originator_id.int
    except ValueError:
        return False


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
    cursor: Cursor, streams: Streams, stored: dict[str, _Stored]
) -> tuple[list[_Touched], list[Fact]]:
    """The evaluations that the batch touches, and events that cannot be told whose they are."""
    begun: list[tuple[str, list[Fact], StreamSummary]] = []
    others: Streams = {}
    for stream, facts in streams.items():
        if facts[0].version == 1 and stream not in stored and _consecutive(facts):
            begun.append((stream, facts, _told(facts)))
        else:
            others[stream] = facts
    now: dict[str, StreamSummary] = {}
    before: dict[str, StreamSummary] = {}
    found, unplaced = [], []
    whole = [Folded.of(told.history) for _, _, told in begun]
    for (stream, facts, told), folded in zip(begun, whole, strict=True):
        if (its := folded.state.key) is not None:
            first, last = facts[0].position, facts[-1].position
            found.append(_Touched(stream, first, last, told, None, its, folded))
        else:
            now[stream], others[stream] = told, facts
    stretches = [
        StreamSlice(UUID(stream), facts[0].position, facts[-1].position)
        for stream, facts in others.items()
        if stream not in now
    ]
    for stretch, rows in read_slices(cursor.connection, stretches) if stretches else ():
        stream = str(stretch.stream)
        now[stream] = summarize_stream(rows)
        if stream in stored:
            before[stream] = summarize_stream(r for r in rows if r.position < stretch.first)
    for stream, facts in others.items():
        known = stored.get(stream)
        first, key = (known.first_position, known.key) if known else (0, None)
        for fact in facts if known is None else ():
            if fact.event is not None and (key := key_of(fact.event)) is not None:
                first = fact.position
                break
            unplaced.append(fact)
        if key is not None:
            told, earlier = now[stream], before.get(stream)
            found.append(_Touched(stream, first, facts[-1].position, told, earlier, key))
    return _with_sources(cursor, found, stored), unplaced


def _consecutive(facts: Sequence[Fact]) -> bool:
    return [each.version for each in facts] == list(range(1, len(facts) + 1))


def _told(facts: Sequence[Fact]) -> StreamSummary:
    history: list[Event] = []
    for fact in facts:
        if fact.event is None:
            return StreamSummary(history, fact.damage)
        history.append(fact.event)
    return StreamSummary(history)


def _with_sources(
    cursor: Cursor, found: list[_Touched], stored: dict[str, _Stored]
) -> list[_Touched]:
    """Those that were carried over, as the other run tells them."""
    places = [
        place
        for place, each in enumerate(found)
        if each.now.history and type(each.now.history[0]) is CarriedOver
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
            found[place] = found[place]._replace(now=next(told), folded=None)
        for place in places:
            if found[place].before is not None:
                found[place] = found[place]._replace(before=next(told))
    return found


def _take_evaluations(
    cursor: Cursor, runs: Runs, touched: Sequence[_Touched], stored: dict[str, _Stored]
) -> None:
    """Step by step over all of them: all steps for one after the other take much longer."""
    by_run = [(run, list(group)) for run, group in groupby(touched, _run_of)]
    runs.load(cursor, {run for run, _ in by_run})
    cases = _cases(cursor, [each.key for each in touched])
    prices = [its for run, group in by_run for its in repeat(runs.prices(cursor, run), len(group))]
    outcomes = [
        _outcome(each.key, each.now, its_prices, each.folded)
        for each, its_prices in zip(touched, prices, strict=True)
    ]
    counted = _counted(runs, touched, cases)
    for each, outcome, case, its_prices in zip(touched, outcomes, counted, prices, strict=True):
        if case is not None:
            _count(runs, each, outcome, case, its_prices)
    rows = (
        outcome_row(
            outcome,
            counted=case is not None,
            first_position=each.first_position,
            last_position=each.last_position,
        )
        for each, outcome, case in zip(touched, outcomes, counted, strict=True)
    )
    _write(cursor, rows, [each.stream for each in touched if each.stream in stored])
    save(cursor, runs.changes)


def _run_of(touched: _Touched) -> UUID:
    return touched.key.run_id


def _counted(
    runs: Runs, touched: Sequence[_Touched], cases: Sequence[_Case]
) -> list[GroupWords | None]:
    """The case of each that counts: it was planned, and its case stored, before it began."""
    plans: dict[tuple[str, int], bool] = {}
    run: UUID | None = None
    found = []
    for each, case in zip(touched, cases, strict=True):
        key, first = each.key, each.first_position
        counts = None
        if case.planned is not None and case.planned < first:
            if key.run_id is not run:
                run, plans = key.run_id, {}
            asked = (key.model_key, key.repetition)
            in_plan = plans.get(asked)
            if in_plan is None:
                in_plan = plans[asked] = runs.plans(key)
            if in_plan and case.stored is not None and case.stored < first:
                counts = case.words
            elif in_plan:
                runs.untold.add(key.run_id)
        found.append(counts)
    return found


def _count(
    runs: Runs, each: _Touched, outcome: EvaluationOutcome, case: GroupWords, prices: Prices
) -> None:
    run = each.key.run_id
    change = runs.changes.get(run)
    if change is None:
        change = runs.changes[run] = Change()
    try:
        change.add(outcome, each.now.history, case, prices)
        if each.before is not None:
            earlier = _outcome(each.key, each.before, prices)
            change.add(earlier, each.before.history, case, prices, -1)
    except (ValueError, ArithmeticError):
        runs.untold.add(run)


def _outcome(
    key: EvaluationKey, told: StreamSummary, prices: Prices, folded: Folded | None = None
) -> EvaluationOutcome:
    return outcome_of(
        key,
        told.history,
        prices,
        carried_over=told.carried_over,
        broken=told.broken,
        folded=folded,
    )


def _write(cursor: Cursor, rows: Iterable[OutcomeRow], stored: Sequence[str]) -> None:
    """The rows are made while the server takes in those before them."""
    if stored:
        cursor.execute(
            "DELETE FROM evaluations WHERE evaluation_id = ANY (%s::uuid[])", (_array(stored),)
        )
    with cursor.copy(_COPY) as copy:
        for row in rows:
            copy.write_row(row)


def _cases(cursor: Cursor, keys: Sequence[EvaluationKey]) -> list[_Case]:
    """What stands of the case of each of these, in this order."""
    cursor.execute(
        sql_file("run_results_cases"),
        (uuid_array(key.run_id for key in keys), uuid_array(key.prompt_id for key in keys)),
        binary=True,
    )
    nowhere = GroupWords("", None, None)
    words: dict[tuple[str | None, ...], GroupWords] = {(None, None, None): nowhere}
    found = []
    for planned, stored, *shown in cursor:
        named = words.get(tuple(shown))
        if named is None:
            suite, category, severity = shown
            named = words[suite, category, severity] = GroupWords(
                exact_text(suite), _exact(category), _exact(severity)
            )
        found.append(_Case(planned, stored, named))
    return found


def _uuid(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)


def _array(ids: Iterable[str]) -> str:
    return "{" + ",".join(ids) + "}"


def _name(text: str | None) -> str | None:
    return None if text is None else visible(text)


def _exact(text: str | None) -> str | None:
    return None if text is None else exact_text(text)
