"""Reads results of promptfoo: `promptfoo eval -o results.json`, or `promptfoo export eval`.

The results are those of the shape that promptfoo numbers 3, and of the older one whose table of
results has the same rows. A case is a prompt, as it was rendered, with the assertions of its test;
a provider is a model. Assertions that a program decides are decided here again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from failproof_es.core.case import Case, Turn
from failproof_es.events import ImportedError, ImportedReply, Usage
from failproof_es.importers.promptfoo.assertions import Expected, add
from failproof_es.problems import InvalidInput, Problem
from failproof_es.recorded_runs.assertions import as_checks, unusable
from failproof_es.recorded_runs.json_files import load_json
from failproof_es.recorded_runs.json_values import Json, list_of, object_of, text_of, written
from failproof_es.recorded_runs.plain import count_of, digest_of, plain_text, plain_value
from failproof_es.recorded_runs.records import (
    SOURCE_ERROR,
    RecordedAnswer,
    RecordedRun,
    Remainder,
)
from failproof_es.recorded_runs.sources import digest_of_files, source_file

KIND = "promptfoo-results"
_ERROR = 2
"""The `failureReason` of a result that is an error, and no answer that failed an assertion."""
_ROLES = ("system", "user", "assistant")
_NOT_KEPT = {
    "config": "what was asked is kept with each case; a configuration may hold keys",
    "runtimeOptions": "it says how promptfoo ran",
    "vars": "each answer's own are kept with its case",
    "shareableUrl": "it is a place, not a result",
}


def read_promptfoo_results(path: Path) -> RecordedRun:
    """The run in a file of results. Raises `InvalidInput` where it is none."""
    file = source_file(path)
    document = object_of(load_json(path))
    summary = object_of(document.get("results"))
    rows = summary.get("results")
    if not isinstance(rows, list):
        raise InvalidInput(
            [
                Problem(
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
    name = text_of(config.get("description"), remainder, "config.description") or path.stem
    claims = {
        "stats": summary.get("stats"),
        "prompts": [
            {key: object_of(each).get(key) for key in ("label", "provider", "metrics")}
            for each in list_of(summary.get("prompts"))
        ],
    }
    return RecordedRun(
        kind=KIND,
        tool="promptfoo",
        tool_version=text_of(metadata.get("promptfooVersion"), remainder, "metadata"),
        name=name,
        files=(file,),
        paths=(path,),
        source_sha256=digest_of_files((file,)),
        answers=_answers(rows, name, remainder),
        remainder=remainder,
        began_at=text_of(summary.get("timestamp"), remainder, "results.timestamp"),
        claims=plain_value(claims, remainder, "results"),
    )


def _answers(rows: list[Any], suite: str, remainder: Remainder) -> Iterator[RecordedAnswer]:
    for at, row in enumerate(rows):
        place = f"results.results[{at}]"
        if not isinstance(row, dict):
            remainder.add("a result that is no object", "nothing can be read of it", place)
            continue
        yield _answer(row, suite, place, remainder)


def _answer(row: Json, suite: str, place: str, remainder: Remainder) -> RecordedAnswer:
    test = object_of(row.get("testCase"))
    response = object_of(row.get("response"))
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
    cost = row.get("cost")
    return RecordedAnswer(
        case=_case(row, test, suite, place, remainder),
        model=_provider(row.get("provider"), remainder, place),
        place=place,
        sample_sha256=digest_of(plain_value(row, Remainder(), place)),
        replies=() if reply is None else (reply,),
        usage=_usage(row, response),
        latency_ms=_latency(row.get("latencyMs")),
        source_scores=plain_value(scores, remainder, place),
        source_metadata=plain_value(object_of(row.get("metadata")), remainder, place),
        source_passed=passed if isinstance(passed, bool) and error is None else None,
        source_cost_usd=str(cost) if type(cost) in (int, float) else None,
        error=error,
    )


def _case(row: Json, test: Json, suite: str, place: str, remainder: Remainder) -> Case:
    prompt, number = count_of(row.get("promptIdx")), count_of(row.get("testIdx"))
    turns = _turns(object_of(row.get("prompt")).get("raw"), remainder, place)
    described = text_of(test.get("description"), remainder, place)
    label = text_of(object_of(row.get("prompt")).get("label"), remainder, place)
    document = {
        "description": test.get("description"),
        "vars": row.get("vars", test.get("vars")),
        "assert": test.get("assert"),
        "prompt": label,
    }
    kept = {name: value for name, value in document.items() if value is not None}
    named = described or (f"test {number}" if number is not None else place)
    id_of_prompt = text_of(row.get("promptId"), remainder, place)
    shown = id_of_prompt[:8] if id_of_prompt else str(prompt)
    return Case(
        dialect="checks",
        case_id=f"{named}, prompt {shown}",
        suite_id=suite,
        turns=turns,
        expectation={"checks": _checks(test, place, remainder)},
        document=plain_value(kept, remainder, place),
    )


def _checks(test: Json, place: str, remainder: Remainder) -> list[dict[str, Any]]:
    """Those that decide a reply alike here. Where one does not, none does: the verdict of the
    others alone would be another one."""
    assertions = list_of(test.get("assert"))
    expected = Expected()
    for each in assertions:
        add(expected, each, lambda text: text)  # the variables are filled in already
    for where, why in expected.lost:
        remainder.add(f"an assertion's {where}" if where else "an assertion", why, place)
    if expected.criteria or expected.refused:
        said = "a judge decides it: the source's verdict is kept as its own"
        remainder.add("an assertion for a judge", said, place)
    problem = unusable(expected.checks)
    if problem is not None:
        remainder.add("an assertion's expression", problem, place)
    decided = not (expected.undecided or expected.criteria or expected.refused or problem)
    transformed = object_of(test.get("options")).get("transform") is not None
    if transformed:
        remainder.add("a transform of the output", "code is not run: no check is made", place)
    return as_checks(expected.checks) if decided and not transformed else []


def _turns(raw: Any, remainder: Remainder, place: str) -> tuple[Turn, ...]:
    """The prompt: a text, or messages as JSON, as promptfoo sends them."""
    text = (
        plain_text(raw, remainder, place)
        if isinstance(raw, str)
        else written(plain_value(raw, remainder, place))
    )
    messages = _messages(text)
    if messages is None:
        return (Turn(role="user", content=text),)
    return tuple(Turn(role=each["role"], content=each["content"]) for each in messages)


def _messages(text: str) -> list[dict[str, Any]] | None:
    """The messages that a prompt is the JSON of; `None` for any other text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        found = orjson.loads(text)
    except ValueError:
        return None
    whole = (
        isinstance(found, list)
        and found
        and all(
            isinstance(each, dict)
            and each.keys() == {"role", "content"}
            and each["role"] in _ROLES
            and isinstance(each["content"], str)
            for each in found
        )
    )
    return found if whole else None


