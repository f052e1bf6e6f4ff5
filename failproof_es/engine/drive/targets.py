"""The models of a run: their keys, their providers, opened and closed together."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

from failproof_es.configuration.schema import Configuration, Model
from failproof_es.core.limits import KeyLimits, ProviderKey, lowest_of
from failproof_es.core.lost_in_a_row import LostInARow
from failproof_es.core.run import Run
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.engine.history import Connection
from failproof_es.engine.limits.concurrency_limiter import ConcurrencyLimiter, LimitUpdate
from failproof_es.engine.limits.fair_semaphore import FairSemaphore
from failproof_es.engine.limits.key_share import KeyShare, KeyShares
from failproof_es.engine.requests import Target
from failproof_es.events import LimitChanged, ModelSnapshot, ResponseReceived
from failproof_es.models import (
    base_url_of,
    create_provider,
    max_concurrency,
    model_keys,
    secret_variables,
    server_of,
    snapshot,
    stuck_after_s,
)
from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.credentials import SHORTEST_KEY
from failproof_es.models.protocol import UnlistedModel
from failproof_es.models.replies.model_name_check import is_requested_model
from failproof_es.models.trust.permissions import Permissions
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.reading.reader import find
from failproof_es.support.loopback import is_this_machine

_JUDGE = "judge:"


class ServerAccount(NamedTuple):
    """A server, and the environment variables that hold the keys for it."""

    server: str
    variables: tuple[str, ...]


class Targets:
    """Every model that the configuration names, the judges among them, with its provider and its
    limiter. Models that use the same keys of one server share a limiter."""

    def __init__(self, configuration: Configuration, permissions: Permissions) -> None:
        """Raises `InvalidInput` if the configuration demands something that is not permitted."""
        permissions.require(configuration)
        self._configuration = configuration
        judges = configuration.asked_judges
        models = dict(zip(model_keys(configuration.models), configuration.models, strict=True))
        judging = {
            f"{_JUDGE}{key}": judge for key, judge in zip(model_keys(judges), judges, strict=True)
        }
        everyone = {**models, **judging}
        self._grouped = _by_account(everyone)
        self.limiters = self._limiters(everyone)
        self.models = {key: self._target(model) for key, model in models.items()}
        self.judges = {key: self._target(model) for key, model in judging.items()}
        self.lost = LostInARow(configuration.execution.pause_after_lost)
        """Evaluations in a row without a usable reply, over all drives of this process."""
        self.limited = {
            account: (_provider_key(account), _limits([everyone[key] for key in keys]))
            for account, keys in self._grouped.items()
        }
        """The provider key and the configured limits of each account."""
        self._shares: list[tuple[KeyShare, ConcurrencyLimiter]] = []

    def _limiters(self, models: Mapping[str, Model]) -> dict[ServerAccount, ConcurrencyLimiter]:
        """One limiter for each account, shared by the models that are asked with its keys."""
        execution = self._configuration.execution
        workers, patience_s = execution.parallel_workers, execution.rate_limit_wait_ms / 1000
        slots = FairSemaphore(workers)
        limiters = {}
        for account, keys in self._grouped.items():
            most = [limit for key in keys if (limit := max_concurrency(models[key])) is not None]
            limiters[account] = ConcurrencyLimiter(
                account.server, keys, min([workers, *most]), slots, patience_s
            )
        return limiters

    def _target(self, model: Model) -> Target:
        execution = self._configuration.execution
        provider = create_provider(
            model,
            timeout_ms=execution.timeout_per_request_ms,
            connections=execution.parallel_workers,
        )
        timeout_s = execution.timeout_per_request_ms / 1000
        return Target(
            model, provider, self.limiters[account_of(model)], stuck_after_s(model, timeout_s)
        )

    async def share_limits(self, shares: KeyShares, *, with_others: bool) -> None:
        """Join the limits that all drives with the same key share.

        Joins for each key that has configured limits; with `with_others`, for every key.
        """
        for account, (key, limits) in self.limited.items():
            if limits.any or with_others:
                share, limiter = await shares.of(key, limits), self.limiters[account]
                share.join(limiter)
                limiter.share = share
                self._shares.append((share, limiter))

    def restore_limits(
        self, last: Mapping[str, LimitChanged], on_change: Callable[[LimitUpdate], None]
    ) -> None:
        """Restore the limits that the run recorded last, and pass every later change to
        `on_change`. `last` has the last change of each limiter; a limiter without one keeps its
        configured limit."""
        for account, limiter in self.limiters.items():
            limiter.on_change = on_change
            changes = [
                change
                for change in last.values()
                if change.server == account.server
                and not set(change.models).isdisjoint(self._grouped[account])
            ]
            if changes:
                newest = max(changes, key=lambda change: change.originator_version)
                limiter.restore(newest.limit_after, newest.held_until)

    def close_limiters(self) -> None:
        """Close all limiters: requests that wait are not sent, and no more may begin."""
        for limiter in self.limiters.values():
            limiter.close()

    @property
    def by_server(self) -> Sequence[Sequence[str]]:
        """The keys of the models under test, in groups that share the limits of one account."""
        models = {key: target.model for key, target in self.models.items()}
        return list(_by_account(models).values())

    def _all_targets(self) -> Sequence[Target]:
        return [*self.models.values(), *self.judges.values()]

    def snapshots(self) -> tuple[ModelSnapshot, ...]:
        """The models under test as `RunStarted` records them, in configuration order."""
        return tuple(_snapshot(key, target) for key, target in self.models.items())

    def judge_snapshots(self) -> tuple[ModelSnapshot, ...]:
        """The judges as `RunStarted` records them, in the order in which they are asked."""
        return tuple(_snapshot(key, target) for key, target in self.judges.items())

    def secret_variables(self) -> list[str]:
        """The names of the environment variables that hold keys.

        A name may occur more than once.
        """
        return [name for target in self._all_targets() for name in secret_variables(target.model)]

    def redactor(self) -> Redactor:
        """A redactor for the keys of all models and judges of the run."""
        return Redactor(self.secret_variables())

    def short_key_warnings(self) -> tuple[Problem, ...]:
        """A warning for each variable whose value is too short to be redacted.

        What goes to this machine alone is no secret of others: it has no warning.
        """
        too_short = set(self.redactor().too_short)
        sent = {
            variable: target.model
            for target in reversed(self._all_targets())
            for variable in secret_variables(target.model)
            if variable in too_short and not _stays_here(target.model)
        }
        return tuple(
            _in_entry(
                Problem(
                    "key-too-short",
                    f"the value of {variable} has fewer than {SHORTEST_KEY} characters, so records "
                    "do not hide it where a server repeats it",
                    field="api_key_env",
                    remedy="ignore this if it is no key",
                    severity="warning",
                ),
                model,
            )
            for variable, model in sent.items()
        )

    async def check(self, *, offline: bool = False, run_classes: bool = True) -> list[str]:
        """Check whether every model can be reached; return remarks for the user, perhaps none.

        An `offline` check makes no connection and runs no class of the user's. Without
        `run_classes` a class is located, but neither imported nor constructed. Raises
        `InvalidInput` with the errors of all models at once. Its messages hold no key.
        """
        looks = CheckCache()
        results = await asyncio.gather(
            *(
                target.provider.check(
                    offline=offline or not (run_classes or target.model.class_ is None),
                    looks=looks,
                )
                for target in self._all_targets()
            ),
            return_exceptions=True,
        )
        redactor = self.redactor()
        problems: list[Problem] = []
        remarks = []
        for target, result in zip(self._all_targets(), results, strict=True):
            if isinstance(result, UnlistedModel) and self._configuration.execution.allow_unlisted:
                remarks.append(redactor.redact(result.problems[0].message))
            elif isinstance(result, InvalidInput):
                redacted = redactor.redact_error(result).problems
                problems.extend(_in_entry(problem, target.model) for problem in redacted)
            elif isinstance(result, BaseException):
                raise result
            elif result:
                remarks.append(redactor.redact(result))
        if problems:
            raise InvalidInput(problems)
        return remarks

    async def open(self) -> None:
        """Start the helpers of the models before the first request.

        Raises `InvalidInput`, without keys in its messages, if a model cannot be started.
        """
        with self.redactor().redact_errors():
            await asyncio.gather(*(target.provider.open() for target in self._all_targets()))

    async def close(self) -> None:
        """Leave all shared limits and close all providers, even if closing one fails."""
        for share, limiter in self._shares:
            share.leave(limiter)
        self._shares.clear()
        await asyncio.gather(
            *(target.provider.close() for target in self._all_targets()), return_exceptions=True
        )


def _stays_here(model: Model) -> bool:
    base_url = base_url_of(model)
    return base_url is not None and is_this_machine(urlsplit(base_url).hostname or "")


def _snapshot(key: str, target: Target) -> ModelSnapshot:
    """The model as `RunStarted` records it. Raises `InvalidInput`, with its entry, without it."""
    try:
        return snapshot(target.model, key)
    except InvalidInput as error:
        problems = [_in_entry(problem, target.model) for problem in error.problems]
        raise InvalidInput(problems) from None


def _in_entry(problem: Problem, model: Model) -> Problem:
    """The problem with its field within the configuration: `base_url` is `models[0].base_url`."""
    entry = model.place.entry
    if entry is None or problem.path is not None:
        return problem
    return replace(problem, field=entry if problem.field is None else f"{entry}.{problem.field}")


def account_of(model: Model) -> ServerAccount:
    """The account whose limits a model shares: its server and all variables with keys for it."""
    return ServerAccount(server_of(model), tuple(sorted(set(secret_variables(model)))))


def _provider_key(account: ServerAccount) -> ProviderKey:
    """The digest that names the account in the database, without the keys themselves.

    It is computed from the server and the names of the variables. Two hosts whose variables of one
    name hold two keys share limits; two variables that hold one key do not.
    """
    text = "\n".join([account.server, *account.variables])
    return ProviderKey(hashlib.sha256(text.encode()).hexdigest(), account.server)


def _limits(models: Sequence[Model]) -> KeyLimits:
    """The lowest value of each limit that one of these models configures."""

    return lowest_of(
        KeyLimits(model.concurrent_requests, model.requests_per_minute, model.tokens_per_minute)
        for model in models
    )


def _by_account(models: Mapping[str, Model]) -> dict[ServerAccount, list[str]]:
    grouped: dict[ServerAccount, list[str]] = {}
    for key, model in models.items():
        grouped.setdefault(account_of(model), []).append(key)
    return grouped


_LOOKED_AT = 500
"""Number of answers that are read. A model that answers under another name pauses the run at its
first answer, so a run with more answers of a model has one that matches."""


def restore_answering(connection: Connection, run: Run, targets: Targets) -> None:
    """Mark each target that has a recorded answer under the requested model's name.

    Reads at most `_LOOKED_AT` answers of the run.
    """
    topics = [ResponseReceived.__name__]
    for row in find(connection, run_id=run.started.run_id, topics=topics, limit=_LOOKED_AT):
        event = row.event()
        if not isinstance(event, ResponseReceived):
            continue
        target = (
            targets.models.get(event.model_key)
            if event.judge is None
            else targets.judges.get(event.judge)
        )
        if target is not None and not target.answering.has_matched:
            model = target.model
            target.answering.has_matched = is_requested_model(
                model.model, model.version, event.model, model.version_check
            )
