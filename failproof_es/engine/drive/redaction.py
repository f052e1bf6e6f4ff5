"""Redacts a run's keys before any event is built.

Each replacement is recorded: the field, the variable, how often. A key is found in upper and lower
case, and in the forms in which programs repeat text: escaped for JSON, HTML or a URL, in base64 at
any offset, in hexadecimal, with white space in between.
"""

from __future__ import annotations

import html
import json
import os
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar
from urllib.parse import quote, quote_plus

from failproof_es.engine.drive.escapes import WHITE_SPACE, iterate_views, unescape
from failproof_es.engine.drive.streamed_fields import joined_fields
from failproof_es.events import Redaction
from failproof_es.models.credentials import SHORTEST_KEY
from failproof_es.problems import InvalidInput

T = TypeVar("T", str, bytes)

_SHORT = 100
_MOST_REMEMBERED = 1_000
_SCHEME = re.compile(r"(basic|bearer|token|api-?key|key|digest|negotiate)[ \t:=]+(.+)", re.I | re.S)
"""The authentication scheme at the beginning of a header's value, and the key after it."""
_PAIRS = re.compile(r"[^\s;,=]+=\"?([^\s;,\"]+)")
"""The values of the pairs in a cookie, or in another header with parts."""


class Redactor:
    """Replaces the values of the named environment variables in texts, in every form in which a
    server may repeat them. Values shorter than `SHORTEST_KEY` are not replaced."""

    def __init__(self, variables: Iterable[str]) -> None:
        values = {name: os.environ.get(name, "") for name in sorted(set(variables))}
        keys = {name: value for name, value in values.items() if len(value) >= SHORTEST_KEY}
        forms = [
            (form, name)
            for name, value in keys.items()
            for key in _keys(value)
            for form in _forms(key)
        ]
        self._secrets = _Secrets(sorted(forms, key=_longest_first))
        self._also: dict[str, str] = {}
        self.too_short = tuple(name for name, value in values.items() if value and name not in keys)
        """The variables whose values are too short to search for."""

    def also(self, secrets: Mapping[str, str]) -> None:
        """Replace these values as well: access tokens obtained during the run, by the names that
        are shown in their place."""
        if secrets.keys() <= self._also.keys():
            return
        self._also |= secrets
        more = [(form, name) for name, value in self._also.items() for form in _forms(value)]
        every = {*self._secrets.forms, *more}
        self._secrets = _Secrets(sorted(every, key=_longest_first))

    def for_event(self) -> EventRedactor:
        """A redactor for the fields of one event."""
        return EventRedactor(self._secrets)

    def for_stream(self, pass_on: Callable[[str], None]) -> StreamRedactor:
        """A redactor for one streamed text.

        It calls `pass_on` with the redacted pieces, in order.
        """
        return StreamRedactor(self._secrets, pass_on)

    def redact(self, text: str) -> str:
        """A single text, redacted, to show or record."""
        return self.for_event().text("text", text)

    @contextmanager
    def redact_errors(self) -> Iterator[None]:
        """Raise an `InvalidInput` of the block with all texts redacted."""
        try:
            yield
        except InvalidInput as error:
            raise self.redact_error(error) from None

    def redact_error(self, error: InvalidInput) -> InvalidInput:
        """A copy of the error, with all texts redacted."""
        return InvalidInput(
            [
                replace(
                    problem,
                    message=self.redact(problem.message),
                    remedy=None if problem.remedy is None else self.redact(problem.remedy),
                )
                for problem in error.problems
            ]
        )