def _reply(response: Json, remainder: Remainder, place: str) -> ImportedReply | None:
    output = response.get("output")
    if output is None:
        return None
    if isinstance(output, str):
        text = plain_text(output, remainder, place)
    else:
        text = written(plain_value(output, remainder, place))
        remainder.add("an output that is no text", "it is kept as JSON", place)
    refusal = text if response.get("isRefusal") is True else None
    finish = text_of(response.get("finishReason"), remainder, place)
    return ImportedReply(text=text, refusal=refusal, finish_reason=finish)


def _error(
    row: Json,
    response: Json,
    reply: ImportedReply | None,
    remainder: Remainder,
    place: str,
) -> ImportedError | None:
    """An error of the provider. That an assertion failed is no error: it is the verdict."""
    said = response.get("error")
    if said is None and (row.get("failureReason") == _ERROR or reply is None):
        said = row.get("error") or "the result has no output and no error"
    if said is None:
        return None
    text = said if isinstance(said, str) else written(plain_value(said, remainder, place))
    return ImportedError(kind=SOURCE_ERROR, message=plain_text(text, remainder, place))


def _provider(given: Any, remainder: Remainder, place: str) -> str:
    if isinstance(given, str) and given:
        return plain_text(given, remainder, place)
    said = object_of(given)
    label = text_of(said.get("label"), remainder, place)
    return label or text_of(said.get("id"), remainder, place) or "unknown"


def _usage(row: Json, response: Json) -> Usage:
    used = object_of(response.get("tokenUsage")) or object_of(row.get("tokenUsage"))
    if not any(used.get(name) for name in ("total", "prompt", "completion")):
        return Usage()  # promptfoo writes 0 where nobody said
    details = object_of(used.get("completionDetails"))
    return Usage(
        input_tokens=count_of(used.get("prompt")),
        output_tokens=count_of(used.get("completion")),
        reasoning_tokens=count_of(details.get("reasoning")),
    )


def _latency(given: Any) -> float | None:
    counted = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < 1e15
    return float(given) if counted else None
