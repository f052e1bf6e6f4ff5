"""The worst replies there are cost little memory and little time, and are on record in bounds.

Each is asked for through the real client, in a process of its own that says what it took.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson

from failproof_es.core.reply_body import MOST_OF_AN_ERROR
from failproof_es.models.http import LONGEST_REPLY_BYTES
from tests.acceptance.warm import WarmProcess
from tests.machine import slowness
from tests.servers.worst_server import ENDLESS, WorstServer

ROOT = Path(__file__).parents[3]
CLIENT = "tests.servers.worst_client"
CLIENTS = WarmProcess(
    preloaded=(
        "failproof_es.engine.drive.attempt_events", "failproof_es.models.providers.openai.provider",
        "failproof_es.store.mapper",
    )
)  # fmt: skip
"""Has imported what the client imports, and nothing else: memory is measured."""
PEAK_MIB = 300
LATE_S = 2.0
ENDLESS_TIMEOUT_S = 1.5
"""Each endless reply is waited for as long."""


def asked(kind: str, timeout_s: float) -> dict[str, Any]:
    variables = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with (
        WorstServer(kind) as server,
        CLIENTS.begin(
            [server.url, str(timeout_s)], variables, ROOT, module=CLIENT, stdout=True, stderr=True
        ) as process,
    ):
        out, err = process.communicate(timeout_s + 60)
    assert process.returncode == 0, err.decode()
    found: dict[str, Any] = orjson.loads(out)
    return found


def assert_it_costs_little_and_ends_in_time(kind: str) -> None:
    """What comes after the time-out is counted in processor time: other tests run beside it.

    Both count as far as the machine is not known to be slow.
    """
    timeout_s = ENDLESS_TIMEOUT_S if kind in ENDLESS else 30.0
    slow = slowness()
    found = asked(kind, timeout_s)
    assert found["peak_mib"] < PEAK_MIB, found
    late_s = max(0.0, found["asking_s"] - timeout_s)
    in_time = late_s + found["recording_cpu_s"] < LATE_S
    took_s = late_s + found["recording_cpu_s"]  # a core that others share takes more of it, too
    assert in_time or took_s / max(1.0, slow, slowness()) < LATE_S, found
    if found["event"] == "ErrorRecorded":
        assert found["event_bytes"] < 20 * MOST_OF_AN_ERROR, found
        assert (found["kind"] == "timeout") == (kind in ENDLESS), found
    else:
        assert found["event_bytes"] < LONGEST_REPLY_BYTES * 7 / 3, found
