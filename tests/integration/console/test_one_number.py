"""One number, one definition: report, console, `show` and comparison say the same to the digit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import orjson
import psycopg
import pytest

import failproof_es
from failproof_es.core.summary import RunTotals
from failproof_es.reading.log import LogReader
from failproof_es.reading.rows import RowReader
from failproof_es.report.data.comparison import OVERALL
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.reading.reader import resolve_run
from tests.acceptance.commands import invoke, write_configuration
from tests.conftest import create_database, database_url_as, drop_database
from tests.console import console, settings_for
from tests.integration.console.test_comparing import Answers


def _write(folder: Path) -> None:
    """Two suites; of the first 18 cases every third of a suite is one family."""
    cases = [
        {
            "case_id": f"case-{n:02}",
            "suite_id": ("arithmetic", "language")[n % 2],
            "category": ("easy", "hard")[n % 4 == 0],
            "prompt": f"Say number {n}.",
            "expected_response": f"number {n}",
            "tags": [f"paraphrase:{n // 6}"] if n < 18 else ["plain"],
        }
        for n in range(24)
    ]
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))


@pytest.fixture(scope="module")
def compared_log(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Families in all runs; 2 asks each case twice, of 3 two models are asked."""
    name = f"numbers_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name)
    folder = tmp_path_factory.mktemp("numbers")
    server = Answers()
    _write(folder)
    write_configuration(folder, server.url)
    invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
    server.modulus = 5
    write_configuration(folder, server.url, execution={"repetitions": 2, "parallel_workers": 4})
    invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
    two = [{"provider": "openai", "base_url": server.url, "model": name} for name in ("mock", "b")]
    write_configuration(folder, server.url, models=two)
    invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
    server.shutdown()
    server.server_close()
    yield url
    drop_database(postgres_server, name)


@pytest.fixture(scope="module")
def asking(compared_log: str) -> Iterator[httpx.Client]:
    with (
        console(**settings_for(compared_log)) as url,
        httpx.Client(base_url=url, timeout=60) as opened,
    ):
        yield opened


Shared = tuple[Any, ...]


def _of_console(rate: dict[str, object]) -> Shared:
    return tuple(rate[name] for name in ("passed", "total", "clusters", "low", "high", "method"))


def _of_report(rate: dict[str, Any]) -> Shared:
    interval = rate["interval"] or {}
    return (
        *(rate[name] for name in ("passed", "total", "clusters")),
        *(interval.get(name) for name in ("low", "high", "method")),
    )


def _report(url: str, folder: Path, *runs: int) -> Any:
    done = invoke(url, "report", *runs, "--format", "json", "-o", "r.json", cwd=folder)
    assert done.exit_code == 0, done.output
    return orjson.loads((folder / "r.json").read_bytes())


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_rate_is_the_same_on_every_page_and_in_the_report(
    asking: httpx.Client, compared_log: str, tmp_path: Path, number: int
) -> None:
    """With its clusters and its interval, to the digit: families (all), repetitions (2), two
    models (3)."""
    report = _report(compared_log, tmp_path, number)
    rates = {
        (group["dimension"], group["name"], group["series"]): _of_report(group["rate"])
        for group in report["groups"]
    }
    run = asking.get(f"/runs/{number}.json").json()
    charts = asking.get(f"/runs/{number}/charts.json").json()
    (listed,) = asking.get(f"/runs.json?text={number}").json()["rows"]
    models = [each["model"] for each in run["models"]]
    assert len(models) == (2 if number == 3 else 1)
    for model in models:
        expected = rates["overall", "all cases", model]
        assert expected[2] < expected[1], "there are families"
        for shown in (run["by_model"], charts["overall"], listed["models"]):
            (own,) = [each for each in shown if each["model"] == model]
            assert _of_console(own["passed"]) == expected
    for shown in (run["by_suite"], charts["suites"]):
        assert {
            ("suite", each["suite"], each["model"]): _of_console(each["passed"]) for each in shown
        } == {key: rate for key, rate in rates.items() if key[0] == "suite"}
    told = orjson.loads(invoke(compared_log, "show", number, "--json", cwd=tmp_path).stdout)
    assert {row["model"]: _of_console(row["passed"]) for row in told["by_model"]} == {
        model: rate for (dimension, _, model), rate in rates.items() if dimension == "overall"
    }
    if len(models) > 1:
        assert run["passed"] is None and run["counts"]["passed"] is None
        assert told["counts"]["passed"] is None and told["classes"] is None
    else:
        assert _of_console(run["passed"]) == rates["overall", "all cases", models[0]]


