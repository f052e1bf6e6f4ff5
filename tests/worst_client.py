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

from failproof_es.case import Turn
from failproof_es.configuration.schema import Model
from failproof_es.engine.attempt_events import Stamp, error_recorded, response_received
from failproof_es.engine.redaction import Redactor
from failproof_es.evaluation import Evaluation, EvaluationKey, evolve
from failproof_es.events import ErrorRecorded, RequestSent, ResponseReceived
from failproof_es.models import ModelError, create_provider
from failproof_es.store.mapper import decode, encode

KEY = "sk-worst-0123456789-worst-key/+="
STAMP = Stamp(EvaluationKey(UUID(int=1), UUID(int=2), "m"))


def peak_mib() -> float:
    """The most memory that this process ever had. `ru_maxrss` would count its parent's, too."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


async def outcome(url: str, timeout_s: float) -> ResponseReceived | ErrorRecorded:
    """What is recorded of the attempt, as the engine makes it."""
    stream = "stream" in sys.argv
    model = Model(
        provider="openai", model="worst", base_url=url, api_key_env="WORST_KEY", stream=stream
    )
    provider = create_provider(model, timeout_ms=int(timeout_s * 1000), connections=1)
    request = provider.prepare([Turn(role="user", content="hello")])
    sent = RequestSent(
        **STAMP(Evaluation()), purpose="target", turn=0, attempt=1, model="m", parameters={},
        endpoint=url, body=request.body.decode(), body_sha256="",
    )  # fmt: skip
    state = evolve(Evaluation(), sent)
    redactor = Redactor(["WORST_KEY"])
    try:
        answer = await provider.send(request, redactor.streaming(lambda text: None).piece)
    except ModelError as error:
        return error_recorded(STAMP, state, sent, error, redactor)
    finally:
        await provider.close()
    return response_received(STAMP, state, sent, answer, redactor)


def main() -> None:
    os.environ["WORST_KEY"] = KEY
    began = time.monotonic()
    event = asyncio.run(outcome(sys.argv[1], float(sys.argv[2])))
    elapsed = time.monotonic() - began
    asking = peak_mib()
    state = encode(event)
    assert decode(type(event).__name__, state, event.originator_id, event.originator_version)
    said = {
        "event": type(event).__name__,
        "kind": getattr(event, "kind", None),
        "message": getattr(event, "message", "")[:200],
        "elapsed_s": round(elapsed, 2),
        "asking_mib": round(asking),
        "peak_mib": round(peak_mib()),
        "event_bytes": len(state),
        "redacted": bool(event.redactions),
    }
    print(orjson.dumps(said).decode())


if __name__ == "__main__":
    main()
