"""A configuration is read whole, or every reason why not is said."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

import pytest

from failproof_es.configuration.loading import configuration_from_resolved, load_configuration
from failproof_es.configuration.schema import Configuration
from failproof_es.core.case import run_id
from failproof_es.problems import InvalidInput, Problem
from tests.every import every
from tools.configuration_reference import reference
from tools.configuration_schema import schema_json

CONFIGS = Path(__file__).parents[3] / "configs"
KEY = "sk-proj-Ab3Ab3Ab3Ab3Ab3Ab3"
REFERENCE = CONFIGS.parent / "docs" / "reference" / "configuration.md"
GOOD = """\
test_run: {name: smoke}
models:
  - {provider: local, model: smollm2, version: 2024-10-22, version_check: name, temperature: 0}
prompts: {path: suites/}
"""


def problems_of(tmp_path: Path, text: str | bytes) -> list[Problem]:
    path = tmp_path / "run.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidInput) as raised:
        load_configuration(path)
    return raised.value.problems


@every("path", sorted(CONFIGS.glob("*.yaml")))
def test_what_ships_is_valid(path: Path) -> None:
    load_configuration(path)


def test_the_committed_schema_is_up_to_date() -> None:
    assert (CONFIGS / "failproof-es.schema.json").read_text() == schema_json()


def test_the_reference_in_the_docs_is_that_of_the_schema_and_has_every_key() -> None:
    page = reference()
    assert REFERENCE.read_text() == page, (
        "write it anew: python -m tools.configuration_reference > docs/reference/configuration.md"
    )
    schema = Configuration.model_json_schema(by_alias=True)
    for part in (schema, *schema["$defs"].values()):
        assert all(f"\n| `{key}` |" in page for key in part["properties"])


@every(
    ("model", "field", "code"),
    [
        ("{provider: local, model: m, version: v}", "version", "unsupported-feature"),
        (
            "{provider: python, class: 'a:B', model: m, version: v}",
            "version",
            "unsupported-feature",
        ),
        ("{provider: local, model: m, version_check: name}", "version_check", "no-effect"),
        ("{provider: local, model: m, version_check: no}", "version_check", "invalid-value"),
    ],
)
def test_a_version_that_nobody_would_check_is_refused(
    tmp_path: Path, model: str, field: str, code: str
) -> None:
    text = f"test_run: {{name: x}}\nmodels: [{model}]\nprompts: {{path: p}}\n"
    [problem] = problems_of(tmp_path, text)
    assert problem.field == f"models[0].{field}" and problem.code == code


def test_a_recorded_configuration_is_rebuilt_and_the_name_of_the_run_id_changes_no_digest(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(GOOD)
    loaded = load_configuration(path)
    assert loaded.configuration.models[0].version == "2024-10-22"
    assert configuration_from_resolved(loaded.resolved()) == loaded.configuration
    path.write_text(
        GOOD.replace("{name: smoke}", "{name: smoke, id: 6d1f0a3e-33c5-4a36-9b6c-0d5a5a0c1f11}")
    )
    assert load_configuration(path).digest() == loaded.digest()
    path.write_text(GOOD.replace("temperature: 0", "temperature: 1"))
    assert load_configuration(path).digest() != loaded.digest()


CLAUDE = "provider: anthropic, model: m, api_key_env: KEY"
AWS = "provider: bedrock, model: m"
AZURE = "provider: azure, model: m, api_key_env: KEY"
OPENAI = "provider: openai, model: m, base_url: 'http://127.0.0.1:9/v1'"
GPT = "provider: openai-responses, model: m"
OWN = "provider: python, model: m, class: 'a:B'"
KEY = "sk-proj-" + "Ab3" * 16


@every(
    ("extra", "field", "code"),
    [
        ("execution: {parallel_worker: 3}", "execution.parallel_worker", "unknown-field"),
        ("execution: {parallel_workers: 0}", "execution.parallel_workers", "out-of-range"),
        ("execution: {parallel_workers: '4'}", "execution.parallel_workers", "wrong-type"),
        (
            "output: {file: {path: '{timestamp}{user}.jsonl'}}",
            "output.file.path",
            "unknown-placeholder",
        ),
        ("judge: {provider: openai, model: m}", "judge.base_url", "missing-field"),
        ("test_run: {name: again}", "test_run", "duplicate-field"),
        (
            "judge: {provider: openai, model: m, base_url: 'ftp://x'}",
            "judge.base_url",
            "invalid-url",
        ),
        (
            "judge: {provider: local, model: m, base_url: 'http://x'}",
            "judge.base_url",
            "unsupported-feature",
        ),
        (
            "judge: {provider: grok, model: m}",
            "judge.provider",
            "unknown-name",
        ),
        (
            "judge: {provider: openai-compatible, model: m}",
            "judge.provider",
            "unknown-name",
        ),
        (f"judge: {{{AWS}}}", "judge.options", "missing-field"),
        (f"judge: {{{AWS}, options: {{region: Ohio}}}}", "judge.options", "invalid-value"),
        (
            f"judge: {{{AWS}, options: {{region: us-east-1, x: 1}}}}",
            "judge.options",
            "unknown-field",
        ),
        (
            f"judge: {{{AWS}, options: {{region: us-east-1, access_key_env: 7}}}}",
            *("judge.options", "invalid-value"),
        ),
        (
            f"judge: {{{AWS}, options: {{region: us-east-1, session_token_env: T}}}}",
            *("judge.options", "no-effect"),
        ),
        (f"judge: {{{AZURE}}}", "judge.base_url", "missing-field"),
        (f"judge: {{{AZURE}, base_url: 'http://x/openai/v1'}}", "judge.base_url", "invalid-url"),
        (
            f"judge: {{{AZURE}, base_url: 'http://x', options: {{api_version: latest}}}}",
            *("judge.options", "invalid-value"),
        ),
        (
            f"judge: {{{AZURE}, base_url: 'http://x', options: {{a: 1}}}}",
            "judge.options",
            "unknown-field",
        ),
        (
            "judge: {provider: mistral, model: m, temperature: 1.8}",
            "judge.temperature",
            "out-of-range",
        ),
        (
            "judge: {provider: vertex, model: m, options: {project: p}}",
            *("judge.options", "missing-field"),
        ),
        (f"judge: {{{GPT}, proxy: 'socks5://x'}}", "judge.proxy", "invalid-url"),
        (f"judge: {{{GPT}, proxy: 'http://u:p@x'}}", "judge.proxy", "key-exposed"),
        (f"judge: {{{GPT}, proxy: 'http://x:0'}}", "judge.proxy", "invalid-url"),
        (f'judge: {{{GPT}, proxy: "http://x\\n"}}', "judge.proxy", "invalid-url"),
        (f"judge: {{{GPT}, proxy: 'http://\u2603.com'}}", "judge.proxy", "invalid-url"),
        (f"judge: {{{GPT}, proxy: 'http://x/y'}}", "judge.proxy", "invalid-url"),
        (f"judge: {{{GPT}, proxy: 'http://[::1'}}", "judge.proxy", "invalid-url"),
        (f"judge: {{{GPT}, headers: {{'a b': V}}}}", "judge.headers", "invalid-name"),
        (f"judge: {{{GPT}, headers: {{Host: V}}}}", "judge.headers", "reserved-field"),
        (f"judge: {{{GPT}, headers: {{X-A: 'a secret'}}}}", "judge.headers", "key-exposed"),
        (f"judge: {{{GPT}, headers: {{X-A: V, x-a: V}}}}", "judge.headers", "duplicate-field"),
        (f"judge: {{{OWN}, headers: {{X-A: V}}}}", "judge.headers", "unsupported-feature"),
        (f"judge: {{{OWN}, ca_file: x}}", "judge.ca_file", "unsupported-feature"),
        ("judge: {provider: gemini, model: models/g}", "judge.model", "invalid-value"),
        (
            f"judge: {{{GPT}, seed: 7}}",
            "judge.seed",
            "unsupported-feature",
        ),
        (f"judge: {{{GPT}, parameters: {{user: {KEY}}}}}", "judge.parameters.user", "key-exposed"),
        (f"judge: {{{GPT}, parameters: {{api_key: {KEY}}}}}", "judge.parameters", "key-exposed"),
        (
            f"output: {{file: {{path: '{KEY}/{{timestamp}}.jsonl'}}}}",
            "output.file.path",
            "key-exposed",
        ),
        (f"judge: {{{GPT}, options: {{leave: [x]}}}}", "judge.options", "unknown-field"),
        (f"judge: {{{GPT}, options: {{leave_out: [model]}}}}", "judge.options", "invalid-value"),
        (f"judge: {{{GPT}, options: {{leave_out: x}}}}", "judge.options", "invalid-value"),
        (f"judge: {{{OPENAI}, options: {{leave: [x]}}}}", "judge.options", "unknown-field"),
        (f"judge: {{{OPENAI}, options: {{max_tokens_as: x}}}}", "judge.options", "invalid-value"),
        (
            f"judge: {{{OPENAI}, options: {{max_tokens_as: max_completion_tokens}}, "
            "parameters: {max_completion_tokens: 3}}",
            "judge.parameters",
            "reserved-field",
        ),
        (
            f"judge: {{{GPT}, parameters: {{background: true}}}}",
            "judge.parameters",
            "reserved-field",
        ),
        (f"judge: {{{CLAUDE}, seed: 7}}", "judge.seed", "unsupported-feature"),
        (f"judge: {{{CLAUDE}, temperature: 1.5}}", "judge.temperature", "out-of-range"),
        (
            f"judge: {{{CLAUDE}, structured_output: true}}",
            "judge.structured_output",
            "unsupported-feature",
        ),
        (
            f"judge: {{{OWN}, structured_output: true}}",
            "judge.structured_output",
            "unsupported-feature",
        ),
        (f"judge: {{{OWN}, parameters: {{seed: 7}}}}", "judge.parameters", "reserved-field"),
        ("judges: [{provider: openai, model: m}]", "judges[0].base_url", "missing-field"),
        (
            "judge: {provider: anthropic, model: m, api_key_env: ~}",
            "judge.api_key_env",
            "missing-field",
        ),
        ("judge: {provider: python, model: m}", "judge.class", "missing-field"),
        ("output: {database: {enabled: false}}", "output.database.enabled", "invalid-value"),
        ("output: {database: {real_time: false}}", "output.database.real_time", "invalid-value"),
        ("output: {database: {realtime: true}}", "output.database.realtime", "unknown-field"),
        ("output: {file: {format: csv}}", "output.file.format", "invalid-value"),
        ("output: {file: {checkpoint_every: 0}}", "output.file.checkpoint_every", "out-of-range"),
        ("execution: {retry_attempts: -1}", "execution.retry_attempts", "out-of-range"),
        ("execution: {retry_delay: 1}", "execution.retry_delay", "unknown-field"),
        ("execution: {timeout_ms: 1}", "execution.timeout_ms", "unknown-field"),
    ],
)
@pytest.mark.long
def test_a_defect_is_named_with_its_line_and_field(
    tmp_path: Path, extra: str, field: str, code: str
) -> None:
    (problem,) = problems_of(tmp_path, GOOD + extra + "\n")
    assert (problem.line, problem.field, problem.code) == (5, field, code)


def test_a_configuration_whose_path_no_record_can_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"odd\xff.yaml")
    path.write_text(GOOD)
    with pytest.raises(InvalidInput, match=r"\[path-not-utf8\]"):
        load_configuration(path)


@every("parameters", [r'{x: ["\ud800"]}', r'{"\ud800": {x: 1}}', "{x: .inf}"])
def test_parameters_that_no_json_holds_are_refused(tmp_path: Path, parameters: str) -> None:
    judge = f"judge: {{provider: openai, model: m, base_url: 'http://x', parameters: {parameters}}}"
    (problem,) = problems_of(tmp_path, GOOD + judge + "\n")
    assert problem.field is not None and problem.field.startswith("judge.parameters")
    assert problem.code == "not-storable"


@every(
    "extra",
    [
        f"judge: {{{CLAUDE}, temperature: 1}}",
        "judge: {provider: local, model: smollm2, structured_output: true}",
        "output: {file: {enabled: false, path: always-the-same.jsonl}}",
        "output: {database: {enabled: true, real_time: true}}",
        f"judge: {{{OPENAI}, parameters: {{eos_token: '</s>', prompt_cache_key: a, token: 7}}}}",
        f"judge: {{{OPENAI}, parameters: {{schema: {{api_key: {{type: string}}}}}}}}",
    ],
)
def test_what_a_rule_allows_is_loaded(tmp_path: Path, extra: str) -> None:
    (tmp_path / "run.yaml").write_text(GOOD + extra + "\n")
    assert load_configuration(tmp_path / "run.yaml").configuration


@every(
    "extra",
    [
        "judge: {provider: openai, model: m, api_key_env: sk-s3cr3t}",
        "judge: {provider: openai, model: m, api_key: sk-s3cr3t}",
        "judge: {provider: openai, model: m, base_url: 'http://u:s3cr3t@host/v1'}",
        "judge: {provider: openai, model: m, base_url: 'http://host/v1?key=s3cr3t'}",
        "judge: {provider: openai, model: m, base_url: 'http://host/v1#s3cr3t'}",
        "judge: {provider: python, model: m, class: sk-s3cr3t}",
        "judge: [{api_key: s3cr3t}]",
        f"judge: {{{OPENAI}, parameters: {{api_key: s3cr3t}}}}",
        f"judge: {{{OPENAI}, parameters: {{aws_secret_access_key: s3cr3t}}}}",
        f"judge: {{{OPENAI}, parameters: {{oauth: {{client_secret: s3cr3t}}}}}}",
        f"judge: {{{OPENAI}, parameters: {{extra_headers: {{Authorization: Bearer s3cr3t}}}}}}",
        f"judge: {{{OPENAI}, parameters: {{tools: [{{type: mcp, authorization: s3cr3t}}]}}}}",
    ],
)
def test_a_secret_is_refused_and_not_repeated(tmp_path: Path, extra: str) -> None:
    text = "\n".join(str(problem) for problem in problems_of(tmp_path, GOOD + extra))
    assert "judge" in text
    assert "s3cr3t" not in text


@every(
    ("text", "code"),
    [
        (b"", "empty-file"),
        (b"- a\n", "not-a-configuration"),
        (b"a: \xff\n", "not-utf8"),
        (b"a: [1\nb: 2\n", "not-yaml"),
        (b"a: &x 1\nb: *x\n", "unsupported-yaml"),
        (b"a: !!python/object:os.system x\n", "unsupported-yaml"),
        (b"#" * 1_000_001, "file-too-large"),
        (b"a: " + b"[" * 20_000, "nested-too-deeply"),
        (b"a: " + b"9" * 6_000 + b"\n", "out-of-range"),
    ],
)
@pytest.mark.long
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, text: bytes, code: str) -> None:
    assert code in {problem.code for problem in problems_of(tmp_path, text)}


@every(
    ("prompts", "field", "code"),
    [
        ("{source: database}", "prompts.collection", "missing-field"),
        ("{source: database, collection: c, path: x}", "prompts.path", "no-effect"),
        ("{path: x, collection: c}", "prompts.collection", "no-effect"),
        ("{source: file}", "prompts.path", "missing-field"),
        ("{source: databse, path: x}", "prompts.source", "invalid-value"),
        ("{path: x, filters: {categry: [a]}}", "prompts.filters.categry", "unknown-field"),
        ("{path: x, filters: {category: a}}", "prompts.filters.category", "wrong-type"),
        ("{path: x, filters: {category: []}}", "prompts.filters.category", "empty-value"),
    ],
)
def test_the_source_of_prompts_has_what_it_needs_and_nothing_else(
    tmp_path: Path, prompts: str, field: str, code: str
) -> None:
    text = GOOD.replace("{path: suites/}", prompts)
    (problem,) = problems_of(tmp_path, text)
    assert (problem.line, problem.field, problem.code) == (4, field, code)


@every("value", ["${HOME}", "x-${MODEL:-y}", "{{env.MODEL}}", "{{ env.MODEL }}"])
def test_a_reference_to_an_environment_variable_is_refused_not_sent(
    tmp_path: Path, value: str
) -> None:
    (problem,) = problems_of(tmp_path, GOOD.replace("smollm2", f"'{value}'"))
    assert (problem.line, problem.field) == (3, "models[0].model")
    assert problem.code == "placeholder-unresolved"


@every(
    ("timestamp", "moment"),
    [
        ("2026-11-30T10:00", "2026-11-30T10:00:00Z"),
        ("'2026-11-30T10:00:00+02:00'", "2026-11-30T10:00:00+02:00"),
        ("2026-11-30", "2026-11-30T00:00:00Z"),
        ("'20261130'", "2026-11-30T00:00:00Z"),
        ("ISO-8601", None),
    ],
)
def test_a_timestamp_is_a_time_in_utc_unless_it_says_another(
    tmp_path: Path, timestamp: str, moment: str | None
) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(GOOD.replace("{name: smoke}", f"{{name: smoke, timestamp: {timestamp}}}"))
    resolved = load_configuration(path).resolved()
    assert resolved["test_run"]["timestamp"] == moment


@every(
    ("timestamp", "code"),
    [("20261130", "wrong-type"), ("2026", "wrong-type"), ("1.5", "wrong-type"),
     ("true", "wrong-type"), ("tomorrow", "invalid-value"), ("'2026-13-01'", "invalid-value")],
)  # fmt: skip
def test_a_number_is_no_timestamp(tmp_path: Path, timestamp: str, code: str) -> None:
    text = GOOD.replace("{name: smoke}", f"{{name: smoke, timestamp: {timestamp}}}")
    [problem] = problems_of(tmp_path, text)
    assert (problem.code, problem.line, problem.field) == (code, 1, "test_run.timestamp")


def test_the_day_of_prices_is_one_of_the_calendar(tmp_path: Path) -> None:
    prices = "prices: {version: 2026-99-99, models: [{model: m, input_usd_per_million: 1, "
    text = GOOD + prices + "output_usd_per_million: 1}]}\n"
    [problem] = problems_of(tmp_path, text)
    assert (problem.field, problem.code) == ("prices.version", "invalid-value")


@every("value", ["${NAME:-%s}", "{{ env['NAME'] | default('%s') }}"])
def test_of_a_reference_to_a_variable_its_name_is_quoted_and_a_key_is_still_a_key(
    tmp_path: Path, value: str
) -> None:
    parameters = f'parameters: {{user: "{value % KEY}"}}'
    problems = problems_of(tmp_path, GOOD.replace("temperature: 0", parameters))
    assert [problem.code for problem in problems] == ["key-exposed", "placeholder-unresolved"]
    assert "${NAME} would" in str(problems[1]) and KEY not in str(problems)


def test_a_reference_in_a_parameter_is_refused_too_and_every_one_at_once(tmp_path: Path) -> None:
    parameters = "parameters: {user: '{{env.USER}}', metadata: {team: ['${TEAM}']}}"
    problems = problems_of(tmp_path, GOOD.replace("temperature: 0", parameters))
    fields = ["user", "metadata.team[0]"]
    assert [problem.field for problem in problems] == [f"models[0].parameters.{f}" for f in fields]


def test_where_a_dialect_or_a_class_reads_it_a_dollar_is_just_text(tmp_path: Path) -> None:
    text = GOOD.replace("{path: suites/}", "{path: suites/, options: {template: '${x}'}}").replace(
        "temperature: 0", "parameters: {stop: '${END}'}"
    )
    (tmp_path / "run.yaml").write_text(text)
    load_configuration(tmp_path / "run.yaml")


PRICE_FILE = """\
version: "2026-11-01"
models:
  - model: smollm2
    input_usd_per_million: 0.15
    output_usd_per_million: 0
