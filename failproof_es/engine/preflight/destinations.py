"""Announces the destinations of keys and questions, and reports the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, starmap
from pathlib import Path
from urllib.parse import urlsplit

from failproof_es.configuration.schema import Configuration, Model
from failproof_es.models import base_url_of, provider_type, secret_variables
from failproof_es.models.catalog.packages import describe_class
from failproof_es.models.trust.permissions import Demand, demands_of_model, models_of
from failproof_es.problems import Problem
from failproof_es.support.loopback import is_this_machine
from failproof_es.support.shipped import resolve


def announce(
    configuration: Configuration,
    say: Callable[[str], None],
    placed: Callable[[Problem], Problem] = lambda problem: problem,
    *,
    run_classes: bool = True,
) -> None:
    """Say which variable's value is sent where, which classes run, and where files are written,
    line by line. Also warns of unencrypted connections: `placed` adds the place in the file to a
    warning. Without `run_classes` no class is named."""
    destinations = chain.from_iterable(starmap(destinations_of, models_of(configuration)))
    classes = _classes(configuration) if run_classes else ()
    for line in dict.fromkeys([*destinations, *classes, *_files(configuration)]):
        say(line)
    for warning in unencrypted(configuration):
        say(f"warning: {placed(warning)}")


def unencrypted(configuration: Configuration) -> list[Problem]:
    """A warning for each model or judge that is asked over plain HTTP on another machine."""
    return [
        Problem(
            "insecure-address",
            f"{_describe_exposed_data(model)} goes unencrypted to {urlsplit(base_url).netloc}",
            field=f"{field}.base_url",
            remedy="use https, or a tunnel",
            severity="warning",
        )
        for field, model in models_of(configuration)
        if (base_url := base_url_of(model)) is not None
        and urlsplit(base_url).scheme == "http"
        and not is_this_machine(urlsplit(base_url).hostname or "")
    ]


def describe_checks(configuration: Configuration, *, offline: bool, run_classes: bool) -> list[str]:
    """The steps that `check` took for each model or left out, in words, each once.

    `offline` and `run_classes` are the options of that check.
    """
    steps = (
        provider_type(model.provider).describe_check(
            model, offline=not is_looked_at(model, offline=offline, run_classes=run_classes)
        )
        for _, model in models_of(configuration)
    )
    return list(dict.fromkeys(steps))


def is_looked_at(model: Model, *, offline: bool, run_classes: bool) -> bool:
    """Whether a check with these options asks the model's server, or runs its class."""
    return not offline and (run_classes or model.class_ is None)


def destinations_of(field: str, model: Model) -> list[str]:
    """Lines `VARIABLE -> destination` for the secrets that one model sends.

    `field` is its place in the configuration, such as `models[0]`.
    """
    where = provider_type(model.provider).destination(model)
    lines = [
        f"{demand.pair.variable} -> {where}"
        for demand in demands_of_model(field, model)
        if isinstance(demand, Demand)
    ]
    return list(dict.fromkeys(lines))


def _classes(configuration: Configuration) -> Iterator[str]:
    for _, model in models_of(configuration):
        if model.class_ is not None:
            yield f"runs the class {describe_class(model.class_)}, for the model {model.model}"


def _files(configuration: Configuration) -> Iterator[str]:
    """A line about the results file, if it is written outside of the working folder."""
    output = configuration.output.file
    if output is None or not output.enabled:
        return
    here, path = Path.cwd(), resolve(output.path, configuration.test_run.folder)
    if not path.resolve().is_relative_to(here.resolve()):
        yield f"writes results to {output.path}, outside of the working folder {here}"


def _describe_exposed_data(model: Model) -> str:
    """Words for the data that anybody on the way could read; a secret is named by its variable."""
    if model.api_key_env is not None:
        return f"the key in {model.api_key_env}"
    variables = secret_variables(model)
    return f"what {', '.join(variables)} holds" if variables else "what is asked"
