"""Logs of any size, as the engine and the projections would have written them.

Small runs are written by the engine's own functions, event by event. Of a large run so are its
first event, its plan, and the first ten cases and evaluations; everything else is copied inside
the database:

- events (`PromptStored`; of an evaluation `RequestSent`, `ResponseReceived`, `Classified` and
  `Scored`) with stream, case id, question, category, digest and prompt id replaced, and with
  the leaf that belongs to the new bytes, in the order in which the engine writes them. What is not
  replaced is the time. They are inserted behind the lock that every writer takes, by the
  database's superuser; the log's triggers and constraints stay as they are.
- rows of `prompts` and `evaluations`, with their keys and positions replaced. What the counters
  took in of the ten evaluations is multiplied. The projections' positions move to the head.

`tests/integration/reading/test_copied_runs.py` holds the rows equal to those of a rebuild.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

from failproof_es.core.case import prompt_id
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.events import Event
from failproof_es.store.reading.experiments import try_index_runs
from failproof_es.store.reading.reader import Connection, max_position
from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.positions import move_positions
from projections.results.counters import CLASSES, GROUPS, LATENCIES, USAGE
from projections.runner import catch_up, prepare
from tests.benchmarks.rebuild import begun, case_of, history, planned, stored_prompt

BATCH = 4_000
RECORDED = 10
"""So many cases, one of each category, and their evaluations are recorded; the rest is copied."""
AT_ONCE = 10_000
"""So many cases or evaluations are copied with one statement."""
EVENTS = 4
"""So many events has an evaluation."""

_MADE: LiteralString = """
CREATE TEMP TABLE made (
    place bigint PRIMARY KEY, prompt_id uuid, evaluation_id uuid, digest text
)
"""
_COPY: LiteralString = "COPY made FROM STDIN"
_PROMPTS: LiteralString = """
INSERT INTO failproof.events (originator_id, originator_version, topic, state, run_id, leaf_hash)
SELECT id, 1, topic, state, NULL, failproof.leaf_of(id, 1, topic, state)
FROM (
    SELECT
        new.prompt_id AS id,
        e.topic,
        convert_to(
            replace(replace(replace(
                convert_from(e.state, 'UTF8'),
                old.digest, new.digest),
                format('"case-%%s"', old.place), format('"case-%%s"', new.place)),
                format('"question %%s of', old.place), format('"question %%s of', new.place)),
            'UTF8'
        ) AS state
    FROM made AS new
    JOIN made AS old ON old.place = new.place %% %(recorded)s
    JOIN failproof.events AS e ON e.originator_id = old.prompt_id
    WHERE new.place >= %(first)s AND new.place < %(beyond)s
    ORDER BY new.place
) AS copied
"""
_PROMPT_ROWS: LiteralString = """
INSERT INTO projections.prompts
    (prompt_id, suite_id, case_id, category, label, severity, tags, position, spoiled)
SELECT
    new.prompt_id, p.suite_id, 'case-' || new.place, p.category, p.label, p.severity, p.tags,
    e.notification_id, p.spoiled
