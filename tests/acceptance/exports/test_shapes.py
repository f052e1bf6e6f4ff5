"""Each shape of `export` is opened by its own tool, or is valid by its own schema."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree as ET

import duckdb
import jsonschema
import orjson
import pytest
from lxml import etree
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from ruamel.yaml import YAML

from failproof_es.exports import parquet
from failproof_es.exports.exporter import LeftOut
from failproof_es.exports.registry import EXPORTERS
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration
from tests.conftest import create_database, drop_database, home_of
from tests.documented import ROOT, blocks
from tests.plugin_packages import install, look_again
from tests.servers.collector import attributes, collector

SCHEMAS = Path(__file__).parents[2] / "unit/exports/schemas"
CASES = 201
SHAPES = [name for name in EXPORTERS.names() if name != "hf-eval-results"]
"""Every shape that needs no settings."""
"""A window of evaluations, and one more."""
HOSTILE = "=1+1 \x00 \x1b[2J \u202e </script> @cmd"
REFUSED, ODD = "Case 1 [fault:http400]", f"Say {HOSTILE}"


@dataclass(frozen=True)
class Recorded:
    """A log with one run, and the folder with its suite."""

    url: str
    folder: Path

    def export(self, shape: str, *more: object, runs: tuple[object, ...] = (1,)) -> Exported:
        """What the shape wrote."""
        folder = self.folder / f"out-{uuid4().hex}"
        done = invoke(
            self.url, "export", *runs, "--shape", shape, "-o", folder, "--json", *more,
            cwd=self.folder,
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        return Exported(folder, orjson.loads(done.stdout))


@dataclass(frozen=True)
class Exported:
    """The files of an export, and what was said of them."""

    folder: Path
    said: list[dict[str, Any]]

    def only(self, pattern: str) -> Path:
        """The one file of that name."""
        (found,) = self.folder.rglob(pattern)
        return found

    @property
    def left_out(self) -> dict[str, int]:
        """What the format could not hold."""
        rows = self.said[-1].get("left_out", []) if self.said else []
        return {row["left_out"]: row["count"] for row in rows}


@pytest.fixture(scope="module")
def recorded(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Recorded]:
    name = f"exported_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    folder = tmp_path_factory.mktemp("exported")
    url = postgres_server.url.replace("/failproof?", f"/{name}?")
    prompts = [ODD, REFUSED, *(f"Case {n}" for n in range(2, CASES))]
    with (folder / "suite.jsonl").open("wb") as suite:
        for n, prompt in enumerate(prompts):
            case = {"case_id": f"=case-{n}", "suite_id": "gen", "prompt": prompt,
                    "expected_response": "nothing like it" if n == 0 else f"Case {n}"}  # fmt: skip
            suite.write(orjson.dumps(case) + b"\n")
    prices = [{"model": "mock", "input_usd_per_million": 1.5, "output_usd_per_million": 6}]
    write_configuration(folder, mock_url, prices={"version": "2026-11-01", "models": prices})
    with home_of(folder):
        done = invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
        assert done.exit_code in (0, 1), done.output
        yield Recorded(url, folder)
    drop_database(postgres_server, name)


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text())


def test_csv_has_a_row_for_each_evaluation_and_no_formula(recorded: Recorded) -> None:
    exported = recorded.export("csv")
    rows = list(csv.DictReader(StringIO(exported.only("*.csv").read_text())))
    assert [row["place"] for row in rows] == [str(n) for n in range(1, CASES + 1)]
    assert rows[0]["case_id"] == "'=case-0" and rows[0]["passed"] == "false"
    assert "\\x00" in rows[0]["answer"] and "\\u202e" in rows[0]["answer"]
    assert rows[1]["status"] == "abandoned" and rows[1]["origin"] == "asked"
    assert exported.left_out["unsafe characters"] >= 1
    assert exported.said[0]["documents"] == CASES
    digest = hashlib.sha256(exported.only("*.csv").read_bytes()).hexdigest()
    trail = invoke(recorded.url, "audit", 1, "--json", cwd=recorded.folder)
    assert digest in trail.stdout, "every file is on record with its digest"


def test_junit_is_the_one_of_results(recorded: Recorded) -> None:
    exported = recorded.export("junit").only("*.xml").read_bytes()
    invoke(recorded.url, "results", 1, "--junit", "j.xml", cwd=recorded.folder)
    assert exported == (recorded.folder / "j.xml").read_bytes()
    etree.XMLSchema(file=str(SCHEMAS / "junit-10.xsd")).assertValid(etree.fromstring(exported))
    suite = ET.fromstring(exported).findall("testsuite")[0]
    assert suite.get("tests") == str(CASES) and suite.get("errors") == "1"


def rows_of(query: str) -> list[Any]:
    """What DuckDB answers."""
    found = duckdb.sql(query)
    assert found is not None
    return found.fetchall()


def test_parquet_is_read_by_duckdb_with_exact_decimals_and_times_in_utc(
    recorded: Recorded,
) -> None:
    exported = recorded.export("parquet")
    table = f"'{exported.folder}/*_run_results.parquet'"
    found = rows_of(
        f"SELECT status, count(*), sum(cost_usd)::text, max(typeof(started_at)) FROM {table} "
        "GROUP BY status ORDER BY status"
    )
    told = {row[0]: row[1:] for row in found}
    assert told["scored"][0] == CASES - 1 and told["abandoned"][0] == 1
    assert told["scored"][2] == "TIMESTAMP WITH TIME ZONE"
    with Store.open(recorded.url).connect() as connection:
        row = connection.execute("SELECT sum(cost_usd)::text FROM projections.run_results")
        (exact,) = row.fetchone() or ("",)
    assert told["scored"][1].rstrip("0") == exact.rstrip("0")
    (answer,) = rows_of(f"SELECT answer FROM {table} WHERE case_id = '=case-0'")[0]
    assert json.loads(answer).endswith(HOSTILE)
    assert {each["collection"] for each in exported.said} > {"runs", "cost", "reviews"}
    # The query of the page runs on what is exported.
    (query,) = (b.text for b in blocks(ROOT / "docs/how-to/export.md") if b.language == "sql")
    ((model, evaluations, usd),) = rows_of(query.replace("tables/", f"{exported.folder}/"))
    assert (model, evaluations) == ("mock", CASES) and usd > 0


def test_rows_are_read_a_batch_at_a_time_and_none_is_lost(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(recorded.url).connect() as connection:
        runs = [row[0] for row in connection.execute("SELECT run_id FROM failproof.run_list")]
        relation = parquet._relation(connection, "run_results", runs, LeftOut())
        assert relation is not None
        columns = parquet.columns_of(connection, relation)
        for batch in (1, CASES - 1, CASES, CASES + 1):
            monkeypatch.setattr(parquet, "BATCH", batch)
            sizes = [len(rows) for rows in parquet._batches(connection, relation, columns)]
            assert sum(sizes) == CASES and max(sizes) == min(batch, CASES)


TOTALS = """
from projections.protocol import Relation

