"""Collections of stored prompts: JSON lines in, cases out, nothing skipped silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from failproof_es.core.case import Case, Turn
from failproof_es.dialects.kit.json_lines import read_objects
from failproof_es.dialects.kit.schemas import report_defects
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.kit.unknown_keys import UnknownKeys
from failproof_es.dialects.shipped.promptguard.options import PromptGuardOptions
from failproof_es.dialects.shipped.promptguard.stored_prompt import FIELDS, StoredPrompt
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
            unknown_keys = UnknownKeys(problems, "prompt")
            unknown_labels: set[str] = set()
            for line, document in read_objects(path, problems):
                place: dict[str, Any] = {"path": path, "line": line}
                prompt = _read_prompt(document, problems, place, seen_ids, unknown_keys)
                if prompt is None:
                    continue
                label = prompt.expected_label
                if label not in (*options.labels, *unknown_labels):
                    unknown_labels.add(label)
                    _warn_of_label(label, options.labels, problems, place)
                source = path.name if prompt.source is None else prompt.source
                yield as_case(prompt, document, path.stem, source, options)


def _read_prompt(
    document: dict[str, Any],
    problems: Problems,
    place: dict[str, Any],
    seen_ids: SeenIds,
    unknown_keys: UnknownKeys,
) -> StoredPrompt | None:
    """The prompt of one line, or `None` with the reasons in `problems`."""
    misspelt = unknown_keys.report_all(document, FIELDS, **place)
    try:
        prompt = StoredPrompt.model_validate(document)
    except ValidationError as error:
        report_defects(error, problems, **place)
        return None
    unique = seen_ids.is_new("", prompt.prompt_id, problems, "prompt", field="prompt_id", **place)
    return prompt if unique and not misspelt else None


def _warn_of_label(
    label: str, labels: Sequence[str], problems: Problems, place: dict[str, Any]
) -> None:
    message = f"the decision rule never says {label!r}: no answer can be right"
    hint = did_you_mean(label, labels)
    remedy = f"{hint}it says {', '.join(labels)}; see prompts.options.decision"
    problems.warning("unknown-label", message, field="expected_label", remedy=remedy, **place)


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
            "decision": [rule.as_json() for rule in options.decision],
        },
        category=prompt.category,
        label=prompt.expected_label,
        source=source,
        document=document,
    )
