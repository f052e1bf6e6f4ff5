"""The names that other tools use for the keys of a case: one table for all dialects.

A synonym counts only if the key itself is missing: beside a `prompt`, a `question` is a custom key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

_SAME = (
    ("case_id", "prompt_id", "task_id", "id", "uid", "uuid", "qid", "key"),
    ("suite_id", "suite", "dataset", "test_suite", "group", "benchmark"),
    (
        *("prompt", "content", "question", "input", "query", "instruction", "text", "message"),
        *("user_input", "user_message", "user_prompt", "problem", "request"),
    ),
    (
        *("expected_response", "expected_command", "expected_answer"),
        *("answer", "expected", "expected_output", "reference", "reference_answer", "target"),
        *("ideal", "ground_truth", "gold", "golden", "solution", "output", "completion"),
        *("response", "correct_answer", "label_text"),
    ),
    ("expected_label", "label", "class", "expected_class", "gold_label"),
    ("expected_classification", "expected_class", "expected_verdict", "expected_outcome"),
    ("prompt_vars", "vars", "variables", "prompt_variables", "template_vars"),
    ("language", "lang", "language_code"),
    ("turns", "messages", "conversation", "dialogue"),
    ("test_cases", "cases", "tests", "examples", "samples"),
    ("tags", "labels", "keywords"),
)
"""Groups of synonyms, each with the dialects' own names."""


def known_name(key: str, known_keys: Iterable[str], present_keys: Collection[str]) -> str | None:
    """The known key that `key` is a synonym of, if `present_keys` lack it; else `None`.

    `present_keys` are the keys of the object that has `key`.
    """
    plain = key.lower().replace("-", "_").replace(" ", "_")
    lacking = [name for name in known_keys if name not in present_keys]
    for names in _SAME:
        meant = next((name for name in names if name in lacking), None) if plain in names else None
        if meant is not None:
            return meant
    return None
