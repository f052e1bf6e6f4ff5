"""Reads results of promptfoo: `promptfoo eval -o results.json`, or `promptfoo export eval`.

Supports version 3 of promptfoo's format, and version 2, whose rows name no test. A case is a
rendered prompt with the assertions of its test; a provider is a model. Assertions that a program
decides are evaluated again here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from failproof_es.core.case import Case, Turn
from failproof_es.core.finish_reasons import word_of
from failproof_es.events import ImportedError, ImportedReply, Usage
from failproof_es.problems import InvalidInput, Problem
from failproof_es.recorded_runs.json_files import load_json
from failproof_es.recorded_runs.json_values import (
    Json,
    list_of,
    object_of,
    text_of,
    to_json,
    unread,
)
from failproof_es.recorded_runs.plain import (
    cost_of,
    count_of,
    digest_of,
    milliseconds_of,
    plain_text,
    plain_value,
)
from failproof_es.recorded_runs.promptfoo_assertions import checks_of, is_transformed, tests_of
from failproof_es.recorded_runs.records import (
    NO_PLACE,
    SOURCE_ERROR,
    ForeignRun,
    RecordedAnswer,
    Remainder,
)
from failproof_es.recorded_runs.sources import digest_of_files, source_file

KIND = "promptfoo-results"
_ERROR = 2
"""The `failureReason` of an error, as opposed to a failed assertion."""
_ROLES = ("system", "user", "assistant")
_KEY_CHARACTERS = 8
_NOT_KEPT = {
    "config": "what was asked is kept with each case; a configuration may hold keys",
    "runtimeOptions": "it says how promptfoo ran",
    "vars": "each answer's own are kept with its case",
    "shareableUrl": "it is a place, not a result",
}
_READ: Mapping[str, frozenset[str]] = {
    "file": frozenset({"results", "metadata", *_NOT_KEPT}),
    "results": frozenset({"results", "prompts", "stats", "table", "timestamp", "version"}),
    "result": frozenset(
        {
            *("id", "cost", "error", "failureReason", "gradingResult", "latencyMs", "metadata"),
            *("namedScores", "prompt", "promptId", "promptIdx", "provider", "response", "score"),
            *("success", "testCase", "testIdx", "tokenUsage", "vars"),
        }
    ),
    "response": frozenset({"output", "error", "tokenUsage", "finishReason", "isRefusal"}),
    "test": frozenset({"assert", "description", "options", "threshold", "vars"}),
}
"""The fields that are read of each object; other non-empty fields are listed in `remainder`."""


def read_promptfoo_results(path: Path) -> ForeignRun:
    """The run in a file of results.

    Raises `InvalidInput` if the file is not JSON, or has no `results.results`.
    """
    file = source_file(path)
    document = object_of(load_json(path))
    summary = object_of(document.get("results"))
    rows = summary.get("results")
    if not isinstance(rows, list):
        raise InvalidInput(
            [
                Problem(
                    "wrong-file-kind",
                    "is no file of results of promptfoo: it has no `results.results`",
                    path=path,
                    remedy="write one with `promptfoo eval -o results.json`",
                )
            ]
        )
    remainder = Remainder()
    metadata = object_of(document.get("metadata"))
    config = object_of(document.get("config"))
    for name, why in _NOT_KEPT.items():
        if document.get(name):
            remainder.add(f"`{name}`", why, name)
    _list_others("file", document, remainder, "the file")
    _list_others("results", summary, remainder, "results")
    name = text_of(config.get("description"), remainder, "config.description") or path.stem
    claims = {
        "stats": summary.get("stats"),
        "prompts": [
            {key: object_of(prompt).get(key) for key in ("label", "provider", "metrics")}
            for prompt in list_of(summary.get("prompts"))
        ],
    }
    return ForeignRun(
        kind=KIND,
        tool="promptfoo",
        tool_version=text_of(metadata.get("promptfooVersion"), remainder, "metadata"),
        name=name,
        files=(file,),
        paths=(path,),
        source_sha256=digest_of_files((file,)),
        answers=_answers(rows, name, _earlier_twins(summary, remainder), remainder),
        remainder=remainder,
        began_at=text_of(summary.get("timestamp"), remainder, "results.timestamp"),
        claims=plain_value(claims, remainder, "results"),
    )


def _list_others(what: str, record: Json, remainder: Remainder, place: str) -> None:
    for name in unread(record, _READ[what]):
        remainder.add(f"`{plain_text(name, remainder, place)}` of a {what}", NO_PLACE, place)


def _earlier_twins(summary: Json, remainder: Remainder) -> Mapping[int, int]:
    """For each prompt column, by its index, the number of earlier ones that are the same.

    The same are those of one prompt and one provider: a provider may occur in several
    configurations that have the same name.
    """
    seen: Counter[str] = Counter()
    counts = {}
    for at, prompt in enumerate(map(object_of, list_of(summary.get("prompts")))):
        identity = {name: prompt.get(name) for name in ("id", "raw", "label", "provider")}
        same = digest_of(plain_value(identity, remainder, "results.prompts"))
        counts[at] = seen[same]
        seen[same] += 1
    return counts


def _answers(
    rows: list[Any], suite: str, columns: Mapping[int, int], remainder: Remainder
) -> Iterator[RecordedAnswer]:
    """Yield the answers by the numbers of their tests: promptfoo writes results as they come."""
    numbers: dict[str, int] = {}
    tests = tests_of(rows)
    for at in sorted(range(len(rows)), key=lambda at: _order(rows[at])):
        row, place = rows[at], f"results.results[{at}]"
        if not isinstance(row, dict):
            remainder.add("a result that is no object", "nothing can be read of it", place)
            continue
        before = columns.get(count_of(row.get("promptIdx")) or 0, 0)
        yield _answer(row, tests[at], suite, before, numbers, place, remainder)


def _order(row: Any) -> tuple[bool, int]:
    number = count_of(object_of(row).get("testIdx"))
    return number is None, number or 0


def _answer(
    row: Json,
    test: Json,
    suite: str,
    before: int,
    numbers: dict[str, int],
    place: str,
    remainder: Remainder,
) -> RecordedAnswer:
    response = object_of(row.get("response"))
    for what, record in (("result", row), ("response", response), ("test", test)):
        _list_others(what, record, remainder, place)
    if is_transformed(test):
        reason = "code is not run: the reply is what it made, and there is no check"
        remainder.add("a transform of the output", reason, place)
    reply = _reply(response, remainder, place)
    error = _error(row, response, reply, remainder, place)
    grading = object_of(row.get("gradingResult"))
    scores = {
        name: value
        for name, value in {
            "success": row.get("success"),
            "score": row.get("score"),
            "named_scores": row.get("namedScores"),
            "reason": grading.get("reason"),
            "assertions": list_of(grading.get("componentResults")),
        }.items()
        if value not in (None, {}, [])
    }
    passed = row.get("success")
    return RecordedAnswer(
        case=_case(row, test, suite, numbers, place, remainder),
        model=_model_name(row.get("provider"), before, remainder, place),
        place=place,
        sample_sha256=digest_of(plain_value(row, Remainder(), place)),
        replies=() if reply is None else (reply,),
        usage=_usage(row, response),
        latency_ms=milliseconds_of(row.get("latencyMs")),
        source_scores=plain_value(scores, remainder, place),
        source_metadata=plain_value(object_of(row.get("metadata")), remainder, place),
        source_passed=passed if isinstance(passed, bool) and error is None else None,
        source_cost_usd=cost_of(row.get("cost")),
        error=error,
    )


def _case(
    row: Json, test: Json, suite: str, numbers: dict[str, int], place: str, remainder: Remainder
) -> Case:
    turns = _turns(object_of(row.get("prompt")).get("raw"), remainder, place)
    described = text_of(test.get("description"), remainder, place)
    label = text_of(object_of(row.get("prompt")).get("label"), remainder, place)
    fields = {
        "description": test.get("description"),
        "vars": row.get("vars", test.get("vars")),
        "assert": test.get("assert"),
        "prompt": label,
    }
    present = {name: value for name, value in fields.items() if value is not None}
    document = plain_value(present, remainder, place)
    case_name = f"test {_test_key(row, test, document, numbers)}"
    case_name = f"{described}, {case_name}" if described else case_name
    return Case(
        dialect="checks",
        case_id=f"{case_name}, prompt {_prompt_key(row, turns, remainder, place)}",
        suite_id=suite,
        turns=turns,
        expectation={"checks": checks_of(test, row, remainder, place)},
        document=document,
    )


def _test_key(row: Json, test: Json, document: Json, numbers: dict[str, int]) -> int | str:
    """The number of the first test with the same content; without numbers, a part of its digest.

    promptfoo counts a repetition (`--repeat`) as a further test. `numbers`, which is updated, is
    the first number by the digest of the content.
    """
    rest = {name: test.get(name) for name in ("options", "threshold", "metadata")}
    same = digest_of({**document, "prompt": None, "rest": plain_value(rest, Remainder(), "")})
    number = count_of(row.get("testIdx"))
    return same[:_KEY_CHARACTERS] if number is None else numbers.setdefault(same, number)


def _prompt_key(row: Json, turns: tuple[Turn, ...], remainder: Remainder, place: str) -> str:
    """The beginning of a prompt's id, its number, or a part of the digest of what it asks."""
    prompt_id = text_of(row.get("promptId"), remainder, place)
    number = count_of(row.get("promptIdx"))
    if prompt_id is None and number is not None:
        return str(number)
    key = prompt_id or digest_of([[turn.role, turn.content] for turn in turns])
    return key[:_KEY_CHARACTERS]


