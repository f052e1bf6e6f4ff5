"""`models --provider`: every page of a server's list, as its vendor documents it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from failproof_es.cli import main
from failproof_es.testing.kit import KEY, KEY_VARIABLE, key_set
from tests.chat_completions import CHAT_COMPLETIONS


class _Server(ThreadingHTTPServer):
    replies: Mapping[str, tuple[int, bytes]]
    asked: list[tuple[str, dict[str, str]]]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
        status, body = self.server.replies.get(self.path, (404, b"not here: " + KEY.encode()))
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to the terminal."""


@contextmanager
def _server(replies: Mapping[str, Any]) -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.replies = {
            path: said if isinstance(said, tuple) else (200, orjson.dumps(said))
            for path, said in replies.items()
        }
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        with key_set():
            yield server
        server.shutdown()
        thread.join()


def _listed(server: _Server, provider: str, path: str = "", *more: str) -> tuple[int, str, str]:
    host = f"127.0.0.1:{server.server_address[1]}"
    where = ("--base-url", f"http://{host}{path}", "--allow", f"{KEY_VARIABLE}={host}")
    asked = ["models", "--provider", provider, *where, "--api-key-env", KEY_VARIABLE]
    done = CliRunner().invoke(main, [*asked, *more, "--json"])
    assert KEY not in done.output
    return done.exit_code, done.stdout, done.stderr


def _names(printed: str) -> list[str]:
    return [each["model"] for each in orjson.loads(printed)]


def _data(*names: str, **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names], **more}


_ANTHROPIC = {
    "/v1/models?limit=1000": _data("a", "b", first_id="a", last_id="b", has_more=True),
    "/v1/models?limit=1000&after_id=b": _data("c", first_id="c", last_id="c", has_more=False),
}
_GEMINI = {
    "/v1beta/models?pageSize=1000": {
        "models": [{"name": "models/a"}, {"name": "models/b"}],
        "nextPageToken": "x+=&",
    },
    "/v1beta/models?pageSize=1000&pageToken=x%2B%3D%26": {"models": [{"name": "models/c"}]},
}
_TAGS = {"models": [{"name": name, "model": name, "size": 1} for name in "abc"]}
URL = "http://127.0.0.1:9"
PLACE = ("--option", "project=mine-1", "--option", "location=eu", "--api-key-env", KEY_VARIABLE)
ALLOWED = ("--allow", f"{KEY_VARIABLE}=127.0.0.1:9")
_SUMMARIES = {"modelSummaries": [{"modelId": name, "modelName": name} for name in "abc"]}


@pytest.mark.parametrize(
    ("provider", "path", "options", "replies", "header"),
    [
        *(
            (name, "/v1", (), {"/v1/models": _data("a", "b", "b", "c")}, "authorization")
            for name in CHAT_COMPLETIONS
            if name != "azure"
        ),
        ("openai-responses", "/v1", (), {"/v1/models": _data("a", "b", "c")}, "authorization"),
        ("ollama", "", (), {"/api/tags": _TAGS}, "authorization"),
        ("anthropic", "/v1", (), _ANTHROPIC, "x-api-key"),
        ("gemini", "/v1beta", (), _GEMINI, "x-goog-api-key"),
        ("azure", "", (), {"/openai/models?api-version=2024-10-21": _data(*"abc")}, "api-key"),
        (
            "bedrock",
            "",
            ("--option", "region=us-east-1"),
            {"/foundation-models": _SUMMARIES},
            "authorization",
        ),
    ],
)
def test_every_page_of_the_list_is_read_with_the_key(
    provider: str, path: str, options: tuple[str, ...], replies: dict[str, Any], header: str
) -> None:
    with _server(replies) as server:
        code, printed, said = _listed(server, provider, path, *options)
    assert code == 0, said
    assert _names(printed) == ["a", "b", "c"]
    assert [path for path, _ in server.asked] == list(replies)
    assert all(KEY in headers[header] for _, headers in server.asked)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ((401, b'{"error": "no"}'), "refuses the key (HTTP 401) (check the key in"),
        ((500, b"<html>" + KEY.encode()), "gives no list of models (HTTP 500)"),
        ((200, b'{"data": [3]}'), "gives no list of models (HTTP 200)"),
        ((200, b'{"data": [{"id": "a"}], "has_more": true, "last_id": null}'), "gives no list"),
        ((200, b'{"data": [{"id": "a"}], "has_more": true, "last_id": "a"}'), "does not end"),
        ((200, b'["a"]'), "gives no list of models"),
        ((200, b"[" * 100_000), "gives no list of models"),
    ],
)
def test_a_list_that_is_none_is_an_error(said: tuple[int, bytes], expected: str) -> None:
    first = "/v1/models?limit=1000"
    pages = {first: said, f"{first}&after_id=a": said}
    with _server(pages) as server:
        code, printed, error = _listed(server, "anthropic", "/v1")
    assert (code, printed) == (2, "")
    assert expected in error


def test_a_list_of_no_model_is_a_list() -> None:
    with _server({"/v1/models": _data()}) as server:
        code, printed, _ = _listed(server, "openai", "/v1")
    assert code == 0
    assert _names(printed) == []


def test_a_listed_name_never_shows_the_key() -> None:
    with _server({"/v1/models": _data("a", f"tuned-{KEY}")}) as server:
        code, printed, _ = _listed(server, "openai", "/v1")
    assert code == 0
    assert len(_names(printed)) == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--provider", "openai"), "--base-url is missing: provider `openai` needs it"),
        (("--provider", "openai", "--base-url", "ftp://x"), "--base-url is not an http or https"),
        (("--provider", "bedrock"), "--option `region` is missing"),
        (("--provider", "bedrock", "--option", "region"), "--option: 'region' is not NAME=VALUE"),
        (("--provider", "openai", "--api-key-env", "sk-123"), "and never the key"),
        (("--provider", "python"), "has no server that lists models"),
        (("--provider", "local"), "has no server that lists models"),
        (("--provider", "openai-sdk", "--base-url", URL), "has no server that lists models"),
        (
            ("--provider", "vertex", "--base-url", URL, *PLACE, *ALLOWED),
            "lists no models to a token",
        ),
        (("--provider", "nobody"), "there is no provider 'nobody'"),
        (("--base-url", "http://127.0.0.1:9"), "need --provider"),
    ],
)
def test_a_wrong_argument_is_said_before_anything_is_asked(
    arguments: tuple[str, ...], expected: str
) -> None:
    done = CliRunner().invoke(main, ["models", *arguments])
    assert done.exit_code == 2
    assert expected in done.stderr
    assert "sk-123" not in done.stderr
