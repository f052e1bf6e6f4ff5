"""Runs of every dialect become files that are valid for the tools that read them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, mock_server, write_configuration
from tests.acceptance.exports.test_shapes import SHAPES, schema

SUITES = Path(__file__).parents[3] / "suites"
RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "redteam": ("redteam/safety_policy.jsonl", "tests.servers.judging_server", {"judges": 1}),
    "promptguard": ("promptguard/reciprocity.jsonl", "tests.servers.judging_server", {}),
    "benchmark": ("benchmark/text.yaml", "tests.servers.benchmark_server", {"judge": 1}),
    "command": ("commands/posix.toml", "tests.servers.judging_server", {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", RUNS)
@pytest.mark.thinned(whole=2)
def test_a_run_of_any_dialect_is_exported_in_every_shape(
    dialect: str, store: Store, tmp_path: Path
) -> None:
    suite, module, judged = RUNS[dialect]
    shutil.copy(SUITES / suite, tmp_path)
    with mock_server(0, module) as url:
        judge = {"provider": "openai", "base_url": url, "model": "judge"}
        more = {name: [judge] if name == "judges" else judge for name in judged}
        write_configuration(
            tmp_path, url, **more,
            prompts={"path": Path(suite).name, "dialect": dialect}, selection={"limit": 4},
        )  # fmt: skip
        done = invoke(store.url, "start", "run.yaml", "--quiet", "--allow-unlisted", cwd=tmp_path)
    assert done.exit_code in (0, 1, 3), done.output

    def exported(shape: str) -> dict[str, list[Any]]:
        folder = tmp_path / shape
        options = ("--shape", shape, "-o", folder, "--json")
        done = invoke(store.url, "export", 1, *options, cwd=tmp_path)
        assert done.exit_code == 0, done.output
        assert orjson.loads(done.stdout)
        found: dict[str, list[Any]] = {}
        for path in sorted(folder.rglob("*.*")):
            if path.suffix in (".json", ".jsonl", ".sarif"):
                text = path.read_text()
                lines = text.splitlines() if path.suffix == ".jsonl" else [text]
                found.setdefault(path.suffix, []).extend(map(json.loads, lines))
        return found

    told = schema("inspect-eval-log.schema.json")
    check = {"$ref": "#/components/schemas/EvalLog", "components": told["components"]}
    (log,) = exported("inspect")[".json"]
    jsonschema.Draft202012Validator(check).validate(log)
    assert log["samples"] and log["eval"]["metadata"]["failproof_es"]["dialect"] == dialect
    (sarif,) = exported("sarif")[".sarif"]
    jsonschema.Draft4Validator(schema("sarif-2.1.0.schema.json")).validate(sarif)
    records = exported("every-eval-ever")
    for record in records.get(".json", ()):
        jsonschema.Draft7Validator(schema("every-eval-ever.eval.schema.json")).validate(record)
    one = jsonschema.Draft7Validator(schema("every-eval-ever.instance_level_eval.schema.json"))
    for sample in records.get(".jsonl", ()):
        one.validate(sample)
    assert exported("otel")[".jsonl"]
    for shape in {*SHAPES} - {"inspect", "sarif", "every-eval-ever", "otel"}:
        exported(shape)