class Totals:
    name = "totals"
    version = 1
    relations = (Relation("TABLE", "all_answers"), Relation("TABLE", "answers_of_run"))
    topics = frozenset({"Scored"})
    def ddl(self):
        return (
            "CREATE TABLE all_answers (model_key text PRIMARY KEY, n bigint NOT NULL);"
            "CREATE TABLE answers_of_run (run_id text PRIMARY KEY, n bigint NOT NULL)"
        )
    def apply(self, cursor, facts):
        for fact in facts:
            for table, column, value in (
                ("all_answers", "model_key", fact.payload["model_key"]),
                ("answers_of_run", "run_id", str(fact.run_id)),
            ):
                cursor.execute(
                    f"INSERT INTO {table} AS t VALUES (%s, 1) "
                    f"ON CONFLICT ({column}) DO UPDATE SET n = t.n + 1",
                    (value,),
                )
"""


def test_a_table_that_does_not_name_its_runs_is_exported_with_all_runs_alone(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = {"case_id": "a", "suite_id": "gen", "prompt": "Hi", "expected_response": "Hi"}
    (tmp_path / "suite.jsonl").write_bytes(orjson.dumps(case))
    write_configuration(tmp_path, mock_url)
    packages = tmp_path / "packages"
    offered = {"failproof_es.projections": {"totals": "totals_of_answers:Totals"}}
    with monkeypatch.context() as patched:
        install(patched, packages, "totals", offered, {"totals_of_answers": TOTALS})
        for _ in range(2):
            done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
            assert done.exit_code in (0, 1), done.output
        invoke(store.url, "projections", "rebuild", "totals", cwd=tmp_path)
        one = Recorded(store.url, tmp_path).export("parquet", runs=(1,))
        every = Recorded(store.url, tmp_path).export("parquet", "--all", runs=())
    look_again()
    tables = {"all_answers", "answers_of_run"}
    assert not tables & {each["collection"] for each in one.said}
    assert {name for name in one.left_out if name in tables} == tables
    assert tables <= {each["collection"] for each in every.said} and not tables & {*every.left_out}
    assert rows_of(f"SELECT sum(n) FROM '{every.folder}/*_all_answers.parquet'") == [(2,)]


def test_an_inspect_log_is_valid_by_the_schema_of_inspect(recorded: Recorded) -> None:
    exported = recorded.export("inspect")
    log = json.loads(exported.only("*.json").read_text())
    told = schema("inspect-eval-log.schema.json")
    check = {"$ref": "#/components/schemas/EvalLog", "components": told["components"]}
    jsonschema.Draft202012Validator(check).validate(log)
    assert log["status"] == "success" and len(log["samples"]) == CASES
    assert log["results"]["completed_samples"] == CASES
    first, second = log["samples"][:2]
    assert first["output"]["choices"][0]["message"]["content"].endswith(HOSTILE)
    assert first["scores"]["passed"]["value"] == "I" and "error" in second
    named = [f"gen/=case-{n}" for n in range(CASES)]
    assert log["eval"]["dataset"]["sample_ids"] == named  # Inspect reads no other sample
    assert sorted(each["id"] for each in log["samples"]) == sorted(named)
    metric = log["results"]["scores"][0]["metrics"]["mean"]["value"]
    shown = invoke(recorded.url, "show", 1, "--json", cwd=recorded.folder)
    assert metric == orjson.loads(shown.stdout)["accuracy"]["by_case"]


def test_every_eval_ever_is_valid_and_names_its_samples_by_their_digest(
    recorded: Recorded,
) -> None:
    exported = recorded.export("every-eval-ever", "--with", "organization=Us")
    aggregate = json.loads(exported.only("*.json").read_text())
    samples = exported.only("*_samples.jsonl")
    jsonschema.Draft7Validator(schema("every-eval-ever.eval.schema.json")).validate(aggregate)
    one = jsonschema.Draft7Validator(schema("every-eval-ever.instance_level_eval.schema.json"))
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    for row in rows:
        one.validate(row)
    details = aggregate["detailed_evaluation_results"]
    assert details["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
    assert details["total_rows"] == len(rows) == 2 * (CASES - 1)
    assert str(samples).endswith(details["file_path"])
    hashed = rows[0]["input"]["raw"] + "".join(rows[0]["input"]["reference"])
    assert rows[0]["sample_hash"] == hashlib.sha256(hashed.encode()).hexdigest()
    assert len(rows[0]["metadata"]["leaves_sha256"]) == 64
    assert exported.left_out["evaluations without a score"] == 1
    given = exported.only("*[0-9a-f].json")
    again = invoke(recorded.url, "import", "every-eval-ever", given, "--json", cwd=recorded.folder)
    told = orjson.loads(again.stdout)
    assert told["answers"] == CASES - 1 and told["source_sha256"]  # one for each evaluation
    assert aggregate["evaluation_id"].startswith(f"acceptance-{given.stem.replace('-', '')[:12]}/")


def test_files_before_a_failure_are_on_record(recorded: Recorded, tmp_path: Path) -> None:
    ours = tmp_path / "data/acceptance/openai/mock"
    ours.mkdir(parents=True)
    exported = recorded.export("every-eval-ever")
    (ours / exported.only("*[0-9a-f].json").name).mkdir()  # in the way of the second file
    options = ("--shape", "every-eval-ever", "-o", tmp_path)
    done = invoke(recorded.url, "export", 1, *options, cwd=recorded.folder)
    assert done.exit_code == 2 and "cannot be written" in done.stderr
    (samples,) = tmp_path.rglob("*_samples.jsonl")
    trail = invoke(recorded.url, "audit", 1, "--json", cwd=recorded.folder)
    assert hashlib.sha256(samples.read_bytes()).hexdigest() in trail.stdout


def test_sarif_is_valid_and_says_where_a_case_stands(recorded: Recorded) -> None:
    exported = recorded.export("sarif")
    log = json.loads(exported.only("*.sarif").read_text())
    jsonschema.Draft4Validator(schema("sarif-2.1.0.schema.json")).validate(log)
    (run,) = log["runs"]
    (found,) = run["results"]
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "suite.jsonl"  # from the folder of the export
    assert place["region"]["startLine"] == 1
    assert found["ruleId"] == run["tool"]["driver"]["rules"][0]["id"] == "gen/unrated"
    assert exported.left_out["evaluations that passed"] == CASES - 2
    assert exported.left_out["evaluations without a verdict"] == 1


def test_hugging_face_results_have_what_the_hub_asks_for(recorded: Recorded) -> None:
    named = ("--with", "dataset=openai/gsm8k", "--with", "task_id=gsm8k")
    exported = recorded.export("hf-eval-results", *named)
    path = exported.only("*.yaml")
    assert path.parent.name == ".eval_results"
    (entry,) = YAML(typ="safe", pure=True).load(path.read_text())
    assert entry["dataset"] == {"id": "openai/gsm8k", "task_id": "gsm8k"}
    shown = invoke(recorded.url, "show", 1, "--json", cwd=recorded.folder)
    assert entry["value"] == orjson.loads(shown.stdout)["accuracy"]["by_case"]
    refused = invoke(
        recorded.url, "export", 1, "--shape", "hf-eval-results", "-o", "x", cwd=recorded.folder
    )
    assert refused.exit_code == 2
    for option in ("dataset", "task_id"):
        assert re.search(rf"--with {option}: .*\[missing-option\]", refused.stderr)


def test_telemetry_in_a_file_is_what_a_collector_gets(recorded: Recorded) -> None:
    with collector() as kept:
        exported = recorded.export("otel", "--with", f"endpoint={kept.url}")
    lines = exported.only("*.otlp.jsonl").read_bytes().splitlines()
    spans = [
        span["spanId"]
        for line in map(orjson.loads, lines)
        for resource in line.get("resourceSpans", ())
        for span in resource["scopeSpans"][0]["spans"]
    ]
    assert sorted(spans) == sorted(span.span_id.hex() for span in kept.spans)
    assert len(spans) == len(set(spans)) == 2 * CASES + 1
    (run,) = (span for span in kept.spans if span.name == "run acceptance")
    evaluations = {span.span_id: span for span in kept.spans if span.name.startswith("evaluate")}
    requests = [span for span in kept.spans if span.name == "chat mock"]
    assert {span.parent_span_id for span in evaluations.values()} == {run.span_id}
    assert {span.parent_span_id for span in requests} == set(evaluations)
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in kept.spans)
    asked = {span.span_id for span in requests}
    assert {event.span_id for event in kept.events} <= asked
    assert {event.event_name for event in kept.events} == {"gen_ai.evaluation.result"}
    assert "Case 2" not in str(kept.spans)  # prompts and answers are told if asked for alone
    assert attributes(requests[0])["gen_ai.request.model"] == "mock"
    assert ExportTraceServiceRequest.FromString(b"") == ExportTraceServiceRequest()


def test_a_collector_is_taken_at_its_word(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with collector(rejects=1) as partial:
        told = recorded.export("otel", "--with", f"endpoint={partial.url}").left_out
    assert 1 <= told["spans and events at the collector"] <= partial.requests
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s3cret")
    for status, said in ((307, "HTTP 307"), (400, "HTTP 400"), (401, "HTTP 401")):
        with (
            collector() as elsewhere,
            collector(refusals=99, status=status, location=f"{elsewhere.url}/v1/traces") as kept,
        ):
            done = invoke(
                recorded.url, "export", 1, "--shape", "otel", "-o", tmp_path / "none",
                "--with", f"endpoint={kept.url}", cwd=recorded.folder,
            )  # fmt: skip
        assert done.exit_code == 2 and "s3cret" not in done.output
        assert said in done.stderr and "[delivery-failed]" in done.stderr
        assert not elsewhere.requests and not list((tmp_path / "none").glob("*"))


def test_bad_arguments_are_told_together(recorded: Recorded) -> None:
    done = invoke(
        recorded.url, "export", "--shape", "odd", "--with", "a", "--with", "b=1", "--with", "b=2",
        cwd=recorded.folder,
    )  # fmt: skip
    assert done.exit_code == 2
    codes = re.findall(r"\[([a-z-]+)\]$", done.stderr, re.MULTILINE)
    assert sorted(codes) == [
        "duplicate-option", "invalid-option", "missing-option", "missing-option", "unknown-name",
    ]  # fmt: skip
    for more in (("--with", "a=1"), ("--all",)):
        done = invoke(
            recorded.url, "export", 1, "--shape", "csv", "-o", "x", *more, cwd=recorded.folder
        )
        assert done.exit_code == 2
    secret = invoke(
        recorded.url, "export", 1, "--shape", "otel", "-o", "x",
        "--with", "endpoint=http://user:hunter22@localhost:4318", cwd=recorded.folder,
    )  # fmt: skip
    assert "[key-exposed]" in secret.stderr and "hunter22" not in secret.output


def test_a_log_without_runs_is_exported_as_nothing(store: Store, tmp_path: Path) -> None:
    for shape in SHAPES:
        options = ("--shape", shape, "--all", "-o", tmp_path / shape, "--json")
        done = invoke(store.url, "export", *options, cwd=tmp_path)
        assert done.exit_code == 0, done.output
        assert all(each["documents"] == 0 for each in orjson.loads(done.stdout))
