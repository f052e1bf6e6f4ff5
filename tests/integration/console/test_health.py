"""What a probe and a collector of metrics get from the console."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from failproof_es.console.health import Health
from failproof_es.store.schema.installation import WRITER
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, mock_server, write_configuration, write_suite
from tests.console import console, settings_for

TOKEN = "a-token-of-32-characters-0123456"
SAMPLE = re.compile(r'failproof_es_\w+(\{\w+="(?:[^"\\\n]|\\.)*"\})? -?\d+(\.\d+)?')


def get(url: str, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{url}{path}", timeout=30, headers=headers, verify=False)


def samples(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    assert all(SAMPLE.fullmatch(line) for line in lines), text
    return dict(line.rsplit(" ", 1) for line in lines)


def test_health_needs_no_token_and_metrics_do(console_log: str) -> None:
    with console(**settings_for(console_log), token=TOKEN) as url:
        answer = get(url, "/healthz")
        assert answer.status_code == 200
        health = Health.model_validate_json(answer.content)
        assert (health.status, health.unsigned) == ("ok", 0)
        assert get(url, "/healthz", Host="evil.example").status_code == 421
        assert get(url, "/metrics").status_code == 401
        answer = get(url, "/metrics", Authorization=f"Bearer {TOKEN}")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        told = samples(answer.text)
    assert told["failproof_es_database_up"] == "1"
    assert told["failproof_es_unsigned_events"] == "0"
    assert int(told['failproof_es_runs{status="completed"}']) > 0
    assert " counter\n" not in answer.text, "a counter would fall when a run is archived"
    with psycopg.connect(console_log) as connection:
        row = connection.execute(
            "SELECT sum((payload #>> '{usage,input_tokens}')::int), "
            "(SELECT coalesce(sum(cost_usd), 0)::float8 FROM projections.cost) "
            "FROM failproof.event_log WHERE event_type = 'ResponseReceived'"
        ).fetchone()
    found = 'failproof_es_tokens{direction="input"}', "failproof_es_cost_usd"
    assert tuple(float(told[name]) for name in found) == row


@pytest.fixture
def template(bare_database: str) -> str:
    return bare_database


def test_a_run_that_nobody_drives_and_what_is_behind_are_counted(
    store: Store, administrator: psycopg.Connection, tmp_path: Path
) -> None:
    write_suite(tmp_path, 3)
    elsewhere = str(tmp_path / "home")  # without the key
    settings: dict[str, Any] = {**settings_for(store.url), "follower_url": None}
    start = ("start", "run.yaml", "--detach", "--quiet")
    with mock_server(latency_ms=0) as mock_url, console(**settings) as url:
        write_configuration(tmp_path, mock_url)
        assert invoke(store.url, *start, cwd=tmp_path).exit_code == 0
        none = {"status": "ok", "projections_behind": None, "unsigned": 0}
        assert get(url, "/healthz").json() == none
        assert invoke(store.url, "projections", "rebuild", cwd=tmp_path).exit_code == 0
        assert invoke(store.url, *start, cwd=tmp_path, FAILPROOF_ES_HOME=elsewhere).exit_code == 0
        time.sleep(1.1)  # an answer is given again for a second
        health = get(url, "/healthz").json()
        behind = health["projections_behind"]
        assert behind == health["unsigned"] > 3
        told = samples(get(url, "/metrics").text)
        administrator.execute("DROP SCHEMA failproof_queue CASCADE")
        without_queue = samples(get(url, "/metrics").text)
    assert without_queue == {name: n for name, n in told.items() if "workers" not in name}
    assert told["failproof_es_projections_behind"] == str(behind)
    assert told["failproof_es_unsigned_events"] == str(behind)
    assert told['failproof_es_runs{status="running"}'] == "1"
    assert told["failproof_es_runs_without_driver"] == "1"
    assert told["failproof_es_workers"] == "0"


def test_without_its_database_the_console_says_so(store: Store) -> None:
    nowhere = store.url.replace("/store_", "/nowhere_")
    assert f"//{WRITER}@" in nowhere
    with console(**settings_for(nowhere)) as url:
        answer = get(url, "/healthz")
        assert (answer.status_code, answer.json()["status"]) == (503, "no database")
        assert samples(get(url, "/metrics").text) == {"failproof_es_database_up": "0"}
