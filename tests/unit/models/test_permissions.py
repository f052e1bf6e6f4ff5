"""Which secret may go to which host: decided from a configuration, without a network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from failproof_es.configuration.providers import PROVIDERS
from failproof_es.configuration.schema import Configuration
from failproof_es.models.provider_type import provider_type
from failproof_es.models.trust.permissions import (
    OWN,
    Demand,
    Permissions,
    demands_of,
    granted_for,
    permissions_of,
    with_own_servers,
)
from failproof_es.models.trust.remembered import (
    file_of_permissions,
    remember_own,
    remembered_permissions,
)
from failproof_es.models.trust.vendors import VENDORS
from failproof_es.problems import InvalidInput
from tests.every import every

THERE = "https://elsewhere.example/v1"


def a_configuration(*models: dict[str, Any], **more: Any) -> Configuration:
    entries = [{"model": "m", **model} for model in models]
    written = {"test_run": {"name": "t"}, "models": entries, "prompts": {"path": "x"}, **more}
    return Configuration.model_validate(written)


def refused(permissions: Permissions, *models: dict[str, Any], **more: Any) -> list[str]:
    """The options that would permit what is refused."""
    try:
        permissions.require(a_configuration(*models, **more))
    except InvalidInput as error:
        assert all(problem.field for problem in error.problems)
        return [str(each.remedy).removeprefix("if that is meant: ") for each in error.problems]
    return []


def test_each_vendors_variable_goes_to_its_own_host_and_to_no_other_without_a_yes() -> None:
    for vendor in VENDORS:
        host = vendor.hosts[0].replace("*", "x")
        for variable in vendor.variables:
            if variable.startswith("credentials:"):
                continue
            entry = {"provider": "openai", "api_key_env": variable}
            for permissions in (OWN, Permissions()):
                assert refused(permissions, {**entry, "base_url": f"https://{host}/v1"}) == []
                for url in (
                    *(THERE, f"http://{host}/v1", f"https://{host}:8443/v1"),
                    *(f"https://{host}.evil.example/v1", f"https://evil.example/{host}"),
                    *(f"https://evil.{host}/v1", "http://127.0.0.1:9/v1"),
                ):
                    options = refused(permissions, {**entry, "base_url": url})
                    assert len(options) == 1, (vendor, url)
                    allowed = permissions_of([options[0].removeprefix("--allow ")], own=True)
                    assert refused(allowed, {**entry, "base_url": url}) == []


def test_every_provider_with_a_default_variable_names_it_in_the_table() -> None:
    for name in PROVIDERS.names():
        kind = provider_type(name)
        url = getattr(kind, "default_base_url", None)
        variable = kind.default_key_variable(url)
        known = {variable for vendor in VENDORS for variable in vendor.variables}
        assert variable is None or variable in known, name


@every(
    "variable",
    [
        *("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "DATABASE_PASSWORD"),
        *("PGPASSWORD", "PGPASSFILE", "MY_PASSWORD", "FAILPROOF_ES_DATABASE_URL", "db_password"),
        *("JWT_SECRET", "SECRET_KEY", "SSHPASS", "APP_DSN", "ALERT_WEBHOOK_URL", "NODE_AUTH_TOKEN"),
        *("OPENAI_ADMIN_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "HUGGINGFACEHUB_API_TOKEN", "SESSION_KEY"),
    ],
)
def test_a_secret_of_something_else_goes_nowhere_without_a_yes(variable: str) -> None:
    option = [f"--allow {variable}=elsewhere.example"]
    entry = {"provider": "openai", "base_url": THERE, "api_key_env": None}
    assert refused(OWN, {**entry, "api_key_env": variable}) == option
    assert refused(OWN, {**entry, "headers": {"X-A": variable}}) == option


def test_a_variable_of_ones_own_goes_to_the_server_beside_which_it_is_written() -> None:
    entry = {"provider": "openai", "base_url": THERE, "api_key_env": "MY_KEY"}
    assert refused(OWN, entry) == []
    assert refused(Permissions(), entry) == ["--allow MY_KEY=elsewhere.example"]


def test_every_door_of_a_configuration_is_looked_at() -> None:
    key = "OPENAI_API_KEY"
    server = {"provider": "openai", "base_url": THERE}
    option = [f"--allow {key}=elsewhere.example"]
    own = {**server, "api_key_env": "MY_KEY"}
    assert refused(OWN, {**server, "headers": {"Authorization": key}}) == option
    assert refused(OWN, own, judge={**server, "model": "j", "api_key_env": key}) == option
    assert refused(OWN, own, judges=[{**server, "model": "j", "api_key_env": key}]) == option
    sdk = {"provider": "openai-sdk", "class": "mine:Chat", "base_url": THERE, "api_key_env": key}
    assert refused(OWN, sdk) == option
    python = {"provider": "python", "class": "mine:Chat", "api_key_env": key}
    assert refused(OWN, python) == [f"--allow {key}=mine:Chat"]
    bedrock = {
        "provider": "bedrock", "base_url": THERE, "api_key_env": "MY_KEY",
        "options": {"region": "us-east-1", "access_key_env": key},
    }  # fmt: skip
    assert refused(OWN, bedrock) == option
    one = a_configuration(own, {**server, "api_key_env": key})
    assert [demand.field for demand in OWN.missing(demands_of(one))] == ["models[1].api_key_env"]


def test_a_token_of_a_vendors_library_is_a_secret_of_that_vendor() -> None:
    google = {"project": "my-project", "location": "us-central1", "credentials": "google"}
    entry = {"provider": "vertex", "options": google}
    assert refused(OWN, entry) == []
    there = "--allow credentials:google=elsewhere.example"
    assert refused(OWN, {**entry, "base_url": THERE}) == [there]
    azure = {"provider": "azure", "options": {"credentials": "entra"}}
    assert refused(OWN, {**azure, "base_url": "https://mine.openai.azure.com"}) == []
    there = "--allow credentials:entra=elsewhere.example"
    assert refused(OWN, {**azure, "base_url": THERE}) == [there]


def test_a_proxy_that_can_read_the_key_is_a_host_that_gets_it() -> None:
    entry = {
        "provider": "openai", "base_url": "https://api.openai.com/v1",
        "proxy": "http://proxy.evil.example:3128",
    }  # fmt: skip
    assert refused(OWN, entry) == [], "of https a proxy reads nothing"
    own_certificates = {**entry, "ca_file": "evil.pem"}
    assert refused(OWN, own_certificates) == ["--allow OPENAI_API_KEY=proxy.evil.example:3128"]


def test_a_host_without_a_port_means_any_port_and_one_with_a_port_just_that() -> None:
    entry = {"provider": "openai", "base_url": "http://127.0.0.1:8000/v1", "api_key_env": "KEY"}
    assert refused(permissions_of(["KEY=127.0.0.1"]), entry) == []
    assert refused(permissions_of(["KEY=127.0.0.1:8000"]), entry) == []
    assert refused(permissions_of(["KEY=127.0.0.1:9000"]), entry)
    assert refused(permissions_of(["OTHER=127.0.0.1"]), entry)
    six = {**entry, "base_url": "http://[::1]:8000/v1"}
    assert refused(permissions_of(["KEY=[::1]"]), six) == []
    assert refused(permissions_of(["KEY=*.corp.example"]), {**entry, "base_url": THERE})
    corp = {**entry, "base_url": "https://llm.corp.example/v1"}
    assert refused(permissions_of(["KEY=*.corp.example"]), corp) == []


def test_a_class_runs_in_a_configuration_of_ones_own_and_elsewhere_only_where_it_is_allowed() -> (
    None
):
    entry = {"provider": "python", "class": "mine:Chat", "api_key_env": None}
    assert refused(OWN, entry) == []
    assert refused(Permissions(), entry) == ["--allow-class mine:Chat"]
    assert refused(permissions_of([], ["mine:Chat"]), entry) == []
    assert refused(permissions_of([], ["mine:Other"]), entry)


@every("written", ["KEY", "=host", "KEY=", "KEY=https://host/v1"])
def test_an_option_that_is_no_pair_is_an_error(written: str) -> None:
    with pytest.raises(InvalidInput, match=r"\[invalid-option\]"):
        permissions_of([written])


def test_a_proxy_that_the_record_names_gets_nothing_with_a_server_that_the_user_names() -> None:
    entry = {
        "provider": "openai", "base_url": "http://gateway.example/v1", "api_key_env": "MY_KEY",
        "proxy": "http://proxy.example:8080",
    }  # fmt: skip
    configuration = a_configuration(entry)
    server = with_own_servers(Permissions(), configuration, {"models[0].base_url"})
    assert [str(pair) for pair in server.pairs] == ["MY_KEY=gateway.example"]
    with pytest.raises(InvalidInput, match=r"proxy\.example:8080"):
        server.require(configuration)
    both = {"models[0].base_url", "models[0].proxy"}
    with_own_servers(Permissions(), configuration, both).require(configuration)


def test_a_yes_for_a_class_is_one_for_its_file(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("own", "elsewhere"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "chats.py").write_text("class Chat: ...")
    entry = {"provider": "python", "class": "chats:Chat", "api_key_env": None}
    monkeypatch.chdir(tmp_path / "own")
    assert remember_own(a_configuration(entry)) is None
    assert remembered_permissions().classes == {"chats:Chat"}
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert remembered_permissions().classes == set()
    file_of_permissions().write_text("class chats:Chat\n")
    assert remembered_permissions().classes == {"chats:Chat"}


@pytest.mark.skipif(os.name != "posix", reason="a file has no mode there")
def test_what_others_can_write_is_not_believed(home: Path) -> None:
    before = os.umask(0)
    try:
        entry = {"provider": "openai", "base_url": THERE, "api_key_env": "MY_KEY"}
        assert remember_own(a_configuration(entry)) is None
    finally:
        os.umask(before)
    path = file_of_permissions()
    assert path.stat().st_mode & 0o777 == 0o600
    for mode in (0o620, 0o602):
        path.chmod(mode)
        with pytest.raises(InvalidInput, match=r"\[insecure-path\]"):
            remembered_permissions()
    path.chmod(0o644)
    assert remembered_permissions().pairs


def test_what_a_user_started_is_remembered_and_nothing_else(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("class Chat: ...")
    configuration = a_configuration(
        {"provider": "openai", "base_url": THERE, "api_key_env": "MY_KEY"},
        {"provider": "python", "class": "mine:Chat", "api_key_env": None},
        {"provider": "python", "class": "absent_module:Chat", "api_key_env": None},
        {"provider": "openai", "base_url": "https://api.openai.com/v1"},
    )
    assert remembered_permissions() == Permissions()
    assert remember_own(configuration) is None
    known = remembered_permissions()
    assert [str(pair) for pair in known.pairs] == ["MY_KEY=elsewhere.example"]
    assert known.classes == {"mine:Chat"}
    with pytest.raises(InvalidInput, match="absent_module:Chat"):
        known.require(configuration)
    before = file_of_permissions().read_text()
    assert remember_own(configuration) is None
    assert file_of_permissions().read_text() == before
    assert file_of_permissions().is_relative_to(home)


def test_what_is_granted_to_a_process_is_just_what_its_configuration_demands() -> None:
    configuration = a_configuration(
        {"provider": "openai", "base_url": THERE, "api_key_env": "MY_KEY"}
    )
    granted = granted_for(configuration)
    assert [str(pair) for pair in granted.pairs] == ["MY_KEY=elsewhere.example"]
    assert not granted.classes and not granted.own
    [demand] = demands_of(configuration)
    assert isinstance(demand, Demand) and granted.permits(demand)
