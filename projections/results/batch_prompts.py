"""Writes the cases of a batch of events to `prompts`, and finds events in wrong streams."""

from __future__ import annotations

from typing import Any

import orjson

from failproof_es.core.case import digest_number, operations_id, review_id
from failproof_es.core.severity import severity_of
from failproof_es.events import OperationEvent, PromptStored, Reviewed
from projections.protocol import Cursor, Fact, sql_file, visible
from projections.results.batch_runs import Runs
from projections.results.streams import Streams, id_array


def take_prompts(cursor: Cursor, runs: Runs, streams: Streams, strangers: Streams) -> None:
    """Write the cases of `streams`, and mark cases as spoiled whose streams hold other events.

    `strangers` has events of other kinds by stream, which may be the stream of a case.
    """
    rows = [
        _prompt_row(fact, fact.event)
        for facts in streams.values()
        for fact in facts[:1]
        if isinstance(fact.event, PromptStored) and fact.version == 1
    ]
    if rows:
        ids, *columns = zip(*rows, strict=True)
        cursor.execute(
            sql_file("run_results_prompts"), [id_array(ids), *(list(column) for column in columns)]
        )
    followed = [s for s, facts in streams.items() if facts[-1].version > 1]
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
        _visible_name(case.category),
        _visible_name(case.label),
        _visible_name(severity_of(case)),
        orjson.dumps(case.tags).decode(),
        fact.position,
    )


def astray(streams: Streams) -> list[Fact]:
    """Events that spoil the record of an evaluation or run, of those read here.

    Stored prompts, reviews and operations in another stream than their content names, and
    unreadable events of any kind.
    """
    strays = []
    for facts in streams.values():
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
                strays.append(fact)
    return strays


def _stored_as(event: PromptStored) -> bool:
    """Whether the event is in the stream that its digest names."""
    try:
        return digest_number(bytes.fromhex(event.digest)) == event.originator_id.int
    except ValueError:
        return False


def _visible_name(text: str | None) -> str | None:
    return None if text is None else visible(text)
