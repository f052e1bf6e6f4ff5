"""The report's numbers three times over: as it says them, by SQL on the projections, by hand."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.report.data.builder import build_report
from failproof_es.report.data.content import Report
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.recording import Recording, recorded_once
from tests.conftest import open_copy

CASES = 40
MODELS = ("mock", "mock-b")
PRICES = {
    "version": "2026-11-21",
    "models": [
        {"model": "mock", "input_usd_per_million": 1.5, "output_usd_per_million": 6},
    ],
}


def write_run(folder: Path, url: str) -> None:
    """Some pass, some fail, some are refused, some are never answered."""
    cases = []
    for n in range(CASES):
        fault = {7: "[fault:http400]", 11: "[fault:notjson]", 13: "[fault:http500*1]"}.get(n, "")
        expected = "You said" if n % 3 else "never said"
        cases.append(
            {
                "case_id": f"c-{n:02}",
                "suite_id": "even" if n % 2 == 0 else "odd",
                "prompt": f"{folder.name} {n} {fault}",
                "expected_response": expected,
            }
        )
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    configuration = {
        "test_run": {"name": "numbers"},
        "models": [{"provider": "openai", "base_url": url, "model": model} for model in MODELS],
        "prompts": {"path": "suite.jsonl", "dialect": "failproof"},
        "execution": {
            "parallel_workers": 8, "retry_attempts": 1, "retry_delay_ms": 5, "repetitions": 2,
        },
        "prices": PRICES,
        "gates": {"min_accuracy": 0.1},
    }  # fmt: skip
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))


@pytest.fixture(scope="module")
def recording(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    def record(url: str, folder: Path) -> None:
        write_run(folder, mock_url)
        done = invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
        assert done.exit_code == 0, done.output

    return recorded_once(postgres_server, migrated_database, tmp_path_factory, record)


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_database: str) -> str:
    if "reported" not in request.fixturenames:
        return migrated_database
    recording: Recording = request.getfixturevalue("recording")
    return recording.database


@pytest.fixture(scope="module")
def reported(recording: Recording, postgres_server: EmbeddedServer) -> Report:
    """Built once; `store` is on a copy of the log that it is of."""
    with (
        open_copy(postgres_server, recording.database) as store,
        store.connect() as connection,
    ):
        return build_report(connection, [resolve_run(connection, "latest")])


def rates(report: Report, dimension: str) -> dict[tuple[str, str], tuple[int, int]]:
    return {
        (group.series, group.name): (group.rate.passed, group.rate.total)
        for group in report.groups
        if group.dimension == dimension
    }


@pytest.mark.slow
def test_the_report_says_what_sql_over_the_projections_says(store: Store, reported: Report) -> None:
    with store.connect() as connection:
        query = connection.execute
        by_suite = query(
            "SELECT model_key, suite_id, count(*) FILTER (WHERE accuracy = 1), count(accuracy) "
            "FROM projections.run_results GROUP BY 1, 2"
        ).fetchall()
        costs = dict(
            query("SELECT model_key, sum(cost_usd) FROM projections.cost GROUP BY 1").fetchall()
        )
        errors = dict(
            query(
                "SELECT model_key, count(*) FROM projections.run_results "
                "WHERE status = 'abandoned' GROUP BY 1"
            ).fetchall()
        )
        retries = dict(
            query("SELECT model_key, sum(retries) FROM projections.run_results GROUP BY 1")
            .fetchall()
        )  # fmt: skip
    assert rates(reported, "suite") == {
        (model, suite): (passed, total) for model, suite, passed, total in by_suite
    }
    assert {cost.key: cost.cost_usd for cost in reported.costs} == {
        "mock": pytest.approx(float(costs["mock"])),
        "mock-b": None,
    }
    assert costs["mock-b"] is None
    assert {each.series: sum(n for _, n in each.lost) for each in reported.errors} == errors
    assert {each.series: each.retries for each in reported.errors} == retries


def test_the_report_says_what_counting_the_raw_events_says(store: Store, reported: Report) -> None:
    streams: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    suites: dict[str, str] = {}
    with store.connect() as connection:
        for row in find(connection):
            payload = json.loads(row.state)
            if row.topic == "PromptStored":
                suites[str(row.stream_id)] = payload["case"]["suite_id"]
            elif "model_key" in payload:
                streams[str(row.stream_id)].append({"topic": row.topic, **payload})
    passed: Counter[tuple[str, str]] = Counter()
    scored: Counter[tuple[str, str]] = Counter()
    reached: defaultdict[str, Counter[str]] = defaultdict(Counter)
    lost: defaultdict[str, Counter[str]] = defaultdict(Counter)
    latencies: defaultdict[str, list[float]] = defaultdict(list)
    for events in streams.values():
        model, topics = events[0]["model_key"], {event["topic"] for event in events}
        for topic in topics:
            reached[model][topic] += 1
        reached[model]["answered and classified"] += {"ResponseReceived", "Classified"} <= topics
        for event in events:
            if event["topic"] == "Scored":
                key = model, suites[event["prompt_id"]]
                scored[key] += 1
                passed[key] += event["scores"]["accuracy"] == 1
            if event["topic"] == "EvaluationAbandoned":
                lost[model][event["kind"]] += 1
            if event["topic"] == "ResponseReceived":
                latencies[model].append(event["latency_ms"])
    assert rates(reported, "suite") == {key: (passed[key], scored[key]) for key in scored}
    for funnel in reported.funnels:
        counts = reached[funnel.series]
        assert funnel.planned == CASES * 2
        assert funnel.sent == counts["RequestSent"]
        assert funnel.answered == counts["ResponseReceived"]
        assert funnel.classified == counts["answered and classified"] < counts["Classified"]
        assert funnel.scored == counts["Scored"]
        assert dict(funnel.losses) == dict(lost[funnel.series])
        assert funnel.scored + sum(n for _, n in funnel.losses) == funnel.planned
    assert {each.series: list(each.values) for each in reported.latencies} == {
        model: sorted(values) for model, values in latencies.items()
    }


def test_repetitions_are_one_cluster_and_two_models_are_compared_on_what_both_answered(
    reported: Report,
) -> None:
    [overall, _] = [group for group in reported.groups if group.dimension == "overall"]
    assert overall.rate.total == 2 * overall.rate.clusters == 2 * (CASES - 2)
    [stable, _] = reported.stability
    assert (stable.k, stable.all_of_k.total, stable.changing) == (2, CASES - 2, 0)
    comparison, *by_category = reported.comparisons
    assert [each.what for each in by_category] == ["pass rate in even", "pass rate in odd"]
    assert sum(each.paired.pairs for each in by_category) == comparison.paired.pairs
    assert (comparison.one, comparison.other) == MODELS
    assert comparison.paired.pairs == overall.rate.total
    assert comparison.paired.difference == 0 and comparison.paired.p == 1.0


def test_the_gates_come_first_and_what_the_numbers_cannot_say_last(reported: Report) -> None:
    assert [(gate.name, gate.model, gate.met) for gate in reported.gates] == [
        (f"{name}.{model}", model, True)
        for model in ("mock", "mock-b")
        for name in ("min_accuracy", "max_unscored_rate")
    ]
    assert reported.verdict.tone in ("good", "doubt")
    said = " ".join(reported.limitations)
    assert "Not scored, and in no rate: " in said and "The cost of mock-b is unknown" in said
    assert len(reported.failures) == sum(
        group.rate.total - group.rate.passed
        for group in reported.groups
        if group.dimension == "overall"
    )
