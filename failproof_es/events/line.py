"""Formats an event as one line, by the format of its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failproof_es.events import AUDITED, EVENTS
from failproof_es.support.class_words import class_word

_PLACE = ("path", "line", "field")
"""Fields with the place of a defect; a format names all of them by `place`."""
MADE = frozenset(
    {"place", "counted", "priced", "outcome", "score_words", "class_words", "verdict_words"}
)
"""Names that a format may use besides the fields of its event: texts made of several fields."""

_OUTCOMES: Mapping[str, str] = {
    **dict.fromkeys(("present", "met", "happened"), "happened"),
    **dict.fromkeys(("absent", "not_met", "did_not_happen"), "did not happen"),
}
"""One pair of words for the outcome of an item, by the words of judges and recorded reviews."""


class _Fields(dict[str, Any]):
    """Fields of a payload; a missing field is an empty text."""

    def __missing__(self, _: str) -> str:
        return ""


def line_of(event: str, payload: Mapping[str, Any]) -> str:
    """The line about an event, made of its payload, which may lack fields of the present schema.

    `event` is its topic, or its name in the audit trail. Empty without anything to say, and for a
    payload that no engine wrote. Neither sanitised nor shortened.
    """
    kind = EVENTS.get(event) or AUDITED.get(event)
    if kind is None:
        return ""
    try:
        fields = _Fields({name: _format_value(value) for name, value in payload.items()})
        fields["place"] = ":".join(str(fields[name]) for name in _PLACE if fields[name])
        fields |= _made_texts(payload)
        text = kind.says.format_map(fields)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return ""
    return " ".join(text.split()).rstrip(":")


def _made_texts(payload: Mapping[str, Any]) -> dict[str, str]:
    """Several fields together, in words."""
    made = {}
    if isinstance(models := payload.get("models"), list):
        made["priced"] = "; ".join(
            f"{model['model_key']} by {source}"
            if (source := model["source"])
            else f"no price is known for {model['model_key']}"
            for model in models
            if "model_key" in model
        )
    if isinstance(counts := payload.get("counts"), dict):
        made["counted"] = f"{counts['finished']:,} of {counts['planned']:,} evaluations finished"
    if "passed" in payload:
        made["outcome"] = {True: "passed", False: "failed"}.get(payload["passed"], "scored")
    if isinstance(scores := payload.get("scores"), dict):
        made["score_words"] = _describe_values(scores)
    if isinstance(primary := payload.get("primary"), str):
        made["class_words"] = _words(class_word(primary))
    if isinstance(verdict := payload.get("verdict"), dict):
        items = verdict.get("items")
        made["verdict_words"] = (
            _describe_items(items) if isinstance(items, list) else _describe_values(verdict)
        )
    return made


def _describe_items(items: list[Any]) -> str:
    """A judge's verdict on each item of its checklist, and why a void verdict does not count."""
    phrases = []
    for item in items:
        key, void = item.get("item", "an item"), item.get("void")
        words = " ".join(
            part
            for part in (
                describe_verdict(str(item.get("verdict") or "")),
                f"(does not count: {void})" if void else "",
            )
            if part
        )
        phrases.append(f"{key} {words or 'nothing'}")
    return ", ".join(phrases)


def describe_verdict(verdict: str) -> str:
    """A judge's or a person's verdict on an item, for people: `happened` or `did not happen`.

    Any other word as it is.
    """
    return _OUTCOMES.get(verdict) or _words(verdict)


def _describe_values(values: Mapping[str, Any]) -> str:
    """Names and their values, in words, without unknown and composite values."""
    return ", ".join(
        f"{_words(name)} "
        f"{f'{value:g}' if isinstance(value, float) else _words(str(_format_value(value)))}"
        for name, value in values.items()
        if value not in (None, "") and not isinstance(value, dict | list)
    )


def _words(name: str) -> str:
    """A name of this program as a person writes it."""
    return name.replace("_", " ") if name.isidentifier() else name


def _format_value(value: Any) -> Any:
    match value:
        case None:
            return ""
        case dict():
            return _Values(value)
        case bool():
            return "yes" if value else "no"
        case list():
            return "; ".join(map(str, value))
        case _:
            return value


class _Values(_Fields):
    """A value with fields of its own, as text: the name and value of each field."""

    def __str__(self) -> str:
        return ", ".join(f"{name} {_format_value(value)}" for name, value in self.items())

    def __format__(self, _: str) -> str:
        return str(self)
