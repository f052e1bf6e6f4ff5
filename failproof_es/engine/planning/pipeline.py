"""The file of a CI system that evaluates a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import Any

from failproof_es.configuration.schema import Configuration, Model
from failproof_es.configuration.written import yaml_text
from failproof_es.engine.identity import code_version
from failproof_es.models import secret_variables
from failproof_es.models.trust.permissions import models_of

CI = {"github": ".github/workflows/failproof-es.yml", "gitlab": ".gitlab-ci.yml", "none": None}
"""Where each system looks for its file. `none` is no system."""
_EXTRA_OF_DIALECT = {"command": "commands", "redteam": "redteam"}
_EXTRA_OF_PROVIDER = {"local": "local"}
_RESULTS = "results.xml"


def pipeline_of(ci: str, configuration: Configuration, path: str) -> bytes:
    """The file for `ci`, which is in `CI` and not `none`. `path` names the configuration from the
    repository's root."""
    make = _github if ci == "github" else _gitlab
    return make(_steps(configuration, path), key_variables(configuration)).encode()


def key_variables(configuration: Configuration) -> list[str]:
    """The names of the environment variables whose values a run needs."""
    models = _models(configuration)
    return list(dict.fromkeys(name for model in models for name in _variables(model)))


def _variables(model: Model) -> Iterator[str]:
    yield from secret_variables(model)
    yield from (str(value) for name, value in model.options.items() if name.endswith("_env"))


def _models(configuration: Configuration) -> list[Model]:
    return [model for _, model in models_of(configuration)]


def _steps(configuration: Configuration, path: str) -> list[str]:
    models = _models(configuration)
    local = dict.fromkeys(model.model for model in models if model.provider == "local")
    return [
        " ".join(["pip install", quote(_package(configuration)), *_vendor_packages(models)]),
        *(f"failproof-es models install {quote(name)}" for name in local),
        f"failproof-es start {quote(path)} --junit {_RESULTS}",
    ]


def _package(configuration: Configuration) -> str:
    """This version of the package, with the extras that the run needs.

    Without the local part of the version, which no index has.
    """
    models = _models(configuration)
    extras = {_EXTRA_OF_DIALECT.get(configuration.prompts.dialect or "")}
    extras |= {_EXTRA_OF_PROVIDER.get(model.provider) for model in models}
    extras |= {"aws" for model in models if "access_key_env" in model.options}
    names = ",".join(sorted(extra for extra in extras if extra))
    package = f"failproof-es[{names}]" if names else "failproof-es"
    return f"{package}=={code_version().partition('+')[0]}"


def _vendor_packages(models: list[Model]) -> list[str]:
    """The packages of the vendors whose SDK a model uses, and the HTTP client of their SDK."""
    vendors = [model.provider.partition("-")[0] for model in models if _has_sdk(model)]
    return [*dict.fromkeys(vendors), "httpx2"] if vendors else []


def _has_sdk(model: Model) -> bool:
    return model.provider.endswith("-sdk")


def _github(commands: list[str], variables: list[str]) -> str:
    keys = {name: f"${{{{ secrets.{name} }}}}" for name in variables}
    run: dict[str, Any] = {"run": "\n".join(commands) + "\n"}
    steps: list[dict[str, Any]] = [
        {"uses": "actions/checkout@v4"},
        {"uses": "actions/setup-python@v5", "with": {"python-version": "3.12"}},
        {**run, "env": keys} if keys else run,
        {
            "if": "always()",
            "uses": "actions/upload-artifact@v4",
            "with": {"name": "failproof-es", "path": _RESULTS},
        },
    ]
    return yaml_text(
        {
            "name": "failproof-es",
            "on": {"pull_request": None, "workflow_dispatch": None},
            "permissions": {"contents": "read"},
            "jobs": {
                "evaluate": {"runs-on": "ubuntu-latest", "timeout-minutes": 60, "steps": steps}
            },
        }
    )


def _gitlab(commands: list[str], variables: list[str]) -> str:
    comment = f"# Set as masked CI/CD variables: {', '.join(variables)}\n" if variables else ""
    return comment + yaml_text(
        {
            "evaluate": {
                "image": "python:3.12",
                "script": commands,
                "artifacts": {
                    "when": "always",
                    "paths": [_RESULTS],
                    "reports": {"junit": _RESULTS},
                },
            }
        }
    )
