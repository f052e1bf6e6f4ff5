"""Base class of the provider contract: a subclass's settings, and the set-up of each test."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any
from unittest import SkipTest

from failproof_es.configuration.schema import Model
from failproof_es.models.protocol import Answer, ModelError, Provider
from failproof_es.models.provider_type import ProviderType, provider_type
from failproof_es.models.replies.parse_check import find_parse_mismatch
from failproof_es.testing.kit import KEY, KEY_VARIABLE, ask, error_text, key_set, recorded
from failproof_es.testing.other_side import Fault, ProviderServer

PATIENCE_MS = 20_000
_STATUS = {
    Fault.ERROR_OBJECT: 200, Fault.RATE_LIMITED: 429, Fault.UNAUTHORIZED: 401,
    Fault.NOT_FOUND: 404, Fault.SERVER_ERROR: 500,
}  # fmt: skip

Work = Callable[[ProviderServer, Provider], Awaitable[None]]


class ProviderUnderTest:
    """Base class of `ProviderContract`: what a subclass defines, and the set-up of each test."""

    provider: str
    """The name of the provider under test."""
    unable: Collection[Fault] = ()
    """Faults that cannot occur, for example an HTTP status without HTTP."""
    kinds: Mapping[Fault, Collection[str]] = {}
    """The expected kinds of errors, where they differ from those of providers over HTTP."""
    keeps_bodies = True
    """Whether replies have raw bytes, which errors hold too and `reparse` reads again."""
    lists_models = True
    """Whether a check requests the server's list of models."""

    @abstractmethod
    def server(self) -> ProviderServer:
        """A new server, not yet started."""

    @abstractmethod
    def settings(self, side: ProviderServer) -> dict[str, Any]:
        """The entry of `models:` for the server `side`, without `provider` and `api_key_env`."""

    def create(self, side: ProviderServer, model: Model, timeout_ms: int) -> Provider:
        """The provider under test. Override it if the configuration alone does not suffice.

        `side` is the running fake server.
        """
        return self.type.create(model, timeout_ms=timeout_ms, connections=2)

    @property
    def type(self) -> ProviderType:
        """The provider's type, loaded as in a run."""
        return provider_type(self.provider)

    def model(self, side: ProviderServer, **more: Any) -> Model:
        """The entry of `models:` under test, for the server `side`; `more` are further fields."""
        key = {"api_key_env": KEY_VARIABLE} if "api_key_env" in self.type.takes else {}
        entry = {"provider": self.provider, **self.settings(side), **key, **more}
        return Model.model_validate(entry)

    def _expect_error(
        self, fault: Fault, *kinds: str, stream: bool = False, timeout_ms: int = PATIENCE_MS
    ) -> ModelError:
        """Check that a fault of the server gives one error, of one of these kinds; return it.

        The error must come after one request, with all received bytes and without the key.
        """
        errors: list[ModelError] = []

        async def work(side: ProviderServer, provider: Provider) -> None:
            side.answer_with("This is a text of some length.", fault)
            try:
                await provider.send(provider.prepare(ask("hi")))
            except ModelError as raised:
                errors.append(raised)
            else:
                raise AssertionError(f"{fault.name} is taken for an answer")
            assert len(side.requests) == 1, "one call is one attempt"
            [error] = errors
            assert error.kind in self.kinds.get(fault, kinds), error.kind
            if fault in _STATUS and fault not in self.kinds:
                assert error.status == _STATUS[fault]
            if self.keeps_bodies and side.sent:
                assert error.body and side.sent.startswith(error.body)
                assert error.body == side.sent or fault is Fault.TOO_LARGE
            assert KEY not in error_text(error), "a key stands in the error"
            assert KEY not in repr(error.headers) and KEY.encode() not in (error.body or b"")

        self._run_with_server(
            work, fault, timeout_ms=timeout_ms, **({"stream": True} if stream else {})
        )
        return errors[0]

    def _parse_mismatch(self, provider: Provider, answer: Answer) -> object:
        return find_parse_mismatch(self.provider, recorded(provider, answer))

    def _run_with_server(
        self, work: Work, fault: Fault | None = None, *, timeout_ms: int = PATIENCE_MS, **more: Any
    ) -> None:
        """Run the test `work` with a new server, a new provider, and a key in the environment.

        Skips it if the `fault` cannot occur. `more` are further fields of the model's entry.
        """
        if fault in self.unable:
            raise SkipTest("that can't happen to it")

        async def main() -> None:
            side = self.server()
            await side.start()
            try:
                model = self.model(side, **more)
                side.offered = [model.model]
                provider = self.create(side, model, timeout_ms)
                try:
                    await provider.open()
                    await work(side, provider)
                finally:
                    await provider.close()
            finally:
                await side.stop()

        with key_set():
            asyncio.run(main())
