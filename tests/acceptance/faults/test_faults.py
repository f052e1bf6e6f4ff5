"""What a model, its server or a disk can do wrong: each fault on record, none of it lost."""

from __future__ import annotations

import time
from base64 import b64decode
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest

from failproof_es.store.reading.reader import RecordedEvent, find
from failproof_es.store.store import Store
from tests.acceptance.commands import asked, invoke, write_configuration

RETRIES = 2
DELAY_MS = 200
TIMEOUT_MS = 1000
EXECUTION = {
    "parallel_workers": 30,
    "retry_attempts": RETRIES,
    "retry_delay_ms": DELAY_MS,
    "timeout_per_request_ms": TIMEOUT_MS,
    "pause_after_lost": None,
}


def write_faults(folder: Path, *faults: str, expected: str = "(?s).") -> list[str]:
    """A suite of one case for each fault; returns the prompts, found nowhere else."""
    prompts = [f"{folder.name} {n} [fault:{fault}]" for n, fault in enumerate(faults)]
    cases = [
        {"case_id": fault, "suite_id": "faults", "prompt": prompt, "expected_response": expected}
        for fault, prompt in zip(faults, prompts, strict=True)
    ]
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    return prompts


def streams(store: Store) -> dict[UUID, list[RecordedEvent]]:
    """The events of each evaluation, in order."""
    found = defaultdict(list)
    with store.connect() as connection:
        for row in find(connection):
            if "model_key" in row.payload():
                found[row.stream_id].append(row)
    return found


def topics(store: Store) -> list[str]:
    """What happened to the run itself, without its plan."""
    with store.connect() as connection:
        return [row.topic for row in find(connection) if row.topic.startswith("Run")]


def by_prompt(store: Store) -> dict[str, list[RecordedEvent]]:
    """The events of each evaluation by the prompt that it sent."""
    found = {}
    for rows in streams(store).values():
        body = orjson.loads(rows[0].payload()["body"])
        found[body["messages"][-1]["content"]] = rows
    return found


def payloads(rows: list[RecordedEvent], topic: str) -> list[dict[str, Any]]:
    return [row.payload() for row in rows if row.topic == topic]


@dataclass(frozen=True, slots=True)
class Fault:
    """What must be on record: the error of every failed attempt, and how many there were."""

    kind: str
    disposition: str = "transient"
    body: bytes | None = None
    status: int | None = 200
    errors: int = RETRIES + 1


FAULTS = {
    "http500": Fault("server_error", body=b'{"error": {"message": "it broke"}}', status=500),
    "http503": Fault("server_error", body=b"<html>down</html>", status=503),
    "nochoices": Fault("empty_choices", body=b'{"choices": []}'),
    "nullcontent": Fault("missing_content", body=b'{"choices": [{"message": {"content": null}}]}'),
    "nocontent": Fault("missing_content", body=b'{"choices": [{"message": {}}]}'),
    "notjson": Fault("malformed_response", body=b'{"choices": [{"mess'),
    "notutf8": Fault("malformed_response", body=b'\xff\xfe{"choices"'),
    "emptybody": Fault("malformed_response", body=b""),
    "overloaded200": Fault("provider_error", body=b'{"error": {"message": "overloaded_error"}}'),
    "reset": Fault("connection", status=None),
    "silent": Fault("timeout", status=None),
    "http400": Fault(
        "bad_request", "final", b'{"error": {"message": "bad parameter"}}', 400, errors=1
    ),
    "error200": Fault(
        "provider_error",
        "final",
        b'{"error": {"message": "odd input", "type": "invalid"}}',
        errors=1,
    ),
}
PASSING = {
    "http500*1": Fault("server_error", status=500, errors=1),
    "reset*2": Fault("connection", status=None, errors=2),
    "notjson*1": Fault("malformed_response", errors=1),
    "silent*1": Fault("timeout", status=None, errors=1),
    "http429*1": Fault("rate_limited", "deferred", status=429, errors=1),
}


def check_errors(rows: list[RecordedEvent], fault: Fault) -> None:
    """Every failed attempt is one event that says what happened, with all that came back."""
    errors = payloads(rows, "ErrorRecorded")
    assert len(errors) == fault.errors
    for attempt, error in enumerate(errors, start=1):
        assert (error["kind"], error["disposition"]) == (fault.kind, fault.disposition)
        assert (error["status"], error["attempt"]) == (fault.status, attempt)
        assert error["message"]
        assert "Traceback (most recent call last)" in error["stack_trace"]
        assert error["latency_ms"] > 0
        if fault.kind == "timeout":
            # what passes until a busy machine has sent the request counts for the time-out only
            assert 0.5 * TIMEOUT_MS <= error["latency_ms"] < 10 * TIMEOUT_MS
        assert ("content-type" in error["headers"]) == (fault.status is not None)
        if fault.body is not None:
            encoded = error["body_encoding"] == "base64"
            assert (b64decode(error["body"]) if encoded else error["body"].encode()) == fault.body


