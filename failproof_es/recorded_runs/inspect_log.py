"""Reads logs of Inspect (`.eval`, or its JSON): one run of one task and one model.

`inspect_program` reads the file with Inspect's own reader, in a separate process; this module maps
its JSON. The prompt is the messages before the first one that the model generated.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from failproof_es.core.case import Case, Turn
from failproof_es.core.finish_reasons import common_word, word_of
from failproof_es.events import ImportedError, ImportedReply, SourceFile, ToolCall, Usage
from failproof_es.problems import InvalidInput, Problem
from failproof_es.recorded_runs.inspect_process import Lines, read_lines
from failproof_es.recorded_runs.inspect_remainder import PlannedSamples, list_header, list_sample
from failproof_es.recorded_runs.inspect_scorers import checks_of, passed_by, scorers_of
from failproof_es.recorded_runs.json_values import (
    Json,
    list_of,
    object_of,
    text_of,
    texts_of,
    to_json,
)
from failproof_es.recorded_runs.plain import (
    cost_of,
    count_of,
    digest_of,
    milliseconds_of,
    plain_text,
    plain_value,
)
from failproof_es.recorded_runs.records import (
    SOURCE_ERROR,
    ForeignRun,
    RecordedAnswer,
    Remainder,
)
from failproof_es.recorded_runs.sources import digest_of_files, source_file

KIND = "inspect-log"
_ROLES = ("system", "user", "assistant")


def read_inspect_log(path: Path) -> ForeignRun:
    """The run in a log. Raises `InvalidInput` if Inspect is missing or cannot read the log."""
    file = source_file(path)
    lines = read_lines(path)
    return run_of(path, lines, files=(file,))


def run_of(path: Path, lines: Lines, files: tuple[SourceFile, ...]) -> ForeignRun:
    """The run in the lines of `inspect_program`, of which the header is the first.

    `path` is the log, and `files` its file with size and digest.
    """
    header = object_of(next(lines, {}).get("header"))
    spec = object_of(header.get("eval"))
    stats = object_of(header.get("stats"))
    remainder = Remainder()
    model = text_of(spec.get("model"), remainder, "eval.model") or "unknown"
    list_header(header, remainder)
    error = object_of(header.get("error")).get("message")
    outcome = {"status": header.get("status"), "results": header.get("results"), "error": error}
    claims = plain_value(outcome, remainder, "results")
    parameters = plain_value(
        {
            name: value
            for name, value in object_of(spec.get("model_generate_config")).items()
            if value is not None and name not in ("extra_headers", "extra_body")
        },
        remainder,
        "eval.model_generate_config",
    )
    task = text_of(spec.get("task"), remainder, "eval.task") or path.stem
    mapped = checks_of(scorers_of(header), remainder)
    roles = _other_roles(spec, model)
    planned = PlannedSamples(header)
    answer = partial(_answer, task, model, roles, mapped, planned, remainder)
    version = text_of(object_of(spec.get("packages")).get("inspect_ai"), remainder, "eval.packages")
    return ForeignRun(
        kind=KIND,
        tool="Inspect",
        tool_version=version,
        name=task,
        files=files,
        paths=(path,),
        source_sha256=digest_of_files(files),
        answers=_answers(lines, answer, planned, remainder, path),
        remainder=remainder,
        parameters={model: parameters},
        began_at=text_of(stats.get("started_at") or spec.get("created"), remainder, "stats"),
        ended_at=text_of(stats.get("completed_at"), remainder, "stats"),
        claims=claims,
    )


def _answers(
    lines: Lines, answer: Any, planned: PlannedSamples, remainder: Remainder, path: Path
) -> Iterator[RecordedAnswer]:
    for line in lines:
        if "sample" not in line:
            continue
        sample = line["sample"]
        if not isinstance(sample, dict):
            raise InvalidInput([Problem("wrong-type", "a sample is no object", path=path)])
        yield answer(sample, object_of(line.get("left_out")))
    planned.list_missing(remainder)


def _other_roles(spec: Json, model: str) -> tuple[str, ...]:
    """The names of the roles, such as grader, that the evaluated model has besides."""
    roles = object_of(spec.get("model_roles")).items()
    return tuple(name for name, role in roles if object_of(role).get("model") == model)


def _answer(
    task: str,
    model: str,
    roles: tuple[str, ...],
    mapped: Any,
    planned: PlannedSamples,
    remainder: Remainder,
    sample: Json,
    left_out: Json,
) -> RecordedAnswer:
    epoch = count_of(sample.get("epoch")) or 1
    sample_id = plain_text(str(sample.get("id")), remainder, "sample id")
    place = f"sample {sample_id}, epoch {epoch}"
    if not planned.take(sample_id, epoch):
        remainder.add("an id that stands twice", "counted as one more repetition", place)
    list_sample(sample, left_out, remainder, place)
    turns, answered = _split_conversation(sample, remainder, place)
    output = object_of(sample.get("output"))
    replies = _replies(output, answered, remainder, place)
    error = _error(sample, output, replies, remainder, place)
    target = texts_of(sample.get("target"), remainder, place)
    document = {name: sample.get(name) for name in ("id", "input", "target", "choices")}
    usage, cost = _usage_and_cost(sample, output, model, roles)
    scores = _scores(sample.get("scores"), replies, remainder, place)
    case = Case(
        dialect="checks",
        case_id=sample_id,
        suite_id=task,
        turns=turns,
        expectation={"checks": mapped(target)},
        document=plain_value(
            {name: value for name, value in document.items() if value is not None},
            remainder,
            place,
        ),
    )
    return RecordedAnswer(
        case=case,
        model=model,
        place=place,
        sample_sha256=digest_of(plain_value(sample, Remainder(), place)),
        replies=replies,
        messages=tuple(answered) if len(answered) > 1 else (),
        answered_by=text_of(output.get("model"), remainder, place),
        usage=usage,
        latency_ms=milliseconds_of(output.get("time"), unit_ms=1000) if len(replies) == 1 else None,
        asked_at=text_of(sample.get("started_at"), remainder, place),
        source_scores=scores,
        source_metadata=plain_value(object_of(sample.get("metadata")), remainder, place),
        source_passed=passed_by(scores),
        source_cost_usd=cost,
        error=error,
    )


# -- the conversation --------------------------------------------------------------------------


def _split_conversation(
    sample: Json, remainder: Remainder, place: str
) -> tuple[tuple[Turn, ...], list[dict[str, Any]]]:
    """The turns of the prompt, and the messages from the first generated one on.

    Messages that a prompt cannot hold are listed in `remainder`.
    """
    messages = [message for message in list_of(sample.get("messages")) if isinstance(message, dict)]
    generated = [
        at
        for at, message in enumerate(messages)
        if message.get("role") == "assistant" and message.get("source") == "generate"
    ]
    assistants = [  # of older logs, which name no source
        at
        for at, message in enumerate(messages)
        if message.get("role") == "assistant" and message.get("source") != "input"
    ]
    first = generated[0] if generated else assistants[-1] if assistants else len(messages)
    question = messages[:first] if messages else _input_messages(sample.get("input"))
    turns = []
    for message in question:
        if message.get("role") not in _ROLES or message.get("tool_calls"):
            reason = "what is asked has no place for it; the document of the case holds the input"
            remainder.add(f"a message of role {message.get('role')} in the question", reason, place)
            continue
        content = _read_text(message.get("content"), remainder, place)
        turns.append(Turn(role=message["role"], content=content))
    if not turns:
        turns.append(Turn(role="user", content=""))
        remainder.add("a sample without a message", "its question is the empty text", place)
    answered = [plain_value(_drop_nulls(message), remainder, place) for message in messages[first:]]
    return tuple(turns), answered


def _drop_nulls(message: Json) -> dict[str, Any]:
    return {name: value for name, value in message.items() if value is not None}


def _input_messages(sample_input: Any) -> list[dict[str, Any]]:
    if isinstance(sample_input, list):
        return [message for message in sample_input if isinstance(message, dict)]
    return [{"role": "user", "content": sample_input}]


def _read_text(content: Any, remainder: Remainder, place: str) -> str:
    """The text of a message; other parts are listed in `remainder`."""
    if isinstance(content, str):
        return plain_text(content, remainder, place)
    texts = []
    for part in list_of(content):
        kind = object_of(part).get("type")
        if kind == "text" and isinstance(part.get("text"), str):
            texts.append(plain_text(part["text"], remainder, place))
        else:
            reason = "only text is asked and answered here"
            remainder.add(f"content of type {kind} in a message", reason, place)
    return "\n".join(texts)


def _replies(
    output: Json, answered: list[dict[str, Any]], remainder: Remainder, place: str
) -> tuple[ImportedReply, ...]:
    """The messages that the model generated; the last one was scored.

    `output` is the sample's last output, and `answered` are the messages after the prompt.
    """
    replies = [
        ImportedReply(
            text=_read_text(message.get("content"), Remainder(), place),
            tool_calls=_tool_calls(message.get("tool_calls"), remainder, place),
        )
        for message in answered
        if message.get("role") == "assistant"
    ]
    choice = object_of(next(iter(list_of(output.get("choices"))), None))
    if choice:
        message = object_of(choice.get("message"))
        last = ImportedReply(
            text=_read_text(message.get("content"), remainder, place),
            tool_calls=_tool_calls(message.get("tool_calls"), remainder, place),
            finish_reason=text_of(_finish_word(choice.get("stop_reason")), remainder, place),
        )
        if replies and (replies[-1].text, replies[-1].tool_calls) == (last.text, last.tool_calls):
            replies.pop()
        replies.append(last)
        if len(list_of(output.get("choices"))) > 1:
            remainder.add("further choices of an answer", "the first one was scored", place)
    return tuple(replies)


def _tool_calls(tool_calls: Any, remainder: Remainder, place: str) -> tuple[ToolCall, ...]:
    calls = []
    for call in map(object_of, list_of(tool_calls)):
        arguments = plain_value(call.get("arguments"), remainder, place)
        text = arguments if isinstance(arguments, str) else to_json(arguments)
        name = plain_text(str(call.get("function")), remainder, place)
        calls.append(
            ToolCall(id=text_of(call.get("id"), remainder, place), name=name, arguments=text)
        )
    return tuple(calls)


def _error(
    sample: Json,
    output: Json,
    replies: tuple[ImportedReply, ...],
    remainder: Remainder,
    place: str,
) -> ImportedError | None:
    message = object_of(sample.get("error")).get("message") or output.get("error") or None
    if message is None and not replies:
        message = "the sample has no answer and no error"
    if message is None:
        return None
    return ImportedError(kind=SOURCE_ERROR, message=plain_text(str(message), remainder, place))


def _scores(
    sample_scores: Any, replies: tuple[ImportedReply, ...], remainder: Remainder, place: str
) -> dict[str, Any]:
    """The scores by scorer's name, without an explanation that only repeats the reply.

    The omission is listed in `remainder`.
    """
    scores = {}
    text = replies[-1].text if replies else None
    for name, score in object_of(sample_scores).items():
        details = {
            key: value for key, value in object_of(score).items() if value not in (None, {}, [])
        }
        if text and details.get("explanation") == text:
            del details["explanation"]
            remainder.add("an explanation that repeats the reply", "it stands there", place)
        scores[name] = details
    plain: dict[str, Any] = plain_value(scores, remainder, place)
    return plain


def _usage_and_cost(
    sample: Json, output: Json, model: str, roles: tuple[str, ...]
) -> tuple[Usage, str | None]:
    """The tokens, and the cost in USD, of all calls of the sample if the log sums them.

    Otherwise those of the last call. The cost is `None` if unknown. `roles` are the model's other
    roles, whose tokens are subtracted. Inspect's input tokens exclude cache reads and writes, which
    are added here.
    """
    summed = object_of(object_of(sample.get("model_usage")).get(model))
    used = summed or object_of(output.get("usage"))
    role_usages = [object_of(object_of(sample.get("role_usage")).get(role)) for role in roles]
    cost = used.get("total_cost")
    if summed and any(role_usages):  # the sum includes the model's other roles
        names = {name for usage in (used, *role_usages) for name in usage}
        used = {
            name: _subtract_counts(used.get(name), [e.get(name) for e in role_usages])
            for name in names
        }
        cost = None
    read = count_of(used.get("input_tokens_cache_read"))
    wrote = count_of(used.get("input_tokens_cache_write"))
    charged = count_of(used.get("input_tokens"))
    usage = Usage(
        input_tokens=None if charged is None else charged + (read or 0) + (wrote or 0),
        output_tokens=count_of(used.get("output_tokens")),
        cached_input_tokens=read,
        cache_write_tokens=wrote,
        reasoning_tokens=count_of(used.get("reasoning_tokens")),
    )
    return usage, cost_of(cost)


def _subtract_counts(whole: Any, parts: list[Any]) -> int | None:
    """A count minus its parts; `None` if it is no count, or less than its parts."""
    counted = count_of(whole)
    return None if counted is None else count_of(counted - sum(count_of(p) or 0 for p in parts))


def _finish_word(stop_reason: Any) -> str | None:
    word = word_of(stop_reason)
    return None if word is None else common_word(word)