def _turns(raw: Any, remainder: Remainder, place: str) -> tuple[Turn, ...]:
    """The turns of a prompt: a text, or messages as JSON, which promptfoo sends as such.

    Any other value is sent as its JSON.
    """
    text = (
        plain_text(raw, remainder, place)
        if isinstance(raw, str)
        else to_json(plain_value(raw, remainder, place))
    )
    messages = _parse_messages(text)
    if messages is None:
        return (Turn(role="user", content=text),)
    return tuple(Turn(role=message["role"], content=message["content"]) for message in messages)


def _parse_messages(text: str) -> list[dict[str, Any]] | None:
    """The messages of a prompt that is a JSON list of them; `None` for any other text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        messages = orjson.loads(text)
    except ValueError:
        return None
    whole = (
        isinstance(messages, list)
        and messages
        and all(
            isinstance(message, dict)
            and message.keys() == {"role", "content"}
            and message["role"] in _ROLES
            and isinstance(message["content"], str)
            for message in messages
        )
    )
    return messages if whole else None


def _reply(response: Json, remainder: Remainder, place: str) -> ImportedReply | None:
    output = response.get("output")
    if output is None:
        return None
    if isinstance(output, str):
        text = plain_text(output, remainder, place)
    else:
        text = to_json(plain_value(output, remainder, place))
        remainder.add("an output that is no text", "it is kept as JSON", place)
    refusal = text if response.get("isRefusal") is True else None
    finish = text_of(word_of(response.get("finishReason")), remainder, place)
    return ImportedReply(text=text, refusal=refusal, finish_reason=finish)


def _error(
    row: Json,
    response: Json,
    reply: ImportedReply | None,
    remainder: Remainder,
    place: str,
) -> ImportedError | None:
    """The provider's error; `None` without one.

    A failed assertion is a verdict, not an error.
    """
    error = response.get("error")
    if error is None and (row.get("failureReason") == _ERROR or reply is None):
        error = row.get("error") or "the result has no output and no error"
    if error is None:
        return None
    text = error if isinstance(error, str) else to_json(plain_value(error, remainder, place))
    return ImportedError(kind=SOURCE_ERROR, message=plain_text(text, remainder, place))


def _model_name(recorded: Any, before: int, remainder: Remainder, place: str) -> str:
    if isinstance(recorded, str) and recorded:
        name = plain_text(recorded, remainder, place)
    else:
        provider = object_of(recorded)
        label = text_of(provider.get("label"), remainder, place)
        name = label or text_of(provider.get("id"), remainder, place) or "unknown"
    if not before:
        return name
    reason = "it is kept apart by a number: promptfoo asked it in several configurations"
    remainder.add("a provider that is named twice", reason, place)
    return f"{name} #{before + 1}"


def _usage(row: Json, response: Json) -> Usage:
    used = object_of(response.get("tokenUsage")) or object_of(row.get("tokenUsage"))
    if not any(used.get(name) for name in ("total", "prompt", "completion")):
        return Usage()  # promptfoo writes 0 for unknown counts
    details = object_of(used.get("completionDetails"))
    return Usage(
        input_tokens=count_of(used.get("prompt")),
        output_tokens=count_of(used.get("completion")),
        reasoning_tokens=count_of(details.get("reasoning")),
    )