def test_a_run_has_one_end_wherever_it_is_shown(
    asking: httpx.Client, compared_log: str, tmp_path: Path
) -> None:
    """The timestamp of the event that ended it; not when the database recorded or checked that."""
    (provenance,) = _report(compared_log, tmp_path, 1)["asked"]
    shown = orjson.loads(invoke(compared_log, "show", "1", "--json", cwd=tmp_path).stdout)
    page = asking.get("/runs/1.json").json()
    ends = {provenance["run"]["ended_at"], shown["ended_at"], page["ended_at"]}
    with psycopg.connect(compared_log, options="-c timezone=UTC") as connection:
        (ended,) = connection.execute(
            "SELECT payload ->> 'timestamp' FROM failproof.event_log "
            "WHERE event_type = 'RunCompleted' AND run_id = %s",
            (shown["run_id"],),
        ).fetchall()[0]
        rows = connection.execute(
            "SELECT ended_at = %(ended)s::timestamptz FROM projections.runs WHERE run_id = %(run)s "
            "UNION ALL "
            "SELECT ended_at = %(ended)s::timestamptz FROM promptguard.test_runs "
            "WHERE test_run_id = %(run)s",
            {"ended": ended, "run": shown["run_id"]},
        ).fetchall()
    assert ends == {ended}
    assert rows == [(True,), (True,)]


def test_rows_and_log_say_the_same_of_clusters(compared_log: str) -> None:
    with psycopg.connect(compared_log) as connection:
        rows, log = RowReader(connection), LogReader(connection)
        for number in range(1, 4):
            run = log.run(resolve_run(connection, str(number)))
            one, other = rows.summary(run), log.summary(run)
            assert one.counts.clusters == other.counts.clusters
            for model in one.models:
                assert one.totals.clusters[model] == other.cluster_sums(model)
        totals = {each.run_id: each for each in rows.totals() if isinstance(each, RunTotals)}
        for run_id, each in totals.items():
            summary = log.summary(log.run(run_id))
            assert each.clusters == {key: summary.cluster_sums(key) for key in summary.models}


@pytest.mark.parametrize(("base", "other"), [(1, 2), (2, 1)])
def test_a_comparison_has_the_same_p_and_interval_whichever_is_named_first(
    asking: httpx.Client, compared_log: str, tmp_path: Path, base: int, other: int
) -> None:
    (shown,) = asking.get(f"/compare.json?base={base}&other={other}").json()["models"]
    (told,) = [
        each
        for each in _report(compared_log, tmp_path, base, other)["comparisons"]
        if each["what"] == OVERALL
    ]
    paired = told["paired"]
    assert (shown["p"], shown["clusters"]) == (paired["p"], paired["clusters"])
    assert (shown["adjusted_p"], shown["adjusted_for"]) == (told["adjusted_p"], 1)
    assert abs(shown["difference"]) == pytest.approx(abs(paired["difference"]))
    ends = sorted((paired["interval"]["low"], paired["interval"]["high"]))
    assert sorted((abs(shown["low"]), abs(shown["high"]))) == pytest.approx(sorted(map(abs, ends)))


def without(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != name}


def test_a_run_is_one_document_wherever_it_is_shown(
    asking: httpx.Client, compared_log: str, tmp_path: Path
) -> None:
    """`show --json`, the console's twin, the library and the report's provenance."""
    for number in (1, 3):
        page = asking.get(f"/runs/{number}.json").json()
        done = invoke(compared_log, "show", str(number), "--json", cwd=tmp_path)
        with failproof_es.open(number, database_url=compared_log) as opened:
            document = opened.document.model_dump(mode="json")
        (provenance,) = _report(compared_log, tmp_path, number)["asked"]
        assert provenance["run"]["as_of"].pop("source") == "log"
        assert provenance["run"] == document | {"as_of": without(document["as_of"], "source")}
        assert orjson.loads(done.stdout) == document
        other_moment_and_user = ("as_of", "protection")  # the console reads with lower rights
        page_alone = {"trends", "failed_most", "more_failed", "next_steps"}
        assert page.keys() - document.keys() == page_alone
        for name in document.keys() - set(other_moment_and_user):
            assert page[name] == document[name], name