class _Secrets:
    """The texts to search for.

    A form is one way to write a key: plain, or encoded. `forms` has pairs of a form in lower case
    and the name of its variable, the longest form first.
    """

    def __init__(self, forms: Sequence[tuple[str, str]]) -> None:
        self.forms = forms
        self.unescaped = _minimal_forms(
            [(unescape(form.encode()), variable) for form, variable in forms]
        )
        self.longest = max((len(form) for form, _ in forms), default=0)
        self.any = re.compile("|".join(re.escape(form) for form, _ in forms) or "(?!)")
        self._first = frozenset(form[0] for form, _ in forms)
        self._minimal_forms = _minimal_forms(forms)
        lengths = [len(form) for form, _ in forms] + [len(form) for form, _ in self.unescaped]
        self._shortest = min(lengths, default=0)
        self._dense_holds_plain = not any(
            form.translate(None, WHITE_SPACE) != form for form, _ in self.unescaped
        )
        self._remembered: set[str] = set()
        """Short texts without a key: most headers repeat those of the last reply."""

    def none_in(self, text: str) -> bool:
        """Whether the text certainly holds no key in any form."""
        if not self.forms or text in self._remembered:
            return True
        if len(text) < self._shortest and text.isascii():
            return True  # an escape is never shorter than its character
        if "\\" in text:  # with escapes `in_text` may miss a plain form
            lower = _lower(text)
            if any(form in lower for form, _ in self._minimal_forms):
                return False
        if self.in_text(text):
            return False
        if len(text) <= _SHORT:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered.add(text)
        return True

    def may_begin(self, lower: str) -> bool:
        """Whether this lower-case text is the beginning of a form, but not all of it."""
        return lower[0] in self._first and any(
            len(form) > len(lower) and form.startswith(lower) for form, _ in self.forms
        )

    def in_data(self, data: bytes) -> set[str]:
        """The variables whose keys occur in the data.

        Also finds keys escaped for JSON, any number of times, escaped character by character for
        HTML or a URL, or with white space in between.
        """
        if not self.forms:
            return set()
        variables: set[str] = set()
        for view in iterate_views(data.lower(), dense_holds_plain=self._dense_holds_plain):
            variables.update(variable for form, variable in self.unescaped if form in view)
        return variables

    def in_text(self, text: str) -> set[str]:
        """The variables whose keys occur in the text, as `in_data` finds them."""
        return self.in_data(text.encode("utf-8", "surrogatepass"))


