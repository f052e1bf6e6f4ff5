"""Specification 001 from the command line: stored prompts, verdicts, and what is left out."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
from jsonschema import Draft7Validator

from failproof_es.store.store import Store
from tests.acceptance.commands import asked, invoke

GOOD = '{"T": 0.8, "I": 0.1, "F": 0.9, "reasoning": "it asks \\u0000 for all"}'
CLEAR = '{"truth": 0.9, "indeterminacy": 0.1, "falsehood": 0.0, "reasoning": "a question"}'
REPLIES = {
    "manipulative": (GOOD, f"```json\n{GOOD}\n```", f"Here it is:\n\n{GOOD}\n\nF is high."),
    "reciprocal": (CLEAR, f"<think>{GOOD}?</think>\n{CLEAR}"),
    "refusal": ("I cannot provide an analysis of that.", "I'm sorry, but I can't help with that."),
    "parse_error": (
        GOOD[:30],
        GOOD.replace("0.9", "NaN"),
        GOOD.replace("0.9", "9"),
        '{"T": 0.8, "I": 0.1, "reasoning": "no F"}',
        f"{GOOD} or rather {CLEAR}",
        "F is high, I would say.",
    ),
    "empty": ("  \n",),
}
PROMPTS = 300
MODELS = 2
FAULTS = ("http500*1", "http429*1", "reset*1", "notjson*1", "silent*1", "http503*2")
"""Each strikes one prompt in 50, once or twice, and is got over."""


def write_prompts(folder: Path) -> list[dict[str, Any]]:
    kinds = [(kind, reply) for kind, replies in REPLIES.items() for reply in replies]
    prompts = []
    for n in range(PROMPTS):
        kind, reply = kinds[n % len(kinds)]
        fault = f"[fault:{FAULTS[n // 50]}]" if n % 50 == 7 else ""
        answer = b64encode(reply.encode()).decode()
        prompts.append(
            {
                "prompt_id": f"p-{n:03}",
                "content": f'{n} {{{{prompt}}}} \u0000\u202e {{"T": 0}} [answer:{answer}]{fault}',
                "category": kind,
                "expected_label": "manipulative",
                "source": "test",
                "created_at": "2026-11-21T08:00:00Z",
            }
        )
    (folder / "calibration.jsonl").write_bytes(b"\n".join(map(orjson.dumps, prompts)))
    return prompts


def configure(folder: Path, url: str) -> None:
    model = {"provider": "openai", "base_url": url, "version": "2024-10-22", "max_tokens": 1000}
    names = ("claude-sonnet-4.5", "gpt-4o")
    configuration = {
        "test_run": {"name": "calibration", "timestamp": "2026-11-21T08:00:00Z"},
        "models": [{**model, "model": name, "temperature": 0.0} for name in names],
        "prompts": {"source": "file", "path": "calibration.jsonl"},
        "execution": {
            "parallel_workers": 4,
            "retry_attempts": 3,
            "retry_delay_ms": 10,
            "timeout_per_request_ms": 2000,
        },
        "output": {
            "database": {"enabled": True, "real_time": True},
            "file": {"enabled": True, "format": "jsonl", "path": "./outputs/{timestamp}_x.jsonl"},
        },
    }
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))


def test_three_hundred_prompts_two_models_and_every_evaluation_is_accounted_for(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    prompts = write_prompts(tmp_path)
    configure(tmp_path, mock_url)
    done = invoke(
        store.url, "start", "run.yaml", "--json", "--quiet",
        "--set", "execution.parallel_workers=20", "--set", "test_run.name=again", cwd=tmp_path,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    kinds = Counter(prompt["category"] for prompt in prompts)
    decided = MODELS * (kinds["manipulative"] + kinds["reciprocal"])
    counts = json.loads(done.stdout.splitlines()[-1])["counts"]
    planned = MODELS * PROMPTS
    assert counts == {
        "planned": planned,
        "finished": planned,
        "scored": decided,
        "abandoned": planned - decided,
    }
    check_records(store, tmp_path, prompts)
    check_agreement(store, tmp_path, kinds)
    assert invoke(store.url, "replay", "latest", cwd=tmp_path).exit_code == 0
    sent = list(asked(mock_url))
    assert all(any(each["content"] in prompt for prompt in sent) for each in prompts)


def check_records(store: Store, folder: Path, prompts: list[dict[str, Any]]) -> None:
    """Every evaluation in the shape of § 3.2, nothing scored that was not answered."""
    schema = json.loads(
        files("failproof_es.dialects.promptguard").joinpath("evaluation.schema.json").read_text()
    )
    by_id = {prompt["prompt_id"]: prompt for prompt in prompts}
    shown = invoke(store.url, "results", "latest", "--format", "jsonl", cwd=folder).stdout
    records = [json.loads(line) for line in shown.splitlines()]
    assert len({record["evaluation_id"] for record in records}) == MODELS * PROMPTS
    for record in records:
        Draft7Validator(schema).validate(record)
        prompt = by_id[record["prompt_id"]]
        assert prompt["content"] in record["request"]["full_prompt"]
        answered = prompt["category"] in ("manipulative", "reciprocal")
        response = record["response"]
        assert (response["parsed"] is not None) == answered
        assert (response["error"] is None) == answered
        assert response["raw"]
        assert record["metrics"]["cost_usd"] is None
        if prompt["category"] == "manipulative":
            assert response["parsed"] == json.loads(GOOD)
        if prompt["category"] == "refusal":
            assert "refusal: I" in response["error"]
    files_written = sorted(file.name for file in (folder / "outputs").iterdir())
    assert files_written[-1] == "2026-11-21_08-00-00_x.jsonl"
    header, *rows = (folder / "outputs" / files_written[-1]).read_text().splitlines()
    assert json.loads(header)["metadata"]["name"] == "again"
    assert [json.loads(row) for row in rows] == records


def check_agreement(store: Store, folder: Path, kinds: Counter[str]) -> None:
    arguments = ("results", "latest", "--shape", "agreement")
    shown = invoke(store.url, *arguments, "--format", "jsonl", cwd=folder).stdout
    agreements = [json.loads(line) for line in shown.splitlines()]
    assert [each["model"] for each in agreements] == ["claude-sonnet-4.5", "gpt-4o"]
    right, wrong = kinds["manipulative"], kinds["reciprocal"]
    for each in agreements:
        assert each["evaluations"] == PROMPTS
        assert each["left_out"] == {
            kind: kinds[kind] for kind in ("empty", "parse_error", "refusal")
        }
        assert each["accuracy"] == right / (right + wrong)
        assert each["labels"]["manipulative"]["precision"] == 1.0
        assert each["labels"]["manipulative"]["recall"] == right / (right + wrong)
        assert each["confusion"]["manipulative"] == {"manipulative": right, "reciprocal": wrong}
    table = invoke(store.url, *arguments, cwd=folder).stdout
    assert "left out" in table and "precision" in table


def test_options_of_the_dialect_are_wrong_by_file_line_and_field(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_prompts(tmp_path)
    (tmp_path / "run.yaml").write_text(
        "test_run: {name: x}\n"
        f"models: [{{provider: openai, base_url: '{mock_url}', model: mock}}]\n"
        "prompts:\n"
        "  path: calibration.jsonl\n"
        "  options:\n"
        "    decision:\n"
        "      - {label: a, F: {at_lest: 0.5}}\n"
        "    tempalte: x\n"
    )
    done = invoke(
        store.url, "start", "run.yaml", "--set", "prompts.options.decision[0].G=1", cwd=tmp_path
    )
    assert done.exit_code == 2
    assert "run.yaml:7: prompts.options.decision[0].F.at_lest" in done.stderr
    assert "did you mean `at_least`?" in done.stderr
    assert "run.yaml:8: prompts.options.tempalte" in done.stderr
    assert "--set: prompts.options.decision[0].G" in done.stderr