"""


def test_the_content_of_a_price_file_becomes_part_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PRICE_FILE)
    (tmp_path / "run.yaml").write_text(GOOD + "prices: {file: prices.yaml}\n")
    loaded = load_configuration(tmp_path / "run.yaml")
    (tmp_path / "prices.yaml").unlink()
    rebuilt = configuration_from_resolved(loaded.resolved())
    assert rebuilt == loaded.configuration
    assert rebuilt.prices.version == "2026-11-01"
    assert rebuilt.prices.models[0].input_usd_per_million == 0.15


@every(
    ("prices", "content", "place", "code"),
    [
        ("{file: absent.yaml}", "", "run.yaml:5: prices.file", "file-not-found"),
        ("{file: p.yaml}", "models: [", "p.yaml:1", "not-yaml"),
        ("{file: p.yaml}", PRICE_FILE.replace("0.15", "-1"), "p.yaml:4", "out-of-range"),
        ("{file: p.yaml}", PRICE_FILE.replace("0.15", ".nan"), "p.yaml:4", "out-of-range"),
        ("{file: p.yaml}", PRICE_FILE.replace("input_", "inpt_"), "p.yaml:4", "unknown-field"),
        ("{file: p.yaml}", PRICE_FILE.replace('"2026-11-01"', "new"), "p.yaml:1", "invalid-value"),
        (
            "{file: p.yaml, version: '2026-11-01'}",
            PRICE_FILE,
            "run.yaml:5: prices",
            "options-conflict",
        ),
        (
            "{models: [{model: m, input_usd_per_million: 1, output_usd_per_million: 1}]}",
            "",
            "run.yaml:5: prices.version",
            "missing-field",
        ),
    ],
)
def test_a_defect_in_prices_is_named_with_its_place(
    tmp_path: Path, prices: str, content: str, place: str, code: str
) -> None:
    (tmp_path / "p.yaml").write_text(content)
    problems = problems_of(tmp_path, f"{GOOD}prices: {prices}\n")
    assert any(place in str(problem) and problem.code == code for problem in problems)


@every(("name", "code"), [("~nobody-of-this-name/p.yaml", "not-found"), ("p" * 300, "unreadable")])
def test_a_price_file_out_of_reach_is_a_problem_of_its_field(
    tmp_path: Path, name: str, code: str
) -> None:
    [problem] = problems_of(tmp_path, GOOD + f"prices: {{file: {name}}}\n")
    place = (problem.path, problem.line, problem.field)
    assert place == (tmp_path / "run.yaml", 5, "prices.file") and problem.code == f"file-{code}"


def test_a_configuration_out_of_reach_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be read: .*\[file-unreadable\]"):
        load_configuration(tmp_path / ("x" * 300))


def test_of_a_file_without_end_no_more_is_read_than_a_configuration_may_hold() -> None:
    with pytest.raises(InvalidInput, match=r"\[file-too-large\]"):
        load_configuration(Path("/dev/zero"))


SECRET = "hunter2"


@every(
    ("content", "expected"),
    [
        (f"root:x:0:0:{SECRET}:/root:/bin/bash\ndaemon:x:1:1:{SECRET}:/:/bin/sh\n", "p.yaml:1: "),
        (f"{SECRET}\n", "p.yaml:1: "),
        (f"- {SECRET}\n", "p.yaml:1: "),
        (f"[{SECRET}]\nPermitRootLogin {SECRET}\n", "p.yaml:2: is not YAML"),
        (f"a: b: {SECRET}\n", "p.yaml:1: is not YAML"),
        (f"@{SECRET}\n", "p.yaml:1: is not YAML"),
        (f"{SECRET}: 1\n{SECRET}: 2\n", "p.yaml:2: a key appears twice"),
        (f"{SECRET}: 1\nversion: '2026-11-01'\nmodels: []\n", "p.yaml:1: is not a known field"),
        (PRICE_FILE.replace("0.15", SECRET), "p.yaml:4: models[0].input_usd_per_million"),
        (PRICE_FILE.replace("input_", f"{SECRET}_"), "p.yaml:4: models[0]: is not a known field"),
        (PRICE_FILE.replace('"2026-11-01"', SECRET), "p.yaml:1: version"),
        (f"version: '2026-11-01'\nmodels: {SECRET}\n", "p.yaml:2: models"),
        (f"version: '2026-11-01'\nmodels: {{{SECRET}: 1}}\n", "p.yaml:2: models"),
        (f"version: '2026-11-01'\nmodels: [{SECRET}]\n", "p.yaml:2: models[0]"),
        (f"a: !{SECRET} 1\n", "p.yaml:1: tags"),
        (f"a: *{SECRET}\n", "p.yaml:1: aliases"),
        (f"? [{SECRET}]\n: 1\n", "p.yaml:1: a key must be"),
        ("\x00" + SECRET, "p.yaml:1: is not YAML"),
        (f'a: "\\x{SECRET}"\n', "p.yaml:1: is not YAML"),
    ],
)
@pytest.mark.long
def test_no_error_repeats_what_stands_in_a_price_file(
    tmp_path: Path, content: str, expected: str
) -> None:
    """The configuration may name any file: its owner may not be who sees the error."""
    (tmp_path / "p.yaml").write_text(content)
    problems = problems_of(tmp_path, f"{GOOD}prices: {{file: p.yaml}}\n")
    text = "\n".join(map(str, problems)).replace(f"{tmp_path}/", "")
    assert expected in text
    assert SECRET not in text and "root" not in text and "hunter" not in text


def test_the_error_of_a_price_file_says_what_is_expected(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PRICE_FILE.replace("0.15", "cheap"))
    [problem] = problems_of(tmp_path, f"{GOOD}prices: {{file: p.yaml}}\n")
    assert (problem.line, problem.field) == (4, "models[0].input_usd_per_million")
    assert problem.code == "wrong-type"


def test_tiers_that_begin_at_the_same_size_are_refused(tmp_path: Path) -> None:
    tier = "{over_input_tokens: 9, input_usd_per_million: 1, output_usd_per_million: 1}"
    content = PRICE_FILE + f"    tiers: [{tier}, {tier}]\n"
    (tmp_path / "p.yaml").write_text(content)
    [problem] = problems_of(tmp_path, f"{GOOD}prices: {{file: p.yaml}}\n")
    assert problem.path == tmp_path / "p.yaml" and problem.line == 6
    assert problem.field == "models[0].tiers[1].over_input_tokens"
    inline = PRICE_FILE.replace("\n", "\n  ") + f"    tiers: [{tier}, {tier}]\n"
    [problem] = problems_of(tmp_path, f"{GOOD}prices:\n  {inline}")
    assert problem.field == "prices.models[0].tiers[1].over_input_tokens"


@every(
    ("model", "variable"),
    [
        ("provider: anthropic", "ANTHROPIC_API_KEY"),
        ("provider: anthropic, base_url: 'http://127.0.0.1:8000/v1'", "ANTHROPIC_API_KEY"),
        ("provider: anthropic, api_key_env: MINE", "MINE"),
        ("provider: openai, base_url: 'https://api.openai.com/v1'", "OPENAI_API_KEY"),
        ("provider: openai, base_url: 'https://API.openai.com:443/v1/'", "OPENAI_API_KEY"),
        ("provider: openai, base_url: 'https://api.openai.com/v1', api_key_env: MINE", "MINE"),
        ("provider: openai, base_url: 'https://api.openai.com/v1', api_key_env: ~", None),
        ("provider: openai, base_url: 'http://api.openai.com/v1'", None),
        ("provider: openai, base_url: 'https://api.openai.com:8443/v1'", None),
        ("provider: openai, base_url: 'https://api.openai.com.example.org/v1'", None),
        ("provider: openai, base_url: 'https://example.org/api.openai.com'", None),
        ("provider: openai, base_url: 'https://eu.api.openai.com/v1'", None),
        ("provider: openai, base_url: 'http://127.0.0.1:8000/v1'", None),
        ("provider: local", None),
        ("provider: python, class: 'a:B'", None),
    ],
)
def test_a_key_that_is_not_named_is_that_of_the_vendor_and_goes_to_no_other_server(
    tmp_path: Path, model: str, variable: str | None
) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(
        f"test_run: {{name: x}}\nmodels: [{{{model}, model: m}}]\nprompts: {{path: p}}\n"
    )
    loaded = load_configuration(path)
    assert loaded.configuration.models[0].api_key_env == variable
    assert configuration_from_resolved(loaded.resolved()) == loaded.configuration


@every(
    ("written", "code"),
    [
        ("latest", "invalid-name"),
        ("7", "invalid-name"),
        ("", "invalid-name"),
        (" a", "invalid-name"),
        ("a\\nb", "invalid-name"),
        ("a\\u0000", "invalid-name"),
        ("\\u202Ea", "invalid-name"),
        ("string (auto-generated if not provided)", None),
        ("№ 7", None),
        ("6d1f0a3e-33c5-4a36-9b6c-0d5a5a0c1f11", None),
    ],
)
def test_an_id_is_any_text_that_means_no_other_run(
    tmp_path: Path, written: str, code: str | None
) -> None:
    text = f'test_run: {{name: x, id: "{written}"}}\n' + GOOD.split("\n", 1)[1]
    if code is None:
        (tmp_path / "run.yaml").write_text(text)
        assert load_configuration(tmp_path / "run.yaml").configuration.test_run.id == written
    else:
        [problem] = problems_of(tmp_path, text)
        assert problem.field == "test_run.id" and problem.code == code


def test_two_texts_make_two_streams_and_a_uuid_is_its_own() -> None:
    uuid = "6d1f0a3e-33c5-4a36-9b6c-0d5a5a0c1f11"
    assert str(run_id(uuid)) == str(run_id(uuid.upper())) == uuid
    assert run_id("nightly") == run_id("nightly") != run_id("nightly ")
    assert run_id("nightly") == UUID("1204e531-82fe-8302-8317-f10b25ea9acd")


def test_a_key_is_refused_wherever_it_stands_and_once(tmp_path: Path) -> None:
    key, here = KEY, "base_url: 'https://h/v1'"
    settings = (
        "base_url: 'https://me:pass1234@host/v1'", f"{here}, api_key_env: {key}",
        f"{here}, headers: {{A: {key}}}", f"{here}, parameters: {{api_key: {key}}}",
        f"{here}, parameters: {{stop: [{key}]}}",
    )  # fmt: skip
    models = (f"{{provider: openai, model: m{n}, {text}}}" for n, text in enumerate(settings))
    templates = f"matrix: {{prompts: {{a: {{system: 'Use {key}.'}}}}}}"
    text = (
        f"test_run: {{name: x}}\nmodels: [{', '.join(models)}]\nprompts: {{path: p}}\n{templates}"
    )
    problems = problems_of(tmp_path, text)
    assert sorted(problem.field or "" for problem in problems) == [
        "matrix.prompts.a.system", "models[0].base_url", "models[1].api_key_env",
        "models[2].headers", "models[3].parameters", "models[4].parameters.stop[0]",
    ]  # fmt: skip
    assert not any(key in str(problem) or "pass1234" in str(problem) for problem in problems)


@every(
    ("name", "content", "command"),
    [
        ("promptfooconfig.yaml", "a: &x 1", "promptfoo"),
        ("promptfooconfig.mjs", "export default {}", "promptfoo"),
        ("evals.yaml", "prompts: ['{{q}}']\nproviders: [openai:m]\ntests: []", "promptfoo"),
        ("evals.json", '{"prompts": "a", "targets": ["openai:m"]}', "promptfoo"),
        ("out.json", '{"evalId": "a", "results": {}, "config": {}}', "promptfoo-results"),
        ("log.json", '{"version": 2, "status": "success", "eval": {}}', "inspect-log"),
        ("log.eval", "", "inspect-log"),
        ("samples.json", '[{"input": "a", "target": "b"}]', "inspect"),
        ("task.py", "import inspect_ai", "inspect"),
        ("my cases.parquet", "PAR1", "parquet 'FOLDER/my cases.parquet' -o"),
        ("data.arrow", "", "hf FOLDER -o"),
    ],
)
def test_a_file_of_another_tool_is_named_with_its_import_and_nothing_else(
    tmp_path: Path, name: str, content: str, command: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InvalidInput) as refused:
        load_configuration(path)
    [problem] = refused.value.problems
    remedy = (problem.remedy or "").replace(str(tmp_path), "FOLDER")
    assert f"failproof-es import {command} " in remedy
