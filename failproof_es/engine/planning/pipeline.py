"""The file of a CI system that evaluates a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Any

from failproof_es.configuration.schema import Configuration, Model
from failproof_es.configuration.written import yaml_text
from failproof_es.engine.identity import code_version
from failproof_es.models import secret_variables
from failproof_es.models.trust.permissions import (
    OWN,
    Demand,
    VariablePermission,
    demands_of,
    models_of,
)

CI = {"github": ".github/workflows/failproof-es.yml", "gitlab": ".gitlab-ci.yml", "none": None}
"""Where each system looks for its file. `none` is no system."""
_EXTRA_OF_DIALECT = {"command": "commands", "redteam": "redteam"}
_EXTRA_OF_PROVIDER = {"local": "local"}
_PYTHON = "3.13"
_JUNIT, _SUMMARY = "junit.xml", "report.md"
_FILES = (_JUNIT, _SUMMARY, "report.html", "results.jsonl", "log.pub", "evidence.jsonl")
_KEEPING = (
    f"failproof-es report latest --format md -o {_SUMMARY}",
    "failproof-es report latest -o report.html",
    "failproof-es results latest --format jsonl > results.jsonl",
    "failproof-es ledger key -o log.pub",
    "failproof-es evidence export latest -o evidence.jsonl",
)
"""Writes what a job keeps of its run; the last for a run that has ended."""
_ALLOW = "FAILPROOF_ES_ALLOW"


def pipeline_of(ci: str, configuration: Configuration, path: str) -> bytes:
    """The file for `ci`, which is in `CI` and not `none`. `path` names the configuration from the
    repository's root."""
    steps, variables = _steps(configuration, path), key_variables(configuration)
    allowed = " ".join(str(pair) for pair in pairs_to_allow(configuration))
    make = _github if ci == "github" else _gitlab
    return make(steps, variables, {_ALLOW: allowed} if allowed else {}).encode()


def pairs_to_allow(configuration: Configuration) -> list[VariablePermission]:
    """The variables and hosts that `start` asks about, or refuses without a terminal."""
    demands = OWN.missing(demands_of(configuration))
    return [demand.pair for demand in demands if isinstance(demand, Demand)]


def key_variables(configuration: Configuration) -> list[str]:
    """The names of the environment variables whose values a run needs."""
    models = _models(configuration)
    return list(dict.fromkeys(name for model in models for name in _variables(model)))


def _variables(model: Model) -> Iterator[str]:
    yield from secret_variables(model)
    yield from (str(value) for name, value in model.options.items() if name.endswith("_env"))


def _models(configuration: Configuration) -> list[Model]:
    return [model for _, model in models_of(configuration)]


def _steps(configuration: Configuration, path: str) -> tuple[list[str], str]:
    """The commands that install what the run needs, and the one that runs it."""
    models = _models(configuration)
    local = dict.fromkeys(model.model for model in models if model.provider == "local")
    install = [
        " ".join(["pip install", quote(_package(configuration)), *_vendor_packages(models)]),
        *(f"failproof-es models install {quote(name)}" for name in local),
    ]
    return install, f"failproof-es start {quote(path)} --junit {_JUNIT}"


def _package(configuration: Configuration) -> str:
    """This version of the package, with the extras that the run and its report need.

    Without the local part of the version, which no index has.
    """
    models = _models(configuration)
    extras = {"report", _EXTRA_OF_DIALECT.get(configuration.prompts.dialect or "")}
    extras |= {_EXTRA_OF_PROVIDER.get(model.provider) for model in models}
    extras |= {"aws" for model in models if "access_key_env" in model.options}
    names = ",".join(sorted(extra for extra in extras if extra))
    return f"failproof-es[{names}]=={code_version().partition('+')[0]}"


def _vendor_packages(models: list[Model]) -> list[str]:
    """The packages of the vendors whose SDK a model uses, and the HTTP client of their SDK."""
    vendors = [model.provider.partition("-")[0] for model in models if _has_sdk(model)]
    return [*dict.fromkeys(vendors), "httpx2"] if vendors else []


def _has_sdk(model: Model) -> bool:
    return model.provider.endswith("-sdk")


def _github(steps: tuple[list[str], str], variables: list[str], allow: dict[str, str]) -> str:
    install, start = steps
    env = {name: f"${{{{ secrets.{name} }}}}" for name in variables} | allow
    run: dict[str, Any] = {"run": start}
    summarise = f'cat {_SUMMARY} >> "$GITHUB_STEP_SUMMARY"'
    jobs: list[dict[str, Any]] = [
        {"uses": "actions/checkout@v4"},
        {"uses": "actions/setup-python@v5", "with": {"python-version": _PYTHON}},
        {"run": _lines(install)},
        {**run, "env": env} if env else run,
        {"if": "always()", "run": _lines([_KEEPING[0], summarise, *_KEEPING[1:]])},
        {
            "if": "always()",
            "uses": "actions/upload-artifact@v4",
            "with": {"name": "failproof-es", "path": _lines(_FILES)},
        },
    ]
    return yaml_text(
        {
            "name": "failproof-es",
            "on": {"pull_request": None, "workflow_dispatch": None},
            "permissions": {"contents": "read"},
            "jobs": {
                "evaluate": {"runs-on": "ubuntu-latest", "timeout-minutes": 60, "steps": jobs}
            },
        }
    )


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def _gitlab(steps: tuple[list[str], str], variables: list[str], allow: dict[str, str]) -> str:
    install, start = steps
    comment = f"# Set as masked CI/CD variables: {', '.join(variables)}\n" if variables else ""
    return comment + yaml_text(
        {
            "evaluate": {
                "image": f"python:{_PYTHON}",
                **({"variables": allow} if allow else {}),
                "script": [*install, start],
                "after_script": list(_KEEPING),
                "artifacts": {
                    "when": "always",
                    "paths": list(_FILES),
                    "reports": {"junit": _JUNIT},
                },
            }
        }
    )
