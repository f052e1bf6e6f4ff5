"""Workers that look more often than on a real host: tests wait for what they find."""

from __future__ import annotations

import pytest

from failproof_es.engine.workers import dead_holders, renewal_thread, shard_queue, worker


@pytest.fixture(autouse=True)
def workers_look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease lasts as long as before, so that a busy machine loses none: it is renewed sooner."""
    for module in (shard_queue, worker):
        monkeypatch.setattr(module, "POLL_S", 0.1)
    for module in (worker, renewal_thread):
        monkeypatch.setattr(module, "LEASE_PARTS", 12)
    monkeypatch.setattr(renewal_thread, "LISTEN_S", 0.05)
    monkeypatch.setattr(dead_holders, "LOOK_EVERY_S", 0.1)
