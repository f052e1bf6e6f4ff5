"""Finds the one object in a judge's reply that was written for this question.

The object repeats the question's mark, has exactly the keys that were asked for, and no other
object of the reply contradicts it. Any other reply decides nothing: the judge is asked again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from failproof_es.dialects.kit.json_in_prose import Pairs, outermost_within, whole_objects
from failproof_es.dialects.kit.json_objects import values_within

MARK = "transcript"
"""The key under which a verdict repeats the mark."""
_LONGEST_SHOWN = 60
_AFFIRMING = frozenset(
    {"pass", "passed", "passes", "correct", "is_correct", "success", "ok", "accepted", "valid"}
)
_DENYING = frozenset({"fail", "failed", "fails", "incorrect", "is_incorrect", "rejected", "wrong"})
_YES, _NO = _AFFIRMING | {"yes", "true"}, _DENYING | {"no", "false"}


class UnusableVerdict(Exception):
    """The error that a judge's reply decides nothing.

    The message is a name for programs, a colon and the reason.
    """


def own_object(text: str, mark: str, key: str) -> tuple[Pairs, Pairs]:
    """The one object with this key and this mark, and the other members of its wrapping.

    `mark` is the delimiter that the object must repeat under `MARK`. Raises `UnusableVerdict` if no
    object has both or several differ, and `ReplyUnreadable` if the reply can't be read.
    """
    wholes = whole_objects(text, (key,))
    if not wholes:
        raise UnusableVerdict(f"no_object: the reply holds no JSON object with {key}")
    own = [
        (verdict, whole)
        for whole in wholes
        for verdict in outermost_within(whole, {key})
        if values(verdict, MARK) == [mark]
    ]
    if not own:
        raise UnusableVerdict(
            "other_transcript: no object of the reply repeats the transcript's mark"
        )
    if any(verdict != own[0][0] for verdict, _ in own):
        raise UnusableVerdict("contradicting_objects: the reply holds several verdicts that differ")
    around = Pairs(member for verdict, whole in own for member in _wrapping_members(whole, verdict))
    return own[0][0], around


def refuse_further_keys(members: Pairs, known_keys: Collection[str], passes: bool | None) -> None:
    """Raise `UnusableVerdict` if `members` have keys other than `known_keys`.

    Its message begins with `contradiction` if such a member says the opposite of the verdict, else
    with `unknown_keys`. `passes` is whether the verdict passes; `None` if that is not known.
    """
    further = [(key, value) for key, value in members if key.lower() not in known_keys]
    for key, value in further:
        if passes is not None and _read_outcome(key, value) is (not passes):
            outcome = "passes" if passes else "does not pass"
            reason = f"{shorten_value(key)} is {shorten_value(value)}, and the verdict {outcome}"
            raise UnusableVerdict(f"contradiction: {reason}")
    if further:
        key_list = ", ".join(shorten_value(key) for key, _ in further)
        raise UnusableVerdict(f"unknown_keys: beside the verdict stands {key_list}")


def values(document: Pairs, name: str) -> list[Any]:
    """Every value under `name`, which is in lower case; the keys may be in any case."""
    return [value for key, value in document if key.lower() == name]


def shorten_value(value: Any) -> str:
    """The value as ASCII text for a message, cut after 60 characters."""
    text = ascii(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _wrapping_members(whole: Any, verdict: Pairs) -> Iterator[tuple[str, Any]]:
    """The members of the objects around the verdict, except those that contain it.

    `whole` is the outermost object around `verdict`, or `verdict` itself.
    """
    value: Any = whole
    while value is not verdict:
        members = value if isinstance(value, Pairs) else [("", inner) for inner in value]
        holding = next(
            inner for _, inner in members if any(node is verdict for node in values_within(inner))
        )
        yield from (member for member in members if member[1] is not holding)
        value = holding


def _read_outcome(key: str, value: Any) -> bool | None:
    """Whether a member says that the answer passes; `None` if it says nothing about that.

    `{"correct": true}` and `{"result": "pass"}` say so.
    """
    if isinstance(value, list):  # an object, too
        return None
    word = value.strip().lower() if isinstance(value, str) else value
    truth = True if word in (True, 1.0) or word in _YES else None
    if truth is None and (word in (False, 0.0) or word in _NO):
        truth = False
    name = key.strip().lower()
    if truth is None or not (name in _AFFIRMING | _DENYING or isinstance(word, str)):
        return None
    return not truth if name in _DENYING else truth
