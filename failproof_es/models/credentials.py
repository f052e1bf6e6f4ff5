"""Checks an entry's key and its option `credentials`: a library's token in place of a key. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.configuration.schema import CREDENTIALS, Model
from failproof_es.models.provider_type import EntryProblem

__all__ = ["CREDENTIALS", "SHORTEST_KEY", "credential_problems"]

SHORTEST_KEY = 16
"""Characters of the shortest real key; shorter values are placeholders: `EMPTY`, `test`."""


def credential_problems(model: Model, kind: str) -> Iterator[EntryProblem]:
    """Errors in the option `credentials` and in `api_key_env`: exactly one of them must be set.

    `kind` is the only value of `credentials` that the provider supports, for example `google`.
    """
    if CREDENTIALS not in model.options:
        if model.api_key_env is None:
            missing = f"is missing: provider `{model.provider}` needs it, or `{CREDENTIALS}`"
            yield EntryProblem(
                "missing-field", "api_key_env", missing, f"options: {{{CREDENTIALS}: {kind}}}"
            )
        return
    if model.options[CREDENTIALS] != kind:
        yield EntryProblem(
            "invalid-value", "options", f"`{CREDENTIALS}` has an invalid value", f"use `{kind}`"
        )
    if model.api_key_env is not None:
        yield EntryProblem(
            "no-effect", "api_key_env", f"has no effect beside `{CREDENTIALS}`", "remove it"
        )
