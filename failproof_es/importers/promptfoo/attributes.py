"""Maps a test's metadata to the id, suite, severity and tags of its case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from failproof_es.core.severity import WORDS_OF_CASES, severity_named
from failproof_es.importers.promptfoo.assertions import plain_text
from failproof_es.importers.promptfoo.tests import Test
from failproof_es.importers.protocol import Findings

_IDS = ("id", "case_id", "test_id", "testCaseId")
_SUITES = ("suite", "category")
_TAGS = frozenset({"tags", "tag", "labels"})
_LONGEST_TAG = 100
_LONGEST_ID = 200
_LONGEST_DESCRIPTION = 80
_NOT_IN_ID = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class CaseAttributes:
    """Attributes of a case in a test's metadata; `None` where the metadata has none."""

    case_id: str | None
    suite: str | None
    severity: str | None
    tags: tuple[str, ...] = field(default=())


def attributes_of(test: Test, findings: Findings) -> CaseAttributes:
    """The attributes in a test's metadata. A value that is none of them is noted in `findings`."""
    id_name, case_id = _first_text(test.metadata, _IDS)
    suite_name, suite = _first_text(test.metadata, _SUITES)
    severity = severity_named(_text_of(test.metadata.get("severity")) or "")
    tags = [test.description] if test.description and len(test.description) <= _LONGEST_TAG else []
    for name, value in test.metadata.items():
        if name in (id_name, suite_name):
            continue
        if name == "severity" and severity is None:
            findings.note(test.place, f"is none of {WORDS_OF_CASES}: it is a tag", name)
        for text in map(_text_of, value if isinstance(value, list) else [value]):
            tag = text if name in _TAGS or text is None else f"{name}:{text}"
            if tag and len(tag) <= _LONGEST_TAG:
                tags.append(tag)
            elif value not in (None, "", [], {}):
                findings.note(test.place, "only short texts and numbers become tags", name)
    return CaseAttributes(case_id, suite, severity, tuple(dict.fromkeys(tags)))


def id_of_description(description: str | None) -> str | None:
    """The description as an id that a shell takes unquoted: `password theft` is `password-theft`.

    It has at most 80 characters. `None` if no letter and no digit is left.
    """
    text = _NOT_IN_ID.sub("-", description or "").strip("-._")
    return text[:_LONGEST_DESCRIPTION].rstrip("-._") or None


def _first_text(
    metadata: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[str | None, str | None]:
    """The first of the names that has a text or a number, and that text."""
    for name in names:
        text = _text_of(metadata.get(name))
        if text and len(text) <= _LONGEST_ID:
            return name, text
    return None, None


def _text_of(value: Any) -> str | None:
    return plain_text(value).strip() if isinstance(value, str | int | float) else None
