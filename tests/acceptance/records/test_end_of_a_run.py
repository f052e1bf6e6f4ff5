"""Nothing follows the last catch-up of the projections and the last checkpoint of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from failproof_es.events import FileWritten
from failproof_es.library.evaluating import evaluate, load
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, run, within, write_configuration, write_suite

_FILE = {"file": {"path": "out/{timestamp}.jsonl", "checkpoint_every": 2}}
_PRICE = {"input_usd_per_million": 1.0, "output_usd_per_million": 1.0}
_PRICES = {"version": "2026-01-01", "models": [{"model": "mock", **_PRICE}]}


def _start(store: Store, folder: Path, url: str, *words: str, code: int = 0) -> None:
    done = run(store.url, "start", "run.yaml", "--quiet", *words, cwd=folder)
    assert done.returncode == code, done.stderr


def _complete(store: Store, folder: Path, url: str) -> None:
    write_configuration(folder, url, output=_FILE)
    _start(store, folder, url, "--junit", "results.xml")


def _by_workers(store: Store, folder: Path, url: str) -> None:
    write_configuration(folder, url, output=_FILE)
    _start(store, folder, url, "--workers", "2")


def _below_a_gate(store: Store, folder: Path, url: str) -> None:
    write_configuration(folder, url, output=_FILE, gates={"max_cost_usd": 0.0}, prices=_PRICES)
    _start(store, folder, url, code=3)


def _paused(store: Store, folder: Path, url: str) -> None:
    write_suite(folder, 5, f"{folder.name} {{n}} [fault:http404*1]")
    write_configuration(folder, url, output=_FILE)
    _start(store, folder, url, code=1)


def _resumed(store: Store, folder: Path, url: str) -> None:
    _paused(store, folder, url)
    done = run(store.url, "resume", "1", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr


def _branched(store: Store, folder: Path, url: str) -> None:
    _complete(store, folder, url)
    done = run(store.url, "resume", "1", "--again", "failed", "--quiet", cwd=folder)
    assert done.returncode in (0, 2), done.stderr


def _without_its_file(store: Store, folder: Path, url: str) -> None:
    (folder / "out").write_text("no folder")
    write_configuration(folder, url, output=_FILE)
    _start(store, folder, url, code=1)


def _refused(store: Store, folder: Path, url: str) -> None:
    write_configuration(folder, url, prompts={"path": "absent.jsonl"})
    _start(store, folder, url, code=2)


def _from_python(store: Store, folder: Path, url: str) -> None:
    with within(folder):
        evaluate(load(write_configuration(folder, url, output=_FILE)), database_url=store.url)


_WAYS: list[Callable[[Store, Path, str], None]] = [
    _complete, _by_workers, _below_a_gate, _paused, _resumed, _branched, _without_its_file,
    _refused, _from_python,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("end", _WAYS, ids=lambda end: end.__name__.strip("_"))
@pytest.mark.thinned(whole=3)
def test_after_a_run_everything_is_anchored_and_no_projection_is_behind(
    end: Callable[[Store, Path, str], None], store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_suite(tmp_path, 5)
    end(store, tmp_path, mock_url)
    verified = orjson.loads(invoke(store.url, "verify", "--json", cwd=tmp_path).stdout)
    assert verified["not_anchored_outside"] == 0
    status = invoke(store.url, "projections", "status", "--json", cwd=tmp_path).stdout
    assert {row["behind"] for row in orjson.loads(status)} == {0}, status
    if end in (_complete, _by_workers, _from_python):
        with store.connect() as connection:
            assert any(find(connection, topics=[FileWritten.__name__]))
