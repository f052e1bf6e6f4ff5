"""Reads reports of garak (`*.report.jsonl`): one target, the attempts of its probes.

A case is an attempt's prompt, and each of its outputs is one repetition. The verdicts of garak's
detectors are kept as the source's: no check here decides in the same way, so people decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from failproof_es.core.case import Case, Turn
from failproof_es.events import ImportedError, ImportedReply
from failproof_es.problems import InvalidInput, Problem
from failproof_es.recorded_runs.json_files import load_json_lines
from failproof_es.recorded_runs.json_values import Json, list_of, object_of, text_of, unread
from failproof_es.recorded_runs.plain import digest_of, plain_text, plain_value
from failproof_es.recorded_runs.records import (
    NO_PLACE,
    SOURCE_ERROR,
    ForeignRun,
    RecordedAnswer,
    Remainder,
)
from failproof_es.recorded_runs.sources import digest_of_files, source_file

KIND = "garak-report"
_DONE = 2
"""The `status` of an attempt whose outputs the detectors have evaluated."""
_HIT_FROM = 0.5
"""The least detector score that is a hit: garak's default. A report states only the number of hits
of each detector, not its threshold."""
_ROLES = ("system", "user", "assistant")
_READ = frozenset(
    {
        *("entry_type", "uuid", "seq", "status", "probe_classname", "prompt", "outputs", "notes"),
        *("detector_results", "goal", "intent", "conversations", "reverse_translation_outputs"),
    }
)
_NOT_KEPT = {
    "start_run setup": "it says how garak ran, and may hold keys",
    "plugin_cache": "it describes garak's own parts",
    "payload_init": "it describes garak's own parts",
    "digest": "it repeats what stands in the report",
    "config": "it says how garak ran, and may hold keys",
}


def read_garak_report(path: Path) -> ForeignRun:
    """The run in a report.

    Raises `InvalidInput` if the file is not JSON Lines, or is no report of garak.
    """
    file = source_file(path)
    remainder = Remainder()
    began = ended = version = None
    model = None
    claims: list[Any] = []
    attempts = 0
    hits: Counter[tuple[str, str]] = Counter()
    for number, entry in load_json_lines(path):
        place = f"line {number}"
        entry = object_of(entry)
        match entry.get("entry_type"):
            case "init":
                version = text_of(entry.get("garak_version"), remainder, place)
                began = text_of(entry.get("start_time"), remainder, place)
            case "completion":
                ended = text_of(entry.get("end_time"), remainder, place)
            case "attempt":
                attempts += 1
                hits.update(_hits(entry))
            case "eval" | "probe_summary":
                claims.append(plain_value(entry, remainder, place))
            case kind:
                model = model or _model_name(entry, remainder, place)
                why = _NOT_KEPT.get(str(kind), "an entry of this type is not known here")
                remainder.add(f"entries `{str(kind)[:40]}`", why, place)
    if not attempts:
        raise InvalidInput(
            [
                Problem(
                    "wrong-file-kind",
                    "is no report of garak: it holds no attempt",
                    path=path,
                    remedy="give the file `*.report.jsonl` that garak names at its end",
                )
            ]
        )
    if ended is None:
        remainder.add("the end of the run", "the report has none: garak was stopped", "the end")
    return ForeignRun(
        kind=KIND,
        tool="garak",
        tool_version=version,
        name=f"garak {model or path.stem}",
        files=(file,),
        paths=(path,),
        source_sha256=digest_of_files((file,)),
        answers=_answers(
            path, model or "unknown", _probes_with_other_totals(claims, hits), remainder
        ),
        remainder=remainder,
        began_at=began,
        ended_at=ended,
        claims={"entries": claims},
    )


def _model_name(setup: Json, remainder: Remainder, place: str) -> str | None:
    """The evaluated model, which garak calls target (earlier: model), as `TYPE/NAME`.

    `None` if the entry `setup` names none.
    """
    for kind, name in (
        ("plugins.target_type", "plugins.target_name"),
        ("plugins.model_type", "plugins.model_name"),
    ):
        of_type = text_of(setup.get(kind), remainder, place)
        target_name = text_of(setup.get(name), remainder, place)
        if of_type or target_name:
            return "/".join(part for part in (of_type, target_name) if part)
    return None


def _hits(attempt: Json) -> Iterator[tuple[str, str]]:
    """Yield the probe and the detector for each hit of an attempt."""
    if attempt.get("status") == _DONE:
        for name, scores in object_of(attempt.get("detector_results")).items():
            for score in list_of(scores):
                if type(score) in (int, float) and score >= _HIT_FROM:
                    yield str(attempt.get("probe_classname")), name


def _probes_with_other_totals(
    claims: list[Any], hits: Mapping[tuple[str, str], int]
) -> frozenset[str]:
    """The probes whose totals in the report differ from those with hits from `_HIT_FROM` on.

    `claims` are the report's own results; `hits` is the number of hits by probe and detector.
    """
    totals = [claim for claim in map(object_of, claims) if claim.get("entry_type") == "eval"]
    return frozenset(
        probe
        for claim in totals
        if (fails := _fails(claim)) is not None
        and fails != hits.get((probe := str(claim.get("probe")), _detector(claim)), 0)
    )


def _fails(total: Json) -> int | None:
    """The hits in a detector's total; older reports state the outputs without one, and all."""
    fails, passed, outputs = (total.get(name) for name in ("fails", "passed", "total"))
    if fails is None and isinstance(passed, int) and isinstance(outputs, int):
        return outputs - passed
    return fails if type(fails) is int else None


def _detector(total: Json) -> str:
    """The detector's name as in an attempt's results; older reports write a word before it."""
    return str(total.get("detector")).removeprefix("detector.")


