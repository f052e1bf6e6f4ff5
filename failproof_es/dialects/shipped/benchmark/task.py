"""A benchmark task, as specification 003 § 3 defines it: the only module with its fields.

Any other key of a task is either part of the question (`input_keys`) or not sent. A text under a
key that no option names makes the task unusable: a model is measured wrongly without the data of
its task, and also with an explanation in sight.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from failproof_es.dialects.kit.unknown_keys import is_own, remedy_for
from failproof_es.dialects.kit.written_cases import CaseDefect, UnknownKey
from failproof_es.dialects.kit.yaml_documents import Location
from failproof_es.problems import shown_value

TASK_TEXTS = ("task_id", "question", "incorrect_direction")
ANSWER_TEXTS = ("most_expected", "good_answer", "pass_option")
EXPECTED = "expected_answer"
OPTIONAL_TEXTS = ("category", "sub_category")
INPUT_KEYS = ("input_text",)
"""Keys that are appended to the question unless `prompts.options.input_keys` names others."""
FIELDS = (*TASK_TEXTS, EXPECTED, *OPTIONAL_TEXTS, *ANSWER_TEXTS)
"""Every known key of a task, on all levels."""
_TASK_KEYS = (*TASK_TEXTS, EXPECTED, *OPTIONAL_TEXTS)
_BETWEEN = "\n\n"


def compose_question(document: dict[str, Any], input_keys: Sequence[str]) -> str:
    """The question's text and the text of every input key, with an empty line between them.

    `document` is a valid task. An input key that the task lacks is skipped.
    """
    input_texts = [document[name] for name in input_keys if name in document]
    return _BETWEEN.join([document["question"], *input_texts])


def defects(
    document: dict[str, Any], input_keys: Sequence[str] = INPUT_KEYS, unsent: Collection[str] = ()
) -> Iterator[CaseDefect]:
    """Every defect that makes the task unusable, each once; none for a usable task.

    `document` is the task. The texts under `input_keys` are appended to its question, and the texts
    under `unsent` are kept from every model. A text under any other unknown key is a defect,
    because no option says whether to send it.
    """
    answers = document.get(EXPECTED)
    if EXPECTED in document and not isinstance(answers, dict):
        remedy = f"write {', '.join(ANSWER_TEXTS)} indented below it"
        message = f"must be a mapping, is {_describe_value(answers)}"
        yield CaseDefect("wrong-type", (EXPECTED,), message, remedy)
    inside = answers if isinstance(answers, dict) else {}
    for name in TASK_TEXTS:
        yield from _text(document, (), name, inside, (EXPECTED,))
    for name in (*OPTIONAL_TEXTS, *input_keys):
        if name in document or name in inside:
            yield from _text(document, (), name, inside, (EXPECTED,))
    if isinstance(answers, dict):
        for name in ANSWER_TEXTS:
            yield from _text(answers, (EXPECTED,), name, document, ())
    elif EXPECTED not in document:
        yield from _missing_answers(document)
    for name, value in document.items():
        is_known = name in (*FIELDS, *input_keys, *unsent) or is_own(name)
        if not is_known and _holds_text(value):
            remedy = _remedy_for_text(name, document)
            yield CaseDefect("unknown-field", (name,), "is a text that is not sent", remedy)


def unknown_keys(
    document: dict[str, Any], input_keys: Sequence[str] = INPUT_KEYS
) -> Iterator[UnknownKey]:
    """The keys of a task that are neither sent nor used for grading.

    Each as (location, known keys there, object around it).
    """
    known_keys = (*_TASK_KEYS, *input_keys)
    for key in document:
        if key not in known_keys:
            yield (key,), known_keys, document
    answers = document.get(EXPECTED)
    if isinstance(answers, dict):
        for key in answers:
            if key not in ANSWER_TEXTS:
                yield (EXPECTED, key), ANSWER_TEXTS, answers


def _holds_text(value: Any) -> bool:
    """Whether the value contains a text that is not blank, at any depth."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str) and node.strip():
            return True
        waiting.extend(node.values() if isinstance(node, dict) else ())
        waiting.extend(node if isinstance(node, list) else ())
    return False


def _remedy_for_text(name: str, document: dict[str, Any]) -> str:
    meant = remedy_for(name, _TASK_KEYS, document)
    hint = "" if meant is None else f"{meant} "
    return (
        f"{hint}name it in `prompts.options.input_keys` to have it appended to the question, or in "
        "`prompts.options.unsent_keys` where the model must not see it"
    )


def _text(
    owner: dict[str, Any], at: Location, name: str, elsewhere: dict[str, Any], other: Location
) -> Iterator[CaseDefect]:
    """The defects of the text that `owner` must have under `name`.

    `at` is the location of `owner`. If the text is instead in `elsewhere`, the object at the
    location `other`, the defect is that it is misplaced.
    """
    if name not in owner:
        if name in elsewhere:
            yield CaseDefect("misplaced-field", (*other, name), *_misplaced(name, at, other))
        else:
            yield CaseDefect(
                "missing-field", (*at, name), "is required and missing", f"add `{name}:`"
            )
        return
    value = owner[name]
    if not isinstance(value, str):
        remedy = "put it between quotation marks" if isinstance(value, int | float) else None
        message = f"must be a text, is {_describe_value(value)}"
        yield CaseDefect("wrong-type", (*at, name), message, remedy)
    elif not value.strip():
        yield CaseDefect("empty-value", (*at, name), "must not be empty")


def _misplaced(name: str, at: Location, other: Location) -> tuple[str, str]:
    position = f"inside `{other[-1]}`" if other else "beside it"
    if at:
        return f"is next to `{at[-1]}`, not inside it", f"move it below `{at[-1]}`, indented"
    return f"is {position}, not next to it", f"move it out, to the level of `{EXPECTED}`"


def _missing_answers(document: dict[str, Any]) -> Iterator[CaseDefect]:
    misplaced = [name for name in ANSWER_TEXTS if name in document]
    if misplaced:
        remedy = f"add `{EXPECTED}:` and move {', '.join(misplaced)} below it, indented"
        message = f"is outside `{EXPECTED}`, which is missing"
        yield CaseDefect("misplaced-field", (misplaced[0],), message, remedy)
    else:
        remedy = f"add `{EXPECTED}:` with {', '.join(ANSWER_TEXTS)} below it"
        yield CaseDefect("missing-field", (EXPECTED,), "is required and missing", remedy)


def _describe_value(value: Any) -> str:
    return shown_value(value, nothing="empty", mapping="a mapping")
