"""The embedded model's server: one for all that ask the same weights, as long as one does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import psutil
import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models import ModelError, Provider, create_provider
from failproof_es.problems import InvalidInput
from tests.processes import children_with


def servers() -> list[psutil.Process]:
    """The servers that this process started and that still run."""
    return children_with("server.py")


def killed(server: psutil.Process) -> None:
    """Kill it and wait until whoever started it has taken note of that."""
    server.kill()
    deadline = time.monotonic() + 10
    while server.is_running():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def with_two(work: Callable[[Provider, Provider], Awaitable[None]], model: str) -> None:
    """A model under test and its judge, with the same weights and other settings."""

    async def main() -> None:
        entries = [
            Model(provider="local", model=model, max_tokens=max_tokens) for max_tokens in (4, 8)
        ]
        providers = [create_provider(each, timeout_ms=60_000, connections=2) for each in entries]
        try:
            await work(*providers)
        finally:
            await asyncio.gather(*(each.close() for each in providers))
        assert servers() == []

    asyncio.run(main())


async def opened(providers: Sequence[Provider]) -> None:
    await asyncio.gather(*(each.open() for each in providers))


async def answers(provider: Provider) -> bool:
    answer = await provider.send(provider.prepare([Turn(role="user", content="Say hello.")]))
    return bool(answer.text)


@pytest.mark.slow
def test_entries_of_the_same_weights_share_one_server_until_the_last_one_is_closed() -> None:
    async def work(model: Provider, judge: Provider) -> None:
        await opened([model, judge])
        assert len(servers()) == 1
        assert await answers(model) and await answers(judge)
        await model.close()
        await model.close()
        assert len(servers()) == 1
        assert await answers(judge)

    with_two(work, "smollm2")


@pytest.mark.slow
def test_a_server_that_died_is_an_error_to_who_uses_it_and_a_new_one_to_who_comes() -> None:
    async def work(model: Provider, judge: Provider) -> None:
        await model.open()
        (server,) = servers()
        await asyncio.to_thread(killed, server)
        with pytest.raises(ModelError) as caught:
            await answers(model)
        assert caught.value.kind == "connection"
        await judge.open()
        await model.close()
        assert await answers(judge)

    with_two(work, "smollm2")


def test_weights_that_cannot_be_served_are_the_same_error_to_everybody(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF and no more")

    async def work(model: Provider, judge: Provider) -> None:
        for outcome in await asyncio.gather(model.open(), judge.open(), return_exceptions=True):
            assert isinstance(outcome, InvalidInput)
            assert "[model-not-started]" in str(outcome)

    with_two(work, str(broken))
