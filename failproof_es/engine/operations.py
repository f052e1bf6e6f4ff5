"""What is done about a run beside driving it: on a stream of its own, numbered as it comes.

A run's own stream is sealed when it ends, and has one writer. Checks happen before it begins,
files are written while it goes and after: they are told of here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
from eventsourcing.persistence import IntegrityError, PersistenceError

from failproof_es.case import operations_id
from failproof_es.engine.identity import where, who
from failproof_es.events import OperationEvent
from failproof_es.store.reader import read_streams
from failproof_es.store.store import Store

_READ_ONLY = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)

Operation = tuple[type[OperationEvent], dict[str, Any]]


class ReadOnly(Exception):
    """This user of the database, or the database itself, may only read; nothing was recorded."""


def record_operations(store: Store, run_id: UUID, operations: Sequence[Operation]) -> None:
    """Append what was done, in order, after what is there already. Raises `ReadOnly`."""
    stream = operations_id(run_id)
    while True:
        with store.connect() as connection:
            before = len(read_streams(connection, [stream]).get(stream, []))
        events = [
            kind(
                originator_id=stream,
                originator_version=version,
                run_id=None,
                timestamp=datetime.now(UTC),
                about=run_id,
                who=who(),
                where=where(),
                **fields,
            )
            for version, (kind, fields) in enumerate(operations, start=before + 1)
        ]
        try:
            store.log.events.put(events)
        except IntegrityError:
            continue  # somebody else was first: follow them
        except (PersistenceError, psycopg.Error) as error:
            if isinstance(error, _READ_ONLY) or isinstance(error.__cause__, _READ_ONLY):
                raise ReadOnly(str(error)) from error
            raise
        return
