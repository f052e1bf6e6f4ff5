"""`LLMManagerApi`: the models of a configuration, and the other models of their servers.

Requests of this module belong to no run and are not recorded: they try a model and don't measure
it. A run asks its models through the engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from failproof_es.abstraction.implementation.dispatcher import logger
from failproof_es.abstraction.implementation.engine_loop import EngineLoop
from failproof_es.configuration.schema import Configuration, Model
from failproof_es.core.case import Turn
from failproof_es.core.transcript import text_or_refusal
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.models import (
    ModelError,
    Provider,
    create_provider,
    provider_type,
    secret_variables,
)
from failproof_es.models.catalog.available_models import available_models, is_available
from failproof_es.models.protocol import UnlistedModel
from failproof_es.problems import InvalidInput


@dataclass(slots=True)
class _Listing:
    """The models that providers offer, by name, and the errors of unreachable providers."""

    models: dict[str, Model] = field(default_factory=dict)
    unreachable: dict[str, str] = field(default_factory=dict)


class LLMManager:
    """A `LLMManagerApi` of the configured models and the other models of their servers.

    Another model of a server gets the settings of the configured model.
    """

    def __init__(self, configuration: Configuration, loop: EngineLoop) -> None:
        self._configured_models: dict[str, Model] = {}
        self._models_by_location: dict[tuple[str, str | None, str | None], Model] = {}
        self._judges = {model.model: model for model in reversed(configuration.asked_judges)}
        for model in (*configuration.models, *configuration.asked_judges):
            self._configured_models.setdefault(model.model, model)
            self._models_by_location.setdefault(_provider_location(model), model)
        self._timeout_ms = configuration.execution.timeout_per_request_ms
        self._allow_unlisted = configuration.execution.allow_unlisted
        self._loop = loop
        self._listing = _Listing()
        self._open_providers: dict[str, Provider] = {}
        self._opening_locks: dict[str, asyncio.Lock] = {}
        """One lock for each model, so that concurrent callers open its provider once."""

    @property
    def unreachable(self) -> dict[str, str]:
        """Errors of the last `list_models`, by the URL of the provider, or the model's name if it
        has none."""
        return dict(self._listing.unreachable)

    def list_models(self) -> list[str]:
        """Every model of every reachable configured provider, each name once.

        Unreachable providers are logged and listed in `unreachable`.
        """
        self._listing = self._loop.run(_list_offered(list(self._models_by_location.values())))
        for provider, reason in self._listing.unreachable.items():
            logger.warning("the models of %s are not listed: %s", provider, reason)
        return list(self._listing.models)

    def model_named(self, name: str) -> Model:
        """The configuration of the model of that name. Raises `InvalidInput` if there is none."""
        if name in self._configured_models:
            return self._configured_models[name]
        if name not in self._listing.models:
            self.list_models()
        if name not in self._listing.models:
            names = ", ".join(dict.fromkeys([*self._configured_models, *self._listing.models]))
            raise InvalidInput.because(
                "unknown-model", f"there is no model {name!r}", remedy=f"there are: {names}"
            )
        return self._listing.models[name]

    def judge_named(self, name: str) -> Model:
        """The configuration of the judge of that name, or else of the model.

        Raises `InvalidInput` if there is neither.
        """
        return self._judges.get(name) or self.model_named(name)

    def prepare_model(self, name: str) -> None:
        """Make a model ready: load it if it is embedded, have Ollama fetch it if it is missing.

        Of any other server, check that it is reachable, accepts the key and has the model. Raises
        `InvalidInput` if there is no such model or it can't be used.
        """
        model = self.model_named(name)
        self._loop.run(_require_offered(model))
        self._loop.run(self._prepare(model))

    def generate(self, model_name: str, prompt: str) -> str:
        """The whole answer to one message, `prompt`.

        Raises `InvalidInput` if the model can't be used, `ModelError` if the request fails.
        """
        return self._loop.run(self._ask(self.model_named(model_name), prompt, None))

    def stream_generate(
        self, model_name: str, prompt: str, on_token: Callable[[str], None]
    ) -> None:
        """Pass the answer to `on_token` in pieces; in one piece if the provider can't stream.

        `on_token` is called in order, in another thread for streamed pieces. Its exception ends the
        calls and is raised once the answer is complete. Raises `InvalidInput` if the model can't be
        used, `ModelError` if the request fails.
        """
        raised: list[Exception] = []

        def pass_on(piece: str) -> None:
            if not raised:
                try:
                    on_token(piece)
                except Exception as error:
                    raised.append(error)

        model = self.model_named(model_name)
        streams = provider_type(model.provider).capabilities.streaming
        came: list[str] = []

        def listen(piece: str) -> None:
            came.append(piece)
            pass_on(piece)

        requested_model = model.model_copy(update={"stream": True}) if streams else model
        text = self._loop.run(self._ask(requested_model, prompt, listen))
        if not came:
            pass_on(text)
        if raised:
            raise raised[0]

    def close(self) -> None:
        """Close the opened providers."""
        self._loop.run(self._close())

    async def _prepare(self, model: Model) -> Provider:
        key = model.model_dump_json()
        async with self._opening_locks.setdefault(key, asyncio.Lock()):
            if key not in self._open_providers:
                self._open_providers[key] = await self._open_provider(model)
            return self._open_providers[key]

    async def _open_provider(self, model: Model) -> Provider:
        provider = create_provider(model, timeout_ms=self._timeout_ms, connections=1)
        try:
            with _redactor(model).redact_errors():
                await self._check(provider)
                await provider.open()
        except BaseException:
            await provider.close()
            raise
        return provider

    async def _check(self, provider: Provider) -> None:
        """Check the provider as a run does before it begins. Raises `InvalidInput` if it fails.

        A model that the server does not list is accepted with `execution.allow_unlisted`.
        """
        try:
            await provider.check()
        except UnlistedModel:
            if not self._allow_unlisted:
                raise

    async def _ask(self, model: Model, prompt: str, on_text: Callable[[str], None] | None) -> str:
        """The model's answer to `prompt`, the model's key replaced, as in the log.

        `on_text` gets the pieces of a streamed answer. Raises `ModelError` if the request fails.
        """
        redactor = _redactor(model)
        streaming = redactor.for_stream(on_text) if on_text else None
        provider = await self._prepare(model)
        request = provider.prepare([Turn(role="user", content=prompt)])
        try:
            answer = await provider.send(request, streaming.piece if streaming else None)
        except ModelError as error:
            message = redactor.redact(error.message)
            raise ModelError(
                error.kind,
                message,
                error.disposition,
                status=error.status,
                retry_after_s=error.retry_after_s,
                latency_ms=error.latency_ms,
            ) from None  # cause, headers and body are dropped: they may hold the key
        if streaming:
            streaming.end()
        return redactor.redact(text_or_refusal(answer.text, answer.refusal))

    async def _close(self) -> None:
        await asyncio.gather(*(provider.close() for provider in self._open_providers.values()))
        self._open_providers.clear()


def _redactor(model: Model) -> Redactor:
    return Redactor(list(secret_variables(model)))


async def _offered_names(model: Model) -> list[str]:
    """The model names that the provider offers, keys redacted.

    Raises `InvalidInput` if the provider can't be asked for them.
    """
    redactor = _redactor(model)
    with redactor.redact_errors():
        return [redactor.redact(name) for name in await available_models(model)]


async def _require_offered(model: Model) -> None:
    offered = await _offered_names(model)
    if is_available(offered, model.model):
        return
    if not await provider_type(model.provider).fetch_model(model):
        raise InvalidInput.because(
            "unknown-model",
            f"{model.base_url} does not have {model.model}",
            remedy=f"it has: {', '.join(offered)}",
        )


def _provider_location(model: Model) -> tuple[str, str | None, str | None]:
    """Provider, URL and class: models that share these are offered the same model names."""
    return (model.provider, model.base_url, model.class_)


async def _list_offered(models: Sequence[Model]) -> _Listing:
    offered = await asyncio.gather(
        *(_offered_names(model) for model in models), return_exceptions=True
    )
    listing = _Listing()
    for model, names in zip(models, offered, strict=True):
        if isinstance(names, InvalidInput):
            listing.unreachable[model.base_url or model.model] = str(names)
            continue
        if isinstance(names, BaseException):
            raise names
        for name in names:
            configured = {"model": name, "version": model.version if name == model.model else None}
            listing.models.setdefault(name, model.model_copy(update=configured))
    return listing
