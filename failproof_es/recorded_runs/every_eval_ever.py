"""Reads records of Every Eval Ever: an aggregate (`.json`) with its samples (`.jsonl`).

The samples hold the answers, the aggregate says which model, library and metric. Either can be
given: the aggregate names its samples, and these are looked for beside it. A reference answer alone
does not say how an answer is compared with it, so the answers are left to people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from failproof_es.core.case import Case, Turn
from failproof_es.events import ImportedError, ImportedReply, SourceFile, ToolCall, Usage
from failproof_es.problems import InvalidInput, Problem
from failproof_es.recorded_runs.every_eval_ever_samples import answered
from failproof_es.recorded_runs.json_files import load_json, load_json_lines
from failproof_es.recorded_runs.json_values import (
    Json,
    list_of,
    object_of,
    text_of,
    unread,
    written,
)
from failproof_es.recorded_runs.plain import count_of, digest_of, plain_text, plain_value
from failproof_es.recorded_runs.records import (
    NO_PLACE,
    SOURCE_ERROR,
    RecordedAnswer,
    RecordedRun,
    Remainder,
)
from failproof_es.recorded_runs.sources import digest_of_files, source_file

KIND = "every-eval-ever"
_ROLES = ("system", "user", "assistant")
_READ = frozenset(
    {
        *("schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id", "input"),
        *("evaluation_result_id", "output", "messages", "evaluation", "token_usage", "error"),
        *("performance", "metadata", "answer_attribution", "interaction_type"),
    }
)


def read_every_eval_ever(path: Path) -> RecordedRun:
    """The run of an aggregate or of a file of samples. Raises `InvalidInput` where it is neither,
    where an aggregate has no samples, and where their checksum is not the aggregate's."""
    remainder = Remainder()
    aggregate: Json = {}
    samples = path
    files: list[SourceFile] = []
    if path.suffix.lower() != ".jsonl":
        aggregate = object_of(load_json(path))
        samples = _samples_of(aggregate, path)
        files.append(source_file(path))
    else:
        remainder.add("the aggregate", "it was not given: import it in place of its samples", "-")
    files.append(source_file(samples))
    _, first = next(load_json_lines(samples), (0, None))
    first = object_of(first)
    if "evaluation_id" not in first or "interaction_type" not in first:
        said = "is no file of samples of Every Eval Ever: its first line has no `evaluation_id`"
        raise InvalidInput([Problem(said, path=samples, line=1)])
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
    found = tuple(files)
    return RecordedRun(
        kind=KIND,
        tool=tool,
        tool_version=version,
        name=name or path.stem,
        files=found,
        paths=(samples,) if samples == path else (path, samples),
        source_sha256=digest_of_files(found),
        answers=_answers(samples, name, remainder),
        remainder=remainder,
        began_at=text_of(aggregate.get("evaluation_timestamp"), remainder, "aggregate"),
        claims=plain_value(claims, remainder, "aggregate"),
    )


def _samples_of(aggregate: Json, path: Path) -> Path:
    """The samples beside an aggregate. Raises `InvalidInput`."""
    if "evaluation_results" not in aggregate:
        said = "is no record of Every Eval Ever: it has no `evaluation_results`"
        raise InvalidInput([Problem(said, path=path)])
    details = object_of(aggregate.get("detailed_evaluation_results"))
    named = details.get("file_path")
    if not isinstance(named, str) or not named or "\0" in named:
        raise InvalidInput(
            [
                Problem(
                    "the record is an aggregate without samples: it holds scores and no answers",
                    path=path,
                    field="detailed_evaluation_results",
                    remedy="import a record with samples: only answers can be scored again",
                )
            ]
        )
    samples = path.parent / Path(named).name
    if not samples.is_file():
        remedy = "put the file of samples beside the aggregate"
        raise InvalidInput([Problem(f"there is no {samples}", path=path, remedy=remedy)])
    _require_checksum(details, samples)
    return samples


def _require_checksum(details: Json, samples: Path) -> None:
    wanted, algorithm = details.get("checksum"), details.get("hash_algorithm")
    if not isinstance(wanted, str) or algorithm not in ("sha256", "md5"):
        return
    with samples.open("rb") as stream:
        if algorithm == "sha256":
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        else:
            made = hashlib.new("md5", usedforsecurity=False)
            while piece := stream.read(2**20):
                made.update(piece)
            found = made.hexdigest()
    if found.lower() != wanted.lower():
        said = f"its {algorithm} is {found}, the aggregate says {wanted[:100]}"
        remedy = "take both files from the same place"
        raise InvalidInput([Problem(said, path=samples, remedy=remedy)])


