"""Reads records of Every Eval Ever: an aggregate (`.json`) with its samples (`.jsonl`).

The samples hold the answers; the aggregate names the model, the library and the metric. Either file
can be given: the aggregate names its samples, which must be in its folder. The records do not state
how an answer is compared with the reference answer, so people decide the answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from failproof_es.core.case import Case, Turn
from failproof_es.events import ImportedError, ImportedReply, SourceFile, ToolCall, Usage
from failproof_es.problems import InvalidInput, Problem
from failproof_es.recorded_runs.every_eval_ever_samples import read_samples
from failproof_es.recorded_runs.json_files import load_json, load_json_lines
from failproof_es.recorded_runs.json_values import (
    Json,
    list_of,
    object_of,
    text_of,
    texts_of,
    to_json,
    unread,
)
from failproof_es.recorded_runs.plain import (
    count_of,
    digest_of,
    milliseconds_of,
    plain_text,
    plain_value,
)
from failproof_es.recorded_runs.records import (
    NO_PLACE,
    SOURCE_ERROR,
    ForeignRun,
    RecordedAnswer,
    Remainder,
)
from failproof_es.recorded_runs.sources import digest_of_files, source_file

KIND = "every-eval-ever"
_ROLES = ("system", "user", "assistant")
_READ_OF_AGGREGATE = frozenset(
    {
        *("schema_version", "evaluation_id", "evaluation_timestamp", "eval_library"),
        *("source_metadata", "model_info", "evaluation_results", "detailed_evaluation_results"),
    }
)
_READ_OF_DETAILS = frozenset({"format", "file_path", "hash_algorithm", "checksum"})
_READ = frozenset(
    {
        *("schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id", "input"),
        *("evaluation_result_id", "output", "messages", "interactions", "evaluation"),
        *("token_usage", "error"),
        *("performance", "metadata", "answer_attribution", "interaction_type"),
    }
)


def read_every_eval_ever(path: Path) -> ForeignRun:
    """The run of an aggregate or of a file of samples. Raises `InvalidInput` if it is neither,
    if an aggregate has no samples, or if their checksum differs from the aggregate's."""
    remainder = Remainder()
    aggregate: Json = {}
    samples = path
    files: list[SourceFile] = []
    if path.suffix.lower() != ".jsonl":
        aggregate = object_of(load_json(path))
        samples = _samples_path(aggregate, path, remainder)
        files.append(source_file(path))
    else:
        remainder.add("the aggregate", "it was not given: import it in place of its samples", "-")
    files.append(source_file(samples))
    _, first = next(load_json_lines(samples), (0, None))
    first = object_of(first)
    if "evaluation_id" not in first or "interaction_type" not in first:
        message = "is no file of samples of Every Eval Ever: its first line has no `evaluation_id`"
        raise InvalidInput([Problem("wrong-file-kind", message, path=samples, line=1)])
    library = object_of(aggregate.get("eval_library"))
    ran_with = " ".join(
        part
        for name in ("name", "version")
        if (part := text_of(library.get(name), remainder, "eval_library"))
    )
    version = text_of(
        aggregate.get("schema_version") or first.get("schema_version"), remainder, "schema_version"
    )
    name = text_of(
        aggregate.get("evaluation_id") or first.get("evaluation_id"), remainder, "evaluation_id"
    )
    claims = {
        key: aggregate.get(key)
        for key in ("eval_library", "source_metadata", "model_info", "evaluation_results")
        if aggregate.get(key)
    }
    tool = f"Every Eval Ever ({ran_with})" if ran_with else "Every Eval Ever"
    source_files = tuple(files)
    return ForeignRun(
        kind=KIND,
        tool=tool,
        tool_version=version,
        name=name or path.stem,
        files=source_files,
        paths=(samples,) if samples == path else (path, samples),
        source_sha256=digest_of_files(source_files),
        answers=_answers(samples, name, remainder),
        remainder=remainder,
        began_at=text_of(aggregate.get("evaluation_timestamp"), remainder, "aggregate"),
        claims=plain_value(claims, remainder, "aggregate"),
    )


