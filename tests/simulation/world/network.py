"""Simulated model servers, behind the engine's own provider: its requests, and its reading of
replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import orjson

from failproof_es.configuration.schema import Configuration, Model
from failproof_es.core.spend import HIDDEN_INPUT_TOKENS
from failproof_es.engine.drive.targets import Targets, account_of
from failproof_es.engine.requests import Target
from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.http_reply import HttpReply
from failproof_es.models.protocol import Answer, ModelError, OnText, PreparedRequest
from failproof_es.models.providers.ollama.provider import OllamaProvider
from failproof_es.models.trust.permissions import OWN
from failproof_es.problems import InvalidInput
from failproof_es.support import clock
from tests.simulation.plan import MOST_OUTPUT_TOKENS
from tests.simulation.world.faults import Faults, ServerFault
from tests.simulation.world.loop import PROCESS, Process, SimulatedLoop

_NOT_CHARGED = ("rate_limited", "busy", "overloaded", "refusing")
_LONG_S = 60
"""What `Retry-After` says then."""
_WORDS = ("yes", "no", "I cannot help with that.", "")


@dataclass(slots=True)
class SentRequest:
    """One request as a client sent it, and what became of it."""

    number: int
    body: str
    process: Process
    answer: asyncio.Future[_Reply]
    """Done once the client has the reply, or waits for none any more."""
    arrived: bool = False
    reply: tuple[int, str] | None = None
    """The status and the body that the server sent back, once it did."""


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    headers: dict[str, str]
    body: bytes
    is_cut: bool = False


@dataclass(slots=True)
class ModelServers:
    """All servers of a history. They count what arrives."""

    loop: SimulatedLoop
    faults: Faults
    random: Random
    on_send: Callable[[SentRequest], None] = lambda sent: None
    on_charge: Callable[[int, int, int], None] = lambda number, read, written: None
    """Called with the tokens of each request that a server charges for."""
    sent: list[SentRequest] = field(default_factory=list)
    hold_at: int = 0
    """The number of a request that is surely turned away, for long; 0 for none."""

    def ask(self, model: str, body: bytes) -> asyncio.Future[_Reply]:
        """Send it. The future gets the reply, or an `OSError`, or nothing at all."""
        process = PROCESS.get()
        assert process is not None
        reply: asyncio.Future[_Reply] = self.loop.create_future()
        sent = SentRequest(len(self.sent) + 1, body.decode(), process, reply)
        self.sent.append(sent)
        self.on_send(sent)
        self.loop.outside(self.faults.network_delay_s(), lambda: self._arrive(model, sent, reply))
        return reply

    def _arrive(self, model: str, sent: SentRequest, reply: asyncio.Future[_Reply]) -> None:
        fault = "rate_limited" if sent.number == self.hold_at else self.faults.of_server()
        if fault == "unreachable":
            _settle(reply, ConnectionRefusedError("refused"))
            return
        sent.arrived = True
        read, written = self._tokens(sent.body)
        if fault not in _NOT_CHARGED:
            self.on_charge(sent.number, read, written)
        if fault == "silent":
            return
        if fault == "closed":
            _settle(reply, ConnectionResetError("reset"))
            return
        said = self._reply(fault, model, sent.number, (read, written))
        delay_s = self.faults.network_delay_s()
        self.loop.outside(delay_s, lambda: self._answer(sent, reply, said))

    def _answer(self, sent: SentRequest, reply: asyncio.Future[_Reply], said: _Reply) -> None:
        if not reply.done():
            sent.reply = said.status, said.body.decode()
            reply.set_result(said)

    def _tokens(self, body: str) -> tuple[int, int]:
        """Those read and those written: often as many as the request lets a server charge."""
        read = self.random.choice((3, len(body), len(body) + HIDDEN_INPUT_TOKENS))
        return read, self.random.choice((2, MOST_OUTPUT_TOKENS))

    def _reply(
        self, fault: ServerFault | None, model: str, number: int, tokens: tuple[int, int]
    ) -> _Reply:
        headers = {"content-type": "application/json", "x-request-id": str(number)}
        if fault == "rate_limited":
            headers["retry-after"] = str(
                _LONG_S if number == self.hold_at else self.random.choice((1, 2, 5))
            )
            return _Reply(429, headers, b'{"error": "too many requests"}')
        if fault == "busy":
            return _Reply(429, headers, b'{"error": "too many requests"}')
        if fault == "overloaded":
            return _Reply(503, {**headers, "retry-after": "1"}, b"later")
        if fault == "failing":
            return _Reply(500, headers, b"oh no")
        if fault == "garbled":
            return _Reply(200, headers, b'{"model": ')
        if fault == "refusing":
            return _Reply(self.random.choice((400, 401)), headers, b'{"error": "no"}')
        document = {
            "model": "another" if fault == "other_model" else model,
            "message": {"role": "assistant", "content": self.random.choice(_WORDS)},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": tokens[0],
            "eval_count": tokens[1],
            "number": number,
        }
        body = orjson.dumps(document)
        if fault == "cut":
            return _Reply(200, headers, body[: len(body) // 2], is_cut=True)
        return _Reply(200, headers, body)


def _settle(reply: asyncio.Future[_Reply], error: OSError) -> None:
    if not reply.done():
        reply.set_exception(error)


class SimulatedProvider(OllamaProvider):
    """One model behind a simulated server."""

    def __init__(self, model: Model, servers: ModelServers, timeout_ms: int) -> None:
        self.model = model
        self.base_url = model.base_url or ""
        self._servers = servers
        self._timeout_s = timeout_ms / 1000

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def check(self, *, offline: bool = False, looks: CheckCache | None = None) -> str | None:
        """Before a worker joins a run. Raises `InvalidInput`."""
        if self._servers.faults.of_check():
            raise InvalidInput.because(
                "server-unreachable", f"{self.base_url} cannot be reached from here"
            )
        return None

    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        """One attempt, as `HttpProvider.send` makes it."""
        began = clock.monotonic_s()
        try:
            async with asyncio.timeout(self._timeout_s):
                said = await self._servers.ask(self.model.model, request.body)
        except TimeoutError as error:
            message, waited_ms = f"no answer within {self._timeout_s:g} s", self._timeout_s * 1000
            raise ModelError("timeout", message, "transient", latency_ms=waited_ms) from error
        except OSError as error:
            written = isinstance(error, ConnectionResetError)
            latency_ms = (clock.monotonic_s() - began) * 1000 if written else None
            raise ModelError(
                "connection", str(error), "transient", latency_ms=latency_ms
            ) from error
        latency_ms = (clock.monotonic_s() - began) * 1000
        if said.is_cut:
            raise ModelError(
                "connection", "the connection was closed within the reply", "transient",
                status=said.status, headers=said.headers, body=said.body, latency_ms=latency_ms,
            )  # fmt: skip
        reply = HttpReply(said.status, said.headers, said.body, latency_ms, clock.utc_now(), None)
        return self.read(reply, None)


class SimulatedTargets(Targets):
    """The targets of a configuration, each behind a simulated server."""

    def __init__(self, configuration: Configuration, servers: ModelServers) -> None:
        self._servers = servers
        super().__init__(configuration, OWN)

    def _target(self, model: Model) -> Target:
        timeout_ms = self._configuration.execution.timeout_per_request_ms
        provider = SimulatedProvider(model, self._servers, timeout_ms)
        return Target(model, provider, self.limiters[account_of(model)], 2 * timeout_ms / 1000)
