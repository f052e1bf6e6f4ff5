"""Models as a user interface sees them: what there is, what can't be reached, what they say."""

from __future__ import annotations

import contextlib
import logging
from base64 import b64encode
from collections.abc import Iterator

import pytest

from failproof_es.abstraction.implementation.engine_loop import EngineLoop
from failproof_es.abstraction.implementation.llm_manager import LLMManager
from failproof_es.configuration.schema import Model
from failproof_es.models import ModelError
from failproof_es.problems import InvalidInput
from tests.integration.benchmark.conftest import Configured, Server

NOBODY = "http://127.0.0.1:9/v1"


class Reverser:
    """A model client of a user's own (specification 000 § 3)."""

    def __init__(self, api_key: str | None, model_id: str) -> None:
        self.model_id = model_id

    def get_completion(self, prompt: str, params: dict[str, object]) -> str:
        return prompt[::-1]


@pytest.fixture
def models(configured: Configured, server: Server) -> Iterator[LLMManager]:
    """Models of a server, of another that offers the same, of nobody, and of this process."""
    configuration = configured().configuration
    elsewhere = Model(provider="openai", model="gamma", base_url=NOBODY)
    same = server.url.replace("/v1", "/ollama/v1")
    again = Model(provider="openai", model="beta", base_url=same)
    own = Model(provider="python", model="reverser", class_=f"{__name__}:Reverser")
    whole = [model.model_copy(update={"stream": False}) for model in configuration.models]
    loop = EngineLoop()
    manager = LLMManager(
        configuration.model_copy(update={"models": [*whole, again, elsewhere, own]}), loop
    )
    yield manager
    manager.close()
    loop.close()


def test_what_every_provider_offers_is_listed_once_and_who_is_not_there_is_named(
    models: LLMManager, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert models.list_models() == ["alpha", "beta", "judge", "reverser"]
    assert list(models.unreachable) == [NOBODY]
    assert "cannot be reached" in models.unreachable[NOBODY]
    assert NOBODY in caplog.text


def test_a_model_that_is_offered_and_not_configured_is_asked_like_the_configured_one(
    models: LLMManager, server: Server
) -> None:
    assert models.model_named("judge").base_url == server.url
    with pytest.raises(InvalidInput, match=r"'delta'.*\[unknown-model\]"):
        models.model_named("delta")


def test_preparing_looks_whether_the_model_is_there(models: LLMManager) -> None:
    models.prepare_model("alpha")
    with pytest.raises(InvalidInput, match=r"\[server-unreachable\]"):
        models.prepare_model("gamma")


def test_preparing_has_ollama_fetch_what_it_lacks_and_others_say_what_they_have(
    configured: Configured, server: Server
) -> None:
    ollama = server.url.replace("/v1", "/ollama/v1")
    lacking = [
        Model(provider="openai", model="delta", base_url=ollama),
        Model(provider="openai", model="unheard-of", base_url=ollama),
        Model(provider="openai", model="epsilon", base_url=server.url),
    ]
    configuration = configured().configuration.model_copy(update={"models": lacking})
    loop = EngineLoop()
    with contextlib.closing(loop), contextlib.closing(LLMManager(configuration, loop)) as models:
        models.prepare_model("delta")
        assert "delta" in models.list_models()
        with pytest.raises(
            InvalidInput, match=r"unheard-of: HTTP 500: no such.*\[model-not-fetched\]"
        ):
            models.prepare_model("unheard-of")
        with pytest.raises(InvalidInput, match=r"epsilon.*\[unknown-model\]"):
            models.prepare_model("epsilon")


def test_an_answer_is_whole_or_comes_in_pieces(models: LLMManager) -> None:
    assert models.generate("alpha", "Hello") == "alpha says: Hello"
    pieces: list[str] = []
    models.stream_generate("beta", "Hello there", pieces.append)
    assert "".join(pieces) == "beta says: Hello there"  # of one piece where the machine is busy


def test_a_model_that_echoes_its_key_is_not_heard_saying_it(
    configured: Configured, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-canary-0123456789"
    monkeypatch.setenv("MANAGER_KEY", key)
    model = {"provider": "openai", "base_url": server.url, "api_key_env": "MANAGER_KEY"}
    echo = f"[answer:{b64encode(f'It is {key}.'.encode()).decode()}]"
    configuration = configured(models=[{**model, "model": "alpha"}]).configuration
    loop = EngineLoop()
    manager = LLMManager(configuration, loop)
    pieces: list[str] = []
    with contextlib.closing(loop), contextlib.closing(manager):
        manager.stream_generate("alpha", echo, pieces.append)
        assert manager.generate("alpha", echo) == "".join(pieces) == "It is [redacted:MANAGER_KEY]."
        with pytest.raises(ModelError, match=r"It is \[redacted:MANAGER_KEY\]") as refused:
            manager.generate("alpha", f"{echo} [http:400]")
    assert key not in repr(vars(refused.value)) and refused.value.status == 400


def test_a_provider_that_answers_whole_streams_one_piece(models: LLMManager) -> None:
    pieces: list[str] = []
    models.stream_generate("reverser", "abc", pieces.append)
    assert pieces == ["cba"]


def test_what_goes_wrong_is_raised_and_a_listener_that_raises_keeps_the_answer_going(
    models: LLMManager, server: Server
) -> None:
    with pytest.raises(ModelError, match="no"):
        models.generate("alpha", "[http:400]")

    def fail(piece: str) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        models.stream_generate("alpha", "Once", fail)
    assert server.asked()["alpha\nOnce"] == 1
