"""Every number, word and shape that users see of six recorded runs is what it was.

After a change that is meant: `GOLDEN=write pytest -m '' tests/golden_outputs` writes
the outputs anew; the diff of the commit shows what users will see.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from uuid import UUID

import httpx
import psycopg
import pytest
from psycopg import sql

from failproof_es.cli.rendering.suite_table import PARTS
from failproof_es.core.severity import WORDS, is_same_severity, severity_of, severity_rank
from failproof_es.reading import chosen_places as chosen_places_module
from failproof_es.reading.chosen_places import chosen_outcomes, chosen_places
from failproof_es.reading.chosen_results import (
    EVERY_RESULT,
    ListedResult,
    ResultKey,
    page_of_results,
    place_of,
)
from failproof_es.reading.failure_reasons import failure_reasons
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.reading.result_conditions import (
    CHOICES,
    PLACE,
    PROPERTIES,
    SEVERITY_RANK,
    STATES,
    STATUSES,
    UNFINISHED,
    Conditions,
    conditions_sql,
    severity_condition,
)
from failproof_es.reading.sorted_results import worst_first
from failproof_es.reading.summary_rows import model_rows, suite_rows, total_row
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.reading.reader import Connection, resolve_run
from failproof_es.store.schema.installation import WRITER
from tests.acceptance.commands import invoke
from tests.conftest import create_database, database_url_as, drop_database, home_of
from tests.console import console, settings_for
from tests.golden_outputs.outputs import EXPECTED, RUNS, commands, exported, pages, printed
from tests.golden_outputs.recording import LOG

pytestmark = pytest.mark.slow
ATTACHED = [number for number in RUNS if number != 5]
"""The runs that are not archived."""


@contextmanager
def _restored(
    server: EmbeddedServer, template: str, folders: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    folder = folders.mktemp("golden")
    create_database(server, folder.name, template)
    with psycopg.connect(database_url_as(server, folder.name), autocommit=True) as fresh:
        restore(fresh)
    yield database_url_as(server, folder.name, WRITER), folder
    drop_database(server, folder.name)


@pytest.fixture(scope="module")
def read_alone(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, Path]]:
    with _restored(postgres_server, migrated_database, tmp_path_factory) as restored:
        yield restored


@pytest.fixture
def golden(read_alone: tuple[str, Path]) -> Iterator[tuple[str, Path]]:
    """The URL of the recorded log, and a folder. Nothing is appended to it."""
    with home_of(read_alone[1]):
        yield read_alone


@pytest.fixture
def exporting(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, Path]]:
    """Another one: an export is an event."""
    with (
        _restored(postgres_server, migrated_database, tmp_path_factory) as restored,
        home_of(restored[1]),
    ):
        yield restored


def test_the_counts_of_every_row_add_up_to_its_evaluations(
    golden: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(golden[0], autocommit=True) as connection:
        for number in ATTACHED:
            run = RecordedRun.read(connection, resolve_run(connection, str(number)))
            rows = [*suite_rows(run.summary), *model_rows(run.summary), total_row(run.summary)]
            for row in rows:
                assert sum(row[part] for part in PARTS) == row["evaluations"], (number, row)
            reasons = failure_reasons(run)
            failed = run.summary.total.failed
            assert reasons.read == sum(count for _, count in reasons.counts) == failed, number
            in_log = failure_reasons(RecordedRun.read(connection, run.run_id, 2**62))
            assert sorted(in_log.counts) == sorted(reasons.counts), number
            for statuses in CHOICES.values():
                chosen = Conditions({"status": statuses, "suite": ("even", "judged")})
                fitting = [planned for planned in run.outcomes() if chosen.take(planned)]
                places = [(planned.place, planned.outcome.key) for planned in fitting]
                assert chosen_places(run, chosen) == places, (number, statuses)
                with monkeypatch.context() as few:
                    few.setattr(chosen_places_module, "MOST_CHOSEN", len(places) - 1)
                    assert chosen_places(run, chosen) is None, "one too many"
                    assert _ids(chosen_outcomes(run, chosen)) == _ids(fitting)
                    few.setattr(chosen_places_module, "MOST_CHOSEN", len(places))
                    assert chosen_places(run, chosen) == places
            assert _ids(in_log.worst) == _ids(reasons.worst), number
            failed_of_plan = [planned for planned in run.outcomes() if planned.outcome.failed]
            assert _ids(sorted(failed_of_plan, key=worst_first)[:5]) == _ids(reasons.worst), number


def _ids(results: Iterable[PlannedOutcome]) -> list[tuple[int, UUID]]:
    return [(planned.place, planned.outcome.evaluation_id) for planned in results]


_CHOSEN = (
    "SELECT e.evaluation_id FROM projections.evaluations AS e "
    "LEFT JOIN projections.prompts AS p USING (prompt_id) "
    f"WHERE e.run_id = %(run)s AND e.counted AND {PLACE} <> {UNFINISHED} "
)


def random_conditions(results: list[PlannedOutcome], random: Random) -> Conditions:
    """Conditions that some of the results meet, and some that none does."""
    one = random.choice(results)
    named: dict[str, tuple[str, ...]] = {}
    for name, condition in PROPERTIES.items():
        other = (condition.whole or condition).text_of(random.choice(results))
        texts = (condition.text_of(one), other, "none")
        if random.random() < 0.15:
            names = tuple(text for text in texts if text is not None)
            named[name] = names[: random.randint(1, 3)]
    if random.random() < 0.1:
        named["tag"] = (*one.case.tags[:1], "none")
    if random.random() < 0.4:
        named["status"] = tuple(random.sample([*STATUSES], random.randint(1, 4)))
    texts_of_case = (one.case.case_id, *one.case.headings, *one.case.questions)
    sought = random.choice([one.outcome.answer, one.outcome.reason, *texts_of_case]) or ""
    begin = random.randint(0, len(sought))
    text = sought[begin : begin + random.randint(1, 9)].swapcase()
    return Conditions(named, text if text and random.random() < 0.3 else None)


def test_rows_and_outcomes_are_chosen_alike(golden: tuple[str, Path]) -> None:
    random = Random(1)
    chosen = []
    with psycopg.connect(golden[0], autocommit=True) as connection:
        for number in ATTACHED:
            run = RecordedRun.read(connection, resolve_run(connection, str(number)))
            results = [planned for planned in run.outcomes() if planned.outcome.finished]
            for _ in range(60):
                conditions = random_conditions(results, random)
                where, values = conditions_sql(conditions)
                rows = connection.execute((_CHOSEN + where).encode(), values | {"run": run.run_id})
                expected = {p.outcome.evaluation_id for p in results if conditions.take(p)}
                assert {row[0] for row in rows} == expected, (number, conditions)
                chosen.append(0 < len(expected) < len(results))
    assert sum(chosen) > 100, "most conditions choose some of the results"


def test_a_list_by_severity_is_in_the_order_of_the_terminal(golden: tuple[str, Path]) -> None:
    with psycopg.connect(golden[0], autocommit=True) as connection:
        for number in ATTACHED:
            run = RecordedRun.read(connection, resolve_run(connection, str(number)))
            ranks = {
                planned.outcome.evaluation_id: severity_rank(severity_of(planned.case))
                for planned in run.outcomes()
            }
            read = partial(
                page_of_results, connection, run.run_id, EVERY_RESULT,
                up_to=2**62, limit=3, by_severity=True,
            )  # fmt: skip
            page = read()
            listed: list[ListedResult] = []
            while page.rows:
                listed += page.rows
                page = read(after=_key_of(connection, page.rows[-1]))
            order = [(STATES.index(row.state), ranks[row.evaluation_id]) for row in listed]
            assert order == sorted(order) and len({row.evaluation_id for row in listed}) == len(
                order
            )
            before = read(after=_key_of(connection, listed[-1]), backwards=True).rows
            assert [row.evaluation_id for row in before] == [
                row.evaluation_id for row in listed[-2:-5:-1]
            ]
        words = [None, *(word for same in WORDS for word in same), " High ", "odd"]
        for word in words:
            row = connection.execute(
                f"SELECT {SEVERITY_RANK} FROM (SELECT %s::text) AS p (severity)", (word,)
            ).fetchone()
            assert row == (severity_rank(word),), word
        known = list(filter(None, words))
        for name in known:
            condition, values = severity_condition("p.severity", [name])
            rows = connection.execute(
                f"SELECT severity FROM unnest(%(known)s::text[]) AS p (severity) WHERE {condition}",
                values | {"known": known},
            )
            assert {row[0] for row in rows} == {
                word for word in known if is_same_severity(word, name)
            }, name


def _key_of(connection: Connection, result: ListedResult) -> ResultKey | None:
    return place_of(connection, result.evaluation_id, by_severity=True)


def restore(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Put the recorded rows into a database without any."""
    connection.execute("SET session_replication_role = replica")  # tables in any order
    for table, content in json.loads(gzip.decompress(LOG.read_bytes())).items():
        copying = sql.SQL("COPY failproof.{} ({}) FROM STDIN").format(
            sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, content["columns"]))
        )
        with connection.cursor() as cursor, cursor.copy(copying) as copy:
            copy.write("".join(f"{row}\n" for row in content["rows"]))
    connection.execute(
        "SELECT setval(pg_get_serial_sequence('failproof.events', 'notification_id'), "
        "(SELECT max(notification_id) FROM failproof.events))"
    )


