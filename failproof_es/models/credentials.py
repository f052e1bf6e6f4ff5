"""What a key is, and the option `credentials`: a token of a library in its place. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.configuration.schema import CREDENTIALS, Model
from failproof_es.models.provider_type import EntryProblem

__all__ = ["CREDENTIALS", "SHORTEST_KEY", "credential_problems"]

SHORTEST_KEY = 16
"""A shorter value is taken for a placeholder such as `EMPTY` or `test`, a common word."""


def credential_problems(model: Model, kind: str) -> Iterator[EntryProblem]:
    """What is wrong with the option, and with a key beside it or in its place."""
    if CREDENTIALS not in model.options:
        if model.api_key_env is None:
            missing = f"is missing: provider `{model.provider}` needs it, or `{CREDENTIALS}`"
            yield EntryProblem("api_key_env", missing, f"options: {{{CREDENTIALS}: {kind}}}")
        return
    if model.options[CREDENTIALS] != kind:
        yield EntryProblem("options", f"`{CREDENTIALS}` is none", f"there is `{kind}`")
    if model.api_key_env is not None:
        yield EntryProblem("api_key_env", f"has no effect beside `{CREDENTIALS}`", "remove it")
