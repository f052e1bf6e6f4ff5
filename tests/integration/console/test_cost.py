"""What a run cost, as its page shows it, is what SQL over the log adds up."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import httpx
import psycopg
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, mock_server, write_configuration, write_suite
from tests.console import console, settings_for
from tests.integration.console.test_pages import Text

ANSWERS = (
    "SELECT convert_from(state, 'UTF8')::json ->> 'model_key', count(*) "
    "FROM failproof.stored_events AS e JOIN failproof.run_list USING (run_id) "
    "WHERE topic = 'ResponseReceived' AND run_number = %s GROUP BY 1"
)
TOPICS = (
    "SELECT topic, count(*) FROM failproof.stored_events JOIN failproof.run_list USING (run_id) "
    "WHERE run_number = %s GROUP BY 1"
)
COST = (
    "SELECT sum(failproof.cost_usd(p.prices, s.payload -> 'usage', "
    "(s.payload ->> 'timestamp')::timestamptz)) "
    "FROM (SELECT run_id, convert_from(state, 'UTF8')::json AS payload "
    "FROM failproof.stored_events WHERE topic = 'ResponseReceived') AS s "
    "JOIN failproof.price_list AS p ON p.run_id = s.run_id "
    "AND p.model_key = s.payload ->> 'model_key'"
)


@pytest.mark.slow
def test_what_is_not_priced_is_counted_and_never_nothing(
    client: httpx.Client, console_log: str
) -> None:
    page = client.get("/runs/1/cost.json").json()
    with psycopg.connect(console_log) as connection:
        answers: dict[str, int] = dict(connection.execute(ANSWERS, (1,)).fetchall())
        topics: dict[str, int] = dict(connection.execute(TOPICS, (1,)).fetchall())
    assert {each["key"]: each["answers"] for each in page["by_asked"]} == answers
    assert page["answers"] == page["total"]["unpriced_answers"] == sum(answers.values())
    assert page["total"]["cost_usd"] is None
    assert {each["purpose"] for each in page["uses"]} == {"target"}
    assert sum(each["answers"] for each in page["uses"]) == sum(answers.values())
    waste = page["waste"]
    assert sum(each["requests"] for each in waste) == topics["RequestSent"]
    assert sum(each["failed_requests"] for each in waste) == topics["ErrorRecorded"]
    assert sum(each["lost_evaluations"] for each in waste) == topics["EvaluationAbandoned"]
    assert [each["attempt"] for each in page["attempts"]] == [1, 2, 3]
    assert {each["answers"] for each in page["attempts"]} == {sum(answers.values())}
    shown = Text(client.get("/runs/1/cost").text)
    assert f"unpriced: {sum(answers.values())}" in shown.text
    assert "$0" not in shown.text
    assert any("status=lost" in link for link in shown.links), "the number counts these results"


def test_what_is_priced_costs_what_sql_says(store: Store, tmp_path: Path) -> None:
    write_suite(tmp_path, 4)
    prices = {
        "version": "2026-11-01",
        "models": [{"model": "mock", "input_usd_per_million": 2.5, "output_usd_per_million": 10}],
    }
    with mock_server(latency_ms=0) as mock_url:
        write_configuration(tmp_path, mock_url, prices=prices)
        invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    with psycopg.connect(store.url) as connection:
        row = connection.execute(COST).fetchone()
    assert row is not None and row[0] > 0
    with console(**settings_for(store.url)) as url:
        page = httpx.get(f"{url}/runs/1/cost.json", timeout=60).json()
        text = Text(httpx.get(f"{url}/runs/1/cost", timeout=60).text).text
    assert Decimal(str(page["total"]["cost_usd"])).quantize(Decimal("1e-9")) == row[0].quantize(
        Decimal("1e-9")
    )
    assert page["total"]["unpriced_answers"] == 0
    assert sum(each["cost_usd"] for each in page["uses"]) == page["total"]["cost_usd"]
    assert "2026-11-01" in text and "unpriced" not in text.replace("Unpriced", "")


def test_a_run_that_is_not_there_is_a_404(client: httpx.Client) -> None:
    for path in ("/runs/99/cost", "/runs/x/cost.json", "/runs/%00/cost"):
        assert client.get(path).status_code in (400, 404)
    assert client.get("/runs/1/cost?x=1").status_code == 422