def assert_as_before(file: str, said: str) -> None:
    expected = EXPECTED / file
    if os.environ.get("GOLDEN") == "write":
        expected.parent.mkdir(parents=True, exist_ok=True)
        expected.write_text(said, "utf-8")
    assert said == expected.read_text("utf-8"), file


def test_every_reading_command_says_what_it_said(golden: tuple[str, Path]) -> None:
    url, folder = golden
    for command in commands():
        assert_as_before(command.file, printed(url, command, folder))


def test_every_export_holds_what_it_held(exporting: tuple[str, Path]) -> None:
    url, folder = exporting
    for shape in ("csv", "junit"):
        for run in RUNS:
            for name, content in exported(url, shape, run, folder).items():
                assert_as_before(f"{run}/export/{name}", content)


def test_every_page_of_the_console_says_as_data_what_it_said(golden: tuple[str, Path]) -> None:
    url, folder = golden
    assert invoke(url, "projections", "rebuild", cwd=folder).exit_code == 0  # no page is behind
    with console(**settings_for(url)) as base, psycopg.connect(url) as connection:
        for file, said in pages(base, connection):
            assert_as_before(file, said)
        judged = httpx.get(f"{base}/runs/3/results.json", timeout=60).json()["rows"][0]
        page = httpx.get(f"{base}/evaluations/{judged['evaluation_id']}", timeout=60).text
    tiles = re.findall(r"<div><dt>(.*?)</dt>", page.partition("</dl>")[0])
    assert [re.sub("<.*?>", "", tile) for tile in tiles] == [
        "Class", "Severity", "accuracy", "items", "judge agreement",
        "Latency", "Cost", "Requests", "Tokens",
    ], "no tile for a single item of the checklist"  # fmt: skip
