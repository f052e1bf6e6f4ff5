"""An import up to the moment before it is recorded: what would be written, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failproof_es.configuration.loading import load_configuration
from failproof_es.engine import imported_cases
from failproof_es.engine.imported_cases import CaseImport, PreparedImport, name_of
from failproof_es.importers.protocol import Options
from failproof_es.importers.suites import WrittenSuite, write_suites
from failproof_es.problems import InvalidInput

CASE = '{"case_id": "a", "suite_id": "s", "prompt": "?"}\n'


def prepared(importing: CaseImport, *, force: bool = False) -> PreparedImport:
    return importing.prepare(Options(), [], force=force)


def test_a_model_whose_settings_are_none_here_is_left_out_and_its_key_is_not_repeated(
    tmp_path: Path,
) -> None:
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [hi]\nproviders:\n"
        "  - {id: 'openai:m-1', config: {apiKeyEnvar: sk-proj-123456}}\n"
        "  - {id: 'openai:m-2', config: {apiBaseUrl: 'https://me:pass123@host/v1'}}\n"
        "  - {id: 'openai:m-3', config: {temperature: 7}}\n"
        "  - {id: 'openai:m-4', config: {apiKeyEnvar: MY_KEY}}\n"
    )
    with CaseImport("promptfoo", tmp_path, tmp_path / "out") as importing:
        found = prepared(importing)
        [staged] = [each.staged for each in found.files if each.path.suffix == ".yaml"]
        [model] = load_configuration(staged).configuration.models
        text = staged.read_text()
    assert (model.model, model.api_key_env) == ("m-4", "MY_KEY")
    lost = [each.place.field for each in found.findings.not_mapped.entries]
    assert lost == ["openai:m-1", "openai:m-2", "openai:m-3"]
    assert "123456" not in text + repr(found.findings.not_mapped) and "pass123" not in text


def test_every_prompt_is_a_variant_and_the_embedded_model_stands_for_one_that_is_left_out(
    tmp_path: Path,
) -> None:
    prompts = "".join(f"  - '{n} {{{{q}}}}'\n" for n in range(70))
    providers = "providers: [{id: 'openai:m', config: {apiHost: '{{env.H}}'}}]\n"
    (tmp_path / "promptfooconfig.yaml").write_text(
        f"prompts:\n{prompts}{providers}"
        "tests: [{vars: {q: a}, assert: [{type: llm-rubric, value: is kind}]}, {vars: {q: b}}]\n"
    )
    with CaseImport("promptfoo", tmp_path, tmp_path / "out") as importing:
        found = prepared(importing)
        staged = [each.staged for each in found.files if each.path.suffix == ".yaml"]
        configurations = [load_configuration(path).configuration for path in staged]
    assert any("the embedded one is asked" in remark for remark in found.findings.remarks)
    for configuration in configurations:
        assert len(configuration.models) == 70
        assert {model.provider for model in configuration.models} == {"local"}
        assert configuration.models[1].prompt_template.user == "1 {prompt}"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("description", "name", "named"),
    [
        ("Support bot, v2", None, "Support-bot-v2"),
        ("Support bot", "mine", "mine"),
        ("My eval", None, "tweets"),
        ("Größe", None, "tweets"),
        ("", None, "tweets"),
    ],
)
def test_a_configuration_names_its_run_and_suite_by_its_description(
    tmp_path: Path, description: str, name: str | None, named: str
) -> None:
    (tmp_path / "tweets").mkdir()
    (tmp_path / "tweets/promptfooconfig.yaml").write_text(
        f"description: '{description}'\nprompts: ['{{{{q}}}}']\ntests: [{{vars: {{q: a}}}}]\n"
    )
    with CaseImport("promptfoo", tmp_path / "tweets", tmp_path / "out", name) as importing:
        staged = {each.path.name: each.staged for each in prepared(importing).files}
        configuration = load_configuration(staged["checked.yaml"]).configuration
        case = json.loads(staged["checked.jsonl"].read_text())
    assert (configuration.test_run.name, case["suite"]) == (named, named)


def test_suites_of_our_own_keep_their_folders_and_links_do_not_lead_out(tmp_path: Path) -> None:
    folder = tmp_path / "suites"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.jsonl").write_text(CASE)
    (folder / "b.jsonl").write_text(CASE.replace('"a"', '"b"'))
    with CaseImport("suite", folder, tmp_path / "out") as importing:
        found = prepared(importing)
        [staged] = [each.staged for each in found.files if each.path.name == "run.yaml"]
        paths = load_configuration(staged).configuration.prompts.path
    assert sorted(str(each.path.relative_to(tmp_path / "out")) for each in found.files) == [
        "b.jsonl", "run.yaml", "sub/a.jsonl",
    ]  # fmt: skip
    assert isinstance(paths, list) and sorted(paths) == ["b.jsonl", "sub/a.jsonl"]
    (tmp_path / "c.jsonl").write_text(CASE.replace('"a"', '"c"'))
    (folder / "c.jsonl").symlink_to(tmp_path / "c.jsonl")
    with (
        CaseImport("suite", folder, tmp_path / "out") as importing,
        pytest.raises(InvalidInput, match=r"c\.jsonl.*\[link-not-followed\]"),
    ):
        prepared(importing)


def test_a_kept_section_may_name_a_file_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text(CASE)
    out = tmp_path / "out"
    out.mkdir()
    price = "{model: m, input_usd_per_million: 1, output_usd_per_million: 2}"
    (out / "prices.yaml").write_text(f"version: today\nmodels: [{price}]\n")
    (out / "run.yaml").write_text("prices: {file: prices.yaml}\n")
    with (
        CaseImport("suite", tmp_path / "c.jsonl", out) as importing,
        pytest.raises(InvalidInput, match=r"prices\.yaml:1: version"),
    ):
        prepared(importing, force=True)
    (out / "prices.yaml").write_text(f"version: '2026-11-01'\nmodels: [{price}]\n")
    with CaseImport("suite", tmp_path / "c.jsonl", out) as importing:
        remarks = prepared(importing, force=True).findings.remarks
    assert remarks == [f"kept in {out / 'run.yaml'}, without comments: prices"]


def test_a_defective_case_of_our_own_stays_in_its_file_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(CASE + CASE + '{"case_id": "b"}\n')
    with CaseImport("suite", tmp_path / "a.jsonl", tmp_path / "out") as importing:
        found = prepared(importing)
        [staged] = [each.staged for each in found.files if each.path.name == "run.yaml"]
        assert load_configuration(staged).configuration.prompts.on_invalid == "skip"
        [copied] = [each.staged for each in found.files if each.path.name == "a.jsonl"]
        assert copied.read_bytes() == (tmp_path / "a.jsonl").read_bytes()
    lost = [(each.place.line, each.place.field) for each in found.findings.not_mapped.entries]
    assert found.cases == 1 and lost == [(2, "case_id"), (3, "suite_id"), (3, "prompt")]


def test_a_source_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "q.csv"
    source.write_text("prompt\na\n")

    def changing(*arguments: Any) -> list[WrittenSuite]:
        suites = write_suites(*arguments)
        source.write_text("prompt\nb\n")
        return suites

    monkeypatch.setattr(imported_cases, "write_suites", changing)
    with (
        CaseImport("csv", source, tmp_path / "out") as importing,
        pytest.raises(InvalidInput, match=r"\[file-changed\]"),
    ):
        prepared(importing)


def test_what_holds_no_case_says_why(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("prompt,expected\na,\n")
    with (
        CaseImport("csv", tmp_path / "q.csv", tmp_path / "out") as importing,
        pytest.raises(InvalidInput, match=r"(?s)\[no-cases\].*:2: expected.*\[not-mapped\]"),
    ):
        prepared(importing)


def test_the_id_of_an_import_is_of_what_was_read_and_asked(tmp_path: Path) -> None:
    def identity(name: str, content: str, kind: str = "csv") -> object:
        (tmp_path / name).write_text(content)
        with CaseImport(kind, tmp_path / name, tmp_path / "out") as importing:
            return prepared(importing).import_id

    same = identity("a.csv", "prompt\na\n")
    assert same == identity("b.csv", "prompt\na\n") != identity("a.csv", "prompt\nb\n")


@pytest.mark.parametrize(
    ("text", "name"),
    [("a b/c", "a-b-c"), ("..", "imported"), ("é", "imported"), ("-x-", "x"), ("", "imported")],
)
def test_any_text_becomes_a_name(text: str, name: str) -> None:
    assert name_of(text) == name


def test_a_line_of_json_that_is_wrong_is_told_and_not_that_the_file_is_empty(
    tmp_path: Path,
) -> None:
    (tmp_path / "s.jsonl").write_text("{bad\n")
    with (
        CaseImport("openai-evals", tmp_path / "s.jsonl", tmp_path / "out") as importing,
        pytest.raises(InvalidInput, match=r"s\.jsonl:1: bad JSON"),
    ):
        prepared(importing)
    (tmp_path / "s.jsonl").write_text(json.dumps({"input": "a", "ideal": "b"}))
    with CaseImport("openai-evals", tmp_path / "s.jsonl", tmp_path / "out") as importing:
        assert prepared(importing).cases == 1
