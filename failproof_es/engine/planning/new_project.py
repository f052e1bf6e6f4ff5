"""The files of a new project: a configuration, a suite, and a CI job that runs them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from shlex import quote
from typing import Any

from failproof_es.configuration.providers import rules_of
from failproof_es.configuration.written import yaml_text
from failproof_es.dialects.new_suites import new_suite, suffix_of_new
from failproof_es.dialects.registry import dialect_named
from failproof_es.engine.identity import code_version

CONFIGURATION = "run.yaml"
CI = {"github": ".github/workflows/failproof-es.yml", "gitlab": ".gitlab-ci.yml", "none": None}
DEFAULT_MODELS = {"local": "smollm2", "python": "my-model"}
"""The default models, by provider. With any other provider the model must be named."""
OWN_CLASS = "my_model:MyModel"
_CLASSES = {
    "python": "new_model.txt",
    "openai-sdk": "new_openai_sdk_model.txt",
    "openai-responses-sdk": "new_openai_responses_sdk_model.txt",
    "anthropic-sdk": "new_anthropic_sdk_model.txt",
}
"""The template of the user's own class, for each provider that needs one."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_EXTRAS = {"command": "commands", "redteam": "redteam"}
_JUDGED_DIALECTS = ("benchmark",)
_MIN_ACCURACY = 0.8
_MIN_ACCURACY_LINE = f"  min_accuracy: {_MIN_ACCURACY}\n"
_MIN_ACCURACY_COMMENT = (
    "  # Less makes the pipeline fail (exit code 3). Raise it to what the model reaches.\n"
)


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to the questions of `init`."""

    name: str
    provider: str
    model: str
    dialect: str
    ci: str
    base_url: str | None = None
    api_key_env: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def is_name(text: str) -> bool:
    """Whether the text can be the name of a run, and of a file."""
    return len(text) <= 100 and _NAME.match(text) is not None


def files_of(answers: Answers) -> dict[str, bytes]:
    """The content of each file, by its path in the project.

    Raises `InvalidInput` if the dialect does not exist, or has no template for a new suite.
    """
    dialect = dialect_named(answers.dialect)
    suite = f"suites/{answers.name}{suffix_of_new(dialect)}"
    files = {
        CONFIGURATION: _configuration(answers, suite).encode(),
        suite: new_suite(dialect, Path(suite)).content,
    }
    if answers.provider in _CLASSES:
        template = resources.files(__package__) / _CLASSES[answers.provider]
        files["my_model.py"] = template.read_bytes()
    if (path := CI[answers.ci]) is not None:
        files[path] = (_github if answers.ci == "github" else _gitlab)(answers).encode()
    return files


def _configuration(answers: Answers, suite: str) -> str:
    model = _model(answers)
    document: dict[str, Any] = {"test_run": {"name": answers.name}, "models": [model]}
    if answers.dialect in _JUDGED_DIALECTS:
        document["judge"] = dict(model)
    document |= {
        "prompts": {"path": suite, "dialect": answers.dialect},
        "gates": _gates(answers),
    }
    comments = "# Every key: docs/reference/configuration.md\n"
    if answers.dialect in _JUDGED_DIALECTS:
        comments += "# The model judges itself here: name a strong model under `judge` instead.\n"
    if answers.dialect == "redteam":
        comments += "# No judge is named: people decide, with `failproof-es review RUN`.\n"
    return comments + yaml_text(document).replace(
        _MIN_ACCURACY_LINE, _MIN_ACCURACY_COMMENT + _MIN_ACCURACY_LINE
    )


def _gates(answers: Answers) -> dict[str, float]:
    """The gates: with a pipeline also one on the accuracy, unless people decide it."""
    unscored = {"max_unscored_rate": 0.05}
    has_accuracy = CI[answers.ci] is not None and answers.dialect != "redteam"
    return {"min_accuracy": _MIN_ACCURACY, **unscored} if has_accuracy else unscored


def _model(answers: Answers) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "provider": answers.provider,
        "model": answers.model,
        "class": OWN_CLASS if answers.provider in _CLASSES else None,
        "base_url": answers.base_url,
        "api_key_env": answers.api_key_env,
        "options": dict(answers.options) or None,
        "max_tokens": 1000,
        "temperature": 0.0,
    }
    return {name: value for name, value in settings.items() if value is not None}


def key_variables(answers: Answers) -> list[str]:
    """The names of the environment variables whose values the run needs: for the key, and for
    options that end in `_env`."""
    default = rules_of(answers.provider).default_key_variable(answers.base_url)
    variable = answers.api_key_env or default
    more = [value for name, value in answers.options.items() if name.endswith("_env")]
    return [*([variable] if variable else []), *more]


def _packages(answers: Answers) -> str:
    """This version of the package, with the extras that the run needs, as an argument of `pip`.

    Without the local part of the version, which no index has.
    """
    extras = {_EXTRAS.get(answers.dialect), "local" if answers.provider == "local" else None}
    extras |= {"aws"} if "access_key_env" in answers.options else set()
    extra_list = ",".join(sorted(extra for extra in extras if extra))
    package = f"failproof-es[{extra_list}]" if extra_list else "failproof-es"
    return f"{package}=={code_version().partition('+')[0]}"


def _vendor_packages(answers: Answers) -> str:
    """The vendor's package and its HTTP client as arguments of `pip`, with a space before each.

    Empty if the provider is not one of a vendor's SDK.
    """
    vendor, sdk, _ = answers.provider.partition("-")
    return f" {vendor} httpx2" if sdk and answers.provider.endswith("-sdk") else ""


def _steps(answers: Answers) -> list[str]:
    return [
        f"pip install '{_packages(answers)}'{_vendor_packages(answers)}",
        *(
            [f"failproof-es models install {quote(answers.model)}"]
            if answers.provider == "local"
            else []
        ),
        "failproof-es suites validate suites/",
        f"failproof-es start {CONFIGURATION} --junit results.xml",
    ]


def _github(answers: Answers) -> str:
    keys = {name: f"${{{{ secrets.{name} }}}}" for name in key_variables(answers)}
    run: dict[str, Any] = {"run": "\n".join(_steps(answers)) + "\n"}
    steps: list[dict[str, Any]] = [
        {"uses": "actions/checkout@v4"},
        {"uses": "actions/setup-python@v5", "with": {"python-version": "3.12"}},
        {**run, "env": keys} if keys else run,
        {
            "if": "always()",
            "uses": "actions/upload-artifact@v4",
            "with": {"name": "failproof-es", "path": "results.xml"},
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


def _gitlab(answers: Answers) -> str:
    keys = key_variables(answers)
    comment = f"# Set as masked CI/CD variables: {', '.join(keys)}\n" if keys else ""
    return comment + yaml_text(
        {
            "evaluate": {
                "image": "python:3.12",
                "script": _steps(answers),
                "artifacts": {
                    "when": "always",
                    "paths": ["results.xml"],
                    "reports": {"junit": "results.xml"},
                },
            }
        }
    )
