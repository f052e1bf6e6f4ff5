"""One run over many providers at once, each by its own wire format: killed, resumed, verified."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from failproof_es.events import ResponseReceived
from failproof_es.store.store import Store
from failproof_es.testing.other_side import FakeServer
from tests.acceptance.commands import begin, kill_group, run
from tests.acceptance.runs.test_providers import CASES, configured, events, serving
from tests.integration.models.contract.speaking.all import SPOKEN
from tests.integration.models.contract.wires import AnthropicWire, OpenAIWire

KEY = "sk-canary-many-0123456789"
WIRES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    **{
        speaks.provider: (
            speaks.wire,
            speaks.path,
            {key: value for key, value in speaks.entry.items() if key != "model"},
        )
        for speaks in SPOKEN
    },
    "openai-sdk": (OpenAIWire, "/v1", {"class": "asking:Chat"}),
    "anthropic-sdk": (AnthropicWire, "", {"class": "asking:Claude"}),
}
"""The server of each, the path of its base URL, and what its entry needs."""
STREAMING = ("openai-responses", "azure", "anthropic", "bedrock", "gemini", "ollama")
ASKING = """
import anthropic, httpx2, openai


class Chat:
    def __init__(self, *, api_key, model_id, base_url, transport):
        client = httpx2.Client(transport=transport)
        self.client = openai.OpenAI(api_key=api_key, base_url=base_url, http_client=client)
        self.model = model_id

    def ask(self, messages, params):
        asked = self.client.chat.completions.create(model=self.model, messages=messages, **params)
        return asked.choices[0].message.content


class Claude(Chat):
    def __init__(self, *, api_key, model_id, base_url, transport):
        client = httpx2.Client(transport=transport)
        self.client = anthropic.Anthropic(api_key=api_key, base_url=base_url, http_client=client)
        self.model = model_id

    def ask(self, messages, params):
        limit = params["max_tokens"]
        asked = self.client.messages.create(model=self.model, messages=messages, max_tokens=limit)
        return asked.content[0].text
"""
"""What a user writes, with the packages of two vendors; their retries are left on."""


class Slow(FakeServer):
    """Takes its time, so that a kill finds requests in flight."""

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(0.1)
        return await super()._exchange(reader, writer)


def counted(store: Store, topic: str) -> int:
    with store.connect() as connection:
        row = connection.execute(
            "SELECT count(*) FROM failproof.stored_events WHERE topic = %s", (topic,)
        ).fetchone()
    return int(row[0]) if row else 0


@pytest.mark.slow
@pytest.mark.wide
def test_a_run_over_many_providers_is_killed_resumed_and_verified(
    store: Store, tmp_path: Path
) -> None:
    with ExitStack() as servers:
        models: list[dict[str, Any]] = []
        (tmp_path / "asking.py").write_text(ASKING)
        for name, (wire, path, more) in WIRES.items():
            server = servers.enter_context(serving(Slow(wire())))
            server.offered = [f"model-{name}"]
            server.answer_with("yes")
            entry = {"provider": name, "model": f"model-{name}", "base_url": server.url + path}
            streams = {"stream": True} if name in STREAMING else {}
            models.append({**entry, "api_key_env": "MANY_KEY", **more, **streams})
        configured(tmp_path, *models, parallel_workers=4, retry_attempts=2, retry_delay_ms=10)
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path, MANY_KEY=KEY)
        deadline = time.monotonic() + 60
        while counted(store, "ResponseReceived") < len(WIRES):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        kill_group(process)
        assert counted(store, "ResponseReceived") < CASES * len(WIRES), "killed in the middle"
        done = run(store.url, "resume", "latest", "--quiet", cwd=tmp_path, MANY_KEY=KEY)
        assert done.returncode == 0, done.stderr
    for command in (["verify"], ["replay", "latest"]):
        done = run(store.url, *command, cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    answers = events(store, ResponseReceived)
    assert counted(store, "Scored") == len(answers) == CASES * len(WIRES)
    assert {answer.text for answer in answers} == {"yes"}
    assert {answer.usage.input_tokens for answer in answers} == {10}
    named = {answer.model for answer in answers}
    assert named == {None, *(f"model-{name}" for name in WIRES if name != "bedrock")}
    assert sum(answer.first_token_ms is not None for answer in answers) == CASES * len(STREAMING)
    with store.connect() as connection:
        found = connection.execute(
            "SELECT count(*) FROM failproof.stored_events WHERE position(%s::bytea in state) > 0",
            (KEY.encode(),),
        ).fetchone()
    assert found == (0,), "a key is on record"


LEAKS = """
class Leaks:
    count = 0

    def __init__(self, *, api_key, model_id, base_url, transport):
        self.key, self.url, self.transport = api_key, base_url, transport

    def ask(self, messages, params):
        Leaks.count += 1
        if Leaks.count > 1:
            raise ValueError(f"no luck with {self.key}")
        import httpx
        httpx.Client(transport=self.transport).post(f"{self.url}/chat/completions", json={})
"""


def test_a_class_that_breaks_in_a_run_halts_it_and_its_key_is_not_on_record(
    store: Store, tmp_path: Path
) -> None:
    with serving(FakeServer(OpenAIWire())) as server:
        (tmp_path / "leaking.py").write_text(LEAKS)
        entry = {"provider": "openai-sdk", "model": "m", "base_url": f"{server.url}/v1"}
        configured(tmp_path, {**entry, "class": "leaking:Leaks", "api_key_env": "MANY_KEY"})
        done = run(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path, MANY_KEY=KEY)
    assert done.returncode == 1, done.stderr
    assert "raised ValueError: no luck with" in done.stderr
    assert KEY not in done.stderr + done.stdout
    assert not server.requests
    with store.connect() as connection:
        found = connection.execute(
            "SELECT count(*) FILTER (WHERE position(%s::bytea in state) > 0), "
            "count(*) FILTER (WHERE topic = 'RunPaused') FROM failproof.stored_events",
            (KEY.encode(),),
        ).fetchone()
    assert found == (0, 1)
