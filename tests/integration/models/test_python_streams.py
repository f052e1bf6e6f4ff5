"""A class of the user's own that streams: what came is kept, and nothing is waited for in vain."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.models import Answer, ModelError, create_provider
from failproof_es.testing.kit import ask


class Whole:
    """Answers whole."""

    def __init__(self, api_key: str, model_id: str) -> None:
        self.model_id = model_id

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        return f"{prompt}!"


class Streams(Whole):
    """Streams, well or not, as the prompt says."""

    taken = 0

    def stream_completion(self, prompt: str, params: dict[str, Any]) -> Iterator[Any]:
        yield from ("Grü", "", "ße")
        match prompt:
            case "break":
                raise RuntimeError("it broke")
            case "halves":
                yield from ("\ud83d", "\ude00", "\ud83d")
            case "number":
                yield 7
            case "endless":
                while True:
                    Streams.taken += 1
                    yield "a" * 2**16
            case "slow":
                while True:
                    Streams.taken += 1
                    time.sleep(0.02)
                    yield "."


def told(kind: type, prompt: str, timeout_ms: int = 5_000) -> tuple[Answer | ModelError, list[str]]:
    async def main() -> tuple[Answer | ModelError, list[str]]:
        heard: list[str] = []
        model = Model.model_validate(
            {
                "provider": "python",
                "model": "m",
                "class": f"{__name__}:{kind.__name__}",
                "stream": True,
            }
        )
        provider = create_provider(model, timeout_ms=timeout_ms, connections=1)
        try:
            return await provider.send(provider.prepare(ask(prompt)), heard.append), heard
        except ModelError as error:
            return error, heard

    return asyncio.run(main())


def test_pieces_are_heard_as_they_come_and_the_answer_is_all_of_them() -> None:
    answer, heard = told(Streams, "hi")
    assert isinstance(answer, Answer)
    assert (answer.text, answer.body, heard) == ("Grüße", "Grüße".encode(), ["Grü", "ße"])
    assert answer.first_token_ms is not None and answer.first_token_ms <= answer.latency_ms


@pytest.mark.parametrize(("prompt", "says"), [("break", "it broke"), ("number", "gave int")])
def test_what_came_before_an_error_is_kept_with_it(prompt: str, says: str) -> None:
    error, heard = told(Streams, prompt)
    assert isinstance(error, ModelError)
    assert (error.kind, error.body, heard) == ("client_exception", "Grüße".encode(), ["Grü", "ße"])
    assert says in error.message


def test_a_stream_that_does_not_end_is_given_up_and_no_more_is_taken() -> None:
    error, _ = told(Streams, "slow", timeout_ms=200)
    assert isinstance(error, ModelError) and error.kind == "timeout"
    assert (error.body or b"").startswith("Grüße.".encode())
    time.sleep(0.1)
    taken = Streams.taken
    time.sleep(0.2)
    assert Streams.taken == taken


def test_a_stream_longer_than_any_answer_is_no_answer_and_no_more_is_taken() -> None:
    error, _ = told(Streams, "endless")
    assert isinstance(error, ModelError)
    assert (error.kind, error.disposition) == ("malformed_response", "final")


def test_a_class_that_does_not_stream_answers_whole_and_the_check_says_so() -> None:
    answer, heard = told(Whole, "hi")
    assert isinstance(answer, Answer) and (answer.text, heard) == ("hi!", [])
    where = {"provider": "python", "model": "m", "stream": True}
    for name, remark in (("Streams", None), ("Whole", "has no `stream_completion`")):
        model = Model.model_validate({**where, "class": f"{__name__}:{name}"})
        provider = create_provider(model, timeout_ms=1_000, connections=1)
        said = asyncio.run(provider.check())
        assert said is None if remark is None else remark in (said or "")
        assert asyncio.run(provider.check(offline=True)) is None


def test_two_pieces_may_share_a_character_and_a_half_that_is_alone_is_its_escape() -> None:
    answer, _ = told(Streams, "halves")
    assert isinstance(answer, Answer)
    assert answer.text == "Grüße\U0001f600\\ud83d"
