"""Creates, finds and closes the queues of a run."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from failproof_es.core.queues import count_people, count_statuses
from failproof_es.engine.operations import operations_header, operations_of
from failproof_es.engine.queues.reading import QueueReader
from failproof_es.events import QueueClosed, QueueCreated
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import Connection, max_position
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append
from failproof_es.store.writing.event_header import Draft
from failproof_es.support.plurals import plural

POLICY = (
    "An evaluation passes if the answer meets everything that its case asks for. Decide by the "
    "case and the conversation alone."
)
"""The label policy, unless another is given."""
MOST_EVALUATIONS = 10_000
"""Most evaluations of a queue."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Queue(NamedTuple):
    """A queue of a run, and its end."""

    created: QueueCreated
    closed: QueueClosed | None
    """The last closing; `None` for an open queue."""


def queues_of(connection: Connection, run_id: UUID, up_to: int | None = None) -> Iterator[Queue]:
    """The queues of the run that were created up to a position (`None`: all), first to last."""
    closed = {event.queue: event for event in operations_of(connection, run_id, QueueClosed, up_to)}
    for created in operations_of(connection, run_id, QueueCreated, up_to):
        yield Queue(created, closed.get(created.queue))


def find_queue(connection: Connection, run_id: UUID, name: str) -> Queue | None:
    """The queue of the run with this name; `None` if there is none."""
    own = (queue for queue in queues_of(connection, run_id) if queue.created.queue == name)
    return next(own, None)


def require_queue(connection: Connection, run_id: UUID, run_number: int, name: str) -> Queue:
    """The queue of the run with this name. Raises `InvalidInput` if there is none."""
    queues = {queue.created.queue: queue for queue in queues_of(connection, run_id)}
    if name in queues:
        return queues[name]
    command = f"`failproof-es review queue create {run_number} NAME`"
    raise InvalidInput.because(
        "unknown-queue",
        f"run {run_number} has no queue {name!r}",
        remedy=f"one of {', '.join(queues)}" if queues else command,
    )


def require_not_closed(queue: Queue) -> None:
    """Raise `InvalidInput` if the queue is closed."""
    if queue.closed is not None:
        raise InvalidInput.because(
            "queue-closed",
            f"the queue {queue.created.queue} is closed",
            remedy="`review queue create` makes another one",
        )


def how_to_label(run_number: int, queue: str) -> str:
    """The command that labels the queue at the terminal, as text."""
    return f"`failproof-es review {run_number} --queue {queue}`"


def create_queue(
    store: Store,
    run_id: UUID,
    fields: Mapping[str, Any],
    *,
    name: str | None,
    prefix: str = "queue",
) -> QueueCreated:
    """Record a queue, of which `fields` has everything but the name, and return it.

    Without a `name` it is `prefix` and a number. Raises `InvalidInput` for an invalid name or one
    of another queue of the run, without an evaluation, and beyond `MOST_EVALUATIONS`; else as
    `failproof_es.store.writing.appending.append` does, such as `ReadOnlyLog`.
    """
    _require_valid(name, fields["evaluations"])

    def create(connection: Connection) -> list[Draft]:
        names = {queue.created.queue for queue in queues_of(connection, run_id)}
        if name in names:
            raise InvalidInput.because(
                "name-taken", f"the run has a queue {name!r}", remedy="choose another name"
            )
        numbered = (f"{prefix}-{number}" for number in range(1, len(names) + 2))
        own = name or next(own for own in numbered if own not in names)
        return [Draft(QueueCreated, operations_header(run_id), queue=own, **fields)]

    [created] = append(store, create)
    assert isinstance(created, QueueCreated)
    return created


def _require_valid(name: str | None, evaluations: Sequence[UUID]) -> None:
    if name is not None and not _NAME.fullmatch(name):
        raise InvalidInput.because(
            "invalid-name",
            f"{name!r} is no name of a queue",
            remedy="1 to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit",
        )
    if not evaluations:
        raise InvalidInput.because(
            "nothing-to-review",
            "no evaluation was chosen",
            remedy="let --only and the other options choose more",
        )
    if len(evaluations) > MOST_EVALUATIONS:
        raise InvalidInput.because(
            "too-many",
            f"{plural(len(evaluations), 'evaluation')}: a queue has at most {MOST_EVALUATIONS:,}",
            remedy="draw some of them with --random",
        )


def draw_share(evaluations: Sequence[UUID], percent: float, seed: int) -> tuple[UUID, ...]:
    """Draw this percentage of the evaluations at random, at least one, in random order. Pure."""
    count = max(1, round(len(evaluations) * percent / 100)) if evaluations else 0
    return tuple(random.Random(seed).sample(evaluations, count))  # noqa: S311


def close_queue(
    store: Store, connection: Connection, queue: Queue, run_number: int, *, incomplete: bool
) -> QueueClosed:
    """Close the queue and return its numbers.

    Raises `InvalidInput` if it is closed and, unless `incomplete`, while an evaluation lacks labels
    or is disputed.
    """
    created = queue.created
    require_not_closed(queue)
    position = max_position(connection)
    items = QueueReader(created).items(connection, up_to=position)
    statuses = count_statuses(items)
    if not incomplete and (open_items := statuses.get("waiting", 0) + statuses.get("disputed", 0)):
        raise InvalidInput.because(
            "labels-missing",
            f"{plural(open_items, 'evaluation')} of {created.queue} need a label or a decision",
            remedy=f"{how_to_label(run_number, created.queue)}; --incomplete closes it as it is",
        )
    fields = {
        "queue": created.queue,
        "position": position,
        "statuses": statuses,
        "labelled_by": count_people(items),
    }
    draft = Draft(QueueClosed, operations_header(created.about), **fields)
    [closed] = append(store, lambda _: [draft])
    assert isinstance(closed, QueueClosed)
    return closed