def check_waits(rows: list[RecordedEvent]) -> None:
    """After the n-th failure it waited for `retry_delay_ms`, doubled n-1 times, at least."""
    events = [row.event() for row in rows if row.topic in ("ErrorRecorded", "RequestSent")]
    for attempt, (failed, sent) in enumerate(zip(events[1::2], events[2::2], strict=False)):
        waited_s = (sent.timestamp - failed.timestamp).total_seconds()
        assert waited_s >= DELAY_MS / 1000 * 2**attempt


def test_every_fault_is_on_record_and_is_tried_again_exactly_as_often_as_allowed(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    names = [*FAULTS, *PASSING, "length"]
    prompts = write_faults(tmp_path, *names)
    write_configuration(tmp_path, mock_url, execution=EXECUTION, gates={"max_unscored_rate": 0.1})
    done = invoke(store.url, "start", "run.yaml", "--json", "--quiet", cwd=tmp_path)
    assert done.exit_code == 3, done.stderr
    summary = orjson.loads(done.stdout.splitlines()[-1])
    abandoned, scored = len(FAULTS) + 1, len(PASSING)
    counts = {"planned": abandoned + scored, "finished": abandoned + scored}
    assert summary["counts"] == {**counts, "scored": scored, "abandoned": abandoned}
    assert summary["gates"]["max_unscored_rate"]["met"] is False
    recorded = by_prompt(store)
    requests = asked(mock_url)
    for name, prompt in zip(names, prompts, strict=True):
        rows = recorded[prompt]
        assert requests[prompt] == len(payloads(rows, "RequestSent")), name
        (classified,) = payloads(rows, "Classified")
        if name in FAULTS:
            check_errors(rows, FAULTS[name])
            check_waits(rows)
            assert rows[-1].topic == "EvaluationAbandoned", name
            assert rows[-1].payload()["kind"] == FAULTS[name].kind
            assert classified["primary"] == "error"
            assert requests[prompt] == FAULTS[name].errors
        elif name in PASSING:
            check_errors(rows, PASSING[name])
            assert rows[-1].payload()["scores"] == {"accuracy": 1.0}, name
            assert requests[prompt] == PASSING[name].errors + 1
        else:
            assert classified["primary"] == "truncated"
            assert rows[-1].topic == "EvaluationAbandoned"
            assert rows[-1].payload()["kind"] == "truncated"
    limited = recorded[prompts[names.index("http429*1")]]
    (error,) = payloads(limited, "ErrorRecorded")
    assert error["retry_after_s"] == 1.0
    first, second = [r for r in limited if r.topic == "RequestSent"]
    waited = second.event().timestamp - limited[1].event().timestamp
    assert first.version == 1 and 1.0 <= waited.total_seconds() < 3.0
    replayed = invoke(store.url, "replay", "latest", cwd=tmp_path)
    assert replayed.exit_code == 0, replayed.output


def test_an_answer_of_another_model_is_kept_whole_and_is_an_error(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    snapshot, other = write_faults(tmp_path, "snapshot", "othermodel")
    write_configuration(tmp_path, mock_url, execution={**EXECUTION, "parallel_workers": 1})
    done = invoke(store.url, "start", "run.yaml", "--json", "--quiet", cwd=tmp_path)
    counts = orjson.loads(done.stdout.splitlines()[-1])["counts"]
    assert (counts["scored"], counts["abandoned"]) == (1, 1)
    recorded = by_prompt(store)
    (answer,) = payloads(recorded[other], "ResponseReceived")
    assert (answer["model"], answer["usage"]["output_tokens"]) == ("mock-mini", 5)
    (error,) = payloads(recorded[other], "ErrorRecorded")
    assert (error["kind"], error["disposition"]) == ("model_mismatch", "final")
    assert "mock was asked and mock-mini answered" in error["message"]
    assert "Traceback (most recent call last)" in error["stack_trace"]
    assert payloads(recorded[other], "EvaluationAbandoned")[0]["kind"] == "model_mismatch"
    assert payloads(recorded[snapshot], "ResponseReceived")[0]["model"] == "mock-2026-11-21"
    assert payloads(recorded[snapshot], "Scored")
    assert invoke(store.url, "replay", "latest", cwd=tmp_path).exit_code == 0


def test_an_answer_that_does_not_show_the_named_version_is_an_error_unless_the_name_is_enough(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    shown, bare = write_faults(tmp_path, "snapshot", "http500*0")
    one_by_one = {**EXECUTION, "parallel_workers": 1}
    model = {"provider": "openai", "base_url": mock_url, "model": "mock", "version": "2026-11-21"}
    write_configuration(tmp_path, mock_url, models=[model], execution=one_by_one)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 3
    recorded = by_prompt(store)
    (error,) = payloads(recorded[bare], "ErrorRecorded")
    assert (error["kind"], error["disposition"]) == ("model_mismatch", "final")
    assert "mock, version 2026-11-21, was asked and mock answered" in error["message"]
    assert payloads(recorded[bare], "ResponseReceived")[0]["model"] == "mock"
    assert not payloads(recorded[shown], "ErrorRecorded")

    model["version_check"] = "name"
    write_configuration(tmp_path, mock_url, models=[model], execution=EXECUTION)
    done = invoke(store.url, "start", "run.yaml", "--json", "--quiet", cwd=tmp_path)
    assert orjson.loads(done.stdout.splitlines()[-1])["counts"]["scored"] == 2
    facts = orjson.loads(invoke(store.url, "show", "latest", "--json", cwd=tmp_path).stdout)
    assert facts["models"][0]["settings"]["version_check"] == "name"
    told = "version 2026-11-21 (not checked: version_check: name)"
    assert told in invoke(store.url, "show", "latest", cwd=tmp_path).stdout
    assert told in invoke(store.url, "report", "latest", "-o", "-", cwd=tmp_path).stdout
    assert told not in invoke(store.url, "show", "1", cwd=tmp_path).stdout


def test_no_retries_means_one_attempt(store: Store, mock_url: str, tmp_path: Path) -> None:
    prompts = write_faults(tmp_path, "http500", "reset", "silent", "length", "none*0")
    write_configuration(tmp_path, mock_url, execution={**EXECUTION, "retry_attempts": 0})
    assert invoke(store.url, "start", "run.yaml", cwd=tmp_path).exit_code == 3
    counts = asked(mock_url)
    assert [counts[prompt] for prompt in prompts] == [1, 1, 1, 1, 1]


def test_a_run_without_one_answer_has_failed(store: Store, mock_url: str, tmp_path: Path) -> None:
    write_faults(tmp_path, "http400", "error200", "http500")
    write_configuration(tmp_path, mock_url, execution=EXECUTION)
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 1
    assert "failed: not one evaluation was answered" in done.stderr
    assert topics(store) == ["RunStarted", "RunFailed", "RunValidated", "RunSealed"]
    again = invoke(store.url, "resume", "latest", cwd=tmp_path)
    assert again.exit_code == 1
    assert "has ended: failed; nothing was sent" in again.stderr


HALTING = (
    ("http401*1", "authentication", "HTTP 401: wrong key"),
    ("http404*1", "not_found", "HTTP 404: no such model"),
)


@pytest.mark.slow
def test_an_error_that_all_would_meet_halts_the_run_until_it_is_mended(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    """`*1`: by the time of the next `resume` it is mended."""
    halting = [fault for fault, _, _ in HALTING]
    prompts = write_faults(tmp_path, "none*0", *halting, *[f"none{n}*0" for n in range(20)])
    write_configuration(tmp_path, mock_url, execution={**EXECUTION, "parallel_workers": 1})
    how = ["start", "run.yaml"]
    for place, (_, kind, said) in enumerate(HALTING, start=1):
        done = invoke(store.url, *how, cwd=tmp_path)
        how = ["resume", "latest"]
        assert done.exit_code == 1
        assert f"run 1 paused: mock: {said}" in done.stderr
        assert "failproof-es resume 1" in done.stderr
        assert topics(store)[-1] == "RunPaused"
        (error,) = payloads(by_prompt(store)[prompts[place]], "ErrorRecorded")
        assert (error["kind"], error["disposition"]) == (kind, "halting")
        sent = asked(mock_url)
        assert [sent.get(prompt, 0) for prompt in prompts[: place + 1]] == [
            1,
            *[2] * (place - 1),
            1,
        ]
        assert not set(prompts[place + 1 :]) & set(sent), "what is hopeless is not sent"
    again = invoke(store.url, *how, cwd=tmp_path)
    assert again.exit_code == 0, again.stderr
    counts = asked(mock_url)
    assert [counts[prompt] for prompt in prompts] == [1, 2, 2, *[1] * 20]
    assert topics(store) == [
        *("RunStarted", *("RunPaused", "RunResumed") * 2),
        *("RunCompleted", "RunValidated", "RunSealed"),
    ]


def test_an_expression_that_backtracking_never_ends_is_matched_in_linear_time(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    cases = [
        {
            "case_id": "bomb",
            "suite_id": "a",
            "prompt": "x" * 60,
            "expected_response": r"(x|xx)+[yz]",
        },
        {"case_id": "fine", "suite_id": "a", "prompt": "fine", "expected_response": r"f\w+e"},
    ]
    (tmp_path / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    write_configuration(tmp_path, mock_url, execution=EXECUTION)
    began = time.monotonic()
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert time.monotonic() - began < 20
    assert done.exit_code == 0, done.stderr
    recorded = by_prompt(store)
    (bomb,) = payloads(recorded["x" * 60], "Classified")
    assert bomb["primary"] == "fail", "RE2 tries it in linear time"
    ended = recorded["x" * 60][-1]
    assert ended.topic == "Scored"
    (fine,) = payloads(recorded["fine"], "Classified")
    assert fine["primary"] == "pass"
