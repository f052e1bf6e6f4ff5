"""The files of a new project: a configuration, a suite, and the user's own class of model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from failproof_es.configuration.written import yaml_text
from failproof_es.dialects.new_suites import new_suite, suffix_of_new
from failproof_es.dialects.registry import dialect_named
from failproof_es.engine.planning.pipeline import CI

CONFIGURATION = "run.yaml"
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
    suite: str
    """The dialect of the suite."""
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
    dialect = dialect_named(answers.suite)
    suite = f"suites/{answers.name}{suffix_of_new(dialect)}"
    files = {
        CONFIGURATION: _configuration(answers, suite).encode(),
        suite: new_suite(dialect, Path(suite)).content,
    }
    if answers.provider in _CLASSES:
        template = resources.files(__package__) / _CLASSES[answers.provider]
        files["my_model.py"] = template.read_bytes()
    return files


def _configuration(answers: Answers, suite: str) -> str:
    model = _model(answers)
    document: dict[str, Any] = {"test_run": {"name": answers.name}, "models": [model]}
    if answers.suite in _JUDGED_DIALECTS:
        document["judge"] = dict(model)
    document |= {
        "prompts": {"path": suite, "dialect": answers.suite},
        "gates": _gates(answers),
    }
    comments = "# Every key: docs/reference/configuration.md\n"
    if answers.suite in _JUDGED_DIALECTS:
        comments += "# The model judges itself here: name a strong model under `judge` instead.\n"
    if answers.suite == "redteam":
        comments += "# No judge is named: people decide, with `failproof-es review RUN`.\n"
    return comments + yaml_text(document).replace(
        _MIN_ACCURACY_LINE, _MIN_ACCURACY_COMMENT + _MIN_ACCURACY_LINE
    )


def _gates(answers: Answers) -> dict[str, float]:
    """The gates: with a pipeline also one on the accuracy, unless people decide it."""
    unscored = {"max_unscored_rate": 0.05}
    has_accuracy = CI[answers.ci] is not None and answers.suite != "redteam"
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