def _samples_path(aggregate: Json, path: Path, remainder: Remainder) -> Path:
    """The path of an aggregate's samples.

    Raises `InvalidInput` if the aggregate names none, the file is missing, or its checksum differs.
    The fields of the aggregate that are not read are listed in `remainder`.
    """
    if "evaluation_results" not in aggregate:
        message = "is no record of Every Eval Ever: it has no `evaluation_results`"
        raise InvalidInput([Problem("wrong-file-kind", message, path=path)])
    details = object_of(aggregate.get("detailed_evaluation_results"))
    file_path = details.get("file_path")
    if not isinstance(file_path, str) or not file_path or "\0" in file_path:
        raise InvalidInput(
            [
                Problem(
                    "no-answers",
                    "the record is an aggregate without samples: it holds scores and no answers",
                    path=path,
                    field="detailed_evaluation_results",
                    remedy="import a record with samples: only answers can be scored again",
                )
            ]
        )
    samples = path.parent / Path(file_path).name
    if not samples.is_file():
        remedy = "put the file of samples beside the aggregate"
        raise InvalidInput(
            [Problem("file-not-found", f"there is no {samples}", path=path, remedy=remedy)]
        )
    _require_checksum(details, samples, remainder)
    for parent, record, read in (
        ("the aggregate", aggregate, _READ_OF_AGGREGATE),
        ("detailed_evaluation_results", details, _READ_OF_DETAILS),
    ):
        for name in unread(record, read):
            field = f"`{plain_text(name, remainder, 'aggregate')}` of {parent}"
            remainder.add(field, NO_PLACE, "aggregate")
    return samples


def _require_checksum(details: Json, samples: Path, remainder: Remainder) -> None:
    """Raise `InvalidInput` if the samples have another checksum than the aggregate's `details`.

    A checksum that cannot be checked is listed in `remainder`.
    """
    checksum, algorithm = details.get("checksum"), details.get("hash_algorithm")
    if not isinstance(checksum, str) or algorithm not in ("sha256", "md5"):
        if checksum is not None:
            reason = "only a sha256 or md5 is checked"
            remainder.add("the checksum", reason, "detailed_evaluation_results")
        return
    with samples.open("rb") as stream:
        if algorithm == "sha256":
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        else:
            made = hashlib.new("md5", usedforsecurity=False)
            while piece := stream.read(2**20):
                made.update(piece)
            digest = made.hexdigest()
    if digest.lower() != checksum.lower():
        message = f"its {algorithm} is {digest}, the aggregate says {checksum[:100]}"
        remedy = "take both files from the same place"
        raise InvalidInput([Problem("checksum-mismatch", message, path=samples, remedy=remedy)])


def _answers(path: Path, of: str | None, remainder: Remainder) -> Iterator[RecordedAnswer]:
    for answer in read_samples(path, remainder):
        sample, place = answer.record, answer.place
        if of is not None and sample.get("evaluation_id") != of:
            reason = "it names another evaluation than the aggregate, and is imported with it"
            remainder.add("a sample", reason, place)
        yield from _answers_of_sample(sample, answer.evaluations, place, remainder)


