"""`Store`: one database, and access to everything that this package keeps in it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self
from uuid import UUID

import psycopg

from failproof_es.events import Event, RunStarted
from failproof_es.problems import InvalidInput
from failproof_es.store.connecting import connect
from failproof_es.store.environment import DATABASE_URL
from failproof_es.store.errors import DatabaseAway
from failproof_es.store.lending import Lender
from failproof_es.store.named_database import named_database, password_remedy
from failproof_es.store.outage import (
    CONTENTION,
    LogUnavailable,
    Outage,
    OutageReport,
    server_answered,
)
from failproof_es.store.pooler import require_sessions
from failproof_es.store.reading.experiments import NewRun, try_index_runs
from failproof_es.store.schema.installation import (
    ARCHIVER,
    AUDITOR,
    PROJECTOR,
    WRITER,
    Installation,
    SchemaState,
    install,
    schema_state,
)
from failproof_es.store.url_redaction import redact_message
from failproof_es.store.writing.application import EventLog
from failproof_es.store.writing.recorder import append_entries, query

if TYPE_CHECKING:
    from failproof_es.store.embedded.server import EmbeddedServer

_NUMBER = "SELECT failproof.number_run(%s)"
_NOT_CURRENT = {
    SchemaState.ABSENT: "the database has no schema of failproof-es",
    SchemaState.OUTDATED: "the database's schema was made by an older version of failproof-es",
}
_INIT = "check which database the URL names; `failproof-es db init` makes or upgrades the schema"
_MOST_IDLE = 2
"""Number of idle connections that are kept: rarely do more readers read a run at once."""


class LendsConnections(Protocol):
    """A store, or what opens one when a connection is first needed."""

    def lend(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """A borrowed connection."""


class Store:
    """The log's database: the embedded server's, or any other by its URL.

    On the embedded server everything but installing is done as `failproof_writer`. On any
    other server, everything is done as the user in the URL.
    """

    def __init__(self, url: str, embedded: EmbeddedServer | None = None) -> None:
        self.url = url
        self.embedded = embedded
        self._log: EventLog | None = None
        self._making_log = Lock()
        self._lender = Lender(partial(self.connect, prepare_threshold=None), _MOST_IDLE)
        self.outage_report: OutageReport | None = None
        """Receiver of the reports that the database is away, and back; `None` if nobody is told."""
        self.is_new = False
        """Whether `open` created the schema."""

    @classmethod
    def reach(cls, database_url: str | None = None) -> Store:
        """Find the store, and start its server if it is the embedded one.

        The argument takes precedence, then `FAILPROOF_ES_DATABASE_URL`, then the embedded
        server. Raises `InvalidInput` as `named_database` does, and when the embedded server
        cannot be started.
        """
        if url := named_database(database_url):
            return cls(url)
        from failproof_es.store.embedded.server import EmbeddedServer  # not for a server elsewhere

        embedded = EmbeddedServer()
        embedded.ensure_running()
        return cls(embedded.url_as(WRITER), embedded)

    @classmethod
    def open(cls, database_url: str | None = None) -> Store:
        """Reach the database; create or upgrade the schema of the embedded server.

        Raises `InvalidInput` when the database cannot be used, or when another server's has no
        schema, or that of another version.
        """
        store = cls.reach(database_url)
        with _translate_errors(store.url):
            state = store.state()
            if state is not SchemaState.CURRENT:
                if store.embedded is None:
                    raise InvalidInput.because(
                        "schema-not-current", _NOT_CURRENT[state], remedy=_INIT
                    )
                done = store.install()
                store.is_new = any(migration.number == 1 for migration in done.migrations)
        return store

    def state(self) -> SchemaState:
        """The state of the schema. Raises `InvalidInput`, `psycopg.Error`."""
        try:
            with self.lend() as connection:
                require_sessions(connection, self.url)
                return schema_state(connection)
        except (psycopg.OperationalError, psycopg.errors.InsufficientPrivilege):
            if self.embedded is None:
                raise
            return SchemaState.OUTDATED  # before `install` the login or its rights are missing

    def install(self) -> Installation:
        """Create or upgrade the schema, the roles and the guards, as far as this user may.

        On the embedded server as its superuser, which is used for nothing else. Raises
        `InvalidInput` when the database cannot be used.
        """
        url = self.embedded.url if self.embedded else self.url
        with _translate_errors(url), connect(url) as connection:
            if self.embedded is None:
                require_sessions(connection, url)
            try:
                return install(connection, logins=self.embedded is not None)
            except psycopg.errors.InsufficientPrivilege as error:
                raise InvalidInput.because(
                    "permission-denied",
                    "this database user may not make or upgrade the schema of failproof-es: "
                    f"{error.diag.message_primary}",
                    remedy="an administrator does, with `failproof-es db init`",
                ) from None

    @property
    def auditor_url(self) -> str:
        """The URL to verify the log with: on the embedded server as `failproof_auditor`."""
        return self.embedded.url_as(AUDITOR) if self.embedded else self.url

    @property
    def projections_url(self) -> str:
        """To write projections: on the embedded server as `failproof_projector`, else `url`."""
        return self.embedded.url_as(PROJECTOR) if self.embedded else self.url

    @property
    def archiver_url(self) -> str:
        """To archive: on the embedded server as `failproof_archiver`, else `url`."""
        return self.embedded.url_as(ARCHIVER) if self.embedded else self.url

    @property
    def log(self) -> EventLog:
        """The log as an `eventsourcing` application, constructed at first use.

        Constructed once, even if several threads use it at once: a second one, when discarded,
        would close connections that are in use.
        """
        with self._making_log:
            if self._log is None:
                self._log = EventLog(self.url)
            return self._log

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """A new connection for the caller, in autocommit unless `options` say otherwise."""
        return connect(self.url, **options)

    def lend(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """A borrowed connection, see `Lender.connection`."""
        return self._lender.connection()

    @property
    def outage(self) -> Outage:
        """The wait for this database while it is unreachable."""
        return Outage(recover=self._recover, report=self.outage_report)

    def _recover(self) -> str | None:
        """Start the embedded server again if it is down; do nothing for any other server.

        Returns the reason why it cannot be started now; the caller may try again.
        """
        if self.embedded is not None:
            try:
                self.embedded.ensure_running()
            except InvalidInput as error:
                return error.problems[0].message
        return None

    def begin_run(
        self,
        draft: RunStarted,
        planned: Iterable[Event],
        read_questions: Callable[[], AbstractSet[str]],
        also: Callable[[psycopg.Connection[Any]], None] = lambda connection: None,
    ) -> RunStarted:
        """Record a new run with its whole plan in one transaction, under a dense number.

        `draft` is its first event, without its number, its attempt and the number of overlapping
        runs. `planned` are the events that follow; `read_questions` returns the `question_digest`
        of every planned case. `also` is called at the end of the same transaction. If the
        acknowledgement of the commit was lost, the run is looked up.

        Raises `InvalidInput` when a run with this id is on record, `psycopg.OperationalError`
        when the server went away and nothing was recorded, `LogUnavailable` when it stays away
        and it is unknown whether the run was recorded.
        """
        started, whole = draft, False
        try:
            with self.lend() as connection:
                new = NewRun(connection, draft, read_questions)
                with connection.transaction():
                    started = new.numbered(self._allocate_number(connection, draft.originator_id))
                    for event in chain([started], planned):  # one at a time: a plan can be long
                        append_entries(connection, [self.log.mapper.to_stored_event(event)])
                    also(connection)
                    whole = True
                try_index_runs(connection)
        except (psycopg.OperationalError, psycopg.InterfaceError):
            if not (whole and self._was_begun(started)):
                raise
        return started

    def _was_begun(self, started: RunStarted) -> bool:
        """Whether this run is on record, after its commit was sent but not acknowledged."""
        try:
            return self.outage.retry(partial(self._is_recorded, started))
        except LogUnavailable as error:
            label = f"run {started.run_number} ({started.run_id})"
            raise LogUnavailable(f"whether {label} was recorded is not known: {error}") from error

    def _is_recorded(self, started: RunStarted) -> bool:
        with self.connect() as connection:
            with connection.transaction(force_rollback=True):
                # Takes the lock for numbering: then that commit has succeeded, or never will.
                row = connection.execute(_NUMBER, (started.originator_id,)).fetchone()
            if row != (None,):
                return False
            event = self.log.mapper.to_stored_event(started)
            where = (event.originator_id, event.originator_version, event.topic, event.state)
            return connection.execute(query("position_of"), where).fetchone() is not None

    @staticmethod
    def _allocate_number(connection: psycopg.Connection[Any], run_id: UUID) -> int:
        row = connection.execute(_NUMBER, (run_id,)).fetchone()
        if row is None or row[0] is None:
            raise run_exists(run_id)
        number: int = row[0]
        return number

    def close(self) -> None:
        """Close the idle connections and those of the log; connections that are lent stay open.

        The embedded server keeps running.
        """
        self._lender.close()
        if self._log is not None:
            self._log.close()
            self._log = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@contextlib.contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    """Translate the server's errors into `InvalidInput`, without secrets."""
    try:
        yield
    except psycopg.Error as error:
        reason = redact_message(str(error), url)
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            raise InvalidInput.because(
                "permission-denied",
                f"the database cannot be used: {reason}",
                remedy="grant this user failproof_auditor to read the log, or failproof_writer to "
                "run",
            ) from None
        if isinstance(error, CONTENTION):
            raise InvalidInput.because(
                "database-busy",
                f"the database cannot be used: {reason}",
                remedy="try again: another session held what this one needs",
            ) from None
        is_away = isinstance(error, psycopg.OperationalError) and not server_answered(error)
        kind = DatabaseAway if is_away else InvalidInput
        raise kind.because(
            "database-unreachable" if is_away else "database-refused",
            f"the database cannot be used: {reason}",
            remedy=password_remedy()
            if "password" in str(error)  # libpq gives no SQLSTATE of a refused login
            else f"check --database-url or {DATABASE_URL}, and that the server is running",
        ) from None


def run_exists(run_id: UUID) -> InvalidInput:
    """The error for a new run with the id of an existing run."""
    return InvalidInput.because(
        "duplicate-id",
        f"run {run_id} exists already",
        remedy="leave `test_run.id` out to have one generated, or resume that run",
    )
