"""The four collections of specification 001 § 2.1, from runs to files of another database."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest
from jsonschema import Draft7Validator

from failproof_es.cli.rendering.output import write_file
from failproof_es.events import RunResumed
from failproof_es.store.reading.reader import find
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from failproof_es.support.atomic_file import WrittenFile
from projections.runner import prepare, rebuild
from tests.acceptance.commands import invoke, write_configuration, write_suite

export_command = import_module("failproof_es.cli.commands.export")
GOOD = '{"T": 0.8, "I": 0.1, "F": 0.9, "reasoning": "it asks \\u0000 for all"}'
REPLIES = (GOOD, f"```json\n{GOOD}\n```", "I cannot help with that.", GOOD[:20], " ")
FAULTS = ("", "[fault:http500*1]", "[fault:http400]")
KEY = re.compile(r"[a-zA-Z0-9_\-:.@()+,=;$!*'%]{1,254}")
"""What ArangoDB takes for a `_key`."""
SCHEMAS = {
    "prompts": "prompt",
    "evaluations": "evaluation",
    "test_runs": "test_run",
    "model_configs": "model_config",
}


@pytest.fixture
def folder(tmp_path: Path, mock_url: str) -> Path:
    """Prompts of every kind, a price for one of two models, and a configuration."""
    prompts = [
        {
            "prompt_id": f"p-{n}",
            "content": f"{n} {text} [answer:{b64encode(reply.encode()).decode()}]{fault}",
            "category": "odd \\u0000\x00" if n % 2 else "even",
            "expected_label": "manipulative",
        }
        for n, (text, reply, fault) in enumerate(
            (text, reply, fault)
            for text in ("\x00 \\\x00 \\u0000", '{"T": 0} {{prompt}} \u202e\U0001f600')
            for reply in REPLIES
            for fault in FAULTS
        )
    ]
    (tmp_path / "calibration.jsonl").write_bytes(b"\n".join(map(orjson.dumps, prompts)))
    (tmp_path / "prices.yaml").write_text(
        'version: "2026-11-01"\n'
        "models: [{model: priced, input_usd_per_million: 2.5, output_usd_per_million: 0.3}]\n"
    )
    model = {"provider": "openai", "base_url": mock_url, "max_tokens": 1000, "temperature": 0.0}
    write_configuration(
        tmp_path,
        mock_url,
        models=[{**model, "model": name} for name in ("priced", "unpriced")],
        prompts={"path": "calibration.jsonl", "dialect": "promptguard"},
        prices={"file": "prices.yaml"},
        gates={"max_unscored_rate": 1.0},
    )
    return tmp_path


def start(store: Store, folder: Path, *more: str) -> None:
    done = invoke(store.url, "start", "run.yaml", "--quiet", *more, cwd=folder)
    assert done.exit_code == 0, done.output


def keep_half(folder: Path) -> None:
    """Of the prompts those with the first text."""
    file = folder / "calibration.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:15]))


def export(store: Store, folder: Path, *runs: str) -> dict[str, list[dict[str, Any]]]:
    done = invoke(
        store.url, "export", *runs, "--shape", "promptguard", "--output", "out", "--json",
        cwd=folder,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = {}
    for row in json.loads(done.stdout):
        path = folder / row["file"]
        datetime.strptime(path.name[:19], "%Y-%m-%d_%H-%M-%S")
        found[row["collection"]] = [json.loads(line) for line in path.read_bytes().splitlines()]
        assert len(found[row["collection"]]) == row["documents"]
        path.unlink()
    assert list((folder / "out").iterdir()) == []
    return found


def test_what_is_exported_is_what_the_views_and_the_results_say(store: Store, folder: Path) -> None:
    start(store, folder)
    require_documented_query(store)
    exported = export(store, folder, "latest")
    require_prompts_and_snapshots(folder, exported)
    keys = {name: [each.pop("_key") for each in found] for name, found in exported.items()}
    for name, found in exported.items():
        schema = files("failproof_es.dialects.shipped.promptguard") / f"{SCHEMAS[name]}.schema.json"
        validator = Draft7Validator(json.loads(schema.read_text("utf-8")))
        for document in found:
            validator.validate(document)
        assert all(KEY.fullmatch(key) for key in keys[name])
        assert len(set(keys[name])) == len(found)
    with psycopg.connect(store.url.replace(WRITER, AUDITOR)) as connection:
        for name, found in exported.items():
            rows = connection.execute(f"SELECT document::text FROM promptguard.{name}".encode())
            said = sorted(orjson.dumps(json.loads(row[0])) for row in rows)
            assert said == sorted(map(orjson.dumps, found))
    shown = invoke(store.url, "results", "latest", "--format", "jsonl", cwd=folder).stdout
    records = {each["evaluation_id"]: each for each in map(json.loads, shown.splitlines())}
    assert len(records) == len(exported["evaluations"]) == 60
    for document in exported["evaluations"]:
        record = records[document["evaluation_id"]]
        cost, said = document["metrics"].pop("cost_usd"), record["metrics"].pop("cost_usd")
        assert document == record
        assert cost == (None if said is None else pytest.approx(said))
        answered = document["metrics"]["latency_ms"] is not None
        assert (cost is not None) == (answered and document["model"] == "priced")


def require_prompts_and_snapshots(folder: Path, exported: dict[str, list[dict[str, Any]]]) -> None:
    """Prompts come out to the letter, and configurations as snapshots."""
    written = map(orjson.loads, (folder / "calibration.jsonl").read_bytes().splitlines())
    came = {each["prompt_id"]: each for each in exported["prompts"]}
    for each in written:
        document = came.pop(each["prompt_id"])
        assert document == {
            **each,
            "_key": document["_key"],
            "source": "calibration.jsonl",
            "created_at": document["created_at"],
        }
    assert not came
    [run] = exported["test_runs"]
    assert (run["status"], run["branched_from"]) == ("completed", None)
    assert run["evaluations"]["planned"] == 60
    assert run["configuration"]["execution"]["parallel_workers"] == 20
    models = [(each["role"], each["model"]) for each in exported["model_configs"]]
    assert models == [("target", "priced"), ("target", "unpriced")]


def require_documented_query(store: Store) -> None:
    """The query that the documentation shows gives rows."""
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "promptguard.md").read_text("utf-8")
    [query] = re.findall(r"^```sql\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    with psycopg.connect(store.url.replace(WRITER, AUDITOR)) as connection:
        rows = connection.execute(query.encode()).fetchall()
    assert {row[3] for row in rows} == {"empty", "error", "parse_error", "refusal"}


@pytest.mark.slow
def test_several_runs_share_their_prompts_and_a_rebuild_takes_no_view_along(
    store: Store, folder: Path
) -> None:
    keep_half(folder)
    for name in ("one", "two"):
        start(store, folder, "--set", f"test_run.name={name}")
    exported = export(store, folder, "1", "2", "latest")
    counts = {name: len(found) for name, found in exported.items()}
    assert counts == {"prompts": 15, "evaluations": 60, "test_runs": 2, "model_configs": 4}
    with store.connect() as connection:
        prepare(connection)
        rebuild(connection)
    assert export(store, folder, "1", "2") == exported


@pytest.mark.slow
def test_a_branched_run_says_what_was_said_where_it_happened(store: Store, folder: Path) -> None:
    keep_half(folder)
    start(store, folder)
    with store.connect() as connection:
        finals = find(connection, topics=("Scored", "EvaluationAbandoned"))
        position = [row.position for row in finals][14]
    done = invoke(store.url, "resume", "1", "--at", position, "--quiet", cwd=folder)
    assert done.exit_code == 0, done.output
    exported = export(store, folder, "2")
    [run] = exported["test_runs"]
    assert run["branched_from"]["position"] == position
    assert run["evaluations"]["carried_over"] == 15
    with store.connect() as connection:
        rows = connection.execute(
            "SELECT mine.document::text, told.document::text, mine.status = told.status "
            "FROM promptguard.evaluations AS mine JOIN promptguard.evaluations AS told "
            "ON told.evaluation_id = mine.carried_over_from"
        ).fetchall()
    assert len(rows) == 15
    for mine, told, same_status in rows:
        own = {"evaluation_id": None, "test_run_id": run["test_run_id"]}
        assert {**json.loads(mine), "evaluation_id": None} == {**json.loads(told), **own}
        assert same_status
    shown = invoke(store.url, "results", "2", "--format", "jsonl", cwd=folder).stdout
    records = {each["evaluation_id"]: each for each in map(json.loads, shown.splitlines())}
    for document in exported["evaluations"]:
        record = records.pop(document["evaluation_id"])
        for name in ("request", "response", "model", "timestamp", "test_run_id"):
            assert document[name] == record[name]
    assert not records


@pytest.mark.slow
def test_all_files_of_an_export_are_of_one_moment(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prompt, *_) = (folder / "calibration.jsonl").read_bytes().splitlines()
    refused = {**orjson.loads(prompt), "content": "[fault:http401]"}
    (folder / "calibration.jsonl").write_bytes(orjson.dumps(refused))
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=folder).exit_code == 1

    def write_and_go_on(path: Path, pieces: Iterable[bytes]) -> WrittenFile:
        written = write_file(path, pieces)
        if "prompts" in path.name:
            with store.connect() as connection:
                last = list(find(connection, topics=("RunPaused",)))[-1]
            resumed = RunResumed(
                originator_id=last.stream_id, originator_version=last.version + 1,
                run_id=last.run_id, timestamp=datetime.now(UTC), who="w", where="h",
                code_version="meanwhile", packages={},
            )  # fmt: skip
            store.log.events.put([resumed])
        return written

    with monkeypatch.context() as patched:
        patched.setattr(export_command, "write_file", write_and_go_on)
        assert export(store, folder, "latest")["test_runs"][0]["status"] == "paused"
    assert export(store, folder, "latest")["test_runs"][0]["status"] == "running"


def test_shapes_are_listed_and_everything_that_is_missing_is_said(
    store: Store, folder: Path, mock_url: str
) -> None:
    listed = invoke(store.url, "export", "--json", "--shape", cwd=folder)
    assert {"csv", "promptguard"} <= {each["shape"] for each in json.loads(listed.stdout)}
    done = invoke(store.url, "export", "--shape=promptgard", cwd=folder)
    assert done.exit_code == 2
    assert done.stderr.count("[missing-option]") == 2 and "[unknown-name]" in done.stderr
    write_suite(folder, 1)
    write_configuration(folder, mock_url)
    start(store, folder)
    done = invoke(
        store.url, "export", "latest", "--shape", "promptguard", "--output", "out", cwd=folder
    )
    assert done.exit_code == 2 and "[wrong-dialect]" in done.stderr
    assert not (folder / "out").exists()
