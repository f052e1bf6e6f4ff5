"""Tables of the fields of a class, made from its JSON Schema. For the generated pages."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

_FORMATS = {"uuid": "a UUID", "date-time": "a date and time (UTC)", "date": "a date (UTC)",
            "time": "a time of day (UTC)"}  # fmt: skip
_PLAIN = {"string": "text", "integer": "a whole number", "number": "a number",
          "boolean": "`true` or `false`", "object": "an object", "null": "null"}  # fmt: skip


def kind_of(value: Mapping[str, Any]) -> str:
    """What may stand in a field, in words; a class of its own is a link to its heading."""
    if "$ref" in value:
        name = str(value["$ref"]).rpartition("/")[2]
        return f"[`{name}`](#{name.lower()})"
    if "anyOf" in value:
        kinds = [kind_of(each) for each in value["anyOf"]]
        if "a number" in kinds and "text" in kinds:  # a decimal number, written as text
            kinds = ["a decimal number, as text", *(k for k in kinds if k == "null")]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in value or "const" in value:
        return ", ".join(
            f"`{json.dumps(each)}`" for each in value.get("enum", [value.get("const")])
        )
    match value.get("type"):
        case "array" if "prefixItems" in value:
            return f"a list of {len(value['prefixItems'])}"
        case "array":
            return f"a list: {kind_of(value['items'])}" if "items" in value else "a list"
        case "object" if isinstance(of := value.get("additionalProperties"), dict):
            return f"an object, each value {kind_of(of)}"
        case "string" if "pattern" in value:
            return "a decimal number, as text"
        case "string":
            return _FORMATS.get(value.get("format", ""), "text")
        case str(kind):
            return _PLAIN[kind]
        case _:
            return "any JSON value"


@functools.cache
def documented_fields(owner: type) -> dict[str, str]:
    """The string that follows each field in the source of a class, where one does."""
    (parsed,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(parsed, ast.ClassDef)
    found = {}
    for field, said in zip(parsed.body, parsed.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(said, ast.Expr)
            and isinstance(said.value, ast.Constant)
        ):
            found[field.target.id] = " ".join(str(said.value.value).split())
    return found


def prose(text: str) -> str:
    """A docstring as paragraphs of Markdown, each on one line."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


def table(part: Mapping[str, Any], meanings: Mapping[str, str]) -> Iterator[str]:
    """Lines of a table with one row for each property of an object's schema.

    `meanings` says more of some; without any, there is no column for it.
    """
    yield "| field | value | meaning |" if meanings else "| field | value |"
    yield "|---|---|---|" if meanings else "|---|---|"
    for name, value in part["properties"].items():
        cells = [f"`{name}`", kind_of(value), *([meanings.get(name, "")] if meanings else [])]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