def _answers(path: Path, of: str | None, remainder: Remainder) -> Iterator[RecordedAnswer]:
    for each in answered(path, remainder):
        sample, place = each.record, each.place
        if of is not None and sample.get("evaluation_id") != of:
            said = "it names another evaluation than the aggregate, and is imported with it"
            remainder.add("a sample", said, place)
        yield from _sample(sample, each.evaluations, place, remainder)


def _sample(
    sample: Json, evaluations: Mapping[str, Json], place: str, remainder: Remainder
) -> Iterator[RecordedAnswer]:
    for name in unread(sample, _READ):
        remainder.add(f"`{plain_text(name, remainder, place)}` of a sample", NO_PLACE, place)
    asked, answers, messages = _conversation(sample, remainder, place)
    given = object_of(sample.get("input"))
    scores: Json
    if len(evaluations) == 1:
        [scores] = evaluations.values()
        correct = scores.get("is_correct")
    else:  # each result has a verdict of its own
        scores, correct = evaluations, None
    suite = text_of(sample.get("evaluation_name"), remainder, place) or "unknown"
    named = text_of(sample.get("sample_id"), remainder, place) or place
    case = Case(
        dialect="checks",
        case_id=named,
        suite_id=suite,
        turns=asked,
        expectation={"checks": []},
        document=plain_value(
            {
                name: given[name]
                for name in ("raw", "formatted", "reference", "choices")
                if given.get(name)
            },
            remainder,
            place,
        ),
    )
    said = text_of(sample.get("error"), remainder, place)
    if said is None and not answers:
        said = "the sample has no output and no error"
    error = None if said is None else ImportedError(kind=SOURCE_ERROR, message=said)
    if list_of(sample.get("answer_attribution")):
        remainder.add("answer_attribution", "how the source read the answer decides there", place)
    several = len(answers) > 1
    if several:
        said = "each is one repetition, and the verdict on them together is kept with each"
        remainder.add("several outputs of one sample", said, place)
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
            latency_ms=None if several else _milliseconds(performance.get("latency_ms")),
            source_scores=plain_value(scores, remainder, place),
            source_metadata=plain_value(object_of(sample.get("metadata")), remainder, place),
            source_passed=correct if isinstance(correct, bool) and error is None else None,
            error=error,
        )


def _conversation(
    sample: Json, remainder: Remainder, place: str
) -> tuple[tuple[Turn, ...], list[tuple[ImportedReply, ...]], tuple[dict[str, Any], ...]]:
    """What was asked; each answer as its replies; the messages of a longer conversation."""
    given, output = object_of(sample.get("input")), object_of(sample.get("output"))
    messages = [each for each in list_of(sample.get("messages")) if isinstance(each, dict)]
    if object_of(sample.get("output")).get("reasoning_trace"):
        remainder.add("reasoning_trace", "only what was answered is graded here", place)
    question = text_of(given.get("formatted") or given.get("raw"), remainder, place) or ""
    if not messages:
        answers: list[tuple[ImportedReply, ...]] = [
            (ImportedReply(text=plain_text(text, remainder, place)),)
            for text in list_of(output.get("raw"))
            if isinstance(text, str)
        ]
        return (Turn(role="user", content=question),), answers, ()
    first = next(
        (at for at, each in enumerate(messages) if each.get("role") == "assistant"), len(messages)
    )
    turns = [
        Turn(role=each["role"], content=text_of(each.get("content"), remainder, place) or "")
        for each in messages[:first]
        if each.get("role") in _ROLES
    ]
    for each in messages[:first]:
        if each.get("role") not in _ROLES:
            said = "only text of system, user and assistant is asked here"
            remainder.add(f"a message of role {each.get('role')} in the question", said, place)
    after = [plain_value(each, remainder, place) for each in messages[first:]]
    replies = tuple(
        ImportedReply(
            text=each["content"] if isinstance(each.get("content"), str) else "",
            tool_calls=_tool_calls(each),
        )
        for each in after
        if each.get("role") == "assistant"
    )
    asked = tuple(turns) or (Turn(role="user", content=question),)
    return asked, [replies] if replies else [], tuple(after) if len(after) > 1 else ()


def _tool_calls(message: Json) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=each["id"] if isinstance(each.get("id"), str) else None,
            name=str(each.get("name")),
            arguments=written(each.get("arguments")),
        )
        for each in map(object_of, list_of(message.get("tool_calls")))
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


def _milliseconds(given: Any) -> float | None:
    counted = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < 1e15
    return float(given) if counted else None
