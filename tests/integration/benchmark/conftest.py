"""A benchmark of three tasks, two models that answer and one that judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from failproof_es.configuration.loading import LoadedConfiguration, load_configuration
from tests.acceptance.commands import Process, begin_server


class Server:
    """The scripted server of `tests.servers.benchmark_server`, in a process of its own."""

    def __init__(self, url: str, process: Process) -> None:
        self.url = url
        self._process = process

    def stop(self) -> None:
        """End the server: nobody listens any more."""
        self._process.kill()
        self._process.wait()

    def refuse(self, model: str) -> None:
        """Refuse the key for this model from now on; for none with an empty name."""
        httpx.post(self.url.removesuffix("/v1") + "/refuse", content=model)

    def asked(self) -> dict[str, int]:
        """How often each model was asked each message: the keys are `model newline message`."""
        counted: dict[str, int] = self._get("/asked")
        return counted

    def order(self) -> list[str]:
        """The models in the order in which they were asked."""
        order: list[str] = self._get("/order")
        return order

    def _get(self, path: str) -> Any:
        return httpx.get(self.url.removesuffix("/v1") + path).json()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that has been asked nothing yet."""
    process, url = begin_server(0, "tests.servers.benchmark_server")
    yield Server(url, process)
    process.kill()
    process.wait()


def task(task_id: str, question: str, **changes: Any) -> dict[str, Any]:
    """A valid task."""
    answers = {"most_expected": "Blue.", "good_answer": "Azure.", "pass_option": "A colour."}
    return {
        "task_id": task_id,
        "category": "Knowledge",
        "sub_category": "Colours",
        "question": question,
        "expected_answer": answers,
        "incorrect_direction": "Green.",
        **changes,
    }


QUESTIONS = ("What colour is the sky?", "And the sea?", "And a sapphire?")

Configured = Callable[..., LoadedConfiguration]


@pytest.fixture
def configured(tmp_path: Path, server: Server) -> Configured:
    """Writes tasks and a configuration of the models alpha and beta and a judge."""

    def configure(*questions: str, **changes: Any) -> LoadedConfiguration:
        folder = tmp_path / "tasks"
        folder.mkdir(exist_ok=True)
        for number, question in enumerate(questions or QUESTIONS, 1):
            document = [task(f"task-{number}", question)]
            (folder / f"{number}.yaml").write_bytes(orjson.dumps(document))
        model = {"provider": "openai", "base_url": server.url, "max_tokens": 50}
        configuration = {
            "test_run": {"name": "benchmark"},
            "models": [{**model, "model": name, "stream": True} for name in ("alpha", "beta")],
            "judge": {**model, "model": "judge"},
            "judging": {"begins": "after_all_answers"},
            "prompts": {"path": str(folder), "dialect": "benchmark"},
            "execution": {
                "parallel_workers": 2,
                "retry_attempts": 1,
                "retry_delay_ms": 1,
                "allow_unlisted": True,
            },
            **changes,
        }
        path = tmp_path / "benchmark.yaml"
        path.write_bytes(orjson.dumps(configuration))
        return load_configuration(path)

    return configure
