"""The configuration that runs imported suites. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from failproof_es.configuration.choices import USUAL_VARIANTS
from failproof_es.configuration.written import yaml_text

EMBEDDED = {"provider": "local", "model": "smollm2", "max_tokens": 200, "temperature": 0.0}
"""The default model, which needs no key and no server."""
_PEOPLE = (
    "# No judge is named: people decide, with `failproof-es review RUN`. To have a model judge,\n"
    "# name it:\n"
)
_JUDGE = {"provider": "...", "model": "...", "base_url": "..."}
_NO_MODEL = "# No model was named: this one is embedded. Name your own instead.\n"


def configuration_text(
    name: str,
    suites: Sequence[str],
    dialect: str,
    models: Sequence[dict[str, Any]],
    *,
    judged: bool,
    skip: bool = False,
    prompts: Mapping[str, Mapping[str, str]] | None = None,
    judge: Mapping[str, Any] | None = None,
) -> str:
    """The YAML of a configuration with these models, or with the embedded one without any.

    `name` is the run's name. `suites` are the case files, in the configuration's folder. `judged`:
    people or judges have to decide. `skip`: defective cases are skipped, and recorded as skipped.
    `prompts` are templates by name, which every model is asked with. `judge` is the entry that a
    comment suggests.
    """
    document = {
        "test_run": {"name": name},
        "models": list(models) or [EMBEDDED],
        **_matrix(prompts or {}, len(models) or 1),
        "prompts": {
            "path": suites[0] if len(suites) == 1 else list(suites),
            "dialect": dialect,
            **({"on_invalid": "skip"} if skip else {}),
        },
    }
    before = "" if models else _NO_MODEL
    return before + yaml_text(document) + (_judge_comment(judge or _JUDGE) if judged else "")


def _judge_comment(judge: Mapping[str, Any]) -> str:
    lines = yaml_text({"judges": [dict(judge)]}).splitlines()
    return _PEOPLE + "".join(f"# {line}\n" for line in lines)


def _matrix(prompts: Mapping[str, Mapping[str, str]], models: int) -> dict[str, Any]:
    if not prompts:
        return {}
    variants = len(prompts) * models
    most = {"most": variants} if variants > USUAL_VARIANTS else {}
    return {"matrix": {"prompts": {name: dict(prompt) for name, prompt in prompts.items()}, **most}}
