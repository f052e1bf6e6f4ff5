"""A provider is found by its entry point: when it is named, once, and with words when it is not."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path

import pytest

from failproof_es.configuration.loading import load_configuration
from failproof_es.configuration.providers import GROUP, PROVIDERS
from failproof_es.configuration.schema import Model
from failproof_es.models import model_keys, provider_type, providers
from failproof_es.models.provider_type import telemetry_name
from failproof_es.problems import InvalidInput
from failproof_es.support.entry_points import EntryPoints
from tests.integration.models.contract.signed_plugin import install

GOOD = "tests.integration.models.contract.signed_plugin:PROVIDER"
CONFIGURATION = """\
test_run: {name: t}
prompts: {path: suite.jsonl, dialect: failproof}
models:
  - provider: %s
    model: m
    base_url: http://127.0.0.1:9
"""
Install = Callable[..., None]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs packages, each with its entry points and a module of its own."""

    def installed(package: str, entries: Mapping[str, str], module: str = "") -> None:
        install(tmp_path / "site", package, entries)
        (tmp_path / "site" / f"{package.replace('-', '_')}.py").write_text(module)
        PROVIDERS.forget()

    monkeypatch.syspath_prepend(tmp_path / "site")
    yield installed
    monkeypatch.undo()
    PROVIDERS.forget()


