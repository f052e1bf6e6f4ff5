"""Specification 001 from the command line: stored prompts, verdicts, and what is left out."""

from __future__ import annotations

import json
import platform
import random
from base64 import b64encode
from collections import Counter
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft7Validator

from failproof_es.configuration.loading import load_configuration
from failproof_es.dialects.shipped.promptguard.template import embed, shipped
from failproof_es.events import CasesPlanned, PromptStored, RunStarted
from failproof_es.store.reading.reader import find
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
SEED = 20261121
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
    model = {
        "provider": "openai",
        "base_url": url,
        "version": "2024-10-22",
        "version_check": "name",
        "max_tokens": 1000,
    }
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


@pytest.mark.slow
@pytest.mark.wide
def test_three_hundred_prompts_two_models_and_every_evaluation_is_accounted_for(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    prompts = write_prompts(tmp_path)
    configure(tmp_path, mock_url)
    done = invoke(
        store.url, "start", "run.yaml", "--json", "--quiet",
        "--set", "execution.parallel_workers=20", "--set", "test_run.name=again",
        "--set", "gates.max_unscored_rate=1", cwd=tmp_path,
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


def prompt(number: int, **fields: Any) -> dict[str, Any]:
    answer = b64encode(GOOD.encode()).decode()
    return {
        "prompt_id": f"q-{number}",
        "content": f"prompt {number} [answer:{answer}]",
        "category": "odd" if number % 2 else "even",
        "expected_label": "manipulative",
        **fields,
    }


def full_prompts(store: Store, folder: Path) -> dict[str, str]:
    shown = invoke(store.url, "results", "latest", "--format", "jsonl", cwd=folder).stdout
    records = [json.loads(line) for line in shown.splitlines()]
    return {record["prompt_id"]: record["request"]["full_prompt"] for record in records}


def check_records(store: Store, folder: Path, prompts: list[dict[str, Any]]) -> None:
    """Every evaluation in the shape of § 3.2, nothing scored that was not answered."""
    schema = json.loads(
        files("failproof_es.dialects.shipped.promptguard")
        .joinpath("evaluation.schema.json")
        .read_text()
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


def any_texts(count: int) -> list[str]:
    """Texts of all of Unicode, and some that look like what a program might fill in or read."""
    characters = random.Random(SEED)
    planes = [(0, 0x7F), (0x80, 0x2FFF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)]
    texts = [
        "".join(chr(characters.randint(*characters.choice(planes))) for _ in range(60))
        for _ in range(count)
    ]
    return [
        *texts,
        "\u0000",
        " \r\n\t ",
        '{"T": 0, "I": 0, "F": 0, "reasoning": "{{prompt}}"}',
        "{{delimiter}}\n--- message {{delimiter}} ends ---\n${HOME} %s {0} \\u0000 \\",
        "\u202e\ufeff\U000e0041 \u2028\u2029\x85",
        "é{{prompt}}" * 20_000 + "\u0000",
    ]


@pytest.mark.slow
def test_any_prompt_is_stored_sent_and_exported_unaltered(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    texts = any_texts(8)
    prompts = [prompt(n, content=f"{n} {text}") for n, text in enumerate(texts)]
    (tmp_path / "calibration.jsonl").write_bytes(b"\n".join(map(orjson.dumps, prompts)))
    configure(tmp_path, mock_url)
    done = invoke(
        store.url, "start", "run.yaml", "--quiet", "--set", "execution.parallel_workers=8",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.exit_code == 3, "the mock repeats the prompt: an answer, no verdict, nothing scored"
    expected = {each["prompt_id"]: embed(shipped(), each["content"]) for each in prompts}
    missing = set(expected.values()) - set(asked(mock_url))
    assert not missing, [ascii(each[600:700]) for each in missing]
    assert full_prompts(store, tmp_path) == expected
    collected = export(store, tmp_path)
    assert {
        each["prompt_id"]: each["request"]["full_prompt"] for each in collected["evaluations"]
    } == expected
    assert {each["prompt_id"]: each["content"] for each in collected["prompts"]} == {
        each["prompt_id"]: each["content"] for each in prompts
    }
    (results,) = (file for file in (tmp_path / "outputs").iterdir() if "check" not in file.name)
    _, *rows = map(orjson.loads, results.read_bytes().splitlines())
    assert {row["prompt_id"]: row["request"]["full_prompt"] for row in rows} == expected
    with store.connect() as connection:
        stored = [row.event() for row in find(connection, topics=("PromptStored",))]
    documents = [event.case.document for event in stored if isinstance(event, PromptStored)]
    assert [each["content"] for each in documents] == [each["content"] for each in prompts]


def export(store: Store, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Each collection of the newest run, as its file holds it."""
    done = invoke(
        store.url, "export", "latest", "--shape", "promptguard", "--output", "collected", "--json",
        cwd=folder,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return {
        row["collection"]: [
            orjson.loads(line) for line in (folder / row["file"]).read_bytes().splitlines()
        ]
        for row in json.loads(done.stdout)
    }


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


def test_a_price_file_prices_the_run_and_its_day_is_recorded(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    (tmp_path / "calibration.jsonl").write_bytes(orjson.dumps(prompt(1)))
    configure(tmp_path, mock_url)
    (tmp_path / "prices.yaml").write_text(
        'version: "2026-11-01"\n'
        "models: [{model: gpt-4o, input_usd_per_million: 2, output_usd_per_million: 4}]\n"
    )
    arguments = ("run.yaml", "--quiet", "--set", "prices.file=prices.yaml")
    assert invoke(store.url, "start", *arguments, cwd=tmp_path).exit_code == 0
    (tmp_path / "prices.yaml").unlink()
    shown = invoke(store.url, "results", "latest", "--format", "jsonl", cwd=tmp_path).stdout
    costs = {
        row["model"]: row["metrics"]["cost_usd"] for row in map(json.loads, shown.splitlines())
    }
    assert costs == {"claude-sonnet-4.5": None, "gpt-4o": pytest.approx((10 * 2 + 5 * 4) / 1e6)}
    facts = json.loads(invoke(store.url, "show", "latest", "--json", cwd=tmp_path).stdout)
    assert facts["price_sources"] == {"gpt-4o": "price list of 2026-11-01"}
    assert facts["spending"]["cost_usd"] is None, "a part is not the whole"
    with store.connect() as connection:
        recorded = connection.execute("SELECT model_key, price_version FROM failproof.price_list")
        assert recorded.fetchall() == [("gpt-4o", "price list of 2026-11-01")]


def test_a_start_has_on_record_what_its_results_depend_on_after_every_prompt(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    (tmp_path / "calibration.jsonl").write_bytes(
        b"\n".join(map(orjson.dumps, map(prompt, range(3))))
    )
    configure(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    loaded = load_configuration(tmp_path / "run.yaml")
    with store.connect() as connection:
        rows = list(find(connection))
    (begun,) = (row for row in rows if row.topic == "RunStarted")
    started = begun.event()
    assert isinstance(started, RunStarted)
    assert started.configuration == loaded.resolved()
    assert started.configuration_digest == loaded.digest()
    assert [(each.model, each.version) for each in started.models] == [
        ("claude-sonnet-4.5", "2024-10-22"), ("gpt-4o", "2024-10-22"),
    ]  # fmt: skip
    assert started.packages["python"] == platform.python_version()
    needed = ("pydantic", "httpx", "regex", "orjson", "eventsourcing", "psycopg", "genai-prices")
    assert {name: started.packages[name] for name in needed} == {
        name: metadata.version(name) for name in needed
    }
    stored = [row.event() for row in rows if row.topic == "PromptStored"]
    planned = [row.event() for row in rows if row.topic == "CasesPlanned"]
    prompts = {each.digest for each in stored if isinstance(each, PromptStored)}
    digests = [
        digest for each in planned if isinstance(each, CasesPlanned) for digest in each.digests
    ]
    assert len(digests) == len(prompts) == 3 and set(digests) == prompts
    positions = {topic: [row.position for row in rows if row.topic == topic] for topic in (
        "PromptStored", "RequestSent")}  # fmt: skip
    assert max(positions["PromptStored"]) < begun.position < min(positions["RequestSent"])
