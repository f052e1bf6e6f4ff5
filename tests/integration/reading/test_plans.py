"""What the pages and the views ask is answered from indexes: nothing reads the whole log.

Plans are compared by the names of indexes and by how many rows were looked at, never by times. Each
is tried as a server plans without any setting, and as the embedded one does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.assurance.signing.integrator import integrate
from failproof_es.core.case import Case, Turn
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.events import EVENTS, RunStarted
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.benchmarks.filling import Filler
from tests.benchmarks.rebuild import history, planned, stored_prompt
from tests.conftest import create_database, database_url_as, drop_database
from tests.documented import PAGES, Block, blocks

SETTINGS = ("SET random_page_cost = 4", "SET random_page_cost = 1.1")
SIZES = [2_500, pytest.param(51_000, marks=pytest.mark.wide)]
"""Evaluations of each of two large runs. With 51,000 the log has more than 500,000 events."""
BESIDE = 60
COUNTED = "events_ended_idx"
"""Counts are read from this index alone, an entry for each evaluation that ended."""
LOG = "events"
FREQUENT = {"PromptStored", "RequestSent", "ResponseReceived", "Classified", "Scored"}
QUERIES = [
    (block, statement)
    for page in PAGES
    for block in blocks(page)
    if block.language == "sql" and ".parquet'" not in block.text
    for statement in block.text.split(";\n")
    if "SELECT" in statement
]
NAMED = {
    "docs/how-to/auditing.md": [
        set(),
        {"events_run_id_idx", "ledger_tiles_first_position_idx"},
        {"events_topic_idx"},
        {"events_topic_idx"},
        {"events_topic_idx"},
        {"events_sent_idx"},
        {"prompts_case_idx", "events_stream_version"},
        {"audit_trail_pkey"},
        {"evaluations_order_idx"},
        set(),
        set(),
        set(),
        {"audit_trail_pkey"},
    ],
    "docs/how-to/promptguard.md": [{"events_topic_idx", "events_run_id_idx"}],
}
"""The indexes that the queries of a page are answered from, in their order."""


class PlanReads(NamedTuple):
    """What one part of a plan looked at."""

    how: str
    relation: str
    name: str
    rows: int


@dataclass(frozen=True)
class Log:
    """A long log, as an auditor reads it."""

    auditor: psycopg.Connection[Any]
    administrator: psycopg.Connection[Any]
    events: int
    small: UUID
    large: list[UUID]
    guarded: UUID
    """A run of the dialect promptguard."""

    def reads(self, statement: str, setting: str) -> list[PlanReads]:
        """Every table and index that is looked at for an answer."""
        self.auditor.execute(setting.encode())
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}"
        row = self.auditor.execute(explain.encode()).fetchone()
        assert row is not None
        return list(_reads(row[0][0]["Plan"]))

    def indexes(self, statement: str, setting: str) -> set[str]:
        """The names of the indexes that an answer comes from."""
        return {each.name for each in self.reads(statement, setting)} - {""}

    def scans(self, statement: str, setting: str) -> list[PlanReads]:
        """Those of them that look at a good part of the log."""
        return [
            each
            for each in self.reads(statement, setting)
            if each.relation == LOG
            and each.name != COUNTED
            and (each.how == "Seq Scan" or each.rows > self.events / 100)
        ]


def _reads(node: dict[str, Any]) -> Iterator[PlanReads]:
    removed = ("Rows Removed by Filter", "Rows Removed by Index Recheck")
    rows = (node["Actual Rows"] + sum(node.get(name, 0) for name in removed)) * node["Actual Loops"]
    relation, index = node.get("Relation Name", ""), node.get("Index Name", "")
    if relation or index:
        yield PlanReads(node["Node Type"], relation, index, round(rows))
    for inner in node.get("Plans", ()):
        yield from _reads(inner)


@pytest.fixture(scope="module", params=SIZES)
def log(
    request: pytest.FixtureRequest, postgres_server: EmbeddedServer, migrated_database: str
) -> Iterator[Log]:
    name = f"plans_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)

    def url(user: str = "postgres") -> str:
        return database_url_as(postgres_server, name, user)

    with (
        Store.open(url(WRITER)) as store,
        store.connect() as writing,
        psycopg.connect(url(), autocommit=True) as administrator,
    ):
        filler = Filler(store, writing)
        small = filler.fill(10)
        large = [filler.copied(administrator, request.param, topic) for topic in ("read", None)]
        filler.beside(BESIDE, 3)
        guarded = begin_promptguard(store, writing, filler.number + 1)
        filler.finish()
        integrate(writing)
        administrator.execute("VACUUM (ANALYZE)")
        row = administrator.execute("SELECT count(*) FROM failproof.events").fetchone()
        assert row is not None
        with psycopg.connect(url(AUDITOR), autocommit=True) as auditor:
            yield Log(auditor, administrator, row[0], small, large, guarded)
    drop_database(postgres_server, name)


def begin_promptguard(store: Store, connection: psycopg.Connection[Any], number: int) -> UUID:
    """Three stored prompts, judged."""
    run_id = uuid4()
    asked = PlannedCases()
    stored = []
    for each in range(3):
        case = Case(
            dialect="promptguard", case_id=f"p-{each}", suite_id="calibration",
            document={"content": str(each)},
            turns=(Turn(role="user", content=f"judge {each}"),),
        )  # fmt: skip
        asked.add(case.digest(), case)
        stored.append(stored_prompt(case.digest(), case))
    started, *plan = planned(asked, run_id, number)
    assert isinstance(started, RunStarted)
    began = started.model_copy(update={"dialect": "promptguard"})
    connection.execute("SELECT failproof.number_run(%s)", (run_id,))
    judged = [event for each in stored for event in history(each.originator_id, run_id)]
    store.log.events.put([*stored, began, *plan, *judged])
    return run_id


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("block", "statement"), QUERIES, ids=lambda each: str(each)[:60])
def test_no_query_of_a_page_reads_the_whole_log(
    log: Log, block: Block, statement: str, setting: str
) -> None:
    assert log.scans(statement, setting) == []
    if expected := NAMED.get(block.page):
        place = [each for of, each in QUERIES if of.page == block.page].index(statement)
        assert expected[place] <= log.indexes(statement, setting)


@pytest.mark.parametrize("page", sorted(NAMED))
def test_the_indexes_of_every_query_of_these_pages_are_named(page: str) -> None:
    assert len(NAMED[page]) == len([block for block, _ in QUERIES if block.page == page])


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    ("view", "rows", "indexes"),
    [
        ("stored_cases", 3, {"events_promptguard_idx"}),
        ("prompts", 3, {"events_promptguard_idx"}),
        ("evaluations", 3, {"events_topic_idx", "events_run_id_idx", "events_promptguard_idx"}),
        ("test_runs", BESIDE + 4, {COUNTED, "events_topic_idx"}),
        ("model_configs", BESIDE + 4, {"events_stream_version"}),
    ],
)
def test_no_view_of_the_collections_reads_the_whole_log(
    log: Log, view: str, rows: int, indexes: set[str], setting: str
) -> None:
    statement = f"SELECT * FROM promptguard.{view}"
    assert log.scans(statement, setting) == []
    assert indexes <= log.indexes(statement, setting)
    assert len(log.auditor.execute(statement.encode()).fetchall()) == rows


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("view", ["evaluations", "test_runs", "model_configs"])
def test_what_a_view_tells_of_one_run_is_read_of_that_run(
    log: Log, view: str, setting: str
) -> None:
    for run in (log.small, log.guarded):
        statement = f"SELECT * FROM promptguard.{view} WHERE test_run_id = '{run}'"
        read = [each for each in log.reads(statement, setting) if each.relation == LOG]
        assert max(each.rows for each in read) <= 100
        assert {each.how for each in read} & {"Seq Scan"} == set()


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    "view", ["failproof.event_log", "failproof.readable_log", "promptguard.opened_events"]
)
def test_the_first_events_of_any_run_are_found_by_its_index(
    log: Log, view: str, setting: str
) -> None:
    for run in (log.small, *log.large, log.guarded):
        statement = f"SELECT * FROM {view} WHERE run_id = '{run}' ORDER BY position LIMIT 20"
        [read] = log.reads(statement, setting)
        assert (read.name, read.rows <= 20) == ("events_run_id_idx", True)
    [first] = log.reads(f"SELECT * FROM {view} ORDER BY position LIMIT 20", setting)
    assert first == ("Index Scan", LOG, "events_notification_id_idx", 20)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("topics", ["'RunStarted'", "'AttemptOrphaned', 'ErrorRecorded'"])
def test_rare_events_are_found_by_their_topic(log: Log, topics: str, setting: str) -> None:
    statement = f"SELECT * FROM failproof.event_log WHERE event_type IN ({topics})"
    assert log.indexes(statement, setting) == {"events_topic_idx"}
    assert max(each.rows for each in log.reads(statement, setting)) <= BESIDE + 4


def test_every_topic_but_the_five_most_frequent_is_in_the_index(
    administrator: psycopg.Connection[Any],
) -> None:
    row = administrator.execute(
        "SELECT pg_get_indexdef('failproof.events_topic_idx'::regclass)"
    ).fetchone()
    assert row is not None
    assert set(re.findall(r"'(\w+)'", row[0])) == FREQUENT < set(EVENTS)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("suite", ["", " AND suite_id = 'suite'"])
def test_results_are_found_by_their_case(log: Log, suite: str, setting: str) -> None:
    statement = f"SELECT * FROM projections.run_results WHERE case_id = 'case-77'{suite}"
    either = {"prompts_suite_idx", "prompts_case_idx"} if suite else {"prompts_case_idx"}
    used = log.indexes(statement, setting)  # of case and suite, both indexes find as few rows
    assert "evaluations_prompt_idx" in used and len(used) == 2 and used & either
    assert max(each.rows for each in log.reads(statement, setting)) == 2


WITHOUT_ROW_SECURITY = """
DROP EVENT TRIGGER failproof_definitions_stay;
DO $$
DECLARE
    secured regclass;
BEGIN
    FOR secured IN SELECT oid FROM pg_class WHERE relrowsecurity LOOP
        EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', secured);
    END LOOP;
END;
$$;
"""


READ = re.compile(r"(?:Scan(?: Backward)? using|Index Scan on|Seq Scan on) (\w+)")


@pytest.mark.parametrize("setting", SETTINGS)
def test_who_reads_everything_reads_by_the_same_indexes_with_row_security(
    log: Log, setting: str
) -> None:
    """The order of conditions differs, and a few rows of one stream may be sorted."""

    def read(connection: psycopg.Connection[Any]) -> dict[str, set[str]]:
        connection.execute(setting.encode())
        plans = {
            statement: connection.execute(f"EXPLAIN (COSTS OFF) {statement}".encode()).fetchall()
            for _, statement in QUERIES
        }
        return {
            statement: set(READ.findall("\n".join(line for (line,) in plan)))
            for statement, plan in plans.items()
        }

    secured = read(log.auditor)
    assert any(secured.values())
    with log.administrator.transaction(force_rollback=True):
        log.administrator.execute(WITHOUT_ROW_SECURITY)
        log.administrator.execute("SET LOCAL SESSION AUTHORIZATION failproof_auditor")
        assert read(log.administrator) == secured
