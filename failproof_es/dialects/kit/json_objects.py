"""The JSON objects of a text: the one decoder that reads a reply, and finds what poses as one.

A reader may begin at any brace of a text, inside a string or outside of all. `Objects` therefore
decodes from every opening brace; an object that a reader could read is found, wherever it stands.
JSON is what `json.loads` takes, and a comma after the last member. Two decodings that overlap
differ in what is inside a string for them, so that at most two go on at any place: the time is
linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


class Pairs(list[tuple[str, Any]]):
    """A JSON object with every key as often as it was written."""


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object, where it stands in the text, and how deep it is nested (1 for a flat one)."""

    start: int
    end: int
    """The place after its last brace."""
    pairs: Pairs
    depth: int


@dataclass(frozen=True, slots=True)
class BrokenObject:
    """Why the brace opens no object: at `place` stands no JSON, `open_levels` below the brace."""

    place: int
    is_cut: bool
    """The text ends inside of a string."""
    open_levels: int


_TOKEN = re.compile(
    r"""[ \t\r\n]*+(?:
      (?P<sign>[{}\[\],:])
    | (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?)
    | (?P<word>true|false|null|NaN|-?Infinity)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WHITE_SPACE = re.compile(r"[ \t\r\n]*+")
_WORDS = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_FIRST_KEY, _KEY, _COLON, _MEMBER, _AFTER, _FIRST, _NEXT = range(7)
"""What comes next in an object: a key or its end, ..., or in a list: a value or its end."""
_KEYS = (_FIRST_KEY, _KEY)
_VALUES = (_MEMBER, _FIRST, _NEXT)


@dataclass(slots=True)
class _OpenLevel:
    """An object or a list that was begun and not ended."""

    start: int
    values: Pairs | list[Any]
    expects: int
    key: str = ""
    depth: int = 1

    def take(self, value: Any, depth: int = 0) -> None:
        """Put a whole value into it."""
        if isinstance(self.values, Pairs):
            self.values.append((self.key, value))
        else:
            self.values.append(value)
        self.expects = _AFTER
        self.depth = max(self.depth, depth + 1)


@dataclass(slots=True)
class Objects:
    """The objects of one text. Nothing is decoded twice."""

    text: str
    _decoded: dict[int, JsonObject | BrokenObject] = field(default_factory=dict)

    def at(self, start: int) -> JsonObject | BrokenObject:
        """The object that the brace at `start` opens, or why it opens none."""
        if start not in self._decoded:
            self._decode(start)
        return self._decoded[start]

    def all(self) -> Iterator[JsonObject]:
        """Every object that a reader could read, by its beginning: inner ones, too."""
        start = self.text.find("{")
        while start >= 0:
            if isinstance(json_object := self.at(start), JsonObject):
                yield json_object
            start = self.text.find("{", start + 1)

    def outermost(self) -> Iterator[JsonObject]:
        """Those of `all` that stand in no other one."""
        end = 0
        for json_object in self.all():
            if json_object.end > end:
                end = json_object.end
                yield json_object

    def _decode(self, start: int) -> None:
        stack: list[_OpenLevel] = [_OpenLevel(start, Pairs(), _FIRST_KEY)]
        place = start + 1
        while stack:
            token = _TOKEN.match(self.text, place)
            if token is None or not self._step(stack, token):
                self._break(stack, place)
                return
            place = token.end()

    def _step(self, stack: list[_OpenLevel], token: re.Match[str]) -> bool:
        """Take one token in; `False` where it is none that may stand there."""
        top, sign = stack[-1], token["sign"]
        if sign in ("{", "["):
            if top.expects not in _VALUES:
                return False
            start = token.end() - 1
            is_object = sign == "{"
            stack.append(
                _OpenLevel(start, Pairs(), _FIRST_KEY)
                if is_object
                else _OpenLevel(start, [], _FIRST)
            )
            return True
        if sign in ("}", "]"):
            return self._close(stack, sign, token.end())
        if sign is not None:
            return _separate(top, sign)
        return _take_scalar(top, token)

    def _close(self, stack: list[_OpenLevel], sign: str, end: int) -> bool:
        top = stack[-1]
        is_object = isinstance(top.values, Pairs)
        if is_object != (sign == "}") or top.expects in (_COLON, _MEMBER):
            return False
        stack.pop()
        if isinstance(top.values, Pairs):
            self._decoded[top.start] = JsonObject(top.start, end, top.values, top.depth)
        if stack:
            stack[-1].take(top.values, top.depth)
        return True

    def _break(self, stack: list[_OpenLevel], place: int) -> None:
        white_space = _WHITE_SPACE.match(self.text, place)
        assert white_space is not None
        place = white_space.end()
        is_cut = self.text[place : place + 1] == '"' and not _closes(self.text, place)
        for level, container in enumerate(stack):
            if isinstance(container.values, Pairs):
                self._decoded[container.start] = BrokenObject(place, is_cut, len(stack) - level)


def _separate(top: _OpenLevel, sign: str) -> bool:
    if sign == ":":
        if top.expects != _COLON:
            return False
        top.expects = _MEMBER
        return True
    if top.expects != _AFTER:
        return False
    top.expects = _KEY if isinstance(top.values, Pairs) else _NEXT
    return True


def _take_scalar(top: _OpenLevel, token: re.Match[str]) -> bool:
    if (string := token["string"]) is not None:
        try:
            value: Any = json.loads(string, strict=False)  # a line break in it says what it says
        except ValueError:  # an escape that is none
            return False
        if top.expects in _KEYS:
            top.key, top.expects = value, _COLON
            return True
    elif (number := token["number"]) is not None:
        value = float(number)  # as wide as a float and no wider: no integer of a million digits
    else:
        value = _WORDS[token["word"]]
    if top.expects not in _VALUES:
        return False
    top.take(value)
    return True


def _closes(text: str, quote: int) -> bool:
    """Whether the string that begins there ends."""
    token = _TOKEN.match(text, quote)
    return token is not None and token["string"] is not None
