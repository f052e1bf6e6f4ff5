"""Asks one server once, as a run does, and says what that took: `python -m` this, URL, seconds.

Prints one JSON object: what came of it, how long it took and the most memory of the process.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from pathlib import Path
from uuid import UUID

import orjson

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.core.evaluation import Evaluation, EvaluationKey, evolve
from failproof_es.engine.drive.attempt_events import error_recorded, response_received
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.events import ErrorRecorded, RequestSent, ResponseReceived
from failproof_es.models import Answer, ModelError, create_provider
from failproof_es.store.mapper import decode, encode
from failproof_es.store.writing.event_header import EventHeader

KEY = "sk-worst-0123456789-worst-key/+="
STAMP = EventHeader.of_evaluation(EvaluationKey(UUID(int=1), UUID(int=2), "m"))


def peak_mib() -> float:
    """The most memory that this process ever had. `ru_maxrss` would count its parent's, too."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


async def outcome(url: str, timeout_s: float) -> Answer | ModelError:
    model = Model(provider="openai", model="worst", base_url=url, api_key_env="WORST_KEY")
    provider = create_provider(model, timeout_ms=int(timeout_s * 1000), connections=1)
    request = provider.prepare([Turn(role="user", content="hello")])
    try:
        return await provider.send(
            request, Redactor(["WORST_KEY"]).for_stream(lambda text: None).piece
        )
    except ModelError as error:
        return error
    finally:
        await provider.close()


def recorded(outcome: Answer | ModelError) -> ResponseReceived | ErrorRecorded:
    """What the engine makes of it."""
    redactor = Redactor(["WORST_KEY"])
    sent = RequestSent(
        **STAMP(Evaluation()), purpose="target", turn=0, attempt=1, model="m", parameters={},
        endpoint="", body="", body_sha256="",
    )  # fmt: skip
    state = evolve(Evaluation(), sent)
    if isinstance(outcome, ModelError):
        return error_recorded(STAMP, state, sent, outcome, redactor)
    return response_received(STAMP, state, sent, outcome, redactor)


def main() -> None:
    os.environ["WORST_KEY"] = KEY
    began = time.monotonic()
    came = asyncio.run(outcome(sys.argv[1], float(sys.argv[2])))
    asked = time.monotonic()
    working = time.process_time()
    event = recorded(came)
    del came
    state = encode(event)
    said = {
        "event": type(event).__name__,
        "kind": getattr(event, "kind", None),
        "message": getattr(event, "message", "")[:200],
        "asking_s": asked - began,
        "recording_cpu_s": time.process_time() - working,
        "event_bytes": len(state),
    }
    again = decode(type(event).__name__, state, event.originator_id, event.originator_version)
    assert again == event
    print(orjson.dumps({**said, "peak_mib": peak_mib()}).decode())


if __name__ == "__main__":
    main()
