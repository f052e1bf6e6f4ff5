"""promptfoo's providers: which become models, and that no key goes astray."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.configuration.written import yaml_text
from failproof_es.importers.run_configuration import configuration_text
from tests.every import every
from tests.unit.importers.reading import ImportedSource, importing


@pytest.mark.parametrize(
    ("name", "refuses"),
    [
        *(("gpt-5", True), ("gpt-5-mini", True), ("gpt-5.6-luna", True), ("o3", True)),
        *(("o4-mini", True), ("gpt-5.1-chat-latest", False), ("gpt-4o", False), ("omni", False)),
    ],
)
def test_a_reasoning_model_is_asked_as_promptfoo_asks_it(
    name: str, refuses: bool, tmp_path: Path
) -> None:
    """Such models refuse a temperature and `max_tokens`: each case would end as an error."""
    found = importing(tmp_path, f"prompts: [hi]\nproviders: ['openai:{name}']\n")
    options = {"leave_out": ["temperature"], "max_tokens_as": "max_completion_tokens"}
    assert found.findings.models[0].get("options") == (options if refuses else None)


@every(
    ("name", "refuses"),
    [
        *(("claude-opus-4-7", True), ("claude-opus-4-7-20260416", True), ("claude-opus-5", True)),
        *(("claude-fable-5", True), ("claude-sonnet-4-10", True), ("claude-haiku-10", True)),
        *(("claude-opus-4-6", False), ("claude-sonnet-4-20250514", False), ("claude-2.1", False)),
        *(("claude-sonnet-4-5-20250929", False), ("claude-3-5-haiku-latest", False)),
        *(("claude-opus-4-1@20250805", False), ("claude-opus-4-0", False)),
    ],
)
def test_no_temperature_is_taken_over_for_a_claude_that_refuses_it(
    name: str, refuses: bool, tmp_path: Path
) -> None:
    source = importing(tmp_path, f"prompts: [hi]\nproviders: ['anthropic:messages:{name}']\n")
    options = {"leave_out": ["temperature"]} if refuses else None
    assert source.findings.models[0].get("options") == options


def test_models_come_over_and_keys_never_do(tmp_path: Path) -> None:
    found = importing(
        tmp_path,
        "prompts: [hi]\nproviders:\n"
        "  - openai:chat:gpt-4o-mini\n"
        "  - {id: 'anthropic:messages:claude-x', config: {apiKey: sk-SECRET, temperature: 0.5}}\n"
        "  - {'ollama:chat:llama3.2:1b': {config: {seed: 7, top_p: 0.9}}}\n"
        "  - 'openai:responses:gpt-5'\n  - exec:./x.sh\n  - file://p.py\n  - {}\n",
    )
    assert [(each["provider"], each["model"]) for each in found.findings.models] == [
        ("openai", "gpt-4o-mini"), ("anthropic", "claude-x"), ("ollama", "llama3.2:1b"),
        ("openai-responses", "gpt-5"),
    ]  # fmt: skip
    assert found.findings.models[1]["temperature"] == 0.5
    assert [each.get("options") for each in found.findings.models[::3]] == [
        None,
        {"leave_out": ["temperature"]},
    ]
    assert found.findings.models[2]["parameters"] == {"top_p": 0.9}
    assert "sk-SECRET" not in repr(found) and len(found.lost) == 4


_ELSEWHERE = "may decide where the key goes, and is not taken over: the model is left out"


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (
            "config: {apiKeyEnvar: K, apiBaseUrl: '{{env.URL}}/v1'}",
            "providers[0].config.apiBaseUrl",
        ),
        ("config: {apiKeyEnvar: K, apiBaseUrl: [a]}", "providers[0].config.apiBaseUrl"),
        ("config: {apiKeyEnvar: K, apiHost: '{{env.HOST}}'}", "providers[0].config.apiHost"),
        ("config: {apiKeyEnvar: K, headers: {X-Route: eu}}", "providers[0].config.headers"),
        ("config: {apiKeyEnvar: K, headers: file://h.yaml}", "providers[0].config.headers"),
        ("config: {apiKeyEnvar: K, proxy: 'http://p'}", "providers[0].config.proxy"),
        ("config: {apiKeyEnvar: K, baseURL: 'http://g/v1'}", "providers[0].config.baseURL"),
        (
            "config: {apiKeyEnvar: K, aSettingOfTomorrow: 1}",
            "providers[0].config.aSettingOfTomorrow",
        ),
        ("config: file://settings.yaml", "providers[0].config"),
        ("env: {OPENAI_BASE_URL: 'http://g/v1'}", "providers[0].env"),
        ("a_key_of_tomorrow: 1", "providers[0].a_key_of_tomorrow"),
    ],
)
def test_a_key_never_goes_to_the_vendor_where_a_setting_may_send_it_elsewhere(
    tmp_path: Path, settings: str, field: str
) -> None:
    source = f"prompts: [hi]\nproviders:\n  - id: openai:chat:m\n    {settings}\n"
    found = importing(tmp_path, source)
    assert found.findings.models == [] and found.findings.has_left_out_models
    assert found.lost[0].startswith(f"promptfooconfig.yaml:4:{field} {_ELSEWHERE}")


@pytest.mark.parametrize("setting", ["env: {A: b}", "commandLineOptions: {envPath: .env.gateway}"])
def test_environment_variables_of_the_source_may_send_every_key_elsewhere(
    tmp_path: Path, setting: str
) -> None:
    providers = "providers: ['openai:m', 'anthropic:messages:m', 'mistral:m']"
    found = importing(tmp_path, f"prompts: [hi]\n{providers}\n{setting}\n")
    assert found.findings.models == [] and any(_ELSEWHERE in line for line in found.lost)


def test_an_address_in_the_environment_of_promptfoo_is_not_the_vendors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway/v1")
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://gateway/v1")
    own = "{id: 'openai:chat:own', config: {apiBaseUrl: 'http://own/v1'}}"
    found = importing(tmp_path, f"prompts: [hi]\nproviders: ['openai:m', {own}]\n")
    assert [model["base_url"] for model in found.findings.models] == ["http://own/v1"]
    assert "`.env` is not read" in found.findings.remarks[0]
    assert found.lost[0].startswith(f"promptfooconfig.yaml:2:$OPENAI_BASE_URL {_ELSEWHERE}")


@pytest.mark.parametrize(
    "setting",
    [
        "apiBaseUrl: 'http://h'", "apiKey: '{{env.K}}'", "apiKeyEnvar: K",
        "headers: {X-Team: '{{env.TEAM}}'}",
    ],
)  # fmt: skip
def test_promptfoo_asks_no_address_of_an_ollama_entry_and_sends_it_no_key(
    tmp_path: Path, setting: str
) -> None:
    provider = f"{{id: 'ollama:m', config: {{{setting}}}}}"
    found = importing(tmp_path, f"prompts: [hi]\nproviders: [{provider}]\n")
    assert found.findings.models == [] and _ELSEWHERE in found.lost[0]


@pytest.mark.parametrize(("transform", "models"), [("output.trim()", 0), ("null", 1)])
def test_a_provider_whose_answers_code_changes_is_left_out(
    tmp_path: Path, transform: str, models: int
) -> None:
    provider = f"{{id: 'openai:m', transform: {transform}}}"
    found = importing(tmp_path, f"prompts: [hi]\nproviders: [{provider}]\n")
    assert len(found.findings.models) == models
    assert "providers[0].transform" in found.lost[0]


@pytest.mark.parametrize(
    ("variable", "kind", "config"),
    [
        ("OPENAI_BASE_URL", "openai", "{apiBaseUrl: null}"),
        ("MISTRAL_API_HOST", "mistral", "{apiBaseUrl: 'http://own/v1'}"),
        ("PALM_API_HOST", "google", "{}"),
        ("OLLAMA_BASE_URL", "ollama", "{}"),
    ],
)
def test_a_variable_decides_the_address_where_promptfoo_prefers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, kind: str, config: str
) -> None:
    monkeypatch.setenv(variable, "gateway")
    provider = f"{{id: '{kind}:m', config: {config}}}"
    found = importing(tmp_path, f"prompts: [hi]\nproviders: [{provider}]\n")
    assert found.findings.models == [] and f"${variable} {_ELSEWHERE}" in found.lost[0]


@pytest.mark.parametrize(
    ("kind", "config", "entry"),
    [
        ("openai:chat", "{apiHost: 'g.example:8443'}", {"base_url": "https://g.example:8443/v1"}),
        ("openai", "{apiHost: g, apiBaseUrl: 'http://h/v1'}", {"base_url": "https://g/v1"}),
        ("anthropic:messages", "{apiBaseUrl: 'http://g/'}", {"base_url": "http://g/v1"}),
        ("openai", "{apiKey: '{{ env.SHOP_KEY }}'}", {"api_key_env": "SHOP_KEY"}),
        ("openai", "{headers: {X-Team: '{{env.TEAM}}'}}", {"headers": {"X-Team": "TEAM"}}),
        ("openai", "{max_completion_tokens: 7, apiBaseUrl: null}", {"max_tokens": 7}),
        # no key of the vendor for a server that has its own
        ("anthropic", "{apiKey: sk-1, apiBaseUrl: 'http://g'}", {"api_key_env": None}),
    ],
)
def test_an_address_and_variables_of_keys_come_over(
    tmp_path: Path, kind: str, config: str, entry: dict[str, object]
) -> None:
    found = importing(
        tmp_path, f"prompts: [hi]\nproviders: [{{id: '{kind}:m', config: {config}}}]\n"
    )
    [model] = found.findings.models
    assert {name: model.get(name, "absent") for name in entry} == entry


def test_a_label_names_its_model_in_results_or_is_listed(tmp_path: Path) -> None:
    providers = (
        "[{id: 'openai:a', label: large}, {id: 'openai:b', label: x}, {id: 'openai:c', label: x}, "
        "{'ollama:d': {label: a}}, {id: 'openai:e', label: e}, {id: 'openai:f', label: true}, "
        "{id: 'openai:g', label: 'ollama:d#1'}, {id: 'openai:h', label: 'a#1'}]"
    )
    found = importing(tmp_path, f"prompts: [hi]\nproviders: {providers}\n")
    keys = [model.get("key") for model in found.findings.models]
    assert keys == ["large", None, None, None, None, "true", None, "a#1"]
    assert [line.split(" ")[0].split(":")[-1] for line in found.lost] == [
        f"providers[{number}].label" for number in (1, 2, 3, 6)
    ]


def test_the_keys_of_a_provider_are_listed_in_their_order(tmp_path: Path) -> None:
    keys = ("prompts", "delay", "inputs", "description")
    provider = f"{{id: 'openai:a', {', '.join(f'{key}: 1' for key in keys)}}}"
    found = importing(tmp_path, f"prompts: [hi]\nproviders: [{provider}]\n")
    places = [line.split(" ")[0].split(":")[-1] for line in found.lost]
    assert places == [f"providers[0].{key}" for key in keys]


def _graded(folder: Path, grader: str, more: str = "") -> ImportedSource:
    default = f"defaultTest: {{options: {{provider: {grader}}}}}"
    return importing(folder, f"prompts: [hi]\n{default}\n{more}")


def test_the_grader_is_listed_and_suggested_as_the_judge(tmp_path: Path) -> None:
    found = _graded(tmp_path, "'openai:gpt-4o'")
    assert "options.provider the grader is not taken over: name it under" in found.lost[0]
    judge = found.findings.judge
    assert judge is not None and judge["model"] == "gpt-4o" and found.findings.models == []
    text = configuration_text("n", ["c.jsonl"], "redteam", [], judged=True, judge=judge)
    _, comment = text.split("name it:\n")
    entry = yaml_text({"judges": [judge]})
    assert comment == "".join(f"# {line}\n" for line in entry.splitlines())


@pytest.mark.parametrize(
    ("grader", "more"),
    [
        ("{id: 'openai:m', config: {apiBaseUrl: '{{env.URL}}'}}", ""),
        ("{text: 'openai:m'}", ""),
        ("exec:./x.sh", ""),
        ("'openai:m'", "env: {OPENAI_BASE_URL: 'http://g'}\n"),
    ],
)
def test_a_grader_at_an_unknown_address_is_not_suggested(
    tmp_path: Path, grader: str, more: str
) -> None:
    assert _graded(tmp_path, grader, more).findings.judge is None
