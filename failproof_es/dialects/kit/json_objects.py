"""Decodes every JSON object in a text: replies of judges, and objects that imitate them.

A reader may begin at any brace of a text, inside or outside of a string. `Objects` therefore
decodes from every opening brace, so that no object is missed that a reader could find.

JSON is what `json.loads` accepts, and a comma after the last member. Two decodings that overlap
disagree on what is inside a string, so that at most two go on at any position: the time is linear
in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


class Pairs(list[tuple[str, Any]]):
    """A JSON object as (key, value) pairs, duplicate keys included."""


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object, its start in the text, and its depth of nesting (1 for a flat one)."""

    start: int
    end: int
    """The position after its last brace."""
    pairs: Pairs
    depth: int


@dataclass(frozen=True, slots=True)
class BrokenObject:
    """A brace that opens no valid object.

    The JSON breaks at the position `place`, where `open_levels` objects and lists are open, this
    one included.
    """

    place: int
    is_cut: bool
    """Whether the text ends inside a string."""
    open_levels: int


def values_within(value: Any) -> Iterator[Any]:
    """The value and every value inside it, at any depth, in no particular order.

    The members of a list, and of a `Pairs` the values without their keys.
    """
    waiting = [value]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Pairs):
            waiting += [member for _, member in node]
        elif isinstance(node, list):
            waiting += node


_TOKEN = re.compile(
    r"""[ \t\r\n]*+(?:
      (?P<sign>[{}\[\],:])
    | (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?)
    | (?P<word>true|false|null|NaN|-?Infinity)
    )""",
    re.VERBOSE | re.DOTALL,
)
_STRINGS = json.JSONDecoder(strict=False)
"""Accepts raw line breaks. Made once: that takes longer than to decode a short string."""
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
"""What an open level expects next. Object: first key or end, key, colon, value. Both: comma or
end. List: first value or end, value."""
_KEYS = (_FIRST_KEY, _KEY)
_VALUES = (_MEMBER, _FIRST, _NEXT)


@dataclass(slots=True)
class _OpenLevel:
    """An object or a list whose end has not been read."""

    start: int
    values: Pairs | list[Any]
    expects: int
    key: str = ""
    depth: int = 1

    def take(self, value: Any, depth: int = 0) -> None:
        """Add a complete value. `depth` is its depth of nesting: 0 for a scalar."""
        if isinstance(self.values, Pairs):
            self.values.append((self.key, value))
        else:
            self.values.append(value)
        self.expects = _AFTER
        self.depth = max(self.depth, depth + 1)


@dataclass(slots=True)
class Objects:
    """Decodes the objects in one text, each only once."""

    text: str
    _decoded: dict[int, JsonObject | BrokenObject] = field(default_factory=dict)

    def at(self, start: int) -> JsonObject | BrokenObject:
        """The object that the brace at the position `start` opens, or the defect in it."""
        if start not in self._decoded:
            self._decode(start)
        return self._decoded[start]

    def all(self) -> Iterator[JsonObject]:
        """Every valid object, inner ones too, in order of their first characters."""
        start = self.text.find("{")
        while start >= 0:
            if isinstance(json_object := self.at(start), JsonObject):
                yield json_object
            start = self.text.find("{", start + 1)

    def outermost(self) -> Iterator[JsonObject]:
        """The objects of `all` that are inside no other one."""
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
        """Process one token; `False` if JSON does not allow it there.

        `stack` are the open objects and lists, the innermost last; it is updated.
        """
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
            return _accept_separator(top, sign)
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


def _accept_separator(top: _OpenLevel, sign: str) -> bool:
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
            value: Any = _STRINGS.decode(string)
        except ValueError:  # an invalid escape
            return False
        if top.expects in _KEYS:
            top.key, top.expects = value, _COLON
            return True
    elif (number := token["number"]) is not None:
        value = float(number)  # no integer of a million digits
    else:
        value = _WORDS[token["word"]]
    if top.expects not in _VALUES:
        return False
    top.take(value)
    return True


def _closes(text: str, quote: int) -> bool:
    """Whether the string that opens at `quote` is complete."""
    token = _TOKEN.match(text, quote)
    return token is not None and token["string"] is not None


def has_utf8_form(text: str) -> bool:
    """Whether the text can be stored: half a surrogate pair, as JSON can write it, can not."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
