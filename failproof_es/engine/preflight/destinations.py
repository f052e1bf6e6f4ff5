"""Announces where keys and questions are sent, and reports what a check did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from failproof_es.configuration.schema import Configuration, Model
from failproof_es.models import base_url_of, provider_type, secret_variables
from failproof_es.problems import Problem


def announce(
    configuration: Configuration,
    say: Callable[[str], None],
    placed: Callable[[Problem], Problem] = lambda problem: problem,
) -> None:
    """Say which variable's value is sent where, and warn of unencrypted connections."""
    for line in dict.fromkeys(_destinations(configuration)):
        say(line)
    for warning in unencrypted(configuration):
        say(f"warning: {placed(warning)}")


def unencrypted(configuration: Configuration) -> list[Problem]:
    """A warning for each model that is asked over plain HTTP on another machine."""
    return [
        Problem(
            f"{'what is asked' if model.api_key_env is None else _key(model)} goes unencrypted to "
            f"{urlsplit(base_url).netloc}",
            field=f"{field}.base_url",
            remedy="use https, or a tunnel",
            severity="warning",
        )
        for field, model in _models(configuration)
        if (base_url := base_url_of(model)) is not None
        and urlsplit(base_url).scheme == "http"
        and not is_this_machine(urlsplit(base_url).hostname or "")
    ]


def describe_checks(configuration: Configuration, *, offline: bool) -> list[str]:
    """What the check of the models did, step by step, and what an `offline` one left out."""
    return list(dict.fromkeys(_step(model, offline) for _, model in _models(configuration)))


def is_this_machine(host: str) -> bool:
    """Whether a URL is on this machine, as far as its host name shows."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _destinations(configuration: Configuration) -> Iterator[str]:
    for _, model in _models(configuration):
        for variable in secret_variables(model):
            yield f"{variable} -> {provider_type(model.provider).destination(model)}"


def _step(model: Model, offline: bool) -> str:
    return provider_type(model.provider).describe_check(model, offline=offline)


def _key(model: Model) -> str:
    return f"the key in {model.api_key_env}"


def _models(configuration: Configuration) -> Iterator[tuple[str, Model]]:
    """Every model and judge, with its place in the configuration."""
    for number, model in enumerate(configuration.models):
        yield f"models[{number}]", model
    if configuration.judge is not None:
        yield "judge", configuration.judge
    for number, judge in enumerate(configuration.judges or ()):
        yield f"judges[{number}]", judge
