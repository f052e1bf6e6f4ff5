"""The configuration that specification 001 § 4.1 shows, as it stands there, from import to file."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import orjson
import pytest

from failproof_es.core.case import run_id
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.servers.anthropic_server import AnthropicServer, in_background

AS_IT_STANDS = """\
test_run:
  id: "string (auto-generated if not provided)"
  name: "string"
  timestamp: "ISO-8601"

models:
  - provider: "anthropic"
    model: "claude-sonnet-4.5"
    version: "2024-10-22"  # Explicit version
    max_tokens: 1000
    temperature: 0.0

prompts:
  source: "database"  # or "file"
  collection: "calibration_480"
  filters:
    category: ["manipulative", "reciprocal"]

execution:
  parallel_workers: 4
  retry_attempts: 3
  retry_delay_ms: 1000
  timeout_per_request_ms: 30000

output:
  database:
    enabled: true
    real_time: true
  file:
    enabled: true
    format: "jsonl"
    path: "./outputs/{timestamp}_{test_name}.jsonl"
"""
ID = "string (auto-generated if not provided)"
VERDICT = {"T": 0.9, "I": 0.1, "F": 0.8, "reasoning": "it asks for the rules"}


@pytest.fixture
def folder(store: Store, tmp_path: Path) -> Path:
    """The configuration, and the collection that it names."""
    (tmp_path / "run.yaml").write_text(AS_IT_STANDS)
    answer = b64encode(orjson.dumps(VERDICT)).decode()
    prompts = [
        {
            "prompt_id": f"p-{number}", "content": f"{number} [answer:{answer}]", "source": "test",
            "category": category, "expected_label": "manipulative",
            "created_at": "2026-11-21T08:00:00Z",
        }
        for number, category in enumerate(("manipulative", "reciprocal", "other"))
    ]  # fmt: skip
    (tmp_path / "prompts.jsonl").write_bytes(b"\n".join(map(orjson.dumps, prompts)))
    imported = invoke(
        store.url, "prompts", "import", "prompts.jsonl", "--collection", "calibration_480",
        cwd=tmp_path,
    )  # fmt: skip
    assert imported.exit_code == 0, imported.output
    return tmp_path


@pytest.fixture
def server() -> Iterator[AnthropicServer]:
    with in_background(AnthropicServer("-2024-10-22")) as server:
        yield server


def test_the_configuration_of_the_specification_is_accepted_as_it_stands(
    store: Store, folder: Path
) -> None:
    key = {"ANTHROPIC_API_KEY": "sk-ant-0123456789abcdef"}
    done = invoke(store.url, "validate", "run.yaml", "--offline", cwd=folder, **key)
    assert done.exit_code == 0, done.output
    assert "Ready to run: 2 cases, 2 evaluations" in done.stdout
    assert "ANTHROPIC_API_KEY -> api.anthropic.com (https)" in done.stderr


def test_it_runs_and_the_run_is_found_by_the_id_that_stands_in_it(
    store: Store, folder: Path, server: AnthropicServer
) -> None:
    allowed = f"ANTHROPIC_API_KEY={urlsplit(server.url).netloc}"
    base_url = f"models.0.base_url={server.url}"
    start = ("start", "run.yaml", "--set", base_url, "--allow", allowed, "--allow-unlisted")
    done = invoke(store.url, *start, "--json", cwd=folder, ANTHROPIC_API_KEY="sk-ant")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["counts"] == {"planned": 2, "finished": 2, "scored": 2, "abandoned": 0}
    assert {headers["x-api-key"] for headers in server.headers} == {"sk-ant"}
    with store.connect() as connection:
        stream = resolve_run(connection, ID)
        started = next(find(connection, stream_id=stream)).payload()
    assert stream == UUID(said["run_id"]) == run_id(ID)
    assert started["configuration"]["test_run"]["id"] == ID
    assert started["configuration"]["models"][0]["api_key_env"] == "ANTHROPIC_API_KEY"
    [written] = (folder / "outputs").glob("*_string.jsonl")
    _, *lines = map(json.loads, written.read_text().splitlines())
    assert {line["response"]["parsed"]["F"] for line in lines} == {0.8}
    for command in ("show", "log", "results", "audit", "replay", "resume"):
        found = invoke(store.url, command, ID, cwd=folder, ANTHROPIC_API_KEY="sk-ant")
        assert found.exit_code == 0, (command, found.output)
    assert f"{ID} ({stream})" in invoke(store.url, "show", "latest", cwd=folder).stdout
    again = invoke(store.url, *start, cwd=folder, ANTHROPIC_API_KEY="sk-ant")
    assert again.exit_code == 2
    assert f"run {stream} exists already" in again.stderr


def test_without_its_key_nothing_is_sent_and_the_variable_is_named(
    store: Store, folder: Path, server: AnthropicServer
) -> None:
    allowed = f"ANTHROPIC_API_KEY={urlsplit(server.url).netloc}"
    base_url = f"models.0.base_url={server.url}"
    start = ("start", "run.yaml", "--set", base_url, "--allow", allowed, "--allow-unlisted")
    done = invoke(store.url, *start, cwd=folder, ANTHROPIC_API_KEY=None)
    assert done.exit_code == 2
    assert "the environment variable ANTHROPIC_API_KEY is not set" in done.stderr
    assert server.requests == []
