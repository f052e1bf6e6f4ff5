"""Explains schema errors in plain words, each with its place."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from failproof_es.configuration.locations import Location, dotted
from failproof_es.configuration.yaml_tree import YamlTree
from failproof_es.declared_gates import DECLARED
from failproof_es.problems import Problems, schema_code, shown_value

_SECRET = re.compile(r"key|secret|token|password|credential", re.IGNORECASE)
_NOTATIONS = {
    "string_type": "write a text",
    "int_type": "write a whole number, such as 4",
    "int_from_float": "write a whole number, such as 4",
    "float_type": "write a number, such as 0.5",
    "bool_type": "write true or false",
    "list_type": "write a list: [a] or [a, b]",
    "dict_type": "write it as `key: value` lines",
    "model_type": "write it as `key: value` lines",
}
"""The remedy for each type of pydantic's errors about a value of the wrong type."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


class Explanation(NamedTuple):
    """An invalid value in plain words; `remedy` is `None` if there is none to suggest."""

    code: str
    message: str
    remedy: str | None


def report_schema_errors(
    error: ValidationError, path: Path, tree: YamlTree, schema: type[BaseModel], problems: Problems
) -> None:
    """Add each error of validating `tree` by `schema` to `problems`, with its place in `path`.

    No message quotes a possible secret. Unless `tree.quoting`, no message quotes a value or an
    unknown key.
    """
    explanations: dict[Location, list[Explanation]] = {}
    for detail in error.errors():
        location = written_location(detail, tree.value)
        name = str(location[-1]) if location else ""
        explained = _explain_quoting if tree.quoting else _explain_unquoted
        explanations.setdefault(location, []).append(explained(detail, name, location, schema))
    for location, alternatives in explanations.items():
        found_in, line = tree.place_of(location, path)
        code, message, remedy = _join(alternatives)
        quotable = location if tree.quoting else _known_part(location, schema)
        problems.error(
            code, message, path=found_in, line=line, field=dotted(quotable) or None, remedy=remedy
        )  # fmt: skip


def explain_value(error: ValidationError, name: str) -> Explanation:
    """One invalid value of that name, as `report_schema_errors` words it."""
    return _join([_explain_quoting(detail, name, (name,), BaseModel) for detail in error.errors()])


def _join(alternatives: Sequence[Explanation]) -> Explanation:
    """The errors of one value, one for each type that it could have, as one; the code of the first.

    Each message and each remedy is there once.
    """
    messages = dict.fromkeys(explanation.message for explanation in alternatives)
    remedies = dict.fromkeys(filter(None, (explanation.remedy for explanation in alternatives)))
    return Explanation(alternatives[0].code, ", or ".join(messages), "; ".join(remedies) or None)


def _explain_unquoted(
    detail: ErrorDetails, name: str, location: Location, schema: type[BaseModel]
) -> Explanation:
    """An error in words that state the expected value and quote nothing of the file."""
    if detail["type"] == "missing":
        return Explanation("missing-field", "is missing", f"add `{name}:`")
    known_keys = ", ".join(_keys_at(_known_part(location, schema), schema))
    if detail["type"] == "extra_forbidden":
        return Explanation("unknown-field", "is not a known field", f"known here: {known_keys}")
    if detail["type"] in ("model_type", "dict_type"):
        remedy = f"write a mapping with these keys: {known_keys}"
        return Explanation("wrong-type", "is not a mapping", remedy)
    return Explanation(schema_code(detail["type"]), _lower_first(detail["msg"]), None)


def _known_part(location: Location, schema: type[BaseModel]) -> Location:
    """The first part of a location whose keys the schema knows."""
    for depth, step in enumerate(location):
        if isinstance(step, str) and step not in _keys_at(location[:depth], schema):
            return location[:depth]
    return location


def written_location(detail: ErrorDetails, value: Any) -> Location:
    """The location of an error in the file whose content is `value`, without the steps that a union
    type adds (`constrained-int`)."""
    location: Location = detail["loc"]
    if detail["type"] == "missing":
        return location
    for depth, step in enumerate(location):
        try:
            value = value[step]
        except (LookupError, TypeError):
            return location[:depth]
    return location


