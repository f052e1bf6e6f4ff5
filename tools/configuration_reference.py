"""The page `docs/reference/configuration.md`, generated from the schema of a run configuration.

python -m tools.configuration_reference > docs/reference/configuration.md
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from typing import Any

from failproof_es.configuration.schema import Configuration
from failproof_es.configuration.shares import PER_CENT

_INTRODUCTION = """\
# The configuration of a run

<!-- Generated: python -m tools.configuration_reference > docs/reference/configuration.md -->

A YAML file, for `validate`, `start` and `open_benchmark`; [configs/](../../configs/) has one for
each dialect, and [a JSON Schema](../../configs/failproof-es.schema.json) with which editors
complete and check it. Keys that are not listed here are errors. Environment variables are not
filled in; a key is named by its variable, in `api_key_env`.

**A relative path in the file starts from the folder of the file**, whether it is read
(`prompts.path`, `prices.file`, `ca_file`, the weights of a `local` model) or written
(`output.file.path`). The module of a `class` is looked for there first, then among what is
installed. The folder is recorded, so `resume` finds the same files from everywhere. A process that
was given no configuration, such as a worker or `resume`, looks for modules in the current folder,
or in those of `FAILPROOF_ES_CLASS_FOLDERS`. On the command line, values of `--set` included, a
relative path starts from the current folder. So do those of a configuration that ships.

Suites that ship have names: `shipped:injection`, `shipped:redteam`, `shipped:redteam/grounding`.
`failproof-es suites list shipped:NAME` lists their cases. `start` and `validate` print each file
that they read, with the number of its cases.

`--set KEY.PATH=VALUE` puts a value over the file's, as often as it is given. The value is YAML. An
entry of a list goes by its number, counted from 0; `models[0]` says the same as `models.0`, but a
shell may read brackets as a pattern. Lists are not made longer: give the whole list.

```console
$ failproof-es start run.yaml --set execution.parallel_workers=8 --set models.0.temperature=0.5
$ failproof-es start run.yaml --set judge=null --set 'judges=[{provider: local, model: smollm2}]'
$ failproof-es start run.yaml --set test_run.name="'2026'"   # a text like a number: its own quotes
```

What is set is part of the configuration that `RunStarted` records.
"""

_WRITABLE = 2**62

_SECTIONS = {
    "Configuration": "The whole",
    "TestRun": "test_run",
    "Model": "models, judge, judges",
    "PromptTemplate": "matrix.prompts, models.prompt_template",
    "Matrix": "matrix",
    "JudgingSection": "judging",
    "GradingSection": "grading",
    "ChosenScorer": "grading.scorers",
    "PromptsSection": "prompts",
    "Filters": "prompts.filters",
    "SelectionSection": "selection",
    "ReuseSection": "reuse",
    "Execution": "execution",
    "Output": "output",
    "FileOutput": "output.file",
    "DatabaseOutput": "output.database",
    "Prices": "prices",
    "ModelPrice": "prices.models",
    "PriceTier": "prices.models.tiers",
    "Gates": "gates",
}


def reference() -> str:
    """The whole reference as Markdown."""
    schema = Configuration.model_json_schema(by_alias=True)
    parts = {"Configuration": schema, **schema["$defs"]}
    for part in parts.values():
        for value in part["properties"].values():  # left out where the section says the same
            value.setdefault("description", parts.get(_referred(value), part)["description"])
    sections = (_section(title, parts[name]) for name, title in _SECTIONS.items())
    return "\n".join([_INTRODUCTION, *sections])


def _referred(value: dict[str, Any]) -> str:
    return str(value.get("$ref", "")).rpartition("/")[2]


def _section(title: str, part: dict[str, Any]) -> str:
    heading = f"## {title if title == 'The whole' else f'`{title}`'}\n\n{part['description']}\n"
    return "\n".join([heading, *_table(part), ""])


def _table(part: dict[str, Any]) -> Iterator[str]:
    yield "| key | value | unless given | meaning |"
    yield "|---|---|---|---|"
    needed = part.get("required", [])
    for name, value in part["properties"].items():
        given = "*required*" if name in needed else _default(value)
        meaning = " ".join(value["description"].split()).replace("|", r"\|")
        yield f"| `{name}` | {_kind(value)} | {given} | {meaning} |"


def _default(value: dict[str, Any]) -> str:
    match value.get("default"):
        case None:
            return "-"
        case dict() | [] | {}:  # a section, whose keys say so themselves
            return "-"
        case default:
            return f"`{json.dumps(default)}`"


def _kind(value: dict[str, Any]) -> str:
    """What may stand there, in words."""
    if "$ref" in value:
        return "a section"
    if "anyOf" in value:
        kinds = (_kind(each) for each in value["anyOf"] if each.get("type") != "null")
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in value or "const" in value:
        return ", ".join(
            f"`{json.dumps(each)}`" for each in value.get("enum", [value.get("const")])
        )
    match value["type"]:
        case "array":
            inside = _kind(value["items"]).split(" or ")
            return f"a list of {' or '.join(map(_several, inside))}"
        case "object":
            return "a mapping"
        case "string":
            if value.get("pattern") == f"^{PER_CENT}$":
                return "a percentage"
            return "a date and time" if value.get("format") == "date-time" else "a text"
        case "boolean":
            return "`true` or `false`"
        case "integer":
            return f"a whole number{_bounds(value)}"
    return f"a number{_bounds(value)}"


def _several(kind: str) -> str:
    return f"{kind[2:]}s" if kind.startswith("a ") else kind


def _bounds(value: dict[str, Any]) -> str:
    """From where to where, without the bounds that only keep a number writable."""
    low, high = (
        bound if abs(bound) < _WRITABLE else math.copysign(math.inf, bound)
        for bound in (value.get("minimum", -math.inf), value.get("maximum", math.inf))
    )
    if "exclusiveMinimum" in value:
        return f" above {value['exclusiveMinimum']:,g}"
    if math.isinf(low) and math.isinf(high):
        return ""
    return f", {low:,g} or more" if math.isinf(high) else f", {low:,.9g} to {high:,.9g}"


if __name__ == "__main__":
    sys.stdout.write(reference())
