"""`get_completion` of specification 000 § 3: a synchronous call of an asynchronous provider."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from typing import Any

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.core.transcript import text_or_refusal
from failproof_es.models.protocol import Answer, Provider
from failproof_es.models.replies.model_name_check import require_model


def with_parameters(model: Model, params: Mapping[str, Any]) -> Model:
    """The model with `params` added to its parameters; they override its own of the same name."""
    return model.model_copy(update={"parameters": {**model.parameters, **params}})


def complete(provider: Provider, model: Model, prompt: str) -> str:
    """The text of the model's answer to `prompt`, or its refusal, from one request. Blocks.

    Thread-safe. Opens the provider, and closes it afterwards. Raises `ModelError` if the request
    fails or another model answers, and `InvalidInput` if the model cannot be used.
    """

    async def ask_model() -> Answer:
        try:
            await provider.open()
            return await provider.send(provider.prepare([Turn(role="user", content=prompt)]))
        finally:
            await provider.close()

    answer = _run_in_new_thread(ask_model())
    require_model(model.model, model.version, answer.model, model.version_check)
    return text_or_refusal(answer.text, answer.refusal)


def _run_in_new_thread(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run the coroutine in a new thread, and return its result or raise its exception.

    The caller's thread may already run an event loop.
    """
    answers: list[Answer] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(asyncio.run(work))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="get-completion", daemon=True)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return answers[0]