def _answers_of_sample(
    sample: Json, evaluations: Mapping[str, Json], place: str, remainder: Remainder
) -> Iterator[RecordedAnswer]:
    for name in unread(sample, _READ):
        remainder.add(f"`{plain_text(name, remainder, place)}` of a sample", NO_PLACE, place)
    turns, answers, messages = _conversation(sample, remainder, place)
    sample_input = object_of(sample.get("input"))
    scores: Json
    if len(evaluations) == 1:
        [scores] = evaluations.values()
        correct = scores.get("is_correct")
    else:  # several results with a verdict each
        scores, correct = evaluations, None
    suite = text_of(sample.get("evaluation_name"), remainder, place) or "unknown"
    case_id = text_of(sample.get("sample_id"), remainder, place) or place
    case = Case(
        dialect="checks",
        case_id=case_id,
        suite_id=suite,
        turns=turns,
        expectation={"checks": []},
        document=plain_value(
            {
                name: sample_input[name]
                for name in ("raw", "formatted", "reference", "choices")
                if sample_input.get(name)
            },
            remainder,
            place,
        ),
    )
    message = text_of(sample.get("error"), remainder, place)
    if message is None and not answers:
        message = "the sample has no output and no error"
    error = None if message is None else ImportedError(kind=SOURCE_ERROR, message=message)
    if list_of(sample.get("answer_attribution")):
        remainder.add("answer_attribution", "how the source read the answer decides there", place)
    several = len(answers) > 1
    if several:
        reason = "each is one repetition, and the verdict on them together is kept with each"
        remainder.add("several outputs of one sample", reason, place)
    performance = object_of(sample.get("performance"))
    for at, reply in enumerate(answers or [()]):
        yield RecordedAnswer(
            case=case,
            model=text_of(sample.get("model_id"), remainder, place) or "unknown",
            place=f"{place}, output {at + 1}" if several else place,
            sample_sha256=digest_of(plain_value(sample, Remainder(), place)),
            replies=reply,
            messages=messages,
            usage=Usage() if several else _usage(sample),
            latency_ms=None if several else milliseconds_of(performance.get("latency_ms")),
            source_scores=plain_value(scores, remainder, place),
            source_metadata=plain_value(object_of(sample.get("metadata")), remainder, place),
            source_passed=correct if isinstance(correct, bool) and error is None else None,
            error=error,
        )


def _conversation(
    sample: Json, remainder: Remainder, place: str
) -> tuple[tuple[Turn, ...], list[tuple[ImportedReply, ...]], tuple[dict[str, Any], ...]]:
    """The turns of the prompt, each answer as its replies, and the messages after the prompt.

    The messages are empty unless there are several. Unmapped parts are listed in `remainder`.
    """
    sample_input, output = object_of(sample.get("input")), object_of(sample.get("output"))
    recorded = list_of(sample.get("messages")) or list_of(sample.get("interactions"))
    messages = [message for message in recorded if isinstance(message, dict)]
    if object_of(sample.get("output")).get("reasoning_trace"):
        remainder.add("reasoning_trace", "only what was answered is graded here", place)
    question = (
        text_of(sample_input.get("formatted") or sample_input.get("raw"), remainder, place) or ""
    )
    if not messages:
        answers: list[tuple[ImportedReply, ...]] = [
            (ImportedReply(text=text),) for text in texts_of(output.get("raw"), remainder, place)
        ]
        return (Turn(role="user", content=question),), answers, ()
    first = next(
        (at for at, message in enumerate(messages) if message.get("role") == "assistant"),
        len(messages),
    )
    turns = [
        Turn(role=message["role"], content=text_of(message.get("content"), remainder, place) or "")
        for message in messages[:first]
        if message.get("role") in _ROLES
    ]
    for message in messages[:first]:
        if message.get("role") not in _ROLES:
            reason = "only text of system, user and assistant is asked here"
            remainder.add(f"a message of role {message.get('role')} in the question", reason, place)
    after = [plain_value(message, remainder, place) for message in messages[first:]]
    replies = tuple(
        ImportedReply(
            text=message["content"] if isinstance(message.get("content"), str) else "",
            tool_calls=_tool_calls(message),
        )
        for message in after
        if message.get("role") == "assistant"
    )
    prompt = tuple(turns) or (Turn(role="user", content=question),)
    return prompt, [replies] if replies else [], tuple(after) if len(after) > 1 else ()


def _tool_calls(message: Json) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=call["id"] if isinstance(call.get("id"), str) else None,
            name=str(call.get("name")),
            arguments=to_json(call.get("arguments")),
        )
        for call in map(object_of, list_of(message.get("tool_calls")))
    )


def _usage(sample: Json) -> Usage:
    used = object_of(sample.get("token_usage"))
    return Usage(
        input_tokens=count_of(used.get("input_tokens")),
        output_tokens=count_of(used.get("output_tokens")),
        cached_input_tokens=count_of(used.get("input_tokens_cache_read")),
        cache_write_tokens=count_of(used.get("input_tokens_cache_write")),
        reasoning_tokens=count_of(used.get("reasoning_tokens")),
    )
