"""Reads promptfoo's prompts: texts and conversations, in the configuration and in files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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
from failproof_es.importers.promptfoo.templates import TemplateError, fill, paths_in
from failproof_es.importers.promptfoo.unused_names import UnusedNames
from failproof_es.importers.protocol import MOST_LISTED, Findings, Place
from failproof_es.importers.record_values import MAX_TEXT, UnusableRecord
from failproof_es.importers.records import messages_of
from failproof_es.importers.source import Source
from failproof_es.problems import Problems

_SEPARATOR = re.compile(r"\n---[ \t]*\n")
_FILE_NAME = re.compile(r"[\w./ *-]+\.(?:txt|md|j2|json|jsonl|yaml|yml|csv)\Z")
_KEYS = frozenset({"id", "label", "raw", "description"})
_NOT_IN_A_NAME = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: a text, or messages as JSON values.

    `label` is promptfoo's, by default the text itself. `name` stays when the text changes.
    """

    label: str
    content: Any
    place: Place
    file: Path
    name: str

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
        return tuple(
            Turn(role=turn.role, content=fill(turn.content, variables))
            for turn in self.messages(findings)
        )

    def messages(self, findings: Findings) -> tuple[Turn, ...]:
        """The turns of a conversation, with its templates. Raises `UnusableRecord`."""
        return messages_of(self.content, self.place, findings)


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
        for key in entry.keys() - _KEYS if isinstance(entry, dict) else ():
            findings.note(document.place(key), "the key of a prompt is not known here")
        try:
            prompts += _prompts_of_entry(source, document, index + 1)
        except NotRead as error:
            findings.note(document.place(), f"the prompt {error}", error.subject)
        except ValueError as error:
            findings.note(document.place(), f"the prompt {error}")
    usable = (prompt for prompt in prompts if _is_usable(source, prompt, findings))
    return list(_with_own_names(usable))


def _prompts_of_entry(source: Source, document: DocumentNode, number: int) -> Iterator[Prompt]:
    """Yield the prompts of an entry, which is the configuration's `number`th."""
    entry, label = document.value, None
    if isinstance(entry, dict):
        label = entry.get("label")
        entry = entry.get("raw", entry.get("id"))
    if not isinstance(entry, str):
        raise NotRead("is no text")
    if is_reference(entry) or (_FILE_NAME.match(entry) and "\n" not in entry):
        for path in referred(source, entry, document.path.parent):
            yield from _prompts_in_file(source, path, label)
    elif re.match(r"(?:exec|python|https?|langfuse|portkey|helicone)://|\w+:\w+://", entry):
        raise NotRead("is fetched or run, which is not done")
    else:
        name = label or f"prompt-{number}"
        yield _build_prompt(label or entry, name, entry, document.place(), document.path)


def _prompts_in_file(source: Source, path: Path, label: str | None) -> Iterator[Prompt]:
    suffix = path.suffix.lower()
    place = Place(source.display_path(path), 1)
    name = label or path.stem
    if suffix in (".csv", ".jsonl"):
        for row in read_data(source, path):
            value = row.value
            if suffix == ".csv":
                value = value.get("prompt", next(iter(value.values()), ""))
                yield _build_prompt(label or value, name, value, row.place(), path)
            else:
                yield Prompt(name, [value], row.place(), path, name)
        return
    if suffix not in TEXT | {".json", ".yaml", ".yml"}:
        raise NotRead("is in a file of a kind that is not read")
    text = read_text(source, path)
    parts = _SEPARATOR.split(text) if suffix == ".txt" else [text]
    for part in parts:
        if part.strip():
            part_label = name if len(parts) == 1 else label or part
            yield _build_prompt(part_label, name, part.strip(), place, path)


def _build_prompt(label: Any, name: Any, text: str, place: Place, file: Path) -> Prompt:
    short_label, short_name = (" ".join(str(given).split())[:60] for given in (label, name))
    messages = _parse_messages(text, place)
    return Prompt(short_label, text if messages is None else messages, place, file, short_name)


def _with_own_names(prompts: Iterable[Prompt]) -> Iterator[Prompt]:
    """Yield the prompts with names that are keys, the second prompt of a name as `NAME-2`."""
    names = UnusedNames()
    for prompt in prompts:
        plain = _NOT_IN_A_NAME.sub("-", prompt.name).strip("-")[:_LONGEST_NAME] or "prompt"
        yield replace(prompt, name=names.take(plain))


def _is_usable(source: Source, prompt: Prompt, findings: Findings) -> bool:
    """Whether variables can be filled into the prompt; if not, it is noted in `findings`."""
    for text in _texts_in(prompt.content):
        try:
            for _ in paths_in(text):
                pass
        except TemplateError as error:
            is_listed = len(findings.not_mapped.entries) < MOST_LISTED
            place = _place_of(source, prompt, error.expression) if is_listed else prompt.place
            findings.note(place, f"the prompt is not taken over: {error}", error.expression)
            return False
    return True


def _texts_in(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping | list):
        for part in content.values() if isinstance(content, Mapping) else content:
            yield from _texts_in(part)


def _place_of(source: Source, prompt: Prompt, expression: str) -> Place:
    """The line of an expression in the prompt's file, or that of the prompt."""
    first = prompt.place.line or 1
    for number, line in enumerate(source.text(prompt.file).splitlines(), 1):
        if number >= first and expression in line:
            return prompt.place._replace(line=number)
    return prompt.place


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