class EventRedactor:
    """Redacts the fields of one event and counts what it replaced."""

    def __init__(self, secrets: _Secrets) -> None:
        self._secrets = secrets
        self._found: Counter[tuple[str, str]] = Counter()

    @property
    def has_keys(self) -> bool:
        """Whether there is any key to look for."""
        return bool(self._secrets.forms)

    def text(self, field: str, text: str) -> str:
        """`text` with every key replaced by a placeholder that names its variable.

        A text with a key in escapes is replaced whole. `field` is the field's name in the record of
        replacements.
        """
        if self._secrets.none_in(text):
            return text
        lower = _lower(text)
        for form, variable in self._secrets.forms:
            if form in lower:
                pieces = _split(text, lower, form)
                self._found[field, variable] += len(pieces) - 1
                text = _placeholder(variable).join(pieces)
                lower = _lower(text)
        if variables := self._secrets.in_text(text):
            # A key in escapes: its exact place is not known, so the whole text is replaced.
            self._found.update((field, variable) for variable in variables)
            text = _placeholders(variables)
        return text

    def optional(self, field: str, text: str | None) -> str | None:
        """`text` redacted as by the method `text`; `None` stays `None`."""
        return None if text is None else self.text(field, text)

    def values(self, field: str, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers with every name and every value redacted.

        Values whose redacted names are equal are joined by a comma. `field` names the headers in
        the record of replacements.
        """
        redacted: dict[str, str] = {}
        none_in = self._secrets.none_in
        for name, value in headers.items():
            name = self.text(field, name)
            if not none_in(value):
                value = self.text(f"{field}.{name}", value)
            redacted[name] = f"{redacted[name]}, {value}" if name in redacted else value
        return redacted

    def body(self, field: str, body: bytes) -> str | None:
        """The placeholder for a body that holds a key; `None` if it holds none.

        A key may be split over the pieces of a stream, in escapes, or found in a field read from
        this body before. No part of a body with a key is kept. `field` is its name in the record.
        """
        variables = {variable for where, variable in self._found if not where.startswith("headers")}
        variables |= self._secrets.in_data(body)
        if self._secrets.forms:
            variables.update(*map(self._secrets.in_text, joined_fields(body)))
        self._found.update((field, variable) for variable in sorted(variables))
        return _placeholders(variables) if variables else None

    def record(self) -> tuple[Redaction, ...]:
        """The replacements so far: how often which variable was replaced in which field."""
        return tuple(
            Redaction(field=field, variable=variable, count=count)
            for (field, variable), count in self._found.items()
        )


class StreamRedactor:
    """Redacts a text as it arrives, also a secret that is split over pieces.

    Holds back only a tail that could be the start of a secret.
    """

    def __init__(self, secrets: _Secrets, pass_on: Callable[[str], None]) -> None:
        self._redactor = EventRedactor(secrets)
        self._secrets = secrets
        self._pass_on = pass_on
        self._held = ""

    def piece(self, text: str) -> None:
        """Take the next piece; pass on, redacted, all but a tail that could begin a secret."""
        text = self._held + text
        cut = self._find_cut(_lower(text))
        self._held = text[cut:]
        self._pass_redacted(text[:cut])

    def end(self) -> None:
        """Pass on the held-back tail, at the end of the text."""
        self._pass_redacted(self._held)
        self._held = ""

    def _pass_redacted(self, text: str) -> None:
        if text:
            self._pass_on(self._redactor.text("text", text))

    def _find_cut(self, lower: str) -> int:
        """The index at which to cut: the text after it could begin a secret and must be held back.

        It is the text's length if nothing must; it never lies within a whole secret.
        """
        at = 0
        while True:
            match = self._secrets.any.search(lower, at)
            last = match.start() + 1 if match else len(lower)
            for start in range(max(at, len(lower) - self._secrets.longest + 1), last):
                if self._secrets.may_begin(lower[start:]):
                    return start
            if match is None:
                return len(lower)
            at = match.end()


def _longest_first(secret: tuple[str, str]) -> tuple[int, str, str]:
    """Sort key for pairs of form and variable that puts the longest form first.

    A form may contain a shorter one, whose replacement would leave the rest.
    """
    form, variable = secret
    return -len(form), form, variable


def _minimal_forms(forms: Sequence[tuple[T, str]]) -> list[tuple[T, str]]:
    """The pairs of form and variable whose form contains no other form of the same variable.

    They suffice to find which variables occur.
    """
    distinct = list(dict.fromkeys(forms))
    return [
        (form, variable)
        for form, variable in distinct
        if not any(
            other in form and other != form and whose == variable for other, whose in distinct
        )
    ]


def _keys(value: str) -> Iterator[str]:
    """The value of a variable, and the keys in it that a server may repeat alone.

    These are values of pairs, the part after an authentication scheme, and a password.
    """
    yield value
    yield value.strip()  # as it is sent
    parts = [pair for pair in _PAIRS.findall(value) if any(map(str.isdigit, pair))]
    if (scheme := _SCHEME.fullmatch(value.strip())) is not None:
        parts.append(scheme[2])
        if scheme[1].lower() == "basic":
            with suppress(ValueError):
                user = b64decode(scheme[2], validate=True).decode("utf-8", "surrogateescape")
                parts += [user, user.partition(":")[2]]
    yield from (part for part in parts if len(part) >= SHORTEST_KEY)


def _forms(value: str) -> set[str]:
    """The texts as which a key may be repeated, in lower case: plain, escaped for JSON, HTML or a
    URL, in hexadecimal and in base64."""
    data = value.encode("utf-8", "surrogateescape")
    in_json = json.dumps(value)[1:-1]
    forms = {value, in_json, in_json.replace("/", r"\/"), html.escape(value), data.hex()}
    forms |= {quote(data), quote(data, safe=""), quote_plus(data)}
    forms.add("".join(f"%{byte:02x}" for byte in data))
    for encode in (b64encode, urlsafe_b64encode):
        whole = encode(data).decode("ascii")
        forms |= {whole, whole.rstrip("=")}
        forms |= {_in_base64(encode, data, before) for before in range(3)}
    return {_lower(form) for form in forms}


def _in_base64(encode: Callable[[bytes], bytes], data: bytes, before: int) -> str:
    """The part of the base64 text of `data` that does not depend on the bytes before and after it.

    `before` is the number of bytes before it, modulo 3. So the key is found in `Bearer KEY` and in
    `user:KEY` as well.
    """
    encoded = encode(bytes(before) + data).decode("ascii")
    bits = 8 * (before + len(data))
    return encoded[-(-8 * before // 6) : bits // 6]


def _lower(text: str) -> str:
    """The text with `A` to `Z` in lower case; no character changes its index."""
    if text.isascii():
        return text.lower()
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _split(text: str, lower: str, form: str) -> list[str]:
    pieces, at = [], 0
    while (index := lower.find(form, at)) >= 0:
        pieces.append(text[at:index])
        at = index + len(form)
    return [*pieces, text[at:]]


def _placeholder(variable: str) -> str:
    return f"[redacted:{variable}]"


def _placeholders(variables: Iterable[str]) -> str:
    return " ".join(map(_placeholder, sorted(variables)))
