"""Whatever else is read over HTTP is read within the same bounds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from failproof_es.assurance.signing import kept_checkpoints as trusted
from failproof_es.ledger.note import PublicKey, SigningKey
from failproof_es.problems import InvalidInput
from tests.machine import slowness
from tests.servers.worst_server import WorstServer


@pytest.fixture
def key() -> PublicKey:
    return SigningKey.generate("log").public


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("a gzip of NULs", "longer than 1048576 bytes"),
        ("a gzip of a gzip", "packed 2 times"),
        ("a body without end", "longer than 1048576 bytes"),
        ("one byte after the other", "no answer within 1 s"),
        ("its head one byte after the other", "no answer within 1 s"),
        ("a redirect to itself", "HTTP 307"),
    ],
)
def test_a_kept_checkpoint_behind_a_url_is_read_within_bounds(
    kind: str, said: str, key: PublicKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "1 s" in said:
        monkeypatch.setattr(trusted, "_TIMEOUT_S", 1.0)
    slow, began = slowness(), time.monotonic()
    with WorstServer(kind) as server, pytest.raises(InvalidInput, match=said):
        trusted.read_kept(server.url, key)
    took = time.monotonic() - began
    assert took < 10 * max(slow, slowness())


def test_no_module_but_one_opens_an_http_client() -> None:
    package = Path(trusted.__file__).parents[2]
    opening = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "httpx.AsyncClient(" in (text := path.read_text()) or "httpx.get(" in text
        or "httpx.Client(" in text
    ]  # fmt: skip
    assert opening == ["web/client.py"]