def _explain_quoting(
    detail: ErrorDetails, name: str, location: Location, schema: type[BaseModel]
) -> Explanation:
    context = detail.get("ctx", {})
    if detail["type"] == "extra_forbidden":
        return _unknown_key(detail, name, location, schema)
    if detail["type"] == "missing":
        return Explanation("missing-field", "is missing", f"add `{name}:`")
    if _may_be_secret(name, detail["input"]):
        return Explanation(
            "key-exposed",
            "must be the name of an environment variable",
            "a configuration names the variable that holds the key, never the key itself",
        )
    if detail["type"] == "literal_error":
        wrong = f"is {_describe_value(detail['input'])}"
        return Explanation("invalid-value", wrong, f"use {context.get('expected')}")
    message = detail["msg"]
    if detail["type"] == "options-conflict":
        return Explanation(detail["type"], message, "keep one of them")
    if detail["type"] in ("model_type", "dict_type"):
        message = "must be a mapping of keys and values"
    wrong = f"{_lower_first(message)}; it is {_describe_value(detail['input'])}"
    return Explanation(schema_code(detail["type"]), wrong, _suggest_notation(detail))


def _suggest_notation(detail: ErrorDetails) -> str | None:
    """Remedy for a value of the wrong type; `None` for any other error."""
    match detail["type"], detail["input"]:
        case "string_type", int() | float():
            return (
                """put it in quotes, as it is written; after --set write "'VALUE'" for the shell"""
            )
        case (("int_type" | "float_type" | "bool_type"), str(quoted)):
            return _suggest_unquoting(detail["type"], quoted) or _NOTATIONS[detail["type"]]
        case "less_than_equal", int() | float() as number if _is_share(detail, number):
            return f"write {number / 100:g}: a share goes from 0 to 1"
        case "list_type", str() | int() | float():
            return "put it in brackets: [a] or [a, b]"
    return _NOTATIONS.get(detail["type"])


def _is_share(detail: ErrorDetails, number: float) -> bool:
    """Whether `number` is a percentage, and the value must be a share from 0 to 1."""
    return detail.get("ctx", {}).get("le") == 1 and 1 < number <= 100


def _suggest_unquoting(kind: str, quoted: str) -> str | None:
    """Remedy for a quoted number or boolean; `None` if `quoted` is neither.

    `kind` is the error's type, such as `int_type`.
    """
    text = quoted.strip()
    if kind == "bool_type":
        return f"remove the quotes: {text.lower()}" if text.lower() in ("true", "false") else None
    return f"remove the quotes: {text}" if _NUMBER.fullmatch(text) else None


def _unknown_key(
    detail: ErrorDetails, name: str, location: Location, owner: type[BaseModel]
) -> Explanation:
    if _may_be_secret(name, detail["input"]):
        return Explanation(
            "key-exposed",
            "never write API keys into a configuration",
            "put the key into an environment variable and name that in `api_key_env`",
        )
    known_keys = _keys_at(location[:-1], owner)
    close = difflib.get_close_matches(name, known_keys, n=1)
    meant = f"did you mean `{close[0]}`?" if close else ""
    hint = f"known here: {', '.join(known_keys)}"
    # Names of gates are often guessed, so the closest one may be wrong.
    if location[:-1] == ("gates",):
        install = f"for another one install its package (entry point group {DECLARED.group})"
        remedy = f"{meant} {hint}; {install}".strip()
        return Explanation("unknown-field", "is not a known field", remedy)
    return Explanation(
        "unknown-field", "is not a known field", meant or (hint if known_keys else None)
    )


@cache
def _json_schema(owner: type[BaseModel], gates: tuple[str, ...]) -> dict[str, Any]:
    """The JSON Schema of a class while these gates of dialects are installed."""
    return owner.model_json_schema(by_alias=True)


def _keys_at(location: Location, owner: type[BaseModel]) -> list[str]:
    schema: Any = _json_schema(owner, tuple(DECLARED.names()))
    definitions = schema.get("$defs", {})

    def resolve(part: Any) -> Any:
        for option in (part, *part.get("anyOf", [])):
            if "$ref" in option:
                return definitions[option["$ref"].rsplit("/", 1)[-1]]
            if not option.keys().isdisjoint(("properties", "additionalProperties", "items")):
                return option
        return part

    for step in location:
        schema = resolve(schema)
        if isinstance(step, int):
            schema = schema.get("items", {})
        else:  # a key that the schema names, or one of a mapping with free keys
            free = schema.get("additionalProperties")
            properties = schema.get("properties", {})
            schema = properties.get(step, free if isinstance(free, dict) else {})
    return sorted(resolve(schema).get("properties", {}))


def _describe_value(value: Any) -> str:
    return shown_value(value, nothing="empty", mapping="a mapping", longest=60)


def _may_be_secret(name: str, value: Any) -> bool:
    """Whether a value of that name may be an API key. Numbers and `max_tokens` are not."""
    return (
        name != "max_tokens" and not isinstance(value, int | float) and bool(_SECRET.search(name))
    )


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
