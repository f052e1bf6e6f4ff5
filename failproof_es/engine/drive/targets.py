"""The models of a run: their keys, their providers, opened and closed together."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence

from failproof_es.configuration.schema import Configuration, Model
from failproof_es.core.limits import Limits, ProviderKey, lowest_of
from failproof_es.engine.drive.interpreter import Target
from failproof_es.engine.drive.redaction import SHORTEST_KEY, Redactor
from failproof_es.engine.limits.concurrency_limiter import ConcurrencyLimiter, LimitUpdate
from failproof_es.engine.limits.fair_semaphore import FairSemaphore
from failproof_es.engine.limits.key_share import KeyShare, KeyShares
from failproof_es.events import LimitChanged, ModelSnapshot
from failproof_es.models import (
    create_provider,
    max_concurrency,
    model_keys,
    secret_variables,
    server_of,
    snapshot,
    stuck_after_s,
)
from failproof_es.models.catalog.listing import CheckCache
from failproof_es.problems import InvalidInput, Problem

_JUDGE = "judge:"


class Targets:
    """Every model that the configuration names, the judges among them."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        judges = configuration.asked_judges
        models = dict(zip(model_keys(configuration.models), configuration.models, strict=True))
        judging = {
            f"{_JUDGE}{key}": judge for key, judge in zip(model_keys(judges), judges, strict=True)
        }
        self.gates = self._gates({**models, **judging})
        self.models = {key: self._target(model) for key, model in models.items()}
        self.judges = {key: self._target(model) for key, model in judging.items()}

        self.limited = {
            server: (_provider_key(server, entries), _limits(entries))
            for server, keys in _by_server({**models, **judging}).items()
            for entries in [[{**models, **judging}[key] for key in keys]]
        }
        """By server: what its limits belong to, and those that are configured."""
        self._shares: list[tuple[KeyShare, ConcurrencyLimiter]] = []

    def _gates(self, models: Mapping[str, Model]) -> dict[str, ConcurrencyLimiter]:
        """One limiter for each server, shared by its models."""
        execution = self._configuration.execution
        workers, patience_s = execution.parallel_workers, execution.rate_limit_wait_ms / 1000
        slots = FairSemaphore(workers)
        gates = {}
        for server, keys in _by_server(models).items():
            most = [known for key in keys if (known := max_concurrency(models[key])) is not None]
            gates[server] = ConcurrencyLimiter(
                server, keys, min([workers, *most]), slots, patience_s
            )
        return gates

    def _target(self, model: Model) -> Target:
        execution = self._configuration.execution
        provider = create_provider(
            model,
            timeout_ms=execution.timeout_per_request_ms,
            connections=execution.parallel_workers,
        )
        timeout_s = execution.timeout_per_request_ms / 1000
        return Target(
            model, provider, self.gates[server_of(model)], stuck_after_s(model, timeout_s)
        )

    async def share_limits(self, shares: KeyShares, *, with_others: bool) -> None:
        """Draw from the shares of each server's key; `with_others`: also where it has no limits."""
        for server, (key, limits) in self.limited.items():
            if limits.any or with_others:
                share, gate = await shares.of(key, limits), self.gates[server]
                share.join(gate)
                gate.share = share
                self._shares.append((share, gate))

    def restore_limits(
        self, last: Mapping[str, LimitChanged], on_change: Callable[[LimitUpdate], None]
    ) -> None:
        """Go on with the limits that were recorded last, and tell of every change from now on."""
        for server, gate in self.gates.items():
            gate.on_change = on_change
            if known := last.get(server):
                gate.restore(known.limit_after, known.held_until)

    def close_gates(self) -> None:
        """Let no more requests pass: those that wait are not sent."""
        for gate in self.gates.values():
            gate.close()

    @property
    def by_server(self) -> Sequence[Sequence[str]]:
        """The keys of the models under test, grouped by server."""
        models = {key: target.model for key, target in self.models.items()}
        return list(_by_server(models).values())

    def _all(self) -> Sequence[Target]:
        return [*self.models.values(), *self.judges.values()]

    def snapshots(self) -> tuple[ModelSnapshot, ...]:
        """The models' configuration as it is recorded, in configuration order."""
        return tuple(snapshot(target.model, key) for key, target in self.models.items())

    def judge_snapshots(self) -> tuple[ModelSnapshot, ...]:
        """The judges' recorded configuration, in the order in which they are asked."""
        return tuple(snapshot(target.model, key) for key, target in self.judges.items())

    def secret_variables(self) -> list[str]:
        """The environment variables that hold keys."""
        return [name for each in self._all() for name in secret_variables(each.model)]

    def redactor(self) -> Redactor:
        """The redactor of every key of the run, for all that its models send."""
        return Redactor(self.secret_variables())

    def short_key_warnings(self) -> tuple[Problem, ...]:
        """A warning for each variable whose value is too short to be looked for."""
        return tuple(
            Problem(
                f"the environment variable {variable} holds fewer than {SHORTEST_KEY} characters: "
                "if a server repeats it, it is recorded like any other word",
                remedy="ignore this if it is a placeholder, not a key",
                severity="warning",
            )
            for variable in self.redactor().too_short
        )

    async def check(self, *, offline: bool = False) -> list[str]:
        """Check whether every model can be reached; return the remarks.

        `offline`: without a connection, and without running the user's code.

        Raises `InvalidInput` with the errors of all models at once. Its messages hold no key.
        """
        looks = CheckCache()
        results = await asyncio.gather(
            *(target.provider.check(offline=offline, looks=looks) for target in self._all()),
            return_exceptions=True,
        )
        redactor = self.redactor()
        problems: list[Problem] = []
        remarks = []
        for result in results:
            if isinstance(result, InvalidInput):
                problems.extend(redactor.cleaned(result).problems)
            elif isinstance(result, BaseException):
                raise result
            elif result:
                remarks.append(redactor.scrubbed(result))
        if problems:
            raise InvalidInput(problems)
        return remarks

    async def open(self) -> None:
        """Start what the models need before the first request. Raises as `check` does."""
        try:
            await asyncio.gather(*(target.provider.open() for target in self._all()))
        except InvalidInput as error:
            raise self.redactor().cleaned(error) from None

    async def close(self) -> None:
        """Release everything, even if parts of it fail."""
        for share, gate in self._shares:
            share.leave(gate)
        self._shares.clear()
        await asyncio.gather(
            *(target.provider.close() for target in self._all()), return_exceptions=True
        )


def _provider_key(server: str, models: Sequence[Model]) -> ProviderKey:
    """What the limits of these models belong to: their server, and where their keys are.

    The keys themselves are not in it. Two hosts whose variables of one name hold two keys share
    limits; two variables that hold one key do not.
    """
    variables = sorted({name for model in models for name in secret_variables(model)})
    text = "\n".join([server, *variables])
    return ProviderKey(hashlib.sha256(text.encode()).hexdigest(), server)


def _limits(models: Sequence[Model]) -> Limits:
    """The lowest of each limit that is given."""

    return lowest_of(
        Limits(model.concurrent_requests, model.requests_per_minute, model.tokens_per_minute)
        for model in models
    )


def _by_server(models: Mapping[str, Model]) -> dict[str, list[str]]:
    served: dict[str, list[str]] = {}
    for key, model in models.items():
        served.setdefault(server_of(model), []).append(key)
    return served
