"""The page `docs/reference/events.md`, generated from the classes of the events.

python -m tools.events_reference > docs/reference/events.md
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from failproof_es.core.case import Case, Turn
from failproof_es.events import AUDITED, EVENTS, Event, Record, RunEvent
from failproof_es.events.base import Stream
from tools.schema_tables import documented_fields, prose, table

_INTRODUCTION = """\
# Events

<!-- Generated: python -m tools.events_reference > docs/reference/events.md -->

The log holds these events and no others. `failproof-es log RUN` lists those of a run;
`failproof-es log RUN --format jsonl` prints them whole. The name of an event is its *topic*. Names
and meanings never change; when the fields of an event change, its schema version is raised, and
older events are read as the newest version.
"""
_STREAMS: dict[Stream, str] = {
    "prompt": "Events of stored cases",
    "collection": "Events of imported collections",
    "run": "Events of a run",
    "evaluation": "Events of an evaluation",
    "operations": "Events of what is done about a run",
    "review": "Events of reviews",
    "ledger": "Events of the log itself",
    "access": "Events of access",
}
_UNITS = (
    ("_ms", "In milliseconds."),
    ("_s", "In seconds."),
    ("_usd", "In US dollars."),
    ("bytes", "In bytes."),
    ("_sha256", "SHA-256, hexadecimal."),
    ("sha256", "SHA-256, hexadecimal."),
    ("digest", "SHA-256, hexadecimal."),
    ("digests", "SHA-256 of each, hexadecimal."),
    ("_tokens", "In tokens."),
)
"""How a field's name ends, and the unit that it is in."""
_SAID = {
    "originator_id": "The stream that the event is in.",
    "originator_version": "The number of the event in its stream, from 1.",
    "run_id": "The run; null where the event belongs to none.",
    "timestamp": "When the event was made.",
    "prompt_id": "The stored case.",
    "model_key": "The model's name in the run.",
    "repetition": "Which repetition, from 1.",
    "purpose": "Whether the model under test is asked, or a judge.",
    "judge": "The name of the judge in the run; null for the model under test.",
    "turn": "Which turn of the conversation, from 0.",
    "attempt": "Which attempt, from 1.",
    "who": "The user who did it.",
    "where": "The name of the machine.",
    "about": "The run that it is about.",
    "position": "A position in the log.",
    "latency_ms": (
        "From writing the request to its connection until the last byte of the reply arrived, in "
        "milliseconds. Waiting for a connection, connecting and queueing in this process are not "
        "counted. Of a failed attempt: until it was given up; null where nothing was written."
    ),
    "first_token_ms": "From writing the request until its first token arrived, in milliseconds.",
    "length": "In bytes.",
    "input": "US dollars per million tokens read.",
    "cached_input": "US dollars per million tokens read from a cache.",
    "output": "US dollars per million tokens written.",
}
"""What a field means in every event that has it and says no more of it itself."""


def reference() -> str:
    """The whole page."""
    trail = ", ".join(f"`{name}`" for name in AUDITED)
    return "\n".join([_INTRODUCTION, f"The audit trail has {trail}.\n", *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    yield "## Fields that every event has\n"
    yield from _fields(Event)
    parts: dict[str, type[BaseModel]] = {}
    for stream in typing.get_args(Stream):
        yield f"\n## {_STREAMS[stream]}"
        for topic, kind in EVENTS.items():
            if kind.stream == stream:
                yield f"\n### {topic}\n\n{prose(kind.__doc__ or '')}\n\n{_facts(kind)}\n"
                yield from _fields(kind, Event)
                parts |= _parts(kind)
    yield "\n## Objects inside events"
    for name in sorted(parts):
        yield f"\n### {name}\n\n{prose(parts[name].__doc__ or '')}\n"
        yield from _fields(parts[name])


def _facts(kind: type[Event]) -> str:
    facts = [f"Schema version {kind.schema_version}."]
    if issubclass(kind, RunEvent):
        facts += _place_in_a_run(kind)
    if kind.ends_stream:
        facts.append("The last event of its stream.")
    if (name := kind.audit_name()) is not None:
        facts.append(f"In the audit trail as `{name}`.")
    return " ".join(facts)


def _place_in_a_run(kind: type[RunEvent]) -> Iterator[str]:
    if kind.plan_place is not None:
        yield "Appended with the plan of the run."
    else:
        stands = " or ".join(f"`{status}`" for status in kind.comes_while)
        yield f"Comes to a run that is {stands}."
    if kind.comes_once:
        yield "Comes once."
    if kind.run_status is not None:
        yield f"After it the run is `{kind.run_status}`."


def _parts(kind: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Every class of its own that stands in a field, at any depth, by name."""
    classes: list[type[BaseModel]] = [*_subclasses(Record), Case, Turn]
    known = {each.__name__: each for each in classes}
    used = kind.model_json_schema(mode="serialization").get("$defs", {})
    return {name: known[name] for name in used}


def _subclasses(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in base.__subclasses__():
        yield each
        yield from _subclasses(each)


def _fields(kind: type[BaseModel], without: type[BaseModel] | None = None) -> Iterator[str]:
    schema: dict[str, Any] = kind.model_json_schema(mode="serialization")
    left_out = set(without.model_fields) if without else set()
    kept = {k: v for k, v in schema.get("properties", {}).items() if k not in left_out}
    if not kept:
        yield "No fields of its own."
        return
    said = documented_fields(kind)
    yield from table({"properties": kept}, {name: said.get(name) or unit(name) for name in kept})


def unit(field: str) -> str:
    """What a field's name alone tells: its meaning or its unit; empty where it tells neither."""
    endings = (unit for ending, unit in _UNITS if field.endswith(ending))
    return _SAID.get(field) or next(endings, "")


if __name__ == "__main__":
    sys.stdout.write(reference())
