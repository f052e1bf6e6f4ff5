"""Runs of providers that are no server of OpenAI's kind: asked, resumed, replayed and checked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.configuration.providers import PROVIDERS
from failproof_es.events import ResponseReceived, RunStarted, RunValidated
from failproof_es.store.reading.reader import read_streams
from failproof_es.store.store import Store
from failproof_es.testing.other_side import FakeServer
from tests.acceptance.commands import invoke
from tests.integration.models.contract.signed_plugin import CheckingServer, install
from tests.integration.models.contract.wires import OllamaWire, OpenAIWire

CASES = 6


@contextmanager
def serving(server: FakeServer) -> Iterator[FakeServer]:
    """The server beside a program that has an event loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(), loop).result()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def configured(folder: Path, *models: dict[str, Any], **execution: Any) -> None:
    cases = [
        {"case_id": f"c{n}", "suite_id": "s", "prompt": f"Say {n}", "expected_response": "yes"}
        for n in range(CASES)
    ]
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    document = {
        "test_run": {"name": "provided"},
        "models": models,
        "prompts": {"path": "suite.jsonl", "dialect": "failproof"},
        "execution": {"retry_attempts": 0, **execution},
    }
    (folder / "run.yaml").write_bytes(orjson.dumps(document))


def events(store: Store, kind: type[Any]) -> list[Any]:
    with store.connect() as connection:
        ids = [row[0] for row in connection.execute(
            "SELECT DISTINCT originator_id FROM failproof.stored_events WHERE topic = %s",
            (kind.__name__,),
        )]  # fmt: skip
        rows = read_streams(connection, ids)
    return [
        event for of_one in rows.values() for row in of_one
        if isinstance(event := row.event(), kind)
    ]  # fmt: skip


def test_a_run_with_ollamas_own_api(store: Store, tmp_path: Path) -> None:
    with serving(FakeServer(OllamaWire())) as server:
        server.answer_with("yes, of course")
        server.offered = ["llama"]
        configured(
            tmp_path,
            {"provider": "ollama", "model": "llama", "base_url": server.url,
             "seed": 3, "parameters": {"top_k": 5, "keep_alive": "1h"}},
        )  # fmt: skip
        done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
        assert done.exit_code == 0, done.output
    assert len(server.requests) == CASES and server.looked == 1
    body = orjson.loads(server.requests[0].body)
    assert body["options"] == {"num_predict": 1000, "temperature": 0.0, "seed": 3, "top_k": 5}
    assert body["keep_alive"] == "1h" and body["stream"] is False
    answers = events(store, ResponseReceived)
    assert {each.text for each in answers} == {"yes, of course"}
    assert {(each.usage.input_tokens, each.usage.output_tokens) for each in answers} == {(10, 5)}
    [validated] = events(store, RunValidated)
    assert validated.passed and not validated.findings
    replayed = invoke(store.url, "replay", "1", cwd=tmp_path)
    assert replayed.exit_code == 0, replayed.output


def test_thirty_models_of_one_server_are_looked_up_at_once(store: Store, tmp_path: Path) -> None:
    """Each had sent a request of its own, and a slow server answered only the first of them."""
    with serving(FakeServer(OllamaWire())) as server:
        server.offered = [f"m{n}" for n in range(0, 30, 2)]
        models = [
            {"provider": "ollama", "model": f"m{n}", "base_url": server.url} for n in range(30)
        ]
        configured(tmp_path, *models)
        done = invoke(store.url, "validate", "run.yaml", "--allow-unlisted", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    assert server.looked == 1 and not server.requests
    said = [line for line in done.output.splitlines() if "does not list" in line]
    assert len(said) == 15, done.output


def test_a_run_with_the_provider_of_another_package(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started, stopped by a wrong secret, resumed, replayed; read where it is not installed."""
    site = tmp_path / "site"
    install(
        site,
        "signed-plugin",
        {"signed": "tests.integration.models.contract.signed_plugin:PROVIDER"},
    )
    secrets = {"SIGNING_KEY": "sk-id-0123456789", "SIGNING_SECRET": CheckingServer.secret}
    with serving(CheckingServer(OpenAIWire())) as server, monkeypatch.context() as patched:
        patched.syspath_prepend(site)
        PROVIDERS.forget()
        server.answer_with(f"yes, and {CheckingServer.secret} is what you sign with")
        configured(
            tmp_path,
            {"provider": "signed", "model": "m", "base_url": f"{server.url}/v1",
             "api_key_env": "SIGNING_KEY", "options": {"secret_env": "SIGNING_SECRET"}},
            parallel_workers=1,
        )  # fmt: skip
        wrong = {**secrets, "SIGNING_SECRET": "another secret, and a wrong one"}
        host = server.url.removeprefix("http://")
        allowed = [word for name in secrets for word in ("--allow", f"{name}={host}")]
        stopped = invoke(store.url, "start", "run.yaml", *allowed, cwd=tmp_path, **wrong)
        assert stopped.exit_code not in (0, 2), stopped.output
        assert "signature is wrong" in stopped.output
        resumed = invoke(store.url, "resume", "1", cwd=tmp_path, **secrets)
        assert resumed.exit_code == 0, resumed.output
    PROVIDERS.forget()
    [started] = events(store, RunStarted)
    assert started.packages["signed-plugin"] == "1.2"
    assert started.models[0].settings["identity"] == "signed/m"
    for answer in events(store, ResponseReceived):
        assert CheckingServer.secret not in answer.model_dump_json()
        assert "[redacted:SIGNING_SECRET]" in answer.text
    for command in (("replay", "1"), ("show", "1"), ("results", "1"), ("verify", "--unsigned")):
        read = invoke(store.url, *command, cwd=tmp_path)
        assert read.exit_code in (0, 3), f"{command}: {read.output}"
    for command in (("start", "run.yaml"), ("validate", "run.yaml")):
        refused = invoke(store.url, *command, cwd=tmp_path)
        assert refused.exit_code == 2
        assert "models[0].provider: there is no provider 'signed'" in refused.output
        assert "Traceback" not in refused.output
