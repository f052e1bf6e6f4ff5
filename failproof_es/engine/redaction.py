"""Known secret values never reach an event: they are replaced before one is formed.

What was replaced is itself on record: in which field, the value of which variable, how often.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import quote

from failproof_es.events import Redaction

_SHORTEST = 4
"""A shorter value would be found in innocent text; it protects nothing either."""
_OF_A_KEY = 16
"""A shorter one is a stand-in such as `EMPTY`: models say it themselves, in pieces, too."""


class Redactor:
    """Knows the values of the named environment variables, in the forms they are echoed in."""

    def __init__(self, variables: Iterable[str]) -> None:
        values = {name: os.environ.get(name, "") for name in sorted(set(variables))}
        forms = [
            (form, name)
            for name, value in values.items()
            if len(value) >= _SHORTEST
            for form in _forms(value)
        ]
        self._secrets = sorted(forms, key=_longest_first)
        self._keys = frozenset(name for name, value in values.items() if len(value) >= _OF_A_KEY)

    def scrubbing(self) -> Scrubbing:
        """Begin to scrub what one event will hold."""
        return Scrubbing(self._secrets, self._keys)

    def streaming(self, pass_on: Callable[[str], None]) -> StreamScrubbing:
        """Begin to scrub a text that comes in pieces and is passed on in pieces."""
        return StreamScrubbing(self._secrets, pass_on)


class Scrubbing:
    """Scrubs the fields of one event and remembers what it replaced."""

    def __init__(
        self, secrets: Sequence[tuple[str, str]], keys: frozenset[str] = frozenset()
    ) -> None:
        self._secrets = secrets
        self._keys = keys
        self._found: Counter[tuple[str, str]] = Counter()

    def text(self, field: str, text: str) -> str:
        """`text` with every known secret replaced by the name of its variable."""
        for form, variable in self._secrets:
            if count := text.count(form):
                self._found[field, variable] += count
                text = text.replace(form, f"[redacted:{variable}]")
        return text

    def optional(self, field: str, text: str | None) -> str | None:
        """The same for text that need not be there."""
        return None if text is None else self.text(field, text)

    def data(self, field: str, body: bytes) -> bytes:
        """The same for bytes that need not be text."""
        for form, variable in self._secrets:
            if count := body.count(form.encode()):
                self._found[field, variable] += count
                body = body.replace(form.encode(), f"[redacted:{variable}]".encode())
        return body

    def raw(self, field: str, body: bytes) -> bytes:
        """The same for the bytes that were read from what was scrubbed so far.

        A value that was read and stands nowhere in them stands there in pieces, as a stream
        brings it, or in escapes. No piece of it is kept then, nor what is around them.
        """
        read = {variable for _, variable in self._found}
        scrubbed = self.data(field, body)
        whole = {variable for where, variable in self._found if where == field}
        pieces = sorted((read & self._keys) - whole)
        if not pieces:
            return scrubbed
        self._found.update((field, variable) for variable in pieces)
        return b" ".join(f"[redacted:{variable}]".encode() for variable in pieces)

    def values(self, field: str, headers: Mapping[str, str]) -> dict[str, str]:
        """The same for every value of a mapping."""
        return {name: self.text(f"{field}.{name}", value) for name, value in headers.items()}

    def record(self) -> tuple[Redaction, ...]:
        """What was replaced so far."""
        return tuple(
            Redaction(field=field, variable=variable, count=count)
            for (field, variable), count in self._found.items()
        )


class StreamScrubbing:
    """Scrubs a text as it comes: a secret that is cut into pieces is found, too.

    Only what may be the beginning of a secret is held back until more has come.
    """

    def __init__(self, secrets: Sequence[tuple[str, str]], pass_on: Callable[[str], None]) -> None:
        self._scrubbing = Scrubbing(secrets)
        self._forms = [form for form, _ in secrets]
        self._longest = max(map(len, self._forms), default=0)
        self._any = re.compile("|".join(map(re.escape, self._forms)) or "(?!)")
        self._pass_on = pass_on
        self._held = ""

    def piece(self, text: str) -> None:
        """Take the next piece of the text; pass on what is known to be harmless."""
        text = self._held + text
        cut = self._cut(text)
        self._held = text[cut:]
        self._say(text[:cut])

    def end(self) -> None:
        """Pass on what was held back: no more comes."""
        self._say(self._held)
        self._held = ""

    def _say(self, text: str) -> None:
        if text:
            self._pass_on(self._scrubbing.text("text", text))

    def _cut(self, text: str) -> int:
        """Where that begins which more text may make a secret; never within a whole one."""
        at = 0
        while True:
            found = self._any.search(text, at)
            last = found.start() + 1 if found else len(text)
            for start in range(max(at, len(text) - self._longest + 1), last):
                if self._may_begin(text[start:]):
                    return start
            if found is None:
                return len(text)
            at = found.end()

    def _may_begin(self, text: str) -> bool:
        return any(len(form) > len(text) and form.startswith(text) for form in self._forms)


def _longest_first(secret: tuple[str, str]) -> tuple[int, str, str]:
    """One form may hold another one, of another variable, too: the rest of it would be left."""
    form, variable = secret
    return -len(form), form, variable


def _forms(value: str) -> set[str]:
    """The value as it is, in JSON (a slash escaped or not), in a URL, and in base64."""
    escaped = json.dumps(value)[1:-1]
    encoded = b64encode(value.encode()).decode("ascii")
    forms = {value, escaped, escaped.replace("/", r"\/"), quote(value), quote(value, safe="")}
    return {*forms, encoded, encoded.rstrip("=")}