FROM made AS new
JOIN made AS old ON old.place = new.place %% %(recorded)s
JOIN projections.prompts AS p ON p.prompt_id = old.prompt_id
JOIN failproof.events AS e ON e.originator_id = new.prompt_id
WHERE new.place >= %(first)s AND new.place < %(beyond)s
ORDER BY new.place
"""
_EVALUATIONS: LiteralString = """
INSERT INTO failproof.events (originator_id, originator_version, topic, state, run_id, leaf_hash)
SELECT id, version, topic, state, run_id, failproof.leaf_of(id, version, topic, state)
FROM (
    SELECT
        new.evaluation_id AS id,
        e.originator_version AS version,
        e.topic,
        e.run_id,
        convert_to(
            replace(
                convert_from(e.state, 'UTF8'), old.prompt_id::text, new.prompt_id::text
            ), 'UTF8'
        ) AS state
    FROM made AS new
    JOIN made AS old ON old.place = new.place %% %(recorded)s
    JOIN failproof.events AS e ON e.originator_id = old.evaluation_id
    WHERE new.place >= %(first)s AND new.place < %(beyond)s
    ORDER BY new.place, e.originator_version
) AS copied
"""
_REPLACED: dict[str, LiteralString] = {
    "evaluation_id": "new.evaluation_id",
    "prompt_id": "new.prompt_id",
    "first_position": "e.notification_id",
    "last_position": "e.notification_id + %(events)s - 1",
}
_OF_EVALUATIONS: LiteralString = """
FROM made AS new
JOIN made AS old ON old.place = new.place %% %(recorded)s
JOIN projections.evaluations AS r ON r.evaluation_id = old.evaluation_id
JOIN failproof.events AS e ON e.originator_id = new.evaluation_id AND e.originator_version = 1
WHERE new.place >= %(first)s AND new.place < %(beyond)s
ORDER BY new.place
"""


@dataclass
class Filler:
    """Writes runs in which each evaluation went well, as the engine writes them."""

    store: Store
    connection: Connection
    number: int = 0
    stored: frozenset[object] = frozenset()

    def fill(self, evaluations: int, topic: object = None) -> UUID:
        """One run; with a topic it asks the cases about it, else some of its own."""
        run_id, waiting = self._run(evaluations, topic)
        self._put(waiting)
        return run_id

    def beside(self, runs: int, evaluations: int = 1) -> None:
        """Runs of so many evaluations each. The topic `read` is what the run that is read asks."""
        waiting: list[Event] = []
        for number in range(runs):
            waiting += self._run(evaluations, ("read", "another", None)[number % 3])[1]
            if len(waiting) >= BATCH:
                self._put(waiting)
                waiting = []
        self._put(waiting)

    def copied(
        self, administrator: psycopg.Connection[Any], evaluations: int, topic: object = None
    ) -> UUID:
        """As `fill`, of as many evaluations as you like, a multiple of ten.

        Brings the projections to the head of the log. Copies as the superuser, whose connection
        is in autocommit.
        """
        assert evaluations > RECORDED
        assert evaluations % RECORDED == 0
        assert topic is None or topic not in self.stored
        self.number += 1
        run_id, asked = uuid4(), PlannedCases()
        self.connection.execute("SELECT failproof.number_run(%s)", (run_id,))
        recorded: list[UUID] = []
        prompts: list[Event] = []
        administrator.execute("SET enable_hashjoin = off; SET enable_mergejoin = off")
        administrator.execute(_MADE)
        with administrator.cursor() as cursor, cursor.copy(_COPY) as copy:
            for place in range(evaluations):
                case = case_of(place, topic or run_id)
                digest = case.digest()
                asked.add(digest, case)
                prompt = prompt_id(digest)
                if place < RECORDED:
                    recorded.append(prompt)
                    prompts.append(stored_prompt(digest, case))
                made = EvaluationKey(run_id, prompt, "model", 1).evaluation_id
                copy.write_row((place, prompt, made, digest))
        administrator.execute("ANALYZE made")
        self._put(prompts)
        self.follow()
        _copy(administrator, evaluations, _PROMPTS, _PROMPT_ROWS)
        self._put(planned(asked, run_id, self.number))
        self._put([event for prompt in recorded for event in history(prompt, run_id)])
        self.follow()
        _copy(administrator, evaluations, _EVALUATIONS, _evaluation_rows(administrator))
        _multiply(administrator, run_id, evaluations // RECORDED)
        administrator.execute("DROP TABLE made; RESET enable_hashjoin; RESET enable_mergejoin")
        self.stored |= {topic} - {None}
        return run_id

    def follow(self) -> None:
        """The projections take in everything that is in the log."""
        prepare(self.connection)
        while catch_up(self.connection):
            pass

    def finish(self) -> None:
        """Everything that follows the log stands at its head."""
        try_index_runs(self.connection)
        self.follow()

    def _run(self, evaluations: int, topic: object) -> tuple[UUID, list[Event]]:
        """A new run, under its number, and all of its events."""
        self.number += 1
        run_id = uuid4()
        events, cases = begun(evaluations, run_id, self.number, topic, stored=topic in self.stored)
        self.stored |= {topic} - {None}
        self.connection.execute("SELECT failproof.number_run(%s)", (run_id,))
        events += [event for case in cases for event in history(case, run_id)]
        return run_id, events

    def _put(self, events: list[Event]) -> None:
        for first in range(0, len(events), BATCH):
            self.store.log.events.put(events[first : first + BATCH])


def _copy(
    administrator: psycopg.Connection[Any],
    evaluations: int,
    events: LiteralString,
    rows: LiteralString | sql.Composed,
) -> None:
    for first in range(RECORDED, evaluations, AT_ONCE):
        places = {
            "recorded": RECORDED, "events": EVENTS,
            "first": first, "beyond": min(first + AT_ONCE, evaluations),
        }  # fmt: skip
        with administrator.transaction():
            administrator.execute("SELECT failproof.lock_append()")
            administrator.execute(events, places)
            administrator.execute(rows, places)
            move_positions(administrator, PROJECTIONS, max_position(administrator))


def _evaluation_rows(administrator: psycopg.Connection[Any]) -> sql.Composed:
    """The statement that copies rows of `evaluations`: every column, a few of them replaced."""
    found = administrator.execute("SELECT * FROM projections.evaluations WHERE false")
    names = [column.name for column in found.description or ()]
    values = [
        sql.SQL(_REPLACED[name]) if name in _REPLACED else sql.Identifier("r", name)
        for name in names
    ]
    return sql.SQL("INSERT INTO projections.evaluations ({}) SELECT {} {}").format(
        sql.SQL(", ").join(map(sql.Identifier, names)),
        sql.SQL(", ").join(values),
        sql.SQL(_OF_EVALUATIONS),
    )


def _multiply(administrator: psycopg.Connection[Any], run_id: UUID, times: int) -> None:
    """What the ten evaluations added to the counters, so often."""
    sums = {table.name: table.sums for table in (GROUPS, CLASSES, USAGE, LATENCIES)}
    sums["run_asking"] = ("requests", "answers")
    for table, names in sums.items():
        changed = sql.SQL(", ").join(
            sql.SQL("{0} = {0} * %(times)s").format(sql.Identifier(name)) for name in names
        )
        administrator.execute(
            sql.SQL("UPDATE {} SET {} WHERE run_id = %(run)s").format(
                sql.Identifier("projections", table), changed
            ),
            {"times": times, "run": run_id},
        )
