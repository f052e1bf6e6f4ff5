"""Reads promptfoo's prompts: texts and conversations, in the configuration and in files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failproof_es.configuration.yaml_tree import parse_yaml
from failproof_es.core.case import Turn
from failproof_es.importers.promptfoo.documents import (
    TEXT,
    DocumentNode,
    NotRead,
    is_reference,
    read_data,
    read_text,
    referred,
)
from failproof_es.importers.promptfoo.templates import fill
from failproof_es.importers.protocol import Findings, Place
from failproof_es.importers.records import MAX_TEXT, UnusableRecord, messages_of
from failproof_es.importers.source import Source
from failproof_es.problems import Problems

_SEPARATOR = re.compile(r"\n---[ \t]*\n")
_FILE_NAME = re.compile(r"[\w./ *-]+\.(?:txt|md|j2|json|jsonl|yaml|yml|csv)\Z")
_KEYS = frozenset({"id", "label", "raw", "description"})


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: a text, or messages as JSON values."""

    label: str
    content: Any
    place: Place

    def turns(
        self, variables: Mapping[str, Any], prefix: str, suffix: str, findings: Findings
    ) -> tuple[Turn, ...]:
        """The turns with these variables filled in, a text between `prefix` and `suffix`.

        Raises `ValueError` for a template that does more than insert variables, and
        `UnusableRecord` if the prompt cannot become turns.
        """
        if isinstance(self.content, str):
            text = f"{prefix}{self.content}{suffix}"
            if len(text) > MAX_TEXT:
                raise UnusableRecord(f"the prompt is longer than {MAX_TEXT:,} characters")
            text = fill(text, variables)
            if not text.strip():
                raise UnusableRecord("the prompt is empty")
            return (Turn(role="user", content=text),)
        if prefix or suffix:
            raise UnusableRecord("a conversation takes no prefix or suffix")
        turns = messages_of(self.content, self.place, findings)
        return tuple(Turn(role=turn.role, content=fill(turn.content, variables)) for turn in turns)


def read_prompts(source: Source, configuration: DocumentNode, findings: Findings) -> list[Prompt]:
    """The prompts of the configuration; unusable entries are noted in `findings`."""
    definition = configuration.value.get("prompts")
    entries = (
        definition if isinstance(definition, list) else [] if definition is None else [definition]
    )
    prompts: list[Prompt] = []
    for index, entry in enumerate(entries):
        steps: tuple[str | int, ...] = ("prompts", index) if entries is definition else ("prompts",)
        document = configuration.part(*steps, value=entry)
        try:
            prompts += _prompts_of_entry(source, document, findings)
        except (NotRead, ValueError) as error:
            findings.note(document.place(), f"the prompt {error}")
    return prompts


def _prompts_of_entry(
    source: Source, document: DocumentNode, findings: Findings
) -> Iterator[Prompt]:
    entry, label = document.value, None
    if isinstance(entry, dict):
        for key in entry.keys() - _KEYS:
            findings.note(document.place(key), "the key of a prompt is not known here")
        label = entry.get("label")
        entry = entry.get("raw", entry.get("id"))
    if not isinstance(entry, str):
        raise NotRead("is no text")
    base = document.path.parent
    if is_reference(entry) or (_FILE_NAME.match(entry) and "\n" not in entry):
        for path in referred(source, entry, base):
            yield from _prompts_in_file(source, path, label)
    elif re.match(r"(?:exec|python|https?|langfuse|portkey|helicone)://|\w+:\w+://", entry):
        raise NotRead("is fetched or run, which is not done")
    else:
        yield _build_prompt(label or entry, entry, document.place())


def _prompts_in_file(source: Source, path: Path, label: str | None) -> Iterator[Prompt]:
    suffix = path.suffix.lower()
    place = Place(source.display_path(path), 1)
    if suffix in (".csv", ".jsonl"):
        for row in read_data(source, path):
            value = row.value
            if suffix == ".csv":
                value = value.get("prompt", next(iter(value.values()), ""))
                yield _build_prompt(label or value, value, row.place())
            else:
                yield Prompt(label or path.stem, [value], row.place())
        return
    if suffix not in TEXT | {".json", ".yaml", ".yml"}:
        raise NotRead("is in a file of a kind that is not read")
    text = read_text(source, path)
    parts = _SEPARATOR.split(text) if suffix == ".txt" else [text]
    for part in parts:
        if part.strip():
            yield _build_prompt(
                label or (path.stem if len(parts) == 1 else part), part.strip(), place
            )


def _build_prompt(label: Any, text: str, place: Place) -> Prompt:
    short_label = " ".join(str(label).split())[:60]
    messages = _parse_messages(text, place)
    return Prompt(short_label, text if messages is None else messages, place)


def _parse_messages(text: str, place: Place) -> list[Any] | None:
    """The messages of a conversation in JSON or YAML; `None` for a plain text.

    Raises `ValueError` for a text that begins like a conversation in YAML and is not YAML.
    """
    stripped = text.lstrip()
    value: Any = None
    if stripped.startswith("["):
        try:
            value = json.loads(stripped)
        except (ValueError, RecursionError):
            return None
    elif re.match(r"-\s+role\s*:", stripped):
        tree = parse_yaml(Path(place.path), text, Problems())
        if tree is None:
            raise ValueError("looks like a conversation in YAML, and is not YAML")
        value = tree.value
    roles = isinstance(value, list) and all(isinstance(e, dict) and "role" in e for e in value)
    return value if roles and value else None
