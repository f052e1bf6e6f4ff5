"""The Python on the pages that no other test runs: benchmark-api and providers."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from failproof_es.store.store import Store
from failproof_es.testing.provider_contract import ProviderContract
from tests.acceptance.commands import mock_server, within
from tests.documented import ROOT, Block, blocks


def snippets(page: str) -> list[Block]:
    return [block for block in blocks(ROOT / page) if block.language == "python"]


def test_the_benchmark_of_the_page(
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (snippet,) = snippets("docs/how-to/benchmark-api.md")
    monkeypatch.setenv("FAILPROOF_ES_DATABASE_URL", store.url)
    heard: list[Any] = []
    with mock_server(0, "tests.servers.benchmark_server") as url:
        model = {"provider": "openai", "base_url": url, "stream": True}
        configuration = {
            "test_run": {"name": "page"},
            "models": [{**model, "model": "alpha"}, {**model, "model": "beta"}],
            "judge": {"provider": "openai", "base_url": url, "model": "judge"},
            "prompts": {"path": str(ROOT / "docs/examples/tasks.yaml"), "dialect": "benchmark"},
        }
        with (tmp_path / "benchmark.yaml").open("w") as file:
            YAML(typ="safe").dump(configuration, file)
        names: dict[str, Any] = {"on_progress": heard.append, "on_error": heard.append}
        with within(tmp_path):
            exec(snippet.text.replace("small", "alpha").replace("large", "beta"), names)
            assert Path(names["path"]).read_text("utf-8")
    assert heard and capsys.readouterr().out


def test_the_provider_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_class = snippets("docs/how-to/providers.md")
    *modules, contract = [*own_class, *snippets("docs/how-to/write-a-provider.md")]
    for block in modules:
        first, _, rest = block.text.partition("\n")
        file = tmp_path / first.removeprefix("# ")
        file.parent.mkdir(exist_ok=True)
        file.write_text(rest, "utf-8")
    assert (tmp_path / "my_provider" / "provider.py").exists()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    package = importlib.import_module("my_provider")
    assert package.PROVIDER.name == "mine"
    implementation = package.PROVIDER.implementation()
    assert implementation.__name__ == "MyProvider"
    names: dict[str, Any] = {"__name__": "page"}
    exec(contract.text, names)
    assert issubclass(names["TestMine"], ProviderContract)
    for name in [name for name in sys.modules if name.split(".")[0] == "my_provider"]:
        monkeypatch.delitem(sys.modules, name)
