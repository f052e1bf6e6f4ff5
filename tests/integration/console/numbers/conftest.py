"""A log with three runs, a console over it, and SQL beside both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import orjson
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from tests.acceptance.commands import invoke, write_configuration
from tests.conftest import create_database, database_url_as, drop_database, home_of
from tests.console import console, settings_for
from tests.integration.console.numbers.log import Ask, AskingLog
from tests.integration.console.numbers.server import Answers

CASES = 12


@pytest.fixture(scope="session")
def numbers_log(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Runs 1 and 2: two priced models, two repetitions, below a ceiling; 3: one, unpriced."""
    name = f"numbers_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name)
    folder = tmp_path_factory.mktemp("numbers")
    server = Answers()
    both = ("mock", "mock-large")
    models = [{"provider": "openai", "base_url": server.url, "model": m} for m in both]
    prices = [
        {"model": model, "input_usd_per_million": rate, "output_usd_per_million": 10}
        for model, rate in zip(both, (2.5, 5), strict=True)
    ]
    asking: dict[str, Any] = {"retry_attempts": 2, "retry_delay_ms": 10}
    with home_of(folder):
        for run in (1, 2, 3):
            with (folder / "suite.jsonl").open("wb") as lines:
                for n in range(8 if run == 3 else CASES):
                    case = {
                        "case_id": f"case-{n:02}",
                        "suite_id": ("arithmetic", "language")[n % 2],
                        "prompt": f"Say number {n}.",
                        "expected_response": f"number {n}",
                    }
                    lines.write(orjson.dumps(case) + b"\n")
            server.modulus = 4 if run == 2 else 3
            more: dict[str, Any] = (
                {"execution": asking}
                if run == 3
                else {
                    "models": models,
                    "prices": {"version": "2026-11-01", "models": prices},
                    "execution": {**asking, "repetitions": 2, "max_spend_usd": 5},
                }
            )
            write_configuration(folder, server.url, **more)
            done = invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
            assert "evaluations" in done.output, done.output
        assert invoke(url, "verify", cwd=folder).exit_code == 0
    server.shutdown()
    server.server_close()
    yield url
    drop_database(postgres_server, name)


@pytest.fixture(scope="session")
def served(numbers_log: str) -> Iterator[str]:
    with console(**settings_for(numbers_log)) as url:
        yield url


@pytest.fixture(scope="session")
def ask(numbers_log: str) -> Iterator[Ask]:
    """Asks SQL over the events."""
    with AskingLog(numbers_log) as asked:
        yield asked
