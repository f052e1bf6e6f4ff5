"""Collections of stored prompts: JSON lines in, cases out, nothing skipped silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from failproof_es.core.case import Case, Turn
from failproof_es.dialects.kit.json_lines import read_objects
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.kit.unknown_keys import UnknownKeys
from failproof_es.dialects.shipped.promptguard.options import PromptGuardOptions
from failproof_es.dialects.shipped.promptguard.stored_prompt import FIELDS, StoredPrompt, defects
from failproof_es.dialects.shipped.promptguard.template import embed
from failproof_es.problems import Problems
from failproof_es.support.near_names import did_you_mean


def load(files: Sequence[Path], options: PromptGuardOptions, problems: Problems) -> Iterator[Case]:
    """Yield every valid prompt as a case, in file order; every defect goes to `problems`.

    A case contains the whole question and the decision rules, so that a run needs neither file nor
    options again. `prompt_id` is unique over all files together (§ 3.1).
    """
    with SeenIds() as seen_ids:
        for path in files:
            reader = _PromptReader(options, problems, seen_ids, UnknownKeys(problems, "prompt"))
            for line, document in read_objects(path, problems):
                case = reader.case(path, line, document)
                if case is not None:
                    yield case


def as_case(
    prompt: StoredPrompt,
    document: dict[str, Any],
    suite_id: str,
    source: str | None,
    options: PromptGuardOptions,
) -> Case:
    """The case of a stored prompt: the whole question, and the decision rules for its answer.

    `document` is the prompt as JSON, `suite_id` the name of its file without the suffix; `source`
    is the prompt's own or the file's name.
    """
    return Case(
        dialect="promptguard",
        case_id=prompt.prompt_id,
        suite_id=suite_id,
        turns=(Turn(role="user", content=embed(options.template, prompt.content)),),
        expectation={
            "expected_label": prompt.expected_label,
            "decision": [rule.as_json() for rule in options.rules],
        },
        category=prompt.category,
        label=prompt.expected_label,
        source=source,
        document=document,
    )


@dataclass(slots=True)
class _PromptReader:
    options: PromptGuardOptions
    problems: Problems
    seen_ids: SeenIds
    unknown_keys: UnknownKeys
    mentioned: set[tuple[str, str]] = field(default_factory=set)
    """The warnings given for the current file, as (field, value)."""

    def case(self, path: Path, line: int, document: dict[str, Any]) -> Case | None:
        """The case of one line, or `None` with the reasons in `problems`."""
        misspelt = [
            self.unknown_keys.report(key, FIELDS, document, path=path, line=line, field=key)
            for key in document
            if key not in FIELDS
        ]
        try:
            prompt = StoredPrompt.model_validate(document)
        except ValidationError as error:
            for code, name, message in defects(error):
                self.problems.error(code, message, path=path, line=line, field=name)
            return None
        if not self._claim(path, line, prompt.prompt_id) or any(misspelt):
            return None
        self._warn_label(path, line, prompt.expected_label)
        source = path.name if prompt.source is None else prompt.source
        return as_case(prompt, document, path.stem, source, self.options)

    def _claim(self, path: Path, line: int, prompt_id: str) -> bool:
        """Claim the prompt's id. For a duplicate, report an error and return `False`."""
        first = self.seen_ids.claim("", prompt_id, path, line)
        if first is None:
            return True
        self.problems.error(
            "duplicate-id",
            f"duplicate id {prompt_id!r}, first used at {first}",
            path=path,
            line=line,
            field="prompt_id",
            remedy="give each prompt its own prompt_id",
        )
        return False

    def _warn_label(self, path: Path, line: int, label: str) -> None:
        labels = self.options.labels
        if label not in labels:
            message = f"the decision rule never says {label!r}: no answer can be right"
            hint = did_you_mean(label, labels)
            remedy = f"{hint}it says {', '.join(labels)}; see prompts.options.decision"
            self._warn_once(path, line, "expected_label", label, message, remedy)

    def _warn_once(
        self, path: Path, line: int, name: str, value: str, message: str, remedy: str | None
    ) -> None:
        if (name, value) not in self.mentioned:
            self.mentioned.add((name, value))
            self.problems.warning(
                "unknown-label", message, path=path, line=line, field=name, remedy=remedy
            )