def _answers(
    path: Path, model: str, otherwise: frozenset[str], remainder: Remainder
) -> Iterator[RecordedAnswer]:
    """Yield the answers. An attempt has two entries: after its outputs and after the detectors.

    No verdict is taken from the probes in `otherwise`, whose totals in the report are different.
    """
    done = {
        str(object_of(entry).get("uuid"))
        for _, entry in load_json_lines(path)
        if object_of(entry).get("entry_type") == "attempt"
        and object_of(entry).get("status") == _DONE
    }
    for number, entry in load_json_lines(path):
        attempt = object_of(entry)
        if attempt.get("entry_type") != "attempt":
            continue
        place = f"line {number}"
        if attempt.get("status") != _DONE:
            if str(attempt.get("uuid")) in done:
                continue  # its later entry has the detectors' results
            remainder.add("an attempt's verdicts", "no detector has looked at it", place)
        yield from _answers_of_attempt(attempt, model, otherwise, place, remainder)


def _answers_of_attempt(
    attempt: Json, model: str, otherwise: frozenset[str], place: str, remainder: Remainder
) -> Iterator[RecordedAnswer]:
    for name in unread(attempt, _READ):
        remainder.add(f"`{plain_text(name, remainder, place)}` of an attempt", NO_PLACE, place)
    probe = text_of(attempt.get("probe_classname"), remainder, place) or "unknown"
    turns = _turns(attempt.get("prompt"), remainder, place)
    if counts_otherwise := str(attempt.get("probe_classname")) in otherwise:
        reason = f"the report's totals are not those of a score from {_HIT_FROM} on: no verdict"
        remainder.add("whether a detector has found something", reason, place)
    conversations = list_of(attempt.get("conversations"))
    uuid = str(attempt.get("uuid"))
    case = Case(
        dialect="checks",
        case_id=plain_text(f"{probe} {attempt.get('seq')} {uuid[:8]}".strip(), remainder, place),
        suite_id=probe,
        turns=turns,
        expectation={"checks": []},
        category=probe.partition(".")[0],
        document=plain_value(
            {name: attempt.get(name) for name in ("uuid", "goal", "intent") if attempt.get(name)},
            remainder,
            place,
        ),
    )
    detectors = object_of(attempt.get("detector_results"))
    outputs = list_of(attempt.get("outputs"))
    if attempt.get("reverse_translation_outputs"):
        remainder.add("translated outputs", "the outputs as they came are kept", place)
    if not outputs:
        remainder.add("an attempt without an output", "it is an error of the source", place)
    for at, output in enumerate(outputs or [None]):
        text = _text(output, remainder, place)
        scores = plain_value(
            {
                name: results[at]
                for name, results in detectors.items()
                if isinstance(results, list) and at < len(results)
            },
            remainder,
            place,
        )
        message = "garak recorded no output: its generator gave none"
        yield RecordedAnswer(
            case=case,
            model=model,
            place=f"{place}, output {at + 1}",
            sample_sha256=digest_of(plain_value(attempt, Remainder(), place)),
            replies=() if text is None else (ImportedReply(text=text),),
            messages=_messages_after_prompt(
                conversations[at : at + 1], len(turns), remainder, place
            ),
            source_scores=scores,
            source_metadata=plain_value(object_of(attempt.get("notes")), remainder, place),
            source_passed=None if counts_otherwise else _passed(scores),
            error=None if text is not None else ImportedError(kind=SOURCE_ERROR, message=message),
        )


def _passed(scores: Json) -> bool | None:
    """Whether no detector has a hit in the output; `None` without detector results.

    `scores` is the score of each detector for the output, by the detector's name.
    """
    numeric_scores = [score for score in scores.values() if type(score) in (int, float)]
    return all(score < _HIT_FROM for score in numeric_scores) if numeric_scores else None


def _messages_after_prompt(
    conversation: list[Any], prompt_length: int, remainder: Remainder, place: str
) -> tuple[dict[str, Any], ...]:
    """The messages after the prompt in an output's conversation; empty for the output alone.

    `prompt_length` is the number of turns of the prompt.
    """
    turns = [turn for part in conversation for turn in list_of(object_of(part).get("turns"))]
    after = turns[prompt_length:]
    if len(after) < 2:
        return ()
    reason = "the prompt that began it is the question; the whole is kept with the answer"
    remainder.add("a conversation of several turns", reason, place)
    return tuple(
        {"role": turn.get("role"), "content": _text(turn.get("content"), remainder, place)}
        for turn in map(object_of, plain_value(after, remainder, place))
    )


def _text(output: Any, remainder: Remainder, place: str) -> str | None:
    """The text of an output: of a message, or, in older reports, the output itself.

    `None` if it has no text.
    """
    text = output.get("text") if isinstance(output, dict) else output
    return plain_text(text, remainder, place) if isinstance(text, str) else None


def _turns(prompt: Any, remainder: Remainder, place: str) -> tuple[Turn, ...]:
    """The turns of a prompt: a conversation, or, in older reports, a message or a text.

    Other turns are listed in `remainder`. Without a prompt, the empty text.
    """
    turns = []
    for turn in map(object_of, list_of(object_of(prompt).get("turns"))):
        text = _text(turn.get("content"), remainder, place)
        if text is None or turn.get("role") not in _ROLES:
            reason = "only text of system, user and assistant is asked here"
            remainder.add("a turn of a prompt", reason, place)
            continue
        turns.append(Turn(role=turn["role"], content=text))
    if turns:
        return tuple(turns)
    text = _text(prompt, remainder, place)
    if text is None:
        remainder.add("an attempt without a prompt", "its question is the empty text", place)
    return (Turn(role="user", content=text or ""),)
