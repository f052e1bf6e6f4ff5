"""Follows the references of branched runs to the evaluations that they carried over."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from projections.batch import fact_of
from projections.protocol import Cursor, Fact, sql_file

CARRIED_OVER = "CarriedOver"

_WINDOW = 200
"""Number of references that are followed at once."""


def resolve_carried_over(
    cursor: Cursor, facts: Sequence[Fact], topics: Collection[str]
) -> Iterator[Fact]:
    """The facts, with each `CarriedOver` replaced by the source's facts of these topics.

    Those come last, as facts of the evaluation that carried them over, at its position. A
    projection that sums costs excludes their topics, because the costs arose only once. Damaged
    events of the source are left out, as in the run that they are from.
    """
    references = []
    for fact in facts:
        if fact.topic == CARRIED_OVER:
            references.append(fact)
        else:
            yield fact
    for start in range(0, len(references), _WINDOW):
        yield from _referred_to(cursor, references[start : start + _WINDOW], topics)


def _referred_to(
    cursor: Cursor, references: Sequence[Fact], topics: Collection[str]
) -> Iterator[Fact]:
    by_source: dict[str, list[Fact]] = {}
    for reference in references:
        by_source.setdefault(reference.payload["source_evaluation_id"], []).append(reference)
    cursor.execute(sql_file("carried_over"), (list(by_source), list(topics)))
    for stream_id, version, topic, state in cursor.fetchall():
        there = fact_of({}, 0, stream_id, version, topic, None, state)
        if there.damage is not None:
            continue
        for reference in by_source[stream_id]:
            yield replace(
                there,
                position=reference.position,
                stream_id=reference.stream_id,
                run_id=reference.run_id,
            )
