"""The progress of queues as a document, and as tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any

from failproof_es.cli.rendering.output import Column, columns_of_keys, print_table
from failproof_es.core.queues import QueueItem, count_statuses
from failproof_es.engine.queues.agreement import agreement_of
from failproof_es.engine.queues.creating import Queue
from failproof_es.engine.queues.reading import QueueReader
from failproof_es.store.reading.reader import Connection

_QUEUES = (
    *columns_of_keys("queue", "state", "chosen_by"),
    *columns_of_keys(
        "evaluations", "waiting", "disputed", "pass", "fail", "unclear", "agreement", right=True
    ),
)
_PEOPLE = (
    *columns_of_keys("queue", "person"),
    Column("labels", "labels", right=True),
    Column("decisions", "decisions", right=True),
    Column("seconds", "seconds", right=True),
)


def queue_document(connection: Connection, queue: Queue) -> dict[str, Any]:
    """The progress of a queue as an object for JSON; uncomputable figures are null."""
    created = queue.created
    items = QueueReader(created).items(connection)
    return {
        "queue": created.queue,
        "state": "open" if queue.closed is None else "closed",
        "chosen_by": created.chosen_by,
        "seed": created.seed,
        "evaluations": len(items),
        "labels_each": created.labels_each,
        "reviewers": list(created.reviewers),
        "adjudicators": list(created.adjudicators),
        "blind": created.blind,
        "policy": created.policy,
        "statuses": count_statuses(items),
        "agreement": agreement_of(items),
        "people": people_of(items),
    }


def people_of(items: Sequence[QueueItem]) -> list[dict[str, Any]]:
    """The labels and decisions of each person, and the median seconds of an evaluation."""
    labels: Counter[str] = Counter()
    decisions: Counter[str] = Counter()
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for item in items:
        labels.update(item.labels.keys())
        decided = () if item.adjudication is None else (item.adjudication,)
        decisions.update(review.reviewer for review in decided)
        for review in (*item.labels.values(), *decided):
            if review.seconds is not None:
                seconds[review.reviewer].append(review.seconds)
    return [
        {
            "person": person,
            "labels": labels[person],
            "decisions": decisions[person],
            "seconds": round(median(seconds[person]), 1) if seconds[person] else None,
        }
        for person in sorted({*labels, *decisions})
    ]


def print_queues(document: dict[str, Any]) -> None:
    """Print the progress of the queues for people."""
    queues = document["queues"]
    create = f"no queue yet: `failproof-es review queue create {document['run_number']} NAME`"
    rows = [queue | queue["statuses"] | {"agreement": _rounded(queue)} for queue in queues]
    print_table(rows, _QUEUES, when_empty=create)
    people = [{"queue": queue["queue"], **person} for queue in queues for person in queue["people"]]
    if people:
        print_table(people, _PEOPLE)


def _rounded(queue: dict[str, Any]) -> str | None:
    return None if queue["agreement"] is None else f"{queue['agreement']:.2f}"
