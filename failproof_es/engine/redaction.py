"""Known secret values never reach an event: they are replaced before one is formed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

_SHORTEST = 4
"""A shorter value would be found in innocent text; it protects nothing either."""


class Redactor:
    """Replaces the values of the named environment variables wherever they are echoed."""

    def __init__(self, variables: Iterable[str]) -> None:
        values = {name: os.environ.get(name, "") for name in sorted(set(variables))}
        self._secrets = [
            (form, f"[redacted:{name}]")
            for name, value in values.items()
            if len(value) >= _SHORTEST
            for form in _forms(value)
        ]

    def redact(self, text: str) -> str:
        """`text` with every known secret replaced by the name of its variable."""
        for value, name in self._secrets:
            text = text.replace(value, name)
        return text

    def redact_bytes(self, body: bytes) -> bytes:
        """The same for bytes that need not be text."""
        for value, name in self._secrets:
            body = body.replace(value.encode(), name.encode())
        return body

    def redact_values(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The same for every value of a mapping."""
        return {name: self.redact(value) for name, value in headers.items()}


def _forms(value: str) -> list[str]:
    """The value as it is, and as it stands in JSON, where a slash may be escaped or not."""
    escaped = json.dumps(value)[1:-1]
    return list(dict.fromkeys((value, escaped, escaped.replace("/", r"\/"))))