def refused(name: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        provider_type(name)
    return str(caught.value)


def test_ours_are_registered_as_everybody_elses_are() -> None:
    offered = distribution("failproof-es").entry_points.select(group=GROUP)
    folders = {each.name for each in pkgutil.iter_modules(providers.__path__)}
    assert {each.module.rpartition(".")[2] for each in offered} == folders
    ours = sorted(each.name for each in offered)
    assert PROVIDERS.names()[: len(ours)] == ours
    for name in ours:
        assert provider_type(name).name == name
        assert PROVIDERS.package_of(name) is None


def test_a_package_adds_one(packages: Install) -> None:
    packages("signed-plugin", {"signed": GOOD})
    assert provider_type("signed").name == "signed"
    assert PROVIDERS.package_of("signed") == ("signed-plugin", "1.2")
    model = Model.model_validate({"provider": "signed", "model": "m", "base_url": "http://x"})
    assert provider_type("signed").packages(model) == {"signed-plugin": "1.2"}
    assert PROVIDERS.names()[-1] == "signed", "ours come first"


@pytest.mark.parametrize(
    ("value", "module", "words"),
    [
        ("broken_plugin:PROVIDER", "raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("broken_plugin:PROVIDER", "", "AttributeError"),
        ("nowhere_to_be_found:PROVIDER", "", "ModuleNotFoundError"),
        ("broken_plugin:PROVIDER", "class PROVIDER: pass", "is a class"),
        ("broken_plugin:PROVIDER", "PROVIDER = 7", "version None of the provider API"),
        (
            "broken_plugin:PROVIDER",
            "class P: api_version = 99\nPROVIDER = P()",
            "version 99 of the provider API; this program has version 1",
        ),
        ("broken_plugin:PROVIDER", "class P: api_version = 1\nPROVIDER = P()", "lacks name"),
        (GOOD, "", "calls itself 'signed'"),
    ],
)
def test_a_broken_one_is_an_error_that_names_its_package(
    value: str, module: str, words: str, packages: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages("broken-plugin", {"mine": value}, module)
    monkeypatch.delitem(sys.modules, "broken_plugin", raising=False)
    said = refused("mine")
    assert "provider 'mine' of the package broken-plugin 1.2" in said and words in said
    assert provider_type("openai").name == "openai", "it hurts nobody else"
    sys.modules.pop("broken_plugin", None)


@pytest.mark.parametrize("name", ["openai", "mine"])
def test_two_packages_that_claim_one_name_are_both_named(name: str, packages: Install) -> None:
    packages("first-plugin", {name: GOOD})
    if name == "mine":
        packages("second-plugin", {name: GOOD})
    said = refused(name)
    other = "second-plugin 1.2" if name == "mine" else "failproof-es "
    assert "first-plugin 1.2" in said and other in said and "uninstall all" in said


def test_an_installation_that_is_older_than_the_code_is_told_to_be_renewed() -> None:
    older: EntryPoints[object] = EntryPoints("failproof_es.later", "thing", lambda *_: None, "")
    with pytest.raises(InvalidInput, match="install failproof-es again"):
        older.load("mine")


@pytest.mark.parametrize("also_wrong", ["", "    temperature: hot\n"])
def test_one_that_there_is_not_is_named_with_its_place_and_what_there_is(
    also_wrong: str, tmp_path: Path
) -> None:
    (tmp_path / "run.yaml").write_text(CONFIGURATION % "olama" + also_wrong)
    with pytest.raises(InvalidInput) as caught:
        load_configuration(tmp_path / "run.yaml")
    [problem] = [each for each in caught.value.problems if each.field == "models[0].provider"]
    assert (problem.path, problem.line) == (tmp_path / "run.yaml", 4)
    assert "there is no provider 'olama'" in problem.message
    for word in (
        "did you mean 'ollama'?",
        "anthropic, anthropic-sdk, azure",
        "install the package",
    ):
        assert word in (problem.remedy or "")
    assert len(caught.value.problems) == (2 if also_wrong else 1)


def test_what_a_provider_of_another_package_does_not_take_is_said(
    packages: Install, tmp_path: Path
) -> None:
    packages("signed-plugin", {"signed": GOOD})
    (tmp_path / "run.yaml").write_text(CONFIGURATION % "signed")
    with pytest.raises(InvalidInput) as caught:
        load_configuration(tmp_path / "run.yaml")
    fields = {each.field: each.message for each in caught.value.problems}
    assert fields["models[0].options"] == "lacks `secret_env`"
    assert "is missing" in fields["models[0].api_key_env"]


def test_ollamas_other_half_is_not_its_own_api(tmp_path: Path) -> None:
    text = CONFIGURATION % "ollama"
    (tmp_path / "run.yaml").write_text(text.replace(":9", ":11434/v1/"))
    with pytest.raises(InvalidInput, match=r"\[invalid-url\]"):
        load_configuration(tmp_path / "run.yaml")
    held = text + "    parameters: {num_predict: 7}\n"
    (tmp_path / "run.yaml").write_text(held)
    with pytest.raises(InvalidInput, match=r"\[reserved-field\]"):
        load_configuration(tmp_path / "run.yaml")


def test_a_key_is_looked_for_where_its_vendor_has_it() -> None:
    def variable(provider: str, base_url: str | None = None) -> str | None:
        return Model(provider=provider, model="m", base_url=base_url).api_key_env

    assert variable("openai", "https://api.openai.com/v1") == "OPENAI_API_KEY"
    assert variable("openai", "https://api.openai.com.example/v1") is None
    assert variable("anthropic") == "ANTHROPIC_API_KEY"
    assert variable("ollama") is variable("local") is variable("python") is None
    assert variable("ollama", "https://ollama.com") == "OLLAMA_API_KEY"
    assert variable("nobody") is None
    keys = model_keys([Model(provider=p, model="m") for p in ("ollama", "local")])
    assert keys == ["ollama:m", "local:m"]


NO_STREAM = """
from tests.integration.models.contract.signed_plugin import SignedType
from failproof_es.models.provider_type import Capabilities

class Whole(SignedType):
    name = "whole"
    capabilities = Capabilities(tools=False, schema=False, streaming=False)

PROVIDER = Whole()
"""


def test_a_stream_of_a_provider_that_answers_whole_is_refused(
    packages: Install, tmp_path: Path
) -> None:
    packages("whole-plugin", {"whole": "whole_plugin:PROVIDER"}, NO_STREAM)
    path = tmp_path / "run.yaml"
    path.write_text(CONFIGURATION % "whole" + "    stream: true\n")
    with pytest.raises(InvalidInput, match="it does not stream"):
        load_configuration(path)


def test_a_provider_has_a_name_in_telemetry_installed_or_not() -> None:
    names = {"vertex": "gcp.vertex_ai", "openai": "openai", "not-installed": "not-installed"}
    assert {name: telemetry_name(name) for name in names} == names
