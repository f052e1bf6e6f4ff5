"""The embedded model on a busy machine: what takes long is waited for, what hangs is not."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from failproof_es.configuration.schema import Configuration, Model
from failproof_es.core.case import Turn
from failproof_es.engine.drive.targets import Targets
from failproof_es.models import Answer, ModelError, Provider, create_provider, max_concurrency
from failproof_es.models.providers.local.process import MOST_SLOTS, SLOTS
from failproof_es.models.trust.permissions import OWN
from tests.integration.models.test_embedded_model import servers

TOKENS = 100


def asked_of(
    timeout_ms: int, work: Callable[[Provider], Awaitable[Any]], tokens: int = TOKENS
) -> Any:
    """What `work` makes of the embedded model, which never ends an answer early."""
    model = Model(
        provider="local", model="smollm2", max_tokens=tokens, parameters={"ignore_eos": True}
    )

    async def main() -> Any:
        provider = create_provider(model, timeout_ms=timeout_ms, connections=4)
        await provider.open()
        try:
            return await work(provider)
        finally:
            await provider.close()

    return asyncio.run(main())


async def answered(provider: Provider) -> Answer:
    return await provider.send(provider.prepare([Turn(role="user", content="Count to 1000.")]))


async def answered_again(provider: Provider) -> str:
    """Ask until there is an answer: a server that was stopped has what it was asked before to do
    first, and on a machine with others that takes longer than a time-out of some seconds."""
    for _ in range(20):
        with contextlib.suppress(ModelError):
            return (await answered(provider)).text
    return ""


@pytest.mark.slow
@pytest.mark.wide
def test_an_answer_that_takes_longer_than_the_time_out_is_waited_for_while_it_goes_on() -> None:
    whole = asked_of(60_000, answered)
    assert whole.usage.output_tokens == TOKENS
    again = asked_of(max(1, round(whole.latency_ms / 3)), answered)
    assert again.usage.output_tokens == TOKENS
    assert again.finish_reason == "length"


@pytest.mark.slow
def test_a_server_that_hangs_is_given_up() -> None:
    async def work(provider: Provider) -> None:
        (server,) = servers()
        os.kill(server.pid, signal.SIGSTOP)
        began = time.monotonic()
        try:
            with pytest.raises(ModelError) as caught:
                await answered(provider)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert time.monotonic() - began < 30
        assert caught.value.kind == "timeout"
        assert caught.value.disposition == "transient"
        assert caught.value.message == "the embedded model made no progress within 3 s"
        assert await answered_again(provider)  # the same server

    asked_of(3_000, work, tokens=10)


@pytest.mark.parametrize("workers", [1, 4, 1000])
def test_no_request_waits_in_the_embedded_models_server(workers: int) -> None:
    configuration = Configuration.model_validate(
        {
            "test_run": {"name": "a"},
            "models": [
                {"provider": "local", "model": "smollm2"},
                {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "b"},
            ],
            "judge": {"provider": "local", "model": "smollm2", "max_tokens": 9},
            "prompts": {"path": "a.jsonl"},
            "execution": {"parallel_workers": workers},
        }
    )
    gates = Targets(configuration, OWN).limiters
    ceilings = {account.server: gate.ceiling for account, gate in gates.items()}
    assert ceilings == {
        "local:smollm2": min(workers, SLOTS),
        "http://127.0.0.1:9/v1": workers,
    }


def test_the_embedded_models_server_imports_little_and_leaves_its_core_while_it_waits() -> None:
    """On a machine with 15 others to import this program before it listened took 15 s, where the
    library itself takes 1 s."""

    async def work(_: Provider) -> tuple[str, str]:
        (server,) = servers()
        loaded = " ".join(each.path for each in server.memory_maps())
        return loaded, server.environ()["OMP_WAIT_POLICY"]

    loaded, policy = asked_of(60_000, work)
    assert "xllamacpp" in loaded
    assert "pydantic_core" not in loaded
    assert policy == "passive"


def test_the_embedded_model_answers_two_requests_on_each_core() -> None:
    cores = len(os.sched_getaffinity(0))
    assert max_concurrency(Model(provider="local", model="smollm2")) == min(2 * cores, MOST_SLOTS)
    assert max_concurrency(Model(provider="openai", model="m", base_url="http://a/v1")) is None
